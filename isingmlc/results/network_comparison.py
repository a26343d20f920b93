"""`NetworkComparison`: whether the networks of groups differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_option,
    make_generator,
)
from isingmlc.base.arrays import FloatArray
from isingmlc.base.printing import say_given
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.pvalues import adjust
from isingmlc.networks.groups import (
    Differences,
    PermutationPvalues,
    compare_weights,
    permute_groups,
)
from isingmlc.results.group_networks import NULLS, gather_groups
from isingmlc.results.ising import IsingResults
from isingmlc.results.regularized import RegularizedIsingResults

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary
    from isingmlc.model import IsingModel
    from isingmlc.plots.look import LookOptions


# Draws for groups that may differ in thresholds have the estimation error of these thresholds in
# them. With fewer rows per label than this in a group, S rejects clearly less often than its level
# says.
_ROWS_PER_LABEL = 20


class TwoGroups(NamedTuple):
    """The comparison of two groups."""

    first: int
    second: int
    observed: Differences
    permuted: PermutationPvalues


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
        How many permutations there were.
    null : {"thresholds", "nothing", "pairs, thresholds", "pairs"}
        What groups may differ in under the null hypothesis; with ``"pairs"`` rows were permuted
        within pairs, and groups differ in nothing unless thresholds are named.
    comparisons : tuple of TwoGroups
        The comparison of every two groups.

    Attributes
    ----------
    networks : dict of str to IsingResults or RegularizedIsingResults
        The network of each group.
    n_permutations : int
        How many permutations there were.
    null : str
        What groups may differ in under the null hypothesis of the permutations.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> found = im.compare_networks(
    ...     im.IsingModel(data.labels), data.features["smoker"], n_permutations=99, random_state=0
    ... )
    >>> found
    NetworkComparison(2 groups, M 0.517, p-value of M 0.98)
    """

    networks: dict[str, IsingResults | RegularizedIsingResults]
    n_permutations: int
    null: str
    _sizes: tuple[int, ...]
    _comparisons: tuple[TwoGroups, ...]

    def __init__(
        self,
        networks: dict[str, IsingResults | RegularizedIsingResults],
        sizes: tuple[int, ...],
        n_permutations: int,
        null: str,
        comparisons: tuple[TwoGroups, ...],
    ) -> None:
        self._fill(
            networks=dict(networks),
            n_permutations=n_permutations,
            null=null,
            _sizes=sizes,
            _comparisons=comparisons,
        )

    def __repr__(self) -> str:
        given = f" {say_given(self.adjusted_for)}" if self.adjusted_for else ""
        return (
            f"NetworkComparison({len(self.networks)} groups{given}, M {self.M:.3f}, "
            f"p-value of M {self.pvalue:.3g})"
        )

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return next(iter(self.networks.values())).label_names

    @property
    def adjusted_for(self) -> tuple[str, ...]:
        """The covariates that the networks are given, as the user wrote them; empty without any."""
        return next(iter(self.networks.values())).adjusted_for

    @property
    def M(self) -> float:  # noqa: N802
        """The largest difference of two groups in the weight of a pair."""
        return float(max(each.observed.largest for each in self._comparisons))

    @property
    def S(self) -> float:  # noqa: N802
        """The largest difference of two groups in global strength, the sum of absolute weights.

        It is over the pairs that are compared, those whose weights are finite in both groups.
        """
        return float(max(each.observed.strength for each in self._comparisons))

    @property
    def pvalue(self) -> float:
        """The p-value of M; of several pairs of groups the smallest adjusted one.

        It tests whether any two groups differ.
        """
        return float(self.tests.loc[["M"], "pvalue_adj"].min())

    @property
    def _weights(self) -> FloatArray:
        """Weights of pairs in each group, shape (groups, P)."""
        first, second = np.triu_indices(len(self.label_names), 1)
        return np.array(
            [each.interactions.to_numpy()[first, second] for each in self.networks.values()]
        )

    @table
    def groups(self) -> pd.DataFrame:
        """Observations and global strength of each group, over pairs that are finite in all."""
        compared = np.isfinite(self._weights).all(axis=0)
        strength = np.abs(self._weights[:, compared]).sum(axis=1)
        frame = {"observations": self._sizes, "strength": strength}
        return ResultTable(frame, index=pd.Index(list(self.networks), name="group"))

    @table
    def tests(self) -> pd.DataFrame:
        """The tests of whole networks: M and S of every two groups.

        ``group_1``, ``group_2`` : the groups. ``statistic``, ``pvalue`` : the difference and its
        p-value. ``pvalue_adj`` : adjusted for all pairs of groups by Holm's method.
        ``distribution`` : what the statistic is compared with. ``pairs`` : how many pairs of labels
        it is of, those whose weights are finite in both groups; `edges` has the reasons of others.
        ``reason`` : ``too-few-rows`` where S has no p-value, with fewer than 40 rows of both groups
        per label unless ``null="nothing"``; use M there.
        """
        names, rows = list(self.networks), []
        for name, field in (("M", "largest"), ("S", "strength")):
            pvalues = np.array([getattr(each.permuted, field) for each in self._comparisons])
            for each, own, adjusted in zip(
                self._comparisons, pvalues, adjust(pvalues, "holm"), strict=True
            ):
                rows.append(
                    {
                        "test": name,
                        "group_1": names[each.first],
                        "group_2": names[each.second],
                        "statistic": float(getattr(each.observed, field)),
                        "pvalue": own,
                        "pvalue_adj": adjusted,
                        "distribution": f"{self.n_permutations} permutations",
                        "pairs": int(np.isfinite(each.observed.edges).sum()),
                        "reason": Reason.TOO_FEW_ROWS if np.isnan(own) else Reason.OK,
                    }
                )
        return ResultTable(rows).set_index("test")

    @table
    def edges(self) -> pd.DataFrame:
        """All pairs of labels in every two groups: weights, and tests of whether they differ.

        ``first``, ``second`` : the labels. ``group_1``, ``group_2`` : the groups.
        ``weight_…`` : the weight in each group of all. ``difference`` : group 2 less group 1.
        ``pvalue``, ``pvalue_adj`` : from permutations, by itself and adjusted for all pairs of
        labels (max-T), and by Bonferroni's method for all pairs of groups.
        ``reason`` : ``infinite-pair`` or ``unknown-pair`` where a weight is not finite in one of
        the two groups: such pairs are not compared, and no part of M and S.
        """
        names, groups = np.array(self.label_names, dtype=object), list(self.networks)
        first, second = np.triu_indices(len(names), 1)
        values, parts = self._weights, []
        for each in self._comparisons:
            frame = ResultTable({"first": names[first], "second": names[second]})
            frame["group_1"], frame["group_2"] = groups[each.first], groups[each.second]
            for group, weight in zip(groups, values, strict=True):
                frame[f"weight_{group}"] = weight
            two = values[[each.first, each.second]]
            kept = np.where(np.isfinite(each.observed.edges), two, np.nan)
            frame["difference"] = kept[1] - kept[0]
            frame["pvalue"] = each.permuted.edges
            adjusted = each.permuted.edges_adjusted * len(self._comparisons)
            frame["pvalue_adj"] = np.minimum(adjusted, 1.0)
            frame["reason"] = np.where(
                np.isnan(two).any(axis=0),
                Reason.UNKNOWN_PAIR,
                np.where(np.isinf(two).any(axis=0), Reason.INFINITE_PAIR, Reason.OK),
            ).astype(object)
            parts.append(frame)
        return pd.concat(parts, ignore_index=True)

    def report(
        self, path: str | os.PathLike[str] = "report.html", *, title: str | None = None
    ) -> Path:
        """Write a short report to one HTML file that opens without a connection.

        It has the networks side by side, the tests, the pairs that differ most and the groups, and
        all tables as CSV.

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
        >>> model, by = im.IsingModel(data.labels), data.features["smoker"]
        >>> found = im.compare_networks(model, by, n_permutations=19, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.report(f"{folder}/groups.html").name
        'groups.html'
        """
        from isingmlc.report.writing import write_report_of

        return write_report_of("comparison", self, path, title)

    def summary(self) -> IsingSummary:
        """Summarise the comparison as text, HTML, LaTeX or CSV.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> model = im.IsingModel(data.labels)
        >>> found = im.compare_networks(
        ...     model, data.features["smoker"], n_permutations=19, random_state=0
        ... )
        >>> print(found.summary().as_text().splitlines()[0].strip())
        Networks of Groups
        """
        from isingmlc.network_summaries import summarize_comparison

        return summarize_comparison(self)

    def plot(
        self,
        *,
        alpha: float = 0.05,
        axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
        **look: Unpack[LookOptions],
    ) -> npt.NDArray[np.object_]:
        """Draw the networks of the groups on one scale, and of two groups their difference.

        Parameters
        ----------
        alpha : float
            Differences with an adjusted p-value (max-T) above it are broken lines.
        axes : sequence of Axes, optional
            Where to draw, one per group and one for the difference of two; a new figure if
            omitted.
        **look
            As `IsingResults.plot_label_network` takes it.

        Returns
        -------
        ndarray of Axes
            The pictures: lines of the same width are as large in all of them. `edges` has the
            numbers.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> model = im.IsingModel(data.labels)
        >>> found = im.compare_networks(
        ...     model, data.features["smoker"], n_permutations=19, random_state=0
        ... )
        >>> len(found.plot())
        3
        """
        from isingmlc.plots import plot_groups

        return plot_groups(self, alpha=alpha, axes=axes, **look)


