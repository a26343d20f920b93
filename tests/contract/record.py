"""The public numbers of every method, as lines of text of which a change is seen in a diff.

    python tests/contract/record.py            # writes bundled.txt and, with the data, mulan.txt

A line is the name of a table, ``data/fit/quantity``, its numbers of rows and columns, and its
entries row by row. Of a table of more than 16 entries these are a fixed sample, after the number of
all that are finite and two sums over their absolute values.
"""

import os
import warnings
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

import isingmlc as im
from isingmlc.sklearn import IsingClassifier, IsingSelector

HERE = Path(__file__).parent
REFERENCE = HERE.parent / "reference"
DATA = Path(os.environ.get("ISINGMLC_DATA", HERE.parents[2] / "shared" / "data"))
SETS = ("plain", "rare", "separated")
MULAN = ("emotions", "flags", "scene", "yeast", "medical", "enron", "bibtex")
RANKINGS = (
    *("score", "products", "products-joint", "l1", "score+l1", "forward", "ssc"),
    *("br-chi2", "br-ig", "lp-chi2", "lp-ig", "oner"),
)
SAMPLE = 16


def write_entry(entry):
    if isinstance(entry, (bool, np.bool_)):
        return str(int(entry))
    if isinstance(entry, (int, float, np.number)):
        return f"{entry:.7g}"
    return "nan" if entry is None or pd.isna(entry) else "_".join(str(entry).split()) or "-"


def line_of(values):
    """Write a table, a series or a number as words."""
    values = np.asarray(values, dtype=object)
    shape = "x".join(map(str, values.shape)) or "1"
    flat = values.ravel()
    words = []
    if flat.size > SAMPLE:
        places = np.unique(np.linspace(0, flat.size - 1, SAMPLE).round().astype(int))
        if not any(isinstance(entry, str) for entry in flat):
            sizes = np.abs(flat.astype(float))
            known = np.isfinite(sizes)
            ordered = sizes[known] @ (1 + np.flatnonzero(known) % 7)
            words = [write_entry(each) for each in (known.sum(), sizes[known].sum(), ordered)]
        flat = flat[places]
    return " ".join([shape, *words, *map(write_entry, flat)])


def frame(key, table, leave_out=()):
    """Name every column of a table."""
    for name in table:
        if name not in leave_out:
            yield f"{key}/{name}", table[name]


def edges(key, tests):
    yield f"{key}/statistic", tests.statistics
    yield f"{key}/log10-pvalue", tests.log10_pvalues
    yield f"{key}/df", tests.df
    yield f"{key}/reason", tests.reasons
    if tests.params is not None:
        yield f"{key}/coef", tests.params
        yield f"{key}/se", tests.bse
        yield f"{key}/interval", tests.conf_int()


def products(key, tests):
    table = tests.to_frame(adjust="holm").sort_index()
    numbers = ("coef", "bse", "statistic", "df", "pvalue", "pvalue_adj", "reason", "pvalue_method")
    yield from frame(key, table[[name for name in numbers if name in table]])


def fit(key, res):
    yield f"{key}/params", res.params
    yield f"{key}/se", res.bse
    yield f"{key}/interval", res.conf_int()
    yield f"{key}/predict", res.predict().iloc[::50]
    yield f"{key}/llf", [res.llf, res.aic, res.bic, res.df_model]


def network(key, res):
    yield from frame(f"{key}/network", res.network_table(), ("first", "second"))
    yield from frame(f"{key}/centrality", res.centrality(), ("measure", "label"))
    yield from frame(f"{key}/predictability", res.predictability())
    pairs = list(pairwise(res.label_names))
    for name, combination in {
        "equal": {pairs[0]: 1.0, pairs[1]: -1.0},
        "three": pairs[:3],
    }.items():
        test = res.contrast(combination)
        yield f"{key}/contrast-{name}", [test.statistic, test.df, test.pvalue]


def ranking(key, ranked, n=15):
    yield f"{key}/order", list(ranked.order[:n])
    yield f"{key}/importance", ranked.importance
    if ranked.pvalues is not None:
        yield f"{key}/pvalue", ranked.pvalues


FITS = {
    "nodewise": {},
    "ridge": {"penalty": 1.0},
    "firth": {"penalty": "firth"},
    "joint": {"method": "joint"},
    "pseudo": {"method": "pseudo"},
}


