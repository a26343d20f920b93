"""Draw the picture of the README, by its own lines."""

from pathlib import Path

import isingmlc as im

data = im.datasets.load_example()
known, rest = data.features[["age", "female"]], data.features.drop(columns=["age", "female"])
results = im.IsingModel(data.labels, rest, covariates=known).fit()
axes = results.plot_networks(["bmi", "exercise_hours"])
picture = Path(__file__).parent / "images" / "network.png"
axes[0].figure.savefig(picture, dpi=110, pil_kwargs={"optimize": True})
print("Written:", picture)
