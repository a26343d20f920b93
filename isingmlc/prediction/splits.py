"""Splits of rows into parts that have the labels in the same shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, make_generator
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray


def stratify(
    labels: BoolArray, shares: FloatArray, generator: np.random.Generator | None = None
) -> IntArray:
    """Split rows into parts by iterative stratification."""
    n_rows = len(labels)
    order = np.arange(n_rows) if generator is None else generator.permutation(n_rows)
    patterns, kind = np.unique(labels[order], axis=0, return_inverse=True)
    kind = kind.ravel()
    counts = np.bincount(kind, minlength=len(patterns))
    rows_of = np.split(order[np.argsort(kind, kind="stable")], np.cumsum(counts)[:-1])
    wanted = shares * n_rows
    wanted_with = np.outer(shares, counts @ patterns)
    left_with = counts @ patterns
    waiting = np.ones(len(patterns), dtype=np.bool_)
    parts = np.empty(n_rows, dtype=np.intp)

    def deal_out(at: int, wishes: FloatArray) -> None:
        nonlocal wanted, wanted_with, left_with
        size = counts[at]
        # Every row that a part gets leaves it wanting one less. Wants are relative to shares, or
        # a large part would have all that comes first.
        fewer = np.arange(size)
        first, second = (
            (np.subtract.outer(each, fewer) / shares[:, None]).ravel() for each in (wishes, wanted)
        )
        owner = np.repeat(np.arange(len(shares)), size)
        # Sums of shares that should be equal may differ by rounding.
        best = np.lexsort((owner, -second.round(9), -first.round(9)))[:size]
        parts[rows_of[at]] = owner[best]
        given = np.bincount(owner[best], minlength=len(shares))
        wanted = wanted - given
        wanted_with = wanted_with - np.outer(given, patterns[at])
        left_with = left_with - size * patterns[at]
        waiting[at] = False

    while left_with.any():
        label = int(np.where(left_with > 0, left_with, np.inf).argmin())
        for at in np.flatnonzero(waiting & patterns[:, label]).tolist():
            deal_out(at, wanted_with[:, label])
    for at in np.flatnonzero(waiting).tolist():
        deal_out(at, wanted)
    return parts


class MultilabelStratifiedKFold(BaseCrossValidator):  # type: ignore[misc]
    """Folds in which every label is about as frequent as in all rows.

    scikit-learn's `StratifiedKFold` takes one label. This splitter takes several, by iterative
    stratification [1]_, and goes wherever scikit-learn takes ``cv=``.

    Parameters
    ----------
    n_splits : int
        How many folds.
    shuffle : bool
        Whether rows are put in random order first.
    random_state : int, Generator or None
        Source of that order.

    References
    ----------
    .. [1] Sechidis, K., Tsoumakas, G., Vlahavas, I. (2011). On the stratification of multi-label
       data. *ECML PKDD 2011*, 145–158.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.sklearn import MultilabelStratifiedKFold
    >>> data = im.datasets.load_example()
    >>> folds = MultilabelStratifiedKFold(3).split(data.features, data.labels)
    >>> [int(data.labels["asthma"].iloc[test].sum()) for _, test in folds]
    [54, 54, 55]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: RandomState = None
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups
            Not looked at.

        Returns
        -------
        int
            `n_splits`.

        Examples
        --------
        >>> from isingmlc.sklearn import MultilabelStratifiedKFold
        >>> MultilabelStratifiedKFold(4).get_n_splits()
        4
        """
        return check_count("n_splits", self.n_splits, 2)

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Any]:
        n_splits = self.get_n_splits()
        if y is None:
            raise exc.DataError("y must hold the labels that folds are to have in the same shares.")
        labels = np.asarray(y.toarray() if sparse.issparse(y) else y)
        labels = labels[:, None] if labels.ndim == 1 else labels
        if not np.isin(labels, (0, 1)).all():
            raise exc.DataError(
                "y must be coded 0/1, one column per label. Code the value that means yes as 1 "
                "and the other as 0."
            )
        if n_splits > len(labels):
            raise exc.DataError(
                f"n_splits must be at most the number of rows, {len(labels)}, but is {n_splits}."
            )
        generator = make_generator(self.random_state) if self.shuffle else None
        parts = stratify(labels == 1, np.full(n_splits, 1 / n_splits), generator)
        for part in range(n_splits):
            yield np.flatnonzero(parts == part)
