"""The truth about microworld: the probability of each next word, and the gold judge's score of an answer.

The judge only knows microworld's requests: an instruction is looked up among those that are drawn.
"""

import heapq
import math
import threading
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from langladder.corpora.grammar import Grammar
from langladder.corpora.instructions.demonstrations import InstructionsConfig, demonstrations
from langladder.corpora.instructions.judge import judge
from langladder.corpora.lexicon import Size
from langladder.corpora.microworld import grammar
from langladder.corpora.word_distributions import NextWords
from langladder.faces.http.server import Json
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import Dialogue
from microworld.engine import world

SIZES: dict[str, Size] = {"tiny": "tiny", "small": "small", "medium": "small", "base": "base"}
"""Size of a ladder → of its microworld."""
CORPORA = {"microworld": True, "microworld_sentences": False}
"""Corpora whose truth is known; whether they are documents."""
MOST_WORDS = 120  # of a sentence
MOST_SYMBOLS = 60_000  # cached expansions of the grammar of sentences, about 250 MB; then the cache is cleared
END = "<eos>"
DRAWN = {"train": 8_000, "unseen": 800}
"""Requests of each split that the judge knows."""
EXAMPLES = 3
"""Number of examples of each kind."""
UNKNOWN = (
    "The gold judge reads the requests that microworld draws, and this is not one of them: "
    "choose an example to see an answer judged."
)
_lock = threading.Lock()


class Learnt(NamedTuple):
    """The microworld that the models of a checkout learnt: its size, and whether they learnt documents."""

    size: Size
    documents: bool


def learnt(project: Path) -> Learnt | None:
    """The corpus of the models of a checkout; None if it is not microworld."""
    truth = project / "data" / "raw" / "text" / "truth"
    try:
        chosen = read_json(project / "reports" / "ladder.json").get("chosen", {})
        size, corpus = SIZES.get(str(chosen.get("size"))), chosen.get("corpus")
        return Learnt(size, CORPORA[corpus]) if size and corpus in CORPORA else None
    except (InputError, AttributeError):
        found = (truth / "agreement.jsonl").is_file()
        return Learnt("small", (truth / "floors.json").is_file()) if found else None


def true_words(learnt: Learnt, text: str) -> list[Json]:
    """Each word of a text, the ends of its lines included: {"text", "bits", "entropy", "likeliest"}.

    If documents were learnt, the text is the beginning of one, one sentence per line; else its lines are independent.

    `bits` is None for a word that the grammar cannot draw there; then the rest of its line has no entropy, nor have the
    lines after it in a document.
    `likeliest`: the five likeliest words there, with their probabilities.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()] or [[]]
    found: list[Json] = []
    drawn = _of_a_story(lines) if learnt.documents else _of_sentences(learnt.size, lines)
    for line, truths in zip(lines, drawn, strict=True):
        truths += [{}] * (len(line) + 1 - len(truths))
        found += [_word(word, truth) for word, truth in zip([*line, END], truths, strict=True)]
    return found


def _of_a_story(lines: Sequence[list[str]]) -> Iterator[list[dict[str, float]]]:
    """The distributions of the next words of each line, given the lines before."""
    for number, line in enumerate(lines):
        yield [world().next_words(readers) for readers in world().prefixes(lines[:number], line[:MOST_WORDS])]


def _of_sentences(size: Size, lines: Sequence[list[str]]) -> Iterator[list[dict[str, float]]]:
    """The distributions of the next words of each line, as if it were alone."""
    for line in lines:
        with _lock:
            yield _next_words(size).after(line[:MOST_WORDS])
            if _next_words(size).symbols > MOST_SYMBOLS:
                _next_words.cache_clear()


def _word(word: str, truth: dict[str, float]) -> Json:
    named = {name or END: probability for name, probability in truth.items()}
    likeliest = heapq.nlargest(5, named.items(), key=lambda pair: pair[1])
    p = named.get(word, 0.0)
    return {
        "text": word,
        "bits": -math.log2(p) + 0.0 if p else None,
        "entropy": -math.fsum(p * math.log2(p) for p in named.values()) + 0.0 if named else None,
        "likeliest": likeliest,
    }


@lru_cache(maxsize=1)
def _next_words(size: Size) -> NextWords:
    """With its own grammar, so that its cache is freed with it."""
    shared = grammar(size)
    return NextWords(Grammar(shared.start, shared.expand))


@cache
def requests() -> dict[str, Dialogue]:
    """Instruction → its dialogue, as they are drawn; takes seconds the first time."""
    found = [one for split, count in DRAWN.items() for one in demonstrations(InstructionsConfig(), split, count)]
    return {_one_line(one.prompt[-1].text): one for one in found}


def examples() -> list[dict[str, str]]:
    """A few instructions of each kind, each with a right answer; a kind says whether it occurs in training."""
    found: list[dict[str, str]] = []
    for split, most in (("train", 12 * EXAMPLES), ("unseen", 6 * EXAMPLES)):
        drawn = sorted(demonstrations(InstructionsConfig(), split, most + most // 2), key=lambda one: one.kind)
        for kind in dict.fromkeys(one.kind for one in drawn):
            found += [
                {"kind": kind, "shown": split, "text": one.prompt[-1].text, "answer": one.response or ""}
                for one in [one for one in drawn if one.kind == kind][:EXAMPLES]
            ]
    return found


def evaluate_answer(instruction: str, answer: str) -> Json:
    """The gold judge's result for an answer: its parts, its reward, a right answer; or the reason why there is none."""
    known = requests().get(_one_line(instruction))
    if known is None:
        return {"known": False, "why": UNKNOWN}
    found = judge(known.asked, answer)
    return {"known": True, "parts": found._asdict(), "reward": found.reward, "right": known.response or ""}


def _one_line(text: str) -> str:
    return " ".join(text.lower().split())
