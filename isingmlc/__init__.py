"""Which features matter for which labels: score tests on Ising networks of binary labels."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isingmlc import compare, datasets, exceptions, experiments, metrics, simulate
    from isingmlc.edge_tests import EdgeTests
    from isingmlc.labelsets import LabelsetStatistics
    from isingmlc.model import IsingModel
    from isingmlc.ranking import FeatureRanking
    from isingmlc.ranking_methods import rank_features
    from isingmlc.regularized_results import RegularizedIsingResults
    from isingmlc.results import IsingResults
    from isingmlc.scanning import scan
    from isingmlc.selection import SelectionResult, select_features

__version__ = "0.1.0"

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
    "experiments",
    "metrics",
    "rank_features",
    "scan",
    "select_features",
    "simulate",
]

# Names are imported when they are asked for: pandas, statsmodels and scikit-learn take seconds to
# import, and ``isingmlc --help`` needs none of them.
_MODULES = {
    "EdgeTests": "edge_tests",
    "FeatureRanking": "ranking",
    "IsingModel": "model",
    "IsingResults": "results",
    "LabelsetStatistics": "labelsets",
    "RegularizedIsingResults": "regularized_results",
    "SelectionResult": "selection",
    "rank_features": "ranking_methods",
    "scan": "scanning",
    "select_features": "selection",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'isingmlc' has no attribute {name!r}")
    module = import_module(f"isingmlc.{_MODULES.get(name, name)}")
    found = getattr(module, name) if name in _MODULES else module
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
