"""What is drawn for each kind of instruction.

Words and lines are those of the stories. Instructions only ask for Esperanto words with plain letters, which every
tokenizer of the English text knows.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from langladder.corpora.instructions.answers import (
    REFUSAL,
    Judgement,
    column,
    esperanto,
    judge_changed,
    judge_esperanto,
    judge_line,
    judge_list,
    judge_refusal,
    judge_short,
    judge_stated,
    judge_word,
    nouns,
)
from microworld.engine import world
from microworld.floors import read_alone
from microworld.lexicon import MOODS, SUBJECTS, table
from microworld.questions import ASKED, PRONOUNS, Facts
from microworld.truth import OTHER_NUMBER, agreeing

NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
LISTED = ("two", "three")  # how many nouns
MOST = ("four", "five", "six", "seven", "eight")  # maximum words of a sentence about something
SHORT = 8  # maximum words of a given sentence
FINISHED = 12  # maximum words of a completed sentence
PLAINLY = 0.95  # least P(mood | sentence)
DESCRIBED = 0.6  # share of phrases with an adjective
ARTICLES = {"s": {"the": "la"}, "pl": {"the": "la", "two": "du"}}
SORTS = {"place": "lands.town", "like": "likes.word", "job": "jobs.word", "person": "names.word"}
"""Sort of an answer (`questions.ASKED`) → the column with its words."""
VERBS = {"live": "lives in", "like": "likes", "job": "is a"}
"""What `draw_statement` asks for → the words of the answer before its last."""
Found = TypeVar("Found")
Wanted = Mapping[str, Any]
"""What the judge of a kind reads of a request, as JSON values: the arguments of `Kind.judge`."""


class Request(NamedTuple):
    """One drawn request.

    slots: values of the gaps in phrasings. wanted: the input of the judge. answer: a right one, without its full stop.
    key: identifies the request in any phrasing; no key is in two splits.
    """

    slots: Mapping[str, str]
    wanted: Wanted
    answer: str
    key: str


class Kind(NamedTuple):
    """A kind of instruction.

    draw: one request. judge: the judgement of an answer, at least one word; its other arguments are `Request.wanted`.
    phrasings: templates with {slots}. reworded: one that is only used in unseen instructions; "": the kind is unseen.
    """

    draw: Callable[[Random], Request]
    judge: Callable[..., Judgement]
    phrasings: tuple[str, ...]
    reworded: str


@cache
def rows(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of a table in this folder, column → value."""
    with Path(__file__).with_name(f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return tuple(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


# ---- facts -----------------------------------------------------------------------------------------------------------


def draw_fact(kind: str, rng: Random) -> Request:
    """A fact of the tables: in which country is rome ?"""
    fact = rng.choice([row for row in rows("facts") if row["kind"] == kind])
    row = rng.choice(table(fact["table"]))
    subject, right = row[fact["given"]], row[fact["right"]]
    wanted = {"right": [right], "among": f"{fact['table']}.{fact['right']}"}
    return Request({"question": fact["question"].format(given=subject)}, wanted, right, f"{fact['relation']} {subject}")


def draw_claim(rng: Random) -> Request:
    """A claim. Each fact has one true and one false claim, so always "no" is right half the time."""
    fact = rng.choice([row for row in rows("facts") if row["claim"]])
    row = rng.choice(table(fact["table"]))
    subject, answer = row[fact["given"]], row[fact["right"]]
    key = f"{fact['relation']} {subject}"
    right = rng.choice(("yes", "no"))
    if right == "no":
        others = [value for value in column(f"{fact['table']}.{fact['right']}") if value != answer]
        answer = others[crc32(key.encode()) % len(others)]
    claim = fact["claim"].format(given=subject, right=answer)
    return Request({"claim": claim}, {"right": [right], "among": ["yes", "no"]}, right, key)


def _met(rng: Random) -> Facts:
    """Somebody is introduced: the first line of a story."""
    (line,) = world().draw(rng, 1)
    reading = world().read([line.words])
    assert reading is not None
    return Facts(line.words, reading.kinds[0])


def draw_answer(rng: Random) -> Request:
    """A question that the first line of a story answers."""
    facts = _met(rng)
    meaning = rng.choice(facts.answered())
    story, answer = " ".join(facts.words), facts.text(facts.answers[meaning][0])
    wanted = {"right": answer.split()[-1], "among": SORTS[ASKED[meaning[0]][1]]}
    return Request({"story": story, "question": facts.worded(meaning, rng)}, wanted, answer, story)


def draw_refusal(rng: Random) -> Request:
    """A question that it does not answer."""
    facts = _met(rng)
    story, meaning = " ".join(facts.words), rng.choice(facts.unanswered(rng))
    return Request({"story": story, "question": facts.worded(meaning, rng)}, {}, " ".join(REFUSAL), story)


def draw_statement(rng: Random) -> Request:
    """A question that it answers, to be answered in a sentence."""
    facts = _met(rng)
    ((sex, name),) = facts.names.items()
    story, kind = " ".join(facts.words), rng.choice(list(VERBS))
    who = rng.choice([name, next(word for word, of in PRONOUNS.items() if of == sex)])
    answer = f"{who} {VERBS[kind]} {facts.text(facts.answers[kind, sex][0]).split()[-1]}"
    wanted = {"story": story, "verb": VERBS[kind]}
    return Request({"story": story, "question": ASKED[kind][0].format(who)}, wanted, answer, story)


# ---- groups of words -------------------------------------------------------------------------------------------------


def draw_list(rng: Random) -> Request:
    """Things that do the same, or are at the same place: name two things that graze ."""
    number, (source, words) = rng.choice(LISTED), rng.choice((("acts", "plural"), ("places", "word")))
    group = rng.choice(column(f"{source}.{words}"))
    members = [row for row in table("nouns") if group in row[source].split(",")]
    if len(members) < NUMBERS[number]:
        return draw_list(rng)
    named = [row["plural"] for row in rng.sample(members, NUMBERS[number])]
    listed = group if source == "acts" else f"are in the {group}"
    wanted = {"right": [row["singular"] for row in members], "number": NUMBERS[number]}
    return Request({"number": number, "members": listed}, wanted, " , ".join(named), f"{number} {listed}")


def draw_odd(rng: Random) -> Request:
    """Three nouns of a subject and one of another, in any order."""
    subject, other = rng.sample(SUBJECTS, 2)
    of = {entry: [row["singular"] for row in table("nouns") if row["subject"] == entry] for entry in (subject, other)}
    words = [odd := rng.choice(of[other]), *rng.sample(of[subject], 3)]
    rng.shuffle(words)
    wanted = {"right": [odd], "among": words}
    return Request({"words": " , ".join(words)}, wanted, odd, " ".join(sorted(words)))


def draw_choice(rng: Random) -> Request:
    """What things do, and what things of another subject do: do cows graze or sink ?"""
    noun = rng.choice(table("nouns"))
    right = rng.choice(noun["acts"].split(","))
    wrong = rng.choice([row["plural"] for row in table("acts") if row["subject"] != noun["subject"]])
    first, other = two = rng.sample([right, wrong], 2)
    slots = {"nouns": noun["plural"], "one": first, "other": other}
    return Request(slots, {"right": [right], "among": two}, right, f"{noun['plural']} {right} {wrong}")


# ---- lines of stories ------------------------------------------------------------------------------------------------


def _line(rng: Random, fits: Callable[[list[str]], Found | None]) -> tuple[list[str], Found]:
    """A short line that fits, after the first one of a story, and what `fits` says of it."""
    while True:
        for line in world().draw(rng, 6)[1:]:
            if len(line.words) <= SHORT and (state := fits(line.words)):
                return line.words, state


def _changed(original: Sequence[str], right: Sequence[str]) -> Request:
    first, other = " ".join(original), " ".join(right)
    return Request({"sentence": first}, {"given": first, "right": other}, other.removesuffix(" ."), other)


def draw_mood(rng: Random) -> Request:
    """A line that shows its mood."""

    def fits(words: list[str]) -> str | None:
        reader = read_alone(world(), words)
        assert reader is not None
        moods = reader.belief.reshape(len(SUBJECTS), len(MOODS)).sum(axis=0)
        return MOODS[int(moods.argmax())] if moods.max() >= PLAINLY * moods.sum() else None

    words, mood = _line(rng, fits)
    sentence = " ".join(words)
    return Request({"sentence": sentence}, {"right": [mood], "among": list(MOODS)}, mood, sentence)


def draw_plural(rng: Random) -> Request:
    """A line about one thing, to be said of several."""

    def fits(words: list[str]) -> tuple[int, int] | None:
        """Where its subject is, and its verb."""
        states = agreeing(words)
        if states is None or states[1] != "s":
            return None
        return next(((index, states[0]) for index in (1, 2) if words[index] in nouns()), None)

    line, (subject, verb) = _line(rng, fits)
    right = list(line)
    right[0] = right[0].replace("this", "these")
    right[subject] = next(row["plural"] for row in table("nouns") if row["singular"] == line[subject])
    right[verb] = OTHER_NUMBER[line[verb]]
    return _changed(line, right)


def draw_agreement(rng: Random) -> Request:
    """A line whose verb has the wrong number."""
    right, (verb, _, _) = _line(rng, agreeing)
    return _changed([*right[:verb], OTHER_NUMBER[right[verb]], *right[verb + 1 :]], right)


def draw_done(rng: Random) -> Request:
    """What somebody wanted to do, to be said as done: she fed the cow ."""
    past = {row["past"]: row["infinitive"] for row in table("verbs")}

    def fits(words: list[str]) -> int | None:
        fewer = len(words) < SHORT and "that" not in words  # what was wanted has two words more
        return next((index for index, word in enumerate(words) if word in past and fewer), None)

    right, index = _line(rng, fits)
    return _changed([*right[:index], "wanted", "to", past[right[index]], *right[index + 1 :]], right)


def draw_beginning(rng: Random) -> Request:
    """The first words of a line."""
    line, _ = _line(rng, lambda words: len(words) >= 5 and words[-1] == "." and words[0] != "as")
    begins = " ".join(line[: rng.randint(2, min(4, len(line) - 3))])
    return Request({"beginning": begins}, {"begins": begins, "most": FINISHED}, " ".join(line[:-1]), begins)


def draw_subject(rng: Random) -> Request:
    """A noun, and the maximum number of words of a line about it."""
    number = rng.choice(MOST)

    def fits(words: list[str]) -> str | None:
        return next((nouns()[word] for word in words if word in nouns() and len(words) - 1 <= NUMBERS[number]), None)

    line, noun = _line(rng, fits)
    forms = [form for form, singular in nouns().items() if singular == noun]
    wanted = {"mentions": forms, "most": NUMBERS[number]}
    return Request({"noun": noun, "number": number}, wanted, " ".join(line[:-1]), f"{noun} {number}")


# ---- esperanto -------------------------------------------------------------------------------------------------------


def draw_translation(rng: Random, changed: bool = False) -> Request:
    """A noun phrase in either number; changed: one in the singular, whose plural is to be translated."""
    number = "s" if changed else rng.choice(("s", "pl"))
    wanted = "pl" if changed else number
    while True:
        noun, look = rng.choice(table("nouns")), rng.choice(table("looks"))["word"]
        english, article = rng.choice(list(ARTICLES[number].items()))
        described = [look] if rng.random() < DESCRIBED else []
        looks = [esperanto("looks", wanted)[word] for word in described]
        right = " ".join((article, *looks, esperanto("nouns", wanted)[noun["singular"]]))
        if right.isascii():
            phrase = " ".join((english, *described, noun["singular" if number == "s" else "plural"]))
            return Request({"phrase": phrase}, {"right": right}, right, phrase)


# ---- kinds -----------------------------------------------------------------------------------------------------------

Draw = Callable[[Random], Request]
MADE: dict[str, tuple[Draw, Callable[..., Judgement]]] = {
    "fact_word": (partial(draw_fact, "fact_word"), judge_word),
    "yes_no": (draw_claim, judge_word),
    "answer": (draw_answer, judge_short),
    "refuse": (draw_refusal, judge_refusal),
    "answer_sentence": (draw_statement, judge_stated),
    "list": (draw_list, judge_list),
    "odd_one_out": (draw_odd, judge_word),
    "mood": (draw_mood, judge_word),
    "plural": (draw_plural, judge_changed),
    "done": (draw_done, judge_changed),
    "agreement": (draw_agreement, judge_changed),
    "continue": (draw_beginning, judge_line),
    "about": (draw_subject, judge_line),
    "translate": (draw_translation, judge_esperanto),
    "fact_reversed": (partial(draw_fact, "fact_reversed"), judge_word),
    "choose": (draw_choice, judge_word),
    "translate_plural": (partial(draw_translation, changed=True), judge_esperanto),
}


def _kind(name: str) -> Kind:
    by_use: dict[str, list[str]] = {"train": [], "unseen": [], "reworded": []}
    for row in rows("phrasings"):
        if row["kind"] == name:
            by_use[row["use"]].append(row["phrasing"])
    return Kind(*MADE[name], (*by_use["train"], *by_use["unseen"]), "".join(by_use["reworded"]))


KINDS = {name: _kind(name) for name in MADE}
UNSEEN = {name for name, kind in KINDS.items() if not kind.reworded}
REWORDED = "reworded"
"""The name of the kind of dialogues with a seen kind in an unseen phrasing."""
