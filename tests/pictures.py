"""Data and pictures that the tests of plots share; run as a script it draws the baselines anew."""

from functools import cache
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from matplotlib.text import Text

import isingmlc as im
from isingmlc import plots

IMAGES = Path(__file__).parent / "images"
AWKWARD = "<script>$x_1$</script>"
LONG_NAMES = (
    "chronic obstructive pulmonary disease",
    "Type_2_diabetes_mellitus_with_complications",
    "hypertension",
    "rheumatoid arthritis of several joints",
    "depression or anxiety disorder",
    "asthma",
    "ischaemic heart disease (any)",
    "chronic-kidney-disease-stage-3",
    AWKWARD,
    "osteoporosis",
    "_migraine_with_aura",
    "thyroid.disorder.unspecified",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    r"stroke $\frac{1}{2}",
)


def simulate(names, n=1500, features=("x1", "a_rather_long_name_of_a_feature", "$z_2$", "x4")):
    """Return a fit of labels that hang together and features that act on some of them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, len(features)))
    acts = rng.normal(size=(len(features), len(names))) * (rng.random((1, len(names))) < 0.6)
    common = rng.normal(size=(n, 5)) @ rng.normal(size=(5, len(names)))
    y = x @ acts * 0.6 + 0.8 * common + rng.logistic(size=(n, len(names))) > 1.2
    labels = pd.DataFrame(y.astype(int), columns=list(names))
    return im.IsingModel(labels, pd.DataFrame(x, columns=list(features))).fit()


# Covariates, of which there are too many for a line of a title.
COVARIATES = ("age", "sex", AWKWARD, "deprivation_of_the_place_of_birth", "home_owner", "urban")


def adjusted_model():
    """Return a model of the bundled example with covariates, one of them a category."""
    data = im.datasets.load_example()
    used = data.features[["age", "female", "pets", "deprivation_decile", "home_owner", "urban"]]
    covariates = used.set_axis(list(COVARIATES), axis=1)
    covariates["sex"] = np.where(used["female"] == 1, "female", "male")
    features = data.features.drop(columns=used.columns)
    return im.IsingModel(data.labels, features, covariates=covariates)


@cache
def fit(case):
    """Return the fit of a case: the bundled example, with covariates, long names, or 50 labels."""
    if case == "example":
        return im.IsingModel(im.datasets.load_example()).fit()
    if case == "covariates":
        return adjusted_model().fit()
    if case == "long names":
        return simulate(LONG_NAMES)
    return simulate([f"label_{number:02d}_of_some_topic" for number in range(1, 51)])


@cache
def edges(case):
    return fit(case).score_test()


@cache
def ranking(case, method="score"):
    return fit(case).rank_features(method)


@cache
def roc(case):
    """Return the curve of a ranking whose first and third feature are relevant."""
    ranked = ranking(case)
    return ranked.roc([ranked.order[0], ranked.order[2]])


def path():
    size = np.arange(1, 16)
    rise = 1 - np.exp(-size / 4)
    measures = {"subset": 0.4 * rise, "hamming": 0.7 + 0.1 * np.sin(size / 5), AWKWARD: 0.6 * rise}
    return pd.DataFrame({"size": size, **measures})


# By name: what draws the picture of a case, on given axes or on new ones.
PICTURES = {
    "network": lambda case, ax=None: plots.plot_network(
        fit(case), edges(case).feature_names[0], edges=edges(case), ax=ax
    ),
    "spring network": lambda case, ax=None: plots.plot_network(
        fit(case), edges(case).feature_names[0], edges=edges(case), layout="spring", ax=ax
    ),
    "label network": lambda case, ax=None: plots.plot_label_network(
        fit(case).interactions,
        fit(case).thresholds,
        layout="cluster",
        adjusted_for=fit(case).adjusted_for,
        ax=ax,
    ),
    "spring label network": lambda case, ax=None: plots.plot_label_network(
        fit(case).interactions, layout="spring", adjusted_for=fit(case).adjusted_for, ax=ax
    ),
    "heatmap": lambda case, ax=None: plots.plot_heatmap(edges(case), ax=ax),
    "ranking": lambda case, ax=None: plots.plot_ranking(ranking(case), ax=ax),
    "pairs": lambda case, ax=None: plots.plot_pairs(
        ranking(case, "products"), edges(case).feature_names[0], ax=ax
    ),
    "forest": lambda case, ax=None: plots.plot_forest(edges(case), ax=ax),
    "qq": lambda case, ax=None: plots.plot_qq(edges(case), ax=ax),
    "diagnostics": lambda case, ax=None: plots.plot_diagnostics(fit(case), ax=ax),
    "roc": lambda case, ax=None: plots.plot_roc(roc(case), ax=ax),
    "selection": lambda case, ax=None: plots.plot_selection(
        path(), 9, adjusted_for=fit(case).adjusted_for, ax=ax
    ),
}
CASES = ("example", "covariates", "long names", "many labels")


# By file name: pictures that are compared with a baseline.
BASELINES = {
    "networks": lambda: plots.plot_networks(fit("example"), edges=edges("example"))[0],
    "network_long_names": lambda: PICTURES["network"]("long names"),
    "label_network": lambda: PICTURES["label network"]("example"),
    "heatmap": lambda: PICTURES["heatmap"]("example"),
    "ranking": lambda: PICTURES["ranking"]("long names"),
    "qq": lambda: PICTURES["qq"]("example"),
    "diagnostics": lambda: PICTURES["diagnostics"]("example"),
    "network_covariates": lambda: PICTURES["network"]("covariates"),
}
DPI = 40


def save(name, folder):
    """Draw a picture into a folder and give its path."""
    target = folder / f"{name}.png"
    BASELINES[name]().figure.savefig(target, dpi=DPI, pil_kwargs={"optimize": True})
    return target


def drawn_texts(figure):
    """Draw a figure and give the texts that were drawn, with their boxes in pixels."""
    seen = []
    draw = Text.draw

    def listen(self, renderer):
        if self.get_visible() and self.get_text().strip():
            seen.append((self.get_text(), self.get_window_extent(renderer)))
        draw(self, renderer)

    with patch.object(Text, "draw", listen):
        figure.canvas.draw()
    return seen


def overlapping(texts):
    """Return the pairs of texts whose boxes overlap by more than the rounding to whole pixels."""
    boxes = [box.padded(-0.5) for _, box in texts]
    pairs = combinations(range(len(texts)), 2)
    return [(texts[a][0], texts[b][0]) for a, b in pairs if boxes[a].overlaps(boxes[b])]


@cache
def texts_of(name, case):
    """Return the texts of a picture and the size of its figure."""
    figure = PICTURES[name](case).figure
    return drawn_texts(figure), figure.bbox.size


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    for picture in BASELINES:
        print(save(picture, IMAGES))
