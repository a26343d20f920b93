"""
Exploring a survey of chronic conditions
========================================

The bundled data are a simulated survey: 1,500 people, six chronic conditions as labels and 30
characteristics as features. This example goes from the fit to a table for a paper. Because the
data are simulated, it ends with what no real survey can show: what was planted, and what of it was
found.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import pandas as pd

import isingmlc as im

data = im.datasets.load_example()
print(data)

# %%
# The network of the conditions
# -----------------------------
#
# The fit is one logistic regression per condition, each on the other five.
# ``print(res.summary())`` shows them all; here is its head and its first regression. A positive
# coefficient means that two conditions occur together more often than the others explain.

res = im.IsingModel(data).fit()
print("\n".join(str(res.summary()).splitlines()[:16]))

# %%
# The two estimates of a pair, one from each regression, are nearly the same. Their mean is the
# weight of the line between two conditions.

ax = res.plot_label_network(min_weight=0.3)

# %%
# Which characteristics matter for which conditions
# -------------------------------------------------
#
# A score test asks, for each characteristic and each condition, whether the characteristic tells
# anything about the condition beyond what the other five tell. Nothing is fitted again for that.

edges = res.score_test()
ax = edges.plot_heatmap(top=15)

# %%
# A dark row is a characteristic that bears on many conditions. Marks show which edges are
# significant when the false-discovery rate over all 180 edges is held at 5%, and whether the
# characteristic goes with the condition or against it.
#
# Two characteristics in their networks: smoking goes with asthma and heart disease, and exercise
# against depression. Dashed edges are not significant.

axes = res.plot_networks(["smoker", "exercise_hours"])

# %%
# A table for a paper
# -------------------
#
# :meth:`~isingmlc.EdgeTests.to_frame` gives one row per edge, which pandas sorts, filters and
# writes.

strongest = edges.to_frame(adjust="fdr_bh").nsmallest(8, "pvalue").set_index(["feature", "label"])
strongest[["statistic", "pvalue", "pvalue_adj"]].round({"statistic": 1})

# %%
# Every summary can be written as LaTeX, with the names escaped. The lines of the table are those of
# the LaTeX package booktabs.

print(edges.summary(top=5).as_latex())

# %%
# What was planted, and what was found
# ------------------------------------
#
# ``data.truth`` holds the effects that the data were drawn with: what one unit more of a
# characteristic adds to the log-odds of a condition. Times the standard deviation of the
# characteristic they can be compared with each other; the picture shows them without their signs.

effects = pd.DataFrame(data.truth["effects"], edges.label_names, edges.feature_names).T
planted = effects.fillna(0.0).mul(data.features.std(), axis=0).abs()
compared = edges.to_frame().set_index(["feature", "label"])
compared["planted"] = planted.to_numpy().ravel()
compared["significant"] = compared["pvalue_adj"] <= 0.05

fig, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
groups = (
    ("planted and found", "#0072B2", "o", "planted > 0 and significant"),
    ("planted and not found", "#E69F00", "X", "planted > 0 and not significant"),
    ("nothing planted", "#9A9A9A", ".", "planted == 0"),
)
for words, colour, marker, condition in groups:
    group = compared.query(condition)
    ax.scatter(
        group["planted"],
        group["statistic"],
        s=55,
        color=colour,
        marker=marker,
        linewidth=0,
        label=f"{words} ({len(group)})",
    )
for (feature, label), edge in compared.query("planted > 0").iterrows():
    if edge["statistic"] > 45 or not edge["significant"]:
        ax.annotate(
            f"{feature} – {label}",
            (edge["planted"], edge["statistic"]),
            (-7, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=8,
        )
ax.set_yscale("symlog", linthresh=10)
ax.set_yticks([0, 5, 10, 20, 50, 100], ["0", "5", "10", "20", "50", "100"])
ax.set_xlabel("planted effect of one standard deviation, in log-odds")
ax.set_ylabel("score statistic")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")

acts = compared["planted"] > 0
print(f"planted and found: {compared.loc[acts, 'significant'].sum()} of {acts.sum()}")
print(f"found but not planted: {compared.loc[~acts, 'significant'].sum()} of {(~acts).sum()}")

# %%
# One more characteristic was planted, and these tests cannot see it: deprivation goes with neither
# depression nor asthma, but makes them come together more often. Tests of products of a
# characteristic and a condition see that.

ranking = res.rank_features(method="products")
ax = ranking.plot_pairs("deprivation_decile", top=6)
places = {
    method: res.rank_features(method=method).order.index("deprivation_decile") + 1
    for method in ("score", "products")
}
print("place of deprivation_decile among 30 characteristics:", places)
