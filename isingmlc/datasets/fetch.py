"""Download of data sets that Mulan publishes, with the checksums in the registry."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path

from isingmlc import exceptions as exc
from isingmlc.base.arguments import as_path, check_option
from isingmlc.datasets._files import file_error
from isingmlc.datasets.arff import read_arff
from isingmlc.datasets.label_list import read_label_list, write_label_list
from isingmlc.datasets.mulan import PARTS, cache_folder, import_pooch, part_files, read_parts
from isingmlc.datasets.registry import PUBLISHED
from isingmlc.input.tables import Dataset

MULAN_PAGE = "https://mulan.sourceforge.net/datasets-mlc.html"


def fetch_mulan(
    name: str,
    part: str | None = None,
    cache_dir: str | PathLike[str] | None = None,
    *,
    base_url: str | None = None,
    known_hash: Mapping[str, str | None] | None = None,
) -> Dataset:
    """Download one of Mulan's data sets, once, and load it.

    Parameters
    ----------
    name : {"CAL500", "bibtex", "birds", "emotions", "enron", "flags", "genbase", "medical", \
"scene", "yeast"}
        Its name.
    part : {"train", "test", "all"}, optional
        The training rows, the test rows, or both. CAL500 and genbase come without a split, so
        only as ``"all"``; if omitted, it is that for them and ``"train"`` for the others.
    cache_dir : str or path, optional
        Folder in which the files are kept, in a folder `name`. If omitted, it is the user's folder
        for caches, where :func:`load_mulan` finds them.
    base_url : str, optional
        Address of a folder with the files under the names that Mulan gives them, e.g.
        ``scene-train.arff``, to be used in place of the addresses known here.
    known_hash : mapping of str to str or None, optional
        Checksums by file name, in place of those known here, e.g.
        ``{"scene-train.arff": "sha256:…"}``; None accepts any content.

    Returns
    -------
    Dataset
        Labels and features, as from :func:`read_mulan`.

    Raises
    ------
    FileError
        When a file cannot be downloaded or is not the one that is expected; the message says
        where to put it by hand.
    EngineError
        When pooch is not installed: ``pip install "isingmlc[download]"``.
    DataError
        When `name` or `part` is not known, or another argument cannot be used.

    Notes
    -----
    =========  ======  ==========  ======
    name         rows  attributes  labels
    =========  ======  ==========  ======
    CAL500        502          68     174
    bibtex       7395        1836     159
    birds         645         260      19
    emotions      593          72       6
    enron        1702        1001      53
    flags         194          19       7
    genbase       662        1186      27
    medical       978        1449      45
    scene        2407         294       6
    yeast        2417         103      14
    =========  ======  ==========  ======

    Every ARFF file is checked against a SHA-256 that is part of this package. For CAL500, birds,
    enron, genbase and yeast a list of labels is downloaded as well, and no checksum of it is
    known: it is accepted on first use, if its labels are as many as they should be and the ARFF
    file has them all; its checksum is logged. Pin it with `known_hash`.

    References
    ----------
    G. Tsoumakas, E. Spyromitros-Xioufis, J. Vilcek, I. Vlahavas (2011). Mulan: a Java library for
    multi-label learning. Journal of Machine Learning Research 12, 2411–2414.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> datasets.fetch_mulan("scene")  # doctest: +SKIP
    Dataset('scene': 1211 rows, 6 labels, 294 features)
    """
    check_option("name", name, tuple(PUBLISHED))
    published = PUBLISHED[name]
    if part is None:
        split = any(set(names) <= set(published.files) for names in part_files(name, "train"))
        part = "train" if split else "all"
    check_option("part", part, PARTS)
    choices = [names for names in part_files(name, part) if set(names) <= set(published.files)]
    if not choices:
        raise exc.DataError(
            f"{name} comes without a split into training and test rows. Fetch it with part='all' "
            "and split it, e.g. with sklearn.model_selection.train_test_split."
        )
    unknown = set(known_hash or ()) - set(published.files)
    if unknown:
        raise exc.DataError(
            f"known_hash names {exc.shorten(sorted(unknown))}, but the files of {name} are "
            f"{exc.shorten(published.files)}."
        )
    folder = (cache_folder() if cache_dir is None else as_path("cache_dir", cache_dir)) / name
    label_file = f"{name}.xml"
    files = choices[0]
    for file in (*files, label_file):
        remote = published.files.get(file)
        if remote is None:
            continue
        digest = None if remote.sha256 is None else f"sha256:{remote.sha256}"
        if known_hash is not None and file in known_hash:
            digest = known_hash[file]
        address = remote.address if base_url is None else f"{base_url.rstrip('/')}/{file}"
        _download(address, digest, folder, file)
    if label_file not in published.files and not (folder / label_file).exists():
        _list_last_attributes(folder / files[0], folder / label_file, published.n_labels)
    _check_number(folder / label_file, published.n_labels)
    data = read_parts(folder, name, files)
    return replace(data, DESCR=f"{data.DESCR} One of the data sets at {MULAN_PAGE}.")


def _download(address: str, digest: str | None, folder: Path, file: str) -> None:
    """Bring a file into the folder, if it is not there already with that checksum."""
    pooch = import_pooch()
    by_hand = (
        f"To do it by hand, take it from {MULAN_PAGE}, put it into {folder} with the others of the "
        "set, and use load_mulan."
    )
    try:
        pooch.retrieve(
            address,
            known_hash=digest,
            fname=file,
            path=folder,
            downloader=pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=30),
        )
    except OSError as error:
        problem = f"it cannot be downloaded from {address} ({_reason(error)})."
        raise file_error(folder / file, f"{problem} {by_hand}") from error
    except ValueError as error:
        problem = f"what {address} holds was not taken ({error})."
        raise file_error(folder / file, f"{problem} {by_hand}") from error


def _reason(error: OSError) -> str:
    """Say in a few words why a download failed."""
    response = getattr(error, "response", None)
    if response is not None:
        response.close()  # what raised the error left it open
        return f"the server answers {response.status_code} {response.reason}"
    return type(error).__name__ if error.strerror is None else error.strerror


def _list_last_attributes(arff: Path, xml: Path, n_labels: int) -> None:
    attributes = read_arff(arff).attributes
    write_label_list(xml, [attribute.name for attribute in attributes[-n_labels:]])


def _check_number(xml: Path, n_labels: int) -> None:
    found = len(read_label_list(xml))
    if found != n_labels:
        raise file_error(
            xml,
            f"the list has {found} labels where {n_labels} are expected. Put Mulan's own list from "
            f"{MULAN_PAGE} in its place.",
        )
