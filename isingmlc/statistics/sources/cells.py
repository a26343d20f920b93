"""Cells of rows that are not in memory: which columns make them, and how many are held here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.input.context import Context


def covariate_names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Read the names of the columns that are covariates."""
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    names: tuple[Any, ...] = tuple(given) if np.iterable(given) else (given,)
    odd = [type(name).__name__ for name in names if not isinstance(name, str)]
    if odd:
        raise exc.DataError(
            f"covariates must name columns, e.g. ['age', 'sex'], but holds {odd[0]}."
        )
    return names


def check_clashes(
    covariates: Sequence[str], labels: Sequence[str], features: Sequence[str]
) -> None:
    """Refuse columns that are covariates and something else."""
    for others, message in (
        (set(labels), exc.COVARIATE_IS_LABEL),
        (set(features), exc.COVARIATE_AND_FEATURE),
    ):
        shared = [name for name in dict.fromkeys(covariates) if name in others]
        if shared:
            verb = "is" if len(shared) == 1 else "are"
            raise exc.DataError(message.format(names=f"{exc.shorten(shared)} {verb}"))


def check_sampling(
    given: Mapping[str, Any], labels: Sequence[str] | None, features: Sequence[str] | None
) -> Mapping[str, Any]:
    """Check the names of the columns of clusters and of sampling weights."""
    for argument, column in given.items():
        if column is None:
            continue
        if not isinstance(column, str):
            raise exc.DataError(
                f"{argument} must be the name of one column, but is {type(column).__name__}."
            )
        for kind, names in (("labels", labels), ("features", features)):
            if column in (names or ()):
                raise exc.DataError(f"column {column!r} is named by {argument} and by {kind}.")
    return given


def count_keys(context: Context) -> int:
    """Count the columns that tell cells apart besides the labels."""
    return len(context) + (0 if context.sampling is None else len(context.sampling))


def most_cells(n_labels: int, n_covariates: int, limit: float) -> float:
    """Say how many labelsets, or cells where there are covariates, fit into memory."""
    # A cell is here as an answer, as bits and as a pattern; a covariate, which may be text, as what
    # came, as a number and as its place among all numbers.
    return float(np.floor(limit / (2 * n_labels + 64 + 40 * n_covariates)))


def check_cells(n_cells: int, n_labels: int, n_covariates: int, limit: float) -> None:
    """Refuse more labelsets or cells than fit into memory."""
    most = most_cells(n_labels, n_covariates, limit)
    if n_cells <= most:
        return
    if n_covariates:
        raise exc.DataError(
            f"labels and covariates must not have more than {most:.0f} cells (combinations of "
            f"values), or they do not fit into max_memory={limit:g}; they have more. Raise "
            "max_memory, round covariates or put them into classes, or model fewer labels."
        )
    raise exc.DataError(
        f"labels must not have more than {most:.0f} labelsets, or they do not fit into "
        f"max_memory={limit:g}; they have more. Raise max_memory, or model fewer labels."
    )
