"""Downloads, from a server on this machine."""

import hashlib
import re
import socket
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from mulan_files import write_mulan
from pandas.testing import assert_frame_equal

from isingmlc import datasets
from isingmlc.datasets.registry import PUBLISHED
from isingmlc.exceptions import DataError, EngineError, FileError

# Its log must not be bound to what one test captures.
pytest.importorskip("pooch", reason='needs pip install "isingmlc[download]"')


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve a folder, and count what is asked for."""

    asked: list[str]

    def log_message(self, *_):
        type(self).asked.append(self.path)


@pytest.fixture
def server(tmp_path):
    """Serve a folder; gives the folder, its address, and what was asked for."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = type("Handler", (QuietHandler,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=folder)) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{served.server_port}/", handler.asked
        served.shutdown()
        thread.join()


def publish(folder, name, n_rows=4):
    """Write files with as many labels as a published set has; give their data and checksums."""
    generator = np.random.default_rng(n_rows)
    published = PUBLISHED[name]
    digests, made = {}, {}
    for file in published.files:
        if not file.endswith(".arff"):
            continue
        labels = pd.DataFrame(generator.integers(2, size=(n_rows, published.n_labels)))
        labels.columns = [f"label {at}" for at in labels.columns]
        features = pd.DataFrame(generator.normal(size=(n_rows, 2)), columns=["a", "b"])
        made[file] = labels, features
        arff, xml = write_mulan(*made[file], folder / file.removesuffix(".arff"))
        digests[file] = "sha256:" + hashlib.sha256(arff.read_bytes()).hexdigest()
        if f"{name}.xml" in published.files:
            xml.rename(folder / f"{name}.xml")
    return made, digests


@pytest.mark.parametrize("name", ["flags", "yeast"])
def test_a_set_is_downloaded_once_checked_and_loaded(server, tmp_path, name, capfd):
    folder, address, asked = server
    made, digests = publish(folder, name)
    fetch = partial(datasets.fetch_mulan, name, base_url=address, known_hash=digests)
    train = fetch(cache_dir=tmp_path / "cache")
    assert_frame_equal(train.labels, made[f"{name}-train.arff"][0])
    assert_frame_equal(train.features, made[f"{name}-train.arff"][1])
    assert train.name == name
    assert train.DESCR.endswith(
        "One of the data sets at https://mulan.sourceforge.net/datasets-mlc.html."
    )
    wanted = {f"/{name}-train.arff"} | ({"/yeast.xml"} if name == "yeast" else set())
    assert set(asked) == wanted
    asked.clear()
    whole = fetch(part="all", cache_dir=tmp_path / "cache")
    assert asked == [f"/{name}-test.arff"]
    labels = [labels for labels, _ in made.values()]
    assert_frame_equal(whole.labels, pd.concat(labels, ignore_index=True))
    asked.clear()
    again = fetch(part="test", cache_dir=tmp_path / "cache")
    assert_frame_equal(again.labels, labels[1])
    assert not asked
    assert "%|" not in capfd.readouterr().err  # no progress bar where no one watches


def test_what_was_fetched_is_found_by_load_mulan(server, tmp_path, monkeypatch):
    folder, address, _ = server
    _, digests = publish(folder, "flags")
    monkeypatch.delenv("ISINGMLC_DATA", raising=False)
    for module in ("mulan", "fetch"):
        monkeypatch.setattr(f"isingmlc.datasets.{module}.cache_folder", lambda: tmp_path / "cache")
    fetched = datasets.fetch_mulan("flags", "all", base_url=address, known_hash=digests)
    loaded = datasets.load_mulan("flags", "all")
    assert_frame_equal(fetched.labels, loaded.labels)
    assert_frame_equal(fetched.features, loaded.features)


