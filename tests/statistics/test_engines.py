"""Statistics from tables and files against the same rows in memory, and what is refused."""

import datetime as dt
import decimal
import gzip
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from golden import load
from hypothesis import given, settings
from hypothesis import strategies as st

import isingmlc as im
from isingmlc.statistics.blocks import SumsInBlocks

pa = pytest.importorskip("pyarrow", reason='needs pip install "isingmlc[engines]"')
pq = pytest.importorskip("pyarrow.parquet", reason='needs pip install "isingmlc[engines]"')

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

ibis = pytest.importorskip("ibis", reason='pip install "isingmlc[engines]"')

# Ibis calls DuckDB by a name that newer versions of it do not like.
LABELS = ["a", "b", "c"]
FEATURES = ["x1", "x2", "x3", "x4", "x5"]


def make_frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.random(n) < 0.4,
            "b": (rng.random(n) < 0.5).astype(np.int8),
            "c": (rng.random(n) < 0.3).astype(np.float64),
            "x1": rng.normal(size=n) * 1e-3 + 5,
            "x2": rng.normal(size=n).astype(np.float32),
            "x3": rng.integers(-(2**31), 2**31 - 1, n, dtype=np.int32),
            "x4": rng.random(n) < 0.5,
            "x5": [decimal.Decimal(int(k)) / 100 for k in rng.integers(0, 10**6, n)],
            "w": rng.integers(1, 5, n),
        }
    )


def in_memory(frame, labels=LABELS, features=FEATURES, weights=None, **options):
    return im.LabelsetStatistics.from_arrays(
        frame[labels],
        frame[features].astype(np.float64),
        freq_weights=None if weights is None else frame[weights].to_numpy(),
        **options,
    )


