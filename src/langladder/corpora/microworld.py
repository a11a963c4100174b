"""microworld: the embedded corpus, drawn from a grammar, so that each sentence's exact probability is known.

Sentences are independent draws. The grammar is unambiguous, so the probability of a sentence is that of its one
derivation, and the mean negative log probability of a text estimates the entropy of the source: the lowest perplexity
that a model can reach. The same derivation gives the Esperanto side. Same settings, same bytes, on any machine.
"""

import math
from collections.abc import Iterable, Sequence
from random import Random
from typing import Literal

import pyarrow as pa
from pydantic import Field

from langladder.corpora.grammar import Grammar
from langladder.corpora.world import world
from langladder.ground.progress import tracked
from langladder.ground.schema import Config
from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import PAIRS

LINES_PER_DOCUMENT = 20
SENTENCE_COUNTS = {"tiny": 3_000, "small": 60_000, "base": 600_000}
PAIR_COUNTS = {"tiny": 1_500, "small": 30_000, "base": 150_000}
SPLITS = {"train": 0.9, "validation": 0.05, "test": 0.05}


class MicroworldConfig(Config):
    """Settings. `size` sets the lexicon and, if they are not set, the numbers of sentences and pairs."""

    size: Literal["tiny", "small", "base"] = "small"
    seed: int = Field(default=1, ge=0)
    sentences: int | None = Field(default=None, ge=3 * LINES_PER_DOCUMENT)
    pairs: int | None = Field(default=None, ge=20)

    @property
    def sentence_count(self) -> int:
        """Sentences over all splits."""
        return SENTENCE_COUNTS[self.size] if self.sentences is None else self.sentences

    @property
    def pair_count(self) -> int:
        """Pairs over all splits, before pairs that are also in train are removed from test and validation."""
        return PAIR_COUNTS[self.size] if self.pairs is None else self.pairs


def grammar(size: Literal["tiny", "small", "base"]) -> Grammar:
    """The grammar of a size."""
    return world(size).grammar


def generate_text(config: MicroworldConfig) -> dict[str, pa.Table]:
    """Draw the corpus: train, validation and test, in documents of 20 lines.

    Returns:
        split → table with the columns document (int64), text (one tokenised sentence) and log_prob (float64: exact
        natural log of the probability of the sentence and its end).
    """
    source, rng = grammar(config.size), Random(f"{config.seed} text")
    tables, document = {}, 0
    for split, count in _counts(config.sentence_count, LINES_PER_DOCUMENT).items():
        lines, log_probs = [], []
        for _ in tracked(range(count), f"drawing {split}", unit="sentences"):
            tree, log_prob = source.sample(rng)
            lines.append(" ".join(tree.source()))
            log_probs.append(round(log_prob, 9))  # the last bits of a logarithm differ between machines
        numbers = [document + line // LINES_PER_DOCUMENT for line in range(count)]
        columns = {"document": numbers, "text": lines, "log_prob": log_probs}
        document += math.ceil(count / LINES_PER_DOCUMENT)
        tables[split] = pa.table(columns, schema=TEXT)
    return tables


def generate_parallel(config: MicroworldConfig) -> dict[str, pa.Table]:
    """Draw English–Esperanto pairs, independent of the text: train, validation and test.

    Validation and test contain no source sentence of train, and test none of validation, so they are a little smaller
    than their share.

    Returns:
        split → table with the columns source (English) and target (Esperanto).
    """
    grammar_, rng = grammar(config.size), Random(f"{config.seed} parallel")
    tables: dict[str, pa.Table] = {}
    seen: set[str] = set()
    for split, count in _counts(config.pair_count, 1).items():
        pairs = []
        for _ in tracked(range(count), f"drawing {split}", unit="pairs"):
            tree = grammar_.sample(rng).tree
            pairs.append((" ".join(tree.source()), " ".join(tree.target())))
        kept = [pair for pair in pairs if pair[0] not in seen]
        seen.update([english for english, _ in kept])
        columns = {"source": [pair[0] for pair in kept], "target": [pair[1] for pair in kept]}
        tables[split] = pa.table(columns, schema=PAIRS)
    return tables


def _counts(total: int, unit: int) -> dict[str, int]:
    """Items of each split, in whole units (documents), at least one unit each; train gets the rest."""
    held_out = {
        split: max(1, round(total * share / unit)) * unit for split, share in SPLITS.items() if split != "train"
    }
    return {"train": total - sum(held_out.values()), **held_out}


def floor(log_probs: Iterable[float], words: int) -> float:
    """The entropy floor of a text, the lowest possible perplexity per word: exp(−Σ log P(sentence) / words).

    Args:
        log_probs: natural-log probabilities of the sentences, including their ends.
        words: the number of words, e.g. tokens plus one end per sentence.
    """
    return math.exp(-math.fsum(log_probs) / words)


def count_words(lines: Sequence[str]) -> dict[str, int]:
    """Word → how often it occurs."""
    counts: dict[str, int] = {}
    for line in lines:
        for word in line.split():
            counts[word] = counts.get(word, 0) + 1
    return counts
