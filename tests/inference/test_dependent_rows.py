"""Clusters and sampling weights: what must hold for all data, every door, bad input, levels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import isingmlc as im
from isingmlc.commands.cli import main
from isingmlc.exceptions import DataError, DataWarning, ModelError
from isingmlc.sklearn import IsingSelector

OURS = "ignore::isingmlc.exceptions.IsingWarning"
LABELS, FEATURES = ["y1", "y2", "y3"], ["x1", "x2"]


def draw(seed, n=120, n_clusters=15):
    """A frame of labels and features that are alike within clusters, and weights."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, n_clusters, n)
    pull = rng.normal(0, 0.6, (n_clusters, 1))[place]
    frame = pd.DataFrame((rng.random((n, 3)) < expit(pull - 0.2)).astype(int), columns=LABELS)
    frame[FEATURES] = rng.normal(size=(n, 2)) + rng.normal(size=(n_clusters, 2))[place]
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["clinic"] = np.array([f"c{at}" for at in range(n_clusters)], dtype=object)[place]
    frame["w"] = np.exp(rng.normal(0, 0.4, n)).round(2) + 0.01
    frame["times"] = rng.integers(1, 4, n)
    return frame


def fit(frame, kind="cluster", *, weights=None, times=None, **options):
    """Fit with one covariate."""
    groups = frame["clinic"] if kind == "cluster" else None
    model = im.IsingModel(
        frame[LABELS],
        frame[FEATURES],
        covariates=frame[["sex"]],
        groups=groups,
        sampling_weights=weights,
        freq_weights=times,
    )
    return model.fit(cov_type=kind, **options)


def numbers(res):
    """Everything that follows from variances, as one line of numbers."""
    edges = res.score_test()
    tables = [res.params, res.bse, res.pvalues, edges.statistics, edges.pvalues]
    tables += [res.score_test(products="joint").statistics]
    tables += [res.network_table()[["weight", "se", "pvalue"]]]
    tables += [edges.feature_pvalues(combine="sum"), edges.feature_pvalues(combine="omnibus")]
    if res.model.data is not None and res.penalty != "firth":
        wald = res.wald_test()
        tables += [wald.statistics, wald.bse]
    return np.concatenate([np.asarray(table, dtype=float).ravel() for table in tables])


def same(one, other, rtol=1e-6):
    np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-9)


# Properties


@pytest.mark.filterwarnings(OURS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), penalty=st.sampled_from([None, 1.0, "firth"]))
def test_a_cluster_of_its_own_for_each_row_is_hc0(seed, penalty):
    frame = draw(seed)
    alone = frame.assign(clinic=np.arange(len(frame)))
    for weights in (None, frame["w"]):
        one = fit(alone, "cluster", use_correction=False, weights=weights, penalty=penalty)
        other = fit(frame, "HC0", weights=weights, penalty=penalty)
        same(one.bse, other.bse)
        for products in (None, "joint", "individual", "given", "given-joint"):
            found, expected = (each.score_test(products=products) for each in (one, other))
            same(found.to_frame()["statistic"], expected.to_frame()["statistic"])
        if penalty != "firth":
            same(one.wald_test().statistics, other.wald_test().statistics)


# Doors: parts add up to the whole


