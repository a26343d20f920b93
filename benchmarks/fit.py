"""Time the K label fits against K statsmodels fits, Firth's fits, and statistics against sums.

Prints one table per claim, all measured in this run, with one thread. Real data are looked for in
the folder named by ISINGMLC_DATA, or in ../shared/data beside the project.

    python benchmarks/fit.py
"""

from __future__ import annotations

from timing import load_sets, seconds, take_turns  # isort: skip  (first: it sets the number of threads)

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm

import isingmlc as im


def statsmodels_loop(labels: pd.DataFrame) -> None:
    for name in labels:
        others = sm.add_constant(labels.drop(columns=name).to_numpy(float), has_constant="add")
        sm.GLM(labels[name].to_numpy(), others, family=sm.families.Binomial()).fit()


def compare_fits() -> pd.DataFrame:
    rows = []
    for name, data in load_sets():
        model = im.IsingModel(data.labels)
        ours = seconds(model.fit, 5)
        whole = seconds(lambda labels=data.labels: im.IsingModel(labels).fit(), 5)
        theirs = seconds(lambda labels=data.labels: statsmodels_loop(labels), 1)
        rows.append(
            {
                "data": name,
                "rows": len(data.labels),
                "labels": data.labels.shape[1],
                "labelsets": len(model.statistics.counts),
                "isingmlc ms": 1e3 * ours,
                "from rows ms": 1e3 * whole,
                "statsmodels ms": 1e3 * theirs,
                "ratio": theirs / ours,
                "most steps": model.fit().diagnostics["iterations"].max(),
            }
        )
    return pd.DataFrame(rows)


def compare_methods() -> pd.DataFrame:
    """Time Jeffreys' prior against maximum likelihood where nearly every row is a labelset."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal((25_000, 5)) @ rng.normal(scale=0.5, size=(5, 50))
    labels = common + rng.standard_normal(common.shape) > 1.6
    model = im.IsingModel(labels.astype(int))
    plain, firth = take_turns(model.fit, lambda: model.fit(penalty="firth"), repeats=3)
    row = {
        "labels": labels.shape[1],
        "labelsets": len(model.statistics.counts),
        "plain s": plain,
        "firth s": firth,
        "ratio": firth / plain,
        "plain steps": model.fit().diagnostics["iterations"].max(),
        "firth steps": model.fit(penalty="firth").diagnostics["iterations"].max(),
    }
    return pd.DataFrame([row])


def compare_statistics() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((200_000, 200))
    labels = (rng.random((200_000, 10)) < 0.3).astype(float)

    def build() -> object:
        return im.LabelsetStatistics.from_arrays(labels, features)

    sums = seconds(lambda: (features.sum(), features.sum()), 7)
    ours = seconds(build, 7)
    tracemalloc.start()
    build()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    row = {
        "matrix": "200,000 × 200, 10 labels",
        "statistics ms": 1e3 * ours,
        "X.sum() twice ms": 1e3 * sums,
        "ratio": ours / sums,
        "peak MB above input": peak / 2**20,
    }
    return pd.DataFrame([row])


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, table in (
            ("All label fits against a loop of statsmodels GLM fits", compare_fits()),
            ("Jeffreys' prior against maximum likelihood, processor times", compare_methods()),
            ("Labelset statistics against two sums of the matrix", compare_statistics()),
        ):
            print(f"\n{title}\n{table.to_string(index=False, float_format='%.1f')}")


if __name__ == "__main__":
    main()
