"""Errors and warnings of the package, with the message templates that belong to them.

Every error is a :class:`ValueError` too, so code that catches what numpy, pandas or
scikit-learn raise catches ours. A message names the argument, what was wanted, what was
given, and what to do. The package never touches the global warning filters.
"""

import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "AliasingWarning",
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "EngineError",
    "FileError",
    "IsingError",
    "IsingWarning",
    "LowInformationWarning",
    "ModelError",
    "NoRowsError",
    "SeparationWarning",
]


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
    """What was handed in cannot be used as it is.

    Examples
    --------
    >>> import isingmlc as im
    >>> im.IsingModel([[0, 2], [1, 1]])
    Traceback (most recent call last):
        ...
    isingmlc.exceptions.DataError: labels must be coded 0/1, but column 'y2' holds 1, 2. ...
    """


class NoRowsError(DataError):
    """No row is left that could be used.

    Examples
    --------
    >>> import isingmlc as im
    >>> im.IsingModel([[0, float("nan")]], missing="drop")
    Traceback (most recent call last):
        ...
    isingmlc.exceptions.NoRowsError: every one of the 1 rows has a missing value, ...
    """


class FileError(DataError):
    """A file cannot be read: it is absent, damaged, or not of the expected kind.

    Examples
    --------
    >>> import isingmlc as im
    >>> im.datasets.read_table("nowhere.csv", labels=["a"])
    Traceback (most recent call last):
        ...
    isingmlc.exceptions.FileError: nowhere.csv: there is no such file. Check the name.
    """


class ModelError(IsingError, ValueError):
    """A model cannot be fitted or evaluated as asked.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> im.IsingModel(data.labels).fit().score_test()
    Traceback (most recent call last):
        ...
    isingmlc.exceptions.ModelError: the model has no features to test: ...
    """


class EngineError(IsingError, ValueError):
    """What reads the rows is not installed, or failed: a database, a cluster, a worker process.

    Examples
    --------
    >>> import isingmlc as im
    >>> try:
    ...     raise im.exceptions.EngineError("the database could not run the query")
    ... except ValueError as error:
    ...     print(error)
    the database could not run the query
    """


class IsingWarning(UserWarning):
    """Base of all warnings that the package issues.

    Examples
    --------
    >>> import warnings
    >>> import isingmlc as im
    >>> labels = [[0, 0]] * 30 + [[0, 1]] * 20 + [[1, 0]] * 20  # the two never meet
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     results = im.IsingModel(labels).fit()
    >>> issubclass(caught[0].category, im.exceptions.IsingWarning)
    True
    """


class DataWarning(IsingWarning):
    """The data are usable, but something about them is odd (constant columns, dropped rows).

    Examples
    --------
    >>> import warnings
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     results = im.IsingModel(data.labels.assign(alive=1)).fit()
    >>> [each.category.__name__ for each in caught]
    ['DataWarning']
    """


class SeparationWarning(IsingWarning):
    """Some labels are certain given the others, so some coefficients are infinite.

    Examples
    --------
    >>> import warnings
    >>> import isingmlc as im
    >>> labels = [[0, 0]] * 30 + [[0, 1]] * 20 + [[1, 0]] * 20  # the two never meet
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     results = im.IsingModel(labels).fit()
    >>> [each.category.__name__ for each in caught]
    ['SeparationWarning']
    """


class AliasingWarning(IsingWarning):
    """Some labels are linear functions of others, so some coefficients are not identified.

    Examples
    --------
    >>> import warnings
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     results = im.IsingModel(data.labels.assign(again=data.labels["asthma"])).fit()
    >>> [each.category.__name__ for each in caught]
    ['SeparationWarning', 'AliasingWarning']
    """


class ConvergenceWarning(IsingWarning):
    """An iterative fit, or a sampler, stopped before it had converged.

    Examples
    --------
    >>> import warnings
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     results = im.IsingModel(data.labels).fit(max_iter=1)
    >>> [each.category.__name__ for each in caught]
    ['ConvergenceWarning']
    """


