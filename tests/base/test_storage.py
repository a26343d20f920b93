"""Saved files: what was saved comes back, and a file that is anything else is one error."""

import io
import json
import zipfile
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import isingmlc as im
from isingmlc.exceptions import FileError

pytestmark = pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")


def rows(n_rows=60):
    """Return three labels, the third certain at times, and columns of several kinds."""
    generator = np.random.default_rng(0)
    labels = generator.random((n_rows, 3)) < 0.5
    labels[:, 2] &= labels[:, 0]
    frame = pd.DataFrame(labels.astype(int), columns=list("abc"))
    frame["x"] = generator.normal(size=n_rows)
    frame["g"] = np.tile(list("uvw"), n_rows // 3)
    frame["cluster"] = np.repeat(np.arange(n_rows // 4), 4)
    return frame


def formula_model(**options):
    return im.IsingModel.from_formula("a + b + c ~ x + C(g)", rows(), **options)


def thin_statistics():
    thin = np.where(np.abs(rows()[["x"]]) > 1, rows()[["x"]], 0) * [1.0, 2.0]
    return im.LabelsetStatistics.from_arrays(rows()[list("abc")], sparse.csr_array(thin))


def sampled_statistics():
    frame = rows()
    return im.LabelsetStatistics.from_arrays(
        frame[list("abc")],
        frame[["x"]],
        covariates=frame[["g"]],
        groups=frame["cluster"].map("c{}".format),
        sampling_weights=1.0 + (frame["x"] > 0),
    )


def odd_fit(penalty=None, **options):
    """Fit labels of which one is constant, one is another's copy, and one has an odd name."""
    labels = rows()[list("abc")].assign(one=1, again=rows()["a"])
    return im.IsingModel(labels.rename(columns={"b": "é/ü"})).fit(penalty=penalty, **options)


def network(**options):
    frame = rows()
    labels = frame[list("abc")].assign(never=0)
    model = im.IsingModel(labels, frame[["x"]], covariates=frame[["g"]])
    return model.fit_regularized(n_lambda=5, **options)


MADE = {
    "statistics": lambda: formula_model().statistics,
    "statistics of sparse features": thin_statistics,
    "statistics with clusters and weights": sampled_statistics,
    "fit of a formula": lambda: formula_model().fit(),
    "fit with clusters": lambda: im.IsingModel.from_statistics(sampled_statistics()).fit(),
    "fit without intercept": lambda: formula_model(intercept=False).fit(),
    "fit of some neighbors": lambda: formula_model().fit(neighbors=1),
    **{f"fit with {each}": lambda by=each: odd_fit(by) for each in (None, 1.0, "firth")},
    "unfinished fit": lambda: odd_fit(max_iter=1),
    "joint fit": lambda: im.IsingModel(rows()[["a", "b"]]).fit("joint"),
    "fit by pseudo-likelihood": lambda: im.IsingModel(rows()[["a", "b"]]).fit("pseudo"),
    "network": network,
    "network with features": lambda: network(features=True, gamma=0.5, rule="or"),
    "bootstrap": lambda: odd_fit(penalty=1.0).bootstrap(5, random_state=0),
    "bootstrap of tests": lambda: formula_model().fit().bootstrap(5, random_state=0, features=True),
}


def tables_of(saved):
    """Compute what there is to see of a saved object."""
    if isinstance(saved, im.NetworkBootstrap):
        kinds = ("pairs", "thresholds", *(["statistics"] if saved.feature_names else []))
        return [saved.marked, *map(saved.draws, kinds)]
    if isinstance(saved, im.RegularizedIsingResults):
        return [saved.interactions, saved.effects, saved.criteria, saved.diagnostics]
    if isinstance(saved, im.IsingResults):
        shown = [saved.params, saved.bse, saved.diagnostics, saved.interactions]
        return (
            [*shown, saved.score_test(pvalue="chi2").to_frame()] if saved.feature_names else shown
        )
    parts = (saved.patterns, saved.counts, saved.sums, saved.squares, saved.shift)
    dense = (part.toarray() if sparse.issparse(part) else part for part in parts)
    columns = [saved.groups, saved.sampling_weights, *saved.term_products.values()]
    known = (np.ravel(part) for part in columns if part is not None)
    return [pd.DataFrame(part) for part in (*dense, saved.context.columns, *known)]


@pytest.mark.parametrize("name", MADE)
def test_what_was_saved_comes_back(tmp_path, name):
    made = MADE[name]()
    made.save(tmp_path / "x.npz")
    again = type(made).load(tmp_path / "x.npz")
    assert repr(again) == repr(made)
    assert again.label_names == made.label_names
    for one, two in zip(tables_of(again), tables_of(made), strict=True):
        pd.testing.assert_frame_equal(one, two, check_exact=True)
    again.save(tmp_path / "again.npz")
    with np.load(tmp_path / "x.npz") as first, np.load(tmp_path / "again.npz") as second:
        assert first["header"].tobytes() == second["header"].tobytes()


def test_loaded_arrays_are_read_only(tmp_path):
    thin_statistics().save(tmp_path / "x.npz")
    stats = im.LabelsetStatistics.load(tmp_path / "x.npz")
    for array in (stats.patterns, stats.counts, stats.sums.data, stats.shift):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


# Files that are no such file


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """Return the file of a fit."""
    path = tmp_path_factory.mktemp("saved") / "fit.npz"
    formula_model().fit().save(path)
    return path


def message_about(path, content=None, kind=im.IsingResults):
    """Load a file, with this content perhaps, and return the message of the error."""
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        kind.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_a_truncated_file_is_damaged(fit, tmp_path):
    content = fit.read_bytes()
    for length in np.linspace(2, len(content) - 1, 40).astype(int):
        assert "it is damaged: save it again" in message_about(tmp_path / "x", content[:length])


def test_a_changed_byte_is_damage_or_does_no_harm(fit, tmp_path):
    content, params = fit.read_bytes(), im.IsingResults.load(fit).params
    harmless = 0
    for at in np.linspace(4, len(content) - 1, 300).astype(int):
        changed = bytearray(content)
        changed[at] ^= 0b10101
        (tmp_path / "x").write_bytes(changed)
        with suppress(FileError):  # a date in the archive, for instance, does not matter
            pd.testing.assert_frame_equal(im.IsingResults.load(tmp_path / "x").params, params)
            harmless += 1
    assert harmless < 100


def written_anew(fit, **changes):
    """Return the content of a file of which members are changed, with all else in order."""
    with np.load(fit) as archive:
        members = {**archive, **changes}
    target = io.BytesIO()
    np.savez(target, **{name: part for name, part in members.items() if part is not None})
    return target.getvalue()


def with_header(fit, **changes):
    with np.load(fit) as archive:
        header = json.loads(archive["header"].tobytes()) | changes
    return written_anew(fit, header=np.frombuffer(json.dumps(header).encode(), np.uint8))


def test_the_checksum_tells_what_was_changed(fit, tmp_path):
    with np.load(fit) as archive:
        assert archive["fields"].tobytes().startswith(b'{"settings": {"method": "nodewise"')
        coef = archive["fits/0/coef"]
        fields = np.frombuffer(
            archive["fields"].tobytes().replace(b"nodewise", b"nodewisx"), np.uint8
        )
    objects = np.array([print, None], dtype=object)
    for name, part in (("coef", coef + 1), ("coef", None), ("more", coef), ("coef", objects)):
        content = written_anew(fit, **{f"fits/0/{name}": part})
        assert "it is damaged" in message_about(tmp_path / "x", content)
    assert "it is damaged" in message_about(tmp_path / "x", written_anew(fit, fields=fields))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (1, "it has format 1, that of an older isingmlc"),
        (2, "it has format 2, that of an older isingmlc"),
        (99, "it has format 99, that of a newer isingmlc"),
    ],
)
def test_other_versions_are_named(fit, tmp_path, version, message):
    found = message_about(tmp_path / "x", with_header(fit, format=version))
    assert found.startswith(message)
    assert ("Make the object again and save it" in found) == ("older" in message)


def test_other_classes_are_named(fit):
    expected = "it holds 'IsingResults', not '{}'. Load it with IsingResults.load."
    for kind in (im.LabelsetStatistics, im.RegularizedIsingResults, im.NetworkBootstrap):
        assert message_about(fit, kind=kind) == expected.format(kind.__name__)


def archive_of(name, text):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(name, text)
    return target.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "an empty file"),
        ("a,b\n0,1\nä,ö\n".encode(), "a text file"),
        (b"\x93NUMPY\x01\x00", "an array of numpy"),
        (b"\x80\x05K\x01.", "a pickle"),
        (b"\x7fELF\x00\x00", "a binary file"),
        (archive_of("xl/workbook.xml", "<a/>"), "an archive of something else"),
    ],
)
def test_other_files_are_named(tmp_path, content, kind):
    found = message_about(tmp_path / "x", content)
    assert found == f"it is {kind}, not saved by isingmlc. Check the name."


def test_where_no_file_is_or_can_be(fit, tmp_path):
    assert message_about(tmp_path) == "this is a folder, or no file at all."
    assert message_about(tmp_path / "x") == "there is no such file. Check the name."
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        im.IsingResults.load(fit).save(tmp_path / "absent" / "x.npz")
    assert not list(tmp_path.iterdir())
