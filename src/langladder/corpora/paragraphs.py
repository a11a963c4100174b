"""Paragraphs of microworld and questions about them, for training and evaluating readers.

    paragraph    last week anna ate the apple in the garden . the capital of france is paris . …
    question     who ate the apple ?  what did anna see ?  which fruit …  where, when …  what is the capital of france ?
    answers      where the paragraph says so: anna;  in the garden, and the garden

An answerable question is answered by exactly one statement. Unanswerable questions (`unanswerable`) are made from a
statement that is not in the paragraph, but could be: it mentions the same people or countries (Rajpurkar et al. 2018).
Names and things are drawn again for each paragraph, so nearly all answers must be read from it and cannot be known in
advance. No paragraph is in two splits. `options` are answers to other questions about the same paragraph, and "" for no
answer.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pydantic import Field

from langladder.corpora import rules  # noqa: F401 - registers the productions of the grammar
from langladder.corpora.lexicon import Adjective, Country, Noun, Size, Verb
from langladder.corpora.rules.clauses import PREPOSITIONS
from langladder.corpora.rules.statements import questions as country_questions
from langladder.corpora.world import DIRECT, Weighted, World, draw, favour, world, zipf
from langladder.ground.errors import InputError
from langladder.ground.progress import tracked
from langladder.ground.schema import Config
from langladder.text.labelled.questions import Answer, Question, count_questions, normalised, write_questions

COUNTS = {"tiny": 150, "small": 3_000, "base": 15_000}
HELD_OUT = 0.1  # share of the paragraphs in each of validation and test
SENTENCES = (3, 7)
PEOPLE, DEEDS = 3, 3  # words that a paragraph's statements share, so that one word does not identify a statement
QUESTIONS_EACH = 2
ADJECTIVE, PLACE, TIME = 0.4, 0.4, 0.3  # shares of the actions with these details
TRIES = 50
_EVERY = {"who", "what", "which", "where", "when", "did", "does", "is", "was", "do", "the", "of", "in", "to", "with"}
_EVERY |= {"people", "born", "live", "pay", "?"}
"""Words that do not show what a question is about."""


class ParagraphConfig(Config):
    """Settings of the corpus."""

    size: Size = "small"  # size of the lexicon, and of the corpus if the number of paragraphs is not set
    seed: int = Field(default=1, ge=0)
    paragraphs: int | None = Field(default=None, ge=10)
    unanswerable: float = Field(default=0.25, ge=0, lt=1)  # share of the questions
    options: int = Field(default=4, ge=2, le=8)  # number of options


class Asked(NamedTuple):
    """A question, and the range (from, to) of the statement's words that answer it; sort: person, thing, place, …"""

    question: str
    spans: tuple[tuple[int, int], ...]
    sort: str


class Statement(NamedTuple):
    """A sentence and the questions that it answers."""

    words: tuple[str, ...]
    asked: tuple[Asked, ...]


def write_paragraphs(config: ParagraphConfig, folder: Path) -> dict[str, Any]:
    """Draw questions into a folder, one table per split. Same settings, same bytes.

    Returns:
        The number of questions of each split, for the data report.
    """
    splits = draw_paragraphs(config)
    tables = {split: folder / f"{split}.parquet" for split in splits}
    for split, table in tables.items():
        write_questions(table, splits[split])
    return {"splits": {split: count_questions(table) for split, table in tables.items()}}


def draw_paragraphs(config: ParagraphConfig) -> dict[str, list[Question]]:
    """Train, validation and test."""
    rng, place = Random(f"{config.seed} paragraphs"), world(config.size)
    total = COUNTS[config.size] if config.paragraphs is None else config.paragraphs
    held = max(1, round(total * HELD_OUT))
    before: set[str] = set()
    splits = {}
    for split, count in (("train", total - 2 * held), ("validation", held), ("test", held)):
        found: list[Question] = []
        for _ in tracked(range(count), f"drawing {split}", unit="paragraphs"):
            found += _new(place, config, rng, before, f"{split}-{len(found)}")
        splits[split] = found
    return splits


def _new(place: World, config: ParagraphConfig, rng: Random, before: set[str], name: str) -> list[Question]:
    """Draw the questions of a new paragraph."""
    for _ in range(TRIES):
        questions = _paragraph(place, config, rng, name)
        if questions and questions[0].context not in before:
            before.add(questions[0].context)
            return questions
    raise InputError("paragraphs: there are fewer different ones than this; set a lower number, or a larger size")


