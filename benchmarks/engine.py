"""Measure the engine on what users call, against the goals that it has.

Prints one table, measured in this run as processor time of one thread, from labels and features to
the table of p-values: a ratio, a rate, seconds or megabytes in each line, with its goal beside it.

- frames: pandas DataFrames, which store columns, over C-ordered arrays of the same numbers;
- pvalues: the default p-values over those of the chi-square distribution;
- chi2: chi-square p-values over scikit-learn's ``chi2``, called once per label;
- adjusted: tests given twelve continuous covariates;
- statsmodels: a loop of GLM fits and their ``score_test`` over tests given two covariates;
- separated: many rows with a spline of age, below which some labels do not occur;
- products: products of features with labels over the plain tests;
- memory: peaks beyond the input, each in a process of its own.

Real data are looked for in the folder named by ISINGMLC_DATA, or in ../shared/data beside the
project.

    python benchmarks/engine.py
    python benchmarks/engine.py --only frames
    python benchmarks/engine.py --quick           # once each, with fewer simulated rows
"""

from __future__ import annotations

from timing import as_dense, load_sets, peak_memory, seconds, take_turns  # isort: skip  (first: it sets the number of threads)

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import patsy
from edge_tests import chi2_loop, statsmodels_loop
from scipy import sparse
from tqdm import tqdm

import isingmlc as im

SETS = dict.fromkeys(("scene", "yeast", "emotions", "enron", "medical", "bibtex"), 20)
# What a case is measured on, what was found, its unit, and "at most" or "at least" which number.
Line = tuple[str, float, str, str, float]


def edges(
    labels: object,
    features: object,
    pvalue: str = "auto",
    covariates: object = None,
    products: str | None = None,
) -> pd.DataFrame:
    results = im.IsingModel(labels, features, covariates=covariates).fit()
    return results.score_test(products=products, pvalue=pvalue).pvalues


def draw_labels(n_rows: int, n_labels: int, share: float = 0.2) -> np.ndarray:
    """Draw labels that a common cause makes dependent."""
    rng = np.random.default_rng(1)
    cause = 0.7 * rng.standard_normal((n_rows, 1))
    logits = np.log(share / (1 - share)) + cause + np.linspace(-0.5, 0.5, n_labels)
    return (rng.random((n_rows, n_labels)) < 1 / (1 + np.exp(-logits))).astype(np.int8)


# Cases


def frames(repeats: int, scale: float) -> Iterator[Line]:
    simulated = np.random.default_rng(0).standard_normal((int(20_000 * scale), 1000))
    known = {f"{len(simulated)} × 1000": (draw_labels(len(simulated), 20), simulated)}
    known |= {name: (data.labels, as_dense(data.features)) for name, data in load_sets(SETS)}
    for name, (labels, features) in known.items():
        by_column = [pd.DataFrame(np.asfortranarray(part)) for part in (labels, features)]
        by_row = [np.ascontiguousarray(part) for part in (labels, features)]
        framed, plain = take_turns(
            lambda given=by_column: edges(*given, "chi2"),
            lambda given=by_row: edges(*given, "chi2"),
            repeats=repeats,
        )
        yield name, framed / plain, "times", "at most", 1.3


def pvalues(repeats: int, scale: float) -> Iterator[Line]:
    ratios = []
    for name, data in load_sets(SETS):
        default, plain = take_turns(
            lambda y=data.labels, x=data.features: edges(y, x),
            lambda y=data.labels, x=data.features: edges(y, x, "chi2"),
            repeats=repeats,
        )
        ratios.append(default / plain)
        yield name, ratios[-1], "times", "at most", 4
    if ratios:
        yield "median of these", float(np.median(ratios)), "times", "at most", 2.5
    n_rows = int(100_000 * scale)
    labels = draw_labels(n_rows, 30, 0.05)
    features = sparse.random_array((n_rows, 2000), density=0.01, format="csr", rng=0)
    default, plain = take_turns(
        lambda: edges(labels, features), lambda: edges(labels, features, "chi2"), repeats=repeats
    )
    yield f"{n_rows} × 2000 sparse, 30 labels", default / plain, "times", "at most", 4


def chi2(repeats: int, scale: float) -> Iterator[Line]:
    def compare(labels: pd.DataFrame, features: object) -> float:
        counts = features
        if not sparse.issparse(features):
            # chi2 wants counts: measure everything from the smallest value.
            counts = features - features.min(axis=0)
        ours, theirs = take_turns(
            lambda: edges(labels, features, "chi2"),
            lambda: chi2_loop(labels.to_numpy(), counts),
            repeats=repeats,
        )
        return ours / theirs

    for name, data in load_sets(SETS):
        yield name, compare(data.labels, as_dense(data.features)), "times", "at most", 0.4
        if sparse.issparse(data.features):
            yield f"{name}, sparse", compare(data.labels, data.features), "times", "at most", 0.4
    n_rows = int(20_000 * scale)
    labels = pd.DataFrame(draw_labels(n_rows, 50))
    features = np.random.default_rng(0).standard_normal((n_rows, 500))
    n_labelsets = len(labels.drop_duplicates())
    name = f"{n_rows} × 500, 50 labels, {n_labelsets} labelsets"
    yield name, compare(labels, features), "times", "at most", 1.5


