"""Mulan's data sets: separated, determined, constant and rare labels in the wild."""

import warnings

import pytest

import isingmlc as im


def load(data_dir, name):
    return im.datasets.load_mulan(name, part="train", data_dir=data_dir)


def fit_and_collect(data, **options):
    """Fit and give the results with the categories of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = im.IsingModel(data.labels, data.features, feature_names=data.feature_names)
        res = model.fit(**options)
        res.score_test()
    return res, [warning.category for warning in caught]


@pytest.mark.parametrize(
    "name", ["scene", "yeast", "emotions", "flags", "medical", "enron", "bibtex"]
)
@pytest.mark.parametrize("penalty", [None, 1.0])
def test_real_sets_fit_with_no_warning_but_our_own(data_dir, name, penalty):
    data = load(data_dir, name)
    if name == "bibtex":
        data = im.datasets.limit_labels(data, 50)
    res, kinds = fit_and_collect(data, penalty=penalty)
    assert all(issubclass(kind, im.exceptions.IsingWarning) for kind in kinds)
    # One of each class; the door may have something to say of labels, rare labels and features.
    others = [kind for kind in kinds if kind is not im.exceptions.DataWarning]
    assert len(others) == len(set(others))
    assert kinds.count(im.exceptions.DataWarning) <= 3
    assert res.converged
    assert res.diagnostics["iterations"].max() <= 12
    separated = res.diagnostics["separated"].any()
    assert (im.exceptions.SeparationWarning in kinds) == separated
    str(res.summary())


def test_every_label_of_scene_is_separated_and_sunset_is_determined(data_dir):
    res, _ = fit_and_collect(load(data_dir, "scene"))
    assert res.diagnostics["separated"].all()
    assert list(res.diagnostics.index[res.diagnostics["determined"]]) == ["Sunset"]
    assert (
        "Sunset is 1 exactly when no other label is: its edges cannot be tested."
        in res.summary().notes
    )


def test_att239_is_the_most_important_feature_of_scene(data_dir):
    data = load(data_dir, "scene")
    res, _ = fit_and_collect(data)
    assert res.rank_features().order[0] == "Att239"
    # The formulas to the letter, without an intercept, put another one first.
    with pytest.warns(im.exceptions.SeparationWarning):
        bare = im.IsingModel(data.labels, data.features, intercept=False).fit()
    assert bare.rank_features().order[0] == "Att245"


def test_constant_and_rare_labels_of_enron_and_medical_are_named(data_dir):
    enron, _ = fit_and_collect(load(data_dir, "enron"))
    constant = enron.diagnostics.query("reason == 'constant-label'")
    assert list(constant.index) == ["D.D18"]
    assert enron.diagnostics["rare"].sum() == 14
    medical, _ = fit_and_collect(load(data_dir, "medical"))
    assert (medical.diagnostics["reason"] == "constant-label").any()
    assert (medical.diagnostics["reason"] == "determined-label").any()
    untestable = medical.diagnostics.index[medical.diagnostics["reason"] != "ok"]
    assert medical.score_test().statistics[untestable].isna().all(axis=None)
