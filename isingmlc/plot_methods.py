"""Methods that draw pictures, for the classes they belong to; each is a line into `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from isingmlc.results.edge_tests import EdgeTests
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.ranking import FeatureRanking, RankingRoc
    from isingmlc.selection.choice import SelectionResult


class ResultPlots:
    """Pictures of `IsingResults`."""

    def plot_network(
        self,
        feature: str | None = None,
        *,
        edges: EdgeTests | None = None,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        threshold: float | None = None,
        insignificant: str = "dashed",
        layout: str = "circle",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the network around one feature.

        The feature stands in the centre. Its edge to a label carries the statistic, is the wider
        the larger the square root of it, and shows by colour and mark whether the feature raises
        (▲) or lowers (▼) the label. Lines between labels show their interactions.

        Parameters
        ----------
        feature : str
            The feature; `plot_label_network` draws the labels alone.
        edges : EdgeTests, optional
            Tests of the edges; `score_test` where not given.
        alpha : float
            Edges with an adjusted p-value up to this are significant.
        adjust : str or None
            How p-values are adjusted, over all edges; see `EdgeTests.to_frame`.
        threshold : float, optional
            Interactions above it in absolute value are drawn; where not given, the strongest
            ones, as many as there are labels but at least 12.
        insignificant : {"dashed", "hide"}
            What is done with edges that are not significant.
        layout : {"circle", "cluster", "spring"}
            Labels on a circle in their order; on a circle, tied labels side by side; or pulled
            together by their ties.
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture.

        Raises
        ------
        DataError
            When there is no such feature, or an argument is out of range.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> ax = res.plot_network("smoker")
        >>> ax.figure.savefig("smoker.png")  # doctest: +SKIP
        """
        from isingmlc.plots import plot_network

        return plot_network(
            cast("IsingResults", self),
            feature,
            edges=edges,
            alpha=alpha,
            adjust=adjust,
            threshold=threshold,
            insignificant=insignificant,
            layout=layout,
            ax=ax,
        )

    def plot_networks(
        self,
        features: Sequence[str] | str = "extremes",
        *,
        edges: EdgeTests | None = None,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        threshold: float | None = None,
        insignificant: str = "dashed",
        layout: str = "circle",
        axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
    ) -> npt.NDArray[np.object_]:
        """Draw the networks around several features side by side, in the same layout and scale.

        Parameters
        ----------
        features : sequence of str or "extremes"
            The features; ``"extremes"`` are the most and the least important one.
        edges, alpha, adjust, threshold, insignificant, layout
            See `plot_network`.
        axes : sequence of Axes, optional
            Where to draw, one a feature; a new figure where not given.

        Returns
        -------
        ndarray of Axes
            The pictures, one a feature.

        Raises
        ------
        DataError
            When features are none or unknown, or an argument is out of range.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> len(res.plot_networks(["bmi", "smoker", "exercise_hours"]))
        3
        """
        from isingmlc.plots import plot_networks

        return plot_networks(
            cast("IsingResults", self),
            features,
            edges=edges,
            alpha=alpha,
            adjust=adjust,
            threshold=threshold,
            insignificant=insignificant,
            layout=layout,
            axes=axes,
        )

    def plot_label_network(
        self, *, threshold: float = 0.0, layout: str = "circle", ax: Axes | None = None
    ) -> Axes:
        """Draw the interactions between labels.

        Parameters
        ----------
        threshold : float
            Interactions above it in absolute value are drawn.
        layout : {"circle", "cluster", "spring"}
            Labels on a circle in their order; on a circle, tied labels side by side; or pulled
            together by their ties.
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture. Infinite interactions are dotted and all of one width.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.plot_label_network(threshold=0.3).get_title()
        'Interactions of 6 labels (9 of 15 pairs above 0.3)'
        """
        from isingmlc.plots import plot_label_network

        results = cast("IsingResults", self)
        return plot_label_network(
            results.interactions, results.thresholds, threshold=threshold, layout=layout, ax=ax
        )

    def plot_diagnostics(self, *, ax: Axes | None = None) -> Axes:
        """Draw what limits the tests of each label: rows with information, separation, rarity.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture, one row a label.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.plot_diagnostics().get_xlabel()
        'share of rows'
        """
        from isingmlc.plots import plot_diagnostics

        return plot_diagnostics(cast("IsingResults", self), ax=ax)


