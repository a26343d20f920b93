"""Formulas: ``"a + b ~ x + C(g)"`` and a frame become labels, features and terms.

Patsy reads them, the engine that statsmodels uses.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import pandas as pd
import patsy

from isingmlc import exceptions as exc


@dataclass(frozen=True)
class FormulaData:
    """What a formula takes from a frame.

    Attributes
    ----------
    labels : DataFrame
        One 0/1 column a term of the left side.
    features : DataFrame or None
        The columns that the right side makes, without a constant.
    terms : dict of str to tuple of str
        Terms of the right side and the columns that each of them made.
    """

    labels: pd.DataFrame
    features: pd.DataFrame | None
    terms: dict[str, tuple[str, ...]]


def read_formula(formula: str, data: pd.DataFrame, missing: str, environment: Any) -> FormulaData:
    """Evaluate a formula on a frame.

    Parameters
    ----------
    formula : str
        Labels on the left, features on the right, e.g. ``"a + b ~ x + C(g)"``.
    data : DataFrame
        Where the names are looked up.
    missing : {"raise", "drop"}
        What to do with rows that have missing values in columns that the formula uses.
    environment : patsy.EvalEnvironment
        Where functions that the formula calls are looked up.

    Returns
    -------
    FormulaData
        Labels, features and terms.

    Raises
    ------
    DataError
        When the formula can not be read or evaluated.
    """
    if not isinstance(data, pd.DataFrame):
        raise exc.DataError(
            f"data must be a DataFrame with the columns of the formula, but is "
            f"{type(data).__name__}. Make one with pandas.DataFrame(data)."
        )
    try:
        description = patsy.ModelDesc.from_formula(formula)
    except patsy.PatsyError as error:
        raise exc.DataError(f"formula {formula!r} can not be read: {error}") from error
    left = [term for term in description.lhs_termlist if term.factors]
    right = [term for term in description.rhs_termlist if term.factors]
    if not left:
        raise exc.DataError(
            f"formula {formula!r} names no label. Write the labels left of '~', e.g. "
            "'a + b ~ x1 + x2'."
        )
    data = _complete_rows(data, _columns_used([*left, *right], data), missing)
    # Patsy knows text only as Python objects.
    text = [name for name in data.columns if isinstance(data[name].dtype, pd.StringDtype)]
    data = data.astype(dict.fromkeys(text, object))
    try:
        labels = pd.concat([_label(term, data, environment) for term in left], axis=1)
        # An intercept in the formula makes patsy code categories against their first level;
        # the model has its own constant, so the column itself is not a feature.
        design = patsy.dmatrix(
            patsy.ModelDesc([], description.rhs_termlist),
            data,
            environment,
            NA_action="raise",
            return_type="dataframe",
        )
    except patsy.PatsyError as error:
        raise exc.DataError(f"formula {formula!r} can not be evaluated: {error}") from error
    spans = {
        _plain_name(term): design.columns[design.design_info.term_slices[term]] for term in right
    }
    terms = {
        name: (name,) if len(columns) == 1 and not columns[0].endswith("]") else tuple(columns)
        for name, columns in spans.items()
    }
    renamed = {
        old: new for name in terms for old, new in zip(spans[name], terms[name], strict=True)
    }
    features = design[[column for columns in spans.values() for column in columns]]
    return FormulaData(labels, features.rename(columns=renamed) if terms else None, terms)


def _columns_used(terms: list[Any], data: pd.DataFrame) -> list[str]:
    """Find the columns of the frame that the factors mention, by name or in ``Q("…")``."""
    mentioned: set[object] = set()
    for term in terms:
        for factor in term.factors:
            for node in ast.walk(ast.parse(factor.code, mode="eval")):
                if isinstance(node, ast.Name):
                    mentioned.add(node.id)
                elif isinstance(node, ast.Constant):
                    mentioned.add(node.value)
    return [name for name in data.columns if name in mentioned]


def _complete_rows(data: pd.DataFrame, used: list[str], missing: str) -> pd.DataFrame:
    absent = data[used].isna()
    rows = absent.any(axis=1).to_numpy()
    if not rows.any():
        return data
    if missing == "raise":
        columns = exc.shorten(absent.columns[absent.any()])
        raise exc.DataError(
            exc.MISSING.format(argument="data", n_rows=int(rows.sum()), columns=columns)
        )
    if rows.all():
        raise exc.DataError(exc.NOTHING_LEFT.format(n_rows=len(data)))
    message = exc.ROWS_DROPPED.format(n_dropped=int(rows.sum()), n_rows=len(data))
    exc.warn(message, exc.DataWarning)
    return data[~rows]


def _label(term: Any, data: pd.DataFrame, environment: Any) -> pd.Series:
    """Evaluate one term of the left side to one 0/1 column."""
    name = _plain_name(term)
    columns = patsy.dmatrix(
        patsy.ModelDesc([], [term]), data, environment, NA_action="raise", return_type="dataframe"
    )
    if columns.shape[1] == 1:
        return columns.iloc[:, 0].rename(name)
    # Patsy treats a boolean as a category with two columns.
    for column in columns:
        if column == f"{term.name()}[True]":
            return columns[column].rename(name)
    levels = [column.removeprefix(term.name()).strip("[]") for column in columns]
    raise exc.DataError(
        f"label {name!r} in the formula has the categories {exc.shorten(levels)} where 0/1 is "
        f"wanted. Compare it with one of them, e.g. I({name} == {levels[-1]!r}), or code it first."
    )


def _plain_name(term: Any) -> str:
    """Name a term as the user would: the column itself for ``Q("my column")``."""
    name: str = term.name()
    if len(term.factors) == 1:
        node = ast.parse(term.factors[0].code, mode="eval").body
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Q"
            and isinstance(node.args[0], ast.Constant)
        ):
            return str(node.args[0].value)
    return name
