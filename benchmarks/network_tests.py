"""The level of tests of networks from 4 to 30 labels: `compare_networks` and `contrast`.

Both groups have the same interactions: those of a chain of labels, 0.8 each, or none among fair
coins. Thresholds are -1, and 0 in the second group where they are unequal. Printed are shares of
p-values up to 0.05, each with its 95% Monte-Carlo interval: of M, of S, of the smallest p-value of
all pairs that is adjusted for them (max-T), and of single pairs. With 19 permutations the smallest
p-value is 0.05, so that the level is exact where draws and data are exchangeable. Tests of
contrasts are of independent labels with a prevalence of 0.4.

    python benchmarks/network_tests.py --repeats 200 --jobs 2
"""

from __future__ import annotations

import argparse
import warnings
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed
from statsmodels.stats.proportion import proportion_confint

import isingmlc as im

# Labels, rows of both groups, network, difference of thresholds.
COMPARISONS = (
    (4, 300, 300, "chain", 0.0),
    (4, 300, 600, "chain", 1.0),
    (4, 300, 2500, "chain", 1.0),
    (4, 2500, 2500, "chain", 1.0),
    (10, 300, 300, "coins", 0.0),
    (10, 300, 600, "chain", 1.0),
    (12, 300, 600, "coins", 0.0),
    (12, 300, 600, "chain", 1.0),
    (12, 300, 2500, "chain", 1.0),
    (20, 400, 400, "chain", 1.0),
    (20, 2500, 300, "chain", 1.0),
    (25, 300, 300, "coins", 0.0),
    (25, 300, 300, "chain", 1.0),
    (25, 600, 600, "coins", 0.0),
    (25, 805, 1631, "chain", 0.0),
    (25, 805, 1631, "chain", 1.0),
    (25, 2500, 2500, "coins", 0.0),
    (30, 300, 300, "chain", 0.0),
    (30, 300, 600, "chain", 1.0),
    (30, 600, 600, "chain", 0.0),
    (30, 300, 2500, "chain", 1.0),
    (30, 2500, 2500, "chain", 1.0),
)
# Labels, rows.
CONTRASTS = (
    (4, 300),
    (10, 300),
    (12, 1000),
    (20, 300),
    (20, 500),
    (20, 2500),
    (25, 300),
    (30, 300),
    (30, 600),
)


def draw(n_rows: int, n_labels: int, threshold: float, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of a chain by Gibbs sampling."""
    weights = 0.8 * (np.eye(n_labels, k=1) + np.eye(n_labels, k=-1))
    rows = (rng.random((n_rows, n_labels)) < 0.4).astype(float)
    for _ in range(30):
        for label in range(n_labels):
            chance = 1 / (1 + np.exp(-threshold - rows @ weights[label]))
            rows[:, label] = rng.random(n_rows) < chance
    return rows


def compare(setting: tuple[int, int, int, str, float], seed: int) -> list[float]:
    """Compare two groups with the same interactions once; return what was rejected."""
    warnings.simplefilter("ignore", im.exceptions.IsingWarning)
    n_labels, first, second, kind, apart = setting
    rng = np.random.default_rng(seed)
    if kind == "coins":
        rows = rng.integers(0, 2, (first + second, n_labels))
    else:
        parts = ((first, -1.0), (second, apart - 1.0))
        rows = np.vstack([draw(size, n_labels, each, rng) for size, each in parts])
    found = im.compare_networks(
        im.IsingModel(rows), np.repeat([0, 1], [first, second]), n_permutations=19, random_state=rng
    )
    edges = found.edges[["pvalue", "pvalue_adj"]].dropna()
    pvalues = [*found.tests["pvalue"], edges["pvalue_adj"].min()]
    small = [np.nan if np.isnan(each) else float(each <= 0.05 + 1e-12) for each in pvalues]
    return [*small, (edges["pvalue"] <= 0.05 + 1e-12).mean()]


def contrast(n_labels: int, n_rows: int, seed: int) -> list[float]:
    """Test independent labels once: all pairs, as many as are tested, and by Holm's method."""
    rows = (np.random.default_rng(seed).random((n_rows, n_labels)) < 0.4).astype(int)
    res = im.IsingModel(rows).fit()
    pairs = list(combinations(res.label_names, 2))
    most = (0.15 * n_rows) ** (2 / 3) if n_rows >= 20 * n_labels else n_rows / (4 * n_labels)
    few = pairs[: int(most)]
    tests = [res.contrast(pairs).pvalue, res.contrast(few).pvalue]
    holm = res.network_table(adjust="holm")["pvalue_adj"].min()
    return [np.nan if np.isnan(each) else float(each <= 0.05) for each in (*tests, holm)]


def write(shares: np.ndarray) -> str:
    """Write a level with its Monte-Carlo interval; a star where it misses 0.04 to 0.0625."""
    if np.isnan(shares).any():
        return "refused"
    mean, size = shares.mean(), len(shares)
    if np.isin(shares, (0, 1)).all():
        lower, upper = proportion_confint(shares.sum(), size, method="beta")
    else:
        reach = 1.96 * shares.std(ddof=1) / np.sqrt(size)
        lower, upper = mean - reach, mean + reach
    star = "" if lower <= 0.0625 and upper >= 0.04 else "*"
    return f"{mean:.3f} ({lower:.3f}-{upper:.3f}){star}"


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    run = Parallel(n_jobs=given.jobs)
    print(f"compare_networks, nominal 0.05, {given.repeats} repeats\n")
    print("| labels | rows | network | thresholds | M | S | smallest adjusted p | single pairs |")
    print("|---|---|---|---|---|---|---|---|")
    for setting in COMPARISONS:
        found = np.array(run(delayed(compare)(setting, seed) for seed in range(given.repeats)))
        n_labels, first, second, kind, apart = setting
        said = "unequal" if apart else "equal"
        cells = " | ".join(write(each) for each in found.T)
        print(f"| {n_labels} | {first}/{second} | {kind} | {said} | {cells} |", flush=True)
    print(f"\ncontrast, nominal 0.05, {given.repeats} repeats\n")
    print("| labels | rows | all pairs | as many pairs as are tested | smallest Holm p |")
    print("|---|---|---|---|---|")
    for n_labels, n_rows in CONTRASTS:
        found = np.array(
            run(delayed(contrast)(n_labels, n_rows, seed) for seed in range(given.repeats))
        )
        print(f"| {n_labels} | {n_rows} | {' | '.join(write(each) for each in found.T)} |")


if __name__ == "__main__":
    main()
