"""Compare classifiers on the same features, and rankings with the same validation rows.

Prints five tables. In the first all classifiers get the same 50 features, the best of the score
ranking with a ridge null, of Mulan's training rows, and are measured on its test rows:
`IsingClassifier`, scikit-learn's ClassifierChain of logistic regressions with the same penalty
(C = 0.1) on standardised features, and a random forest. `IsingClassifier` decodes for each measure.
In the second, `select_features` chooses how many features of a ranking (up to 20%, 20 sizes) on the
same validation rows (30%, label shares kept), and its IsingClassifier is measured on the test rows;
three splits are averaged. Rankings of other programs (scikit-learn's filters, mRMR, trees, fastcan
if it is installed) rank the same training rows. The third sums up which rankings were best on the
validation rows, and sets what all of ours, what the better of ``forward`` and ``ssc`` there and
what the best of the peers reach beside the paper's best printed value. The fourth has the time that
fits on wide dense features take, 2,000 rows, 1,500 features and 6 labels that are drawn, beside the
same chain, whose solver stops at scikit-learn's tolerance, and how far both are from the maximum.
The fifth repeats the second on random splits of all rows, training shares as Mulan's:
`select_features` chooses by ``method="auto"``, and each other ranking has the same five folds of
the training rows to choose the number of features on, is made again from all of these, and has the
same classifier. It prints subset accuracies on the test rows, and how far ``"auto"`` is ahead of
each, with the standard error over splits and one that allows for rows that splits share (Nadeau and
Bengio 2003).

The default penalty, what ``penalty="cv"`` maximises and the first members of ``"auto"`` were chosen
by looking at these tables, whose measures are those of the test rows, on flags, emotions, scene,
yeast and medical: what ``"auto"`` reaches there is somewhat too good. That ``score`` is no member
any more, how ``"auto"`` chooses, and what ``forward`` counts, was chosen by cross-validation within
training rows.

Sets with more than 20 labels have their 20 most frequent. Data are looked for in the folder named
by ISINGMLC_DATA, or in ../shared/data beside the project.

    python benchmarks/classifiers.py                      # all
    python benchmarks/classifiers.py --only classifiers   # the first table alone
    python benchmarks/classifiers.py --only times         # the fourth table alone
    python benchmarks/classifiers.py --sets flags scene
    python benchmarks/classifiers.py --only repeated --splits 10 \
        --without "sklearn mutual information"
"""

from __future__ import annotations

from timing import find_data, take_turns  # isort: skip  (first: it sets the number of threads)
import argparse
import time
import warnings
from collections.abc import Container, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from rankings import by_fastcan, by_ours, list_peers, load
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import isingmlc as im
from isingmlc.base.arrays import dense
from isingmlc.experiments.paper import load_paper_table
from isingmlc.experiments.sources import FEWER_LABELS, Split, find_sources, load_split
from isingmlc.fitting.reasons import Reason
from isingmlc.input.rows import prepare
from isingmlc.metrics import METRICS, evaluate
from isingmlc.results.ranking import FeatureRanking, FeatureScores
from isingmlc.selection.choice import AUTO
from isingmlc.selection.classifiers import VaryingLabels
from isingmlc.selection.folds import make_folds
from isingmlc.selection.validation import choose
from isingmlc.sklearn import IsingClassifier

SETS = ("flags", "emotions", "scene", "yeast", "medical", "enron", "bibtex")
SIZE = 50
PENALTY = 10.0
N_SPLITS = 3
RANKINGS: tuple[Any, ...] = (
    ("score", {"penalty": None}),
    ("score", {"penalty": 1.0}),
    ("products", {"penalty": None}),
    ("products", {"penalty": 1.0}),
    ("score+l1", {"penalty": None}),
    ("l1", {"lam_ratio": 0.1}),
    "forward",
    "ssc",
    "br-chi2",
    "br-ig",
)


def as_matrix(table: Any) -> np.ndarray:
    return np.asarray(table.to_numpy() if hasattr(table, "to_numpy") else dense(table), dtype=float)


