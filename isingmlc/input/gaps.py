"""Which columns cost the rows that are dropped for missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, IntArray, chunks

# So many columns are named in a message.
_LISTED = 5


@dataclass
class GapCounts:
    """Rows that are dropped for missing values, and what columns have to do with it."""

    n_dropped: int = 0
    lacking: dict[str, list[int]] = field(default_factory=dict)

    def add(self, other: GapCounts) -> None:
        """Add what was counted in other rows."""
        self.n_dropped += other.n_dropped
        for name, counts in other.lacking.items():
            own = self.lacking.get(name, [0, 0])
            self.lacking[name] = [own[0] + counts[0], own[1] + counts[1]]

    def say(self, n_rows: int, order: Sequence[str] = ()) -> str:
        """Say what was counted; `say_dropped` says how."""
        place = {name: at for at, name in enumerate(order)}
        names = sorted(self.lacking, key=lambda name: place.get(name, len(place)))
        counts = np.array([self.lacking[name] for name in names], dtype=np.int64).reshape(-1, 2)
        return say_dropped(n_rows, self.n_dropped, names, counts[:, 0], counts[:, 1])


def count_gaps(absent: BoolArray, parts: Sequence[tuple[Sequence[object], Any]]) -> GapCounts:
    """Count what is missing in the rows that are dropped."""
    rows = np.flatnonzero(absent)
    names: dict[str, None] = {}
    columns: list[Any] = []
    lacking = np.zeros(len(rows), dtype=np.int64)
    for part, matrix in parts:
        fresh = [at for at, name in enumerate(part) if str(name) not in names]
        names |= dict.fromkeys(str(part[at]) for at in fresh)
        marks = _missing_in(matrix, rows)
        columns.append(marks if len(fresh) == len(part) else marks[:, fresh])
        lacking += np.asarray(columns[-1].sum(axis=1)).ravel()
    alone_rows = (lacking == 1).astype(np.int64)
    total = np.concatenate([np.asarray(part.sum(axis=0)).ravel() for part in columns])
    alone = np.concatenate([np.asarray(part.T @ alone_rows).ravel() for part in columns])
    counted = zip(names, total.tolist(), alone.tolist(), strict=True)
    return GapCounts(len(rows), {name: [n, own] for name, n, own in counted if n})


def missing_error(n_rows: int, blocks: Mapping[str, str]) -> exc.DataError:
    """Make the error that says where values are missing."""
    if len(blocks) == 1:
        ((argument, columns),) = blocks.items()
        if columns:
            text = exc.MISSING.format(argument=argument, n_rows=n_rows, columns=columns)
            return exc.DataError(text)
        return exc.DataError(exc.MISSING_IN.format(argument=argument, n_rows=n_rows))
    *most, last = blocks
    listed = [f"{name} in column(s) {found}" if found else name for name, found in blocks.items()]
    return exc.DataError(
        exc.MISSING_EVERYWHERE.format(
            arguments=f"{', '.join(most)} and {last}", n_rows=n_rows, columns="; ".join(listed)
        )
    )


def say_dropped(
    n_rows: int, n_dropped: int, names: Sequence[object], total: IntArray, alone: IntArray
) -> str:
    """Say which columns cost rows, from counts."""
    said = exc.ROWS_DROPPED.format(n_dropped=n_dropped, n_rows=n_rows)
    order = np.lexsort((-alone, -total))
    order = order[total[order] > 0]
    if not len(order):
        return said
    listed = [
        f"{str(names[at])!r} {'lacks ' if first else ''}{total[at]}"
        f"{' value' + 's' * int(total[at] != 1) if first else ''} "
        f"({alone[at]}{_ALONE if first else ''})"
        for first, at in ((at == order[0], at) for at in order[:_LISTED])
    ]
    more = len(order) - len(listed)
    tail = f" and {more} more column{'s' * (more > 1)}" if more else ""
    said = f"{said[:-1]}: {', '.join(listed)}{tail}."
    worst = int(np.argmax(alone))
    if alone[worst] and len(order) > 1:
        left = n_rows - n_dropped + int(alone[worst])
        said += f" Without {str(names[worst])!r} {left} rows would remain."
    return said


_ALONE = " of these rows lack nothing else"


def _missing_in(matrix: Any, rows: Any) -> Any:
    """Mark what is missing in some rows, as a sparse matrix."""
    if sparse.issparse(matrix):
        part = sparse.csr_array(matrix[rows])
        marks = np.isnan(part.data).astype(np.int64), part.indices, part.indptr
        part = sparse.csr_array(marks, part.shape)
        part.eliminate_zeros()
        return part
    blocks = [
        sparse.csr_array(np.isnan(matrix[rows[block]]).astype(np.int64))
        for block in chunks(len(rows), matrix.shape[1])
    ]
    return sparse.csr_array(sparse.vstack(blocks))
