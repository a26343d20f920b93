"""One batch of rows, in whichever form it comes, through the same door as all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.data import ModelData, prepare


def read_batch(
    batch: Any,
    labels: Sequence[str] | None,
    features: Sequence[str] | None,
    weights: str | None,
    missing: str,
) -> ModelData | None:
    """Check one batch.

    Parameters
    ----------
    batch : tuple or DataFrame
        ``(labels, features)`` or ``(labels, features, freq_weights)``, or a frame.
    labels, features : sequence of str or None
        The columns of a frame.
    weights : str or None
        The column of a frame that holds the frequency weights.
    missing : {"raise", "drop"}
        What to do with rows that have missing values.

    Returns
    -------
    ModelData or None
        The rows; None where there is none to use.
    """
    if labels is None:
        if not isinstance(batch, tuple) or len(batch) not in (2, 3):
            raise exc.DataError(
                "batches must yield (labels, features) or (labels, features, freq_weights), but "
                f"yielded {type(batch).__name__}. For frames, name the label columns: labels=[…]."
            )
        return _prepare_batch(*batch, missing=missing)
    labels = [labels] if isinstance(labels, str) else list(labels)
    if not isinstance(batch, pd.DataFrame):
        raise exc.DataError(
            f"with labels named, batches must yield frames that hold all columns, but yielded "
            f"{type(batch).__name__}. Leave labels out for (labels, features) pairs."
        )
    named = [*labels, *(features or ()), *([weights] if weights else [])]
    lacking = [name for name in named if name not in batch.columns]
    if lacking:
        raise exc.DataError(
            f"a batch lacks the column(s) {exc.shorten(lacking)}; it has "
            f"{exc.shorten(batch.columns, 20)}."
        )
    if features is None:
        features = [name for name in batch.columns if name not in {*labels, weights}]
    return _prepare_batch(
        batch[labels],
        batch[list(features)] if len(features) else None,
        batch[weights].to_numpy() if weights else None,
        missing=missing,
    )


def _prepare_batch(
    labels: Any, features: Any, weights: Any = None, *, missing: str
) -> ModelData | None:
    """Check a batch as the door does, but let one pass that has nothing to add."""
    try:
        return prepare(labels, features, freq_weights=weights, missing=missing)
    except exc.NoRowsError:
        return None
