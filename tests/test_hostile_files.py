"""Files, paths and encodings that would hang a reader, fill the memory or surprise it."""

import io
import os
import tracemalloc
from encodings.aliases import aliases

import arff as liac
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mulan_files import SMALL, XML, write
from numpy.testing import assert_array_equal
from scipy import sparse

import isingmlc as im
from isingmlc import datasets
from isingmlc.datasets.arff import read_arff
from isingmlc.exceptions import DataError, FileError

HEAD = """\
@relation 'x: -C -1'
@attribute n numeric
@attribute c {red,blue}
@attribute y {0,1}
@data
"""


def attempt(read, *arguments, **options):
    """Give what a reader reads, or None and what it says."""
    try:
        return read(*arguments, **options), ""
    except DataError as error:
        return None, str(error)


# Long lines: what takes the square of their length never ends here

LONG = 1_000_000
GAP = " " * LONG
DIGITS = "1" * LONG


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD.replace("n numeric", f"n numeric{GAP}x") + "1,red,0", "line 2: attribute 'n' must"),
        (HEAD.replace("n numeric", f"n real [{GAP}") + "1,red,0", "line 2: attribute 'n' must"),
        (HEAD.replace("n numeric", f"n{GAP},") + "1,red,0", "line 2: attribute 'n' must"),
        (
            HEAD.replace("{red,blue}", f"{{red{GAP}x}}") + "1,red,0",
            "line 3: 'x}' is not understood",
        ),
        (HEAD + f"{DIGITS}_,red,0", "line 6: attribute 'n' wants a number, not '1111"),
        (HEAD + f"{DIGITS}.{DIGITS}x,red,0", "line 6: attribute 'n' wants a number"),
        (HEAD + f"1e{DIGITS}x,red,0", "line 6: attribute 'n' wants a number"),
        (HEAD + f"1{GAP}2,red,0", "line 6: '2,red,0' is not understood here"),
        (HEAD + f"?,{GAP}'red{GAP}", "line 6: a quote is opened and not closed"),
        (HEAD + "1," + "'a" * LONG, "line 6: \"a'a'a"),
        (HEAD + "1,'" + "\\\\" * LONG, "line 6: a quote is opened and not closed"),
        (HEAD + "{" + GAP + "x", "line 6: the brace { is not closed"),
        (HEAD + f"{{0{GAP}?{GAP}x}}", "line 6: 'x}' is not understood here"),
        (HEAD + f"{{{DIGITS}x}}", "line 6: '1111"),
        (HEAD + f"{{0 1}}{GAP}x", "line 6: '}   "),
        (HEAD.replace("-C", "-C " * LONG) + "1,red,0", None),
    ],
)
def test_a_long_line_is_refused_at_once(tmp_path, text, message):
    path = write(tmp_path, text)
    if message is None:
        assert list(datasets.read_mulan(path).labels) == ["y"]
        return
    with pytest.raises(FileError) as caught:
        datasets.read_mulan(path)
    assert str(caught.value).startswith(f"{path}, {message}")
    assert len(str(caught.value)) < 500


def test_a_long_line_that_is_in_order_is_read(tmp_path):
    rows = f"{GAP}?,{GAP}'red'{GAP},\t0{GAP}% c\n{DIGITS[:1000]},blue,1\n.{DIGITS},red,1"
    features = datasets.read_mulan(write(tmp_path, HEAD + rows)).features
    assert_array_equal(features["n"], [np.nan, np.inf, 1 / 9])
    thin = datasets.read_mulan(write(tmp_path, HEAD + f"{{{GAP}0{GAP}5,{GAP}2 1{GAP}}}")).features
    assert thin.toarray()[0].tolist() == [5, 1, 0]


def test_values_of_a_long_list_are_found_at_once(tmp_path):
    """Quoted values go the careful way, which must not look through the list for each."""
    values = [f"v {number}" for number in range(30_000)]
    listed = ",".join(f"'{value}'" for value in values)
    rows = "\n".join(f"{{0 '{value}',1 1}}" for value in values)
    text = f"@relation 'x: -C -1'\n@attribute c {{{listed}}}\n@attribute y {{0,1}}\n@data\n{rows}"
    cells = read_arff(write(tmp_path, text)).cells
    assert_array_equal(cells[:, [0]].toarray().ravel(), np.arange(len(values)))


