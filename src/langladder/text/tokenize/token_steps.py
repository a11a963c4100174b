"""The steps by which a tokenizer finds its tokens; the `tokenizers` library only returns the result.

    BPE        of all neighbouring pairs, the one that was learnt first is merged, until none was learnt
               (Sennrich et al. 2016, algorithm 1; Radford et al. 2019, section 2.2)
    WordPiece  from the left, the longest piece that the vocabulary has (Schuster & Nakajima 2012)
    unigram    of all ways to cut a piece the one of the highest probability, ∏ P(token) (Kudo 2018, section 3.2)

The pre-tokenizer cuts a text first; no token crosses its cuts. Tested against the library.

Shape legend: N characters of a piece.
"""

import heapq
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import tokenizers as hf

from langladder.ground.artefacts import JSONObject
from langladder.text.tokenize.specials import NAMES, SPELLINGS, UNK
from langladder.text.tokenize.tokenizers import BYTES, END_OF_WORD, Kind, Tokenizer

UNKNOWN_PENALTY = 10.0  # what the library takes off the worst score for a character that no token has


class Merge(NamedTuple):
    """One merge, at all positions where it applies.

    Attributes:
        rank: from 0, the order in which merges were learnt.
        positions: of the left symbols among all symbols, before this step, from left to right.
    """

    left: str
    right: str
    merged: str
    rank: int
    positions: list[int]


class Match(NamedTuple):
    """One piece that WordPiece takes.

    Attributes:
        rest: the part of the word not cut yet. tried: how many longer beginnings were not in the vocabulary.
    """

    word: int
    rest: str
    token: str
    tried: int


class Cut(NamedTuple):
    """A way to cut a piece: tokens, with natural logs of their probabilities, and the sum."""

    tokens: list[str]
    scores: list[float]
    total: float


