"""Saved files: what is written comes back, and what is damaged is one error that says where."""

import io
import json
import os
import pickle
import re
import warnings
import zipfile
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import isingmlc as im
from isingmlc.base.storage import FORMAT, checksum_of
from isingmlc.exceptions import DataError, FileError, IsingError

pytestmark = pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")

# What can be saved, small but with everything that a file can hold


def rows(n_rows=60):
    """Give three labels, the third certain at times, and features of several kinds."""
    generator = np.random.default_rng(0)
    labels = generator.random((n_rows, 3)) < 0.5
    labels[:, 2] &= labels[:, 0]
    frame = pd.DataFrame(labels.astype(int), columns=list("abc"))
    frame["x"] = generator.normal(size=n_rows)
    frame["g"] = np.tile(list("uvw"), n_rows // 3)
    return frame


def thin_features(frame):
    return sparse.csr_array(np.where(np.abs(frame[["x"]]) > 1, frame[["x"]], 0) * [1.0, 2.0])


def save_statistics(path):
    model = im.IsingModel.from_formula("a + b + c ~ x + C(g)", rows())
    model.statistics.save(path)


def save_thin_statistics(path):
    frame = rows()
    im.LabelsetStatistics.from_arrays(frame[list("abc")], thin_features(frame)).save(path)


def save_checkpoint(path):
    frame = rows().drop(columns="g")
    batches = [frame[:30], frame[30:]]
    im.LabelsetStatistics.from_batches(batches, labels=list("abc"), checkpoint=path)


def save_results(path):
    im.IsingModel.from_formula("a + b + c ~ x + C(g)", rows()).fit().save(path)


def save_thin_results(path):
    frame = rows()
    model = im.IsingModel(frame[list("abc")], thin_features(frame), intercept=False)
    model.fit(method="ridge", penalty=2.5, max_iter=50).save(path)


def save_network(path):
    frame = rows()
    model = im.IsingModel(frame[list("abc")], frame[["x"]])
    model.fit_regularized(features=True, n_lambda=5).save(path)


def use_network(net):
    repr(net)
    str(net.summary())
    for table in (net.interactions, net.effects, net.criteria, net.diagnostics, net.to_frame()):
        str(table)
    net.centrality()
    net.refit("ridge").score_test().to_frame()


def use_statistics(stats):
    """Do with statistics what they are for."""
    repr(stats)
    stats.recenter(1.5)
    repr(sum([stats, stats]))
    im.IsingModel.from_statistics(stats).fit().score_test().to_frame()


def use_results(res):
    repr(res)
    str(res.summary())
    for table in (res.params, res.bse, res.diagnostics, res.interactions):
        str(table)
    res.predict([[0, 0, 1], [1, 1, 0]])
    res.score_test().to_frame()
    res.score_test(by="term").to_frame()
    res.rank_features().to_frame()
    next(iter(res.nodes.values())).summary()


def resume(path):
    frame = rows().drop(columns="g")
    batches = [frame[:30], frame[30:], frame[:6]]
    return im.LabelsetStatistics.from_batches(batches, labels=list("abc"), checkpoint=path)


SAVED = {
    "statistics": (save_statistics, im.LabelsetStatistics.load, use_statistics),
    "thin statistics": (save_thin_statistics, im.LabelsetStatistics.load, use_statistics),
    "checkpoint": (save_checkpoint, resume, use_statistics),
    "loaded checkpoint": (save_checkpoint, im.LabelsetStatistics.load, use_statistics),
    "results": (save_results, im.IsingResults.load, use_results),
    "thin results": (save_thin_results, im.IsingResults.load, use_results),
    "network": (save_network, im.RegularizedIsingResults.load, use_network),
}


# Taking a file apart and putting it together, damaged


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Give the content of each file, as bytes."""
    folder = tmp_path_factory.mktemp("saved")
    contents = {}
    for name, (save, _, _) in SAVED.items():
        save(folder / "x.npz")
        contents[name] = (folder / "x.npz").read_bytes()
        (folder / "x.npz").unlink()
    return contents


def take_apart(content):
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def put_together(header, arrays, *, sign=True):
    """Write a file; with a checksum that is right, its fields must give the damage away."""
    plain = all(array.dtype.kind in "biuf" for array in arrays.values())
    if sign and plain and isinstance(header, dict) and {"checksum", "fields"} <= header.keys():
        header = {**header, "checksum": checksum_of(header["fields"], arrays)}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    target = io.BytesIO()
    np.savez(target, header=text, **arrays)
    return target.getvalue()


def leaves(tree, path=()):
    """List the places of a header that hold something, the first only of what is alike."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree[:1])
    for key, value in items:
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def changed(tree, path, value):
    """Give a tree with another value at a place; no value takes the place out."""
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    if len(path) == 1 and value is KeyError:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


ODD_VALUES = (KeyError, None, "x", "\ud800", "", -1, 0, 10**30, 2.5, np.nan, -np.inf, True, [], {})
ODD_VALUES += ([None], ["a", "a"], [[1]], {"x": 1})


def header_damages(header):
    for path in leaves(header):
        for value in ODD_VALUES:
            if path or value is not KeyError:
                yield f"header {path} is {value!r}", changed(header, path, value)
    yield "header has one more", {**header, "more": 1}


def with_value(array, value):
    copy = array.copy()
    copy.flat[copy.size // 2] = value
    return copy


def array_damages(arrays):
    for name, array in arrays.items():
        if re.match("fits/[1-9]", name):
            continue  # as fits/0
        others = {**arrays}
        del others[name]
        yield f"{name} dropped", others
        made = {
            "one dimension more": array[None],
            "flat": array.ravel() if array.ndim != 1 else array[:, None],
            "doubled": np.concatenate([array, array]) if array.ndim else array[None],
            "without its last": array[:-1],
            "empty": array[:0],
            "scalar": np.array(1, dtype=array.dtype),
            "text": array.astype("U8"),
            "object": array.astype(object),
            "complex": array.astype(complex),
            "float32": array.astype(np.float32),
            "int16": np.zeros(array.shape, np.int16),
            "big-endian": array.astype(array.dtype.newbyteorder(">")),
            "dates": np.zeros(array.shape, "M8[s]"),
            "structured": np.zeros(array.shape, [("a", "f8"), ("b", "i4")]),
        }
        if array.size:
            values = {"b": (), "i": (-1, 10**9, array.flat[0])}
            for value in values.get(array.dtype.kind, (np.nan, np.inf, -np.inf, -1e30, 5.0)):
                made[f"with {value}"] = with_value(array, value)
        if array.ndim > 1 and len(array) > 1 and array.size:
            made["with a row twice"] = np.concatenate([array[:1], array[:1], array[2:]])
        for what, damaged in made.items():
            yield f"{name} {what}", {**arrays, name: damaged}
    for name in ("more", "header.more", "sums/more", "fits/0/more", "fits/99/coef", "a/b/c", "/"):
        yield f"{name} added", {**arrays, name: np.zeros(3)}
    names = list(arrays)
    for one, two in zip(names, names[1:] + names[:1], strict=True):
        yield f"{one} and {two} swapped", {**arrays, one: arrays[two], two: arrays[one]}


def same(one, two):
    """Say whether two trees of arrays and JSON are the same."""
    header, arrays = one
    others = two[1]
    return (
        json.dumps(header) == json.dumps(two[0])
        and arrays.keys() == others.keys()
        and all(
            array.dtype == others[name].dtype
            and np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f")
            for name, array in arrays.items()
        )
    )


def load_damaged(kind, content, path):
    """Load a file with this content; give what came of it, or None and the message."""
    _, load, use = SAVED[kind]
    path.write_bytes(content)
    try:
        loaded = load(path)
    except DataError as error:
        return None, str(error)
    # Numbers that no fit gives may overflow; what must not be is another error.
    with suppress(IsingError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use(loaded)
    return loaded, ""


def saved_again(loaded, folder):
    loaded.save(folder / "again.npz")
    return take_apart((folder / "again.npz").read_bytes())


@pytest.mark.parametrize("kind", SAVED)
def test_what_was_saved_is_what_is_saved_again(files, tmp_path, kind):
    if kind == "checkpoint":
        kind = "loaded checkpoint"
    (tmp_path / "x.npz").write_bytes(files[kind])
    header, arrays = take_apart(files[kind])
    header["fields"].pop("checkpoint", None)
    again = saved_again(SAVED[kind][1](tmp_path / "x.npz"), tmp_path)
    assert same((header["fields"], arrays), (again[0]["fields"], again[1]))


# Damage that goes through the whole of a file


@pytest.mark.parametrize("kind", SAVED)
def test_a_damaged_header_is_one_error_or_an_object_that_works(files, tmp_path, kind):
    header, arrays = take_apart(files[kind])
    path = tmp_path / "x.npz"
    refused = 0
    for what, damaged in header_damages(header):
        loaded, said = load_damaged(kind, put_together(damaged, arrays), path)
        # A checkpoint of other batches is in order as a file.
        about_batches = kind == "checkpoint" and re.match(
            "batches must|in batch 3: statistics can be", said
        )
        assert loaded is not None or str(path) in said or about_batches, (what, said)
        refused += loaded is None
        dropped = what.endswith(f"is {KeyError!r}")
        if dropped and not re.search("'checkpoint'|_names', 0|'columns', 0", what):
            assert loaded is None, what
    assert refused > 50


@pytest.mark.parametrize("kind", SAVED)
def test_a_damaged_array_is_one_error_or_an_object_that_works(files, tmp_path, kind):
    header, arrays = take_apart(files[kind])
    path = tmp_path / "x.npz"
    always = "dropped|dimension|flat|doubled|scalar|text|object|complex|float32|int16|dates"
    always += "|structured|with nan|with inf|with -inf|added"
    for what, damaged in array_damages(arrays):
        loaded, said = load_damaged(kind, put_together(header, damaged), path)
        name = what.split()[0]
        if re.search(always, what) and not re.match(r"fits/\d+/(coef|bse|directions)", name):
            assert loaded is None, what
            assert said.startswith(f"{path}: field '"), (what, said)
        if re.search("dropped|text|object|complex|float32|int16|dates|structured|added", what):
            assert f"field {name!r} " in said, (what, said)


@pytest.mark.parametrize("kind", SAVED)
def test_fields_that_were_changed_within_the_description_are_noticed(files, tmp_path, kind):
    header, arrays = take_apart(files[kind])
    path = tmp_path / "x.npz"
    for what, damaged in array_damages(arrays):
        if same((header, damaged), (header, arrays)):
            continue
        loaded, said = load_damaged(kind, put_together(header, damaged, sign=False), path)
        assert loaded is None, what
        assert said.startswith(f"{path}: "), (what, said)
    for what, damaged in header_damages(header):
        content = put_together(damaged, arrays, sign=False)
        if json.dumps(damaged) != json.dumps(header):
            loaded, said = load_damaged(kind, content, path)
            assert loaded is None, what
            assert str(path) in said, (what, said)


@pytest.mark.parametrize("kind", SAVED)
def test_a_truncated_file_is_one_error(files, tmp_path, kind):
    content, path = files[kind], tmp_path / "x.npz"
    for length in np.linspace(0, len(content) - 1, 60).astype(int):
        loaded, said = load_damaged(kind, content[:length], path)
        assert loaded is None
        assert said.startswith(f"{path}: "), said


@pytest.mark.parametrize("kind", ["statistics", "thin statistics", "results", "thin results"])
def test_flipped_bytes_are_one_error_or_change_nothing(files, tmp_path, kind):
    content, path = files[kind], tmp_path / "x.npz"
    header, arrays = take_apart(content)
    generator = np.random.default_rng(5)
    n_read = 0
    for _ in range(400):
        damaged = bytearray(content)
        for at in generator.integers(len(content), size=generator.integers(1, 4)):
            damaged[at] ^= 1 << generator.integers(8)
        path.write_bytes(damaged)
        try:
            loaded = SAVED[kind][1](path)
        except FileError as error:
            said = str(error)
        else:
            said = str(path)
            n_read += 1
            again = saved_again(loaded, tmp_path)
            assert same((header["fields"], arrays), (again[0]["fields"], again[1]))
        assert said.startswith(str(path))
    assert 0 < n_read < 300


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_bytes_put_in_or_taken_out_are_one_error_or_change_nothing(files, tmp_path_factory, data):
    kind = data.draw(st.sampled_from(["statistics", "thin results"]))
    content = bytearray(files[kind])
    at = data.draw(st.integers(0, len(content)))
    content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "x.npz").write_bytes(content)
    try:
        loaded = SAVED[kind][1](folder / "x.npz")
    except FileError:
        return
    again, (header, arrays) = saved_again(loaded, folder), take_apart(files[kind])
    assert same((header["fields"], arrays), (again[0]["fields"], again[1]))


# Archives that are meant to do harm


class Harm:
    """Leaves a trace when it is unpickled."""

    def __reduce__(self):
        return print, ("unpickled",)


def replace_member(content, name, data, compression=zipfile.ZIP_STORED):
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as source,
        zipfile.ZipFile(target, "w", compression) as archive,
    ):
        for member in source.namelist():
            archive.writestr(member, data if member == name else source.read(member))
    return target.getvalue()


def npy(text, data=b""):
    """Write an array with any header."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


@pytest.mark.parametrize("name", ["counts", "header"])
def test_nothing_is_unpickled(files, tmp_path, capsys, name):
    harmful = np.empty(3, dtype=object)
    harmful[:] = Harm()
    target = io.BytesIO()
    np.save(target, harmful, allow_pickle=True)
    for data in (target.getvalue(), pickle.dumps(Harm())):
        content = replace_member(files["statistics"], f"{name}.npy", data)
        loaded, said = load_damaged("statistics", content, tmp_path / "x.npz")
        assert loaded is None
        assert f"field {name!r}" in said
    assert "unpickled" not in capsys.readouterr().out


def test_an_array_that_claims_to_be_large_asks_for_no_memory(files, tmp_path):
    shapes = ["(1000000000000,)", "(9, 999999999999999999)", f"({'9' * 400},)", "(0, 5)", "()"]
    for shape in [*shapes, "(-3,)", "(3, 0, 99999999999999999999999)", "(1 1,)", "(0x3,)", "(,)"]:
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n"
        content = replace_member(files["statistics"], "counts.npy", npy(text, b"\0" * 24))
        loaded, said = load_damaged("statistics", content, tmp_path / "x.npz")
        assert loaded is None
        assert "field 'counts' " in said, (shape, said)


@pytest.mark.parametrize("descr", ["'|O'", "'>f8'", "'<f4'", "'<U5'", "[('a', '<f8')]", "'<f8", ""])
def test_types_that_are_not_written_are_not_read(files, tmp_path, descr):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}\n"
    content = replace_member(files["statistics"], "counts.npy", npy(text, b"\0" * 8))
    loaded, said = load_damaged("statistics", content, tmp_path / "x.npz")
    assert loaded is None
    assert "field 'counts' " in said


def test_flags_are_zeros_and_ones(files, tmp_path):
    with zipfile.ZipFile(io.BytesIO(files["statistics"])) as archive:
        data = bytearray(archive.read("patterns.npy"))
    data[-1] = 2
    content = replace_member(files["statistics"], "patterns.npy", bytes(data))
    loaded, said = load_damaged("statistics", content, tmp_path / "x.npz")
    assert loaded is None
    assert "field 'patterns' must hold zeros and ones" in said


def test_a_compressed_archive_is_refused_before_it_is_unpacked(files, tmp_path):
    bomb = replace_member(files["statistics"], "sums.npy", b"\0" * 10**8, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10**6
    loaded, said = load_damaged("statistics", bomb, tmp_path / "x.npz")
    assert loaded is None
    assert "must not be compressed" in said


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_are_there_twice_or_are_no_arrays_are_refused(files, tmp_path):
    for name in ("counts.npy", "more.txt", "header", "counts", "../counts.npy", "more/"):
        target = io.BytesIO(files["statistics"])
        with zipfile.ZipFile(target, "a") as archive:
            archive.writestr(name, npy("not an array"))
        loaded, said = load_damaged("statistics", target.getvalue(), tmp_path / "x.npz")
        assert loaded is None
        assert said.startswith(f"{tmp_path / 'x.npz'}: field "), said


@pytest.mark.parametrize("kind", ["statistics", "checkpoint"])
def test_a_header_of_any_depth_is_refused(files, tmp_path, kind):
    header, _ = take_apart(files[kind])
    for depth in (50, 500, 900, 950, 1000, 200_000):
        for field in ("terms", "n_rows", "checkpoint"):
            changed_header = {**header, "fields": {**header["fields"], field: "deep"}}
            text = json.dumps(changed_header).replace('"deep"', "[" * depth + "]" * depth)
            target = io.BytesIO()
            np.save(target, np.frombuffer(text.encode(), dtype=np.uint8))
            content = replace_member(files[kind], "header.npy", target.getvalue())
            loaded, said = load_damaged(kind, content, tmp_path / "x.npz")
            assert loaded is None
            assert said.startswith(f"{tmp_path / 'x.npz'}: field '")
            assert len(said) < 1000


@pytest.mark.skipif(os.name == "nt", reason="there are no such pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.npz")
    with pytest.raises(FileError, match=r"x\.npz: this is a folder, or no file at all"):
        im.LabelsetStatistics.load(tmp_path / "x.npz")


def test_an_archive_of_very_many_members_is_refused_at_once(files, tmp_path):
    target = io.BytesIO(files["statistics"])
    with zipfile.ZipFile(target, "a") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.npy", b"")
    loaded, said = load_damaged("statistics", target.getvalue(), tmp_path / "x.npz")
    assert loaded is None
    assert "field '0' must be an array as numpy writes it" in said


def test_an_older_file_is_named_as_one_whatever_its_types(files, tmp_path):
    header, arrays = take_apart(files["thin statistics"])
    old = {
        name: array.astype(array.dtype.str.replace("i8", "i4")) for name, array in arrays.items()
    }
    loaded, said = load_damaged(
        "statistics", put_together({**header, "format": 1}, old), tmp_path / "x.npz"
    )
    assert loaded is None
    assert "it has format 1, that of an older isingmlc" in said


# Kinds and versions


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": FORMAT + 1}, rf"it has format {FORMAT + 1}, that of a newer isingmlc.*Update"),
        ({"format": 1}, r"it has format 1, that of an older isingmlc.* Make the object again"),
        ({"kind": "IsingResults"}, r"it holds 'IsingResults', not 'LabelsetStatistics'\. Load it"),
        ({"kind": "x y"}, r"it holds 'x y', not 'LabelsetStatistics'\.$"),
        ({"kind": None}, r"field 'header' must hold a kind"),
        ({"format": "2"}, r"field 'header' must hold a kind, and a format that is a number"),
    ],
)
def test_other_kinds_and_versions_are_named(files, tmp_path, change, message):
    header, arrays = take_apart(files["statistics"])
    content = put_together({**header, **change}, arrays)
    loaded, said = load_damaged("statistics", content, tmp_path / "x.npz")
    assert loaded is None
    assert said.startswith(f"{tmp_path / 'x.npz'}: ")
    assert re.search(message, said), said


# Saving


def test_what_could_not_be_read_is_not_written(tmp_path):
    stats = im.LabelsetStatistics.from_arrays(
        [[0, 1], [1, 1]], [[1.0], [2.0]], label_names=["a", "\ud800"]
    )
    with pytest.raises(DataError, match=r"cannot be saved: field 'label_names/1' must be text"):
        stats.save(tmp_path / "x.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["mle", "ridge", "firth"])
@pytest.mark.parametrize("max_iter", [1, 100])
def test_fits_of_every_kind_are_saved(tmp_path, method, max_iter):
    labels = rows()[list("abc")].assign(one=1, again=rows()["a"])
    res = im.IsingModel(labels).fit(method=method, max_iter=max_iter)
    res.save(tmp_path / "x.npz")
    again = im.IsingResults.load(tmp_path / "x.npz")
    pd.testing.assert_frame_equal(again.params, res.params)
    pd.testing.assert_frame_equal(again.bse, res.bse)
    for one, two in zip(res.fits, again.fits, strict=True):
        assert_array_equal(one.weight, two.weight)
        assert_array_equal(one.neighbors, two.neighbors)


def test_an_untidy_sparse_matrix_is_saved_tidily_and_left_as_it_is(tmp_path):
    features = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    stats = im.LabelsetStatistics.from_arrays([[0, 1], [1, 1]], features)
    before = stats.sums.indices.copy()
    stats.save(tmp_path / "x.npz")
    again = im.LabelsetStatistics.load(tmp_path / "x.npz")
    assert_array_equal(again.sums.toarray(), stats.sums.toarray())
    assert_array_equal(stats.sums.indices, before)
    repr(again + stats)