def compare_networks(
    model: IsingModel | Mapping[str, Any] | Sequence[Any],
    by: Any = None,
    *,
    pairs: Any = None,
    method: str | None = None,
    penalty: float | str | None = None,
    gamma: float | None = None,
    rule: str | None = None,
    null: str = "thresholds",
    n_permutations: int = 1000,
    random_state: RandomState = None,
    n_jobs: int = 1,
) -> NetworkComparison:
    r"""Test whether the networks of groups of rows differ.

    Parameters
    ----------
    model : IsingModel, or mapping or sequence of results
        The labels of all groups, with covariates if there are any; or the networks of two groups
        or more that are independent samples, fitted alike, by name or in a list; labels in another
        order are put into that of the first.
    by : array_like, Series or str
        The group of each row of a model, two or more, or the name of a feature or covariate. A
        covariate that is `by` is no covariate within groups. A model without rows takes the name
        of a covariate.
    pairs : array_like, Series or str, optional
        What rows of different groups have in common if they belong together, such as a person who
        was asked twice: each value once in every group.
    method : {"nodewise", "ebic"}, optional
        How networks of a model are fitted: as by `IsingModel.fit` (``"nodewise"`` if omitted), or
        sparse ones as by `IsingModel.fit_regularized` with whole paths.
    penalty : None, float or "firth"
        The penalty of nodewise fits, as `IsingModel.fit` takes it.
    gamma, rule
        Of sparse networks, 0.25 and ``"and"`` if omitted; see `IsingModel.fit_regularized`.
    null : {"thresholds", "nothing"}
        What groups may differ in under the null hypothesis of permutations: in their thresholds,
        and so in how frequent labels are; or in nothing, as in R's NetworkComparisonTest.
    n_permutations : int
        How often rows are dealt out to the groups anew.
    random_state : int, Generator or None
        Source of the permutations.
    n_jobs : int
        Processes to use; −1 for one per core. The p-values do not depend on it.

    Returns
    -------
    NetworkComparison
        The networks, and tests of the largest difference M, of global strength S and of each pair,
        between every two groups.

    Raises
    ------
    DataError
        When `by` or `pairs` do not fit the rows, there is one group, a label does not vary in a
        group, or networks have other labels or were not fitted alike.
    ModelError
        When rows are needed that the model does not hold, depend on each other, or have weights
        that are not whole numbers.

    Notes
    -----
    M and S are those of R's NetworkComparisonTest [1]_. It deals out rows to groups as large as
    they are, ``null="nothing"``. Where one group has a label more often than the other, such a test
    rejects, whatever the interactions are. Groups with the same interactions have distributions
    that differ by a factor :math:`\exp(\tau' y)`, so that the group of a row, given its labels y,
    follows a logistic regression on them. ``null="thresholds"`` fits it, with covariates beside the
    labels, and draws the group of each row from it [2]_. Rows in `pairs` are dealt out within each
    pair; which row is whose then follows a logistic regression on the difference of their labels,
    without a constant.

    Dealing out rows is a draw of counts. A p-value is (1 + hits) / (1 + permutations), never zero.
    Pairs whose weight is infinite in some group are left out of M and S, in the groups as in each
    draw, and the difference of a pair is compared with the draws that have one. P-values of pairs
    are adjusted by the distribution of the largest difference, each measured by its spread over
    the draws (max-T), so that rare pairs, whose weights vary most, do not hide the others.
    Of more than two groups every two are compared, from their rows alone, and p-values are adjusted
    for the number of comparisons. Groups have the order of the categories of `by`, if it has any,
    and otherwise that of their values.

    S has no p-value where groups may differ in thresholds and one has fewer than 20 rows per label:
    it would reject too rarely. M holds its level there.

    There is no chi-square test of all pairs of labels together: with K labels it has K(K − 1)/2
    degrees of freedom, and its covariance cannot be estimated well enough from a few thousand rows.

    References
    ----------
    .. [1] van Borkulo, C. D. et al. (2023). Comparing network structures on three aspects: a
       permutation test. *Psychological Methods* 28, 1273–1285.
    .. [2] Berrett, T. B., Wang, Y., Barber, R. F. and Samworth, R. J. (2020). The conditional
       permutation test for independence while controlling for confounders. *J. R. Stat. Soc. B*
       82, 175–197.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> found = im.compare_networks(
    ...     im.IsingModel(data.labels, data.features), "smoker", n_permutations=99, random_state=0
    ... )
    >>> found.tests[["statistic", "pvalue"]].round(2).to_dict("index")["M"]
    {'statistic': 0.52, 'pvalue': 0.98}
    """
    check_option("null", null, NULLS)
    n_permutations = check_count("n_permutations", n_permutations, 1)
    generator, n_jobs = make_generator(random_state), check_jobs(n_jobs)
    groups = gather_groups(model, by, pairs, method=method, penalty=penalty, gamma=gamma, rule=rule)
    networks = groups.networks
    first, second = np.triu_indices(len(next(iter(networks.values())).label_names), 1)
    weights = np.array([each.interactions.to_numpy()[first, second] for each in networks.values()])
    comparisons = []
    for one, other in combinations(range(len(networks)), 2):
        two, observed = groups.of_two(one, other), compare_weights(weights[[one, other]])
        pooled = two.pooled
        permuted = permute_groups(
            two.refits(pooled), two.deal(pooled, null), observed, n_permutations, generator, n_jobs
        )
        n_rows = min(each.nobs for each in two.networks.values())
        if null == "thresholds" and n_rows < _ROWS_PER_LABEL * len(pooled.label_names):
            permuted = permuted._replace(strength=np.nan)
        comparisons.append(TwoGroups(one, other, observed, permuted))
    sizes = tuple(int(each.nobs) for each in networks.values())
    allowed = null
    if groups.sets is not None:
        allowed = "pairs, thresholds" if null == "thresholds" else "pairs"
    return NetworkComparison(networks, sizes, n_permutations, allowed, tuple(comparisons))