class EdgePlots:
    """Pictures of `EdgeTests`."""

    def plot_heatmap(
        self,
        *,
        order: str = "rank",
        top: int = 40,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the p-values of all edges as a heat map.

        Parameters
        ----------
        order : {"rank", "cluster", "given"}
            The most important features first; features and labels with similar tests side by
            side; or as they came.
        top : int
            How many features are shown, the most important ones (with ``"given"``, the first).
        alpha : float
            Edges with an adjusted p-value up to this are marked: raised (▲) or lowered (▼).
        adjust : str or None
            How p-values are adjusted, over all edges; see `to_frame`.
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture. Hatched cells could not be tested.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.plot_heatmap(top=5).get_title()
        'Score tests of the 5 most important of 30 features'
        """
        from isingmlc.plots import plot_heatmap

        edges = cast("EdgeTests", self)
        return plot_heatmap(edges, order=order, top=top, alpha=alpha, adjust=adjust, ax=ax)

    def plot_qq(self, *, ax: Axes | None = None) -> Axes:
        """Compare the p-values of all tested edges with those to be expected if nothing acted.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture, with a band that holds 95% of what chance gives at each rank.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.plot_qq().get_xlabel()
        'expected −log10 p'
        """
        from isingmlc.plots import plot_qq

        return plot_qq(cast("EdgeTests", self), ax=ax)


class RankingPlots:
    """Pictures of `FeatureRanking`."""

    def plot(self, top: int = 20, *, ax: Axes | None = None) -> Axes:
        """Draw the most important features as bars, stacked by what each label adds.

        Parameters
        ----------
        top : int
            How many features.
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture. Of many labels the eight that add most have a colour of their own.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> ranking = im.IsingModel(data.labels, data.features).fit().rank_features()
        >>> ranking.plot(top=5).get_title()
        'The 5 most important of 30 features (score)'
        """
        from isingmlc.plots import plot_ranking

        return plot_ranking(cast("FeatureRanking", self), top, ax=ax)

    def plot_interactions(self, feature: str, top: int = 20, *, ax: Axes | None = None) -> Axes:
        """Draw the pairs of labels whose interaction a feature moves, strongest first.

        Parameters
        ----------
        feature : str
            The feature.
        top : int
            How many pairs.
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture.

        Raises
        ------
        ModelError
            When the ranking knows nothing about pairs of labels.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> ranking = im.rank_features(data.labels, data.features, method="interaction")
        >>> ax = ranking.plot_interactions("deprivation_decile")
        >>> ax.get_yticklabels()[0].get_text()
        'depression × asthma'
        """
        from isingmlc.plots import plot_interactions

        return plot_interactions(cast("FeatureRanking", self), feature, top, ax=ax)


class RocPlots:
    """Pictures of `RankingRoc`."""

    def plot(self, *, name: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the ROC curve; several on the same axes for a comparison.

        Parameters
        ----------
        name : str, optional
            Its name in the legend; the method of ranking where not given.
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> ranking = im.IsingModel(data.labels, data.features).fit().rank_features()
        >>> ranking.roc(data.relevant).plot().get_ylabel()
        'true positive rate'
        """
        from isingmlc.plots import plot_roc

        return plot_roc(cast("RankingRoc", self), name=name, ax=ax)


class SelectionPlots:
    """Pictures of `SelectionResult`."""

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how good subsets of each size were on the validation set.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure where not given.

        Returns
        -------
        Axes
            The picture: a curve a measure, or, where several rankings were tried, the measure
            that was maximised with a curve a ranking.

        Raises
        ------
        ModelError
            When p-values chose, so that no sizes were tried.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, random_state=0)
        >>> sel.plot().get_xlabel()
        'number of features'
        """
        from isingmlc.plots.selection import plot_result

        return plot_result(cast("SelectionResult", self), ax)
