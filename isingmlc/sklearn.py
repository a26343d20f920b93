"""scikit-learn estimators: `IsingSelector` selects features, `IsingClassifier` predicts labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option, check_size
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.inference.pvalues import METHODS
from isingmlc.input.estimators import check_frames
from isingmlc.prediction.classifier import IsingClassifier
from isingmlc.prediction.splits import MultilabelStratifiedKFold
from isingmlc.ranking.methods import RANKING_METHODS, default_method, rank_features
from isingmlc.results.ranking import FeatureRanking

__all__ = ["IsingClassifier", "IsingSelector", "MultilabelStratifiedKFold"]

# How many features are kept if nothing is said.
DEFAULT_SIZE = 10


class IsingSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the features that matter most to several binary labels.

    scikit-learn's own univariate filters do not take several labels: ``f_classif`` and
    ``mutual_info_classif`` refuse them, and ``chi2`` takes them with p-values that are wrong.

    Parameters
    ----------
    method : str, optional
        How features are ranked; see `isingmlc.rank_features`. If omitted, ``"forward"``: features
        that complement each other, which predict better than those that ``"score"`` ranks one by
        one. But ``"score"`` if `alpha`, `null`, `penalty`, `neighbors`, `cov_type` or `combine` is
        given, or `fit` is given groups, which are for its tests.
    n_features_to_select : int, float, "auto" or None
        How many of the best features are kept: a number, a share in (0, 1], or 10 (fewer if there
        are fewer) with ``"auto"``. None sets no limit. With `alpha`, ``"auto"`` sets none.
        Covariates are not counted.
    alpha : float, optional
        Keep features whose adjusted p-value is at most this. For methods with p-values, of which
        ``"score"`` is the default.
    adjust : str or None
        How p-values are adjusted, any method of statsmodels' ``multipletests``; the default makes
        `alpha` the false-discovery rate.
    covariates : list of str or int, optional
        Names or positions of columns of X that the others are ranked given, such as age and sex.
        They are always kept. See Notes.
    penalty : "auto", None, float or "firth"
        The penalty of the label models of ``score``, ``products``, ``products-joint`` and
        ``score+l1``. ``"auto"`` is that of `isingmlc.rank_features`, or none if `alpha` chooses by
        p-values.
    neighbors : "ebic", int, or graph, optional
        Which other labels those label models have, as `isingmlc.IsingModel.fit` takes it; all if
        omitted.
    cov_type : {"nonrobust", "HC0", "HC2", "cluster"}, optional
        Where the variances of scores come from, as `isingmlc.IsingModel.fit` takes it.
    intercept : bool
        Whether each label has a threshold of its own.
    min_count : int, optional
        Labels (with ``lp-chi2`` and ``lp-ig`` labelsets) with fewer rows are not used.
    lam_ratio : float or "ebic", optional
        The penalty of ``l1`` and ``score+l1``, as a share of the smallest one at which all
        coefficients vanish; chosen by EBIC if omitted.
    penalize_covariates : bool, optional
        Whether ``l1`` and ``score+l1`` penalise covariates like other columns; they are free if
        omitted.
    keep, keep_pvalue : int or float, float, optional
        What ``score+l1`` keeps: a number or share of the features, or those with an adjusted
        p-value up to a level.
    n_features : int or float, optional
        How many features ``forward`` and ``ssc`` pick one after the other; if omitted, as many as
        `n_features_to_select` says, or 50 if that is no number.
    stop, gamma : "ebic", float, optional
        Whether ``forward`` stops picking where no label's EBIC falls any more, and its gamma.
    combine : str, optional
        How labels are combined: in the p-values of ``score`` by ``"acat"``, ``"sum"`` or
        ``"omnibus"``, in the importance of ``br-chi2``, ``br-ig`` and ``oner`` by ``"sum"``,
        ``"max"`` or ``"mean"``.
    discretize : {"mdl", "quantile", "none"}, optional
        How the chi-square and information-gain filters make categories of features.
    n_bins : int, optional
        Intervals with ``discretize="quantile"``.
    min_bucket : int, optional
        Rows of one kind that an interval of ``oner`` wants.
    n_jobs : int, optional
        Processes or threads of ``l1``, ``score+l1`` and the filters; −1 for one per core.

    Attributes
    ----------
    scores_ : ndarray, shape (p,)
        Importances of the features; NaN for covariates.
    pvalues_ : ndarray, shape (p,), or None
        p-values of the features, if the method has any; computed when asked for. NaN for
        covariates.
    ranking_ : ndarray of int, shape (p,)
        Places in the ranking, 1 for the best; 0 for covariates, which are not ranked.
    support_ : ndarray of bool, shape (p,)
        Marks of the features that are kept, and of covariates.
    feature_ranking_ : FeatureRanking
        The ranking itself, with its tables and pictures.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Options from `min_count` on are those of `isingmlc.rank_features`. None is the default of the
    method; any other value is an error if the method has no such option.

    With `covariates` every label model has these columns, and the others are ranked given them. Of
    n columns that are kept, so many besides the covariates are `n_features_to_select`; `transform`
    leaves all in the order of X. They must hold numbers, which is all that `transform` can hand on:
    encode categories first, e.g. with scikit-learn's ``OneHotEncoder(drop="first")``. Names are for
    frames, positions count from 0. Filters without label models cannot be given covariates.

    ``y`` has one column per label, with two values in each (the larger counts as 1); one column is
    one label. Constant columns are allowed and add nothing.

    Columns without names are called x0, x1, … and y0, y1, …, as scikit-learn does;
    `isingmlc.rank_features` counts from 1. After a vectoriser, ``get_feature_names_out(words)``
    gives the kept words in the order of columns, and ``words[ranking_.argsort()]`` all by rank.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.sklearn import IsingSelector
    >>> data = im.datasets.load_example()
    >>> selector = IsingSelector(alpha=0.05).set_output(transform="pandas")
    >>> selector.fit_transform(data.features, data.labels).columns.tolist()[:3]
    ['age', 'female', 'bmi']
    >>> selector = IsingSelector(n_features_to_select=2, covariates=["age", "female"])
    >>> list(selector.fit(data.features, data.labels).get_feature_names_out())
    ['age', 'female', 'bmi', 'stressful_events']
    """

    scores_: FloatArray
    ranking_: npt.NDArray[np.intp]
    support_: BoolArray
    feature_ranking_: FeatureRanking

    def __init__(
        self,
        method: str | None = None,
        *,
        n_features_to_select: int | float | str | None = "auto",
        alpha: float | None = None,
        adjust: str | None = "fdr_bh",
        covariates: Any = None,
        penalty: float | str | None = "auto",
        neighbors: Any = None,
        cov_type: str | None = None,
        intercept: bool = True,
        min_count: int | None = None,
        lam_ratio: float | str | None = None,
        penalize_covariates: bool | None = None,
        keep: int | float | None = None,
        keep_pvalue: float | None = None,
        n_features: int | float | None = None,
        stop: str | None = None,
        gamma: float | None = None,
        combine: str | None = None,
        discretize: str | None = None,
        n_bins: int | None = None,
        min_bucket: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.adjust = adjust
        self.covariates = covariates
        self.penalty = penalty
        self.neighbors = neighbors
        self.cov_type = cov_type
        self.intercept = intercept
        self.min_count = min_count
        self.lam_ratio = lam_ratio
        self.penalize_covariates = penalize_covariates
        self.keep = keep
        self.keep_pvalue = keep_pvalue
        self.n_features = n_features
        self.stop = stop
        self.gamma = gamma
        self.combine = combine
        self.discretize = discretize
        self.n_bins = n_bins
        self.min_bucket = min_bucket
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        sampling_weights: Any = None,
    ) -> IsingSelector:
        """Rank the features.

        Parameters
        ----------
        X : array_like, DataFrame or sparse, shape (n, p)
            Features.
        y : array_like, DataFrame or sparse, shape (n, K)
            Labels.
        sample_weight : array_like, shape (n,), optional
            How many observations each row stands for.
        groups : array_like, shape (n,), optional
            Clusters of dependent rows, as `IsingModel` takes them.
        sampling_weights : array_like, shape (n,), optional
            Inverse probabilities of being drawn, as `IsingModel` takes them.

        Returns
        -------
        IsingSelector
            This selector.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> from isingmlc.sklearn import IsingSelector
        >>> selector = IsingSelector(n_features_to_select=3).fit(data.features, data.labels)
        >>> list(selector.get_feature_names_out())
        ['age', 'female', 'bmi']
        """
        # scikit-learn wants no check before this.
        if self.method is not None and not isinstance(self.method, str):
            raise exc.DataError(
                f"method must be the name of one ranking, but is {self.method!r}. "
                + (
                    f"For a number of features write IsingSelector(n_features_to_select="
                    f"{self.method!r})."
                    if isinstance(self.method, Number)
                    else "Use one selector for each ranking."
                )
            )
        if self.alpha is not None and self.n_features_to_select not in (None, "auto"):
            raise exc.DataError(
                f"alpha={self.alpha!r} and n_features_to_select={self.n_features_to_select!r} "
                "are two rules for how many features are kept. Set one of them."
            )
        self._method = self._find_method(groups)
        label_names = _names_of(y)
        check_frames(X, y)
        if sparse.issparse(y):
            y = y.toarray()
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype="numeric",
            multi_output=True,
            ensure_min_samples=2,
        )
        # What cannot be met is said before anything is computed.
        check_option("adjust", self.adjust, (None, *METHODS))
        if self.alpha is not None:
            check_number("alpha", self.alpha, above=0, below=1)
        names = getattr(self, "feature_names_in_", None)
        conditioned = _find_covariates(self.covariates, X.shape[1], names)
        # As scikit-learn counts, from 0.
        names = np.array([f"x{j}" for j in range(X.shape[1])]) if names is None else names
        ranked = np.flatnonzero(~conditioned)
        size = self._size(len(ranked))
        coded = _code(y)
        has_covariates = conditioned.any()
        ranking = rank_features(
            coded,
            X[:, ranked] if has_covariates else X,
            method=self._method,
            covariates=X[:, conditioned] if has_covariates else None,
            penalty=None if self.penalty == "auto" and self._tests() else self.penalty,
            neighbors=self.neighbors,
            cov_type=self.cov_type,
            intercept=self.intercept,
            freq_weights=sample_weight,
            groups=groups,
            sampling_weights=sampling_weights,
            label_names=label_names or [f"y{k}" for k in range(coded.shape[1])],
            feature_names=list(names[ranked]),
            covariate_names=list(names[conditioned]),
            **self._options(size),
        )
        self.feature_ranking_ = ranking
        self.scores_ = np.full(X.shape[1], np.nan)
        self.scores_[ranked] = ranking.importance.to_numpy()
        order = ranked[ranking.positions]
        # Covariates come before all places.
        self.ranking_ = np.zeros(X.shape[1], dtype=np.intp)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        self.support_ = self.ranking_ <= size
        if self.alpha is not None:
            adjusted = ranking.adjusted_pvalues(self.adjust, self.alpha)
            self.support_[ranked] &= (adjusted <= self.alpha).to_numpy()
            if not self.support_[ranked].any():
                exc.warn(
                    f"no feature has an adjusted p-value up to alpha={self.alpha:g} (the smallest "
                    f"is {adjusted.min():.3g}), so none is kept. Raise alpha, or leave it out and "
                    "say n_features_to_select.",
                    exc.DataWarning,
                )
        return self

    @property
    def pvalues_(self) -> FloatArray | None:
        """p-values of the features, if the method has any; NaN for covariates."""
        check_is_fitted(self)
        known = self.feature_ranking_.pvalues
        if known is None:
            return None
        pvalues = np.full(len(self.ranking_), np.nan)
        pvalues[self.ranking_ > 0] = known.to_numpy()
        return pvalues

    def _find_method(self, groups: Any) -> str:
        """Return the method, or the one that suits what else is asked for."""
        if self.method is not None:
            return self.method
        return default_method(
            alpha=self.alpha,
            penalty=self.penalty != "auto",
            neighbors=self.neighbors,
            cov_type=self.cov_type,
            combine=self.combine,
            groups=groups,
        )

    def _tests(self) -> bool:
        """Return whether p-values of label models choose."""
        found = RANKING_METHODS.get(self._method)
        return self.alpha is not None and found is not None and found.needs_fit

    def _size(self, available: int) -> int:
        """Return the most features that may be kept."""
        wanted = self.n_features_to_select
        if wanted is None or (wanted == "auto" and self.alpha is not None):
            return available
        if isinstance(wanted, str):
            check_option("n_features_to_select", wanted, ("auto",))
            return min(DEFAULT_SIZE, available)
        return check_size("n_features_to_select", wanted, available)

    def _options(self, size: int) -> dict[str, Any]:
        """Return the options of the method that were set; `size` features are kept."""
        known = {name for method in RANKING_METHODS.values() for name in method.defaults}
        options = {name: getattr(self, name) for name in sorted(known)}
        found = RANKING_METHODS.get(self._method)
        is_number = not isinstance(self.n_features_to_select, str | None)
        if found is not None and "n_features" in found.defaults and is_number:
            options["n_features"] = size if self.n_features is None else self.n_features
        return {name: value for name, value in options.items() if value is not None}

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        return tags