def fits(data, labels, features, **more):
    """Every fit, variance, test and kind of p-value on one set."""
    n_rows = len(labels)
    model = im.IsingModel(labels, features, **more)
    for name, options in FITS.items():
        if name == "joint" and "covariates" in more:
            continue
        res = model.fit(**options)
        key = f"{data}/{name}"
        yield from fit(key, res)
        yield from network(key, res)
        yield from edges(f"{key}/score", res.score_test())
        if name in ("nodewise", "ridge"):
            yield from edges(f"{key}/wald", res.wald_test())
            yield from edges(f"{key}/lr", res.lr_test())
    res = model.fit()
    key = f"{data}/nodewise"
    yield from edges(f"{key}/lr-firth", res.lr_test(features.columns[:4], penalty="firth"))
    yield f"{key}/node", res.nodes[res.label_names[0]].params
    yield from frame(f"{key}/diagnostics", res.diagnostics, ("iterations",))
    for rule in ("mean", "and", "or"):
        yield f"{key}/symmetrize-{rule}", res.symmetrize(rule)
    exchanged = ["permutation"] if "covariates" not in more else []
    for pvalue in ("chi2", "saddlepoint", *exchanged):
        tests = res.score_test(pvalue=pvalue, n_permutations=99, random_state=1)
        yield f"{key}/score/{pvalue}", tests.log10_pvalues
    tests = res.score_test()
    for combine in ("acat", "sum", "omnibus"):
        yield f"{key}/score/features-{combine}", tests.feature_pvalues(combine)
    for adjust in ("holm", "fdr_bh", "fdr_by"):
        yield f"{key}/score/{adjust}", tests.to_frame(adjust=adjust).sort_index()["pvalue_adj"]
    few = list(res.model.terms)[:6]
    for kind in ("individual", "joint", "given", "given-joint"):
        yield from products(f"{key}/score-{kind}", res.score_test(few, products=kind))
        yield from products(f"{key}/wald-{kind}", res.wald_test(few, products=kind))
        if kind != "given":
            yield from products(f"{key}/lr-{kind}", res.lr_test(few, products=kind))
    yield from edges(f"{key}/score-column", res.score_test(unit="column"))
    for name, errors in {
        "HC0": {"cov_type": "HC0"},
        "HC2": {"cov_type": "HC2"},
        "cluster": {"groups": np.arange(n_rows) % 40},
        "neighbors-2": {"neighbors": 2},
    }.items():
        res = model.fit(**errors)
        yield f"{data}/{name}/params", res.params
        yield f"{data}/{name}/se", res.bse
        yield from edges(f"{data}/{name}/score", res.score_test())
        yield from edges(f"{data}/{name}/wald", res.wald_test())
        yield from frame(f"{data}/{name}/network", res.network_table(), ("first", "second"))
    for name, weights in {
        "freq-weights": {"freq_weights": 1.0 + np.arange(n_rows) % 3},
        "sampling-weights": {"sampling_weights": 1.0 + np.arange(n_rows) % 5 / 4},
        "no-intercept": {"intercept": False},
    }.items():
        res = im.IsingModel(labels, features, **more, **weights).fit()
        yield from fit(f"{data}/{name}", res)
        yield from edges(f"{data}/{name}/score", res.score_test())
    sparse = model.fit_regularized()
    yield f"{data}/regularized/interactions", sparse.interactions
    yield f"{data}/regularized/lam", sparse.lam
    yield from frame(f"{data}/regularized/predictability", sparse.predictability())
    drawn = sparse.bootstrap(10, random_state=2).edges()
    yield from frame(f"{data}/regularized/bootstrap", drawn, ("first", "second"))


def rankings(data, labels, features, methods, **more):
    for method in methods:
        options = {"n_features": 8} if method in ("forward", "ssc") else {}
        ranked = im.rank_features(labels, features, method=method, **options, **more)
        yield from ranking(f"{data}/rank-{method}", ranked)


def predictions(data, labels, features):
    chosen = im.select_features(labels, features, random_state=0)
    yield f"{data}/selected", list(chosen.selected)
    half = len(labels) // 2
    for decode in ("subset", "hamming", "jaccard", "f1"):
        classifier = IsingClassifier(decode=decode, penalty=10.0, random_state=0)
        classifier.fit(features[:half], labels[:half])
        yield f"{data}/classifier-{decode}", classifier.predict(features[half:])
    yield f"{data}/classifier-probability", classifier.predict_proba(features[half:])
    selector = IsingSelector(n_features_to_select=5).fit(features[:half], labels[:half])
    yield f"{data}/selector", selector.get_support()


def resampling(data, labels):
    model = im.IsingModel(labels)
    res = model.fit()
    draws = res.bootstrap(30, random_state=3)
    yield from frame(f"{data}/bootstrap/edges", draws.edges(), ("first", "second"))
    yield from frame(f"{data}/bootstrap/centrality", draws.centrality(), ("measure", "label"))
    yield from frame(f"{data}/drop-cases", res.drop_cases(20, random_state=3).to_frame())
    by = np.arange(len(labels)) % 2
    compared = im.compare_networks(model, by=by, n_permutations=19, random_state=5)
    yield from frame(f"{data}/comparison/tests", compared.tests)
    yield from frame(f"{data}/comparison/edges", compared.edges, ("first", "second"))
    good = model.fit(method="joint").goodness_of_fit(n_samples=39, random_state=7)
    yield f"{data}/goodness", [good.deviance, good.pearson, good.df, good.pearson_pvalue]


