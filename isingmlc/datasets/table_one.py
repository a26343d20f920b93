"""What the rows of a study look like: the first table of a paper, from plain frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_names
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.base.readonly import FrozenResult
from isingmlc.base.tables import ResultTable
from isingmlc.input.sampling import SAMPLING_WEIGHTS, check_weights
from isingmlc.input.tables import (
    as_table,
    check_same_rows,
    column_names,
    is_numeric,
    open_dataset,
)
from isingmlc.input.text import find_kind

ALL_ROWS = "all"
_MISSING = "(missing)"
_QUANTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}
_SPREAD = ("mean", "sd", "min", *_QUANTILES, "max")
# Sums of weights that are whole but for this count as whole.
_ROUNDING = 1e-12
_COLUMNS = (
    *("variable", "level", "kind", "group", "n", "missing", "count", "share"),
    *("mean", "sd", "min", "q1", "median", "q3", "max"),
)
Part: TypeAlias = tuple[str, BoolArray]
# More levels than this are no category that a table shows.
_MAX_LEVELS = 30


@dataclass(frozen=True, repr=False)
class TableOne(FrozenResult):
    """What labels and features look like, in all rows and by group.

    Made by `isingmlc.describe`; it prints as the first table of a paper.

    Attributes
    ----------
    table : ResultTable
        As papers print it: one row per label, feature or level, with ``variable`` and ``level``,
        one column of text for all rows and one per group, and ``missing``. Counts with shares of
        labels, features of two values 0 and 1 and categories; means with standard deviations of
        other numbers.
    overlap : ResultTable
        How many rows have both of two labels; on the diagonal, how many have the label. Rows count
        as often as `freq_weights` say; sampling weights do not change counts.
    n_rows : int
        Rows, whatever their weights.

    Examples
    --------
    >>> import isingmlc as im
    >>> labels = pd.DataFrame({"asthma": [1, 0, 1, 0], "diabetes": [0, 0, 1, 1]})
    >>> features = pd.DataFrame({"age": [40, 50, 60, None], "sex": ["f", "m", "f", "m"]})
    >>> im.describe(labels, features)
          variable level         all   missing
              rows                 4
    labels per row       1.00 (0.82)
            asthma         2 (50.0%)  0 (0.0%)
          diabetes         2 (50.0%)  0 (0.0%)
               age       50.0 (10.0) 1 (25.0%)
               sex     f   2 (50.0%)  0 (0.0%)
               sex     m   2 (50.0%)
    """

    table: ResultTable
    overlap: ResultTable
    n_rows: int
    _numbers: ResultTable

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers behind the table, one row per variable, level and group.

        Returns
        -------
        DataFrame
            Columns ``variable``, ``level``, ``kind`` (``label``, ``binary``, ``category``,
            ``number``, ``dates`` or ``texts``), ``group`` (``all`` for all rows), ``n`` (rows where
            it is known; these are weighted too if there are weights),
            ``missing``, ``count`` and ``share`` (of a level, or of ones; of dates and texts that
            are no category ``count`` is how many differ), and of numbers ``mean``,
            ``sd``, ``min``, ``q1``, ``median``, ``q3`` and ``max``.

        Examples
        --------
        >>> import isingmlc as im
        >>> frame = im.describe([[1, 0], [1, 1]], [[2.0], [4.0]]).to_frame()
        >>> frame.set_index("variable").loc["x1", ["mean", "sd"]].round(2).tolist()
        [3.0, 1.41]
        """
        return self._numbers.copy()

    def to_latex(self, path: Any = None, **options: Any) -> str | None:
        """Write the table as LaTeX; see `ResultTable.to_latex`.

        Parameters
        ----------
        path : path-like, optional
            Where to; the text is returned if omitted.
        **options
            Arguments of `ResultTable.to_latex`.

        Returns
        -------
        str or None
            The text, where no path is given.

        Examples
        --------
        >>> import isingmlc as im
        >>> "labels per row" in im.describe([[1, 0], [1, 1]]).to_latex(caption="Table 1")
        True
        """
        named: ResultTable = self.table.set_index(["variable", "level"])
        return named.to_latex(path, **options)

    def __repr__(self) -> str:
        return str(self.table.to_string(index=False))

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False))