def _names_of(y: Any) -> list[object] | None:
    """Return the names of the labels, if they have any."""
    if hasattr(y, "columns"):
        return list(y.columns)
    return None if getattr(y, "name", None) is None else [y.name]


def _list_covariates(given: Any) -> list[Any]:
    """Return names and positions as a list; one of them may stand alone."""
    if isinstance(given, str | int | np.integer):
        return [given]
    try:
        return list(given)
    except TypeError:
        raise exc.DataError(
            "covariates must be a list of names or positions of columns of X, but is "
            f"{given!r}. Put the columns themselves into X, and name them here."
        ) from None


def _find_covariates(given: Any, n_columns: int, names: Any) -> BoolArray:
    """Mark the columns that names and positions stand for."""
    marks = np.zeros(n_columns, dtype=np.bool_)
    if given is None:
        return marks
    wanted = _list_covariates(given)
    place = {} if names is None else {name: at for at, name in enumerate(names)}
    found = [_find_column(column, n_columns, place) for column in wanted]
    unknown = [column for column, at in zip(wanted, found, strict=True) if at is None]
    if unknown:
        known = f"positions from 0 to {n_columns - 1}"
        raise exc.DataError(
            f"covariates must be names or positions of columns of X, but {_say(unknown)} "
            f"{'is' if len(unknown) == 1 else 'are'} not: X has {known}"
            + (f" and the names {exc.shorten(place, 20)}." if place else ", and no names.")
        )
    twice = [column for at, column in enumerate(wanted) if found[at] in found[:at]]
    if twice:
        raise exc.DataError(
            f"covariates must name each column once, but {_say(twice)} "
            f"{'comes' if len(twice) == 1 else 'come'} again."
        )
    if len(found) == n_columns:
        raise exc.DataError(
            f"covariates are all {n_columns} columns of X: none is left to be ranked."
        )
    marks[[at for at in found if at is not None]] = True
    return marks


