"""The value of context: the entropy floor of a reader of whole documents, and of a reader of only the last sentences.

The first is exact: exp(−Σ log P(x_t | x_1 … x_{t−1}) / words). A reader of only sentence t and the n sentences before
it, who knows their line numbers, has

    P(x_t | x_{t−n} … x_{t−1}) = E[P(x_{t−n} … x_t | z, M)] / E[P(x_{t−n} … x_{t−1} | z, M)]

with the expectation over the state z and the memory M of a document before sentence t−n. Both means are estimated from
the same K documents drawn from the process, and the sentence's own document. Few drawn documents mention exactly the
people of the sentence. Therefore only the structure of their memories is kept (`Memory.forgotten`): a value that the
reader has not seen is summed over all its possibilities, and is known from then on. This does not change the means, and
removes most of their variance (Rao–Blackwell). Because the sentence's own document is included, the estimated distance
between the two floors is too small rather than too large (as in the bounds of Poole et al. 2019, section 2.3). This
bias vanishes as K grows.

The distance is measured on sentences of drawn documents. Its standard error has two parts: the part of the K documents
is estimated by leaving out one tenth of them at a time (the jackknife), the part of the sentences from their residuals.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from langladder.corpora.documents.grammar import STATES, Grammar
from langladder.corpora.documents.language import one_of_two
from langladder.corpora.documents.lines import LINE
from langladder.corpora.documents.memory import UNKNOWN, Memory
from langladder.corpora.documents.process import LINES, Process, Reader, follow
from langladder.ground.progress import tracked

BLOCKS = 10


class Document(NamedTuple):
    """A drawn document.

    Attributes:
        sentences: its lines.
        log_probs: the exact log-probability of each line given the previous ones.
        readers: before each line, a reader who knows the state and the structure of the memory, but no values.
    """

    sentences: list[str]
    log_probs: list[float]
    readers: list[Reader]


class Worth(NamedTuple):
    """The loss of a reader who sees only some sentences before the predicted one, relative to a reader who sees all.

    Attributes:
        sentences: the number of sentences that the reader sees.
        nats: additional nats per word. error: its standard error.
    """

    sentences: int
    nats: float
    error: float


def draw_document(source: Process, rng: Random, lines: int | None = None) -> Document:
    """Draw a document with the data for its floors."""
    found = Document([], [], [])
    state, reader = rng.choices(range(len(STATES)), Reader().belief)[0], Reader()
    for _ in range(rng.randint(*LINES) if lines is None else lines):
        sure = tuple(float(z == state) for z in range(len(STATES)))
        found.readers.append(Reader(reader.memory.forgotten(), sure))
        node, state = source.draw_line(source.grammar(reader.memory), state, rng)
        reader, log_prob = follow(reader, node)
        found.sentences.append(" ".join(node.source()))
        found.log_probs.append(log_prob)
    return found


def worth(source: Process, seen: int, documents: int, others: int, rng: Random) -> Worth:
    """The value of the sentences before the last `seen` ones.

    Args:
        documents: one in four of their sentences are predicted.
        others: K documents whose memories represent the unseen text.
    """
    drawn = [draw_document(source, rng) for _ in range(documents)]
    pool = [draw_document(source, rng, LINES[1]) for _ in range(others)]
    chosen = [(document, line) for document in drawn for line in range(rng.randrange(4), len(document.sentences), 4)]
    words = np.array([len(document.sentences[line].split()) + 1 for document, line in chosen])
    exact = np.array([document.log_probs[line] for document, line in chosen])
    by_start: dict[int, list[int]] = {}
    for number, (_, line) in enumerate(chosen):
        by_start.setdefault(max(0, line - seen), []).append(number)
    found = np.tile(exact[:, None], (1, 1 + BLOCKS))  # (samples, 1 + BLOCKS): `exact` if all is seen
    for start, numbers in tracked(by_start.items(), f"what is known from {seen} sentences", unit="lines"):
        if start:
            pairs = _pairs(source, [other.readers[start] for other in pool], start, [chosen[one] for one in numbers])
            found[numbers] = _log_ratios(pairs)
    losses = (exact[:, None] - found).sum(axis=0) / words.sum()  # (1 + BLOCKS,)
    by_others = jackknife(losses[1:])
    residuals = exact - found[:, 0] - losses[0] * words
    by_sentences = residuals.var(ddof=1) * len(words) / words.sum() ** 2
    return Worth(seen, float(losses[0]), math.sqrt(by_others + by_sentences))


def jackknife(without: np.ndarray) -> float:
    """The variance of an estimate from its values (B,) without each of B equal blocks of the data (Tukey 1958)."""
    # (B − 1)/B Σ (θ_b − mean θ)²
    return float((len(without) - 1) / len(without) * ((without - without.mean()) ** 2).sum())


def _pairs(source: Process, readers: list[Reader], start: int, chosen: list[tuple[Document, int]]) -> np.ndarray:
    """P(window) and P(window and sentence) of each sample, from its own document and each other: (samples, 1 + K,
    2)."""
    found = np.empty((len(chosen), 1 + len(readers), 2))
    for row, (document, line) in enumerate(chosen):
        own = document.readers[start]
        found[row, 0] = _window(source, own, source.grammar(own.memory), document.sentences[start : line + 1])
    for column, reader in enumerate(readers, start=1):
        grammar = source.grammar(reader.memory)
        for row, (document, line) in enumerate(chosen):
            found[row, column] = _window(source, reader, grammar, document.sentences[start : line + 1])
    return found


def _log_ratios(pairs: np.ndarray) -> np.ndarray:
    """log of the ratio of the means, with all documents and without each block of the others (samples, 1 + BLOCKS)."""
    block = np.arange(pairs.shape[1] - 1) % BLOCKS
    keep = np.concatenate(
        [np.ones((1 + BLOCKS, 1)), block != np.arange(-1, BLOCKS)[:, None]], axis=1
    )  # (1 + BLOCKS, 1 + K)
    before, both = np.moveaxis(np.einsum("bk,skp->sbp", keep, pairs), -1, 0)  # (samples, 1 + BLOCKS) each
    ratios: np.ndarray = np.log(both) - np.log(before)
    return ratios


def _window(source: Process, reader: Reader, grammar: Grammar, sentences: Sequence[str]) -> tuple[float, float]:
    """P(all sentences but the last), P(all) of one reader, over all ways to read them."""
    ways, before = readings(source, reader, grammar, sentences[0]), 1.0
    for text in sentences[1:]:
        before = sum(p for _, p in ways)
        ways = [(after, p * q) for one, p in ways for after, q in readings(source, one, None, text)]
    return before, sum(p for _, p in ways)


def readings(source: Process, reader: Reader, grammar: Grammar | None, sentence: str) -> list[tuple[Reader, float]]:
    """All readings of a sentence by a reader who does not know all values, with their probabilities."""
    found = []
    for node in (grammar or source.grammar(reader.memory)).parse(LINE, sentence.split()):
        after, log_prob = follow(reader, node)
        p = math.exp(log_prob) * both_names(source, reader.memory, after.memory)
        if p:
            found.append((after, p))
    return found


def both_names(source: Process, before: Memory, after: Memory) -> float:
    """The correction for a sentence with both names of a sex: each was scored as if the other was not known."""
    factor = 1.0
    for sex in "mf":
        known = [before.people[one].name != UNKNOWN for one in before.of_sex(sex)]
        names = [after.people[one].name for one in after.of_sex(sex)]
        if len(names) == 2 and UNKNOWN not in names and known and not any(known):
            shares = source.language.shares[sex]
            # P(b | a) in place of P(b)
            factor *= (
                one_of_two(shares, True, names[0]).get(names[1], 0.0) / one_of_two(shares, True, UNKNOWN)[names[1]]
            )
    return factor