def describe(
    labels: Any,
    features: Any = None,
    by: Any = None,
    *,
    medians: bool | Sequence[str] = False,
    freq_weights: Any = None,
    sampling_weights: Any = None,
    label_names: Sequence[object] | None = None,
    feature_names: Sequence[object] | None = None,
) -> TableOne:
    r"""Describe labels and features: counts, prevalences, means, what is missing, what overlaps.

    Parameters
    ----------
    labels : array_like, DataFrame, list of Series or sparse, shape (n, K), or Dataset
        The 0/1 labels; values may be missing. A `Dataset` brings its features along.
    features : array_like, DataFrame, list of Series or sparse, shape (n, p), optional
        The features: numbers, or categories as text, booleans or pandas categories. Dates,
        identifiers and texts of more than 30 kinds have one line.
    by : str or array_like, shape (n,), optional
        Groups that get a column each: the name of a feature, or one value per row. Rows without a
        group are a group of their own.
    medians : bool or sequence of str
        Whether numbers are printed as medians with quartiles instead of means with standard
        deviations: all of them, or those of these names.
    freq_weights : array_like, shape (n,), optional
        How many observations each row stands for; rows that stand for none are left out. The table
        is that of so many rows.
    sampling_weights : array_like, shape (n,), optional
        Inverse probabilities of being drawn. Counts, and what is missing, are those of the sample,
        unweighted; the shares beside them, means and quantiles are weighted: estimates for the
        population.
    label_names, feature_names : sequence, optional
        Names that override those of a frame.

    Returns
    -------
    TableOne
        It prints as a table; `TableOne.to_frame` has the numbers, `TableOne.overlap` the rows that
        have two labels.

    Raises
    ------
    DataError
        When labels hold something else than 0 and 1, there is no such feature to group by, or
        weights cannot be used.

    Notes
    -----
    With weights w that stand for N observations, variances are
    :math:`\frac{N}{N-1} \sum_i w_i (x_i - \bar x)^2 / \sum_i w_i`, as in R's ``survey``, and
    quantiles are interpolated between the observations of a sample in which each row comes as
    often as its weight says, as in ``wtd.quantile`` of R's ``Hmisc``.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> one = im.describe(data.labels, data.features[["age", "smoker"]], by=data.features["female"])
    >>> one.table.iloc[[0, 4, 8]]
        variable level          all            0            1   missing
    0       rows               1500          771          729
    4  arthritis        347 (23.1%)  134 (17.4%)  213 (29.2%)  0 (0.0%)
    8        age        52.4 (19.0)  52.3 (18.9)  52.4 (19.1)  0 (0.0%)
    >>> int(one.overlap.loc["diabetes", "hypertension"])
    111
    """
    labels, features, feature_names = open_dataset(labels, features, feature_names)
    label_table = as_table(labels, "labels")
    label_frame = _as_frame(label_table, "labels", label_names)
    check_labels(label_frame)
    frame = pd.DataFrame(index=label_frame.index)
    if features is not None:
        feature_table = as_table(features, "features")
        check_same_rows("labels", label_table, "features", feature_table)
        frame = _as_frame(feature_table, "features", feature_names).set_axis(label_frame.index)
        shared = [name for name in frame.columns if name in set(label_frame.columns)]
        if shared:
            raise exc.DataError(
                f"{exc.shorten(shared)} named as label and as feature. Rename the column(s)."
            )
    weights = _find_weights(freq_weights, sampling_weights, label_table)
    groups = _find_groups(by, frame, len(label_frame))
    if isinstance(by, str):
        frame = frame.drop(columns=by)
    counted = weights.times > 0
    if not counted.all():
        # A row that stands for no observation is none.
        label_frame, frame = label_frame[counted], frame[counted]
        groups = None if groups is None else groups[counted]
        weights = weights.take(counted)
    parts: list[Part] = [(ALL_ROWS, np.ones(len(label_frame), dtype=np.bool_))]
    if groups is not None:
        parts += [(str(name), (groups == name).to_numpy()) for name in _levels(groups)]
        absent = groups.isna().to_numpy()
        parts += [(_MISSING, absent)] if absent.any() else []
    kinds = dict.fromkeys(label_frame, "label") | {name: _kind(frame[name]) for name in frame}
    numbers = pd.concat(
        [
            _measure(label_frame[rows], frame[rows], weights.take(rows), kinds, name)
            for name, rows in parts
        ],
        ignore_index=True,
    )
    positive = (label_frame == 1).to_numpy().astype(np.float64)
    names = pd.Index(label_frame.columns, name="label")
    overlap = ResultTable(
        weights.count(positive.T @ (weights.times[:, None] * positive)), names, names
    )
    table = _print(numbers, label_frame, weights, parts, _find_medians(medians, kinds))
    return TableOne(table, overlap, len(label_frame), ResultTable(numbers))


