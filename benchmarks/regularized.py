"""Time sparse networks of labels against glmnet and scikit-learn.

Prints two tables, measured in this run with one thread, in processor time. The first has surveys of
drawn items, against R's glmnet on the rows with IsingFit's recipe: one path per label, EBIC with
gamma 0.25, an edge where both coefficients differ from zero. Both begin with the rows. The best of
several turns counts, and "difference" is the largest one of their coefficients; glmnet's tolerance
leaves about 1e-4. Where Rscript or glmnet is absent, its columns are left out. The survey of 200
labels takes a minute with glmnet, and is asked for with --large.

The second has real data, against a loop of scikit-learn fits: for each label an l1-penalised
logistic regression on the rows at the penalties of our path, by liblinear, its fastest solver for
this, to a tolerance of 1e-6; it is timed on every twentieth penalty and scaled up. The last two
columns are the largest violations of the optimality conditions. Most of liblinear's is that it
penalises the intercept, if only by a hundredth.

Real data are looked for in the folder named by ISINGMLC_DATA, or in ../shared/data beside the
project.

    python benchmarks/regularized.py [--large]
"""

from __future__ import annotations

from timing import load_sets  # isort: skip  (first: it sets the number of threads)

import argparse
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import isingmlc as im

SETS = {"emotions": None, "yeast": None, "enron": None, "bibtex": 50}
EVERY = 20
TURNS = 5
# Rows and items of surveys; the last one only if asked for.
SURVEYS = ((800, 20), (5000, 50), (5000, 200))
GLMNET = """
suppressMessages(library(glmnet))
paths <- commandArgs(TRUE)
x <- as.matrix(read.csv(paths[1]))
n <- nrow(x)
p <- ncol(x)
coefficients <- matrix(0, p, p)
start <- proc.time()
for (k in 1:p) {
  fit <- glmnet(x[, -k], x[, k], family = "binomial")
  ebic <- deviance(fit) + fit$df * log(n) + 2 * 0.25 * fit$df * log(p - 1)
  coefficients[-k, k] <- as.numeric(fit$beta[, which.min(ebic)])
}
cat(sum((proc.time() - start)[1:2]))
write.table(coefficients, paths[2], sep = ",", row.names = FALSE, col.names = FALSE)
"""


def draw_survey(n_rows: int, n_items: int) -> pd.DataFrame:
    """Draw items of a sparse network: each is tied to four others, as a mean."""
    rng = np.random.default_rng(n_items)
    tied = np.triu(rng.random((n_items, n_items)) < 4 / n_items, 1)
    weights = np.where(tied, rng.uniform(0.4, 1.2, tied.shape), 0.0)
    weights += weights.T
    network = im.simulate.IsingDistribution(-0.7 - weights.sum(axis=0) / 2, weights)
    drawn = network.sample(n_rows, sampler="gibbs", random_state=0)
    return pd.DataFrame(np.asarray(drawn, dtype=int), columns=[f"i{at}" for at in range(n_items)])


def glmnet(labels: pd.DataFrame) -> tuple[float, np.ndarray] | None:
    """Give the processor time of glmnet and the coefficients chosen; None where it is absent."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        labels.to_csv(folder / "rows.csv", index=False)
        (folder / "glmnet.R").write_text(GLMNET)
        command = ["Rscript", "glmnet.R", "rows.csv", "coefficients.csv"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        return float(done.stdout), np.loadtxt(folder / "coefficients.csv", delimiter=",")


def compare_surveys(large: bool) -> pd.DataFrame:
    rows = []
    for n_rows, n_items in SURVEYS if large else SURVEYS[:-1]:
        labels = draw_survey(n_rows, n_items)
        ours, theirs = [], []
        for _ in range(TURNS if n_items < 100 else 1):
            start = time.process_time()
            model = im.IsingModel(labels)
            net = model.fit_regularized()
            ours.append(time.process_time() - start)
            found = glmnet(labels)
            theirs.append(np.nan if found is None else found[0])
        row = {
            "rows": n_rows,
            "labels": n_items,
            "labelsets": len(model.statistics.counts),
            "penalties": len(net.criteria),
            "edges": net.n_edges,
            "violation": net.kkt.max(),
            "isingmlc s": min(ours),
        }
        if found is not None:
            row |= {
                "glmnet s": min(theirs),
                "times faster": min(theirs) / min(ours),
                "difference": np.abs(net.directed.to_numpy() - found[1]).max(),
            }
        else:
            print("glmnet: Rscript or the package is absent, left out")
        rows.append(row)
    return pd.DataFrame(rows)


def violation(
    columns: np.ndarray, outcome: np.ndarray, lam: float, intercept: float, coef: np.ndarray
) -> float:
    residual = outcome - expit(intercept + columns @ coef)
    pull = residual @ columns / len(outcome)
    off = np.where(coef != 0, np.abs(pull - lam * np.sign(coef)), np.abs(pull) - lam)
    return max(abs(residual.mean()), off.max(initial=0.0))


def liblinear(net: im.RegularizedIsingResults, labels: np.ndarray) -> tuple[float, float]:
    """Give the time of all fits, and the largest violation of those that were made."""
    spent = worst = 0.0
    standard = labels - labels.mean(axis=0)
    standard /= np.where(standard.any(axis=0), standard.std(axis=0), 1.0)
    included = np.array([path is not None for path in net.paths])
    for label, path in enumerate(net.paths):
        if path is None:
            continue
        columns = standard[:, included & (np.arange(len(included)) != label)]
        outcome = labels[:, label]
        chosen = path.lam[::EVERY]
        for lam in chosen:
            model = LogisticRegression(
                C=1 / (len(labels) * lam),
                l1_ratio=1,
                solver="liblinear",
                intercept_scaling=100,
                tol=1e-6,
                max_iter=1000,
                random_state=0,
            )
            start = time.process_time()
            model.fit(columns, outcome)
            spent += (time.process_time() - start) * len(path.lam) / len(chosen)
            found = violation(columns, outcome, lam, model.intercept_[0], model.coef_[0])
            worst = max(worst, found)
    return spent, worst


def compare_sets() -> pd.DataFrame:
    rows = []
    for name, data in load_sets(SETS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = im.IsingModel(data.labels)
            start = time.process_time()
            net = model.fit_regularized()
            ours = time.process_time() - start
            theirs, worst = liblinear(net, data.labels.to_numpy(float))
        rows.append(
            {
                "data": name,
                "rows": len(data.labels),
                "labels": data.labels.shape[1],
                "labelsets": len(model.statistics.counts),
                "penalties": len(net.criteria),
                "edges": net.n_edges,
                "isingmlc s": ours,
                "liblinear s": theirs,
                "times faster": theirs / ours,
                "violation": net.kkt.max(),
                "liblinear's": worst,
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="also time 200 labels")
    large = parser.parse_args().large
    for title, table in (
        ("Surveys, against glmnet on the rows", compare_surveys(large)),
        ("Real labels, against liblinear at the same penalties", compare_sets()),
    ):
        print(f"\n{title}\n{table.to_string(index=False, float_format='%.3g')}")


if __name__ == "__main__":
    main()
