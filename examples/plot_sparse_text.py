"""
Which words go with which topics
================================

Texts have many thousands of words as features, of which each text holds a few. Such a table is kept
sparse, and the package leaves it sparse. This example writes 4,000 short reports on
five topics, counts their words with scikit-learn, and ranks the words.
"""

# sphinx_gallery_thumbnail_number = 2

import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import isingmlc as im
from isingmlc.sklearn import IsingSelector

# %%
# Reports
# -------
#
# A report may have several topics: politics often goes with the economy, and health with science.
# Each topic has five words of its own, and a report with the topic uses each of them three times as
# often as other reports do. All other words, 30,000 of them, have nothing to do with the topics.

OWN_WORDS = {
    "politics": "minister vote senate election party",
    "economy": "market bank inflation trade budget",
    "health": "patient hospital vaccine doctor nurse",
    "science": "experiment telescope quantum laboratory theory",
    "sport": "match goal coach league stadium",
}
N_TEXTS, N_OTHER_WORDS = 4000, 30_000
topics = list(OWN_WORDS)
ties = np.zeros((5, 5))
ties[0, 1] = ties[1, 0] = ties[2, 3] = ties[3, 2] = 2.0
network = im.simulate.IsingDistribution(np.full(5, -1.5), ties)
labels = network.sample(N_TEXTS, random_state=0).set_axis(topics, axis="columns")

generator = np.random.default_rng(0)
own_words = " ".join(OWN_WORDS.values()).split()
# Each of these words is used in one report of 20, and in three of 20 with its topic.
chance = np.repeat(np.where(labels, 0.15, 0.05), 5, axis=1)
used = generator.random(chance.shape) < chance
other = generator.integers(0, N_OTHER_WORDS, size=(N_TEXTS, 80))
texts = [
    " ".join([*np.compress(marks, own_words), *(f"word{number}" for number in numbers)])
    for marks, numbers in zip(used, other, strict=True)
]
print(texts[0][:70], "…")

# %%
# Counting keeps memory small
# ---------------------------
#
# Words in fewer than five texts are left out: little can be learned about them. The counts are a
# sparse matrix, which the model takes as it is.

vectorizer = CountVectorizer(min_df=5)
counts = vectorizer.fit_transform(texts)
tracemalloc.start()
model = im.IsingModel(labels, counts, feature_names=vectorizer.get_feature_names_out())
res = model.fit()
edges = res.score_test()
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
print(f"{counts.shape[1]} words, {counts.nnz / np.prod(counts.shape):.2%} of the counts not zero")
print(f"the counts as a dense matrix:    {8 * np.prod(counts.shape) / 2**20:6.0f} MB")
print(f"what fit and tests took at most: {peak / 2**20:6.0f} MB")

# %%
# The words that matter
# ---------------------
#
# The bars are stacked by topic. All words at the top are planted ones, each in the colour of its
# topic.

ranking = res.rank_features()
ax = ranking.plot(top=25)
first = set(ranking.top(25))
print(f"{len(first & set(own_words))} of the 25 planted words are among the first 25")

# %%
# Given the other topics
# ----------------------
#
# *Minister* is a word of politics. Since politics goes with the economy, it is also more frequent
# in reports on the economy, and a test of the word against each topic by itself finds both. The
# score tests ask for what a word tells beyond the other topics, and find politics alone.

alone = {
    topic: im.IsingModel(labels[[topic]], counts, feature_names=model.feature_names)
    .fit()
    .score_test()
    .pvalues[topic]
    for topic in topics
}
planted = np.array([[word in OWN_WORDS[topic].split() for topic in topics] for word in own_words])
fig, axes = plt.subplots(1, 2, figsize=(9.5, 6.6), layout="constrained", sharey=True)
for ax, title, pvalue in (
    (axes[0], "each topic by itself", np.column_stack([alone[t].loc[own_words] for t in topics])),
    (axes[1], "given the other topics", edges.pvalues.loc[own_words, topics].to_numpy()),
):
    picture = ax.imshow(-np.log10(pvalue), vmin=0, vmax=10, cmap="Blues", aspect="auto")
    beyond = int(((pvalue < 0.001) & ~planted).sum())
    ax.set_title(f"{title}\n{beyond} false edges with p < 0.001")
    ax.set_xticks(range(5), topics)
    ax.set_yticks(range(25), own_words)
    ax.tick_params(length=0)
    found = int(((pvalue < 0.001) & planted).sum())
    print(f"{title}: {found} of 25 planted edges, {beyond} others")
colours = fig.colorbar(picture, ax=axes, label="−log10 p", extend="max", shrink=0.6)

# %%
# In a pipeline
# -------------
#
# ``IsingSelector`` takes the counts as they come from a vectoriser. It keeps ten features unless
# told otherwise. The words that it keeps get their names from the vectoriser; ``ranking_`` gives
# their ranks.

pipeline = make_pipeline(CountVectorizer(min_df=5), IsingSelector(n_features_to_select=25))
pipeline.fit(texts, labels.to_numpy())
words, selector = pipeline[0].get_feature_names_out(), pipeline[-1]
print("kept:   ", *selector.get_feature_names_out(words)[:5])
print("by rank:", *words[selector.ranking_.argsort()][:5])
