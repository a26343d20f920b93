"""
The first figure of the paper
=============================

The paper opens with two networks of the labels of *scene*, photographs that show a beach, a
sunset, a field, autumn leaves, mountains or a town, or several of these at once. In the centre of
one network stands the feature that matters most, in the other the one that matters least, and the
numbers on the edges are score statistics. This example draws the same two networks for the
bundled data, and for *scene* itself if its files are at hand.
"""

import os
import warnings
from pathlib import Path
from textwrap import fill

import isingmlc as im

# %%
# The bundled survey
# ------------------
#
# :meth:`~isingmlc.IsingResults.plot_networks` draws the most and the least important feature unless
# others are named. Both pictures have the same scale: the larger its statistic, the wider an edge;
# it is solid if it is significant, blue if the feature goes with the label and orange if it goes
# against it.

res = im.IsingModel(im.datasets.load_example()).fit()
axes = res.plot_networks()

# %%
# The importance of a feature is the sum of the numbers on its edges.

importance = res.score_test().importance
print(f"most important:  {importance.idxmax()}, importance {importance.max():.1f}")
print(f"least important: {importance.idxmin()}, importance {importance.min():.2f}")

# %%
# The photographs
# ---------------
#
# *scene* belongs to third parties and is not part of the package.
# :func:`~isingmlc.datasets.load_mulan` finds its files in the folder that the environment variable
# ``ISINGMLC_DATA`` names, or where :func:`~isingmlc.datasets.fetch_mulan` has put them. Run from a
# clone, this script also looks into ``shared/data`` beside it.

beside = Path(im.__file__).parents[2] / "shared" / "data"
folder = beside if beside.is_dir() and "ISINGMLC_DATA" not in os.environ else None
try:
    scene = im.datasets.load_mulan("scene", part="train", data_dir=folder)
    print(f"The pictures below are those of {scene}.")
except im.exceptions.FileError:
    scene = None
    print("The files of scene are not here or cannot be read: its pictures are left out.")
    print("Set ISINGMLC_DATA to their folder, or run im.datasets.fetch_mulan('scene').")

# %%
# Every photograph has at least one label, and one with sunset has no other. So the other labels
# tell exactly which photographs show a sunset, and nothing is left for a feature to add: its edge
# cannot be tested, and is grey and without a number if scene is drawn. Three more pairs of labels
# never meet. The fit warns of all that.

if scene is not None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        photographs = im.IsingModel(scene).fit()
    for warning in caught:
        print(fill(f"{warning.category.__name__}: {warning.message}", width=80))
    axes = photographs.plot_networks()

# %%
# The paper prints x239 as the most and x71 as the least important feature.

if scene is not None:
    ranking = photographs.rank_features()
    places = {name: place for place, name in enumerate(ranking.order, 1)}
    print(f"{len(places)} features, from {ranking.order[0]} to {ranking.order[-1]}")
    for number in (239, 71):
        name = scene.feature_names[number - 1]
        print(f"x{number} of the paper is {name}, here number {places[name]}")
