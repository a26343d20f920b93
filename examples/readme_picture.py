"""Draw the picture of the README: two characteristics among the conditions of the survey."""

from pathlib import Path

import isingmlc as im

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "images" / "network.png"

results = im.IsingModel(im.datasets.load_example()).fit()
axes = results.plot_networks(["age", "exercise_hours"])
TARGET.parent.mkdir(parents=True, exist_ok=True)
axes[0].figure.savefig(TARGET, dpi=110, pil_kwargs={"optimize": True})
print("Written:", TARGET.relative_to(ROOT))
