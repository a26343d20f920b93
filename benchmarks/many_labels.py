"""Show what hundreds of labels cost, and what it changes to give each label fewer neighbours.

Prints one table per claim, all measured in this run on simulated networks whose truth is known, and
on two of Mulan's sets, looked for in the folder named by ISINGMLC_DATA, or in ../shared/data beside
the project:

- a thousand labels: arrays to the ranking with its p-values, given 15 neighbours per label;
- four hundred labels: fits with all other labels, and their score tests, plain and by ridge;
- fewer neighbours: rankings beside those of the full fit;
- levels: how often edges are found (p < .05, p < .01) that are there, and that are not.

Seconds are processor time of one thread, and the first two tables have each figure from a process
of its own, so that its peak of memory is its own too.

    python benchmarks/many_labels.py              # about 12 minutes
    python benchmarks/many_labels.py --scale 0.2  # fewer labels and repetitions
"""

from __future__ import annotations

from timing import find_data, peak_memory  # isort: skip  (first: it sets the number of threads)

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

import isingmlc as im

N_ROWS, N_FEATURES = 13_000, 500
DEPENDENCES = ("strong", "weak")
GOAL_SECONDS, GOAL_MEGABYTES, GOAL_RATIO = 180, 4096, 5
# Where a full fit exists to compare with. None stands for all other labels.
SMALL = {"n_samples": 3000, "n_features": 100, "n_labels": 50}
CHOICES = (None, 10, 5, 2, "ebic")
SETS = ("yeast", "enron")
TOP = 20
REPETITIONS = 120
LEVELS = (0.05, 0.01)


