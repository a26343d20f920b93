"""Artificial data of the paper, whose relevant features are known.

P. Teisseyre, "Feature ranking for multi-label classification using Markov networks",
*Neurocomputing* (2016), arXiv:1602.07464, is where all of them come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from isingmlc.base.arguments import RandomState, check_count, check_option, make_generator
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.exceptions import DataError
from isingmlc.input.tables import Dataset
from isingmlc.simulate import IsingDistribution

# Every one of the four data sets has ten features that take part; the others are noise.
N_STRUCTURED = 10
DEFAULT_ROWS = {1: 1000, 2: 1000, 3: 100, 4: 100}
NOISE_DEVIATION = 0.3

ISING_DESCR = """\
{name}: {n} rows, 10 labels, {p} standard Gaussian features (simulated)

The labels are drawn exactly from the Ising distribution given the features, with interactions of
0.1 between all pairs and no thresholds. x1 to x10 are relevant: each adds {on_labels} to the
threshold of every label and 0.2 times its value to the interaction of y1 and y2. The other
features do nothing.
"""
RULE_DESCR = """\
{name}: {n} rows, 4 labels, {p} features (simulated)

x1 to x5 are uniform on [0, 1], as are the features from x11 on, which do nothing.
{features}
{labels}
y3 is 1 where exactly one of y1 and y2 is. {relevant} are relevant.
"""


def make_artdata(
    which: int,
    n_samples: int | None = None,
    n_features: int = 50,
    random_state: RandomState = None,
    noise: str = "shared",
) -> Dataset:
    """Generate ArtData1, 2, 3 or 4 of the paper.

    Parameters
    ----------
    which : {1, 2, 3, 4}
        1: Ising labels, features act on all labels and on one interaction. 2: Ising labels,
        features act on one interaction only. 3: labels are comparisons of features. 4: the same
        with noise.
    n_samples : int, optional
        Rows; if omitted 1000 for the first two and 100 for the others, as in the paper.
    n_features : int
        Features, at least 10. Those from the eleventh on are noise.
    random_state : int, Generator or None
        Source of randomness.
    noise : {"shared", "independent"}
        How the noise of ArtData4 is drawn, see Notes. The others have none.

    Returns
    -------
    Dataset
        Labels ``y1…``, features ``x1…`` and the names of the relevant features.

    Raises
    ------
    DataError
        When an argument is not usable.

    See Also
    --------
    isingmlc.simulate.IsingDistribution : Other Ising models to draw from.

    Notes
    -----
    ArtData1 and 2 have K = 10 labels with all interactions 0.1, of which only that of y1 and y2
    depends on features. The paper draws them by 30 sweeps of a Gibbs sampler; here they are drawn
    exactly, from the probabilities of all 1024 label vectors, so that nothing depends on whether
    a chain has converged.

    ArtData3 has x6 = (x1 − x2)/2, x7 = (x1 + x2)/2, x8 = x3 + 0.1, x9 = x4 − 0.2, x10 = 2 x5 and
    the labels y1 = [x1 > x2], y2 = [x4 > x3], y3 = [y1 + y2 = 1], y4 = [x5 > 0.8]. The relevant
    features are x1 to x6 and x8 to x10, as the paper has it: a sum of x1 and x2 says nothing
    about which is larger, so x7 is not one of them.

    ArtData4 has x6, …, x10 = x1 + ε, …, x5 + ε and the labels y1 = [x1 > x2 + ε],
    y2 = [x4 > x3 + ε], y3 = [y1 + y2 = 1], y4 = [x5 + ε > 0.8], with ε Gaussian of standard
    deviation 0.3; x1 to x10 are relevant. The paper writes one ε and does not say whether it is
    the same number in all places. By default it is, one per row: that is the formula to the
    letter, and makes y4 a function of x10, and y1 one of x1 and x7. With ``noise="independent"``
    each of the five features and each of the three labels has an ε of its own, so that no feature
    determines a label.

    References
    ----------
    P. Teisseyre, "Feature ranking for multi-label classification using Markov networks",
    *Neurocomputing* (2016), arXiv:1602.07464, section "Artificial data".

    G. Doquire and M. Verleysen, "Mutual information-based feature selection for multilabel
    classification", *Neurocomputing* 122 (2013), for the original of ArtData3.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> data = datasets.make_artdata(3, random_state=0)
    >>> data
    Dataset('ArtData3': 100 rows, 4 labels, 50 features)
    >>> data.relevant
    ('x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x8', 'x9', 'x10')
    """
    check_option("which", which, tuple(DEFAULT_ROWS))
    check_option("noise", noise, ("shared", "independent"))
    if n_samples is None:
        n_samples = DEFAULT_ROWS[which]
    shape = (
        check_count("n_samples", n_samples, 1),
        check_count("n_features", n_features, N_STRUCTURED),
    )
    generator = make_generator(random_state)
    if which in (1, 2):
        return _ising_data(f"ArtData{int(which)}", shape, 0.2 if which == 1 else 0.0, generator)
    uniforms = generator.random(shape)
    return _compared(uniforms) if which == 3 else _compared_with_noise(uniforms, noise, generator)


def make_score_example(
    a: float = 1.0, n_samples: int = 1000, random_state: RandomState = None
) -> Dataset:
    """Generate one feature and ten labels, the first of which the feature moves.

    y2 to y10 are fair coins, x1 is standard Gaussian, and y1 is drawn with the log-odds
    a·x1 + 0.1·(y2 + … + y10). The score statistic of x1 and y1 grows with the number of rows and
    with the size of a: section "Properties of the score statistic" of the paper.

    Parameters
    ----------
    a : float
        Effect of x1 on y1; at zero x1 is irrelevant.
    n_samples, random_state
        As `make_artdata` takes them.

    Returns
    -------
    Dataset
        Labels ``y1…y10`` and the feature ``x1``.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> datasets.make_score_example(n_samples=200, random_state=0)
    Dataset('score-example': 200 rows, 10 labels, 1 features)
    """
    if not isinstance(a, Real) or not np.isfinite(a):
        raise DataError(f"a must be a finite number, but is {a!r}.")
    n_samples = check_count("n_samples", n_samples, 1)
    generator = make_generator(random_state)
    feature = generator.standard_normal(n_samples)
    others = generator.integers(0, 2, size=(n_samples, 9))
    log_odds = 0.1 * others.sum(axis=1) + a * feature
    first = generator.random(n_samples) < special.expit(log_odds)
    description = (
        f"Simulated: x1 is standard Gaussian, y2 to y10 are fair coins, and the log-odds of y1 are "
        f"{a:g} x1 + 0.1 (y2 + … + y10)."
    )
    labels = np.column_stack([first, others])
    return _dataset("score-example", labels, feature[:, np.newaxis], [1] if a else [], description)


def make_or_example(n_samples: int = 200, random_state: RandomState = None) -> Dataset:
    """Generate a label that is 1 where another label or the feature is.

    y2 and x1 are fair coins and y1 = [y2 + x1 > 0]: each of them alone predicts y1 in three cases
    of four, both together always. So x1 adds to what the labels say of each other: section "Ising
    model with constant interaction terms" of the paper.

    Parameters
    ----------
    n_samples, random_state
        As `make_artdata` takes them.

    Returns
    -------
    Dataset
        Labels ``y1`` and ``y2`` and the feature ``x1``.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> data = datasets.make_or_example(random_state=0)
    >>> bool((data.labels["y1"] == (data.labels["y2"] | data.features["x1"])).all())
    True
    """
    size = (2, check_count("n_samples", n_samples, 1))
    second, feature = make_generator(random_state).integers(0, 2, size=size)
    labels = np.column_stack([second | feature, second])
    description = "Simulated: y2 and x1 are fair coins, y1 is 1 where y2 or x1 is."
    return _dataset("or-example", labels, feature[:, np.newaxis], [1], description)


def make_xor_example(n_samples: int = 200, random_state: RandomState = None) -> Dataset:
    """Generate a feature that tells whether two labels differ.

    y1 and y2 are fair coins and x1 is 1 where they differ. x1 is independent of each label, so
    its single edges show nothing; what it changes is their interaction: section "Feature ranking
    based on the Ising model with feature-dependent interaction terms" of the paper.

    Parameters
    ----------
    n_samples, random_state
        As `make_artdata` takes them.

    Returns
    -------
    Dataset
        The same names as from `make_or_example`.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> data = datasets.make_xor_example(random_state=0)
    >>> bool((data.features["x1"] == (data.labels["y1"] ^ data.labels["y2"])).all())
    True
    """
    size = (check_count("n_samples", n_samples, 1), 2)
    labels = make_generator(random_state).integers(0, 2, size=size)
    feature = labels[:, [0]] ^ labels[:, [1]]
    description = "Simulated: y1 and y2 are fair coins, x1 is 1 where they differ."
    return _dataset("xor-example", labels, feature, [1], description)


def make_timing_data(
    n_samples: int = 500,
    n_features: int = 50,
    n_labels: int = 5,
    random_state: RandomState = None,
) -> Dataset:
    """Generate Gaussian features and labels that have nothing to do with each other.

    The paper takes such data to measure computing times: section "Computational efficiency".

    Parameters
    ----------
    n_samples, random_state
        As `make_artdata` takes them.
    n_features : int
        Features, standard Gaussian.
    n_labels : int
        Labels, fair coins.

    Returns
    -------
    Dataset
        Labels ``y1…`` and features ``x1…``, none of them relevant.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> datasets.make_timing_data(n_features=1000, random_state=0)
    Dataset('timing-data': 500 rows, 5 labels, 1000 features)
    """
    n_samples = check_count("n_samples", n_samples, 1)
    n_features = check_count("n_features", n_features, 1)
    n_labels = check_count("n_labels", n_labels, 1)
    generator = make_generator(random_state)
    features = generator.standard_normal((n_samples, n_features))
    labels = generator.integers(0, 2, size=(n_samples, n_labels))
    description = "Simulated: standard Gaussian features and fair coins as labels, all independent."
    return _dataset("timing-data", labels, features, [], description)


def _ising_data(
    name: str, shape: tuple[int, int], effect: float, generator: np.random.Generator
) -> Dataset:
    """Draw ArtData1 or ArtData2, which differ in the effect on single labels."""
    n_samples, n_features = shape
    n_labels = 10
    effects = np.zeros((n_features, n_labels))
    effects[:N_STRUCTURED] = effect
    on_interaction = np.zeros(n_features)
    on_interaction[:N_STRUCTURED] = 0.2
    distribution = IsingDistribution(
        np.zeros(n_labels),
        0.1 * (1 - np.eye(n_labels)),
        effects,
        {("y1", "y2"): on_interaction},
    )
    features = generator.standard_normal(shape)
    labels = distribution.sample(features=features, sampler="enumeration", random_state=generator)
    on_labels = f"{effect:g} times its value" if effect else "nothing"
    description = ISING_DESCR.format(name=name, n=n_samples, p=n_features, on_labels=on_labels)
    return _dataset(name, labels.to_numpy(), features, range(1, N_STRUCTURED + 1), description)


def _compared(features: FloatArray) -> Dataset:
    """Turn uniform numbers into ArtData3."""
    x1, x2, x3, x4, x5 = features[:, :5].T
    features[:, 5:10] = np.column_stack([(x1 - x2) / 2, (x1 + x2) / 2, x3 + 0.1, x4 - 0.2, 2 * x5])
    relevant = [1, 2, 3, 4, 5, 6, 8, 9, 10]
    description = RULE_DESCR.format(
        name="ArtData3",
        n=len(features),
        p=features.shape[1],
        features="x6 = (x1 − x2)/2, x7 = (x1 + x2)/2, x8 = x3 + 0.1, x9 = x4 − 0.2, x10 = 2 x5.",
        labels="y1 is 1 where x1 > x2, y2 where x4 > x3, y4 where x5 > 0.8.",
        relevant="x1 to x6 and x8 to x10",
    )
    labels = _with_exclusive_or(x1 > x2, x4 > x3, x5 > 0.8)
    return _dataset("ArtData3", labels, features, relevant, description)


def _compared_with_noise(
    features: FloatArray, noise: str, generator: np.random.Generator
) -> Dataset:
    """Turn uniform numbers into ArtData4."""
    n_samples = len(features)
    drawn = generator.normal(0.0, NOISE_DEVIATION, (n_samples, 1 if noise == "shared" else 8))
    error = np.broadcast_to(drawn, (n_samples, 8))
    features[:, 5:10] = features[:, :5] + error[:, :5]
    x1, x2, x3, x4, x5 = features[:, :5].T
    e1, e2, e4 = error[:, 5:].T
    number = "one number per row" if noise == "shared" else "drawn anew in every place"
    description = RULE_DESCR.format(
        name="ArtData4",
        n=n_samples,
        p=features.shape[1],
        features="x6, …, x10 are x1 + ε, …, x5 + ε.",
        labels=(
            "y1 is 1 where x1 > x2 + ε, y2 where x4 > x3 + ε, y4 where x5 + ε > 0.8. ε is Gaussian "
            f"with\nstandard deviation {NOISE_DEVIATION}, {number}."
        ),
        relevant="x1 to x10",
    )
    labels = _with_exclusive_or(x1 > x2 + e1, x4 > x3 + e2, x5 + e4 > 0.8)
    return _dataset("ArtData4", labels, features, range(1, N_STRUCTURED + 1), description)


def _with_exclusive_or(first: BoolArray, second: BoolArray, fourth: BoolArray) -> BoolArray:
    return np.column_stack([first, second, first != second, fourth])


def _dataset(
    name: str,
    labels: npt.NDArray[Any],
    features: npt.NDArray[Any],
    relevant: Iterable[int],
    description: str,
) -> Dataset:
    """Name the columns by number and wrap them up."""
    feature_names = tuple(f"x{number}" for number in range(1, features.shape[1] + 1))
    label_names = [f"y{number}" for number in range(1, labels.shape[1] + 1)]
    return Dataset(
        labels=pd.DataFrame(labels.astype(np.int64), columns=label_names),
        features=pd.DataFrame(features, columns=list(feature_names)),
        feature_names=feature_names,
        relevant=tuple(f"x{number}" for number in relevant),
        name=name,
        DESCR=description,
    )
