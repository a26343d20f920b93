"""Draws from Ising distributions, and what can be said about such distributions exactly.

Labels are coded 0/1 throughout. :func:`to_spin` and :func:`from_spin` translate parameters to and
from the −1/1 coding of physics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_option, make_generator
from isingmlc.base.arrays import Features, FloatArray, chunks
from isingmlc.simulate.enumeration import (
    LEAST_ROWS,
    draw_by_enumeration,
    enumerate_weights,
    spell_binary,
)
from isingmlc.simulate.gibbs import draw_by_gibbs
from isingmlc.simulate.parameters import from_spin, read_features, read_parameters, to_spin

__all__ = ["IsingDistribution", "distribution_of", "from_spin", "to_spin"]

# The 2^K label patterns are listed up to this many labels.
MAX_EXACT_LABELS = 20
# With features they are listed for every row, up to this many unless asked for.
_MAX_LABELS_BY_ROW = 12
# Sweeps of a chain that has not converged before.
MAX_SWEEPS = 1024
SAMPLERS = ("auto", "enumeration", "gibbs")


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
    interaction_effects : mapping, optional
        How each feature moves the interactions of pairs: pairs of label names, each with one
        value per feature (a sequence, or a mapping or Series by feature name, zero if omitted).

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
    distribution_of : The distribution of a fitted network.

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
        rows = self._parameters.at(self._read(row))
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
        matrix = self._read(features)
        if matrix is None:
            weights = enumerate_weights(self._parameters.at(None))[:, 0]
            weights /= weights.sum()
            return weights
        n_patterns = 2 ** len(self.label_names)
        probabilities = np.empty((matrix.shape[0], n_patterns))
        for block in chunks(len(probabilities), 8 * n_patterns, least=LEAST_ROWS):
            weights = enumerate_weights(self._parameters.at(matrix[block]))
            probabilities[block] = (weights / weights.sum(axis=0)).T
        return probabilities

    def sample(
        self,
        n_samples: int | None = None,
        features: Any = None,
        *,
        sampler: str = "auto",
        max_sweeps: int = MAX_SWEEPS,
        random_state: RandomState = None,
    ) -> pd.DataFrame:
        """Draw label vectors, independent of each other.

        Parameters
        ----------
        n_samples : int, optional
            How many, if the distribution has no features.
        features : array_like, DataFrame or sparse, shape (n_samples, p), optional
            Features, if the distribution has any: one label vector is drawn for each row. A
            frame is matched by name and its index kept.
        sampler : {"auto", "enumeration", "gibbs"}
            How to draw: "enumeration" from the probabilities of all label vectors, exactly, up to
            20 labels; "gibbs" by Markov chains. "auto" is enumeration up to 20 labels, or up to
            12 if there are features.
        max_sweeps : int
            Most rounds of updates, each of all labels, of a Markov chain.
        random_state : int, Generator or None
            Source of randomness.

        Returns
        -------
        DataFrame, shape (n_samples, K)
            The labels, 0 or 1.

        Raises
        ------
        ModelError
            When `sampler` is "enumeration" and there are more than 20 labels.
        DataError
            When an argument is not usable.

        Warns
        -----
        ConvergenceWarning
            When Markov chains from different starts do not agree after `max_sweeps`.

        Notes
        -----
        Gibbs sampling runs one Markov chain for each draw and keeps its last state. How many
        sweeps are needed is found by chains from all labels 0, from all labels 1 and from fair
        coins (with features: at up to 32 rows), which run twice as long each time until split R̂
        of the labels and of their number is at most 1.05.

        Examples
        --------
        >>> coin = IsingDistribution([0.0], [[0.0]], effects=[[10.0]])
        >>> drawn = coin.sample(features=[[-5.0], [5.0]], random_state=0)
        >>> drawn["y1"].tolist()
        [0, 1]
        """
        check_option("sampler", sampler, SAMPLERS)
        check_count("max_sweeps", max_sweeps, 1)
        matrix = self._read(features)
        if matrix is None:
            n_rows = check_count("n_samples", n_samples, 1)
        elif n_samples is None:
            n_rows = matrix.shape[0]
        else:
            raise exc.DataError(
                f"n_samples is {n_samples!r} and features are given too: one label vector is drawn "
                f"for each of the {matrix.shape[0]} rows of features. Leave n_samples out."
            )
        generator = make_generator(random_state)
        if sampler == "auto":
            most = MAX_EXACT_LABELS if matrix is None else _MAX_LABELS_BY_ROW
            sampler = "enumeration" if len(self.label_names) <= most else "gibbs"
        if sampler == "enumeration":
            self._check_enumerable()
            labels = draw_by_enumeration(self._parameters, matrix, n_rows, generator)
        else:
            labels = draw_by_gibbs(self._parameters, matrix, n_rows, generator, max_sweeps)
        index = features.index if isinstance(features, pd.DataFrame) else None
        return pd.DataFrame(labels, index=index, columns=self._label_index)

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
        return pd.Series(np.diagonal(self._pair_means()).copy(), self._label_index, name="mean")

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
                f"but there are {n_labels} labels. Draw instead, with sample (from a fit: "
                "isingmlc.simulate.distribution_of(results).sample(n))."
            )

    def _check_unconditional(self, asked: str) -> None:
        if self.feature_names:
            raise exc.DataError(
                f"{asked} depends on the {len(self.feature_names)} features. Fix them first: "
                f"distribution.given(features).{asked}()."
            )

    def _read(self, features: Any) -> Features | None:
        """Check features, which must be there if the distribution depends on any."""
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

    def _pair_means(self) -> FloatArray:
        probabilities = self.pmf()
        n_labels = len(self.label_names)
        means = np.zeros((n_labels, n_labels))
        for block in chunks(len(probabilities), 8 * n_labels):
            patterns = spell_binary(np.arange(block.start, block.stop), n_labels)
            means += patterns.T @ (patterns * probabilities[block, np.newaxis])
        return means


def distribution_of(results: Any) -> IsingDistribution:
    """Return the distribution that a fitted network stands for.

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
        When parameters are infinite (interactions of −inf apart) or not identified, or when the
        network is adjusted for covariates, at each of whose values there is another distribution.

    Examples
    --------
    >>> import isingmlc as im
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> distribution_of(res).mean()["diabetes"].round(3)
    np.float64(0.119)
    >>> distribution_of(res).sample(1000, random_state=0).shape
    (1000, 6)
    """
    adjusted_for = getattr(results, "adjusted_for", ())
    if adjusted_for:
        first = results.model.covariate_names[0]
        raise exc.ModelError(
            f"the network is adjusted for {exc.shorten(adjusted_for)}, and its thresholds are "
            "those where all covariates are zero: labels have a joint distribution at values of "
            f"the covariates alone. Take the network at some first: results.at({{{first!r}: …}})."
        )
    interactions = np.array(results.interactions, dtype=np.float64)
    np.fill_diagonal(interactions, 0.0)
    unusable = ~np.isfinite(np.asarray(results.thresholds, dtype=np.float64))
    unusable |= ~(np.isfinite(interactions) | np.isneginf(interactions)).all(axis=1)
    if unusable.any():
        names = exc.shorten(results.thresholds.index[unusable])
        raise exc.ModelError(
            f"thresholds or interactions of label(s) {names} are infinite or not identified, so "
            "the fitted network is not a distribution. Leave out labels that are constant; for "
            "others fit with penalty=1.0 or penalty='firth', which keep them finite."
        )
    return IsingDistribution(results.thresholds, results.interactions)


def joint_probabilities(results: Any) -> pd.Series:
    """Return the probability of every label vector."""
    distribution = distribution_of(results)
    patterns = index_patterns(distribution.label_names)
    return pd.Series(distribution.pmf(), patterns, name="probability")


def index_patterns(label_names: Sequence[str]) -> pd.MultiIndex:
    """List all label vectors, in the order of their probabilities in `IsingDistribution.pmf`."""
    n_labels = len(label_names)
    vectors = spell_binary(np.arange(2**n_labels), n_labels)
    return pd.MultiIndex.from_frame(pd.DataFrame(vectors, columns=list(label_names)))
