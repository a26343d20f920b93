"""The grammar of multi-label files: what is understood, and what is said of damaged ones."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mulan_files import SMALL, XML, dense, write
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from scipy import sparse

from isingmlc import datasets
from isingmlc.datasets.arff import quote
from isingmlc.exceptions import DataError, DataWarning, FileError

# The grammar


def test_a_small_file_is_read_as_it_stands(tmp_path):
    data = datasets.read_mulan(write(tmp_path, SMALL, ["urban", "beach"]))
    assert_frame_equal(data.labels, pd.DataFrame({"urban": [0, 1], "beach": [1, 0]}))
    assert_frame_equal(data.features, pd.DataFrame({"hue": [0.5, 0.25]}))
    assert data.feature_names == ("hue",)
    assert data.name == "small"
    assert data.DESCR == "Read from small.arff; the labels are those of small.xml."


@pytest.mark.parametrize(
    ("count", "labels", "features"), [(3, list("abc"), list("de")), (-3, list("cde"), list("ab"))]
)
def test_meka_counts_labels_from_the_front_or_from_the_back(tmp_path, count, labels, features):
    attributes = "\n".join(f"@attribute {name} {{0,1}}" for name in "abcde")
    text = f"@relation 'some set: -C {count} -split-percentage 67'\n{attributes}\n@data\n1,0,1,1,0"
    data = datasets.read_mulan(write(tmp_path, text))
    assert list(data.labels.columns) == labels
    assert list(data.feature_names) == features
    row = dict(zip("abcde", (1, 0, 1, 1, 0), strict=True))
    assert data.labels.iloc[0].to_dict() == {name: row[name] for name in labels}
    assert data.features.iloc[0].to_dict() == {name: row[name] for name in features}


@pytest.mark.parametrize("relation", ["s -C -2", '"s: -C -2"', "'s: -C  -2'", "s-C -2-weka.filter"])
def test_meka_counts_are_found_in_quoted_and_bare_relations(tmp_path, relation):
    text = SMALL.replace("@relation small", f"@RELATION {relation}")
    assert list(datasets.read_mulan(write(tmp_path, text)).labels) == ["beach", "urban"]


def test_a_hierarchy_of_labels_is_read_parents_first(tmp_path):
    path = write(tmp_path, SMALL)
    nested = '<label name="urban"><label name="beach"></label></label>'
    (tmp_path / "tree.xml").write_text(XML.format(nested))
    assert list(datasets.read_mulan(path, tmp_path / "tree.xml").labels) == ["urban", "beach"]


def test_an_escaped_quote_in_a_name_matches_the_list(tmp_path):
    text = r"""@relation birds