def adjusted(repeats: int, scale: float) -> Iterator[Line]:
    rng, n_rows = np.random.default_rng(0), int(20_000 * scale)
    labels, covariates = draw_labels(n_rows, 20), rng.standard_normal((n_rows, 12))
    dosages = rng.binomial(2, rng.uniform(0.05, 0.5, 2000), (n_rows, 2000)).astype(np.int8)
    for pvalue in ("chi2", "auto"):
        took = seconds(lambda: edges(labels, dosages, pvalue, covariates), 1)  # noqa: B023
        name = f"{n_rows} × 2000 dosages, 20 labels, {pvalue}"
        yield name, dosages.shape[1] * 20 / took, "tests/s", "at least", 15_000


def statsmodels(repeats: int, scale: float) -> Iterator[Line]:
    for _, data in load_sets({"yeast": None}):
        labels, features = data.labels, as_dense(data.features)
        given = np.random.default_rng(0).standard_normal((len(labels), 2))
        covariates = pd.DataFrame(given, labels.index, ["age", "bmi"])
        loop = statsmodels_loop(labels, features, covariates)
        for pvalue in ("chi2", "auto"):
            took = seconds(lambda: edges(labels, features, pvalue, covariates), repeats)  # noqa: B023
            yield f"yeast, two covariates, {pvalue}", loop / took, "times", "at least", 30


def separated(repeats: int, scale: float) -> Iterator[Line]:
    rng, n_rows = np.random.default_rng(0), int(200_000 * scale)
    age = rng.uniform(18, 90, n_rows)
    labels = draw_labels(n_rows, 6)
    labels[age < 30, 0] = labels[age < 45, 1] = 0
    spline = patsy.dmatrix("bs(age, df=5) - 1", {"age": age}, return_type="dataframe")
    features = rng.standard_normal((n_rows, 20))
    took = seconds(lambda: edges(labels, features, covariates=spline), 1)
    yield f"{n_rows} rows, 20 features, 6 labels", took, "seconds", "at most", 10


def products(repeats: int, scale: float) -> Iterator[Line]:
    for name, data in load_sets({"bibtex": 20}):
        with_products, plain = take_turns(
            lambda y=data.labels, x=data.features: edges(y, x, "chi2", products="individual"),
            lambda y=data.labels, x=data.features: edges(y, x, "chi2"),
            repeats=repeats,
        )
        yield name, with_products / plain, "times", "at most", 5


def memory(repeats: int, scale: float) -> Iterator[Line]:
    for kind, shape in (("int8", (4000, 50_000)), ("float32, mapped", (10_000, 20_000))):
        n_rows, n_columns = int(shape[0] * scale), shape[1]
        command = [sys.executable, __file__, "--peak", kind, str(n_rows), str(n_columns)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        name = f"{n_rows} × {n_columns} {kind}, 10 labels"
        yield name, float(done.stdout), "MB", "at most", 512


def peak_beyond_input(kind: str, n_rows: int, n_columns: int) -> float:
    """Give the megabytes that tests take besides their input, all of which is in memory before."""
    rng = np.random.default_rng(0)
    labels = draw_labels(n_rows, 10)
    with tempfile.TemporaryDirectory() as folder:
        if kind == "int8":
            features = rng.integers(0, 3, (n_rows, n_columns), dtype=np.int8)
        else:
            path, shape = Path(folder) / "features", (n_rows, n_columns)
            features = np.memmap(path, np.float32, "w+", shape=shape)
            for row in features:
                row[:] = rng.standard_normal(n_columns, dtype=np.float32)
        edges(labels, features[:, :100])  # for imports
        before = peak_memory()
        edges(labels, features)
        return peak_memory() - before


CASES: dict[str, Callable[[int, float], Iterator[Line]]] = {
    case.__name__: case
    for case in (frames, pvalues, chi2, adjusted, statsmodels, separated, products, memory)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=CASES, help="measure one case")
    parser.add_argument("--quick", action="store_true", help="once each, with fewer simulated rows")
    parser.add_argument("--peak", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.peak:
        kind, *shape = options.peak
        print(peak_beyond_input(kind, *map(int, shape)))
        return
    repeats, scale = (1, 0.1) if options.quick else (3, 1.0)
    lines = []
    for name in tqdm([options.only] if options.only else CASES, disable=None):
        for data, found, unit, side, goal in CASES[name](repeats, scale):
            met = found <= goal if side == "at most" else found >= goal
            lines.append(
                (name, data, f"{found:.3g} {unit}", f"{side} {goal:g}", "" if met else "missed")
            )
    columns = ["case", "data", "measured", "goal", ""]
    print(pd.DataFrame(lines, columns=columns).to_string(index=False))


if __name__ == "__main__":
    main()
