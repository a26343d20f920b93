"""How often comparisons of groups reject, where networks are the same and where one edge differs.

Four labels, three of their pairs tied. Under the null hypothesis both groups have these
interactions; sizes and thresholds differ as the table says. For power the first group lacks one of
the ties. Shares of p-values up to 0.05, with the Monte-Carlo error of one that should be 0.05.

    python benchmarks/comparison.py --repeats 400
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import isingmlc as im

SETTINGS = {
    "alike": ((-0.7, -0.7), (150, 450), 0.0),
    "other prevalence": ((-1.6, -0.2), (400, 400), 0.0),
    "other size and prevalence": ((-1.6, -0.2), (300, 600), 0.0),
    "one edge weaker": ((-0.7, -0.7), (300, 300), 1.2),
    "one edge weaker, other prevalence": ((-1.6, -0.2), (300, 600), 1.2),
}


def draw(
    thresholds: tuple[float, float],
    sizes: tuple[int, int],
    less: float,
    generator: np.random.Generator,
) -> list[im.IsingResults]:
    """Draw two groups and fit their networks."""
    networks = []
    for group, (threshold, size) in enumerate(zip(thresholds, sizes, strict=True)):
        weights = np.zeros((4, 4))
        for first, second, weight in ((0, 1, 1.2), (1, 2, 0.6), (2, 3, 0.8)):
            lacking = less if (first, group) == (0, 0) else 0.0
            weights[first, second] = weights[second, first] = weight - lacking
        law = im.simulate.IsingDistribution(np.full(4, threshold), weights)
        networks.append(im.IsingModel(law.sample(size, random_state=generator)).fit())
    return networks


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--permutations", type=int, default=99)
    given = parser.parse_args()
    warnings.simplefilter("ignore", im.exceptions.IsingWarning)
    lines = []
    for name, setting in SETTINGS.items():
        generator = np.random.default_rng(0)
        found = []
        for _ in range(given.repeats):
            networks, row = draw(*setting, generator), []
            for null in ("thresholds", "nothing"):
                test = im.compare_networks(
                    networks,
                    null=null,
                    n_permutations=given.permutations,
                    random_state=generator,
                )
                row += [test.pvalue, test.tests.loc["S", "pvalue"]]
            found.append([*row, test.tests.loc["wald", "pvalue"]])
        lines.append((name, *(np.array(found) <= 0.05 + 1e-12).mean(axis=0)))
    columns = ["", "M", "S", "M, dealt out", "S, dealt out", "Wald"]
    error = np.sqrt(0.05 * 0.95 / given.repeats)
    print(f"{given.repeats} repeats, {given.permutations} permutations, error ±{error:.3f}")
    print(pd.DataFrame(lines, columns=columns).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