def spent(work: Callable[[], object]) -> tuple[float, object]:
    """Do some work; give its processor seconds and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


# Jobs, each run in a process of its own


def rank_job(labels: np.ndarray, features: np.ndarray) -> dict[str, float]:
    def rank() -> pd.Series:
        return im.IsingModel(labels, features).fit(neighbors=15).rank_features().pvalues

    took, pvalues = spent(rank)
    return {"seconds": took, "pvalues": int(pvalues.notna().sum())}


def fit_job(
    labels: np.ndarray, features: np.ndarray, penalty: float | None = None
) -> dict[str, float]:
    model = im.IsingModel(labels, features)
    fitting, results = spent(lambda: model.fit(penalty=penalty))
    testing, edges = spent(results.score_test)
    return {
        "fit": fitting,
        "score": testing,
        "converged": int(results.diagnostics["converged"].sum()),
        "tested": int(edges.pvalues.notna().any().sum()),
    }


def ridge_job(labels: np.ndarray, features: np.ndarray) -> dict[str, float]:
    return fit_job(labels, features, 1.0)


JOBS: dict[str, Callable[[np.ndarray, np.ndarray], dict[str, float]]] = {
    "rank": rank_job,
    "fit": fit_job,
    "ridge": ridge_job,
}


def run(job: str, folder: str) -> dict[str, float]:
    """Run a job on the arrays in a folder in a process of its own; its peak memory is added."""
    command = [sys.executable, __file__, "--job", job, "--folder", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{job} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


# Tables


def write_networks(n_labels: int) -> Iterator[tuple[dict[str, object], str]]:
    """Draw networks into folders, with what to call them; a folder is removed after its turn."""
    for dependence in DEPENDENCES:
        data = im.datasets.make_network_data(
            N_ROWS, n_features=N_FEATURES, n_labels=n_labels, dependence=dependence, random_state=0
        )
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/labels.npy", data.labels.to_numpy())
            np.save(f"{folder}/features.npy", data.features.to_numpy())
            yield {"dependence": dependence, "labels": n_labels}, folder


def a_thousand_labels(scale: float) -> pd.DataFrame:
    rows = []
    for names, folder in write_networks(int(1000 * scale)):
        found = run("rank", folder)
        rows.append(
            {
                **names,
                "cpu s": found["seconds"],
                "goal s": GOAL_SECONDS,
                "peak MB": found["peak"],
                "goal MB": GOAL_MEGABYTES,
                "p-values": found["pvalues"],
            }
        )
    return pd.DataFrame(rows)


def four_hundred_labels(scale: float) -> pd.DataFrame:
    rows = []
    for names, folder in write_networks(int(400 * scale)):
        plain, ridge = run("fit", folder), run("ridge", folder)
        for penalty, found in (("none", plain), ("ridge", ridge)):
            rows.append(
                {
                    **names,
                    "penalty": penalty,
                    "fit cpu s": found["fit"],
                    "converged": found["converged"],
                    "tested": found["tested"],
                    "score test cpu s": found["score"],
                    "of plain": found["score"] / plain["score"],
                    "goal": GOAL_RATIO,
                    "peak MB": found["peak"],
                }
            )
    return pd.DataFrame(rows)


def read_sets() -> Iterator[tuple[str, im.datasets.Dataset]]:
    for name in SETS:
        if (find_data() / name).is_dir():
            yield name, im.datasets.load_mulan(name, part="train", data_dir=find_data())
        else:
            print(f"{name}: not found in the data folder, left out")
    for dependence in DEPENDENCES:
        data = im.datasets.make_network_data(**SMALL, dependence=dependence, random_state=0)
        yield f"simulated, {dependence}", data


def fewer_neighbors(scale: float) -> pd.DataFrame:
    del scale  # the sets are small
    rows = []
    for name, data in read_sets():
        model = im.IsingModel(data.labels, data.features)
        full = None
        for choice in CHOICES:
            took, results = spent(lambda model=model, choice=choice: model.fit(neighbors=choice))
            ranking = results.rank_features()
            full = full or ranking
            same = set(full.top(TOP)) & set(ranking.top(TOP))
            rows.append(
                {
                    "data": name,
                    "neighbors": choice or "all",
                    "on average": results.diagnostics["neighbors"].mean(),
                    "fit cpu s": took,
                    "labels tested": (results.diagnostics["reason"] == "ok").sum(),
                    "rows left": results.diagnostics["rows"].mean() / model.nobs,
                    "rank correlation": full.importance.corr(ranking.importance, "spearman"),
                    f"of first {TOP}": len(same),
                }
            )
    return pd.DataFrame(rows)


def kinds_of_edges(truth: dict[str, pd.DataFrame]) -> dict[str, np.ndarray]:
    """Sort the edges, features × labels, by what the feature does."""
    acts = truth["effects"].to_numpy() != 0
    linked = truth["interactions"].to_numpy() != 0
    on_neighbor = (acts @ linked) & ~acts
    idle = ~acts.any(axis=1)[:, None] & np.ones_like(acts)
    return {
        "on nothing": idle,
        "elsewhere": ~idle & ~acts & ~on_neighbor,
        "on a neighbour": on_neighbor,
        "on the label": acts,
    }


def levels(scale: float) -> pd.DataFrame:
    """Count edges with small p-values; errors are Monte-Carlo, between repetitions."""
    rows = []
    for dependence in DEPENDENCES:
        # By choice, kind and level: found edges of each repetition, and of how many.
        found: dict[tuple[object, str, float], list[tuple[int, int]]] = {}
        for seed in range(max(2, int(REPETITIONS * scale))):
            data = im.datasets.make_network_data(**SMALL, dependence=dependence, random_state=seed)
            model, kinds = im.IsingModel(data.labels, data.features), kinds_of_edges(data.truth)
            for choice in CHOICES:
                pvalues = model.fit(neighbors=choice).score_test().pvalues.to_numpy()
                tested = ~np.isnan(pvalues)
                for kind, edges in kinds.items():
                    for level in LEVELS:
                        small = int((pvalues[edges & tested] < level).sum())
                        counts = found.setdefault((choice, kind, level), [])
                        counts.append((small, int((edges & tested).sum())))
        for choice in CHOICES:
            row: dict[str, object] = {"dependence": dependence, "neighbors": choice or "all"}
            for kind in kinds:
                for level in LEVELS:
                    small, of = np.array(found[choice, kind, level]).T
                    share = small.sum() / of.sum()
                    # Of a ratio of sums over repetitions, which are independent.
                    error = np.sqrt(((small - share * of) ** 2).sum()) / of.sum()
                    row[f"{kind}, p < {level:g}"] = f"{share:.4f} ± {error:.4f}"
            rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--scale", type=float, default=1.0, help="multiplies numbers of labels and repetitions"
    )
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.job:
        arrays = (np.load(f"{options.folder}/{name}.npy") for name in ("labels", "features"))
        print(json.dumps({**JOBS[options.job](*arrays), "peak": peak_memory()}))
        return
    for make in (a_thousand_labels, four_hundred_labels, fewer_neighbors, levels):
        table = make(options.scale).to_string(index=False, float_format="%.4g")
        print(f"\n{make.__name__.replace('_', ' ').capitalize()}\n{table}", flush=True)


if __name__ == "__main__":
    main()
