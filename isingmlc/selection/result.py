"""`SelectionResult`: a chosen subset of features, with the classifier that uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arrays import Features, IntArray
from isingmlc.base.printing import say_given
from isingmlc.base.readonly import FrozenResult, table
from isingmlc.input.context import Context, Recipe
from isingmlc.input.rows import prepare_covariates, prepare_features, prepare_labels
from isingmlc.input.tables import Dataset, check_same_rows, open_dataset
from isingmlc.metrics import evaluate
from isingmlc.results.ranking import FeatureRanking
from isingmlc.selection.classifiers import VaryingLabels, join_columns

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary


@dataclass(frozen=True, eq=False, repr=False)
class SelectionResult(FrozenResult):
    """A chosen subset of features and the classifier that uses it.

    Attributes
    ----------
    selected : tuple of str
        The chosen features, or terms with ``unit="term"``, best first.
    method : str
        The ranking that they are the first of.
    classifier : estimator
        Fitted to all rows, on the columns of the covariates, if there are any, and after them the
        chosen features in the order of `columns`.
    ranking : FeatureRanking
        The ranking; of the training part if one validation set chose, of all rows otherwise.
    metric : str
        What was maximised on the validation set.
    attempts : DataFrame
        What was tried; `path` hands it out.
    n_train, n_validation : int
        Rows of the two parts; no row for validation if p-values chose. With several folds, rows to
        train on in the first one, and rows to validate on in all.
    n_folds : int
        How often rows were split; 0 if p-values chose.
    label_names, feature_names : tuple of str
        Names of all labels and features.
    terms : mapping of str to tuple of str
        What was chosen from, and the columns of each: formula terms, or features.
    context : Context
        What covariates there are and how they become columns.
    recipe : callable or None
        Makes the features from a frame with the columns that a formula mentions, if one made them.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> sel = im.select_features(data.labels, data.features, random_state=0)
    >>> sel.selected[:2]
    ('age', 'bmi')
    >>> sel.evaluate(data.labels, data.features).index.tolist()
    ['subset', 'hamming', 'jaccard']
    """

    selected: tuple[str, ...]
    method: str
    classifier: VaryingLabels
    ranking: FeatureRanking
    metric: str
    attempts: pd.DataFrame
    n_train: int
    n_validation: int
    n_folds: int
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    terms: Mapping[str, tuple[str, ...]]
    context: Context
    recipe: Recipe | None = None

    def __repr__(self) -> str:
        given = f" {say_given(self.context.described)}" if len(self.context) else ""
        what = "features" if tuple(self.terms) == self.feature_names else "terms"
        return (
            f"SelectionResult({len(self.selected)} of {len(self.terms)} {what} by "
            f"{self.method}{given}: {exc.shorten(self.selected)})"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    @property
    def columns(self) -> tuple[str, ...]:
        """The chosen columns: those of the chosen terms, otherwise `selected` itself."""
        return tuple(name for term in self.selected for name in self.terms[term])

    @property
    def positions(self) -> IntArray:
        """Positions of `columns` among the features that were passed, counted from 0.

        For arrays and frames whose names are numbers: ``features.iloc[:, sel.positions]`` has the
        chosen columns, best first. Columns without names are called x1, x2, … here, from 1.
        """
        place = {name: at for at, name in enumerate(self.feature_names)}
        return np.array([place[name] for name in self.columns], dtype=np.intp)

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """Names of the covariates, which the classifier has besides the chosen features."""
        return self.context.names

    @table
    def path(self) -> pd.DataFrame:
        """What was tried on the validation rows, one row per ranking and size.

        Columns method, size, score (the measure that was maximised), score_se (its standard error
        over rows), difference (to the score of what was chosen: what more features would add) and
        all measures. Empty if p-values chose.
        """
        return self.attempts

    @property
    def score(self) -> float:
        """Score of the chosen subset on the validation set; NaN if p-values chose."""
        path = self.attempts
        chosen = path[(path["method"] == self.method) & (path["size"] == len(self.selected))]
        return float(chosen["score"].iloc[0]) if len(chosen) else float("nan")

    def predict(self, features: Any, covariates: Any = None) -> pd.DataFrame:
        """Predict the labels of other rows.

        Parameters
        ----------
        features : array_like, DataFrame or sparse, or Dataset
            A frame with the chosen features among its columns, or all features in the order of
            the data that the choice was made on. If a formula made them, a frame with the columns
            that it mentions, of which they are made as they were before; or with those that it
            makes, such as ``smoker: 1 vs 0``.
        covariates : array_like, DataFrame or sparse, optional
            The covariates of the same rows, if the choice was made given any: a frame with them
            among its columns, or all of them in their order.

        Returns
        -------
        DataFrame, rows × labels
            Labels, 0 or 1.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, alpha=0.05)
        >>> sel.predict(data.features.head(2)).shape
        (2, 6)

        After a formula, from the columns that it mentions:

        >>> frame = data.labels.join(data.features)
        >>> model = im.IsingModel.from_formula("diabetes + asthma ~ bs(age, df=4) + bmi", frame)
        >>> sel = im.select_features(model, unit="term", alpha=0.05)
        >>> sel.predict(frame.head(2)).shape
        (2, 2)
        """
        columns, index = self._prepare(features, covariates)
        predicted = self.classifier.predict(columns)
        return pd.DataFrame(predicted, index, pd.Index(self.label_names, name="label"))

    def predict_proba(self, features: Any, covariates: Any = None) -> pd.DataFrame:
        """Return the probabilities of the labels of other rows.

        Parameters
        ----------
        features, covariates
            As `predict` takes them.

        Returns
        -------
        DataFrame, rows × labels
            The probability that a row carries each label.

        Raises
        ------
        ModelError
            When the classifier gives no probabilities.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, alpha=0.05)
        >>> sel.predict_proba(data.features.head(1)).round(1)["asthma"].tolist()
        [0.1]
        """
        columns, index = self._prepare(features, covariates)
        chances = self.classifier.predict_proba(columns)
        return pd.DataFrame(chances, index, pd.Index(self.label_names, name="label"))

    def _prepare(self, features: Any, covariates: Any) -> tuple[Features, pd.Index | None]:
        """Check other rows, and give the columns of the classifier and the index."""
        if isinstance(features, Dataset):
            features = features.features
        rows, index = prepare_features(features, self.feature_names, self.columns, self.recipe)
        if isinstance(features, pd.DataFrame) and isinstance(covariates, pd.DataFrame):
            check_same_rows("features", features, "covariates", covariates)
        given = prepare_covariates(covariates, self.context, rows.shape[0], beside="features")
        return join_columns(self.context.columns_at(given.numbers), rows), index

    def evaluate(
        self,
        labels: Any,
        features: Any = None,
        covariates: Any = None,
        *,
        zero_division: float = 0.0,
        sample_weight: Any = None,
    ) -> pd.Series:
        """Measure the predictions on other rows.

        Parameters
        ----------
        labels : array_like, DataFrame or sparse, or Dataset
            The true labels. A `Dataset` brings its features along.
        features, covariates : array_like, DataFrame or sparse
            As `predict` takes them.
        zero_division : {0.0, 1.0}
            Jaccard score of a row with no label, truly and by prediction.
        sample_weight : array_like, shape (n,), optional
            How much each row counts.

        Returns
        -------
        Series
            Entries subset, hamming and jaccard.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, alpha=0.05)
        >>> sel.evaluate(data)["hamming"] > 0.7
        np.True_
        """
        labels, features, _ = open_dataset(labels, features, None)
        predicted = self.predict(features, covariates).to_numpy()
        truth = prepare_labels(labels, self.label_names)
        # Rows of two frames belong together by their indexes.
        are_frames = isinstance(labels, pd.DataFrame) and isinstance(features, pd.DataFrame)
        known, found = (labels, features) if are_frames else (truth, predicted)
        check_same_rows("labels", known, "features", found)
        return evaluate(truth, predicted, zero_division=zero_division, sample_weight=sample_weight)

    def report(
        self, path: str | os.PathLike[str] = "report.html", *, title: str | None = None
    ) -> Path:
        """Write a short report to one HTML file that opens without a connection.

        It has what was chosen, what else was tried and how good it was, and all tables as CSV.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced.
        title : str, optional
            The headline.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        FileError
            When the file cannot be written.
        ModelError
            When what reports need is not installed.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sel.report(f"{folder}/chosen.html").name
        'chosen.html'
        """
        from isingmlc.report.writing import write_report_of

        return write_report_of("selection", self, path, title)

    def summary(self, top: int = 20) -> IsingSummary:
        """Summarise the choice.

        Parameters
        ----------
        top : int
            How many of the chosen features to list.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, alpha=0.05)
        >>> print(sel.summary().as_text().splitlines()[0].strip())
        Feature Selection
        """
        from isingmlc.summaries import summarize_selection

        return summarize_selection(self, top)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how good subsets of each size were on the validation set.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture: one curve per measure, or, if several rankings were tried, the measure that
            was maximised with one curve per ranking.

        Raises
        ------
        ModelError
            When p-values chose, so that no sizes were tried.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, random_state=0)
        >>> sel.plot().get_xlabel()
        'number of features'
        """
        from isingmlc.plots.selection import plot_result

        return plot_result(self, ax)
