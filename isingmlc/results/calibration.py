"""`CalibrationResults`: how often p-values of features that do nothing are small."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
)
from isingmlc.base.readonly import table
from isingmlc.base.tables import ResultTable
from isingmlc.inference.calibration import Counts, Setting, count_small, exchangeable
from isingmlc.inference.combine import COMBINE
from isingmlc.inference.score_tests import PVALUES, check_tested, score_test

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary
    from isingmlc.results.ising import IsingResults

# Shares of small p-values over the level that are as good as 1; at rare levels more is allowed.
GOOD = (0.8, 1.25)
GOOD_IF_RARE = (0.4, 2.0)
RARE_LEVEL = 0.005
# What stands for all edges, and for features, where labels have their names.
ALL_EDGES = "(all edges)"
FEATURES = "(features)"
# About so many null features are drawn if nobody says how many permutations.
_NULL_FEATURES = 20_000
_FEWEST, _MOST = 20, 10_000


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationResults:
    """How often p-values of features that do nothing fall below levels, on the data at hand.

    Made by `IsingResults.check_calibration`.

    Attributes
    ----------
    label_names : tuple of str
        The labels.
    settings : tuple of str
        Ways to test, the user's own first.
    levels : tuple of float
        The levels.
    combine : str
        How p-values of features were made.
    n_permutations, n_features : int
        How many permutations there were, of how many features (or terms).
    note : str
        How rows were permuted.
    counts : Counts
        What was counted.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> check = res.check_calibration(20, compare=False, random_state=0)
    >>> check
    CalibrationResults(20 permutations of 30 features, 6 labels, 1 setting)
    >>> check.to_blame
    ()
    """

    label_names: tuple[str, ...]
    settings: tuple[str, ...]
    levels: tuple[float, ...]
    combine: str
    n_permutations: int
    n_features: int
    note: str
    counts: Counts

    def __repr__(self) -> str:
        n_settings = len(self.settings)
        return (
            f"CalibrationResults({self.n_permutations} permutations of {self.n_features} features, "
            f"{len(self.label_names)} labels, {n_settings} setting{'s' * (n_settings > 1)})"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    @table
    def _frame(self) -> pd.DataFrame:
        """What `to_frame` gives."""
        n_labels = len(self.label_names)
        tests, small = self.counts.tests, self.counts.small
        # All edges together, then each label, then features.
        tests = np.concatenate([tests[:, :, :-1].sum(axis=2, keepdims=True), tests], axis=2)
        small = np.concatenate([small[:, :, :-1].sum(axis=2, keepdims=True), small], axis=2)
        whole = tests.sum(axis=0)[..., None]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = small.sum(axis=0) / whole
            # Permutations are independent, what is tested in one of them is not.
            drawn = small - share * tests[..., None]
            count = max(self.n_permutations - 1, 1)
            between = np.sqrt((drawn**2).sum(axis=0) * self.n_permutations / count) / whole
            levels = np.array(self.levels)
            least = np.sqrt(levels * (1 - levels) / whole)
        error = np.maximum(between, least)
        shape = share.shape
        at = [axis.ravel() for axis in np.indices(shape)]
        names = np.array([ALL_EDGES, *self.label_names, FEATURES], dtype=object)
        assert shape[1] == n_labels + 2
        frame = ResultTable(
            {
                "setting": np.array(self.settings, dtype=object)[at[0]],
                "label": names[at[1]],
                "level": levels[at[2]],
                "tests": np.broadcast_to(whole, shape).ravel(),
                "share": share.ravel(),
                "ratio": (share / levels).ravel(),
                "error": (error / levels).ravel(),
            }
        )
        frame["verdict"] = [
            judge(*row) for row in zip(frame["ratio"], frame["error"], frame["level"], strict=True)
        ]
        return frame

    def to_frame(self) -> pd.DataFrame:
        """Give one row per setting, label and level.

        Returns
        -------
        DataFrame
            Columns setting, label (``(all edges)`` stands for all labels together, ``(features)``
            for p-values of features), level, tests (how many p-values), share (of them up to the
            level), ratio (the share over the level: 1 is right), error (the Monte-Carlo standard
            error of the ratio) and verdict: ``holds``, ``too often``, ``too seldom``, ``unclear``
            where more permutations are needed to say so, or empty where nothing could be tested.

        Notes
        -----
        Ratios from 0.8 to 1.25 are as good as 1, at levels below 0.005 those from 0.4 to 2. What
        is within two standard errors of either side of a limit is unclear.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> check = res.check_calibration(50, compare=False, random_state=0)
        >>> table = check.to_frame().set_index(["label", "level"])
        >>> table.loc[("(all edges)", 0.05), "verdict"]
        'holds'
        """
        return ResultTable(self._frame)

    @property
    def holds(self) -> pd.Series:
        """Whether each setting keeps its levels: for all edges, every label and features.

        A setting that is unclear somewhere holds as far as these permutations tell.
        """
        bad = self.to_frame()["verdict"].isin(["too often", "too seldom"])
        return ~bad.groupby(self.to_frame()["setting"], sort=False).any().rename("holds")

    @property
    def to_blame(self) -> tuple[str, ...]:
        """Labels whose edges are found too often in the first setting, the worst first."""
        frame = self.to_frame()
        own = frame[(frame["setting"] == self.settings[0]) & (frame["verdict"] == "too often")]
        own = own[own["label"].isin(self.label_names)]
        worst = own.groupby("label", sort=False)["ratio"].max()
        return tuple(worst.sort_values(ascending=False, kind="stable").index)

    def summary(self) -> IsingSummary:
        """Summarise what was found: labels in the user's setting, then all settings.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> print(res.check_calibration(20, compare=False, random_state=0).summary())
                           Calibration of p-values
        ...
        """
        from isingmlc.summaries import summarize_calibration

        return summarize_calibration(self)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Compare p-values of null features with uniform ones, one line per label.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture. A line above the diagonal is a label whose p-values are too small.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> check = res.check_calibration(20, compare=False, random_state=0)
        >>> check.plot().get_xlabel()
        'expected −log10 p'
        """
        from isingmlc.plots import plot_calibration

        return plot_calibration(self, ax=ax)


