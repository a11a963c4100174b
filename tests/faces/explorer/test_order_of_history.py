"""Models stand in order of history: by the report's years, and where there is no report by their approach."""

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import langladder.models
from langladder.faces.explorer.app import create
from langladder.faces.explorer.history import BEGAN, in_order
from langladder.faces.http.shelf import Shelf

APPROACH = r'(?m)^    approach(?:: ClassVar\[str\])? = "(.+)"$'


@pytest.fixture
def shelf(checkout: Path, tmp_path: Path) -> Shelf:
    return Shelf.below([checkout / "models"], project=tmp_path)


def test_without_a_report_the_approach_decides(shelf: Shelf) -> None:
    assert list(in_order(shelf, "lm"))[:3] == ["kneser_ney", "lstm", "gpt"]  # gpt is first by the alphabet
    assert next(iter(in_order(shelf))) == "svd"


def test_the_report_s_years_decide(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    years = [{"name": "gpt", "year": 1990}, {"name": "lstm", "year": 1995}, {"name": "kneser_ney", "year": 1995}]
    (tmp_path / "reports" / "ladder.json").write_text(json.dumps({"chosen": {}, "lm": years}))
    assert list(in_order(shelf, "lm"))[:3] == ["gpt", "lstm", "kneser_ney"]  # of one year: as the report has them
    page = TestClient(create(shelf)).get("/continue").text
    positions = [page.index(f'value="{name}"') for name in ("gpt", "lstm", "kneser_ney")]
    assert positions == sorted(positions)


def test_every_approach_has_its_position() -> None:
    folder = Path(langladder.models.__file__).parent
    names = {name for file in folder.rglob("*.py") for name in re.findall(APPROACH, file.read_text(encoding="utf-8"))}
    assert len(names) > 5 and names == BEGAN.keys()


def test_instruct_is_not_listed_where_nothing_was_trained_for_it(shelf: Shelf) -> None:
    client = TestClient(create(shelf))
    assert 'href="/instruct"' not in client.get("/continue").text
    page = client.get("/instruct").text
    assert "trained to follow instructions" in page and "instructs: {sft: {base: lm/gpt}}" in page
    assert "<form" not in page and "instruct.js" not in page
