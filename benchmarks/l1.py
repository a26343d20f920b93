"""Time the l1-penalised label models, and say how near to the optimum they are.

Prints one table, measured in this run with one thread per process. Each set is fitted with one
process and with two, started before, at the default penalty; these seconds are those of the clock.
Violations are those of the optimality conditions, as a part of the penalty, the worst over the
labels. The first two labels of each set are also fitted by scikit-learn's saga, stopped after 200
passes over the rows: "saga excess" is how far its objective is then above ours, at the worst, as a
part of it.

Real data are looked for in the folder named by ISINGMLC_DATA, or in ../shared/data beside the
project.

    python benchmarks/l1.py
"""

from __future__ import annotations

from timing import load_sets  # isort: skip  (first: it sets the number of threads)

import time
import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import log_expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import isingmlc as im
from isingmlc.input.rows import ModelData, prepare
from isingmlc.ranking.l1 import L1Fits, fit_l1

SETS = {"scene": None, "yeast": None, "medical": None, "enron": None, "bibtex": 50}
# The penalty of the paper, as a part of the largest one.
RATIO = 1e-4
SAMPLE = 2
PASSES = 200


def standardise(data: ModelData, label: int) -> object:
    """Give the columns that explain a label, scaled, and centred unless they are sparse."""
    others = np.delete(data.labels, label, axis=1).astype(float)
    if sparse.issparse(data.features):
        table = sparse.hstack([others, data.features], "csr", dtype=float)
        table.indices, table.indptr = table.indices.astype("i4"), table.indptr.astype("i4")
        return StandardScaler(with_mean=False).fit_transform(table)
    return StandardScaler().fit_transform(np.hstack([others, data.features]))


def objective(predictor: np.ndarray, outcome: np.ndarray, coef: np.ndarray, lam: float) -> float:
    loss = -log_expit(np.where(outcome, predictor, -predictor)).mean()
    return loss + lam * np.abs(coef).sum()


def run_saga(data: ModelData, fits: L1Fits) -> tuple[float, float]:
    """Fit the first labels by saga; give CPU seconds per label, and how far it is above us."""
    took, excess = [], []
    for label in np.flatnonzero(fits.label_reason == "ok")[:SAMPLE]:
        columns, outcome, lam = standardise(data, label), data.labels[:, label], fits.lam[label]
        saga = LogisticRegression(
            l1_ratio=1.0,
            solver="saga",
            C=1 / (data.n_rows * lam),
            tol=1e-6,
            max_iter=PASSES,
            random_state=0,
        )
        start = time.process_time()
        saga.fit(columns, outcome)
        took.append(time.process_time() - start)
        theirs = objective(saga.decision_function(columns), outcome, saga.coef_, lam)
        parts = (
            np.delete(fits.label_coefficients[:, label], label),
            fits.coefficients[:, label],
        )
        ours = np.nan_to_num(np.concatenate(parts))
        others = np.delete(data.labels, label, axis=1)
        predictor = (
            fits.intercept[label]
            + others @ np.nan_to_num(np.delete(fits.original_label_coefficients[:, label], label))
            + data.features @ np.nan_to_num(fits.original_coefficients[:, label])
        )
        excess.append(theirs / objective(predictor, outcome, ours, lam) - 1)
    return float(np.mean(took)), max(excess)


def compare() -> pd.DataFrame:
    rows = []
    example = im.datasets.load_example()
    fit_l1(prepare(example.labels, example.features), RATIO, n_jobs=2)
    for name, loaded in load_sets(SETS):
        data = prepare(loaded.labels, loaded.features)
        start, processor_start = time.perf_counter(), time.process_time()
        fits = fit_l1(data, RATIO)
        one, processor = time.perf_counter() - start, time.process_time() - processor_start
        start = time.perf_counter()
        fit_l1(data, RATIO, n_jobs=2)
        two = time.perf_counter() - start
        fitted = int((fits.label_reason == "ok").sum())
        saga, excess = run_saga(data, fits)
        rows.append(
            {
                "data": name,
                "rows": data.n_rows,
                "p": len(data.feature_names),
                "labels": fitted,
                "1 job s": one,
                "2 jobs s": two,
                "CPU s per label": processor / fitted,
                "violation": np.nanmax(fits.violation),
                "saga CPU s per label": saga,
                "saga excess": excess,
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = compare()
    print(f"\nl1-penalised label models\n{table.to_string(index=False, float_format='%.2g')}")


if __name__ == "__main__":
    main()
