"""
Do the tests keep their level if labels are rare
================================================

A test at the level 0.01 should reject one true null in a hundred. The usual p-values promise that
for large samples, and where a label is rare the sample is not large: what counts is the number of
rows that carry the label. This example tests features that have nothing to do with the labels and
counts how often each test rejects.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import isingmlc as im

# %%
# Four labels, from common to rare, depend on each other, and features are skewed as incomes or
# doses are.
# Labels and features are drawn independently, so every rejection is an error. Given the labels the
# features are independent of each other too: each of them is one repetition of the experiment.

N_ROWS = 1000
thresholds = pd.Series({"common": -0.3, "uncommon": -2.9, "rare": -4.2, "very rare": -5.3})
network = im.simulate.IsingDistribution(thresholds, 1.0 - np.eye(4))
labels = network.sample(N_ROWS, random_state=1)
carried = labels.sum()
print(carried.to_string())


def null_tests(n_features, seed):
    """Fit the labels and hand over features that have nothing to do with them."""
    features = np.random.default_rng(seed).lognormal(size=(N_ROWS, n_features))
    return im.IsingModel(labels, features).fit()


def draw_rates(ax, tests, level, highest):
    """Draw rejection rates by label with 95% intervals, and give them as a table."""
    looks = zip(("#0072B2", "#E69F00", "#009E73", "#CC79A7"), "osD^", strict=True)
    rates = {}
    for at, ((name, edges), (colour, marker)) in enumerate(zip(tests.items(), looks, strict=False)):
        rate = (edges.pvalues <= level).mean()
        error = 1.96 * np.sqrt(rate * (1 - rate) / len(edges.feature_names))
        place = np.arange(len(rate)) + 0.13 * (at - (len(tests) - 1) / 2)
        ax.errorbar(place, rate, error, fmt=marker, color=colour, capsize=3, label=name)
        rates[name] = rate
    ax.axhline(level, color="#222222", linestyle=":", linewidth=1.2)
    ax.set_xticks(range(len(carried)), [f"{name}\n{n} rows" for name, n in carried.items()])
    ax.set(ylim=(0, highest), ylabel="share of true nulls rejected")
    ax.set_title(f"level {level:g}, {len(edges.feature_names)} features")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left")
    return pd.DataFrame(rates)


# %%
# Three tests, and a better p-value
# ---------------------------------
#
# Wald and likelihood-ratio tests fit a model for each edge, so they get 600 features; score tests
# fit none, and get 10,000, enough to look at a level of 0.001. Bars are 95% intervals of the Monte
# Carlo error, and the dotted lines are the levels that the tests promise.

few, many = null_tests(600, seed=1), null_tests(10_000, seed=2)
fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
at_5 = draw_rates(
    left,
    {"score": few.score_test(), "likelihood ratio": few.lr_test(), "Wald": few.wald_test()},
    level=0.05,
    highest=0.1,
)
at_0001 = draw_rates(
    right,
    {
        "score, chi-square": many.score_test(),
        "score, saddlepoint": many.score_test(pvalue="saddlepoint"),
    },
    level=0.001,
    highest=0.014,
)
print(at_5.round(3).to_string(), at_0001.round(4).to_string(), sep="\n\n")

# %%
# At 0.05 all three tests keep what they promise, as far as 600 features can tell. Far out in the
# tails the chi-square distribution no longer holds: for the two rare labels it rejects seven and
# ten times as often as it should, and many edges are tested at once, so it is the tails that
# count. The saddlepoint approximation is right there too.
# ``res.score_test(pvalue="saddlepoint")`` gives it; it needs the rows of the data.