def test_a_set_without_a_split_comes_whole(server, tmp_path):
    folder, address, _ = server
    made, digests = publish(folder, "genbase")
    fetch = partial(datasets.fetch_mulan, "genbase", base_url=address, known_hash=digests)
    data = fetch(part="all", cache_dir=tmp_path)
    assert_frame_equal(data.labels, made["genbase.arff"][0])
    with pytest.raises(DataError, match=r"genbase comes without a split .* part='all'"):
        fetch(part="train", cache_dir=tmp_path)


def test_a_file_with_another_checksum_is_not_kept(server, tmp_path):
    folder, address, _ = server
    publish(folder, "flags")
    with pytest.raises(FileError) as caught:
        datasets.fetch_mulan("flags", cache_dir=tmp_path, base_url=address)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "flags" / "flags-train.arff"))
    assert "does not match the known hash" in message
    assert PUBLISHED["flags"].files["flags-train.arff"].sha256 in message
    assert not list((tmp_path / "flags").glob("*.arff"))


def test_a_list_of_labels_can_be_pinned_and_must_have_the_right_length(server, tmp_path):
    folder, address, _ = server
    _, digests = publish(folder, "yeast")
    pinned = {**digests, "yeast.xml": "sha256:" + "0" * 64}
    with pytest.raises(FileError, match=r"yeast\.xml: what .* was not taken"):
        datasets.fetch_mulan("yeast", cache_dir=tmp_path, base_url=address, known_hash=pinned)
    short = re.sub(r'\s*<label name="label 3"\s*/>', "", (folder / "yeast.xml").read_text())
    (folder / "yeast.xml").write_text(short)
    with pytest.raises(
        FileError, match=r"yeast\.xml: the list has 13 labels where 14 are expected"
    ):
        datasets.fetch_mulan("yeast", cache_dir=tmp_path, base_url=address, known_hash=digests)


def test_an_answer_of_not_found_says_where_to_put_the_file(server, tmp_path):
    _, address, _ = server
    with pytest.raises(FileError) as caught:
        datasets.fetch_mulan("flags", cache_dir=tmp_path, base_url=address)
    file = tmp_path / "flags" / "flags-train.arff"
    assert str(caught.value) == (
        f"{file}: it cannot be downloaded from {address}flags-train.arff (the server answers 404 "
        "File not found). To do it by hand, take it from "
        f"https://mulan.sourceforge.net/datasets-mlc.html, put it into {file.parent} with the "
        "others of the set, and use load_mulan."
    )


def test_being_offline_says_where_to_put_the_file(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(
            FileError, match=r"cannot be downloaded from .* \(ConnectionError\)\. To"
        ):
            datasets.fetch_mulan("scene", cache_dir=tmp_path, base_url=address)


def test_wrong_arguments_are_refused_before_anything_is_asked_for(server, tmp_path):
    _, address, asked = server
    for arguments, message in [
        ({"name": "iris"}, "name must be one of 'CAL500', 'bibtex', .* but is 'iris'"),
        ({"name": "scene", "part": "dev"}, "part must be one of"),
        (
            {"name": "scene", "known_hash": {"scene.arff": None}},
            "known_hash names 'scene.arff', but",
        ),
    ]:
        with pytest.raises(DataError, match=message):
            datasets.fetch_mulan(**arguments, cache_dir=tmp_path, base_url=address)
    assert not asked


def test_every_file_of_the_registry_has_a_fixed_address_and_arff_files_a_checksum():
    for name, published in PUBLISHED.items():
        for file, remote in published.files.items():
            assert file.startswith(name)
            # A commit in the address: what is there cannot change.
            assert re.match(r"https://.*/[0-9a-f]{40}/", remote.address)
            if file.endswith(".arff"):
                assert re.fullmatch("[0-9a-f]{64}", remote.sha256)


def test_without_pooch_nothing_is_downloaded_but_files_that_are_there_are_found(
    monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(EngineError, match=re.escape('pip install "isingmlc[download]"')):
        datasets.fetch_mulan("scene")
    publish(tmp_path, "birds")
    monkeypatch.setenv("ISINGMLC_DATA", str(tmp_path))
    assert len(datasets.load_mulan("birds", "train").labels) == 4
