"""The grammar of multi-label files: what is understood, and what is said of damaged ones."""

import re

import numpy as np
import pandas as pd
import pytest
from mulan_files import SMALL, XML, write
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from scipy import sparse

from isingmlc import datasets
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
        ("@relation x\n@data\n1\n", r", line 2: @data comes before any @attribute"),
        (
            "@relation x\n@attribute n\n@data\n1",
            r", line 2: attribute 'n' must be numeric, .* is ''",
        ),
        ("@relation x\n@attribute c {a,b\n@data\na", r", line 2: the brace \{ is not closed"),
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
        (HEAD + "1,,0\n", r", line 6: there is no value between two commas\. Write \?"),
        (HEAD + "1,red,\n", r", line 6: the line ends where a value is wanted"),
        (HEAD + "1,'red,0\n", r", line 6: a quote is opened and not closed: \"'red,0\""),
        (HEAD + "1,dark red,0\n", r", line 6: 'red,0' is not understood here\. Put .* in quotes"),
        (
            HEAD + "1,green,0\n",
            r", line 6: attribute 'c' has no value 'green'; .* with 'red', 'blue'",
        ),
        (HEAD + "one,red,0\n", r", line 6: attribute 'n' wants a number, not 'one'"),
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
        (HEAD + "{0 1,}\n", r", line 6: '}' is not understood here\. A sparse row is written"),
        (
            HEAD + "{3 1}\n",
            r", line 6: there is no column 3: 3 attributes are declared, counted from 0",
        ),
        (HEAD + "{0 1,0 1}\n", r", line 6: column 0 \('n'\) is given twice"),
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
        (
            "<labels>\n<label name='beach'>\n</labels>",
            r", line 3: the XML is broken here: mismatched tag",
        ),
        ("<labels/>", r": the file lists no labels"),
        ("<labels><label/></labels>", r": label 1 has no name attribute"),
        (
            '<l><label name="beach"/><label name="beach"/></l>',
            r": label\(s\) 'beach' are listed more",
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
