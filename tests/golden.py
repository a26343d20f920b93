"""Reference values that other programs computed; ``tests/reference`` holds their scripts."""

from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent / "reference"


def load(name, what):
    """Read one table of reference values."""
    return pd.read_csv(FOLDER / f"{name}_{what}.csv")


def load_data(name):
    """Read a simulated set: labels and features."""
    data = load(name, "data")
    is_label = data.columns.str.startswith("y")
    return data.loc[:, is_label], data.loc[:, ~is_label]


def load_context():
    """Read the set with covariates: labels, covariates and features."""
    data = load("context", "data")
    features = data.filter(regex="^x")
    return data.filter(regex="^y"), data[["age", "sex", "region"]], features
