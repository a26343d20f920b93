"""How well a joint model fits the table of all label vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from isingmlc import exceptions as exc
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.symmetric import SharedCovariance
from isingmlc.inference.pvalues import chi2_sf

# Below this an expected count is too small for chi-square, and with more than this share of such
# cells a table is sparse: Cochran's rule.
LEAST_EXPECTED = 5.0
SPARSE = 0.2


@dataclass(frozen=True)
class GoodnessOfFit:
    """Tests of a joint fit against the saturated table of all label vectors.

    Made by `IsingResults.goodness_of_fit`.

    Attributes
    ----------
    deviance, deviance_pvalue : float
        Twice what the saturated model gains in log-likelihood, and its p-value.
    pearson, pearson_pvalue : float
        Pearson's statistic, and its p-value.
    df : int
        Degrees of freedom: label vectors that have a probability, less one and less the finite
        coefficients. With none the model is saturated, and p-values are NaN.
    n_cells : int
        Label vectors that have a probability.
    sparse_cells : float
        The share of them with an expected count below 5.
    note : str
        How far to trust the p-values.

    Examples
    --------
    >>> import isingmlc as im
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit(method="joint")
    >>> fit = res.goodness_of_fit()
    >>> round(fit.deviance, 1), fit.df, round(fit.deviance_pvalue, 2)
    (57.9, 42, 0.05)
    """

    deviance: float
    deviance_pvalue: float
    pearson: float
    pearson_pvalue: float
    df: int
    n_cells: int
    sparse_cells: float
    note: str

    def __str__(self) -> str:
        if not self.df:
            return f"{self.n_cells} label vectors; {self.note}."
        return (
            f"deviance {self.deviance:.4g} (p = {self.deviance_pvalue:.3g}), Pearson's X² "
            f"{self.pearson:.4g} (p = {self.pearson_pvalue:.3g}), {self.df} degrees of freedom; "
            f"{self.note}."
        )


def compare_with_table(fit: NetworkFit, covariance: SharedCovariance | None) -> GoodnessOfFit:
    """Compare a joint fit with its table; `IsingResults.goodness_of_fit` explains it."""
    if covariance is None or fit.shared is None or fit.settings.method != "joint":
        raise exc.ModelError(
            "goodness_of_fit() compares a distribution of all labels with their table, but "
            f"method={fit.settings.method!r} fits labels given each other. Use "
            "fit(method='joint'), for up to 20 labels."
        )
    if fit.is_robust:
        raise exc.ModelError(
            "goodness_of_fit() takes rows for independent and equally likely to be drawn, but the "
            f"fit has cov_type={fit.settings.cov_type!r}. Fit without clusters and sampling "
            "weights."
        )
    states, nobs, probability = covariance.states, fit.stats.nobs, covariance.law
    counted = np.bincount(states.numbers, fit.stats.counts, len(probability))
    observed, expected = counted[states.inside], nobs * probability[states.inside]
    # Of a state that no float can tell from an impossible one nothing is expected nor seen.
    observed, expected = observed[expected > 0], expected[expected > 0]
    deviance = max(float(2 * (xlogy(observed, observed / expected)).sum()), 0.0)
    pearson = float(((observed - expected) ** 2 / expected).sum())
    n_cells = int(states.inside.sum())
    df = n_cells - 1 - len(fit.shared.basis)
    share = float((expected < LEAST_EXPECTED).mean())
    note = f"{share:.0%} of {n_cells} label vectors have an expected count below 5"
    if not df:
        note = "the model is saturated: there is nothing to test"
    elif share > SPARSE:
        note += ": chi-square p-values of so sparse a table are not to be trusted"
    pvalues = [float(chi2_sf(each, df)) if df else np.nan for each in (deviance, pearson)]
    return GoodnessOfFit(
        deviance=deviance,
        deviance_pvalue=pvalues[0],
        pearson=pearson,
        pearson_pvalue=pvalues[1],
        df=df,
        n_cells=n_cells,
        sparse_cells=share,
        note=note,
    )
