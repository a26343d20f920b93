"""How far a network varies from sample to sample: the bootstrap, from counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_number,
    check_option,
    make_generator,
)
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks, leaves_out_zero
from isingmlc.base.printing import say_given
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.base.storage import read_fields, write_fields
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.pvalues import METHODS
from isingmlc.inference.pvalues import adjust as adjust_pvalues
from isingmlc.networks.centrality import (
    ABSOLUTE,
    MEASURES,
    PATHS,
    path_measures,
    read_communities,
    sum_measures,
)
from isingmlc.networks.feature_draws import NetworksWithTests, RowRefits
from isingmlc.networks.refits import Networks, Refits, refit_draws
from isingmlc.simulate.distribution import IsingDistribution
from isingmlc.statistics.labelsets import LabelsetStatistics
from isingmlc.statistics.sums import find_labelsets

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary
    from isingmlc.plots.look import LookOptions

# What draws of networks have, and what those have besides in which features were tested.
KINDS = ("pairs", "thresholds", *MEASURES, *PATHS)
OF_FEATURES = ("statistics", "importance", "ranks")
# What one of several is called below a picture.
_NAMES = {
    "pairs": "interaction",
    "thresholds": "threshold",
    "statistics": "statistic",
    "ranks": "rank",
}


class NetworkBootstrap(ReadOnly):
    """Networks of bootstrap draws, and what they tell of the network of all rows.

    Made by `IsingResults.bootstrap` and `RegularizedIsingResults.bootstrap`.

    Parameters
    ----------
    label_names : tuple of str
        Names of the labels.
    sample : Networks
        The network of all rows, as one draw.
    draws : Networks
        The networks of the draws.
    parametric : bool
        Whether draws come from the fitted network instead of the rows.
    feature_names : tuple of str
        Names of the features that were tested in every draw; then `sample` and `draws` are
        `NetworksWithTests`.
    adjusted_for : tuple of str
        The covariates that the networks are given, as the user wrote them; empty without any.

    Attributes
    ----------
    label_names : tuple of str
        Names of the labels.
    feature_names : tuple of str
        Names of the features that were tested in every draw; none if they were not.
    parametric : bool
        Whether draws come from the fitted network instead of the rows.
    adjusted_for : tuple of str
        The covariates that the networks are given, as the user wrote them; empty without any.

    Examples
    --------
    >>> import isingmlc as im
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> boot = res.bootstrap(200, random_state=0)
    >>> boot
    NetworkBootstrap(6 labels, 200 draws)
    >>> boot.intervals()[["first", "second", "sample", "lower", "upper"]].round(2).head(2)
              first     second  sample  lower  upper
    0  hypertension   diabetes    1.24   0.90    1.6
    1  hypertension  arthritis    0.92   0.67    1.2
    """

    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    parametric: bool
    adjusted_for: tuple[str, ...]
    _sample: Networks | NetworksWithTests
    _draws: Networks | NetworksWithTests
    _kept: dict[str, tuple[FloatArray, FloatArray]]

    def __init__(
        self,
        label_names: tuple[str, ...],
        sample: Networks | NetworksWithTests,
        draws: Networks | NetworksWithTests,
        parametric: bool,
        feature_names: tuple[str, ...] = (),
        adjusted_for: tuple[str, ...] = (),
    ) -> None:
        self._fill(
            label_names=label_names,
            feature_names=feature_names,
            parametric=parametric,
            adjusted_for=adjusted_for,
            _sample=sample,
            _draws=draws,
            _kept={},
        )

    def __repr__(self) -> str:
        kind = ", parametric" if self.parametric else ""
        features = f", {len(self.feature_names)} features" if self.feature_names else ""
        given = f" {say_given(self.adjusted_for)}" if self.adjusted_for else ""
        return (
            f"NetworkBootstrap({len(self.label_names)} labels{features}{given}, "
            f"{self.n_draws} draws{kind})"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the networks of all draws to one file without pickle.

        Parameters
        ----------
        path : path-like
            Where to. The file appears whole or not at all.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> boot = im.IsingModel(im.datasets.load_example().labels).fit().bootstrap(20)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     boot.save(f"{folder}/boot.npz")
        ...     again = im.NetworkBootstrap.load(f"{folder}/boot.npz")
        >>> again.intervals().equals(boot.intervals())
        True
        """
        fields = {
            "label_names": self.label_names,
            "feature_names": self.feature_names,
            "parametric": self.parametric,
            "adjusted_for": self.adjusted_for,
            "sample": _take_apart(self._sample),
            "draws": _take_apart(self._draws),
        }
        write_fields(path, "NetworkBootstrap", fields)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NetworkBootstrap:
        """Read draws that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        NetworkBootstrap
            The draws.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> boot = im.IsingModel(im.datasets.load_example().labels).fit().bootstrap(20)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     boot.save(f"{folder}/boot.npz")
        ...     im.NetworkBootstrap.load(f"{folder}/boot.npz")
        NetworkBootstrap(6 labels, 20 draws)
        """
        fields = read_fields(path, "NetworkBootstrap")
        for name in ("sample", "draws"):
            fields[name] = _put_together(fields[name])
        return cls(**fields)

    @property
    def n_draws(self) -> int:
        """How many draws there are."""
        return len(self._draws.thresholds)

    @property
    def smallest_pvalue(self) -> float:
        """The smallest p-value that `difference` can give with so many draws."""
        return 2 / (1 + self.n_draws)

    @table
    def marked(self) -> pd.DataFrame:
        """In how many draws a label has no place in the network, labels × reasons.

        A label that does not vary in a draw, for instance, has no interactions there; all others
        have.
        """
        found = ResultTable(index=pd.Index(self.label_names))
        for reason in Reason:
            times = (self._draws.reasons == reason).sum(axis=0)
            if reason != Reason.OK and times.any():
                found[str(reason)] = times
        return found

    def draws(self, of: str = "pairs") -> pd.DataFrame:
        """Return the values of all draws.

        Parameters
        ----------
        of : str
            What of the network: ``"pairs"``, ``"thresholds"``, ``"strength"``,
            ``"expected_influence"``, ``"expected_influence_2"``, ``"closeness"`` or
            ``"betweenness"``. Of a bootstrap with features also ``"statistics"`` of features and
            labels, the ``"importance"`` of features, which is the sum of their statistics, or
            their ``"ranks"`` by it.

        Returns
        -------
        DataFrame
            One row per draw; columns are pairs of labels, labels, features, or features with
            labels. NaN where a label has no place in the network of a draw, or an edge cannot be
            tested.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.bootstrap(100, random_state=0).draws("strength").shape
        (100, 6)
        """
        values, names = self._values(of)[1], self._named(of)
        if names.shape[1] == 1:
            return ResultTable(values, columns=pd.Index(names.iloc[:, 0], name=None), copy=True)
        return ResultTable(values, columns=pd.MultiIndex.from_frame(names), copy=True)

    def intervals(self, of: str = "pairs", *, alpha: float = 0.05) -> pd.DataFrame:
        """Return bootstrap intervals.

        Parameters
        ----------
        of : str
            What of the network; see `draws`.
        alpha : float
            One minus the confidence level.

        Returns
        -------
        DataFrame
            Columns first and second, label, or feature; ``sample``, the value of all rows;
            ``mean`` and ``sd`` of the finite draws; ``lower`` and ``upper``, the quantiles of all
            draws (those of type 6, as in bootnet); ``separated``, the number of draws in which
            labels are separated and the value is infinite; ``missing``, the number of draws in
            which a label has no place in the network; and ``reason``. Where so many draws are
            separated that a limit would be infinite, the value cannot be estimated: there is no
            interval, and the reason is ``infinite-pair``.

        Raises
        ------
        ModelError
            When there is one draw only.

        Notes
        -----
        Quantiles of sparse networks are no confidence intervals: estimates are pulled to zero, and
        draws are pulled once more. They show how far an edge varies.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> boot = net.bootstrap(50, random_state=0)
        >>> boot.intervals("strength")[["label", "sample", "lower", "upper"]].round(1).head(2)
                  label  sample  lower  upper
        0  hypertension     2.7    2.2    3.8
        1      diabetes     2.2    0.8    3.3
        """
        alpha = check_number("alpha", alpha, above=0, below=1)
        if self.n_draws < 2:
            raise exc.ModelError(
                "intervals tell how far draws vary, but there is one draw. Draw a thousand: "
                "bootstrap(1000)."
            )
        return _bound(self._named(of), *self._values(of), alpha)

    def inclusion(self) -> pd.DataFrame:
        """Tell in which share of the draws each pair of labels has an edge.

        Returns
        -------
        DataFrame
            Columns first, second, ``sample`` (the weight of all rows), ``edge``, ``positive`` and
            ``negative``, shares of the draws in which both labels have a place in the network, and
            ``missing``, the number of all other draws. Without a penalty every pair has an edge,
            and the signs tell.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> found = net.bootstrap(50, random_state=0).inclusion()
        >>> found[["first", "second", "edge"]].head(2)
                  first     second  edge
        0  hypertension   diabetes   1.0
        1  hypertension  arthritis   1.0
        """
        sample, values = self._values("pairs")
        frame = self._named("pairs")
        known = np.maximum((~np.isnan(values)).sum(axis=0), 1)
        frame["sample"] = sample
        for name, holds in (
            ("edge", (values > 0) | (values < 0)),
            ("positive", values > 0),
            ("negative", values < 0),
        ):
            share = holds.sum(axis=0) / known
            frame[name] = np.where(np.isnan(values).all(axis=0), np.nan, share)
        frame["missing"] = np.isnan(values).sum(axis=0)
        return frame

    def edges(self, *, alpha: float = 0.05) -> pd.DataFrame:
        """List pairs of labels with what `plot_network` shows of them.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.

        Returns
        -------
        DataFrame
            Columns first, second, ``sample`` (the weight of all rows), ``lower``, ``upper``,
            ``separated`` and ``reason`` as in `intervals`, ``share``, in how many of the draws that
            have both labels the weight has the sign of all rows, and ``covers_zero``, whether the
            interval does, or there is none.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.bootstrap(50, random_state=0).edges()[["first", "second", "share"]].head(2)
                  first     second  share
        0  hypertension   diabetes    1.0
        1  hypertension  arthritis    1.0
        """
        columns = ["first", "second", "sample", "lower", "upper", "separated", "reason"]
        frame, found = self.intervals(alpha=alpha)[columns], self.inclusion()
        share = np.where(frame["sample"] > 0, found["positive"], found["negative"])
        share = np.where(frame["sample"] == 0, 1 - found["edge"], share)
        clear = leaves_out_zero(frame["lower"], frame["upper"])
        return ResultTable(frame.assign(share=share, covers_zero=~clear))

    def centrality(self, communities: Any = None, *, alpha: float = 0.05) -> pd.DataFrame:
        """List how central labels are, with bootstrap intervals.

        Parameters
        ----------
        communities : mapping, Series or sequence, optional
            As `IsingResults.centrality` takes them: there are measures of bridges between
            communities then.
        alpha : float
            One minus the confidence level.

        Returns
        -------
        DataFrame
            One row per measure and label: ``measure``, ``label``, ``value`` in all rows, ``lower``
            and ``upper`` as in `intervals`, and ``reason``: ``unsure-signs`` where a sum of
            absolute weights has some whose own intervals cover zero, so that it is too large and
            its interval too narrow.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> boot = net.bootstrap(20, random_state=0)
        >>> boot.centrality()["measure"].unique().tolist()
        ['strength', 'expected_influence', 'expected_influence_2', 'closeness', 'betweenness']
        >>> boot.centrality(list("aaabbb"))["measure"].unique().tolist()[5:7]
        ['bridge_strength', 'bridge_expected_influence']
        """
        alpha = check_number("alpha", alpha, above=0, below=1)
        found = {measure: self._values(measure) for measure in (*MEASURES, *PATHS)}
        may_be_zero = np.zeros((len(self.label_names),) * 2, dtype=bool)
        first, second = np.triu_indices(len(may_be_zero), 1)
        may_be_zero[first, second] = self.edges(alpha=alpha)["covers_zero"]
        may_be_zero |= may_be_zero.T
        unsure = {"strength": may_be_zero.any(axis=1)}
        if communities is not None:
            groups = read_communities(communities, self.label_names)
            across = groups[:, None] != groups
            drawn = take_bridges(self._draws, across)
            for name, values in take_bridges(self._sample, across).items():
                found[name] = values[0], drawn[name]
            unsure["bridge_strength"] = (may_be_zero & across).any(axis=1)
        parts = []
        for measure, (sample, values) in found.items():
            own = _bound(self._named(measure), sample, values, alpha)
            own = own.rename(columns={"sample": "value"})
            own.insert(0, "measure", measure)
            own["reason"] = str(Reason.OK)
            if measure in ABSOLUTE:
                own["reason"] = np.where(unsure[measure], Reason.UNSURE_SIGNS, Reason.OK)
            parts.append(own[["measure", "label", "value", "lower", "upper", "reason"]])
        return ResultTable(pd.concat(parts, ignore_index=True))

    def ranks(self, first: int = 10, *, alpha: float = 0.05) -> pd.DataFrame:
        """Tell how sure the ranks of features are.

        Parameters
        ----------
        first : int
            How many features count as the first ones.
        alpha : float
            One minus the level of the intervals.

        Returns
        -------
        DataFrame
            One row per feature, the best first: ``feature``, ``importance`` and ``rank`` in all
            rows, ``lower`` and ``upper``, the quantiles of its ranks in the draws (of type 6),
            ``median``, and ``among_first``, the share of draws in which it is among the first
            ones, with its Monte-Carlo error ``among_first_se``.

        Raises
        ------
        ModelError
            When features were not tested in the draws.

        Notes
        -----
        A statistic of a draw is that of the rows and about as much again as chance adds, so
        features that do nothing come out larger in draws than in all rows, and those that do much
        hardly. Ranks are less affected than statistics.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> boot = res.bootstrap(50, features=True, random_state=0)
        >>> boot.ranks(first=2)[["feature", "rank", "among_first"]].head(2)
          feature  rank  among_first
        0     age     1          1.0
        1     bmi     2          0.8
        """
        first = check_count("first", first, 1)
        alpha = check_number("alpha", alpha, above=0, below=1)
        rank, drawn = self._values("ranks")
        levels = (alpha / 2, 0.5, 1 - alpha / 2)
        lower, median, upper = np.array([quantiles(column, levels) for column in drawn.T]).T
        share = (drawn <= first).mean(axis=0)
        frame = ResultTable(
            {
                "feature": np.array(self.feature_names, dtype=object),
                "importance": self._values("importance")[0],
                "rank": rank.astype(int),
                "lower": lower,
                "median": median,
                "upper": upper,
                "among_first": share,
                "among_first_se": np.sqrt(share * (1 - share) / len(drawn)),
            }
        )
        return frame.sort_values("rank", ignore_index=True)

    def difference(
        self, of: str = "pairs", *, alpha: float = 0.05, adjust: str | None = "fdr_bh"
    ) -> pd.DataFrame:
        """Test whether pairs, labels or features differ, by the differences within draws.

        Parameters
        ----------
        of : str
            What of the network; see `draws`.
        alpha : float
            One minus the confidence level.
        adjust : str or None
            How p-values are adjusted for their number, any method of statsmodels'
            ``multipletests``; None does not adjust them, as in bootnet, and leaves out
            ``pvalue_adj``.

        Returns
        -------
        DataFrame
            One row per two of them, ``one`` and ``other``: their ``difference`` in all
            rows, the quantiles ``lower`` and ``upper`` of that of the draws (NaN where one would
            be infinite), ``pvalue`` (twice the
            smaller share of draws on one side of zero, no less than `smallest_pvalue`),
            ``pvalue_adj`` and the number of ``draws`` that have both.

        Warns
        -----
        DataWarning
            When so few draws cannot lead to an adjusted p-value of `alpha`.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> boot = res.bootstrap(200, random_state=0)
        >>> boot.difference("strength")[["one", "other", "pvalue"]].round(2).head(2)
                    one      other  pvalue
        0  hypertension   diabetes    0.35
        1  hypertension  arthritis    0.34
        """
        alpha = check_number("alpha", alpha, above=0, below=1)
        if adjust is not None:
            check_option("adjust", adjust, METHODS)
        sample, values = self._values(of)
        frame = self._named(of)
        names = frame.agg(":".join, axis=1).to_numpy()
        first, second = np.triu_indices(len(names), 1)
        limits, pvalue = np.full((len(first), 2), np.nan), np.full(len(first), np.nan)
        known = np.zeros(len(first), dtype=np.intp)
        for part in chunks(len(first), 32 * self.n_draws):
            with np.errstate(invalid="ignore"):
                apart = values[:, first[part]] - values[:, second[part]]
            limits[part] = [quantiles(line, (alpha / 2, 1 - alpha / 2)) for line in apart.T]
            known[part] = (~np.isnan(apart)).sum(axis=0)
            side = 1 + np.minimum((apart <= 0).sum(axis=0), (apart >= 0).sum(axis=0))
            share = np.minimum(2 * side / (1 + known[part]), 1.0)
            pvalue[part] = np.where(known[part] > 0, share, np.nan)
        limits[np.isinf(limits).any(axis=1)] = np.nan
        adjusted = {}
        if adjust is not None:
            adjusted["pvalue_adj"] = adjust_pvalues(pvalue, adjust, alpha=alpha)
            tested = int((~np.isnan(pvalue)).sum())
            best = adjust_pvalues(
                np.full(max(tested, 1), self.smallest_pvalue), adjust, alpha=alpha
            )
            if best.min() > alpha:
                exc.warn(
                    f"{self.n_draws} draws cannot lead to an adjusted p-value of alpha={alpha:g}: "
                    f"with {tested} differences the smallest is {best.min():.2g}. Take more draws, "
                    "another adjustment, or fewer labels.",
                    exc.DataWarning,
                )
        with np.errstate(invalid="ignore"):
            observed = sample[first] - sample[second]
        return ResultTable(
            {
                "one": names[first],
                "other": names[second],
                "difference": observed,
                "lower": limits[:, 0],
                "upper": limits[:, 1],
                "pvalue": pvalue,
                **adjusted,
                "draws": known,
            }
        )

    def report(
        self, path: str | os.PathLike[str] = "report.html", *, title: str | None = None
    ) -> Path:
        """Write a short report to one HTML file that opens without a connection.

        It has the intervals as a picture and as tables, centrality, and ranks of features if they
        were drawn, and all tables as CSV.

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
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     res.bootstrap(20, random_state=0).report(f"{folder}/draws.html").name
        'draws.html'
        """
        from isingmlc.report.writing import write_report_of

        return write_report_of("bootstrap", self, path, title)

    def summary(self) -> IsingSummary:
        """Summarise the draws as text, HTML, LaTeX or CSV.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> print(res.bootstrap(50, random_state=0).summary().as_text().splitlines()[0].strip())
        Bootstrap of a Network
        """
        from isingmlc.network_summaries import summarize_bootstrap

        return summarize_bootstrap(self)

    def plot(
        self, of: str = "pairs", *, alpha: float = 0.05, top: int = 40, ax: Axes | None = None
    ) -> Axes:
        """Draw the intervals, the largest estimates first.

        Parameters
        ----------
        of, alpha
            As `intervals` takes them.
        top : int
            How many are drawn.
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.bootstrap(50, random_state=0).plot("expected_influence").get_xlabel()
        'expected influence'
        """
        from isingmlc.plots import plot_intervals

        table = self.intervals(of, alpha=alpha)
        what = _NAMES.get(of, of.replace("_", " "))
        return plot_intervals(table, top=top, what=what, ax=ax)

    def plot_network(
        self, *, alpha: float = 0.05, ax: Axes | None = None, **look: Unpack[LookOptions]
    ) -> Axes:
        """Draw the network of all rows with what the draws say of it.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.
        ax : Axes, optional
            Where to draw; a new figure if omitted.
        **look
            As `IsingResults.plot_label_network` takes it.

        Returns
        -------
        Axes
            The plot. Lines are the wider, the stronger the interaction of all rows; the paler,
            the fewer draws have its sign; and broken where the interval covers zero. Thin grey
            broken lines are pairs without an interval, because so many draws separate them.
            `edges` has the numbers.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.bootstrap(20, random_state=0).plot_network().get_title()
        'Interactions of 6 labels in 20 draws (9 of 15 pairs)'
        """
        from isingmlc.plots import plot_uncertain_network

        return plot_uncertain_network(self, alpha=alpha, ax=ax, **look)

    def plot_differences(
        self,
        of: str = "strength",
        *,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        top: int = 30,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw which pairs, labels or features differ, as a matrix.

        Parameters
        ----------
        of, alpha, adjust
            As `difference` takes them.
        top : int
            How many are compared, the largest in absolute value.
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture: values of all rows on the diagonal, cells coloured where two differ.
            `difference` has the numbers.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.bootstrap(50, random_state=0).plot_differences().get_title()
        'Differences in strength, 50 draws'
        """
        from isingmlc.plots import plot_differences

        return plot_differences(self, of, alpha=alpha, adjust=adjust, top=top, ax=ax)

    # Inside

    def _named(self, of: str) -> pd.DataFrame:
        """Return a table with the names of pairs, of labels, or of features."""
        names = np.array(self.label_names, dtype=object)
        if of == "pairs":
            first, second = np.triu_indices(len(names), 1)
            return ResultTable({"first": names[first], "second": names[second]})
        if of not in OF_FEATURES:
            return ResultTable({"label": names})
        features = np.array(self.feature_names, dtype=object)
        if of != "statistics":
            return ResultTable({"feature": features})
        both = np.repeat(features, len(names)), np.tile(names, len(features))
        return ResultTable({"feature": both[0], "label": both[1]})

    def _values(self, of: str) -> tuple[FloatArray, FloatArray]:
        """Return the values of all rows, and those of all draws, one line per draw."""
        if of in OF_FEATURES and not self.feature_names:
            raise exc.ModelError(
                f"of={of!r} is about features, which were not tested in these draws. Draw with "
                "features: res.bootstrap(features=True)."
            )
        check_option("of", of, (*KINDS, *OF_FEATURES) if self.feature_names else KINDS)
        if of not in self._kept:
            self._kept[of] = take_values(self._sample, of)[0], take_values(self._draws, of)
        return self._kept[of]


def _take_apart(networks: Networks | NetworksWithTests) -> dict[str, Any]:
    """Return networks as fields that can be saved, with numbers in place of reasons."""
    words, codes = np.unique(networks.reasons.astype(str), return_inverse=True)
    codes = codes.reshape(networks.reasons.shape).astype(np.uint8)
    return {**networks._asdict(), "reasons": codes, "words": words.tolist()}


def _put_together(fields: dict[str, Any]) -> Networks | NetworksWithTests:
    """Return the networks that fields were taken from."""
    words = np.array([Reason(word) for word in fields.pop("words")], dtype=object)
    fields["reasons"] = words[fields["reasons"]]
    return NetworksWithTests(**fields) if "statistics" in fields else Networks(**fields)


def _bound(
    frame: pd.DataFrame, sample: FloatArray, values: FloatArray, alpha: float
) -> pd.DataFrame:
    """Add values of all rows and what draws say of them to a table of names."""
    finite = np.where(np.isfinite(values), values, np.nan)
    enough = np.isfinite(values).sum(axis=0)
    total, known = np.nansum(finite, axis=0), np.maximum(enough, 1)
    mean = np.where(enough > 0, total / known, np.nan)
    apart = np.nansum((finite - mean) ** 2, axis=0)
    limits = np.array([quantiles(column, (alpha / 2, 1 - alpha / 2)) for column in values.T])
    limits = limits.reshape(-1, 2)
    endless, unknown = np.isinf(limits).any(axis=1), np.isnan(limits).all(axis=1)
    limits[endless] = np.nan
    frame["sample"], frame["mean"] = sample, mean
    frame["sd"] = np.where(enough > 1, np.sqrt(apart / np.maximum(enough - 1, 1)), np.nan)
    frame["lower"], frame["upper"] = limits.T
    frame["separated"] = np.isinf(values).sum(axis=0)
    frame["missing"] = np.isnan(values).sum(axis=0)
    reason = np.where(endless, Reason.INFINITE_PAIR, Reason.OK)
    frame["reason"] = np.where(unknown, Reason.UNKNOWN_PAIR, reason).astype(object)
    return frame


def take_values(networks: Networks | NetworksWithTests, of: str) -> FloatArray:
    """Return pairs, thresholds or centralities of several networks, one line each."""
    if of in OF_FEATURES:
        assert isinstance(networks, NetworksWithTests)
        if of == "statistics":
            return networks.statistics.reshape(len(networks.statistics), -1)
        return networks.importance if of == "importance" else networks.ranks
    if of == "thresholds":
        return networks.thresholds
    n_labels = networks.weights.shape[-1]
    if of == "pairs":
        first, second = np.triu_indices(n_labels, 1)
        return networks.weights[:, first, second]
    weights, outside = _weigh_insiders(networks)
    if of in PATHS:
        lines = zip(weights, ~outside, strict=True)
        return np.array([path_measures(each, inside)[of] for each, inside in lines])
    return np.where(outside, np.nan, sum_measures(weights)[of])


def take_bridges(
    networks: Networks | NetworksWithTests, across: BoolArray
) -> dict[str, FloatArray]:
    """Return measures of bridges between communities of several networks, one line each."""
    weights, outside = _weigh_insiders(networks)
    sums = sum_measures(np.where(across, weights, 0.0))
    found = {
        f"bridge_{name}": np.where(outside, np.nan, sums[name])
        for name in ("strength", "expected_influence")
    }
    lines = zip(weights, ~outside, strict=True)
    paths = [path_measures(each, inside, across) for each, inside in lines]
    return found | {
        f"bridge_{name}": np.array([each[f"bridge_{name}"] for each in paths]) for name in PATHS
    }


def _weigh_insiders(networks: Networks | NetworksWithTests) -> tuple[FloatArray, BoolArray]:
    """Return weights, zero where a label has no place in its network, and marks of such labels."""
    outside = networks.reasons == Reason.CONSTANT_LABEL
    outside |= (networks.reasons == Reason.TOO_RARE) | (networks.reasons == Reason.DETERMINED_LABEL)
    dropped = outside[:, :, None] | outside[:, None, :]
    return np.where(dropped, 0.0, networks.weights), outside


def quantiles(values: FloatArray, levels: tuple[float, ...]) -> FloatArray:
    """Return quantiles of type 6, at (n + 1) times the level, of values that may be infinite."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return np.full(len(levels), np.nan)
    place = np.clip((len(known) + 1) * np.array(levels), 1, len(known))
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, len(known))
    low, high, share = known[below - 1], known[above - 1], place - below
    with np.errstate(invalid="ignore"):
        between = (1 - share) * low + share * high
    return np.asarray(np.where((low == high) | (share == 0), low, between))


