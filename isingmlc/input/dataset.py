"""The container that every loader and generator of data returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from isingmlc import exceptions as exc


@dataclass(frozen=True, repr=False)
class Dataset:
    """Labels and features of one data set, with what is known about them.

    Attributes
    ----------
    labels : DataFrame, shape (n, K)
        The 0/1 labels.
    features : DataFrame or csr_array, shape (n, p)
        The features; sparse if the source is sparse.
    feature_names : tuple of str
        Names of the features, in column order, also if `features` is sparse.
    relevant : tuple of str or None
        Names of the features that act on the labels, if the truth is known.
    truth : mapping or None
        What the data were drawn from, if they are simulated and that is known.
    name : str
        Short name.
    DESCR : str
        Where the data come from and what they hold.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> data.labels.shape, data.features.shape
    ((1500, 6), (1500, 30))
    """

    labels: pd.DataFrame
    features: Any
    feature_names: tuple[str, ...]
    relevant: tuple[str, ...] | None = None
    truth: Mapping[str, Any] | None = None
    name: str = ""
    DESCR: str = ""

    def __repr__(self) -> str:
        n_rows, n_labels = self.labels.shape
        kind = "" if isinstance(self.features, pd.DataFrame) else "sparse "
        return (
            f"Dataset({self.name!r}: {n_rows} rows, {n_labels} labels, "
            f"{len(self.feature_names)} {kind}features)"
        )


def open_dataset(labels: Any, features: Any, feature_names: Any) -> tuple[Any, Any, Any]:
    """Take labels, features and their names out of a `Dataset`; leave anything else as it is.

    Parameters
    ----------
    labels : Dataset or anything
        What was passed as labels.
    features, feature_names : anything
        What was passed beside it; nothing may be, beside a `Dataset`.

    Returns
    -------
    labels, features, feature_names
        The three, as `IsingModel` takes them.

    Raises
    ------
    DataError
        When features were passed beside a `Dataset`.
    """
    if not isinstance(labels, Dataset):
        return labels, features, feature_names
    if features is not None or feature_names is not None:
        raise exc.DataError(
            "labels is a Dataset, which has features of its own. Pass the Dataset alone, or its "
            ".labels with other features."
        )
    return labels.labels, labels.features, labels.feature_names
