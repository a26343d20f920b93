"""A scan gives the statistics of the values that are in the files, in whatever order they come."""

import gzip
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import isingmlc as im

pa = pytest.importorskip("pyarrow", reason='needs pip install "isingmlc[engines]"')
pq = pytest.importorskip("pyarrow.parquet", reason='needs pip install "isingmlc[engines]"')

LABELS = ["a", "b"]


def make_frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.49, 0.49, n)
    a = rng.random(n) < 1 / (1 + np.exp(-4 * x))
    return pd.DataFrame({"a": a.astype(int), "b": rng.integers(0, 2, n), "x": x})


def statistics(stats):
    return im.IsingModel.from_statistics(stats).fit().score_test().statistics


def from_rows(frame):
    rows = frame.astype(float)
    return im.IsingModel(rows[LABELS], rows.drop(columns=LABELS)).fit().score_test().statistics


def write(frame, path):
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz"])
def test_decimals_of_any_file_are_kept(tmp_path, ending):
    whole, decimal = make_frame(seed=1), make_frame(seed=2)
    whole["x"] = np.round(4 * whole["x"]).astype("int64")
    paths = [
        write(part, tmp_path / f"p{at}{ending}") for at, part in enumerate((whole, decimal, whole))
    ]
    expected = from_rows(pd.concat([whole, decimal, whole]))
    for order in permutations(paths):
        assert_allclose(statistics(im.scan(order, labels=LABELS)), expected, rtol=1e-9)
    _, rows = im.scan(paths, labels=LABELS, sample=10_000, random_state=0)
    assert_allclose(rows, pd.concat([whole, decimal, whole]), rtol=1e-15)


