"""Drawing and reading documents: the exact probability of each sentence given the previous ones.

A document has a subject s, drawn once, and a mood m, which some connectives change. Let b_t(z) = P(z | x_1 … x_t) be
the belief over the states z = (s, m), and M_t the memory, a function of x_1 … x_t. Then

    P(x_{t+1} | x_1 … x_t) = Σ_z b'_t(z) P(x_{t+1} | z, M_t)
    b_{t+1}(z) = b'_t(z) P(x_{t+1} | z, M_t) / P(x_{t+1} | x_1 … x_t)

where b'_t is b_t, or Σ_m' b_t(s, m') T(m' → m) if the sentence changes the mood. This is the forward recursion of a
hidden Markov model (Rabiner 1989, equations 19–21) with 18 states. x includes the end of the sentence. The number of
sentences of a document is not scored.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from langladder.corpora.documents.grammar import MOODS, STATES, SUBJECTS, Grammar, Node, Vector
from langladder.corpora.documents.language import Language, subjects
from langladder.corpora.documents.lines import LINE, line_grammar
from langladder.corpora.documents.memory import Memory
from langladder.corpora.documents.words import language
from langladder.corpora.lexicon import Size

MOOD_SHARES = {"bright": 0.4, "plain": 0.2, "dark": 0.4}
TURNED = {
    # from a mood, to each mood, after a connective that changes it
    "bright": {"plain": 0.3, "dark": 0.7},
    "plain": {"bright": 0.5, "dark": 0.5},
    "dark": {"bright": 0.7, "plain": 0.3},
}
LINES = (8, 20)  # sentences of a document, uniformly distributed
PRIOR: Vector = tuple(
    subjects()[subject][0] / sum(share for share, *_ in subjects().values()) * MOOD_SHARES[mood]
    for subject, mood in STATES
)


class Reader(NamedTuple):
    """A reader of the beginning of a document.

    belief: the probability of each state. memory: of what was said.
    """

    memory: Memory = Memory()
    belief: Vector = PRIOR


class Sentence(NamedTuple):
    """A drawn sentence: its derivation, the state in which it was drawn, log P(sentence and its end | previous
    text)."""

    node: Node
    state: int
    log_prob: float

    @property
    def text(self) -> str:
        """Its English words."""
        return " ".join(self.node.source())

    @property
    def translation(self) -> str:
        """Its Esperanto words."""
        return " ".join(self.node.target())


class Process:
    """The process that documents are drawn from, with the words of a size."""

    def __init__(self, size: Size) -> None:
        self.language: Language = language(size)

    def grammar(self, memory: Memory) -> Grammar:
        """The grammar of the next line."""
        return line_grammar(self.language, memory)

    def draw(self, rng: Random, lines: int | None = None) -> list[Sentence]:
        """Draw a document."""
        count = rng.randint(*LINES) if lines is None else lines
        state = rng.choices(range(len(STATES)), PRIOR)[0]
        reader, found = Reader(), []
        for _ in range(count):
            node, state = self.draw_line(self.grammar(reader.memory), state, rng)
            reader, log_prob = follow(reader, node)
            found.append(Sentence(node, state, log_prob))
        return found

    def draw_line(self, grammar: Grammar, state: int, rng: Random) -> tuple[Node, int]:
        """Draw a line in a state, and the state after it. After a change of mood, the rest is drawn in the new mood."""
        node = grammar.sample(LINE, state, rng)
        if not node.turns():
            return node, state
        after = rng.choices(range(len(STATES)), turned_from(state))[0]
        return _drawn_below_turn(node, grammar, after, rng), after

    def read(self, reader: Reader, sentence: str) -> tuple[Reader, float] | None:
        """The reader after a sentence and its log-probability; None if the process cannot produce the sentence here."""
        found = self.grammar(reader.memory).parse(LINE, sentence.split())
        if not found:
            return None
        assert len(found) == 1, f"ambiguous: {sentence}"
        return follow(reader, found[0])

    def log_probs(self, sentences: Iterable[str]) -> Iterator[float]:
        """log P(sentence | previous ones) of each sentence of a document, up to the first impossible one, which gets
        −∞."""
        reader = Reader()
        for sentence in sentences:
            read = self.read(reader, sentence)
            if read is None:
                yield -math.inf
                return
            reader, log_prob = read
            yield log_prob


def _drawn_below_turn(node: Node, grammar: Grammar, state: int, rng: Random) -> Node:
    """A line in which the part after its change of mood is drawn again, in the new state."""
    if node.rule.turns:
        items = [item for item in node.rule.source if not isinstance(item, str)]
        return Node(node.expansion, node.index, tuple(grammar.sample(item, state, rng) for item in items))
    children = tuple(_drawn_below_turn(child, grammar, state, rng) for child in node.children)
    return Node(node.expansion, node.index, children)


@lru_cache(maxsize=len(STATES))
def turned_from(state: int) -> Vector:
    """P(state after a change of mood | state before it)."""
    subject, mood = STATES[state]
    return tuple(TURNED[mood].get(after, 0.0) if same == subject else 0.0 for same, after in STATES)


def turned(belief: Sequence[float]) -> Vector:
    """The belief after a change of mood."""
    rows = [turned_from(state) for state in range(len(STATES))]
    return tuple(sum(b * row[z] for b, row in zip(belief, rows, strict=True)) for z in range(len(STATES)))


def follow(reader: Reader, node: Node) -> tuple[Reader, float]:
    """The reader after a sentence, and log P(sentence | previous text)."""
    prior = turned(reader.belief) if node.turns() else reader.belief
    logs = node.log_likelihoods()
    largest = max(logs)
    joint = [p * math.exp(log - largest) for p, log in zip(prior, logs, strict=True)]
    total = math.fsum(joint)
    after = Reader(reader.memory.after(node), tuple(one / total for one in joint))
    return after, largest + math.log(total)


def moods(belief: Sequence[float]) -> dict[str, float]:
    """P(mood | text so far)."""
    return {mood: sum(p for (_, one), p in zip(STATES, belief, strict=True) if one == mood) for mood in MOODS}


def subject_chances(belief: Sequence[float]) -> dict[str, float]:
    """P(subject | text so far)."""
    return {name: sum(p for (one, _), p in zip(STATES, belief, strict=True) if one == name) for name in SUBJECTS}


@lru_cache(maxsize=3)
def process(size: Size) -> Process:
    """The process of a size; cached."""
    return Process(size)
