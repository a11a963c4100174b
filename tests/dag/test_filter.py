"""The stage `filter` in the DAG: what is filtered is what is cleaned; without it the raw text is."""

import json
from pathlib import Path
from random import Random

import pytest
from project_copy import edit, finished_project, forking, ran, run, smallest

from langladder.text.storage.tables import read_documents

GOOD = "the quiet king of a far land sells bread and honey to every old friend"
BAD = "click here now to win cheap pills and cash in our free casino today"
NOTHING: dict[str, object] = {"lms": [], "embeddings": [], "translators": [], "claims": [], "probes": []}


def lines(text: str, count: int, seed: int = 1) -> list[str]:
    random = Random(seed)
    return [" ".join(random.choices(text.split(), k=20)) for _ in range(count)]


def cleaned(project: Path) -> set[str]:
    folder = project / "data" / "clean" / "text"
    return {line for file in folder.glob("*/") for document in read_documents(file) for line in document.lines}


@pytest.mark.long
@pytest.mark.dag
@pytest.mark.timeout(900)
def test_what_is_filtered_is_cleaned_and_without_a_filter_the_raw_text_is(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with forking(finished_project(tmp_path_factory)) as project:
        check(project)


def check(project: Path) -> None:
    smallest(project, corpus="text", **NOTHING)
    good, bad = lines(GOOD, 150), lines(BAD, 150)
    (project / "input" / "text" / "mine.txt").write_text("\n".join([*good[:50], *bad, ""]))
    (project / "input" / "filter" / "good").mkdir()
    (project / "input" / "filter" / "good" / "mine.txt").write_text("\n".join([*good[50:], ""]))
    run(project, "dvc", "repro", "clean@text")
    assert cleaned(project) == {*good[:50], *bad}
    edit(project / "params.yaml", "filter: none", "filter: quality")
    edit(project / "conf" / "filter" / "quality.yaml", "threshold: null ", "threshold: 0.5 ")
    output = run(project, "dvc", "repro", "clean@text")
    assert ran(output) == {"resolve", "filter", "clean@text"} and "low quality document: 150" in output
    assert cleaned(project) == {*good[:50]}
    report = json.loads((project / "metrics" / "filter.json").read_text())
    assert report["filtered"] and report["size"]["left"]["documents"] == 50
    (project / "input" / "filter" / "good" / "more.txt").write_text("\n".join([*lines(GOOD, 30, seed=2), ""]))
    assert "filter" in ran(run(project, "dvc", "repro", "clean@text"))
    edit(project / "params.yaml", "filter: quality", "filter: none")
    run(project, "dvc", "repro", "clean@text")
    assert cleaned(project) == {*good[:50], *bad}