def _say(columns: Sequence[Any]) -> str:
    """List names and positions so that they can be told apart."""
    return ", ".join(map(repr, columns[:5])) + (", …" if len(columns) > 5 else "")


def _find_column(column: Any, n_columns: int, place: Mapping[str, int]) -> int | None:
    """Return the position of a column, None if there is no such column."""
    if isinstance(column, str):
        return place.get(column)
    is_position = isinstance(column, int | np.integer) and not isinstance(column, bool | np.bool_)
    return int(column) if is_position and 0 <= column < n_columns else None


def _code(y: npt.NDArray[Any]) -> BoolArray:
    """Code two-valued columns as false and true; a column of other values is an error."""
    columns = y[:, None] if y.ndim == 1 else y
    if columns.dtype == object:
        columns = pd.DataFrame(columns).infer_objects().to_numpy()
    if columns.dtype.kind not in "biuf" or (columns != np.round(columns)).any():
        what = "fractions" if columns.dtype.kind == "f" else "text or objects"
        raise exc.DataError(
            f"y must hold 0/1 labels, one column per label, but has {what}. Code the value that "
            "means yes as 1 and the other as 0."
        )
    lowest, highest = columns.min(axis=0), columns.max(axis=0)
    other = ((columns != lowest) & (columns != highest)).any(axis=0)
    if other.any():
        raise exc.DataError(
            f"y must have two values in each column, but column(s) "
            f"{exc.shorten(np.flatnonzero(other))} have more. Make a 0/1 column of each of their "
            "values."
        )
    # A column of ones is a label that every row carries, one of zeros a label that none does.
    return np.asarray(np.where(lowest == highest, columns != 0, columns == highest))