TYPES = {
    "int8": pa.int8(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "decimal": pa.decimal128(30, 4),
    "bool": pa.bool_(),
}


@pytest.mark.parametrize("two", TYPES)
@pytest.mark.parametrize("one", TYPES)
def test_numbers_of_different_types_are_widened(tmp_path, one, two):
    """The labels and a feature, each in one type in the first file and another in the second."""
    parts = []
    for at, kind in enumerate((one, two)):
        part = make_frame(seed=at)
        scaled = {"float32": 8.25, "float64": 2**24 + 1.5, "decimal": 0.125, "int64": 2**24 + 1.0}
        part["x"] = (part["x"] > 0) * scaled.get(kind, 1.0)
        columns = {name: pa.array(part[name]).cast(TYPES[kind]) for name in part}
        pq.write_table(pa.table(columns), tmp_path / f"p{at}.parquet")
        parts.append(part)
    expected = from_rows(pd.concat(parts))
    paths = [tmp_path / "p0.parquet", tmp_path / "p1.parquet"]
    for order in (paths, paths[::-1]):
        assert_allclose(statistics(im.scan(order, labels=LABELS)), expected, rtol=1e-8)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_label_of_point_six_in_any_file_is_refused(tmp_path, ending):
    good, bad = make_frame(), make_frame(seed=1)
    bad["a"] = bad["a"].astype(float)
    bad.loc[len(bad) - 1, "a"] = 0.6
    paths = [write(good, tmp_path / f"p1{ending}"), write(bad, tmp_path / f"p2{ending}")]
    for order in (paths, paths[::-1]):
        with pytest.raises(im.exceptions.DataError, match=r"0/1, but column 'a' holds 0\.6"):
            im.scan(order, labels=LABELS)


def test_decimals_that_begin_late_in_a_csv_file_are_kept(tmp_path):
    frame = make_frame(60_000)
    lines = [
        f"{a},{b},{x if at > 30_000 else round(4 * x)}"
        for at, (a, b, x) in enumerate(zip(frame["a"], frame["b"], frame["x"], strict=True))
    ]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,x", *lines, ""]))
    expected = from_rows(pd.read_csv(path))
    assert_allclose(statistics(im.scan(path, labels=LABELS)), expected, rtol=1e-9)
    read = im.datasets.read_table(path, labels=LABELS)
    assert_allclose(im.IsingModel(read).fit().score_test().statistics, expected, rtol=1e-9)
    with path.open("a") as file:
        file.write(".9,0,1\n")
    for reader in (im.scan, im.datasets.read_table):
        with pytest.raises(im.exceptions.DataError, match=r"'a' holds .*0\.9"):
            reader(path, labels=LABELS)


@pytest.mark.parametrize(("name", "other"), [("[c]", "c"), ("s*", "st"), ("q?", "qq")])
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_path_is_no_pattern_where_there_is_such_a_file(tmp_path, name, other, ending):
    folder = tmp_path / "[d]"
    folder.mkdir()
    path = write(make_frame(25), folder / f"{name}{ending}")
    write(make_frame(50), folder / f"{other}{ending}")
    assert im.scan(path, labels=LABELS).n_rows == 25


def test_a_folder_is_not_a_column(tmp_path):
    folder = tmp_path / "x=3"
    folder.mkdir()
    frame = make_frame()
    path = write(frame, folder / "rows.parquet")
    assert_allclose(statistics(im.scan(path, labels=LABELS)), from_rows(frame), rtol=1e-9)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("change", [{"z": 1.0}, {"X": 1.0}])
def test_columns_that_only_some_files_have_are_refused(tmp_path, ending, change):
    paths = [tmp_path / f"p1{ending}", tmp_path / f"p2{ending}"]
    write(make_frame(), paths[0])
    frame = make_frame().assign(**change)
    write(frame.drop(columns="x") if "X" in change else frame, paths[1])
    name = next(iter(change))
    for order, verb in ((paths, "has"), (paths[::-1], "(has 'x' and )?lacks")):
        with pytest.raises(im.exceptions.DataError, match=rf"same columns.* {verb} '{name}'"):
            im.scan(order, labels=LABELS)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_columns_of_one_file_that_differ_by_case_are_refused(tmp_path, ending):
    path = write(make_frame().assign(X=1.0), tmp_path / f"p{ending}")
    with pytest.raises(im.exceptions.FileError, match="differ by case only: 'x', 'X'"):
        im.scan(path, labels=LABELS)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_columns_may_come_in_any_order(tmp_path, ending):
    one, two = make_frame(seed=1), make_frame(seed=2)
    paths = [
        write(one, tmp_path / f"p1{ending}"),
        write(two[["x", "b", "a"]], tmp_path / f"p2{ending}"),
    ]
    stats = im.scan([*paths, paths[0]], labels=LABELS)
    assert_allclose(statistics(stats), from_rows(pd.concat([one, two, one])), rtol=1e-9)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_file_without_a_value_leaves_the_type_to_the_others(tmp_path, ending):
    one, two = make_frame(seed=1), make_frame(seed=2)
    one["place"], two["place"] = None, [f"p{at % 80}" for at in range(len(two))]
    paths = [write(one, tmp_path / f"p1{ending}"), write(two, tmp_path / f"p2{ending}")]
    model = im.IsingModel(two[LABELS], two[["x"]], groups=two["place"])
    expected = model.fit().score_test().statistics
    for order in (paths, paths[::-1]):
        with pytest.warns(im.exceptions.DataWarning, match="'place'"):
            stats = im.scan(order, labels=LABELS, features=["x"], groups="place", missing="drop")
        assert stats.n_rows == len(two)
        assert_allclose(statistics(stats), expected, rtol=1e-9)


def test_numbers_and_text_in_parquet_files_are_refused(tmp_path):
    write(make_frame(), tmp_path / "p1.parquet")
    write(make_frame().assign(x="high"), tmp_path / "p2.parquet")
    with pytest.raises(
        im.exceptions.DataError,
        match=r"'x' must be of one type .*float64 in '.*p1.*string in '.*p2",
    ):
        im.scan(tmp_path, labels=LABELS)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_levels_that_only_later_files_have_count(tmp_path, ending):
    one, two = make_frame(seed=1), make_frame(seed=2)
    one["place"], two["place"] = "m", np.where(two["b"] > 0, "z", "c")
    paths = [write(one, tmp_path / f"p1{ending}"), write(two, tmp_path / f"p2{ending}")]
    rows = pd.concat([one, two])
    expected = im.IsingModel(rows[LABELS[:1]], rows[["x"]], covariates=rows[["place"]]).fit()
    for order in (paths, paths[::-1]):
        stats = im.scan(order, labels="a", features=["x"], covariates="place")
        params = im.IsingModel.from_statistics(stats).fit().params
        assert list(params.index) == list(expected.params.index)
        assert_allclose(params, expected.params, rtol=1e-6)


def test_categories_that_differ_between_files_do_not_depend_on_the_order(tmp_path):
    for at, levels in enumerate((["m", "c"], ["z", "c", "m"])):
        frame = make_frame(seed=at)
        frame["place"] = pd.Categorical(np.resize(levels, len(frame)), levels)
        write(frame, tmp_path / f"p{at}.parquet")
    paths = [tmp_path / "p0.parquet", tmp_path / "p1.parquet"]
    for order in (paths, paths[::-1]):
        with pytest.warns(im.exceptions.DataWarning, match="'place': their levels are taken in al"):
            stats = im.scan(order, labels="a", features=["x"], covariates="place")
        params = im.IsingModel.from_statistics(stats).fit().params
        assert list(params.index)[-2:] == ["place[T.m]", "place[T.z]"]


def test_labels_written_as_words_and_numbers_are_the_same(tmp_path):
    one, two = make_frame(seed=1), make_frame(seed=2)
    one.assign(a=one["a"] == 1).to_csv(tmp_path / "p1.csv", index=False)
    (tmp_path / "p2.csv.gz").write_bytes(gzip.compress(two.to_csv(index=False).encode()))
    stats = im.scan([tmp_path / "p2.csv.gz", tmp_path / "p1.csv"], labels=LABELS)
    assert_allclose(statistics(stats), from_rows(pd.concat([one, two])), rtol=1e-9)


def test_the_command_line_reads_all_files(tmp_path, capsys):
    from isingmlc.__main__ import main

    whole, decimal = make_frame(seed=1), make_frame(seed=2)
    whole["x"] = np.round(4 * whole["x"]).astype("int64")
    write(whole, tmp_path / "p1.parquet")
    write(decimal, tmp_path / "p2.parquet")
    assert main(["test", str(tmp_path), "--labels", "a,b"]) == 0
    expected = from_rows(pd.concat([whole, decimal])).loc["x", "a"]
    assert f"{expected:.1f}"[:4] in capsys.readouterr().out
