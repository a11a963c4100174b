"""`langladder evaluate` on labelled files of every kind, and `errors` between two of its tables."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from langladder.evaluation.predictions import read_predictions
from langladder.faces.cli.main import app
from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.classification.majority import Majority
from langladder.models.reading.sliding_window import SlidingWindow
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.hmm import HMM
from langladder.text.labelled.labelled import Example, Tagged

TRAIN = [Example(f"{word} film .", label=label) for word, label in (("good", "yes"), ("bad", "no"), ("fine", "yes"))]
TAGGED = [Tagged(("the", "dog", "sleeps", "."), ("D", "N", "V", "P")), Tagged(("a", "cat", "."), ("D", "N", "P"))]
REVIEWS = "id;review;stars\n1;good film .;yes\n2;bad film .;no\n3;a täme bad film .;yes\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project") / "models"
    for kind, name in ((LinearClassifier, "logistic"), (Majority, "majority")):
        counted = kind(kind.Config(), ["no", "yes"])
        counted.fit(TRAIN, TRAIN)
        counted.save(root / "classifier" / name)
    tagger = HMM(HMM.Config(), ["D", "N", "P", "V"])
    tagger.fit(TAGGED, tag_ids(TAGGED, tagger.tags))
    tagger.save(root / "tagger" / "hmm")
    SlidingWindow(SlidingWindow.Config()).save(root / "reader" / "window")
    (root.parent / "reviews.csv").write_text(REVIEWS, encoding="latin-1")
    return root


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def judged(models: Path, name: str, *more: object) -> Result:
    columns = ("--text", "review", "--label", "stars", "--delimiter", ";", "--encoding", "latin-1")
    return run("evaluate", models / "classifier" / name, models.parent / "reviews.csv", *columns, *more)


def test_a_classifier_on_a_table_of_labels(models: Path, tmp_path: Path) -> None:
    content = json.loads(judged(models, "logistic", "--json", "--out", tmp_path / "mine.csv").stdout)
    assert content["kind"] == "classifier" and content["figures"]["accuracy"] == pytest.approx(2 / 3, abs=1e-6)
    table = read_predictions(tmp_path / "mine.csv")
    assert [(item.text, item.truth, item.prediction) for item in table] == [
        ("good film .", "yes", "yes"),
        ("bad film .", "no", "no"),
        ("a täme bad film .", "yes", "no"),
    ]
    assert "accuracy" in judged(models, "majority").stdout


def test_a_multi_label_classifier(models: Path, tmp_path: Path) -> None:
    counted = LinearClassifier(LinearClassifier.Config(), ["long", "sad"])
    counted.multi_label = True
    sets = [("long sad film", ("long", "sad")), ("long film", ("long",)), ("sad film", ("sad",)), ("film", ())]
    counted.fit([Example(text, labels=labels) for text, labels in sets] * 3, [])
    folder = models / "classifier" / "moods"
    counted.save(folder)
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"{text},{';'.join(own)}\n" for text, own in sets[1:]))
    content = json.loads(run("evaluate", folder, tmp_path / "a.csv", "--multi-label", ";", "--json").stdout)
    assert content["figures"]["micro-F₁"] == 1.0 and content["figures"]["accuracy"] == 1.0
    lacks = run("evaluate", folder, tmp_path / "a.csv")
    assert lacks.exit_code == 2 and "say how the file has them" in lacks.output
    completed = run("evaluate", models / "classifier" / "logistic", tmp_path / "a.csv", "--multi-label", ";")
    assert completed.exit_code == 2 and "it gives each text one label" in completed.output
    lines = run("classify", folder, "a long sad film", "film").stdout.splitlines()
    assert [line.split("\t")[::2] for line in lines] == [["long, sad", "a long sad film"], ["(none)", "film"]]
    every = run("classify", folder, "sad film", "--top", 2, "--json").stdout
    (text,) = json.loads(every)["texts"]
    assert text["given"]["labels"] == ["sad"] and [label["label"] for label in text["labels"]] == ["sad", "long"]


def test_two_tables_compared(models: Path, tmp_path: Path) -> None:
    rungs = models.parent / "reports" / "rungs" / "classifier"
    for name in ("logistic", "majority"):
        for ending in ("parquet", "csv"):
            assert judged(models, name, "--out", rungs / f"{name}.{ending}").exit_code == 0
    first, second = models / "classifier" / "logistic", models / "classifier" / "majority"
    content = json.loads(run("errors", first, second, "--json").stdout)
    assert [content[key] for key in ("both", "first_only", "second_only", "neither")] == [1, 1, 1, 0]
    assert content["p"] == 1.0 and [difference["better"] for difference in content["differences"]] == ["A", "B"]
    table = run("errors", first, models.parent / "reports" / "rungs" / "classifier" / "majority.csv").stdout
    assert "McNemar's exact test: p = 1, no significant difference: they differ on 2 items, too few" in table
    assert "where A is better" in table and "bad film ." in table
    assert "No such" not in table and run("errors", first, second, "--show", 0).stdout.count("bad film") == 0
    refused = run("errors", tmp_path / "none", second)
    assert refused.exit_code == 2 and "no table of predictions" in refused.output


def test_a_tagger_and_a_reader(models: Path, tmp_path: Path) -> None:
    (tmp_path / "t.conll").write_text("the x D\ndog x N\n\na x D\ncat x V\n")
    content = json.loads(
        run("evaluate", models / "tagger" / "hmm", tmp_path / "t.conll", "--label", 2, "--json").stdout
    )
    assert content["figures"]["accuracy"] == 0.75 and not [key for key in content["figures"] if "unknown" in key]
    answers = [{"text": "paris", "start": 14}]
    question = {"context": "anna lives in paris .", "question": "where does anna live ?", "answers": answers}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))
    result = run("evaluate", models / "reader" / "window", tmp_path / "q.jsonl", "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["figures"]["questions"] == 1


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        ("classifier/logistic", "text\tlabel\ngood\tmaybe\n", "'maybe' is not one of the classifier's: no, yes"),
        ("classifier/logistic", "review\tlabel\ngood\tyes\n", "no column 'text'"),
        ("classifier/none", "", "no saved model; supported: lm, classifier, tagger, reader, translator"),
        ("tagger/hmm", "", "no"),
    ],
)
def test_what_does_not_fit_is_refused(models: Path, model: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(text)
    result = run("evaluate", models / model, tmp_path / "x.tsv")
    assert result.exit_code == 2 and message in result.output and "Traceback" not in result.output
