"""Formulas: ``"a + b ~ x + C(g)"`` and a frame become labels, features and terms.

Patsy reads them, the engine that statsmodels uses.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import patsy

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.input.categories import name_level
from isingmlc.input.context import Context, Recipe, read_context
from isingmlc.input.designs import dump_design
from isingmlc.input.gaps import count_gaps, missing_error
from isingmlc.input.sampling import (
    GROUPS,
    SAMPLING_WEIGHTS,
    check_weights,
    read_sampling,
)

_HINT = (
    "Write labels left of '~' and features right of it, e.g. 'a + b ~ x1 + x2', or 'a + b ~ 1' "
    "where there are no features."
)


@dataclass(frozen=True)
class FormulaData:
    """What a formula takes from a frame."""

    labels: pd.DataFrame
    features: pd.DataFrame | None
    terms: dict[str, tuple[str, ...]]
    weights: FloatArray | None = None
    n_dropped: int = 0
    covariates: Context | None = None
    sampling: Context | None = None
    recipe: Recipe | None = None


def read_formula(
    formula: str,
    data: pd.DataFrame,
    missing: str,
    environment: Any,
    freq_weights: Any = None,
    covariates: str | None = None,
    groups: Any = None,
    sampling_weights: Any = None,
) -> FormulaData:
    """Evaluate a formula on a frame."""
    if not isinstance(data, pd.DataFrame):
        raise exc.DataError(
            f"data must be a DataFrame with the columns of the formula, but is "
            f"{type(data).__name__}. Make one with pandas.DataFrame(data)."
        )
    if len(data) == 0:
        raise exc.DataError(exc.EMPTY.format(argument="data", what="row", shape=data.shape))
    left, right, used = _parse(formula, data)
    given, more = ([], []) if covariates is None else _parse_covariates(covariates, data)
    used = [name for name in data.columns if name in {*used, *more}]
    weights = None
    if freq_weights is not None:
        given_weights = _column("freq_weights", freq_weights, data)
        weights = check_weights(given_weights, "data", data, "drop")
    drawn = (
        _column(GROUPS, groups, data),
        _column(SAMPLING_WEIGHTS, sampling_weights, data),
    )
    sampling = read_sampling(*drawn, "data", data, "drop")
    # A row that stands for no observation is none.
    counted = np.ones(len(data), dtype=np.bool_) if weights is None else weights != 0
    besides: dict[str, FloatArray] = {}
    if sampling is not None:
        besides |= dict(zip(sampling.names, sampling.numbers.T, strict=True))
    if weights is not None:
        besides["freq_weights"] = weights
    kept = counted & _complete_rows(data, used, besides, counted, missing)
    rows = _plain_columns(data if kept.all() else data[kept], used)
    try:
        labels = pd.concat([_label(term, rows, environment) for term in left], axis=1, join="inner")
        # An intercept in the formula makes patsy code categories against their first level;
        # the model has its own constant, so the column itself is not a feature.
        design = _design(right, rows, environment)
        shown = [term for term in right if term.factors]
        features, terms = _name_features(design, shown)
        made_of = [term for term in given if term.factors]
        designed = _design_covariates(covariates, given, rows, environment)
        context, sources = _name_features(designed, made_of, by_level=False)
        made = labels.index.intersection(features.index).intersection(context.index)
        if missing == "raise" and len(made) < len(rows):
            lacking = [
                _plain_name(term)
                for term in [*left, *right, *given]
                if len(_design([term], rows, environment)) < len(rows)
            ]
            blocks = {f"formula {formula!r}": exc.shorten(lacking)}
            raise missing_error(len(rows) - len(made), blocks)
    except exc.DataError:
        raise
    except (patsy.PatsyError, TypeError, ValueError) as error:
        raise exc.DataError(
            f"formula {formula!r} cannot be evaluated: {error}\nNames are looked up among the "
            f"columns of data ({exc.shorten(data.columns, 10)}), then where the formula is used."
        ) from error
    kept[kept] = rows.index.isin(made)
    n_rows, n_left = int(counted.sum()), len(made)
    if n_left == 0:
        raise exc.DataError(exc.NOTHING_LEFT.format(n_rows=n_rows))
    if n_left < n_rows:
        marks = np.where(data[used].isna(), np.nan, 0.0)
        gaps: list[tuple[Sequence[object], Any]] = [(used, marks)]
        gaps += [((name,), values[:, None]) for name, values in besides.items()]
        exc.warn(count_gaps(counted & ~kept, gaps).say(n_rows), exc.DataWarning)
    return FormulaData(
        labels.loc[made].set_axis(data.index[kept]),
        features.loc[made].set_axis(data.index[kept]) if terms else None,
        terms,
        None if weights is None else weights[kept],
        n_rows - n_left,
        _as_context(context.loc[made], sources, made_of, designed, data) if sources else None,
        None if sampling is None else sampling.take(kept),
        _Recipe("features", design.design_info, shown, data.head(1)) if terms else None,
    )


def _parse(formula: str, data: pd.DataFrame) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the terms of both sides and the columns that they mention."""
    if not isinstance(formula, str):
        raise exc.DataError(
            f"formula must be text, but is of type {type(formula).__name__}. {_HINT}"
        )
    try:
        description = patsy.ModelDesc.from_formula(formula)
        left = [term for term in description.lhs_termlist if term.factors]
        right = list(description.rhs_termlist)
        factors = {factor for term in [*left, *right] for factor in term.factors}
        mentioned = {name for factor in factors for name in _mentioned(factor)}
    except (patsy.PatsyError, SyntaxError) as error:
        raise exc.DataError(f"formula {formula!r} cannot be read: {error}\n{_HINT}") from error
    if not left:
        raise exc.DataError(f"formula {formula!r} names no label. {_HINT}")
    single = {term.factors[0] for term in left if len(term.factors) == 1}
    crossed = [term.name() for term in left if len(term.factors) > 1 and single >= {*term.factors}]
    if crossed:
        raise exc.DataError(
            f"formula {formula!r} makes labels of products, {exc.shorten(crossed)}. Write labels "
            "with '+' between them; the model has their interactions anyway."
        )
    used = [name for name in data.columns if name in mentioned]
    if len(set(used)) < len(used):
        repeated = exc.shorten({name for name in used if used.count(name) > 1})
        raise exc.DataError(exc.DUPLICATE_NAMES.format(argument="data", names=repeated))
    plain = {_column_name(factor) for factor in factors}
    dates = [name for name in used if name in plain and data[name].dtype.kind in "mM"]
    if dates:
        raise exc.DataError(
            f"column(s) {exc.shorten(dates)} of data hold dates or times, which a formula cannot "
            "use as they are. Use a part of them, e.g. day.dt.year, or C(day) for categories."
        )
    return left, right, used