@dataclass(frozen=True)
class _Weights:
    """What rows count: `each` by all weights, `times` how many observations they stand for."""

    each: FloatArray
    times: FloatArray
    is_whole: bool

    def take(self, rows: BoolArray) -> _Weights:
        return replace(self, each=self.each[rows], times=self.times[rows])

    def count(self, values: Any) -> Any:
        """Return counts as whole numbers, if that is what weights are."""
        return values.round().astype(np.int64) if self.is_whole else values

    def spread(self, column: FloatArray) -> dict[str, float]:
        """Describe the numbers that are known: mean, deviation, range and quartiles."""
        known = ~np.isnan(column)
        if not known.any():
            return dict.fromkeys(_SPREAD, np.nan)
        order = np.argsort(column[known], kind="stable")
        values, each = column[known][order], self.each[known][order]
        total, n_known = each.sum(), self.times[known].sum()
        mean = each @ values / total
        squares = each @ (values - mean) ** 2 / total
        sd = np.sqrt(squares * n_known / (n_known - 1)) if n_known > 1 else np.nan
        found = {"mean": mean, "sd": sd, "min": values[0], "max": values[-1]}
        # Each value comes as often as its weight says, of as many as are known.
        ends = np.cumsum(each) * (n_known / total)
        for name, share in _QUANTILES.items():
            place = share * (n_known - 1)
            near = (np.floor(place) + np.array([1.0, 2.0])) * (1 - _ROUNDING)
            low, high = values[np.minimum(np.searchsorted(ends, near), len(values) - 1)]
            found[name] = low + (place - np.floor(place)) * (high - low)
        return found


def known_weights(given: Any, rows: Any, name: str = "freq_weights") -> FloatArray:
    """Check weights, none of which may be missing."""
    weights = check_weights(given, "labels", rows, "drop", name)
    n_missing = int(np.isnan(weights).sum())
    if n_missing:
        raise exc.DataError(
            f"{name} has missing values in {n_missing} row(s). Say how much each row counts, or "
            "leave those rows out."
        )
    return weights


def _find_weights(freq_weights: Any, sampling_weights: Any, rows: Any) -> _Weights:
    """Check weights, and bring those of sampling to a mean of one."""
    times = np.ones(rows.shape[0])
    if freq_weights is not None:
        times = known_weights(freq_weights, rows)
    is_whole = bool((times == np.round(times)).all())
    if sampling_weights is None:
        return _Weights(times, times, is_whole)
    drawn = known_weights(sampling_weights, rows, SAMPLING_WEIGHTS)
    return _Weights(times * drawn * (times.sum() / (times @ drawn)), times, is_whole)


def _as_frame(table: Any, argument: str, given: Sequence[object] | None) -> pd.DataFrame:
    names = column_names(table, argument, given)
    if isinstance(table, pd.DataFrame):
        return pd.DataFrame(table.set_axis(list(names), axis=1))
    dense = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    return pd.DataFrame(dense, columns=list(names))


