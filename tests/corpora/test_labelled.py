"""microworld's labelled corpora: exact posteriors, against enumeration, the inside algorithm and simulation."""

import math
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

from langladder.corpora import labelled
from langladder.corpora.grammar import Grammar, Rule
from langladder.corpora.labelled import (
    CLOSED,
    LabelledWorldConfig,
    PartsOfSpeech,
    TaggedWorldConfig,
    drawing,
    write_labels,
    write_tags,
)
from langladder.corpora.reviews import Readings, review
from langladder.corpora.rules import reviews as rules
from langladder.corpora.world import PRODUCTIONS, world
from langladder.ground.errors import InputError
from langladder.text.labelled.labelled import Example, bayes_accuracy, read_labelled, read_tagged, read_tree
from langladder.text.storage.shards import SPLITS

LABELS = ("sentiment", "sentiment_5")
TAGS = ("pos", "entities")
STARTS = {"Opined": 0.3, "Naming": 0.5, "Spoken": 0.5}


def config(task: str, **more: Any) -> LabelledWorldConfig | TaggedWorldConfig:
    kind: Any = TaggedWorldConfig if task in TAGS else LabelledWorldConfig
    return kind(size="tiny", task=task, **more)  # type: ignore[no-any-return]


# ---- the posterior


@pytest.mark.parametrize("start", STARTS)
def test_a_sentence_is_as_likely_as_all_its_readings_together(start: str) -> None:
    """ln P(words) by the inside algorithm = ln P(tree) − ln P(tree | words): nothing else has several readings."""
    grammar, symbol = world("tiny").grammar, (start, STARTS[start])
    readings, rng = Readings(grammar), Random(3)
    several = 0
    for _ in range(60):
        tree, log_prob = grammar.sample(rng, symbol)
        found = list(readings.all(tree))
        several += bool(found)
        posterior = sum(math.log(chances[node.rule.target]) for node, chances in found)
        assert grammar.inside(tree.source(), symbol) == pytest.approx(log_prob - posterior, abs=1e-9)
    assert several > 5


def small_grammar(monkeypatch: pytest.MonkeyPatch, depth: int, links: int, valued: list[Rule]) -> Grammar:
    """The rules of reviews with one thing, one name, few words, so that all derivations can be gone through."""
    monkeypatch.setattr(rules, "INTENSIFIERS", (("very", "tre", 1.0),))
    monkeypatch.setattr(rules, "ATTITUDES", (("says", 0.4), ("doubts", 0.6)))
    monkeypatch.setattr(rules, "DEPTH", depth)
    monkeypatch.setattr(rules, "LINKS", links)
    told = [
        Rule(0.7, ("the", "film", "was", ("Opinions", 0.2)), (0,)),
        Rule(0.2, ("the", "film", "was", "new"), ("0",)),
    ]
    told.append(Rule(0.1, (("Anyone",), "liked", "the", "film"), (0, "1")))
    own = {"Valued": valued, "Told": told, "Anyone": [Rule(1.0, ("anna",), ("anna",))]}
    return Grammar(("Opined", 0.2), lambda symbol: own.get(symbol[0]) or PRODUCTIONS[symbol[0]](None, *symbol[1:]))


@pytest.mark.parametrize(("depth", "links"), [(0, 1), (2, 0)])
def test_the_posterior_of_every_review_is_that_of_enumeration(
    monkeypatch: pytest.MonkeyPatch, depth: int, links: int
) -> None:
    """P(label | words) = Σ P(derivations of the words that have it) / Σ P(those of the words)."""
    valued = [Rule(0.6, ("nice",), ("1",)), Rule(0.3, ("wicked",), ("2",)), Rule(0.1, ("wicked",), ("-2",))]
    grammar = small_grammar(monkeypatch, depth, links, valued)
    readings = Readings(grammar)
    joint: dict[str, Counter[int]] = defaultdict(Counter)
    found = {}
    for tree, log_prob in grammar.enumerate():
        phrase = review(tree, readings)
        text = " ".join(tree.source())
        joint[text][phrase.label] += math.exp(log_prob)  # type: ignore[assignment]
        assert found.setdefault(text, phrase.chances) == phrase.chances
    assert math.fsum(sum(chances.values()) for chances in joint.values()) == pytest.approx(1)
    assert sum(len(chances) > 1 for chances in joint.values()) > 20
    for text, chances in joint.items():
        total = sum(chances.values())
        assert found[text] == pytest.approx([chances[label] / total for label in range(5)]), text


