"""Reading what the stages leave: lenient to what is new or not measured, strict to what is missing or broken."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from small_run_files import FAMILIES, language_model, write

from langladder.faces.report.inputs import Meta, ReportInputs, Timing, load_report, read_curve
from langladder.faces.report.page import build_page
from langladder.ground.errors import InputError
from langladder.text.labelled.clean_labelled import CleanLabelledConfig, clean_labels
from langladder.text.labelled.labelled import LABELLED
from langladder.text.storage.tables import write_table


def load(root: Path, **rungs: list[str]) -> ReportInputs:
    metadata: dict[str, dict[str, Any]] = {family: {name: {} for name in names} for family, names in rungs.items()}
    return load_report(root, FAMILIES, metadata, {}, [], {})


def edit(path: Path, **changes: Any) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(value | changes), encoding="utf-8")


def test_rungs_stand_in_the_order_of_the_ladder(inputs: ReportInputs) -> None:
    assert [rung.name for rung in inputs.of("lm")] == ["kneser_ney", "lstm", "gpt"]
    assert [rung.title for rung in inputs.of("lm")] == ["Kneser–Ney 3-gram", "LSTM", "GPT"]


def test_the_evaluators_own_shapes_are_read(inputs: ReportInputs) -> None:
    scores = inputs.of("embedding")[0].page.scores
    assert scores.analogy is not None
    assert (scores.analogy.overall.accuracy, scores.analogy.overall.coverage) == (0.6875, 0.8)
    assert [section.accuracy for section in scores.analogy.sections] == [55 / 80, None]
    assert [(result.name, result.spearman) for result in scores.similarity] == [("ws353", 0.512)]
    assert inputs.of("translator")[0].page.scores.signature == "n:1"


def test_a_rung_without_a_title_goes_by_its_name(inputs: ReportInputs) -> None:
    assert inputs.of("translator")[0].title == "attention"


def test_optional_parts_may_be_missing(tree: Path) -> None:
    rungs = tree / "reports" / "rungs"
    for task, name, part in (("lm", "lstm", "samples"), ("translator", "attention", "examples")):
        value = json.loads((rungs / task / f"{name}.json").read_text(encoding="utf-8"))
        del value[part]
        write(rungs / task / f"{name}.json", value)
    edit(rungs / "embedding" / "skipgram.json", scores={})
    result = load(tree, lm=["lstm"], embedding=["skipgram"], translator=["attention"])
    assert result.of("lm")[0].page.samples == [] and result.of("translator")[0].page.examples == []
    scores = result.of("embedding")[0].page.scores
    assert scores.analogy is None and scores.similarity == []
    assert result.of("lm")[0].timing == Timing()


@pytest.mark.parametrize(
    ("path", "stage"),
    [
        ("reports/rungs/lm/gpt.json", "evaluate_lm@gpt"),
        ("metrics/clean/text.json", "clean@text"),
        ("metrics/tokenize/parallel.json", "tokenize@parallel"),
    ],
)
def test_a_missing_file_names_the_stage_that_makes_it(tree: Path, path: str, stage: str) -> None:
    (tree / path).unlink()
    with pytest.raises(InputError, match=rf"{Path(path).name}: no such file.*dvc repro {stage}"):
        load(tree, lm=["gpt"])


def test_a_wrong_value_is_named(tree: Path) -> None:
    path = tree / "reports" / "rungs" / "lm" / "gpt.json"
    edit(path, scores=language_model("gpt", "GPT", 20.0, 1000)["scores"] | {"perplexity_per_word": "low"})
    with pytest.raises(InputError, match=r"gpt\.json: scores\.perplexity_per_word: .*number"):
        load(tree, lm=["gpt"])


def test_attention_that_does_not_fit_its_tokens_is_refused(tree: Path) -> None:
    path = tree / "reports" / "rungs" / "translator" / "attention.json"
    example = {"source": "a", "reference": "b", "output": "b", "source_tokens": ["a"], "output_tokens": ["b"]}
    edit(path, examples=[example | {"attention": [[0.5, 0.5]]}])
    with pytest.raises(InputError, match=r"examples\.0: .*attention is \[\(1, 2\)\].*\(1, 1\)"):
        load(tree, translator=["attention"])


def test_curves_may_have_holes(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    path.write_text("step,train_loss,validation_loss,lr\n1,2.5,,0.1\n2,,3.0,\n")
    first, second = read_curve(path)
    assert (first.train_loss, first.validation_loss, first.lr) == (2.5, None, 0.1)
    assert (second.step, second.train_loss, second.validation_loss) == (2, None, 3.0)


@pytest.mark.parametrize(("row", "message"), [("x,1", r":2: step is 'x'"), (",1", r":2: no step")])
def test_a_broken_curve_names_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "curve.csv"
    path.write_text(f"step,train_loss\n{row}\n")
    with pytest.raises(InputError, match=rf"curve\.csv{message}"):
        read_curve(path)


def test_labelled_sides_are_shown_where_they_were_cleaned(tree: Path, tmp_path: Path) -> None:
    assert list(load(tree).data) == ["text", "parallel"]
    rows = [{"text": f"text {number}", "label": "ab"[number % 2], "ceiling": 0.9} for number in range(60)]
    write_table(tmp_path / "raw" / "all.parquet", pa.Table.from_pylist(rows, schema=LABELLED))
    report = clean_labels(tmp_path / "raw", tmp_path / "clean", CleanLabelledConfig(), 1)
    write(tree / "metrics" / "clean" / "labels.json", report)
    result = load(tree)
    assert list(result.data) == ["text", "parallel", "labels"]
    page = build_page(replace(result, meta=Meta(labels="reviews")))
    assert "Labelled texts: <bdi>reviews</bdi>" in page and "best possible accuracy" in page


def test_what_was_filtered_is_shown_beside_what_was_cleaned_and_nothing_where_nothing_was(tree: Path) -> None:
    plain = build_page(load(tree))
    write(tree / "metrics" / "filter.json", {"filtered": False})
    assert build_page(load(tree)) == plain
    went = {"low_quality_document": {"count": 7, "examples": ["0.031: <b>buy</b>"]}}
    size = {"read": {"documents": 9, "words": 90}, "left": {"documents": 2, "words": 20}}
    write(tree / "metrics" / "filter.json", {"filtered": True, "size": size, "went": went})
    result = load(tree)
    assert result.data["text"]["filter"]["size"] == size and "filter" not in result.data["parallel"]
    page = build_page(result)
    assert "low quality document" in page and "0.031: &lt;b&gt;buy&lt;/b&gt;" in page and "filter: size" in page
