"""Time adjusted score tests, from arrays to the table of p-values, against what people use.

Prints two tables, measured in this run as processor time of one thread:

- two continuous covariates, so that every row is a cell of its own, against statsmodels: one GLM
  fit per label with the same covariates, then its ``score_test`` feature by feature (timed on a
  sample of features and scaled up);
- categories that make six cells of every labelset, against the unadjusted test.

Real data are looked for in the folder named by ISINGMLC_DATA, or in ../shared/data beside the
project. The covariates are drawn at random.

    python benchmarks/context.py
"""

from __future__ import annotations

from timing import as_dense, load_sets, take_turns  # isort: skip  (first: it sets the number of threads)

import warnings

import numpy as np
import pandas as pd
from edge_tests import statsmodels_loop

import isingmlc as im


def adjusted(labels: pd.DataFrame, features: object, covariates: pd.DataFrame | None) -> object:
    results = im.IsingModel(labels, features, covariates=covariates).fit()
    return results.score_test(pvalue="chi2").pvalues


def compare() -> tuple[pd.DataFrame, pd.DataFrame]:
    numbers, categories = [], []
    for name, data in load_sets():
        features = as_dense(data.features)
        labels, n_rows = data.labels, len(data.labels)
        rng = np.random.default_rng(0)
        continuous = pd.DataFrame(rng.normal(size=(n_rows, 2)), labels.index, ["age", "bmi"])
        few = pd.DataFrame(
            {
                "sex": rng.integers(0, 2, n_rows),
                "region": rng.choice(["north", "mid", "south"], n_rows),
            },
            labels.index,
        )
        size = {"data": name, "rows": n_rows, "p": features.shape[1], "K": labels.shape[1]}
        (ours,) = take_turns(
            lambda y=labels, x=features, c=continuous: adjusted(y, x, c), repeats=3
        )
        loop = statsmodels_loop(labels, features, continuous)
        numbers.append(
            {
                **size,
                "isingmlc ms": 1e3 * ours,
                "statsmodels s": loop,
                "times faster": loop / ours,
            }
        )
        with_cells, plain = take_turns(
            lambda y=labels, x=features, c=few: adjusted(y, x, c),
            lambda y=labels, x=features: adjusted(y, x, None),
        )
        categories.append(
            {
                **size,
                "six cells ms": 1e3 * with_cells,
                "unadjusted ms": 1e3 * plain,
                "ratio": with_cells / plain,
            }
        )
    return pd.DataFrame(numbers), pd.DataFrame(categories)


def main() -> None:
    warnings.simplefilter("ignore")
    numbers, categories = compare()
    print("\nTwo continuous covariates, arrays to p-values of all edges")
    print(numbers.round(1).to_string(index=False))
    print("\nCategories that make six cells of every labelset")
    print(categories.round(1).to_string(index=False))


if __name__ == "__main__":
    main()