def _parse_covariates(formula: str, data: pd.DataFrame) -> tuple[list[Any], list[Any]]:
    """Return the terms of the covariates and the columns that they mention."""
    if not isinstance(formula, str):
        raise exc.DataError(
            "covariates must be text with terms as in a formula, e.g. 'age + C(sex)', but is of "
            f"type {type(formula).__name__}."
        )
    try:
        description = patsy.ModelDesc.from_formula(f"~ {formula}")
        terms = list(description.rhs_termlist)
        factors = {factor for term in terms for factor in term.factors}
        mentioned = {name for factor in factors for name in _mentioned(factor)}
    except (patsy.PatsyError, SyntaxError) as error:
        raise exc.DataError(
            f"covariates {formula!r} cannot be read: {error}\nWrite terms with '+' between them, "
            "e.g. 'age + C(sex)', without '~'."
        ) from error
    if not factors:
        raise exc.DataError(
            f"covariates {formula!r} names no column. Write terms such as 'age + C(sex)', or leave "
            "covariates out."
        )
    return terms, [name for name in data.columns if name in mentioned]


def _design_covariates(
    formula: str | None, terms: list[Any], rows: pd.DataFrame, environment: Any
) -> pd.DataFrame:
    """Make the columns of the covariates; an error is theirs."""
    try:
        return _design(terms, rows, environment)
    except (patsy.PatsyError, TypeError, ValueError) as error:
        raise exc.DataError(
            f"covariates {formula!r} cannot be evaluated: {error}\nNames are looked up among the "
            f"columns of data ({exc.shorten(rows.columns, 10)}), then where the formula is used."
        ) from error


