"""What classifiers, taggers and readers say of a text, as the page Read shows it; odd texts."""

from pathlib import Path
from typing import Any

import pytest

from langladder.answers.classify import right_branching
from langladder.faces.explorer import reading
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.reading.reader import Reader
from langladder.models.tagging.tagger import Tagger
from langladder.text.labelled.labelled import parse_tree
from tests.faces.explorer import small_readers

TREE = "((good) ((film) (.)))"
label: Any = reading.label_text  # JSON, as the page reads it
tagged: Any = reading.tag_text
answers: Any = reading.answer_question


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("read")
    small_readers.classifiers(root)
    small_readers.tagger(root)
    small_readers.readers(root)
    return root


def classifier(models: Path, name: str) -> Classifier:
    return Classifier.load(models / "classifier" / name)


def test_words_and_probabilities_of_a_counted_classifier(models: Path) -> None:
    result = label(classifier(models, "logistic"), "good film .")
    assert result["labels"][0]["label"] == "yes"
    assert sum(item["probability"] for item in result["labels"]) == pytest.approx(1)
    assert result["words"][0]["text"] == "good" and result["words"][0]["kind"] == "for-4"
    assert not result["attention"] and result["tree"] is None and not result["note"]


def test_a_tree_is_read_by_its_words_where_no_trees_are_read(models: Path) -> None:
    plain, tree = (label(classifier(models, "logistic"), text) for text in ("good film .", TREE))
    assert plain == tree
    brackets = label(classifier(models, "logistic"), "(good film")  # no tree: a text in brackets
    assert brackets["words"][0]["text"].startswith("(")


def test_attention_is_reported(models: Path) -> None:
    result = label(classifier(models, "attentive"), "not bad film .")
    assert [mark["text"] for mark in result["attention"]] == ["not", "bad", "film", "."]
    assert any(mark["kind"].startswith("seen") for mark in result["attention"])


def test_every_node_of_a_tree_is_drawn_and_described(models: Path) -> None:
    result = label(classifier(models, "trees"), TREE)
    assert result["tree"].startswith("<svg") and result["tree"].count("<title>") == len(result["nodes"]) == 5
    assert result["nodes"][0]["text"] == "good film ." and result["nodes"][0]["label"] == result["labels"][0]["label"]
    assert result["legend"].keys() == {"no", "yes"} and not result["note"]


def test_a_text_without_brackets_branches_to_the_right(models: Path) -> None:
    plain = label(classifier(models, "trees"), "good film .")
    assert "branches to the right" in plain["note"]
    assert plain["labels"] == label(classifier(models, "trees"), TREE)["labels"]
    assert parse_tree(right_branching(["a", "b", "c"])) == parse_tree("((a) ((b) (c)))")


def test_a_large_tree_is_described_but_not_drawn(models: Path) -> None:
    result = label(classifier(models, "trees"), "film " * 60)
    assert result["tree"] is None and result["too_large"] and result["nodes"]


def test_markup_in_a_text_stays_text(models: Path) -> None:
    result = label(classifier(models, "trees"), "<script>x</script> <img/onerror=1>")
    assert "<script" not in result["tree"] and "<img" not in result["tree"] and "&lt;script" in result["tree"]


@pytest.mark.parametrize("text", ["(good", "(good))", "()", "(a", "good (film", " ", "x " * 3000])
def test_what_is_no_tree_is_refused_clearly(models: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"tree|words"):
        label(classifier(models, "trees"), text)


def test_tags_with_their_meaning_and_the_second_best(models: Path) -> None:
    tagger = Tagger.load(models / "tagger/hmm")
    result = tagged(tagger, "the cat\nsleeps.", "apart")
    assert result["words"] == ["the", "cat", "sleeps", "."] and result["tags"] == ["DET", "NOUN", "VERB", "PUNCT"]
    assert result["names"]["NOUN"] == "noun" and all(0 <= p <= 1 for p in result["probabilities"])
    assert tagged(tagger, "((a) (cat))", "whitespace")["words"] == ["a", "cat"]


@pytest.mark.parametrize(
    ("tag", "means"), [("B-PER", "first word of a person"), ("O", "no name"), ("NN", ""), ("B-", ""), ("X", "other")]
)
def test_golden_meanings_of_tags(tag: str, means: str) -> None:
    assert reading.tag_in_words(tag) == means


@pytest.mark.parametrize("sentence", ["", " \n ", "x " * 3000])
def test_no_word_or_too_many_is_refused(models: Path, sentence: str) -> None:
    with pytest.raises(InputError, match="word"):
        tagged(Tagger.load(models / "tagger/hmm"), sentence, "whitespace")


def test_spans_and_options(models: Path) -> None:
    text, spans = "anna ate the apple . peter saw the pear .", Reader.load(models / "reader/spans")
    result = answers(spans, f" {text} ", "who ate the apple ?", ["ignored"])
    first = result["answers"][0]
    assert first["text"] == "anna" and result["context"][first["start"] :].startswith("anna")
    choosing = Reader.load(models / "reader/options")
    chosen = answers(choosing, text, "what did anna eat ?", ["apple", "pear"])
    assert chosen["answers"][0]["text"] == "apple" and chosen["chooses"]
    for options in ([], ["pear"], ["pear", "pear"]):
        with pytest.raises(InputError, match="two or more"):
            answers(choosing, text, "what ?", options)
    for context, question in (("", "who ?"), (text, " "), ("x " * 3000, "who ?")):
        with pytest.raises(InputError, match=r"paragraph|question"):
            answers(spans, context, question, [])