def compare_classifiers(name: str, split: Split) -> list[dict[str, Any]]:
    """Measure classifiers on the same features."""
    best = list(im.rank_features(split.train, penalty=1.0).order[:SIZE])
    place = {feature: at for at, feature in enumerate(split.train.feature_names)}
    columns = [place[feature] for feature in best]
    train, test = (as_matrix(part.features)[:, columns] for part in (split.train, split.test))
    labels, truth = (as_matrix(part.labels) > 0 for part in (split.train, split.test))
    chain = ClassifierChain(LogisticRegression(C=1 / PENALTY, max_iter=2000))
    peers = {
        "IsingClassifier": {
            name: IsingClassifier(decode=name, penalty=PENALTY) for name in METRICS
        },
        "IsingClassifier, penalty='cv'": {
            name: IsingClassifier(decode=name, penalty="cv") for name in METRICS
        },
        "chain": make_pipeline(StandardScaler(), chain),
        "forest": RandomForestClassifier(300, random_state=0),
    }
    lines = []
    for peer, given in peers.items():
        line: dict[str, Any] = {"data": name, "classifier": peer}
        decoders = given if isinstance(given, dict) else dict.fromkeys(["all"], given)
        for measure, classifier in decoders.items():
            start = time.process_time()
            fitted = VaryingLabels(classifier).fit(train, labels)
            guess = fitted.predict(test) > 0
            took = time.process_time() - start
            measures = evaluate(truth, guess)
            line |= measures.to_dict() if measure == "all" else {measure: measures[measure]}
            if measure in ("all", "subset"):
                line["seconds"] = took
        lines.append(line)
    return lines


