"""n-gram models in back-off form: for every estimation method, a probability is one look-up and some additions.

    log P(w | h) = log p(h w)                    where the n-gram h w was seen,
                 = log b(h) + log P(w | h′)      else, h′ being h without its first word (b = 1 where h was not seen).

Interpolated models have the same form: their p(h w) already contains the lower orders' share. ARPA files
(`langladder.formats.arpa`) also have this form; their models are `ArpaModel`s. The n-grams are stored in the trie of
`langladder.counts.ngrams`; a line's history begins at its BOS. A saved model is memory-mapped. It is checked once, so
that no index points outside the tables; afterwards only the parts that are looked up stay in memory.

Shape legend: B rows, T tokens, V vocabulary, N order, G n-grams, L n-grams below order N.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

import numpy as np
import torch

from langladder.ground import artefacts
from langladder.ground.errors import InputError
from langladder.ground.memory import forget
from langladder.ground.schema import Config
from langladder.kernels import ngrams as kernels
from langladder.kernels.counting import extension
from langladder.models.language.counted import CountedLanguageModel
from langladder.models.language.language_model import check_tokens
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, PAD

DTYPES = {
    "levels": np.int64,
    "words": np.int32,
    "starts": np.int64,
    "log_probs": np.float32,
    "log_backoffs": np.float32,
}
PART = 1 << 20  # numbers per check


class Entry(NamedTuple):
    """The entries of the tables for a token w after a history h.

    Attributes:
        history: its ids, oldest first; () for single words.
        log_prob: log p(h w); None: the n-gram is not in the tables.
        log_backoff: log b(h), the factor of shorter histories; None: the history is not in the tables, which counts as
            0.
        followers: number of distinct words after h in the tables; not counted for the empty history.
    """

    history: tuple[int, ...]
    log_prob: float | None
    log_backoff: float | None
    followers: int


class BackoffLanguageModel(CountedLanguageModel):
    """Base of n-gram models. Subclasses implement `fit`, which must call `set_arrays` at the end."""

    approach = "n-grams"
    _read_arrays = staticmethod(artefacts.map_arrays)

    def __init__(self, config: Config, vocab_size: int) -> None:
        self.config = config
        self.vocab_size = vocab_size
        self._tables: dict[str, np.ndarray] = {}

    def arrays(self) -> dict[str, np.ndarray]:
        """levels (N + 1,), words (G,), starts (L + 1,), log_probs (G,), log_backoffs (L,)."""
        if not self._tables:
            raise RuntimeError(f"{type(self).__name__}: not fitted yet; call fit(stream) first")
        return self._tables

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the result of `arrays`. Raises ValueError if names, types, lengths or numbers do not fit."""
        if set(arrays) != set(DTYPES):
            raise ValueError(f"arrays {sorted(arrays)}; expected {sorted(DTYPES)}")
        for name, dtype in DTYPES.items():
            if arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise ValueError(f"{name}: {arrays[name].dtype}, {arrays[name].ndim} axes; expected {dtype}, 1")
        _check_tables(self.vocab_size, **arrays)
        self._tables = dict(arrays)

    @property
    def order(self) -> int:
        """N: a word is predicted from the N − 1 previous words."""
        return len(self.arrays()["levels"]) - 1

    def ngrams_per_order(self) -> list[int]:
        """The numbers of n-grams of orders 1 … N."""
        return [int(number) for number in np.diff(self.arrays()["levels"])]

    def log_probs(self, tokens: torch.Tensor) -> torch.Tensor:
        check_tokens(tokens, self.vocab_size)
        tables = self.arrays()
        scores = kernels.scores(
            tokens.numpy(), self.order, tables["words"], tables["starts"], tables["log_probs"], tables["log_backoffs"]
        )
        return torch.from_numpy(scores)  # (B, T)

    def next_log_probs(self, prefix: torch.Tensor) -> torch.Tensor:
        """See `LanguageModel.next_log_probs`. BOS and PAD have log-probability −∞."""
        check_tokens(prefix, self.vocab_size)
        return torch.from_numpy(np.stack([self._next(row[row != PAD]) for row in prefix.numpy()]))  # (B, V)

    def entries(self, prefix: np.ndarray, token: int) -> list["Entry"]:
        """The tables' entries for a token after a prefix (length,), by length of the history, starting with the empty
        one.

        From the first to the last entry, P is p(h w) if the n-gram exists, else b(h) times the previous P.
        """
        tables = self.arrays()
        words, starts = tables["words"], tables["starts"]
        entries = [Entry((), float(tables["log_probs"][token]), 0.0, 0)]
        for length in range(1, min(self.order, len(prefix) + 1)):
            history, number = prefix[-length:], self._number(prefix[-length:])
            log_prob = log_backoff = None
            followers = 0
            if number >= 0:
                ngram = int(extension(words, starts, number, token))
                log_prob = float(tables["log_probs"][ngram]) if ngram >= 0 else None
                log_backoff = float(tables["log_backoffs"][number])
                followers = int(starts[number + 1] - starts[number])
            entries.append(Entry(tuple(history.tolist()), log_prob, log_backoff, followers))
            if prefix[-length] == BOS:
                break
        return entries

    def _next(self, prefix: np.ndarray) -> np.ndarray:
        """(length,) → (V,): starts from single words; each longer history then replaces the values of words seen after
        it."""
        tables = self.arrays()
        words, starts, log_probs = tables["words"], tables["starts"], tables["log_probs"]
        row = log_probs[: self.vocab_size].copy()  # (V,)
        for length in range(1, min(self.order, len(prefix) + 1)):
            history = self._number(prefix[-length:])
            if history >= 0:
                row += tables["log_backoffs"][history]
                seen = slice(starts[history], starts[history + 1])
                row[words[seen]] = log_probs[seen]
            if prefix[-length] == BOS:
                break
        return row

    def _number(self, ngram: np.ndarray) -> int:
        tables = self.arrays()
        number = int(ngram[0])
        for word in ngram[1:]:
            number = int(extension(tables["words"], tables["starts"], number, word)) if number >= 0 else -1
        return number


