"""Time draws from Ising distributions.

Prints one table, measured in this run with one thread: cpu seconds of each sampler that can draw
from a distribution within reason, and which one is chosen if none is asked for. Beside them, for 20
labels with features, what it takes to list all label vectors of every row by itself.

    python benchmarks/simulate.py
"""

from __future__ import annotations

import timing  # isort: skip  (first: it sets the number of threads)

import time
import warnings

import numpy as np
import pandas as pd

import isingmlc as im
from isingmlc.exceptions import ConvergenceWarning

SAMPLERS = ("enumeration", "elimination", "gibbs", "tempering")


def random_network(n_labels: int, scale: float, density: float = 1.0) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(n_labels)
    upper = np.triu(generator.normal(scale=scale, size=(n_labels, n_labels)), 1)
    upper *= generator.random((n_labels, n_labels)) < density
    return np.full(n_labels, -1.0), upper + upper.T, generator.normal(0, 0.5, (10, n_labels))


def grid(width: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Connect labels to their neighbours in a grid."""
    numbers = np.arange(width * length).reshape(length, width)
    interactions = np.zeros((width * length, width * length))
    for ends in ((numbers[1:], numbers[:-1]), (numbers[:, 1:], numbers[:, :-1])):
        interactions[ends] = 0.8
    return np.full(width * length, -1.5), interactions + interactions.T


def make_cases() -> dict[str, tuple[im.simulate.IsingDistribution, int, tuple[str, ...]]]:
    """Give distributions, how many rows to draw, and the samplers to try."""
    make = im.simulate.IsingDistribution
    large = im.datasets.make_network_data(2, 500, 1000, "strong", random_state=0)
    dense = random_network(400, 0.05)
    return {
        "20 labels, 10 features, all pairs": (make(*random_network(20, 0.5)), 3000, SAMPLERS),
        "10 labels, all pairs": (make(*random_network(10, 0.3)[:2]), 100_000, SAMPLERS),
        "25 labels, phase change": (
            make(np.full(25, -3.45), 0.3 * (1 - np.eye(25))),
            10_000,
            ("enumeration", "gibbs", "tempering"),
        ),
        "300 labels, grid": (make(*grid(6, 50)), 10_000, ("elimination", "gibbs", "tempering")),
        "400 labels, all pairs, weak": (make(*dense[:2]), 2000, ("gibbs",)),
        "400 labels, 10 features, all pairs": (make(*dense), 2000, ("gibbs",)),
        "1,000 labels, 500 features, sparse": (make(**large.truth), 13_000, ("elimination",)),
    }


def cpu_seconds(distribution: im.simulate.IsingDistribution, n_rows: int, sampler: str) -> str:
    """Draw once; the seconds, with a mark if the chains do not agree."""
    n_features = len(distribution.feature_names)
    drawn = {"n_samples": n_rows}
    if n_features:
        drawn = {"features": np.random.default_rng(0).standard_normal((n_rows, n_features))}
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        distribution.sample(**drawn, sampler=sampler, random_state=0)
    return f"{time.process_time() - start:.2f}{'!' if caught else ''}"


def main() -> None:
    rows = []
    for name, (distribution, n_rows, samplers) in make_cases().items():
        chosen = distribution.plan_sampling(n_rows)["sampler"].iloc[0]
        times = {sampler: cpu_seconds(distribution, n_rows, sampler) for sampler in samplers}
        rows.append({"distribution": name, "rows": n_rows, "chosen": chosen, **times})
    print(pd.DataFrame(rows).fillna("").to_string(index=False))
    print("! chains from different starts do not agree, and a warning says so")

    distribution, n_rows, _ = make_cases()["20 labels, 10 features, all pairs"]
    features = np.random.default_rng(0).standard_normal((32, 10))
    one_by_one = timing.seconds(lambda: distribution.pmf(features), 1) * n_rows / 32
    print(f"\n20 labels, 10 features, row by row: about {one_by_one:.0f} s for {n_rows} rows")


if __name__ == "__main__":
    main()
