"""Time what the readers promise.

Prints one table, measured in this run with one thread: loading the largest of Mulan's sets, beside
liac-arff on the same file where it is installed.

    python benchmarks/data.py
"""

from __future__ import annotations

from timing import find_data, seconds  # isort: skip  (first: it sets the number of threads)

from pathlib import Path

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
    data_dir = find_data()
    if not (data_dir / "bibtex").is_dir():
        print("bibtex: not found in the data folder")
        return
    load = seconds(lambda: im.datasets.load_mulan("bibtex", data_dir=data_dir))
    peer = liac_arff(data_dir / "bibtex" / "bibtex-train.arff")
    rows = [{"what": "bibtex, training rows", "seconds": load, "liac-arff": peer}]
    print(pd.DataFrame(rows).to_string(index=False, float_format="%.2f"))


if __name__ == "__main__":
    main()
