"""Multi-label classifiers: those with names, and what makes any of them bear constant labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray
from isingmlc.prediction.classifier import IsingClassifier

CLASSIFIERS = ("ising", "chain")
# Sparse columns that take up to this many bytes are made dense: chains work much faster on them.
_DENSE_BYTES = 2**28


def make_classifier(given: Any, metric: object) -> Any:
    """Return the classifier to use, or say that it is none."""
    if isinstance(given, str):
        check_option("classifier", given, CLASSIFIERS)
        # "f1-micro" and "f1-macro" are decoded as "f1", functions as subset accuracy.
        decode = metric.partition("-")[0] if isinstance(metric, str) else "subset"
        return IsingClassifier(decode=decode) if given == "ising" else logistic_chain()
    if isinstance(given, type) or not all(
        hasattr(given, name) for name in ("fit", "predict", "get_params")
    ):
        raise exc.DataError(
            "classifier must be 'ising', 'chain' or a multi-label estimator of scikit-learn's "
            f"kind, not fitted yet, but is {given!r}. Pass e.g. "
            "ClassifierChain(LogisticRegression())."
        )
    return given


def logistic_chain() -> Any:
    """Make the paper's classifier: a chain of logistic regressions on scaled features."""
    # Of scikit-learn's solvers the fastest on chains by far. It penalises the intercept too;
    # the scaling makes that a hundredth of the penalty on a coefficient.
    regression = LogisticRegression(solver="liblinear", intercept_scaling=10, max_iter=1000)
    chain = ClassifierChain(regression)
    return make_pipeline(StandardScaler(with_mean=False), chain)


def join_columns(covariates: FloatArray, features: Features) -> Features:
    """Put the columns of covariates before those of features."""
    if not covariates.shape[1]:
        return features
    if sparse.issparse(features):
        return sparse.hstack([sparse.csr_array(covariates), features], "csr")
    return np.hstack([covariates, features])


def vary(labels: Any) -> BoolArray:
    """Mark the labels that are not the same in every row."""
    return np.asarray((labels != labels[0]).any(axis=0))


class VaryingLabels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a classifier to the labels that vary; a constant label is predicted as its constant."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any, sample_weight: FloatArray | None = None) -> VaryingLabels:
        """Fit the classifier."""
        labels = np.asarray(y, dtype=np.int64)
        self.constants_ = labels[0].copy()
        self.varies_ = vary(labels)
        varying = labels[:, self.varies_]
        # One label is a vector to most of scikit-learn's classifiers.
        is_chain = hasattr(self.classifier, "order") or hasattr(self.classifier, "steps")
        target = varying if varying.shape[1] > 1 or is_chain else varying.ravel()
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if weights and not has_fit_parameter(self.classifier, "sample_weight"):
            raise exc.DataError(
                f"freq_weights are given, but classifier {self.classifier!r} takes no weights. Use "
                "classifier='ising', or repeat the rows."
            )
        columns = self._columns(X)
        try:
            self.classifier_ = clone(self.classifier).fit(columns, target, **weights)
        except (TypeError, ValueError, AttributeError) as error:
            if sparse.issparse(columns) and "parse" in str(error):
                raise exc.DataError(
                    f"classifier {self.classifier!r} needs dense data, but the {columns.shape[1]} "
                    f"features are sparse, and {8 * np.prod(columns.shape) / 2**30:.1f} GB if made "
                    "dense. Lower max_features, or use a classifier that takes sparse data, such "
                    f"as classifier='ising'. It said: {error}"
                ) from error
            raise exc.DataError(
                f"classifier {self.classifier!r} could not be fitted to {varying.shape[1]} labels "
                f"at once: {error}. It must be a multi-label estimator of scikit-learn's kind; "
                "wrap one for single labels, e.g. in sklearn.multioutput.ClassifierChain."
            ) from error
        return self

    def predict(self, X: Any) -> IntArray:
        """Predict the labels."""
        check_is_fitted(self, "varies_")
        found = self.classifier_.predict(self._columns(X))
        varying = found.toarray() if sparse.issparse(found) else np.asarray(found)
        predicted = np.tile(self.constants_, (np.shape(X)[0], 1))
        shape = (len(predicted), int(self.varies_.sum()))
        if varying.size != np.prod(shape) or not np.isin(varying, (0, 1)).all():
            raise exc.DataError(
                f"classifier {self.classifier!r} must predict 0 or 1 for each of {shape[1]} "
                f"labels, but its predictions have shape {varying.shape} or other values. Pass "
                "a multi-label classifier, not a regression."
            )
        predicted[:, self.varies_] = varying.reshape(shape)
        return predicted

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label."""
        check_is_fitted(self, "varies_")
        if not hasattr(self.classifier_, "predict_proba"):
            raise exc.ModelError(
                f"classifier {self.classifier!r} gives no probabilities. Use classifier='ising', "
                "or one that has predict_proba."
            )
        found = self.classifier_.predict_proba(self._columns(X))
        n_varying = int(self.varies_.sum())
        if isinstance(found, list):
            # One matrix of classes per label, as forests give them.
            found = np.column_stack([each[:, 1] for each in found])
        elif n_varying == 1 and found.shape[1] == 2:
            found = found[:, 1:]
        chances = np.tile(self.constants_.astype(np.float64), (np.shape(X)[0], 1))
        chances[:, self.varies_] = found
        return chances

    def _columns(self, X: Any) -> Any:
        """Return features as the classifier takes them best; ours knows by itself."""
        return X if isinstance(self.classifier, IsingClassifier) else _densify(X)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.sparse = True
        return tags


def _densify(columns: Any) -> Any:
    """Make sparse columns dense unless they are too large."""
    is_small = sparse.issparse(columns) and 8 * np.prod(columns.shape) <= _DENSE_BYTES
    return columns.toarray() if is_small else columns