@pytest.mark.filterwarnings(OURS)
def test_parts_of_the_rows_add_up(tmp_path):
    frame = draw(5)
    columns = {"labels": LABELS, "features": FEATURES, "covariates": ["sex"]}
    drawn = {"groups": "clinic", "sampling_weights": "w", "freq_weights": "times"}
    expected = numbers(fit(frame, weights=frame["w"], times=frame["times"]).remove_data())
    parts = [frame[:50], frame[50:51], frame[51:]]
    arrays = [
        im.LabelsetStatistics.from_arrays(
            part[LABELS],
            part[FEATURES],
            covariates=part[["sex"]],
            **{name: part[column] for name, column in drawn.items()},
        )
        for part in parts
    ]
    tuples = [
        (part[LABELS], part[FEATURES], part["times"], part[["sex"]], part["clinic"], part["w"])
        for part in parts
    ]
    pytest.importorskip("pyarrow", reason="reads a Parquet file")
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    made = [
        sum(arrays),
        im.LabelsetStatistics.from_batches(parts, **columns, **drawn),
        im.LabelsetStatistics.from_batches(tuples),
        im.scan(tmp_path / "rows.parquet", **columns, **drawn),
        im.scan(tmp_path / "rows.csv", **columns, **drawn),
    ]
    made[0].save(tmp_path / "stats.npz")
    made.append(im.LabelsetStatistics.load(tmp_path / "stats.npz"))
    for stats in made:
        assert len(np.unique(stats.groups)) == 15
        same(numbers(im.IsingModel.from_statistics(stats).fit()), expected)
    with pytest.raises(DataError, match="both or none have groups"):
        arrays[0] + im.LabelsetStatistics.from_arrays(
            frame[LABELS], frame[FEATURES], covariates=frame[["sex"]]
        )


@pytest.mark.filterwarnings(OURS)
def test_groups_may_come_with_the_model_the_formula_or_the_fit():
    frame = draw(7)
    expected = numbers(fit(frame))
    plain = im.IsingModel(frame[LABELS], frame[FEATURES], covariates=frame[["sex"]])
    for groups in (frame["clinic"], frame["clinic"].to_numpy(), list(frame["clinic"])):
        res = plain.fit(groups=groups)
        same(numbers(res), expected)
    assert res.model is not plain
    assert plain.fit().cov_type == "nonrobust"
    formula = im.IsingModel.from_formula(
        "y1 + y2 + y3 ~ x1 + x2", frame, covariates="C(sex)", groups="clinic"
    )
    same(numbers(formula.fit()), expected)
    ranking = im.rank_features(
        frame[LABELS],
        frame[FEATURES],
        covariates=frame[["sex"]],
        groups=frame["clinic"],
        penalty=None,
    )
    same(ranking.pvalues, fit(frame).rank_features().pvalues)
    assert ranking.settings["cov_type"] == "cluster"
    selector = IsingSelector(method="score").fit(
        frame[FEATURES], frame[LABELS], groups=frame["clinic"]
    )
    alone = im.rank_features(frame[LABELS], frame[FEATURES], groups=frame["clinic"])
    same(selector.scores_, alone.importance)


@pytest.mark.filterwarnings(OURS)
def test_rows_that_are_dropped_lose_their_cluster():
    frame = draw(8)
    holes = frame.astype({"x1": float})
    holes.loc[[3, 40], "x1"] = np.nan
    holes.loc[7, "clinic"] = None
    kept = frame.drop(index=[3, 7, 40])
    expected = numbers(fit(kept))
    options = {"covariates": holes[["sex"]], "missing": "drop"}
    model = im.IsingModel(holes[LABELS], holes[FEATURES], groups=holes["clinic"], **options)
    same(numbers(model.fit()), expected)
    other = im.IsingModel.from_formula(
        "y1 + y2 + y3 ~ x1 + x2",
        holes,
        covariates="C(sex)",
        groups="clinic",
        missing="drop",
    )
    same(numbers(other.fit()), expected)
    plain = im.IsingModel(holes[LABELS], holes[FEATURES], **options)
    of_all = frame.drop(index=[3, 40])
    same(numbers(plain.fit(groups=frame["clinic"])), numbers(fit(of_all)))
    with pytest.raises(DataError, match="2 were dropped for missing values"):
        plain.fit(groups=frame["clinic"].to_numpy())


