"""Data that forward rankings are tested on."""

import numpy as np


def ssc_data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw dependent labels and correlated features, some of which say the same."""
    rng = np.random.default_rng(seed)
    n_rows, n_features, n_labels = 400, 20, 4
    factors = rng.normal(size=(n_rows, 5))
    features = factors @ rng.normal(size=(5, n_features)) + rng.normal(size=(n_rows, n_features))
    features *= np.exp(rng.normal(size=n_features))
    pull = factors @ rng.normal(size=(5, n_labels)) + rng.normal(size=(n_rows, n_labels))
    pull += pull[:, [0]]
    return pull > 0.5, features
