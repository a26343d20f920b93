"""What a multi-label data set looks like in numbers, and fewer labels if there are many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count
from isingmlc.base.tables import ResultTable
from isingmlc.datasets.table_one import check_labels
from isingmlc.input.tables import Dataset

_DECIMALS = {"cardinality": "{:.3f}", "density": "{:.3f}", "imbalance": "{:.2f}"}
_ONE_OR_MORE = "a Dataset, or a list or a dict of them"


@dataclass(frozen=True, repr=False)
class Description:
    """Basic statistics of one or more data sets.

    Attributes
    ----------
    datasets : DataFrame
        One row per data set: ``n`` rows, ``p`` features, ``K`` labels, distinct ``labelsets``,
        ``cardinality`` (labels per row on average), ``density`` (cardinality / K), ``imbalance``
        (mean over the labels of the positives of the most frequent one divided by those of the
        label), and ``missing``, rows that lack a value of some label or feature.
    labels : DataFrame
        One row per label, by data set and label: its ``positives``, their ``share`` of the rows
        where it is known, its ``imbalance``, NaN if it has no positives, and in how many rows it is
        ``missing``.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> labels = pd.DataFrame({"beach": [1, 1, 1, 0], "urban": [0, 1, 0, 0]})
    >>> features = pd.DataFrame({"hue": [0.1, 0.2, 0.3, 0.4]})
    >>> datasets.describe(datasets.Dataset(labels, features, ("hue",), name="photos"))
             n  p  K  labelsets  cardinality  density  imbalance  missing
    dataset
    photos   4  1  2          3        1.000    0.500       2.00        0
    """

    datasets: pd.DataFrame
    labels: pd.DataFrame

    def __repr__(self) -> str:
        formatters = {name: form.format for name, form in _DECIMALS.items()}
        return str(self.datasets.to_string(formatters=formatters))

    def _repr_html_(self) -> str:
        formatters = {name: form.format for name, form in _DECIMALS.items()}
        return str(self.datasets.to_html(formatters=formatters))


def describe(
    data: Dataset | Iterable[Dataset] | Mapping[str, Dataset],
) -> Description:
    """Count rows, features, labels and label sets, and measure how dense and even the labels are.

    Parameters
    ----------
    data : Dataset, or several in a list or a mapping from names
        What to describe; values may be missing.

    Returns
    -------
    Description
        A table of data sets and one of labels; it prints as the first.

    Raises
    ------
    DataError
        When there is nothing to describe, something that is not a data set, or two of one name.

    Notes
    -----
    A label without positives has no imbalance and does not count in the mean. Labelsets are those
    of rows where all labels are known; cardinality is the sum of the shares.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2015). Addressing imbalance in multilabel
    classification: measures and random resampling algorithms. Neurocomputing 163, 3–16.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> labels = pd.DataFrame({"beach": [1, 1, 1, 0], "urban": [0, 1, 0, 0]})
    >>> features = pd.DataFrame({"hue": [0.1, 0.2, 0.3, 0.4]})
    >>> data = datasets.Dataset(labels, features, ("hue",), name="photos")
    >>> datasets.describe({"photos": data}).labels
                   positives  share  imbalance  missing
    dataset label
    photos  beach          3   0.75        1.0        0
            urban          1   0.25        3.0        0
    """
    if isinstance(data, Mapping):
        named = [(str(name), _checked(each, _ONE_OR_MORE)) for name, each in data.items()]
    else:
        # A frame or Series of labels would be walked through by its columns or values.
        is_several = isinstance(data, Iterable) and not isinstance(data, pd.DataFrame | pd.Series)
        several = cast("Iterable[Dataset]", data if is_several else [data])
        named = [(_checked(each, _ONE_OR_MORE).name, each) for each in several]
    names = [name for name, _ in named]
    if not names:
        raise exc.DataError("data must hold at least one data set, but is empty.")
    if len(set(names)) < len(names):
        raise exc.DataError(
            "data holds two data sets of one name. Pass a mapping, e.g. "
            "{'train': train, 'test': test}."
        )
    per_label = {name: _label_table(each.labels) for name, each in named}
    rows = [_row(each, per_label[name]) for name, each in named]
    return Description(
        datasets=ResultTable(rows, index=pd.Index(names, name="dataset")),
        labels=pd.concat(per_label, names=["dataset", "label"]),
    )


def limit_labels(data: Dataset, n_labels: int = 50) -> Dataset:
    """Keep the most frequent labels.

    Parameters
    ----------
    data : Dataset
        The data set.
    n_labels : int
        How many labels to keep, at most.

    Returns
    -------
    Dataset
        The data set with those labels, in their order; of equally frequent labels the first are
        kept. All rows stay, also those that are left without a label: that a row has none of the
        labels is information too.

    Raises
    ------
    DataError
        When `data` is not a data set, or `n_labels` not a count.

    Notes
    -----
    To limit a test set to the labels of its training set, choose columns:
    ``test.labels[train.labels.columns]``.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> labels = pd.DataFrame({"urban": [0, 1, 0], "beach": [1, 1, 1], "field": [0, 1, 1]})
    >>> data = datasets.Dataset(labels, pd.DataFrame({"hue": [1, 2, 3]}), ("hue",))
    >>> datasets.limit_labels(data, 2).labels.columns.tolist()
    ['beach', 'field']
    """
    n_labels = check_count("n_labels", n_labels, 1)
    total = _checked(data).labels.shape[1]
    if n_labels >= total:
        return data
    positives = data.labels.to_numpy().sum(axis=0)
    kept = np.sort(np.argsort(-positives, kind="stable")[:n_labels])
    note = f"Limited to the {n_labels} most frequent of its {total} labels."
    return replace(data, labels=data.labels.iloc[:, kept], DESCR=f"{data.DESCR} {note}".lstrip())


def _checked(given: Dataset, wanted: str = "a Dataset") -> Dataset:
    if not isinstance(given, Dataset):
        raise exc.DataError(
            f"data must be {wanted}, but there is a {type(given).__name__}. Make one with "
            "datasets.Dataset(labels, features, feature_names); isingmlc.describe takes plain "
            "frames."
        )
    return given


def _label_table(labels: pd.DataFrame) -> pd.DataFrame:
    check_labels(labels)
    positives = (labels == 1).sum()
    return ResultTable(
        {
            "positives": positives,
            "share": positives / labels.notna().sum(),
            "imbalance": positives.max() / positives.where(positives > 0),
            "missing": labels.isna().sum(),
        }
    )


def _row(data: Dataset, label_table: pd.DataFrame) -> dict[str, float]:
    n_labels = data.labels.shape[1]
    absent = data.labels.isna().to_numpy().any(axis=1)
    complete = data.labels[~absent].to_numpy().astype(np.bool_)
    if isinstance(data.features, pd.DataFrame):
        absent |= data.features.isna().to_numpy().any(axis=1)
    elif data.features is not None:
        cells = data.features.tocoo()
        absent[cells.coords[0][np.isnan(cells.data)]] = True
    cardinality = label_table["share"].sum()
    return {
        "n": len(data.labels),
        "p": len(data.feature_names),
        "K": n_labels,
        "labelsets": len(np.unique(np.packbits(complete, axis=1), axis=0)),
        "cardinality": cardinality,
        "density": cardinality / n_labels,
        "imbalance": label_table["imbalance"].mean(),
        "missing": int(absent.sum()),
    }
