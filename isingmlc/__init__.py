"""Which features matter for which labels: score tests on Ising networks of binary labels."""

from importlib import import_module
from typing import TYPE_CHECKING

from isingmlc import datasets, exceptions, simulate
from isingmlc.edge_tests import EdgeTests
from isingmlc.labelsets import LabelsetStatistics
from isingmlc.model import IsingModel
from isingmlc.ranking import FeatureRanking
from isingmlc.ranking_methods import rank_features
from isingmlc.results import IsingResults

if TYPE_CHECKING:
    from isingmlc import compare, metrics
    from isingmlc.regularized_results import RegularizedIsingResults
    from isingmlc.selection import SelectionResult, select_features

__version__ = "0.1.0.dev0"

__all__ = [
    "EdgeTests",
    "FeatureRanking",
    "IsingModel",
    "IsingResults",
    "LabelsetStatistics",
    "RegularizedIsingResults",
    "SelectionResult",
    "compare",
    "datasets",
    "exceptions",
    "metrics",
    "rank_features",
    "select_features",
    "simulate",
]

# These need scikit-learn, which takes a second to import: they are imported when asked for.
_LATER = {
    "RegularizedIsingResults": "isingmlc.regularized_results",
    "SelectionResult": "isingmlc.selection",
    "compare": "isingmlc.compare",
    "metrics": "isingmlc.metrics",
    "select_features": "isingmlc.selection",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'isingmlc' has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if module.__name__ == f"isingmlc.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