def draw_wide() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Draw features of several kinds, with labels."""
    rng = np.random.default_rng(0)
    shape, n_labels = (2000, 1500), 6
    noise = rng.logistic(size=(shape[0], n_labels))
    features = rng.normal(size=shape)
    effects = rng.normal(size=(shape[1], n_labels)) * (rng.random((shape[1], n_labels)) < 0.02)
    yield "30 effects per label", features, 0.5 * features @ effects + noise > 0
    yield "no effects", features, noise > 1
    factors = rng.normal(size=(shape[0], 20))
    features = factors @ rng.normal(size=(20, shape[1])) + rng.normal(size=shape)
    yield "20 factors", features, factors[:, :n_labels] + noise > 0


def compare_times() -> list[dict[str, Any]]:
    """Time fits on wide dense features."""
    lines = []
    for kind, features, labels in draw_wide():
        scaled = StandardScaler().fit_transform(features)
        for penalty in (1.0, PENALTY):
            own = IsingClassifier(penalty=penalty)
            chain = ClassifierChain(LogisticRegression(C=1 / penalty))
            times = take_turns(
                partial(own.fit, features, labels), partial(chain.fit, scaled, labels), repeats=3
            )
            # The first model of the chain has no other label: so has a classifier of one label.
            alone = IsingClassifier(penalty=penalty).fit(scaled, labels[:, 0])
            exact = LogisticRegression(C=1 / penalty, solver="newton-cholesky", tol=1e-10)
            exact.fit(scaled, labels[:, 0])
            lines.append(
                {
                    "features": kind,
                    "penalty": penalty,
                    "IsingClassifier": times[0],
                    "chain": times[1],
                    "ratio": times[0] / times[1],
                    "error": np.abs(alone.coef_ - exact.coef_).max(),
                    "error of chain": np.abs(chain.estimators_[0].coef_ - exact.coef_).max(),
                }
            )
    return lines


def compare_rankings(name: str, split: Split, n_splits: int) -> list[dict[str, Any]]:
    """Choose on the same validation rows by each ranking and by all."""
    lines = []
    everything = {
        title_of(entry): entry for entry in dict.fromkeys(map(freeze, [*RANKINGS, *AUTO]))
    }
    for seed in range(n_splits):
        asked = {
            title: {"method": (method, dict(options))}
            for title, (method, options) in everything.items()
        }
        peers = {title: {"ranking": found} for title, found in rank_by_peers(split, seed).items()}
        for title, how in (asked | peers).items():
            start = time.process_time()
            chosen = im.select_features(
                split.train, **how, max_features=0.2, grid=20, random_state=seed
            )
            took = time.process_time() - start
            scores = chosen.evaluate(split.test.labels, split.test.features)
            lines.append(
                {
                    "data": name,
                    "ranking": title,
                    "split": seed,
                    "validation": chosen.score,
                    "size": len(chosen.selected),
                    **scores.to_dict(),
                    "seconds": took,
                }
            )
            print(".", end="", flush=True)
    print()
    return lines


def rank_by_peers(split: Split, seed: int) -> dict[str, FeatureRanking]:
    """Rank the rows that `select_features` trains on by other programs."""
    folds = {"validation": 0.3, "cv": None, "split": "stratified", "groups": None}
    data = prepare(split.train)
    ((rows, _),) = make_folds(data, **folds, random_state=seed)
    x, y = as_matrix(split.train.features)[rows], data.labels[rows].astype(int)
    rankings = {}
    for name, rank in list_peers().items():
        importance = np.zeros(x.shape[1])
        importance[rank(x, y)] = np.arange(x.shape[1], 0, -1)
        fine = np.full(x.shape[1], Reason.OK, dtype=object), np.full(1, Reason.OK, dtype=object)
        scores = FeatureScores(importance, importance[:, None], *fine)
        rankings[name] = FeatureRanking(name, data.feature_names, ("labelset",), scores)
    return rankings


def find_right(columns: np.ndarray, parts: tuple[np.ndarray, ...]) -> np.ndarray:
    """Learn from some features, and mark the rows whose labels are all predicted correctly."""
    features, labels, others, truth = parts
    model = VaryingLabels(IsingClassifier()).fit(features[:, columns], labels)
    return (model.predict(others[:, columns]) == truth).all(axis=1)


def compare_repeatedly(
    name: str, n_splits: int, without: Container[str]
) -> Iterator[dict[str, Any]]:
    """Let auto and other rankings choose on the same folds, on random splits of all rows."""
    for number in range(1, n_splits + 1):
        x, y, x_test, truth = load(name, number)
        how = {"max_features": 0.2, "grid": 20, "random_state": number}
        chosen = im.select_features(y, x, "auto", **how)
        sizes = chosen.path["size"].unique()

        everything = (x, y, x_test, truth)
        line = {"data": name, "split": number, "auto": chosen.evaluate(truth, x_test)["subset"]}
        for method, _ in AUTO:
            size = choose(chosen.path[chosen.path["method"] == method], "best")[1]
            order = by_ours(method, {"n_features": max(SIZE, sizes[-1])}, x, y)
            line[method] = find_right(order[:size], everything).mean()
        folds = {"validation": 0.3, "cv": 5, "split": "stratified", "groups": None}
        pairs = make_folds(prepare(y, x), **folds, random_state=number)
        peers = list_peers()
        if "fastcan" in peers:
            peers["fastcan"] = partial(by_fastcan, n_features=max(SIZE, sizes[-1]))
        for title, rank in peers.items():
            if title in without:
                continue
            right = np.zeros((len(sizes), len(y)))
            for rows, held_out in pairs:
                order = rank(x[rows], y[rows])
                parts = (x[rows], y[rows], x[held_out], y[held_out])
                for at, size in enumerate(sizes):
                    right[at, held_out] = find_right(order[:size], parts)
            size = sizes[np.argmax(right.sum(axis=1))]
            line[title] = find_right(rank(x, y)[:size], everything).mean()
        yield line | {"test / train": len(truth) / len(y)}


def sum_up_repeated(found: pd.DataFrame) -> pd.DataFrame:
    """Set auto beside each other ranking, with errors of the differences."""
    lines = []
    for name, own in found.groupby("data", sort=False):
        ratio = own["test / train"].iloc[0]
        for other in own.columns.drop(["data", "split", "auto", "test / train"]):
            ahead = own["auto"] - own[other]
            lines.append(
                {
                    "data": name,
                    "beside": other,
                    "auto": own["auto"].mean(),
                    "its own": own[other].mean(),
                    "ahead": ahead.mean(),
                    "error": ahead.sem(),
                    "error, new rows": ahead.std() * np.sqrt(1 / len(own) + ratio),
                }
            )
    return pd.DataFrame(lines)


def freeze(entry: Any) -> tuple[str, tuple[tuple[str, Any], ...]]:
    name, options = (entry, {}) if isinstance(entry, str) else entry
    return name, tuple(options.items())


def title_of(entry: tuple[str, tuple[tuple[str, Any], ...]]) -> str:
    name, options = entry
    said = ", ".join(f"{option}={value}" for option, value in options)
    return f"{name} ({said})" if said else name


def sum_up(found: pd.DataFrame, sets: list[str]) -> pd.DataFrame:
    """Set what validation rows choose beside the paper's best printed value."""
    printed = load_paper_table("subset")
    auto = {title_of(freeze(entry)) for entry in AUTO}
    lines = []
    for name in sets:
        own = found[found["data"] == name]
        means = own.groupby("ranking", sort=False)["subset"].mean()
        theirs = means.index.isin(list(list_peers()))
        known = printed.loc[name].max() if name in printed.index else np.nan
        line = {"data": name, "paper's best": known}
        for title, part in (("best of ours", means[~theirs]), ("best peer", means[theirs])):
            line |= {title: part.max(), f"{title}: its name": part.idxmax()}
        for title, members in (("all of ours", set(means.index[~theirs])), ("better", auto)):
            tried = own[own["ranking"].isin(members)]
            order = tried.sort_values(
                ["validation", "size"], ascending=[False, True], kind="stable"
            )
            chosen = order.drop_duplicates("split")
            line[title] = chosen["subset"].mean()
            line[f"{title}, lowest"] = chosen["subset"].min()
            line[f"{title}: chosen"] = ", ".join(chosen.sort_values("split")["ranking"])
        lines.append(line)
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    parser.add_argument("--only", choices=["classifiers", "rankings", "times", "repeated"])
    parser.add_argument("--without", nargs="+", default=(), help="peers to leave out of repeats")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = find_data()
    sets = list(find_sources(tuple(options.sets), data))
    pd.set_option("display.width", 200, "display.max_columns", 20, "display.max_colwidth", 90)
    splits = {name: load_split(name, data, 0, FEWER_LABELS) for name in sets}
    if options.only in (None, "classifiers"):
        lines = [
            line for name, split in splits.items() for line in compare_classifiers(name, split)
        ]
        print(f"\nThe same {SIZE} features, measured on the test rows\n")
        print(pd.DataFrame(lines).round(3).to_string(index=False))
    if options.only in (None, "rankings"):
        lines = []
        for name, split in splits.items():
            print(name, end=" ", flush=True)
            lines += compare_rankings(name, split, options.splits)
            print(pd.DataFrame(lines).query("data == @name").round(3).to_string(), flush=True)
        found = pd.DataFrame(lines)
        print("\nSubset accuracy on the test rows, mean of the splits\n")
        table = found.pivot_table("subset", "ranking", "data", sort=False)[sets]
        table["mean rank"] = table.rank(ascending=False).mean(axis=1)
        table["seconds"] = found.groupby("ranking")["seconds"].sum()
        print(table.round(3).to_string())
        print("\nWhat validation rows choose among all rankings, and the better one of auto's\n")
        print(sum_up(found, sets).round(3).to_string(index=False))
    if options.only in (None, "times"):
        print("\nProcessor time of a fit, in seconds, and the largest error of a coefficient\n")
        print(pd.DataFrame(compare_times()).to_string(index=False, float_format="{:.2g}".format))
    if options.only in (None, "repeated"):
        lines = []
        for name in sets:
            for line in compare_repeatedly(name, options.splits, options.without):
                print(line, flush=True)
                lines.append(line)
        found = pd.DataFrame(lines)
        print("\nSubset accuracy, mean of random splits of all rows\n")
        means = found.drop(columns=["split", "test / train"]).groupby("data", sort=False).mean()
        print(means.round(3).to_string())
        print("\nHow far auto is ahead of the others\n")
        print(sum_up_repeated(found).round(4).to_string(index=False))


if __name__ == "__main__":
    main()