def _check_tables(
    vocab_size: int,
    levels: np.ndarray,
    words: np.ndarray,
    starts: np.ndarray,
    log_probs: np.ndarray,
    log_backoffs: np.ndarray,
) -> None:
    """Raise ValueError unless the tables are a valid trie, because compiled look-ups do not check indices."""
    if len(levels) < 2 or levels[0] != 0 or (np.diff(levels) < 0).any() or levels[-1] != len(words):
        raise ValueError(f"{len(words)} n-grams contradict {levels[:8].tolist()}")
    if levels[1] != vocab_size:
        raise ValueError(f"{levels[1]} single words, but the vocabulary has {vocab_size}")
    total, lower = len(words), int(levels[-2])
    if len(log_backoffs) != lower or len(starts) != lower + 1:
        raise ValueError(f"{total} n-grams, {lower} of them below the highest order, contradict {levels.tolist()}")
    if len(log_probs) != total:
        raise ValueError(f"{len(log_probs)} probabilities for {total} n-grams")
    if (starts[levels[:-1]] != levels[1:]).any() or any((part[1:] < part[:-1]).any() for part in _parts(starts)):
        raise ValueError("starts: the extensions of the n-grams are not consecutive, order by order")
    lowest, highest = min(part.min() for part in _parts(words)), max(part.max() for part in _parts(words))
    if lowest < 0 or highest >= vocab_size:
        raise ValueError(f"words: ids {lowest} … {highest}; the vocabulary has 0 … {vocab_size - 1}")
    for name, values in (("log_probs", log_probs), ("log_backoffs", log_backoffs)):
        if not all(part.max() < np.inf for part in _parts(values)):  # NaN fails too; −∞ is the logarithm of 0
            raise ValueError(f"{name}: a number is not the logarithm of one")


def _parts(array: np.ndarray) -> Iterator[np.ndarray]:
    """The parts of an array, each with the first number of the next part; memory-mapped pages are released after each
    part."""
    for begin in range(0, len(array), PART):
        yield array[begin : begin + PART + 1]
        forget(array[begin : begin + PART + 1])


class ArpaConfig(Config):
    """A model from a file has no settings; its order and its numbers are in the file."""


class ArpaModel(BackoffLanguageModel):
    """A back-off model from an ARPA file; see `langladder.formats.arpa`."""

    Config: ClassVar[type[Config]] = ArpaConfig
    config: ArpaConfig

    def fit(self, stream: TokenStream) -> None:
        """Always raises an error: this model is read from a file."""
        read = f"{type(self).__name__} is read from a file, not fitted"
        raise InputError(f"{read} on {len(stream.ids)} tokens; choose another n-gram model")
