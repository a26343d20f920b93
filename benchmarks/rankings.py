"""Which features should come first? Rankings, and those of other programs, by what they predict.

Features are ranked on the training rows of Mulan's sets (their 20 most frequent labels). A
classifier learns there from the first 5, 10, 20, 50 and 20% of them, and predicts the test rows.
Prints

- for each classifier and measure the mean of each ranking over the sets, and its mean rank (1 is
  the best), at every number of features;
- where forward rankings stand on each set, and by how much they are behind the best one;
- how long forward rankings take, beside fastcan.

Some test sets are small: 65 rows of flags have a standard error of .05, and a place among two dozen
rankings says little. ``--splits 20`` takes twenty random splits of all rows in place of Mulan's,
with the same share of rows for training and label shares kept. Measures are then means over splits,
and printed besides

- mean ranks with the standard errors that other splits give them (a bootstrap of splits, the same
  ones for all rankings), and differences to ``forward`` with paired standard errors;
- the cases (a set and a number of features) in which neither ``forward`` nor ``ssc`` is among the
  first three, how far the better of them is behind the third, and the paired standard error of
  that. Splits share rows, so that what differs over all of them may still be chance in these rows:
  the second error allows for that as Nadeau and Bengio (2003) do.

Rankings that tie have the mean of their places. fastcan has the criterion of ``ssc``, so that both
tie nearly always; among the first three it is not counted.

Finished work is kept in the given folder and not done again, so that the script may be
interrupted. fastcan is a peer if it is installed (pip install fastcan). All of it takes hours of
processor time; with ``--classifiers chain --sizes 5 10 20`` about twenty minutes.

    python benchmarks/rankings.py measured
    python benchmarks/rankings.py repeated --splits 20 --classifiers chain ising --sizes 5 10 20 \
        --sets flags emotions scene yeast medical enron \
        --without "l1, 0.0001" "sklearn mutual information"
"""

from __future__ import annotations

from timing import find_data, take_turns  # isort: skip  (first: it sets the number of threads)

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif
from sklearn.metrics import f1_score

import isingmlc as im
from isingmlc.base.arrays import dense
from isingmlc.experiments.sources import load_split
from isingmlc.metrics import evaluate
from isingmlc.prediction.splits import stratify
from isingmlc.selection.classifiers import VaryingLabels, logistic_chain
from isingmlc.sklearn import IsingClassifier

SETS = ("flags", "emotions", "scene", "yeast", "medical", "enron", "bibtex")
N_LABELS = 20
SIZES = ("5", "10", "20", "50", "20%")
FEW = ("5", "10", "20")
MEASURES = ("subset", "hamming", "jaccard", "micro-f1", "macro-f1")
# Rankings of this package, with all that could change with a default.
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "score": ("score", {"penalty": None}),
    "score, ridge": ("score", {"penalty": 1.0}),
    "products": ("products", {"penalty": None}),
    "products, ridge": ("products", {"penalty": 1.0}),
    "products-joint": ("products-joint", {"penalty": None}),
    "products-joint, ridge": ("products-joint", {"penalty": 1.0}),
    "l1, 0.0001": ("l1", {"lam_ratio": 1e-4}),
    "l1, 0.1": ("l1", {"lam_ratio": 0.1}),
    "l1, ebic": ("l1", {"lam_ratio": "ebic"}),
    "score+l1, ridge, 0.1": ("score+l1", {"penalty": 1.0, "lam_ratio": 0.1}),
    "forward": ("forward", {"n_features": 50}),
    "ssc": ("ssc", {"n_features": 50}),
    "br-chi2": ("br-chi2", {}),
    "br-ig": ("br-ig", {}),
    "lp-chi2": ("lp-chi2", {}),
    "lp-ig": ("lp-ig", {}),
    "oner": ("oner", {}),
}
FORWARD = ("forward", "ssc")
FIRST = 3
N_DRAWS = 2000


@lru_cache(maxsize=1)
def load(name: str, number: int = 0) -> tuple[np.ndarray, ...]:
    """Give features and labels of training and test rows: Mulan's split, or one with a number."""
    split = load_split(name, find_data(), 0, N_LABELS)
    parts = (split.train, split.test)
    x = np.concatenate([np.asarray(dense(part.features), float) for part in parts])
    y = np.concatenate([part.labels.to_numpy(int) for part in parts])
    in_test = np.arange(len(y)) >= len(split.train.labels)
    if number:
        shares = np.array([1 - in_test.mean(), in_test.mean()])
        in_test = stratify(y > 0, shares, np.random.default_rng(number)) == 1
    return x[~in_test], y[~in_test], x[in_test], y[in_test]


