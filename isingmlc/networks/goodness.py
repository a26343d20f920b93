"""How well a joint model fits the table of all label vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, make_generator
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.fitting.joint import SharedCovariance, States, fit_joint
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.networks.bootstrap import check_whole

# Statistics of samples this close to the observed one, relative to it, are ties.
_TIE = 1e-9


@dataclass(frozen=True)
class GoodnessOfFit:
    """Tests of a joint fit against the saturated table of all label vectors.

    Made by `IsingResults.goodness_of_fit`.

    Attributes
    ----------
    deviance, deviance_pvalue : float
        Twice what the saturated model gains in log-likelihood, and its bootstrap p-value.
    pearson, pearson_pvalue : float
        Pearson's statistic, and its bootstrap p-value.
    df : int
        Degrees of freedom: label vectors that have a probability, less one and less the finite
        coefficients. With none the model is saturated, and p-values are NaN.
    n_cells : int
        Label vectors that have a probability.
    n_samples : int
        Samples that p-values come from; without any they are NaN.

    Examples
    --------
    >>> import isingmlc as im
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit(method="joint")
    >>> fit = res.goodness_of_fit(n_samples=99, random_state=0)
    >>> round(fit.deviance, 1), fit.df, 0.01 <= fit.deviance_pvalue <= 1
    (57.9, 42, True)
    """

    deviance: float
    deviance_pvalue: float
    pearson: float
    pearson_pvalue: float
    df: int
    n_cells: int
    n_samples: int

    def __str__(self) -> str:
        if not self.df:
            return (
                f"{self.n_cells} label vectors; the model is saturated: there is nothing to test."
            )
        said = f"deviance {self.deviance:.4g}{{}}, Pearson's X² {self.pearson:.4g}{{}}, "
        said += f"{self.df} degrees of freedom"
        if not self.n_samples:
            return said.format("", "") + "; goodness_of_fit() computes p-values."
        pvalues = (f" (p = {each:.3g})" for each in (self.deviance_pvalue, self.pearson_pvalue))
        return said.format(*pvalues) + f"; p-values from {self.n_samples} samples of the fit."


def compare_with_table(
    fit: NetworkFit,
    covariance: SharedCovariance | None,
    n_samples: int,
    random_state: RandomState,
) -> GoodnessOfFit:
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
    n_samples = check_count("n_samples", n_samples, 0)
    states, probability = covariance.states, covariance.distribution
    counted = np.bincount(states.numbers, fit.stats.counts, len(probability)).astype(float)
    observed = _statistics(counted, probability, states.inside)
    n_cells = int(states.inside.sum())
    df = n_cells - 1 - len(fit.shared.basis)
    pvalues = np.full(2, np.nan)
    if df and n_samples:
        nobs = check_whole(fit.stats.counts, "goodness_of_fit()")
        generator = make_generator(random_state)
        labels = (np.arange(len(probability))[:, None] & states.bits) > 0
        reached = np.zeros(2)
        for _ in range(n_samples):
            sample = generator.multinomial(nobs, probability).astype(np.float64)
            drawn = np.flatnonzero(sample)
            shared, _ = fit_joint(
                labels[drawn], sample[drawn], fit.shared_terms, fit.settings.max_iter
            )
            refit = States.of(fit.shared_terms, labels[drawn]).left_by(shared)
            refitted, _ = refit.distribution(shared.finite_part)
            reached += _statistics(sample, refitted, refit.inside) >= observed * (1 - _TIE)
        pvalues = (1 + reached) / (1 + n_samples)
    return GoodnessOfFit(
        deviance=float(observed[0]),
        deviance_pvalue=float(pvalues[0]),
        pearson=float(observed[1]),
        pearson_pvalue=float(pvalues[1]),
        df=df,
        n_cells=n_cells,
        n_samples=n_samples,
    )


def _statistics(counts: FloatArray, probability: FloatArray, inside: BoolArray) -> FloatArray:
    """Compute deviance and Pearson's statistic of a table of counts."""
    # Of a state that no float can tell from an impossible one nothing is expected nor seen.
    inside = inside & (probability > 0)
    observed, expected = counts[inside], counts.sum() * probability[inside]
    deviance = max(float(2 * xlogy(observed, observed / expected).sum()), 0.0)
    return np.array([deviance, ((observed - expected) ** 2 / expected).sum()])
