"""The truth about microworld: the probability of each next word, and the gold judge's score of an answer.

The judge only knows microworld's requests: an instruction is looked up among those that are drawn.
"""

import heapq
import math
from functools import cache
from pathlib import Path

from langladder.corpora.instructions.demonstrations import InstructionsConfig, demonstrations
from langladder.corpora.instructions.judge import judge
from langladder.faces.http.server import Json
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import Dialogue
from microworld.engine import world

MOST_WORDS = 120  # of a sentence
END = "<eos>"
DRAWN = {"train": 8_000, "unseen": 800}
"""Requests of each split that the judge knows."""
EXAMPLES = 3
"""Number of examples of each kind."""
UNKNOWN = (
    "The gold judge reads the requests that microworld draws, and this is not one of them: "
    "choose an example to see an answer judged."
)


def learnt(project: Path) -> bool:
    """Whether the models of a checkout learnt microworld."""
    try:
        chosen = read_json(project / "reports" / "ladder.json").get("chosen", {})
        return bool(chosen.get("corpus") == "microworld")
    except (InputError, AttributeError):
        return (project / "data" / "raw" / "text" / "truth" / "floors.json").is_file()


def true_words(text: str) -> list[Json]:
    """Each word of the beginning of a story, a line each, the ends of lines included: {"text", "bits", "entropy",
    "likeliest"}.

    `bits` is None for a word that cannot stand there; then the rest of its line and the lines after it have no entropy.
    `likeliest`: the five likeliest words there, with their probabilities.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()] or [[]]
    words: list[Json] = []
    for number, line in enumerate(lines):
        truths = [world().next_words(readers) for readers in world().prefixes(lines[:number], line[:MOST_WORDS])]
        truths += [{}] * (len(line) + 1 - len(truths))
        words += [_word(word, truth) for word, truth in zip([*line, END], truths, strict=True)]
    return words


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


@cache
def requests() -> dict[str, Dialogue]:
    """Instruction → its dialogue, as they are drawn; takes seconds the first time."""
    drawn = [
        dialogue for split, count in DRAWN.items() for dialogue in demonstrations(InstructionsConfig(), split, count)
    ]
    return {_one_line(dialogue.prompt[-1].text): dialogue for dialogue in drawn}


def examples() -> list[dict[str, str]]:
    """A few instructions of each kind, each with a right answer; a kind says whether it occurs in training."""
    chosen: list[dict[str, str]] = []
    for split, most in (("train", 12 * EXAMPLES), ("unseen", 6 * EXAMPLES)):
        drawn = sorted(
            demonstrations(InstructionsConfig(), split, most + most // 2), key=lambda dialogue: dialogue.kind
        )
        for kind in dict.fromkeys(dialogue.kind for dialogue in drawn):
            chosen += [
                {"kind": kind, "shown": split, "text": dialogue.prompt[-1].text, "answer": dialogue.response or ""}
                for dialogue in [entry for entry in drawn if entry.kind == kind][:EXAMPLES]
            ]
    return chosen


def evaluate_answer(instruction: str, answer: str) -> Json:
    """The gold judge's result for an answer: its parts, its reward, a right answer; or the reason why there is none."""
    known = requests().get(_one_line(instruction))
    if known is None:
        return {"known": False, "why": UNKNOWN}
    verdict = judge(known.asked, answer)
    return {"known": True, "parts": verdict._asdict(), "reward": verdict.reward, "right": known.response or ""}


def _one_line(text: str) -> str:
    return " ".join(text.lower().split())
