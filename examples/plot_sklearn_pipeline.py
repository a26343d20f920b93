"""
Choosing features inside a scikit-learn pipeline
================================================

:class:`~isingmlc.sklearn.IsingSelector` is a transformer for several labels at once, which
scikit-learn's own filters are not. As a step of a pipeline it chooses features anew in every fold
of a cross-validation, so that the rows on which a model is judged had no say in the choice. Here a
grid search finds how many features a chain of classifiers should see.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import isingmlc as im
from isingmlc.sklearn import IsingSelector

# %%
# Data with much noise
# --------------------
#
# Four labels that hang together and 100 features, of which the first eight act on one label each,
# in 400 rows.

N_ROWS, N_FEATURES = 400, 100
names = [f"x{number}" for number in range(1, N_FEATURES + 1)]
effects = pd.DataFrame(0.0, names, ["y1", "y2", "y3", "y4"])
for place in range(8):
    effects.iloc[place, place % 4] = 0.9
generator = np.random.default_rng(0)
features = pd.DataFrame(generator.standard_normal((N_ROWS, N_FEATURES)), columns=names)
network = im.simulate.IsingDistribution(np.full(4, -1.0), 0.7 * (1 - np.eye(4)), effects)
labels = network.sample(features=features, random_state=generator)
print(f"{N_ROWS} rows; share of rows with each label:", labels.mean().round(2).to_dict())

# %%
# Pipeline and grid
# -----------------
#
# The chain predicts the labels one after the other, each from the features and the labels before
# it. The grid has two parts: a number of features, or a false-discovery rate ``alpha`` that lets
# p-values decide.

pipeline = Pipeline(
    [
        ("select", IsingSelector()),
        ("scale", StandardScaler()),
        ("chain", ClassifierChain(LogisticRegression(solver="liblinear"))),
    ]
)
sizes = [1, 2, 4, 8, 12, 25, 50, 100]
grid = [{"select__n_features_to_select": sizes}, {"select__alpha": [0.05, 0.2]}]
search = GridSearchCV(pipeline, grid, scoring=make_scorer(im.metrics.subset_accuracy), cv=4)
search.fit(features, labels)
tried = pd.DataFrame(search.cv_results_)
print("best:", search.best_params_, f"subset accuracy {search.best_score_:.3f}")

# %%
# Subset accuracy is the share of rows whose labels are all predicted correctly. It rises while the
# features that act come in, and falls once there is nothing but noise to add. The false-discovery
# rates need no search to land near the top.

tried["error"] = tried["std_test_score"] / np.sqrt(search.n_splits_)
by_size = tried.dropna(subset="param_select__n_features_to_select")
by_alpha = tried.dropna(subset="param_select__alpha")

fig, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
ax.errorbar(
    by_size["param_select__n_features_to_select"].astype(int),
    by_size["mean_test_score"],
    by_size["error"],
    marker="o",
    color="#0072B2",
    capsize=3,
    label="n_features_to_select (mean and standard error of four folds)",
)
for style, (_, row) in zip((":", "--"), by_alpha.iterrows(), strict=True):
    ax.axhline(
        row["mean_test_score"],
        color="#E69F00",
        linestyle=style,
        label=f"alpha = {row['param_select__alpha']:g}",
    )
ax.set_xscale("log")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set(xlabel="features that the chain sees", ylabel="subset accuracy")
ax.spines[["top", "right"]].set_visible(False)
legend = fig.legend(frameon=False, loc="outside upper center", ncols=3)

# %%
# What was chosen
# ---------------
#
# The best pipeline is fitted again on all rows, and its selector knows the whole ranking.

selector = search.best_estimator_["select"]
print("chosen:", ", ".join(selector.get_feature_names_out()))
selector.feature_ranking_.to_frame().head(10).round({"importance": 1})