@pytest.mark.filterwarnings(OURS)
def test_the_command_line_has_groups_and_weights(tmp_path, capsys):
    pytest.importorskip("bokeh", reason="makes a report")
    frame = draw(9)
    frame.drop(columns="times").to_csv(tmp_path / "rows.csv", index=False)
    data = [str(tmp_path / "rows.csv"), "--labels", "y*", "--covariates", "sex", "--groups"]
    data += ["clinic", "--sampling-weights", "w", "--format", "csv", "--out"]
    res = fit(frame, weights=frame["w"])
    out = str(tmp_path / "out.csv")
    assert main(["fit", *data, out]) == 0
    same(pd.read_csv(out)["std err"], res.to_frame()["std err"], rtol=1e-4)
    assert main(["test", *data, out, "--cov-type", "cluster"]) == 0
    found = pd.read_csv(out).set_index(["feature", "label"])["pvalue"]
    same(found, res.score_test().to_frame().set_index(["feature", "label"])["pvalue"][found.index])
    assert main(["rank", *data, out, "--penalty", "none"]) == 0
    found = pd.read_csv(out).set_index("feature")["pvalue"]
    same(found, res.rank_features().pvalues[found.index])
    assert main(["select", *data, out, "--alpha", "0.99"]) == 0
    assert set(pd.read_csv(out)["feature"]) <= set(FEATURES)
    page = [*data[:-3], "--out", str(tmp_path / "report.html")]
    assert main(["report", *page]) == 0
    capsys.readouterr()
    for options, message in (
        (["--cov-type", "HC0"], "--groups is for --cov-type cluster"),
        (["--groups", "street"], "--groups must name a column"),
        (["--groups", "y1"], "named by --groups, and as a label"),
    ):
        assert main(["fit", *data, out, *options]) != 0
        assert message in capsys.readouterr().err
    without = [data[0], "--labels", "y*", "--features", "x1", "--cov-type", "cluster"]
    assert main(["test", *without]) != 0
    assert "Add --groups COLUMN" in capsys.readouterr().err


# What people read


@pytest.mark.filterwarnings(OURS)
def test_summaries_say_which_errors():
    frame = draw(10)
    text = fit(frame, weights=frame["w"]).summary().as_text()
    assert "Covariance Type:" in text
    assert "No. Clusters:" in text
    assert "15 clusters, with sampling weights" in text
    assert "P>|t|" in text
    assert "P>|z|" in fit(frame, "HC0").summary().as_text()
    ignored = im.IsingModel(frame[LABELS], groups=frame["clinic"]).fit(cov_type="nonrobust")
    assert "fit(cov_type='cluster') uses them" in " ".join(ignored.summary().as_text().split())
    assert "Covariance Type" not in ignored.summary().as_text()
    assert fit(frame, "HC2").score_test().note.endswith("squared residuals over 1 − h (HC2)")


@pytest.mark.filterwarnings(OURS)
def test_a_network_at_values_has_errors_of_the_same_kind():
    frame = draw(11)
    for kind in ("HC0", "HC2", "cluster"):
        res = fit(frame, kind, weights=frame["w"])
        moderated = res.at({"sex": "m"})
        # With one moderator of two levels this is the model of the rows at that level.
        own = frame[frame["sex"] == "m"]
        groups = own["clinic"] if kind == "cluster" else None
        model = im.IsingModel(own[LABELS], groups=groups, sampling_weights=own["w"])
        alone = model.fit(cov_type=kind, use_correction=False)
        corrected = 1.0 if kind != "cluster" else np.sqrt(15 / 14)
        same(moderated.bse, corrected * alone.bse, rtol=1e-5)


# What cannot be


@pytest.mark.filterwarnings(OURS)
def test_likelihood_ratios_and_other_pvalues_refuse_robust_errors():
    frame = draw(12)
    for res in (fit(frame), fit(frame, "HC0"), fit(frame, "HC2")):
        with pytest.raises(ModelError, match="Use score_test or wald_test"):
            res.lr_test()
        with pytest.raises(ModelError, match="likelihood ratios take rows for independent"):
            res.compare_lr_test(res)
        assert "lr" not in res.compare_tests("x1")
        for pvalue in ("saddlepoint", "permutation"):
            with pytest.raises(ModelError, match="takes rows for independent"):
                res.score_test(pvalue=pvalue)
        with pytest.raises(ModelError, match="refit=True has variances that trust the models"):
            res.score_test(products="given", refit=True)