def _paragraph(place: World, config: ParagraphConfig, rng: Random, name: str) -> list[Question]:
    people: list[str] = []
    while len(people) < PEOPLE:
        people += [one for one in [draw(_names(place), rng)] if one not in people]
    deeds = [draw(_verbs(place), rng) for _ in range(DEEDS)]
    told = [_statement(place, people, deeds, rng) for _ in range(rng.randint(*SENTENCES))]
    told = list(dict.fromkeys(told))
    times = Counter(asked.question for statement in told for asked in statement.asked)
    context = " ".join(word for statement in told for word in statement.words)
    once = [
        [(asked, _answers(told, number, asked, context)) for asked in statement.asked if times[asked.question] == 1]
        for number, statement in enumerate(told)
    ]
    known = [every for every in once if every]
    answers = [pair for every in known for pair in every]
    found: dict[str, Question] = {}
    for _ in range(QUESTIONS_EACH):
        asked: Asked | None = None
        golds: tuple[Answer, ...] = ()
        if rng.random() < config.unanswerable:
            asked = _foil(place, people, deeds, times, context.split(), rng)
        elif known:
            asked, golds = rng.choice(rng.choice(known))
        if asked is not None and asked.question not in found:
            options = _options(asked, golds, answers, config, rng)
            found[asked.question] = Question(context, asked.question, golds, options, f"{name}-{len(found)}")
    return list(found.values())


def _foil(
    place: World, people: Sequence[str], deeds: Sequence[Verb], told: Counter[str], words: list[str], rng: Random
) -> Asked | None:
    """A question that the paragraph does not answer, about people or things that it mentions."""
    for _ in range(TRIES):
        asked = rng.choice(_statement(place, people, deeds, rng).asked)
        if asked.question not in told and (set(asked.question.split()) - _EVERY) & set(words):
            return asked
    return None


def _answers(told: Sequence[Statement], number: int, asked: Asked, context: str) -> tuple[Answer, ...]:
    """The start position in the paragraph of the words that answer a question."""
    words = context.split()
    before = sum(len(statement.words) for statement in told[:number])
    found = []
    for first, last in asked.spans:
        start = sum(len(word) + 1 for word in words[: before + first])
        found.append(Answer(" ".join(words[before + first : before + last]), start))
    return tuple(found)


def _options(
    asked: Asked,
    golds: tuple[Answer, ...],
    answers: Sequence[tuple[Asked, tuple[Answer, ...]]],
    config: ParagraphConfig,
    rng: Random,
) -> tuple[str, ...]:
    """The right answer, "" if questions can be unanswerable, and answers to other questions, those of the same sort
    first."""
    right = golds[0].text if golds else ""
    fixed = [right] if not right or not config.unanswerable else [right, ""]
    taken = {normalised(one) for one in fixed} | {normalised(gold.text) for gold in golds}
    others: dict[str, str] = {}
    for one, gold in sorted(rng.sample(list(answers), len(answers)), key=lambda pair: pair[0].sort != asked.sort):
        if normalised(gold[0].text) not in taken and one is not asked:
            others.setdefault(normalised(gold[0].text), gold[0].text)
    options = [*fixed, *list(others.values())[: config.options - len(fixed)]]
    return tuple(rng.sample(options, len(options))) if len(options) > 1 else ()


# ---- what can be drawn, worked out once ---------------------------------------------------------------------------


@cache
def _names(place: World) -> Weighted[str]:
    return favour(place.names())


@cache
def _verbs(place: World) -> Weighted[Verb]:
    verbs = [verb for verb in place.lexicon.verbs.values() if verb.frame in DIRECT and "person" in verb.subjects]
    return favour(zipf(verb for verb in verbs if _things(place, verb)))


@cache
def _things(place: World, verb: Verb) -> Weighted[Noun]:
    return place.objects(verb)


@cache
def _looks(place: World, noun: Noun) -> Weighted[Adjective]:
    return place.adjectives(noun)


# ---- statements --------------------------------------------------------------------------------------------------

Part = tuple[str, str]  # its name and its words
Wanted = tuple[str, str, tuple[tuple[str, str], ...]]  # question, sort, the first and the last part of each answer


def _statement(place: World, people: Sequence[str], deeds: Sequence[Verb], rng: Random) -> Statement:
    if rng.random() < 0.6:
        return _deed(place, rng.choice(people), rng.choice(deeds), rng)
    country = draw(favour(zipf(place.lexicon.countries.values())), rng)
    kind = rng.choice((_resident, _born, _traveller, _fact, _fact))
    return kind(rng.choice(people), country, rng)