def bootstrap_network(
    refits: Refits,
    cells: tuple[Any, FloatArray, FloatArray],
    label_names: tuple[str, ...],
    n_draws: int,
    *,
    random_state: RandomState,
    n_jobs: int,
    make_distribution: Callable[[], IsingDistribution] | None,
    clusters: IntArray | None = None,
    adjusted_for: tuple[str, ...] = (),
) -> NetworkBootstrap:
    """Fit networks to bootstrap draws; `IsingResults.bootstrap` explains the arguments."""
    n_draws = check_count("n_draws", n_draws, 1)
    n_jobs, generator = check_jobs(n_jobs), make_generator(random_state)
    counts = cells[2]
    nobs = check_whole(counts, "bootstrap()")
    sample = refits.fit_counts(counts[None])
    share = counts / counts.sum()

    def draw(size: int) -> FloatArray:
        if clusters is None:
            return generator.multinomial(nobs, share, size=size).astype(np.float64)
        times = _draw_clusters(generator, int(clusters.max()) + 1, size)
        return np.asarray(times[:, clusters] * counts, dtype=np.float64)

    if make_distribution is None:
        found = refit_draws(refits.fit_counts, draw, n_draws, n_jobs, "draws")
        return NetworkBootstrap(label_names, sample, found, False, adjusted_for=adjusted_for)
    distribution = make_distribution()

    def draw_cells(size: int) -> list[tuple[Any, FloatArray, FloatArray]]:
        return [
            count_cells(distribution.sample(nobs, random_state=generator).to_numpy(np.bool_))
            for _ in range(size)
        ]

    found = refit_draws(refits.fit_tables, draw_cells, n_draws, n_jobs, "draws")
    return NetworkBootstrap(label_names, sample, found, parametric=True)


