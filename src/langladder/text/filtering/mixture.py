"""Mix corpora: each contributes its share of the words, be it a part of the corpus or several copies.

    epochs of a corpus = weight · words of the mixture / words of the corpus          (Brown et al. 2020, table 2.2)

So a small, good corpus may be read three times while only a part of a large one is read. Of the last, incomplete epoch
the documents are used whose hash lies below its fraction. Corpora are interleaved evenly.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from pydantic import Field, model_validator

from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.clean.splitting import place
from langladder.text.filtering.documents import Document
from langladder.text.read.sources import TextSource


class MixedSource(TextSource):
    """A corpus that is mixed in."""

    weight: float = Field(gt=0)  # its share of the words, over the sum of all weights


class MixtureConfig(Config):
    """The corpora that are mixed with the text, and their weights."""

    weight: float = Field(gt=0)  # of the text itself
    others: dict[str, MixedSource] = Field(min_length=1)
    words: int | None = Field(default=None, ge=1)  # of the mixture; null: as many as all corpora have together

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        if "text" in self.others:
            raise ValueError("others: 'text' is the corpus itself; call this one otherwise")
        return self


class Corpus(NamedTuple):
    """A corpus of a mixture: its documents (called once per epoch), their number of words, and its weight."""

    documents: Callable[[], Iterator[Document]]
    words: int
    weight: float


def shares(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights as shares of the words, which add up to 1."""
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def epochs(corpora: Mapping[str, Corpus], words: int | None = None) -> dict[str, float]:
    """How often each corpus is read.

    Args:
        words: of the mixture; None: as many as the corpora have together.

    Raises:
        InputError: a corpus has no words.
    """
    if empty := [name for name, corpus in corpora.items() if not corpus.words]:
        raise InputError(f"mixture: {', '.join(empty)} has no words left to mix")
    total = sum(corpus.words for corpus in corpora.values()) if words is None else words
    parts = shares({name: corpus.weight for name, corpus in corpora.items()})
    # epochs_i = w_i · T / W_i
    return {name: parts[name] * total / corpus.words for name, corpus in corpora.items()}


def mixed(corpora: Mapping[str, Corpus], times: Mapping[str, float], seed: int) -> Iterator[tuple[str, Document]]:
    """The documents of all corpora, interleaved, each with its corpus' name."""

    def read(name: str, order: int) -> Iterator[tuple[float, int, str, Document]]:
        corpus, sofar = corpora[name], 0
        whole = int(times[name])
        for epoch in range(whole + 1):
            for document in corpus.documents():
                if epoch == whole and place([f"mixture {name}", *document.lines], seed) >= times[name] - whole:
                    continue
                yield sofar / (times[name] * corpus.words), order, name, document
                sofar += document.words

    streams = [read(name, order) for order, name in enumerate(corpora)]
    for _, _, name, document in heapq.merge(*streams, key=lambda item: item[:2]):
        yield name, document


def report(
    corpora: Mapping[str, Corpus], times: Mapping[str, float], taken: Mapping[str, Counter[str]]
) -> dict[str, dict[str, Any]]:
    """Size, weight and epochs of each corpus, and what of it is in the mixture (by corpus: documents, lines, words)."""
    weights = shares({name: corpus.weight for name, corpus in corpora.items()})
    return {
        name: {"words": corpus.words, "weight": round(weights[name], 4), "epochs": round(times[name], 4)}
        | {f"{unit}_taken": count for unit, count in taken.get(name, Counter[str]()).items()}
        for name, corpus in corpora.items()
    }
