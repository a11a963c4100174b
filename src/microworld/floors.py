"""Entropy floors: the lowest perplexity that a reader of the whole story, or only of its last lines, can reach.

The first is exact: exp(−Σ log P(w_t | w_1 … w_{t−1}) / words). A reader of line t and the n lines before it, who knows
their number in the story, has

    P(x_t | x_{t−n} … x_{t−1}) = Σ_M π(M) P(x_{t−n} … x_t | M) / Σ_M π(M) P(x_{t−n} … x_{t−1} | M)

over all memories M before line t − n. The values that they hold are summed by the engine (`UNKNOWN`), so M is only
what is left without them: who is there and was mentioned last, what was asked, whether something is said. As weights
depend on nothing else, this is a Markov chain of its own with some fifty states a line; π follows from the rules. The
state (subject and mood) is independent of M and uniformly distributed, because it is at the beginning, and changes of
mood keep it so. Nothing is sampled but the lines on which the floor is measured.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

import numpy as np

from microworld.engine import LINES, Reader, World
from microworld.grammar import Change, DrawnWord, KnownWord, Part, Rule, at
from microworld.memory import UNKNOWN, Memory
from microworld.notation import RuleError


class Floor(NamedTuple):
    """The floor of a reader.

    Attributes:
        nats: per word. error: standard error of nats, from the lines that it was measured on; inf if there was one.
    """

    nats: float
    error: float

    @property
    def perplexity(self) -> float:
        """Per word."""
        return math.exp(self.nats)


class Structures:
    """The chain of memories without values, line by line.

    Attributes:
        memories: key → memory. reached: rule, and key of the memory before it → P(key of the memory after it).
        by_line: P(key of the memory before a line), line by line.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.memories: dict[tuple[object, ...], Memory] = {}
        self.reached: dict[tuple[Rule, tuple[object, ...]], dict[tuple[object, ...], float]] = {}
        self.by_line: list[dict[tuple[object, ...], float]] = [{self._key(Memory()): 1.0}]

    def _key(self, memory: Memory) -> tuple[object, ...]:
        key = memory.key()
        self.memories.setdefault(key, memory)
        return key

    def before(self, line: int) -> list[tuple[Memory, float]]:
        """π: each memory before a line, with its probability."""
        while len(self.by_line) <= line:
            ends: dict[tuple[object, ...], float] = {}
            for key, p in self.by_line[-1].items():
                for after, q in self.after(self.world.start, key).items():
                    memory = self.memories[after].copy()
                    memory.next_line()
                    end = self._key(memory)
                    ends[end] = ends.get(end, 0.0) + p * q
            self.by_line.append(ends)
        return [(self.memories[key], p) for key, p in self.by_line[line].items()]

    def after(self, rule: Rule, key: tuple[object, ...]) -> dict[tuple[object, ...], float]:
        """Memory → its probability after a rule that was begun with a memory."""
        known = self.reached.get((rule, key))
        if known is not None:
            return known
        memory, ends = self.memories[key], dict[tuple[object, ...], float]()
        shares = rule.shares(memory)[0]
        self._check(rule, memory, shares)
        for way, share in enumerate(shares):
            here = {key: share} if share else {}
            for symbol in rule.ways[way]:
                if isinstance(symbol, (KnownWord, Change)):
                    self._check_known(rule.locations[way], symbol, here)
                here = self._step(symbol, here)
            for end, p in here.items():
                ends[end] = ends.get(end, 0.0) + p
        self.reached[rule, key] = ends
        return ends

    def _step(self, symbol: Part, here: dict[tuple[object, ...], float]) -> dict[tuple[object, ...], float]:
        if isinstance(symbol, Rule):
            states: dict[tuple[object, ...], float] = {}
            for key, p in here.items():
                for after, q in self.after(symbol, key).items():
                    states[after] = states.get(after, 0.0) + p * q
            return states
        if isinstance(symbol, DrawnWord) and symbol.remembered:
            return self._changed(here, "learn", (symbol.slot, symbol.whose, UNKNOWN))
        if isinstance(symbol, Change) and not symbol.turns:
            return self._changed(here, symbol.name, symbol.arguments)
        return here

    def _changed(
        self, here: dict[tuple[object, ...], float], name: str, arguments: tuple[str, ...]
    ) -> dict[tuple[object, ...], float]:
        states: dict[tuple[object, ...], float] = {}
        for key, p in here.items():
            memory = self.memories[key].copy()
            getattr(memory, name)(*arguments)
            after = self._key(memory)
            states[after] = states.get(after, 0.0) + p
        return states

    def _check(self, rule: Rule, memory: Memory, shares: Sequence[float]) -> None:
        """At a choice, all ways begin with different words."""
        seen: dict[str, int] = {}
        for way, share in enumerate(shares):
            for word in self._firsts(rule.ways[way][0], memory) if share else ():
                if seen.setdefault(word, way) != way:
                    raise RuleError(
                        f"{rule.locations[way]}: both this and {rule.locations[seen[word]]} can begin with {word}"
                    )

    def _check_known(self, location: str, symbol: KnownWord | Change, here: Iterable[tuple[object, ...]]) -> None:
        """What a symbol needs was said before."""
        with at(location):
            for memory in (self.memories[key] for key in here):
                if isinstance(symbol, KnownWord):
                    memory.value(symbol.slot, symbol.whose)
                elif symbol.name == "mention":
                    memory.copy().mention(*symbol.arguments)

    def _firsts(self, symbol: Part, memory: Memory) -> set[str]:
        if isinstance(symbol, Rule):
            shares = symbol.shares(memory)[0]
            ways = [way for way, share in zip(symbol.ways, shares, strict=True) if share]
            return set().union(*(self._firsts(way[0], memory) for way in ways))
        if isinstance(symbol, DrawnWord):
            return set(symbol.forms[-1].words)
        if isinstance(symbol, KnownWord):
            words = self.world.grammar.prior_words(symbol).words
            return {symbol.follows[word] for word in words} if symbol.follows else set(words)
        return {str(symbol)}


