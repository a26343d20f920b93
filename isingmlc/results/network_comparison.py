"""`NetworkComparison`: whether the networks of groups differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_option,
    make_generator,
)
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.fitting.testable import Reason
from isingmlc.networks.bootstrap import check_draws, check_whole
from isingmlc.networks.groups import (
    Differences,
    PermutationPvalues,
    WaldDifferences,
    compare_weights,
    permute_groups,
    wald_differences,
)
from isingmlc.networks.refits import PlainRefits, Refits
from isingmlc.statistics.labelsets import cells_of

if TYPE_CHECKING:
    from isingmlc.model import IsingModel
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.regularized import RegularizedIsingResults

METHODS = ("mle", "ridge", "firth", "ebic")


class NetworkComparison(ReadOnly):
    """The networks of groups, and tests of whether they differ.

    Made by `compare_networks`.

    Parameters
    ----------
    networks : dict of str to IsingResults or RegularizedIsingResults
        The network of each group.
    sizes : tuple of int
        Observations in each group.
    n_permutations : int
        How many permutations there were; 0 if none were made.
    observed : Differences
        How far the networks are apart.
    permuted : PermutationPvalues or None
        P-values from permutations.
    wald : WaldDifferences or None
        Wald's tests.

    Attributes
    ----------
    networks : dict of str to IsingResults or RegularizedIsingResults
        The network of each group.
    n_permutations : int
        How many permutations there were; 0 if none were made.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> found = im.compare_networks(
    ...     im.IsingModel(data.labels), data.features["smoker"], n_permutations=99, random_state=0
    ... )
    >>> found
    NetworkComparison(2 groups, M 0.517, p-value of M 1)
    """

    networks: dict[str, IsingResults | RegularizedIsingResults]
    n_permutations: int
    _sizes: tuple[int, ...]
    _observed: Differences
    _permuted: PermutationPvalues | None
    _wald: WaldDifferences | None

    def __init__(
        self,
        networks: dict[str, IsingResults | RegularizedIsingResults],
        sizes: tuple[int, ...],
        n_permutations: int,
        observed: Differences,
        permuted: PermutationPvalues | None,
        wald: WaldDifferences | None,
    ) -> None:
        self._fill(
            networks=dict(networks),
            n_permutations=n_permutations,
            _sizes=sizes,
            _observed=observed,
            _permuted=permuted,
            _wald=wald,
        )

    def __repr__(self) -> str:
        pvalue = "" if self._permuted is None else f", p-value of M {self.pvalue:.3g}"
        return f"NetworkComparison({len(self.networks)} groups, M {self.M:.3f}{pvalue})"

    @property
    def M(self) -> float:  # noqa: N802
        """The largest difference of two groups in the weight of a pair."""
        return float(self._observed.largest)

    @property
    def S(self) -> float:  # noqa: N802
        """The largest difference of two groups in global strength, the sum of absolute weights."""
        return float(self._observed.strength)

    @property
    def pvalue(self) -> float:
        """The p-value of M, from permutations; NaN if there were none."""
        return float("nan") if self._permuted is None else self._permuted.largest

    @table
    def groups(self) -> pd.DataFrame:
        """Observations and global strength of each group."""
        strength = [
            float(np.nansum(np.abs(np.triu(each.interactions.to_numpy()))))
            for each in self.networks.values()
        ]
        frame = {"observations": self._sizes, "strength": strength}
        return pd.DataFrame(frame, index=pd.Index(list(self.networks), name="group"))

    @table
    def tests(self) -> pd.DataFrame:
        """The tests of whole networks: one row each for M, S and Wald's test of all pairs.

        ``statistic``, ``df`` (of Wald's test), ``pvalue``, and ``distribution``, what the
        statistic is compared with. Wald's test is that of fits without a penalty.
        """
        permuted = f"{self.n_permutations} permutations" if self.n_permutations else ""
        rows: dict[str, tuple[float, float, float, str]] = {
            "M": (self.M, np.nan, self.pvalue, permuted),
            "S": (
                self.S,
                np.nan,
                np.nan if self._permuted is None else self._permuted.strength,
                permuted,
            ),
        }
        if self._wald is not None:
            wald = self._wald
            name = f"chi2({wald.joint_df})"
            rows["wald"] = (wald.joint, wald.joint_df, wald.joint_pvalue, name)
        columns = ["statistic", "df", "pvalue", "distribution"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("test")

    @table
    def edges(self) -> pd.DataFrame:
        """All pairs of labels: the weight in each group, and tests of whether they differ.

        ``first``, ``second`` : the labels. ``weight_…`` : the weight in each group.
        ``difference`` : the largest difference of two groups.
        ``pvalue``, ``pvalue_adj`` : from permutations, by itself and among all pairs (max-T).
        ``wald``, ``wald_pvalue`` : Wald's test, of fits without a penalty.
        ``reason`` : ``infinite-pair`` or ``unknown-pair`` where a weight is not finite in some
        group: such pairs are not compared, and no part of M and S.
        """
        any_network = next(iter(self.networks.values()))
        names = np.array(any_network.label_names, dtype=object)
        first, second = np.triu_indices(len(names), 1)
        frame = pd.DataFrame({"first": names[first], "second": names[second]})
        weights = {
            group: each.interactions.to_numpy()[first, second]
            for group, each in self.networks.items()
        }
        for group, weight in weights.items():
            frame[f"weight_{group}"] = weight
        frame["difference"] = self._observed.edges
        missing = np.full(len(first), np.nan)
        permuted, wald = self._permuted, self._wald
        frame["pvalue"] = missing if permuted is None else permuted.edges
        frame["pvalue_adj"] = missing if permuted is None else permuted.edges_adjusted
        frame["wald"] = missing if wald is None else wald.statistic
        frame["wald_pvalue"] = missing if wald is None else wald.pvalue
        values = np.array(list(weights.values()))
        frame["reason"] = np.where(
            np.isnan(values).any(axis=0),
            Reason.UNKNOWN_PAIR,
            np.where(np.isinf(values).any(axis=0), Reason.INFINITE_PAIR, Reason.OK),
        ).astype(object)
        return frame


def compare_networks(
    model: IsingModel,
    by: Any,
    *,
    method: str = "mle",
    gamma: float = 0.25,
    rule: str = "and",
    n_permutations: int = 1000,
    random_state: RandomState = None,
    n_jobs: int = 1,
) -> NetworkComparison:
    """Test whether the networks of groups of rows differ.

    Parameters
    ----------
    model : IsingModel
        The labels of all groups, with its rows, and covariates if there are any.
    by : array_like or Series, shape (n,)
        The group of each row, two or more.
    method : {"mle", "ridge", "firth", "ebic"}
        How networks are fitted: as by `IsingModel.fit`, or sparse ones as by
        `IsingModel.fit_regularized`.
    gamma, rule
        Of sparse networks; see `IsingModel.fit_regularized`.
    n_permutations : int
        How often rows are dealt out to the groups anew.
    random_state : int, Generator or None
        Source of the permutations.
    n_jobs : int
        Processes to use; −1 for one per core. The p-values do not depend on it.

    Returns
    -------
    NetworkComparison
        The networks, and tests of the largest difference M, of global strength S and of each pair.

    Raises
    ------
    DataError
        When `by` does not fit the rows, there is one group, or a label does not vary in a group.
    ModelError
        When the model holds no rows, or rows that depend on each other or have weights that are
        not whole numbers.

    Notes
    -----
    The tests of M and S are those of R's NetworkComparisonTest [1]_. Dealing out rows is one
    hypergeometric draw of counts. A p-value is (1 + hits) / (1 + permutations), never zero; those
    of pairs are adjusted by the distribution of the largest difference. With more than two groups
    a difference is the largest between any two.

    Rows may be dealt out where groups differ in nothing under the null hypothesis. With covariates
    that is not so, since groups may differ in them: then there are Wald's tests alone.

    References
    ----------
    .. [1] van Borkulo, C. D. et al. (2023). Comparing network structures on three aspects: a
       permutation test. *Psychological Methods* 28, 1273–1285.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> found = im.compare_networks(
    ...     im.IsingModel(data.labels), data.features["smoker"], n_permutations=99, random_state=0
    ... )
    >>> found.tests[["statistic", "pvalue"]].round(2).to_dict("index")["M"]
    {'statistic': 0.52, 'pvalue': 1.0}
    """
    from isingmlc.model import IsingModel

    check_option("method", method, METHODS)
    n_permutations = check_count("n_permutations", n_permutations, 1)
    generator, n_jobs = make_generator(random_state), check_jobs(n_jobs)
    if not isinstance(model, IsingModel):
        raise exc.DataError(
            f"model must be an IsingModel of all groups, but is of type {type(model).__name__}."
        )
    stats = model.statistics
    if model.data is None:
        raise exc.ModelError(exc.ROWS_NEEDED.format(purpose="compare_networks()"))
    check_draws(stats, "compare_networks()")
    if stats.groups is not None:
        raise exc.ModelError(
            "compare_networks() deals out rows that are independent, but the model has groups of "
            "dependent ones. Make it without groups, from one row of each."
        )
    check_whole(stats.counts, "compare_networks()")
    data = model.data
    group_of, names = _read_groups(by, data.n_rows, data.index)
    rows = replace(data, features=None, feature_names=(), terms={})
    codes = cells_of(stats, data)
    networks: dict[str, IsingResults | RegularizedIsingResults] = {}
    counts = []
    for at, name in enumerate(names):
        inside = group_of == at
        weights = None if data.weights is None else data.weights[inside]
        counts.append(np.bincount(codes[inside], weights, len(stats.counts)).astype(np.float64))
        _check_labels(stats.patterns, counts[-1], stats.label_names, name)
        part = IsingModel._from_rows(rows.take_rows(inside), model.intercept)
        networks[name] = (
            part.fit_regularized(gamma=gamma, rule=rule) if method == "ebic" else part.fit(method)
        )
    first, second = np.triu_indices(len(stats.label_names), 1)
    weights_of = np.array(
        [each.interactions.to_numpy()[first, second] for each in networks.values()]
    )
    comparable = np.isfinite(weights_of).all(axis=0)
    observed = compare_weights(weights_of, comparable)
    table_of = np.array(counts, dtype=np.float64)
    permuted = None
    if not model.covariate_names:
        whole = (
            model.fit_regularized(gamma=gamma, rule=rule) if method == "ebic" else model.fit(method)
        )
        permuted = permute_groups(
            _refits(whole), table_of, observed, n_permutations, generator, n_jobs
        )
    fits = [each._estimate for each in networks.values() if hasattr(each, "_estimate")]
    wald = wald_differences(fits, comparable) if method == "mle" else None
    return NetworkComparison(
        networks,
        tuple(table_of.sum(axis=1).astype(int).tolist()),
        n_permutations if permuted is not None else 0,
        observed,
        permuted,
        wald,
    )


def _refits(whole: Any) -> Refits:
    """Give what fits networks like one to other counts."""
    if hasattr(whole, "_fit"):
        return PlainRefits.of(whole._fit)
    refits: Refits = whole._refits("compare_networks()")
    return refits


def _read_groups(by: Any, n_rows: int, index: pd.Index | None) -> tuple[IntArray, list[str]]:
    """Give the number of each row's group, and the names of the groups."""
    if isinstance(by, pd.Series) and index is not None and not by.index.equals(index):
        if not by.index.is_unique or not index.isin(by.index).all():
            raise exc.DataError(
                "by is a Series whose index lacks rows of the labels, or has some twice. Align it "
                "first: by.loc[labels.index]."
            )
        by = by.loc[index]
    values = pd.Series(np.asarray(by, dtype=object).ravel() if np.ndim(by) == 1 else [])
    if len(values) != n_rows:
        raise exc.DataError(
            f"by must have one group for each of the {n_rows} rows, but has shape {np.shape(by)}."
        )
    if values.isna().any():
        raise exc.DataError(
            f"by has missing values in {int(values.isna().sum())} row(s). Leave out those rows, or "
            "give them a group of their own."
        )
    codes, found = pd.factorize(values, sort=True)
    if len(found) < 2:
        raise exc.DataError(
            f"by must have two groups or more, but all rows are in {found[0]!r}. There is nothing "
            "to compare."
        )
    if len(found) > n_rows / 2:
        raise exc.DataError(
            f"by has {len(found)} groups for {n_rows} rows. Cut numbers into few groups first, "
            "e.g. with pandas.qcut(by, 3)."
        )
    return np.asarray(codes), [str(name) for name in found]


def _check_labels(
    patterns: BoolArray, counts: FloatArray, names: tuple[str, ...], group: str
) -> None:
    """Say which labels do not vary in a group."""
    inside = patterns[counts > 0]
    constant: StrArray = np.array(names, dtype=object)[inside.all(axis=0) | ~inside.any(axis=0)]
    if len(constant):
        raise exc.DataError(
            f"label(s) {exc.shorten(constant)} do not vary in the group {group!r} of by: it has no "
            "network with them. Leave them out, or merge groups."
        )
