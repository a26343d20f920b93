"""Time the conventional filters against scikit-learn's ``chi2``, called once per label.

Prints two tables, measured in this run with one thread. In the first both get the same features,
0/1 or coded by quantiles, dense and sparse; scikit-learn gets codes as indicators, which is what it
can make chi-squares of. The second has the filters as a user calls them, with features cut by
minimum description length.

Real data are looked for in the folder named by ISINGMLC_DATA, or in ../shared/data beside the
project.

    python benchmarks/baselines.py
"""

from __future__ import annotations

from timing import as_dense, load_sets, seconds  # isort: skip  (first: it sets the number of threads)

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_selection import chi2

from isingmlc.input.rows import ModelData, prepare
from isingmlc.ranking.filters import br_filter, lp_filter, one_rule

N_BINS = 5


def quantile_codes(features: np.ndarray) -> np.ndarray:
    edges = np.quantile(features, np.arange(1, N_BINS) / N_BINS, axis=0)
    return (features > edges[:, None, :]).sum(axis=0).astype(float)


def indicators(codes: np.ndarray) -> sparse.csr_array:
    blocks = [column[:, None] == np.unique(column) for column in codes.T]
    return sparse.csr_array(np.column_stack(blocks).astype(float))


def chi2_loop(labels: np.ndarray, features: object) -> None:
    for column in labels.T:
        chi2(features, column)


def compare_tables(name: str, data: ModelData) -> list[dict[str, object]]:
    features = as_dense(data.features)
    is_binary = set(np.unique(features)) <= {0.0, 1.0}
    binary = features if is_binary else (features > np.median(features, axis=0)).astype(float)
    pairs = {
        "0/1, dense": (binary, binary),
        "0/1, sparse": (sparse.csr_array(binary), sparse.csr_array(binary)),
    }
    if not is_binary:
        codes = quantile_codes(features)
        pairs[f"{N_BINS} codes"] = codes, indicators(codes)
    labels = data.labels.astype(int)
    rows = []
    for kind, (ours, theirs) in pairs.items():
        checked = prepare(labels, ours)
        mine = seconds(lambda checked=checked: br_filter(checked), 5)
        loop = seconds(lambda theirs=theirs: chi2_loop(labels, theirs), 5)
        rows.append(
            {
                "data": name,
                "rows": len(labels),
                "p": features.shape[1],
                "K": labels.shape[1],
                "features": kind,
                "br-chi2 ms": 1e3 * mine,
                "chi2 ms": 1e3 * loop,
                "of chi2": mine / loop,
            }
        )
    return rows


def time_filters(name: str, data: ModelData) -> dict[str, object]:
    filters = {
        "br-chi2": lambda: br_filter(data),
        "br-ig": lambda: br_filter(data, "ig"),
        "br-chi2, quantile": lambda: br_filter(data, discretize="quantile", n_bins=N_BINS),
        "lp-chi2": lambda: lp_filter(data),
        "lp-ig": lambda: lp_filter(data, "ig"),
        "oner": lambda: one_rule(data),
    }
    return {"data, ms": name} | {key: 1e3 * seconds(work) for key, work in filters.items()}


def main() -> None:
    tables, filters = [], []
    for name, loaded in load_sets():
        data = prepare(loaded.labels, loaded.features)
        tables += compare_tables(name, data)
        filters.append(time_filters(name, data))
    for title, rows in (
        ("Contingency tables of all features and labels, against chi2 once per label", tables),
        ("Filters, features with many values cut by minimum description length", filters),
    ):
        print(f"\n{title}\n{pd.DataFrame(rows).to_string(index=False, float_format='%.3g')}")


if __name__ == "__main__":
    main()
