"""Shared by all tests: where the makers' real corpora are, when they are there at all."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT.parent / "shared" / "data"
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may need a network
os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: more threads only get in each other's way


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real corpora; the test skips where it is absent."""
    if not REAL.is_dir():
        pytest.skip("the makers' real corpora (../shared/data) are not here")
    return REAL


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, so that no worker is left alone with them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("dag") is None)
