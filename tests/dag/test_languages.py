"""Sentence pairs with a side that does not part its words by spaces, through the DAG."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from languages import english_chinese
from project_copy import copy_project, forking, ran, run, smallest

from langladder.text.storage.tables import PAIRS, read_table

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Aligned files, and a translator that is given the time to learn them."""
    folder = copy_project(tmp_path_factory.mktemp("languages"))
    steps = {"max_steps": 400, "validate_every": 100, "lr": 0.005, "early_stopping": "bleu"}
    smallest(folder, parallel="text", translators=["attention"], translator={"attention": {"training": steps}})
    run(folder, "dvc", "config", "--local", "core.no_scm", "true")
    pairs = list(english_chinese())
    for side, language in enumerate(("en", "zh")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (folder / "input" / "parallel" / f"mine.{language}").write_text(text, encoding="utf-8")
    with forking(folder):
        yield folder


def test_right_chinese_translations_are_scored_as_such(project: Path) -> None:
    output = run(project, "dvc", "repro", "evaluate_translator")
    assert "mine.en → mine.zh" in output and "not read: README.md (a README)" in output
    scores = json.loads((project / "metrics" / "evaluate_translator" / "attention.json").read_text())
    page = json.loads((project / "reports" / "rungs" / "translator" / "attention.json").read_text())
    assert scores["main"] == "chrf" and "tok:zh" in scores["signature"]
    assert scores["exact_match"] > 0.5  # of sentences that it has not seen: what follows is no accident
    assert scores["bleu"] > 100 * scores["exact_match"] - 5 and scores["chrf"] > 50 and scores["ter"] < 50
    test = read_table(project / "data" / "clean" / "parallel" / "test.parquet", PAIRS)
    lengths = [len(text) for text in test.column("target").to_pylist()]  # each character is a word
    assert page["scores"]["reference_length"] == sum(lengths)
    rows = (project / "curves" / "translator" / "attention.csv").read_text().splitlines()
    column = rows[0].split(",").index("validation_bleu")
    assert max(float(row.split(",")[column] or 0) for row in rows[1:]) > 50


def test_another_tokenizer_scores_again_what_it_touches(project: Path) -> None:
    """A translator that BLEU chose is trained anew; the tokens and all before them stay."""
    file = project / "conf" / "evaluation" / "default.yaml"
    values = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump(values | {"bleu_tokenize": "char"}))
    done = ran(run(project, "dvc", "repro", "evaluate_translator"))
    assert done == {"resolve", "train_translator@attention", "evaluate_translator@attention"}
    scores = json.loads((project / "metrics" / "evaluate_translator" / "attention.json").read_text())
    assert "tok:char" in scores["signature"] and scores["bleu"] > 50


def test_an_unknown_tokenizer_stops_before_anything_runs(project: Path) -> None:
    file = project / "conf" / "evaluation" / "default.yaml"
    values = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump(values | {"bleu_tokenize": "zh-cn"}))
    output = run(project, "dvc", "repro", "evaluate_translator", check=False)
    assert "evaluation.bleu_tokenize: 'zh-cn' is not allowed" in output and "Traceback" not in output
    assert ran(output) == {"resolve"}
