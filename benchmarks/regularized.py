"""Time sparse networks of labels against a loop of scikit-learn fits over the same penalties.

Prints one table, measured in this run with one thread, in CPU time. For each label scikit-learn
fits an l1-penalised logistic regression on the rows at the penalties of our path, by liblinear,
its fastest solver for this, to a tolerance of 1e-6; it is timed on every twentieth penalty and
scaled up. The last two columns are the largest violations of the optimality conditions. Most of
liblinear's is that it penalises the intercept, if only by a hundredth.

Real data are looked for in the folder named by ISINGMLC_DATA, or in ../shared/data beside the
project.

    python benchmarks/regularized.py
"""

from __future__ import annotations

from timing import find_data  # isort: skip  (first: it sets the number of threads)

import time
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import isingmlc as im

SETS = {"emotions": None, "yeast": None, "enron": None, "bibtex": 50}
EVERY = 20


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


def main() -> None:
    data_dir = find_data()
    rows = []
    for name, limit in SETS.items():
        if not (data_dir / name).is_dir():
            print(f"{name}: not found in the data folder, left out")
            continue
        data = im.datasets.load_mulan(name, part="train", data_dir=data_dir)
        if limit:
            data = im.datasets.limit_labels(data, limit)
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
    title = "Networks of labels against liblinear at the same penalties"
    print(f"\n{title}\n{pd.DataFrame(rows).to_string(index=False, float_format='%.3g')}")


if __name__ == "__main__":
    main()
