"""The lower bound of a score statistic in the paper's Theorem 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arrays import dense
from isingmlc.statistics.labelsets import cells_of

if TYPE_CHECKING:
    from isingmlc.results.ising import IsingResults


def theorem_bound(
    results: IsingResults,
    feature: str,
    label: str,
    a: float,
    coefficient_range: float | None = None,
) -> pd.Series:
    r"""Evaluate the paper's Theorem 1: how large the statistic of a feature must be.

    Parameters
    ----------
    results : IsingResults
        A fit that holds its rows.
    feature, label : str
        The edge.
    a : float
        The coefficient that the feature is assumed to have.
    coefficient_range : float, optional
        G, a bound of the coefficient; ``abs(a)`` if omitted.

    Returns
    -------
    Series
        ``bound``: the score statistic is at least this, with at least the ``probability`` (which
        may be negative: then the bound says nothing); ``min_variance`` v, the smallest
        conditional variance of the label over the rows; ``min_eigenvalue`` :math:`\Lambda_{min}`
        of Z'Z/n; ``largest`` L, the largest absolute value of the feature (at least 1);
        ``constant`` :math:`C = (\Lambda_{min} v / (2e^3 L (K + L)^{3/2}))^2`; and ``range``
        H = max(1, G).

    Raises
    ------
    DataError
        When there is no such feature or label, or `coefficient_range` is below ``abs(a)``.
    ModelError
        When the fit holds no rows.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> bound = im.experiments.theorem_bound(res, "smoker", "asthma", a=0.9)
    >>> bool(bound["bound"] < res.score_test().loc["smoker", "asthma"].statistic)
    True
    """
    fit = results._fit
    stats = fit.stats
    for kind, name, names in (
        ("feature", feature, stats.feature_names),
        ("label", label, stats.label_names),
    ):
        if name not in names:
            raise exc.DataError(
                f"{kind} must be one of the model's, e.g. {exc.shorten(names)}, but is {name!r}."
            )
    limit = abs(a) if coefficient_range is None else coefficient_range
    if not limit >= abs(a):
        raise exc.DataError(f"coefficient_range must be at least |a| = {abs(a):g}, but is {limit}.")
    data = fit.rows_for("theorem_bound")
    at = stats.label_names.index(label)
    assert data.features is not None
    x = dense(data.features[:, [stats.feature_names.index(feature)]]).astype(np.float64).ravel()
    cells = fit.regressors.matrix[cells_of(stats, data)]
    first = 0 if fit.settings.intercept else 1
    design = np.column_stack([np.delete(cells, 1 + at, axis=1)[:, first:], x])
    weights = np.ones(len(x)) if data.weights is None else data.weights
    n, size, largest = weights.sum(), design.shape[1], max(1.0, float(np.abs(x).max()))
    eigenvalue = max(np.linalg.eigvalsh(design.T @ (weights[:, None] * design) / n)[0], 0.0)
    probability = fit.nodes[at].predict(cells)
    # Odds of the null model times exp(a x); where the null model is certain so is the larger one.
    raised = probability * np.exp(a * x) / (1 - probability + probability * np.exp(a * x))
    variance = (raised * (1 - raised)).min()
    constant = (eigenvalue * variance / (2 * np.e**3 * largest * (size + largest) ** 1.5)) ** 2
    bound_of_range = max(1.0, float(limit))
    exponent = constant * n * (size + largest**2) * a**2 / (2 * bound_of_range**2)
    return pd.Series(
        {
            "bound": constant * n * a**2 / bound_of_range**4,
            "probability": 1 - size * np.exp(-exponent),
            "min_variance": variance,
            "min_eigenvalue": eigenvalue,
            "largest": largest,
            "constant": constant,
            "range": bound_of_range,
        }
    )
