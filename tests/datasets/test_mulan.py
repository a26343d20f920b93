"""Data sets of Mulan: reading those that are there, finding and writing files."""

import hashlib
import re

import numpy as np
import pytest
from mulan_files import SMALL, XML, dense, write
from numpy.testing import assert_array_equal
from scipy import sparse

from isingmlc import datasets
from isingmlc.datasets.arff import read_arff
from isingmlc.datasets.label_list import read_label_list
from isingmlc.datasets.registry import PUBLISHED
from isingmlc.exceptions import DataError, FileError

liac = pytest.importorskip("arff", reason="compares with liac-arff")

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


def test_an_absent_set_of_an_unknown_name_lists_the_known_ones(tmp_path):
    with pytest.raises(FileError) as caught:
        datasets.load_mulan("scen", data_dir=tmp_path)
    known = ", ".join(f"'{name}'" for name in PUBLISHED)
    assert str(caught.value) == (
        f"there is no scen-train.arff in any of these folders: {tmp_path / 'scen'}, {tmp_path}. "
        "Pass data_dir= or set ISINGMLC_DATA to the folder that has the files. The data sets that "
        f"fetch_mulan can download are {known}."
    )


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


def test_labels_can_be_chosen_by_name_and_pattern(tmp_path):
    path = write(tmp_path, SMALL, ["beach"])
    data = datasets.read_mulan(path, labels=["urban", "b*"])
    assert data.labels.columns.tolist() == ["urban", "beach"]
    assert data.feature_names == ("hue",)
    with pytest.raises(FileError, match=re.escape(f"{path}: labels asks for 'forest'")):
        datasets.read_mulan(path, labels="forest")
    with pytest.raises(DataError, match="labels and xml both say"):
        datasets.read_mulan(path, path.with_suffix(".xml"), labels="beach")