class LowInformationWarning(IsingWarning):
    """Rows say little about some labels: there large-sample p-values are not to be trusted.

    Examples
    --------
    >>> import warnings
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> model = im.IsingModel(data.labels[:60], data.features[:60])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     edges = model.fit(penalty=1.0).score_test()
    >>> [each.category.__name__ for each in caught]
    ['LowInformationWarning']
    """


ROWS_DIFFER = (
    "{first} has {n_first} rows and {second} has {n_second}: they must describe the same rows. "
    "Pass both for the same observations."
)
INDEX_DIFFERS = (
    "{first} and {second} are pandas objects whose indexes differ, although both have {n} rows. "
    "Align them first, e.g. {second} = {second}.loc[{first}.index], or drop the indexes with "
    ".reset_index(drop=True) if the rows are in the same order."
)
EMPTY = (
    "{argument} must have at least one {what}, but its shape is {shape}. Check how it was read or "
    "selected (features and covariates may be left out)."
)
NOT_A_TABLE = (
    "{argument} must be a table (array, DataFrame, list of Series or scipy.sparse), but is of type "
    "{given}. Make one first, e.g. with pandas.DataFrame."
)
NO_ARROW = (
    "a {kind} is read by way of pyarrow, which is not installed. Install the extra: pip install "
    '"isingmlc[engines]".'
)
WRONG_DIMENSION = (
    "{argument} must be two-dimensional (rows × columns), but has {ndim} dimension(s) and shape "
    "{shape}. Give a single column as numpy.reshape({argument}, (-1, 1)), a Series as "
    "{argument}.to_frame()."
)
TAGS = (
    "{argument} must have one 0/1 column per label, but lists the tags of each row. Make the "
    "columns first: from sklearn.preprocessing import MultiLabelBinarizer; binarizer = "
    "MultiLabelBinarizer(); {argument} = pd.DataFrame(binarizer.fit_transform({argument}), "
    "columns=binarizer.classes_{index})"
)
RAGGED = (
    "{argument} must be rectangular, but its rows differ in length. Give every row the same number "
    "of values."
)
SERIES_DIFFER = (
    "{argument} must be a list of Series that share one index, but number {position} has another "
    "index or is no Series. Align them first, e.g. with "
    "pandas.concat(series, axis=1, join='inner')."
)
NOTHING_LEFT = (
    "every one of the {n_rows} rows has a missing value, so missing='drop' leaves none. Drop or "
    "fill the columns that are mostly missing."
)
NOT_BINARY = "labels must be coded 0/1, but column {column!r} holds {values}. {hint}"
OUTLIER = (
    "{argument} must lie within {farthest} standard deviations, but column {column!r} holds "
    "{value:g} where all other rows are between {low:g} and {high:g}. Is it the code of a missing "
    "value? If not, take logarithms or ranks of the column."
)
MISSING = (
    "{argument} has missing values in {n_rows} row(s), in column(s) {columns}. "
    "Drop those rows with missing='drop', or fill them in first."
)
MISSING_IN = (
    "{argument} has missing values in {n_rows} row(s). "
    "Drop those rows with missing='drop', or fill them in first."
)
MISSING_EVERYWHERE = (
    "{arguments} have missing values in {n_rows} row(s): {columns}. "
    "Drop those rows with missing='drop', or fill them in first."
)
INFINITE = (
    "{argument} has infinite values (or values beyond ±{largest:g}) in {n_rows} row(s), in "
    "column(s) {columns}. Replace them by numbers, or leave those rows out."
)
NOT_NUMERIC = "{argument} must be numeric, but column(s) {columns} are of type {kind}. {hint}"
CODE_LABEL = "Code it 0/1 in a DataFrame: {code}. Missing answers stay missing."
CODE_VALUES = (
    "If it is a feature, pass it as one; otherwise say which values mean 1 and which 0, and leave "
    "missing answers missing."
)
CODE_FEATURES = (
    'For categories use IsingModel.from_formula("… ~ C({name})", data), which drops rows whose '
    "category is missing with missing='drop'; turn dates and other values into numbers first."
)
DUPLICATE_NAMES = "{argument} has the name(s) {names} more than once. Rename the columns."
SHARED_NAMES = (
    "{names} named as label and as feature: a label cannot explain itself. "
    "Take the column(s) out of the features, or rename them."
)
FEATURE_COPIES_LABEL = (
    "feature(s) {copies} in every row: the label itself, or what tells it without error. Its test "
    "for that label is one of the label against itself; for the other labels, whose models have "
    "the label already, it has none (collinear-feature); and a classifier copies it. If it is the "
    "label, or is not known before the label is, take it out, e.g. "
    "np.delete(features, {columns}, axis=1)."
)
COVARIATE_IS_LABEL = (
    "{names} named as label and as covariate: a label cannot be conditioned on itself, and its "
    "model has the other labels anyway. Take the column(s) out of the covariates, or rename them."
)
COVARIATE_COPIES_LABEL = (
    "covariate {name!r} is the label {label!r} in every row, or its opposite: a label cannot be "
    "conditioned on itself. Take it out of the covariates."
)
TOO_MANY_COVARIATES = (
    "covariates make {n_columns} columns for {n_rows} rows: nothing would be left to test. Leave "
    "out covariates, or merge levels of categories."
)
COVARIATE_IS_FEATURE = (
    "{names} named as feature and as covariate, with different values. Rename the column(s), or "
    "take them out of the features or the covariates."
)
COVARIATE_AND_FEATURE = (
    "{names} named as feature and as covariate: given itself, nothing of a column is left to test. "
    "Take the column(s) out of the features or the covariates."
)
NOT_A_COVARIATE = (
    "covariates must hold numbers or categories, but column(s) {columns} are of type {kind}. Turn "
    "dates and other values into numbers, or into text or pandas' category for categories."
)
BAD_NAMES = "{argument} must be a list with one name per column ({wanted}), but {problem}."
BAD_WEIGHTS = (
    "freq_weights must hold one number per row, finite and not negative, but {problem}. "
    "They count how many observations a row stands for; 0 leaves a row out."
)
WEIGHTS_APART = (
    "{argument} must lie within a factor of {ratio} of each other, but range from {least:g} to "
    "{most:g}. Leave out rows that weigh next to nothing, or check the units."
)
BAD_SAMPLING_WEIGHTS = (
    "sampling_weights must hold one number per row, finite and above zero, but {problem}. They "
    "are the inverse of the probability that a row was drawn; drop rows that were not drawn."
)
NOT_WHOLE = (
    "freq_weights are not whole numbers. They count how many observations a row stands for, and "
    "standard errors and tests take them so. If they are inverse probabilities of being drawn, "
    "pass them as sampling_weights."
)
VERY_FEW_CLUSTERS = (
    "there are {n_clusters} clusters: how clusters vary is hardly known from so few, and errors, "
    "intervals and p-values that follow them are rough. Use smaller clusters if there are any, or "
    "make them a covariate."
)
TEXT_OF_NUMBERS = (
    "covariate(s) {columns} hold numbers written as text and are taken as categories, a level for "
    "each. Turn them into numbers, e.g. with pd.to_numeric, if they are meant as such."
)
ONE_LEVEL = "feature(s) {names} hold the same text in every row and were left out."
TERM_IN_BLOCKS = (
    "to test a category as a whole its sums must fit into memory, but there are too many "
    "labelsets. Leave categories out, or model fewer labels."
)
LEAVE_OUT_IDENTIFIERS = "{name!r} looks like an identifier of rows: leave it out."
COUNT_DATES = (
    "{name!r} holds dates: turn them into numbers, such as days since the first one, or leave them "
    "out."
)
NUMBERS_AS_TEXT = (
    "{name!r} holds numbers written as text: turn them into numbers, e.g. with pd.to_numeric."
)
FEW_CLUSTERS = (
    "there are {n_clusters} clusters, fewer than the {n_coefficients} coefficients of a label "
    "model: the covariance of these is singular, and tests of several at once mean nothing. Use "
    "fewer labels or covariates, or smaller clusters."
)
NO_LABEL_VARIES = (
    "no label varies: each of the {n_labels} label(s) is the same in all {n_rows} rows, so there "
    "is nothing to model. Check that labels holds the 0/1 outcomes."
)
BAD_OPTION = "{argument} must be one of {allowed}, but is {given!r}."
BAD_COUNT = "{argument} must be a whole number of at least {minimum}, but is {given!r}."

