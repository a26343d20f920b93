"""Why something cannot be tested: one enumeration, one module that decides."""

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.fitting.reasons import Reason

OURS = "ignore::isingmlc.exceptions.IsingWarning"


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
