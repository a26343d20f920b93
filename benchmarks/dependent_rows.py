"""How often true nulls are rejected if rows depend on each other or are weighted.

    python benchmarks/dependent_rows.py [--draws 200]

Each line is a setting and a kind of errors: rejections of edges over nominal at 0.05, 0.01 and
0.001 (1 is right), with p-values of the chi-square or t distribution and with default ones, those
of features (the default combination) at the same levels, and the Monte-Carlo error of the first,
from the spread over draws.
"""

import argparse
import warnings

import numpy as np
from scipy.special import expit

import isingmlc as im

LEVELS = np.array([0.05, 0.01, 0.001])
N_FEATURES = 100


def clustered(n_clusters, size):
    """Labels that are alike within clusters, features that are the same within them."""

    def draw(rng):
        place = np.repeat(np.arange(n_clusters), size)
        pull = rng.normal(0, 1, (n_clusters, 3))[place]
        labels = (rng.random(pull.shape) < expit(pull)).astype(int)
        features = rng.normal(size=(n_clusters, N_FEATURES))[place]
        return {"labels": labels, "features": features, "groups": place}

    return draw


def rare_in_clusters(rng):
    """Rare binary features of rows and labels at 3% that are alike within clusters."""
    place = np.repeat(np.arange(40), 125)
    pull = rng.normal(0, 1, (40, 4))[place]
    labels = (rng.random(pull.shape) < expit(pull - 3.5)).astype(int)
    features = (rng.random((len(place), N_FEATURES)) < 0.01).astype(float)
    return {"labels": labels, "features": features, "groups": place}


def rare_and_weighted(rng):
    """Labels at 10% and binary features at 3%, with lognormal sampling weights."""
    labels = (rng.random((1000, 4)) < 0.1).astype(int)
    features = (rng.random((1000, N_FEATURES)) < 0.03).astype(float)
    weights = np.exp(rng.normal(0, 1, 1000))
    return {"labels": labels, "features": features, "sampling_weights": weights}


def weighted(rng):
    """Independent rows of lognormal sampling weights."""
    labels = rng.integers(0, 2, (1000, 3))
    features = rng.normal(size=(1000, N_FEATURES))
    weights = np.exp(rng.normal(0, 1, 1000))
    return {"labels": labels, "features": features, "sampling_weights": weights}


def rare(rng):
    """Five rare labels and rare binary features."""
    labels = (rng.random((1000, 5)) < 0.02).astype(int)
    features = (rng.random((1000, N_FEATURES)) < 0.02).astype(float)
    return {"labels": labels, "features": features}


SETTINGS = [
    ("50 clusters of 20, a feature per cluster", clustered(50, 20), ["nonrobust", "cluster"]),
    ("200 clusters of 5, a feature per cluster", clustered(200, 5), ["nonrobust", "cluster"]),
    ("20 clusters of 50, a feature per cluster", clustered(20, 50), ["cluster"]),
    ("lognormal sampling weights", weighted, ["HC0", "HC2"]),
    ("five 2% labels, 2% binary features", rare, ["nonrobust", "HC0", "HC2"]),
    ("40 clusters of 125, 3% labels, 1% features", rare_in_clusters, ["nonrobust", "cluster"]),
    ("weights, 10% labels, 3% features", rare_and_weighted, ["HC0"]),
]


def measure(draw, kind, n_draws):
    """Count rejections over draws: edges, edges by default and features, at each level."""
    counted = []
    for seed in range(n_draws):
        given = draw(np.random.default_rng(seed))
        res = im.IsingModel(**given).fit(cov_type=kind)
        plain, edges = res.score_test(pvalue="chi2"), res.score_test()
        shares = []
        for pvalues in (plain.pvalues, edges.pvalues, edges.feature_pvalues()):
            values = pvalues.to_numpy()
            shares.append((values[~np.isnan(values)][:, None] <= LEVELS).mean(axis=0))
        counted.append(shares)
    return np.array(counted) / LEVELS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    n_draws = parser.parse_args().draws
    kinds = "".join(f"{kind:>20}" for kind in ("chi2 or t", "default", "features"))
    print(f"{'setting':42} {'errors':10} {kinds} {'MC':>5}")
    for name, draw, kinds in SETTINGS:
        for kind in kinds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", im.exceptions.IsingWarning)
                found = measure(draw, kind, n_draws)
            shares = ("/".join(f"{each:.2f}" for each in line) for line in found.mean(0))
            error = found[:, 0, 0].std() / np.sqrt(n_draws)
            columns = "".join(f"{share:>20}" for share in shares)
            print(f"{name:42} {kind:10} {columns} {error:5.2f}", flush=True)


if __name__ == "__main__":
    main()