def judge(ratio: float, error: float, level: float) -> str:
    """Say whether small p-values are as frequent as they should be.

    Parameters
    ----------
    ratio : float
        Their share over the level.
    error : float
        Its standard error.
    level : float
        The level.

    Returns
    -------
    str
        ``holds``, ``too often``, ``too seldom`` or ``unclear``; empty where there is no ratio.

    Examples
    --------
    >>> judge(1.02, 0.03, 0.05), judge(2.4, 0.2, 0.01), judge(0.5, 0.05, 0.05)
    ('holds', 'too often', 'too seldom')
    >>> judge(1.6, 0.8, 0.001)
    'unclear'
    """
    if np.isnan(ratio):
        return ""
    low, high = GOOD if level >= RARE_LEVEL else GOOD_IF_RARE
    if ratio - 2 * error > high:
        return "too often"
    if ratio + 2 * error < low:
        return "too seldom"
    return "holds" if low <= ratio - 2 * error and ratio + 2 * error <= high else "unclear"


def check_calibration(
    results: IsingResults,
    n_permutations: int | None,
    features: Sequence[str] | str | None,
    tested: Mapping[str, Any],
    compare: bool | Sequence[Mapping[str, Any]],
    combine: str,
    levels: Sequence[float],
    random_state: RandomState,
    n_jobs: int,
) -> CalibrationResults:
    """Check p-values on permuted features; `IsingResults.check_calibration` explains the arguments.

    `tested` holds the arguments of `score_test` that are the user's own.
    """
    check_option("combine", combine, COMBINE)
    check_tested(tested["products"], tested["by"])
    known = tuple(name for name in PVALUES if name != "permutation")
    own = {name: value for name, value in tested.items() if value is not None}
    own.setdefault("pvalue", _default_pvalue())
    check_option("pvalue", own["pvalue"], known)
    chosen = tuple(check_number("levels", level, above=0, below=1) for level in levels)
    if not chosen:
        raise exc.DataError("levels must hold at least one level, but is empty.")
    fit = results._fit
    exchange = exchangeable(fit)
    names = tuple(fit.terms) if tested["by"] == "term" else fit.stats.feature_names
    positions = check_names("features", features, names)
    if features is not None and tested["by"] == "term":
        raise exc.DataError("features are single columns: leave them out with by='term'.")
    n_features = len(positions)
    count = n_permutations
    if count is None:
        count = min(max(-(-_NULL_FEATURES // n_features), _FEWEST), _MOST)
    count = check_count("n_permutations", count, 2)
    wishes = _alternatives(results, own, known) if compare is True else list(compare or ())
    settings = []
    for wish in [{}, *wishes]:
        found = _setting(results, own, wish)
        if features is not None:
            found = Setting(found.name, found.fit.take_features(positions), found.options)
        settings.append(found)
    counts = count_small(
        settings, exchange, chosen, combine, count, random_state, check_jobs(n_jobs)
    )
    return CalibrationResults(
        results.label_names,
        tuple(setting.name for setting in settings),
        chosen,
        combine,
        count,
        n_features,
        exchange.note,
        counts,
    )


def _default_pvalue() -> str:
    """Give the source of p-values that score tests have if nobody names one."""
    return str(inspect.signature(score_test).parameters["pvalue"].default)


def _alternatives(
    results: IsingResults, own: Mapping[str, Any], known: Sequence[str]
) -> list[dict[str, Any]]:
    """List other settings that are worth a look."""
    fit = results._fit
    single = own["by"] == "feature" and "products" not in own
    pvalues = [{"pvalue": name} for name in known if single and name != own["pvalue"]]
    methods = [{"method": name} for name in ("ridge", "firth") if name != results.method]
    if fit.is_robust:
        # Other sources of p-values take rows for independent.
        trusting = (
            [{"cov_type": "nonrobust", "pvalue": "chi2"}]
            if fit.stats.sampling_weights is None
            else []
        )
        return [*trusting, *methods]
    robust = "HC2" if fit.shared is None else "HC0"
    return [*pvalues, {"cov_type": robust, "pvalue": "chi2"}, *methods]


def _own_fit(results: IsingResults, wish: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments that the user's own fit had, without those that are to be different."""
    settings = results.settings
    own: dict[str, Any] = {"method": settings.method, "cov_type": settings.cov_type}
    if settings.method == "ridge":
        own["penalty"] = settings.penalty
    if settings.neighbors == "ebic" or settings.neighbors.isdecimal():
        kind = settings.neighbors
        own["neighbors"] = int(kind) if kind.isdecimal() else kind
    if "method" in wish:
        own.pop("penalty", None)
    return {**own, **wish}


def _setting(results: IsingResults, own: Mapping[str, Any], wish: Mapping[str, Any]) -> Setting:
    """Make a setting of the user's own one and what is different in it."""
    if not isinstance(wish, Mapping):
        raise exc.DataError(
            "compare must be True, False or a list of dictionaries of options, e.g. "
            f"[{{'pvalue': 'saddlepoint'}}, {{'method': 'ridge'}}], but holds {wish!r}."
        )
    of_tests = {name: value for name, value in wish.items() if name in ("pvalue", "min_count")}
    of_fit = {name: value for name, value in wish.items() if name not in of_tests}
    options = {**own, **of_tests}
    other = results
    if of_fit:
        accepted = inspect.signature(results.model.fit).parameters
        unknown = [name for name in of_fit if name not in accepted]
        if unknown:
            raise exc.DataError(
                f"compare names {exc.shorten(unknown)}, which neither fit nor score_test takes."
            )
        other = results.model.fit(**_own_fit(results, of_fit))
    parts = [other.method]
    if "cov_type" in of_fit or other.cov_type != "nonrobust":
        parts.append(other.cov_type)
    named = ("method", "cov_type")
    parts += [f"{key}={value}" for key, value in of_fit.items() if key not in named]
    return Setting(", ".join([*parts, options["pvalue"]]), other._fit, options)