def from_table(frame, **options):
    table = frame if isinstance(frame, ibis.Table) else ibis.memtable(arrow(frame))
    return im.LabelsetStatistics.from_table(table, **options)


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def assert_same(stats, other, rtol=1e-12):
    other = other.recenter(stats.shift)
    assert (stats.label_names, stats.feature_names) == (other.label_names, other.feature_names)
    assert stats.n_rows == other.n_rows
    np.testing.assert_array_equal(stats.patterns, other.patterns)
    np.testing.assert_allclose(stats.counts, other.counts, rtol=rtol)
    # Sums against the size of what was added up for them.
    size = np.sqrt(other.squares * other.counts[:, None])
    assert (np.abs(stats.sums - other.sums) <= rtol * size).all()
    np.testing.assert_allclose(stats.squares, other.squares, rtol=rtol)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three Parquet files, one of them without rows."""
    folder = tmp_path_factory.mktemp("files")
    table = arrow(make_frame())
    for at, rows in enumerate((table[:150], table[:0], table[150:])):
        pq.write_table(rows, folder / f"part{at}.parquet")
    return folder


@pytest.mark.parametrize("weights", [None, "w"])
def test_files_give_the_statistics_of_their_rows(files, weights):
    expected = in_memory(make_frame(), weights=weights)
    options = {"labels": LABELS, "features": FEATURES, "freq_weights": weights}
    for given_files in (
        files / "*.parquet",
        files,
        [files / "part2.parquet", str(files / "part0.parquet")],
    ):
        assert_same(im.scan(given_files, **options), expected)


def test_csv_files_are_read(tmp_path):
    frame = make_frame().astype({"a": int, "x2": float, "x4": int})
    for at, rows in enumerate((frame[:70], frame[70:])):
        rows.to_csv(tmp_path / f"{at}.csv", index=False)
    stats = im.scan(tmp_path / "*.csv", labels=LABELS, features=FEATURES, freq_weights="w")
    assert_same(stats, in_memory(frame, weights="w"))


@pytest.mark.parametrize("n_labels", [1, 8, 56, 57, 130])
def test_labels_of_any_number_are_packed(n_labels):
    rng = np.random.default_rng(n_labels)
    names = [f"y{k}" for k in range(n_labels)]
    kinds = rng.random((20, n_labels)) < 0.5
    frame = pd.DataFrame(kinds[rng.integers(0, 20, 90)], columns=names).astype(np.int8)
    frame["x"] = rng.normal(size=90)
    assert_same(from_table(frame, labels=names), in_memory(frame, names, ["x"]))


some = st.floats(-100, 100, width=32).map(lambda value: round(value, 3))
numbers = st.one_of(st.none(), some, st.just(float("nan")))
rows = st.tuples(
    st.one_of(st.none(), st.booleans()), st.booleans(), numbers, numbers, st.integers(0, 3)
)


@given(st.lists(rows, min_size=1, max_size=25))
@settings(max_examples=25, deadline=None)
def test_tables_with_gaps_are_read_as_frames_are(table):
    kinds = {"a": "bool", "b": "bool", "x1": "float64", "x2": "float64", "w": "int8"}
    cells = zip(kinds.items(), zip(*table, strict=True), strict=True)
    columns = {name: pa.array(values, kind) for (name, kind), values in cells}
    frame = pa.table(columns).to_pandas().astype({"a": "boolean"})
    options = {"labels": ["a", "b"], "freq_weights": "w", "missing": "drop"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", im.exceptions.DataWarning)
        try:
            expected = in_memory(frame, ["a", "b"], ["x1", "x2"], "w", missing="drop")
        except im.exceptions.NoRowsError:
            with pytest.raises(im.exceptions.NoRowsError):
                from_table(ibis.memtable(pa.table(columns)), **options)
        else:
            assert_same(from_table(ibis.memtable(pa.table(columns)), **options), expected)


def test_missing_values_are_refused_or_dropped():
    frame = make_frame()
    frame.loc[3, "x1"] = np.nan
    frame.loc[[5, 6], "x5"] = None
    frame.loc[8, "c"] = np.nan
    options = {"labels": LABELS, "features": FEATURES}
    message = (
        "labels and features have missing values in 4 row(s): labels in column(s) 'c'; features in "
        "column(s) 'x1', 'x5'. Drop those rows with missing='drop', or fill them in first."
    )
    with pytest.raises(im.exceptions.DataError, match=f"^{re.escape(message)}$"):
        from_table(frame, **options)
    with pytest.raises(
        im.exceptions.DataError, match=r"features .* in 3 row\(s\), in column\(s\) 'x1', 'x5'"
    ):
        from_table(frame, labels=["a", "b"], features=FEATURES)
    with pytest.warns(im.exceptions.DataWarning, match="4 of 400 rows have missing values"):
        stats = from_table(frame, **options, missing="drop")
    assert_same(stats, in_memory(frame.drop(index=[3, 5, 6, 8])))
    frame["x2"] = np.nan
    with pytest.raises(im.exceptions.NoRowsError, match="every one of the 400 rows"):
        from_table(frame, **options, missing="drop")


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e101])
def test_infinite_values_are_refused(value):
    frame = make_frame()
    frame.loc[[7, 9], "x1"] = value
    with pytest.raises(im.exceptions.DataError, match=r"infinite values .* 2 row\(s\).*'x1'"):
        from_table(frame, labels=LABELS)


@pytest.mark.parametrize(
    ("weight", "problem"),
    [(-1.0, "'w' holds -1"), (np.inf, "'w' holds inf"), (np.nan, r"in 1 row\(s\), .* 'w'")],
)
def test_weights_are_checked(weight, problem):
    frame = make_frame().astype({"w": float})
    frame.loc[17, "w"] = weight
    with pytest.raises(im.exceptions.DataError, match=rf"freq_weights .*{problem}"):
        from_table(frame, labels=LABELS, freq_weights="w")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"labels": ["a", "z"]}, r"table lacks the column\(s\) 'z'; it has 'a', 'b'"),
        ({}, {"labels": LABELS, "features": ["x9"]}, r"lacks the column\(s\) 'x9'"),
        ({}, {"labels": LABELS, "freq_weights": "v"}, r"lacks the column\(s\) 'v'"),
        ({}, {"labels": []}, "labels must name at least one column"),
        ({}, {"labels": ["a", "a"]}, r"labels has the name\(s\) 'a' more than once"),
        ({}, {"labels": ["a"], "features": ["x1", "x1"]}, "features has the name"),
        ({}, {"labels": ["a"], "features": ["a", "x1"]}, "named as label and as feature"),
        ({}, {"labels": LABELS, "missing": "fill"}, "missing must be one of"),
        ({}, {"labels": LABELS, "max_memory": 0}, "max_memory must be a finite number above 0"),
        ({"c": 0.5}, {"labels": LABELS}, "column 'c' holds 0.5"),
        ({"b": -1}, {"labels": LABELS}, "column 'b' holds -1"),
        ({"b": "yes"}, {"labels": LABELS}, r"labels must be numeric, .*'b' are of type string"),
        ({"x1": "7"}, {"labels": LABELS}, r"features must be numeric, .*'x1'.*pd.to_numeric"),
        (
            {"w": "many"},
            {"labels": LABELS, "features": ["x1"], "freq_weights": "w"},
            "freq_weights must be numeric",
        ),
        ({"x1": pd.Timestamp(0)}, {"labels": LABELS}, "features must be numeric, .*timestamp"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(change, options, message):
    with pytest.raises(im.exceptions.DataError, match=message):
        from_table(make_frame().assign(**change), **options)


def test_an_engine_that_fails_is_reported():
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t AS SELECT 1 AS a, 2 AS x")
    table = connection.table("t")
    connection.raw_sql("DROP TABLE t")
    with pytest.raises(im.exceptions.EngineError, match=r"could not run the query: .*t"):
        from_table(table, labels=["a"])


def test_what_is_not_installed_is_named(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(im.exceptions.EngineError, match=r'pip install "isingmlc\[engines\]"'):
        im.scan(files, labels=LABELS)


def test_integers_do_not_overflow():
    values = np.array([2**31 - 1, -(2**31), 2**31 - 1, 5], dtype=np.int32)
    large = np.array([2**62, 2**62, -(2**62), 1], dtype=np.int64)
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "x": values, "z": large, "w": [3, 3, 3, 3]})
    assert_same(
        from_table(frame, labels="a", freq_weights="w"), in_memory(frame, ["a"], ["x", "z"], "w")
    )


def test_tests_of_scanned_files_are_those_of_rows_in_memory(files):
    frame = make_frame().astype({"x5": float})
    stats = im.scan(files, labels=LABELS, features=FEATURES)
    scanned = im.IsingModel.from_statistics(stats).fit()
    loaded = im.IsingModel(frame[LABELS], frame[FEATURES]).fit()
    for products in (None, "individual", "joint"):
        found, expected = (fit.score_test(products=products) for fit in (scanned, loaded))
        np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-9)
        np.testing.assert_allclose(found.pvalues, expected.pvalues, rtol=1e-9)
    assert list(scanned.rank_features().order) == list(loaded.rank_features().order)
    for method in (scanned.wald_test, scanned.lr_test):
        with pytest.raises(im.exceptions.ModelError, match="or from a sample of them"):
            method()


# Samples


@pytest.mark.filterwarnings(FEW_ROWS)
def test_samples_are_the_rows_that_numpy_draws(files):
    options = {"labels": LABELS, "features": FEATURES, "freq_weights": "w", "sample": 40}
    stats, sample = im.scan(files, **options, random_state=3)
    assert_same(stats, in_memory(make_frame(), weights="w"))
    picks = np.sort(np.random.default_rng(3).choice(400, 40, replace=False, shuffle=False))
    expected = make_frame().iloc[picks].reset_index(drop=True)
    assert list(sample.columns) == [*LABELS, *FEATURES, "w"]
    for name in sample:
        np.testing.assert_array_equal(sample[name].astype(float), expected[name].astype(float))
    again = im.scan(files, **options, random_state=3)[1]
    pd.testing.assert_frame_equal(sample, again)
    other = im.scan(files, **options, random_state=4)[1]
    assert not sample.equals(other)
    res = im.IsingModel(sample[LABELS], sample[FEATURES]).fit(penalty=1.0)
    assert res.wald_test().statistics.shape == (5, 3)


# Files


def cut_off(content):
    return content[:-40]


def damage_page(content):
    at = content.index(b"\x28\xb5\x2f\xfd")  # where zstd begins
    return content[: at + 8] + bytes(60) + content[at + 68 :]


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (cut_off, "No magic bytes"),
        (lambda content: content[:-4] + b"text", "No magic bytes"),
        (lambda content: b"a,b,c\n", "too small"),
        (lambda content: b"", "too small"),
        (damage_page, "ZSTD"),
    ],
    ids=["end", "magic", "text", "empty", "page"],
)
@pytest.mark.parametrize("victim", ["part0.parquet", "part2.parquet"])
def test_a_damaged_parquet_file_is_named(tmp_path, monkeypatch, harm, reason, victim):
    table = arrow(make_frame(3000))
    for at in range(3):
        pq.write_table(table, tmp_path / f"part{at}.parquet", compression="zstd")
    content = harm((tmp_path / victim).read_bytes())
    (tmp_path / victim).write_bytes(content)
    options = {"labels": LABELS, "features": FEATURES}
    with pytest.raises(im.exceptions.FileError, match=rf"{victim}' cannot be read: .*{reason}"):
        im.scan(tmp_path / "*.parquet", **options)
    # Ibis makes paths absolute, so DuckDB names others than it was given.
    monkeypatch.chdir(tmp_path)
    with pytest.raises(im.exceptions.FileError, match=rf"^'{victim}' cannot be read: .*{reason}"):
        im.scan(["part0.parquet", "part1.parquet", "part2.parquet"], **options)


@pytest.mark.parametrize("victim", ["rows.csv", "rows.csv.gz"])
def test_a_damaged_csv_file_is_named(tmp_path, victim):
    good = ["a,b,x,z", *["0,1,1.5,2", "1,1,0.25,4"] * 15_000]
    bad = [*good[:25_001], "1,0,0.5,3,7,8", *good[25_002:]]
    reason = "Line: 25002 .*Expected Number of Columns: 4"
    # One name is the beginning of the other.
    for name in ("rows.csv", "rows.csv.gz"):
        content = "\n".join(bad if name == victim else good).encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(
        im.exceptions.FileError, match=rf"{victim}' cannot be read: .*{reason}"
    ) as e:
        im.scan(tmp_path / "rows.csv*", labels=["a", "b"])
    assert "Possible" not in str(e.value)


def test_files_that_do_not_match_are_reported(files, tmp_path):
    (tmp_path / "part0.parquet").write_bytes((files / "part0.parquet").read_bytes())
    make_frame()[["a", "b"]].to_parquet(tmp_path / "part1.parquet")
    with pytest.raises(im.exceptions.DataError, match=r"part0.*part1.* lacks 'c', 'x1'"):
        im.scan(tmp_path, labels=LABELS, features=FEATURES)


def test_files_that_are_not_there_are_named(tmp_path):
    for given_files in (tmp_path / "absent.parquet", tmp_path / "*.csv", tmp_path, []):
        with pytest.raises(im.exceptions.FileError, match=r"there is no file .*|names none"):
            im.scan(given_files, labels=["a"])
    (tmp_path / "rows.arff").write_text("@relation")
    with pytest.raises(im.exceptions.FileError, match=r"must end in one of \.parquet"):
        im.scan(tmp_path / "rows.arff", labels=["a"])
    (tmp_path / "rows.csv").write_text("a,x\n1,2\n")
    (tmp_path / "rows.parquet").write_bytes(b"")
    with pytest.raises(im.exceptions.DataError, match="all be Parquet or all be CSV"):
        im.scan(tmp_path / "rows.[cp]*", labels=["a"])


# Blocks


@pytest.mark.parametrize("weights", [None, "w"])
def test_tables_are_read_in_blocks_where_labelsets_are_many(weights):
    frame = make_frame().astype({"x5": float})
    options = {"labels": LABELS, "features": FEATURES, "freq_weights": weights}
    expected = from_table(frame, **options)
    with pytest.warns(im.exceptions.DataWarning, match="computed in 5 blocks of features"):
        stats = from_table(frame, **options, max_memory=600)
    assert isinstance(stats.feature_sums, SumsInBlocks)
    assert_same(stats, expected)
    np.testing.assert_allclose(stats.column_sums, expected.column_sums, rtol=1e-9, atol=1e-6)
    for intercept in (True, False):
        found, wanted = (
            im.IsingModel.from_statistics(given_stats, intercept=intercept).fit().score_test()
            for given_stats in (stats, expected)
        )
        np.testing.assert_allclose(found.statistics, wanted.statistics, rtol=1e-8)


def test_a_table_that_changes_while_it_is_read_is_noticed(monkeypatch):
    from isingmlc.statistics.sources.engines import TableSource

    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t AS SELECT i % 2 AS a, i AS x FROM range(400) AS rows (i)")
    find_shift = TableSource.find_shift

    def meanwhile(source, features):
        connection.raw_sql("INSERT INTO t VALUES (1, 0)")
        return find_shift(source, features)

    monkeypatch.setattr(TableSource, "find_shift", meanwhile)
    with pytest.raises(im.exceptions.EngineError, match="changed while it was read: it had 400"):
        from_table(connection.table("t"), labels="a")


# Covariates

CONTEXT = ["age", "dose", "smoker", "place", "kind"]


def make_context(n=400, seed=0):
    """Covariates of every type; one place is rare."""
    rng = np.random.default_rng(seed + 50)
    return make_frame(n, seed).assign(
        age=rng.integers(3, 6, n, dtype=np.int16),
        dose=[decimal.Decimal(int(k)) / 4 for k in rng.integers(0, 2, n)],
        smoker=rng.random(n) < 0.3,
        place=np.where(np.arange(n) == 17, "west", rng.choice(["north", "mid", "Über"], n)),
        kind=pd.Categorical(rng.choice(["m", "f"], n), categories=["m", "x", "f"]),
    )


def cells_in_memory(frame, covariates=CONTEXT, **options):
    # Levels are sorted, as in a table, where a category of pandas would keep its own order.
    context = frame[covariates].astype({"dose": float, "kind": str, "place": str}, errors="ignore")
    return in_memory(frame, covariates=context[covariates], **options)


def assert_same_cells(stats, other):
    assert stats.context.equals(other.context)
    assert_same(stats, other)


@pytest.mark.parametrize("weights", [None, "w"])
def test_tables_with_covariates_give_the_cells_of_their_rows(weights):
    frame = make_context()
    expected = cells_in_memory(frame, weights=weights)
    stats = from_table(
        frame, labels=LABELS, features=FEATURES, covariates=CONTEXT, freq_weights=weights
    )
    assert stats.context.levels == (
        *[None] * 3,
        ("mid", "north", "west", "Über"),
        ("f", "m"),
    )
    assert_same_cells(stats, expected)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_with_covariates_are_read(tmp_path, kind):
    frame = make_context().astype({"x2": float, "x5": float, "dose": float})
    for at, rows in enumerate((frame[:10], frame[10:250], frame[250:])):
        if kind == "csv":
            rows.to_csv(tmp_path / f"{at}.csv", index=False)
        else:
            rows.to_parquet(tmp_path / f"{at}.parquet")
    options = {"labels": LABELS, "freq_weights": "w"}
    stats = im.scan(tmp_path / f"*.{kind}", covariates=CONTEXT, **options)
    assert stats.feature_names == tuple(FEATURES)
    expected = cells_in_memory(frame, weights="w")
    if kind == "parquet":
        # Such files say in which order levels are.
        expected = in_memory(frame, covariates=frame[CONTEXT], weights="w")
    assert_same_cells(stats, expected)
    alone = im.scan(tmp_path / f"*.{kind}", features=["x1"], covariates="place", **options)
    assert_same_cells(
        alone, in_memory(frame, features=["x1"], weights="w", covariates=frame[["place"]])
    )


def test_tests_of_cells_are_those_of_rows_and_of_r(tmp_path):
    frame = load("context", "data")
    labels, features = [f"y{k}" for k in range(1, 5)], [f"x{j}" for j in range(1, 6)]
    covariates = ["age", "sex", "region"]
    frame.to_parquet(tmp_path / "rows.parquet")
    stats = im.scan(tmp_path, labels=labels, features=features, covariates=covariates)
    scanned = im.IsingModel.from_statistics(stats).fit()
    loaded = im.IsingModel(frame[labels], frame[features], covariates=frame[covariates]).fit()
    assert list(scanned.params.index) == list(loaded.params.index)
    np.testing.assert_allclose(scanned.params, loaded.params, rtol=1e-9)
    for products in (None, "individual", "joint"):
        found, expected = (fit.score_test(products=products) for fit in (scanned, loaded))
        np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-8)
        np.testing.assert_allclose(found.pvalues, expected.pvalues, rtol=1e-8)
    reference = load("context", "edges").set_index(["feature", "label"])["score"]
    found = scanned.score_test().statistics
    np.testing.assert_allclose(
        [found.loc[edge] for edge in reference.index], reference, rtol=1e-6, atol=1e-8
    )


values = st.one_of(st.none(), st.sampled_from([0.0, -1.5, float("nan")]))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"covariates": ["age", "height"]}, r"table lacks the column\(s\) 'height'; it has"),
        ({}, {"covariates": ["age", "a"]}, "'a' is named as label and as covariate"),
        ({}, {"covariates": ["x1", "x2"]}, "'x1', 'x2' are named as feature and as covariate"),
        ({}, {"covariates": ["age", "age"]}, r"covariates has the name\(s\) 'age' more than once"),
        ({}, {"covariates": np.ones((2, 2))}, "covariates must name columns, .* holds ndarray"),
        ({}, {"covariates": 3}, "covariates must name columns, .* holds int"),
        (
            {"age": pd.Timestamp(0), "smoker": dt.time(1)},
            {},
            r"numbers or categories, but column\(s\) 'age', 'smoker' are of type time.*, timestamp",
        ),
        ({"age": [[1, 2]] * 400}, {}, r"column\(s\) 'age' are of type array<int64>"),
        ({"age": np.inf}, {}, r"covariates has infinite .* 400 row\(s\), in column\(s\) 'age'"),
        ({"age": [-1e101, *[1.0] * 399]}, {}, r"covariates has infinite .* 1 row\(s\), .*'age'"),
    ],
)
def test_covariates_that_cannot_be_used_are_refused(change, options, message):
    given_options = {"labels": LABELS, "features": FEATURES, "covariates": CONTEXT, **options}
    with pytest.raises(im.exceptions.DataError, match=message):
        from_table(make_context().assign(**change), **given_options)


@pytest.mark.parametrize("method", ["forward", "ssc"])
@pytest.mark.parametrize("max_memory", [None, 600.0])
def test_forward_rankings_ask_the_table_for_products(method, max_memory):
    frame = make_frame()
    frame["a"] |= frame["x2"] > 0.8
    frame["x2"] = frame["x2"] + 0.5 * frame["x4"]
    options = {"labels": LABELS, "features": FEATURES, "freq_weights": "w"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", im.exceptions.DataWarning)
        stats = from_table(frame, **options, max_memory=max_memory)
    found = im.IsingModel.from_statistics(stats).fit().rank_features(method)
    expected = im.rank_features(
        frame[LABELS], frame[FEATURES].astype(float), method, freq_weights=frame["w"]
    )
    assert found.path["feature"].tolist() == expected.path["feature"].tolist()
    np.testing.assert_allclose(found.path["gain"], expected.path["gain"], rtol=1e-8)
    # Rows that come from elsewhere are not in the table.
    both = im.IsingModel.from_statistics(stats + in_memory(frame)).fit()
    with pytest.raises(im.exceptions.ModelError, match="needs products of features"):
        both.rank_features(method)


def test_patterns_name_columns_in_every_door(tmp_path):
    frame = make_frame().rename(columns={"a": "y_a", "b": "y_b", "c": "y_c", "w": "y_w"})
    frame = frame.drop(columns="x5").assign(sex=np.where(frame["x4"], "f", "m"))
    frame.to_parquet(tmp_path / "rows.parquet")
    named = {"labels": "y_*", "covariates": ["s*"], "freq_weights": "y_w"}
    doors = {
        "files": lambda **given: im.scan(tmp_path / "rows.parquet", **given),
        "table": lambda **given: from_table(frame, **given),
        "batches": lambda **given: im.LabelsetStatistics.from_batches(
            [frame[:150], frame[150:]], **given
        ),
    }
    for door in doors.values():
        for features, found in (
            (None, ("x1", "x2", "x3", "x4")),
            (["x2", "x*"], ("x2", "x1", "x3", "x4")),
            ("*", ("x1", "x2", "x3", "x4")),
        ):
            stats = door(**named, features=features)
            assert stats.label_names == ("y_a", "y_b", "y_c")
            assert stats.context.names == ("sex",)
            assert stats.feature_names == found
        with pytest.raises(im.exceptions.DataError, match=r"lacks the column\(s\) 'z_\*'"):
            door(**named, features=["z_*"])


def test_levels_of_parquet_files_keep_their_order(tmp_path):
    frame = make_frame()[["a", "b", "x1"]]
    levels = np.random.default_rng(1).choice(["low", "mid", "high"], len(frame))
    frame["school"] = pd.Categorical(levels, ["low", "mid", "high", "other"])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    scanned = im.scan(tmp_path / "rows.parquet", labels=["a", "b"], covariates=["school"])
    whole = im.LabelsetStatistics.from_arrays(
        frame[["a", "b"]], frame[["x1"]], covariates=frame[["school"]]
    )
    assert scanned.context.column_names == ("school[T.mid]", "school[T.high]")
    assert scanned.context.column_names == whole.context.column_names
    np.testing.assert_array_equal(scanned.counts, whole.counts)


def test_csv_files_write_missing_values_as_pandas_reads_them(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,s,x\n1,0,u,1\n0,1,NA,2\n0,0,v,n/a\n1,1,v,4\n")
    with pytest.warns(im.exceptions.DataWarning, match="2 of 4 rows"):
        stats = im.scan(tmp_path / "rows.csv", labels=["a", "b"], covariates="s", missing="drop")
    assert stats.n_rows == 2
    assert stats.context.levels == (("u", "v"),)
