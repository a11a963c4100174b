"""Truth sets: formats, words inside the vocabulary, labels by composition, probes that are what they say."""

import json
import math
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from langladder.corpora import microworld, reviews
from langladder.corpora.grammar import Tree
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
    words += [line.split() for line in lines(folder / "groups.txt") if line[0] not in ":#"]
    words += [re.findall(r" ([^() ]+)\)", line) for line in lines(folder / "sentiment_trees.txt")]
    words += [" ".join(line.split("\t")[:2]).split() for line in lines(folder / "entailment.tsv")]
    for record in map(json.loads, lines(folder / "agreement.jsonl")):
        words.append(f"{record['good']} {record['bad']}".split())
    for record in map(json.loads, lines(folder / "qa.jsonl")):
        words.append(f"{record['question']} {record['answer']}".split())
    assert {word for row in words for word in row} <= set(known)


def test_same_seed_same_bytes(folder: Path, tmp_path: Path) -> None:
    write_truth(TINY, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }


def test_groups_are_those_of_the_lexicon(folder: Path) -> None:
    first, *rest = lines(folder / "groups.txt")
    assert first.startswith("#")  # so that a folder of truth sets never takes the file for analogy questions
    found = {name.removeprefix(": "): row.split() for name, row in zip(rest[::2], rest[1::2], strict=True)}
    assert len(found) == 27 + 4
    assert {"country", "country-capital", "animal-pet", "food-fruit", "drink", "thing-tool", "person-job"} <= set(found)
    words = [word for group in found.values() for word in group]
    assert len(words) == len(set(words))
    lexicon = world("tiny").lexicon
    assert all(lexicon.nouns[word].group == "job" for word in found["person-job"])
    capitals = {country.name: country.capital for country in lexicon.countries.values()}
    assert [capitals[name] for name in found["country"]] == found["country-capital"]


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


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("the film was wonderful .", 4),
        ("the film was nice .", 3),
        ("the film was very nice .", 4),
        ("the film was not nice .", 1),
        ("the film was not wonderful .", 1),
        ("the film was not terrible .", 3),
        ("the film was not very boring .", 3),
        ("the film was really boring .", 0),
        ("the film was wonderful , but the song is boring .", 1),
        ("the film was terrible , but the song is not boring .", 3),
        ("the film was boring , and the song was terrible .", 0),
        ("the film was wonderful , and the song was nice .", 4),
        ("john liked the film because it was nice .", 3),
        ("mary disliked the songs because they were terrible .", 0),
    ],
)
def test_golden_sentiment_labels(sentence: str, label: int) -> None:
    tree = derive(sentence.removesuffix(" .").split())
    labelled = reviews.label_review(world("tiny"), tree)
    assert labelled.label == label
    assert " ".join(labelled.words()) == sentence


def derive(tokens: list[str]) -> Tree:
    """The derivation of a review, by search: draw at each node among the rules that can still yield the words."""
    grammar = microworld.grammar("tiny")

    def parse(symbol: tuple[object, ...], words: list[str]) -> Tree | None:
        for _, rule in grammar.rules(symbol):
            children = match(list(rule.source), words)
            if children is not None:
                return Tree(symbol, rule, tuple(children))
        return None

    def match(items: list[object], words: list[str]) -> list[Tree] | None:
        if not items:
            return [] if not words else None
        if isinstance(items[0], str):
            return match(items[1:], words[1:]) if words and words[0] == items[0] else None
        for end in range(1, len(words) + 1):
            if grammar.inside(words[:end], items[0]) > -math.inf:  # type: ignore[arg-type]
                rest = match(items[1:], words[end:])
                first = parse(items[0], words[:end]) if rest is not None else None  # type: ignore[arg-type]
                if first is not None and rest is not None:
                    return [first, *rest]
        return None

    tree = parse(("Review",), tokens)
    assert tree is not None
    return tree


def test_sentiment_trees_are_binary_with_all_five_labels(folder: Path) -> None:
    labels: Counter[str] = Counter()
    for line in lines(folder / "sentiment_trees.txt"):
        assert line.count("(") == line.count(")") == 2 * len(re.findall(r" [^() ]+\)", line)) - 1
        labels[line[1]] += 1
    assert set(labels) == set("0134")  # a whole review is never neutral; its phrases are
    assert "(2 " in line


def test_agreement_probes_are_right_and_wrong(folder: Path) -> None:
    grammar = microworld.grammar("tiny")
    clauses: Counter[int] = Counter()
    for record in map(json.loads, lines(folder / "agreement.jsonl")):
        clauses[record["clauses"]] += 1
        assert record["good"].split().count("that") == record["clauses"]
        if clauses[record["clauses"]] <= 20:
            assert grammar.inside(record["good"].split()) > -math.inf
            assert grammar.inside(record["bad"].split()) == -math.inf
    assert set(clauses) == {0, 1, 2, 3, 4}
    assert min(clauses.values()) >= 100


def test_entailment_labels_are_balanced_and_follow(folder: Path) -> None:
    labels: Counter[str] = Counter()
    for line in lines(folder / "entailment.tsv"):
        premise, hypothesis, label = line.split("\t")
        labels[label] += 1
        assert premise != hypothesis
        assert (" not " in hypothesis) == (label == "contradiction")
        assert (len(hypothesis.split()) > len(premise.split())) == (label != "entailment")
    assert set(labels) == {"entailment", "contradiction", "neutral"}
    assert max(labels.values()) - min(labels.values()) <= 3


def test_questions_have_their_answers_in_the_world(folder: Path) -> None:
    answers = {record["question"]: record["answer"] for record in map(json.loads, lines(folder / "qa.jsonl"))}
    assert answers["what is the capital of france ?"] == "paris"
    assert answers["what is the currency of japan ?"] == "the yen"


def test_sampled_questions_match(folder: Path) -> None:
    """A question asked in the text is answered there as in the truth."""
    answers = {record["question"]: record["answer"] for record in map(json.loads, lines(folder / "qa.jsonl"))}
    grammar, rng = microworld.grammar("tiny"), Random(2)
    for _ in range(50):
        question, answer = " ".join(grammar.sample(rng, ("Question",)).tree.source()).split(" ? ")
        assert answers.get(question + " ?", answer) == answer
