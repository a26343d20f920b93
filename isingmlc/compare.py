"""Comparing methods over data sets: Friedman's test, tests of pairs, average ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from isingmlc import exceptions as exc
from isingmlc.base import readonly
from isingmlc.base.arguments import check_count, check_number, check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.base.printing import COLUMN, IsingSummary, Table, list_rows, shorten_name, two_columns
from isingmlc.base.tables import ResultTable
from isingmlc.inference.pvalues import METHODS, chi2_sf
from isingmlc.inference.pvalues import adjust as adjust_pvalues
from isingmlc.input.tables import is_numeric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "CompareResult",
    "critical_difference",
    "friedman",
    "plot_critical_difference",
    "posthoc_conover",
    "posthoc_nemenyi",
]

POSTHOC_TESTS = ("nemenyi", "conover")

# Up to so many methods a summary has a table of all pairs.
MAX_PAIRS = 10
# Demšar's rule of thumb: with fewer the chi-square distribution is a rough approximation.
FEW_DATASETS, FEW_METHODS = 10, 5

UNANIMOUS = (
    "every data set ranks the methods alike: nothing varies that differences of ranks could be "
    "compared with, and Conover's p-values are 0 for all methods of different rank. Compare on "
    "more data sets, or use posthoc_nemenyi."
)


@dataclass(frozen=True, repr=False, eq=False)
class CompareResult:
    """Friedman's test of methods on data sets; unpacks to its statistic and p-value.

    Attributes
    ----------
    methods, datasets : tuple of str
        What was compared, and on what.
    scores : ndarray, shape (data sets, methods)
        What each method achieved on each data set.
    higher_is_better : bool
        Whether the larger of two values is the better one.

    Examples
    --------
    >>> from isingmlc import compare
    >>> from isingmlc.experiments.paper import load_paper_table
    >>> result = compare.friedman(load_paper_table("hamming"))
    >>> result
    CompareResult(7 methods on 13 data sets, chi2(6) = 22.22, p = 0.0011)
    >>> statistic, pvalue = result
    >>> result.ranks.idxmax()
    'products'
    >>> bool(result.posthoc.loc["products", "lp-chi2"] < 0.001)
    True
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    scores: FloatArray
    higher_is_better: bool = True

    # Ranks

    @cached_property
    def _ranks(self) -> FloatArray:
        """Ranks within each data set; equal values share the mean of their ranks."""
        towards_best = self.scores if self.higher_is_better else -self.scores
        return np.asarray(stats.rankdata(towards_best, axis=1))

    @cached_property
    def _differences(self) -> FloatArray:
        """Differences of the rank sums of all pairs of methods, without their signs."""
        sums = self._ranks.sum(axis=0)
        first, second = np.triu_indices(len(sums), 1)
        return np.asarray(np.abs(sums[first] - sums[second]))

    @readonly.table
    def ranks(self) -> pd.Series:
        """Average rank of each method; the best of K methods on a data set has rank K there."""
        index = pd.Index(self.methods, name="method")
        return pd.Series(self._ranks.mean(axis=0), index, name="rank")

    @cached_property
    def _sums_of_squares(self) -> tuple[float, float]:
        """Squares of ranks about their mean, in all and of sums over data sets; both exact."""
        centred = self._ranks - (len(self.methods) + 1) / 2
        return float((centred**2).sum()), float((centred.sum(axis=0) ** 2).sum())

    @property
    def all_tied(self) -> bool:
        """Whether all methods are equal on every data set."""
        return self._sums_of_squares[0] == 0

    @property
    def unanimous(self) -> bool:
        """Whether every data set ranks the methods alike, and not all of them equal."""
        spread, between = self._sums_of_squares
        return not self.all_tied and between == len(self.datasets) * spread

    # The test

    @property
    def null(self) -> str:
        """What is tested."""
        return "all methods perform alike: on each data set every order of them is as likely"

    @property
    def statistic(self) -> float:
        """Friedman's chi-square, corrected for ties; 0 if all methods tie."""
        spread, between = self._sums_of_squares
        return 0.0 if self.all_tied else self.df * between / spread

    @property
    def df(self) -> int:
        """Degrees of freedom: the number of methods less one."""
        return len(self.methods) - 1

    @property
    def pvalue(self) -> float:
        """p-value of Friedman's test, by the chi-square distribution."""
        return float(chi2_sf(self.statistic, self.df))

    @property
    def concordance(self) -> float:
        """Kendall's W: 0 if ranks differ at random, 1 if all data sets rank alike."""
        return self.statistic / (len(self.datasets) * self.df)

    @cached_property
    def iman_davenport(self) -> tuple[float, float]:
        """Statistic and p-value of the F test of Iman and Davenport, less conservative."""
        if self.unanimous:
            return np.inf, 0.0
        n_datasets = len(self.datasets)
        statistic = (n_datasets - 1) * self.statistic / (n_datasets * self.df - self.statistic)
        return statistic, float(stats.f.sf(statistic, self.df, self.df * (n_datasets - 1)))

    @readonly.table
    def posthoc(self) -> pd.DataFrame:
        """p-values of Conover's test for all pairs, adjusted by Holm's method."""
        return _conover(self, "holm")

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __repr__(self) -> str:
        return (
            f"CompareResult({len(self.methods)} methods on {len(self.datasets)} data sets, "
            f"chi2({self.df}) = {self.statistic:.2f}, p = {self.pvalue:.2g})"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    # What a person reads and sees

    def to_frame(self) -> pd.DataFrame:
        """Give one row per method, best first.

        Returns
        -------
        DataFrame
            Columns rank (the average), mean and median of the values, and wins (the data sets
            on which no other method is better).

        Examples
        --------
        >>> import isingmlc as im
        >>> result = im.compare.friedman(im.experiments.load_paper_table("subset"))
        >>> result.to_frame().head(2)
                         rank      mean  median  wins
        method
        l1           5.576923  0.300923   0.179    10
        products     5.038462  0.302154   0.183     6
        """
        best = self._ranks.max(axis=1, keepdims=True)
        frame = ResultTable(
            {
                "rank": self._ranks.mean(axis=0),
                "mean": self.scores.mean(axis=0),
                "median": np.median(self.scores, axis=0),
                "wins": (self._ranks == best).sum(axis=0),
            },
            index=pd.Index(self.methods, name="method"),
        )
        return frame.sort_values("rank", ascending=False, kind="stable")

    def summary(self) -> IsingSummary:
        """Summarise the test, the methods and, up to ten methods, all pairs.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> result = im.compare.friedman(im.experiments.load_paper_table("subset"))
        >>> print(result.summary())
                                       Friedman Test
        ============================================================================
        Methods:                       7    Chi-square:                       26.616
        Data sets:                    13    Degrees of freedom:                    6
        Better:                   higher    P-value:                        0.000171
        Kendall's W:               0.341    P-value, F test:                2.71e-05
        ...
        """
        return _summarise(self)

    def plot_critical_difference(
        self, alpha: float = 0.05, ax: Axes | None = None, test: str = "nemenyi"
    ) -> Axes:
        """Draw the average ranks, with bars over methods that do not differ significantly.

        Parameters
        ----------
        alpha : float
            Level of the test of pairs.
        ax : Axes, optional
            Where to draw; a new figure if omitted.
        test : {"nemenyi", "conover"}
            Which test of pairs. Nemenyi's has one critical difference, which is drawn too;
            Conover's p-values are adjusted by Holm's method.

        Returns
        -------
        Axes
            The picture: ranks from left to right, the best method rightmost.

        Raises
        ------
        DataError
            When an option is none of those there are.

        Examples
        --------
        >>> import isingmlc as im
        >>> result = im.compare.friedman(im.experiments.load_paper_table("subset"))
        >>> ax = result.plot_critical_difference()
        """
        from isingmlc.plots.critical_difference import draw_critical_difference

        return draw_critical_difference(self, alpha, ax, test)


def friedman(table: pd.DataFrame, higher_is_better: bool = True) -> CompareResult:
    r"""Test whether methods that were tried on the same data sets perform alike.

    Parameters
    ----------
    table : DataFrame, data sets × methods
        What each method achieved on each data set.
    higher_is_better : bool
        False for losses and times. The test does not depend on it, ranks do.

    Returns
    -------
    CompareResult
        The test, average ranks, tests of pairs.

    Raises
    ------
    DataError
        When there are fewer than two methods or data sets, or a value is missing or no number.

    Notes
    -----
    With ranks :math:`r_{ij}` of K methods on n data sets, equal values sharing the mean of their
    ranks, the statistic is

    .. math:: \chi^2 = (K - 1) \frac{\sum_j \left(\sum_i (r_{ij} - (K + 1) / 2)\right)^2}
              {\sum_{ij} (r_{ij} - (K + 1) / 2)^2}.

    Values count as equal only if they are the same number: round them first if they should
    tie. Several runs on one data set are not several data sets: average them first.

    References
    ----------
    .. [1] Friedman, M. (1937). The use of ranks to avoid the assumption of normality implicit in
       the analysis of variance. Journal of the American Statistical Association 32, 675–701.
    .. [2] Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets.
       Journal of Machine Learning Research 7, 1–30.
    .. [3] Iman, R. L., Davenport, J. M. (1980). Approximations of the critical region of the
       Friedman statistic. Communications in Statistics A 9, 571–595.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.7, 0.7, 0.6], "c": [0.5, 0.6, 0.6, 0.7]}
    ... )
    >>> friedman(table).ranks
    method
    a    2.875
    b    1.875
    c    1.250
    Name: rank, dtype: float64
    """
    check_option("higher_is_better", higher_is_better, (True, False))
    return CompareResult(*_check_table(table), bool(higher_is_better))


def posthoc_conover(table: pd.DataFrame, adjust: str | None = "holm") -> pd.DataFrame:
    r"""Test all pairs of methods with Conover's test, after Friedman's.

    Parameters
    ----------
    table
        As `friedman` takes it.
    adjust : str or None
        How p-values are adjusted for the number of pairs, any method of statsmodels'
        ``multipletests``; None leaves them as they are.

    Returns
    -------
    DataFrame, methods × methods
        p-values, symmetric, 1 on the diagonal.

    Warns
    -----
    DataWarning
        When every data set ranks the methods alike: p-values are 0 or 1 then.

    Notes
    -----
    Rank sums :math:`R_j` of K methods on n data sets are compared by t tests with
    :math:`(n - 1)(K - 1)` degrees of freedom,

    .. math:: t = \frac{R_a - R_b}{\sqrt{2 (n \sum_{ij} r_{ij}^2 - \sum_j R_j^2) /
              ((n - 1)(K - 1))}}.

    References
    ----------
    .. [1] Conover, W. J. (1999). Practical Nonparametric Statistics, 3rd edition. Wiley.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.7, 0.7, 0.6], "c": [0.5, 0.6, 0.6, 0.7]}
    ... )
    >>> posthoc_conover(table).round(3)
    method      a      b      c
    method
    a       1.000  0.110  0.025
    b       0.110  1.000  0.188
    c       0.025  0.188  1.000
    """
    check_option("adjust", adjust, (None, *METHODS))
    return _conover(friedman(table), adjust)


def posthoc_nemenyi(table: pd.DataFrame) -> pd.DataFrame:
    """Test all pairs of methods with Nemenyi's test, after Friedman's.

    Parameters
    ----------
    table
        As `friedman` takes it.

    Returns
    -------
    DataFrame, methods × methods
        p-values, symmetric, 1 on the diagonal; they already account for the number of pairs.

    References
    ----------
    .. [1] Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets.
       Journal of Machine Learning Research 7, 1–30.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.7, 0.7, 0.6], "c": [0.5, 0.6, 0.6, 0.7]}
    ... )
    >>> posthoc_nemenyi(table).loc["a", "c"].round(3)
    np.float64(0.056)
    """
    result = friedman(table)
    n_methods, n_datasets = len(result.methods), len(result.datasets)
    distances = result._differences / n_datasets / _rank_error(n_methods, n_datasets)
    return _pairs(result, stats.studentized_range.sf(distances, n_methods, np.inf))


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Give the difference of average ranks beyond which Nemenyi's test calls two methods different.

    Parameters
    ----------
    n_methods, n_datasets : int
        How many methods were compared on how many data sets.
    alpha : float
        Level of the test.

    Returns
    -------
    float
        The critical difference.

    Raises
    ------
    DataError
        When there are fewer than two methods or data sets, or `alpha` is not between 0 and 1.

    References
    ----------
    .. [1] Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets.
       Journal of Machine Learning Research 7, 1–30.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    n_methods = check_count("n_methods", n_methods, 2)
    n_datasets = check_count("n_datasets", n_datasets, 2)
    alpha = check_number("alpha", alpha, above=0, below=1)
    quantile = stats.studentized_range.isf(alpha, n_methods, np.inf)
    return float(quantile * _rank_error(n_methods, n_datasets))


def plot_critical_difference(
    table: pd.DataFrame,
    alpha: float = 0.05,
    ax: Axes | None = None,
    test: str = "nemenyi",
    higher_is_better: bool = True,
) -> Axes:
    """Draw average ranks of methods, with bars over those that do not differ significantly.

    Parameters
    ----------
    table, higher_is_better
        As `friedman` takes them.
    alpha, ax, test
        As :meth:`CompareResult.plot_critical_difference` takes them.

    Returns
    -------
    Axes
        The picture.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from isingmlc.experiments.paper import load_paper_table
    >>> ax = Figure(figsize=(7, 3)).subplots()
    >>> plot_critical_difference(load_paper_table("subset"), ax=ax) is ax
    True
    """
    return friedman(table, higher_is_better).plot_critical_difference(alpha, ax, test)


def _check_table(table: Any) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Give methods, data sets and scores of a table, or raise our error."""
    if not isinstance(table, pd.DataFrame):
        raise exc.DataError(
            "table must be a DataFrame with one row per data set and one column per method, but is "
            f"of type {type(table).__name__}. Make one with pandas.DataFrame(values, datasets, "
            "methods)."
        )
    if min(table.shape) < 2:
        raise exc.DataError(
            "table must have at least two rows (data sets) and two columns (methods), but its "
            f"shape is {table.shape}. Transpose it with table.T if methods are in rows."
        )
    methods, datasets = (tuple(str(name) for name in axis) for axis in (table.columns, table.index))
    for names, what in ((methods, "method"), (datasets, "data set")):
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise exc.DataError(
                f"table has the {what}(s) {exc.shorten(sorted(repeated))} more than once. Average "
                "over several runs first, or rename them."
            )
    columns = [column for _, column in table.infer_objects().items()]
    usable = [is_numeric(column) for column in columns]
    if not all(usable):
        unusable = [name for name, ok in zip(methods, usable, strict=True) if not ok]
        raise exc.DataError(
            f"table must be numeric, but method(s) {exc.shorten(unusable)} hold other values. Turn "
            "them into numbers first, e.g. with table.apply(pandas.to_numeric)."
        )
    scores = np.column_stack([column.to_numpy(np.float64, na_value=np.nan) for column in columns])
    if not np.isfinite(scores).all():
        cells = [f"{methods[j]} on {datasets[i]}" for i, j in np.argwhere(~np.isfinite(scores))]
        raise exc.DataError(
            f"table must have a finite value of every method on every data set, but has none of "
            f"{exc.shorten(cells)}. Fill them in, or leave out data sets with table.dropna() or "
            "methods with table.dropna(axis=1)."
        )
    scores.flags.writeable = False
    return methods, datasets, scores


def _conover(result: CompareResult, adjust: str | None) -> pd.DataFrame:
    if result.all_tied or result.unanimous:
        # t is 0/0 or infinite.
        if result.unanimous:
            exc.warn(UNANIMOUS, exc.DataWarning)
        return _pairs(result, (result._differences == 0).astype(np.float64))
    spread, between = result._sums_of_squares
    n_datasets = len(result.datasets)
    df = result.df * (n_datasets - 1)
    error = np.sqrt(2 * (n_datasets * spread - between) / df)
    pvalues = 2 * stats.t.sf(result._differences / error, df)
    return _pairs(result, pvalues if adjust is None else adjust_pvalues(pvalues, adjust))


def _rank_error(n_methods: int, n_datasets: int) -> float:
    """Give the standard error of a difference of average ranks divided by √2, under the null."""
    return float(np.sqrt(n_methods * (n_methods + 1) / (12 * n_datasets)))


def _pairs(result: CompareResult, pvalues: FloatArray) -> pd.DataFrame:
    """Make the symmetric table of what belongs to each pair of methods."""
    table = np.eye(len(result.methods))
    upper = np.triu_indices_from(table, 1)
    table[upper] = table.T[upper] = pvalues
    names = pd.Index(result.methods, name="method")
    return ResultTable.of_pvalues(pd.DataFrame(table, names, names))


def _summarise(result: CompareResult) -> IsingSummary:
    """Write down head, methods by rank, p-values of pairs and notes."""
    frame = result.to_frame().reset_index()
    digits = {"rank": "{:.3f}", "mean": "{:#.4g}", "median": "{:#.4g}", "wins": "{:d}"}
    methods = list_rows(frame, ["method"], digits, "Methods by average rank")
    tables = [methods]
    if len(result.methods) <= MAX_PAIRS:
        tables.append(_pair_table(result, list(frame["method"])))
    left = [
        ("Methods:", f"{len(result.methods)}"),
        ("Data sets:", f"{len(result.datasets)}"),
        ("Better:", "higher" if result.higher_is_better else "lower"),
        ("Kendall's W:", f"{result.concordance:.3f}"),
    ]
    right = [
        ("Chi-square:", f"{result.statistic:.3f}"),
        ("Degrees of freedom:", f"{result.df}"),
        ("P-value:", f"{result.pvalue:.3g}"),
        ("P-value, F test:", f"{result.iman_davenport[1]:.3g}"),
    ]
    head = two_columns("Friedman Test", left, right, max(table.width for table in tables))
    return IsingSummary([head, *tables], _notes(result))


def _pair_table(result: CompareResult, order: list[str]) -> Table:
    """Tabulate p-values of pairs below the diagonal, methods numbered by rank."""
    pvalues = result.posthoc.loc[order, order].to_numpy()
    names = [f"{number} {name}" for number, name in enumerate(order, 1)]
    rows = [
        [name, *(f"{p:.3g}" for p in pvalues[at, :at]), *[""] * (len(order) - 1 - at)]
        for at, name in enumerate(names)
    ]
    width = max(len(shorten_name(name)) for name in names)
    return Table(
        rows,
        [" " * width, *(str(number) for number in range(1, len(order)))],
        "p-values of pairs (Conover, adjusted by holm)",
        "l" + "r" * (len(order) - 1),
        [width] + [COLUMN] * (len(order) - 1),
    )


def _notes(result: CompareResult) -> list[str]:
    n_methods, n_datasets = len(result.methods), len(result.datasets)
    notes = [
        f"Null: {result.null}.",
        f"The best method on a data set has rank {n_methods} there; equal ones share ranks.",
    ]
    if result.all_tied:
        notes.append("All methods are equal on every data set: there is nothing to compare.")
    elif result.unanimous:
        notes.append(f"{UNANIMOUS[0].upper()}{UNANIMOUS[1:]}")
    if result.pvalue > 0.05:
        notes.append("Friedman's test is not significant at 0.05: do not read much into the pairs.")
    if n_datasets <= FEW_DATASETS or n_methods <= FEW_METHODS:
        notes.append(
            f"With up to {FEW_DATASETS} data sets or {FEW_METHODS} methods the chi-square "
            "distribution is a rough approximation; see also the F test of Iman and Davenport."
        )
    return notes