@attribute 'Brown Creeper\'s' {0,1}
@attribute "say \"hi\"" numeric
@attribute 'a\\b, {c} 100\%' numeric
@attribute 'tab\there' numeric
@data
1,2,3,4
"""
    data = datasets.read_mulan(write(tmp_path, text, ["Brown Creeper's"]))
    assert list(data.labels) == ["Brown Creeper's"]
    assert data.feature_names == ('say "hi"', "a\\b, {c} 100%", "tab\there")


def test_upper_case_tabs_ranges_comments_and_line_ends_are_understood(tmp_path):
    lines = [
        "\ufeff% first",
        "@RELATION x",
        "",
        "@ATTRIBUTE\thue\tREAL [0, 1]",
        "@Attribute n INTEGER % c",
        "@attribute kind{a, 'b' ,c} % c",
        "@attribute y {0,1}",
        "@DATA % rows",
        "% a comment",
        " 0.5 , 1,\t'b' ,1 % the first",
        "",
        ".5\t-2e1\tc\t0",
        "",
    ]
    path = tmp_path / "odd.arff"
    path.write_bytes("\r\n".join(lines).encode())
    (tmp_path / "odd.xml").write_text(XML.format('<label name="y"/>'))
    data = datasets.read_mulan(path)
    expected = {"hue": [0.5, 0.5], "n": [1, -20], "kind=a": [0, 0], "kind=b": [1, 0]}
    expected["kind=c"] = [0, 1]
    assert_frame_equal(data.features, pd.DataFrame(expected, dtype=float))
    assert data.labels["y"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "ones"),
    [
        ("0,1", "1"),
        ("1,0", "1"),
        ("YES,NO", "YES"),
        ("no,yes", "yes"),
        ("True,False", "True"),
        ("-1,1", "1"),
        ("N,Y", "Y"),
        ("absent,present", "present"),
    ],
)
def test_the_affirmative_value_of_a_pair_is_one_whatever_the_order(tmp_path, values, ones):
    first, second = values.split(",")
    header = f"@relation 'x: -C -1'\n@attribute f {{{values}}}\n@attribute y {{{values}}}\n@data\n"
    data = datasets.read_mulan(
        write(tmp_path, f"{header}{first},{second}\n{second},{first}\n?,{ones}")
    )
    one = float(first == ones)
    assert_array_equal(data.features["f"], [one, 1 - one, np.nan])
    assert data.labels["y"].tolist() == [int(1 - one), int(one), 1]
    # In a sparse row what is left out is the first value of the list.
    thin = datasets.read_mulan(
        write(tmp_path, f"{header}{{1 {second}}}\n{{0 {second}}}\n{{0 ?,1 {ones}}}")
    )
    assert_array_equal(thin.features.toarray(), data.features)
    assert_frame_equal(thin.labels, data.labels)


def test_other_pairs_and_longer_lists_become_indicators(tmp_path):
    text = (
        "@relation 'x: -C -1'\n@attribute sex {male,female}\n@attribute size {'very small',big}\n"
        "@attribute y {0,1}\n@data\nmale,'very small',0\nfemale,?,1\n"
    )
    data = datasets.read_mulan(write(tmp_path, text))
    expected = pd.DataFrame(
        {
            "sex=male": [1.0, 0],
            "sex=female": [0.0, 1],
            "size=very small": [1, np.nan],
            "size=big": [0, np.nan],
        }
    )
    assert_frame_equal(data.features, expected)


def test_an_omitted_category_of_a_sparse_row_is_the_first_of_its_list(tmp_path):
    text = (
        "@relation 'x: -C -1'\n@attribute n numeric\n@attribute c {red,green,blue}\n"
        "@attribute y {0,1}\n@data\n{}\n{1 blue, 2 1}\n{ 0 2.5 ,1 red }\n{0 ?,1 ?} % none known\n"
    )
    data = datasets.read_mulan(write(tmp_path, text))
    assert isinstance(data.features, sparse.csr_array)
    assert data.feature_names == ("n", "c=red", "c=green", "c=blue")
    nan = np.nan
    expected = [[0, 1, 0, 0], [0, 0, 0, 1], [2.5, 1, 0, 0], [nan, nan, nan, nan]]
    assert_array_equal(data.features.toarray(), expected)
    assert data.labels["y"].tolist() == [0, 1, 0, 0]


def test_a_quoted_question_mark_is_a_value_and_a_bare_one_is_missing(tmp_path):
    text = "@relation 'x: -C -1'\n@attribute c {a,b,'?'}\n@attribute y {0,1}\n@data\n'?',0\n?,1\n"
    features = datasets.read_mulan(write(tmp_path, text)).features
    assert_array_equal(features["c=?"], [1, np.nan])


def test_numeric_labels_of_zeros_and_ones_are_labels(tmp_path):
    text = SMALL.replace("{0,1}", "numeric")
    data = datasets.read_mulan(write(tmp_path, text, ["beach", "urban"]))
    assert data.labels["urban"].tolist() == [0, 1]


def test_attributes_of_text_and_dates_are_left_out_with_a_warning(tmp_path):
    text = (
        "@relation 'x: -C -1'\n@attribute id string\n@attribute day date 'yyyy-MM-dd'\n"
        "@attribute n numeric\n@attribute y {0,1}\n@data\n'first, row',2026-01-01,1,0\nz,'',2,1\n"
    )
    with pytest.warns(DataWarning, match="'id', 'day' hold text or dates"):
        data = datasets.read_mulan(write(tmp_path, text))
    assert_frame_equal(data.features, pd.DataFrame({"n": [1.0, 2.0]}))


@pytest.mark.parametrize("rows", ["1\n0\n", "{0 1}\n{}\n"])
def test_a_file_of_labels_alone_has_no_features(tmp_path, rows):
    text = f"@relation 'x: -C 1'\n@attribute y {{0,1}}\n@data\n{rows}"
    data = datasets.read_mulan(write(tmp_path, text))
    assert data.features.shape == (2, 0)
    assert data.labels["y"].tolist() == [1, 0]


def test_another_encoding_can_be_named(tmp_path):
    path = tmp_path / "latin.arff"
    path.write_bytes(
        "@relation 'x: -C -1'\n@attribute größe real\n@attribute y {0,1}\n@data\n1,0".encode(
            "latin-1"
        )
    )
    assert datasets.read_mulan(path, encoding="latin-1").feature_names == ("größe",)
    with pytest.raises(FileError, match=r"latin\.arff, line 2: byte 0xf6 is not valid utf-8"):
        datasets.read_mulan(path)
    with pytest.raises(DataError, match=r"encoding must name a text encoding .* but is 'runes'"):
        datasets.read_mulan(path, encoding="runes")


# Damaged files

HEAD = """\
@relation 'x: -C -1'
@attribute n numeric
@attribute c {red,blue}
@attribute y {0,1}
@data
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "@relation x\n@attribute n numeric\n",
            r": there is no @data line\. The file may be truncated",
        ),
        (HEAD, r": there are no rows after @data\. The file may be truncated"),
        ("  \n\n", r": the file is empty"),
        ("n,c,y\n1,red,0\n", r", line 1: 'n,c,y' is not part of an ARFF header"),
        ("@relation x\n@data\n1\n", r", line 2: @data comes before any @attribute"),
        ("@relation x\n@attribute\n@data\n1", r", line 2: the line ends where a value is wanted"),
        (
            "@relation x\n@attribute n\n@data\n1",
            r", line 2: attribute 'n' must be numeric, .* is ''",
        ),
        (
            "@relation x\n@attribute n floaty\n@data\n1",
            r", line 2: attribute 'n' must .* but is 'floaty'",
        ),
        (
            "@relation x\n@attribute n relational\n@data\n1",
            r"line 2: attribute 'n' must .* 'relational'",
        ),
        (
            "@relation x\n@attribute 'n numeric\n@data\n1",
            r", line 2: a quote is opened and not closed",
        ),
        ("@relation x\n@attribute c {a,b\n@data\na", r", line 2: the brace \{ is not closed"),
        (
            "@relation x\n@attribute c {a,'b}\n@data\na",
            r", line 2: a quote is opened and not closed: \"'b}\"",
        ),
        (
            "@relation x\n@attribute c {a,a}\n@data\na",
            r", line 2: attribute 'c' lists 'a' more than once",
        ),
        (
            "@relation x\n@attribute n real\n@attribute n real\n@data\n1,1",
            r", line 3: attribute 'n' is declared a second",
        ),
        (
            HEAD + "1,red,0\n1,red\n",
            r", line 7: the row has 2 values, but 3 attributes are declared",
        ),
        (HEAD + "1,red,0,5\n", r", line 6: the row has 4 values, but 3 attributes are declared"),
        (HEAD + "1,,0\n", r", line 6: there is no value between two commas\. Write \?"),
        (HEAD + "1,red,\n", r", line 6: the line ends where a value is wanted"),
        (HEAD + "1,'red,0\n", r", line 6: a quote is opened and not closed: \"'red,0\""),
        (HEAD + "1,dark red,0\n", r", line 6: 'red,0' is not understood here\. Put .* in quotes"),
        (
            HEAD + "1,green,0\n",
            r", line 6: attribute 'c' has no value 'green'; .* with 'red', 'blue'",
        ),
        (HEAD + "one,red,0\n", r", line 6: attribute 'n' wants a number, not 'one'"),
        (HEAD + "1_0,red,0\n", r", line 6: attribute 'n' wants a number, not '1_0'"),
        (HEAD + "٣,red,0\n", r", line 6: attribute 'n' wants a number, not '٣'"),
        (HEAD + "0x10,red,0\n", r", line 6: attribute 'n' wants a number, not '0x10'"),
        (HEAD + "1,red,2\n", r", line 6: attribute 'y' has no value '2'"),
        (HEAD + "1,red,?\n", r", line 6: label 'y' must be 0 or 1, but is missing"),
        (
            HEAD + "1,red,0\n{0 1}\n",
            r", line 7: this row is sparse, in braces, but the rows before",
        ),
        (HEAD + "{0 1}\n1,red,0\n", r", line 7: this row is not sparse, but the rows before"),
        (
            HEAD + "{0 1,1 blue\n",
            r", line 6: the brace \{ is not closed\. The file may be truncated",
        ),
        (HEAD + "{0 1,\n", r", line 6: the brace \{ is not closed"),
        (HEAD + "{0 1,1\n", r", line 6: the brace \{ is not closed"),
        (HEAD + "{\n", r", line 6: the brace \{ is not closed"),
        (HEAD + "{0 1,1 'blue}\n", r", line 6: a quote is opened and not closed"),
        (HEAD + "{0 1,}\n", r", line 6: '}' is not understood here\. A sparse row is written"),
        (
            HEAD + "{0 1 1 blue}\n",
            r", line 6: '1 blue}' is not understood here\. A sparse row is written",
        ),
        (HEAD + "{0 1} 5\n", r", line 6: '} 5' is not understood here\. A sparse row is written"),
        (
            HEAD + "{zero 1}\n",
            r", line 6: 'zero 1}' is not understood here\. A sparse row is written",
        ),
        (HEAD + "{-1 1}\n", r", line 6: '-1 1}' is not understood here\. A sparse row is written"),
        (
            HEAD + "{3 1}\n",
            r", line 6: there is no column 3: 3 attributes are declared, counted from 0",
        ),
        (HEAD + "{0 1,0 1}\n", r", line 6: column 0 \('n'\) is given twice"),
        (HEAD + "{0 x}\n", r", line 6: attribute 'n' wants a number, not 'x'"),
        (HEAD + "{1 green}\n", r", line 6: attribute 'c' has no value 'green'"),
        (HEAD + "{0 1}\n{2 ?}\n", r", line 7: label 'y' must be 0 or 1, but is missing"),
        (
            HEAD.replace("{0,1}", "numeric") + "1,red,0\n1,red,3\n",
            r", line 7: label 'y' must be 0 or 1, but is 3",
        ),
        (
            HEAD.replace("{0,1}", "{a,b,c}") + "1,red,a\n",
            r"label 'y' must be coded 0/1 .* declared as 'a', 'b', 'c'",
        ),
        (
            HEAD.replace("{0,1}", "string") + "1,red,a\n",
            r"label 'y' must be coded 0/1 .* declared as text",
        ),
        (
            HEAD.replace("-C -1", "-C 9") + "1,red,0\n",
            r"the @relation line has -C 9, but .* all 3 of",
        ),
        (HEAD.replace("-C -1", "-C 0") + "1,red,0\n", r"the @relation line has -C 0"),
        (
            HEAD.replace("-C -1", "") + "1,red,0\n",
            r"nothing says which attributes are labels\. Pass .* xml=",
        ),
        (
            HEAD.replace("@attribute n", "@attribute c=red") + "1,red,0\n",
            r"would make the column\(s\) 'c=red', which are there already",
        ),
    ],
)
def test_a_damaged_file_is_named_with_its_line_and_what_is_wrong(tmp_path, text, message):
    path = write(tmp_path, text, name="broken")
    with pytest.raises(FileError) as caught:
        datasets.read_mulan(path)
    assert str(caught.value).startswith(str(path))
    assert re.search(message, str(caught.value)), str(caught.value)


