"""Which features matter for which labels: score tests on Ising networks of binary labels."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isingmlc import datasets, exceptions, experiments, metrics, plots, simulate
    from isingmlc.base.printing import IsingSummary
    from isingmlc.base.tables import ResultTable
    from isingmlc.datasets.table_one import TableOne, describe
    from isingmlc.fitting.reasons import Reason
    from isingmlc.model import IsingModel
    from isingmlc.networks.bootstrap import NetworkBootstrap
    from isingmlc.networks.case_dropping import CaseDropping
    from isingmlc.networks.contrasts import NetworkContrast
    from isingmlc.networks.goodness import GoodnessOfFit
    from isingmlc.ranking.methods import rank_features
    from isingmlc.results.calibration import CalibrationResults
    from isingmlc.results.edge_tests import EdgeTest, EdgeTests
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.network_at import NetworkAt
    from isingmlc.results.network_comparison import NetworkComparison, compare_networks
    from isingmlc.results.pooled import pool
    from isingmlc.results.ranking import (
        FeatureRanking,
        FeatureScores,
        RankingAgreement,
        RankingRoc,
    )
    from isingmlc.results.regularized import RegularizedIsingResults
    from isingmlc.results.sample_size import EdgePlan, NetworkPlan, plan_sample_size
    from isingmlc.results.steps import FeatureSteps
    from isingmlc.selection.choice import select_features
    from isingmlc.selection.result import SelectionResult
    from isingmlc.statistics.labelsets import LabelsetStatistics
    from isingmlc.statistics.sources.files import scan

__version__ = "0.2.0"

__all__ = [
    "CalibrationResults",
    "CaseDropping",
    "EdgePlan",
    "EdgeTest",
    "EdgeTests",
    "FeatureRanking",
    "FeatureScores",
    "FeatureSteps",
    "GoodnessOfFit",
    "IsingModel",
    "IsingResults",
    "IsingSummary",
    "LabelsetStatistics",
    "NetworkAt",
    "NetworkBootstrap",
    "NetworkComparison",
    "NetworkContrast",
    "NetworkPlan",
    "RankingAgreement",
    "RankingRoc",
    "Reason",
    "RegularizedIsingResults",
    "ResultTable",
    "SelectionResult",
    "TableOne",
    "compare_networks",
    "datasets",
    "describe",
    "exceptions",
    "experiments",
    "metrics",
    "plan_sample_size",
    "plots",
    "pool",
    "rank_features",
    "scan",
    "select_features",
    "simulate",
]

# Names are imported when they are asked for: pandas, statsmodels and scikit-learn take seconds to
# import, and ``isingmlc --help`` needs none of them.
_MODULES = {
    "CalibrationResults": "results.calibration",
    "CaseDropping": "networks.case_dropping",
    "EdgePlan": "results.sample_size",
    "EdgeTest": "results.edge_tests",
    "EdgeTests": "results.edge_tests",
    "FeatureRanking": "results.ranking",
    "FeatureScores": "results.ranking",
    "FeatureSteps": "results.steps",
    "GoodnessOfFit": "networks.goodness",
    "IsingModel": "model",
    "IsingResults": "results.ising",
    "IsingSummary": "base.printing",
    "LabelsetStatistics": "statistics.labelsets",
    "NetworkAt": "results.network_at",
    "NetworkBootstrap": "networks.bootstrap",
    "NetworkComparison": "results.network_comparison",
    "NetworkContrast": "networks.contrasts",
    "NetworkPlan": "results.sample_size",
    "RankingAgreement": "results.ranking",
    "RankingRoc": "results.ranking",
    "Reason": "fitting.reasons",
    "RegularizedIsingResults": "results.regularized",
    "ResultTable": "base.tables",
    "SelectionResult": "selection.result",
    "TableOne": "datasets.table_one",
    "compare_networks": "results.network_comparison",
    "describe": "datasets.table_one",
    "pool": "results.pooled",
    "plan_sample_size": "results.sample_size",
    "rank_features": "ranking.methods",
    "scan": "statistics.sources.files",
    "select_features": "selection.choice",
}


# A type checker takes the imports above, and reports a public name that is not among them.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'isingmlc' has no attribute {name!r}")
        module = import_module(f"isingmlc.{_MODULES.get(name, name)}")
        found = getattr(module, name) if name in _MODULES else module
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
