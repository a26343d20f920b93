"""Why something cannot be tested: one enumeration, one module that decides."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.fitting.testable import Reason

PACKAGE = Path(im.__file__).parent
OURS = "ignore::isingmlc.exceptions.IsingWarning"


def spelled_out(path):
    """Find strings in code, not in documentation, that are reasons."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and node.value in set(Reason)
        and id(node) not in documentation
    ]


def test_no_other_module_spells_a_reason():
    own = PACKAGE / "fitting" / "testable.py"
    assert sorted(spelled_out(own)) == sorted(Reason)
    others = [path for path in PACKAGE.rglob("*.py") if path != own]
    assert len(others) > 100
    assert not {str(path): spelled_out(path) for path in others if spelled_out(path)}


def test_every_reason_has_a_meaning_and_looks_like_text():
    assert Reason.OK.meaning == ""
    assert all(reason.meaning for reason in Reason if reason != Reason.OK)
    assert repr(Reason.TOO_RARE) == "'too-rare'"
    assert pd.Series([Reason.TOO_RARE]).to_csv(index=False) == "0\ntoo-rare\n"


@pytest.mark.filterwarnings(OURS)
def test_each_reason_is_given_where_it_belongs():
    rng = np.random.default_rng(0)
    first, second = (rng.random((2, 400)) < 0.5).astype(int)
    labels = pd.DataFrame(
        {
            "free": first,
            "other": second,
            "always": 1,
            "both": first & second,
            "once": (np.arange(400) == 7).astype(int),
        }
    )
    features = pd.DataFrame({"x": rng.normal(size=400), "same": 2.0, "copy": second * 3.0})
    res = im.IsingModel(labels, features).fit()
    reasons = res.score_test().reasons
    assert set(reasons["always"]) == {Reason.CONSTANT_LABEL}
    assert set(reasons["once"]) == {Reason.TOO_RARE}
    assert set(reasons["both"]) == {Reason.DETERMINED_LABEL}
    assert reasons.loc["same", "free"] == Reason.CONSTANT_FEATURE
    assert reasons.loc["copy", "free"] == Reason.COLLINEAR_FEATURE
    assert reasons.loc["x", "free"] == Reason.OK
    ranking = im.rank_features(labels, features, method="score+l1", keep=1)
    assert Reason.SCREENED_OUT in set(ranking.reasons)
    separating = features.assign(sign=np.where(first == 1, 1.0, -1.0) * rng.random(400))
    tests = im.IsingModel(labels[["free", "other"]], separating).fit().wald_test(["sign"])
    assert tests.loc["sign", "free"].reason == Reason.SEPARATED_ALTERNATIVE


@pytest.mark.filterwarnings(OURS)
def test_without_an_intercept_rows_of_one_kind_have_a_score(data_dir):
    # As R has it: the null model says 1/2 where no other label is there.
    scene = im.datasets.load_mulan("scene", part="train", data_dir=data_dir)
    edges = im.IsingModel(scene, intercept=False).fit().score_test()
    assert edges.loc["Att1", "Sunset"].reason == Reason.OK
    assert edges.loc["Att1", "Sunset"].statistic == pytest.approx(139.35, abs=0.005)


@pytest.mark.filterwarnings(OURS)
def test_a_label_that_is_one_where_no_other_is_has_the_score_of_a_fair_coin():
    rng = np.random.default_rng(2)
    others = rng.integers(0, 2, size=(200, 2))
    alone = ~others.any(axis=1)
    x = rng.normal(1.0, 2.0, size=200)
    labels = np.column_stack([alone, others])
    edges = im.IsingModel(labels, x[:, None], intercept=False).fit().score_test()
    # Of residuals of 1/2 and weights of 1/4 in the rows where it is alone.
    expected = x[alone].sum() ** 2 / (x[alone] ** 2).sum()
    assert edges.loc["x1", "y1"].statistic == pytest.approx(expected, rel=1e-12)


@pytest.mark.filterwarnings(OURS)
def test_without_an_intercept_too_few_rows_in_play_are_too_rare():
    labels = np.zeros((40, 2), int)
    labels[0] = 1, 1
    labels[1:20, 1] = 1
    x = np.random.default_rng(1).normal(size=(40, 1))
    edges = im.IsingModel(labels, x, intercept=False).fit()
    in_play = edges.diagnostics["rows"]
    reasons = edges.score_test(min_count=int(in_play.max()) + 1).reasons
    assert set(reasons.to_numpy().ravel()) <= {Reason.TOO_RARE, Reason.DETERMINED_LABEL}
    assert Reason.TOO_RARE in set(reasons.to_numpy().ravel())


def test_the_signature_of_tests_is_shared():
    shared = [
        list(inspect.signature(getattr(im.IsingResults, name)).parameters.values())
        for name in ("wald_test", "lr_test")
    ]
    score = list(inspect.signature(im.IsingResults.score_test).parameters.values())
    assert shared[0] == shared[1][: len(shared[0])] == score[: len(shared[0])]
    assert [parameter.name for parameter in shared[1][len(shared[0]) :]] == ["penalty"]
