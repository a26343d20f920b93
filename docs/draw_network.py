"""Draw the picture of the README, docs/images/network.png, into the current folder."""

from pathlib import Path

import isingmlc as im

results = im.IsingModel(im.datasets.load_example()).fit()
axes = results.plot_networks(["age", "exercise_hours"])
picture = Path("network.png")
axes[0].figure.savefig(picture, dpi=110, pil_kwargs={"optimize": True})
print("Written:", picture)