CONSTANT_LABELS = (
    "label(s) {names} are the same in {where}: they stay in the tables with the reason "
    "'constant-label' and cannot be tested."
)
LOW_INFORMATION = (
    "the rows carry little information, Σp(1−p), about label(s) {names}: at least {least} in all, "
    "and {per_coefficient:g} per coefficient of a label's model, is wanted{skewed} (see "
    ".diagnostics). {remedy}."
)
SKEWED = " for features as skewed as these"
MEND_CHI2 = (
    "Large-sample p-values of their edges are not to be trusted: use score_test with "
    "pvalue='auto', fit(neighbors='ebic') or fit(penalty=1.0)"
)
MEND_TERMS = (
    "p-values of terms are corrected for it from rows, and this model holds none, so they are not "
    "to be trusted: fit a model that holds its rows"
)
MEND_ROBUST = (
    "Robust variances of their scores come from too few rows, and p-values are not to be trusted: "
    "compare fit(cov_type='nonrobust'), or fit(neighbors='ebic')"
)
MEND_GIVEN = (
    "p-values of products given their feature are corrected for it (pvalue_method says how), and "
    "too large as a rule: they may miss something"
)
MEND_AUTO = (
    "Their p-values are corrected for it (pvalue_method says how) and approximate; "
    "fit(neighbors='ebic') leaves more information to test with"
)
LOW_INFORMATION_PRODUCTS = (
    "products with label(s) {names} are in few rows: the rows that carry the label have little "
    "information, Σp(1−p) below {least:g}, about another label. Their p-values are corrected for "
    "it (pvalue_method says how) and approximate: most are too large, but given a rare feature "
    "some are too small. Leave these labels out of the model, or test features alone "
    "(products=None)."
)
CONSTANT_COVARIATES = (
    "covariate(s) {names} are the same in {where}: they change nothing and are left out."
)
CONSTANT_FEATURES = (
    "feature(s) {names} are the same in {where}: they stay in the tables with the reason "
    "'constant-feature' and cannot be tested."
)
ROWS_DROPPED = "{n_dropped} of {n_rows} rows have missing values and were dropped."
COVARIATES_LACK = " Of the covariates these lack values: {columns}."
SEPARATED = (
    "{n_labels} of {total} labels are certain in part of the rows given the other {given} "
    "({names}): their fits are the limits, with infinite coefficients, on the rows that remain. "
    "See .diagnostics; {remedy}."
)
SKIPPED = (
    "{patterns}. If they were asked only then, and a skipped "
    "answer was coded 0, their interactions reflect that rule and not an association: fit only the "
    "rows in which they were asked, with the screening label left out (if there are two, as "
    "covariates)."
)
TOO_LARGE = (
    "without a penalty the models of {n_labels:,} labels may need {needed:.0f} GB of memory, more "
    "than {most:.0f} GB. Give each label fewer others, as fit(neighbors='ebic') or "
    "fit(neighbors=20) do, or use fit(penalty=1.0)."
)
ALIASED = (
    "label(s) {names} are linear functions of other {others}: their coefficients are not "
    "identified where those stand before them, and NaN there. Fitted probabilities are not "
    "affected."
)
ALIASED_COVARIATES = (
    "covariate(s) {names} are linear functions of other covariates or of labels: their "
    "coefficients are not identified and NaN. Fitted probabilities and tests are not affected."
)
DETERMINED_BY_COVARIATES = (
    "label(s) {names} are determined by the covariates: they have no penalised fit, only their "
    "place in those of others. penalize_covariates=True keeps their models finite."
)
SEPARATED_BY_COVARIATES = (
    "label(s) {names} are certain in part of the rows given the covariates: their fits are the "
    "limits, with infinite coefficients of covariates, on the rows that remain. "
    "penalize_covariates=True keeps coefficients finite."
)
PATHS_NOT_CONVERGED = (
    "the paths of label(s) {names} did not converge in {steps} steps: their estimates are "
    "approximate. Raise max_iter."
)
NOT_CONVERGED = (
    "the fit of label(s) {names} did not converge in {steps} steps: their estimates are "
    "approximate, and features are not tested for them. Raise max_iter, or penalise the fit: "
    "penalty=1.0."
)
NOT_MIXED = (
    "Gibbs sampling does not mix: after {sweeps} sweeps split R-hat of chains from different "
    "starts is {rhat:.2f} (at most {max_rhat} is wanted). The draws may not follow the "
    "distribution. Raise max_sweeps; up to 20 labels, sampler='enumeration' is exact."
)
UNIDENTIFIED = (
    "{n_rows} row(s) carry combinations of {what} for which the data do not identify the "
    "probability of label(s) {names}; it is NaN there. {remedy}."
)

