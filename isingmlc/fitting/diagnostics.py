"""What there is to know about the fit of each label."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isingmlc.fitting.nodewise import NetworkFit, NodeFit, find_aliases
from isingmlc.fitting.testable import Reason, judge_fits
from isingmlc.statistics.labelsets import LabelsetStatistics

# With fewer rows of one kind than this, large-sample p-values of a label are not to be trusted.
RARE = 10


def diagnose(fit: NetworkFit) -> pd.DataFrame:
    """Tabulate the fits; `IsingResults.diagnostics` explains the columns."""
    stats, nodes = fit.stats, fit.nodes
    positives = stats.counts @ stats.patterns
    minority = np.minimum(positives, stats.nobs - positives)
    constant = minority == 0
    reasons = judge_fits(fit)
    aliases = find_aliases(stats.patterns, fit.settings.intercept)
    names = np.array(stats.label_names, dtype=object)
    constants = np.array([_theorem_constants(node, stats) for node in nodes])
    # A constant label has no likelihood to explain.
    null = np.array([node.llf_null if node.llf_null else np.nan for node in nodes])
    return pd.DataFrame(
        {
            "positives": positives,
            "prevalence": positives / stats.nobs,
            "rare": ~constant & (minority < RARE),
            "labelsets": [int(node.in_play.sum()) for node in nodes],
            "rows": [stats.counts[node.in_play].sum() for node in nodes],
            "separated": ~constant & np.array([not node.in_play.all() for node in nodes]),
            "determined": reasons == Reason.DETERMINED_LABEL,
            "infinite": [int(np.isinf(node.coef).sum()) for node in nodes],
            "aliased_with": [", ".join(names[list(others)]) for others in aliases],
            "iterations": [node.iterations for node in nodes],
            "converged": [node.converged for node in nodes],
            "min_variance": constants[:, 0],
            "min_eigenvalue": constants[:, 1],
            "pseudo_r2": 1 - np.array([node.llf for node in nodes]) / null,
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