def bootstrap_features(
    refits: RowRefits,
    n_draws: int,
    *,
    random_state: RandomState,
    n_jobs: int,
) -> NetworkBootstrap:
    """Fit networks to draws of rows and test features in each; see `IsingResults.bootstrap`."""
    n_draws = check_count("n_draws", n_draws, 1)
    n_jobs, generator = check_jobs(n_jobs), make_generator(random_state)
    refits.check_size(n_draws)
    counts, clusters = refits.counts, refits.clusters
    nobs = check_whole(counts, "bootstrap()")
    sample = refits.fit_rows(refits.rows)

    def draw(size: int) -> IntArray:
        if clusters is None:
            return np.asarray(generator.multinomial(nobs, counts / nobs, size=size))
        return _draw_clusters(generator, int(clusters.max()) + 1, size)

    found = refit_draws(refits.fit_times, draw, n_draws, n_jobs, "draws")
    names = refits.fit.stats.label_names, refits.feature_names
    given = refits.fit.stats.context.described
    return NetworkBootstrap(names[0], sample, found, False, names[1], given)


def _draw_clusters(generator: np.random.Generator, n_clusters: int, size: int) -> IntArray:
    """Draw as many clusters as there are, several times."""
    return np.asarray(
        generator.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=size)
    )


def check_draws(stats: LabelsetStatistics, what: str) -> None:
    """Say that rows with sampling weights are not drawn."""
    if stats.sampling_weights is not None:
        raise exc.ModelError(
            f"{what} draws rows that stand for themselves, but these have sampling_weights. "
            "IsingModel.fit().network_table() has standard errors that take them into account."
        )


def check_whole(counts: FloatArray, what: str) -> int:
    """Return the number of observations, or say that rows must stand for whole ones."""
    if (counts != np.round(counts)).any():
        raise exc.ModelError(
            f"{what} draws observations, so each row must stand for a whole number of them, but "
            "freq_weights are not whole. Scale and round them first."
        )
    return int(counts.sum())


def count_cells(labels: Any) -> tuple[Any, FloatArray, FloatArray]:
    """Return the distinct label vectors of rows with their counts."""
    patterns, codes = find_labelsets(np.packbits(labels, axis=1), labels.shape[1])
    counts = np.bincount(codes).astype(np.float64)
    return patterns, np.empty((len(patterns), 0)), counts
