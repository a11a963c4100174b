"""The pieces of WordPiece by likelihood (Schuster and Nakajima 2012, "Japanese and Korean Voice Search", section 4).

Training begins with characters and merges pairs. Under a unigram model of the pieces, a merge makes each occurrence of
the pair more probable by the factor

    count(ab) / ( count(a) · count(b) ) · N,    N = running pieces

The pair with the highest factor is merged; of equal ones the most frequent, then the first by the ids of its pieces.
Counts are those of the running text as it is cut at that step. A pair of rare pieces that occur only together comes
first, so `min_frequency` matters. The paper maximises the gain of the whole text, which favours frequent pairs; here
the gain is per occurrence, as in most descriptions of WordPiece.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import tokenizers as hf
from tokenizers import models

from langladder.text.tokenize.specials import SPELLINGS, UNK
from langladder.text.tokenize.tokenizers import CONTINUES, assemble


def wordpiece_by_likelihood(
    lines: Iterable[str], begin: Sequence[str], most: int, min_count: int, *, divided: bool = False
) -> hf.Tokenizer:
    """A WordPiece tokenizer of these pieces; see `likelihood_pieces`. divided: see `assemble`."""
    cut = assemble("wordpiece", models.WordPiece(unk_token=SPELLINGS[UNK]), divided=divided).pre_tokenizer
    words = Counter(word for line in lines for word, _ in cut.pre_tokenize_str(line))
    vocabulary = {piece: number for number, piece in enumerate(likelihood_pieces(words, begin, most, min_count))}
    model = models.WordPiece(vocabulary, unk_token=SPELLINGS[UNK], max_input_chars_per_word=1000)
    return assemble("wordpiece", model, divided=divided)


class _Pairs:
    """Pieces and neighbouring pairs of pieces with their counts; a pair has a slot, a piece its id."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.ids = {piece: number for number, piece in enumerate(pieces)}
        self.slots: dict[tuple[int, int], int] = {}
        self.words: list[set[int]] = []  # of each slot: the words that may hold the pair
        self.pieces = np.zeros(max(1024, 2 * len(pieces)))  # count(a); exact below 2^53
        self.counts = np.zeros(1024)  # count(ab)
        self.sides = np.zeros((2, 1024), dtype=np.int64)  # a, b

    def add(self, word: int, ids: Sequence[int], count: int) -> None:
        """Count a word, as it is cut, `count` times; a negative count takes it away."""
        for piece in ids:
            self.pieces[piece] += count
        for pair in pairwise(ids):
            slot = self.slots.setdefault(pair, len(self.slots))
            if slot == len(self.words):
                self.words.append(set())
                if slot == len(self.counts):
                    self.counts, self.sides = np.tile(self.counts, 2), np.tile(self.sides, 2)
                    self.counts[slot:] = 0
                self.sides[:, slot] = pair
            self.counts[slot] += count
            if count > 0:
                self.words[slot].add(word)

    def best(self, least: int) -> int | None:
        """The slot of the pair of the highest count(ab) / (count(a) count(b)); None if none occurs `least` times."""
        (seen,) = np.nonzero(self.counts[: len(self.slots)] >= least)
        if not len(seen):
            return None
        counts, (a, b) = self.counts[seen], self.sides[:, seen]
        scores = counts / (self.pieces[a] * self.pieces[b])
        ties = seen[scores == scores.max()]
        return int(min(ties, key=lambda slot: (-self.counts[slot], *self.sides[:, slot].tolist())))

    def piece(self, text: str) -> int:
        """The id of a piece, a new one if there is none."""
        number = self.ids.setdefault(text, len(self.ids))
        if number == len(self.pieces):
            self.pieces = np.concatenate([self.pieces, np.zeros_like(self.pieces)])
        return number


def likelihood_pieces(words: Counter[str], begin: Sequence[str], most: int, min_count: int) -> list[str]:
    """The pieces of a WordPiece tokenizer by likelihood, at most `most`, in the order of their merges.

    Args:
        words: how often each occurs. begin: specials, then the characters that begin words and those that go on (`##`).
        min_count: rarer pairs are not merged.

    >>> from collections import Counter
    >>> begin = [*"bhp", *(f"##{character}" for character in "gnsu")]
    >>> words = Counter(hug=10, pug=5, pun=12, bun=4, hugs=5)
    >>> likelihood_pieces(words, begin, 10, 1)[7:]
    ['##gs', 'pu', 'hu']
    """
    pairs, names = _Pairs(begin), list(begin)
    cut = [
        [pairs.ids[character if not at else CONTINUES + character] for at, character in enumerate(word)]
        for word in words
    ]
    counts = list(words.values())
    for word, ids in enumerate(cut):
        pairs.add(word, ids, counts[word])
    while len(names) < most and (slot := pairs.best(max(min_count, 1))) is not None:
        a, b = pairs.sides[:, slot].tolist()
        merged = pairs.piece(names[a] + names[b].removeprefix(CONTINUES))
        if merged == len(names):
            names.append(names[a] + names[b].removeprefix(CONTINUES))
        for word in sorted(pairs.words[slot]):
            pairs.add(word, cut[word], -counts[word])
            cut[word] = _merged(cut[word], a, b, merged)
            pairs.add(word, cut[word], counts[word])
        pairs.words[slot].clear()
    return names


def _merged(ids: list[int], a: int, b: int, merged: int) -> list[int]:
    """The pieces of a word with each a b, from the left, as one."""
    results: list[int] = []
    for piece in ids:
        if results and results[-1] == a and piece == b:
            results[-1] = merged
        else:
            results.append(piece)
    return results
