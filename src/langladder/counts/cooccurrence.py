"""Which words co-occur: term–term counts in a window, as a sparse matrix.

    X_ij = Σ over lines, positions t and distances d = 1 … m of  weight(d) · [w_t = i and w_{t±d} = j]

with weight(d) = 1 (flat) or 1/d (Pennington et al. 2014, GloVe, section 4.2). A window never reaches beyond its line.

The places of each word are listed first; then a word's neighbours at all of its places are counted in one dense row,
which is read out and zeroed for the next word. No pair is written down, let alone sorted.

What is added up are whole numbers (1/d in units of 1/scale), so that any order of the sums gives the same result: same
text, same bytes, whatever the number of threads, parts and workers. A text whose pairs do not fit into the memory that
the engine grants is counted part by part, and the parts are merged from disk (`counts.spilled`).
"""

import math
import os
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_matrix

from langladder.counts.pair_counting import Rows, count_range
from langladder.counts.pair_kernels import divide
from langladder.counts.spilled import Part, Text, as_matrix, check_ids, count_spilled
from langladder.counts.stored import Counting
from langladder.engine.base import Engine, current
from langladder.text.words.word_corpus import WordCorpus

PAIRS_AT_ONCE = 1 << 28
BYTES_A_PAIR = 36  # where hardly any two pairs are equal: two entries of rows, and gaps
BYTES_A_WORD = 24  # the text, its places
MOST_THREADS = 8
FINE = 1 << 32  # units of a distance where the distances' least common multiple is too large


class CooccurrenceConfig(Counting):
    """What counts as co-occurring."""

    window: int = Field(default=5, ge=1, le=1000)  # m, words on each side: 1–3 shows syntax, 4–10 meaning
    sides: Literal["symmetric", "left", "right"] = "symmetric"  # left: X_ij counts j standing before i
    weighting: Literal["flat", "inverse_distance"] = "flat"

    @property
    def key(self) -> str:
        """E.g. `window5-flat-symmetric`."""
        return f"window{self.window}-{self.weighting}-{self.sides}"

    @property
    def scale(self) -> int:
        """In how many units a pair of neighbours is counted, so that other distances have (nearly) whole numbers."""
        if self.weighting == "flat":
            return 1
        multiple = math.lcm(*range(1, self.window + 1))
        return multiple if multiple <= 1 << 20 else FINE  # up to 16 words: exact; beyond: to 2⁻³² · d / 2

    def units(self) -> np.ndarray:
        """What a pair counts at the distances 1 … m, (m,) int64: weight(d) = units / scale."""
        if self.weighting == "flat":
            return np.ones(self.window, dtype=np.int64)
        return np.array([round(self.scale / distance) for distance in range(1, self.window + 1)], dtype=np.int64)

    def count(self, corpus: WordCorpus, scratch: Path | None = None) -> csr_matrix:
        """Term–term counts of a text, (V, V) float64 CSR."""
        text = Text(corpus.stream.ids, corpus.stream.offsets, corpus.path)
        return _count(text, len(corpus.vocabulary), self, None, current(), scratch)


def count_cooccurrence(
    ids: np.ndarray,
    offsets: np.ndarray,
    vocab_size: int,
    config: CooccurrenceConfig | None = None,
    *,
    threads: int | None = None,
    engine: Engine | None = None,
) -> csr_matrix:
    """Term–term counts X.

    Args:
        ids: (T,) word ids below `vocab_size`; fastest where low ids are frequent words.
        offsets: (R + 1,) bounds of the lines: line r is `ids[offsets[r] : offsets[r + 1]]`.
        threads: changes the speed only; None: as many as there are processors, up to 8.
        engine: grants the memory. Its workers have no way to `ids`: what lies in files is counted by
            `CooccurrenceConfig.count`.

    Returns:
        (V, V) float64 CSR, column numbers ascending in each row, no stored zeros.

    Raises:
        InputError: an id is not below `vocab_size`.
    """
    text = Text(np.asarray(ids, dtype=np.int32), np.asarray(offsets, dtype=np.int64))
    return _count(text, vocab_size, config or CooccurrenceConfig(), threads, engine or current(), None)


def _count(
    text: Text, vocab_size: int, config: CooccurrenceConfig, threads: int | None, engine: Engine, scratch: Path | None
) -> csr_matrix:
    check_ids(text.ids, vocab_size)
    threads = threads or min(os.cpu_count() or 1, MOST_THREADS)
    words_at_once = engine.share // (BYTES_A_PAIR * config.window + BYTES_A_WORD)
    at_once = max(1, min(PAIRS_AT_ONCE // config.window, words_at_once))
    words = int(text.offsets[-1] - text.offsets[0])
    if words > at_once:
        alone = engine.workers > 1 and text.path is not None
        count = partial(count_part, vocab_size, config.units(), config.sides, 1 if alone else threads)
        return count_spilled(text, count, (vocab_size, vocab_size), at_once, config.scale, engine, scratch)
    whole = Part(0, int(text.offsets[0]), int(text.offsets[-1]))
    rows = count_part(vocab_size, config.units(), config.sides, threads, text, whole)
    return as_matrix(rows.bounds, rows.columns, divide(rows.values, config.scale), (vocab_size, vocab_size))


def count_part(vocab_size: int, units: np.ndarray, sides: str, threads: int, text: Text, part: Part) -> Rows:
    """The pairs of a part of the text."""
    return count_range(text.ids, text.offsets, vocab_size, units, sides, part.first, part.last, threads)
