"""Labels and features from tables in files."""

import gzip
import io
import re

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from isingmlc import datasets
from isingmlc.exceptions import DataError, DataWarning, FileError

FRAME = pd.DataFrame(
    {
        "hue": [0.1, 0.2, 0.3, 0.4],
        "label_beach": [1, 0, 1, 1],
        "label_urban": [0, 1, 0, 1],
        "size": [3, 1, 2, 5],
        "sunset": [0.5, 0.25, 0.0, 1.0],
    }
)
LABELS = ["label_beach", "label_urban"]


def save(frame, path):
    kind = path.name.partition(".")[2]
    if kind.startswith(("csv", "tsv", "tab")):
        frame.to_csv(path, sep="," if kind.startswith("csv") else "\t", index=False)
    elif kind in ("parquet", "pq"):
        frame.to_parquet(path)
    else:
        frame.to_feather(path)
    return path


@pytest.fixture
def table(tmp_path):
    return save(FRAME, tmp_path / "photos.csv")


@pytest.mark.parametrize(
    "ending",
    [
        "csv",
        "csv.gz",
        "csv.bz2",
        "CSV",
        "tsv",
        "tab",
        "tsv.xz",
        "parquet",
        "pq",
        "feather",
        "arrow",
    ],
)
def test_every_kind_of_file_gives_the_same_data(tmp_path, ending):
    path = save(FRAME, tmp_path / f"photos.{ending.lower()}")
    data = datasets.read_table(path.rename(tmp_path / f"photos.{ending}"), labels=LABELS)
    assert_frame_equal(data.labels, FRAME[LABELS])
    assert_frame_equal(data.features, FRAME[["hue", "size", "sunset"]].astype(float))
    assert data.feature_names == ("hue", "size", "sunset")
    assert data.name == "photos"
    assert f"Read from photos.{ending}." == data.DESCR
    assert data.relevant is None


def test_true_and_false_are_labels(tmp_path):
    path = save(FRAME.assign(sunset=[True, False, False, True]), tmp_path / "x.parquet")
    data = datasets.read_table(path, labels=["sunset", "label_*"])
    assert data.labels["sunset"].tolist() == [1, 0, 0, 1]
    assert list(data.labels) == ["sunset", *LABELS]


def test_true_and_false_are_features(tmp_path):
    path = save(FRAME.assign(sunset=[True, False, False, True]), tmp_path / "x.parquet")
    data = datasets.read_table(path, labels=LABELS)
    assert (data.features.dtypes == np.float64).all()
    assert data.features["sunset"].tolist() == [1, 0, 0, 1]


def test_a_compressed_file_is_read_by_its_ending(tmp_path):
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.write("a,b\n1,2\n0,3\n")
    assert datasets.read_table(tmp_path / "x.csv.gz", labels="a").labels["a"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        ("label_*", LABELS),
        ("label_[bu]*", LABELS),
        ("*_urban", ["label_urban"]),
        (["label_urban", "label_beach"], ["label_urban", "label_beach"]),
        (["label_urban", "label_*"], ["label_urban", "label_beach"]),
        (["label_*", "label_urban"], LABELS),
        (1, ["label_beach"]),
        ([1, 2], LABELS),
        ([2, -4], ["label_urban", "label_beach"]),
        ((np.int64(2), "*beach", "label_urban"), ["label_urban", "label_beach"]),
        (pd.Index(LABELS), LABELS),
    ],
)
def test_columns_are_chosen_by_name_pattern_and_position(table, labels, chosen):
    data = datasets.read_table(table, labels=labels)
    assert list(data.labels.columns) == chosen
    others = [column for column in FRAME if column not in chosen]
    assert list(data.feature_names) == others


@pytest.mark.parametrize(
    ("features", "chosen"),
    [("size", ["size"]), (["s*"], ["size", "sunset"]), ([3, 0], ["size", "hue"])],
)
def test_features_are_chosen_in_the_same_way(table, features, chosen):
    data = datasets.read_table(table, labels="label_*", features=features)
    assert list(data.features.columns) == list(data.feature_names) == chosen