UNKNOWN_AT = (
    "the thresholds of label(s) {names} are not identified at these values, because covariates are "
    "linear functions of each other or of labels: they are NaN. Leave such covariates out."
)

BEYOND_DATA = (
    "the network is asked for outside the data: {values}. It is what the label models say there, "
    "and no row shows it."
)

NO_FEATURES = "the model has no features to test: make it with IsingModel(labels, features)."
ROWS_NEEDED = (
    "{purpose} needs the rows of the data, but the model holds only their statistics. Make "
    "IsingModel(labels, features) from the rows, or from a sample of them."
)
ROWS_CHANGED = (
    "{purpose} needs the rows that the model was made from, but features were changed in place "
    "since. Make a new IsingModel."
)
LACKING_COLUMNS = "{argument} lacks the column(s) {columns}; it has {present}."
IN_BLOCKS = (
    "the sums of {n_features} features within {cells} would take {size:.2g} GB, "
    "more than max_memory={max_memory:g}: they are computed in {n_blocks} blocks of features, anew "
    "for each test. The numbers are the same. Raise max_memory to keep the sums."
)

NOTHING_RANKED = (
    "method {method!r} finds nothing in any feature, so their order is that of the columns. See "
    ".reasons and .label_reasons of the ranking{hint}."
)
FREE_THRESHOLD = (
    "{what} leaves the threshold of each label free, but the model has intercept=False. Make it "
    "with intercept=True."
)


