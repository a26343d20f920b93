"""How often features that do nothing are found with the defaults, over all kinds of data.

Prints one table: for every setting the share of p-values up to 0.05, 0.01 and 0.001, over the level
(1 is right), of edges and of features, with Monte-Carlo standard errors from the differences
between data sets. ``off`` names the levels whose ratio is outside 0.8–1.25 (0.4–2 at 0.001) by more
than two standard errors, and ``warned`` is the share of data sets for which a warning named labels
whose p-values are not to be trusted.

``--power`` compares instead, where coefficients eat the information, the scaled variances of the
default with HC2, ridge models and plain chi-square: ratios of edges without effect, and the share
of those with an effect that is found.

    python benchmarks/type_one_error.py                            # about 20 minutes
    python benchmarks/type_one_error.py --sets 10 --only clusters  # a look at some settings
    python benchmarks/type_one_error.py --part 1/4                 # a quarter of the settings
    python benchmarks/type_one_error.py --power                    # half a minute
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from feature_pvalues import LEVEL, LEVELS, gibbs, ring, topics
from scipy import sparse

import isingmlc as im
from isingmlc.exceptions import DataWarning, IsingWarning, LowInformationWarning
from isingmlc.results.calibration import judge

Draw = Callable[[np.random.Generator], im.EdgeTests]


def plain(name: str) -> Draw:
    """Test the data of one of the settings of `feature_pvalues`."""

    def draw(rng: np.random.Generator) -> im.EdgeTests:
        labels, features, options = LEVEL[name](rng)
        return im.IsingModel(labels, features).fit(**options).score_test()

    return draw


def many_topics(n_labels: int, n_rows: int) -> Draw:
    def draw(rng: np.random.Generator) -> im.EdgeTests:
        labels, features, _ = topics(n_labels, n_rows)(rng)
        return im.IsingModel(labels, features).fit().score_test()

    return draw


def clusters(n_clusters: int, size: int) -> Draw:
    """Make a feature that is the same in all rows of a cluster."""

    def draw(rng: np.random.Generator) -> im.EdgeTests:
        groups = np.repeat(np.arange(n_clusters), size)
        pull = rng.normal(size=(n_clusters, 4))[groups]
        labels = gibbs(rng, pull - 0.5, ring(4, 0.3), 30)
        features = rng.normal(size=(n_clusters, 300))[groups]
        return im.IsingModel(labels, features, groups=groups).fit().score_test()

    return draw


def sampled(rng: np.random.Generator) -> im.EdgeTests:
    """Draw rows with unequal probabilities, which depend on the first label."""
    labels = gibbs(rng, np.full((4000, 4), -0.5), ring(4, 0.5), 30)
    chance = np.where(labels[:, 0] > 0, 0.6, 0.1) * rng.uniform(0.3, 1.0, 4000)
    kept = rng.random(4000) < chance
    features = rng.normal(size=(int(kept.sum()), 300))
    model = im.IsingModel(labels[kept], features, sampling_weights=1 / chance[kept])
    return model.fit().score_test()


def products(kind: str, penalty: float | str | None = None, binary: bool = False) -> Draw:
    """Test products of one kind, with a rare label among common ones."""

    def draw(rng: np.random.Generator) -> im.EdgeTests:
        labels = (rng.random((1000, 4)) < [0.03, 0.4, 0.4, 0.4]).astype(float)
        features = rng.lognormal(size=(1000, 60))
        if binary:
            features = (rng.random((1000, 60)) < 0.03).astype(float)
        return im.IsingModel(labels, features).fit(penalty=penalty).score_test(products=kind)

    return draw


def few_meet(kind: str, penalty: float | str | None) -> Draw:
    """Test products of one kind with five labels of which hardly any meet."""

    def draw(rng: np.random.Generator) -> im.EdgeTests:
        labels = (rng.random((1000, 5)) < 0.025).astype(float)
        features = np.column_stack([rng.lognormal(size=(1000, 30)), rng.random((1000, 30)) < 0.03])
        return im.IsingModel(labels, features).fit(penalty=penalty).score_test(products=kind)

    return draw


def given_effect(kind: str, penalty: float | str | None) -> Draw:
    """Test products of features that act on a rare label themselves, one per data set."""

    def draw(rng: np.random.Generator) -> im.EdgeTests:
        x = rng.lognormal(size=(1000, 1))
        fields = np.array([-4.2, -0.5, -0.4, -0.4]) + x * np.array([0.35, 0.3, 0.0, 0.0])
        labels = gibbs(rng, fields, ring(4, 0.3), 12)
        return im.IsingModel(labels, x).fit(penalty=penalty).score_test(products=kind)

    return draw


def terms(share: float, penalty: float | str | None = None) -> Draw:
    """Make categories of four levels, one of them, like one of the labels, in few rows."""

    def draw(rng: np.random.Generator) -> im.EdgeTests:
        labels = (rng.random((1000, 4)) < [share, 0.4, 0.4, 0.4]).astype(int)
        frame = pd.DataFrame(labels, columns=list("abcd"))
        for at in range(30):
            frame[f"x{at}"] = rng.choice(list("pqrs"), 1000, p=[0.5, 0.3, 0.2 - share, share])
        formula = "a + b + c + d ~ " + " + ".join(f"C(x{at})" for at in range(30))
        model = im.IsingModel.from_formula(formula, frame)
        return model.fit(penalty=penalty).score_test(unit="term")

    return draw


def rare(shares: tuple[float, float], kind: str, n_rows: int) -> Draw:
    """Make five labels at these shares, and features of one kind."""

    def draw(rng: np.random.Generator) -> im.EdgeTests:
        labels = rng.random((n_rows, 5)) < np.linspace(*shares, 5)
        features = rng.lognormal(size=(n_rows, 200))
        if kind == "0/1 at 1%":
            features = (rng.random((n_rows, 200)) < 0.01).astype(float)
        if kind == "sparse lognormal":
            features = sparse.csr_array(features * (rng.random((n_rows, 200)) < 0.02))
        return im.IsingModel(labels.astype(int), features).fit().score_test()

    return draw


def with_covariates(rng: np.random.Generator) -> im.EdgeTests:
    """Adjust many rows for two covariates, on which labels and features depend."""
    covariates = rng.normal(size=(20_000, 2))
    labels = rng.random((20_000, 5)) < 1 / (1 + np.exp(4.5 - covariates[:, :1]))
    features = np.exp(rng.normal(size=(20_000, 50)) + 0.3 * covariates[:, 1:])
    model = im.IsingModel(labels.astype(int), features, covariates=covariates)
    return model.fit().score_test()


PENALTIES = {"none": None, "ridge": 1.0, "firth": "firth"}
SETTINGS: dict[str, Draw] = {
    **{name: plain(name) for name in LEVEL},
    "labels at 1-5%, 0/1 features at 1%, 1,000 rows": rare((0.01, 0.05), "0/1 at 1%", 1000),
    "labels at 1-5%, 0/1 features at 1%, 5,000 rows": rare((0.01, 0.05), "0/1 at 1%", 5000),
    "labels at .3-.5%, 0/1 features at 1%, 5,000 rows": rare((0.003, 0.005), "0/1 at 1%", 5000),
    "labels at .3-.5%, lognormal features, 5,000 rows": rare((0.003, 0.005), "lognormal", 5000),
    "labels at 2%, lognormal features, 1,000 rows": rare((0.02, 0.02), "lognormal", 1000),
    "labels at 2%, sparse lognormal, 2,000 rows": rare((0.02, 0.02), "sparse lognormal", 2000),
    "20,000 rows, two covariates, lognormal features": with_covariates,
    "20 topic-like labels, 400 rows": many_topics(20, 400),
    "80 topic-like labels, 1500 rows": many_topics(80, 1500),
    "50 clusters of 20 rows": clusters(50, 20),
    "200 clusters of 5 rows": clusters(200, 5),
    "sampling weights": sampled,
    "terms with levels at 3%, a label at 3%": terms(0.03),
    "terms with levels at 1%, a label at 1%": terms(0.01),
    **{
        f"terms with levels at 3%, a label at 3%, {name}": terms(0.03, PENALTIES[name])
        for name in ("ridge", "firth")
    },
    **{
        f"{kind} products, a label at 3%, {named}{name}": products(kind, PENALTIES[name], binary)
        for kind in ("individual", "joint", "given", "given-joint")
        for named, binary, name in (
            ("lognormal, ", False, "none"),
            ("lognormal, ", False, "ridge"),
            ("lognormal, ", False, "firth"),
            ("0/1 at 3%, ", True, "none"),
        )
    },
    **{
        f"{kind} products, a feature that acts, {name}": given_effect(kind, PENALTIES[name])
        for kind in ("given", "given-joint")
        for name in PENALTIES
    },
    **{
        f"{kind} products, hardly any labels meet, {name}": few_meet(kind, PENALTIES[name])
        for kind in ("individual", "joint", "given", "given-joint")
        for name in PENALTIES
    },
}
ONE_FEATURE = "a feature that acts"


# What competes where rows say little for the number of coefficients: options of fit and of tests.
RIVALS: dict[str, tuple[dict[str, object], str]] = {
    "auto": ({}, "auto"),
    "chi2": ({}, "chi2"),
    "HC2": ({"cov_type": "HC2"}, "auto"),
    "ridge 10, chi2": ({"penalty": 10.0}, "chi2"),
    "ridge 10, auto": ({"penalty": 10.0}, "auto"),
}


def compare_power(n_labels: int, n_rows: int, n_sets: int) -> pd.DataFrame:
    """Tabulate level and power for topic-like labels, each of which raises some features by 0.6."""
    found: dict[str, list[list[float]]] = {name: [] for name in RIVALS}
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        labels, features, _ = topics(n_labels, n_rows)(rng)
        acting = np.arange(features.shape[1])[:, None] % n_labels == np.arange(n_labels)
        # Given the labels a feature is normal, so its effect on the label is 0.6 in the model too.
        features += 0.6 * labels @ acting.T
        for name, (options, pvalue) in RIVALS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IsingWarning)
                model = im.IsingModel(labels, features)
                pvalues = model.fit(**options).score_test(pvalue=pvalue).pvalues.to_numpy()
            kinds = [pvalues[at & ~np.isnan(pvalues)] for at in (~acting, acting)]
            level = [float(np.mean(kinds[0] <= each)) / each for each in LEVELS]
            found[name].append([*level, *(float(np.mean(kinds[1] <= each)) for each in LEVELS)])
    lines = {}
    for name, each in found.items():
        mean, error = np.mean(each, axis=0), np.std(each, axis=0, ddof=1) / np.sqrt(n_sets)
        cells = [f"{m:.2f}({e:.2f})" for m, e in zip(mean, error, strict=True)]
        lines[name] = {"level": "/".join(cells[:3]), "power": "/".join(cells[3:])}
    return pd.DataFrame(lines).T


def measure(draw: Draw, n_sets: int, seed: int) -> dict[str, object]:
    """Give ratios of edges and features with their errors, and how often a warning came."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[list[float]]] = {"edges": [], "features": []}
    n_tests = {"edges": 0, "features": 0}
    n_warned = 0
    for _ in range(n_sets):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", IsingWarning)
            edges = draw(rng)
            frame = edges.to_frame(adjust=None)
            given = edges.arrays.products == "given"
            # Given the feature it is the products that have no effect.
            single = frame.loc[frame["with"] != "", "pvalue"] if given else frame["pvalue"]
            tested = {"edges": single}
            if not given:
                tested["features"] = edges.feature_pvalues()
        said = (DataWarning, LowInformationWarning)
        n_warned += any(issubclass(each.category, said) for each in caught)
        for kind, values in tested.items():
            known = values.to_numpy()[values.notna().to_numpy()]
            n_tests[kind] += len(known)
            found[kind].append([float(np.mean(known <= level)) / level for level in LEVELS])
    line: dict[str, object] = {}
    for kind, each in found.items():
        if not each:
            continue
        ratios = np.array(each)
        mean, error = ratios.mean(axis=0), ratios.std(axis=0, ddof=1) / np.sqrt(n_sets)
        # Independent tests, at best, differ by this much.
        levels = np.array(LEVELS)
        error = np.maximum(error, np.sqrt((1 - levels) / levels / n_tests[kind]))
        cells = [f"{m:.2f}({e:.2f})" for m, e in zip(mean, error, strict=True)]
        line[kind] = "/".join(cells)
        verdicts = [judge(*row) for row in zip(mean, error, LEVELS, strict=True)]
        off = [f"{level:g}" for level, word in zip(LEVELS, verdicts, strict=True) if "too" in word]
        line[f"off ({kind})"] = " ".join(off)
    return {**line, "warned": n_warned / n_sets}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=60, help="data sets per setting (default: 60)")
    parser.add_argument("--only", help="settings whose name holds this text")
    parser.add_argument("--part", default="1/1", help="which part of the settings, e.g. 2/4")
    parser.add_argument("--power", action="store_true", help="compare what is done with little")
    given = parser.parse_args()
    if given.power:
        for n_labels, n_rows in ((20, 400), (40, 750)):
            print(f"\n{n_labels} topic-like labels, {n_rows} rows: .05/.01/.001")
            print(compare_power(n_labels, n_rows, given.sets).to_string())
        return
    at, n_parts = map(int, given.part.split("/"))
    lines = []
    for number, (name, draw) in enumerate(SETTINGS.items()):
        wanted = given.only is None or given.only in name
        if not wanted or number % n_parts != at - 1:
            continue
        n_sets = given.sets * (10 if ONE_FEATURE in name else 1)
        line = {"setting": name, **measure(draw, n_sets, number)}
        lines.append(line)
        print(line, flush=True)
    with pd.option_context("display.width", 250, "display.max_colwidth", 60):
        print("\nShare of p-values up to .05/.01/.001 over the level, with the defaults")
        print(pd.DataFrame(lines).to_string(index=False))


if __name__ == "__main__":
    main()
