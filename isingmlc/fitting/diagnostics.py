"""What there is to know about the fit of each label."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isingmlc.base.arrays import StrArray
from isingmlc.fitting.nodewise import FitSettings, NodeFit, effective_residual, find_aliases
from isingmlc.statistics.labelsets import LabelsetStatistics

# With fewer rows of one kind than this, large-sample p-values of a label are not to be trusted.
RARE = 10
# Residuals below this are rounding.
NOTHING_LEFT = 1e-9


def why_untestable(
    stats: LabelsetStatistics, settings: FitSettings, fits: tuple[NodeFit, ...]
) -> StrArray:
    """Say of each label whether there is anything to test.

    Parameters
    ----------
    stats : LabelsetStatistics
        What was fitted.
    settings : FitSettings
        How.
    fits : tuple of NodeFit
        The fits.

    Returns
    -------
    ndarray of object, shape (K,)
        ``ok``, ``constant-label`` or ``determined-label``.
    """
    reasons = np.full(len(fits), "ok", dtype=object)
    nothing = np.array([not fit.in_play.any() for fit in fits])
    if settings.method != "mle":
        # A penalised model may still leave nothing to test, where it has a coefficient for each
        # combination of the other labels.
        nothing |= [np.abs(effective_residual(stats, fit)).max() < NOTHING_LEFT for fit in fits]
    reasons[nothing] = "determined-label"
    constant = stats.patterns.all(axis=0) | ~stats.patterns.any(axis=0)
    reasons[constant] = "constant-label"
    return reasons


def diagnose(
    stats: LabelsetStatistics, settings: FitSettings, fits: tuple[NodeFit, ...]
) -> pd.DataFrame:
    """Tabulate the fits; `IsingResults.diagnostics` explains the columns.

    Parameters
    ----------
    stats : LabelsetStatistics
        What was fitted.
    settings : FitSettings
        How.
    fits : tuple of NodeFit
        The fits.

    Returns
    -------
    DataFrame
        One row a label.
    """
    positives = stats.counts @ stats.patterns
    minority = np.minimum(positives, stats.nobs - positives)
    constant = minority == 0
    reasons = why_untestable(stats, settings, fits)
    aliases = find_aliases(stats.patterns, settings.intercept)
    names = np.array(stats.label_names, dtype=object)
    constants = np.array([_theorem_constants(fit, stats) for fit in fits])
    # A constant label has no likelihood to explain.
    null = np.array([fit.llf_null if fit.llf_null else np.nan for fit in fits])
    return pd.DataFrame(
        {
            "positives": positives,
            "prevalence": positives / stats.nobs,
            "rare": ~constant & (minority < RARE),
            "labelsets": [int(fit.in_play.sum()) for fit in fits],
            "rows": [stats.counts[fit.in_play].sum() for fit in fits],
            "separated": ~constant & np.array([not fit.in_play.all() for fit in fits]),
            "determined": reasons == "determined-label",
            "infinite": [int(np.isinf(fit.coef).sum()) for fit in fits],
            "aliased_with": [", ".join(names[list(others)]) for others in aliases],
            "iterations": [fit.iterations for fit in fits],
            "converged": [fit.converged for fit in fits],
            "min_variance": constants[:, 0],
            "min_eigenvalue": constants[:, 1],
            "pseudo_r2": 1 - np.array([fit.llf for fit in fits]) / null,
            "reason": reasons,
        },
        index=pd.Index(stats.label_names),
    )


def _theorem_constants(fit: NodeFit, stats: LabelsetStatistics) -> tuple[float, float]:
    """Smallest variance and smallest eigenvalue of the design, over what is in play."""
    if not fit.in_play.any():
        return np.nan, np.nan
    probability = fit.probability[fit.in_play]
    variance = float((probability * (1 - probability)).min())
    if not len(fit.basis):
        return variance, np.nan
    design = np.column_stack([np.ones(len(stats.patterns)), stats.patterns])
    inner = design[np.ix_(fit.in_play, fit.basis)]
    counts = stats.counts[fit.in_play]
    gram = inner.T @ (counts[:, None] * inner) / counts.sum()
    return variance, float(np.linalg.eigvalsh(gram)[0])
