"""Pictures of networks, tests, rankings and fits.

Every function takes the axes to draw on as `ax` and returns them, never shows a figure, and
leaves matplotlib's settings alone. Colours can be told apart in grey print and by colour-blind
readers, names are shown as they stand, and the same input gives the same picture.
"""

from isingmlc.plots.diagnostics import plot_diagnostics
from isingmlc.plots.forest import plot_forest
from isingmlc.plots.heatmap import plot_heatmap
from isingmlc.plots.intervals import plot_centrality, plot_intervals
from isingmlc.plots.label_network import plot_label_network, plot_networks_at
from isingmlc.plots.network import plot_network, plot_networks
from isingmlc.plots.plan import plot_edge_plan, plot_network_plan
from isingmlc.plots.qq import plot_qq
from isingmlc.plots.ranking import plot_pairs, plot_ranking
from isingmlc.plots.roc import plot_roc
from isingmlc.plots.selection import plot_selection
from isingmlc.plots.stability import plot_stability
from isingmlc.plots.uncertainty import (
    plot_differences,
    plot_groups,
    plot_uncertain_network,
)

__all__ = [
    "plot_centrality",
    "plot_diagnostics",
    "plot_differences",
    "plot_edge_plan",
    "plot_forest",
    "plot_groups",
    "plot_heatmap",
    "plot_intervals",
    "plot_label_network",
    "plot_network",
    "plot_network_plan",
    "plot_networks",
    "plot_networks_at",
    "plot_pairs",
    "plot_qq",
    "plot_ranking",
    "plot_roc",
    "plot_selection",
    "plot_stability",
    "plot_uncertain_network",
]
