"""Draws from Ising distributions, and what can be said about such distributions exactly.

Labels are coded 0/1 throughout. :func:`to_spin` and :func:`from_spin` translate parameters to and
from the −1/1 coding of physics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_option, make_generator
from isingmlc.base.arrays import Features, FloatArray, chunks
from isingmlc.simulate.chains import draw_by_chains
from isingmlc.simulate.elimination import draw_by_elimination, mean_by_elimination
from isingmlc.simulate.enumeration import (
    LEAST_ROWS,
    draw_by_enumeration,
    enumerate_weights,
    spell_binary,
)
from isingmlc.simulate.parameters import (
    Laws,
    from_spin,
    read_features,
    read_parameters,
    restrict,
    to_spin,
)
from isingmlc.simulate.plan import SAMPLERS, make_plan

__all__ = ["IsingDistribution", "distribution_of", "from_results", "from_spin", "to_spin"]

# The 2^K label patterns are listed up to this many labels.
MAX_EXACT_LABELS = 20
# Sweeps of a chain that has not converged before.
MAX_SWEEPS = 4096


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
        rows = self._laws(row).at()
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
        laws = self._laws(features)
        if laws.features is None:
            weights = enumerate_weights(laws.at())[:, 0]
            weights /= weights.sum()
            return weights
        n_patterns = 2 ** len(self.label_names)
        probabilities = np.empty((laws.features.shape[0], n_patterns))
        for block in chunks(len(probabilities), 8 * n_patterns, least=LEAST_ROWS):
            weights = enumerate_weights(laws.at(block))
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
        sampler : {"auto", "enumeration", "elimination", "gibbs", "tempering"}
            How to draw, see Notes. "auto" chooses by cost; `plan_sampling` says what.
        max_sweeps : int
            Most rounds of updates, each of all labels, for samplers that run Markov chains.
        random_state : int, Generator or None
            Source of randomness.

        Returns
        -------
        DataFrame, shape (n_samples, K)
            The labels, 0 or 1. ``attrs["sampler"]`` says how they were drawn.

        Raises
        ------
        ModelError
            When `sampler` is exact and there are too many labels for it.
        DataError
            When an argument is not usable.

        Warns
        -----
        ConvergenceWarning
            When Markov chains from different starts do not agree after `max_sweeps`.

        See Also
        --------
        plan_sampling : Which sampler "auto" takes, and at what cost.

        Notes
        -----
        "enumeration" draws from the probabilities of all label vectors. Beyond 12 labels these are
        listed in two halves, and what the halves have to do with each other is computed once for
        all rows, by matrix products.

        "elimination" sums out one label after the other and draws them in the reverse order. Its
        cost doubles with the number of labels to which one is connected when it is summed out, not
        with the number of all labels, so it serves sparse networks of any size.

        "gibbs" and "tempering" run one Markov chain for each draw and keep its last state, which
        is approximate. How many sweeps are needed is found by a trial of chains from all labels 0,
        from all labels 1 and from fair coins, with features at the 16 of 512 rows whose mean
        field differs most between both ends and at 16 others: they run twice as long each
        time until their second halves agree. That is, split R̂ is at most 1.05 and the effective
        size at least 400, for the number of labels, for the log-probability, and for the labels
        themselves. Every draw is then the state after 20 times the autocorrelation time. In
        "tempering" every chain is a ladder of up to 32 distributions with weaker interactions that
        exchange their states, so that it gets from one mode to another.

        "auto" is exact (whichever is cheaper, for each connected part of the labels) where that
        takes about half a minute at the most, or less than chains would. Otherwise it is Gibbs
        sampling, and tempering if Gibbs chains do not agree after 1,024 sweeps. Up to 12 labels it
        is always enumeration.

        A seed gives the same draws on every machine, unless rounding of a matrix product decides
        about a label, which has a chance of about 1e-16 for each update.

        Examples
        --------
        >>> coin = IsingDistribution([0.0], [[0.0]], effects=[[10.0]])
        >>> drawn = coin.sample(features=[[-5.0], [5.0]], random_state=0)
        >>> drawn["y1"].tolist()
        [0, 1]
        >>> drawn.attrs["sampler"]
        'enumeration of 1 labels'
        """
        check_option("sampler", sampler, SAMPLERS)
        check_count("max_sweeps", max_sweeps, 1)
        laws = self._laws(features)
        if laws.features is None:
            n_rows = check_count("n_samples", n_samples, 1)
        elif n_samples is None:
            n_rows = laws.features.shape[0]
        else:
            raise exc.DataError(
                f"n_samples is {n_samples!r} and features are given too: one label vector is drawn "
                f"for each of the {laws.features.shape[0]} rows of features. Leave n_samples out."
            )
        plan = make_plan(self._parameters, n_rows, sampler)
        generator = make_generator(random_state)
        labels = np.empty((n_rows, len(self.label_names)), dtype=np.int64)
        said = []
        for part in plan:
            own = Laws(restrict(self._parameters, part.labels), laws.features)
            if part.sampler == "enumeration":
                drawn, how = draw_by_enumeration(own, n_rows, generator), part.describe()
            elif part.sampler == "elimination":
                drawn = draw_by_elimination(own, n_rows, generator, part.steps)
                how = part.describe()
            else:
                way = "auto" if sampler == "auto" else part.sampler
                drawn, how = draw_by_chains(own, n_rows, generator, way, max_sweeps)
            labels[:, part.labels] = drawn
            said.append(how)
        index = features.index if isinstance(features, pd.DataFrame) else None
        frame = pd.DataFrame(labels, index=index, columns=self._label_index)
        frame.attrs["sampler"] = "; ".join(said)
        return frame

    def plan_sampling(self, n_samples: int) -> pd.DataFrame:
        """Say how `sample` draws unless told otherwise, and what that costs.

        Parameters
        ----------
        n_samples : int
            How many label vectors are to be drawn.

        Returns
        -------
        DataFrame
            One row for every set of labels that is drawn by itself: how many ``labels``, the
            ``sampler``, whether it is ``exact``, and about how many ``seconds`` it takes. For
            Markov chains that assumes 100 sweeps; what they need is seen when they run.

        Examples
        --------
        >>> chain = np.eye(100, k=1) + np.eye(100, k=-1)
        >>> IsingDistribution(np.zeros(100), chain).plan_sampling(1000)
           labels      sampler  exact  seconds
        0     100  elimination   True    0.001
        """
        check_count("n_samples", n_samples, 1)
        plan = make_plan(self._parameters, n_samples, "auto")
        return pd.DataFrame(
            {
                "labels": [len(part.labels) for part in plan],
                "sampler": [part.sampler for part in plan],
                "exact": [part.sampler in ("enumeration", "elimination") for part in plan],
                "seconds": [round(1e-8 * part.cost, 3) for part in plan],
            }
        )

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
            E[y_k]; beyond 20 labels by elimination, for which the network must be sparse.

        Raises
        ------
        ModelError
            Beyond 20 labels, if elimination needs too much memory.
        DataError
            When the distribution depends on features; fix them with `given` first.

        Examples
        --------
        >>> IsingDistribution([0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]]).mean().round(3).tolist()
        [0.65, 0.65]
        """
        self._check_unconditional("mean")
        if len(self.label_names) <= MAX_EXACT_LABELS:
            means = np.diagonal(self._pair_means()).copy()
        else:
            (part,) = make_plan(self._parameters, 1, "elimination")
            means = mean_by_elimination(Laws(self._parameters, None).at(), part.steps)
        return pd.Series(means, self._label_index, name="mean")

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
                f"but there are {n_labels} labels. Draw instead, with sample (from a fit with "
                "isingmlc.simulate.from_results)."
            )

    def _check_unconditional(self, asked: str) -> None:
        if self.feature_names:
            raise exc.DataError(
                f"{asked} depends on the {len(self.feature_names)} features. Fix them first: "
                f"distribution.given(features).{asked}()."
            )

    def _laws(self, features: Any) -> Laws:
        """Check features, and give the distribution at each row of them."""
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
        matrix: Features | None = None if features is None else read_features(features, names)
        return Laws(self._parameters, matrix)

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
    n_samples: int,
    random_state: RandomState = None,
    *,
    sampler: str = "auto",
    max_sweeps: int = MAX_SWEEPS,
) -> pd.DataFrame:
    """Draw label vectors from a fitted network.

    Parameters
    ----------
    results : IsingResults
        A fit; its ``thresholds`` and ``interactions`` are used. An interaction of −inf, a pair
        that is never 1 together, has probability zero.
    n_samples : int
        How many label vectors to draw.
    random_state : int, Generator or None
        Source of randomness.
    sampler : {"auto", "enumeration", "elimination", "gibbs", "tempering"}
        How to draw, see :meth:`IsingDistribution.sample`.
    max_sweeps : int
        Most rounds of updates, for samplers that run Markov chains.

    Returns
    -------
    DataFrame, shape (n_samples, K)
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
    return distribution.sample(
        n_samples, sampler=sampler, max_sweeps=max_sweeps, random_state=random_state
    )


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
        When parameters are infinite (interactions of −inf apart) or not identified, or when the
        network is adjusted for covariates, at each of whose values there is another distribution.

    Examples
    --------
    >>> import isingmlc as im
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> distribution_of(res).mean()["diabetes"].round(3)
    np.float64(0.119)
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
            "others fit with method='ridge' or method='firth', which keep them finite."
        )
    return IsingDistribution(results.thresholds, results.interactions)


def joint_probabilities(results: Any) -> pd.Series:
    """Give the probability of every label vector; `IsingResults.joint_distribution` explains it."""
    distribution = distribution_of(results)
    patterns = index_patterns(distribution.label_names)
    return pd.Series(distribution.pmf(), patterns, name="probability")


def index_patterns(label_names: Sequence[str]) -> pd.MultiIndex:
    """List all label vectors, in the order of their probabilities in `IsingDistribution.pmf`.

    Parameters
    ----------
    label_names : sequence of str
        Names of the labels.

    Returns
    -------
    MultiIndex, length 2**K
        Zeros and ones, one level per label.

    Examples
    --------
    >>> index_patterns(["a", "b"]).tolist()
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    n_labels = len(label_names)
    vectors = spell_binary(np.arange(2**n_labels), n_labels)
    return pd.MultiIndex.from_frame(pd.DataFrame(vectors, columns=list(label_names)))