def _as_context(
    columns: pd.DataFrame,
    terms: dict[str, tuple[str, ...]],
    made_of: list[Any],
    designed: pd.DataFrame,
    data: pd.DataFrame,
) -> Context:
    """Make covariates of columns, which remember their terms and how to make them again."""
    sources = {column: term for term, names in terms.items() for column in names}
    used = {
        _plain_name(term): tuple(
            sorted({str(name) for factor in term.factors for name in _mentioned(factor)})
        )
        for term in made_of
    }
    present = {str(name) for name in data.columns}
    names = tuple(columns.columns)
    recipe = _Recipe("covariates", designed.design_info, made_of, data.head(1))
    return read_context(
        columns,
        names,
        tuple(sources[name] for name in names),
        tuple(tuple(each for each in used[sources[name]] if each in present) for name in names),
        recipe,
    )


@dataclass(frozen=True)
class _Recipe:
    """Makes the columns of covariates or features from other rows, as from the first ones."""

    argument: str
    info: Any
    terms: list[Any]
    example: pd.DataFrame

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            design = dump_design((self.info, self.terms))
        except exc.ModelError as error:
            # Features of other rows can still be passed as the columns that the formula makes.
            if self.argument == "features":
                return _LostRecipe, (str(error),)
            raise
        return _restore_recipe, (self.argument, design, self.example)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Recipe:
        # Nothing of it changes.
        return self

    def __call__(self, frame: pd.DataFrame | None = None) -> pd.DataFrame:
        if frame is None:
            return self.example
        mentioned = {
            str(name)
            for term in self.terms
            for factor in term.factors
            for name in _mentioned(factor)
        }
        wanted = [name for name in self.example.columns if str(name) in mentioned]
        lacking = [name for name in wanted if name not in frame.columns]
        if lacking:
            raise exc.DataError(
                exc.LACKING_COLUMNS.format(
                    argument=self.argument,
                    columns=exc.shorten(lacking),
                    present=exc.shorten(frame.columns, 20),
                )
            )
        rows = _plain_columns(frame, wanted)
        try:
            (made,) = patsy.build_design_matrices(
                [self.info], rows, NA_action="raise", return_type="dataframe"
            )
        except (patsy.PatsyError, TypeError, ValueError) as error:
            raise exc.DataError(
                f"the {self.argument} of the formula cannot be made from these values: {error}"
            ) from error
        named, _ = _name_features(made, self.terms, by_level=self.argument == "features")
        return named.set_axis(frame.index)


def _restore_recipe(argument: str, design: bytes, example: pd.DataFrame) -> _Recipe:
    info, terms = pickle.loads(design)
    return _Recipe(argument, info, terms, example)


@dataclass(frozen=True)
class _LostRecipe:
    """Stands for a recipe that could not be pickled, and says so when it is asked."""

    reason: str

    def __call__(self, frame: pd.DataFrame | None = None) -> pd.DataFrame:
        raise exc.ModelError(
            "features cannot be made from columns of data any more, since the formula was not "
            f"pickled with the rest: {self.reason} Or pass the columns that the formula makes."
        )


def _mentioned(factor: Any) -> set[object]:
    """Find the names in a factor, plain or in ``Q("…")``."""
    nodes = list(ast.walk(ast.parse(factor.code, mode="eval")))
    names: set[object] = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {quoted for node in nodes if (quoted := _quoted(node)) is not None}


def _quoted(node: ast.AST) -> object:
    """Return what ``Q("…")`` quotes, None for anything else."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Q"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        return node.args[0].value
    return None


def _column_name(factor: Any) -> object:
    """Name the column that a factor is, ``x`` or ``Q("my column")``; None for an expression."""
    node = ast.parse(factor.code, mode="eval").body
    return node.id if isinstance(node, ast.Name) else _quoted(node)


def _plain_name(term: Any) -> str:
    """Name a term as the user would: the column itself for ``Q("my column")``."""
    column = _column_name(term.factors[0]) if len(term.factors) == 1 else None
    return str(term.name() if column is None else column)


def _column(argument: str, given: Any, data: pd.DataFrame) -> Any:
    """Look a column up where a name is given."""
    if not isinstance(given, str):
        return given
    if given not in data.columns:
        what = "one cluster" if argument == GROUPS else "one number"
        raise exc.DataError(
            f"{argument} must name a column of data or be {what} per row, but is {given!r}. data "
            f"has {exc.shorten(data.columns, 10)}."
        )
    return data[given]


def _complete_rows(
    data: pd.DataFrame,
    used: list[Any],
    besides: Mapping[str, FloatArray],
    counted: BoolArray,
    missing: str,
) -> BoolArray:
    """Mark the rows that lack nothing; raise where a row that counts does, unless to be dropped."""
    absent = data[used].isna().to_numpy(np.bool_) & counted[:, None]
    rows: BoolArray = absent.any(axis=1)
    lacking = [name for name, bad in zip(used, absent.any(axis=0), strict=True) if bad]
    blocks = {"data": exc.shorten(lacking)} if lacking else {}
    for name, values in besides.items():
        unknown = np.isnan(values) & counted
        rows |= unknown
        if unknown.any():
            blocks[name] = ""
    if missing == "raise" and blocks:
        raise missing_error(int(rows.sum()), blocks)
    if not (counted & ~rows).any():
        raise exc.DataError(exc.NOTHING_LEFT.format(n_rows=counted.sum()))
    return ~rows


def _plain_columns(data: pd.DataFrame, used: list[Any]) -> pd.DataFrame:
    """Return rows numbers and columns numpy's types: patsy knows those and categories."""
    plain = data.reset_index(drop=True)
    for name in used:
        column = plain[name].infer_objects()
        if not isinstance(column.dtype, pd.CategoricalDtype | pd.DatetimeTZDtype):
            values = column.to_numpy()
            plain[name] = pd.Series(values, dtype=values.dtype)
    return plain


