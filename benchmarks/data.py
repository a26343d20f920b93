"""Time what the samplers and readers promise.

Prints one table, measured in this run with one thread: Gibbs sampling of 100,000 rows, and loading
the largest of Mulan's sets, beside liac-arff on the same file where it is installed.

    python benchmarks/data.py
"""

from __future__ import annotations

from timing import find_data, seconds  # isort: skip  (first: it sets the number of threads)

from pathlib import Path

import numpy as np
import pandas as pd

import isingmlc as im


def liac_arff(path: Path) -> float | None:
    try:
        import arff
    except ImportError:
        return None

    def read() -> None:
        with path.open(encoding="utf-8") as file:
            arff.load(file, return_type=arff.LOD)

    return seconds(read, 1)


def main() -> None:
    generator = np.random.default_rng(0)
    interactions = np.triu(generator.normal(scale=0.3, size=(10, 10)), 1)
    network = im.simulate.IsingDistribution(np.zeros(10), interactions + interactions.T)
    rows = [
        {
            "what": "Gibbs, 100,000 rows, 10 labels, 30 sweeps",
            "seconds": seconds(
                lambda: network.sample(100_000, method="gibbs", sweeps=30, random_state=0)
            ),
        }
    ]
    data_dir = find_data()
    if (data_dir / "bibtex").is_dir():
        load = seconds(lambda: im.datasets.load_mulan("bibtex", data_dir=data_dir))
        peer = liac_arff(data_dir / "bibtex" / "bibtex-train.arff")
        rows.append({"what": "bibtex, training rows", "seconds": load, "liac-arff": peer})
    else:
        print("bibtex: not found in the data folder, left out")
    print(pd.DataFrame(rows).to_string(index=False, float_format="%.2f"))


if __name__ == "__main__":
    main()
