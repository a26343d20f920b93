"""Data to try things on: bundled, simulated, and read from files."""

from isingmlc.datasets.artificial import (
    make_artdata,
    make_or_example,
    make_score_example,
    make_timing_data,
    make_xor_example,
)
from isingmlc.datasets.describe import Description, describe, limit_labels
from isingmlc.datasets.example import load_example
from isingmlc.datasets.fetch import fetch_mulan
from isingmlc.datasets.mulan import load_mulan, read_mulan
from isingmlc.datasets.networks import make_network_data
from isingmlc.datasets.tables import read_table
from isingmlc.input.tables import Dataset

__all__ = [
    "Dataset",
    "Description",
    "describe",
    "fetch_mulan",
    "limit_labels",
    "load_example",
    "load_mulan",
    "make_artdata",
    "make_network_data",
    "make_or_example",
    "make_score_example",
    "make_timing_data",
    "make_xor_example",
    "read_mulan",
    "read_table",
]