def _design(terms: list[Any], rows: pd.DataFrame, environment: Any) -> pd.DataFrame:
    """Make the columns of terms; rows for which one of them is missing are left out."""
    return patsy.dmatrix(
        patsy.ModelDesc([], terms), rows, environment, NA_action="drop", return_type="dataframe"
    )


def _label(term: Any, rows: pd.DataFrame, environment: Any) -> pd.Series:
    """Evaluate one term of the left side to one 0/1 column."""
    name = _plain_name(term)
    columns = _design([term], rows, environment)
    levels = columns.design_info.factor_infos[term.factors[0]].categories
    if len(term.factors) == 1 and levels is not None:
        if set(levels) <= {0, 1}:
            # Patsy makes a column of each level, of booleans too.
            return columns.loc[:, [level == 1 for level in levels]].sum(axis=1).rename(name)
        raise exc.DataError(
            f"label {name!r} in the formula has the categories {exc.shorten(levels)} where 0/1 is "
            f"wanted. Write I({term.name()} == …) with the category that means 1; if there "
            "are others than yes and no, make them missing first."
        )
    if columns.shape[1] != 1:
        raise exc.DataError(
            f"label {name!r} in the formula makes {columns.shape[1]} columns where one is wanted. "
            "Make it one column of 0/1 in the data first."
        )
    return columns.iloc[:, 0].rename(name)


def _name_features(
    design: pd.DataFrame, terms: list[Any], by_level: bool = True
) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """Take the columns of terms and name them: as the term where it is a number, else by level."""
    named: dict[str, tuple[str, ...]] = {}
    taken: list[str] = []
    for term in terms:
        name, columns = _plain_name(term), design.columns[design.design_info.term_slices[term]]
        if len(columns) == 0:
            raise exc.DataError(
                f"term {name!r} of the formula makes no column: it has a single category. "
                "Take it out of the formula."
            )
        if name in named:
            raise exc.DataError(exc.DUPLICATE_NAMES.format(argument="features", names=repr(name)))
        is_number = len(columns) == 1 and not columns[0].endswith("]")
        levels = _name_levels(design, term, columns) if by_level else tuple(columns)
        named[name] = (name,) if is_number else levels
        taken.extend(columns)
    names = [name for columns in named.values() for name in columns]
    return design[taken].set_axis(names, axis=1), named


def _name_levels(design: pd.DataFrame, term: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """Name columns of a category by level and reference; others as patsy does."""
    if len(term.factors) != 1:
        return tuple(columns)
    factor = term.factors[0]
    levels = design.design_info.factor_infos[factor].categories
    by_name = {f"{term.name()}[T.{level}]": level for level in levels or ()}
    found = [by_name.get(name) for name in columns]
    others = [level for level in levels or () if level not in found]
    if None in found or len(others) != 1:
        return tuple(columns)
    body = ast.parse(factor.code, mode="eval").body
    if isinstance(body, ast.Call) and getattr(body.func, "id", "") == "C" and body.args:
        body = body.args[0]
    quoted = _quoted(body)
    variable = quoted if quoted is not None else ast.unparse(body)
    return tuple(name_level(str(variable), level, others[0]) for level in found)
