"""Bring what ``isingmlc reproduce all`` and the variants have found into the documentation.

isingmlc reproduce all --out FOLDER
python benchmarks/paper_variants.py FOLDER
python docs/copy_reproduced.py FOLDER

A folder that holds some of it brings that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from PIL import Image

TARGET = Path(__file__).parent / "reproduced"
FIGURES = ("scene", "score", "roc", "size", "time")
TABLES = ("table2-hamming", "table3-subset", "table4-jaccard")
NEAR = 0.03


def put_side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """Put printed values in brackets behind ours, one row per data set and number of labels."""
    methods = list(table.columns[2:])
    rows = []
    for name, part in table.groupby("dataset", sort=False):
        values = part.set_index("value")[methods].reindex(["here", "here, 20 labels", "paper"])
        ours = values.map("{:.3f}".format).replace("nan", "")
        printed = values.loc["paper"].map(" ({:.3f})".format).replace(" (nan)", "")
        rows.append([name, "as described", *(ours.loc["here"] + printed)])
        if values.loc["here, 20 labels"].notna().any():
            rows.append([name, "20", *(ours.loc["here, 20 labels"] + printed)])
    return pd.DataFrame(rows, columns=["data set", "labels", *methods])


def list_differing(cells: pd.DataFrame) -> pd.DataFrame:
    """List the printed values that differ, with the range of the variants and what meets them."""
    differing = cells[cells["difference"].abs() > NEAR]
    return pd.DataFrame(
        {
            "data set": differing["dataset"],
            "method": differing["method"],
            "measure": differing["measure"],
            "printed": differing["printed"].map("{:.3f}".format),
            "here": differing["here"].map("{:.3f}".format),
            "20 labels": differing["here, 20 labels"].map("{:.3f}".format).replace("nan", ""),
            "chains": _range(differing, "low", "high"),
            "all variants": _range(differing, "low, all variants", "high, all variants"),
            "met by": differing["met by"],
        }
    )


def _range(cells: pd.DataFrame, low: str, high: str) -> pd.Series:
    return cells[low].map("{:.3f}".format) + "–" + cells[high].map("{:.3f}".format)


def count_met(cells: pd.DataFrame) -> pd.DataFrame:
    """Count what meets the printed values first."""
    order = ["here", "20 labels", "chain", "few features", "other ranking", "no chain", "nothing"]
    counts = pd.crosstab(cells["dataset"], cells["met by"]).reindex(columns=order, fill_value=0)
    counts.loc["all"] = counts.sum()
    return counts.rename_axis("data set").reset_index()


def list_joint(joint: pd.DataFrame) -> pd.DataFrame:
    """List the variants that come nearest in all three measures."""
    what = (
        joint["order"].where(joint["order"] == "one by one", joint["order"] + " order")
        + ", "
        + joint["penalty"]
        + ", trained "
        + joint["trained"]
        + ", "
        + joint["size"].astype(str)
        + " of at most "
        + joint["most features"].astype(str)
        + joint["ranking"].map({"as described": "", "other": ", other ranking"})
    )
    columns = {name: joint[name].map("{:.3f}".format) for name in ("hamming", "subset", "jaccard")}
    return pd.DataFrame(
        {
            "data set": joint["dataset"],
            "method": joint["method"],
            **columns,
            "gap": joint["gap"].map("{:.3f}".format),
            "variant": what,
            "within 0.03": joint["variants within 0.03"].astype(str)
            + " of "
            + joint["variants"].astype(str),
        }
    )


def shorten_tests(friedman: pd.DataFrame) -> pd.DataFrame:
    """Write p-values with two digits, however small they are."""
    p = friedman["p"].map("{:.2g}".format)
    return friedman.assign(statistic=friedman["statistic"].round(2), p=p)


SOURCES: dict[str, tuple[str, Callable[[pd.DataFrame], pd.DataFrame]]] = {
    **{name: (name, put_side_by_side) for name in TABLES},
    "differing": ("paper-cells", list_differing),
    "met": ("paper-cells", count_met),
    "joint": ("paper-joint", list_joint),
    "table1": ("table1", lambda table: table.round(3)),
    "roc-auc": ("figure-roc-auc", lambda table: table.round(3)),
    "friedman": ("tables-friedman", shorten_tests),
    "ranks": ("tables-ranks", lambda table: table.round(2)),
}


def main() -> None:
    """Write the tables and pictures of the page; those that the folder lacks stay as they are."""
    folder = Path(sys.argv[1])
    TARGET.mkdir(exist_ok=True)
    left = []
    for name, (source, shape) in SOURCES.items():
        path = folder / f"{source}.csv"
        if path.exists():
            shape(pd.read_csv(path)).to_csv(TARGET / f"{name}.csv", index=False)
        else:
            left.append(name)
    for name in [*(f"figure-{figure}" for figure in FIGURES), "tables-ranks"]:
        path = folder / f"{name}.png"
        if not path.exists():
            left.append(name)
            continue
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((1400, 1400))
        picture.quantize(64, dither=Image.Dither.NONE).save(TARGET / f"{name}.png", optimize=True)
    print("As they were:", ", ".join(left) or "none")


if __name__ == "__main__":
    main()
