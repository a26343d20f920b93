"""Reading, finding and writing multi-label files."""

import hashlib
import math
import re

import arff as liac
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from scipy import sparse

from isingmlc import datasets
from isingmlc.datasets.arff import quote, read_arff
from isingmlc.datasets.label_list import read_label_list
from isingmlc.datasets.registry import PUBLISHED
from isingmlc.exceptions import DataError, DataWarning, FileError

# Rows, features and labels, as in the first table of the paper where it has the set, and as Mulan
# states them elsewhere. The three categories of flags that are no pairs make 6 + 4 + 10 + 8
# columns, not 4.
SIZES = {
    "bibtex": (7395, 1836, 159),
    "emotions": (593, 72, 6),
    "enron": (1702, 1001, 53),
    "flags": (194, 19 - 4 + 28, 7),
    "medical": (978, 1449, 45),
    "scene": (2407, 294, 6),
    "yeast": (2417, 103, 14),
}
SPARSE = {"bibtex", "enron", "medical"}

XML = '<labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'
SMALL = """\
% a comment
@relation small

@attribute hue numeric
@attribute beach {0,1}
@attribute urban {0,1}

@data
0.5,1,0
0.25,0,1
"""


def write(folder, text, xml_labels=None, name="small"):
    path = folder / f"{name}.arff"
    path.write_text(text, encoding="utf-8")
    if xml_labels is not None:
        listed = "".join(f'<label name="{label}"/>' for label in xml_labels)
        (folder / f"{name}.xml").write_text(XML.format(listed), encoding="utf-8")
    return path


def dense(features):
    return features.toarray() if sparse.issparse(features) else features.to_numpy()


# Mulan's own files


@pytest.mark.parametrize("name", SIZES)
def test_a_published_set_has_its_published_size(data_dir, name):
    data = datasets.load_mulan(name, "all", data_dir)
    n_rows, n_features, n_labels = SIZES[name]
    assert data.labels.shape == (n_rows, n_labels)
    assert data.features.shape == (n_rows, n_features)
    assert len(data.feature_names) == n_features
    assert data.name == name
    assert data.relevant is None
    assert sparse.issparse(data.features) == (name in SPARSE)
    assert set(np.unique(data.labels)) == {0, 1}
    assert (data.labels.dtypes == np.int64).all()
    assert not np.isnan(data.features.data if name in SPARSE else dense(data.features)).any()


@pytest.mark.parametrize("name", SIZES)
def test_training_and_test_rows_have_the_same_columns_in_the_same_order(data_dir, name):
    train, test = (datasets.load_mulan(name, part, data_dir) for part in ("train", "test"))
    whole = datasets.load_mulan(name, "all", data_dir)
    assert train.feature_names == test.feature_names == whole.feature_names
    assert train.labels.columns.equals(test.labels.columns)
    assert_frame_equal(whole.labels, pd.concat([train.labels, test.labels], ignore_index=True))
    assert_array_equal(
        dense(whole.features), np.vstack([dense(train.features), dense(test.features)])
    )


@pytest.mark.parametrize("name", SIZES)
def test_labels_come_in_the_order_of_the_list_and_with_their_own_values(data_dir, name):
    data = datasets.load_mulan(name, "test", data_dir)
    folder = data_dir / name
    assert tuple(data.labels.columns) == read_label_list(folder / f"{name}.xml")
    table = read_arff(folder / f"{name}-test.arff")
    positions = {attribute.name: at for at, attribute in enumerate(table.attributes)}
    for label in data.labels:
        column = table.cells[:, [positions[label]]]
        column = column.toarray() if sparse.issparse(column) else column
        assert_array_equal(data.labels[label], column.ravel())


@pytest.mark.parametrize("name", ["yeast", "enron"])
def test_the_order_of_the_list_may_differ_from_that_of_the_attributes(data_dir, name):
    labels = datasets.load_mulan(name, "test", data_dir).labels
    attributes = read_arff(data_dir / name / f"{name}-test.arff").attributes
    in_file = [each.name for each in attributes if each.name in labels.columns]
    assert list(labels.columns) != in_file
    assert sorted(labels.columns) == sorted(in_file)


