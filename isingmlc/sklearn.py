"""`IsingSelector`: feature selection by rankings as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option, check_size
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.inference.pvalues import METHODS
from isingmlc.ranking.methods import rank_features
from isingmlc.results.ranking import FeatureRanking

__all__ = ["IsingSelector"]

# How many features are kept where nothing is said.
DEFAULT_SIZE = 10


class IsingSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the features that matter most to several binary labels.

    scikit-learn's own univariate filters do not take several labels: ``f_classif`` and
    ``mutual_info_classif`` refuse them, and ``chi2`` takes them with p-values that are wrong.

    Parameters
    ----------
    method : str
        How features are ranked; see `isingmlc.rank_features`.
    n_features : int, float, "auto" or None
        How many of the best features are kept: a number, a share in (0, 1], or 10 (fewer where
        there are fewer) with ``"auto"``. None sets no limit. With `alpha`, ``"auto"`` sets none.
    alpha : float, optional
        Keep features whose adjusted p-value is at most this. For methods with p-values.
    adjust : str or None
        How p-values are adjusted, any method of statsmodels' ``multipletests``; the default makes
        `alpha` the false-discovery rate.
    options : dict, optional
        Further arguments of `isingmlc.rank_features`, such as ``{"null": "ridge"}``.

    Attributes
    ----------
    scores_ : ndarray, shape (p,)
        Importances of the features.
    pvalues_ : ndarray, shape (p,), or None
        p-values of the features, where the method has any; computed when asked for.
    ranking_ : ndarray of int, shape (p,)
        Places in the ranking, 1 for the best.
    support_ : ndarray of bool, shape (p,)
        Marks of the features that are kept.
    feature_ranking_ : FeatureRanking
        The ranking itself, with its tables and pictures.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``y`` has a column a label, with two values in each (the larger counts as 1); one column is
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
    """

    scores_: FloatArray
    ranking_: npt.NDArray[np.intp]
    support_: BoolArray
    feature_ranking_: FeatureRanking

    def __init__(
        self,
        method: str = "score",
        n_features: int | float | str | None = "auto",
        *,
        alpha: float | None = None,
        adjust: str | None = "fdr_bh",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.n_features = n_features
        self.alpha = alpha
        self.adjust = adjust
        self.options = options

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> IsingSelector:
        """Rank the features.

        Parameters
        ----------
        X : array_like, DataFrame or sparse, shape (n, p)
            Features.
        y : array_like, DataFrame or sparse, shape (n, K)
            Labels.
        sample_weight : array_like, shape (n,), optional
            How many observations each row stands for.

        Returns
        -------
        IsingSelector
            This selector.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> from isingmlc.sklearn import IsingSelector
        >>> selector = IsingSelector(n_features=3).fit(data.features, data.labels)
        >>> list(selector.get_feature_names_out())
        ['age', 'female', 'bmi']
        """
        label_names = _names_of(y)
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
        # What can not be met is said before anything is computed.
        check_option("adjust", self.adjust, (None, *METHODS))
        if self.alpha is not None:
            check_number("alpha", self.alpha, above=0, below=1)
        size = self._size(X.shape[1])
        options = self._check_options()
        coded = _code(y)
        ranking = rank_features(
            coded,
            X,
            method=self.method,
            freq_weights=sample_weight,
            # As scikit-learn counts, from 0.
            label_names=label_names or [f"y{k}" for k in range(coded.shape[1])],
            feature_names=getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])]),
            **options,
        )
        self.feature_ranking_ = ranking
        self.scores_ = ranking.importance.to_numpy()
        best_first = np.argsort(-self.scores_, kind="stable")
        self.ranking_ = np.empty(len(best_first), dtype=np.intp)
        self.ranking_[best_first] = np.arange(1, len(best_first) + 1)
        self.support_ = self.ranking_ <= size
        if self.alpha is not None:
            adjusted = ranking.adjusted_pvalues(self.adjust, self.alpha)
            self.support_ &= (adjusted <= self.alpha).to_numpy()
            if not self.support_.any():
                exc.warn(
                    f"no feature has an adjusted p-value up to alpha={self.alpha:g} (the smallest "
                    f"is {adjusted.min():.3g}), so none is kept. Raise alpha, or leave it out and "
                    "say n_features.",
                    exc.DataWarning,
                )
        return self

    @property
    def pvalues_(self) -> FloatArray | None:
        """p-values of the features, where the method has any."""
        check_is_fitted(self)
        pvalue = self.feature_ranking_.pvalues
        return None if pvalue is None else pvalue.to_numpy()

    def _size(self, available: int) -> int:
        """Give the most features that may be kept."""
        wanted = self.n_features
        if wanted is None or (wanted == "auto" and self.alpha is not None):
            return available
        if isinstance(wanted, str):
            check_option("n_features", wanted, ("auto",))
            return min(DEFAULT_SIZE, available)
        return check_size("n_features", wanted, available)

    def _check_options(self) -> Mapping[str, Any]:
        """Give the arguments for `rank_features` that are not the selector's own."""
        options = {} if self.options is None else self.options
        own = ("labels", "features", "method", "freq_weights", "label_names", "feature_names")
        if not isinstance(options, Mapping) or set(own) & set(options):
            raise exc.DataError(
                "options must be a dict of arguments of isingmlc.rank_features other than "
                f"{exc.shorten(own, limit=6)}, but is {options!r}."
            )
        return options

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
    """Give the names of the labels, where they have any."""
    if hasattr(y, "columns"):
        return list(y.columns)
    return None if getattr(y, "name", None) is None else [y.name]


def _code(y: npt.NDArray[Any]) -> BoolArray:
    """Code two-valued columns as false and true; a column of other values is an error."""
    columns = y[:, None] if y.ndim == 1 else y
    if not (np.issubdtype(columns.dtype, np.number) or columns.dtype == np.bool_):
        columns = np.column_stack(
            [np.unique(column, return_inverse=True)[1] for column in columns.T]
        )
    lowest, highest = columns.min(axis=0), columns.max(axis=0)
    other = ((columns != lowest) & (columns != highest)).any(axis=0)
    if other.any():
        raise exc.DataError(
            f"y must have two values in each column, but column(s) "
            f"{exc.shorten(np.flatnonzero(other))} have more. Code each label as a column of its "
            "own, e.g. with sklearn.preprocessing.MultiLabelBinarizer."
        )
    # A column of ones is a label that every row carries, one of zeros a label that none does.
    return np.asarray(np.where(lowest == highest, columns != 0, columns == highest))
