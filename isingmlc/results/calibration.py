"""How often p-values of features that do nothing are small, on the data at hand.

Rows of all features are permuted together against the labels. The fits of the labels stay what they
are, since features are no part of them: only sums within cells change, and the features of many
permutations stand side by side in one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_number, make_generator
from isingmlc.base.arrays import FloatArray, IntArray, chunks
from isingmlc.base.readonly import FrozenResult
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.score_tests import score_test
from isingmlc.statistics.labelsets import cells_of
from isingmlc.statistics.sums import RowGroups, sum_within

if TYPE_CHECKING:
    from isingmlc.base.printing import IsingSummary

# Shares of small p-values over the level that are as good as 1; at rare levels more is allowed.
_GOOD, _GOOD_IF_RARE, _RARE_LEVEL = (0.8, 1.25), (0.4, 2.0), 0.005
# Features of several permutations are tested at once, in tables of about this size.
_TABLE_BYTES = 2**25
# Strata that numbers are cut into have about so many rows, and a number is cut into so many.
_ROWS_PER_STRATUM, _MOST_CUTS = 20, 10
_PURPOSE = "check_calibration"


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationResults(FrozenResult):
    """How often p-values of features that do nothing fall below levels, on the data at hand.

    Made by `IsingResults.check_calibration`.

    Attributes
    ----------
    frame : DataFrame
        What `to_frame` returns.
    n_permutations, n_features : int
        How many permutations there were, of how many features.
    note : str
        How rows were permuted.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> check = res.check_calibration(20, random_state=0)
    >>> check
    CalibrationResults(20 permutations of 30 features)
    >>> check.to_blame
    ()
    """

    frame: pd.DataFrame
    n_permutations: int
    n_features: int
    note: str

    def __repr__(self) -> str:
        return (
            f"CalibrationResults({self.n_permutations} permutations of {self.n_features} features)"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per label and level.

        Returns
        -------
        DataFrame
            Columns label (``(all edges)`` stands for all labels together, ``(features)`` for
            p-values of features), level, tests (how many p-values), ratio (the share of them up
            to the level, over the level: 1 is right), error (its Monte-Carlo standard error) and
            verdict: ``holds``, ``too often``, ``too seldom``, ``unclear`` where more permutations
            are needed, or empty where nothing could be tested. Ratios from 0.8 to 1.25 are as
            good as 1, at levels below 0.005 those from 0.4 to 2; within two standard errors of
            a limit a ratio is unclear.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> check = res.check_calibration(20, random_state=0)
        >>> check.to_frame().query("label == '(all edges)'")["tests"].tolist()
        [3600, 3600, 3600]
        """
        return self.frame

    @property
    def to_blame(self) -> tuple[str, ...]:
        """Labels whose edges are found too often, the worst first."""
        bad = self.frame[self.frame["verdict"] == "too often"]
        worst = bad[~bad["label"].str.startswith("(")].groupby("label", sort=False)["ratio"].max()
        return tuple(worst.sort_values(ascending=False, kind="stable").index)

    def summary(self) -> IsingSummary:
        """Summarise ratios and verdicts per label.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> check = res.check_calibration(20, random_state=0)
        >>> print(check.summary())
                   Calibration of p-values
        ...
        """
        from isingmlc.summaries import summarize_calibration

        return summarize_calibration(self)


def judge(ratio: float, error: float, level: float) -> str:
    """Say whether small p-values are as frequent as they should be."""
    if np.isnan(ratio):
        return ""
    low, high = _GOOD if level >= _RARE_LEVEL else _GOOD_IF_RARE
    if ratio - 2 * error > high:
        return "too often"
    if ratio + 2 * error < low:
        return "too seldom"
    return "holds" if low <= ratio - 2 * error and ratio + 2 * error <= high else "unclear"


def check_calibration(
    fit: NetworkFit,
    n_permutations: int,
    levels: Sequence[float],
    combine: str,
    random_state: RandomState,
    **options: Any,
) -> CalibrationResults:
    """Test permuted features as `score_test` does with the same options, and count."""
    count = check_count("n_permutations", n_permutations, 2)
    limits = np.array([check_number("levels", level, above=0, below=1) for level in levels])
    if not len(limits):
        raise exc.DataError("levels must hold at least one level, but is empty.")
    data = fit.rows_for(_PURPOSE)
    if data.weights is not None and (data.weights != 1).any():
        raise exc.ModelError(
            f"{_PURPOSE} exchanges rows, so each must stand for one observation, but freq_weights "
            "differ from 1. Repeat the rows instead."
        )
    codes = cells_of(fit.stats, data)
    strata, note = _strata(fit, codes)
    groups = fit.stats.groups
    blocks = (
        np.arange(len(codes))
        if groups is None
        else np.unique(groups[codes], return_inverse=True)[1]
    )
    if groups is not None:
        note += ", whole clusters at a time"
        if len(np.unique([blocks, strata], axis=1).T) > blocks.max() + 1:
            raise exc.ModelError(
                f"{_PURPOSE} exchanges whole clusters that have the same covariates, but within "
                "clusters covariates differ. Check the calibration without covariates."
            )
    generator = make_generator(random_state)
    n_features, n_labels = len(fit.stats.feature_names), len(fit.stats.label_names)
    tests, small = [], []
    size = 8 * n_features * (data.n_rows + 2 * len(fit.stats.counts))
    batches = list(chunks(count, size, limit=_TABLE_BYTES))
    for batch in tqdm(batches, "permutations", disable=None, leave=False):
        orders = [_permute(strata, blocks, generator) for _ in range(batch.stop - batch.start)]
        edges = score_test(_permuted(fit, orders, codes), **options)
        log10p = np.column_stack([edges.log10_pvalue, edges.feature_tests(combine).log10_pvalue])
        table = log10p.reshape(len(orders), n_features, n_labels + 1, 1)
        tests.append((~np.isnan(table)).sum(axis=1))
        small.append((table <= np.log10(limits)).sum(axis=1))
    frame = _tabulate(np.concatenate(tests), np.concatenate(small), limits, fit.stats.label_names)
    return CalibrationResults(frame, count, n_features, note)


