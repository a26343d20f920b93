"""What frames that are handed to scikit-learn estimators say, which arrays do not."""

from __future__ import annotations

from typing import Any

import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.input.tables import check_same_rows, check_tags, is_numeric, is_plain


def check_frames(features: Any, labels: Any) -> None:
    """Check the names, types and indexes of frames; scikit-learn's own checks take no notice."""
    check_tags(labels, "y")
    if not isinstance(features, pd.DataFrame):
        return
    names = [name for name, column in features.items() if not _holds_numbers(column)]
    if names:
        kinds = sorted({str(features[name].dtype) for name in names})
        raise exc.DataError(
            exc.NOT_NUMERIC.format(
                argument="X",
                columns=exc.shorten(names),
                kind=", ".join(kinds),
                hint="Encode categories first, e.g. with "
                "sklearn.preprocessing.OneHotEncoder(drop='first'), and turn dates into numbers.",
            )
        )
    if not isinstance(labels, pd.DataFrame | pd.Series):
        return
    check_same_rows("y", labels, "X", features)
    own = set(labels.columns if isinstance(labels, pd.DataFrame) else [labels.name])
    shared = [name for name in features.columns if name in own and isinstance(name, str)]
    if shared:
        verb = "is" if len(shared) == 1 else "are"
        raise exc.DataError(exc.SHARED_NAMES.format(names=f"{exc.shorten(shared)} {verb}"))


def _holds_numbers(column: pd.Series) -> bool:
    return is_plain(column.dtype) or is_numeric(column.infer_objects())
