"""Artificial data with many labels, drawn from a sparse network that is known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy import special

from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_number,
    check_option,
    make_generator,
)
from isingmlc.base.arrays import FloatArray
from isingmlc.exceptions import DataError
from isingmlc.input.tables import Dataset
from isingmlc.simulate import IsingDistribution

# Sizes of interactions, of which one in seven is negative.
STRENGTHS = {"weak": (0.2, 0.6), "strong": (1.5, 3.0)}
# Labels of one group; the last group may be smaller.
GROUP = 5
# Rounds of correction of the thresholds, each of half of what is wrong.
ROUNDS = 10
# One feature in five acts, on one label in fifty, with an effect between these, of either sign.
EFFECTS = (0.5, 1.0)

DESCR = """\
{name}: {n} rows, {K} labels, {p} standard Gaussian features (simulated)

The labels are drawn from an Ising distribution with {n_pairs} interactions between {low}
and {high} in size, one in seven of them negative. x1 to x{n_relevant} are relevant: each moves the
thresholds of {n_moved} labels. The other features do nothing. All parameters are in `truth`.
"""


def make_network_data(
    n_samples: int = 1000,
    n_features: int = 50,
    n_labels: int = 400,
    dependence: str = "weak",
    labels_per_row: float = 5.0,
    random_state: RandomState = None,
) -> Dataset:
    """Generate data with many labels that depend on each other and on features.

    Parameters
    ----------
    n_samples, random_state
        As `make_artdata` takes them.
    n_features : int
        Features, standard Gaussian. The first fifth of them, one at least, are relevant.
    n_labels : int
        Labels, at least 5.
    dependence : {"weak", "strong"}
        Whether interactions are between 0.2 and 0.6 in size, or between 1.5 and 3.
    labels_per_row : float
        About how many labels a row has on average; so few that each is 1 in at most half of
        the rows.

    Returns
    -------
    Dataset
        Labels ``y1…``, features ``x1…``, the names of the relevant features, and the parameters
        in `truth`, so that ``IsingDistribution(**data.truth)`` is what the labels are drawn from.

    Raises
    ------
    DataError
        When an argument is not usable.

    See Also
    --------
    isingmlc.simulate.IsingDistribution : Other Ising models to draw from.

    Notes
    -----
    Labels come in groups of five, in which four pairs of five interact, and one interaction
    leads from each group to one before it; one interaction in seven is negative. Labels are drawn
    by Gibbs sampling. Frequencies of labels fall with their rank r as (r + 10)^−0.8; thresholds
    are set so that labels are about so frequent. Each relevant feature moves the thresholds of
    one label in fifty, by effects between 0.5 and 1 of either sign.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> data = datasets.make_network_data(n_samples=500, n_labels=100, random_state=0)
    >>> data
    Dataset('weak network': 500 rows, 100 labels, 50 features)
    >>> data.truth["effects"].shape
    (50, 100)
    >>> round(data.labels.sum(axis=1).mean(), 1)
    np.float64(5.0)
    """
    n_samples = check_count("n_samples", n_samples, 1)
    n_features = check_count("n_features", n_features, 1)
    n_labels = check_count("n_labels", n_labels, GROUP)
    check_option("dependence", dependence, tuple(STRENGTHS))
    labels_per_row = check_number("labels_per_row", labels_per_row, above=0)
    shares: FloatArray = np.power(np.arange(11.0, n_labels + 11.0), -0.8)
    shares *= labels_per_row / shares.sum()
    if shares[0] > 0.5:
        raise DataError(
            f"labels_per_row is {labels_per_row:g}, so that the most frequent of {n_labels} labels "
            f"would be 1 in more than half of the rows. Give at most "
            f"{0.5 * labels_per_row / shares[0]:.3g}, or more labels."
        )
    generator = make_generator(random_state)
    interactions = _connect(n_labels, STRENGTHS[dependence], generator)
    n_relevant, n_moved = max(1, n_features // 5), max(1, n_labels // 50)
    effects = np.zeros((n_features, n_labels))
    for feature in range(n_relevant):
        moved = generator.choice(n_labels, n_moved, replace=False)
        signs = generator.choice([-1.0, 1.0], n_moved)
        effects[feature, moved] = signs * generator.uniform(*EFFECTS, n_moved)
    shares = generator.permutation(shares)
    label_names = [f"y{number}" for number in range(1, n_labels + 1)]
    feature_names = [f"x{number}" for number in range(1, n_features + 1)]
    truth = {
        "thresholds": pd.Series(_thresholds(shares, interactions, effects), label_names),
        "interactions": pd.DataFrame(interactions, label_names, label_names),
        "effects": pd.DataFrame(effects, feature_names, label_names),
    }
    features = pd.DataFrame(
        generator.standard_normal((n_samples, n_features)), columns=feature_names
    )
    labels = IsingDistribution(**truth).sample(
        features=features, sampler="gibbs", random_state=generator
    )
    low, high = STRENGTHS[dependence]
    description = DESCR.format(
        name=f"{dependence} network",
        n=n_samples,
        K=n_labels,
        p=n_features,
        n_pairs=np.count_nonzero(interactions) // 2,
        low=low,
        high=high,
        n_relevant=n_relevant,
        n_moved=n_moved,
    )
    return Dataset(
        labels=labels,
        features=features,
        feature_names=tuple(feature_names),
        relevant=tuple(feature_names[:n_relevant]),
        truth=truth,
        name=f"{dependence} network",
        DESCR=description,
    )


def _connect(
    n_labels: int, strengths: tuple[float, float], generator: np.random.Generator
) -> FloatArray:
    """Draw the interactions within groups, and one from each group to one before it."""
    pairs = []
    for start in range(0, n_labels, GROUP):
        members = range(start, min(start + GROUP, n_labels))
        pairs += [pair for pair in combinations(members, 2) if generator.random() < 0.8]
        if start:
            pairs.append((int(generator.integers(start)), int(generator.choice(members))))
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    signs = np.where(generator.random(len(pairs)) < 1 / 7, -1.0, 1.0)
    interactions = np.zeros((n_labels, n_labels))
    interactions[first, second] = signs * generator.uniform(*strengths, len(pairs))
    return interactions + interactions.T


def _thresholds(shares: FloatArray, interactions: FloatArray, effects: FloatArray) -> FloatArray:
    """Find thresholds at which labels are about so frequent."""
    wanted = special.logit(shares)
    # Groups are summed up exactly; labels of other groups count as independent.
    group = np.arange(len(shares)) // GROUP
    outside = np.where(group == group[:, None], 0.0, interactions)
    thresholds = wanted - np.log1p(shares * np.expm1(interactions)).sum(axis=1)
    moved = np.log1p(shares * np.expm1(outside)).sum(axis=1)
    for members in (group == number for number in range(group[-1] + 1)):
        within = interactions[np.ix_(members, members)]
        for _ in range(ROUNDS):
            distribution = IsingDistribution(thresholds[members] + moved[members], within)
            thresholds[members] += (
                wanted[members] - special.logit(distribution.mean().to_numpy())
            ) / 2
    # A Gaussian effect a multiplies small odds by exp(a²/2) on average.
    return np.asarray(thresholds - (effects**2).sum(axis=0) / 2)
