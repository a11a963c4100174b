"""microworld's labelled corpora: texts with a label, sentences with one tag per word, and the labels' true
probabilities.

    sentiment, sentiment_5   reviews with their trees: negative or positive; 0 (very negative) to 4
    pos, entities            parts of speech; persons, places and organisations (IOB2)

`ambiguity` is the share of them whose label no reader can know. Each example has P(label | text) of its label and of
the most probable label; the mean of the latter is the accuracy of the best possible classifier. No held-out text is in
the training split. This does not change P(label | text), because texts are selected independent of their label.

Parts of speech are the universal ones (Nivre et al. 2020). Words of the lexicon have the tag of their table; function
words have that of `CLOSED`. For a few words, the tag depends on the rule: words that are a noun in one rule and a verb
in another, and words whose tag is drawn (`rules.labelled`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

import pyarrow as pa
from pydantic import Field

from langladder.corpora import rules  # noqa: F401 - registers the productions of the grammar
from langladder.corpora.grammar import Tree
from langladder.corpora.lexicon import Lexicon, Size
from langladder.corpora.reviews import Readings, review
from langladder.corpora.world import World, world
from langladder.ground.errors import InputError
from langladder.ground.progress import tracked
from langladder.ground.schema import Config
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.storage.tables import write_table

# ---- parts of speech


CLOSED = {
    "DET": "the a an this every these some many my our his her their",
    "AUX": "is are was were do does did will",
    "PRON": "he she it they them him what that",
    "ADP": "in near behind to of with for from than at",
    "CCONJ": "and but",
    "SCONJ": "because while",
    "NUM": "one two three four five",
    "PART": "not",
    "ADV": "very rather really extremely never there here",
    "ADJ": "other",
    "NOUN": "capital currency people",
    "PUNCT": ". , ?",
    "VERB": "lives speaks pays speak pay learn paid left born loves travelled came returned saw liked disliked looked",
}
TIMES = {"NOUN": "week year night day morning evening moment", "DET": "every the", "ADP": "at", "NUM": "one"}
TIMES |= {"ADJ": "last next"}  # other words of an opening: adverbs
BY_DRAW = ("DeedNoun", "State", "Direction")  # nonterminals whose target side is the tag


class PartsOfSpeech:
    """Tags of the words of a size's sentences."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._of: dict[str, str] = {}
        for word, tag in _entries(lexicon):
            self._of.setdefault(word, tag)
        self._times = {word: tag for tag, words in TIMES.items() for word in words.split()}
        self._verbs = {form for verb in lexicon.verbs.values() for form in verb.forms}
        self._openings = {adverb.source for adverbs in lexicon.adverbs.values() for adverb in adverbs}

    def tags(self, tree: Tree) -> list[str]:
        """The tag of every word of a derivation."""
        return [tag for _, tag in self._tagged(tree)]

    def _tagged(self, tree: Tree) -> Iterator[tuple[str, str]]:
        """(word, tag), left to right."""
        name, source = tree.symbol[0], tree.rule.source
        if name in BY_DRAW:
            yield str(source[0]), str(tree.rule.target[0])
            return
        children = iter(tree.children)
        for place, item in enumerate(source):
            if not isinstance(item, str):
                yield from self._tagged(next(children))
            elif name == "Opening" or source in self._openings:
                yield item, self._times.get(item, "ADV")
            else:
                yield item, self._tag(name, item, source[place + 1 : place + 2])

    def _tag(self, name: str, word: str, after: tuple[object, ...]) -> str:
        if name in ("Verb", "Tenses") and word in self._verbs:
            return "VERB"
        if word == "her" and name == "Tenses":
            return "PRON"
        if word == "to" and after == ("learn",):
            return "PART"
        if name == "Folk" and self._of[word] == "PROPN":
            return "ADJ"  # french bakers; without a noun, french is the language
        return self._of[word]