def test_a_column_whose_name_looks_like_a_pattern_is_itself(tmp_path):
    frame = pd.DataFrame({"y[1]": [0, 1], "y1": [1, 0], "x": [0.5, 1.5]})
    path = save(frame, tmp_path / "odd.csv")
    assert list(datasets.read_table(path, labels="y[1]").labels) == ["y[1]"]


def test_a_table_of_labels_alone_has_no_features(tmp_path):
    path = save(FRAME[LABELS], tmp_path / "labels.csv")
    data = datasets.read_table(path, labels="label_*")
    assert data.features.shape == (4, 0)
    assert data.feature_names == ()


def test_an_empty_list_of_features_reads_labels_alone(tmp_path):
    path = save(FRAME.assign(hue=None, size="large"), tmp_path / "photos.csv")
    data = datasets.read_table(path, labels=LABELS, features=[])
    assert data.feature_names == ()
    assert data.labels.shape == (4, 2)


def test_options_reach_the_reader_of_pandas(tmp_path):
    path = tmp_path / "european.csv"
    path.write_text("a note\nbeach;hue\n1;0,5\n0;0,75\n")
    options = {"sep": ";", "decimal": ",", "skiprows": 1}
    data = datasets.read_table(path, labels="beach", **options)
    assert data.features["hue"].tolist() == [0.5, 0.75]
    named = datasets.read_table(
        path, labels="b", names=["b", "h"], header=1, **(options | {"skiprows": 0})
    )
    assert named.feature_names == ("h",)
    with pytest.raises(FileError, match=r"european\.csv: pandas does not take these options"):
        datasets.read_table(path, labels="beach", colour="red")


@pytest.mark.parametrize("options", [{"chunksize": 100}, {"iterator": True}])
def test_a_file_is_not_read_in_chunks(table, options):
    with pytest.raises(
        DataError,
        match=rf"{next(iter(options))} must be left out, .*LabelsetStatistics\.from_batches",
    ):
        datasets.read_table(table, labels=LABELS, **options)