@dataclass(frozen=True)
class Steps:
    """The steps of one tokenizer."""

    tokenizer: Tokenizer
    _backend: hf.Tokenizer = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_backend", hf.Tokenizer.from_str(self.tokenizer.to_json()))

    @property
    def kind(self) -> Kind:
        """The tokenizer's."""
        return self.tokenizer.kind

    @cached_property
    def _model(self) -> JSONObject:
        model: JSONObject = json.loads(self.tokenizer.to_json())["model"]
        return model

    @cached_property
    def _ranks(self) -> dict[tuple[str, str], int]:
        merges = (pair.split(" ") if isinstance(pair, str) else pair for pair in self._model.get("merges", []))
        return {(left, right): rank for rank, (left, right) in enumerate(merges)}

    @cached_property
    def _scores(self) -> dict[str, float]:
        return {token: float(score) for token, score in self._model["vocab"]}

    @property
    def merges(self) -> int:
        """The number of merges that BPE learnt."""
        return len(self._ranks)

    def pieces(self, text: str) -> list[str]:
        """The pieces that the pre-tokenizer cuts a text into."""
        if self._backend.normalizer is not None:
            text = self._backend.normalizer.normalize_str(self.tokenizer.normalisation.han(text))
        if self._backend.pre_tokenizer is None:
            return [text] if text else []
        return [piece for piece, _ in self._backend.pre_tokenizer.pre_tokenize_str(text)]

    def symbols(self, piece: str) -> list[str]:
        """What BPE begins with: bytes or characters; one that the vocabulary lacks is unknown."""
        symbols = [*piece]
        if self.kind == "bpe_words" and symbols:
            symbols[-1] += END_OF_WORD
        return [symbol if symbol in self._model["vocab"] else SPELLINGS[UNK] for symbol in symbols]

    def bpe(self, text: str) -> tuple[list[str], list[Merge]]:
        """The first symbols of all pieces, and the merges in the order in which they were learnt.

        Merges of several pieces are independent of each other, and those of one rank are one step.
        """
        words = [self.symbols(piece) for piece in self.pieces(text)]
        first = [symbol for word in words for symbol in word]
        steps: list[Merge] = []
        waiting = [(rank, number) for number, word in enumerate(words) if (rank := self._next(word)) is not None]
        heapq.heapify(waiting)
        while waiting:
            rank = waiting[0][0]
            now = []
            while waiting and waiting[0][0] == rank:
                now.append(heapq.heappop(waiting)[1])
            begins = _begins(words)
            positions = [begins[number] + position for number in now for position in self._merge(words[number], rank)]
            left, right = self._pairs[rank]
            steps.append(Merge(left, right, left + right, rank, positions))
            for number in now:
                if (following := self._next(words[number])) is not None:
                    heapq.heappush(waiting, (following, number))
        return first, steps

    @cached_property
    def _pairs(self) -> list[tuple[str, str]]:
        return [*self._ranks]

    def _next(self, word: Sequence[str]) -> int | None:
        """The rank of the next merge of a word."""
        found = [self._ranks[pair] for pair in pairwise(word) if pair in self._ranks]
        return min(found, default=None)

    def _merge(self, word: list[str], rank: int) -> list[int]:
        """Make a merge from left to right, wherever it can be made; where, by the symbols before it."""
        left, right = self._pairs[rank]
        positions, position, merged = [], 0, []
        while position < len(word):
            if tuple(word[position : position + 2]) == (left, right):
                positions.append(position)
                merged.append(left + right)
                position += 2
            else:
                merged.append(word[position])
                position += 1
        word[:] = merged
        return positions

    def wordpiece(self, text: str) -> list[Match]:
        """The pieces taken one after the other; a word of which a part has none is unknown as a whole."""
        vocabulary, prefix = self._model["vocab"], self._model["continuing_subword_prefix"]
        steps: list[Match] = []
        for number, word in enumerate(self.pieces(text)):
            start = 0
            matches: list[Match] = []
            while start < len(word) and len(word) <= self._model["max_input_chars_per_word"]:
                ends = range(len(word), start, -1)
                begun = prefix if start else ""
                end = next((end for end in ends if begun + word[start:end] in vocabulary), None)
                if end is None:
                    matches = []
                    break
                matches.append(Match(number, word[start:], begun + word[start:end], len(word) - end))
                start = end
            steps += matches or [Match(number, word, SPELLINGS[UNK], len(word))]
        return steps

    def unigram(self, piece: str, count: int = 4) -> list[Cut]:
        """The most probable ways to cut a piece, best first: the `count` best paths through all its tokens.

        A character that no token has costs UNKNOWN_PENALTY more than the rarest token.
        """
        scores, N = self._scores, len(piece)
        longest = max(map(len, scores))
        unknown = min(scores.values()) - UNKNOWN_PENALTY
        best: list[list[tuple[float, tuple[tuple[str, float], ...]]]] = [[(0.0, ())], *([] for _ in range(N))]
        for end in range(1, N + 1):
            found = []
            for start in range(max(0, end - longest), end):
                token = piece[start:end]
                score = scores.get(token, unknown if end - start == 1 else -math.inf)
                if math.isfinite(score):
                    found += [(total + score, (*path, (token, score))) for total, path in best[start]]
            best[end] = heapq.nlargest(count, found, key=lambda one: one[0])
        return [Cut([token for token, _ in path], [score for _, score in path], total) for total, path in best[N]]

    def show(self, symbol: str) -> str:
        """A symbol as people read it: bytes as their characters, specials by name, else as written."""
        if symbol in SPELLINGS:
            return NAMES[SPELLINGS.index(symbol)]
        if self.kind != "bpe_bytes":
            return symbol
        return bytes(BYTES[character] for character in symbol).decode(errors="backslashreplace")


def _begins(words: Sequence[Sequence[str]]) -> list[int]:
    """Where each word's symbols begin among all."""
    found, position = [], 0
    for word in words:
        found.append(position)
        position += len(word)
    return found