def test_golden_labels_of_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each word of composition does, by hand; nice is 3, awful 0."""
    valued = [Rule(0.5, ("nice",), ("1",)), Rule(0.5, ("awful",), ("-2",))]
    labels: dict[str, int] = {}
    for depth, links in ((0, 1), (2, 0)):
        grammar = small_grammar(monkeypatch, depth, links, valued)
        readings = Readings(grammar)
        labels |= {" ".join(tree.source()): review(tree, readings).label for tree, _ in grammar.enumerate()}
    wanted = {
        "the film was nice .": 3,
        "the film was very nice .": 4,
        "the film was not awful .": 3,
        "the film was not very nice .": 1,
        "the film was not nice but awful .": 0,
        "the film was nice and awful .": 0,
        "the film was new .": 2,
        "anna liked the film .": 3,
        "the film was awful , but the film was nice .": 3,
        "the film was awful , and the film was nice .": 0,
        "although the film was nice , the film was awful .": 0,
        "anna liked the film , but the film was new .": 2,
        "anna says that the film was awful .": 0,
        "anna doubts that the film was awful .": 3,
        "anna doubts that anna doubts that the film was awful .": 1,
    }
    assert {text: labels[text] for text in wanted} == wanted


def test_golden_review() -> None:
    """Of "not wicked but nice" the last decides; of "not very wicked", wicked (0.7 well meant) flips and weakens."""
    readings = Readings(world("tiny").grammar)

    def chances(words: str) -> list[float]:
        rng = Random(1)
        for _ in range(200_000):
            tree = world("tiny").grammar.sample(rng, ("Graded", 0.9)).tree
            if " ".join(tree.source()) == words:
                from langladder.corpora.reviews import _graded

                return list(_graded(tree, readings).chances)
        raise AssertionError(words)

    assert chances("very wicked") == pytest.approx([0.3, 0, 0, 0, 0.7])
    assert chances("quirky") == pytest.approx([0, 0.35, 0, 0.65, 0])
    assert chances("really quirky") == pytest.approx([0.35, 0, 0, 0, 0.65])


def bayes(task: str, draws: int, **more: Any) -> tuple[float, float, float]:
    """Share of draws whose label is the likeliest; mean ceiling; standard error."""
    drawn, rng = drawing(config(task, **more)), Random(9)
    right, ceilings = 0.0, []
    for _ in range(draws):
        row = drawn(rng)
        if "ceiling" in row:
            ceilings.append(row["ceiling"])
            right += math.exp(row["log_prob"]) > row["ceiling"] - 1e-6
        else:  # of a sentence: all tags are the likeliest
            ceilings.append(math.prod(row["ceilings"]))
            right += math.exp(row["log_prob"]) > ceilings[-1] - 1e-6
    mean = sum(ceilings) / draws
    return right / draws, mean, math.sqrt(mean * (1 - mean) / draws)


@pytest.mark.parametrize("task", (*LABELS, *TAGS))
def test_the_mean_ceiling_is_the_accuracy_of_the_best_classifier(task: str) -> None:
    accuracy, ceiling, error = bayes(task, 1500, ambiguity=0.4)
    assert ceiling < 0.97 and abs(accuracy - ceiling) < 4 * error
    assert bayes(task, 100, ambiguity=0.0)[:2] == (1.0, 1.0)


# ---- the corpora


def written(folder: Path, task: str, **more: Any) -> Path:
    settings = config(task, **more)
    if isinstance(settings, LabelledWorldConfig):
        write_labels(settings, folder)
    else:
        write_tags(settings, folder)
    return folder


@pytest.mark.parametrize("task", (*LABELS, *TAGS))
def test_same_settings_same_bytes_and_no_held_out_text_in_train(tmp_path: Path, task: str) -> None:
    one, two = written(tmp_path / "one", task), written(tmp_path / "two", task)
    texts = []
    for split, count in zip(SPLITS, (480, 60, 60), strict=True):
        file = f"{split}.parquet"
        assert (one / file).read_bytes() == (two / file).read_bytes()
        rows: Any = read_tagged(one / file) if task in TAGS else read_labelled(one / file)
        assert len(rows) == count
        texts.append({row.words if task in TAGS else row.text for row in rows})
        ceiling = bayes_accuracy(one / file)
        assert ceiling is not None and 0.8 < ceiling < 1
    assert not texts[0] & (texts[1] | texts[2]) and not texts[1] & texts[2]
    other = written(tmp_path / "other", task, seed=2)
    assert (one / "train.parquet").read_bytes() != (other / "train.parquet").read_bytes()


def test_a_tree_has_the_label_of_its_root_and_the_words_of_its_text(tmp_path: Path) -> None:
    for task, names in (("sentiment", {"negative", "positive", None}), ("sentiment_5", set("01234"))):
        for one in read_labelled(written(tmp_path / task, task) / "train.parquet"):
            tree = read_tree(one)
            assert tree.label[-1] == one.label and " ".join(tree.words) == one.text
            assert set(tree.label) <= names and all(len(parts) in (0, 2) for parts in tree.children)


def test_order_decides_where_words_are_the_same() -> None:
    """Reviews with the same words, up to what they speak of and how, and other labels: no bag of words tells them."""
    drawn, rng, lexicon = drawing(config("sentiment", ambiguity=0.0)), Random(2), world("tiny").lexicon
    things = {form for noun in lexicon.nouns.values() for form in (noun.singular, noun.plural)} | set(lexicon.names)
    valence = {word: str(opinion.valence) for word, opinion in lexicon.opinions.items()}
    labels: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for _ in range(2000):
        row = drawn(rng)
        words = (valence.get(word, word) for word in row["text"].split() if word not in things)
        labels[tuple(sorted(words))].add(row["label"])
    assert sum(len(found) > 1 for found in labels.values()) > 5


def test_reviews_differ_in_length_of_composition(tmp_path: Path) -> None:
    rows = read_labelled(written(tmp_path, "sentiment") / "train.parquet")
    heights = Counter(max(read_tree(row).heights) for row in rows)
    assert min(heights) <= 6 and max(heights) >= 20 and len(heights) > 12


@pytest.mark.parametrize("size", ["tiny", "small", "base"])
def test_every_word_of_a_sentence_has_its_part_of_speech(size: Any) -> None:
    place, rng = world(size), Random(4)
    parts = PartsOfSpeech(place.lexicon)
    seen: dict[str, set[str]] = defaultdict(set)
    for _ in range(400):
        tree = place.grammar.sample(rng, ("Spoken", 0.2)).tree
        words, tags = tree.source(), parts.tags(tree)
        assert len(words) == len(tags)
        for word, tag in zip(words, tags, strict=True):
            seen[word].add(tag)
    assert set().union(*seen.values()) <= {*CLOSED, "PROPN"}
    assert seen["her"] <= {"DET", "PRON"} and seen["closed"] == {"ADJ", "VERB"}


def test_golden_parts_of_speech() -> None:
    place, rng = world("tiny"), Random(1)
    parts = PartsOfSpeech(place.lexicon)
    wanted = {
        "Geography": (
            "in france people speak french and pay with the franc",
            "ADP PROPN NOUN VERB PROPN CCONJ VERB ADP DET NOUN",
        ),
        "Named": ("mary liked the walk", "PROPN VERB DET NOUN"),
    }
    for start, (sentence, tags) in wanted.items():
        trees = (place.grammar.sample(rng, (start,)).tree for _ in range(20_000))
        tree = next(tree for tree in trees if " ".join(tree.source()) == sentence)
        assert parts.tags(tree) == tags.split()


def test_tags_of_names_bracket_phrases(tmp_path: Path) -> None:
    from langladder.text.labelled.labelled import bad_steps

    for one in read_tagged(written(tmp_path, "entities") / "train.parquet"):
        assert one.tags is not None and not bad_steps(one.tags, "IOB2")
        assert one.ceilings is not None and len(one.ceilings) == len(one.words)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled, "drawing", lambda _: lambda _: {"text": "the same", "label": "a"})
    with pytest.raises(InputError, match="examples: there are fewer different texts"):
        write_labels(LabelledWorldConfig(size="tiny", examples=30), tmp_path)


def test_an_example_of_the_corpus_is_one_of_the_house(tmp_path: Path) -> None:
    one = read_labelled(written(tmp_path, "sentiment") / "test.parquet")[0]
    assert isinstance(one, Example) and one.log_prob is not None and one.log_prob <= 0
