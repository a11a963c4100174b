"""One engine draws and reads.

At each choice all ways to go on begin with different words (LL(1)), so a text has one derivation, and it is known
word by word. A state z = (subject, mood) is hidden. With the belief b_t(z) = P(z | w_1 … w_t), and the memory M_t, a
function of w_1 … w_t,

    P(w | w_1 … w_t) = Σ_z b_t(z) P(w | z, M_t)
    b_{t+1}(z) = b_t(z) P(w | z, M_t) / P(w | w_1 … w_t)

(the forward recursion of a hidden Markov model: Rabiner 1989, equations 19–21). The weights of ways depend on the
memory alone, the words of classes on the state. Where the mood changes, each other mood is as probable as the rest:

    b'(s, m) = Σ_{m' ≠ m} b(s, m') / (moods − 1)

A reader who does not know the memory's values (`UNKNOWN`) sums over them: the first mention of an unknown town is a
town by its probability, and is known from then on. Then a word may have two derivations (the name of one of two), and
such a reader is a list of readers, one each.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from microworld.grammar import Change, DrawnWord, Grammar, KnownWord, Part, Rule
from microworld.lexicon import HERE, MOODS, SUBJECTS, Extent
from microworld.memory import UNKNOWN, Memory

LINES = (7, 12)
"""Lines of a story, uniformly distributed."""
END = ""
"""The word that stands for the end of a line."""


@dataclass
class Reader:
    """One derivation of a text so far.

    Attributes:
        memory: of what was said. belief: P(text so far, z), or P(z | text so far): (…, states).
        stack: what is still to come in this line, the next symbol last. empty between lines.
        ways: the number of the way at each choice of this line.
    """

    memory: Memory
    belief: np.ndarray
    stack: list[Part] = field(default_factory=list)
    ways: list[int] = field(default_factory=list)

    def copy(self) -> "Reader":
        """An independent copy."""
        return Reader(self.memory.copy(), self.belief, list(self.stack), list(self.ways))


@dataclass
class Line:
    """A drawn line.

    Attributes:
        words: its words. ways: its derivation, the number of the way at each choice. state: the state at its end.
    """

    words: list[str]
    ways: list[int]
    state: int

    @property
    def text(self) -> str:
        """Its words with spaces between."""
        return " ".join(self.words)


@dataclass
class Reading:
    """A story as a reader reads it.

    Attributes:
        log_probs: log P(word | all words before) of each word, by line. kinds: what each word is, by line: the class of
            which it is drawn, the slot of the memory, or "word".
        lines: the derivation of each line. belief: P(state | text): (states,).
    """

    log_probs: list[list[float]]
    kinds: list[list[str]]
    lines: list[list[int]]
    belief: np.ndarray


class World:
    """The world of stories: its rules and words.

    Attributes:
        grammar: its rules and words, ready to be drawn and read; extent, rules, classes and start are the grammar's.
        prior: P(z) at the beginning of a story: (states,). turn: P(z' | z) where the mood changes: (states, states).
    """

    def __init__(
        self,
        extent: Extent | None = None,
        path: Path = HERE / "english.rules",
        curves: Mapping[str, tuple[float, ...]] | None = None,
    ) -> None:
        """
        Args:
            extent: None: the whole lexicon.
            path: a file of rules.
            curves: instead of those of the rules, by name.

        Raises:
            RuleError: a mistake in the rules or tables; the message names file and line.
        """
        self.grammar = Grammar(extent or Extent(), path, curves or {})
        self.extent, self.rules, self.classes = self.grammar.extent, self.grammar.rules, self.grammar.classes
        self.start = self.grammar.start
        states = self.extent.states
        self.prior = np.full(states, 1 / states)
        moods = self.extent.moods
        other = (np.ones((moods, moods)) - np.eye(moods)) / (moods - 1) if moods > 1 else np.eye(1)
        self.turn = np.kron(np.eye(self.extent.subjects), other)  # (states before, states after)

    # ---- drawing

    def draw(self, rng: Random, lines: int | None = None) -> list[Line]:
        """Draw a story of so many lines; None: 7 to 12, uniformly distributed."""
        count = LINES[0] + int(rng.random() * (LINES[1] - LINES[0] + 1)) if lines is None else lines
        state = int(rng.random() * self.extent.states)
        memory, results = Memory(), []
        for _ in range(count):
            line = self.draw_line(memory, state, rng)
            state = line.state
            results.append(line)
        return results

    def draw_line(self, memory: Memory, state: int, rng: Random) -> Line:
        """Draw the next line; the memory is changed to what is known after it."""
        random, words, ways = rng.random, list[str](), list[int]()
        stack: list[Part] = [self.start]
        while stack:
            entry = stack.pop()
            if isinstance(entry, str):
                words.append(entry)
            elif isinstance(entry, Rule):
                way = bisect_right(entry.shares(memory)[1], random())
                way = min(way, len(entry.pushed) - 1)
                ways.append(way)
                stack += entry.pushed[way]
            elif isinstance(entry, DrawnWord):
                here = entry.words(memory)
                number = min(bisect_right(here.cumulative[state], random()), len(here.words) - 1)
                word = here.words[number]
                words.append(word)
                if entry.slot:
                    entry.learn(memory, word, number, here)
            elif isinstance(entry, KnownWord):
                words.append(entry.value(memory))
            elif entry.turns:
                state = self.turned(state, random())
            else:
                getattr(memory, entry.name)(*entry.arguments)
        memory.next_line()
        return Line(words, ways, state)

    def turned(self, state: int, share: float) -> int:
        """The state after a change of mood: one of the other moods, all equally probable; share in [0, 1) chooses."""
        subject, mood = divmod(state, self.extent.moods)
        others = [other for other in range(self.extent.moods) if other != mood] or [mood]
        return subject * self.extent.moods + others[int(share * len(others))]

    # ---- reading

    def reader(self, memory: Memory | None = None, belief: np.ndarray | None = None) -> Reader:
        """A reader who has read nothing, or with this memory and this belief."""
        return Reader(memory or Memory(), self.prior if belief is None else belief)

    def read(self, lines: Iterable[Sequence[str]]) -> Reading | None:
        """Read a story, given as words by line; None if it is none of this world.

        Natural logarithms. The last line must be whole; the number of lines is not scored.
        """
        reading = Reading([], [], [], self.prior)
        readers = [self.reader()]
        for line in lines:
            log_probs, kinds = [], []
            for reader in readers:
                reader.stack.append(self.start)
            for word in line:
                readers, kind = self.advance(readers, word)
                if not readers:
                    return None
                total = float(readers[0].belief.sum())
                readers[0].belief = readers[0].belief / total
                log_probs.append(float(np.log(total)))
                kinds.append(kind)
            readers = list(self.ended(readers))
            if not readers:
                return None
            reading.log_probs.append(log_probs)
            reading.kinds.append(kinds)
            reading.lines.append(readers[0].ways)
            readers[0].ways = []
        reading.belief = readers[0].belief
        return reading

    def advance(self, readers: Sequence[Reader], word: str) -> tuple[list[Reader], str]:
        """Readers after one more word, their beliefs multiplied by its probability, and what the word is.

        No reader is left where the word is impossible. The readers that are given are changed.
        """
        results: list[Reader] = []
        kind = "word"
        for reader in readers:
            for after, what in self._advance(reader, word):
                results.append(after)
                kind = what
        return results, kind

    def _advance(self, reader: Reader, word: str) -> Iterator[tuple[Reader, str]]:
        """One reader is changed in place where there is one way to read the word, else copied."""
        memory, stack = reader.memory, reader.stack
        while stack:
            entry = stack.pop()
            if isinstance(entry, str):
                if entry == word:
                    yield reader, "word"
                return
            if isinstance(entry, Rule):
                shares = entry.shares(memory)[0]
                fits = self.beginning(entry, memory, word)
                for way in fits[1:]:
                    other = reader.copy()
                    self._take(other, entry, way, shares)
                    yield from self._advance(other, word)
                if not fits:
                    return
                self._take(reader, entry, fits[0], shares)
            elif isinstance(entry, DrawnWord):
                here = entry.words(memory)
                number = here.index.get(word)
                if number is not None:
                    reader.belief = reader.belief * here.columns[number]
                    if entry.slot:
                        entry.learn(memory, word, number, here)
                    yield reader, entry.kind
                return
            elif isinstance(entry, KnownWord):
                if self._recall(reader, entry, word):
                    yield reader, f"known {entry.slot}"
                return
            else:
                self._effect(reader, entry)

    def _take(self, reader: Reader, rule: Rule, way: int, shares: Sequence[float]) -> None:
        reader.stack += rule.pushed[way]
        reader.belief = reader.belief * shares[way]
        reader.ways.append(way)

    def _effect(self, reader: Reader, change: Change) -> None:
        if change.turns:
            # b'(s, m) = Σ_m' b(s, m') T(m' → m)
            reader.belief = reader.belief @ self.turn
        else:
            getattr(reader.memory, change.name)(*change.arguments)

    def _recall(self, reader: Reader, entry: KnownWord, word: str) -> bool:
        """Whether a remembered value is read; an unknown one gets known."""
        value = entry.value(reader.memory)
        if value != UNKNOWN:
            return value == word
        words, base = self.grammar.prior_words(entry), word
        if entry.follows:
            base = next((key for key, derived in entry.follows.items() if derived == word), "")
        number = words.index.get(base)
        if number is None:
            return False
        reader.belief = reader.belief * words.columns[number]
        reader.memory.learn(entry.slot, entry.whose, base)
        return True

    def ended(self, readers: Sequence[Reader]) -> Iterator[Reader]:
        """Those readers for whom the line can end here, ready for the next one."""
        for reader in readers:
            while reader.stack and isinstance(last := reader.stack[-1], Change):
                reader.stack.pop()
                self._effect(reader, last)
            if not reader.stack:
                reader.memory.next_line()
                yield reader

    def beginning(self, rule: Rule, memory: Memory, word: str) -> list[int]:
        """The ways of a rule that can begin with a word here."""
        (fixed, others), shares = self._firsts(rule), rule.shares(memory)[0]
        ways = [way for way in fixed.get(word, ()) if shares[way] > 0]
        return ways + [way for way, entry in others if shares[way] > 0 and self._can_begin(entry, memory, word)]

    @cache  # noqa: B019  (as many as rules)
    def _firsts(self, rule: Rule) -> tuple[dict[str, list[int]], list[tuple[int, Part]]]:
        """First word → ways; and the ways whose first words depend on the memory, with their first symbol."""
        fixed: dict[str, list[int]] = {}
        others: list[tuple[int, Part]] = []
        for number, way in enumerate(rule.ways):
            name = way[0]
            if isinstance(name, str):
                fixed.setdefault(name, []).append(number)
            elif isinstance(name, DrawnWord) and not name.condition:
                for word in name.forms[-1].words:
                    fixed.setdefault(word, []).append(number)
            else:
                others.append((number, name))
        return fixed, others

    def _can_begin(self, part: Part, memory: Memory, word: str) -> bool:
        if isinstance(part, Rule):
            return bool(self.beginning(part, memory, word))
        if isinstance(part, DrawnWord):
            return word in part.words(memory).index
        if isinstance(part, KnownWord):
            value = part.value(memory)
            if value != UNKNOWN:
                return value == word
            return word in part.follows.values() if part.follows else word in self.grammar.prior_words(part).index
        raise AssertionError(part)  # an effect; the notation has none at the beginning of a line

    # ---- what comes next

    def next_words(self, readers: Sequence[Reader]) -> dict[str, float]:
        """Word → P(word | text so far), in the middle of a line; `END`: the line ends. They add up to 1.

        {} where there is no reader. The readers are not changed.
        """
        joint: dict[str, float] = {}
        for reader in readers:
            self._openings(joint, reader.memory, list(reader.stack), reader.belief)
        total = sum(joint.values())
        return {word: p / total for word, p in joint.items() if p > 0}

    def _openings(self, joint: dict[str, float], memory: Memory, stack: list[Part], belief: np.ndarray) -> None:
        """Add P(next word, …) to joint."""

        def add(word: str, p: float) -> None:
            joint[word] = joint.get(word, 0.0) + p

        while stack:
            entry = stack.pop()
            if isinstance(entry, str):
                add(entry, float(belief.sum()))
            elif isinstance(entry, Rule):
                shares = entry.shares(memory)[0]
                for way, share in enumerate(shares):
                    if share > 0:
                        self._openings(joint, memory, [*stack, *entry.pushed[way]], belief * share)
            elif isinstance(entry, DrawnWord):
                here = entry.words(memory)
                for word, p in zip(here.words, (belief @ here.p).tolist(), strict=True):
                    add(word, p)
            elif isinstance(entry, KnownWord):
                value = entry.value(memory)
                if value != UNKNOWN:
                    add(value, float(belief.sum()))
                else:
                    here = self.grammar.prior_words(entry)
                    for word, p in zip(here.words, (belief @ here.p).tolist(), strict=True):
                        add(entry.follows[word] if entry.follows else word, p)
            else:
                reader = Reader(memory.copy(), belief)
                self._effect(reader, entry)
                memory, belief = reader.memory, reader.belief
                continue
            return
        add(END, float(belief.sum()))

    def begun(self, lines: Iterable[Sequence[str]], words: Iterable[str] = ()) -> list[Reader]:
        """Readers of a story so far: whole lines, then the beginning of a line; [] if it is none of this world."""
        readers = [self.reader()]
        for line in lines:
            readers = list(self.ended(self.read_words(readers, line)))
            total = sum(float(entry.belief.sum()) for entry in readers)
            for reader in readers:
                reader.belief = reader.belief / total  # the product of a hundred lines is no floating-point number
        return self.read_words(readers, words)

    def prefixes(self, lines: Iterable[Sequence[str]], words: Iterable[str]) -> Iterator[list[Reader]]:
        """Readers after each prefix of the next line, from no word to all words; [] from the first impossible one."""
        readers = self.begun(lines)
        yield readers
        for word in words:
            readers, _ = self.advance(readers, word)
            yield readers

    def read_words(self, readers: list[Reader], words: Iterable[str]) -> list[Reader]:
        """Readers after the first words of a line, from readers between lines."""
        for reader in readers:
            reader.stack.append(self.start)
        for word in words:
            readers, _ = self.advance(readers, word)
        return readers

    def hidden_word(self, lines: Sequence[Sequence[str]], line: int, index: int) -> dict[str, float]:
        """Word → P(word | all else in the story), largest first; {} if the story is none of this world.

        P(v | all else) ∝ P(story with v), for each v that can stand there. What follows the line is read once for all
        words after which the same is remembered.

        Args:
            line, index: which word of which line is hidden; it is not read.
        """
        before = self.begun(lines[:line], lines[line][:index])
        groups: dict[tuple[object, ...], tuple[list[str], list[Reader]]] = {}
        for word in self.next_words(before):
            if word == END:
                continue
            readers, _ = self.advance([reader.copy() for reader in before], word)
            for rest in lines[line][index + 1 :]:
                readers, _ = self.advance(readers, rest)
            for reader in self.ended(readers):
                words, group = groups.setdefault(reader.memory.key(), ([], []))
                words.append(word)
                group.append(reader)
        shares: dict[str, float] = {}
        for words, group in groups.values():
            merged = Reader(group[0].memory, np.stack([reader.belief for reader in group]))  # (words, states)
            after = [merged]
            for following in lines[line + 1 :]:
                after = list(self.ended(self.read_words(after, following)))
            for reader in after:
                for word, p in zip(words, reader.belief.sum(axis=-1).tolist(), strict=True):
                    shares[word] = shares.get(word, 0.0) + p
        total = sum(shares.values())
        return {word: p / total for word, p in sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))}

    # ---- states

    def subject_of(self, state: int) -> str:
        """The subject of a state."""
        return SUBJECTS[state // self.extent.moods]

    def mood_of(self, state: int) -> str:
        """The mood of a state."""
        return MOODS[state % self.extent.moods]


@cache
def world() -> World:
    """The world; made once."""
    return World()
