"""
One p-value per feature
=======================

Does a feature have an effect on any label? Its score tests, one per label, have to become one.
Each statistic by itself follows a chi-square distribution with one degree of freedom, but they
depend on each other as the labels do, so their sum does not follow one with K degrees of freedom.
This example shows what difference that makes, and which way of combining tests finds what.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import isingmlc as im

# %%
# Features that do nothing
# ------------------------
#
# Six labels rarely meet, as topics of short messages do, and 10,000 features have nothing to do
# with them.

N_ROWS, N_LABELS, N_FEATURES = 1000, 6, 10_000
network = im.simulate.IsingDistribution(np.zeros(N_LABELS), -3.0 * (1 - np.eye(N_LABELS)))
labels = network.sample(N_ROWS, random_state=0)
noise = np.random.default_rng(1).standard_normal((N_ROWS, N_FEATURES))
print("rows by number of labels:", labels.sum(axis=1).value_counts().sort_index().to_dict())


def four_pvalues(features):
    """Give four p-values for each feature: that it has no effect on any label."""
    edges = im.IsingModel(labels, features).fit().score_test()
    return pd.DataFrame(
        {
            "naive chi-square, K df": stats.chi2.sf(edges.importance, N_LABELS),
            "acat": edges.feature_pvalues().to_numpy(),
            "sum": edges.feature_pvalues("sum").to_numpy(),
            "omnibus": edges.feature_pvalues("omnibus").to_numpy(),
        }
    )


# %%
# If nothing acts, p-values are uniform, and their quantiles lie on the diagonal. Three of the four
# are from :meth:`~isingmlc.EdgeTests.feature_pvalues`: ``acat`` combines the p-values of the edges,
# ``sum`` compares the sum of the statistics with a weighted sum of chi-squares, whose weights come
# from the correlations of the scores, and ``omnibus`` takes these correlations out of the scores.

null = four_pvalues(noise)
rank = np.arange(1, N_FEATURES + 1)
expected = -np.log10((rank - 0.5) / N_FEATURES)
band = [-np.log10(stats.beta.ppf(tail, rank, N_FEATURES - rank + 1)) for tail in (0.975, 0.025)]

fig, ax = plt.subplots(figsize=(6.2, 5.4), layout="constrained")
ax.fill_between(expected, *band, color="#D0D0D0", linewidth=0, label="95% of what chance gives")
looks = zip(("#E69F00", "#0072B2", "#009E73", "#CC79A7"), "s.^v", (3, 7, 3, 3), strict=True)
for (name, pvalue), (colour, marker, size) in zip(null.items(), looks, strict=True):
    observed = -np.log10(np.sort(pvalue))
    ax.plot(expected, observed, marker, color=colour, ms=size, mew=0, label=name)
ax.axline((0, 0), slope=1, color="#222222", linewidth=0.8)
ax.set(xlabel="expected −log10 p", ylabel="observed −log10 p", xlim=(0, 4.4), ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
legend = ax.legend(frameon=False, loc="upper left", markerscale=2)

# %%
# The naive p-value is nearly right in the middle and wrong where it matters: at small levels it
# rejects far too often. The other three keep the level.

levels = (0.05, 0.01, 0.001)
rates = pd.DataFrame({f"level {level:g}": (null <= level).mean() for level in levels})
print("share of 10,000 true nulls rejected")
print(rates.to_string(float_format="{:.4f}".format))

# %%
# Features that act
# -----------------
#
# Each of the three is the best one somewhere. Here each of 1,000 features shifts by a little with
# one label, or by less with every label.


def shifted(effects, seed):
    """Draw features that shift with the labels."""
    drawn = np.random.default_rng(seed).standard_normal((N_ROWS, 1000))
    return drawn + (labels.to_numpy() @ effects)[:, None]


power = pd.DataFrame(
    {
        "one label": (four_pvalues(shifted(0.25 * np.eye(N_LABELS)[0], 2)) <= 0.01).mean(),
        "all labels": (four_pvalues(shifted(np.full(N_LABELS, 0.15), 3)) <= 0.01).mean(),
    }
).drop(index="naive chi-square, K df")
print("share of features found at the level 0.01")
print(power.round(2).to_string())

# %%
# An effect on a single label is found sooner by ``acat``, which looks at the strongest edges, and
# by ``omnibus``, which takes out what the other scores say already. Here an effect that is spread
# over the labels is found sooner by the sum.
