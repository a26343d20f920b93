"""Which features matter for which labels: score tests on Ising networks of binary labels."""

from isingmlc import datasets, exceptions, simulate
from isingmlc.edge_tests import EdgeTests
from isingmlc.labelsets import LabelsetStatistics
from isingmlc.model import IsingModel
from isingmlc.ranking import FeatureRanking
from isingmlc.results import IsingResults

__version__ = "0.1.0.dev0"

__all__ = [
    "EdgeTests",
    "FeatureRanking",
    "IsingModel",
    "IsingResults",
    "LabelsetStatistics",
    "datasets",
    "exceptions",
    "simulate",
]
