"""How many rows are needed: for edges of features in closed form, for networks by simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_names,
    check_number,
    check_option,
    make_generator,
)
from isingmlc.base.arrays import FloatArray, IntArray
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.ebic import NetworkSettings
from isingmlc.fitting.reasons import Reason
from isingmlc.networks.bootstrap import quantiles
from isingmlc.networks.edge_designs import FittedEdges, read_edges
from isingmlc.networks.edge_power import (
    STEEPEST,
    EdgeDesigns,
    find_detectable,
    find_needed,
    find_power,
    in_parts,
    predictors_of,
)
from isingmlc.networks.network_power import (
    ESTIMATORS,
    MEASURES,
    NetworkTrial,
    find_rows,
    fit_rising,
)
from isingmlc.networks.refits import refit_draws
from isingmlc.results.ising import IsingResults
from isingmlc.simulate.distribution import IsingDistribution, distribution_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary

OF = ("edges", "network")
# What a network should reach.
TARGETS: Mapping[str, float] = {
    "sensitivity": 0.8,
    "specificity": 0.9,
    "correlation": 0.8,
    "cs": 0.5,
}
# Sizes that are tried if none are given.
_SIZES = (100, 200, 400, 800, 1600, 3200)
# Times that draws are drawn again for an interval.
_RESAMPLED = 500
# Which arguments belong to which plan.
_OWNERS = {
    "odds_ratio": "edges",
    "features": "edges",
    "n_tests": "edges",
    "power": "edges",
    "prevalence": "edges",
    "explained": "edges",
    "feature_prevalence": "edges",
    "feature_skewness": "edges",
    "feature_explained": "edges",
    "estimator": "network",
    "measures": "network",
    "gamma": "network",
    "rule": "network",
    "min_weight": "network",
    "n_draws": "network",
    "cs_draws": "network",
    "random_state": "network",
    "n_jobs": "network",
}


class EdgePlan(ReadOnly):
    """Rows that edges of features need, and the odds ratios that are found.

    Made by `plan_sample_size`.

    Parameters
    ----------
    designs : EdgeDesigns
        The edges that can be tested.
    names : DataFrame
        Feature, label and reason of all edges.
    tested : ndarray of int
        Which of them the designs are.
    n_rows : float
        Rows at which odds ratios are looked for.
    odds_ratio : float or None
        The odds ratio that rows are counted for.
    power, alpha : float
        The power wanted, and the level over all tests.
    n_tests : int
        How many tests the level is divided by.

    Attributes
    ----------
    n_rows : float
        Rows at which odds ratios are looked for.
    odds_ratio : float or None
        The odds ratio that rows are counted for.
    power, alpha : float
        The power wanted, and the level over all tests.
    n_tests : int
        How many tests the level is divided by.

    Examples
    --------
    >>> import isingmlc as im
    >>> plan = im.plan_sample_size(prevalence=0.2, odds_ratio=1.5, n_tests=100)
    >>> plan
    EdgePlan(1 edge, odds ratio 1.5 with power 0.8 at level 0.0005: 741 rows)
    """

    n_rows: float | None
    odds_ratio: float | None
    power: float
    alpha: float
    n_tests: int
    _designs: EdgeDesigns
    _names: pd.DataFrame
    _tested: IntArray

    def __init__(
        self,
        designs: EdgeDesigns,
        names: pd.DataFrame,
        tested: IntArray,
        *,
        n_rows: float | None,
        odds_ratio: float | None,
        power: float,
        alpha: float,
        n_tests: int,
    ) -> None:
        self._fill(
            _designs=designs,
            _names=names,
            _tested=tested,
            n_rows=n_rows,
            odds_ratio=odds_ratio,
            power=power,
            alpha=alpha,
            n_tests=n_tests,
        )

    def __repr__(self) -> str:
        plural = "" if len(self._names) == 1 else "s"
        said = f"EdgePlan({len(self._names)} edge{plural}"
        if self.odds_ratio is not None:
            needed = self._edges["needed"].dropna()
            rows = f"{needed.max():.0f} rows"
            if len(needed) > 1:
                half, most, every = np.ceil(needed.quantile([0.5, 0.9, 1.0]))
                rows = f"{half:.0f} rows for half of them, {most:.0f} for 90%, {every:.0f} for all"
            said += (
                f", odds ratio {self.odds_ratio:g} with power {self.power:g} at level "
                f"{self.level:.3g}: {rows}"
            )
        return f"{said})"

    @property
    def level(self) -> float:
        """The level of each test: `alpha` over the number of tests, as Bonferroni has it."""
        return self.alpha / self.n_tests

    def to_frame(self) -> pd.DataFrame:
        """Return all edges, one row each.

        Returns
        -------
        DataFrame
            Columns ``feature`` and ``label``; ``kind`` (``"per SD"`` where odds ratios are those of
            one standard deviation of the feature, ``"per SD, normal"`` where nothing says how it
            is distributed, ``"binary"`` where they are of one against zero); ``information``, what
            a row adds to the information about the log odds ratio; ``raising`` and ``lowering``,
            the odds ratios nearest to one that are found on `n_rows` rows with the power wanted
            (NaN where none is, or without rows); ``needed``, rows that `odds_ratio` needs (NaN
            without one); and ``reason``, ``ok`` or why the edge cannot be tested.

        Examples
        --------
        >>> import isingmlc as im
        >>> plan = im.plan_sample_size(prevalence=0.2, odds_ratio=1.5, n_tests=100)
        >>> int(plan.to_frame().loc[0, "needed"])
        741
        """
        return self._edges

    @table
    def _edges(self) -> pd.DataFrame:
        parts = in_parts(self._designs)
        columns = {"information": [part.information for part in parts]}
        if self.n_rows is not None:
            for name, raises in (("raising", True), ("lowering", False)):
                columns[name] = [
                    np.exp(
                        find_detectable(part, self.n_rows, self.power, self.level, raises=raises)
                    )
                    for part in parts
                ]
        if self.odds_ratio is not None:
            columns["needed"] = [
                find_needed(part, self._effect(part), self.power, self.level) for part in parts
            ]
        frame = self._names.copy()
        for name in ("information", "raising", "lowering", "needed"):
            values = np.full(len(frame), np.nan)
            if columns.get(name):
                values[self._tested] = np.concatenate(columns[name])
            frame.insert(len(frame.columns) - 1, name, values)
        return ResultTable(frame)

    def _effect(self, designs: EdgeDesigns, odds_ratio: float | None = None) -> FloatArray:
        ratio = self.odds_ratio if odds_ratio is None else odds_ratio
        assert ratio is not None
        return np.full(len(designs.left), np.log(ratio))

    def power_at(self, n: Any, odds_ratio: float | None = None) -> pd.DataFrame:
        """Return the power of every edge on other numbers of rows.

        Parameters
        ----------
        n : int or sequence of int
            Numbers of rows.
        odds_ratio : float, optional
            The odds ratio; that of the plan if omitted.

        Returns
        -------
        DataFrame
            One row per edge that can be tested, one column per number of rows.

        Examples
        --------
        >>> import isingmlc as im
        >>> plan = im.plan_sample_size(prevalence=0.2, odds_ratio=1.5)
        >>> plan.power_at([200, 400]).round(2).iloc[0].tolist()
        [0.61, 0.89]
        """
        sizes = _check_sizes(n)
        if odds_ratio is None and self.odds_ratio is None:
            raise exc.DataError("the plan has no odds_ratio: power_at(n, odds_ratio=…).")
        if odds_ratio is not None:
            odds_ratio = _check_ratio(odds_ratio)
        names = self._names.iloc[self._tested]
        index = pd.MultiIndex.from_frame(names[["feature", "label"]])
        parts = in_parts(self._designs)
        lines = {
            size: np.concatenate(
                [
                    find_power(part, self._effect(part, odds_ratio), size, self.level)
                    for part in parts
                ]
            )
            for size in sizes
        }
        return ResultTable(lines, index)

    def detectable_at(self, n: Any) -> pd.DataFrame:
        """Return the smallest odds ratio above one that every edge shows on other numbers of rows.

        Parameters
        ----------
        n : int or sequence of int
            Numbers of rows.

        Returns
        -------
        DataFrame
            One row per edge that can be tested, one column per number of rows.

        Examples
        --------
        >>> import isingmlc as im
        >>> plan = im.plan_sample_size(prevalence=0.2, n=500)
        >>> plan.detectable_at([100, 1000]).round(2).iloc[0].tolist()
        [2.1, 1.25]
        """
        sizes = _check_sizes(n)
        index = pd.MultiIndex.from_frame(self._names.iloc[self._tested][["feature", "label"]])
        parts = in_parts(self._designs)
        lines = {
            size: np.concatenate(
                [
                    np.exp(find_detectable(part, size, self.power, self.level, raises=True))
                    for part in parts
                ]
            )
            for size in sizes
        }
        return ResultTable(lines, index)

    def summary(self) -> IsingSummary:
        """Return the plan as text, HTML or LaTeX.

        Returns
        -------
        IsingSummary
            The plan, labels by what the median feature needs.

        Examples
        --------
        >>> import isingmlc as im
        >>> plan = im.plan_sample_size(prevalence=0.2, odds_ratio=1.5, n_tests=100)
        >>> "Bonferroni" in plan.summary().as_text()
        True
        """
        from isingmlc.summaries import summarize_edge_plan

        return summarize_edge_plan(self)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the smallest odds ratios that are found over the number of rows.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture: one line per label, of its median feature among those that are not
            binary, or among all if all are.

        Examples
        --------
        >>> import isingmlc as im
        >>> plan = im.plan_sample_size(prevalence=0.2, odds_ratio=1.5)
        >>> plan.plot().get_xlabel()
        'rows'
        """
        from isingmlc.plots import plot_edge_plan

        return plot_edge_plan(self, ax=ax)


