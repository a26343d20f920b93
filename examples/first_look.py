"""Fit the bundled survey, read its network, and see which characteristics matter."""

import isingmlc as im

data = im.datasets.load_example()
print(data.DESCR)

results = im.IsingModel(data.labels, data.features).fit()
print(results.summary())

ranking = results.rank_features()
print(ranking.table().head(12))

missed = sorted(set(data.relevant) - set(ranking.top(len(data.relevant))))
print("Planted, but not among the first:", ", ".join(missed))
