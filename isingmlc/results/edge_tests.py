"""`EdgeTests`: tests of all feature–label edges in one object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.base.readonly import table
from isingmlc.inference.edges import (
    EdgeArrays,
    EdgeTest,
    Estimates,
    FeatureNull,
    GivenPvalues,
    Products,
)
from isingmlc.inference.pvalues import (
    METHODS,
    adjust_within,
    chi2_log10_sf,
    chi2_sf,
    weighted_chi2_sf,
)
from isingmlc.plot_methods import EdgePlots

if TYPE_CHECKING:
    from isingmlc.base.printing import IsingSummary

NULLS = {
    None: "the feature has no effect on the label given the other labels",
    "individual": "the feature, or its product with another label, has no effect on the label "
    "given the other labels",
    "joint": "neither the feature nor its products with other labels have an effect on the label "
    "given the other labels",
}


@dataclass(frozen=True, eq=False, repr=False)
class EdgeTests(EdgePlots):
    """Tests of all feature–label edges.

    Attributes
    ----------
    features, labels : tuple of str
        Names of the features (or terms) and labels.
    arrays : EdgeArrays
        The tests as arrays; `statistic`, `df`, `pvalue`, `log10p`, `reason` and `sign` give them
        as frames, features × labels. Reasons are ``ok``, ``constant-label``,
        ``determined-label``, ``too-rare``, ``constant-feature``, ``collinear-feature`` and
        ``separated-alternative``; under the last one a likelihood ratio is that of the limit.
    test : {"score", "wald", "lr"}
        Which test.
    interactions : {None, "individual", "joint"}
        Whether products of features with labels are tested too, each by itself or all together.
    distribution : str
        Where the p-values come from.
    products : Products or None
        Tests of single products, with ``interactions="individual"``.
    note : str
        What to keep in mind; empty where there is nothing.
    feature_null : FeatureNull or None
        What the importance of a feature is compared with.
    given_pvalue : GivenPvalues or None
        p-values other than those of the chi-square distribution.
    estimates : Estimates or None
        Coefficients and standard errors, of Wald and likelihood-ratio tests of single features.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> edges
    EdgeTests(score, 30 features × 6 labels, 180 of 180 edges testable)
    >>> edges["bmi"].round(3).loc["diabetes", "statistic"]
    np.float64(48.731)
    >>> edges.feature_pvalue.idxmin()
    'age'
    """

    features: tuple[str, ...]
    labels: tuple[str, ...]
    arrays: EdgeArrays
    test: str
    interactions: str | None = None
    distribution: str = "chi-square"
    products: Products | None = None
    note: str = ""
    feature_null: FeatureNull | None = None
    given_pvalue: GivenPvalues | None = None
    estimates: Estimates | None = None

    # What is tested

    @property
    def null(self) -> str:
        """What is tested at each edge."""
        return NULLS[self.interactions]

    @table
    def statistic(self) -> pd.DataFrame:
        """Statistics, features × labels; NaN where an edge can not be tested."""
        return self._frame(self.arrays.statistic)

    @table
    def df(self) -> pd.DataFrame:
        """Degrees of freedom of the chi-square distribution under the null."""
        return self._frame(self.arrays.df)

    @table
    def reason(self) -> pd.DataFrame:
        """``ok``, or why an edge can not be tested or what is special about it."""
        return self._frame(self.arrays.reason)

    @table
    def sign(self) -> pd.DataFrame:
        """Whether the feature raises (1) or lowers (−1) the label; 0 where that has no answer."""
        return self._frame(self.arrays.sign)

    def __repr__(self) -> str:
        n_features, n_labels = self.arrays.statistic.shape
        tested = int((~np.isnan(self.arrays.statistic)).sum())
        kind = f"{self.test}, {self.interactions}" if self.interactions else self.test
        return (
            f"EdgeTests({kind}, {n_features} features × {n_labels} labels, "
            f"{tested} of {n_features * n_labels} edges testable)"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    # p-values

    @table
    def pvalue(self) -> pd.DataFrame:
        """p-values, features × labels."""
        given = self.given_pvalue
        return self._frame(self._tail(chi2_sf) if given is None else given.edge)

    @table
    def log10p(self) -> pd.DataFrame:
        """Logarithms of the p-values to base ten; finite also where p-values underflow."""
        given = self.given_pvalue
        return self._frame(self._tail(chi2_log10_sf) if given is None else given.log10)

    def _tail(self, tail: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
        return tail(self.arrays.statistic, self.arrays.df)

    def _frame(self, cells: Any) -> pd.DataFrame:
        index, columns = (
            pd.Index(self.features, name="feature"),
            pd.Index(self.labels, name="label"),
        )
        return pd.DataFrame(cells, index, columns, dtype=cells.dtype)

    # Looking up

    def __getitem__(self, features: str | Sequence[str]) -> Any:
        """Give the table of one feature, or the tests of several."""
        if isinstance(features, str):
            self._check_known([features], self.features, "feature")
            columns = ("statistic", "df", "pvalue", "log10p", "sign", "reason")
            tables = {**self._effects(), **{name: getattr(self, name) for name in columns}}
            return pd.DataFrame({name: cells.loc[features] for name, cells in tables.items()})
        if isinstance(features, slice) or not isinstance(features, Iterable):
            raise KeyError("take features by name: edges['x1'] or edges[['x1', 'x2']].")
        names = list(features)
        self._check_known(names, self.features, "feature")
        if len(set(names)) < len(names):
            raise KeyError(f"features are named more than once: {exc.shorten(names)}.")
        positions = [self.features.index(name) for name in names]
        products, null, given = self.products, self.feature_null, self.given_pvalue
        estimates = self.estimates
        return replace(
            self,
            features=tuple(names),
            arrays=self.arrays.take(positions),
            products=None if products is None else Products(products.statistic[positions]),
            feature_null=None if null is None else null.take(positions),
            given_pvalue=None if given is None else given.take(positions),
            estimates=None if estimates is None else estimates.take(names),
        )

    @property
    def loc(self) -> _EdgeLookup:
        """One edge: ``edges.loc[feature, label]``."""
        return _EdgeLookup(self)

    def _effects(self) -> dict[str, pd.DataFrame]:
        """Give the columns that only tests with fitted effects have."""
        found = self.estimates
        return {} if found is None else {"coef": found.coef, "bse": found.bse}

    @staticmethod
    def _check_known(wanted: Sequence[str], known: tuple[str, ...], what: str) -> None:
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise KeyError(
                f"there is no {what} {exc.shorten(unknown)}; the first ones are "
                f"{exc.shorten(known)}."
            )

    # Features

    @table
    def importance(self) -> pd.Series:
        """Sum over labels (and products) of the statistics of each feature.

        Edges that can not be tested add nothing.
        """
        importance = np.nansum(self.arrays.statistic, axis=1)
        if self.products is not None:
            importance = importance + np.nansum(self.products.statistic, axis=(1, 2))
        return pd.Series(importance, pd.Index(self.features, name="feature"), name="importance")

    @table
    def feature_pvalue(self) -> pd.Series | None:
        r"""A p-value for each feature: that it has no effect on any label.

        The K statistics of a feature are dependent, so their sum is compared with a weighted sum
        of chi-squares. None for tests where that sum has no such reference distribution (Wald,
        likelihood ratio, interactions).

        Notes
        -----
        Under the null the feature is independent of the labels, and the covariance of two scores
        is the feature's variance times :math:`\sum_i e_{ik} e_{il}`, the residuals of the two
        label models. Divided by the standard deviations of the scores this is the covariance
        of K normal variables whose squares add up to the importance; its eigenvalues are the
        weights.
        """
        if self.given_pvalue is not None and self.given_pvalue.feature is not None:
            pvalue = self.given_pvalue.feature
        elif self.feature_null is not None:
            pvalue = weighted_chi2_sf(self.importance.to_numpy(), self.feature_null.weights())
        else:
            return None
        return pd.Series(pvalue, pd.Index(self.features, name="feature"), name="pvalue")

    # Tables

    def to_frame(self, adjust: str | None = "fdr_bh", within: str | None = None) -> pd.DataFrame:
        """Give one row an edge.

        Parameters
        ----------
        adjust : str or None
            How p-values are adjusted for multiplicity, any method of statsmodels'
            ``multipletests``; None leaves them as they are.
        within : {None, "label", "feature"}
            Over which edges: all that are tested, or those of one label or one feature.

        Returns
        -------
        DataFrame
            Columns feature, label, (with,) (coef, bse,) statistic, df, pvalue, log10p, pvalue_adj,
            sign and reason. Wald and likelihood-ratio tests of single features have coefficients
            and standard errors. With single products, ``with`` names the label that the feature
            is multiplied with and is empty for the feature itself.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.to_frame().nsmallest(2, "pvalue")[["feature", "label"]]
          feature         label
        0     age  hypertension
        2     age     arthritis
        """
        if adjust is not None:
            check_option("adjust", adjust, METHODS)
        check_option("within", within, (None, "label", "feature"))
        columns = {
            name: getattr(self, name).to_numpy()
            for name in ("statistic", "df", "pvalue", "log10p", "sign", "reason")
        }
        n_features, n_labels = self.arrays.statistic.shape
        shape: tuple[int, ...] = (n_features, n_labels)
        if self.products is not None:
            columns = self._with_products(columns)
            shape = (n_features, n_labels, 1 + n_labels)
        adjusted = columns["pvalue"]
        if adjust is not None:
            # A column a label, or a row a feature, with what belongs to it.
            by_label = np.moveaxis(adjusted, 1, -1)
            table = by_label if within == "label" else adjusted
            flat = (
                table.reshape(-1, n_labels) if within == "label" else table.reshape(n_features, -1)
            )
            adjusted = adjust_within(flat, adjust, within).reshape(table.shape)
            if within == "label":
                adjusted = np.moveaxis(adjusted, -1, 1)
        at = [axis.ravel() for axis in np.indices(shape)]
        names = np.array(self.labels, dtype=object)
        frame = pd.DataFrame(
            {
                "feature": np.array(self.features, dtype=object)[at[0]],
                "label": names[at[1]],
                **({"with": np.array(["", *names], dtype=object)[at[2]]} if len(at) > 2 else {}),
                **{name: cells.to_numpy().ravel() for name, cells in self._effects().items()},
                "statistic": columns["statistic"].ravel(),
                "df": columns["df"].ravel(),
                "pvalue": columns["pvalue"].ravel(),
                "log10p": columns["log10p"].ravel(),
                "pvalue_adj": adjusted.ravel(),
                "sign": columns["sign"].ravel(),
                "reason": columns["reason"].ravel(),
            }
        )
        if self.products is not None:
            frame = frame[frame["label"] != frame["with"]].reset_index(drop=True)
        return frame

    def _with_products(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Put the tests of products beside those of the features."""
        assert self.products is not None
        statistic = self.products.statistic
        tested = ~np.isnan(statistic)
        reason = np.broadcast_to(columns["reason"][:, :, None], statistic.shape)
        reason = np.where(tested | (reason != "ok"), reason, "collinear-feature")
        products = {
            "statistic": statistic,
            "df": np.where(tested, 1.0, np.nan),
            "pvalue": self.products.pvalue,
            "log10p": chi2_log10_sf(statistic, 1.0),
            "sign": np.zeros(statistic.shape),
            "reason": reason,
        }
        return {
            name: np.concatenate([columns[name][:, :, None], products[name]], axis=2)
            for name in columns
        }

    def to_csv(self, path: str | os.PathLike[str] | None = None, **options: Any) -> str | None:
        """Write `to_frame` to a CSV file.

        Parameters
        ----------
        path : path-like, optional
            Where to; the text is returned where not given.
        **options
            Arguments of `to_frame`.

        Returns
        -------
        str or None
            The text, where no path is given.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.to_csv().splitlines()[0]
        'feature,label,statistic,df,pvalue,log10p,pvalue_adj,sign,reason'
        """
        text = self.to_frame(**options).to_csv(path, index=False)
        return None if text is None else str(text)

    def to_graphml(
        self,
        path: str | os.PathLike[str],
        *,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        within: str | None = None,
    ) -> None:
        """Write the significant edges as a network that Gephi, Cytoscape and igraph read.

        Parameters
        ----------
        path : path-like
            Where to.
        alpha : float
            Edges with an adjusted p-value up to this are written.
        adjust, within : str or None
            How p-values are adjusted; see `to_frame`.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     res.score_test().to_graphml(Path(folder, "edges.graphml"))
        ...     Path(folder, "edges.graphml").read_text().count("<edge ")
        15
        """
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.labels, kind="label")
        graph.add_nodes_from(self.features, kind="feature")
        frame = self.to_frame(adjust, within)
        if "with" in frame:
            frame = frame[frame["with"] == ""]
        for row in frame[frame["pvalue_adj"] <= alpha].itertuples():
            graph.add_edge(
                row.feature,
                row.label,
                statistic=row.statistic,
                df=row.df,
                pvalue=row.pvalue,
                pvalue_adj=row.pvalue_adj,
                sign=float(self.sign.loc[row.feature, row.label]),
            )
        nx.write_graphml(graph, path)

    def summary(
        self, top: int = 20, adjust: str | None = "fdr_bh", within: str | None = None
    ) -> IsingSummary:
        """Summarise the strongest edges.

        Parameters
        ----------
        top : int
            How many edges to list.
        adjust, within : str or None
            How p-values are adjusted; see `to_frame`.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> print(res.score_test().summary(top=2))
                             Score Tests of Feature-Label Edges
        ===========================================================================
        Features:                      30    Edges tested:               180 of 180
        Labels:                         6    Distribution:               chi-square
        Interactions:                none    Adjusted p-values:              fdr_bh
                                The 2 strongest of 180 edges
        ===========================================================================
        feature label              sign  statistic         df     pvalue pvalue_adj
        ---------------------------------------------------------------------------
        age     hypertension         +1    133.404          1   7.38e-31   1.33e-28
        age     arthritis            +1     70.495          1   4.61e-17   4.15e-15
        ...
        """
        from isingmlc.summaries import summarize_edges

        return summarize_edges(self, top, adjust, within)


@dataclass(frozen=True, slots=True)
class _EdgeLookup:
    """``edges.loc[feature, label]``."""

    edges: EdgeTests

    def __getitem__(self, edge: tuple[str, str]) -> EdgeTest:
        if not isinstance(edge, tuple) or len(edge) != 2:
            raise KeyError("one edge is edges.loc[feature, label].")
        feature, label = edge
        edges = self.edges
        edges._check_known([feature], edges.features, "feature")
        edges._check_known([label], edges.labels, "label")
        return EdgeTest(
            feature,
            label,
            statistic=float(edges.statistic.loc[feature, label]),
            df=float(edges.df.loc[feature, label]),
            pvalue=float(edges.pvalue.loc[feature, label]),
            log10p=float(edges.log10p.loc[feature, label]),
            reason=edges.reason.loc[feature, label],
            null=edges.null,
        )