def reference(name):
    table = pd.read_csv(REFERENCE / f"{name}_data.csv")
    return table.filter(regex="^y"), table.filter(regex="^x"), table


def example():
    data = im.datasets.load_example()
    few = data.features.iloc[:, :12]
    yield from fits("example", data.labels, few)
    yield from rankings("example", data.labels, few, RANKINGS)
    yield from predictions("example", data.labels[:600], few[:600])
    yield from resampling("example", data.labels)


def context():
    labels, features, table = reference("context")
    covariates = table[["age", "sex", "region"]]
    yield from fits("context", labels, features, covariates=covariates)
    yield from rankings("context", labels, features, ("score", "l1"), covariates=covariates)
    moderated = im.IsingModel(labels, features, covariates=covariates).fit().at({"age": 60.0})
    yield "context/at/interactions", moderated.interactions
    yield "context/at/se", moderated.interactions_bse


def formula():
    table = reference("context")[2]
    text = "y1 + y2 + y3 + y4 ~ bs(x1, df=4) + C(region) + x2"
    res = im.IsingModel.from_formula(text, table, covariates="age + C(sex)").fit()
    for unit in ("term", "column"):
        yield from edges(f"formula/score-{unit}", res.score_test(unit=unit))
        yield from edges(f"formula/lr-{unit}", res.lr_test(unit=unit))


def mulan_set(name, folder):
    """Take some hundred rows, the commonest labels and features that are spread over the set."""
    data = im.datasets.load_mulan(name, part="train", data_dir=folder)
    rows = np.unique(np.linspace(0, len(data.labels) - 1, 400).astype(int))
    labels, features = data.labels.iloc[rows].reset_index(drop=True), data.features
    rare = np.minimum(labels.sum(), len(labels) - labels.sum())
    labels = labels[rare.sort_values(kind="stable", ascending=False).index[:6]]
    columns = np.unique(np.linspace(0, features.shape[1] - 1, 60).astype(int))
    if isinstance(features, pd.DataFrame):
        features = features.iloc[rows, columns].reset_index(drop=True)
    else:
        features = pd.DataFrame(features[rows][:, columns].toarray())
        features.columns = [data.feature_names[at] for at in columns]
    varying = features.columns[np.ptp(features, axis=0) > 0]
    return labels, features[varying[:20]]


def published(name, folder):
    labels, features = mulan_set(name, folder)
    model = im.IsingModel(labels, features)
    res = model.fit()
    yield from fit(f"{name}/nodewise", res)
    yield from network(f"{name}/nodewise", res)
    for test in ("score", "wald", "lr"):
        yield from edges(f"{name}/nodewise/{test}", getattr(res, f"{test}_test")())
    joint = res.score_test(products="joint")
    yield from edges(f"{name}/nodewise/score-joint", joint)
    few = list(model.terms)[:3]
    yield from products(f"{name}/nodewise/score-given", res.score_test(few, products="given"))
    for fitted in ("ridge", "firth"):
        tests = model.fit(**FITS[fitted]).score_test()
        yield from edges(f"{name}/{fitted}/score", tests)
    yield from edges(f"{name}/HC0/score", model.fit(cov_type="HC0").score_test())
    yield f"{name}/regularized/interactions", model.fit_regularized().interactions
    yield from rankings(name, labels, features, ("score", "forward", "l1", "br-chi2"))
    classifier = IsingClassifier(penalty=10.0, random_state=0).fit(features, labels)
    yield f"{name}/classifier-probability", classifier.predict_proba(features)


# Data that come with the package and its tests, and data beside the project.
BUNDLED = {
    "example": example,
    **{name: partial(lambda name: fits(name, *reference(name)[:2]), name) for name in SETS},
    "context": context,
    "formula": formula,
}
PARTS = {
    "bundled": BUNDLED,
    "mulan": {name: partial(published, name, DATA) for name in MULAN},
}


def lines(numbers):
    """Return the lines of all numbers by their names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {key: line_of(value) for key, value in numbers}


def main():
    for name, parts in PARTS.items():
        if name == "mulan" and not DATA.is_dir():
            print(f"no data in {DATA}: mulan.txt stays as it is")
            continue
        found = {key: line for part in parts.values() for key, line in lines(part()).items()}
        text = "".join(f"{key} {line}\n" for key, line in found.items())
        (HERE / f"{name}.txt").write_text(text)
        print(f"{name}: {len(found)} tables, {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
