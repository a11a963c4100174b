"""microworld's stories as files of the pipeline: their content, and the exact probabilities stored with them."""

import json
import math
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from langladder.corpora.stories import (
    LabelledStoriesConfig,
    PairedStoriesConfig,
    StoriesConfig,
    TaggedStoriesConfig,
    stories_of,
    write_labels,
    write_pairs,
    write_stories,
    write_tags,
)
from langladder.text.storage.shards import SPLITS
from langladder.text.storage.tables import read_table
from microworld.corpora import SIZES
from microworld.engine import world
from microworld.lexicon import MOODS, SUBJECTS, table
from microworld.questions import LABELS, OPPOSITES, draw_entailment, draw_kinds

TINY = SIZES["tiny"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    write_stories(StoriesConfig(size="tiny", seed=1, stories=60), folder)
    return folder


def test_a_split_holds_its_stories_and_documents_are_numbered_through(text: Path) -> None:
    tables = {split: read_table(text / split) for split in SPLITS}
    numbers = {split: list(dict.fromkeys(table["document"].to_pylist())) for split, table in tables.items()}
    assert [len(number) for number in numbers.values()] == [60, *TINY.stories[1:]]
    assert [number for item in numbers.values() for number in item] == list(range(60 + sum(TINY.stories[1:])))
    assert tables["train"]["log_prob"].null_count == tables["train"].num_rows
    texts = {split: {json.dumps(story) for story in stories_of(table)} for split, table in tables.items()}
    assert not texts["train"] & (texts["validation"] | texts["test"])


def test_the_floor_is_that_of_the_stored_lines(text: Path) -> None:
    table = read_table(text / "test")
    floors = json.loads((text / "truth" / "floors.json").read_text())
    total, words = 0.0, 0
    for story in stories_of(table):
        reading = world().read(story)
        assert reading is not None
        total += math.fsum(p for line in reading.log_probs for p in line)
        words += sum(len(line) + 1 for line in story)
    assert floors["document"] == pytest.approx(math.exp(-total / words), abs=1e-5)
    alone, item, four = (window["perplexity"] for window in floors["windows"])
    assert alone > item > four > floors["document"]
    assert all(0 < window["error_percent"] < 10 for window in floors["windows"])


def test_same_settings_same_bytes(tmp_path: Path) -> None:
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_labels(LabelledStoriesConfig(size="tiny", seed=seed, examples=12), tmp_path / folder)
    a, b, c = ((tmp_path / folder / "train.parquet").read_bytes() for folder in "abc")
    assert a == b != c


def test_no_source_of_train_is_in_validation_or_test(tmp_path: Path) -> None:
    write_pairs(PairedStoriesConfig(size="tiny", pairs=300), tmp_path)
    sources = {split: set(pq.read_table(tmp_path / f"{split}.parquet")["source"].to_pylist()) for split in SPLITS}
    assert len(sources["train"]) > 290 and not sources["train"] & (sources["validation"] | sources["test"])
    first = pq.read_table(tmp_path / "train.parquet").slice(0, 1).to_pylist()[0]
    assert first["source"].count(" .") + first["source"].count(" ?") == 2  # two lines


@pytest.mark.parametrize(("task", "names"), [("mood", MOODS), ("subject", SUBJECTS)])
def test_labels_are_drawn_with_their_probabilities(tmp_path: Path, task: str, names: tuple[str, ...]) -> None:
    write_labels(LabelledStoriesConfig(size="small", seed=1, task=task, examples=20), tmp_path)  # type: ignore[arg-type]
    rows = pq.read_table(tmp_path / "test.parquet").to_pylist()
    shares = Counter(row["label"] for row in rows)
    assert set(shares) == set(names) and max(shares.values()) < 1.4 * len(rows) / len(names)
    assert all(row["log_prob"] <= math.log(row["ceiling"]) + 1e-8 for row in rows)
    assert 0.9 < sum(row["ceiling"] for row in rows) / len(rows) < 1
    # where there is one best guess, it is right as often as its probability says
    sure = [row for row in rows if row["ceiling"] > 0.5]
    p = sum(row["ceiling"] for row in sure) / len(sure)
    right = sum(abs(math.exp(row["log_prob"]) - row["ceiling"]) < 1e-8 for row in sure) / len(sure)
    assert right == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / len(sure)) + 1e-3)


def test_what_an_open_question_asks_for_has_its_probability_by_the_rules() -> None:
    """By hand: P(kind | form) is in proportion to the weight of the kind times the share of the form in its rule."""
    shares = {
        "what does": {"person": 2 * 3 / 6, "place": 2 * 1 / 4, "thing": 2 * 1 / 5, "job": 1 / 4},
        "what did": {"person": 2 * 2 / 6, "place": 2 * 2 / 4, "thing": 2 * 1 / 5},
        "choose": {"person": 2 * 1 / 6, "place": 2 * 1 / 4, "thing": 2 * 3 / 5, "job": 3 / 4},
    }
    result = defaultdict(Counter[str])
    for row in islice(draw_kinds(Random(1), 0.9), 1500):
        if row["ceiling"] < 1:
            form = "choose" if "choose" in row["text"] else " ".join(row["text"].split()[:2])
            total = sum(shares[form].values())
            assert math.exp(row["log_prob"]) == pytest.approx(shares[form][row["label"]] / total), row
            assert row["ceiling"] == pytest.approx(max(shares[form].values()) / total)
            result[form][row["label"]] += 1
    for form, labels in result.items():  # and they are drawn so often
        count, p = labels.total(), max(shares[form].values()) / sum(shares[form].values())
        assert count > 100
        assert max(labels.values()) / count == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / count)), form


