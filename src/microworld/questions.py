"""Questions about stories: what a paragraph tells, what it does not, and the words that answer.

    paragraph    anna is a farmer from rome who likes tea . then she fed the lovely cows in the barn . …
    question     where does anna live ?  what did she feed ?  where did anna feed the cows ?  who fed the cows ?
    answer       rome;  the lovely cows;  the barn;  anna

Everything is read off the words and what `World.read` says of each: a person is named, meant by a pronoun, or meant by
the job of who came first.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, NamedTuple

from microworld.engine import World, world
from microworld.lexicon import HERE, table
from microworld.memory import SEXES
from microworld.notation import Call

PARAGRAPH_LINES = (4, 8)
QUESTIONS_EACH = 2
ASKED = {
    # kind of question → its words, and the sort of its answer
    "live": ("where does {} live ?", "place"),
    "like": ("what does {} like ?", "like"),
    "job": ("what is {} ?", "job"),
    "do": ("what did {} {} ?", "thing"),
    "want": ("what did {} want to {} ?", "thing"),
    "where": ("where did {} {} the {} ?", "place"),
    "who": ("who {} {} ?", "person"),
    "lives": ("who lives in {} ?", "person"),
    "likes": ("who likes {} ?", "person"),
    "is": ("who is a {} ?", "person"),
}
EVENTS = ("do", "want", "where", "who")
"""Kinds of questions about what happened; the others are about facts."""
OF_PERSONS = ("live", "like", "job", "do", "want", "where")
"""Kinds of questions whose first blank is a person."""
PRONOUNS = {"he": "m", "him": "m", "she": "f", "her": "f"}

Meaning = tuple[str, ...]
"""A question by its kind and what fills its blanks, a person by sex: ("where", "f", "feed", "cows")."""
Span = tuple[int, int]
"""The first of some words of a paragraph, and the one after the last."""


def draw_questions(
    seed: int, split: str, count: int, unanswerable: float = 0.25, options: int = 4
) -> Iterator[dict[str, Any]]:
    """Two questions each about so many paragraphs, which are stories of few lines. One statement answers a question.

    Args:
        unanswerable: the share of questions that the paragraph does not answer. They ask for what it says of somebody
            else or of something else.
        options: at most so many answers to choose from.

    Yields:
        id, context, question; answers, starts: the words of the context that answer it, and their first character;
        options: the right answer, "" for none (if there are unanswerable ones), and other answers, of its sort first.
    """
    here, rng = world(), Random(f"{seed} questions {split}")
    for number in range(count):
        story = here.draw(rng, rng.randint(*PARAGRAPH_LINES))
        reading = here.read(line.words for line in story)
        assert reading is not None
        facts = Facts(
            [word for line in story for word in line.words], [kind for line in reading.kinds for kind in line]
        )
        known, unknown = facts.answered(), facts.unanswered(rng)
        questions = set[Meaning]()
        while len(questions) < QUESTIONS_EACH:
            meaning = _chosen(unknown if rng.random() < unanswerable else known, rng)
            if meaning in questions:
                continue
            questions.add(meaning)
            answers = facts.answers.get(meaning, [])
            yield {
                "id": f"{split}-{number}-{len(questions)}",
                "context": " ".join(facts.words),
                "question": facts.worded(meaning, rng),
                "answers": [facts.text(span) for span in answers],
                "starts": [sum(len(word) + 1 for word in facts.words[:first]) for first, _ in answers],
                "options": _options(facts, meaning, bool(unanswerable), options, rng),
            }


def _chosen(meanings: list[Meaning], rng: Random) -> Meaning:
    """One of some questions: facts and events are as frequent, and so is every kind of each."""
    keys: list[Callable[[Meaning], object]] = [lambda meaning: meaning[0] in EVENTS, lambda meaning: meaning[0]]
    for key in keys:
        value = rng.choice(list(dict.fromkeys(map(key, meanings))))
        meanings = [meaning for meaning in meanings if key(meaning) == value]
    return rng.choice(meanings)


def _options(facts: "Facts", meaning: Meaning, none: bool, count: int, rng: Random) -> list[str]:
    """Answers whose last words differ, in random order: the right one, "", those of the same sort, then any."""
    right = [facts.text(span) for span in facts.answers.get(meaning, [])]
    options = {answer.split()[-1]: answer for answer in right} | ({"": ""} if none or not right else {})
    others = facts.answered()
    rng.shuffle(others)
    for other in sorted(others, key=lambda entry: ASKED[entry[0]][1] != ASKED[meaning[0]][1]):
        text = facts.text(facts.answers[other][0])
        if len(options) < count:
            options.setdefault(text.split()[-1], text)
    return rng.sample(list(options.values()), len(options))


class Facts:
    """What a paragraph says of people and things, as the questions that it answers.

    Attributes:
        words: of the paragraph. names: sex → name. answers: question → what answers it, once for each statement.
    """

    def __init__(self, words: list[str], kinds: list[str]) -> None:
        """
        Args:
            kinds: of the words, as `World.read` gives them.
        """
        self.words, self.names, self.answers = words, dict[str, str](), dict[Meaning, list[Span]]()
        self._kinds = [kind.partition(".")[0] for kind in kinds]
        self._events = dict[tuple[str, str, str], None]()
        """(class of the verb, verb, what it was done to); in order."""
        for at, kind in enumerate(self._kinds):
            if kind == "NAME":
                self._meet(at, kinds[at].partition(".")[2])
            elif kind in ("VERB", "TAKE", "DEED", "ROLEVERB"):
                self._event(at, wanted=kinds[at] == "VERB.inf")

    def answered(self) -> list[Meaning]:
        """The questions that exactly one statement answers."""
        return [meaning for meaning, spans in self.answers.items() if len(spans) == 1]

    def unanswered(self, rng: Random) -> list[Meaning]:
        """Questions that it does not answer, about its people, verbs and things, or about somebody else."""
        mentioned = set(self.words)
        columns = {"names": "word", "lands": "town", "likes": "word", "jobs": "word"}
        absent = {
            name: rng.choice([row[column] for row in table(name) if row[column] not in mentioned])
            for name, column in columns.items()
        }
        people = (*SEXES, absent["names"])
        meanings: list[Meaning] = [(kind, who) for kind in ("live", "like", "job") for who in people]
        meanings += [("lives", absent["lands"]), ("likes", absent["likes"]), ("is", absent["jobs"])]
        meanings += [(kind, who, answer[2]) for answer in self.answers if answer[0] in ("do", "want") for who in people
                  for kind in ("do", "want")]  # fmt: skip
        for sort, verb, thing in self._events:
            if sort == "VERB":
                meanings += [("where", who, _verbs()[verb], thing.removeprefix("the ")) for who in people]
                meanings += [("who", other, thing) for other in _company()[thing.removeprefix("the ")]]
            elif sort == "TAKE":
                meanings += [("who", verb, other) for kind, _, other in self._events if kind in ("VERB", "TAKE")]
            elif sort == "DEED":
                meanings += [("who", verb, name) for name in self.names.values()]
            else:
                owner, own = thing.split()
                meanings.append(("who", verb, f"{'her' if owner == 'his' else 'his'} {own}"))
        return [meaning for meaning in dict.fromkeys(meanings) if meaning not in self.answers]

    def worded(self, meaning: Meaning, rng: Random) -> str:
        """A question in words; a person of the paragraph by name or by a pronoun."""
        kind, *blanks = meaning
        if kind in OF_PERSONS and blanks[0] in SEXES:
            named = blanks[0] in self.names and rng.random() < 0.5
            blanks[0] = self.names[blanks[0]] if named else {"m": "he", "f": "she"}[blanks[0]]
        return ASKED[kind][0].format(*blanks)

    def text(self, span: Span) -> str:
        """Some words of the paragraph."""
        return " ".join(self.words[span[0] : span[1]])

    def _tell(self, span: Span, *meaning: str) -> None:
        self.answers.setdefault(meaning, []).append(span)

    def _meet(self, at: int, sex: str) -> None:
        """NAME is a JOB from TOWN who likes LIKE ."""
        name, job, town, like = at, at + 3, at + 5, at + 8
        self.names[sex] = self.words[name]
        self._tell((job - 1, job + 1), "job", sex)
        self._tell((town, town + 1), "live", sex)
        self._tell((like, like + 1), "like", sex)
        for kind, value in (("is", job), ("lives", town), ("likes", like)):
            self._tell((name, name + 1), kind, self.words[value])

    def _event(self, at: int, wanted: bool) -> None:
        """Somebody did something, or wanted to, with the verb at a position."""
        words, kinds = self.words, self._kinds
        doer = at - 3 if wanted else at - 1
        clause = words[doer - 1] == "that"
        if words[doer - 1] == "because":  # the queen was glad because she …
            doer -= 4
        if kinds[at] == "DEED":
            thing, first, last = self.names[self._person(at + 1)], at + 1, at + 2
        else:
            noun = doer - 2 if clause else next(n for n in range(at, len(words)) if kinds[n] in ("NOUN", "ROLETHING"))
            first, last = noun - 1 - (kinds[noun - 1] == "LOOK"), noun + 1
            thing = f"{words[first] if kinds[noun] == 'ROLETHING' else 'the'} {words[noun]}"
        verb, who = words[at], self._person(doer)
        if wanted:
            self._tell((first, last), "want", who, verb)
            return
        self._events[kinds[at], verb, thing] = None
        self._tell(self._named(who, doer), "who", verb, thing)
        if kinds[at] == "VERB":
            self._tell((first, last), "do", who, _verbs()[verb])
            after = at + 1 if clause else last
            if words[after] == "in":
                self._tell((after + 1, after + 3), "where", who, _verbs()[verb], thing.removeprefix("the "))

    def _person(self, at: int) -> str:
        """The sex of who is meant by a word; "" for a queen or an uncle."""
        if self._kinds[at] == "ROLE":
            return ""
        if self._kinds[at] == "known job":
            return next(iter(self.names))
        return PRONOUNS.get(self.words[at]) or next(sex for sex, name in self.names.items() if name == self.words[at])

    def _named(self, who: str, at: int) -> Span:
        """Where somebody is named, at a position or last before it."""
        if not who:
            return at - 1, at + 1
        name = next(index for index in range(at, -1, -1) if self.words[index] == self.names[who])
        return name, name + 1


@cache
def _verbs() -> dict[str, str]:
    """Past → infinitive."""
    return {row["past"]: row["infinitive"] for row in table("verbs")}


@cache
def _company() -> dict[str, list[str]]:
    """Noun → what is done with it."""
    return {row[form]: row["verbs"].split(",") for row in table("nouns") for form in ("singular", "plural")}


def draw_kinds(rng: Random, open_share: float) -> Iterator[dict[str, Any]]:
    """Questions without end, labelled by what they ask for: a rule that the rule `line` of questions.rules names.

    Args:
        open_share: the share of questions whose words do not show it.

    Yields:
        text, label; log_prob: ln P(label | text), exact; ceiling: P(most probable label | text).
    """
    here = _questions(open_share)
    ways = [symbol.rule for way in here.start.written for symbol in way.symbols if isinstance(symbol, Call)]
    while True:
        (line,) = here.draw(rng, 1)
        chances = dict.fromkeys(ways, 0.0)
        for reader in here.ended(here.read_words([here.reader()], line.words)):
            chances[ways[reader.ways[0]]] += float(reader.belief.sum())
        label, total = ways[line.ways[0]], sum(chances.values())
        yield {
            "text": line.text,
            "label": label,
            "log_prob": round(math.log(chances[label] / total), 9),
            "ceiling": round(max(chances.values()) / total, 9),
        }


LABELS = ("entailment", "contradiction", "neutral")
ONE_EVENT = 0.65
"""P(contradiction) where another thing is named: the two sentences mean one event (Bowman et al. 2015, section 2.1)."""
OPPOSITES = {"old": "new", "new": "old", "big": "small", "small": "big", "long": "short", "short": "long"}


class Event(NamedTuple):
    """anna herded two big cows in the barn . look and location may be "". things: the row of nouns.tsv."""

    who: str
    verb: str
    number: str
    look: str
    things: Mapping[str, str]
    location: str

    @property
    def text(self) -> str:
        """As a sentence."""
        thing = self.things["singular" if self.number == "the" else "plural"]
        words = (self.who, self.verb, self.number, self.look, thing, self.location and f"in the {self.location}", ".")
        return " ".join(filter(None, words))


def draw_entailment(rng: Random, open_share: float) -> Iterator[dict[str, Any]]:
    """Pairs of sentences without end: the second follows from the first, contradicts it, or does neither.

    The second is the first with one change. Entailment: the adjective or the place is left out. Contradiction: the
    opposite adjective, another number, or another place. Neutral: an adjective or a place is added, or something else
    was done.

    Args:
        open_share: the share of pairs whose second sentence names another thing; see `ONE_EVENT`.

    Yields:
        text, second, label; log_prob: ln P(label | pair), exact; ceiling: P(most probable label | pair).
    """
    while True:
        first = _event(rng)
        changes = list(_changes(first, open_share))
        if sum(weight for weight, _, _ in changes) < 0.99:
            continue  # no change gives one of the labels
        ((_, second, label),) = rng.choices(changes, [weight for weight, _, _ in changes])
        same = [(weight, kind) for weight, other, kind in changes if other == second]
        total = sum(weight for weight, _ in same)
        chances = {name: sum(weight for weight, kind in same if kind == name) / total for name in LABELS}
        yield {
            "text": first.text,
            "second": second,
            "label": label,
            "log_prob": round(math.log(chances[label]), 9),
            "ceiling": round(max(chances.values()), 9),
        }


def _event(rng: Random) -> Event:
    things, (role, name) = rng.choice(table("nouns")), (rng.choice(table("roles")), rng.choice(table("names")))
    who = rng.choice([name["word"], f"the {role[rng.choice(('male', 'female'))]}"])
    verb, look, location = (rng.choice(things[column].split(",")) for column in ("verbs", "plain", "places"))
    number = rng.choice(("the", "two", "three"))
    return Event(who, verb, number, look if rng.random() < 0.6 else "", things, location if rng.random() < 0.6 else "")


def _changes(first: Event, open_share: float) -> Iterator[tuple[float, str, str]]:
    """(weight, second sentence, label) of every change."""
    things = first.things
    locations, looks, verbs = (things[column].split(",") for column in ("places", "plain", "verbs"))
    changes: dict[str, list[Event]] = {name: [] for name in LABELS}
    entailed, contradicted, neutral = changes.values()
    if first.look:
        entailed.append(first._replace(look=""))
        contradicted += [first._replace(look=OPPOSITES[first.look])] if first.look in OPPOSITES else []
    else:
        neutral += [first._replace(look=look) for look in looks]
    if first.location:
        entailed.append(first._replace(location=""))
        contradicted += [first._replace(location=location) for location in locations if location != first.location]
    else:
        neutral += [first._replace(location=location) for location in locations]
    if first.number != "the":
        contradicted.append(first._replace(number="three" if first.number == "two" else "two"))
    neutral += [first._replace(verb=verb) for verb in verbs if verb != first.verb]
    for label, options in changes.items():
        yield from (((1 - open_share) / len(LABELS) / len(options), option.text, label) for option in options)
    others = [row for row in table("nouns") if first.verb in row["verbs"].split(",") and row != things]
    for row in others if open_share else ():
        other = first._replace(things=row, look="", location="").text
        yield open_share * ONE_EVENT / len(others), other, "contradiction"
        yield open_share * (1 - ONE_EVENT) / len(others), other, "neutral"


@cache
def _questions(open_share: float) -> World:
    return World(path=HERE / "questions.rules", curves={"clear": (1 - open_share,), "open": (open_share,)})
