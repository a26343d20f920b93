"""Statistics and ranks of features in draws of the rows."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

NAMES = ["age", "bmi", "smoker", "tea_cups", "siblings"]


@pytest.fixture(scope="module")
def example():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def res(example):
    return im.IsingModel(example.labels, example.features[NAMES]).fit()


@pytest.fixture(scope="module")
def boot(res):
    return res.bootstrap(60, features=True, random_state=3)


@pytest.mark.parametrize("penalty", [None, 1.0])
def test_a_draw_is_the_fit_and_test_of_its_rows(example, penalty):
    features = example.features[NAMES]
    res = im.IsingModel(example.labels, features).fit(penalty=penalty)
    boot = res.bootstrap(3, features=True, random_state=5)
    n = len(features)
    times = np.random.default_rng(5).multinomial(n, np.full(n, 1 / n), size=3)
    for at in range(3):
        rows = np.repeat(np.arange(n), times[at])
        labels = example.labels.iloc[rows].reset_index(drop=True)
        drawn = im.IsingModel(labels, features.iloc[rows].reset_index(drop=True)).fit(
            penalty=penalty
        )
        expected = drawn.score_test(pvalue="chi2").statistics.to_numpy()
        np.testing.assert_allclose(boot.draws("statistics").iloc[at], expected.ravel(), rtol=1e-6)
        np.testing.assert_allclose(boot.draws("importance").iloc[at], expected.sum(axis=1))
        first, second = np.triu_indices(6, 1)
        weights = drawn.interactions.to_numpy()[first, second]
        np.testing.assert_allclose(boot.draws().iloc[at], weights, atol=1e-7)


def test_values_of_all_rows_are_those_of_the_fit(res, boot):
    tests, table = res.score_test(), boot.intervals("statistics")
    np.testing.assert_allclose(table["sample"], tests.statistics.to_numpy().ravel())
    assert table[["feature", "label"]].iloc[1].tolist() == ["age", "diabetes"]
    ranking = res.rank_features()
    ranks = boot.ranks()
    assert ranks["feature"].tolist() == ranking.to_frame().index.tolist()
    np.testing.assert_allclose(boot.intervals("pairs")["sample"], res.network_table()["weight"])


def test_ranks_are_counted(boot):
    drawn = boot.draws("ranks")
    importance = boot.draws("importance").to_numpy()
    np.testing.assert_array_equal(drawn, (-importance).argsort(axis=1).argsort(axis=1) + 1)
    table = boot.ranks(first=2, alpha=0.2).set_index("feature")
    for name in NAMES:
        expected = np.quantile(drawn[name], [0.1, 0.5, 0.9], method="weibull")
        np.testing.assert_allclose(table.loc[name, ["lower", "median", "upper"]], expected)
        share = (drawn[name] <= 2).mean()
        assert table.loc[name, "among_first"] == share
        assert table.loc[name, "among_first_se"] == pytest.approx(np.sqrt(share * (1 - share) / 60))
    assert table["among_first"].sum() == pytest.approx(2)
    assert boot.ranks(first=5)["among_first"].eq(1).all()
    # Differences of importance, with the level that so many draws can attain.
    apart = boot.difference("importance").set_index(["one", "other"])
    assert apart.loc[("age", "tea_cups"), "pvalue"] == boot.smallest_pvalue == 2 / 61


@pytest.mark.filterwarnings(FEW_ROWS)
def test_clusters_are_drawn_whole_and_count_twice_where_they_are_drawn_twice(example):
    labels, features = example.labels.iloc[:400], example.features[NAMES].iloc[:400]
    groups = np.repeat(np.arange(100), 4)
    fit = im.IsingModel(labels, features, groups=groups).fit(cov_type="cluster")
    boot = fit.bootstrap(2, features=True, random_state=1)
    times = np.random.default_rng(1).multinomial(100, np.full(100, 0.01), size=2)
    for at in range(2):
        drawn = np.repeat(np.arange(100), times[at])
        rows = np.concatenate([np.flatnonzero(groups == cluster) for cluster in drawn])
        again = im.IsingModel(
            labels.iloc[rows].reset_index(drop=True),
            features.iloc[rows].reset_index(drop=True),
            groups=np.repeat(np.arange(100), 4),
        ).fit(cov_type="cluster")
        expected = again.score_test(pvalue="chi2").statistics.to_numpy().ravel()
        np.testing.assert_allclose(boot.draws("statistics").iloc[at], expected, rtol=1e-6)


@pytest.mark.filterwarnings(FEW_ROWS)
def test_rows_left_out_and_the_ranking(example, res):
    drop = res.drop_cases(20, features=True, random_state=2)
    frame = drop.correlations()
    assert list(frame.columns[-2:]) == ["expected_influence", "ranking"]
    generator, n = np.random.default_rng(2), 1500
    importance = res.score_test().statistics.sum(axis=1)
    for at, rows in enumerate(frame["rows"]):
        kept = generator.multivariate_hypergeometric(np.ones(n, dtype=int), rows) > 0
        if at % 9:
            continue
        part = im.IsingModel(example.labels[kept], example.features.loc[kept, NAMES]).fit()
        found = part.score_test(pvalue="chi2").statistics.sum(axis=1)
        expected = spearmanr(found, importance).statistic
        assert frame["ranking"][at] == pytest.approx(expected)
        weights = np.corrcoef(part.network_table()["weight"], res.network_table()["weight"])[0, 1]
        assert frame["pairs"][at] == pytest.approx(weights, abs=1e-6)
    assert "ranking" in drop.cs_coefficient().index


def test_bad_input_says_what_to_do(example, res):
    plain = im.IsingModel(example.labels).fit()
    with pytest.raises(ModelError, match="features"):
        plain.bootstrap(5, features=True)
    with pytest.raises(ModelError, match="features=True"):
        plain.bootstrap(5).ranks()
    with pytest.raises(ModelError, match="rows"):
        res.remove_data().bootstrap(5, features=True)
    with pytest.raises(ModelError, match="rows"):
        res.remove_data().drop_cases(10, features=True)
    with pytest.raises(ModelError, match="parametric"):
        res.bootstrap(5, features=True, parametric=True)
    with pytest.raises(DataError, match="features"):
        res.bootstrap(5, features=["height"])
    with pytest.raises(DataError, match="features must be True"):
        res.bootstrap(5, features=[])
    with pytest.raises(DataError, match="n_draws"):
        res.bootstrap(0, features=True)
    with pytest.raises(DataError, match="first"):
        res.bootstrap(2, features=True).ranks(0)