BAD = [
    ({"groups": [1, 2, 3]}, {}, "labels has 120 rows and groups has 3"),
    ({"groups": np.zeros((120, 2))}, {}, "shape \\(120,\\), but has shape"),
    ({"groups": np.zeros(120)}, {}, "at least two clusters, but all rows are in one"),
    ({"groups": [None] * 60 + [1] * 60}, {}, "groups has missing values in 60 row"),
    ({}, {"cov_type": "cluster"}, "needs to know the cluster of each row"),
    ({}, {"cov_type": "HC1"}, "cov_type must be one of 'nonrobust', 'HC0', 'HC2', 'cluster'"),
    ({}, {"groups": np.arange(120), "cov_type": "HC0"}, "groups are used by cov_type='cluster'"),
    ({}, {"groups": np.arange(7)}, "the model has 120 rows and groups has 7"),
    ({}, {"use_correction": "yes"}, "use_correction must be one of"),
    ({"sampling_weights": np.zeros(120)}, {}, "above zero, but they are zero in 120 row"),
    ({"sampling_weights": -np.ones(120)}, {}, "above zero, but they are negative"),
    ({"sampling_weights": [np.nan] * 120}, {}, "sampling_weights has missing values in 120 row"),
    ({"sampling_weights": ["a"] * 120}, {}, "they are of type"),
    ({"sampling_weights": np.ones(9)}, {}, "sampling_weights has 9"),
    ({"sampling_weights": np.ones(120)}, {"cov_type": "nonrobust"}, "errors are always robust"),
]


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize(("at_model", "at_fit", "message"), BAD)
def test_bad_groups_and_weights_are_named(at_model, at_fit, message):
    frame = draw(13)
    with pytest.raises(DataError, match=message):
        im.IsingModel(frame[LABELS], frame[FEATURES], **at_model).fit(**at_fit)


def test_odd_groups_and_weights_are_warned_of():
    frame = draw(14)
    with pytest.warns(DataWarning, match="there are 3 clusters, fewer than the 4 coefficients"):
        im.IsingModel(frame[LABELS], covariates=frame[["sex"]]).fit(groups=np.arange(120) % 3)
    with pytest.warns(DataWarning, match="pass them as sampling_weights") as caught:
        im.IsingModel(frame[LABELS], frame[FEATURES], freq_weights=frame["w"])
    assert len(caught) == 1
    stats = im.LabelsetStatistics.from_arrays(frame[LABELS], freq_weights=frame["w"])
    with pytest.warns(DataWarning, match="freq_weights are not whole numbers"):
        im.IsingModel.from_statistics(stats)
    with pytest.raises(ModelError, match="holds none, only their statistics"):
        im.IsingModel.from_statistics(im.LabelsetStatistics.from_arrays(frame[LABELS])).fit(
            groups=np.arange(120)
        )


@pytest.mark.filterwarnings(OURS)
def test_certain_rows_have_no_score_and_their_clusters_do_not_count():
    frame = draw(15)
    # The first label is certain where the second is present, and there it fills clusters.
    frame.loc[frame["y2"] == 1, "y1"] = 1
    extra = frame[frame["y2"] == 1].assign(clinic="z", x1=99.0)
    more = pd.concat([frame, extra], ignore_index=True)
    one, other = (fit(each, use_correction=True).score_test() for each in (frame, more))
    same(one.statistics["y1"], other.statistics["y1"])
    same(one.pvalues["y1"], other.pvalues["y1"])
    frame["clinic"] = np.where(frame["y2"] == 1, frame["clinic"], "one")
    edges = fit(frame).score_test()
    assert set(edges.reasons["y1"]) == {"one-cluster"}
    assert edges.statistics["y1"].isna().all()


# Levels: small, with the bounds of three Monte-Carlo errors


