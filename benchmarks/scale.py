"""Show how the cost of a scan grows with rows, features and labels, and what memory it takes.

Prints one table a claim, all measured in this run on Parquet files that are made for it in a
temporary folder and removed afterwards. Every figure comes from a process of its own, so that its
peak of memory is its own too. Times are the best of several; cpu seconds are those of all threads
together, which other work on the machine disturbs less.

    python benchmarks/scale.py            # about 0.7 GB of files, some minutes
    python benchmarks/scale.py --scale 0.1
"""

from __future__ import annotations

from timing import peak_memory, seconds  # isort: skip  (first: it sets the number of threads)

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = (100_000, 300_000, 1_000_000, 3_000_000)
FEATURES = (100, 500, 1000, 2500, 5000)
LABELS = (10, 20, 30, 40, 50)


def make_files(
    folder: Path,
    n_rows: int,
    n_features: int,
    n_labels: int,
    rows_a_file: int = 100_000,
    n_labelsets: int = 1000,
) -> list[str]:
    """Write files whose rows have one of some labelsets."""
    rng = np.random.default_rng(0)
    labelsets = rng.random((n_labelsets, n_labels)) < 0.3
    paths = []
    for start in range(0, n_rows, rows_a_file):
        size = min(rows_a_file, n_rows - start)
        labels = labelsets[rng.integers(0, len(labelsets), size)]
        values = rng.standard_normal((size, n_features), dtype=np.float32).round(3)
        values += labels[:, :1] * 0.1
        columns = {f"y{k}": labels[:, k].astype(np.int8) for k in range(n_labels)}
        columns |= {f"x{j}": values[:, j].astype(np.float64) for j in range(n_features)}
        paths.append(str(folder / f"{n_features}-{n_labels}-{start // rows_a_file}.parquet"))
        pq.write_table(pa.table(columns), paths[-1])
    return paths


def make_cohort(folder: Path, n_rows: int, rows_a_file: int = 100_000) -> list[str]:
    """Write files with ten labels that come with age and sex, and 50 features, ten of them too."""
    rng = np.random.default_rng(0)
    paths = []
    for start in range(0, n_rows, rows_a_file):
        size = min(rows_a_file, n_rows - start)
        age, is_male = rng.integers(20, 100, size), rng.random(size) < 0.5
        pull = 0.04 * (age - 60) + 0.9 * rng.standard_normal(size)
        logits = pull[:, None] + np.linspace(-3.2, -1.4, 10)
        logits[:, ::2] += 0.3 * is_male[:, None]
        labels = rng.random((size, 10)) < 1 / (1 + np.exp(-logits))
        values = rng.standard_normal((size, 50)).round(3)
        values[:, :10] += 0.01 * (age[:, None] - 60)
        columns = {f"y{k}": labels[:, k].astype(np.int8) for k in range(10)}
        columns |= {f"x{j}": values[:, j] for j in range(50)}
        columns |= {"age": age.astype(np.int16), "sex": np.where(is_male, "male", "female")}
        paths.append(str(folder / f"{start // rows_a_file}.parquet"))
        pq.write_table(pa.table(columns), paths[-1])
    return paths


