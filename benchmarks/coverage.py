"""How often confidence intervals of networks cover the truth.

Networks of six labels are drawn from an Ising distribution, n rows at a time. Intervals of
interactions, of differences between two of them and of expected influence come from one fit
each, without resampling. A share is off by 0.1 to 0.2 points for want of more draws.

    python benchmarks/coverage.py --draws 4000
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy.stats import norm

import isingmlc as im


def make_network() -> im.simulate.IsingDistribution:
    """Give a network of six labels with interactions of both signs and absent ones."""
    rng = np.random.default_rng(3)
    weights = np.triu(rng.choice([0.0, 0.4, 0.8, -0.4], (6, 6), p=[0.4, 0.3, 0.15, 0.15]), 1)
    return im.simulate.IsingDistribution([-0.8, -0.4, -0.6, -0.2, -1.0, -0.5], weights + weights.T)


def count_covered(truth: im.simulate.IsingDistribution, n: int, draws: int, seed: int) -> pd.Series:
    """Give the shares of intervals that hold the truth."""
    rng = np.random.default_rng(seed)
    weights = truth.interactions.to_numpy()
    pairs = weights[np.triu_indices(6, 1)]
    names = truth.label_names
    different = {(names[0], names[1]): 1, (names[2], names[3]): -1}
    reach = norm.isf(0.025)
    covered: dict[str, list[float]] = {"edges": [], "differences": [], "expected influence": []}
    for _ in range(draws):
        results = im.IsingModel(truth.sample(n, random_state=rng)).fit()
        table = results.network_table()
        covered["edges"] += ((table["lower"] <= pairs) & (pairs <= table["upper"])).tolist()
        test = results.contrast(different, weights[0, 1] - weights[2, 3])
        covered["differences"].append(abs(test.estimates[0]) <= reach * test.errors[0])
        for at, name in enumerate(names):
            others = {(name, other): 1 for other in names if other != name}
            test = results.contrast(others, weights[at].sum())
            covered["expected influence"].append(abs(test.estimates[0]) <= reach * test.errors[0])
    return pd.Series({what: 100 * np.mean(held) for what, held in covered.items()})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500])
    given = parser.parse_args()
    truth = make_network()
    shares = {n: count_covered(truth, n, given.draws, seed=n) for n in given.sizes}
    print(f"intervals at 95% that hold the truth, in %, {given.draws} draws each")
    print(pd.DataFrame(shares).rename_axis(columns="rows").round(1).to_string())


if __name__ == "__main__":
    main()
