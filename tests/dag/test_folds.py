"""`folds` in params.yaml: no job more; each labelled item is tested once, by a model that was not trained on it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import initialize_config_dir
from project_copy import FORKED, copy_project, run, smallest

from langladder.evaluation.predictions import read_predictions
from langladder.families.folds import fold_folder
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.tagging.tagger import Tagger
from langladder.text.labelled.folds import Folds
from langladder.text.labelled.labelled import Example, Tagged, read_labelled, read_tagged
from pipeline.settings import params
from pipeline.settings.compose import conf_folder, resolve

NONE: dict[str, Any] = {"embeddings": [], "translators": [], "claims": [], "probes": [], "encoders": []}
RUNGS: dict[str, Any] = NONE | {
    "lms": [],
    "classifiers": ["logistic", "textcnn", "naive_bayes"],
    "classifier_transfers": {},
    "taggers": ["hmm", "bilstm_crf"],
}


def resolved(**changes: Any) -> dict[str, Any]:
    chosen = params.schema().model_validate(params.load().model_dump() | RUNGS | {"lms": ["lstm"]} | changes)
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        return resolve(chosen)


def test_one_fold_changes_nothing_and_several_make_no_job() -> None:
    plain = resolved()
    assert resolved(folds=1) == plain
    ten = resolved(folds=10, classifier={"textcnn": {"folds": 5}, "naive_bayes": {"folds": 1}}, seeds=2)
    assert ten.keys() == plain.keys()
    folds = {job: value.get("classifier", value.get("tagger", {})).get("folds") for job, value in ten.items()}
    assert {job: count for job, count in folds.items() if count} == {
        **{f"{stage}_tagger/{rung}": 10 for stage in ("train", "evaluate") for rung in ("hmm", "bilstm_crf")},
        **{f"{stage}_classifier/logistic": 10 for stage in ("train", "evaluate")},
        **{f"{stage}_classifier/textcnn": 5 for stage in ("train", "evaluate")},
        **{f"{stage}_classifier/naive_bayes": 1 for stage in ("train", "evaluate")},
    }
    curves = {job for job, value in resolved(learning_curve=True).items() if value != plain[job]}
    rungs = ("logistic", "naive_bayes", "textcnn")
    assert curves == {f"{stage}_classifier/{rung}" for stage in ("train", "evaluate") for rung in rungs}
    assert ten["train_lm/lstm"]["lm"]["seeds"] == 2  # they take the place of seeds where there are folds


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"classifier": {"logistic": {"folds": 2}}},
            r"folds: 2 is not allowed: one fold is for testing.*or 3 and more",
        ),
        ({"classifier": {"textcnn": {"folds": 4, "seeds": 2}}}, r"folds=4 with seeds=2"),
        ({"folds": 5, "classifier": {"textcnn": {"training": {"devices": 2}}}}, r"folds=5 with training\.devices=2"),
        ({"classifier": {"textcnn": {"fold": {"number": 1, "of": 3}}}}, r"set only `folds`"),
        ({"classifier": {"textcnn": {"part": {"number": 1, "of": 2}}}}, r"set only `learning_curve`"),
        ({"tagger": {"hmm": {"learning_curve": True}}}, r"tagger\.learning_curve"),
        ({"lm": {"lstm": {"folds": 5}}}, r"lm\.folds"),
        (
            {"folds": 5, "labels": "text", "data": {"labels": {"phrases": True}}},
            r"folds=5 with labels that use the phrases",
        ),
    ],
)
def test_what_folds_do_not_go_with_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        resolved(**changes)


def test_two_folds_are_refused_in_params() -> None:
    with pytest.raises(ValueError, match=r"one fold is for testing"):
        resolved(folds=2)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_each_item_is_tested_once_by_the_model_of_its_fold(tmp_path: Path) -> None:
    project = copy_project(tmp_path)
    rungs = RUNGS | {"classifiers": ["logistic", "textcnn"], "taggers": ["hmm"]}
    curve = {"classifier": {"logistic": {"learning_curve": True}}}
    smallest(project, folds=3, **rungs, **curve)
    run(project, "dvc", "config", "--local", "core.no_scm", "true")
    run(project, "env", "OMP_NUM_THREADS=1", f"JOBS={os.environ.get('JOBS', 1)}", sys.executable, FORKED)

    texts = Folds.read(project / "data/clean/labels", read_labelled, Example.dealt_by, 3)
    for rung in ("logistic", "textcnn"):
        folder = project / "models/classifier" / rung
        table = read_predictions(project / f"reports/rungs/classifier/{rung}.parquet")
        assert [(item.item, item.text, item.truth) for item in table] == [
            (number, row.text, row.label) for number, row in enumerate(texts.rows)
        ]
        for number in (1, 2, 3):
            model, rows = Classifier.load(fold_folder(folder, number)), np.flatnonzero(texts.fold == number)
            best = model.log_probs([texts.rows[row] for row in rows]).argmax(axis=1)
            assert [table[row].prediction for row in rows] == [model.labels[item] for item in best]
            about = json.loads((fold_folder(folder, number) / "provenance.json").read_text())
            assert about["settings"]["classifier"]["fold"] == {"number": number, "of": 3}
            train = {word for split in texts.splits(number)[0] for word in split.text.split()}
            for row in rows:
                assert set(table[row].unknown.split()) == set(table[row].text.split()) - train
        about = json.loads((folder / "provenance.json").read_text())
        assert not {"fold", "folds"} & about["settings"]["classifier"].keys()
        metrics = json.loads((project / f"metrics/evaluate_classifier/{rung}.json").read_text())
        right = np.array([item.right for item in table])
        each = [right[texts.fold == number].mean() for number in (1, 2, 3)]
        assert metrics["accuracy"] == pytest.approx(right.mean(), abs=1e-6)
        assert metrics["fold_accuracy_mean"] == pytest.approx(np.mean(each), abs=1e-6)
        assert metrics["fold_accuracy_sd"] == pytest.approx(np.std(each, ddof=1), abs=1e-6)
        assert len({str(item) for item in each}) > 1

    test = read_labelled(project / "data/clean/labels/test.parquet")
    count = len(read_labelled(project / "data/clean/labels/train.parquet"))
    page = json.loads((project / "reports/rungs/classifier/logistic.json").read_text())["more_labels"]
    assert [(point["texts"], point["models"]) for point in page["points"][2:]] == [(count // 2, 2), (count, 1)]
    for folders, point in ((["."], page["points"][3]), (["parts/1_of_2", "parts/2_of_2"], page["points"][2])):
        models = [Classifier.load(project / "models/classifier/logistic" / folder) for folder in folders]
        rights = [
            model.labels[best] == item.label
            for model in models
            for best, item in zip(model.log_probs(test).argmax(axis=1), test, strict=True)
        ]
        assert point["accuracy"] == pytest.approx(np.mean(rights), abs=1e-6)
    assert page["low"] <= page["gain"] + 1e-6 and page["accuracy"] == page["points"][3]["accuracy"]
    assert len(list((project / "models/classifier/logistic/parts").iterdir())) == 8
    assert not (project / "models/classifier/textcnn/parts").exists()
    ladder = json.loads((project / "reports" / "ladder.json").read_text())["classifier"]
    assert [item["more_labels"] for item in ladder] == [page, None]

    sentences = Folds.read(project / "data/clean/tags", read_tagged, Tagged.dealt_by, 3)
    table = read_predictions(project / "reports/rungs/tagger/hmm.parquet")
    assert [item.text for item in table] == [word for row in sentences.rows for word in row.words]
    first = int(np.flatnonzero(sentences.fold == 2)[0])
    tagger = Tagger.load(fold_folder(project / "models/tagger/hmm", 2))
    assert [item.prediction for item in table if item.item == first] == tagger.tag([sentences.rows[first].words])[0]
    assert json.loads((project / "metrics/evaluate_tagger/hmm.json").read_text())["fold_accuracy_sd"] > 0

    text = (project / "reports" / "ladder.md").read_text()
    assert "each item is tested once, by the model that was trained on the other folds (3 folds)" in text
    assert "sd of folds" in (project / "reports" / "index.html").read_text()
