"""microworld's labelled texts: reviews with their trees, and sentences with a tag a word, with exact posteriors."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal

import pyarrow as pa
from pydantic import Field

from langladder.corpora import sentiment
from langladder.corpora.lexicon import Lexicon, Size
from langladder.corpora.world import World, world
from langladder.schema import Config
from langladder.text.labelled import LABELLED, TAGGED
from langladder.text.tables import write_table

COUNTS = {"tiny": 600, "small": 6_000, "base": 60_000}
UNIT = ("examples", "sentences")
HELD_OUT = 0.1  # each, of validation and test
POLARITY = ("negative ", "negative ", "", "positive ", "positive ")


class LabelledWorldConfig(Config):
    """What to draw: `size` sets the lexicon and, unless `examples` does, how many."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    task: Literal["sentiment", "sentiment_5"] = "sentiment"
    examples: int | None = Field(default=None, ge=30)


class TaggedWorldConfig(Config):
    """What to draw, as `LabelledWorldConfig`."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    task: Literal["pos"] = "pos"
    examples: int | None = Field(default=None, ge=30)


def write_labels(config: LabelledWorldConfig, folder: Path) -> dict[str, Any]:
    """Draw labelled texts into a folder, a table a split. Same settings, same bytes.

    Returns:
        How many examples each split has, for the data report.
    """
    small, rng = world(config.size), Random(f"{config.seed} {config.task}")
    return _write(config, folder, LABELLED, lambda: _review(small, rng, config.task))


def write_tags(config: TaggedWorldConfig, folder: Path) -> dict[str, Any]:
    """Draw tagged sentences into a folder; otherwise as `write_labels`."""
    small, rng = world(config.size), Random(f"{config.seed} {config.task}")
    return _write(config, folder, TAGGED, lambda: _sentence(small, rng))


def _write(
    config: LabelledWorldConfig | TaggedWorldConfig,
    folder: Path,
    schema: pa.Schema,
    drawn: Callable[[], dict[str, Any]],
) -> dict[str, Any]:
    total = COUNTS[config.size] if config.examples is None else config.examples
    held = max(1, round(total * HELD_OUT))
    facts = {}
    for split, count in (("train", total - 2 * held), ("validation", held), ("test", held)):
        rows = [drawn() for _ in range(count)]
        write_table(folder / f"{split}.parquet", pa.Table.from_pylist(rows, schema=schema))
        facts[split] = {UNIT[schema is TAGGED]: count}
    return {"splits": facts}


def _review(small: World, rng: Random, task: str) -> dict[str, Any]:
    tree = sentiment.label_review(small, small.grammar.sample(rng, ("Review",)).tree)
    names = POLARITY if task == "sentiment" else tuple(f"{label} " for label in range(5))
    row = {"text": " ".join(tree.words()), "label": names[tree.label].strip(), "tree": _named(tree, names)}
    return row | {"log_prob": 0.0, "ceiling": 1.0}


def _named(tree: sentiment.Labelled, names: tuple[str, ...]) -> str:
    inner = tree.word or " ".join(_named(part, names) for part in tree.parts)
    return f"({names[tree.label]}{inner})"


CLOSED = {
    "DET": "the a an this every these some many my our his her their other",
    "AUX": "is are was were do does did will",
    "PRON": "he she it they them him what people",
    "ADP": "in near behind to of with for from than",
    "CCONJ": "and but",
    "SCONJ": "because while that",
    "NUM": "one two three four five",
    "PART": "not",
    "ADV": "very rather really extremely never now today tomorrow soon yesterday there here usually sometimes often",
    "ADJ": "last next right",
    "NOUN": "week year night day morning evening moment capital currency people",
    "PUNCT": ". , ?",
    "VERB": "lives speaks pays speak pay learn paid left born loves travelled came returned saw liked disliked",
}


def _sentence(small: World, rng: Random) -> dict[str, Any]:
    words = small.grammar.sample(rng).tree.source()
    table = _table(small.lexicon)
    return {
        "words": words,
        "tags": [table.get(word, "NOUN") for word in words],
        "log_prob": 0.0,
        "ceilings": [1.0] * len(words),
    }


_tables: dict[Size, dict[str, str]] = {}


def _table(lexicon: Lexicon) -> dict[str, str]:
    if lexicon.size not in _tables:
        _tables[lexicon.size] = dict(reversed(list(_entries(lexicon))))
    return _tables[lexicon.size]


def _entries(lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    for tag, words in CLOSED.items():
        yield from ((word, tag) for word in words.split())
    yield from ((name, "PROPN") for name in (*lexicon.names, *lexicon.countries))
    yield from ((country.capital, "PROPN") for country in lexicon.countries.values())
    for noun in lexicon.nouns.values():
        yield from ((form, "NOUN") for form in (noun.singular, noun.plural))
    for verb in lexicon.verbs.values():
        yield from ((form, "VERB") for form in verb.forms)
    for adjective in lexicon.adjectives.values():
        yield from ((form, "ADJ") for form in (adjective.positive, adjective.comparative, adjective.superlative))
    yield from ((word, "ADJ") for word in lexicon.opinions)