class NetworkPlan(ReadOnly):
    """How well a network is found on so many rows, from draws of it.

    Made by `plan_sample_size`.

    Parameters
    ----------
    draws : DataFrame
        One row per draw: its rows ``n``, and one column per measure.
    about : mapping of str to object
        What was drawn and fitted, for the summary.
    seed : int
        Source of the intervals.

    Attributes
    ----------
    draws : DataFrame
        One row per draw: its rows ``n``, and one column per measure.

    Examples
    --------
    >>> import isingmlc as im
    >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
    >>> plan = im.plan_sample_size(net, of="network", n=[200, 800], n_draws=10, random_state=0)
    >>> plan
    NetworkPlan(20 draws of 2 sizes: sensitivity, specificity, correlation)
    """

    draws: pd.DataFrame
    about: Mapping[str, Any]
    _seed: int

    def __init__(self, draws: pd.DataFrame, about: Mapping[str, Any], seed: int) -> None:
        self._fill(draws=draws, about=dict(about), _seed=seed)

    def __repr__(self) -> str:
        return (
            f"NetworkPlan({len(self.draws)} draws of {self.draws['n'].nunique()} sizes: "
            f"{', '.join(self.measures)})"
        )

    @property
    def measures(self) -> tuple[str, ...]:
        """What was measured."""
        return tuple(self.draws.columns[1:])

    def to_frame(self) -> pd.DataFrame:
        """Return the measures at all sizes, one row each.

        Returns
        -------
        DataFrame
            Columns ``measure`` and ``n``: what, on how many rows; ``mean`` over draws and its
            Monte-Carlo standard ``error``; ``lower`` and ``upper``, quantiles between which 95% of
            draws lie; and ``fitted``, the mean, made not to fall with n (isotonic regression).

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> plan = im.plan_sample_size(net, of="network", n=[200, 800], n_draws=10, random_state=0)
        >>> frame = plan.to_frame().set_index(["measure", "n"])
        >>> bool(frame.loc[("sensitivity", 800), "mean"] > frame.loc[("sensitivity", 200), "mean"])
        True
        """
        return self._sizes

    @table
    def _sizes(self) -> pd.DataFrame:
        rows = []
        for measure in self.measures:
            grouped = self.draws.groupby("n")[measure]
            means, sizes = grouped.mean(), grouped.count()
            fitted = fit_rising(means.to_numpy(), sizes.to_numpy(dtype=np.float64))
            for at, (n, values) in enumerate(grouped):
                known = values.dropna().to_numpy()
                low, high = quantiles(known, (0.025, 0.975)).tolist()
                error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else np.nan
                rows.append((measure, n, means.iloc[at], error, low, high, fitted[at]))
        columns = ["measure", "n", "mean", "error", "lower", "upper", "fitted"]
        return ResultTable(rows, columns=columns)

    def needed(
        self, targets: Mapping[str, float] | None = None, *, alpha: float = 0.05
    ) -> pd.DataFrame:
        """Return the rows at which measures reach their targets on average.

        Parameters
        ----------
        targets : mapping of str to float, optional
            What each measure should reach; 0.8 for the sensitivity and the correlation, 0.9 for
            the specificity and 0.5 for the CS-coefficient if omitted.
        alpha : float
            One minus the level of the intervals.

        Returns
        -------
        DataFrame
            One row per measure: ``target``; ``n``, the rows at which the monotone fit reaches it,
            between sizes on a log scale; ``lower`` and ``upper``, from draws drawn again (they know
            of the draws, not of errors in the network itself); ``reason``: ``ok``,
            ``at-the-smallest`` where the smallest size is enough already, ``not-reached`` where the
            largest is not (``n`` is infinite), ``nothing-to-find`` where the network has no such
            pairs.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> plan = im.plan_sample_size(net, of="network", n=[200, 1600], n_draws=20, random_state=0)
        >>> plan.needed({"sensitivity": 0.6})["reason"].tolist()
        ['ok']
        """
        alpha = check_number("alpha", alpha, above=0, below=1)
        wanted = {name: TARGETS[name] for name in self.measures} if targets is None else targets
        if not isinstance(wanted, Mapping) or not wanted:
            raise exc.DataError(
                f"targets must map measures to what they should reach, e.g. {{'sensitivity': 0.8}},"
                f" but is {targets!r}."
            )
        generator = np.random.default_rng(self._seed)
        sizes = np.sort(self.draws["n"].unique())
        rows = []
        for measure, value in wanted.items():
            check_option("targets", measure, self.measures)
            target = check_number(f"the target of {measure}", value, above=-1, below=1)
            found, low, high = self._find(measure, target, sizes, generator, alpha)
            reason = Reason.OK
            if np.isnan(found):
                reason = Reason.NOTHING_TO_FIND
            elif np.isinf(found):
                reason = Reason.NOT_REACHED
            elif found == sizes[0]:
                reason = Reason.AT_THE_SMALLEST
            rows.append((measure, target, found, low, high, reason))
        columns = ["measure", "target", "n", "lower", "upper", "reason"]
        return ResultTable(rows, columns=columns).set_index("measure")

    def _find(
        self,
        measure: str,
        target: float,
        sizes: IntArray,
        generator: np.random.Generator,
        alpha: float,
    ) -> tuple[float, float, float]:
        """Return the rows that a measure needs, with an interval."""
        drawn = [self.draws.loc[self.draws["n"] == n, measure].dropna().to_numpy() for n in sizes]
        weights = np.array([len(each) for each in drawn], dtype=np.float64)
        if not weights.all():
            return np.nan, np.nan, np.nan
        means = np.array([each.mean() for each in drawn])
        found = np.ceil(find_rows(sizes, fit_rising(means, weights), target))
        again = np.column_stack(
            [
                each[generator.integers(len(each), size=(_RESAMPLED, len(each)))].mean(axis=1)
                for each in drawn
            ]
        )
        spread = np.sort([find_rows(sizes, fit_rising(line, weights), target) for line in again])
        # Quantiles that are among the values: some may be infinite.
        places = [round(share * (_RESAMPLED - 1)) for share in (alpha / 2, 1 - alpha / 2)]
        low, high = np.ceil(spread[places]).tolist()
        return float(found), low, high

    def summary(self) -> IsingSummary:
        """Return the plan as text, HTML or LaTeX.

        Returns
        -------
        IsingSummary
            Measures at all sizes, and the rows that they need.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> plan = im.plan_sample_size(net, of="network", n=[200, 800], n_draws=5, random_state=0)
        >>> "9 of 15 pairs" in plan.summary().as_text()
        True
        """
        from isingmlc.summaries import summarize_network_plan

        return summarize_network_plan(self)

    def plot(self, targets: Mapping[str, float] | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw measures over the number of rows, with the rows that they need.

        Parameters
        ----------
        targets : mapping of str to float, optional
            As `needed` takes them.
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture: means with 95% of the draws, monotone fits, and the targets.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> plan = im.plan_sample_size(net, of="network", n=[200, 800], n_draws=5, random_state=0)
        >>> plan.plot().get_xlabel()
        'rows'
        """
        from isingmlc.plots import plot_network_plan

        return plot_network_plan(self, targets, ax=ax)


def plan_sample_size(
    source: Any = None,
    *,
    of: str = "edges",
    n: Any = None,
    alpha: float = 0.05,
    odds_ratio: float | None = None,
    power: float | None = None,
    features: Sequence[str] | str | None = None,
    n_tests: int | None = None,
    prevalence: float | None = None,
    explained: float | None = None,
    feature_prevalence: float | None = None,
    feature_skewness: float | None = None,
    feature_explained: float | None = None,
    estimator: str | None = None,
    measures: Sequence[str] | None = None,
    gamma: float | None = None,
    rule: str | None = None,
    min_weight: float | None = None,
    n_draws: int | None = None,
    cs_draws: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> EdgePlan | NetworkPlan:
    r"""Plan how many rows to collect.

    Parameters
    ----------
    source : IsingResults, RegularizedIsingResults or IsingDistribution, optional
        What is known already. For edges a fit with features, a pilot study, whose information per
        row is taken for that of the rows to come; if omitted, `prevalence` and the arguments after
        it say what one edge is like. For networks a fit or a distribution to draw from.
    of : {"edges", "network"}
        What is to be found: edges of features, in closed form, or the network of the labels, by
        simulation.
    n : int or sequence of int, optional
        Rows. For edges the number at which odds ratios are looked for, that of the fit if omitted.
        For networks the sizes to try, six from 100 to 3,200 if omitted.
    alpha : float
        For edges the level over all tests: each has `alpha` over their number (Bonferroni). For
        networks that of adjusted p-values, with ``estimator="nodewise"``.
    odds_ratio : float, optional
        Edges: the odds ratio that rows are counted for, per standard deviation of a feature, or of
        one against zero for a binary one.
    power : float, optional
        Edges: the probability with which it is to be found; 0.8 if omitted.
    features : sequence of str, optional
        Edges: features of the fit, a category by its levels (``x: b1 vs a0``), each adjusted for
        the other levels; all if omitted.
    n_tests : int, optional
        Edges: how many tests there will be; the edges of the fit that can be tested, or 1, if
        omitted.
    prevalence : float, optional
        Edges without a fit: how often the label occurs.
    explained : float, optional
        Edges without a fit: the share of the label's variance that the other labels explain; 0 if
        omitted.
    feature_prevalence : float, optional
        Edges without a fit: how often a binary feature is one; if omitted the feature is normal.
    feature_skewness : float, optional
        Edges without a fit: the skewness of a feature that is not binary, such as 2 of waiting
        times; if omitted the feature is normal. The rows of a fit tell it; a fit without rows
        plans for binary features alone.
    feature_explained : float, optional
        Edges without a fit: the share of the feature's variance that the other labels explain; 0
        if omitted.
    estimator : {"ebic", "nodewise"}, optional
        Networks: how they will be fitted: as `IsingModel.fit_regularized` does, the default, or
        without a penalty, where pairs with an adjusted p-value up to `alpha` are edges.
    measures : sequence of {"sensitivity", "specificity", "correlation", "cs"}, optional
        Networks: the share of edges that are found, the share of other pairs that are not, the
        correlation of weights with the true ones, and the CS-coefficient of weights; the first
        three if omitted. The last takes `cs_draws` fits per draw.
    gamma, rule : float, {"and", "or"}, optional
        Networks: as `IsingModel.fit_regularized` takes them.
    min_weight : float, optional
        Networks: pairs whose interaction is smaller than this in absolute value are set to zero in
        the network that is drawn from; 0 if omitted. A fit without penalty has no zeros.
    n_draws : int, optional
        Networks: draws per size; 100 if omitted.
    cs_draws : int, optional
        Networks: draws for each CS-coefficient; 200 if omitted.
    random_state : int, Generator or None
        Networks: source of the draws.
    n_jobs : int, optional
        Networks: processes to use; −1 for one per core. The draws do not depend on it.

    Returns
    -------
    EdgePlan or NetworkPlan
        A table, a summary and a picture; of edges ``power_at`` and ``detectable_at`` other sizes,
        of networks ``needed``, the rows that targets need.

    Raises
    ------
    DataError
        When an argument is out of range, or belongs to the other kind of plan.
    ModelError
        When the fit has no features, has robust errors, or is no distribution, and when features
        are not binary and no rows tell how they are distributed.

    Notes
    -----
    The power of a score test follows from the information :math:`D - B'A^{-1}B` that a row has, and
    from what an effect of that size does to mean and variance of the score: sums over the linear
    predictors of the label's model and over the values of the feature: 0/1, normal or, if skewed,
    of a shifted gamma distribution. The label stays as frequent as it is. For small effects the
    rows needed are the textbook's :math:`(z_{1 - \alpha/2} + z_{power})^2 / (\gamma^2 V)`,
    :math:`\gamma` the log odds ratio and V the information of a row. A plan with fewer than some
    ten rows of a label is not reliable.

    Networks are drawn and fitted again. A mean over draws jumps about; the monotone fit (isotonic
    regression over the logarithm of n) does not, and its crossing with a target has an interval.
    That interval knows of the number of draws, but takes the network for the true one. A network
    that was estimated is mostly stronger than the true one where few rows were at hand.

    Examples
    --------
    What a pilot of 1,500 rows tells about the next study: with an odds ratio of 1.3 per standard
    deviation, at 5% over all edges,

    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> plan = im.plan_sample_size(res, odds_ratio=1.3)
    >>> edge = plan.to_frame().set_index(["feature", "label"]).loc[("bmi", "diabetes")]
    >>> int(edge["needed"].round(-1)), round(float(edge["raising"]), 2)
    (3020, 1.45)

    Without any data, for a label in 20% of the rows and a binary feature in 30% of them:

    >>> plan = im.plan_sample_size(prevalence=0.2, feature_prevalence=0.3, odds_ratio=2)
    >>> int(plan.to_frame().loc[0, "needed"])
    445
    """
    check_option("of", of, OF)
    given = {name: value for name, value in locals().items() if name in _OWNERS}
    for name, value in given.items():
        if value is not None and _OWNERS[name] != of:
            raise exc.DataError(
                f"{name} belongs to of={_OWNERS[name]!r}, but of is {of!r}. Leave it out, or plan "
                f"with of={_OWNERS[name]!r}."
            )
    alpha = check_number("alpha", alpha, above=0, below=1)
    options = {name: value for name, value in given.items() if value is not None}
    if of == "edges":
        return _plan_edges(source, n, alpha, **options)
    return _plan_network(source, n, alpha, **options)


def _plan_edges(
    source: Any,
    n: Any,
    alpha: float,
    *,
    odds_ratio: float | None = None,
    power: float = 0.8,
    features: Sequence[str] | str | None = None,
    n_tests: int | None = None,
    **numbers: float,
) -> EdgePlan:
    """Plan for edges of features."""
    if odds_ratio is not None:
        odds_ratio = _check_ratio(odds_ratio)
    n_rows = None if n is None else float(check_count("n", n, 2))
    if source is None:
        if features is not None:
            raise exc.DataError("features are those of a fit, but there is none: leave them out.")
        designs, names, tested = _edge_of_numbers(**numbers)
    else:
        if numbers:
            raise exc.DataError(
                f"{next(iter(numbers))} is for plans without a fit, but source is given: the fit "
                "tells it. Leave one of them out."
            )
        if not isinstance(source, IsingResults):
            raise exc.DataError(
                "source must be IsingResults for edges, but is of type "
                f"{type(source).__name__}. Use IsingModel(labels, features).fit(), or prevalence=."
            )
        found, fit = _read_columns(source, features), source._fit
        n_rows = fit.stats.nobs if n_rows is None else n_rows
        designs = found.designs
        shape = found.reason.shape
        tested = np.ravel_multi_index((found.feature, found.label), shape)
        binary = np.full(found.reason.size, "per SD", dtype=object)
        binary[tested[~np.isnan(designs.prevalence)]] = "binary"
        names = pd.DataFrame(
            {
                "feature": np.repeat(np.array(found.feature_names, dtype=object), shape[1]),
                "label": np.tile(np.array(fit.stats.label_names, dtype=object), shape[0]),
                "kind": binary,
                "reason": found.reason.ravel(),
            }
        )
    if odds_ratio is None and n_rows is None:
        raise exc.DataError(
            "a plan needs odds_ratio, to count the rows that it takes, or n, to look for the odds "
            "ratios that are found."
        )
    return EdgePlan(
        designs,
        names,
        tested,
        n_rows=n_rows,
        odds_ratio=odds_ratio,
        power=check_number("power", power, above=0, below=1),
        alpha=alpha,
        n_tests=max(len(tested), 1) if n_tests is None else check_count("n_tests", n_tests, 1),
    )


def _read_columns(res: IsingResults, features: Any) -> FittedEdges:
    """Read edges of columns; those of terms of several, which come last, given their rest."""
    every, rest = res.feature_names, res._rest_of_terms
    names = [every[at] for at in check_names("features", features, every)]
    alone = [name for name in names if not rest[name]]
    if len(alone) == len(names):
        return read_edges(res._fit, features)
    parts = [read_edges(res._fit, alone)] if alone else []
    parts += [read_edges(res._adjusted(rest[name])._fit, [name]) for name in names if rest[name]]
    return FittedEdges.stack(parts)


def _edge_of_numbers(
    *,
    prevalence: float | None = None,
    explained: float = 0.0,
    feature_prevalence: float | None = None,
    feature_skewness: float | None = None,
    feature_explained: float = 0.0,
) -> tuple[EdgeDesigns, pd.DataFrame, IntArray]:
    """Describe one edge by numbers."""
    if prevalence is None:
        raise exc.DataError(
            "a plan for edges needs a fit, plan_sample_size(results), or prevalence=, how often "
            "the label occurs."
        )
    prevalence = check_number("prevalence", prevalence, above=0, below=1)
    explained = _check_share("explained", explained)
    left = 1 - _check_share("feature_explained", feature_explained)
    often = np.nan
    if feature_prevalence is not None:
        often = check_number("feature_prevalence", feature_prevalence, above=0, below=1)
        if feature_skewness is not None:
            raise exc.DataError(
                "feature_skewness is for features that are not binary, but feature_prevalence is "
                "given, which tells it. Leave one of them out."
            )
    skewness = 0.0
    if feature_skewness is not None:
        skewness = check_number(
            "feature_skewness", feature_skewness, above=-STEEPEST, below=STEEPEST
        )
    predictor, share = predictors_of(prevalence, explained)
    designs = EdgeDesigns(
        predictor[None], share[None], np.array([left]), np.array([often]), np.array([skewness])
    )
    assumed = "per SD, normal" if feature_skewness is None else "per SD"
    kind = assumed if np.isnan(often) else "binary"
    line = {"feature": ["feature"], "label": ["label"], "kind": [kind], "reason": [Reason.OK]}
    return designs, pd.DataFrame(line), np.arange(1)


def _plan_network(
    source: Any,
    n: Any,
    alpha: float,
    *,
    estimator: str = "ebic",
    measures: Sequence[str] = MEASURES[:3],
    gamma: float = 0.25,
    rule: str = "and",
    min_weight: float = 0.0,
    n_draws: int = 100,
    cs_draws: int = 200,
    random_state: RandomState = None,
    n_jobs: int = 1,
) -> NetworkPlan:
    """Plan for a network."""
    check_option("estimator", estimator, ESTIMATORS)
    if isinstance(measures, str) or not len(tuple(measures)):
        raise exc.DataError(
            f"measures must be a list of {', '.join(MEASURES)}, but is {measures!r}."
        )
    for each in measures:
        check_option("measures", each, MEASURES)
    sizes = _check_sizes(_SIZES if n is None else n)
    n_draws, cs_draws = check_count("n_draws", n_draws, 2), check_count("cs_draws", cs_draws, 10)
    distribution = _read_network(source, _check_share("min_weight", min_weight, np.inf))
    weights = distribution.interactions.to_numpy()[np.triu_indices(len(distribution.thresholds), 1)]
    settings = NetworkSettings(gamma=_check_share("gamma", gamma, np.inf), rule=rule)
    trial = NetworkTrial(
        distribution, tuple(dict.fromkeys(measures)), estimator, settings, alpha, cs_draws
    )
    generator = make_generator(random_state)
    seeds = generator.integers(2**63, size=(len(sizes), n_draws))
    tasks = [(size, int(seed)) for size, line in zip(sizes, seeds, strict=True) for seed in line]
    rest = iter(tasks)
    measured = refit_draws(
        trial.measure,
        lambda size: [next(rest) for _ in range(size)],
        len(tasks),
        check_jobs(n_jobs),
        "draws",
    )
    draws = pd.DataFrame(measured.values, columns=list(trial.measures))
    draws.insert(0, "n", np.repeat(sizes, n_draws))
    about = {
        "labels": len(distribution.thresholds),
        "edges": int((weights != 0).sum()),
        "pairs": len(weights),
        "estimator": estimator,
        "draws": n_draws,
    }
    return NetworkPlan(draws, about, int(generator.integers(2**63)))


def _read_network(source: Any, min_weight: float) -> IsingDistribution:
    """Return the distribution to draw from."""
    if isinstance(source, IsingDistribution):
        if source.feature_names:
            raise exc.DataError(
                "source depends on features, and so do its draws. Fix them first: "
                "distribution.given(features)."
            )
        distribution = source
    elif hasattr(source, "thresholds") and hasattr(source, "interactions"):
        distribution = distribution_of(source)
    else:
        raise exc.DataError(
            "source must be a fitted network or an IsingDistribution to draw from, but is of type "
            f"{type(source).__name__}. E.g. IsingModel(labels).fit_regularized()."
        )
    weights = distribution.interactions
    kept = weights.where(weights.abs() >= min_weight, 0.0)
    if not (kept.to_numpy() != 0).any():
        raise exc.DataError(
            "the network of source has no edges"
            + (f" of {min_weight:g} or more" if min_weight else "")
            + ": there is nothing to find."
        )
    return IsingDistribution(distribution.thresholds, kept)


def _check_sizes(n: Any) -> list[int]:
    """Check numbers of rows, and give them in order."""
    several = [n] if np.ndim(n) == 0 else list(n)
    if not several:
        raise exc.DataError("n must have at least one number of rows, but is empty.")
    return sorted({check_count("n", each, 2) for each in several})


def _check_share(argument: str, given: Any, below: float = 1.0) -> float:
    """Check a number from zero on."""
    return 0.0 if given == 0 else check_number(argument, given, above=0, below=below)


def _check_ratio(odds_ratio: Any) -> float:
    """Check an odds ratio."""
    ratio = check_number("odds_ratio", odds_ratio, above=0)
    if ratio == 1:
        raise exc.DataError("odds_ratio must differ from 1: that is no effect.")
    return ratio
