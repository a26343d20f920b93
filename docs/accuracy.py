"""Measure how far the package is from the reference values in ``tests/reference``.

python docs/accuracy.py                              # under the kernel of this processor
OPENBLAS_CORETYPE=Nehalem python docs/accuracy.py    # under another one
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import isingmlc as im

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from forward_data import ssc_data  # noqa: E402
from golden import load, load_context, load_data  # noqa: E402

TERMS = {
    "(Intercept)": "const",
    "regionnorth": "region[T.north]",
    "regionsouth": "region[T.south]",
}
PAIRS = np.triu_indices(4, 1)


def measure() -> pd.DataFrame:
    """Compute everything that has a reference value, and the largest difference of each kind.

    Returns
    -------
    DataFrame
        One row per quantity: who computed the reference, how many values there are, and the
        largest difference, absolute and relative to the reference.
    """
    found: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", im.exceptions.IsingWarning)
        for part in (_plain, _context, _robust, _penalised, _sparse, _joint, _forward):
            for quantity, program, ours, theirs in part():
                found.setdefault((quantity, program), []).append((ours, theirs))
    return pd.DataFrame([_compare(*key, pairs) for key, pairs in found.items()])


def _compare(quantity: str, program: str, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    ours, theirs = (np.concatenate([np.ravel(pair[at]) for pair in pairs]) for at in (0, 1))
    apart = np.abs(ours.astype(float) - theirs.astype(float))
    size = np.abs(theirs.astype(float))
    return {
        "quantity": quantity,
        "reference": program,
        "values": len(ours),
        "absolute": apart.max(),
        "relative": (apart[size > 0] / size[size > 0]).max(),
    }


Found = Iterator[tuple[str, str, Any, Any]]


def _edges(table: pd.DataFrame, reference: pd.DataFrame) -> list[float]:
    return [table.loc[row.feature, row.label] for row in reference.itertuples()]


def _terms(table: pd.DataFrame, reference: pd.DataFrame) -> list[float]:
    return [table.loc[TERMS.get(row.term, row.term), row.label] for row in reference.itertuples()]


def _plain() -> Found:
    for name in ("plain", "rare"):
        labels, features = load_data(name)
        for intercept in (True, False):
            res = im.IsingModel(labels, features, intercept=intercept).fit()
            nodes = load(name, "nodes").query("intercept == @intercept")
            yield (
                "coefficients of label models",
                "R's glm",
                _terms(res.params, nodes),
                nodes.estimate,
            )
            yield "their standard errors", "R's glm", _terms(res.bse, nodes), nodes.se
            edges = load(name, "edges").query("intercept == @intercept")
            score, lr, wald = res.score_test(pvalue="chi2"), res.lr_test(), res.wald_test()
            for test, column in ((score, "score"), (lr, "lr"), (wald, "wald")):
                ours = _edges(test.statistics, edges)
                yield f"{column} statistics of edges", "R's glm", ours, edges[column]
            yield "p-values of score tests", "R's glm", _edges(score.pvalues, edges), edges.score_p
            single = load(name, "individual").query("intercept == @intercept")
            keys = ["feature", "label", "with"]
            ours = res.score_test(products="individual").to_frame().set_index(keys)["statistic"]
            ours = ours.loc[pd.MultiIndex.from_frame(single[keys])]
            yield "score statistics of products", "R's glm", ours, single["u"]
            joint = load(name, "joint").query("intercept == @intercept")
            ours = _edges(res.score_test(products="joint").statistics, joint)
            yield "joint score statistics", "R's glm", ours, joint["U"]
    labels, features = load_data("separated")
    edges = load("separated", "edges")
    ours = _edges(im.IsingModel(labels, features).fit().score_test().statistics, edges)
    yield "score statistics where labels are separated", "R's glm", ours, edges["score"]


def _context() -> Found:
    labels, covariates, features = load_context()
    res = im.IsingModel(labels, features, covariates=covariates).fit()
    nodes, edges = load("context", "nodes"), load("context", "edges")
    yield "coefficients given covariates", "R's glm", _terms(res.params, nodes), nodes["estimate"]
    for column in ("score", "lr", "wald"):
        test = getattr(res, f"{column}_test")()
        ours = _edges(test.statistics, edges)
        yield f"{column} statistics given covariates", "R's glm", ours, edges[column]
    given = load("context", "moderation").query("`with` == 'all'")
    for column in ("score", "lr"):
        test = getattr(res, f"{column}_test")(products="given-joint")
        yield (
            f"moderation, {column} statistics",
            "R's glm",
            _edges(test.statistics, given),
            given[column],
        )


def _robust() -> Found:
    labels, covariates, features = load_context()
    frame = load("context", "data")
    nodes, scores = load("context", "nodes"), load("context", "robust")
    model = im.IsingModel(labels, features, covariates=covariates)
    for kind in ("HC0", "cluster"):
        groups = frame["centre"] if kind == "cluster" else None
        res = model.fit(cov_type=kind, groups=groups, use_correction=False)
        column = f"se_{kind.lower()}"
        yield "robust standard errors", "R's sandwich", _terms(res.bse, nodes), nodes[column]
        ours = _edges(res.score_test().statistics, scores)
        yield "robust score statistics", "R's sandwich", ours, scores[kind.lower()]
    survey = load("context", "survey")
    weighted = im.IsingModel(
        labels, covariates=covariates, groups=frame["centre"], sampling_weights=frame["weight"]
    ).fit()
    ours, program = _terms(weighted.bse, survey), "R's survey"
    yield "coefficients with weights", program, _terms(weighted.params, survey), survey["estimate"]
    yield "their errors, weights and clusters", program, ours, survey["se"]


def _penalised() -> Found:
    labels, _ = load_data("separated")
    res = im.IsingModel(labels).fit(penalty="firth")
    firth = load("separated", "firth")
    yield "Firth's coefficients", "R's brglm2", _terms(res.params, firth), firth["estimate"]
    for name in ("rare", "separated"):
        reference = load("firth", "lr").query("set == @name")
        edges = im.IsingModel(*load_data(name)).fit().lr_test(penalty="firth")
        ours = _edges(edges.statistics, reference)
        yield "Firth's likelihood ratios", "R's brglm2", ours, reference["lr"]


def _sparse() -> Found:
    for rule in ("and", "or"):
        theirs = load("plain", f"isingfit_{rule}").set_index("label")
        net = im.IsingModel(load_data("plain")[0]).fit_regularized(rule=rule)
        ours = net.interactions.to_numpy()
        yield "weights of EBIC networks", "IsingFit", ours, theirs[list(net.label_names)].to_numpy()
        yield "chosen penalties", "IsingFit", net.lam, theirs["lambda"]
    labels, covariates, _ = load_context()
    model = im.IsingModel(labels, covariates=covariates)
    tables = load("context", "l1").query("not features and not penalized")
    for ratio, part in tables.groupby("ratio"):
        net = model.fit_regularized(lam=ratio * part.groupby("label")["lambda_max"].first())
        part = part[part["term"] != "(Intercept)"]
        ours = _terms(net.directed, part)
        yield "l1 coefficients given covariates", "R's glmnet", ours, part["coef"]


def _joint() -> Found:
    labels, _, _ = load_context()
    reference = load("context", "exact").set_index("term")
    pairs = reference[reference.index.str.contains(":")]
    table = im.IsingModel(labels).fit(method="joint").network_table()
    table.index = table["first"] + ":" + table["second"]
    program = "R's loglinear glm"
    yield (
        "interactions by exact likelihood",
        program,
        table["weight"].loc[pairs.index],
        pairs["estimate"],
    )
    yield (
        "their standard errors, exact likelihood",
        program,
        table["se"].loc[pairs.index],
        pairs["se"],
    )
    groups = load("context", "groups").loc[0]
    compared = im.compare_networks(
        im.IsingModel(labels),
        load("context", "data")["sex"],
        method="ebic",
        n_permutations=3,
        random_state=0,
    )
    yield (
        "M and S of two groups, EBIC networks",
        "IsingFit",
        [compared.M, compared.S],
        groups[["M", "S"]],
    )


def _forward() -> Found:
    for seed, reference in load("fastcan", "order").groupby("seed"):
        ranking = im.rank_features(*ssc_data(seed), method="ssc", n_features=len(reference))
        yield "gains of `ssc`, step by step", "fastcan", ranking.path["gain"], reference["gain"]


if __name__ == "__main__":
    print(measure().to_string(float_format="{:.0e}".format))
