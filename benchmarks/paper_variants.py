"""Try what the paper leaves open, and see which of its printed values that explains.

The paper says that a chain of logistic regressions predicts the labels from the first features of
a ranking. It does not say in which order, whether penalised, whether trained again on all training
rows, or how the rows were split. This script tries them: every ranking on several splits, chains
in several orders (and labels one by one, without a chain), with scikit-learn's penalty and with
almost none, trained again or not, with up to 20% of the features and with few: up to 10, on bibtex
also up to 3 and up to 7. Sets with more than 20 labels have their 20 most frequent. Then it asks
which cells of Tables 2 to 4 some variant meets to 0.03.

Writes to the given folder:

- paper-variants.csv: a row a variant, with its measures on the test rows;
- paper-cells.csv: a row a printed value, with the range of the variants and what meets it;
- paper-joint.csv: a row a data set and method, with the variant that meets all three measures best.

Finished work is kept in the folder, as `isingmlc reproduce` does; what is computed "here" is read
from the tables of `isingmlc reproduce tables` in the same folder. Takes 15 to 20 processor minutes.

    python benchmarks/paper_variants.py reproduced
"""

from __future__ import annotations

from timing import find_data  # isort: skip  (first: it sets the number of threads)

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import isingmlc as im
from isingmlc.base.arrays import dense
from isingmlc.experiments.curves import METHODS, PAPER
from isingmlc.experiments.paper import MEASURES, load_paper_table
from isingmlc.experiments.sources import FEWER_LABELS, find_sources, load_split
from isingmlc.experiments.tables import NUMBERS
from isingmlc.experiments.workshop import Unit, Workshop
from isingmlc.metrics import evaluate

NEAR = 0.03
FEW = 10
PENALTIES = {"penalised": 1.0, "unpenalised": 1e6}
ONE_BY_ONE = "one by one"


@dataclass(frozen=True)
class Effort:
    """How much is tried on a data set: more where it matters more and costs less."""

    n_splits: int
    n_orders: int
    n_sizes: int
    # Methods with another ranking. The text sets have binary features, which filters do not cut.
    others: tuple[str, ...] = ()
    # Limits below FEW to try as well.
    fewer: tuple[int, ...] = ()


EFFORT = {
    "bibtex": Effort(1, 1, 7, ("lp-chi2",), fewer=(3, 7)),
    "enron": Effort(1, 6, 8),
    "medical": Effort(3, 2, 9, ("score", "products", "l1")),
    "yeast": Effort(2, 2, 9, METHODS),
    "scene": Effort(2, 2, 9, METHODS),
}
DESCRIBED, OTHER = "as described", "other"
# Other rankings that could go by the same name.
OTHER_RANKINGS: dict[str, dict[str, Any]] = {
    "score": {"penalty": 1.0},
    "products": {"penalty": 1.0},
    "l1": {"lam_ratio": 0.01},
    **{name: {"discretize": "quantile"} for name in ("lp-chi2", "lp-ig", "br-chi2", "br-ig")},
}
# A filter that can not tell features apart leaves them in the order of the file.
FILE_ORDER = ("bibtex", "lp-chi2")
_ONCE = ["dataset", "method"]


def predict(
    features: np.ndarray,
    labels: np.ndarray,
    others: list[np.ndarray],
    order: np.ndarray,
    strength: float,
    is_chain: bool,
) -> list[np.ndarray]:
    """Train label after label, and predict the labels of other rows."""
    width = features.shape[1]
    design = np.hstack([features, labels[:, order]])
    rows = [np.hstack([other, np.zeros((len(other), len(order)))]) for other in others]
    regression = LogisticRegression(
        C=strength, solver="liblinear", intercept_scaling=10, max_iter=200
    )
    for place, label in enumerate(order):
        used = width + place if is_chain else width
        outcome = labels[:, label]
        varies = outcome.min() < outcome.max()
        if varies:
            regression.fit(design[:, :used], outcome)
        for row in rows:
            row[:, width + place] = regression.predict(row[:, :used]) if varies else outcome[0]
    back = np.argsort(order)
    return [row[:, width:][:, back] for row in rows]


