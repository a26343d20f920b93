"""Which of Mulan's data sets can be downloaded, from where, and how their files are recognised.

Mulan's own page offers RAR archives, which Python cannot unpack. So each file is taken from a
public repository that keeps it as it is, at one commit, and checked against its SHA-256:

* scene from the repository of Mulan itself;
* medical, in Mulan's split, from that of scikit-multilearn;
* the others from Boomer-Datasets, which keeps ARFF files in Git LFS, where the checksum is the
  name of the object.

If the labels are the last attributes, in the order in which Mulan lists them, the list of labels
is written from the ARFF file. Else it is downloaded too. No checksum of those lists is published:
one is accepted if it names as many labels as the data set has and the ARFF file holds them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MULAN = "https://raw.githubusercontent.com/tsoumakas/mulan"
_MULTILEARN = "https://raw.githubusercontent.com/scikit-multilearn/scikit-multilearn"
_BOOMER = "https://github.com/mrapp-ke/Boomer-Datasets/raw"


@dataclass(frozen=True)
class RemoteFile:
    """Where a file is, and what it must be."""

    address: str
    sha256: str | None = None


@dataclass(frozen=True)
class Published:
    """A data set that can be downloaded."""

    n_rows: int
    n_attributes: int
    n_labels: int
    files: Mapping[str, RemoteFile]


PUBLISHED: Mapping[str, Published] = {
    "CAL500": Published(
        502,
        68,
        174,
        {
            "CAL500.arff": RemoteFile(
                f"{_BOOMER}/fb12e0c02e62e7d4a94c5f1f26ba5a66c2f3d674/cal500.arff",
                "cfe6097ba5fd6e8584e54911ab9783dcab34e898446b7c9370c71d477eae56d3",
            ),
            "CAL500.xml": RemoteFile(
                f"{_BOOMER}/fb12e0c02e62e7d4a94c5f1f26ba5a66c2f3d674/cal500.xml"
            ),
        },
    ),
    "bibtex": Published(
        7395,
        1836,
        159,
        {
            "bibtex-train.arff": RemoteFile(
                f"{_BOOMER}/e925d705fe09f4ce593cf162e953862d8a0cee76/bibtex-train.arff",
                "8dcc9de6e0b2cebaec8c1f4fac78431adeeb73cfd3ab879b530a66d366e59174",
            ),
            "bibtex-test.arff": RemoteFile(
                f"{_BOOMER}/e925d705fe09f4ce593cf162e953862d8a0cee76/bibtex-test.arff",
                "9b03329cde64d3f994bdf7fbbac3f3b10fe185c311cb9ae725475f59c7f3f922",
            ),
        },
    ),
    "birds": Published(
        645,
        260,
        19,
        {
            "birds-train.arff": RemoteFile(
                f"{_BOOMER}/7e587cb68234bf7628aef6ed0a5c2df8a4eb519e/birds_training.arff",
                "8f215db6ee163149901e753977f631ba8bea0e0e8e1abc42b234414822f8ae36",
            ),
            "birds-test.arff": RemoteFile(
                f"{_BOOMER}/26b2b9064ffe1f59672cde9ad16ad813173a9f00/birds-test.arff",
                "51ba6326d65ccdd7c755b6461280eb6d2769c7f59d8e12fd4250f91e6ca28326",
            ),
            "birds.xml": RemoteFile(
                f"{_BOOMER}/26b2b9064ffe1f59672cde9ad16ad813173a9f00/birds.xml"
            ),
        },
    ),
    "emotions": Published(
        593,
        72,
        6,
        {
            "emotions-train.arff": RemoteFile(
                f"{_BOOMER}/7e587cb68234bf7628aef6ed0a5c2df8a4eb519e/emotions_training.arff",
                "bbe704106c79bb8fb99c1d1d2e9bde081d6a2daeb01f100862f11fd91a3c1f98",
            ),
            "emotions-test.arff": RemoteFile(
                f"{_BOOMER}/082dba2665d701ce74a1291ad3809da789fa5c96/emotions-test.arff",
                "f13d4b746b7b5c8eb484bd751d6ac463d4560dff998a93516a5c1fe35daf6c8f",
            ),
        },
    ),
    "enron": Published(
        1702,
        1001,
        53,
        {
            "enron-train.arff": RemoteFile(
                f"{_BOOMER}/91950e2fd9fb199df84f0c045fde589fa5ec46c5/enron-train.arff",
                "2988cefc1cdf7a8004a20ef84615cc8fa1b5d7434c16687283b41454e2d9d194",
            ),
            "enron-test.arff": RemoteFile(
                f"{_BOOMER}/7e587cb68234bf7628aef6ed0a5c2df8a4eb519e/enron_test.arff",
                "2f3aad54a8f54caaab4ab01246fe9dd385ba944a2633028f52747b57eac5474e",
            ),
            "enron.xml": RemoteFile(
                f"{_BOOMER}/91950e2fd9fb199df84f0c045fde589fa5ec46c5/enron.xml"
            ),
        },
    ),
    "flags": Published(
        194,
        19,
        7,
        {
            "flags-train.arff": RemoteFile(
                f"{_BOOMER}/3fbea72b3d39a7d1279cce111f9e80628e0f04fa/flags-train.arff",
                "1861cdab7f8baf1aef6fb6198f304465ddfd99b7f9a435337c604119522df3c5",
            ),
            "flags-test.arff": RemoteFile(
                f"{_BOOMER}/3fbea72b3d39a7d1279cce111f9e80628e0f04fa/flags-test.arff",
                "09f6136fae47dcc2f0f491efd6401a11072cbfb0bfbb2666c63b35bb06aeeb16",
            ),
        },
    ),
    "genbase": Published(
        662,
        1186,
        27,
        {
            "genbase.arff": RemoteFile(
                f"{_BOOMER}/09993d699da741afea716cd9aba39fb8dee2804c/genbase.arff",
                "a220a552ebecdd8d965fd67c92f8499d5d6e394a0716dd92641d376684a083c3",
            ),
            "genbase.xml": RemoteFile(
                f"{_BOOMER}/09993d699da741afea716cd9aba39fb8dee2804c/genbase.xml"
            ),
        },
    ),
    "medical": Published(
        978,
        1449,
        45,
        {
            "medical-train.arff": RemoteFile(
                f"{_MULTILEARN}/6e387ca43bb10e81ccdef28bd4f57a3d538af5fd/data/medical-train.arff",
                "c764f45756ab1c553b8b4eaaf5605a5610a43bbbcf37492d0f1a12bf9c9e2244",
            ),
            "medical-test.arff": RemoteFile(
                f"{_MULTILEARN}/afc7c14ac0b0db892ce6fa0e50d6257d124b6f77/data/medical-test.arff",
                "6be472e75a6c0b0916187f343a398011b1b26f8f0ddc682c575312ad3532f6c4",
            ),
        },
    ),
    "scene": Published(
        2407,
        294,
        6,
        {
            "scene-train.arff": RemoteFile(
                f"{_MULAN}/5862bed221a9ec2baf9a090f5e98637e9dfb088b"
                "/data/multi-label/scene/scene-train.arff",
                "b53ba93bdf412de922e3960389bcee24744fa3e872ce610511fc1d750888b64d",
            ),
            "scene-test.arff": RemoteFile(
                f"{_MULAN}/5862bed221a9ec2baf9a090f5e98637e9dfb088b"
                "/data/multi-label/scene/scene-test.arff",
                "ea38d20296b3ff7e220f477a3b802a9bcb2d768881fe6ee163efbc97ea527a42",
            ),
        },
    ),
    "yeast": Published(
        2417,
        103,
        14,
        {
            "yeast-train.arff": RemoteFile(
                f"{_BOOMER}/73db96cbcc8cc8891830fc86827617e4a8e7f033/yeast-train.arff",
                "e759dc991ff54694a4ff9c4314f3be0d6fd2b1994a4b563f57e416394c6aebbd",
            ),
            "yeast-test.arff": RemoteFile(
                f"{_BOOMER}/7e587cb68234bf7628aef6ed0a5c2df8a4eb519e/yeast_test.arff",
                "4aaac102bff9669a765bf0b378602e5cc8c3b181048282e2f003117b496d552a",
            ),
            "yeast.xml": RemoteFile(
                f"{_BOOMER}/73db96cbcc8cc8891830fc86827617e4a8e7f033/yeast.xml"
            ),
        },
    ),
}
