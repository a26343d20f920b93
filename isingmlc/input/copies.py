"""Features that are labels: what names of columns tell, and unnamed arrays do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, IntArray, dense

# Rows of the rarer kind that a label has at least: with fewer, other columns equal it by chance.
_FEWEST = 5
# Rows that tell nearly all columns that are no 0/1 columns, rows that tell most of those apart, and
# rows among which ones and zeros of each label are looked for.
_FIRST_LOOK = 16
_SECOND_LOOK = 64
_THIRD_LOOK = 10_000
# How many copies are named.
_SAID = 3


class Copy(NamedTuple):
    """A feature that equals a label in every row.

    Attributes
    ----------
    feature, label : int
        Their positions.
    opposite : bool
        Whether it is one where the label is zero.
    """

    feature: int
    label: int
    opposite: bool


def find_copies(features: Any, labels: Any) -> list[Copy]:
    """Find the features that equal a label, or its opposite, in every row.

    A few rows tell nearly all columns apart; only those that look alike are read as a whole.

    Parameters
    ----------
    features : ndarray or csr_array, shape (n, p)
        The features.
    labels : ndarray or csr_array, shape (n, K)
        The labels, zeros and ones.

    Returns
    -------
    list of Copy
        The features, in their order.

    Examples
    --------
    >>> labels = np.array([[0], [1]] * 5)
    >>> find_copies(np.hstack([np.arange(10)[:, None], 1 - labels]), labels)
    [Copy(feature=1, label=0, opposite=True)]
    """
    n_rows, n_features = features.shape
    if not n_features or n_rows < 2 * _FEWEST:
        return []
    if sparse.issparse(features):
        suspects = _alike_in_number(features, np.asarray(labels.sum(axis=0)).ravel())
    else:
        first = features[:: max(1, n_rows // _FIRST_LOOK)]
        suspects = np.flatnonzero(((first == 0) | (first == 1)).all(axis=0))
    if not len(suspects):
        return []
    few = _telling_rows(labels)
    some = features[few] if len(suspects) == n_features else features[few][:, suspects]
    values, known = dense(some), dense(labels[few]) != 0
    counted = np.flatnonzero(known.any(axis=0) & ~known.all(axis=0))
    # Sums of random whole numbers over the ones of a column are the same for equal columns, and
    # hardly for others. As floats they are exact, and fast.
    numbers = np.random.default_rng(0).integers(1, 2**32, len(few)).astype(np.float64)
    own, of_labels = numbers @ values, numbers @ known[:, counted].astype(np.float64)
    marks = np.concatenate([of_labels, numbers.sum() - of_labels])
    found = []
    for at in np.flatnonzero(np.isin(own, marks)).tolist():
        column = dense(features[:, [suspects[at]]]).ravel()
        for alike in np.flatnonzero(marks == own[at]).tolist():
            opposite, label = alike >= len(counted), int(counted[alike % len(counted)])
            truth = (dense(labels[:, [label]]).ravel() != 0) != opposite
            rarer = min(truth.sum(), n_rows - truth.sum())
            if rarer >= _FEWEST and (column == truth).all():
                found.append(Copy(int(suspects[at]), label, opposite))
    return sorted(found)


def _alike_in_number(features: Any, positives: IntArray) -> IntArray:
    """Find sparse columns with as many ones, and no other values, as a label has ones or zeros."""
    n_rows, n_features = features.shape
    filled = np.bincount(features.indices, minlength=n_features)
    suspects = np.isin(filled, np.concatenate([positives, n_rows - positives]))
    if suspects.any():
        ones = np.bincount(features.indices[features.data == 1], minlength=n_features)
        suspects &= ones == filled
    return np.flatnonzero(suspects)


def _telling_rows(labels: Any) -> IntArray:
    """Choose rows that are spread over all, and such that each label has ones and zeros in some."""
    n_rows = labels.shape[0]
    spread = np.arange(0, n_rows, max(1, n_rows // _SECOND_LOOK))
    step = max(1, n_rows // _THIRD_LOOK)
    sample = dense(labels[::step]) != 0
    chosen = [spread, step * _ends(sample)]
    rare = np.flatnonzero(~sample.any(axis=0) | sample.all(axis=0))
    if step > 1 and len(rare):
        chosen.append(_ends(dense(labels[:, rare]) != 0))
    return np.unique(np.concatenate(chosen))


def _ends(marks: BoolArray) -> IntArray:
    """Give the first and the last rows in which columns are true, and in which they are false."""
    last = len(marks) - 1
    firsts, lasts = ([rows.argmax(axis=0), rows.argmin(axis=0)] for rows in (marks, marks[::-1]))
    return np.concatenate([*firsts, *(last - each for each in lasts)])


def warn_of_copies(
    features: Any, labels: Any, feature_names: Sequence[object], label_names: Sequence[object]
) -> None:
    """Warn once of features that equal a label, or its opposite, in every row.

    Parameters
    ----------
    features, labels
        As `find_copies` takes them.
    feature_names, label_names : sequence
        Names of their columns.

    Warns
    -----
    DataWarning
        When some do.
    """
    found = find_copies(features, labels)
    if not found:
        return
    said = [
        f"{str(feature_names[each.feature])!r} (column {each.feature} from 0, "
        f"{'the opposite of' if each.opposite else 'equal to'} label "
        f"{str(label_names[each.label])!r})"
        for each in found
    ]
    more = f" and {len(said) - _SAID} more" if len(said) > _SAID else ""
    columns = [each.feature for each in found[:_SAID]]
    message = exc.FEATURE_COPIES_LABEL.format(
        copies=", ".join(said[:_SAID]) + more, columns=columns
    )
    exc.warn(message, exc.DataWarning)