@pytest.mark.parametrize("name", SIZES)
def test_liac_arff_reads_the_same_numbers(data_dir, name):
    path = data_dir / name / f"{name}-test.arff"
    table = read_arff(path)
    kind = liac.LOD if name in SPARSE else liac.DENSE
    with path.open(encoding="utf-8") as file:
        other = liac.load(file, encode_nominal=True, return_type=kind)
    assert [each.name for each in table.attributes] == [each[0] for each in other["attributes"]]
    assert table.relation == other["relation"]
    if name not in SPARSE:
        assert_array_equal(table.cells, np.array(other["data"], dtype=float))
        return
    cells = np.zeros(table.cells.shape)
    for at, entries in enumerate(other["data"]):
        cells[at, list(entries)] = list(entries.values())
    assert_array_equal(table.cells.toarray(), cells)


def test_categories_of_flags_become_named_indicators(data_dir):
    data = datasets.load_mulan("flags", "all", data_dir)
    zones = [f"zone={zone}" for zone in (1, 2, 3, 4)]
    assert [name for name in data.feature_names if name.startswith("zone")] == zones
    assert (data.features[zones].sum(axis=1) == 1).all()
    assert "crescent" in data.feature_names


def test_a_relation_line_with_an_old_count_yields_to_the_list(data_dir):
    # The @relation line of medical still counts 45 labels at the front; they are at the end.
    folder = data_dir / "medical"
    assert "-C 45" in read_arff(folder / "medical-train.arff").relation
    data = datasets.load_mulan("medical", "train", data_dir)
    assert data.labels.columns[0] == "Class-0-593_70"
    assert data.feature_names[0] == "-"


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
    with pytest.raises(DataError, match="encoding must name a text encoding, but is 'runes'"):
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
            r": there is no @data line in its 3 lines\. .* truncated",
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
        (HEAD + "{0 1,}\n", r", line 6: '}' is not understood here"),
        (HEAD + "{0 1 1 blue}\n", r", line 6: '1 blue}' is not understood here"),
        (HEAD + "{0 1} 5\n", r", line 6: '} 5' is not understood here"),
        (HEAD + "{zero 1}\n", r", line 6: 'zero 1}' is not understood here"),
        (HEAD + "{-1 1}\n", r", line 6: '-1 1}' is not understood here"),
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
        FileError, match=r"label\(s\) 'forest', 'field' of small\.xml are not among"
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


BOMB = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><labels><label name="&b;"/></labels>'
PEEK = '<!DOCTYPE l [<!ENTITY a SYSTEM "{}">]><labels><label name="beach"/>&a;</labels>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, r": the file declares XML entities, .* It was not read"),
        (PEEK.format("secret.txt"), r": the file declares XML entities"),
        (PEEK.format("http://127.0.0.1:9/x"), r": the file declares XML entities"),
        (
            "<labels>\n<label name='beach'>\n</labels>",
            r", line 3: this is not well-formed XML \(mismatched tag\)",
        ),
        ("beach, urban", r", line 1: this is not well-formed XML \(syntax error\)"),
        ("<labels/>", r": the file lists no labels"),
        ("<labels><label/></labels>", r": label 1 has no name attribute"),
        (
            '<l><label name="beach"/><label name="beach"/></l>',
            r": label\(s\) 'beach' are listed more",
        ),
        (
            '<?xml version="1.0" encoding="runes"?><labels/>',
            r"can not be read as XML|not well-formed",
        ),
        (b'<labels><label name="\xff"/></labels>', r", line 1: this is not well-formed XML"),
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


# Finding files


@pytest.fixture
def photos(tmp_path):
    """A folder with a set that has a training and a test file."""
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder, SMALL, ["beach", "urban"], "photos")
    (folder / "photos.arff").rename(folder / "photos-train.arff")
    write(folder, SMALL.replace("0.5", "0.75"), name="photos-test")
    return folder


@pytest.mark.parametrize("nested", [True, False])
def test_files_are_found_in_a_folder_of_the_set_or_flat(photos, nested):
    root = photos
    if nested:
        root = photos.parent / "root"
        root.mkdir()
        photos.rename(root / "photos")
    assert datasets.load_mulan("photos", "train", root).features["hue"].tolist() == [0.5, 0.25]
    assert datasets.load_mulan("photos", "test", root).features["hue"].tolist() == [0.75, 0.25]
    whole = datasets.load_mulan("photos", "all", root)
    assert whole.features["hue"].tolist() == [0.5, 0.25, 0.75, 0.25]
    assert whole.DESCR.startswith("photos: read from photos-train.arff and photos-test.arff;")


def test_the_environment_names_the_folder(photos, monkeypatch):
    monkeypatch.setenv("ISINGMLC_DATA", str(photos))
    assert len(datasets.load_mulan("photos").labels) == 2