# Rankings


def by_ours(method: str, options: dict[str, Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rank by a method of this package."""
    wanted = options.get("n_features")
    if wanted is not None:
        options = {**options, "n_features": min(wanted, x.shape[1])}
    ranking = im.rank_features(y, x, method=method, **options)
    return np.array([ranking.feature_names.index(name) for name in ranking.order])


def by_filter(
    score: Callable[[np.ndarray, np.ndarray], np.ndarray], x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Rank by a filter of scikit-learn, summed over labels."""
    varying = y[:, y.min(axis=0) < y.max(axis=0)]
    total = sum(np.nan_to_num(score(x, label)) for label in varying.T)
    return np.argsort(-total, kind="stable")


def chi2_scores(x: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Give chi-squares of features moved to begin at zero."""
    return chi2(x - x.min(axis=0), label)[0]


def f_scores(x: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Give F statistics."""
    return f_classif(x, label)[0]


def information(x: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Give mutual informations; those of 0/1 features from their tables."""
    binary = ((x == 0) | (x == 1)).all(axis=0)
    return mutual_info_classif(x, label, discrete_features=binary, random_state=0)


def by_mrmr(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rank by relevance over redundancy: F statistics over mean absolute correlations (FCQ)."""
    varying = y[:, y.min(axis=0) < y.max(axis=0)]
    relevance = sum(np.nan_to_num(f_scores(x, label)) for label in varying.T)
    spread = x.std(axis=0)
    scaled = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    picked, redundancy = [int(np.argmax(relevance))], np.zeros(x.shape[1])
    for size in range(1, min(400, x.shape[1])):
        redundancy += np.abs(scaled.T @ scaled[:, picked[-1]]) / len(x)
        worth = relevance / np.maximum(redundancy / size, 1e-3)
        worth[picked] = -1.0
        picked.append(int(np.argmax(worth)))
    rest = np.setdiff1d(np.arange(x.shape[1]), picked)
    return np.concatenate([picked, rest[np.argsort(-relevance[rest], kind="stable")]])


def by_trees(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rank by the importances of extremely randomised trees."""
    trees = ExtraTreesClassifier(200, random_state=0).fit(x, y)
    return np.argsort(-trees.feature_importances_, kind="stable")


def by_fastcan(x: np.ndarray, y: np.ndarray, n_features: int = 50) -> np.ndarray:
    """Rank by fastcan; what it does not pick keeps its order."""
    from fastcan import FastCan

    usable = np.flatnonzero(x.std(axis=0) > 0)
    wanted = min(
        n_features, len(usable), np.linalg.matrix_rank(x[:, usable] - x.mean(axis=0)[usable])
    )
    picker = FastCan(int(wanted), verbose=0).fit(x[:, usable], y.astype(float))
    picked = usable[picker.indices_]
    return np.concatenate([picked, np.setdiff1d(np.arange(x.shape[1]), picked)])


def list_peers() -> dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    """Give the rankings of other programs by their names."""
    peers = {
        "sklearn chi2": partial(by_filter, chi2_scores),
        "sklearn f_classif": partial(by_filter, f_scores),
        "sklearn mutual information": partial(by_filter, information),
        "mRMR": by_mrmr,
        "extra trees": by_trees,
    }
    return peers | {"fastcan": by_fastcan} if find_spec("fastcan") else peers


def list_rankings() -> dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    """Give all rankings by their names."""
    return {name: partial(by_ours, *how) for name, how in OURS.items()} | list_peers()


# Measures


def list_classifiers() -> dict[str, Callable[[], Any]]:
    """Give what makes each classifier."""
    return {
        "chain": logistic_chain,
        "ising": IsingClassifier,
        "forest": lambda: RandomForestClassifier(100, random_state=0),
    }


def measure(name: str, number: int, classifier: str, columns: np.ndarray) -> dict[str, float]:
    """Learn from some features, and measure predictions of the test rows."""
    x, y, x_test, truth = load(name, number)
    model = VaryingLabels(list_classifiers()[classifier]())
    predicted = model.fit(x[:, columns], y).predict(x_test[:, columns])
    measures = evaluate(truth, predicted)
    for kind in ("micro", "macro"):
        measures[f"{kind}-f1"] = f1_score(truth, predicted, average=kind, zero_division=0)
    return {key: float(measures[key]) for key in MEASURES}


def to_number(size: str, available: int) -> int:
    """Give the number of features that a size stands for."""
    return max(1, available // 5) if size == "20%" else int(size)


def rank_and_measure(
    folder: Path,
    sets: Iterable[str],
    classifiers: Iterable[str],
    sizes: Iterable[str],
    without: Iterable[str],
    splits: Iterable[int],
) -> pd.DataFrame:
    """Do what is not done yet, and give what was asked for."""
    orders_file, scores_file = folder / "orders.jsonl", folder / "measures.jsonl"
    orders = {(line["set"], line["split"], line["ranking"]): line for line in read(orders_file)}
    keys = ("set", "split", "ranking", "classifier", "size")
    done = {tuple(line[key] for key in keys): line for line in read(scores_file)}
    rankings = {name: how for name, how in list_rankings().items() if name not in without}
    asked = []
    for name, number in product(sets, splits):
        x, y = load(name, number)[:2]
        for ranking, rank in rankings.items():
            if (name, number, ranking) not in orders:
                start = time.process_time()
                order = rank(x, y)[: max(50, x.shape[1] // 5)]
                line = {"set": name, "split": number, "ranking": ranking, "order": order.tolist()}
                line["seconds"] = time.process_time() - start
                orders[name, number, ranking] = line
                append(orders_file, line)
        for classifier, size, ranking in product(classifiers, sizes, rankings):
            n_features = to_number(size, x.shape[1])
            if n_features > x.shape[1]:
                continue
            key = (name, number, ranking, classifier, size)
            if key not in done:
                first = np.array(orders[name, number, ranking]["order"][:n_features])
                scores = measure(name, number, classifier, first)
                done[key] = dict(zip(keys, key, strict=True)) | scores
                append(scores_file, done[key])
            asked.append(done[key])
    return pd.DataFrame(asked)


def read(path: Path) -> list[dict[str, Any]]:
    """Read lines that were kept."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, line: dict[str, Any]) -> None:
    """Keep a line."""
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


# What is printed


def print_tables(measured: pd.DataFrame) -> None:
    """Print means and mean ranks, and where forward rankings stand."""
    sizes = [size for size in SIZES if size in set(measured["size"])]
    for classifier, part in measured.groupby("classifier", sort=False):
        for name in MEASURES:
            wide = part.pivot_table(index=["size", "set"], columns="ranking", values=name)
            ranks = wide.rank(axis=1, ascending=False)
            table = pd.concat(
                {
                    "mean": wide.groupby("size").mean().T[sizes],
                    "mean rank": ranks.groupby("size").mean().T[sizes],
                },
                axis=1,
            )
            n_sets = part["set"].nunique()
            print(f"\n{classifier}: {name}, {n_sets} sets")
            few = [size for size in FEW if size in sizes]
            order = table["mean rank"][few].mean(axis=1).sort_values().index
            print(table.loc[order].round(3).to_string())
        wide = part.pivot_table(index=["set", "size"], columns="ranking", values="subset")
        places = wide.rank(axis=1, ascending=False, method="min")
        behind = wide.rsub(wide.max(axis=1), axis=0)
        print(f"\n{classifier}: subset, place on each set (1 is the best of {wide.shape[1]})")
        for ranking in FORWARD:
            both = pd.DataFrame({"place": places[ranking], "behind the best": behind[ranking]})
            table = both.reset_index().pivot_table(list(both), "set", "size").round(3)
            print(f"{ranking}\n{table.to_string()}")


def print_noise(measured: pd.DataFrame) -> None:
    """Print what of mean ranks and places other splits would change."""
    for classifier, part in measured.groupby("classifier", sort=False):
        by_size = {
            size: {
                name: own.pivot_table("subset", "split", "ranking", sort=False)
                for name, own in each.groupby("set", sort=False)
            }
            for size, each in part.groupby("size", sort=False)
        }
        columns = {}
        for size, tables in by_size.items():
            ranks, errors = rank_with_errors(list(tables.values()))
            behind = pd.concat([table.rsub(table["forward"], axis=0) for table in tables.values()])
            n_sets = len(tables)
            spread = sum(table.rsub(table["forward"], axis=0).var() for table in tables.values())
            columns[size] = pd.DataFrame(
                {
                    "mean rank": ranks,
                    "error": errors,
                    "behind forward": behind.mean(),
                    "its error": np.sqrt(spread / (len(behind) / n_sets)) / n_sets,
                }
            )
        table = pd.concat(columns, axis=1)
        order = table.xs("mean rank", axis=1, level=1).mean(axis=1).sort_values().index
        print(f"\n{classifier}: subset, what other splits would change")
        print(table.loc[order].round(4).to_string())
        cases = [
            {"size": size, "set": name} | case
            for size, tables in by_size.items()
            for name, own in tables.items()
            if (case := find_case(own, load(name)))
        ]
        n_all = sum(map(len, by_size.values()))
        print(
            f"\n{classifier}: neither is among the first {FIRST} in {len(cases)} of {n_all} cases"
        )
        if cases:
            print(pd.DataFrame(cases).round(4).to_string(index=False))


def rank_with_errors(tables: list[pd.DataFrame]) -> tuple[pd.Series, pd.Series]:
    """Give mean ranks over sets of means over splits, and their errors by a bootstrap of splits."""
    generator = np.random.default_rng(0)
    draws = np.zeros((N_DRAWS, tables[0].shape[1]))
    ranks = 0.0
    for table in tables:
        n_splits = len(table)
        times = generator.multinomial(n_splits, np.full(n_splits, 1 / n_splits), N_DRAWS)
        # What ties must not differ by rounding.
        draws += rank_rows((times @ table.to_numpy() / n_splits).round(12))
        ranks = ranks + table.mean().round(12).rank(ascending=False)
    errors = pd.Series(draws.std(axis=0) / len(tables), ranks.index)
    return ranks / len(tables), errors


def rank_rows(values: np.ndarray) -> np.ndarray:
    """Rank the values of each row, the largest first."""
    return rankdata(-values, axis=1)


def find_case(table: pd.DataFrame, parts: tuple[np.ndarray, ...]) -> dict[str, Any] | None:
    """Say by how much forward rankings are behind the third, if neither is among the first."""
    means = table.drop(columns="fastcan", errors="ignore").mean().round(12)
    ordered = means.sort_values(ascending=False, kind="stable")
    own = means[list(FORWARD)].idxmax()
    third = ordered.index[FIRST - 1]
    if means[own] >= means[third]:
        return None
    differences = table[third] - table[own]
    n_train, n_test = len(parts[1]), len(parts[3])
    error, spread = differences.sem(), differences.std()
    error_of_rows = spread * np.sqrt(1 / len(table) + n_test / n_train)
    return {
        "better of the two": own,
        "place": int((means > means[own]).sum()) + 1,
        "third": third,
        "behind": differences.mean(),
        "error": error,
        "error, new rows": error_of_rows,
        "beyond two errors": differences.mean() > 2 * error,
        "new rows too": differences.mean() > 2 * error_of_rows,
    }


def print_times() -> None:
    """Print how long picking 50 features takes, beside fastcan."""
    print("\nseconds of processor time to 50 features")
    for name in ("scene", "bibtex"):
        split = load_split(name, find_data(), 0, N_LABELS).train
        x, y = load(name)[:2]
        works = [
            partial(im.rank_features, split.labels, split.features, method, n_features=50)
            for method in FORWARD
        ]
        titles = list(FORWARD)
        if find_spec("fastcan"):
            works.append(partial(by_fastcan_alone, x, y))
            titles.append("fastcan")
        times = take_turns(*works, repeats=1)
        listed = ", ".join(f"{title} {t:.2f}" for title, t in zip(titles, times, strict=True))
        ratio = f"; forward / fastcan {times[0] / times[-1]:.2f}" if len(times) > 2 else ""
        print(f"  {name}: {listed}{ratio}")


def by_fastcan_alone(x: np.ndarray, y: np.ndarray) -> None:
    """Pick 50 features by fastcan, and nothing else."""
    from fastcan import FastCan

    FastCan(50, verbose=0).fit(x[:, x.std(axis=0) > 0], y.astype(float))


def main() -> None:
    """Measure what is not measured yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--classifiers", nargs="+", default=list(list_classifiers()))
    parser.add_argument("--sizes", nargs="+", default=SIZES, choices=SIZES)
    parser.add_argument("--splits", type=int, default=0, help="random splits instead of Mulan's")
    parser.add_argument("--without", nargs="+", default=(), help="rankings to leave out")
    parser.add_argument("--times", action="store_true", help="only measure times")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not find_spec("fastcan"):
        print("fastcan is not installed: it is no peer in these tables.")
    if not options.times:
        options.folder.mkdir(parents=True, exist_ok=True)
        given = (options.sets, options.classifiers, options.sizes, options.without)
        numbers = range(1, options.splits + 1) if options.splits else [0]
        measured = rank_and_measure(options.folder, *given, numbers)
        print_tables(measured)
        if len(numbers) > 1:
            print_noise(measured)
    print_times()


if __name__ == "__main__":
    main()
