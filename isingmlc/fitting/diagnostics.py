"""What there is to know about the fit of each label."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isingmlc.base.arrays import FloatArray
from isingmlc.fitting.nodewise import NetworkFit, find_aliases
from isingmlc.fitting.testable import Reason, judge_fits

# With fewer rows of one kind than this, large-sample p-values of a label are not to be trusted.
RARE = 10


def diagnose(fit: NetworkFit) -> pd.DataFrame:
    """Tabulate the fits; `IsingResults.diagnostics` explains the columns."""
    stats, nodes = fit.stats, fit.nodes
    positives = stats.counts @ stats.patterns
    minority = np.minimum(positives, stats.nobs - positives)
    constant = minority == 0
    reasons = judge_fits(fit)
    context = fit.regressors.matrix[:, 1 + len(nodes) :]
    aliases = find_aliases(stats.patterns, fit.settings.intercept, context)[: len(nodes)]
    names = np.array([*stats.label_names, *stats.context.column_names], dtype=object)
    constants = _theorem_constants(fit)
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
            "neighbors": [int(node.neighbors.sum()) for node in nodes],
            "pseudo_r2": 1 - np.array([node.llf for node in nodes]) / null,
            "reason": reasons,
        },
        index=pd.Index(stats.label_names),
    )


def _theorem_constants(fit: NetworkFit) -> FloatArray:
    """Smallest variances and smallest eigenvalues of the designs, over what is in play."""
    counts, design = fit.stats.counts, fit.factors.design
    whole = design.T @ (counts[:, None] * design) / counts.sum()
    constants = np.full((len(fit.nodes), 2), np.nan)
    for node, line in zip(fit.nodes, constants, strict=True):
        if not node.in_play.any():
            continue
        line[0] = node.weight[node.in_play].min()
        if not len(node.basis):
            continue
        gram = whole[np.ix_(node.basis, node.basis)]
        if not node.in_play.all():
            inner, inside = design[np.ix_(node.in_play, node.basis)], counts[node.in_play]
            gram = inner.T @ (inside[:, None] * inner) / inside.sum()
        line[1] = np.linalg.eigvalsh(gram)[0]
    return constants
