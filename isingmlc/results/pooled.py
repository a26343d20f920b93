"""Fits and tests of imputed data sets, pooled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option
from isingmlc.base.arrays import FloatArray, StrArray
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.covariance import degrees_of_clusters
from isingmlc.inference.pvalues import METHODS
from isingmlc.inference.pvalues import adjust as adjust_pvalues
from isingmlc.networks.pooling import (
    PooledEstimates,
    equivalent_statistic,
    pool_estimates,
    pool_tests,
)
from isingmlc.results.edge_tests import EdgeTests
from isingmlc.results.ising import IsingResults

if TYPE_CHECKING:
    from isingmlc.fitting.nodewise import NetworkFit


def pool(
    results: Sequence[IsingResults] | Sequence[EdgeTests],
    *,
    alpha: float = 0.05,
    adjust: str | None = "fdr_bh",
    exponentiate: bool = False,
) -> ResultTable:
    r"""Pool fits, or tests, of data sets in which missing values were imputed.

    Coefficients of fits and of Wald tests are pooled by Rubin's rules, score and likelihood-ratio
    tests by D2, which needs nothing but their p-values.

    Parameters
    ----------
    results : sequence of IsingResults, or of EdgeTests
        What the same analysis found in each of at least two imputed data sets.
    alpha : float
        One minus the level of confidence intervals.
    adjust : str or None
        How p-values of edges are adjusted for multiplicity, any method of statsmodels'
        ``multipletests``.
    exponentiate : bool
        Give odds ratios with their intervals in place of coefficients, where there are any.

    Returns
    -------
    ResultTable
        One row per label and term of its model, or per feature and label. Of coefficients
        ``coef``, ``bse`` (or ``odds_ratio``), ``t``, ``df``, ``pvalue``, ``lower`` and ``upper``;
        of statistics
        ``statistic`` (D2, referred to F), ``df``, ``df_denom`` and ``pvalue``. Then ``fmi``, the
        fraction of missing information, and ``reason``: ``ok``, or in how many data sets there is
        nothing to pool. Edges have ``pvalue_adj`` besides.

    Raises
    ------
    DataError
        When there are fewer than two, or they are of different kinds or of different labels and
        features.
    ModelError
        When tests have products one by one, which D2 does not pool.

    Notes
    -----
    The total variance of a coefficient is :math:`T = \bar U + (1 + 1/m) B`: the mean of its
    squared errors, and the variance between data sets. Degrees of freedom are those of Barnard and
    Rubin (1999) with rows less coefficients, or clusters less one, for complete data. D2 pools
    chi-square statistics. Each data set gives the one that has its p-value, so that tests by
    Student's t, by F or by a saddlepoint approximation keep their distribution: where data sets
    agree, the pooled p-value is that of each. D2 knows of the missing information only what these
    statistics show, so with few data sets it is rough: use twenty and more, or Wald tests.

    References
    ----------
    .. [1] Rubin, D. B. (1987). *Multiple Imputation for Nonresponse in Surveys*. Wiley.
    .. [2] Li, K. H., Meng, X. L., Raghunathan, T. E., Rubin, D. B. (1991). Significance levels
       from repeated p-values with multiply-imputed data. *Statistica Sinica* 1, 65–92.
    .. [3] Barnard, J., Rubin, D. B. (1999). Small-sample degrees of freedom with multiple
       imputation. *Biometrika* 86, 948–955.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> rng, fits = np.random.default_rng(0), []
    >>> for _ in range(5):
    ...     bmi = data.features[["bmi"]].astype(float)
    ...     bmi.iloc[:300, 0] = rng.choice(bmi["bmi"].iloc[300:], 300)
    ...     fits.append(im.IsingModel(data.labels, bmi).fit())
    >>> tests = im.pool([fit.wald_test() for fit in fits]).set_index("label")
    >>> tests.loc["diabetes", ["coef", "bse", "fmi"]].astype(float).round(3).tolist()
    [0.111, 0.021, 0.151]
    >>> im.pool([fit.score_test() for fit in fits])["pvalue"].idxmin()
    1
    """
    alpha = check_number("alpha", alpha, above=0, below=1)
    if adjust is not None:
        check_option("adjust", adjust, METHODS)
    given = list(results) if isinstance(results, Sequence) else [results]
    if len(given) < 2:
        raise exc.DataError(
            "results must hold the results of at least two imputed data sets, but there is "
            f"{len(given)}. Pass a list: im.pool([res1, res2, ...])."
        )
    fits = [each for each in given if isinstance(each, IsingResults)]
    tests = [each for each in given if isinstance(each, EdgeTests)]
    if len(fits) == len(given):
        pooled = _pool_fits(fits, alpha)
        return _exponentiate(pooled) if exponentiate else pooled
    if len(tests) == len(given):
        pooled = _pool_edges(tests, alpha, adjust)
        return _exponentiate(pooled) if exponentiate else pooled
    kinds = sorted({type(each).__name__ for each in given})
    raise exc.DataError(
        f"results must be all IsingResults or all EdgeTests, but there are {', '.join(kinds)}."
    )


def _exponentiate(pooled: ResultTable) -> ResultTable:
    """Return odds ratios in place of coefficients."""
    if "coef" not in pooled:
        raise exc.ModelError(
            "score and likelihood-ratio tests are pooled without coefficients, so there are no "
            "odds ratios. Pool fits, or those of wald_test()."
        )
    made = pooled.assign(**{name: np.exp(pooled[name]) for name in ("coef", "lower", "upper")})
    return ResultTable(made.drop(columns="bse").rename(columns={"coef": "odds_ratio"}))


def _pool_fits(fits: list[IsingResults], alpha: float) -> ResultTable:
    """Pool the coefficients of label models."""
    frames = [fit.to_frame() for fit in fits]
    _check_same([frame.index.tolist() for frame in frames], "labels, covariates and neighbours")
    index = frames[0].index
    coef, bse = (
        np.array([frame[name].to_numpy(dtype=np.float64) for frame in frames])
        for name in ("coef", "std err")
    )
    degrees = np.mean([_degrees(fit._fit) for fit in fits], axis=0)
    place = {label: at for at, label in enumerate(fits[0].label_names)}
    complete = degrees[[place[label] for label in index.get_level_values(0)]]
    pooled = pool_estimates(coef, bse, complete)
    frame = pd.DataFrame(
        {"label": index.get_level_values(0), "term": index.get_level_values(1)}
        | _columns(pooled, alpha)
    )
    return ResultTable(frame.assign(reason=_count_lost(coef, bse)))


def _degrees(fit: NetworkFit) -> FloatArray:
    """Return degrees of freedom of each label model if nothing were missing."""
    clusters = degrees_of_clusters(fit)
    if clusters is not None:
        return np.asarray(clusters, dtype=np.float64)
    used = [np.isfinite(np.asarray(node.coef)).sum() for node in fit.nodes]
    return np.asarray(fit.stats.nobs - np.array(used, dtype=np.float64))


def _columns(pooled: PooledEstimates, alpha: float) -> dict[str, FloatArray]:
    lower, upper = pooled.limits(alpha)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = pooled.coef / pooled.bse
    return {
        "coef": pooled.coef,
        "bse": pooled.bse,
        "t": t,
        "df": pooled.df,
        "pvalue": pooled.pvalue,
        "lower": lower,
        "upper": upper,
        "fmi": pooled.fmi,
    }


def _count_lost(coef: FloatArray, bse: FloatArray) -> StrArray:
    lost = (~(np.isfinite(coef) & np.isfinite(bse))).sum(axis=0)
    said = [f"not finite in {count} of {len(coef)}" if count else Reason.OK for count in lost]
    return np.array(said, dtype=object)


def _pool_edges(tests: list[EdgeTests], alpha: float, adjust: str | None) -> ResultTable:
    """Pool tests of edges: coefficients where there are any, otherwise statistics."""
    _check_same([(each.feature_names, each.label_names) for each in tests], "features and labels")
    _check_same([(each.test, each.products) for each in tests], "tests and products")
    first = tests[0]
    if first.products in ("individual", "given"):
        raise exc.ModelError(
            "products are pooled together, not one by one: test with products='joint', "
            "'given-joint' or without products."
        )
    shape = first.arrays.statistic.shape
    at = np.indices(shape).reshape(2, -1)
    named = {
        "feature": np.array(first.feature_names, dtype=object)[at[0]],
        "label": np.array(first.label_names, dtype=object)[at[1]],
    }
    if first.test == "wald" and first.arrays.coef is not None:
        coef, bse = (
            np.array([getattr(each.arrays, name).ravel() for each in tests])
            for name in ("coef", "bse")
        )
        fits = [each._fit for each in tests if each._fit is not None]
        if len(fits) == len(tests):
            degrees = np.mean([_degrees(fit) for fit in fits], axis=0)
            if first.arrays.df_denom is None:
                # The model of an edge has the feature besides.
                degrees -= 1
        else:
            degrees = np.full(shape[1], np.inf)
        pooled = pool_estimates(coef, bse, np.broadcast_to(degrees, shape).ravel())
        columns = _columns(pooled, alpha)
    else:
        log_pvalue = np.log(10) * np.array([each.arrays.log10_pvalue.ravel() for each in tests])
        df = np.array([each.arrays.df.ravel() for each in tests])
        statistic = equivalent_statistic(log_pvalue, df)
        # Terms that lose a level in one of the data sets have no common degrees of freedom.
        statistic = np.where((df == df[0]).all(axis=0), statistic, np.nan)
        found = pool_tests(statistic, df[0])
        columns = {
            "statistic": found.statistic,
            "df": found.df,
            "df_denom": found.df_denom,
            "pvalue": found.pvalue,
            "fmi": found.fmi,
        }
    frame = pd.DataFrame(named | columns)
    adjusted = frame["pvalue"] if adjust is None else adjust_pvalues(frame["pvalue"], adjust)
    frame.insert(frame.columns.get_loc("pvalue") + 1, "pvalue_adj", adjusted)
    frame["reason"] = _find_reasons(tests, frame["pvalue"].isna().to_numpy())
    return ResultTable(frame)


def _find_reasons(tests: list[EdgeTests], is_lost: FloatArray) -> StrArray:
    """Return the reason of the first data set that has one, where an edge cannot be pooled."""
    reasons = np.array([each.arrays.reason.ravel() for each in tests], dtype=object)
    first = (reasons != Reason.OK).argmax(axis=0)
    found = reasons[first, np.arange(reasons.shape[1])]
    count = (reasons != Reason.OK).sum(axis=0)
    said = [
        (f"{reason} in {n} of {len(tests)}" if n else "degrees of freedom differ")
        if lost
        else Reason.OK
        for reason, n, lost in zip(found, count, is_lost, strict=True)
    ]
    return np.array(said, dtype=object)


def _check_same(found: Sequence[object], what: str) -> None:
    if any(each != found[0] for each in found):
        raise exc.DataError(
            f"results must be of the same {what}, but they differ between data sets. Impute "
            "features and covariates, and analyse every data set alike."
        )
