"""All derivations of microworld's texts, each with one sequence of states: the plain sum that the engine must equal.

It works on the rules as the notation gives them, and multiplies one probability a choice; it knows nothing of beliefs,
readers, or first words.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from microworld.engine import END, World
from microworld.grammar import LINE
from microworld.lexicon import table
from microworld.memory import Memory
from microworld.notation import Call, Effect, Known, Say, Symbol, Way, Word

Text = tuple[tuple[str, ...], ...]


class Derivation(NamedTuple):
    """A text as it was derived, with P(derivation, states)."""

    text: Text
    states: tuple[int, ...]
    choices: tuple[int, ...]
    p: float


def derivations(world: World, lines: int, text: Sequence[Sequence[str]] | None = None) -> Iterator[Derivation]:
    """Every derivation of so many lines with every sequence of states.

    Args:
        text: only those of this text.
    """
    wanted = None if text is None else [word for line in text for word in (*line, END)]
    states = world.extent.states
    left = [((LINE,) * lines, Memory(), (state,), (), (), 1 / states) for state in range(states)]
    while left:
        stack, memory, visited, choices, words, p = left.pop()
        if wanted is not None and words and words[-1] != wanted[len(words) - 1]:
            continue
        if not stack:
            yield Derivation(_lines(words), visited, choices, p)
            continue
        next_word = None if wanted is None else wanted[len(words)]
        for more, after, state, choice, written, share in _steps(world, stack[0], memory, visited[-1], next_word):
            rest = (*more, *stack[1:])
            if share > 0:
                changed = visited if state == visited[-1] else (*visited, state)
                left.append((rest, after, changed, choices + choice, words + written, p * share))


def probabilities(world: World, lines: int, text: Sequence[Sequence[str]] | None = None) -> dict[Text, float]:
    """P(text) of every text of so many lines: the sum over all states."""
    result: dict[Text, float] = {}
    for item in derivations(world, lines, text):
        result[item.text] = result.get(item.text, 0.0) + item.p
    return result


def probability(world: World, text: Sequence[Sequence[str]]) -> float:
    """P(text)."""
    return sum(probabilities(world, len(text), text).values())


@cache
def ways(world: World, call: Call) -> list[Way]:
    """The ways to write a rule."""
    return world.rules.ways(call)


def shares(world: World, call: Call, memory: Memory) -> list[float]:
    """The share of each way of a rule."""
    weights = []
    for way in ways(world, call):
        weight = way.weight
        for name, arguments in way.features:
            curve = world.rules.curves.get(name)
            weight *= curve[min(memory.line, len(curve) - 1)] if curve else getattr(memory, name)(*arguments)
        weights.append(weight)
    total = sum(weights)
    return [weight / total for weight in weights]


def _steps(
    world: World, symbol: Symbol | str, memory: Memory, state: int, only: str | None
) -> Iterator[tuple[tuple[Symbol | str, ...], Memory, int, tuple[int, ...], tuple[str, ...], float]]:
    """What a symbol may become: (symbols, memory, state, choice, words, probability); only: no other word."""
    if symbol == END:
        after = memory.copy()
        after.next_line()
        yield (), after, state, (), (END,), 1.0
    elif isinstance(symbol, Call):
        end = (END,) if symbol == LINE else ()
        for number, share in enumerate(shares(world, symbol, memory)):
            way = ways(world, symbol)[number] if share else None
            if way:
                yield (*way.symbols, *end), memory, state, (number,), (), share
    elif isinstance(symbol, Word):
        yield (), memory, state, (), (symbol.word,), 1.0
    elif isinstance(symbol, Known):
        yield (), memory, state, (), (_known(world, symbol, memory),), 1.0
    elif isinstance(symbol, Effect):
        if symbol.name == "turn":
            subject, mood = divmod(state, world.extent.moods)
            others = [index for index in range(world.extent.moods) if index != mood] or [mood]
            for other in others:
                yield (), memory, subject * world.extent.moods + other, (), (), 1 / len(others)
        else:
            after = memory.copy()
            getattr(after, symbol.name)(*symbol.arguments)
            yield (), after, state, (), (), 1.0
    elif isinstance(symbol, Say):
        yield from _words(world, symbol, memory, state, only)


def _words(world: World, symbol: Say, memory: Memory, state: int, only: str | None) -> Iterator[tuple]:
    if symbol.condition:
        row = memory.heard[symbol.condition]
        words = world.classes[symbol.table].form(symbol.form, world.grammar.slots[symbol.condition], row)
    else:
        words = world.classes[symbol.table].form(symbol.form)
    for word, row, p in zip(words.words, words.rows, words.p[state], strict=True):
        if only not in (None, word):
            continue
        after = memory.copy()
        if symbol.whose or symbol.slot == "saying":
            after.learn(symbol.slot, symbol.whose, word)
        elif symbol.slot:
            after.heard[symbol.slot] = row
        yield (), after, state, (), (word,), float(p)


def _known(world: World, symbol: Known, memory: Memory) -> str:
    derived: Mapping[str, tuple[str, str]] = world.rules.derived
    if symbol.slot not in derived:
        return memory.value(symbol.slot, symbol.whose)
    base, name = derived[symbol.slot]
    return next(row[symbol.slot] for row in table(name) if row[base] == memory.value(base, symbol.whose))


def _lines(words: Sequence[str]) -> Text:
    result: list[tuple[str, ...]] = []
    begun: list[str] = []
    for word in words:
        if word == END:
            result.append(tuple(begun))
            begun = []
        else:
            begun.append(word)
    return tuple(result)
