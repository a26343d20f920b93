"""Draws from Ising distributions, and what can be said about such distributions exactly.

Labels are coded 0/1 throughout. :func:`to_spin` and :func:`from_spin` translate parameters to and
from the −1/1 coding of physics.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_option, make_generator
from isingmlc.base.arrays import Features, FloatArray, IntArray, chunks
from isingmlc.simulate.enumeration import (
    RowParameters,
    enumerate_weights,
    run_gibbs,
    scale_below,
    spell_binary,
)
from isingmlc.simulate.parameters import from_spin, read_features, read_parameters, to_spin

__all__ = ["IsingDistribution", "distribution_of", "from_results", "from_spin", "to_spin"]

# The 2^K label patterns are listed up to this many labels.
MAX_EXACT_LABELS = 20
# Gibbs chains run side by side, this many at a time. The number decides which random numbers go to
# which row, so another one gives other draws for the same seed.
GIBBS_ROWS = 4096
# Rows enumerated together in any case: BLAS rounds the product of a single row otherwise.
LEAST_ROWS = 16


class IsingDistribution:
    r"""Distribution of K binary labels with thresholds and pairwise interactions.

    Parameters
    ----------
    thresholds : array_like or Series, shape (K,)
        What being 1 adds to the log-probability for each label. The names of a Series name the
        labels.
    interactions : array_like or DataFrame, shape (K, K)
        What being 1 together adds for each pair. Symmetric, with zeros or NaN on the diagonal;
        −inf stands for a pair that is never 1 together. The names of a frame name the labels
        if `thresholds` has none.
    effects : array_like or DataFrame, shape (p, K), optional
        How each feature moves the threshold of each label. The index of a frame names the
        features.
    interaction_effects : mapping, array_like or DataFrame, optional
        How each feature moves the interaction of each pair. Either a mapping of pairs of label
        names to one value per feature (a sequence, or a mapping or Series by feature name, zero
        if omitted), for the pairs that matter; or an array with one row per pair, in the order
        of ``numpy.triu_indices(K, 1)``, and one column per feature.

    Attributes
    ----------
    label_names, feature_names : tuple of str
        Names of the labels and of the features.

    Raises
    ------
    DataError
        When the shapes, names or values do not make a distribution.

    See Also
    --------
    from_results : Draw from a fitted network.

    Notes
    -----
    With features x the distribution is

    .. math::

        P(y \mid x) \propto \exp\Bigl[\sum_k (\theta_k + a_k'x)\, y_k
        + \sum_{k<l} (\beta_{kl} + b_{kl}'x)\, y_k y_l\Bigr],

    and a, b are zero if there are no features. The log-odds of one label given the others and
    x are :math:`\theta_k + a_k'x + \sum_{l \ne k} (\beta_{kl} + b_{kl}'x)\, y_l`, a logistic
    regression. Nothing about an object changes once it is made.

    References
    ----------
    P. Teisseyre, "Feature ranking for multi-label classification using Markov networks",
    *Neurocomputing* (2016), arXiv:1602.07464.

    Examples
    --------
    >>> from isingmlc.simulate import IsingDistribution
    >>> pair = IsingDistribution([0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]])
    >>> pair.pmf().round(3)
    array([0.175, 0.175, 0.175, 0.475])
    >>> pair.sample(3, random_state=0)
       y1  y2
    0   1   1
    1   0   1
    2   0   0
    """

    def __init__(
        self,
        thresholds: Any,
        interactions: Any,
        effects: Any = None,
        interaction_effects: Any = None,
    ) -> None:
        self._parameters = read_parameters(thresholds, interactions, effects, interaction_effects)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self._parameters.label_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; none if the distribution is unconditional."""
        return self._parameters.feature_names

    @property
    def thresholds(self) -> pd.Series:
        """Thresholds by label, at features of zero."""
        return pd.Series(
            self._parameters.thresholds, self._label_index, name="threshold", copy=True
        )

    @property
    def interactions(self) -> pd.DataFrame:
        """Interactions by pair of labels, at features of zero; the diagonal is zero."""
        names = self._label_index
        return pd.DataFrame(self._parameters.interactions, names, names, copy=True)

    @property
    def effects(self) -> pd.DataFrame:
        """Effects of features, one row each, on the thresholds; empty without features."""
        features = pd.Index(self.feature_names)
        return pd.DataFrame(self._parameters.effects, features, self._label_index, copy=True)

    @property
    def interaction_effects(self) -> dict[tuple[str, str], pd.Series]:
        """Effects of features on the interactions of those pairs that have any."""
        names = self.label_names
        return {
            (names[first], names[second]): pd.Series(values, self.feature_names, copy=True)
            for (first, second), values in zip(
                self._parameters.pairs, self._parameters.pair_effects, strict=True
            )
        }

    @property
    def patterns(self) -> pd.DataFrame:
        """All 2^K label vectors, in the order of the binary numbers that they spell.

        The first label is the most significant digit: 00…0, 00…1, …, 11…1.
        """
        self._check_enumerable()
        n_labels = len(self.label_names)
        return pd.DataFrame(
            spell_binary(np.arange(2**n_labels), n_labels), columns=self._label_index
        )

    def given(self, features: Any) -> IsingDistribution:
        """Fix the features.

        Parameters
        ----------
        features : array_like or Series, shape (p,)
            One value per feature; a Series is matched by name.

        Returns
        -------
        IsingDistribution
            The unconditional distribution of the labels at these features.

        Raises
        ------
        DataError
            When the features are not those of the distribution.

        Examples
        --------
        >>> coin = IsingDistribution([0.0], [[0.0]], effects=[[2.0]])
        >>> coin.given([1.0]).thresholds["y1"]
        np.float64(2.0)
        """
        row = features.to_frame().T if isinstance(features, pd.Series) else [features]
        rows = self._at(self._check_features(row))
        interactions = rows.interactions.copy()
        for pair, shift in rows.shifts.items():
            interactions[pair] += shift[0]
        names = self._label_index
        return IsingDistribution(
            pd.Series(rows.thresholds[:, 0], names), pd.DataFrame(interactions, names, names)
        )

    def pmf(self, features: Any = None) -> FloatArray:
        """Probabilities of all label vectors, exactly.

        Parameters
        ----------
        features : array_like, DataFrame or sparse, shape (n, p), optional
            Features, if the distribution has any; a frame is matched by name.

        Returns
        -------
        ndarray of float, shape (2**K,) or (n, 2**K)
            Probabilities in the order of `patterns`; one row for every row of features.

        Raises
        ------
        ModelError
            Beyond 20 labels.
        DataError
            When features are wanted and not given, or the other way round.

        Examples
        --------
        >>> coin = IsingDistribution([0.0], [[0.0]], effects=[[1.0]])
        >>> coin.pmf([[0.0], [1.0]]).round(3)
        array([[0.5  , 0.5  ],
               [0.269, 0.731]])
        """
        self._check_enumerable()
        matrix = self._check_features(features)
        if matrix is None:
            weights = enumerate_weights(self._at(None))[:, 0]
            weights /= weights.sum()
            return weights
        n_patterns = 2 ** len(self.label_names)
        probabilities = np.empty((matrix.shape[0], n_patterns))
        for block in chunks(matrix.shape[0], 8 * n_patterns, least=LEAST_ROWS):
            weights = enumerate_weights(self._at(matrix[block]))
            probabilities[block] = (weights / weights.sum(axis=0)).T
        return probabilities

    def sample(
        self,
        n: int | None = None,
        features: Any = None,
        *,
        method: str = "auto",
        sweeps: int = 30,
        random_state: RandomState = None,
    ) -> pd.DataFrame:
        """Draw label vectors.

        Parameters
        ----------
        n : int, optional
            How many, if the distribution has no features.
        features : array_like, DataFrame or sparse, shape (n, p), optional
            Features, if the distribution has any: one label vector is drawn for each row. A
            frame is matched by name and its index kept.
        method : {"auto", "exact", "gibbs"}
            "exact" draws from the probabilities of all 2^K label vectors, up to 20 labels.
            "gibbs" runs one Gibbs chain for each draw, from a start of fair coins, and keeps its
            last state; it is approximate, the better the more sweeps. "auto" is exact up to 20
            labels, whatever it takes: with features 2^K probabilities are computed for each row.
            Beyond it is Gibbs.
        sweeps : int
            Rounds of Gibbs updates, each of all labels in turn.
        random_state : int, Generator or None
            Source of randomness.

        Returns
        -------
        DataFrame, shape (n, K)
            The labels, 0 or 1.

        Raises
        ------
        ModelError
            When `method` is "exact" and there are more than 20 labels.
        DataError
            When an argument is not usable.

        Examples
        --------
        >>> coin = IsingDistribution([0.0], [[0.0]], effects=[[10.0]])
        >>> coin.sample(features=[[-5.0], [5.0]], random_state=0)["y1"].tolist()
        [0, 1]
        """
        check_option("method", method, ("auto", "exact", "gibbs"))
        check_count("sweeps", sweeps, 1)
        matrix = self._check_features(features)
        if matrix is None:
            n_rows = check_count("n", n, 1)
        elif n is None:
            n_rows = matrix.shape[0]
        else:
            raise exc.DataError(
                f"n is {n!r} and features are given too: one label vector is drawn for each of "
                f"the {matrix.shape[0]} rows of features. Leave n out."
            )
        if method == "exact":
            self._check_enumerable()
        generator = make_generator(random_state)
        n_labels = len(self.label_names)
        if method == "exact" or (method == "auto" and n_labels <= MAX_EXACT_LABELS):
            labels = self._draw_exactly(n_rows, matrix, generator)
        else:
            labels = self._draw_by_gibbs(n_rows, matrix, sweeps, generator)
        index = features.index if isinstance(features, pd.DataFrame) else None
        return pd.DataFrame(labels, index=index, columns=self._label_index)

    def entropy(self) -> float:
        """Entropy in nats, exactly.

        Returns
        -------
        float
            −Σ p log p over all label vectors.

        Raises
        ------
        ModelError
            Beyond 20 labels.
        DataError
            When the distribution depends on features; fix them with `given` first.

        Examples
        --------
        >>> round(IsingDistribution([0.0], [[0.0]]).entropy(), 4)
        0.6931
        """
        self._check_unconditional("entropy")
        return float(special.entr(self.pmf()).sum())

    def mean(self) -> pd.Series:
        """Probability that each label is 1, exactly.

        Returns
        -------
        Series, length K
            E[y_k].

        Raises
        ------
        ModelError
            Beyond 20 labels.
        DataError
            When the distribution depends on features; fix them with `given` first.

        Examples
        --------
        >>> IsingDistribution([0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]]).mean().round(3).tolist()
        [0.65, 0.65]
        """
        self._check_unconditional("mean")
        return pd.Series(np.diagonal(self._pair_means()), self._label_index, name="mean", copy=True)

    def pair_means(self) -> pd.DataFrame:
        """Probability that both labels of a pair are 1, exactly.

        Returns
        -------
        DataFrame, shape (K, K)
            E[y_k y_l], with E[y_k] on the diagonal.

        Raises
        ------
        ModelError
            Beyond 20 labels.
        DataError
            When the distribution depends on features; fix them with `given` first.

        Examples
        --------
        >>> pair = IsingDistribution([0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]])
        >>> pair.pair_means().round(3).loc["y1", "y2"]
        np.float64(0.475)
        """
        self._check_unconditional("pair_means")
        return pd.DataFrame(self._pair_means(), self._label_index, self._label_index)

    def __repr__(self) -> str:
        features = f", {len(self.feature_names)} features" if self.feature_names else ""
        return f"IsingDistribution({len(self.label_names)} labels{features})"

    @property
    def _label_index(self) -> pd.Index:
        return pd.Index(self._parameters.label_names)

    def _check_enumerable(self) -> None:
        n_labels = len(self.label_names)
        if n_labels > MAX_EXACT_LABELS:
            raise exc.ModelError(
                f"exact probabilities list all 2^K label vectors, up to K = {MAX_EXACT_LABELS}, "
                f"but there are {n_labels} labels. Draw instead, with method='gibbs' (from a fit "
                "with isingmlc.simulate.from_results)."
            )

    def _check_unconditional(self, asked: str) -> None:
        if self.feature_names:
            raise exc.DataError(
                f"{asked} depends on the {len(self.feature_names)} features. Fix them first: "
                f"distribution.given(features).{asked}()."
            )

    def _check_features(self, features: Any) -> Features | None:
        """Give checked features, or None if the distribution has none."""
        names = self.feature_names
        if features is None and names:
            raise exc.DataError(
                f"features are needed: the distribution depends on {len(names)} of them "
                f"({exc.shorten(names)}). Pass features= with one row per draw."
            )
        if features is not None and not names:
            raise exc.DataError(
                "features are given, but the distribution does not depend on any. Leave features "
                "out, or make the distribution with effects= or interaction_effects=."
            )
        return None if features is None else read_features(features, names)

    def _at(self, matrix: Features | None) -> RowParameters:
        """Evaluate the parameters at rows of features."""
        parameters = self._parameters
        thresholds = parameters.thresholds[:, np.newaxis]
        if matrix is None:
            return RowParameters(thresholds, parameters.interactions, {})
        moved = thresholds + (matrix @ parameters.effects).T
        shifts: dict[tuple[int, int], FloatArray] = {}
        for at, (first, second) in enumerate(parameters.pairs):
            shifts[first, second] = matrix @ parameters.pair_effects[at]
            shifts[second, first] = shifts[first, second]
        return RowParameters(moved, parameters.interactions, shifts)

    def _draw_exactly(
        self, n_rows: int, matrix: Features | None, generator: np.random.Generator
    ) -> IntArray:
        n_labels = len(self.label_names)
        uniforms = generator.random(n_rows)
        if matrix is None:
            cumulative = np.cumsum(enumerate_weights(self._at(None))[:, 0])
            chosen = np.searchsorted(
                cumulative, scale_below(uniforms, cumulative[-1]), side="right"
            )
            return spell_binary(chosen, n_labels)
        chosen = np.empty(n_rows, dtype=np.intp)
        for block in chunks(n_rows, 8 * 2**n_labels, least=LEAST_ROWS):
            cumulative = enumerate_weights(self._at(matrix[block]))
            np.cumsum(cumulative, axis=0, out=cumulative)
            target = scale_below(uniforms[block], cumulative[-1])
            chosen[block] = np.argmax(cumulative > target, axis=0)
        return spell_binary(chosen, n_labels)

    def _draw_by_gibbs(
        self, n_rows: int, matrix: Features | None, sweeps: int, generator: np.random.Generator
    ) -> IntArray:
        n_labels = len(self.label_names)
        labels = np.empty((n_rows, n_labels), dtype=np.intp)
        for block in chunks(n_rows, width=GIBBS_ROWS):
            rows = self._at(None if matrix is None else matrix[block])
            labels[block] = run_gibbs(rows, block.stop - block.start, sweeps, generator).T
        return labels

    def _pair_means(self) -> FloatArray:
        probabilities = self.pmf()
        n_labels = len(self.label_names)
        means = np.zeros((n_labels, n_labels))
        for block in chunks(len(probabilities), 8 * n_labels):
            patterns = spell_binary(np.arange(block.start, block.stop), n_labels)
            means += patterns.T @ (patterns * probabilities[block, np.newaxis])
        return means


def from_results(
    results: Any,
    n: int,
    random_state: RandomState = None,
    *,
    method: str = "auto",
    sweeps: int = 30,
) -> pd.DataFrame:
    """Draw label vectors from a fitted network.

    Parameters
    ----------
    results : IsingResults
        A fit; its ``thresholds`` and ``interactions`` are used. An interaction of −inf, a pair
        that is never 1 together, has probability zero.
    n : int
        How many label vectors to draw.
    random_state : int, Generator or None
        Source of randomness.
    method : {"auto", "exact", "gibbs"}
        How to draw, see :meth:`IsingDistribution.sample`.
    sweeps : int
        Rounds of Gibbs updates.

    Returns
    -------
    DataFrame, shape (n, K)
        The labels, 0 or 1, under their names.

    Raises
    ------
    ModelError
        When other parameters are infinite or not identified.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import pandas as pd
    >>> fit = SimpleNamespace(thresholds=pd.Series({"a": 0.0, "b": 0.0}),
    ...                       interactions=pd.DataFrame([[np.nan, 1.0], [1.0, np.nan]]))
    >>> from_results(fit, 100, random_state=0).mean()
    a    0.71
    b    0.69
    dtype: float64
    """
    distribution = distribution_of(results)
    return distribution.sample(n, method=method, sweeps=sweeps, random_state=random_state)


def distribution_of(results: Any) -> IsingDistribution:
    """Give the distribution that a fitted network stands for.

    Parameters
    ----------
    results : IsingResults
        A fit; its ``thresholds`` and ``interactions`` are used.

    Returns
    -------
    IsingDistribution
        The distribution of the labels.

    Raises
    ------
    ModelError
        When parameters are infinite (interactions of −inf apart) or not identified.

    Examples
    --------
    >>> import isingmlc as im
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> distribution_of(res).mean()["diabetes"].round(3)
    np.float64(0.119)
    """
    interactions = np.array(results.interactions, dtype=np.float64)
    np.fill_diagonal(interactions, 0.0)
    unusable = ~np.isfinite(np.asarray(results.thresholds, dtype=np.float64))
    unusable |= ~(np.isfinite(interactions) | np.isneginf(interactions)).all(axis=1)
    if unusable.any():
        names = exc.shorten(results.thresholds.index[unusable])
        raise exc.ModelError(
            f"thresholds or interactions of label(s) {names} are infinite or not identified, so "
            "the fitted network is not a distribution. Leave out labels that are constant; for "
            "others fit with method='ridge' or method='firth', which keep them finite."
        )
    return IsingDistribution(results.thresholds, results.interactions)
