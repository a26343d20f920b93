"""Wald and likelihood-ratio tests of edges, and comparisons of tests and of nested fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.fitting.nodewise import NodeFit
from isingmlc.inference.edges import EdgeArrays, Estimates
from isingmlc.inference.pvalues import chi2_sf
from isingmlc.inference.refits import refit_edges
from isingmlc.inference.score_tests import edge_reasons, label_reasons, note_on
from isingmlc.results.edge_tests import EdgeTests
from isingmlc.statistics.sums import find_labelsets

if TYPE_CHECKING:
    from isingmlc.results.ising import IsingResults

_LIMIT = "the larger models of edges with the reason 'separated-alternative' are limits"


def refit_test(
    results: IsingResults,
    test: str,
    features: Sequence[str] | None = None,
    interactions: str | None = None,
    *,
    min_count: int = 2,
    n_jobs: int = 1,
) -> EdgeTests:
    """Test edges by fitting the larger models.

    Parameters
    ----------
    results : IsingResults
        The fit.
    test : {"wald", "lr"}
        Which test.
    features : sequence of str, optional
        The features to test; all of them where not given.
    interactions : {None, "joint"}
        Test features alone, or each together with all its products with other labels.
    min_count : int
        Labels with fewer rows of one kind in play are too rare to test.
    n_jobs : int
        Threads to use.

    Returns
    -------
    EdgeTests
        The tests.
    """
    check_option("interactions", interactions, (None, "joint"))
    data = results.model.rows(f"{test}_test")
    if features is not None and not isinstance(features, Iterable):
        raise exc.DataError(f"features must be a list of names, but is {features!r}.")
    chosen = [features] if isinstance(features, str) else features
    names = results.feature_names if chosen is None else tuple(chosen)
    unknown = [name for name in names if name not in results.feature_names]
    if unknown:
        raise exc.DataError(
            f"features must name features of the model, e.g. {exc.shorten(results.feature_names)}, "
            f"but has {exc.shorten(unknown)}."
        )
    if len(set(names)) < len(names):
        raise exc.DataError(f"features names some more than once: {exc.shorten(names)}.")
    positions = [results.feature_names.index(name) for name in names]
    patterns, codes = find_labelsets(data.packed_labels, len(data.label_names))
    labels = label_reasons(results, min_count)
    refits = refit_edges(
        data,
        codes,
        patterns,
        results.fits,
        results.settings,
        labels,
        positions,
        joint=interactions == "joint",
        n_jobs=n_jobs,
    )
    statistic = (refits.wald if test == "wald" else refits.lr).copy()
    reason, df = refits.reason.astype(object), refits.df.copy()
    varies = edge_reasons(results, labels)[positions]
    reason = np.where(varies == "constant-feature", varies, reason)
    statistic[reason == "constant-feature"] = np.nan
    df[np.isnan(statistic)] = np.nan
    notes = [note_on(results), _LIMIT if (reason == "separated-alternative").any() else ""]
    estimates = None
    if interactions is None:
        index = pd.Index(names, name="feature"), pd.Index(results.label_names, name="label")
        effects = np.where(reason == "constant-feature", np.nan, [refits.coef, refits.bse])
        estimates = Estimates(*(pd.DataFrame(effect, *index) for effect in effects))
    return EdgeTests(
        tuple(names),
        results.label_names,
        EdgeArrays(statistic, df, reason, np.nan_to_num(np.sign(refits.coef))),
        test=test,
        interactions=interactions,
        note="; ".join(filter(None, notes)),
        estimates=estimates,
    )


def compare_tests(
    results: IsingResults, feature: str, interactions: str | None = None
) -> pd.DataFrame:
    """Put the score, likelihood-ratio and Wald tests of one feature side by side.

    Parameters
    ----------
    results : IsingResults
        The fit.
    feature : str
        The feature.
    interactions : {None, "joint"}
        Test the feature alone, or together with all its products with other labels.

    Returns
    -------
    DataFrame
        One row a label: the statistics, their degrees of freedom, p-values, and the reason that
        the Wald test gives.
    """
    wald = refit_test(results, "wald", [feature], interactions)
    tests = {
        "score": results.score_test(interactions),
        "lr": refit_test(results, "lr", [feature], interactions),
        "wald": wald,
    }
    columns = {name: edges.statistic.loc[feature] for name, edges in tests.items()}
    columns["df"] = tests["score"].df.loc[feature]
    columns |= {f"{name}_pvalue": edges.pvalue.loc[feature] for name, edges in tests.items()}
    columns["reason"] = wald.reason.loc[feature]
    return pd.DataFrame(columns)


def compare_lr_test(full: IsingResults, restricted: IsingResults) -> pd.DataFrame:
    """Compare nested fits, label by label.

    Parameters
    ----------
    full : IsingResults
        A maximum-likelihood fit.
    restricted : IsingResults
        One of the same rows with fewer labels, or without intercept, or both.

    Returns
    -------
    DataFrame
        One row a label that both have: twice the difference in log-likelihood, degrees of
        freedom (coefficients that the restricted model lacks, infinite ones included) and
        p-value.

    Raises
    ------
    ModelError
        When the fits are not nested, or not fits of the same rows.
    """
    if not hasattr(restricted, "fits"):
        raise exc.DataError(f"restricted must be IsingResults, but is {type(restricted).__name__}.")
    if not (full.method == restricted.method == "mle"):
        raise exc.ModelError("likelihood-ratio tests compare fits with method='mle'.")
    lacking = [name for name in restricted.label_names if name not in full.label_names]
    if lacking or (restricted.settings.intercept and not full.settings.intercept):
        what = f"the label(s) {exc.shorten(lacking)}" if lacking else "an intercept"
        raise exc.ModelError(
            f"the fits are not nested: the restricted one has {what} and the full one has not. "
            "Call it on the larger fit: full.compare_lr_test(restricted)."
        )
    common = [full.label_names.index(name) for name in restricted.label_names]
    stats, fewer = full.model.statistics, restricted.model.statistics
    patterns, codes = find_labelsets(np.packbits(stats.patterns[:, common], axis=1), len(common))
    counts = np.bincount(codes, stats.counts)
    if not (np.array_equal(patterns, fewer.patterns) and np.allclose(counts, fewer.counts)):
        raise exc.ModelError(
            "likelihood-ratio tests compare fits of the same rows, but the counts of the labels "
            "that both have differ."
        )
    pairs = [(full.fits[at], fit) for at, fit in zip(common, restricted.fits, strict=True)]
    statistic = np.array([max(2 * (large.llf - small.llf), 0.0) for large, small in pairs])
    df = np.array([_n_coefficients(large) - _n_coefficients(small) for large, small in pairs])
    return pd.DataFrame(
        {"statistic": statistic, "df": df, "pvalue": chi2_sf(statistic, np.where(df, df, np.nan))},
        index=pd.Index(restricted.label_names),
    )


def _n_coefficients(fit: NodeFit) -> int:
    return int((~np.isnan(fit.coef)).sum())
