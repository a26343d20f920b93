"""`EdgeTests`: tests of all feature–label edges in one object, and the score tests that fill it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.data import FloatArray
from isingmlc.pvalues import adjust_within, chi2_log10_sf, chi2_sf, weighted_chi2_sf

if TYPE_CHECKING:
    from isingmlc.summary import IsingSummary

NULLS = {
    None: "the feature has no effect on the label given the other labels",
    "individual": "the feature, or its product with another label, has no effect on the label "
    "given the other labels",
    "joint": "neither the feature nor its products with other labels have an effect on the label "
    "given the other labels",
}


@dataclass(frozen=True, slots=True)
class EdgeTest:
    """Test of one feature–label edge; unpacks to its statistic and p-value.

    Attributes
    ----------
    feature, label : str
        The edge.
    statistic, df, pvalue, log10p : float
        The test; NaN where it is impossible.
    reason : str
        ``ok``, or why it is impossible.
    null : str
        What is tested.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> statistic, pvalue = edges.loc["bmi", "diabetes"]
    >>> print(f"{statistic:.2f} {pvalue:.1e}")
    48.73 2.9e-12
    """

    feature: str
    label: str
    statistic: float
    df: float
    pvalue: float
    log10p: float
    reason: str
    null: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))


@dataclass(frozen=True)
class Products:
    """Tests of products of features with labels.

    Attributes
    ----------
    statistic, pvalue : ndarray, shape (features, labels, labels)
        Entry (j, k, s) tests the product of feature j with label s in the model of label k; NaN
        where it is impossible and for s = k.
    """

    statistic: FloatArray

    @cached_property
    def pvalue(self) -> FloatArray:
        """Upper tails of the chi-square distribution with one degree of freedom."""
        return np.asarray(chi2_sf(self.statistic, 1.0))


@dataclass(frozen=True)
class FeatureNull:
    r"""What the sum of a feature's statistics over labels is compared with.

    Attributes
    ----------
    crossed, leaning : ndarray, shape (K, K)
        :math:`\sum_g N_g e_{gk} e_{gl}`, and the same with factors
        :math:`h_{gk} + h_{gl} - h_{gk} h_{gl}`, h what the null model fits to a column of ones.
    mean, square : ndarray, shape (p,)
        First and second moment of the features.
    variance : ndarray, shape (p, K)
        Variances by which the scores were standardised; NaN for impossible tests.
    """

    crossed: FloatArray
    leaning: FloatArray
    mean: FloatArray
    square: FloatArray
    variance: FloatArray

    def take(self, positions: list[int]) -> FeatureNull:
        """Give what some of the features are compared with."""
        return replace(
            self,
            mean=self.mean[positions],
            square=self.square[positions],
            variance=self.variance[positions],
        )

    def weights(self) -> FloatArray:
        """Give the eigenvalues of the covariance of the standardised scores, a row a feature."""
        deviation = np.sqrt(np.where(np.isnan(self.variance), np.inf, self.variance))
        weights = np.empty(deviation.shape)
        step = max(1, 2**22 // self.crossed.size)
        for start in range(0, len(weights), step):
            part = slice(start, start + step)
            covariance = (
                self.square[part, None, None] * self.crossed
                - self.mean[part, None, None] ** 2 * self.leaning
            )
            scale = deviation[part, :, None] * deviation[part, None, :]
            weights[part] = np.linalg.eigvalsh(covariance / scale)
        return np.maximum(weights, 0.0)


@dataclass(frozen=True)
class GivenPvalues:
    """p-values that do not come from the chi-square distribution.

    Attributes
    ----------
    edge, log10 : ndarray, shape (features, labels)
        p-values of edges and their logarithms.
    feature : ndarray, shape (features,), or None
        p-values of features.
    """

    edge: FloatArray
    log10: FloatArray
    feature: FloatArray | None = None

    def take(self, positions: list[int]) -> GivenPvalues:
        """Give those of some features."""
        return GivenPvalues(
            self.edge[positions],
            self.log10[positions],
            None if self.feature is None else self.feature[positions],
        )


@dataclass(frozen=True, eq=False, repr=False)
class EdgeTests:
    """Tests of all feature–label edges.

    Attributes
    ----------
    statistic : DataFrame, features × labels
        Statistics; NaN where an edge can not be tested.
    df : DataFrame, features × labels
        Degrees of freedom of the chi-square distribution under the null.
    reason : DataFrame, features × labels
        ``ok``, or why an edge can not be tested: ``constant-label``, ``determined-label``,
        ``too-rare``, ``constant-feature``, ``collinear-feature`` or ``separated-alternative``.
    sign : DataFrame, features × labels
        Whether the feature raises (1) or lowers (−1) the label; 0 where that has no answer.
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

    statistic: pd.DataFrame
    df: pd.DataFrame
    reason: pd.DataFrame
    sign: pd.DataFrame
    test: str
    interactions: str | None = None
    distribution: str = "chi-square"
    products: Products | None = None
    note: str = ""
    feature_null: FeatureNull | None = None
    given_pvalue: GivenPvalues | None = None

    @classmethod
    def from_arrays(
        cls,
        features: Sequence[str],
        labels: Sequence[str],
        *,
        statistic: FloatArray,
        df: FloatArray,
        reason: Any,
        sign: FloatArray,
        **rest: Any,
    ) -> EdgeTests:
        """Make read-only frames of arrays.

        Parameters
        ----------
        features, labels : sequence of str
            Names.
        statistic, df, reason, sign : ndarray, shape (features, labels)
            The tests.
        **rest
            Other attributes.

        Returns
        -------
        EdgeTests
            The tests.
        """
        index, columns = pd.Index(features, name="feature"), pd.Index(labels, name="label")
        tables = {
            "statistic": statistic,
            "df": df,
            "reason": reason,
            "sign": sign,
        }
        frames = {name: _frozen(table, index, columns) for name, table in tables.items()}
        return cls(**frames, **rest)

    # What is tested

    @property
    def null(self) -> str:
        """What is tested at each edge."""
        return NULLS[self.interactions]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features (or terms) tested."""
        return tuple(self.statistic.index)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels."""
        return tuple(self.statistic.columns)

    def __repr__(self) -> str:
        n_features, n_labels = self.statistic.shape
        tested = int((self.reason == "ok").to_numpy().sum())
        kind = f"{self.test}, {self.interactions}" if self.interactions else self.test
        return (
            f"EdgeTests({kind}, {n_features} features × {n_labels} labels, "
            f"{tested} of {n_features * n_labels} edges testable)"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    # p-values

    @cached_property
    def pvalue(self) -> pd.DataFrame:
        """p-values, features × labels."""
        given = self.given_pvalue
        return self._frame(self._tail(chi2_sf) if given is None else given.edge)

    @cached_property
    def log10p(self) -> pd.DataFrame:
        """Logarithms of the p-values to base ten; finite also where p-values underflow."""
        given = self.given_pvalue
        return self._frame(self._tail(chi2_log10_sf) if given is None else given.log10)

    def _tail(self, tail: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
        return tail(self.statistic.to_numpy(), self.df.to_numpy())

    def _frame(self, table: FloatArray) -> pd.DataFrame:
        return _frozen(table, self.statistic.index, self.statistic.columns)

    # Looking up

    def __getitem__(self, features: str | Sequence[str]) -> Any:
        """Give the table of one feature, or the tests of several."""
        if isinstance(features, str):
            self._check_known([features], self.features, "feature")
            columns = ("statistic", "df", "pvalue", "log10p", "reason")
            return pd.DataFrame({name: getattr(self, name).loc[features] for name in columns})
        self._check_known(features, self.features, "feature")
        positions = [self.statistic.index.get_loc(name) for name in features]
        products, null, given = self.products, self.feature_null, self.given_pvalue
        return replace(
            self,
            **{
                name: getattr(self, name).iloc[positions]
                for name in ("statistic", "df", "reason", "sign")
            },
            products=None if products is None else Products(products.statistic[positions]),
            feature_null=None if null is None else null.take(positions),
            given_pvalue=None if given is None else given.take(positions),
        )

    @property
    def loc(self) -> _EdgeLookup:
        """One edge: ``edges.loc[feature, label]``."""
        return _EdgeLookup(self)

    @staticmethod
    def _check_known(wanted: Sequence[str], known: tuple[str, ...], what: str) -> None:
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise KeyError(
                f"there is no {what} {exc.shorten(unknown)}; the first ones are "
                f"{exc.shorten(known)}."
            )

    # Features

    @cached_property
    def importance(self) -> pd.Series:
        """Sum over labels (and products) of the statistics of each feature.

        Edges that can not be tested add nothing.
        """
        importance = self.statistic.sum(axis=1)
        if self.products is not None:
            importance = importance + np.nansum(self.products.statistic, axis=(1, 2))
        return importance.rename("importance")

    @cached_property
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
        return pd.Series(pvalue, self.statistic.index, name="pvalue")

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
            Columns feature, label, (with,) statistic, df, pvalue, log10p, pvalue_adj and reason.
            With single products, ``with`` names the label that the feature is multiplied with
            and is empty for the feature itself.

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
        columns = {
            name: getattr(self, name).to_numpy()
            for name in ("statistic", "df", "pvalue", "log10p", "reason")
        }
        n_features, n_labels = self.statistic.shape
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
                "statistic": columns["statistic"].ravel(),
                "df": columns["df"].ravel(),
                "pvalue": columns["pvalue"].ravel(),
                "log10p": columns["log10p"].ravel(),
                "pvalue_adj": adjusted.ravel(),
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
            "reason": reason,
        }
        return {
            name: np.concatenate([columns[name][:, :, None], products[name]], axis=2)
            for name in columns
        }

    def to_csv(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write `to_frame` to a CSV file.

        Parameters
        ----------
        path : path-like
            Where to.
        **options
            Arguments of `to_frame`.
        """
        self.to_frame(**options).to_csv(path, index=False)

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

    def summary(self, top: int = 20, adjust: str = "fdr_bh") -> IsingSummary:
        """Summarise the strongest edges.

        Parameters
        ----------
        top : int
            How many edges to list.
        adjust : str
            How p-values are adjusted; see `to_frame`.

        Returns
        -------
        IsingSummary
            A statsmodels summary.
        """
        from isingmlc.summary import summarize_edges

        return summarize_edges(self, top, adjust)


def _frozen(table: Any, index: pd.Index, columns: pd.Index) -> pd.DataFrame:
    """Make a frame whose cells can not be set."""
    table.flags.writeable = False
    return pd.DataFrame(table, index, columns, dtype=table.dtype, copy=False)


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