def try_variants(
    name: str,
    method: str,
    ranking: str,
    seed: int,
    n_orders: int,
    n_sizes: int,
    few: int,
    data: Path,
    fewer: tuple[int, ...] = (),
) -> list[dict[str, Any]]:
    """Rank on one split, and measure all chains on the test rows."""
    split = load_split(name, data, 0, FEWER_LABELS)
    features, test = (np.asarray(dense(part.features), float) for part in (split.train, split.test))
    labels, truth = (part.labels.to_numpy(int) for part in (split.train, split.test))
    order = np.random.default_rng(seed).permutation(len(labels))
    n_validation = round(0.3 * len(labels))
    held, used = np.sort(order[:n_validation]), np.sort(order[n_validation:])
    places = np.arange(features.shape[1])
    if ranking == DESCRIBED or (name, method) != FILE_ORDER:
        options = PAPER.get(method, {}) if ranking == DESCRIBED else OTHER_RANKINGS[method]
        ranked = im.rank_features(labels[used], features[used], method=method, **options)
        places = np.argsort(-ranked.importance.to_numpy(), kind="stable")
    most = int(0.2 * features.shape[1])
    spread = np.geomspace(1, most, n_sizes).round().astype(int)
    sizes = np.unique([*range(1, few + 1), *spread])
    scale = features[used].std(axis=0)
    scale[scale == 0] = 1
    train, held_rows, test = features[used] / scale, features[held] / scale, test / scale
    found = []
    for way, chain in _orders(labels.shape[1], n_orders).items():
        for penalty, strength in PENALTIES.items():
            how = (chain, strength, way != ONE_BY_ONE)
            tried = []
            for size in sizes:
                first = places[:size]
                others = [held_rows[:, first], test[:, first]]
                validated, predicted = predict(train[:, first], labels[used], others, *how)
                score = evaluate(labels[held], validated.astype(int))["subset"]
                tried.append((score, evaluate(truth, predicted.astype(int))))
            for limit in (most, few, *fewer):
                scores = [score for score, _ in tried[: int((sizes <= limit).sum())]]
                best = int(np.argmax(scores))
                first = places[: sizes[best]]
                (again,) = predict(
                    features[:, first] / scale[first], labels, [test[:, first]], *how
                )
                for trained, measures in (
                    ("once", tried[best][1]),
                    ("again", evaluate(truth, again.astype(int))),
                ):
                    found.append(
                        {
                            "order": way,
                            "penalty": penalty,
                            "trained": trained,
                            "most features": int(limit),
                            "size": int(sizes[best]),
                            **measures.to_dict(),
                        }
                    )
    return found