# Warnings that `warn_once` keeps back, by category and kind.
_kept: ContextVar[dict[tuple[type[IsingWarning], str], str] | None] = ContextVar(
    "_kept", default=None
)


def shorten(names: Iterable[object], limit: int = 5) -> str:
    """Write a list of names for a message, at most `limit` of them."""
    listed = [str(name) for name in names]
    text = ", ".join(repr(name) for name in listed[:limit])
    return text if len(listed) <= limit else f"{text} and {len(listed) - limit} more"


def warn(message: str, category: type[IsingWarning]) -> None:
    """Issue a warning that points at the first line outside the package."""
    kept = _kept.get()
    if kept is not None:
        kept.setdefault((category, _kind(message)), message)
        return
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)


@contextmanager
def warn_once() -> Iterator[None]:
    """Keep warnings of the package back, and issue one of each kind at the end."""
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        kept = _kept.get() or {}
        _kept.reset(token)
        for (category, _), message in kept.items():
            warn(message, category)


def _kind(message: str) -> str:
    """Return a message without its names and numbers."""
    return re.sub(r"'[^']*'| ?\([^)]*\)| and \d+ more|[\d.,]+", "", message)


def _is_ours(module: str) -> bool:
    # Between ours there may be the end of a block of `warn_once`.
    return module in ("isingmlc", "contextlib") or module.startswith("isingmlc.")
