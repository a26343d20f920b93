"""`EdgeTests`: tests of all feature–label edges in one object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_names, check_number, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, SignArray
from isingmlc.base.printing import say_given
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import Reason, judge_products
from isingmlc.inference.combine import DEFAULT_COMBINE
from isingmlc.inference.edges import EdgeArrays
from isingmlc.inference.effects import (
    BY_LEVEL,
    INFINITE,
    NEEDS_ROWS,
    EdgeEffects,
    effect_columns,
    feature_spread,
    find_effects,
    find_features,
    mark_effects,
    product_effects,
    profile_limits,
    refit_effects,
    refit_product_effects,
    with_finite_limits,
)
from isingmlc.inference.pvalues import METHODS, adjust_within, wald_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary

NULLS = {
    None: "the feature has no effect on the label given the other labels",
    "individual": "the feature, or its product with another label, has no effect on the label "
    "given the other labels",
    "joint": "neither the feature nor its products with other labels have an effect on the label "
    "given the other labels",
    "given": "the feature has no effect on the label; or it does not change the association of two "
    "labels given the feature and the other labels",
    "given-joint": "the products of the feature with other labels have no effect on the label "
    "given the feature and the other labels",
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
        ``ok``, or why it is impossible; see `Reason`.
    null : str
        What is tested.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> edges.loc["bmi", "diabetes"]
    EdgeTest(bmi – diabetes: statistic 48.73, df 1, p-value 1.81e-12)
    >>> statistic, pvalue = edges.loc["bmi", "diabetes"]
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

    def __repr__(self) -> str:
        test = f"statistic {self.statistic:.4g}, df {self.df:g}, p-value {self.pvalue:.3g}"
        found = test if self.reason == Reason.OK else self.reason
        return f"EdgeTest({self.feature} – {self.label}: {found})"


class EdgeTests(ReadOnly):
    """Tests of all feature–label edges.

    Made by `IsingResults.score_test`, `wald_test` and `lr_test`. Nothing in it can be set; tables
    have one row per feature and one column per label.

    Parameters
    ----------
    arrays : EdgeArrays
        The tests.
    adjusted_for : tuple of str
        The covariates that the tests are given, as the user wrote them.
    fit : NetworkFit, optional
        The null models, from which score tests get effects.
    fit_levels : callable, optional
        Fits a whole term and returns coefficients and standard errors of its columns.

    Attributes
    ----------
    arrays : EdgeArrays
        The tests as arrays.
    feature_names, label_names : tuple of str
        Names of the features (or terms) and labels.
    test : {"score", "wald", "lr"}
        Which test.
    products : {None, "individual", "joint"}
        Whether products of features with labels are tested too, each by itself or all together.
    distribution : str
        Where the p-values come from.
    note : str
        What to keep in mind; empty where there is nothing.
    adjusted_for : tuple of str
        The covariates that every test is given, as the user wrote them; empty without any.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> edges
    EdgeTests(score, 30 features × 6 labels, 180 of 180 edges testable)
    >>> edges["bmi"].round(3).loc["diabetes", "statistic"]
    np.float64(48.731)
    >>> edges.feature_pvalues().idxmin()
    'age'
    """

    arrays: EdgeArrays
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    test: str
    products: str | None
    distribution: str
    note: str
    adjusted_for: tuple[str, ...]
    _fit: NetworkFit | None
    _fit_levels: Callable[[str], tuple[FloatArray, FloatArray]] | None

    def __init__(
        self,
        arrays: EdgeArrays,
        adjusted_for: tuple[str, ...] = (),
        fit: NetworkFit | None = None,
        fit_levels: Callable[[str], tuple[FloatArray, FloatArray]] | None = None,
    ) -> None:
        self._fill(
            arrays=arrays,
            _fit=fit,
            _fit_levels=fit_levels,
            feature_names=arrays.feature_names,
            label_names=arrays.label_names,
            test=arrays.test,
            products=arrays.products,
            distribution=arrays.distribution,
            note=arrays.note,
            adjusted_for=adjusted_for,
        )

    # What is tested

    @property
    def null(self) -> str:
        """What is tested at each edge."""
        return NULLS[self.products] + (" and covariates" if self.adjusted_for else "")

    @table
    def statistics(self) -> pd.DataFrame:
        """Statistics, features × labels; NaN where an edge cannot be tested."""
        return self._frame(self.arrays.statistic)

    @table
    def df(self) -> pd.DataFrame:
        """Degrees of freedom under the null: those of chi-square, or the first of F.

        With clusters tests refer to Student's t or to F, of which `note` has the other degrees.
        """
        return self._frame(self.arrays.df)

    @table
    def reasons(self) -> pd.DataFrame:
        """Why an edge cannot be tested, or what is special about it; ``ok`` for most.

        ``constant-label``, ``determined-label``, ``too-rare``, ``not-converged``, ``one-cluster``,
        ``constant-feature`` and ``collinear-feature`` have no statistic. Under
        ``separated-alternative`` the coefficient is infinite, and a likelihood ratio is that of
        the limit.
        """
        return self._frame(self.arrays.reason)

    @table
    def signs(self) -> pd.DataFrame:
        """Whether the feature goes with (1) or against (−1) the label; 0 if that has no answer."""
        return self._frame(self.arrays.sign)

    def __repr__(self) -> str:
        n_features, n_labels = self.arrays.statistic.shape
        tested = int((~np.isnan(self.arrays.statistic)).sum())
        kind = f"{self.test}, {self.products}" if self.products else self.test
        given = f" {say_given(self.adjusted_for)}" if self.adjusted_for else ""
        return (
            f"EdgeTests({kind}, {n_features} features × {n_labels} labels{given}, "
            f"{tested} of {n_features * n_labels} edges testable)"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    # p-values

    @table
    def pvalues(self) -> pd.DataFrame:
        """p-values, features × labels."""
        return ResultTable.of_pvalues(self._frame(self.arrays.pvalue))

    @table
    def log10_pvalues(self) -> pd.DataFrame:
        """Logarithms of the p-values to base ten; finite also where p-values underflow."""
        return self._frame(self.arrays.log10_pvalue)

    def _frame(self, cells: Any) -> pd.DataFrame:
        return ResultTable(cells, self._features, self._labels, dtype=cells.dtype)

    @property
    def _features(self) -> pd.Index:
        return pd.Index(self.feature_names, name="feature")

    @property
    def _labels(self) -> pd.Index:
        return pd.Index(self.label_names, name="label")

    # Effects

    @property
    def _has_effects(self) -> bool:
        """Whether `to_frame` can give effects: of features, or of products given them."""
        has_products = not self.products or self.arrays.product_bse is not None
        return self._fit is not None and has_products

    @property
    def _columns(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each feature; several where it is a category, a spline or the like."""
        terms = {} if self._fit is None else self._fit.terms
        return tuple(terms.get(name, (name,)) for name in self.feature_names)

    @property
    def _is_wide(self) -> BoolArray:
        """Which features have several columns."""
        return np.array([len(columns) > 1 for columns in self._columns], dtype=np.bool_)

    @property
    def _is_part(self) -> BoolArray:
        """Which features are single columns of a term that has more."""
        parts = {name for columns in self._wide_terms.values() for name in columns}
        return np.array([name in parts for name in self.feature_names], dtype=np.bool_)

    @property
    def _wide_terms(self) -> dict[str, tuple[str, ...]]:
        """The terms of several columns."""
        terms = {} if self._fit is None else self._fit.terms
        return {name: columns for name, columns in terms.items() if len(columns) > 1}

    @table
    def params(self) -> pd.DataFrame | None:
        """Effects: log-odds ratios for one unit of the feature, given the other labels.

        Of Wald and likelihood-ratio tests of single features; None for other tests. ±inf where the
        feature separates the label, NaN where nothing is fitted. With ``products="given"`` they are
        those of the features without products; `to_frame` has those of the products besides.
        """
        coef = self.arrays.coef
        return None if coef is None else self._frame(coef)

    @table
    def bse(self) -> pd.DataFrame | None:
        """Standard errors of `params`; NaN where an effect is not finite."""
        bse = self.arrays.bse
        return None if bse is None else self._frame(bse)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Wald confidence intervals of `params`; their exponentials are those of odds ratios.

        A feature that separates a label (reason ``separated-alternative``) has an infinite effect
        without a standard error. One end of its interval is infinite too; the other is that of
        the profile likelihood.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.

        Returns
        -------
        DataFrame
            Columns ``lower`` and ``upper``, one row per feature and label; NaN where `bse` is, and
            where there is no likelihood for the finite end of an infinite effect: without rows,
            with clusters and robust errors, and beyond 500 such effects. So is an end that is
            farther from zero than 64 per standard deviation of the feature, or that is not found.

        Raises
        ------
        ModelError
            When the tests have no effects.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().wald_test(["bmi"])
        >>> edges.conf_int().loc[("bmi", "diabetes")].round(3).tolist()
        [0.097, 0.175]
        """
        if self.arrays.coef is None or self.arrays.bse is None:
            raise exc.ModelError(
                "these tests fit no effects, so there are no intervals. Use wald_test or lr_test "
                "without products."
            )
        index = pd.MultiIndex.from_product([self._features, self._labels])
        coef, bse, df = self.arrays.coef, self.arrays.bse, self.arrays.df_denom
        degrees = None if df is None else np.broadcast_to(df, coef.shape).ravel()
        limits = wald_limits(coef.ravel(), bse.ravel(), alpha, index, degrees)
        if not np.isinf(coef).any():
            return limits
        finite = self._finite_limits(coef, 1 - alpha)
        ends = (limits[end].to_numpy().reshape(coef.shape) for end in ("lower", "upper"))
        lower, upper = with_finite_limits(coef, next(ends), next(ends), finite)
        return ResultTable({"lower": lower.ravel(), "upper": upper.ravel()}, index)

    def _finite_limits(self, coef: FloatArray, level: float) -> FloatArray | None:
        """Return the finite limits of infinite effects, if there is a fit to ask."""
        if self._fit is None:
            return None
        names = [columns[0] for columns in self._columns]
        # The models that would be fitted lack the rest of the term.
        some = np.where(self._is_part[:, None], np.nan, coef)
        return profile_limits(self._fit, names, some, level)

    # Looking up

    def __getitem__(self, features: str | Sequence[str]) -> Any:
        """Return the table of one feature, or the tests of several."""
        if isinstance(features, str):
            (at,) = self._find([features])
            cells = {name: values[at].copy() for name, values in self.arrays.columns().items()}
            return ResultTable(cells, self._labels)
        if isinstance(features, slice) or not isinstance(features, Iterable):
            raise KeyError("take features by name: edges['x1'] or edges[['x1', 'x2']].")
        names = list(features)
        if len(set(names)) < len(names):
            raise KeyError(f"features are named more than once: {exc.shorten(names)}.")
        return self._take(self._find(names))

    def take(self, features: str | Sequence[str]) -> EdgeTests:
        """Return the tests of some features.

        Parameters
        ----------
        features : str or sequence of str
            Names of the features.

        Returns
        -------
        EdgeTests
            Their tests, in the order of the names.

        Raises
        ------
        DataError
            When there is no such feature, or one comes more than once.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> im.IsingModel(data.labels, data.features).fit().score_test().take(["bmi", "age"])
        EdgeTests(score, 2 features × 6 labels, 12 of 12 edges testable)
        """
        chosen = check_names("features", features, self.feature_names)
        return self._take(chosen)

    def _take(self, positions: Sequence[int] | IntArray) -> EdgeTests:
        """Return the tests of the features at some positions."""
        arrays = self.arrays.take(positions)
        return EdgeTests(arrays, self.adjusted_for, self._fit, self._fit_levels)

    @property
    def loc(self) -> _EdgeLookup:
        """One edge: ``edges.loc[feature, label]``."""
        return _EdgeLookup(self)

    def _find(self, names: Sequence[str], known: str = "feature") -> list[int]:
        """Return positions of features or labels."""
        every = self.feature_names if known == "feature" else self.label_names
        unknown = [name for name in names if name not in every]
        if unknown:
            raise KeyError(
                f"there is no {known} {exc.shorten(unknown)}; the first ones are "
                f"{exc.shorten(every)}."
            )
        return [every.index(name) for name in names]

    # Features

    @table
    def importance(self) -> pd.Series:
        """Sum over labels (and products) of the statistics of each feature.

        Edges that cannot be tested add nothing.
        """
        return pd.Series(self.arrays.importance, self._features, name="importance")

    def feature_pvalues(self, combine: str = DEFAULT_COMBINE) -> pd.Series:
        r"""Return one p-value per feature: that it has no effect on any label.

        The null is that the feature has no effect on any label given the other labels (and the
        covariates), for the labels whose edge with it can be tested. With products, it is what
        `null` says, for every label.

        Parameters
        ----------
        combine : {"acat", "sum", "omnibus"}
            How the tests of a feature's edges become one.

            ``"acat"``
                Cauchy combination of their p-values [1]_, whatever these come from. Strong
                against an effect on one label or few.
            ``"sum"``
                The sum of squared scores (the importance itself, where p-values are those of the
                chi-square distribution), against a weighted sum of chi-squares.
            ``"omnibus"``
                The quadratic form :math:`z'R^+z` of the scores z with the inverse of their
                correlation matrix, against a chi-square distribution with as many degrees of
                freedom as R has rank. Strong against effects that a dependence between labels
                hides.

        Returns
        -------
        Series
            The p-values, in the user's order; NaN for features without a test.

        Raises
        ------
        ModelError
            When scores have to be combined and how they vary together is not known: in Wald and
            likelihood-ratio tests, with products, and by terms, all but ``"acat"``.

        See Also
        --------
        feature_tests : statistics and degrees of freedom too.

        Notes
        -----
        The scores of a feature for two labels k and l have the covariance
        :math:`\sum_i e_{ik} e_{il} (x_i - c_{ik})(x_i - c_{il})`, with e the residuals of the
        label models and c what they explain of the feature. Nothing is supposed of the feature's
        distribution, which may depend on the labels. ``"sum"`` and ``"omnibus"`` use the
        correlations R that belong to it, and normal scores z with the signs of the scores and the
        p-values of the edges. Eigenvalues of R up to 1e-6 do not count. With
        ``fit(cov_type=…)`` residuals have the sizes that it gives them; with clusters the terms of
        a cluster are added up first, and ``"omnibus"`` is Hotelling's test with an F distribution.

        Cauchy combination is exact for a single label and nearly so for small p-values whatever
        the dependence; p-values above 0.999 count as 0.999.

        After ``score_test(pvalue="permutation")`` the sum has the p-values of the permutations.

        References
        ----------
        .. [1] Liu, Y., Xie, J. (2020). Cauchy combination test: a powerful test with analytic
           p-value calculation under arbitrary dependency structures. Journal of the American
           Statistical Association 115, 393–402.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.feature_pvalues()["bmi"] < 1e-10
        np.True_
        >>> edges.feature_pvalues(combine="sum")["bmi"] < 1e-10
        np.True_
        """
        found = self.arrays.feature_tests(combine).pvalue
        return pd.Series(found, self._features, name="pvalue", copy=True)

    def feature_tests(self, combine: str = DEFAULT_COMBINE) -> pd.DataFrame:
        """Test each feature over all labels; `feature_pvalues` says what the null is.

        Parameters
        ----------
        combine : {"acat", "sum", "omnibus"}
            How the tests of a feature's edges become one; see `feature_pvalues`.

        Returns
        -------
        DataFrame
            Columns ``statistic`` (the mean of Cauchy variables, the sum of squares or the
            quadratic form), ``df`` (of the quadratic form: the rank of the scores; otherwise
            NaN), ``pvalue``, ``log10p`` and ``tests``, how many tests were combined.

        Raises
        ------
        ModelError
            As `feature_pvalues` does.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.feature_tests("omnibus").loc["bmi", ["df", "tests"]].tolist()
        [6.0, 6.0]
        """
        found = self.arrays.feature_tests(combine)
        return ResultTable(
            {
                "statistic": found.statistic,
                "df": found.df,
                "pvalue": found.pvalue,
                "log10p": found.log10_pvalue,
                "tests": found.n_tests,
            },
            self._features,
        )

    @property
    def undirected(self) -> str:
        """What a significant edge that has no direction says of feature and label."""
        return "changes the ties of" if self.products == "given-joint" else "is tied to"

    # Tables

    def to_frame(
        self,
        adjust: str | None = "fdr_bh",
        within: str | None = None,
        *,
        exponentiate: bool = False,
        conf_int: float | None = None,
        per: str | Mapping[str, float] | None = None,
        refit: int = 0,
    ) -> pd.DataFrame:
        """Return one row per edge.

        Parameters
        ----------
        adjust : str or None
            How p-values are adjusted for multiplicity, any method of statsmodels'
            ``multipletests``; None leaves them as they are.
        within : {None, "label", "feature"}
            Over which edges: all that are tested, or those of one label or one feature. With
            ``products="given"`` over pairs apart from the features themselves; a pair has two
            labels, so those of one label mean all pairs.
        exponentiate : bool
            Give odds ratios with their intervals. They are given the other labels and the
            covariates of the model. Of products they are ratios of odds ratios: by what factor the
            odds ratio of the two labels changes with one unit of the feature.
        conf_int : float, optional
            Give effects with Wald intervals of this level; 0.95 if odds ratios are asked for.
        per : {"unit", "sd"} or mapping of str to float, optional
            Give effects, for one unit of a feature, for one standard deviation (one unit of
            features of zeros and ones), or for as much of each as a mapping says, such as
            ``{"bmi": 5}``; of others for one unit.
        refit : int
            Of how many rows, the strongest, score tests fit the effects. Those of all others are
            one Newton step from the null model, the score s over its variance v with the error
            1/√v: right for weak effects, too near zero for strong ones. Fits take rows of data.
            Effects of the levels of a category are always fitted, all of its levels together.

        Returns
        -------
        DataFrame
            Columns feature, label, (with,) (coef, bse,) statistic, df, pvalue, log10p, pvalue_adj,
            pvalue_method, sign, reason (and adjusted_for). ``pvalue_method`` tells what a p-value
            comes from: ``chi2``, ``saddlepoint`` or ``permutation``, with ``-scaled`` where the
            variance is scaled to what the residuals of the label's model vary by. Wald and
            likelihood-ratio tests of single features, and of products given them, have
            coefficients and standard errors. With
            single products, ``with`` names the label that the feature is multiplied with and is
            empty for the feature itself; ``sign`` tells whether the association of the two labels
            is stronger (1) or weaker (−1) for larger values of the feature. With
            ``products="given"`` there is one row per feature and pair of labels. With
            covariates, ``adjusted_for`` names them in every row.
            If effects are asked for, coef and bse, or odds_ratio, then lower, upper and
            ``estimate``, which is ``fitted``, ``one-step`` or ``infinite``, stand before the
            statistic. What is infinite has the reason ``separated-alternative``: the feature
            separates the label, say because a cell of their table is zero. One end of its interval
            is infinite too, the other is that of the profile likelihood (see `conf_int`). A score
            test is right there too; ``lr_test(penalty="firth")`` has a finite effect.
            The row of a category or spline has the test of the whole term and no effect of its
            own (``estimate`` is ``by-level``). With effects the rows of its columns follow, named
            like ``"smoking: ex vs never"``: the effect of a level against the reference level, from
            a fit with the whole term, with its Wald test. These are not adjusted for multiplicity,
            as the term is what is tested. Then a column ``term`` names the term of each row.

        Raises
        ------
        ModelError
            When effects are asked for of tests that have none: of products without their feature,
            and of several products together.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.to_frame().nsmallest(2, "pvalue")[["feature", "label"]]
          feature         label
        0     age  hypertension
        2     age     arthritis
        >>> odds = edges.to_frame(exponentiate=True, per="sd", refit=1).nsmallest(2, "pvalue")
        >>> odds[["label", "odds_ratio", "lower", "upper", "estimate"]].round(2)
                  label  odds_ratio  lower  upper  estimate
        0  hypertension        2.14   1.87   2.45    fitted
        2     arthritis        1.83   1.59   2.11  one-step
        """
        if adjust is not None:
            check_option("adjust", adjust, METHODS)
        check_option("within", within, (None, "label", "feature"))
        columns = self.arrays.columns()
        if exponentiate or conf_int is not None or per is not None or refit:
            effects = self._effects(exponentiate, conf_int, per or "unit", refit)
            columns = {
                **effects,
                **{name: cells for name, cells in columns.items() if name not in ("coef", "bse")},
            }
        n_features, n_labels = self.arrays.statistic.shape
        shape: tuple[int, ...] = (n_features, n_labels)
        if self.arrays.product_statistic is not None:
            columns = self._with_products(columns)
            shape = (n_features, n_labels, 1 + n_labels)
        adjusted = columns["pvalue"]
        if adjust is not None and self.products == "given":
            # Whether features go with labels is another question than whether they moderate.
            own, pairs = np.split(adjusted, [1], axis=2)
            over = None if within == "label" else within
            adjusted = np.concatenate(
                [_adjust(own, adjust, within), _adjust(pairs, adjust, over)], axis=2
            )
        elif adjust is not None:
            adjusted = _adjust(adjusted, adjust, within)
        at = [axis.ravel() for axis in np.indices(shape)]
        names = np.array(self.label_names, dtype=object)
        frame = ResultTable(
            {
                "feature": np.array(self.feature_names, dtype=object)[at[0]],
                "label": names[at[1]],
                **({"with": np.array(["", *names], dtype=object)[at[2]]} if len(at) > 2 else {}),
                **{name: cells.flatten() for name, cells in columns.items()},
            }
        )
        frame.insert(frame.columns.get_loc("log10p") + 1, "pvalue_adj", adjusted.flatten())
        if "estimate" in frame:
            # A score test does not fit what it tests: a fit tells that it has no maximum.
            is_endless = (frame["estimate"] == INFINITE) & (frame["reason"] == Reason.OK)
            frame.loc[is_endless, "reason"] = Reason.SEPARATED_ALTERNATIVE
            if self._columns != tuple((name,) for name in self.feature_names):
                frame = self._with_levels(frame, exponentiate, conf_int or 0.95)
        if self.adjusted_for:
            frame["adjusted_for"] = ", ".join(self.adjusted_for)
        if "with" in frame:
            kept = at[2] != at[1] + 1
            if self.products == "given":
                kept = (at[2] == 0) | (at[2] > at[1] + 1)
            frame = frame[kept].reset_index(drop=True)
        return frame

    def _with_levels(self, frame: pd.DataFrame, exponentiate: bool, level: float) -> pd.DataFrame:
        """Name categories by level, and put the rows of several levels below that of their term."""
        is_wide, labels = self._is_wide, np.array(self.label_names, dtype=object)
        has_rows = self._fit is not None and self._fit.rows is not None
        frame.insert(0, "term", frame["feature"])
        of_wide = frame["term"].isin(self._features[is_wide])
        tested = frame["statistic"].notna()
        frame.loc[of_wide & tested, "estimate"] = BY_LEVEL if has_rows else NEEDS_ROWS
        single = {
            name: columns[0]
            for name, columns in zip(self.feature_names, self._columns, strict=True)
            if len(columns) == 1
        }
        frame["feature"] = frame["feature"].map(lambda name: single.get(name, name))
        parts = [frame]
        for at in np.flatnonzero(is_wide) if has_rows else ():
            assert self._fit_levels is not None
            effects = mark_effects(*self._fit_levels(self.feature_names[at]))
            columns: dict[str, Any] = effect_columns(
                effects, level, self.arrays.df_denom, exponentiate
            )
            columns |= self.arrays.wald_columns(effects.coef, effects.bse, self.arrays.reason[at])
            part = pd.DataFrame({name: cells.ravel() for name, cells in columns.items()})
            part["term"] = self.feature_names[at]
            part["feature"] = np.repeat(np.array(self._columns[at], dtype=object), len(labels))
            part["label"] = np.tile(labels, len(effects.coef))
            parts.append(part)
        both = pd.concat(parts, ignore_index=True)[list(frame.columns)]
        place = {name: at for at, name in enumerate(self.feature_names)}
        order = both["term"].map(place).sort_values(kind="stable").index
        return ResultTable(both.loc[order].reset_index(drop=True))

    def _list_strongest(self, frame: pd.DataFrame, top: int) -> pd.DataFrame:
        """Return the rows of the strongest tests, each followed by the effects of its levels."""
        tests = frame[~self._is_level(frame)].nsmallest(top, "log10p", keep="first")
        if "term" not in frame:
            return tests
        edges = pd.MultiIndex.from_frame(tests[["term", "label"]])
        at = edges.get_indexer(pd.MultiIndex.from_frame(frame[["term", "label"]]))
        order = np.argsort(at, kind="stable")
        return frame.iloc[order[at[order] >= 0]]

    def _is_level(self, frame: pd.DataFrame) -> pd.Series:
        """Mark the rows that are effects of levels, and no tests of a whole term."""
        wide = [columns for columns in self._columns if len(columns) > 1]
        return frame["feature"].isin([name for columns in wide for name in columns])

    def _units(self, fit: NetworkFit, per: str | Mapping[str, float]) -> FloatArray:
        """Say for how much of each feature effects are."""
        if not isinstance(per, Mapping):
            return feature_spread(fit, [columns[0] for columns in self._columns])
        unit = np.ones(len(self.feature_names))
        for at, name in zip(
            check_names("per", list(per), self.feature_names), per.keys(), strict=True
        ):
            unit[at] = check_number(f"per[{name!r}]", per[name], above=0)
        return unit

    def _effects(
        self,
        exponentiate: bool,
        conf_int: float | None,
        per: str | Mapping[str, float],
        refit: int,
    ) -> dict[str, Any]:
        """Return columns of effects, each an array of features × labels."""
        if not isinstance(per, Mapping):
            check_option("per", per, ("unit", "sd"))
        level = 0.95 if conf_int is None else check_number("conf_int", conf_int, above=0, below=1)
        arrays, fit = self.arrays, self._fit
        if fit is None or not self._has_effects:
            raise exc.ModelError(
                "effects are those of features without products, or of products given their "
                "feature, with products='given'."
            )
        is_wide = self._is_wide
        if is_wide.any():
            single = self._take(np.flatnonzero(~is_wide))
            cells = single._effects(exponentiate, conf_int, per, refit)
            return {name: _spread(values, ~is_wide) for name, values in cells.items()}
        arrays = replace(arrays, feature_names=tuple(columns[0] for columns in self._columns))
        found, products = find_effects(fit, arrays), product_effects(arrays)
        if arrays.coef is None:
            found = self._with_rest_of_terms(found)
        if refit:
            edges, of_products = self._strongest(check_count("refit", refit, 0))
            # The models that would be fitted lack the rest of the term.
            of_products = of_products[~self._is_part[of_products[:, 0]]]
            found = refit_effects(fit, arrays, found, edges)
            if products is not None:
                place = find_features(fit, arrays.feature_names)
                at = (of_products[:, 0], of_products[:, 1], of_products[:, 2])
                meant = np.column_stack([place[at[0]], *at[1:]])
                assert arrays.product_rho is not None
                products = refit_product_effects(fit, products, at, meant, arrays.product_rho[at])
        finite = self._finite_limits(found.coef, level)
        if per != "unit":
            unit = self._units(fit, per)
            found = found.per(unit)
            finite = None if finite is None else finite * unit[:, None]
            products = None if products is None else products.per(unit)
        columns = effect_columns(found, level, arrays.df_denom, exponentiate, finite)
        if products is None:
            return columns
        besides = effect_columns(products, level, arrays.df_denom, exponentiate)
        return {
            name: np.concatenate([cells[:, :, None], besides[name]], axis=2)
            for name, cells in columns.items()
        }

    def _with_rest_of_terms(self, effects: EdgeEffects) -> EdgeEffects:
        """Take the effects of single columns of a term from a fit with the whole term."""
        coef, bse, estimate = effects.coef.copy(), effects.bse.copy(), effects.estimate.copy()
        place = {name: at for at, name in enumerate(self.feature_names)}
        for term, columns in self._wide_terms.items():
            some = [at for at, name in enumerate(columns) if name in place]
            if some:
                assert self._fit_levels is not None
                rows = [place[columns[at]] for at in some]
                tested = ~np.isnan(self.arrays.statistic[rows])
                fitted = mark_effects(*(each[some] for each in self._fit_levels(term)))
                coef[rows] = np.where(tested, fitted.coef, np.nan)
                bse[rows] = np.where(tested, fitted.bse, np.nan)
                estimate[rows] = np.where(tested, fitted.estimate, "")
        return EdgeEffects(coef, bse, estimate)

    def _strongest(self, count: int) -> tuple[IntArray, IntArray]:
        """Return positions of the edges, and of the products, that have the smallest p-values."""
        depth = self.arrays.log10_pvalue[:, :, None]
        if self.arrays.product_statistic is not None:
            depth = np.concatenate([depth, self.arrays.product_columns()["log10p"]], axis=2)
        strongest = np.argsort(depth, axis=None, kind="stable")[:count]
        at = np.column_stack(np.unravel_index(strongest, depth.shape))
        is_edge = at[:, 2] == 0
        return at[is_edge, :2], at[~is_edge] - [0, 0, 1]

    def _with_products(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Put the tests of products beside those of the features."""
        statistic = self.arrays.product_statistic
        assert statistic is not None
        reason, sign = self.arrays.product_reason, self.arrays.product_sign
        if reason is None:
            # A product may be testable where its feature is not, and the other way round.
            of_features = np.broadcast_to(columns["reason"][:, :, None], statistic.shape)
            reason = judge_products(of_features, ~np.isnan(statistic))
        products = {
            "statistic": statistic,
            "df": np.where(np.isnan(statistic), np.nan, 1.0),
            **self.arrays.product_columns(),
            "sign": np.zeros(statistic.shape) if sign is None else sign.astype(np.float64),
            "reason": reason,
            "coef": self.arrays.product_coef,
            "bse": self.arrays.product_bse,
        }
        # Effects that were asked for have those of products already.
        return {
            name: cells
            if cells.ndim > 2
            else np.concatenate([cells[:, :, None], products[name]], axis=2)
            for name, cells in columns.items()
        }

    def pair_statistics(self) -> FloatArray:
        """Return the statistics of all pairs of labels for each feature.

        Returns
        -------
        ndarray, shape (features, K(K−1)/2)
            The tests of the pairs with ``products="given"``, the sums of their two statistics with
            ``products="individual"``; pairs in the order of ``itertools.combinations``. What could
            not be tested is zero.

        Raises
        ------
        ModelError
            When no single products were tested.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> res.score_test(["bmi"], products="given").pair_statistics().shape
        (1, 15)
        """
        if self.arrays.product_statistic is None:
            raise _no_products()
        return np.asarray(_add_both(np.nan_to_num(self.arrays.product_statistic)))

    def pair_signs(self) -> SignArray:
        """Say whether the tie of two labels grows or falls with a feature.

        Returns
        -------
        ndarray of int8, shape (features, K(K−1)/2)
            1 where the products of the feature with the labels of a pair go with these labels, −1
            where they go against them, 0 where the two disagree or could not be tested; pairs in
            the order of ``itertools.combinations``.

        Raises
        ------
        ModelError
            When no single products were tested.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> res.score_test(["bmi"], products="given").pair_signs()[0, :5].tolist()
        [1, -1, -1, 1, -1]
        """
        if self.arrays.product_sign is None:
            raise _no_products()
        return np.asarray(np.sign(_add_both(self.arrays.product_sign)))

    def to_csv(self, path: str | os.PathLike[str] | None = None, **options: Any) -> str | None:
        """Write `to_frame` to a CSV file.

        Parameters
        ----------
        path : path-like, optional
            Where to; the text is returned if omitted.
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
        'feature,label,statistic,df,pvalue,log10p,pvalue_adj,pvalue_method,sign,reason'
        """
        text = self.to_frame(**options).to_csv(path, index=False)
        return None if text is None else str(text)

    def to_latex(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        top: int | None = None,
        caption: str | None = None,
        label: str | None = None,
        **options: Any,
    ) -> str | None:
        r"""Write the edges as a LaTeX table, the strongest first.

        Parameters
        ----------
        path : path-like, optional
            Where to; the text is returned if omitted.
        top : int, optional
            How many edges to list; all if omitted.
        caption, label : str, optional
            Caption, as LaTeX, and what ``\ref`` finds the table by. If omitted, the caption says
            which tests these are.
        **options
            Arguments of `to_frame`.

        Returns
        -------
        str or None
            The text, where no path is given. `ResultTable.to_latex` says what it is like.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> print(edges.to_latex(top=1).splitlines()[7])
        age & hypertension & + & 133.404 & $<$0.001 & $<$0.001 \\
        """
        from isingmlc.summaries import tabulate_edges

        table, title = tabulate_edges(self, top, options)
        return table.to_latex(path, caption=caption or title, label=label)

    def to_graphml(
        self,
        path: str | os.PathLike[str],
        *,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        within: str | None = None,
    ) -> None:
        """Write the significant edges as a network that Gephi, Cytoscape and igraph read.

        With covariates, the graph's attribute ``adjusted_for`` names them.

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
        if self.adjusted_for:
            graph.graph["adjusted_for"] = ", ".join(self.adjusted_for)
        graph.add_nodes_from(self.label_names, kind="label")
        graph.add_nodes_from(self.feature_names, kind="feature")
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
                sign=row.sign,
            )
        nx.write_graphml(graph, path)

    def summary(
        self,
        top: int = 20,
        adjust: str | None = "fdr_bh",
        within: str | None = None,
        *,
        exponentiate: bool = False,
        conf_int: float | None = None,
        per: str | None = None,
    ) -> IsingSummary:
        """Summarise the strongest edges.

        Parameters
        ----------
        top : int
            How many edges to list.
        adjust, within : str or None
            How p-values are adjusted; see `to_frame`.
        exponentiate, conf_int, per
            Show effects with intervals, those of the edges that are listed fitted; see `to_frame`.

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
        Labels:                         6    Distribution:                     auto
        Products:                    none    Adjusted p-values:              fdr_bh
                                The 2 strongest of 180 edges
        ===========================================================================
        feature label              sign  statistic         df     pvalue pvalue_adj
        ---------------------------------------------------------------------------
        age     hypertension         +1    133.404          1   1.66e-31   2.99e-29
        age     arthritis            +1     70.495          1   2.62e-17   2.36e-15
        ...
        """
        from isingmlc.summaries import summarize_edges

        effects = {"exponentiate": exponentiate, "conf_int": conf_int, "per": per}
        return summarize_edges(self, top, adjust, within, effects)

    # Pictures

    def plot_heatmap(
        self,
        *,
        order: str = "rank",
        top: int = 40,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the p-values of all edges as a heat map.

        Parameters
        ----------
        order : {"rank", "cluster", "given"}
            The most important features first; features and labels with similar tests side by
            side; or as they came.
        top : int
            How many features are shown, the most important ones (with ``"given"``, the first).
        alpha : float
            Edges with an adjusted p-value up to this are marked: raised (▲) or lowered (▼).
        adjust : str or None
            How p-values are adjusted, over all edges; see `to_frame`.
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture. Hatched cells could not be tested.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.plot_heatmap(top=5).get_title()
        'Score tests of the 5 most important of 30 features'
        """
        from isingmlc.plots import plot_heatmap

        return plot_heatmap(self, order=order, top=top, alpha=alpha, adjust=adjust, ax=ax)

    def plot_forest(
        self,
        *,
        label: str | None = None,
        feature: str | None = None,
        beside: EdgeTests | None = None,
        top: int = 20,
        per: str = "unit",
        conf_int: float = 0.95,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw odds ratios with their intervals, the smallest p-values first.

        Parameters
        ----------
        label, feature : str, optional
            Draw the features of one label, or the labels of one feature; edges of all labels and
            features if omitted.
        beside : EdgeTests, optional
            Other tests of the same features, such as those without covariates, to draw beside.
        top : int
            How many edges are drawn.
        per : {"unit", "sd"}
            Odds ratios for one unit of a feature, or for one standard deviation.
        conf_int : float
            Level of the intervals (Wald).
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture. Effects are fitted; those that cannot be, as there are no rows, are one
            step from the score and have a star.

        Raises
        ------
        DataError
            When there is no such label or feature, or no edge was tested.
        ModelError
            When terms, or products without their feature, were tested, which have no effects.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.plot_forest(feature="bmi").get_title()
        'bmi: odds ratios for 6 labels'
        """
        from isingmlc.plots import plot_forest

        return plot_forest(
            self,
            label=label,
            feature=feature,
            beside=beside,
            top=top,
            per=per,
            conf_int=conf_int,
            ax=ax,
        )

    def plot_qq(self, *, ax: Axes | None = None) -> Axes:
        """Compare the p-values of all tested edges with those to be expected if nothing acted.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture, with a band that holds 95% of what chance gives at each rank.

        Raises
        ------
        DataError
            When no edge was tested.

        Notes
        -----
        Single products of features and labels take part. The band supposes that p-values are
        uniform and independent. Edges that share a feature or a label are not independent, so
        points may leave it a little sooner.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
        >>> edges.plot_qq().get_xlabel()
        'expected −log10 p'
        """
        from isingmlc.plots import plot_qq

        return plot_qq(self, ax=ax)


def _add_both(products: Any) -> Any:
    """Add what belongs to the two products of each pair of labels."""
    first, second = np.triu_indices(products.shape[1], 1)
    return products[:, first, second] + products[:, second, first]


def _spread(cells: Any, rows: BoolArray) -> Any:
    """Write values of some rows into a table of all, the others empty."""
    empty = "" if cells.dtype == object else np.nan
    table = np.full((len(rows), *cells.shape[1:]), empty, dtype=cells.dtype)
    table[rows] = cells
    return table


def _no_products() -> exc.ModelError:
    return exc.ModelError(
        "pairs of labels are known from tests of single products: score_test with "
        "products='given' or products='individual'."
    )


def _adjust(pvalues: FloatArray, by: str, within: str | None) -> FloatArray:
    """Adjust p-values of features × labels (× products)."""
    if within == "label":
        # A column per label with what belongs to it.
        table = np.moveaxis(pvalues, 1, -1)
        flat = adjust_within(table.reshape(-1, table.shape[-1]), by, within)
        return np.moveaxis(flat.reshape(table.shape), -1, 1)
    return adjust_within(pvalues.reshape(len(pvalues), -1), by, within).reshape(pvalues.shape)


@dataclass(frozen=True, slots=True)
class _EdgeLookup:
    """``edges.loc[feature, label]``."""

    edges: EdgeTests

    def __getitem__(self, edge: tuple[str, str]) -> EdgeTest:
        if not isinstance(edge, tuple) or len(edge) != 2:
            raise KeyError("one edge is edges.loc[feature, label].")
        feature, label = edge
        edges, arrays = self.edges, self.edges.arrays
        at = edges._find([feature])[0], edges._find([label], "label")[0]
        return EdgeTest(
            feature,
            label,
            statistic=float(arrays.statistic[at]),
            df=float(arrays.df[at]),
            pvalue=float(arrays.pvalue[at]),
            log10p=float(arrays.log10_pvalue[at]),
            reason=arrays.reason[at],
            null=edges.null,
        )
