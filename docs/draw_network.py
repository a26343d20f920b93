"""Draw the picture of the README."""

from pathlib import Path

import isingmlc as im

results = im.IsingModel(im.datasets.load_example()).fit()
axes = results.plot_networks(["age", "exercise_hours"])
picture = Path(__file__).parent / "images" / "network.png"
axes[0].figure.savefig(picture, dpi=110, pil_kwargs={"optimize": True})
print("Written:", picture)
