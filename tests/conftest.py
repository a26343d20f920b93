"""Fixtures that many test modules share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A machine may be busy: how long an example takes is no failure.
settings.register_profile("isingmlc", deadline=None)
settings.load_profile("isingmlc")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Give the folder with Mulan's data sets, one folder a set."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ISINGMLC_DATA", beside))
    if not folder.is_dir():
        pytest.skip("Mulan's data sets are not here: set ISINGMLC_DATA to the folder with them")
    return folder
