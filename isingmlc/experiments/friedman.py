"""Methods compared over data sets: Friedman's test, and Conover's test of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import pandas as pd
from matplotlib.axes import Axes
from scipy import stats

from isingmlc import exceptions as exc


@dataclass(frozen=True, eq=False)
class FriedmanTest:
    """Friedman's test of methods (columns) on data sets (rows), the larger value the better."""

    table: pd.DataFrame
    statistic: float
    pvalue: float

    @property
    def ranks(self) -> pd.Series:
        """Average rank of each method; the best of K methods on a data set has rank K there."""
        return self.table.rank(axis=1).mean()

    @property
    def posthoc(self) -> pd.DataFrame:
        """p-values of Conover's test for all pairs, adjusted by Holm's method."""
        return import_posthocs().posthoc_conover_friedman(self.table, p_adjust="holm")

    def draw(self, ax: Axes) -> None:
        """Draw the average ranks, with bars over methods that do not differ at 0.05."""
        import_posthocs().critical_difference_diagram(self.ranks, self.posthoc, ax=ax)


def friedman(table: pd.DataFrame) -> FriedmanTest:
    """Test whether methods that were tried on the same data sets perform alike."""
    statistic, pvalue = stats.friedmanchisquare(*table.to_numpy(float).T)
    return FriedmanTest(table, float(statistic), float(pvalue))


def import_posthocs() -> ModuleType:
    """Import scikit-posthocs, which is not installed by itself."""
    try:
        import scikit_posthocs
    except ImportError as error:
        raise exc.EngineError(
            "tests of pairs of methods need the package scikit-posthocs: pip install "
            '"isingmlc[experiments]".'
        ) from error
    module: ModuleType = scikit_posthocs
    return module