def test_the_folder_of_downloads_is_looked_in_last(photos, tmp_path, monkeypatch):
    monkeypatch.setenv("ISINGMLC_DATA", str(tmp_path))
    monkeypatch.setattr("isingmlc.datasets.mulan.cache_folder", lambda: photos)
    assert len(datasets.load_mulan("photos").labels) == 2


def test_a_set_without_a_split_is_loaded_whole(tmp_path):
    write(tmp_path, SMALL, ["beach", "urban"], "photos")
    assert len(datasets.load_mulan("photos", "all", tmp_path).labels) == 2
    with pytest.raises(FileError, match=r"there is no photos-train\.arff in any of"):
        datasets.load_mulan("photos", "train", tmp_path)


def test_an_absent_set_says_what_was_looked_for_where_and_how_to_get_it(tmp_path, monkeypatch):
    with pytest.raises(FileError) as caught:
        datasets.load_mulan("scene", "all", tmp_path)
    assert str(caught.value) == (
        "there is no scene-train.arff and scene-test.arff or scene.arff in any of these folders: "
        f"{tmp_path / 'scene'}, {tmp_path}. Pass data_dir= or set ISINGMLC_DATA to the folder that "
        "has the files, or download them with fetch_mulan('scene')."
    )
    monkeypatch.delenv("ISINGMLC_DATA", raising=False)
    monkeypatch.setattr("isingmlc.datasets.mulan.cache_folder", lambda: tmp_path / "cache")
    with pytest.raises(FileError, match=re.escape(str(tmp_path / "cache"))):
        datasets.load_mulan("scene")


def test_an_unknown_part_is_refused(photos):
    with pytest.raises(DataError, match="part must be one of 'train', 'test', 'all', but is 'dev'"):
        datasets.load_mulan("photos", "dev", photos)


def test_a_set_without_its_list_of_labels_is_refused(photos):
    (photos / "photos.xml").unlink()
    with pytest.raises(FileError, match=r"photos\.xml: there is no such file"):
        datasets.load_mulan("photos", "train", photos)


CATEGORIES = (
    "@relation x\n@attribute n real\n@attribute c {{{}}}\n@attribute beach {{0,1}}\n@data\n{}\n"
)


def test_parts_that_list_categories_in_another_order_are_brought_into_one(photos):
    (photos / "photos.xml").write_text(XML.format('<label name="beach"/>'))
    write(photos, CATEGORIES.format("a,b,c", "1,b,0"), name="photos-train")
    write(photos, CATEGORIES.format("c,a,b", "2,b,1"), name="photos-test")
    whole = datasets.load_mulan("photos", "all", photos)
    assert whole.feature_names == ("n", "c=a", "c=b", "c=c")
    assert_array_equal(whole.features, [[1, 0, 1, 0], [2, 0, 1, 0]])


@pytest.mark.parametrize(
    ("test_file", "message"),
    [
        (
            CATEGORIES.format("a,b,d", "2,b,1"),
            "its columns are not those of photos-train.arff: 'c=d' differ",
        ),
        (CATEGORIES.format("a,b", "{0 2}"), "its columns are not .*: one file is sparse"),
    ],
)
def test_parts_that_do_not_make_the_same_columns_are_refused(photos, test_file, message):
    (photos / "photos.xml").write_text(XML.format('<label name="beach"/>'))
    write(photos, CATEGORIES.format("a,b", "1,b,0"), name="photos-train")
    write(photos, test_file, name="photos-test")
    with pytest.raises(FileError, match=message):
        datasets.load_mulan("photos", "all", photos)


# Writing

ODD_NAMES = (
    *(
        "plain",
        "two words",
        "it's",
        'say "hi"',
        "100%",
        "% off",
        "a,b",
        "{c}",
        "back\\slash\\",
        "?",
    ),
    *("größe 中文 🙂", "tab\there", "line\nbreak", " padded ", "", "'", "\\'", "next\u2028line"),
)


def example(n_rows=6):
    generator = np.random.default_rng(3)
    values = generator.normal(size=(n_rows, len(ODD_NAMES)))
    values[generator.random(values.shape) < 0.5] = 0
    values[0, :4] = [np.nan, 0.1 + 0.2, -1e-300, 1e22]
    labels = generator.integers(2, size=(n_rows, 3))
    names = ["beach & <sea>", 'it\'s\t"odd"', "größe"]
    return pd.DataFrame(labels, columns=names), pd.DataFrame(values, columns=list(ODD_NAMES))


