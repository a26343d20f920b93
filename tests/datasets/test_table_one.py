"""The first table of a paper."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from statsmodels.stats.weightstats import DescrStatsW

import isingmlc as im
from isingmlc.exceptions import DataError


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(1)
    n = 200
    labels = pd.DataFrame(rng.integers(0, 2, (n, 3)), columns=["a", "b", "c"]).astype(float)
    labels.loc[:9, "a"] = np.nan
    features = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "smoker": rng.integers(0, 2, n),
            "region": pd.Categorical(
                rng.choice(["south", "north"], n), categories=["south", "north", "east"]
            ),
            "job": pd.Series(rng.choice(["x", "y", None], n), dtype=object),
        }
    )
    features.loc[:19, "age"] = np.nan
    return labels, features


def test_numbers_are_pandas_own(study):
    labels, features = study
    one = im.describe(labels, features, by="region")
    frame = one.to_frame().set_index(["group", "variable", "level"])
    assert set(frame.index.get_level_values("group")) == {"all", "south", "north"}
    for group in ("all", "south", "north"):
        rows = np.ones(len(labels), bool) if group == "all" else features["region"] == group
        age, a = features.loc[rows, "age"], labels.loc[rows, "a"]
        row = frame.loc[(group, "age", "")]
        expected = age.describe()
        names = {"mean": "mean", "sd": "std", "q1": "25%", "median": "50%", "max": "max"}
        for ours, theirs in names.items():
            assert row[ours] == pytest.approx(expected[theirs])
        assert row["n"] == age.count()
        assert row["missing"] == age.isna().sum()
        row = frame.loc[(group, "a", "")]
        assert (row["count"], row["share"]) == (a.sum(), a.mean())
        jobs = features.loc[rows, "job"].value_counts()
        assert frame.loc[(group, "job", "x"), "count"] == jobs["x"]
    assert set(frame["kind"]) == {"label", "binary", "number", "category"}


def test_the_table_reads_as_papers_do(study):
    labels, features = study
    table = im.describe(labels, features).table.set_index(["variable", "level"])
    a, age = labels["a"], features["age"]
    assert table.loc[("rows", ""), "all"] == "200"
    assert table.loc[("a", ""), "all"] == f"{a.sum():.0f} ({a.mean():.1%})"
    assert table.loc[("a", ""), "missing"] == "10 (5.0%)"
    assert table.loc[("age", ""), "all"] == f"{age.mean():.1f} ({age.std():.1f})"
    # A level that has no rows is shown, too.
    assert table.loc[("region", "east"), "all"] == "0 (0.0%)"
    missing = features["job"].isna().sum()
    assert table.loc[("job", "x"), "missing"] == f"{missing} ({missing / 200:.1%})"
    assert table.loc[("job", "y"), "missing"] == ""


def test_overlap_counts_rows_with_both_labels(study):
    labels, _ = study
    overlap = im.describe(labels).overlap
    for first in labels:
        for second in labels:
            both = ((labels[first] == 1) & (labels[second] == 1)).sum()
            assert overlap.loc[first, second] == both


def test_any_container_will_do():
    labels, features = np.array([[0, 1], [1, 1], [1, 0]]), np.array([[0.5], [1.5], [2.5]])
    expected = im.describe(pd.DataFrame(labels), pd.DataFrame(features)).to_frame()
    for kind in (np.asarray, sparse.csr_array, np.ndarray.tolist):
        found = im.describe(kind(labels), kind(features)).to_frame()
        assert found.drop(columns="variable").equals(expected.drop(columns="variable"))
    data = im.datasets.load_example()
    assert im.describe(data).n_rows == 1500


def test_rows_without_a_group_are_a_group(study):
    labels, features = study
    one = im.describe(labels, by=features["job"])
    assert one.table.columns.tolist()[2:] == ["all", "x", "y", "(missing)", "missing"]
    assert one.table["(missing)"].iloc[0] == str(features["job"].isna().sum())
    assert "(missing)" in one._repr_html_()
    assert "labels per row" in one.to_latex(caption="Rows.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": "nosuch"}, "is no feature"),
        ({"by": [1, 2]}, "2 rows"),
        ({"by": np.arange(200)}, "200 groups"),
        ({"labels": pd.DataFrame({"a": [0, 2]}), "features": None}, "'a'"),
        ({"features": pd.DataFrame({"a": np.zeros(200)})}, "label and as feature"),
    ],
)
def test_what_cannot_be_described_is_said(study, change, message):
    arguments = {"labels": study[0], "features": study[1]} | change
    with pytest.raises(DataError, match=message):
        im.describe(**arguments)


def test_dates_and_identifiers_have_one_line(study):
    labels, _ = study
    days = pd.Series(pd.date_range("2026-01-01", periods=100).repeat(2))
    names = [f"P{at:03}" for at in range(200)]
    features = pd.DataFrame({"day": days, "text": days.astype(str), "pid": names})
    one = im.describe(labels, features)
    table = one.table.set_index("variable")
    assert table.loc[["day", "text", "pid"], "all"].tolist() == [
        *("100 different", "100 different", "200 different"),
    ]
    kinds = one.to_frame().set_index("variable")["kind"]
    assert kinds[["day", "text", "pid"]].tolist() == ["dates", "dates", "texts"]


def test_skewed_numbers_have_medians_and_empty_levels_zeros(study):
    labels, features = study
    age = features["age"]
    middle = f"{age.median():.1f} [{age.quantile(0.25):.1f}, {age.quantile(0.75):.1f}]"
    for medians in (True, ["age"], "age"):
        table = im.describe(labels, features, medians=medians).table.set_index("variable")
        assert table.loc["age", "all"] == middle
    with pytest.raises(DataError, match="medians must name features that are numbers"):
        im.describe(labels, features, medians=["job"])
    who = pd.DataFrame({"who": np.resize(["young", "old"], 200)})
    table = im.describe(labels, who, by=who["who"]).table.set_index("level")
    assert table.loc["young", ["young", "old"]].tolist() == ["100 (100.0%)", "0 (0.0%)"]


def test_frequency_weights_are_repeated_rows(study):
    labels, features = study
    times = np.random.default_rng(3).integers(0, 5, len(labels))
    repeated = np.repeat(np.arange(len(labels)), times)
    options = {"by": "region", "medians": ["age"]}
    one = im.describe(labels, features, freq_weights=times, **options)
    other = im.describe(labels.iloc[repeated], features.iloc[repeated], **options)
    pd.testing.assert_frame_equal(one.table, other.table)
    pd.testing.assert_frame_equal(one.overlap, other.overlap)
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    assert one.n_rows == (times > 0).sum()
    expected = features["age"].iloc[repeated].describe()
    row = one.to_frame().query("group == 'all' and variable == 'age'").iloc[0]
    for ours, theirs in {"mean": "mean", "sd": "std", "q1": "25%", "q3": "75%"}.items():
        assert row[ours] == pytest.approx(expected[theirs])


def test_sampling_weights_give_the_means_of_statsmodels(study):
    labels, features = study
    drawn = np.random.default_rng(4).uniform(2, 30, len(labels))
    frame = im.describe(labels, features, sampling_weights=drawn).to_frame().set_index("variable")
    known = features["age"].notna().to_numpy()
    # The variance of R's survey, as statsmodels has it with weights of a mean of one.
    each = drawn[known] / drawn[known].mean()
    theirs = DescrStatsW(features["age"][known], weights=each, ddof=1)
    assert frame.loc["age", "mean"] == pytest.approx(theirs.mean)
    assert frame.loc["age", "sd"] == pytest.approx(theirs.std)
    a = labels["a"].notna().to_numpy()
    share = DescrStatsW(labels["a"][a], weights=drawn[a]).mean
    assert frame.loc["a", "share"] == pytest.approx(share)
    assert frame.loc["a", "count"] == (labels["a"] == 1).sum()
    assert frame.loc["a", "missing"] == (~a).sum()
    assert frame.loc["a", "n"] + frame.loc["a", "missing"] == pytest.approx(len(labels))
    below = (features["age"][known] < frame.loc["age", "median"]).to_numpy()
    assert drawn[known][below].sum() / drawn[known].sum() == pytest.approx(0.5, abs=0.01)
    same = im.describe(labels, features, sampling_weights=np.full(len(labels), 7.0)).to_frame()
    plain = im.describe(labels, features).to_frame()
    pd.testing.assert_frame_equal(same, plain, check_dtype=False)