def _tabulate(
    tests: IntArray, small: IntArray, levels: FloatArray, label_names: Sequence[str]
) -> pd.DataFrame:
    """Tabulate ratios; shapes: tests (n, labels + 1, 1), small (n, labels + 1, levels)."""
    tests, small = (
        np.concatenate([each[:, :-1].sum(axis=1, keepdims=True), each], axis=1)
        for each in (tests, small)
    )
    n, whole = len(tests), tests.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = small.sum(axis=0) / whole
        # Permutations are independent, what is tested in one of them is not.
        between = np.sqrt(((small - share * tests) ** 2).sum(axis=0) * n / (n - 1)) / whole
        error = np.maximum(between, np.sqrt(levels * (1 - levels) / whole)) / levels
    names = np.array(["(all edges)", *label_names, "(features)"], dtype=object)
    frame = ResultTable(
        {
            "label": np.repeat(names, len(levels)),
            "level": np.tile(levels, len(names)),
            "tests": np.repeat(whole, len(levels)),
            "ratio": (share / levels).ravel(),
            "error": error.ravel(),
        }
    )
    numbers = zip(frame["ratio"], frame["error"], frame["level"], strict=True)
    frame["verdict"] = [judge(*row) for row in numbers]
    return frame


def _strata(fit: NetworkFit, codes: IntArray) -> tuple[IntArray, str]:
    """Return the stratum of each row, within which rows may take each other's place, and a note."""
    context, n_rows = fit.stats.context, len(codes)
    if not len(context):
        return np.zeros(n_rows, np.intp), "rows of the features were permuted against all labels"
    numbers = np.asarray(context.numbers, dtype=float)[codes]
    discrete = np.asarray(context.is_discrete)
    same = np.unique(numbers[:, discrete], axis=0, return_inverse=True)[1].ravel()
    n_cut = int((~discrete).sum())
    if not n_cut:
        return same, "rows of the features were permuted within the same covariates"
    room = n_rows / _ROWS_PER_STRATUM / (int(same.max()) + 1)
    cuts = min(int(room ** (1 / n_cut)), _MOST_CUTS)
    if cuts < 2:
        raise exc.ModelError(
            f"{_PURPOSE} permutes features within strata of the covariates, but {n_rows} rows are "
            f"too few for strata of {n_cut} number(s) and {len(discrete) - n_cut} category "
            f"column(s) with {_ROWS_PER_STRATUM} rows each. Check the calibration with fewer "
            "covariates."
        )
    ranks = np.argsort(np.argsort(numbers[:, ~discrete], axis=0, kind="stable"), axis=0)
    columns = np.column_stack([same, ranks * cuts // n_rows])
    strata = np.unique(columns, axis=0, return_inverse=True)[1].ravel()
    return strata, (
        "rows of the features were permuted within strata of the covariates, numbers cut at "
        f"{cuts} equal shares of the rows"
    )


def _permute(strata: IntArray, blocks: IntArray, generator: np.random.Generator) -> IntArray:
    """Draw an order of the rows: blocks in any order within strata, rows of a block as they are."""
    turn = generator.permutation(int(blocks.max()) + 1)[blocks]
    order = np.empty(len(strata), dtype=np.intp)
    order[np.lexsort((blocks, strata))] = np.lexsort((turn, strata))
    return order


def _permuted(fit: NetworkFit, orders: Sequence[IntArray], codes: IntArray) -> NetworkFit:
    """Return the same fit with the features of several permutations side by side."""
    data, stats = fit.rows_for(_PURPOSE), fit.stats
    assert data.features is not None
    parts: list[Any] = [data.features[order] for order in orders]
    thin = sparse.issparse(data.features)
    features = sparse.csr_array(sparse.hstack(parts)) if thin else np.hstack(parts)
    names = tuple(f"{at}:{name}" for at in range(len(orders)) for name in stats.feature_names)
    groups = RowGroups(codes, len(stats.counts), data.weights)
    source = sum_within(features, groups, np.tile(stats.shift, len(orders)))
    no_terms: dict[str, Any] = {"terms": {}}
    return replace(
        fit,
        stats=replace(stats, source=source, feature_names=names, term_columns={}, term_products={}),
        rows=replace(data, features=features, feature_names=names, **no_terms),
        **no_terms,
    )