def test_what_is_written_dense_reads_back_equal(tmp_path):
    labels, features = example()
    paths = datasets.to_mulan((labels, features), tmp_path / "v1.0")
    assert [path.name for path in paths] == ["v1.0.arff", "v1.0.xml"]
    again = datasets.read_mulan(*paths)
    assert_frame_equal(again.labels, labels)
    assert_frame_equal(again.features, features)


def test_what_is_written_sparse_reads_back_equal(tmp_path):
    labels, features = example()
    data = datasets.Dataset(labels, sparse.csr_array(features.to_numpy()), ODD_NAMES)
    arff, _ = datasets.to_mulan(data, tmp_path / "thin")
    again = datasets.read_mulan(arff)
    assert isinstance(again.features, sparse.csr_array)
    assert again.feature_names == ODD_NAMES
    assert_frame_equal(again.labels, labels)
    assert_array_equal(again.features.toarray(), features)
    assert "\n{" in arff.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["flags", "medical"])
def test_a_published_set_survives_writing_and_reading(data_dir, tmp_path, name):
    data = datasets.load_mulan(name, "train", data_dir)
    again = datasets.read_mulan(datasets.to_mulan(data, tmp_path / name)[0])
    assert again.feature_names == data.feature_names
    assert_frame_equal(again.labels, data.labels)
    assert_array_equal(dense(again.features), dense(data.features))


def test_arrays_are_written_under_numbered_names(tmp_path):
    labels = pd.DataFrame({"a": [0, 1]}, index=["u", "v"])
    arff, _ = datasets.to_mulan((labels, np.array([[1, 2], [3, 4]])), tmp_path / "array")
    assert datasets.read_mulan(arff).feature_names == ("x1", "x2")


def test_what_can_not_be_used_is_not_written(tmp_path):
    labels, features = example()
    for broken, message in [
        ((labels + 1, features), "labels must be coded 0/1"),
        ((labels, features.assign(plain="text")), "features must be numeric"),
        ((labels, features.assign(plain=np.inf)), "features has infinite values"),
        ((labels, features.iloc[:-1]), "labels has 6 rows and features has 5"),
        ((labels.rename(columns={"größe": "a\x00b"}), features), "control character"),
    ]:
        with pytest.raises(DataError, match=message):
            datasets.to_mulan(broken, tmp_path / "broken")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match=r"the files can not be written here \(No such file"):
        datasets.to_mulan((labels, features), tmp_path / "no" / "folder")


def test_writing_leaves_the_data_as_they_are(tmp_path):
    labels, features = example()
    matrix = sparse.csr_array(features.to_numpy())
    before = labels.copy(), matrix.copy()
    datasets.to_mulan(datasets.Dataset(labels, matrix, ODD_NAMES), tmp_path / "kept")
    assert_frame_equal(labels, before[0])
    assert_array_equal(matrix.toarray(), before[1].toarray())


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


@given(texts)
@settings(deadline=None)
def test_any_label_name_survives_the_list_of_labels_or_is_refused(tmp_path_factory, name):
    stem = tmp_path_factory.mktemp("names") / "x"
    data = pd.DataFrame({name: [0, 1]}), pd.DataFrame({name + "!": [0.5, 1.5]})
    # XML holds no control characters but tab and line ends, and no U+FFFE and U+FFFF.
    if re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", name):
        with pytest.raises(DataError, match="control character"):
            datasets.to_mulan(data, stem)
    else:
        assert_frame_equal(datasets.read_mulan(*datasets.to_mulan(data, stem)).labels, data[0])


# The registry of downloads, on the files that are here


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_registry_agrees_with_the_files(data_dir, name):
    if not (data_dir / name).is_dir():
        pytest.skip(f"{name} is not among the data sets here")
    published = PUBLISHED[name]
    assert SIZES[name][0] == published.n_rows
    assert SIZES[name][2] == published.n_labels
    for file, remote in published.files.items():
        assert remote.address.startswith("https://")
        if file.endswith(".arff"):
            content = (data_dir / name / file).read_bytes()
            assert remote.sha256 == hashlib.sha256(content).hexdigest()
    attributes = read_arff(data_dir / name / f"{name}-train.arff").attributes
    assert len(attributes) == published.n_attributes + published.n_labels
    if f"{name}.xml" not in published.files:
        last = tuple(attribute.name for attribute in attributes[-published.n_labels :])
        assert last == read_label_list(data_dir / name / f"{name}.xml")