def _entries(lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """(word, tag); of several tags, the first one is used."""
    for tag, words in CLOSED.items():
        yield from ((word, tag) for word in words.split())
    yield from ((name, "PROPN") for name in lexicon.names)
    for country in lexicon.countries.values():
        yield from ((word, "PROPN") for word in (country.name, country.capital, country.nationality))
        yield country.currency, "NOUN"
    for noun in (*lexicon.nouns.values(), *lexicon.classes.values()):
        yield from ((form, "NOUN") for form in (noun.singular, noun.plural))
    for adjective in lexicon.adjectives.values():
        yield from (
            (form, "ADJ") for form in (adjective.positive, adjective.comparative, adjective.superlative) if form
        )
    yield from ((word, "ADJ") for word in lexicon.opinions)
    for verb in lexicon.verbs.values():
        yield from ((form, "VERB") for form in verb.forms)
    for adverbs in lexicon.adverbs.values():
        yield from ((word, "ADV") for adverb in adverbs for word in adverb.source)


# ---- the corpora


Row = dict[str, Any]
COUNTS = {"tiny": 600, "small": 12_000, "base": 60_000}
HELD_OUT = 0.1  # share of each of validation and test
POLARITY = ("negative", "negative", "", "positive", "positive")
DEGREES = tuple("01234")
TRIES = 50  # maximum consecutive draws of texts in earlier splits


class LabelledWorldConfig(Config):
    """Settings: `size` sets the lexicon and, if `examples` is not set, the number of examples."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    task: Literal["sentiment", "sentiment_5"] = "sentiment"
    examples: int | None = Field(default=None, ge=30)
    ambiguity: float = Field(default=0.15, ge=0, lt=1)  # share of opinions


class TaggedWorldConfig(Config):
    """Settings of tagged sentences, see `LabelledWorldConfig`."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    task: Literal["pos", "entities"] = "pos"
    examples: int | None = Field(default=None, ge=30)
    ambiguity: float = Field(
        default=0.3, ge=0, lt=1
    )  # share of ambiguous sentences (pos), or of ambiguous names (entities)


def write_labels(config: LabelledWorldConfig, folder: Path) -> dict[str, Any]:
    """Draw labelled texts into a folder, one table per split. Same settings, same bytes.

    Returns:
        The number of examples of each split, for the data report.
    """
    return _write(config, folder, LABELLED, "examples", _text, drawing(config))


def write_tags(config: TaggedWorldConfig, folder: Path) -> dict[str, Any]:
    """Draw tagged sentences into a folder; see `write_labels`."""
    return _write(config, folder, TAGGED, "sentences", lambda row: tuple(row["words"]), drawing(config))


def _text(row: Row) -> Any:
    return row["text"]


def _write(
    config: LabelledWorldConfig | TaggedWorldConfig,
    folder: Path,
    schema: pa.Schema,
    unit: str,
    text: Callable[[Row], Any],
    drawn: Callable[[Random], Row],
) -> dict[str, Any]:
    rng = Random(f"{config.seed} {config.task}")
    total = COUNTS[config.size] if config.examples is None else config.examples
    held = max(1, round(total * HELD_OUT))
    facts = {}
    before: set[Any] = set()
    for split, count in (("train", total - 2 * held), ("validation", held), ("test", held)):
        rows = [_new(drawn, rng, text, before) for _ in tracked(range(count), f"drawing {split}", unit=unit)]
        before.update(text(row) for row in rows)
        write_table(folder / f"{split}.parquet", pa.Table.from_pylist(rows, schema=schema))
        facts[split] = {unit: count}
    return {"splits": facts}


def _new(drawn: Callable[[Random], Row], rng: Random, text: Callable[[Row], Any], before: set[Any]) -> Row:
    """Draw a row whose text is not in an earlier split."""
    for _ in range(TRIES):
        row = drawn(rng)
        if text(row) not in before:
            return row
    raise InputError("examples: there are fewer different texts than this; set a lower number, or a larger size")


def drawing(config: LabelledWorldConfig | TaggedWorldConfig) -> Callable[[Random], Row]:
    """The function that draws one row of a corpus."""
    place = world(config.size)
    makers: dict[str, Callable[[World, str, float], Callable[[Random], Row]]] = {
        "sentiment": _review,
        "sentiment_5": _review,
    }
    makers |= {"pos": _spoken, "entities": _naming}
    return makers[config.task](place, config.task, config.ambiguity)


def _review(place: World, task: str, ambiguity: float) -> Callable[[Random], Row]:
    readings = Readings(place.grammar)
    names = POLARITY if task == "sentiment" else DEGREES

    def drawn(rng: Random) -> Row:
        while True:
            tree = place.grammar.sample(rng, ("Opined", ambiguity)).tree
            found = review(tree, readings)
            if label := names[found.label]:  # the words always show whether it is neutral
                break
        chances = [
            sum(found.chances[at] for at, name in enumerate(names) if name == one) for one in dict.fromkeys(names)
        ]
        own = sum(found.chances[at] for at, name in enumerate(names) if name == label)
        text = " ".join(tree.source())
        return {"text": text, "label": label, "tree": found.bracketed(names)} | _sure(own, max(chances))

    return drawn


def _sure(chance: float, ceiling: float) -> Row:
    return {"log_prob": round(math.log(chance), 9), "ceiling": round(ceiling, 9)}  # last bits differ by machine


def _spoken(place: World, _task: str, ambiguity: float) -> Callable[[Random], Row]:
    parts, readings = PartsOfSpeech(place.lexicon), Readings(place.grammar)

    def drawn(rng: Random) -> Row:
        tree = place.grammar.sample(rng, ("Spoken", ambiguity)).tree
        return {"words": tree.source(), "tags": parts.tags(tree)} | _how_sure(tree, readings, BY_DRAW)

    return drawn


def _naming(place: World, _task: str, ambiguity: float) -> Callable[[Random], Row]:
    readings = Readings(place.grammar)

    def drawn(rng: Random) -> Row:
        tree = place.grammar.sample(rng, ("Naming", ambiguity)).tree
        return {"words": tree.source(), "tags": tree.target()} | _how_sure(tree, readings, ("SharedName",))

    return drawn


def _how_sure(tree: Tree, readings: Readings, unclear: Sequence[str]) -> Row:
    """ln P(tags | words), and the probability of each word's most probable tag; `unclear`: nodes of one ambiguous
    word."""
    ceilings: list[float] = []
    logs: list[float] = []

    def walk(node: Tree) -> None:
        children = iter(node.children)
        chances = readings.of(node) if node.symbol[0] in unclear else {node.rule.target: 1.0}
        logs.append(math.log(chances[node.rule.target]))
        for item in node.rule.source:
            if isinstance(item, str):
                ceilings.append(round(max(chances.values()), 9))
            else:
                walk(next(children))

    walk(tree)
    return {"log_prob": round(math.fsum(logs), 9), "ceilings": ceilings}
