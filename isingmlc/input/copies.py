"""Features that are labels: what names of columns tell, and unnamed arrays do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import chunks, dense

# Rows that tell columns apart; a column that equals a label in them is compared in all rows.
_LOOKED_AT = 1000
# Labels with fewer ones or zeros among these rows are not looked for: other columns equal them by
# chance.
_FEWEST = 5
# How many copies are named.
_SAID = 3


def warn_of_copies(
    features: Any, labels: Any, feature_names: Sequence[object], label_names: Sequence[object]
) -> None:
    """Warn once of features that equal a label in every row."""
    step = max(1, features.shape[0] // _LOOKED_AT)
    values, known = features[::step], dense(labels[::step]) != 0
    rarer = np.minimum(known.sum(axis=0), (~known).sum(axis=0))
    counted = np.flatnonzero(rarer >= _FEWEST)
    # Sums of random whole numbers over the ones of columns are exact as floats, and hardly ever
    # equal if the columns are not.
    numbers = np.random.default_rng(0).integers(1, 2**32, len(known)).astype(np.float64)
    marks = numbers @ known[:, counted].astype(np.float64)
    parts = [slice(None)] if sparse.issparse(values) else chunks(values.shape[1], 8 * len(known))
    own = np.concatenate([numbers @ values[:, part] for part in parts])
    said, columns = [], []
    for at in np.flatnonzero(np.isin(own, marks)).tolist():
        for label in counted[marks == own[at]].tolist():
            if (dense(features[:, [at]]) == (dense(labels[:, [label]]) != 0)).all():
                names = str(feature_names[at]), str(label_names[label])
                said.append(f"{names[0]!r} (column {at} from 0, equal to label {names[1]!r})")
                columns.append(at)
    if said:
        more = f" and {len(said) - _SAID} more" if len(said) > _SAID else ""
        copies = ", ".join(said[:_SAID]) + more
        message = exc.FEATURE_COPIES_LABEL.format(copies=copies, columns=columns[:_SAID])
        exc.warn(message, exc.DataWarning)
