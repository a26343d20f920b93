"""The values that the paper prints: its tables, average ranks and p-values.

Methods, measures and data sets are spelled as everywhere in the package. Table 1 does not list
enron, which is in the other tables.

The p-values of pairs (Tables 5 and 6) are smaller than those of Conover's test. From the printed
average ranks they come out to the last digit, adjusted by Holm's method, if the numbers of data
sets and of methods are exchanged in its variance, as versions 3.0 and 4.0 of the R package PMCMR
had them.

References
----------
.. [1] Teisseyre, P. (2016). Feature ranking for multi-label classification using Markov networks.
   *Neurocomputing*. arXiv:1602.07464.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

import numpy as np
import pandas as pd

from isingmlc.base.arguments import check_option

MEASURES = ("subset", "hamming", "jaccard")
FRIEDMAN_PVALUES: Mapping[str, float] = MappingProxyType(
    {"subset": 0.0002, "hamming": 0.0009, "jaccard": 0.082}
)
"""p-values of Friedman's test as printed, from values that were not yet rounded."""

_RANKS = "average rank"


def load_paper_table(measure: str) -> pd.DataFrame:
    """Load what each method achieved on each data set (Tables 2–4).

    Parameters
    ----------
    measure : {"subset", "hamming", "jaccard"}
        Which measure.

    Returns
    -------
    DataFrame, data sets × methods
        The measure as printed, to three decimals.

    Raises
    ------
    DataError
        When there is no table of such a measure.

    Examples
    --------
    >>> load_paper_table("subset").loc["scene", ["score", "br-ig"]].tolist()
    [0.486, 0.418]
    """
    return _load_measure(measure).drop(index=_RANKS)


def load_paper_ranks(measure: str) -> pd.Series:
    """Load average ranks, the last row of Tables 2–4.

    Parameters
    ----------
    measure : {"subset", "hamming", "jaccard"}
        Which measure.

    Returns
    -------
    Series
        Average ranks of the methods, the best of seven having rank 7. They come from values that
        were not yet rounded, and are mostly cut off after two decimals, not rounded.

    Raises
    ------
    DataError
        When there is no table of such a measure.

    Examples
    --------
    >>> load_paper_ranks("subset").idxmax()
    'l1'
    """
    return _load_measure(measure).loc[_RANKS].rename("rank")


def load_paper_posthoc(measure: str) -> pd.DataFrame:
    """Load p-values of Conover's test for all pairs of methods (Tables 5–6).

    Parameters
    ----------
    measure : {"subset", "hamming"}
        Which measure.

    Returns
    -------
    DataFrame, methods × methods
        p-values as printed, symmetric, 1 on the diagonal.

    Raises
    ------
    DataError
        When there is no table of such a measure; for Jaccard none is printed.

    Examples
    --------
    >>> float(load_paper_posthoc("hamming").loc["score", "lp-ig"])
    0.007
    """
    check_option("measure", measure, ("subset", "hamming"))
    printed = _read("posthoc").query("measure == @measure").drop(columns="measure")
    printed = printed.set_index("method")
    methods = pd.Index([*printed.columns, printed.index[-1]], name="method")
    lower = printed.reindex(index=methods, columns=methods).to_numpy()
    pvalues = np.where(np.isnan(lower), lower.T, lower)
    np.fill_diagonal(pvalues, 1.0)
    return pd.DataFrame(pvalues, methods, methods)


def load_paper_datasets() -> pd.DataFrame:
    """Load the sizes of the data sets (Table 1).

    Returns
    -------
    DataFrame
        One row per data set: its domain, n rows, p features and K labels as printed. At most the 50
        most frequent labels were used.

    Examples
    --------
    >>> load_paper_datasets().loc["scene", ["n", "p", "K"]].tolist()
    [2407, 294, 6]
    """
    return _read("datasets").set_index("dataset")


def _load_measure(measure: str) -> pd.DataFrame:
    check_option("measure", measure, MEASURES)
    printed = _read("tables").query("measure == @measure").drop(columns="measure")
    return printed.set_index("dataset").rename_axis(columns="method")


def _read(what: str) -> pd.DataFrame:
    with (resources.files("isingmlc.experiments") / f"paper_{what}.csv").open("rb") as file:
        return pd.read_csv(file)