def _deed(place: World, who: str, verb: Verb, rng: Random) -> Statement:
    """last week anna ate the red apple in the garden ."""
    noun = draw(_things(place, verb), rng)
    adjectives = _looks(place, noun)
    parts = [("who", who), ("deed", verb.past), ("the", "the"), ("thing", noun.singular)]
    if adjectives and rng.random() < ADJECTIVE:
        parts.insert(3, ("is", draw(adjectives, rng).positive))
    person = noun.kind == "person"
    sort = "person" if person else "place" if noun.kind == "place" else "thing"
    what = (("the", "thing"),)
    wanted: list[Wanted] = [
        (f"who {verb.past} the {noun.singular}", "person", (("who", "who"),)),
        (f"{'who' if person else 'what'} did {who} {verb.base}", sort, what),
    ]
    if noun.group in place.lexicon.classes:
        wanted.append((f"which {place.lexicon.classes[noun.group].singular} did {who} {verb.base}", sort, what))
    if rng.random() < PLACE:
        where = rng.choice(PREPOSITIONS)[0]
        somewhere: str = draw(place.nouns(("place",)), rng).singular
        if somewhere != noun.singular:
            parts += [("where", where), ("there", "the"), ("place", somewhere)]
            answers = (("where", "place"), ("there", "place"))
            wanted.append((f"where did {who} {verb.base} the {noun.singular}", "place", answers))
    if rng.random() < TIME:
        parts.insert(0, ("when", " ".join(draw(zipf(place.lexicon.adverbs["past"]), rng).source)))
        wanted.append((f"when did {who} {verb.base} the {noun.singular}", "time", (("when", "when"),)))
    return _of(parts, wanted)


def _resident(who: str, country: Country, rng: Random) -> Statement:
    del rng
    city, tongue, money = country.capital, country.nationality, country.currency
    parts = [("who", who), ("", "lives"), ("in", "in"), ("city", city), ("", ", speaks"), ("tongue", tongue)]
    parts += [("", "and pays with"), ("the", "the"), ("money", money)]
    return _of(
        parts,
        [
            (f"where does {who} live", "place", (("city", "city"), ("in", "city"))),
            (f"what does {who} speak", "language", (("tongue", "tongue"),)),
            (f"what does {who} pay with", "money", (("the", "money"),)),
            (f"who lives in {city}", "person", (("who", "who"),)),
            (f"who speaks {tongue}", "person", (("who", "who"),)),
        ],
    )


def _born(who: str, country: Country, rng: Random) -> Statement:
    del rng
    parts = [("who", who), ("", "was born"), ("in", "in"), ("city", country.capital), ("", "and loves")]
    return _of(
        [*parts, ("land", country.name)],
        [
            (f"where was {who} born", "place", (("city", "city"), ("in", "city"))),
            (f"what does {who} love", "place", (("land", "land"),)),
            (f"who was born in {country.capital}", "person", (("who", "who"),)),
        ],
    )


def _traveller(who: str, country: Country, rng: Random) -> Statement:
    del rng
    parts = [("who", who), ("", "travelled"), ("to", "to"), ("land", country.name), ("", "to learn")]
    return _of(
        [*parts, ("tongue", country.nationality), ("", "in"), ("city", country.capital)],
        [
            (f"where did {who} travel", "place", (("land", "land"), ("to", "land"))),
            (f"what did {who} learn in {country.capital}", "language", (("tongue", "tongue"),)),
            (f"who travelled to {country.name}", "person", (("who", "who"),)),
        ],
    )


def _fact(who: str, country: Country, rng: Random) -> Statement:
    del who
    capital, money, tongue = (" ".join(asked) for _, (asked, _), _ in country_questions(country))
    form = rng.randrange(4)
    if form == 0:
        parts = [("", f"the capital of {country.name} is"), ("city", country.capital)]
        return _of(parts, [(capital, "place", (("city", "city"),))])
    if form == 1:
        parts = [("city", country.capital), ("", f"is the capital of {country.name}")]
        return _of(parts, [(capital, "place", (("city", "city"),))])
    if form == 2:
        parts = [("", f"the currency of {country.name} is"), ("the", "the"), ("money", country.currency)]
        return _of(parts, [(money, "money", (("the", "money"),))])
    parts = [("", f"in {country.name} people speak"), ("tongue", country.nationality), ("", "and pay with")]
    parts += [("the", "the"), ("money", country.currency)]
    return _of(parts, [(tongue, "language", (("tongue", "tongue"),))])


def _of(parts: Sequence[Part], wanted: Sequence[Wanted]) -> Statement:
    """The sentence of some parts, and the positions of the answers in it."""
    words: list[str] = []
    where: dict[str, tuple[int, int]] = {}
    for name, said in parts:
        where[name] = (len(words), len(words) + len(said.split()))
        words += said.split()
    asked = tuple(
        Asked(f"{question} ?", tuple((where[first][0], where[last][1]) for first, last in spans), sort)
        for question, sort, spans in wanted
    )
    return Statement((*words, "."), asked)
