"""Only what the listed rungs read is made: sides that none reads, `none` and `only` in params.yaml, `data`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir
from project_copy import FORKED, copy_project, edit, ran, run, with_git

from langladder.families import families
from langladder.ground.errors import InputError
from pipeline.settings import needed, params
from pipeline.settings.compose import conf_folder, resolve
from pipeline.settings.yaml_files import Values

DEFAULT = params.load().model_dump()
NOTHING: Values = {family.listed: {} if family.bases else [] for family in families().values()}


def resolved(**changes: Any) -> dict[str, Values]:
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        return resolve(params.schema().model_validate(DEFAULT | changes))


def kept(jobs: dict[str, Values]) -> set[str]:
    return {job for job, values in jobs.items() if needed.LEFT_OUT not in values}


def of_data(jobs: dict[str, Values]) -> set[str]:
    stages = ("corpus", "filter", "clean", "tokenize", "vocab", "cooccur", "demonstrate")
    return {job for job in kept(jobs) if job.split("/")[0] in stages}


TEXT = {"corpus/text", "filter/filter", "clean/text"}


@pytest.mark.parametrize(
    ("listed", "data"),
    [
        ({"classifiers": ["logistic"]}, {"corpus/labels", "clean/labels"}),
        ({"taggers": ["hmm"]}, {"corpus/tags", "clean/tags"}),
        ({"lms": ["kneser_ney"]}, TEXT | {"tokenize/text", "vocab/vocab"}),
        ({"embeddings": ["one_hot"]}, TEXT | {"vocab/vocab"}),
        ({"embeddings": ["svd"]}, TEXT | {"vocab/vocab", "cooccur/cooccur"}),
        ({"translators": ["attention"]}, {"corpus/parallel", "clean/parallel", "tokenize/parallel"}),
        ({"readers": ["sliding_window"]}, {"corpus/questions"}),
        ({"captioners": ["lstm"]}, {"corpus/scenes"}),
        (
            {"classifiers": ["textcnn"], "classifier": {"textcnn": {"input": {"units": "subwords"}}}},
            TEXT | {"corpus/labels", "clean/labels", "tokenize/text"},
        ),
        (
            {"lms": ["kneser_ney"], "filter": "contamination"},
            TEXT | {"tokenize/text", "vocab/vocab", "corpus/labels", "clean/labels", "corpus/tags", "clean/tags"},
        ),
        ({"claims": ["gradient_flow"]}, set()),
    ],
)
def test_only_what_is_read_is_made(listed: Values, data: set[str]) -> None:
    assert of_data(resolved(**NOTHING | listed)) == data


def test_only_leaves_out_what_needs_other_sides(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = resolved(only="labels")
    rungs = {f"{stage}_classifier/{name}" for stage in ("train", "evaluate") for name in DEFAULT["classifiers"]}
    assert kept(jobs) == rungs | {"corpus/labels", "clean/labels", "watch/classifier", "report/report"}
    note = capsys.readouterr().err
    for part in ("only: labels leaves out", "lms: kneser_ney, lstm, gpt", "textcnn_skipgram", "probes: agreement"):
        assert part in note
    report = jobs["report/report"]["rungs"]
    assert {name for name, listed in report.items() if listed} == {"classifier"}
    both = kept(resolved(only=["text", "labels"]))
    assert {"train_lm/gpt", "transfer_classifier/bert_fine_tuned"} <= both and "train_tagger/hmm" not in both


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"tags": "none"},
            ["1 problem", "taggers: hmm, bilstm_crf", "tags: none", "conf/tags/", "only", "params.yaml"],
        ),
        ({"corpus": "none"}, ["lms: kneser_ney, lstm, gpt", "classifier_transfers: textcnn_skipgram", "corpus: none"]),
        ({"only": "tags", "taggers": []}, ["only: tags", "no listed rung", "params.yaml"]),
        ({"data": {"labels": {"txt": "review"}}, "labels": "text"}, ["source.txt", "unknown key", "data.labels"]),
    ],
)
def test_what_is_wrong_is_reported(changes: Values, parts: list[str]) -> None:
    with pytest.raises(InputError) as error:
        resolved(**changes)
    assert all(part in str(error.value) for part in parts), error.value


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"only": "sentences"}, r"only[\s\S]*'labels'"),
        ({"data": {"lables": {}}}, r"data[\s\S]*'labels'"),
        ({"data": {"labels": {"path": "mine.csv"}}}, r"data[\s\S]*labels\.path[\s\S]*paths\.labels"),
        ({"data": {"labels": {"text": "${seed}"}}}, r"data[\s\S]*references"),
    ],
)
def test_what_params_yaml_may_say(changes: Values, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        params.schema().model_validate(DEFAULT | changes)


def test_none_leaves_the_rest() -> None:
    jobs = resolved(tags="none", taggers=[])
    assert jobs["clean/tags"][needed.LEFT_OUT] == jobs["corpus/tags"][needed.LEFT_OUT] == "tags: none"
    assert {"train_lm/gpt", "clean/labels"} <= kept(jobs)


def test_what_is_reported_beside_the_path_reaches_the_reader() -> None:
    stated = {"text": "review", "delimiter": ";", "encoding": "latin-1", "language": "de", "split": {"test": 0.3}}
    jobs = resolved(labels="text", data={"labels": stated})
    corpus = jobs["corpus/labels"]["corpus"]
    assert corpus["language"] == "de" and corpus["source"]["text"] == "review" and corpus["source"]["delimiter"] == ";"
    assert jobs["clean/labels"]["clean"]["language"] == "de"
    assert jobs["clean/labels"]["clean"]["split"] == {"validation": 0.1, "test": 0.3}


REVIEWS = [("schön und gut", "good"), ("grässlich öde", "bad"), ("recht schön", "good"), ("öde und lang", "bad")]


@pytest.mark.long
@pytest.mark.dag
@pytest.mark.timeout(600)
def test_labels_alone(tmp_path: Path) -> None:
    """A semicolon table in Latin-1, as a spreadsheet writes it, through the DAG to the report; the lists stay."""
    project = copy_project(tmp_path)
    table = "id;review;stars\n" + "".join(f"{i};{text} {i};{label}\n" for i, (text, label) in enumerate(REVIEWS * 20))
    (project / "input" / "labels" / "mine.csv").write_text(table, encoding="latin-1")
    edit(project / "params.yaml", "size: small", "size: tiny")
    values = yaml.safe_load((project / "params.yaml").read_text())
    values |= {"debug": "fast", "labels": "text", "only": "labels", "lms": ["kneser_ney"], "probes": []}
    values["data"] = {"labels": {"text": "review", "label": "stars", "delimiter": ";", "encoding": "latin-1"}}
    (project / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    with_git(project)
    output = run(project, "env", "OMP_NUM_THREADS=1", sys.executable, FORKED)
    assert "train_lm kneser_ney: left out (only: labels)" in output
    assert ran(run(project, "dvc", "repro")) == set()
    ladder = json.loads((project / "reports" / "ladder.json").read_text())
    assert {name for name, rungs in ladder.items() if isinstance(rungs, list) and rungs} == {"classifier"}
    assert "Labelled texts" in (project / "reports" / "index.html").read_text()
    assert "Monolingual text" not in (project / "reports" / "index.html").read_text()
    assert not list((project / "data").rglob("data-*.parquet")) and not list(
        (project / "models" / "lm").rglob("*.safetensors")
    )
    assert "logistic" in run(project, sys.executable, "-m", "pipeline.summary").lower()
    refused = run(project, sys.executable, "-m", "pipeline.train", "lm", "lm=kneser_ney", check=False)
    assert "data/tokens/text was left out" in refused and "only: labels" in refused and "Traceback" not in refused
    output = run(project, sys.executable, "-m", "pipeline.corpus", "side=labels", "labels.source.text=id")
    assert "80 examples" in output