SETTLED = 4
"""From this line on a story may remember everything that it ever can."""


def read_alone(world: World, line: Sequence[str]) -> Reader | None:
    """A reader of a line after any beginning of a story, which was not seen; None: the line is in no story.

    Its belief is ∝ P(state | line): no weight depends on the state, so what was said before has no part in it.
    """
    for memory in _memories(world):
        for reader in world.ended(world.read_words([world.reader(memory.copy())], line)):
            return reader
    return None


@cache
def _memories(world: World) -> list[Memory]:
    """What may be remembered, those who know most first."""
    memories = [memory for memory, _ in Structures(world).before(SETTLED)]
    return sorted(memories, key=lambda memory: (memory.question is not None, -len(memory.people)))


def check(world: World) -> None:
    """Check that the rules are LL(1), never stuck, and all of use, for everything that can be remembered.

    Raises:
        RuleError: they are not; the message names the lines.
    """
    _check_heard(world.start, frozenset(), {})
    structures = Structures(world)
    structures.before(LINES[1])
    used = {rule.call.rule for rule, _ in structures.reached}
    for name, written in world.rules.rules.items():
        if name not in used:
            raise RuleError(f"{written.location}: no story reaches the rule {name}")


def _check_heard(
    rule: Rule, heard: frozenset[str], known: dict[tuple[Rule, frozenset[str]], frozenset[str] | None]
) -> frozenset[str]:
    """The slots of the line that are heard after a rule; a word that goes with another comes after it."""
    if (rule, heard) not in known:
        known[rule, heard] = None  # until it is known
        after = []
        for location, constant, way in zip(rule.locations, rule.constants, rule.ways, strict=True):
            here = heard
            for symbol in way if constant else ():
                if isinstance(symbol, Rule):
                    here = _check_heard(symbol, here, known)
                elif isinstance(symbol, DrawnWord):
                    if symbol.condition and symbol.condition not in here:
                        raise RuleError(f"{location}: {symbol.table}|{symbol.condition}: "
                                        f"no word {symbol.condition} comes before it in the line")  # fmt: skip
                    here |= {symbol.slot} - {""}
            after += [here] if constant else []
        known[rule, heard] = frozenset.intersection(*after) if after else heard
    shares = known[rule, heard]
    if shares is None:
        raise RuleError(f"{rule.locations[0]}: the rule {rule.call.rule} contains itself")
    return shares


def window_log_prob(
    world: World, structures: Structures, lines: Sequence[Sequence[str]], line: int, seen: int
) -> float:
    """log P(a line of a story | the `seen` lines before it), for a reader who has not seen the others."""
    start = max(0, line - seen)
    readers = [Reader(memory.copy(), world.prior * p) for memory, p in structures.before(start)]
    for entry in lines[start:line]:
        readers = list(world.ended(world.read_words(readers, entry)))
    before = _total(readers)
    readers = list(world.ended(world.read_words(readers, lines[line])))
    return math.log(_total(readers)) - math.log(before)


def _total(readers: Sequence[Reader]) -> float:
    return math.fsum(float(reader.belief.sum()) for reader in readers)


def window_floor(
    world: World, stories: Sequence[Sequence[Sequence[str]]], seen: int, count: int, rng: Random, *, ends: int = 0
) -> Floor:
    """The floor of a reader of only the last lines.

    It is the exact floor of the stories plus the mean loss on some of their lines, so that its error is that of a
    difference.

    Args:
        seen: how many lines before the predicted one are seen.
        count: lines that are predicted, drawn from all.
        ends: how many ends a line has that count as words (0 or 1; they are certain).

    Raises:
        ValueError: a story is not of this world.
    """
    structures = Structures(world)
    exact = []
    for number, story in enumerate(stories, start=1):
        reading = world.read(story)
        if reading is None:
            raise ValueError(f"story {number} is not of this world")
        exact.append([math.fsum(line) for line in reading.log_probs])
    where = [(story, line) for story, lines in enumerate(stories) for line in range(len(lines))]
    chosen = rng.sample(where, min(count, len(where)))
    losses = np.array(
        [exact[s][t] - window_log_prob(world, structures, stories[s], t, seen) for s, t in chosen]
    )  # nats a line
    words = np.array([len(stories[s][t]) + ends for s, t in chosen])
    ratio = losses.sum() / words.sum()
    squares = ((losses - ratio * words) ** 2).sum()
    error = math.sqrt(squares * len(words) / (len(words) - 1)) / words.sum() if len(words) > 1 else math.inf
    whole = document_floor(exact, stories, ends=ends)
    return Floor(whole.nats + float(ratio), float(error))


def document_floor(
    log_probs: Sequence[Sequence[float]], stories: Sequence[Sequence[Sequence[str]]], *, ends: int = 0
) -> Floor:
    """The exact floor of stories for a reader of all lines.

    Args:
        log_probs: of each line, by story.
    """
    total = math.fsum(p for story in log_probs for p in story)
    words = sum(len(line) + ends for story in stories for line in story)
    return Floor(-total / words, 0.0)