def test_a_label_that_the_arff_file_lacks_is_named(tmp_path):
    path = write(tmp_path, SMALL, ["beach", "forest", "field"])
    with pytest.raises(
        FileError, match=r"small\.xml, line \d+: label\(s\) 'forest', 'field' are not among"
    ):
        datasets.read_mulan(path)


@pytest.mark.parametrize("argument", ["arff", "xml"])
def test_absent_empty_and_unreadable_paths_are_errors_of_ours(tmp_path, argument):
    given = {"arff": write(tmp_path, SMALL, ["beach"]), "xml": tmp_path / "small.xml"}
    (tmp_path / "nothing").touch()
    for name, message in [
        ("absent", r"absent: there is no such file\. Check the name"),
        ("no/folder", r"folder: there is no such file\. Nor is there a folder"),
        (".", r": this is a folder\. Give the path of a file in it"),
        ("nothing", r"nothing: the file is empty"),
    ]:
        with pytest.raises(FileError, match=message):
            datasets.read_mulan(**{**given, argument: tmp_path / name})
    with pytest.raises(DataError, match=f"{argument} must be a str or a path, but is of type int"):
        datasets.read_mulan(**{**given, argument: 3})


BOMB = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><labels><label name="&b;"/></labels>'
PEEK = '<!DOCTYPE l [<!ENTITY a SYSTEM "{}">]><labels><label name="beach"/>&a;</labels>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, r"line \d+: the file declares XML entities, .* It was not read"),
        (PEEK.format("secret.txt"), r"line \d+: the file declares XML entities"),
        (PEEK.format("http://127.0.0.1:9/x"), r": the file declares XML entities"),
        (
            "<labels>\n<label name='beach'>\n</labels>",
            r", line 3: the XML is broken here: mismatched tag",
        ),
        ("beach, urban", r", line 1: the XML is broken here: syntax error"),
        ("<labels/>", r": the file lists no labels"),
        ("<labels><label/></labels>", r": label 1 has no name attribute"),
        (
            '<l><label name="beach"/><label name="beach"/></l>',
            r": label\(s\) 'beach' are listed more",
        ),
        (
            '<?xml version="1.0" encoding="runes"?><labels/>',
            r"cannot be read as XML|the XML is broken",
        ),
        (
            b'<labels><label name="\xff"/></labels>',
            r", line 1: the XML is broken here: not well-formed",
        ),
    ],
)
def test_a_bad_list_of_labels_is_refused(tmp_path, content, message):
    path = write(tmp_path, SMALL)
    (tmp_path / "secret.txt").write_text("beach")
    listed = tmp_path / "list.xml"
    listed.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileError) as caught:
        datasets.read_mulan(path, listed)
    assert str(caught.value).startswith(str(listed))
    assert re.search(message, str(caught.value)), str(caught.value)


