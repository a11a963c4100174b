"""Shared by all tests: no network, one thread, the order they run in."""

import os

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may need a network
os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: more threads only get in each other's way


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, so that no worker is left alone with them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("dag") is None)