def cost(work: Callable[[], object], repeats: int = 3) -> tuple[float, float]:
    """Give the least seconds and the least cpu seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    wall, cpu = np.min(times, axis=0).tolist()
    return wall, cpu


# Jobs, each run in a process of its own


def scan_job(paths: list[str], n_labels: int) -> dict[str, float]:
    import isingmlc as im

    labels = [f"y{k}" for k in range(n_labels)]
    im.scan(paths[:1], labels=labels)  # the first is for imports
    scans = []
    wall, cpu = cost(lambda: scans.append(im.scan(paths, labels=labels)))
    stats = scans[-1]
    fit = im.IsingModel.from_statistics(stats).fit()
    return {
        "scan": wall,
        "cpu": cpu,
        "fit": seconds(lambda: im.IsingModel.from_statistics(stats).fit(), 3),
        "score": seconds(fit.score_test, 3),
        "labelsets": len(stats.counts),
    }


def product_job(paths: list[str], n_labels: int) -> dict[str, float]:
    import isingmlc as im

    stats = im.scan(paths, labels=[f"y{k}" for k in range(n_labels)])
    fit = im.IsingModel.from_statistics(stats).fit()
    return {"products": seconds(lambda: fit.score_test(products="individual"), 3)}


def pandas_job(paths: list[str], n_labels: int) -> dict[str, float]:
    import isingmlc as im

    def load_and_test() -> None:
        frame = pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
        labels = [f"y{k}" for k in range(n_labels)]
        im.IsingModel(frame[labels], frame.drop(columns=labels)).fit().score_test()

    return {"pandas": seconds(load_and_test, 1)}


def sum_job(paths: list[str], n_labels: int) -> dict[str, float]:
    import duckdb

    import isingmlc as im

    connection = duckdb.connect()
    names = pq.read_schema(paths[0]).names
    query = f"SELECT {', '.join(f'SUM({name})' for name in names)} FROM read_parquet({paths})"
    labels = [f"y{k}" for k in range(n_labels)]
    im.scan(paths[:1], labels=labels)
    works = (lambda: connection.execute(query).fetchall(), lambda: im.scan(paths, labels=labels))
    # In turn, so that what else the machine does meets both.
    times = [[*cost(works[0], 1), *cost(works[1], 1)] for _ in range(5)]
    names = ("sum", "sum cpu", "scan", "scan cpu")
    return dict(zip(names, np.median(times, axis=0).tolist(), strict=True))


def cohort_job(
    paths: list[str], n_labels: int, covariates: tuple[str, ...] = ()
) -> dict[str, float]:
    import isingmlc as im

    names = {"labels": [f"y{k}" for k in range(n_labels)], "features": [f"x{j}" for j in range(50)]}
    kept = {}

    def scan() -> None:
        kept.clear()
        kept["stats"] = im.scan(paths, **names, covariates=covariates)

    def test() -> None:
        kept["tests"] = im.IsingModel.from_statistics(kept["stats"]).fit().score_test().pvalues

    im.IsingModel.from_statistics(im.scan(paths[:1], **names)).fit().score_test()  # for imports
    scanned, tested = cost(scan), cost(test)
    return {
        "cells": len(kept["stats"].counts),
        "scan": scanned[0],
        "scan cpu": scanned[1],
        "all": scanned[0] + tested[0],
        "all cpu": scanned[1] + tested[1],
        "found": int((kept["tests"] < 1e-6).sum(axis=None)),
    }


def adjusted_job(paths: list[str], n_labels: int) -> dict[str, float]:
    return cohort_job(paths, n_labels, ("age", "sex"))


def blocks_job(paths: list[str], n_labels: int, max_memory: float = 1e7) -> dict[str, float]:
    import isingmlc as im

    start = time.perf_counter()
    stats = im.scan(paths, labels=[f"y{k}" for k in range(n_labels)], max_memory=max_memory)
    tests = im.IsingModel.from_statistics(stats).fit(penalty=1.0).score_test()
    # Beside the files, for comparison.
    tests.statistics.to_parquet(f"{paths[0]}-{max_memory}.result")
    return {
        "seconds": time.perf_counter() - start,
        "labelsets": len(stats.counts),
        "sums": 16 * len(stats.counts) * len(stats.feature_names) / 2**20,
    }


def whole_job(paths: list[str], n_labels: int) -> dict[str, float]:
    return blocks_job(paths, n_labels, 1e12)


JOBS: dict[str, Callable[[list[str], int], dict[str, float]]] = {
    "scan": scan_job,
    "products": product_job,
    "pandas": pandas_job,
    "sum": sum_job,
    "cohort": cohort_job,
    "adjusted": adjusted_job,
    "blocks": blocks_job,
    "whole": whole_job,
}


def run(job: str, paths: list[str], n_labels: int) -> dict[str, float]:
    """Run a job in a process of its own; its peak memory is added."""
    command = [sys.executable, __file__, "--job", job, "--labels", str(n_labels)]
    done = subprocess.run(
        command, input="\n".join(paths), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{job} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


# Tables


def against_rows(folder: Path, scale: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    sizes = [int(n * scale) for n in ROWS]
    files = make_files(folder, sizes[-1], 100, 10, rows_a_file=sizes[0])
    rows = []
    for n in sizes:
        paths = files[: -(-n // sizes[0])]
        scan, pandas = run("scan", paths, 10), run("pandas", paths, 10)
        rows.append(
            {
                "rows": n,
                "scan s": scan["scan"],
                "cpu s": scan["cpu"],
                "fit + tests s": scan["fit"] + scan["score"],
                "peak MB": scan["peak"],
                "pandas, all s": pandas["pandas"],
                "pandas peak MB": pandas["peak"],
            }
        )
    table = pd.DataFrame(rows)
    slope, start = np.polyfit(table["rows"], table["cpu s"], 1)
    sums = run("sum", files, 10)
    line = {
        "rows a cpu second": 1 / slope,
        "start cpu s": start,
        "R²": np.corrcoef(table["rows"], table["cpu s"])[0, 1] ** 2,
        "DuckDB SUM s": sums["sum"],
        "scan / SUM": sums["scan"] / sums["sum"],
        "in cpu s": sums["scan cpu"] / sums["sum cpu"],
    }
    return table, pd.DataFrame([line])


def against_features(folder: Path, scale: float) -> pd.DataFrame:
    rows = []
    for p in FEATURES:
        files = make_files(folder, int(20_000 * scale), p, 10)
        scan = run("scan", files, 10)
        rows.append(
            {
                "features": p,
                "scan s": scan["scan"],
                "cpu s": scan["cpu"],
                "cpu ms a feature": 1e3 * scan["cpu"] / p,
                "score tests s": scan["score"],
                "µs a feature": 1e6 * scan["score"] / p,
                "peak MB": scan["peak"],
            }
        )
    return pd.DataFrame(rows)


def against_labels(folder: Path, scale: float) -> pd.DataFrame:
    rows = []
    for n_labels in LABELS:
        files = make_files(folder, int(100_000 * scale), 100, n_labels)
        scan, products = run("scan", files, n_labels), run("products", files, n_labels)
        rows.append(
            {
                "labels": n_labels,
                "labelsets": scan["labelsets"],
                "scan s": scan["scan"],
                "cpu s": scan["cpu"],
                "fit s": scan["fit"],
                "score tests s": scan["score"],
                "with products s": products["products"],
                "µs per product": 1e6 * products["products"] / (100 * n_labels**2),
            }
        )
    return pd.DataFrame(rows)


def with_covariates(folder: Path, scale: float) -> pd.DataFrame:
    files = make_cohort(folder, int(1_000_000 * scale))
    rows, plain = [], run("cohort", files, 10)
    for given, found in (("nothing", plain), ("age, sex", run("adjusted", files, 10))):
        rows.append(
            {
                "given": given,
                "cells": found["cells"],
                "scan s": found["scan"],
                "cpu s": found["scan cpu"],
                "with fit + tests s": found["all"],
                "all cpu s": found["all cpu"],
                "all s / plain scan": found["all"] / plain["scan"],
                "in cpu s": found["all cpu"] / plain["scan cpu"],
                "peak MB": found["peak"],
                "p < 1e-6": found["found"],
            }
        )
    return pd.DataFrame(rows)


def in_blocks(folder: Path, scale: float) -> pd.DataFrame:
    files = make_files(folder, int(50_000 * scale), 200, 20, n_labelsets=10**6)
    blocks, whole = run("blocks", files, 20), run("whole", files, 20)
    one, two = (pd.read_parquet(path) for path in sorted(folder.glob("*.result")))
    return pd.DataFrame(
        [
            {
                "labelsets": blocks["labelsets"],
                "all sums MB": blocks["sums"],
                "in blocks s": blocks["seconds"],
                "peak MB": blocks["peak"],
                "whole s": whole["seconds"],
                "whole peak MB": whole["peak"],
                "largest difference": (one / two - 1).abs().max().max(),
            }
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of rows")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--labels", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = JOBS[options.job](sys.stdin.read().split("\n"), options.labels)
        result["peak"] = peak_memory()
        print(json.dumps(result))
        return
    for make in (against_rows, against_features, against_labels, with_covariates, in_blocks):
        with tempfile.TemporaryDirectory() as folder:
            made = make(Path(folder), options.scale)
        for table in made if isinstance(made, tuple) else (made,):
            print(f"\n{make.__name__}\n{table.to_string(index=False, float_format='%.4g')}")


if __name__ == "__main__":
    main()
