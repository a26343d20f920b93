"""Time all score tests, from arrays to the table of p-values, against what people use.

Prints tables, all measured in this run, as processor time of one thread:

- against statsmodels: one GLM fit a label, then its ``score_test`` feature by feature (timed on a
  sample of features and scaled up);
- against R: ``add1(test="Rao")``, where R is installed, on scene;
- against scikit-learn: ``chi2`` called once a label, the cheapest filter in use.

p-values are those of the chi-square distribution, as theirs are; the last column of the first table
has those that are the default.

Real data are looked for in the folder named by ISINGMLC_DATA, or in ../shared/data beside the
project.

    python benchmarks/edge_tests.py
"""

from __future__ import annotations

from timing import as_dense, find_data, load_sets, take_turns  # isort: skip  (first: it sets the number of threads)

import contextlib
import shutil
import subprocess
import tempfile
import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import sparse
from sklearn.feature_selection import chi2

import isingmlc as im

SAMPLE = 5


def all_edges(
    labels: pd.DataFrame, features: object, products: str | None = None, pvalue: str = "chi2"
) -> object:
    results = im.IsingModel(labels, features).fit()
    return results.score_test(products=products, pvalue=pvalue).pvalues


def statsmodels_loop(
    labels: pd.DataFrame, features: np.ndarray, covariates: pd.DataFrame | None = None
) -> float:
    """Time the fits, and the tests of a sample of features, and scale these up."""
    fitting = testing = 0.0
    n_features = features.shape[1]
    sample = np.linspace(0, n_features - 1, SAMPLE).astype(int)
    for name in labels:
        others = labels.drop(columns=name)
        if covariates is not None:
            others = others.join(covariates)
        design = sm.add_constant(others.to_numpy(float), has_constant="add")
        glm = sm.GLM(labels[name].to_numpy(), design, family=sm.families.Binomial())
        start = time.process_time()
        params = glm.fit().params
        middle = time.process_time()
        for column in sample:
            # On determined labels statsmodels meets a singular matrix; the time counts anyway.
            with contextlib.suppress(np.linalg.LinAlgError):
                glm.score_test(params, exog_extra=features[:, [column]], observed=False)
        fitting += middle - start
        testing += time.process_time() - middle
    return fitting + testing * n_features / SAMPLE


def chi2_loop(labels: np.ndarray, features: object) -> None:
    for column in labels.T:
        chi2(features, column)


def compare() -> tuple[pd.DataFrame, pd.DataFrame]:
    dense_rows, sparse_rows = [], []
    for name, data in load_sets():
        features = as_dense(data.features)
        # chi2 wants counts: measure everything from the smallest value.
        counts = features - features.min(axis=0)
        labels = data.labels.to_numpy()
        ours, default, theirs = take_turns(
            lambda y=data.labels, x=features: all_edges(y, x),
            lambda y=data.labels, x=features: all_edges(y, x, pvalue="auto"),
            lambda y=labels, x=counts: chi2_loop(y, x),
        )
        loop = statsmodels_loop(data.labels, features)
        size = {"data": name, "rows": len(labels), "p": features.shape[1], "K": labels.shape[1]}
        dense_rows.append(
            {
                **size,
                "isingmlc ms": 1e3 * ours,
                "statsmodels s": loop,
                "times faster": loop / ours,
                "chi2 ms": 1e3 * theirs,
                "of chi2": ours / theirs,
                'pvalue="auto" ms': 1e3 * default,
            }
        )
        if sparse.issparse(data.features):
            ours, theirs = take_turns(
                lambda y=data.labels, x=data.features: all_edges(y, x),
                lambda y=labels, x=data.features: chi2_loop(y, x),
            )
            sparse_rows.append(
                {
                    **size,
                    "isingmlc ms": 1e3 * ours,
                    "chi2 ms": 1e3 * theirs,
                    "of chi2": ours / theirs,
                }
            )
    return pd.DataFrame(dense_rows), pd.DataFrame(sparse_rows)


def compare_products() -> pd.DataFrame:
    """Time products beside plain tests: of a fit ("ratio"), and from arrays ("from arrays").

    Both have p-values of the chi-square distribution.
    """
    rows = []
    for name, data in load_sets():
        features = as_dense(data.features)
        results = im.IsingModel(data.labels, features).fit()
        for kind, repeats in (("individual", 5), ("joint", 1)):
            took, plain, all_plain, all_took = take_turns(
                lambda res=results, kind=kind: res.score_test(products=kind, pvalue="chi2"),
                lambda res=results: res.score_test(pvalue="chi2").pvalues,
                lambda y=data.labels, x=features: all_edges(y, x),
                lambda y=data.labels, x=features, kind=kind: all_edges(y, x, kind),
                repeats=repeats,
            )
            tracemalloc.start()
            results.score_test(products=kind, pvalue="chi2")
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            rows.append(
                {
                    "data": name,
                    "products": kind,
                    "ms": 1e3 * took,
                    "plain ms": 1e3 * plain,
                    "ratio": took / plain,
                    "from arrays": all_took / all_plain,
                    "peak / (p K² floats)": peak
                    / (8 * features.shape[1] * data.labels.shape[1] ** 2),
                }
            )
    return pd.DataFrame(rows)


def compare_r() -> pd.DataFrame:
    """Time R's add1 on scene, and say how far its statistics are from ours."""
    if shutil.which("Rscript") is None or not (find_data() / "scene").is_dir():
        print("Rscript: not found, left out")
        return pd.DataFrame()
    data = im.datasets.load_mulan("scene", part="train", data_dir=find_data())
    edges = im.IsingModel(data.labels, data.features).fit().score_test()
    (ours,) = take_turns(lambda: all_edges(data.labels, data.features))
    with tempfile.TemporaryDirectory() as folder:
        data.labels.join(data.features).to_csv(f"{folder}/scene.csv", index=False)
        script = f"""
        d <- read.csv("{folder}/scene.csv"); K <- {data.labels.shape[1]}; x <- names(d)[-(1:K)]
        start <- proc.time()[3]; out <- list()
        for (k in 1:K) {{
          f <- reformulate(names(d)[(1:K)[-k]], names(d)[k])
          g <- suppressWarnings(glm(f, binomial, d, control=glm.control(epsilon=1e-14, maxit=100)))
          a <- suppressWarnings(add1(g, reformulate(c(".", x)), test="Rao", data=d))
          out[[k]] <- data.frame(label=names(d)[k], feature=x, rao=a[x, "Rao score"])
        }}
        cat(proc.time()[3] - start, "\\n"); write.csv(do.call(rbind, out), "{folder}/rao.csv")
        """
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True)
        theirs = pd.read_csv(f"{folder}/rao.csv")
    found = [edges.statistics.loc[row.feature, row.label] for row in theirs.itertuples()]
    return pd.DataFrame(
        [
            {
                "data": "scene",
                "isingmlc ms": 1e3 * ours,
                "R add1 s": float(done.stdout.split()[0]),
                "times faster": float(done.stdout.split()[0]) / ours,
                "median difference": np.nanmedian(np.abs(np.array(found) / theirs["rao"] - 1)),
            }
        ]
    )


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense, thin = compare()
        for title, table in (
            ("Arrays to p-values, dense features", dense),
            ("Arrays to p-values, sparse features", thin),
            ("Products", compare_products()),
            ("R", compare_r()),
        ):
            if len(table):
                print(f"\n{title}\n{table.to_string(index=False, float_format='%.3g')}")


if __name__ == "__main__":
    main()
