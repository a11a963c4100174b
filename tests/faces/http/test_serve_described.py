"""`serve` answers requests that are drawn from its own description as it describes."""

from pathlib import Path
from typing import Any

import pytest

from langladder.faces.http.api import create
from langladder.faces.http.shelf import Shelf
from tests.drawn_requests import answered_as_described
from tests.models.spoken import saved_instructed

pytest.importorskip("schemathesis", reason="pip install schemathesis")
pytestmark = pytest.mark.slow
MODELS = {"/v1/chat/completions": "sft", "/v1/embeddings": "svd"}
MOST = {"n": (128, 2), "max_tokens": (4096, 3), "max_completion_tokens": (4096, 3)}
"""Option → the most that is allowed, and what is asked for instead, so that an answer takes milliseconds."""


def test_requests_drawn_from_the_description_are_answered_as_described(shelf: Shelf, tmp_path: Path) -> None:
    def change(path: str, body: dict[str, Any]) -> None:
        if isinstance(body.get("model"), str):
            body["model"] = MODELS.get(path, "gpt")
        for name, (most, less) in MOST.items():
            if isinstance(value := body.get(name), int) and less < value <= most:
                body[name] = less

    sft = saved_instructed(tmp_path / "sft", context=24)
    paths = answered_as_described(create(Shelf(shelf.folders | {"sft": sft})), change)
    assert {"/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/tokenize", "/detokenize"} < paths
