"""`FeatureRanking`: features in order of importance, whatever measured it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_number, check_option
from isingmlc.base.arrays import FloatArray, IntArray, StrArray, rank_levels
from isingmlc.base.printing import say_given
from isingmlc.base.readonly import FrozenResult, cached_array, table
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.combine import DEFAULT_COMBINE
from isingmlc.inference.pvalues import METHODS
from isingmlc.inference.pvalues import adjust as adjust_pvalues
from isingmlc.results.steps import FeatureSteps, list_steps

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary
    from isingmlc.ranking.l1 import L1Fits
    from isingmlc.results.edge_tests import EdgeTests


@dataclass(frozen=True)
class FeatureScores(FrozenResult):
    """What a ranking is made of, as arrays.

    Attributes
    ----------
    importance : ndarray, shape (p,)
        The larger, the better; 0 for features that could not be used. Of features that were picked
        one after the other, what each added when it was picked: a later one may have added more.
    contributions : ndarray, shape (p, K)
        What each label adds; NaN where it adds nothing because it could not be used.
    feature_reason, label_reason : ndarray of object
        Why a feature or a label could not be used, ``ok`` for most; see `Reason`.
    pvalue : ndarray, shape (p,), or None
        p-values of the features, where the method has any and they are known already.
    pairs : callable or None
        Computes, when it is asked for, how much each feature moves each pair of labels (the sum of
        the two statistics of its products, given the feature itself), and where to (1, −1, or 0
        where the two disagree): two arrays of shape (p, K(K−1)/2), pairs in the order of
        ``itertools.combinations``.
    notes : tuple of str
        What to keep in mind, in sentences.
    tests : EdgeTests or None
        Tests whose p-values of features are the ranking's, computed when they are asked for.
    steps : FeatureSteps or None
        How features were picked, if one after the other.
    combine : str
        How these p-values combine the tests of edges; see `EdgeTests.feature_pvalues`.
    caution : callable or None
        Warns of labels for which such p-values do not hold; called when they are asked for.

    Examples
    --------
    >>> import isingmlc as im
    >>> ranking = im.rank_features(im.datasets.load_example())
    >>> ranking.scores.contributions.shape
    (30, 6)
    """

    importance: FloatArray
    contributions: FloatArray
    feature_reason: StrArray
    label_reason: StrArray
    pvalue: FloatArray | None = None
    pairs: Callable[[], EdgeTests] | None = None
    notes: tuple[str, ...] = ()
    tests: EdgeTests | None = None
    steps: FeatureSteps | None = None
    combine: str = DEFAULT_COMBINE
    caution: Callable[[], None] | None = None

    @cached_property
    def moved_pairs(self) -> EdgeTests | None:
        """What `pairs` computes: tests of products given their feature."""
        return None if self.pairs is None else self.pairs()

    @cached_array
    def levels(self) -> IntArray:
        """Places of the features, 0 for the best; ties share one.

        They follow from importance. Features that were picked one after the other come first, in
        the order of the steps.
        """
        if self.steps is None:
            return rank_levels(self.importance)
        picked = self.steps.picked
        levels = np.empty(len(self.importance), dtype=np.intp)
        levels[picked] = np.arange(len(picked))
        others = np.delete(np.arange(len(levels)), picked)
        levels[others] = len(picked) + rank_levels(self.importance[others])
        return levels


@dataclass(frozen=True, eq=False, repr=False)
class FeatureRanking(FrozenResult):
    """Features in order of importance.

    Attributes
    ----------
    method : str
        How importance was measured.
    feature_names, label_names : tuple of str
        Names, in the user's order. Methods that look at all labels at once have one "label",
        the labelset.
    scores : FeatureScores
        The ranking as arrays; `importance`, `contributions`, `pairs`, `pvalues`, `reasons` and
        `label_reasons` give them with names.
    settings : mapping
        The options of the method.
    fits : L1Fits or None
        The penalised regressions behind ``l1`` and ``score+l1``: coefficients on both scales,
        penalties, and how nearly each is optimal.
    adjusted_for : tuple of str
        The covariates that importance is given, as the user wrote them; empty without any.

    See Also
    --------
    rank_features : make one from labels and features.
    IsingResults.rank_features : make one from a fit.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> ranking = im.rank_features(data.labels, data.features)
    >>> ranking
    FeatureRanking(score, 30 features: 'age', 'bmi', 'female', 'hay_fever', ... and 25 more)
    >>> ranking.contributions.loc["bmi"].idxmax()
    'diabetes'
    >>> set(ranking.select(alpha=0.05)) <= set(data.relevant)
    True
    """

    method: str
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    scores: FeatureScores
    settings: Mapping[str, object] = field(default_factory=dict)
    fits: L1Fits | None = None
    adjusted_for: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = exc.shorten(self.order)
        given = f" {say_given(self.adjusted_for)}" if self.adjusted_for else ""
        return f"FeatureRanking({self.method}, {len(self.feature_names)} features{given}: {names})"

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    @table
    def importance(self) -> pd.Series:
        """Importance of each feature, in the user's order.

        With ``forward`` and ``ssc`` it is what a feature added to those picked before it, or, if it
        was not picked, what it would add to all that were. `order` is that of the steps: a feature
        may add more once another is there.
        """
        return self._series(self.scores.importance, "importance")

    @table
    def pvalues(self) -> pd.Series | None:
        """p-value of each feature: that it has no effect on any label given the others.

        None where the method has none. `EdgeTests.feature_pvalues` says how the tests of edges
        are combined. Labels that the rows say little about are named in a warning when p-values
        are first looked at, here or in a table.
        """
        pvalue, tests = self.scores.pvalue, self.scores.tests
        if pvalue is None and tests is not None:
            if self.scores.caution is not None:
                self.scores.caution()
            pvalue = tests.arrays.feature_tests(self.scores.combine).pvalue
        if pvalue is None:
            return None
        # Where nothing was tested there is no p-value, not one of 1.
        unused = self.scores.feature_reason != Reason.OK
        return self._series(np.where(unused, np.nan, pvalue), "pvalue")

    @table
    def contributions(self) -> pd.DataFrame:
        """What each label adds to the importance of each feature; NaN where it was not used."""
        columns = pd.Index(self.label_names, name="label")
        return ResultTable(self.scores.contributions, self._index, columns)

    @table
    def pairs(self) -> pd.DataFrame | None:
        """How much each feature changes the association of each pair of labels, features × pairs.

        The statistics of ``score_test(products="given")``, computed when they are first asked for.
        None where pairs play no part.
        """
        moved = self.scores.moved_pairs
        if moved is None:
            return None
        columns = pd.MultiIndex.from_tuples(
            combinations(self.label_names, 2), names=["label", "with"]
        )
        return ResultTable(moved.pair_statistics(), self._index, columns)

    @table
    def path(self) -> pd.DataFrame | None:
        """How features were picked one after the other, one row per step; None if they were not.

        Columns are the feature, its gain (what it adds to those before it, to all labels
        together), the total of all gains up to it, the labels that gained most (each a tenth of
        the gain or more), and the features that the step made redundant: those that lost most of
        what they would have added before, more than half of it.
        """
        steps = self.scores.steps
        if steps is None:
            return None
        parts = self.scores.contributions
        return list_steps(steps, self.feature_names, self.label_names, parts)

    @table
    def reasons(self) -> pd.Series:
        """``ok``, or why a feature could not be used."""
        return self._series(self.scores.feature_reason, "reason")

    @table
    def label_reasons(self) -> pd.Series:
        """``ok``, or why a label could not be used."""
        index = pd.Index(self.label_names, name="label")
        return pd.Series(self.scores.label_reason, index, name="reason")

    @property
    def _index(self) -> pd.Index:
        return pd.Index(self.feature_names, name="feature")

    def _series(self, values: FloatArray | StrArray, name: str) -> pd.Series:
        return pd.Series(values, self._index, name=name)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Names of the features, best first; ties keep the user's order.

        Importances that differ by less than rounding can explain are ties. Features that were
        picked one after the other come in the order of the steps.
        """
        return tuple(self.feature_names[at] for at in self.positions)

    @property
    def positions(self) -> IntArray:
        """Positions of the features among the columns, counted from 0, in the order of `order`.

        For arrays and frames whose names are numbers: ``features.iloc[:, ranking.positions[:5]]``
        has the five best columns. Columns without names are called x1, x2, … here, from 1.
        """
        return np.argsort(self.scores.levels, kind="stable")

    def top(self, m: int = 10) -> tuple[str, ...]:
        """Name the best features.

        Parameters
        ----------
        m : int
            How many.

        Returns
        -------
        tuple of str
            The first `m` of `order`.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> im.rank_features(data.labels, data.features).top(2)
        ('age', 'bmi')
        """
        return self.order[: check_count("m", m, 1)]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per feature, best first.

        Returns
        -------
        DataFrame
            Columns rank, importance, pvalue (where the method has one), strongest (the label that
            contributes most), strongest_pair (with products: the pair of labels that the feature
            moves most, given its own effects), reason and, with covariates, adjusted_for, which
            names them in every row.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> im.rank_features(data.labels, data.features).to_frame().head(2).round(1)
                 rank  importance  pvalue     strongest reason
        feature
        age         1       245.3     0.0  hypertension     ok
        bmi         2        72.0     0.0      diabetes     ok
        """
        columns = {"importance": self.importance}
        if self.pvalues is not None:
            columns["pvalue"] = self.pvalues
        columns["strongest"] = self._strongest(self.scores.contributions, self.label_names)
        moved = self.scores.moved_pairs
        if moved is not None:
            names = [f"{first} × {second}" for first, second in combinations(self.label_names, 2)]
            columns["strongest_pair"] = self._strongest(moved.pair_statistics(), names)
        columns["reason"] = self.reasons
        if self.adjusted_for:
            columns["adjusted_for"] = self._series(
                np.full(len(self.feature_names), ", ".join(self.adjusted_for), dtype=object),
                "adjusted_for",
            )
        listed = ResultTable(columns).loc[list(self.order)]
        listed.insert(0, "rank", range(1, len(listed) + 1))
        return listed

    def _strongest(self, contributions: FloatArray, names: Iterable[str]) -> pd.Series:
        """Name what contributes most to each feature; nothing where nothing contributes."""
        known = np.nan_to_num(contributions)
        choices = np.array([*names, ""], dtype=object)
        # Where nothing is above zero the last name, the empty one, is taken.
        best = np.argmax(np.column_stack([known, np.full(len(known), np.finfo(float).tiny)]), 1)
        return self._series(choices[best], "strongest")

    def report(
        self, path: str | os.PathLike[str] = "report.html", *, title: str | None = None
    ) -> Path:
        """Write a short report to one HTML file that opens without a connection.

        It has the importance as a picture, the path if features were picked one after the other,
        and all features, and all tables as CSV.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced.
        title : str, optional
            The headline.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        FileError
            When the file cannot be written.
        ModelError
            When what reports need is not installed.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> data = im.datasets.load_example()
        >>> ranking = im.rank_features(data.labels, data.features, method="forward", n_features=5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ranking.report(f"{folder}/path.html").name
        'path.html'
        """
        from isingmlc.report.writing import write_report_of

        return write_report_of("ranking", self, path, title)

    def summary(self, top: int = 20) -> IsingSummary:
        """Summarise the best features.

        Parameters
        ----------
        top : int
            How many features to list.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> print(im.rank_features(data.labels, data.features).summary(top=2))
                              Feature Ranking
        =====================================================
        Method:            score    Labels:            6 of 6
        Features:             30    p-values:            acat
                      The 2 best of 30 features
        =====================================================
        feature strongest          rank importance     pvalue
        -----------------------------------------------------
        age     hypertension          1      245.3   1.31e-30
        bmi     diabetes              2      71.97   1.14e-11
        =====================================================
        <BLANKLINE>
        Notes:
        [1] Score statistics of a null model with a ridge penalty.
        [2] Options: penalty=1.0, min_count=2, combine='acat'.
        [3] The null model is penalised (ridge), so p-values are approximate;
            variances for label(s) 'hypertension', 'diabetes', 'arthritis',
            'depression', 'asthma' and 1 more are scaled to what the residuals of
            their models vary by.
        """
        from isingmlc.summaries import summarize_ranking

        return summarize_ranking(self, top)

    def select(self, alpha: float = 0.05, adjust: str | None = "fdr_bh") -> tuple[str, ...]:
        """Choose features by their p-values, with no validation set.

        For tests rank with ``penalty=None``: p-values given a penalised null are approximate.

        Parameters
        ----------
        alpha : float
            Bound on the adjusted p-values; with the default adjustment the false-discovery rate.
        adjust : str or None
            How p-values are adjusted for multiplicity, any method of statsmodels'
            ``multipletests``; None leaves them as they are.

        Returns
        -------
        tuple of str
            The features chosen, best first. There may be none.

        Raises
        ------
        ModelError
            When the method has no p-values.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> ranking = im.rank_features(data.labels, data.features, penalty=None)
        >>> ranking.select(alpha=0.01, adjust="bonferroni")
        ('age', 'bmi', 'female', 'hay_fever', 'stressful_events', 'smoker', 'parent_diabetes')
        """
        alpha = check_number("alpha", alpha, above=0, below=1)
        adjusted = self.adjusted_pvalues(adjust, alpha)
        return tuple(name for name in self.order if adjusted[name] <= alpha)

    def adjusted_pvalues(self, adjust: str | None = "fdr_bh", alpha: float = 0.05) -> pd.Series:
        """Adjust the p-values of the features for their number.

        Parameters
        ----------
        adjust : str or None
            Any method of statsmodels' ``multipletests``; None leaves them as they are.
        alpha : float
            Level at which they are to be used; matters to ``fdr_tsbh`` and ``fdr_tsbky`` alone.

        Returns
        -------
        Series
            Adjusted p-values, in the user's order; NaN for features that could not be tested,
            which are not counted.

        Raises
        ------
        ModelError
            When the method has no p-values.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> ranking = im.rank_features(data.labels, data.features)
        >>> int((ranking.adjusted_pvalues("bonferroni") < 0.01).sum())
        7
        """
        check_option("adjust", adjust, (None, *METHODS))
        pvalue = self.pvalues
        if pvalue is None:
            raise exc.ModelError(
                f"method {self.method!r} has no p-values to choose features by. Use "
                "method='score', or take a number of features with top(m)."
            )
        plain = pvalue.to_numpy()
        adjusted = plain if adjust is None else adjust_pvalues(plain, adjust, alpha=alpha)
        return self._series(adjusted, "pvalue_adj")

    def roc(self, relevant: Iterable[str]) -> RankingRoc:
        r"""Compare the ranking with a known truth.

        Parameters
        ----------
        relevant : iterable of str
            The features that truly matter.

        Returns
        -------
        RankingRoc
            False and true positive rates of the first k features, k = 1…p, and the area below.

        Raises
        ------
        DataError
            When names do not exist, or when all features or none are relevant.

        Notes
        -----
        With t the relevant features, TPR(k) is the share of t among the first k, and FPR(k) the
        share of all others among the first k. Among tied features any order is as good as
        another: the curve is the mean over all of them, a straight line from the first tied
        feature to the last. The area is 1 when all relevant features come first, 0.5 where all
        are tied.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.make_artdata(1, n_samples=1000, random_state=0)
        >>> ranking = im.rank_features(data.labels, data.features)
        >>> ranking.roc(data.relevant).auc > 0.9
        True
        """
        is_list = isinstance(relevant, Iterable) and not isinstance(relevant, str)
        names = [str(name) for name in (relevant if is_list else [relevant])]
        unknown = [name for name in names if name not in set(self.feature_names)]
        if unknown:
            raise exc.DataError(
                f"relevant must name features of the ranking, but {exc.shorten(unknown)} are none. "
                f"The first ones are {exc.shorten(self.feature_names)}."
            )
        wanted = set(names)
        hit = np.array([name in wanted for name in self.feature_names])
        if hit.all() or not hit.any():
            raise exc.DataError(
                f"relevant must name some of the features but not all, and names {len(wanted)} of "
                f"{len(hit)}: there is nothing to tell apart."
            )
        levels = self.scores.levels
        # Straight lines between the ends of ties.
        ends = np.cumsum(np.bincount(levels))
        true = np.interp(
            np.arange(1, len(hit) + 1),
            np.append(0, ends),
            np.append(0, np.cumsum(np.bincount(levels, hit))),
        )
        false = np.arange(1, len(hit) + 1) - true
        return RankingRoc(self.method, false / (~hit).sum(), true / hit.sum(), self.adjusted_for)

    def agreement(self, other: FeatureRanking) -> RankingAgreement:
        """Compare with another ranking of the same features.

        Parameters
        ----------
        other : FeatureRanking
            Another ranking.

        Returns
        -------
        RankingAgreement
            Kendall's tau-b of the places, and the share of common features among the
            first k of both, k = 1…p.

        Raises
        ------
        DataError
            When the rankings are of different features.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> first = im.rank_features(data.labels, data.features)
        >>> second = im.rank_features(data.labels, data.features, method="products")
        >>> first.agreement(second).overlap[4]
        np.float64(0.75)
        """
        from scipy.stats import kendalltau

        if not isinstance(other, FeatureRanking) or set(other.feature_names) != set(
            self.feature_names
        ):
            raise exc.DataError(
                "other must be a FeatureRanking of the same features, but "
                + (
                    f"it has {len(other.feature_names)} features and this one "
                    f"{len(self.feature_names)}, not the same. Rank both on the same columns."
                    if isinstance(other, FeatureRanking)
                    else f"is of type {type(other).__name__}."
                )
            )
        theirs = pd.Series(other.scores.levels, other.feature_names)[list(self.feature_names)]
        # A feature is among the first k of both from the later of its two places on.
        place = {name: at for at, name in enumerate(other.order)}
        later = [max(at, place[name]) for at, name in enumerate(self.order)]
        sizes = np.arange(1, len(later) + 1)
        common = np.cumsum(np.bincount(later, minlength=len(later)))
        overlap = pd.Series(common / sizes, pd.Index(sizes, name="k"), name="overlap")
        return RankingAgreement(
            (self.method, other.method),
            float(kendalltau(self.scores.levels, theirs.to_numpy()).statistic),
            overlap,
        )

    # Pictures

    def plot(self, top: int = 20, *, ax: Axes | None = None) -> Axes:
        """Draw the most important features as bars, stacked by what each label adds.

        Parameters
        ----------
        top : int
            How many features.
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture. Of many labels the eight that add most have a colour of their own. What
            no label adds, as with ``"score+l1"``, is light grey.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> ranking = im.IsingModel(data.labels, data.features).fit().rank_features()
        >>> ranking.plot(top=5).get_title()
        'The 5 most important of 30 features (score)'
        """
        from isingmlc.plots import plot_ranking

        return plot_ranking(self, top, ax=ax)

    def plot_pairs(self, feature: str, top: int = 20, *, ax: Axes | None = None) -> Axes:
        """Draw how much a feature moves pairs of labels, given its own effects, strongest first.

        A bar is the sum of two statistics of one degree of freedom, those of the feature's product
        with one label in the model of the other.

        Parameters
        ----------
        feature : str
            The feature.
        top : int
            How many pairs.
        ax : Axes, optional
            Where to draw; a new figure if omitted.

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
        >>> ranking = im.rank_features(data.labels, data.features, method="products")
        >>> ax = ranking.plot_pairs("deprivation_decile")
        >>> ax.get_yticklabels()[0].get_text()
        'depression × asthma'
        """
        from isingmlc.plots import plot_pairs

        return plot_pairs(self, feature, top, ax=ax)


@dataclass(frozen=True, eq=False, repr=False)
class RankingRoc(FrozenResult):
    """How well a ranking puts relevant features first.

    Attributes
    ----------
    method : str
        The method that ranked.
    fpr, tpr : ndarray, shape (p,)
        Shares of irrelevant and of relevant features among the first k = 1…p.
    adjusted_for : tuple of str
        The covariates that the ranking is given.

    Examples
    --------
    >>> roc = RankingRoc("score", np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.5, 0.5, 1.0, 1.0]))
    >>> roc.auc
    0.75
    """

    method: str
    fpr: FloatArray
    tpr: FloatArray
    adjusted_for: tuple[str, ...] = ()

    @property
    def auc(self) -> float:
        """Area below the curve; 1 when all relevant features come first."""
        return float(np.trapezoid(np.append(0.0, self.tpr), np.append(0.0, self.fpr)))

    def to_frame(self) -> pd.DataFrame:
        """Return the curve as a table.

        Returns
        -------
        DataFrame
            Columns fpr and tpr, one row per number of features k.

        Examples
        --------
        >>> roc = RankingRoc("score", np.array([0.0, 1.0]), np.array([1.0, 1.0]))
        >>> roc.to_frame()
           fpr  tpr
        k
        1  0.0  1.0
        2  1.0  1.0
        """
        index = pd.RangeIndex(1, len(self.fpr) + 1, name="k")
        return ResultTable({"fpr": self.fpr, "tpr": self.tpr}, index)

    def __repr__(self) -> str:
        return f"RankingRoc({self.method}, {len(self.fpr)} features, AUC {self.auc:.3f})"

    def plot(self, *, name: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the ROC curve; several on the same axes for a comparison.

        Parameters
        ----------
        name : str, optional
            Its name in the legend; the method of ranking if omitted.
        ax : Axes, optional
            Where to draw; a new figure if omitted.

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

        return plot_roc(self, name=name, ax=ax)


@dataclass(frozen=True, eq=False)
class RankingAgreement(FrozenResult):
    """How far two rankings agree.

    Attributes
    ----------
    methods : tuple of str
        The two methods.
    tau : float
        Kendall's tau-b of the places; NaN where all features of one ranking are tied.
    overlap : Series
        Share of common features among the first k of both, by k.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> score, chi2 = (im.rank_features(data, method=name) for name in ("score", "br-chi2"))
    >>> agreement = score.agreement(chi2)
    >>> print(f"tau {agreement.tau:.2f}, {agreement.overlap[5]:.0%} of the first five")
    tau 0.37, 60% of the first five
    """

    methods: tuple[str, str]
    tau: float
    overlap: pd.Series