LEFT_OUT = r"a\.csv: column\(s\) {} have no name and count the rows, .* name them in features=\."
TAKEN = r"a\.csv: column\(s\) {} have no name in the file and are taken as features\."


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("options", [{}, {"dtype": float}, {"dtype_backend": "numpy_nullable"}])
def test_an_index_that_pandas_wrote_is_no_feature(tmp_path, start, options):
    path = tmp_path / "a.csv"
    FRAME.set_axis(range(start, start + len(FRAME))).to_csv(path)
    with pytest.warns(DataWarning, match=LEFT_OUT.format("'Unnamed: 0'")) as caught:
        data = datasets.read_table(path, labels=LABELS, **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert data.feature_names == ("hue", "size", "sunset")


def test_an_index_that_pandas_wrote_twice_is_no_feature(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path)
    pd.read_csv(path).to_csv(path)
    with pytest.warns(DataWarning, match=LEFT_OUT.format("'Unnamed: 0.1', 'Unnamed: 0'")):
        data = datasets.read_table(path, labels=LABELS)
    assert data.feature_names == ("hue", "size", "sunset")


@pytest.mark.parametrize("features", [["Unnamed: 0", "hue"], [0, 1], [-6, -5]])
def test_an_index_is_kept_where_it_is_asked_for(tmp_path, features):
    FRAME.to_csv(tmp_path / "a.csv")
    data = datasets.read_table(tmp_path / "a.csv", labels=LABELS, features=features)
    assert data.feature_names == ("Unnamed: 0", "hue")
    assert data.features["Unnamed: 0"].tolist() == [0, 1, 2, 3]


def test_a_pattern_that_takes_an_index_along_gives_a_warning(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv")
    with pytest.warns(DataWarning, match=TAKEN.format("'Unnamed: 0'")):
        data = datasets.read_table(tmp_path / "a.csv", labels=LABELS, features="[Uh]*")
    assert data.feature_names == ("Unnamed: 0", "hue")


@pytest.mark.parametrize(
    ("header", "rows", "unnamed"),
    [
        (",hue,beach", ["5,0.5,1", "3,0.25,0"], "Unnamed: 0"),
        (",hue,beach", ["1,0.5,1", "0,0.25,0"], "Unnamed: 0"),
        ("hue,,beach", ["0.5,0,1", "0.25,1,0"], "Unnamed: 1"),
    ],
)
def test_other_columns_without_a_name_are_named_in_a_warning(tmp_path, header, rows, unnamed):
    path = tmp_path / "a.csv"
    path.write_text("\n".join([header, *rows, ""]))
    with pytest.warns(DataWarning, match=TAKEN.format(f"'{unnamed}'")) as caught:
        data = datasets.read_table(path, labels="beach")
    assert len(caught) == 1
    assert sorted(data.feature_names) == [unnamed, "hue"]


@pytest.mark.parametrize(
    ("name", "separator", "hint"),
    [("x.csv", ";", ";"), ("x.csv", "\t", r"\t"), ("x.tsv", ",", ",")],
)
@pytest.mark.parametrize("labels", ["beach", "b*", 1])
def test_a_file_read_as_one_column_hints_at_its_separator(tmp_path, name, separator, hint, labels):
    path = tmp_path / name
    path.write_text(f"beach{separator}hue\n1{separator}5\n0{separator}7\n")
    with pytest.raises(FileError, match=re.escape(f'There is one column only; try sep="{hint}".')):
        datasets.read_table(path, labels=labels)
    assert datasets.read_table(path, labels="beach", sep=separator).feature_names == ("hue",)


def test_a_single_column_gives_no_hint_without_cause(tmp_path):
    path = save(FRAME[["hue"]], tmp_path / "x.csv")
    with pytest.raises(FileError, match=r"There are 'hue'\.$"):
        datasets.read_table(path, labels="beach")


@pytest.mark.parametrize("given", [FRAME, None, 3])
def test_what_is_no_path_is_named_by_its_type(given):
    with pytest.raises(DataError) as caught:
        datasets.read_table(given, labels=LABELS)
    kind = type(given).__name__
    assert str(caught.value) == f"path must be a str or a path, but is of type {kind}."


def test_rows_with_missing_values_raise_or_are_dropped_with_a_warning(tmp_path):
    path = save(FRAME.assign(hue=[0.1, np.nan, 0.3, 0.4]), tmp_path / "gaps.csv")
    with pytest.raises(
        FileError, match=r"gaps\.csv: features has missing values in 1 row\(s\), .*'hue'"
    ):
        datasets.read_table(path, labels=LABELS)
    with pytest.warns(DataWarning, match="1 of 4 rows have missing values") as caught:
        data = datasets.read_table(path, labels=LABELS, missing="drop")
    assert caught[0].filename == __file__
    assert data.features["hue"].tolist() == [0.1, 0.3, 0.4]
    assert data.labels["label_beach"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("frame", "arguments", "message"),
    [
        (
            FRAME,
            {"labels": "label_bech"},
            "labels asks for 'label_bech', which no .* 'label_beach'",
        ),
        (
            FRAME,
            {"labels": "z*"},
            r"labels asks for 'z\*', which no column matches\. There are 'hue', ",
        ),
        (FRAME, {"labels": 5}, "labels asks for column 5, but there are 5, counted from 0"),
        (FRAME, {"labels": -6}, "labels asks for column -6"),
        (FRAME, {"labels": []}, "labels must choose at least one column"),
        (FRAME, {"labels": None}, "labels must be a name, .* or a list of these, but is None"),
        (FRAME, {"labels": 3.5}, "labels must be a name, a pattern, a position .*, but is 3.5"),
        (
            FRAME,
            {"labels": slice(0, 3)},
            r"but is slice\(0, 3, None\)\. Give .*, e\.g\. range\(3\)",
        ),
        (FRAME, {"labels": LABELS, "features": 3.5}, "features must be a name, .*, but is 3.5"),
        (FRAME, {"labels": [1.5]}, "labels must hold names, patterns or positions, but holds 1.5"),
        (
            FRAME,
            {"labels": [True]},
            "labels must hold names, patterns or positions, but holds True",
        ),
        (FRAME, {"labels": LABELS, "features": "no"}, "features asks for 'no', which no column"),
        (FRAME, {"labels": LABELS, "features": "*"}, "named as label and as feature"),
        (FRAME, {"labels": "size"}, "labels must be coded 0/1, but column 'size' holds 1, 2, 3, 5"),
        (
            FRAME.assign(hue="x"),
            {"labels": LABELS},
            r"features must be numeric, but column\(s\) 'hue'",
        ),
        (FRAME.assign(label_urban="x"), {"labels": LABELS}, "labels must be numeric"),
        (FRAME.assign(hue=np.inf), {"labels": LABELS}, "features has infinite values"),
        (FRAME, {"labels": LABELS, "missing": "keep"}, "missing must be one of 'raise', 'drop'"),
        (FRAME.iloc[:0], {"labels": LABELS}, "labels must have at least one row"),
    ],
)
def test_what_cannot_be_used_is_said_with_the_name_of_the_file(tmp_path, frame, arguments, message):
    path = save(frame, tmp_path / "photos.csv")
    with pytest.raises(FileError) as caught:
        datasets.read_table(path, **arguments)
    assert str(caught.value).startswith(f"{path}: ")
    assert re.search(message, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"", "the file is empty"),
        ("x.csv", b"\n\n", "it cannot be read as csv"),
        ("x.csv", b"a,b\n1,2\n1,2,3\n", "it cannot be read as csv .*line 3, saw 3"),
        ("x.csv", b"a,b\n1,\xff\n", "it cannot be read as csv .*can't decode byte 0xff"),
        ("x.csv", b"a,b,a\n1,2,0\n", "its header has .*'a' more than once"),
        ("x.csv.gz", b"a,b\n1,2\n", "it cannot be read as csv .*gzip"),
        ("x.parquet", b"PAR1 is not here", "it cannot be read as parquet"),
        ("x.feather", b"nor a feather", "it cannot be read as feather"),
        ("x.xlsx", b"PK", r"the kind of file is not known by its ending\. Known are \.csv, "),
        ("x", b"a,b\n1,2\n", "the kind of file is not known"),
    ],
)
def test_a_damaged_or_unknown_file_is_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        datasets.read_table(path, labels="a")
    assert str(caught.value).startswith(f"{path}: ")
    assert re.search(message, str(caught.value)), str(caught.value)