def test_the_words_of_a_clear_question_tell_what_it_asks_for() -> None:
    rows = list(islice(draw_kinds(Random(2), 0.0), 1000))
    assert {row["ceiling"] for row in rows} == {1.0} and {row["log_prob"] for row in rows} == {0.0}
    labels = defaultdict(set)
    for row in rows:
        labels[row["text"]].add(row["label"])
    assert all(len(label) == 1 for label in labels.values())
    assert set.union(*labels.values()) == {"person", "place", "thing", "job", "number", "reason", "yes_no"}


@pytest.mark.parametrize("task", ["questions", "entailment"])
def test_no_question_and_no_pair_is_in_two_splits(tmp_path: Path, task: Any) -> None:
    write_labels(LabelledStoriesConfig(size="small", task=task, examples=300), tmp_path)
    rows = {split: pq.read_table(tmp_path / f"{split}.parquet").to_pylist() for split in SPLITS}
    assert [len(row) for row in rows.values()] == [300, *SIZES["small"].labelled[1:]]
    train, validation, test = ({(row["text"], row["second"]) for row in item} for item in rows.values())
    assert not train & validation and not train & test and not validation & test
    unsure = sum(row["ceiling"] < 1 for row in rows["test"]) / len(rows["test"])
    assert unsure == pytest.approx(0.3, abs=0.05)


def label_of(first: set[str], second: set[str]) -> str:
    """The label of a pair, by the words that only one of its sentences has."""
    less, more = first - second, second - first
    locations = {location for row in table("nouns") for location in row["places"].split(",")}
    if not more:
        return "entailment"
    if less and (more <= locations or more <= {"two", "three"} or (more <= set(OPPOSITES) and less <= set(OPPOSITES))):
        return "contradiction"
    return "neutral"


def test_the_label_of_a_pair_is_what_its_words_say() -> None:
    labels = Counter[str]()
    for row in islice(draw_entailment(Random(1), 0.0), 600):
        assert row["label"] == label_of(set(row["text"].split()), set(row["second"].split())), row
        assert (row["log_prob"], row["ceiling"]) == (0.0, 1.0)
        labels[row["label"]] += 1
    assert set(labels) == set(LABELS) and min(labels.values()) > 150


def test_another_thing_may_be_another_event() -> None:
    """It contradicts with a probability of 0.65; nothing else is unclear."""
    unsure = [row for row in islice(draw_entailment(Random(2), 0.5), 1000) if row["ceiling"] < 1]
    assert len(unsure) == pytest.approx(500, abs=70)
    assert {row["ceiling"] for row in unsure} == {0.65}
    share = sum(row["label"] == "contradiction" for row in unsure) / len(unsure)
    assert share == pytest.approx(0.65, abs=4 * math.sqrt(0.65 * 0.35 / len(unsure)))
    for row in unsure:
        assert math.exp(row["log_prob"]) == pytest.approx(0.65 if row["label"] == "contradiction" else 0.35)


def test_a_word_has_the_tag_of_its_position(tmp_path: Path) -> None:
    write_tags(TaggedStoriesConfig(size="small", seed=1, examples=10), tmp_path)
    rows = pq.read_table(tmp_path / "test.parquet").to_pylist()
    tags: dict[str, set[str]] = {}
    for row in rows:
        assert len(row["words"]) == len(row["tags"]) == len(row["ceilings"])
        for word, tag in zip(row["words"], row["tags"], strict=True):
            tags.setdefault(word, set()).add(tag)
    assert tags["her"] == {"DET", "PRON"} and tags["lost"] == {"ADJ", "VERB"} and tags["likes"] == {"VERB"}
    assert tags["paris"] == {"PROPN"} == tags["france"] and tags["french"] == {"NOUN"}


def test_names_are_persons_or_places(tmp_path: Path) -> None:
    write_tags(TaggedStoriesConfig(size="tiny", seed=1, task="entities", examples=10), tmp_path)
    result = {
        (word, tag)
        for row in pq.read_table(tmp_path / "test.parquet").to_pylist()
        for word, tag in zip(row["words"], row["tags"], strict=True)
    }
    assert {tag for _, tag in result} == {"O", "B-PER", "B-LOC"}
    named = {kind: {word for word, tag in result if tag == f"B-{kind}"} for kind in ("PER", "LOC")}
    assert named["PER"] <= {row["word"] for row in table("names")}
    assert named["LOC"] <= {row[column] for row in table("lands") for column in ("town", "country")}
    assert (
        len(named["PER"]) > 5
        and len(named["LOC"]) > 5
        and not {word for word, tag in result if tag == "O"} & (named["PER"] | named["LOC"])
    )
