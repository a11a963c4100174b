"""The true distributions of words in a document: of the next word, and of a hidden one.

The next word. For a reader with belief b and a memory, who has read the document up to the words w_1 … w_t of a
sentence,

    P(w | past, w_1 … w_t) ∝ Σ_z b(z) Σ_X open_z(X) · first_z(X)[w]

where open_z(X) is the probability, in state z, that the sentence begins with w_1 … w_t and continues with the symbol X,
and first_z(X) is the distribution of the first word of X. This is the prefix probability of Jelinek & Lafferty (1991)
with a vector over the states instead of each number. A sentence that changes the mood has its own prior, so
continuations after a change of mood are stored separately.

A hidden word. For each word v that is possible in its place, P(v | all else) ∝ P(document with v). The sentence and all
following ones are parsed again with each v, once for all v that result in the same memory.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from langladder.corpora.documents.grammar import Grammar, Item, Node, Symbol
from langladder.corpora.documents.lines import LINE
from langladder.corpora.documents.process import Process, Reader, follow, turned

END = ""
"""The word that represents the end of the sentence."""
Ends = dict[tuple[int, bool], np.ndarray]
"""(position, whether the mood changed before it) → probability in each state (states,), or one number for all."""
Opens = dict[tuple[int, Item, bool], np.ndarray]
"""(position, the next symbol there, whether the mood changed before it) → likewise."""
Key = TypeVar("Key")


def next_words(source: Process, reader: Reader, words: Sequence[str]) -> list[dict[str, float]]:
    """The distribution of the next word of a sentence after each prefix, from no word to all words.

    Returns:
        One distribution per prefix. It is empty if no sentence begins with the prefix.
    """
    grammar = source.grammar(reader.memory)
    belief = {False: np.array(reader.belief), True: np.array(turned(reader.belief))}  # turn → (states,)
    ends, opens = _Prefixes(grammar, words).cell(LINE, 0) if words else ({}, {})
    joint: list[dict[str, float]] = [{} for _ in range(len(words) + 1)]
    for (place, turn), p in ends.items():
        joint[place][END] = joint[place].get(END, 0.0) + float((belief[turn] * p).sum())
    for (place, item, turn), p in (opens | {(0, LINE, False): np.ones(1)}).items():
        weighted = belief[turn] * p  # (states,)
        for word, first in grammar.openings(item).items():
            joint[place][word] = joint[place].get(word, 0.0) + float(weighted @ first)
    totals = [math.fsum(found.values()) for found in joint]
    return [{word: p / total for word, p in one.items()} for one, total in zip(joint, totals, strict=True)]


@dataclass
class _Prefixes:
    """The chart of one sentence: what each nonterminal yields, and the next symbols after each word."""

    grammar: Grammar
    words: Sequence[str]
    _cells: dict[tuple[Symbol, int], tuple[Ends, Opens]] = field(default_factory=dict)

    def cell(self, symbol: Symbol, start: int) -> tuple[Ends, Opens]:
        """ends and opens of a nonterminal that begins at a word."""
        key = (symbol, start)
        if key not in self._cells:
            ends: Ends = {}
            opens: Opens = {}
            expansion = self.grammar.expansion(symbol)
            for index, rule in enumerate(expansion.rules):
                if self._fits(rule.source[0], start):
                    p = np.exp(expansion.log(index))  # one number, or (states,)
                    self._add(rule.source, {(start, rule.turns): p}, ends, opens)
            self._cells[key] = ends, opens
        return self._cells[key]

    def _fits(self, item: Item, place: int) -> bool:
        """Whether the yield of an item can begin with the word at a position."""
        return place < len(self.words) and self.grammar.begins(item, self.words[place])

    def _add(self, source: Sequence[Item], places: Ends, ends: Ends, opens: Opens) -> None:
        """Add the contributions of a rule's source side."""
        for number, item in enumerate(source):
            following: Ends = {}
            for (place, turn), p in places.items():
                if number:
                    _more(opens, (place, item, turn), p)
                if not self._fits(item, place):
                    continue
                if isinstance(item, str):
                    _more(following, (place + 1, turn), p)
                    continue
                inner_ends, inner_opens = self.cell(item, place)
                for (end, below), q in inner_ends.items():
                    _more(following, (end, turn or below), p * q)
                for (at, inner, below), q in inner_opens.items():
                    _more(opens, (at, inner, turn or below), p * q)
            places = following
        for reached, p in places.items():
            _more(ends, reached, p)


def _more(total: dict[Key, np.ndarray], key: Key, p: np.ndarray) -> None:
    total[key] = total[key] + p if key in total else p


def hidden_word(source: Process, sentences: Sequence[str], line: int, place: int) -> dict[str, float]:
    """Word → P(word | all else in the document), largest first; {} if the process cannot produce the document.

    Args:
        sentences: of the document. line, place: indices of the sentence and of the hidden word, which is not read.
    """
    reader = Reader()
    for sentence in sentences[:line]:
        read = source.read(reader, sentence)
        if read is None:
            return {}
        reader = read[0]
    words = sentences[line].split()
    after: dict[str, list[tuple[str, Reader, float]]] = {}  # grouped by the memory after the word
    grammar = source.grammar(reader.memory)  # shared by all words, so that its expansions are cached
    for word in next_words(source, reader, words[:place])[-1]:
        for node in grammar.parse(LINE, [*words[:place], word, *words[place + 1 :]]) if word else ():
            one, log_prob = follow(reader, node)
            after.setdefault(repr(one.memory), []).append((word, one, log_prob))
    found: dict[str, float] = {}
    for same in after.values():
        nodes = _read_on(source, same[0][1], sentences[line + 1 :])
        for word, one, log_prob in same if nodes is not None else ():
            found[word] = log_prob
            for node in nodes or ():
                one, more = follow(one, node)
                found[word] += more
    largest = max(found.values(), default=0.0)
    shares = {word: math.exp(log_prob - largest) for word, log_prob in found.items()}
    total = math.fsum(shares.values())
    return {word: p / total for word, p in sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))}


def _read_on(source: Process, reader: Reader, sentences: Sequence[str]) -> list[Node] | None:
    """The derivations of the following sentences; None if one of them has none."""
    found = []
    for sentence in sentences:
        nodes = source.grammar(reader.memory).parse(LINE, sentence.split())
        if not nodes:
            return None
        reader, _ = follow(reader, nodes[0])
        found += nodes
    return found
