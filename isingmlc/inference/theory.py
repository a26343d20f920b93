"""The lower bound of a score statistic in the paper's Theorem 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number
from isingmlc.base.arrays import dense
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.statistics.labelsets import cells_of


@dataclass(frozen=True)
class TheoremBound:
    """Lower bound of a score statistic and the probability with which it holds.

    Attributes
    ----------
    bound : float
        The score statistic is at least this,
    probability : float
        with at least this probability (it may be negative: then the bound says nothing).
    min_variance : float
        v, the smallest conditional variance of the label over the rows.
    min_eigenvalue : float
        Λ_min, the smallest eigenvalue of Z'Z/n.
    largest : float
        L, the largest absolute value of the feature (at least 1).
    constant : float
        C = (Λ_min v / (2e³ L (K + L)^{3/2}))².
    range : float
        H = max(1, G), G a bound of the coefficient.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> bound = res.theorem_bound("smoker", "asthma", a=0.9)
    >>> bound.range, bound.bound < res.score_test().loc["smoker", "asthma"].statistic
    (1.0, True)
    """

    bound: float
    probability: float
    min_variance: float
    min_eigenvalue: float
    largest: float
    constant: float
    range: float


def theorem_bound(
    fit: NetworkFit, feature: str, label: str, a: float, coefficient_range: float | None
) -> TheoremBound:
    """Evaluate the bound; `IsingResults.theorem_bound` explains the arguments."""
    for kind, name, names in (
        ("feature", feature, fit.stats.feature_names),
        ("label", label, fit.stats.label_names),
    ):
        if name not in names:
            raise exc.DataError(
                f"{kind} must be one of the model's, e.g. {exc.shorten(names)}, but is {name!r}."
            )
    a = check_number("a", a)
    limit = abs(a) if coefficient_range is None else coefficient_range
    if not limit >= abs(a):
        raise exc.DataError(f"coefficient_range must be at least |a| = {abs(a):g}, but is {limit}.")
    data = fit.rows_for("theorem_bound")
    at = fit.stats.label_names.index(label)
    column = fit.stats.feature_names.index(feature)
    assert data.features is not None
    x = dense(data.features[:, [column]]).astype(np.float64).ravel()
    cells = fit.regressors.matrix[cells_of(fit.stats, data)]
    first = 0 if fit.settings.intercept else 1
    design = np.column_stack([np.delete(cells, 1 + at, axis=1)[:, first:], x])
    weights = np.ones(len(x)) if data.weights is None else data.weights
    gram = design.T @ (weights[:, None] * design) / weights.sum()
    probability = fit.nodes[at].predict(cells)
    # Odds of the null model times exp(a x); where the null model is certain so is the larger one.
    raised = probability * np.exp(a * x) / (1 - probability + probability * np.exp(a * x))
    variance = float((raised * (1 - raised)).min())
    eigenvalue = float(max(np.linalg.eigvalsh(gram)[0], 0.0))
    size, largest = design.shape[1], max(1.0, float(np.abs(x).max()))
    constant = (eigenvalue * variance / (2 * np.e**3 * largest * (size + largest) ** 1.5)) ** 2
    range_ = max(1.0, float(limit))
    n = weights.sum()
    exponent = constant * n * (size + largest**2) * a**2 / (2 * range_**2)
    return TheoremBound(
        bound=float(constant * n * a**2 / range_**4),
        probability=float(1 - size * np.exp(-exponent)),
        min_variance=variance,
        min_eigenvalue=eigenvalue,
        largest=largest,
        constant=float(constant),
        range=range_,
    )
