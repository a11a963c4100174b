"""The explorer answers requests that are drawn from its own description as it describes."""

from typing import Any

import pytest

from langladder.faces.explorer import typed
from langladder.faces.explorer.app import PAGES, create
from langladder.faces.http.shelf import Shelf
from tests.drawn_requests import answered_as_described

pytest.importorskip("schemathesis", reason="pip install schemathesis")
pytestmark = pytest.mark.slow
MODELS = ["gpt", "kneser_ney", "svd"]
MOST = 500  # characters of a name


def test_requests_drawn_from_the_description_are_answered_as_described(models: Shelf) -> None:
    def change(_: str, body: dict[str, Any]) -> None:
        names = body.get("models")
        if isinstance(names, list) and all(isinstance(name, str) and len(name) <= MOST for name in names):
            body["models"] = [MODELS[index % len(MODELS)] for index in range(len(names))]

    paths = answered_as_described(create(models), change, strict=False)
    assert {path.split("/")[2] for path in paths} == {typed.NAME, *(page.name for page in PAGES)}