def check_labels(labels: pd.DataFrame) -> None:
    """Refuse labels that hold something else than 0, 1 and missing values."""
    wrong = [name for name in labels if not labels[name].dropna().isin([0, 1]).all()]
    if wrong:
        raise exc.DataError(
            f"labels must be 0 and 1, but {exc.shorten(wrong)} hold(s) something else. Other "
            "columns belong to the features."
        )


def _find_groups(by: Any, features: pd.DataFrame, n_rows: int) -> pd.Series | None:
    """Return the group of each row as text."""
    if by is None:
        return None
    if isinstance(by, str):
        if by not in features:
            raise exc.DataError(
                f"by={by!r} is no feature; there are {exc.shorten(features.columns)}. Name one, or "
                "pass one value per row."
            )
        by = features[by]
    values = by.reset_index(drop=True) if isinstance(by, pd.Series) else pd.Series(np.asarray(by))
    if len(values) != n_rows:
        raise exc.DataError(f"by has {len(values)} rows, but labels have {n_rows}.")
    if values.nunique() > _MAX_LEVELS:
        raise exc.DataError(
            f"by has {values.nunique()} groups, more than a table can show. Cut numbers into "
            "groups first, e.g. with pd.cut."
        )
    return values


def _levels(values: pd.Series) -> list[Any]:
    """Return what occurs, in order: that of a category, otherwise ascending."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return [level for level in values.cat.categories if (values == level).any()]
    return sorted(values.dropna().unique(), key=lambda value: (str(type(value)), value))


def _find_medians(given: bool | Sequence[str], kinds: dict[str, str]) -> set[str]:
    """Return the numbers that are printed as medians."""
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if isinstance(given, bool):
        return set(numbers) if given else set()
    names = [given] if isinstance(given, str) else list(given)
    check_names("medians", names or None, numbers, what="features that are numbers")
    return set(names)


def _kind(column: pd.Series) -> str:
    if column.dtype.kind in "mM":
        return "dates"
    if not is_numeric(column):
        known = column.dropna().map(str)
        levels = known.unique().tolist()
        if isinstance(column.dtype, pd.CategoricalDtype):
            return "category" if len(levels) <= _MAX_LEVELS else "texts"
        if find_kind(levels, len(known)) == "dates":
            return "dates"
        return "category" if len(levels) <= _MAX_LEVELS else "texts"
    known = column.dropna()
    return "binary" if len(known) and known.isin([0, 1]).all() else "number"


def _measure(
    labels: pd.DataFrame,
    features: pd.DataFrame,
    weights: _Weights,
    kinds: dict[str, str],
    group: object,
) -> pd.DataFrame:
    """Describe some rows: one line per variable and level."""
    both = pd.concat([labels, features], axis=1)
    ones = [name for name, kind in kinds.items() if kind in ("label", "binary")]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    parts = {}
    if ones:
        part = both[ones].astype("float64")
        count = weights.times @ np.nan_to_num(part)
        with np.errstate(invalid="ignore"):
            share = weights.each @ np.nan_to_num(part) / (weights.each @ part.notna().to_numpy())
        parts["ones"] = pd.DataFrame({"count": count, "share": share}, part.columns)
    if numbers:
        part = both[numbers].astype("float64")
        spreads = [weights.spread(part[name].to_numpy()) for name in numbers]
        parts["numbers"] = pd.DataFrame(spreads, part.columns)
    others = [name for name, kind in kinds.items() if kind in ("dates", "texts")]
    if others:
        parts["others"] = pd.DataFrame({"count": both[others].nunique().astype("float64")})
    listed = pd.concat([part.rename_axis("variable").reset_index() for part in parts.values()])
    listed["level"] = ""
    for name in (name for name, kind in kinds.items() if kind == "category"):
        counts = _count_levels(both[name], weights.times)
        weighted = _count_levels(both[name], weights.each)
        share = weighted / (weighted.sum() or 1.0)
        lines = {"variable": name, "level": counts.index, "count": counts, "share": share}
        listed = pd.concat([listed, pd.DataFrame(lines)])
    unknown = weights.times @ both.isna().to_numpy(np.float64)
    missing = pd.Series(weights.count(unknown), both.columns)
    listed["kind"] = listed["variable"].map(kinds)
    listed["group"] = group
    listed["missing"] = listed["variable"].map(missing)
    listed["n"] = weights.count(weights.times.sum() - listed["missing"])
    order = {name: at for at, name in enumerate(kinds)}
    listed = listed.sort_values("variable", key=lambda names: names.map(order), kind="stable")
    return listed.reindex(columns=list(_COLUMNS)).reset_index(drop=True)


def _count_levels(column: pd.Series, weights: FloatArray) -> pd.Series:
    """Count the levels of a category, those without rows too."""
    each = pd.Series(weights, column.index)
    counts = each.groupby(column, observed=False, sort=False).sum()
    if isinstance(column.dtype, pd.CategoricalDtype):
        counts = counts.reindex(column.cat.categories, fill_value=0.0)
    else:
        counts = counts.sort_index(key=lambda level: level.astype(str))
    return counts.set_axis([str(level) for level in counts.index])


def _print(
    numbers: pd.DataFrame,
    labels: pd.DataFrame,
    weights: _Weights,
    parts: list[Part],
    medians: set[str],
) -> ResultTable:
    """Write the numbers as papers do, groups beside each other."""
    table = numbers[numbers["group"] == ALL_ROWS][["variable", "level"]].reset_index(drop=True)
    several = labels.sum(axis=1, min_count=1).to_numpy(np.float64, na_value=np.nan)
    head = pd.DataFrame({"variable": ["rows", "labels per row"], "level": ["", ""]})
    table = pd.concat([head, table], ignore_index=True)
    for name, rows in parts:
        own = numbers[numbers["group"] == name].set_index(["variable", "level"])
        own = own.reindex(pd.MultiIndex.from_frame(table.loc[2:, ["variable", "level"]]))
        own_weights = weights.take(rows)
        per_row = own_weights.spread(several[rows])
        cells = [f"{own_weights.times.sum():.0f}", _spread(per_row["mean"], per_row["sd"])]
        described = own.reset_index().itertuples()
        table[str(name)] = [*cells, *(_cell(row, row.variable in medians) for row in described)]
    everyone = numbers[numbers["group"] == ALL_ROWS]
    share = everyone["missing"] / weights.times.sum()
    said = [
        f"{count:.0f} ({each:.1%})" for count, each in zip(everyone["missing"], share, strict=True)
    ]
    # Once per variable, at its first level.
    again = everyone["variable"].duplicated()
    table["missing"] = ["", "", *("" if no else text for no, text in zip(again, said, strict=True))]
    return ResultTable(table)


def _cell(row: Any, is_median: bool) -> str:
    if row.kind == "number":
        return _middle(row) if is_median else _spread(row.mean, row.sd)
    if row.kind in ("dates", "texts"):
        return f"{row.count:.0f} different"
    # A level that no row of the group has.
    if np.isnan(row.count):
        return "0 (0.0%)"
    return f"{row.count:.0f} ({'--' if np.isnan(row.share) else f'{row.share:.1%}'})"


def _middle(row: Any) -> str:
    """Write a median and the quartiles."""
    if np.isnan(row.median):
        return "--"
    digits = _digits(max(abs(row.q1), abs(row.q3)))
    return f"{row.median:.{digits}f} [{row.q1:.{digits}f}, {row.q3:.{digits}f}]"


def _spread(mean: float, sd: float) -> str:
    """Write a mean and a standard deviation, to about three digits of the mean."""
    if np.isnan(mean):
        return "--"
    size = max(abs(mean), 0.0 if np.isnan(sd) else sd)
    digits = _digits(size)
    return f"{mean:.{digits}f} ({'--' if np.isnan(sd) else f'{sd:.{digits}f}'})"


def _digits(size: float) -> int:
    """Say how many digits after the point a number of some size has in the table."""
    return 1 if size >= 10 else 2 if size >= 0.1 else 4
