"""Corpora: text with its log-probabilities, sentence pairs, labelled texts. Same arguments, same rows, on any machine.

Text is drawn in shards of `SHARD` stories, each from a seed of its own, so that they can be drawn at the same time.
"""

import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from random import Random
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from microworld.engine import Line, World, world
from microworld.grammar import Rule
from microworld.lexicon import HERE, MOODS, SUBJECTS, table
from microworld.notation import RuleError
from microworld.translation import Translation

Size = Literal["tiny", "small", "medium", "base"]
Task = Literal["subject", "mood"]
Tagging = Literal["pos", "entities"]
SPLITS = ("train", "validation", "test")
SHARD = 5_000
"""Stories."""


class Counts(NamedTuple):
    """How much of everything a size has, by split.

    Attributes:
        stories: of 70 words on average. pairs: of two lines each. labelled: texts. tagged: lines.
        paragraphs: with two questions each.
    """

    stories: tuple[int, int, int]
    pairs: tuple[int, int, int]
    labelled: tuple[int, int, int]
    tagged: tuple[int, int, int]
    paragraphs: tuple[int, int, int]


SIZES: dict[Size, Counts] = {
    "tiny": Counts((250, 20, 20), (1_500, 80, 80), (100, 60, 60), (200, 60, 60), (120, 15, 15)),
    "small": Counts((39_000, 350, 700), (40_000, 500, 1_000), (200, 500, 1_500), (200, 300, 1_500), (2_400, 300, 300)),
    "medium": Counts(
        (200_000, 700, 1_400), (200_000, 1_000, 2_000), (200, 500, 2_000), (200, 500, 2_000), (2_400, 300, 300)
    ),
    "base": Counts(
        (1_000_000, 1_400, 2_800), (500_000, 1_000, 2_000), (200, 500, 2_000), (200, 500, 2_000), (12_000, 1_500, 1_500)
    ),
}
TEXT = pa.schema([("document", pa.int64()), ("text", pa.string()), ("log_prob", pa.float64())])
PAIRS = pa.schema([("source", pa.string()), ("target", pa.string())])
LABELLED_LINES = (5, 8)
TURNS = 3.5
"""In labelled texts the mood changes so many times as often as in others. What the words tell of it is the same."""


