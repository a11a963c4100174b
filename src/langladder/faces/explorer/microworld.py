"""What is true on microworld: each next word's probability by its grammar, and how good an answer is by its gold judge.

The judge knows microworld's requests alone: an instruction is looked up among those that its grammar draws.
"""

import heapq
import math
import threading
from functools import lru_cache
from pathlib import Path
from typing import get_args

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

SIZES: dict[str, Size] = {"tiny": "tiny", "small": "small", "medium": "small", "base": "base"}
"""Size of a ladder → of its microworld."""
MOST_WORDS = 120  # of a sentence
MOST_SYMBOLS = 60_000  # of the grammar that are kept expanded, some 250 MB, before all are forgotten
END = "<eos>"
DRAWN = {"train": 8_000, "unseen": 800}
"""Requests of each split that the judge is ready for."""
EXAMPLES = 3
"""Of each kind."""
UNKNOWN = (
    "The gold judge reads the requests that microworld's grammar draws, and this is none of those it has drawn: "
    "choose an example to see an answer judged."
)
_lock = threading.Lock()


def size_of(project: Path) -> Size | None:
    """The size of the microworld that the models of a checkout learnt; None where it is another corpus."""
    try:
        chosen = read_json(project / "reports" / "ladder.json").get("chosen", {})
        return SIZES.get(str(chosen.get("size"))) if chosen.get("corpus") == "microworld" else None
    except (InputError, AttributeError):
        return "small" if (project / "data" / "raw" / "text" / "truth" / "agreement.jsonl").is_file() else None


def true_words(size: Size, text: str) -> list[Json]:
    """Each word of a text, the ends of its lines included: {"text", "bits", "entropy", "likeliest"}.

    `bits` is None for a word that no sentence of the grammar has in this place; what follows it in its line has no
    entropy either.
    `likeliest`: the five likeliest next words in its place, with their probabilities.
    """
    found: list[Json] = []
    for line in [line.split() for line in text.splitlines() if line.strip()] or [[]]:
        with _lock:
            truths = _next_words(size).after(line[:MOST_WORDS])
            if _next_words(size).symbols > MOST_SYMBOLS:
                _next_words.cache_clear()
        truths += [{}] * (len(line) + 1 - len(truths))
        found += [_word(word, truth) for word, truth in zip([*line, END], truths, strict=True)]
    return found


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
    """With a grammar of its own, so that what it keeps goes with it."""
    shared = grammar(size)
    return NextWords(Grammar(shared.start, shared.expand))


@lru_cache(maxsize=len(get_args(Size)))
def requests(size: Size) -> dict[str, Dialogue]:
    """Instruction → the dialogue that demonstrates it, as the grammar draws them; seconds at the first time."""
    config = InstructionsConfig(size=size)
    found = [one for split, count in DRAWN.items() for one in demonstrations(config, split, count)]
    return {_one_line(one.prompt[-1].text): one for one in found}


def examples(size: Size) -> list[dict[str, str]]:
    """A few instructions of each kind, each with a right answer; a kind says whether training shows it."""
    config = InstructionsConfig(size=size)
    found: list[dict[str, str]] = []
    for split, most in (("train", 12 * EXAMPLES), ("unseen", 6 * EXAMPLES)):
        drawn = sorted(demonstrations(config, split, most + most // 2), key=lambda one: one.kind)
        for kind in dict.fromkeys(one.kind for one in drawn):
            found += [
                {"kind": kind, "shown": split, "text": one.prompt[-1].text, "answer": one.response or ""}
                for one in [one for one in drawn if one.kind == kind][:EXAMPLES]
            ]
    return found


def evaluate_answer(size: Size, instruction: str, answer: str) -> Json:
    """What the gold judge says of an answer: its parts, its reward, a right answer; why not, where it cannot."""
    known = requests(size).get(_one_line(instruction))
    if known is None:
        return {"known": False, "why": UNKNOWN}
    found = judge(known.asked, answer)
    return {"known": True, "parts": found._asdict(), "reward": found.reward, "right": known.response or ""}


def _one_line(text: str) -> str:
    return " ".join(text.lower().split())
