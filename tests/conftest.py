"""Fixtures that many test modules share, and what the markers of tests mean."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# A machine may be busy: how long an example takes is no failure. The same examples are tried in
# every run; `--hypothesis-profile=default` tries new ones.
settings.register_profile("isingmlc", deadline=None, derandomize=True)
settings.load_profile("isingmlc")

# Tests of these folders run again with other processors' linear algebra and with old libraries.
NUMERICAL = {"contract", "fitting", "inference", "networks", "prediction", "ranking"}
# What tests with these markers need; one of the programs is enough.
PROGRAMS = {
    "browser": ("chromium", "chromium-browser", "google-chrome"),
    "latex": ("pdflatex",),
    "spark": ("java",),
}
CHROMIUM = os.environ.get("ISINGMLC_CHROMIUM") or next(
    filter(None, map(shutil.which, PROGRAMS["browser"])), None
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found = {name: any(map(shutil.which, programs)) for name, programs in PROGRAMS.items()}
    found["browser"] = CHROMIUM is not None
    for item in items:
        if item.path.parent.name in NUMERICAL:
            item.add_marker("numerical")
        for name, programs in PROGRAMS.items():
            if item.get_closest_marker(name) and not found[name]:
                item.add_marker(pytest.mark.skip(reason=f"install {programs[0]} first"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep tests of a module on one process where possible: they share what they set up."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(scope="session")
def chromium() -> str | None:
    """Return the path of the browser that reports are opened in."""
    return CHROMIUM


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder with Mulan's data sets, one folder per set."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ISINGMLC_DATA", beside))
    if not folder.is_dir():
        pytest.skip("Mulan's data sets are not here: set ISINGMLC_DATA to the folder with them")
    return folder
