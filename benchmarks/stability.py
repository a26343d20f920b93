"""How long bootstraps of networks and rankings take, and what a single fit takes.

Twenty labels, 1,000 rows, each label tied to four others, and 300 features. A draw is compared with
the fit that it repeats: what a bootstrap would take that calls `fit` or `fit_regularized` as often.

    python benchmarks/stability.py --draws 1000 --sparse 100 --ranked 100
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from timing import seconds

import isingmlc as im


def make_labels(n: int, n_labels: int) -> pd.DataFrame:
    """Draw labels around a ring, each tied to the two on either side."""
    weights = np.zeros((n_labels, n_labels))
    for step in (1, 2):
        at = np.arange(n_labels)
        weights[at, (at + step) % n_labels] = weights[(at + step) % n_labels, at] = 0.8
    ring = im.simulate.IsingDistribution(np.full(n_labels, -2.0), weights)
    return ring.sample(n, random_state=0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sparse", type=int, default=100, help="draws of EBIC networks")
    parser.add_argument("--ranked", type=int, default=100, help="draws of rankings")
    parser.add_argument("--features", type=int, default=300)
    given = parser.parse_args()
    labels = make_labels(given.rows, given.labels)
    model = im.IsingModel(labels)
    fit, net = model.fit(), model.fit_regularized()
    half = np.arange(given.rows) % 2

    def compare(n: int, random_state: int) -> im.NetworkComparison:
        return im.compare_networks(model, half, n_permutations=n, random_state=random_state)

    features = np.random.default_rng(1).normal(size=(given.rows, given.features))
    with_features = im.IsingModel(labels, features)
    tested = with_features.fit()

    def rank() -> im.EdgeTests:
        return with_features.fit().score_test(pvalue="chi2")

    def bootstrap_ranks(n: int, random_state: int) -> im.NetworkBootstrap:
        return tested.bootstrap(n, features=True, random_state=random_state)

    lines = []
    for what, alone, together, draws in (
        ("bootstrap", model.fit, fit.bootstrap, given.draws),
        ("drop_cases", model.fit, fit.drop_cases, given.draws),
        ("compare_networks", model.fit, compare, given.draws),
        ("EBIC bootstrap", model.fit_regularized, net.bootstrap, given.sparse),
        ("ranking bootstrap", rank, bootstrap_ranks, given.ranked),
    ):
        took = seconds(lambda f=together, n=draws: f(n, random_state=0), repeats=1)
        one = seconds(alone)
        lines.append((what, draws, took, 1000 * took / draws, 1000 * one, one * draws / took))
    columns = ["", "draws", "s", "ms per draw", "ms per fit", "times faster"]
    print(f"{model}, processor time on one core")
    print(pd.DataFrame(lines, columns=columns).round(2).to_string(index=False))


if __name__ == "__main__":
    main()
