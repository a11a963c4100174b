"""Truth sets of the older world: formats, words inside the vocabulary."""

from pathlib import Path

import pytest

from langladder.corpora.microworld import MicroworldConfig, count_words, generate_text, write_truth
from langladder.corpora.truth import likeness
from langladder.corpora.world import world

TINY = MicroworldConfig(size="tiny")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("truth")
    write_truth(TINY, path)
    return path


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_every_word_of_the_truth_is_in_the_vocabulary(folder: Path) -> None:
    known = count_words(generate_text(TINY)["train"]["text"].to_pylist())
    words = [line.split() for line in lines(folder / "analogies.txt") if not line.startswith(":")]
    words += [line.split("\t")[:2] for line in lines(folder / "similarity.tsv")]
    assert {word for row in words for word in row} <= set(known)


def test_same_seed_same_bytes(folder: Path, tmp_path: Path) -> None:
    write_truth(TINY, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }


def test_analogies_have_the_format_and_enough_questions(folder: Path) -> None:
    sections, questions = [], []
    for line in lines(folder / "analogies.txt"):
        (sections if line.startswith(": ") else questions).append(line)
    assert len(sections) == 10
    assert len(questions) >= 500
    assert all(len(set(question.split())) == 4 for question in questions)
    assert len(questions) == len(set(questions))


def test_golden_likeness() -> None:
    nouns = world("tiny").lexicon.nouns
    assert likeness(nouns["king"], nouns["queen"]) == 9.0  # a couple
    assert likeness(nouns["dog"], nouns["cat"]) == 8.0  # same group: 2·4 / (5 + 5)
    assert likeness(nouns["dog"], nouns["horse"]) == 6.0  # both animals
    assert likeness(nouns["dog"], nouns["teacher"]) == 4.0  # both living
    assert likeness(nouns["dog"], nouns["hammer"]) == 2.0  # nothing but the root
