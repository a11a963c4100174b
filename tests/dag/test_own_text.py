"""A user's own text and sentence pairs through the whole DAG; texts too small for what is asked of them."""

import json
import random
import re
import sys
from pathlib import Path

import pytest
from project_copy import FORKED, finished_project, forking, ran, run, smallest

import langladder as ll
from langladder.families.sides import SIDES

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(900)]

PLACES = ["oslo", "paris", "roma", "tokyo", "lima", "cairo"]
VERBS = ["sees", "loves", "leaves", "finds"]


def sentences(number: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    people = [f"person{index}" for index in range(40)]
    return [f"{rng.choice(people)} {rng.choice(VERBS)} {rng.choice(PLACES)} at {n} ." for n in range(number)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = finished_project(tmp_path_factory)
    reading = {"labels": "text", "tags": "columns", "classifiers": ["logistic", "textcnn"], "taggers": ["hmm"]}
    rungs = {"lms": ["kneser_ney", "gpt"], "transcribers": ["ctc"]} | reading
    smallest(folder, corpus="text", parallel="text", tokenizer="word", **rungs)
    lines = sentences(400)
    (folder / "input" / "text" / "mine.txt").write_text("\n".join(lines) + "\n")
    pairs = [f"{line}\t{' '.join(reversed(line.split()))}" for line in lines]
    (folder / "input" / "parallel" / "mine.tsv").write_text("\n".join(pairs) + "\n")
    labelled = [f"{line}\t{'good' if 'loves' in line else 'bad'}" for line in lines]
    (folder / "input" / "labels" / "mine.tsv").write_text("\n".join(["text\tlabel", *labelled]) + "\n")
    tagged = ["\n".join(f"{word}\t{'PLACE' if word in PLACES else 'O'}" for word in line.split()) for line in lines]
    (folder / "input" / "tags" / "mine.conll").write_text("\n\n".join(tagged) + "\n")
    return folder


def test_own_text_and_pairs(project: Path) -> None:
    jobs = set(re.findall(r"(?m)^===== (\S+):", run(project, "env", "OMP_NUM_THREADS=1", sys.executable, FORKED)))
    assert {"corpus@text", "corpus@parallel", "evaluate_lm@gpt", "evaluate_translator@attention"} <= jobs
    assert "evaluate_transcriber@ctc" in jobs
    scores = json.loads((project / "metrics" / "evaluate_lm" / "kneser_ney.json").read_text())
    assert scores["perplexity_per_word"] > 1 and scores.get("floor_perplexity_per_word") is None
    assert "person" in (project / "data" / "words" / "vocabulary.json").read_text()


def test_own_labels_and_tags(project: Path) -> None:
    """What can be told from one word is learnt; their splits are cut by hash, and stratified."""
    assert json.loads((project / "metrics" / "evaluate_classifier" / "logistic.json").read_text())["accuracy"] > 0.95
    assert json.loads((project / "metrics" / "evaluate_tagger" / "hmm.json").read_text())["accuracy"] > 0.95
    assert json.loads((project / "data" / "clean" / "labels" / "labels.json").read_text())["labels"] == ["bad", "good"]
    page = (project / "reports" / "index.html").read_text()
    assert "TextCNN" in page and "PLACE" in page


@pytest.mark.parametrize(
    ("rung", "family", "side", "network"),
    [
        ("kneser_ney", "lm", "text", False),
        ("gpt", "lm", "text", True),
        ("skipgram", "embedding", "text", False),
        ("logistic", "classifier", "labels", False),
        ("textcnn", "classifier", "labels", True),
        ("hmm", "tagger", "tags", False),
        ("attention", "translator", "parallel", True),
    ],
)
def test_a_call_in_python_makes_the_model_of_the_stages(
    project: Path, rung: str, family: str, side: str, network: bool
) -> None:
    """The same bytes from the same files, settings and seed; the stages add where it comes from, and a card."""
    word = {"tokenizer.kind": "word", "tokenizer.vocab_size": None, "tokenizer.min_frequency": 1}
    steps = {"training.max_steps": 20, "training.warmup_steps": 5} if network else {}  # as debug: fast has it
    model = ll.train(
        rung,
        **{SIDES[side].argument: project / "input" / side},
        size="tiny",
        settings=steps | ({"model.epochs": 1} if rung == "skipgram" else {}),
        data=word if side in ("text", "parallel") else {},
    )
    stages = project / "models" / family / rung
    files = {file.name for file in model.folder.iterdir()}
    assert {file.name for file in stages.iterdir()} == files | {"provenance.json", "README.md"}
    for name in files:
        assert (model.folder / name).read_bytes() == (stages / name).read_bytes(), name


def test_a_broken_line_of_labels_is_refused_with_its_number(project: Path) -> None:
    file = project / "input" / "labels" / "mine.tsv"
    whole = file.read_text()
    file.write_text(whole + "only one column\n")
    output = run(project, "dvc", "repro", "clean@labels", check=False)
    assert "mine.tsv:402" in output and "Traceback" not in output
    assert (project / "models" / "classifier" / "textcnn" / "model.safetensors").is_file()
    file.write_text(whole)


def test_a_corpus_of_one_document_cannot_be_split(project: Path) -> None:
    (project / "input" / "text" / "mine.txt").write_text("one single line of text\n")
    output = run(project, "dvc", "repro", "train_lm", check=False)
    assert "failed to reproduce" in output
    assert "document" in output and "Traceback" not in output
    assert (project / "models" / "lm" / "gpt" / "model.safetensors").is_file()  # nothing of the last run is lost


def test_a_corpus_smaller_than_the_context_trains_on_what_there_is(project: Path) -> None:
    """Its held-out lines together are shorter than the GPT's window of 64 tokens."""
    (project / "input" / "text" / "mine.txt").write_text("\n".join(sentences(30, seed=1)) + "\n")
    with forking(project):
        output = run(project, "dvc", "repro", "evaluate_lm")
    assert {"train_lm@gpt", "evaluate_lm@gpt"} <= ran(output)
    sizes = json.loads((project / "data" / "tokens" / "text" / "sizes.json").read_text())
    assert 0 < sizes["validation"]["words"] < 64
    assert 1 < json.loads((project / "metrics" / "evaluate_lm" / "gpt.json").read_text())["perplexity_per_word"] < 1000
