"""Errors and warnings of the package, with the message templates that belong to them.

Every error is a :class:`ValueError` too, so code that catches what numpy, pandas or
scikit-learn raise catches ours. A message names the argument, what was wanted, what was
given, and what to do. The package never touches the global warning filters.
"""

import sys
import warnings
from collections.abc import Iterable


class IsingError(Exception):
    """Base of all errors that the package raises on purpose.

    Examples
    --------
    >>> import isingmlc as im
    >>> try:
    ...     im.IsingModel([[0, 2], [1, 1]])
    ... except im.exceptions.IsingError as error:
    ...     print(type(error).__name__)
    DataError
    """


class DataError(IsingError, ValueError):
    """What was handed in can not be used as it is."""


class FileError(DataError):
    """A file can not be read: it is absent, damaged, or not of the expected kind."""


class ModelError(IsingError, ValueError):
    """A model can not be fitted or evaluated as asked."""


class IsingWarning(UserWarning):
    """Base of all warnings that the package issues."""


class DataWarning(IsingWarning):
    """The data are usable, but something about them is odd (constant columns, dropped rows)."""


class SeparationWarning(IsingWarning):
    """Some labels are certain given the others, so some coefficients are infinite."""


class AliasingWarning(IsingWarning):
    """Some labels are linear functions of others, so some coefficients are not identified."""


class ConvergenceWarning(IsingWarning):
    """An iterative fit stopped before it had converged."""


ROWS_DIFFER = (
    "{first} has {n_first} rows and {second} has {n_second}: they must describe the same rows. "
    "Pass both for the same observations."
)
INDEX_DIFFERS = (
    "labels and features are pandas objects whose indexes differ, although both have {n} rows. "
    "Align them first, e.g. features = features.loc[labels.index], or drop the indexes with "
    ".reset_index(drop=True) if the rows are in the same order."
)
EMPTY = "{argument} must have at least one {what}, but its shape is {shape}."
WRONG_DIMENSION = (
    "{argument} must be two-dimensional (rows × columns), but has {ndim} dimension(s) and shape "
    "{shape}. Give one column as {argument}.reshape(-1, 1), a Series as {argument}.to_frame()."
)
RAGGED = (
    "{argument} must be a table, but its rows differ in length. Give every row the same columns."
)
SERIES_DIFFER = (
    "{argument} is a list of Series whose indexes differ. Align them first, e.g. with "
    "pandas.concat(series, axis=1, join='inner')."
)
NOTHING_LEFT = (
    "every one of the {n_rows} rows has a missing value, so missing='drop' leaves none. Drop or "
    "fill the columns that are mostly missing."
)
NOT_BINARY = "labels must be coded 0/1, but column {column!r} holds {values}. {hint}"
MISSING = (
    "{argument} has missing values in {n_rows} row(s), in column(s) {columns}. "
    "Drop those rows with missing='drop', or fill them in first."
)
INFINITE = (
    "{argument} has infinite values in {n_rows} row(s), in column(s) {columns}. "
    "Replace them by numbers, or by NaN and drop the rows with missing='drop'."
)
NOT_NUMERIC = (
    "{argument} must be numeric, but column(s) {columns} hold {kind}. Use "
    'IsingModel.from_formula("… ~ C({first})", data) for categories, or code them first with '
    "pandas.get_dummies."
)
DUPLICATE_NAMES = "{argument} has the name(s) {names} more than once. Rename the columns."
SHARED_NAMES = (
    "{names} named as label and as feature: a label can not explain itself. "
    "Drop the column(s) from features, or rename them."
)
NAMES_LENGTH = "{argument} must have one name a column ({wanted}), but has {given}."
BAD_WEIGHTS = (
    "freq_weights must be finite, not negative and not all zero, but {problem}. "
    "They count how many observations a row stands for."
)
NO_LABEL_VARIES = (
    "no label varies: each of the {n_labels} label(s) is the same in all {n_rows} rows, so there "
    "is nothing to model. Check that labels holds the 0/1 outcomes."
)
BAD_OPTION = "{argument} must be one of {allowed}, but is {given!r}."
BAD_COUNT = "{argument} must be a whole number of at least {minimum}, but is {given!r}."

CONSTANT_LABELS = (
    "label(s) {names} are the same in every row: they stay in the tables with the reason "
    "'constant-label' and can not be tested."
)
RARE_LABELS = (
    "label(s) {names} have fewer than {rare} rows of one kind: large-sample p-values of their "
    "edges are not to be trusted."
)
CONSTANT_FEATURES = (
    "feature(s) {names} are the same in every row: they stay in the tables with the reason "
    "'constant-feature' and can not be tested."
)
ROWS_DROPPED = "{n_dropped} of {n_rows} rows have missing values and were dropped."
SEPARATED = (
    "{n_labels} of {total} labels are certain in part of the rows given the other labels "
    "({names}): their fits are the limits, with infinite coefficients, on the rows that remain. "
    "See .diagnostics; fit(method='ridge') or fit(method='firth') keep coefficients finite."
)
ALIASED = (
    "label(s) {names} are linear functions of other labels: their coefficients are not identified "
    "where those labels stand before them, and NaN there. Fitted probabilities are not affected."
)
NOT_CONVERGED = (
    "the fit of label(s) {names} did not converge in {steps} steps; their estimates are "
    "approximate. Raise max_iter."
)
UNIDENTIFIED = (
    "{n_rows} row(s) carry label combinations for which the data do not identify the probability "
    "of label(s) {names}; it is NaN there. fit(method='ridge') gives a finite answer everywhere."
)


def shorten(names: Iterable[object], limit: int = 5) -> str:
    """Write a list of names for a message, at most `limit` of them.

    Parameters
    ----------
    names : iterable
        What to list.
    limit : int
        How many to write out; the number of the others follows.

    Returns
    -------
    str
        The names, quoted and separated by commas.

    Examples
    --------
    >>> shorten(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    listed = [str(name) for name in names]
    text = ", ".join(repr(name) for name in listed[:limit])
    return text if len(listed) <= limit else f"{text} and {len(listed) - limit} more"


def warn(message: str, category: type[IsingWarning]) -> None:
    """Issue a warning that points at the first line outside the package.

    Parameters
    ----------
    message : str
        What to say.
    category : type of IsingWarning
        One of our classes.
    """
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)


def _is_ours(module: str) -> bool:
    return module == "isingmlc" or module.startswith("isingmlc.")
