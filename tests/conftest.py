"""Shared by all tests: no network, one thread, the order they run in."""

import os

import pytest

from pipeline.settings import params
from pipeline.settings.compose import prepare

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may need a network
os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: more threads only get in each other's way


prepare(params.load())  # conf/config.yaml has params.yaml among its defaults; some tests compose on import


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files first, those that may take longest before all others, so that two workers end together."""

    def weight(item: pytest.Item) -> tuple[int, bool, bool]:
        limit = item.get_closest_marker("timeout")
        dag, slow = (item.get_closest_marker(name) is not None for name in ("dag", "slow"))
        return limit.args[0] if limit else 0, dag, slow

    files = {item.path: (0, False, False) for item in items}
    for item in items:
        files[item.path] = max(files[item.path], weight(item))
    items.sort(key=lambda item: files[item.path], reverse=True)
