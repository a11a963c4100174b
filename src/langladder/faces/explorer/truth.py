"""What is true on microworld: the grammar's own surprisal and entropy of each next word, and its likeliest words."""

import heapq
import math
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langladder.faces.http.kinds import described

if TYPE_CHECKING:
    from langladder.corpora.word_distributions import NextWords

SIZES = {"tiny": "tiny", "small": "small", "medium": "small", "base": "base"}  # of a ladder → of its microworld
MOST_WORDS = 120  # of a sentence
MOST_SYMBOLS = 60_000  # of the grammar that are kept expanded, some 250 MB, before all are forgotten
END = "<eos>"
_lock = threading.Lock()


def size_of(place: Path) -> str | None:
    """The size of the microworld that the models of a checkout learnt; None where it is another corpus."""
    try:
        chosen: Any = described(place / "reports" / "ladder.json").get("chosen", {})
        return SIZES.get(str(chosen.get("size"))) if chosen.get("corpus") == "microworld" else None
    except (OSError, ValueError, AttributeError):
        return "small" if (place / "data" / "raw" / "text" / "truth" / "agreement.jsonl").is_file() else None


def true_words(size: str, text: str) -> list[dict[str, Any]]:
    """Each word of a text, the ends of its lines included: {"text", "bits", "entropy", "likeliest"}.

    `bits` is None for a word that no sentence of the grammar has in this place; what follows it in its line has no
    entropy either.
    `likeliest`: the five likeliest next words in its place, with their probabilities.
    """
    found: list[dict[str, Any]] = []
    for line in [line.split() for line in text.splitlines() if line.strip()] or [[]]:
        with _lock:
            truths = _truth(size).after(line[:MOST_WORDS])
            if _truth(size).symbols > MOST_SYMBOLS:
                _truth.cache_clear()
        truths += [{}] * (len(line) + 1 - len(truths))
        found += [_word(word, truth) for word, truth in zip([*line, END], truths, strict=True)]
    return found


def _word(word: str, truth: dict[str, float]) -> dict[str, Any]:
    named = {name or END: probability for name, probability in truth.items()}
    likeliest = heapq.nlargest(5, named.items(), key=lambda pair: pair[1])
    given = named.get(word, 0.0)
    return {
        "text": word,
        "bits": -math.log2(given) + 0.0 if given else None,
        "entropy": -math.fsum(p * math.log2(p) for p in named.values()) + 0.0 if named else None,
        "likeliest": likeliest,
    }


@lru_cache(maxsize=1)
def _truth(size: Any) -> "NextWords":
    """With a grammar of its own, so that what it keeps goes with it."""
    from langladder.corpora.grammar import Grammar
    from langladder.corpora.microworld import grammar
    from langladder.corpora.word_distributions import NextWords

    shared = grammar(size)
    return NextWords(Grammar(shared.start, shared.expand))