def rejections(pvalues, alpha=0.05):
    """Return the share of small p-values, and three of its errors around alpha."""
    found = np.concatenate([np.ravel(each) for each in pvalues])
    return float(np.mean(found <= alpha)), 3 * np.sqrt(alpha * (1 - alpha) / len(found))


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_clusters_hold_the_level_where_independent_rows_do_not():
    rng = np.random.default_rng(20)
    robust, trusting, features = [], [], []
    n_clusters, size = 50, 20
    place = np.repeat(np.arange(n_clusters), size)
    for _ in range(30):
        pull = rng.normal(0, 1, (n_clusters, 2))[place]
        labels = (rng.random(pull.shape) < expit(pull)).astype(int)
        model = im.IsingModel(labels, rng.normal(size=(n_clusters, 40))[place], groups=place)
        edges = model.fit().score_test()
        robust.append(edges.pvalues)
        features.append(edges.feature_pvalues())
        trusting.append(model.fit(cov_type="nonrobust").score_test().pvalues)
    for pvalues in (robust, features):
        found, reach = rejections(pvalues)
        # Edges of one draw share their labels.
        assert abs(found - 0.05) < 2 * reach
    assert rejections(trusting)[0] > 0.2


@pytest.mark.filterwarnings(OURS)
def test_a_feature_that_no_case_has_is_not_far_out_by_its_own_residuals():
    """56 carriers of whom none is among 3% of cases: by chance in one sample of five."""
    rng = np.random.default_rng(0)
    n_rows = 4000
    groups = np.repeat(np.arange(40), 100)
    labels = (rng.random((n_rows, 3)) < (0.03, 0.2, 0.3)).astype(int)
    feature = np.zeros((n_rows, 1))
    feature[rng.choice(np.flatnonzero(labels[:, 0] == 0), 56, replace=False)] = 1.0
    edges = im.IsingModel(labels, feature, groups=groups).fit().score_test().to_frame()
    found = edges.iloc[0]
    assert found["statistic"] > 20
    assert found["pvalue_method"].endswith("model-variance")
    design = sm.add_constant(labels[:, 1:].astype(float))
    glm = sm.GLM(labels[:, 0], design, family=sm.families.Binomial())
    expected = glm.score_test(glm.fit().params, exog_extra=feature, observed=False)[1]
    assert found["pvalue"] == pytest.approx(float(np.squeeze(expected)), rel=0.1)


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("kind", ["clusters", "HC0", "weights"])
def test_levels_hold_where_labels_and_features_are_rare(kind):
    """Of 4,500 edges at 1% some 45 are rejected by chance; robust variances alone reject 400."""
    rng = np.random.default_rng(7)
    rejected = n_edges = 0
    for _ in range(15):
        labels = (rng.random((2000, 3)) < 0.03).astype(int)
        features = (rng.random((2000, 100)) < 0.02).astype(float)
        given, how = {}, {}
        if kind == "clusters":
            given = {"groups": np.repeat(np.arange(40), 50)}
        elif kind == "weights":
            given = {"sampling_weights": np.exp(rng.normal(0, 0.7, 2000))}
        else:
            how = {"cov_type": kind}
        found = im.IsingModel(labels, features, **given).fit(**how).score_test()
        pvalues = found.pvalues.to_numpy()
        rejected += (pvalues <= 0.01).sum()
        n_edges += np.isfinite(pvalues).sum()
    assert n_edges == 4500
    assert 15 <= rejected <= 80


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_sampling_weights_hold_the_level_where_counts_do_not():
    rng = np.random.default_rng(21)
    robust, counted = [], []
    for _ in range(30):
        labels = rng.integers(0, 2, (400, 2))
        features = rng.normal(size=(400, 40))
        weights = np.exp(rng.normal(0, 1, 400))
        model = im.IsingModel(labels, features, sampling_weights=weights)
        robust.append(model.fit().score_test().pvalues)
        counts = im.IsingModel(labels, features, freq_weights=weights * 400 / weights.sum())
        counted.append(counts.fit().score_test().pvalues)
    found, reach = rejections(robust)
    assert abs(found - 0.05) < 2 * reach
    assert rejections(counted)[0] > 0.1
