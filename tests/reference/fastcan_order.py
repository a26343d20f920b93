"""Make fastcan_order.csv: the order in which fastcan picks features, and what each adds.

Data are those that tests/ranking/test_forward.py draws itself, so that nothing else is kept.
Needs fastcan; versions go to fastcan_VERSIONS.txt.

    python tests/reference/fastcan_order.py
"""

import sys
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from fastcan import FastCan

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from forward_data import ssc_data  # noqa: E402

lines = []
for seed in range(3):
    labels, features = ssc_data(seed)
    picker = FastCan(n_features_to_select=12, verbose=0).fit(features, labels.astype(float))
    lines += [
        {"seed": seed, "step": step + 1, "feature": int(at), "gain": gain}
        for step, (at, gain) in enumerate(zip(picker.indices_, picker.scores_, strict=True))
    ]
pd.DataFrame(lines).to_csv(HERE / "fastcan_order.csv", index=False)
packages = ("fastcan", "scikit-learn", "numpy")
text = "".join(f"{name} {version(name)}\n" for name in packages)
(HERE / "fastcan_VERSIONS.txt").write_text(f"Python {sys.version.split()[0]}\n{text}")
