"""Labels and features from tables in files."""

import re

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from isingmlc import datasets
from isingmlc.exceptions import DataWarning, FileError

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


LEFT_OUT = r"a\.csv: column\(s\) {} have no name and count the rows, .* name them in features=\."


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


def test_absent_files_and_folders_are_errors_of_ours(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        datasets.read_table(tmp_path / "absent.csv", labels="a")
    with pytest.raises(FileError, match="this is a folder"):
        datasets.read_table(tmp_path, labels="a")