# Any table, dense and sparse

texts = st.text(st.characters(codec="utf-8"), max_size=6)
numbers = (
    st.none() | st.integers(-5, 5).map(float) | st.floats(allow_nan=False, allow_infinity=False)
)


@st.composite
def tables(draw):
    """Draw columns: a name, a list of values or None for numbers, and the cells."""
    n_rows = draw(st.integers(1, 5))
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    columns = []
    for name in names:
        # The mark keeps lists of values apart from pairs like no/yes.
        values = draw(
            st.none() | st.lists(texts.map("§{}".format), min_size=1, max_size=3, unique=True)
        )
        cell = numbers if values is None else st.none() | st.integers(0, len(values) - 1)
        columns.append((name, values, draw(st.lists(cell, min_size=n_rows, max_size=n_rows))))
    labels = draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows))
    return columns, labels


def cell_text(values, cell):
    if cell is None:
        return "?"
    return repr(cell) if values is None else quote(values[cell])


@given(tables())
@settings(deadline=None, max_examples=150)
def test_any_table_reads_back_equal_from_dense_and_from_sparse_rows(tmp_path_factory, table):
    columns, labels = table
    expected = {}
    for name, values, cells in columns:
        if values is None:
            expected[name] = [math.nan if cell is None else cell for cell in cells]
            continue
        for code, value in enumerate(values):
            column = [math.nan if cell is None else float(cell == code) for cell in cells]
            assume(f"{name}={value}" not in expected)
            expected[f"{name}={value}"] = column
    assume("label" not in {name for name, *_ in columns})
    assume(len(expected) == sum(len(values or "1") for _, values, _ in columns))
    header = ["@relation 'any: -C -1'"]
    for name, values, _ in columns:
        kind = "numeric" if values is None else "{" + ",".join(map(quote, values)) + "}"
        header.append(f"@attribute {quote(name)} {kind}")
    header += ["@attribute label {0,1}", "@data"]
    full, thin = [], []
    for at, label in enumerate(labels):
        row = [cell_text(values, cells[at]) for _, values, cells in columns]
        full.append(",".join([*row, str(label)]))
        entries = [f"{j} {row[j]}" for j, (*_, cells) in enumerate(columns) if cells[at] != 0]
        entries += [f"{len(columns)} 1"] if label else []
        thin.append("{" + ",".join(entries) + "}")
    folder = tmp_path_factory.mktemp("any")
    for rows in (full, thin):
        data = datasets.read_mulan(write(folder, "\n".join(header + rows)))
        assert data.feature_names == tuple(expected)
        assert_array_equal(dense(data.features), np.array(list(expected.values())).T)
        assert data.labels["label"].tolist() == labels


SAMPLES = (
    HEAD + "1,red,0\n?,'blue',1\n-2.5e3,\"red\",1 % c\n",
    HEAD + "{0 1,2 1}\n{}\n{1 'blue', 2 1} % c\n{0 ?}\n",
)
edits = st.lists(
    st.tuples(
        st.integers(0, 200), st.integers(0, 3), st.text("'\"{},%?\\\n\t 01ra@_é", max_size=2)
    ),
    min_size=1,
    max_size=3,
)


@given(st.sampled_from(SAMPLES), edits)
@settings(deadline=None, max_examples=200)
def test_a_file_with_some_characters_changed_is_read_or_refused_with_its_name(
    tmp_path_factory, text, changes
):
    for at, n_dropped, inserted in changes:
        text = text[:at] + inserted + text[at + n_dropped :]
    path = write(tmp_path_factory.mktemp("changed"), text)
    try:
        data = datasets.read_mulan(path)
    except FileError as error:
        refusal = str(error)
    else:
        refusal = None
        assert len(data.labels) == data.features.shape[0] > 0
        assert data.labels.isin([0, 1]).all(axis=None)
    assert refusal is None or refusal.startswith(str(path))
