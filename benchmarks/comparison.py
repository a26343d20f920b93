"""How often comparisons of groups reject, where networks are the same and where one edge differs.

Four labels, three of their pairs tied. Under the null hypothesis both groups have these
interactions; sizes and thresholds differ as the table says. For power the first group lacks one of
the ties. The networks are without a penalty, sparse by EBIC, given a covariate that the groups
differ in, or of the same persons in two waves. Shares of p-values up to 0.05, with the Monte-Carlo
error of one that should be 0.05.

    python benchmarks/comparison.py --kind plain --repeats 400
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

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
KINDS = ("plain", "ebic", "covariate", "pairs")
# How far apart the covariate's means in the groups are, and what it does to every label.
_APART, _EFFECT = 0.5, 0.4
# How many of the persons answer alike in both waves, as far as frequencies allow.
_ALIKE = 0.7
_STATES = (np.arange(16)[:, None] >> np.arange(4)) & 1


def tied(lacking: float) -> np.ndarray:
    """Give the interactions, the first of them weaker."""
    weights = np.zeros((4, 4))
    for first, second, weight in ((0, 1, 1.2 - lacking), (1, 2, 0.6), (2, 3, 0.8)):
        weights[first, second] = weights[second, first] = weight
    return weights


def draw_states(thresholds: np.ndarray, weights: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Turn uniform numbers into labels with given thresholds, one line of them per row."""
    energy = thresholds @ _STATES.T + np.einsum("si,ij,sj->s", _STATES, weights, _STATES) / 2
    chance = np.exp(energy - energy.max(axis=-1, keepdims=True))
    reached = np.cumsum(chance, axis=-1) / chance.sum(axis=-1, keepdims=True)
    return _STATES[(uniform[:, None] > reached).sum(axis=-1).clip(max=15)]


def draw(
    kind: str,
    thresholds: tuple[float, float],
    sizes: tuple[int, int],
    less: float,
    generator: np.random.Generator,
) -> tuple[im.IsingModel, dict[str, Any]]:
    """Draw two groups; give the model of all rows, and how to compare them."""
    if kind == "pairs":
        sizes = (min(sizes), min(sizes))
    groups = np.repeat([0, 1], sizes)
    uniform = generator.random(len(groups))
    if kind == "pairs":
        again = np.flatnonzero(generator.random(sizes[0]) < _ALIKE)
        uniform[sizes[0] + again] = uniform[again]
    covariate = generator.normal(_APART * groups, 1.0)
    moved = _EFFECT * covariate if kind == "covariate" else np.zeros(len(groups))
    labels = np.empty((len(groups), 4))
    for group, (threshold, lacking) in enumerate(zip(thresholds, (less, 0.0), strict=True)):
        own = groups == group
        fields = np.repeat((threshold + moved[own])[:, None], 4, axis=1)
        labels[own] = draw_states(fields, tied(lacking), uniform[own])
    options: dict[str, Any] = {"by": groups}
    if kind == "ebic":
        options["method"] = "ebic"
    if kind == "pairs":
        options["pairs"] = np.tile(np.arange(sizes[0]), 2)
    # Rounded, so that cells are fewer than rows.
    context = pd.DataFrame({"x": covariate.round(1)}) if kind == "covariate" else None
    return im.IsingModel(labels, covariates=context), options


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, default="plain")
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--permutations", type=int, default=99)
    parser.add_argument("--nulls", nargs="+", default=["thresholds", "nothing"])
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    given = parser.parse_args()
    warnings.simplefilter("ignore", im.exceptions.IsingWarning)
    lines = []
    for name in given.settings:
        setting = SETTINGS[name]
        generator = np.random.default_rng(0)
        found = []
        for _ in range(given.repeats):
            (model, options), row = draw(given.kind, *setting, generator), []
            for null in given.nulls:
                test = im.compare_networks(
                    model,
                    null=null,
                    n_permutations=given.permutations,
                    random_state=generator,
                    **options,
                )
                row += [test.pvalue, test.tests.loc["S", "pvalue"]]
            found.append(row)
        rejects = np.array(found) <= 0.05 + 1e-12
        lines.append((name, *rejects.mean(axis=0)))
    names = {"thresholds": ["M", "S"], "nothing": ["M, dealt out", "S, dealt out"]}
    columns = ["", *(each for null in given.nulls for each in names[null])]
    error = np.sqrt(0.05 * 0.95 / given.repeats)
    print(
        f"{given.kind}: {given.repeats} repeats, {given.permutations} permutations, "
        f"error ±{error:.3f}"
    )
    print(pd.DataFrame(lines, columns=columns).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