def _orders(n_labels: int, n_random: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    random = {f"random {number}": generator.permutation(n_labels) for number in range(n_random)}
    file = np.arange(n_labels)
    return {"file": file, **random, ONE_BY_ONE: file}


def list_units(data: Path) -> list[Unit]:
    units = []
    for name, source in find_sources(EFFORT, data).items():
        effort = EFFORT[name]
        for ranking, methods, n_splits in (
            (DESCRIBED, METHODS, effort.n_splits),
            # One split shows whether another ranking comes nearer.
            (OTHER, effort.others, 1),
        ):
            for method in methods:
                for seed in range(n_splits):
                    settings = {
                        "name": name,
                        "method": method,
                        "ranking": ranking,
                        "seed": seed,
                        "n_orders": effort.n_orders,
                        "n_sizes": effort.n_sizes,
                        "few": FEW,
                        **({"fewer": effort.fewer} if effort.fewer else {}),
                    }
                    unit = f"{name}-{method}-{ranking.replace(' ', '-')}-{seed}"
                    units.append(Unit(unit, settings, source.digest))
    return units


def families(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Name the variants by what they change, from the least to the most."""
    is_few = rows["most features"] <= FEW
    is_single = rows["order"] == ONE_BY_ONE
    is_other = rows["ranking"] != DESCRIBED
    return {
        "chain": rows[~is_few & ~is_single & ~is_other],
        "few features": rows[is_few & ~is_single & ~is_other],
        "other ranking": rows[is_other & ~is_single],
        "no chain": rows[is_single],
    }


def list_cells(variants: pd.DataFrame, here: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Say of every printed value what meets it."""
    cells = []
    for (name, method), rows in variants.groupby(_ONCE, sort=False):
        for measure in MEASURES:
            printed = load_paper_table(measure).loc[name, method]
            values = here[measure].loc[name, method]
            tried = families(rows)
            distances = {
                "here": abs(values["here"] - printed),
                "20 labels": abs(values.get("here, 20 labels", np.nan) - printed),
                **{family: (part[measure] - printed).abs().min() for family, part in tried.items()},
            }
            met = [family for family, distance in distances.items() if distance <= NEAR]
            cells.append(
                {
                    "dataset": name,
                    "method": method,
                    "measure": measure,
                    "printed": printed,
                    "here": values["here"],
                    "here, 20 labels": values.get("here, 20 labels", np.nan),
                    "difference": values["here"] - printed,
                    "low": tried["chain"][measure].min(),
                    "high": tried["chain"][measure].max(),
                    "low, all variants": rows[measure].min(),
                    "high, all variants": rows[measure].max(),
                    "nearest": min(d for d in distances.values() if d == d),
                    "met by": met[0] if met else "nothing",
                }
            )
    return pd.DataFrame(cells)


def list_joint(variants: pd.DataFrame) -> pd.DataFrame:
    """Find the variant that is nearest in the worst of the three measures."""
    tables = {measure: load_paper_table(measure) for measure in MEASURES}
    cells = list(zip(variants["dataset"], variants["method"], strict=True))
    printed = np.array([[tables[measure].loc[cell] for measure in MEASURES] for cell in cells])
    gaps = np.abs(variants[list(MEASURES)].to_numpy() - printed).max(axis=1)
    ordered = variants.assign(gap=gaps)
    best = ordered.groupby(_ONCE, sort=False)["gap"].idxmin()
    near = ordered.assign(met=ordered["gap"] <= NEAR).groupby(_ONCE, sort=False)["met"]
    table = ordered.loc[best].set_index(_ONCE)
    table[["variants", "variants within 0.03"]] = near.agg(["size", "sum"])
    return table.reset_index()


def read_here(folder: Path) -> dict[str, pd.DataFrame]:
    """Read what `isingmlc reproduce tables` has found, by measure, data set and method."""
    found = {}
    for measure, number in NUMBERS.items():
        table = pd.read_csv(folder / f"table{number}-{measure}.csv")
        long = table.melt(["dataset", "value"], METHODS, "method", "measured")
        found[measure] = long.pivot_table("measured", ["dataset", "method"], "value")
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    data = find_data()
    workshop = Workshop.open(folder, n_jobs=2)
    units = list_units(data)
    results = workshop.compute("variants", partial(try_variants, data=data), units)
    variants = pd.DataFrame(
        [
            {
                "dataset": unit.settings["name"],
                **{key: unit.settings[key] for key in ("method", "ranking", "seed")},
                **row,
            }
            for unit, rows in zip(units, results, strict=True)
            for row in rows
        ]
    )
    workshop.write_table("paper-variants", variants)
    workshop.write_table("paper-joint", list_joint(variants))
    cells = list_cells(variants, read_here(folder))
    workshop.write_table("paper-cells", cells)
    print(pd.crosstab(cells["dataset"], cells["met by"]).to_string())


if __name__ == "__main__":
    main()
