"""`IsingClassifier`: the model that explains labels also predicts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from isingmlc import exceptions as exc
from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_number,
    check_option,
    make_generator,
)
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.input.checks import warn_of_copies
from isingmlc.input.estimators import check_frames
from isingmlc.prediction.fitted import FittedLabels, fit_path, try_penalties
from isingmlc.prediction.law import DECODINGS
from isingmlc.prediction.splits import MultilabelStratifiedKFold

# Tried with penalty="cv", from strong to weak.
PENALTIES = tuple(10.0 ** (power / 2) for power in range(6, -3, -1))


class LabelsetPredictions(NamedTuple):
    """The most probable labelsets of rows."""

    labelsets: npt.NDArray[np.int64]
    probabilities: FloatArray


class IsingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Predict several binary labels by an Ising model with effects of features.

    Given features x, labelsets y have probabilities proportional to
    :math:`\exp(\sum_k (\theta_k + \gamma_k' x) y_k + \sum_{k<l} \beta_{kl} y_k y_l)`. Thresholds,
    effects and interactions are fitted by one ridge-penalised logistic regression per label on the
    features and the other labels; the two estimates of an interaction are averaged. What is
    predicted is the best answer to the measure that is asked for.

    Parameters
    ----------
    decode : {"subset", "hamming", "jaccard", "f1"}
        The measure that predictions are made for: the most probable labelset (``"subset"``), the
        labels with a probability above one half (``"hamming"``), or the labelset seen in training
        with the largest expected Jaccard measure or F1 of a row. The last two count 0 if truth and
        prediction are both empty, and so hardly ever predict no label.
    labelsets : {"seen", "all"}
        Which labelsets are possible: those of the training rows, or all, for up to 20 labels.
    penalty : float or "cv"
        Ridge penalty: the log-likelihood of a label loses half of it times the squared
        coefficients, those of features at unit variance; thresholds are free. scikit-learn's
        ``C`` is one over it. ``"cv"`` chooses among `penalties` by cross-validation.
    penalties : sequence of float, optional
        What ``penalty="cv"`` tries; nine from 0.1 to 1000 if omitted.
    cv : int, splitter or iterable
        The folds of ``penalty="cv"``: so many that have the labels in the same shares (see
        `MultilabelStratifiedKFold`), or any splitter of scikit-learn, or pairs of rows.
    max_iter : int
        Newton steps after which the fit of a label is given up.
    random_state : int, Generator or None
        Puts rows in random order before they are dealt into folds; None leaves their order.
    n_jobs : int
        Threads for the folds of ``penalty="cv"``, and for the labels' regressions on up to 400
        columns; −1 for one per core. With more columns these are products of matrices for all
        labels together, which have the threads of BLAS. The result is the same with any number.

    Attributes
    ----------
    intercept_ : ndarray, shape (K,)
        Thresholds; ±inf for a label that is constant in training.
    coef_ : ndarray, shape (K, p)
        Effects of the features, in their own units.
    interactions_ : ndarray, shape (K, K)
        Symmetric, zero on the diagonal.
    labelsets_ : ndarray of int, shape (L, K)
        The labelsets seen in training.
    labelset_counts_ : ndarray, shape (L,)
        How many rows had each, by `sample_weight` if given.
    label_names_ : list
        Names of the labels; y0, y1, … if they have none.
    classes_ : ndarray or list of ndarray
        Classes of one label, or of each of several, as in scikit-learn.
    penalty_ : float
        The penalty.
    cv_results_ : DataFrame
        With ``penalty="cv"`` the mean score of each penalty, its standard error, and the score
        of each fold.
    n_iter_ : int
        Newton steps of the slowest label.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Features are centred and scaled inside, sparse ones without being made dense.

    ``y`` has one 0/1 column per label; constant columns are predicted as they are. A vector with
    two values of any kind is one label.

    References
    ----------
    .. [1] Besag, J. (1975). Statistical analysis of non-lattice data. *The Statistician* 24,
       179–195.
    .. [2] Dembczyński, K., Waegeman, W., Cheng, W., Hüllermeier, E. (2012). On label dependence and
       loss minimization in multi-label classification. *Machine Learning* 88, 5–45.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.sklearn import IsingClassifier
    >>> data = im.datasets.load_example()
    >>> classifier = IsingClassifier().fit(data.features, data.labels)
    >>> classifier.predict(data.features.iloc[5:7])
    array([[0, 0, 0, 0, 0, 0],
           [1, 0, 0, 0, 0, 0]])
    >>> classifier.predict_proba(data.features.iloc[6:7]).round(2)
    array([[0.77, 0.32, 0.36, 0.14, 0.05, 0.25]])
    """

    def __init__(
        self,
        *,
        decode: str = "subset",
        labelsets: str = "seen",
        penalty: float | str = 10.0,
        penalties: Sequence[float] | None = None,
        cv: Any = 5,
        max_iter: int = 100,
        random_state: RandomState = None,
        n_jobs: int = 1,
    ) -> None:
        self.decode = decode
        self.labelsets = labelsets
        self.penalty = penalty
        self.penalties = penalties
        self.cv = cv
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> IsingClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array_like, DataFrame or sparse, shape (n, p)
            Features.
        y : array_like, DataFrame or sparse, shape (n, K) or (n,)
            Labels.
        sample_weight : array_like, shape (n,), optional
            How many observations each row stands for.

        Returns
        -------
        IsingClassifier
            This classifier.

        Raises
        ------
        DataError
            When a parameter is out of range, or y holds no binary labels, or X is a frame with
            columns that are no numbers, that are labels, or with another index than y.

        Warns
        -----
        ConvergenceWarning
            When label models were given up after `max_iter` steps.
        DataWarning
            When a feature equals a label in every row.

        Examples
        --------
        >>> import isingmlc as im
        >>> from isingmlc.sklearn import IsingClassifier
        >>> data = im.datasets.load_example()
        >>> IsingClassifier(penalty="cv").fit(data.features, data.labels).penalty_ > 0
        True
        """
        names = _names_of(y)
        check_frames(X, y)
        if sparse.issparse(y):
            y = y.toarray()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, multi_output=True)
        labels = self._code(y)
        check_option("decode", self.decode, DECODINGS)
        check_option("labelsets", self.labelsets, ("seen", "all"))
        max_steps = check_count("max_iter", self.max_iter, 1)
        n_jobs = check_jobs(self.n_jobs)
        penalties = self._penalties()
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
        if not ((weights >= 0) & np.isfinite(weights)).all() or not weights.any():
            raise exc.DataError(
                "sample_weight must be finite and not negative, and not all zero, but is "
                f"{exc.shorten(weights)}. 0 leaves a row out."
            )
        if not weights.all():
            # A row that stands for no observation is none.
            X, labels, weights = X[weights > 0], labels[weights > 0], weights[weights > 0]
        label_names = names or [f"y{k}" for k in range(labels.shape[1])]
        feature_names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
        warn_of_copies(X, labels, feature_names, label_names)
        options: dict[str, Any] = {
            "labelsets": self.labelsets,
            "max_steps": max_steps,
            "n_jobs": n_jobs,
        }
        self.label_names_ = label_names
        if len(penalties) > 1 or self.penalty == "cv":
            splits = self._folds(X, labels)
            table = try_penalties(X, labels, weights, penalties, splits, self._measure, **options)
            self.cv_results_ = table
            # Penalties decrease: of equal ones the strongest is the simplest.
            penalties = [float(table["penalty"][int(table["score"].to_numpy().argmax())])]
        (model,) = fit_path(X, labels, weights, penalties, **options)
        self.penalty_ = penalties[0]
        self._keep(model, labels[0])
        return self

    def _code(self, y: npt.NDArray[Any]) -> BoolArray:
        """Code the labels as false and true, and remember what stands for them."""
        kind = type_of_target(y, input_name="y")
        if kind.startswith("continuous") or kind == "unknown":
            raise exc.DataError(
                f"Unknown label type: {kind}. y must hold binary labels, one 0/1 column per label; "
                "say first which numbers mean 1 and which 0."
            )
        self._is_vector = y.ndim == 1
        if self._is_vector:
            classes = np.unique(y)
            if len(classes) > 2:
                raise exc.DataError(
                    "Only binary classification is supported. The type of the target is "
                    f"{kind}: y has {len(classes)} values. Code each as a label of its own, e.g. "
                    "with sklearn.preprocessing.LabelBinarizer."
                )
            self.classes_: Any = classes
            return np.asarray(y == classes[-1])[:, None]
        other = ~np.isin(y, (0, 1)).all(axis=0)
        if other.any():
            raise exc.DataError(
                "y must be coded 0/1 in each column, but column(s) "
                f"{exc.shorten(np.flatnonzero(other))} hold other values, and measures of "
                "scikit-learn take no others. Code the value that means yes as 1 and the other as "
                "0; of more than two values make a 0/1 column each."
            )
        self.classes_ = [np.array([0, 1]) for _ in range(y.shape[1])]
        return np.asarray(y == 1)

    @property
    def _measure(self) -> str:
        """The measure that is decoded for; a vector is right or wrong."""
        return "subset" if self._is_vector else self.decode

    def _penalties(self) -> list[float]:
        """Return the penalties to try, from strong to weak."""
        if isinstance(self.penalty, str):
            check_option("penalty", self.penalty, ("cv",))
            given = PENALTIES if self.penalties is None else list(self.penalties)
            if not given:
                raise exc.DataError("penalties must hold at least one number, but is empty.")
            tried = {check_number("penalties", penalty, above=0) for penalty in given}
            return sorted(tried, reverse=True)
        if self.penalties is not None:
            raise exc.DataError(
                f"penalties are what penalty='cv' tries, but penalty is {self.penalty!r}. Leave "
                "one out."
            )
        return [check_number("penalty", self.penalty, above=0)]

    def _folds(self, X: Any, labels: BoolArray) -> list[Any]:
        """Return the rows to train on and to predict, fold by fold."""
        splitter = self.cv
        if isinstance(splitter, int | np.integer) and not isinstance(splitter, bool):
            n_splits = check_count("cv", splitter, 2)
            if n_splits > len(labels):
                raise exc.DataError(
                    f"cv must be at most the number of rows, {len(labels)}, but is {n_splits}."
                )
            shuffle = self.random_state is not None
            generator = make_generator(self.random_state) if shuffle else None
            splitter = MultilabelStratifiedKFold(n_splits, shuffle=shuffle, random_state=generator)
        try:
            return list(check_cv(splitter).split(X, labels))
        except (TypeError, ValueError) as error:
            raise exc.DataError(
                "cv must be a number of folds, a splitter of scikit-learn's or pairs of rows, and "
                f"must be able to split these rows, but is {self.cv!r}: {error}"
            ) from error

    def _keep(self, model: FittedLabels, first: BoolArray) -> None:
        """Keep what predictions need, and what a user may look at."""
        self._model = model
        self.coef_, self.interactions_ = model.effects, model.law.interactions
        never = np.where(first, np.inf, -np.inf)
        self.intercept_ = np.where(model.varies, model.thresholds, never)
        self.labelsets_ = model.seen.astype(np.int64)
        self.labelset_counts_ = model.counts
        self.n_iter_ = 0 if model.fit is None else int(model.fit.n_steps.max())
        if model.fit is not None and not model.fit.converged.all():
            stopped = np.flatnonzero(model.varies)[~model.fit.converged]
            exc.warn(
                f"the fit of label(s) {exc.shorten(self.label_names_[k] for k in stopped)} did not "
                f"converge in {self.max_iter} steps: predictions are approximate. Raise max_iter, "
                "or the penalty.",
                exc.ConvergenceWarning,
            )

    def _fields(self, X: Any) -> FloatArray:
        """Check the features of rows, and give their fields."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._model.fields(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the labels that serve the measure `decode` best.

        Parameters
        ----------
        X : array_like, DataFrame or sparse, shape (n, p)
            Features.

        Returns
        -------
        ndarray, shape (n, K) or (n,)
            Labels, 0 or 1; the classes if y was a vector.

        Examples
        --------
        >>> import isingmlc as im
        >>> from isingmlc.sklearn import IsingClassifier
        >>> data = im.datasets.load_example()
        >>> classifier = IsingClassifier(decode="jaccard").fit(data.features, data.labels)
        >>> classifier.predict(data.features).shape
        (1500, 6)
        """
        fields = self._fields(X)
        predicted = self._model.law.decode(fields, self._measure, self._model.seen)
        if self._is_vector:
            return np.asarray(self.classes_[np.minimum(predicted[:, 0], len(self.classes_) - 1)])
        return predicted.astype(np.int64)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label.

        Parameters
        ----------
        X : array_like, DataFrame or sparse, shape (n, p)
            Features.

        Returns
        -------
        ndarray, shape (n, K)
            Probabilities that rows carry each label, as scikit-learn's chains give them. If y was
            a vector, those of its classes, one column each.

        Examples
        --------
        >>> import isingmlc as im
        >>> from isingmlc.sklearn import IsingClassifier
        >>> data = im.datasets.load_example()
        >>> classifier = IsingClassifier().fit(data.features, data.labels)
        >>> classifier.predict_proba(data.features).mean(axis=0).round(2)
        array([0.34, 0.11, 0.23, 0.16, 0.11, 0.09])
        """
        fields = self._fields(X)
        chances = self._model.law.marginals(fields)
        if not self._is_vector:
            return chances
        if len(self.classes_) == 1:
            return np.ones((len(chances), 1))
        return np.column_stack([1 - chances, chances])

    def predict_labelsets(self, X: Any, m: int = 5) -> LabelsetPredictions:
        """Return the most probable labelsets.

        Parameters
        ----------
        X : array_like, DataFrame or sparse, shape (n, p)
            Features.
        m : int
            How many per row; all if there are fewer.

        Returns
        -------
        LabelsetPredictions
            Labelsets (n × m × K) and probabilities (n × m), the most probable first.

        Examples
        --------
        >>> import isingmlc as im
        >>> from isingmlc.sklearn import IsingClassifier
        >>> data = im.datasets.load_example()
        >>> classifier = IsingClassifier().fit(data.features, data.labels)
        >>> labelsets, probabilities = classifier.predict_labelsets(data.features.head(1), m=2)
        >>> labelsets[0]
        array([[0, 0, 0, 0, 0, 0],
               [1, 0, 0, 0, 0, 0]])
        >>> probabilities.round(2)
        array([[0.54, 0.12]])
        """
        fields, law = self._fields(X), self._model.law
        m = min(check_count("m", m, 1), len(law.labelsets))
        places, chances = law.most_probable(fields, m)
        return LabelsetPredictions(law.labelsets[places].astype(np.int64), chances)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags


def _names_of(y: Any) -> list[object] | None:
    """Return the names of the labels, if they have any."""
    if isinstance(y, pd.DataFrame):
        return list(y.columns)
    return None if getattr(y, "name", None) is None else [y.name]
