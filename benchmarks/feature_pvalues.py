"""Level and power of the p-values of features, for every way of combining labels.

Prints two tables:

- level: how often features that do nothing fall below 0.05, 0.01 and 0.001, over how often they
  should (1 is right), for edges and for every ``combine=``, in settings from easy to hard;
- power: how often features that do something are found at these levels.

Numbers in brackets are Monte-Carlo standard errors, from the differences between data sets.

    python benchmarks/feature_pvalues.py                          # about five minutes
    python benchmarks/feature_pvalues.py --sets 5 --only aliased  # a look at one setting
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import isingmlc as im
from isingmlc.inference.combine import COMBINE
from isingmlc.results.ising import IsingResults

LEVELS = (0.05, 0.01, 0.001)
Drawn = tuple[np.ndarray, np.ndarray, dict[str, Any]]


def gibbs(
    rng: np.random.Generator, fields: np.ndarray, interactions: np.ndarray, sweeps: int = 60
) -> np.ndarray:
    """Draw labels from an Ising distribution with a row of fields per observation."""
    labels = (rng.random(fields.shape) < 0.5).astype(float)
    for _ in range(sweeps):
        for k in range(fields.shape[1]):
            eta = fields[:, k] + labels @ interactions[:, k]
            labels[:, k] = rng.random(len(labels)) < 1 / (1 + np.exp(-eta))
    return labels


def ring(n_labels: int, strength: float) -> np.ndarray:
    """Interactions of labels in a ring."""
    interactions = np.zeros((n_labels, n_labels))
    for k in range(n_labels):
        interactions[k, (k + 1) % n_labels] = interactions[(k + 1) % n_labels, k] = strength
    return interactions


def ten_labels(rng: np.random.Generator) -> Drawn:
    labels = gibbs(rng, np.full((1000, 10), -1.0), ring(10, 0.8))
    return labels, rng.normal(size=(1000, 400)), {}


def topics(
    n_labels: int, n_rows: int, mean: float = 0.35
) -> Callable[[np.random.Generator], Drawn]:
    """Make rows that are each about a topic, which brings a few labels with it."""

    def draw(rng: np.random.Generator) -> Drawn:
        n_topics = n_labels // 3
        topic = rng.integers(0, n_topics, n_rows)
        chance = np.full((n_topics, n_labels), 0.01)
        for line in chance:
            line[rng.choice(n_labels, 4, replace=False)] = mean
        labels = (rng.random((n_rows, n_labels)) < chance[topic]).astype(float)
        return labels, rng.normal(size=(n_rows, 300)), {}

    return draw


def strong_ties(rng: np.random.Generator) -> Drawn:
    labels = gibbs(rng, np.full((1000, 5), -5.0), 2.5 * (1 - np.eye(5)), 100)
    return labels, rng.lognormal(size=(1000, 400)), {}


def one_rare(rng: np.random.Generator) -> Drawn:
    labels = rng.random((1000, 4)) < [0.01, 0.4, 0.4, 0.4]
    return labels.astype(float), rng.lognormal(size=(1000, 400)), {}


def five_rare(
    penalty: float | str | None, binary: bool = False
) -> Callable[[np.random.Generator], Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        labels = (rng.random((1000, 5)) < 0.02).astype(float)
        features = rng.lognormal(size=(1000, 400))
        if binary:
            features = (rng.random((1000, 400)) < 0.01).astype(float)
        return labels, features, {"penalty": penalty}

    return draw


def aliased(ratio: float) -> Callable[[np.random.Generator], Drawn]:
    """Two copies of a label on which the other labels depend, and the spread of features too."""

    def draw(rng: np.random.Generator) -> Drawn:
        copied = (rng.random(1000) < 0.5).astype(float)
        fields = -1.2 - 2.0 * np.repeat(copied[:, None], 3, axis=1)
        labels = gibbs(rng, fields, 1.2 * (1 - np.eye(3)), 30)
        spread = np.where(copied > 0, ratio, 1.0)[:, None]
        return np.column_stack([labels, copied, copied]), rng.normal(size=(1000, 400)) * spread, {}

    return draw


LEVEL: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "K = 10, normal": ten_labels,
    "30 topic-like labels, 600 rows": topics(30, 600),
    "60 topic-like labels, 1000 rows": topics(60, 1000),
    "five labels, ties of 2.5, lognormal": strong_ties,
    "one label at 1%, lognormal": one_rare,
    "five labels at 2%, lognormal": five_rare(None),
    "five labels at 2%, lognormal, ridge": five_rare(1.0),
    "five labels at 2%, lognormal, firth": five_rare("firth"),
    "five labels at 2%, rare binary": five_rare(None, binary=True),
    "aliased labels, spread 1 : 10": aliased(0.1),
    "aliased labels, spread 10 : 1": aliased(10.0),
}


def effect_on(effects: np.ndarray) -> Callable[[np.random.Generator], Drawn]:
    """Make one feature with effects on six labels in a ring."""

    def draw(rng: np.random.Generator) -> Drawn:
        x = rng.normal(size=(500, 1))
        return gibbs(rng, -0.8 + x * effects, ring(6, 0.8)), x, {}

    return draw


POWER = {
    "one label of six, 0.35": effect_on(0.35 * np.eye(6)[0]),
    "two labels of six, 0.25": effect_on(0.25 * (np.arange(6) < 2)),
    "all six labels, 0.12": effect_on(np.full(6, 0.12)),
    "all six labels, signs alternate, 0.15": effect_on(0.15 * (-1.0) ** np.arange(6)),
}


def sources() -> tuple[str, ...]:
    """Name the sources of p-values to compare, the default first."""
    default = inspect.signature(IsingResults.score_test).parameters["pvalue"].default
    return tuple(dict.fromkeys([default, "chi2", "saddlepoint"]))


def shares(drawn: Drawn, pvalue: str) -> dict[str, list[float]]:
    """Give the shares of small p-values of edges and of features."""
    labels, features, options = drawn
    edges = im.IsingModel(labels, features).fit(**options).score_test(pvalue=pvalue)
    found = {"edges": edges.pvalues.to_numpy()}
    found |= {combine: edges.feature_pvalues(combine).to_numpy() for combine in COMBINE}
    known = {name: values[~np.isnan(values)] for name, values in found.items()}
    return {
        name: [float(np.mean(values <= level)) if len(values) else np.nan for level in LEVELS]
        for name, values in known.items()
    }


def measure(
    settings: dict[str, Callable[[np.random.Generator], Drawn]],
    n_sets: int,
    nominal: bool,
    chosen: str | None,
) -> pd.DataFrame:
    """Tabulate shares (over their levels) with Monte-Carlo errors."""
    lines = []
    for number, (name, draw) in enumerate(settings.items()):
        if chosen is not None and chosen not in name:
            continue
        for pvalue in sources():
            rng = np.random.default_rng(number)
            found = [shares(draw(rng), pvalue) for _ in range(n_sets)]
            line = {"setting": name, "pvalue": pvalue}
            for kind in found[0]:
                table = np.array([each[kind] for each in found])
                table = table / LEVELS if nominal else table
                mean = np.nanmean(table, axis=0)
                error = np.nanstd(table, axis=0) / np.sqrt(n_sets)
                cells = [f"{m:.2f}({e:.2f})" for m, e in zip(mean, error, strict=True)]
                line[kind] = "/".join(cells)
            lines.append(line)
            print(name, pvalue, {kind: line[kind] for kind in found[0]}, flush=True)
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=30, help="data sets per setting (default: 30)")
    parser.add_argument("--only", help="settings whose name holds this text")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    level = measure(LEVEL, given.sets, True, given.only)
    power = measure(POWER, 10 * given.sets, False, given.only)
    with pd.option_context("display.width", 250, "display.max_colwidth", 60):
        print("\nLevel: share of p-values up to .05/.01/.001, over the level")
        print(level.to_string(index=False))
        print("\nPower at .05/.01/.001")
        print(power.to_string(index=False))


if __name__ == "__main__":
    main()
