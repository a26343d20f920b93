"""Rankings of features by how much they matter to the labels."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from isingmlc.arguments import check_count
from isingmlc.edge_tests import EdgeTests


@dataclass(frozen=True, repr=False)
class FeatureRanking:
    """Features in order of importance.

    Attributes
    ----------
    method : str
        How importance was measured.
    importance : Series
        Importance of each feature, in the user's order.
    contributions : DataFrame, features × labels
        What each label adds to it.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> ranking = im.IsingModel(data.labels, data.features).fit().rank_features()
    >>> set(ranking.top(3)) <= set(data.relevant)
    True
    """

    method: str
    importance: pd.Series
    contributions: pd.DataFrame

    @property
    def order(self) -> tuple[str, ...]:
        """Names of the features, best first; ties keep the user's order."""
        return tuple(self.importance.sort_values(ascending=False, kind="stable").index)

    def top(self, m: int = 10) -> tuple[str, ...]:
        """Name the best features.

        Parameters
        ----------
        m : int
            How many.

        Returns
        -------
        tuple of str
            The first `m` of `order`.
        """
        return self.order[: check_count("m", m, 1)]

    def table(self) -> pd.DataFrame:
        """Give one row a feature, best first.

        Returns
        -------
        DataFrame
            Columns rank, importance and strongest (the label that contributes most).
        """
        order = list(self.order)
        known = self.contributions.loc[order]
        strongest = known.fillna(-1.0).idxmax(axis=1).where(known.notna().any(axis=1), "")
        return pd.DataFrame(
            {
                "rank": range(1, len(order) + 1),
                "importance": self.importance[order],
                "strongest": strongest,
            },
            index=pd.Index(order, name="feature"),
        )

    def __repr__(self) -> str:
        return f"FeatureRanking({self.method}, {len(self.importance)} features)"


def rank_by_score(edges: EdgeTests) -> FeatureRanking:
    """Rank features by the sum of their score statistics over the labels.

    Parameters
    ----------
    edges : EdgeTests
        Score tests of all edges.

    Returns
    -------
    FeatureRanking
        The ranking.
    """
    return FeatureRanking("score", edges.importance, edges.statistic)