def shards(stories: int) -> list[tuple[int, int]]:
    """(number of the shard, its stories)."""
    return [(start // SHARD, min(SHARD, stories - start)) for start in range(0, stories, SHARD)]


def draw_shards(seed: int, split: str, stories: int, jobs: int) -> Iterator[pa.Table]:
    """Text, shard by shard, drawn by so many processes; the same whatever their number. See `draw_text`."""
    numbers, counts = zip(*shards(stories), strict=True)
    jobs = min(jobs, len(numbers))
    if jobs == 1:
        yield from map(draw_text, repeat(seed), repeat(split), numbers, counts)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(draw_text, repeat(seed), repeat(split), numbers, counts)


def draw_text(seed: int, split: str, shard: int, stories: int) -> pa.Table:
    """A shard of text: a row a line.

    Returns:
        document: the number of the story in its split. text: the words of the line. log_prob: exact natural log of the
            probability of the line given the lines before it; of the training text, which nobody scores, null.
    """
    here, rng = world(), Random(f"{seed} text {split} {shard}")
    documents, lines, log_probs = list[int](), list[str](), list[float | None]()
    for number in range(stories):
        story = here.draw(rng)
        documents += [shard * SHARD + number] * len(story)
        lines += [line.text for line in story]
        log_probs += [None] * len(story) if split == "train" else scores(here, story)
    return pa.table([documents, lines, log_probs], schema=TEXT)


def scores(here: World, story: list[Line]) -> list[float]:
    """The log-probability of each line of a drawn story."""
    reading = here.read(line.words for line in story)
    assert reading is not None
    # the last bits of a logarithm differ between machines
    return [round(math.fsum(line), 9) for line in reading.log_probs]


def draw_pairs(seed: int, split: str, count: int) -> pa.Table:
    """English–Esperanto pairs: two consecutive lines of a story each."""
    here, rng, rows = world(), Random(f"{seed} pairs {split}"), list[tuple[str, str]]()
    translation = _translation()
    while len(rows) < count:
        story = here.draw(rng)
        for first, second in zip(story[::2], story[1::2], strict=False):
            target = [
                *translation.translate(first.words, first.ways),
                *translation.translate(second.words, second.ways),
            ]
            rows.append((f"{first.text} {second.text}", " ".join(target)))
    sources, targets = zip(*rows[:count], strict=True)
    return pa.table([list(sources), list(targets)], schema=PAIRS)


def draw_labels(seed: int, split: str, count: int, task: Task) -> Iterator[dict[str, Any]]:
    """Labelled texts: stories of few lines, and their subject, or their mood at the end.

    Yields:
        text, label; log_prob: ln P(label | text), exact; ceiling: P(most probable label | text).
    """
    here, rng = _turning(), Random(f"{seed} {task} {split}")
    names = SUBJECTS if task == "subject" else MOODS
    for _ in range(count):
        story = here.draw(rng, rng.randint(*LABELLED_LINES))
        reading = here.read(line.words for line in story)
        assert reading is not None
        belief = reading.belief.reshape(len(SUBJECTS), len(MOODS))
        chances = belief.sum(axis=1 if task == "subject" else 0)
        label = here.subject_of(story[-1].state) if task == "subject" else here.mood_of(story[-1].state)
        yield {
            "text": " ".join(line.text for line in story),
            "label": label,
            "log_prob": round(math.log(chances[names.index(label)]), 9),
            "ceiling": round(float(chances.max()), 9),
        }


TAGS = {
    # class or remembered value → part of speech
    **dict.fromkeys(("NAME", "TOWN", "known name", "known town"), "PROPN"),
    **dict.fromkeys(("JOB", "LIKE", "SAYING", "NOUN", "PLACE", "ROLE", "ROLETHING"), "NOUN"),
    **dict.fromkeys(("known job", "known like", "known saying"), "NOUN"),
    **dict.fromkeys(("VERB", "ACT", "DEED", "TAKE", "ROLEVERB"), "VERB"),
    **dict.fromkeys(("LOOK", "FEELING", "PLAIN"), "ADJ"),
    "MANNER": "ADV",
}
ENTITIES = {"NAME": "PER", "known name": "PER", "TOWN": "LOC", "known town": "LOC"}


def draw_tags(seed: int, split: str, count: int, task: Tagging) -> Iterator[dict[str, list[str]]]:
    """Tagged lines, few of them for training: the part of speech of each word, or persons and places (IOB2).

    A word's part of speech follows from its line; of some words (sails: a noun or a verb) not from the word alone.

    Yields:
        words, tags. Every line is right in one way only, so the best possible accuracy is 1.
    """
    here, rng = world(), Random(f"{seed} {task} {split}")
    drawn = 0
    while drawn < count:
        story = here.draw(rng)
        reading = here.read(line.words for line in story)
        assert reading is not None
        for line, kinds in zip(story[: count - drawn], reading.kinds, strict=False):
            tag = part_of_speech if task == "pos" else _entity
            yield {"words": line.words, "tags": [tag(line.words, kinds, index) for index in range(len(kinds))]}
            drawn += 1


def part_of_speech(words: list[str], kinds: list[str], index: int) -> str:
    """The universal part of speech (Nivre et al. 2020) of a word of a line, from what `World.read` says of the line."""
    kind = kinds[index].partition(".")[0]
    if kind != "word" and kind in TAGS:
        # france is a name that follows from paris, french a word that does
        return "NOUN" if words[index] in _languages() else TAGS[kind]
    if words[index] == "her" and kinds[index + 1].startswith(("LOOK", "ROLETHING")):
        return "DET"
    if words[index] not in _function_words():
        raise RuleError(f"function_words.tsv: expected a row with the part of speech of {words[index]}")
    return _function_words()[words[index]]


def _entity(words: list[str], kinds: list[str], index: int) -> str:
    kind = ENTITIES.get(kinds[index].partition(".")[0], "")
    return f"B-{kind}" if kind and words[index] not in _languages() else "O"


NAMED = {"person": "PER", "place": "LOC", "organisation": "ORG"}
"""Rule of names.rules → what its words name."""


def draw_names(rng: Random) -> Iterator[dict[str, list[str]]]:
    """Sentences without end with names of persons, places and organisations, of one to three words.

    Yields:
        words, tags: IOB2. Of a name that several kinds share, the words may not show the kind.
    """
    here = _names()
    while True:
        (line,) = here.draw(rng, 1)
        tagged = _named(here.start, iter(line.words), iter(line.ways))
        yield {"words": line.words, "tags": [tag for _, tag in tagged]}


def _named(rule: Rule, words: Iterator[str], ways: Iterator[int]) -> list[tuple[str, str]]:
    names = list[tuple[str, str]]()
    for symbol in rule.ways[next(ways)]:
        names += _named(symbol, words, ways) if isinstance(symbol, Rule) else [(next(words), "O")]
    if kind := NAMED.get(rule.call.rule):
        return [(word, f"{'I' if index else 'B'}-{kind}") for index, (word, _) in enumerate(names)]
    return names


@cache
def _names() -> World:
    return World(path=HERE / "names.rules")


@cache
def _languages() -> frozenset[str]:
    return frozenset(row["language"] for row in table("lands"))


@cache
def _function_words() -> dict[str, str]:
    return {row["word"]: row["tag"] for row in table("function_words")}


@cache
def _translation() -> Translation:
    return Translation(world())


@cache
def _turning() -> World:
    return World(curves={"turns": (TURNS,)})
