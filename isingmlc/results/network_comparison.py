"""`NetworkComparison`: whether the networks of groups differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

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
from isingmlc.fitting.testable import Reason
from isingmlc.inference.pvalues import adjust
from isingmlc.networks.groups import (
    Differences,
    PermutationPvalues,
    WaldDifferences,
    compare_weights,
    direct_differences,
    permute_groups,
    wald_differences,
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
        What groups may differ in under the null hypothesis; with ``"pairs"`` rows were dealt out
        within pairs, and groups differ in nothing unless thresholds are named.
    observed : Differences
        How far the networks are apart.
    permuted : PermutationPvalues
        P-values from permutations.
    wald : WaldDifferences or None
        Wald's tests.

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
    _observed: Differences
    _permuted: PermutationPvalues
    _wald: WaldDifferences | None

    def __init__(
        self,
        networks: dict[str, IsingResults | RegularizedIsingResults],
        sizes: tuple[int, ...],
        n_permutations: int,
        null: str,
        observed: Differences,
        permuted: PermutationPvalues,
        wald: WaldDifferences | None,
    ) -> None:
        self._fill(
            networks=dict(networks),
            n_permutations=n_permutations,
            null=null,
            _sizes=sizes,
            _observed=observed,
            _permuted=permuted,
            _wald=wald,
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
        return float(self._observed.largest)

    @property
    def S(self) -> float:  # noqa: N802
        """The largest difference of two groups in global strength, the sum of absolute weights.

        It is over the pairs that are compared, those whose weights are finite in all groups.
        """
        return float(self._observed.strength)

    @property
    def pvalue(self) -> float:
        """The p-value of M, from permutations."""
        return self._permuted.largest

    @property
    def _weights(self) -> FloatArray:
        """Weights of pairs in each group, shape (groups, P)."""
        first, second = np.triu_indices(len(self.label_names), 1)
        return np.array(
            [each.interactions.to_numpy()[first, second] for each in self.networks.values()]
        )

    @table
    def groups(self) -> pd.DataFrame:
        """Observations and global strength of each group, over the pairs that are compared."""
        compared = np.isfinite(self._observed.edges)
        strength = np.abs(self._weights[:, compared]).sum(axis=1)
        frame = {"observations": self._sizes, "strength": strength}
        return ResultTable(frame, index=pd.Index(list(self.networks), name="group"))

    @table
    def tests(self) -> pd.DataFrame:
        """The tests of whole networks: one row each for M, S and Wald's test of all pairs.

        ``statistic``, ``df`` (of Wald's test), ``pvalue``, ``distribution``, what the statistic is
        compared with, and ``pairs``, how many pairs of labels it is of. M and S are of the pairs
        whose weights are finite in all groups; `edges` gives the reasons of the others. Wald's
        test is that of fits without a penalty, of the pairs that have at least five rows in each
        of their four cells in every group.
        """
        permuted = f"{self.n_permutations} permutations"
        strength = self._permuted.strength
        n_pairs = int(np.isfinite(self._observed.edges).sum())
        rows: dict[str, tuple[float, float, float, str, int]] = {
            "M": (self.M, np.nan, self.pvalue, permuted, n_pairs),
            "S": (self.S, np.nan, strength, permuted, n_pairs),
        }
        if self._wald is not None:
            wald = self._wald
            name = f"chi2({wald.joint_df})"
            n_tested = wald.joint_df // (len(self.networks) - 1)
            rows["wald"] = (wald.joint, wald.joint_df, wald.joint_pvalue, name, n_tested)
        columns = ["statistic", "df", "pvalue", "distribution", "pairs"]
        return ResultTable.from_dict(rows, orient="index", columns=columns).rename_axis("test")

    @table
    def edges(self) -> pd.DataFrame:
        """All pairs of labels: the weight in each group, and tests of whether they differ.

        ``first``, ``second`` : the labels. ``weight_…`` : the weight in each group.
        ``difference`` : the second group less the first; of more groups the largest difference of
        two, the later one less the earlier one.
        ``pvalue``, ``pvalue_adj`` : from permutations, by itself and among all pairs (max-T).
        ``wald``, ``wald_pvalue``, ``wald_pvalue_adj`` : Wald's test, of fits without a penalty,
        by itself and adjusted by Holm's method.
        ``reason`` : ``infinite-pair`` or ``unknown-pair`` where a weight is not finite in some
        group: such pairs are not compared, and no part of M and S.
        """
        names = np.array(self.label_names, dtype=object)
        first, second = np.triu_indices(len(names), 1)
        frame = ResultTable({"first": names[first], "second": names[second]})
        values = self._weights
        for group, weight in zip(self.networks, values, strict=True):
            frame[f"weight_{group}"] = weight
        frame["difference"] = self._observed.edges * direct_differences(values)
        missing = np.full(len(first), np.nan)
        permuted, wald = self._permuted, self._wald
        frame["pvalue"], frame["pvalue_adj"] = permuted.edges, permuted.edges_adjusted
        frame["wald"] = missing if wald is None else wald.statistic
        frame["wald_pvalue"] = missing if wald is None else wald.pvalue
        frame["wald_pvalue_adj"] = missing if wald is None else adjust(wald.pvalue, "holm")
        frame["reason"] = np.where(
            np.isnan(values).any(axis=0),
            Reason.UNKNOWN_PAIR,
            np.where(np.isinf(values).any(axis=0), Reason.INFINITE_PAIR, Reason.OK),
        ).astype(object)
        return frame

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
    method : {"mle", "ridge", "firth", "ebic"}, optional
        How networks of a model are fitted: as by `IsingModel.fit` (``"mle"`` if omitted), or
        sparse ones as by `IsingModel.fit_regularized` with whole paths.
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
        The networks, and tests of the largest difference M, of global strength S and of each pair.

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
    pair; of two groups, which row is whose then follows a logistic regression on the difference of
    their labels, without a constant. More than two groups with `pairs` differ in nothing.

    Dealing out rows is a draw of counts. A p-value is (1 + hits) / (1 + permutations), never zero.
    Pairs whose weight is infinite in some group are left out of M and S, in the groups as in each
    draw, and the difference of a pair is compared with the draws that have one. P-values of pairs
    are adjusted by the distribution of the largest difference, each measured by its spread over
    the draws (max-T), so that rare pairs, whose weights vary most, do not hide the others.
    With more than two groups a difference is the largest between any two. Wald's tests come from
    the covariance of all label models together and hold whatever the thresholds are, in large
    samples; with `pairs` they mind that rows belong together.

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
    groups = gather_groups(model, by, pairs, method=method, gamma=gamma, rule=rule)
    networks = groups.networks
    first, second = np.triu_indices(len(next(iter(networks.values())).label_names), 1)
    weights = np.array([each.interactions.to_numpy()[first, second] for each in networks.values()])
    observed = compare_weights(weights)
    pooled = groups.pooled
    permuted = permute_groups(
        groups.refits(pooled),
        groups.deal(pooled, null),
        observed,
        n_permutations,
        generator,
        n_jobs,
    )
    fits = [
        each._estimate
        for each in networks.values()
        if isinstance(each, IsingResults) and each.method == "mle"
    ]
    wald = wald_differences(fits, np.isfinite(observed.edges), groups.set_cells()) if fits else None
    sizes = tuple(int(each.nobs) for each in networks.values())
    dealt = null
    if groups.sets is not None:
        dealt = "pairs, thresholds" if null == "thresholds" and len(networks) == 2 else "pairs"
    return NetworkComparison(networks, sizes, n_permutations, dealt, observed, permuted, wald)