def test_absent_files_and_folders_are_errors_of_ours(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        datasets.read_table(tmp_path / "absent.csv", labels="a")
    with pytest.raises(FileError, match="this is a folder"):
        datasets.read_table(tmp_path, labels="a")


def test_a_missing_reader_is_named(tmp_path, monkeypatch):
    path = save(FRAME, tmp_path / "photos.parquet")

    def refuse(*_, **__):
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", refuse)
    with pytest.raises(
        DataError, match=r"needs another package for it \(no engine\)\. Try pip install"
    ):
        datasets.read_table(path, labels=LABELS)


@pytest.mark.parametrize("stream", [io.BytesIO, io.StringIO])
def test_an_open_file_is_read_as_csv(table, stream):
    content = table.read_bytes() if stream is io.BytesIO else table.read_text()
    data = datasets.read_table(stream(content), labels=LABELS)
    assert_frame_equal(data.labels, datasets.read_table(table, labels=LABELS).labels)
    with pytest.raises(FileError, match=r"^<stream>: labels asks for 'y'"):
        datasets.read_table(stream(content), labels="y")
    with pytest.raises(FileError, match=r"^<stream>: there is nothing to read"):
        datasets.read_table(stream(), labels="y")
    with table.open("rb") as file, pytest.raises(FileError, match=re.escape(f"{table}: drop asks")):
        datasets.read_table(file, labels=LABELS, drop="name")


def test_columns_that_are_dropped_are_neither_labels_nor_features(tmp_path):
    path = save(FRAME.assign(name=list("abcd")), tmp_path / "photos.csv")
    data = datasets.read_table(path, labels="label_*", drop=["name", "label_urban", "s*"])
    assert data.labels.columns.tolist() == ["label_beach"]
    assert data.feature_names == ("hue",)
    chosen = datasets.read_table(path, LABELS, ["hue", "s*"], drop="size")
    assert chosen.feature_names == ("hue", "sunset")