@pytest.mark.parametrize("digits", ["9" * 5000, "0" * 5000 + "3", "+" + "1" * 5000])
def test_a_column_with_thousands_of_digits_is_none(tmp_path, digits):
    with pytest.raises(FileError, match=r"line 6: there is no column .{1,50}: 3 attributes are"):
        datasets.read_mulan(write(tmp_path, HEAD + f"{{{digits} 1}}"))


def test_leading_zeros_do_not_count(tmp_path):
    zeros = "0" * 5000
    text = HEAD.replace("-C -1", f"-C -{zeros}1") + f"{{{zeros} 7,{zeros}2 1}}\n"
    data = datasets.read_mulan(write(tmp_path, text))
    assert data.features.toarray()[0].tolist() == [7, 1, 0]
    assert data.labels["y"].tolist() == [1]


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_count_with_thousands_of_digits_is_too_large(tmp_path, sign):
    text = HEAD.replace("-C -1", f"-C {sign}{'1' * 5000}") + "1,red,0"
    with pytest.raises(FileError, match=rf"@relation line has -C {sign}1{{40}}…, but the labels"):
        datasets.read_mulan(write(tmp_path, text))


# Memory

WIDE = ",".join(f"v{number}" for number in range(60_000))


def peak(work):
    """Give the most memory that a call holds, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_category_of_many_values_is_no_label(tmp_path):
    path = write(tmp_path, f"@relation 'x: -C 1'\n@attribute y {{{WIDE}}}\n@data\nv1\nv2\n")

    def read():
        with pytest.raises(FileError, match=r"label 'y' must be coded 0/1 .* and 59995 more"):
            datasets.read_mulan(path)

    assert peak(read) < 2e8


@pytest.mark.parametrize("row", ["v1,1", "{0 v1,1 1}"])
def test_a_category_of_many_values_is_many_features(tmp_path, row):
    listed = WIDE[: WIDE.index(",v20000")]
    head = f"@relation 'x: -C -1'\n@attribute c {{{listed}}}\n@attribute y {{0,1}}\n@data\n"
    path = write(tmp_path, head + f"{row}\n" * 20)
    read = []
    assert peak(lambda: read.append(datasets.read_mulan(path))) < 3e8
    features = read[0].features
    assert features.shape == (20, 20_000)
    total = features.sum(axis=0)
    assert np.flatnonzero(total).tolist() == [1]
    assert np.asarray(total)[1] == 20


@pytest.mark.parametrize("row", ["v1,1", "{0 ?,1 1}"])
def test_a_short_file_does_not_fill_the_memory(tmp_path, row):
    head = f"@relation 'x: -C -1'\n@attribute c {{{WIDE}}}\n@attribute y {{0,1}}\n@data\n"
    path = write(tmp_path, head + f"{row}\n" * 5000)
    with pytest.raises(
        FileError, match=r"60000 for 'c' alone, would take 2(\.4)? GB or more\. Wri"
    ):
        datasets.read_mulan(path)


def test_rows_that_are_too_short_ask_for_no_memory(tmp_path):
    attributes = "\n".join(f"@attribute x{number} real" for number in range(50_000))
    path = write(tmp_path, f"@relation 'x: -C -1'\n{attributes}\n@data\n" + "1\n" * 50_000)

    def read():
        with pytest.raises(FileError, match="the row has 1 values, but 50000 attributes are decl"):
            datasets.read_mulan(path)

    assert peak(read) < 2e8


def test_sparse_labels_that_would_fill_the_memory_are_refused(tmp_path):
    attributes = "\n".join(f"@attribute y{number} {{0,1}}" for number in range(20_000))
    path = write(tmp_path, f"@relation 'x: -C 20000'\n{attributes}\n@data\n" + "{0 1}\n" * 20_000)
    with pytest.raises(FileError, match=r"a frame of 20000 labels would take 6\.4 GB or more\. Ch"):
        datasets.read_mulan(path)


# Encodings, and characters that are none


@pytest.mark.parametrize(
    "encoding",
    [None, 3, b"utf-8", "", "runes", "rot13", "hex", "undefined", "utf\0", "\ud800", "x" * 10_000],
)
def test_what_is_no_encoding_is_said(tmp_path, encoding):
    path = write(tmp_path, SMALL, ["beach"])
    with pytest.raises(DataError, match=r"encoding must name a text encoding .* e.g. 'latin-1'"):
        datasets.read_mulan(path, encoding=encoding)


@pytest.mark.parametrize(
    "content", [SMALL.encode(), SMALL.encode() + b"\xff\xfe\x80,\xd8", b"\xff"]
)
def test_any_encoding_reads_a_file_or_is_an_error_of_ours(tmp_path, content):
    path = tmp_path / "x.arff"
    path.write_bytes(content)
    for encoding in sorted({*aliases, *aliases.values(), "idna", "punycode", "unicode_escape"}):
        read, said = attempt(datasets.read_mulan, path, labels="beach", encoding=encoding)
        assert read is not None or str(path) in said


@pytest.mark.parametrize(
    ("old", "new", "line"), [("attribute n", r"attribute '\ud800'", 2), ("red", r"'x\udfff'", 3)]
)
def test_half_a_character_in_a_name_is_refused(tmp_path, old, new, line):
    path = write(tmp_path, HEAD.replace(old, new) + "1,blue,0\n")
    with pytest.raises(FileError, match=rf"line {line}: '.*' holds half a character"):
        datasets.read_mulan(path)


def test_both_halves_of_a_character_are_one(tmp_path):
    path = write(tmp_path, HEAD.replace("attribute n", r"attribute '\ud83d\ude00'") + "1,blue,0\n")
    assert datasets.read_mulan(path).feature_names[0] == "😀"


def test_half_a_character_that_an_encoding_makes_is_refused(tmp_path):
    path = write(tmp_path, HEAD.replace("attribute n", r"attribute \ud800") + "1,blue,0\n")
    with pytest.raises(FileError, match=r"line 2: .* holds half a character"):
        datasets.read_mulan(path, encoding="unicode_escape")


def test_names_that_a_file_cannot_hold_are_not_written(tmp_path):
    labels = pd.DataFrame({"a": [0, 1]})
    data = datasets.Dataset(labels, sparse.csr_array([[1.0], [2.0]]), ("\ud800",))
    with pytest.raises(DataError, match=r"the name '\\ud800' holds half a character"):
        datasets.to_mulan(data, tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
def test_a_file_whose_name_is_no_text_is_written_and_read(tmp_path):
    labels, features = pd.DataFrame({"a": [0, 1]}), pd.DataFrame({"x": [1.0, 2.0]})
    arff, xml = datasets.to_mulan(
        (labels, features), os.fsencode(tmp_path / "b").decode() + "\udcff"
    )
    pd.testing.assert_frame_equal(datasets.read_mulan(arff, xml).features, features)


# Paths and open files

NO_PATHS = [None, 3, b"x.csv", "a\0b", "\ud800", "~nobody-of-this-name/x", [None]]
LABELS, FEATURES = pd.DataFrame({"a": [0, 1, 1]}), pd.DataFrame({"x": [1.0, 2.0, 4.0]})
USES = {
    "read_mulan": datasets.read_mulan,
    "read_table": lambda path: datasets.read_table(path, "a"),
    "to_mulan": lambda path: datasets.to_mulan((LABELS, FEATURES), path),
    "load_mulan": lambda path: datasets.load_mulan("scene", data_dir=path),
    "fetch_mulan": lambda path: datasets.fetch_mulan("scene", cache_dir=path, base_url="file:"),
    "scan": lambda path: im.scan(path, labels=["a"]),
    "save": lambda path: im.LabelsetStatistics.from_arrays(LABELS, FEATURES).save(path),
    "load": im.LabelsetStatistics.load,
    "save results": lambda path: im.IsingModel(LABELS, FEATURES).fit().save(path),
    "load results": im.IsingResults.load,
    "checkpoint": lambda path: im.LabelsetStatistics.from_batches(
        [(LABELS, FEATURES)], checkpoint=path
    ),
}
# None stands for a default here.
NONE_ALLOWED = {"load_mulan", "fetch_mulan", "checkpoint"}


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("given_path", NO_PATHS, ids=repr)
@pytest.mark.parametrize("use", USES)
def test_what_is_no_path_is_said(use, given_path):
    if given_path is None and use in NONE_ALLOWED:
        return
    with pytest.raises(DataError, match=r"must be a str or a path|cannot be a path"):
        USES[use](given_path)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("use", USES)
def test_a_path_that_is_too_long_is_said(tmp_path, use):
    for long in (tmp_path / ("x" * 5000), tmp_path / ("x" * 5000) / "y.csv"):
        with pytest.raises(FileError, match=r"x{5000}"):
            USES[use](long)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize(
    "use",
    ["read_mulan", "read_table", "save", "load", "save results", "load results", "checkpoint"],
)
def test_a_folder_in_place_of_a_file_is_said(tmp_path, use):
    with pytest.raises(FileError, match=str(tmp_path)):
        USES[use](tmp_path)


class Broken:
    """What behaves like a file, up to a point."""

    def __init__(self, content):
        self.content = content

    def read(self):
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


def test_an_open_file_that_cannot_be_read_is_said(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1,\xff\n")
    with path.open("rb") as closed:
        pass
    with (
        (tmp_path / "y.csv").open("wb") as write_only,
        (tmp_path / "z.csv").open("w") as write_text,
        path.open(encoding="utf-8") as undecodable,
    ):
        for stream in (closed, write_only, write_text, undecodable):
            with pytest.raises(FileError, match=r"\w\.csv: it cannot be read \(.*Pass a file that"):
                datasets.read_table(stream, "a")
    for content in (3, RuntimeError("gone"), EOFError()):
        with pytest.raises(FileError, match="<stream>: it cannot be read"):
            datasets.read_table(Broken(content), "a")
    with pytest.raises(FileError, match="<stream>: it cannot be read"):
        datasets.read_table(io.StringIO("a,\ud800\n1,2\n"), "a")
    with pytest.raises(DataError, match="arff must be a str or a path"):
        datasets.read_mulan(io.StringIO(SMALL))


def test_what_cannot_be_decoded_may_be_replaced(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\xff\n1,2\n0,3\n")
    data = datasets.read_table(path, "a", encoding_errors="replace")
    assert data.feature_names == ("b\ufffd",)


# Any damage, and the other reader

ROWS = (
    "1,red,0\n?,'blue',1\n-2.5e3,\"red\",1 % c\n0.25,?,1\n",
    "{0 1,2 1}\n{}\n{1 'blue', 2 1}\n{0 ?, 1 red}\n",
)
edits = st.lists(
    st.tuples(
        st.integers(0, 60), st.integers(0, 2), st.text("'\"{},%?\n\t 0123ra.e+-é", max_size=2)
    ),
    min_size=1,
    max_size=3,
)


def liac_cells(path, table):
    """Read with liac-arff what `read_arff` has read, as numbers; None if it refuses."""
    is_sparse = sparse.issparse(table.cells)
    try:
        with path.open(encoding="utf-8") as file:
            kind = liac.LOD if is_sparse else liac.DENSE
            read = liac.load(file, encode_nominal=True, return_type=kind)
    except Exception:  # its errors are of many classes
        return None
    cells = np.zeros(table.cells.shape)
    for row, entries in zip(cells, read["data"], strict=True):
        for at, value in entries.items() if is_sparse else enumerate(entries):
            row[at] = np.nan if value is None else value
    return cells


@given(st.sampled_from(ROWS), edits)
@settings(deadline=None, max_examples=300)
def test_damaged_rows_are_refused_or_read_as_liac_arff_does(tmp_path_factory, rows, changes):
    for at, n_dropped, inserted in changes:
        rows = rows[:at] + inserted + rows[at + n_dropped :]
    path = write(tmp_path_factory.mktemp("rows"), HEAD + rows)
    table, said = attempt(read_arff, path)
    if table is None:
        assert said.startswith(str(path))
        return
    theirs = liac_cells(path, table)
    if theirs is not None:
        ours = table.cells.toarray() if sparse.issparse(table.cells) else table.cells
        assert_array_equal(ours, theirs)


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_a_damaged_list_of_labels_is_refused_or_names_attributes(tmp_path_factory, data):
    content = bytearray(XML.format('<label name="beach"/><label name="urban"></label>').encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    folder = tmp_path_factory.mktemp("list")
    path, listed = write(folder, SMALL), folder / "list.xml"
    listed.write_bytes(content)
    read, said = attempt(datasets.read_mulan, path, listed)
    if read is None:
        assert said.startswith((str(path), str(listed)))
    else:
        assert set(read.labels) <= {"hue", "beach", "urban"}
