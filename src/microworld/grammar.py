"""The rules and words of a world, ready to be drawn and read: every symbol of every rule with its parameters put in."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

from microworld import lexicon
from microworld.lexicon import Extent, Words, table
from microworld.memory import EFFECTS, FEATURES, SEXES, UNKNOWN, Memory, parameters
from microworld.notation import Call, Effect, Known, RuleError, Rules, Say, Symbol, Word, read_rules

LINE = Call("line", ())
PRIORS = {"name": "NAME", "job": "JOB", "town": "TOWN", "like": "LIKE", "saying": "SAYING"}
"""Slot of the memory → the class its words were drawn from."""


class DrawnWord:
    """A word of a class, ready to be drawn and read."""

    __slots__ = ("condition", "form", "forms", "kind", "remembered", "slot", "table", "whose")

    def __init__(self, speech: Say, grammar: "Grammar") -> None:
        _check_say(speech, grammar)
        self.table, self.form, self.slot, self.whose, self.condition = speech
        self.remembered = speech.slot in PRIORS
        words, condition = grammar.classes[speech.table], grammar.slots.get(speech.condition, "")
        alone = words.form(speech.form)
        self.forms = {-1: alone}
        if condition:
            for row in range(len(table(grammar.rules.classes[condition].table))):
                self.forms[row] = words.form(speech.form, condition, row)
        self.kind = f"{speech.table}.{speech.form}" if speech.form else speech.table

    def words(self, memory: Memory) -> Words:
        """Its words here."""
        try:
            return self.forms[memory.heard[self.condition]] if self.condition else self.forms[-1]
        except KeyError as error:
            raise RuleError(
                f"{self.table}|{self.condition}: no word {self.condition} comes before it in the line"
            ) from error

    def learn(self, memory: Memory, word: str, number: int, words: Words) -> None:
        """What the memory keeps of the word."""
        if self.remembered:
            memory.learn(self.slot, self.whose, word)
        elif self.slot:
            memory.heard[self.slot] = words.rows[number]


def _check_say(speech: Say, grammar: "Grammar") -> None:
    """What is remembered of a person is a word of its class, in the form of that person, that no mood tilts."""
    if speech.table not in grammar.classes:
        raise RuleError(f"there is no class {speech.table} ({', '.join(grammar.classes)})")
    if speech.slot in PRIORS:
        line, whose = grammar.classes[speech.table].line, ("",) if speech.slot == "saying" else SEXES
        if speech.table != PRIORS[speech.slot] or speech.whose not in whose or line.tilt == "mood":
            raise RuleError(f"{speech.table}>{speech.slot}: what is remembered as {speech.slot} is a "
                            f"{PRIORS[speech.slot]} of a person ({', '.join(SEXES)}), which no mood tilts")  # fmt: skip
        if speech.form != (speech.whose if speech.whose in line.forms else ""):
            raise RuleError(
                f"{speech.table}>{speech.slot}.{speech.whose}: its form is that of the person, not {speech.form}"
            )
    elif speech.whose:
        raise RuleError(f"{speech.slot}.{speech.whose}: of a person one remembers {', '.join(PRIORS)}")
    if speech.condition and grammar.slots.get(speech.condition) not in grammar.classes[speech.table].company:
        raise RuleError(
            f"{speech.table}|{speech.condition}: no company of {speech.table} is remembered as {speech.condition}"
        )


def _check_arguments(name: str, arguments: tuple[str, ...]) -> None:
    """The arguments of an effect or a feature are values of its parameters."""
    allowed = parameters(name) if name != "turn" else []
    if len(arguments) != len(allowed) or any(
        argument not in values for argument, values in zip(arguments, allowed, strict=True)
    ):
        shape = ".".join([name, *(f"({'|'.join(names)})" for names in allowed)])
        raise RuleError(f"{'.'.join([name, *arguments])}: expected {shape}")


class Rule:
    """A rule with its parameters put in."""

    def __init__(self, call: Call, grammar: "Grammar") -> None:
        self.call = call
        ways = grammar.rules.ways(call)
        self.written = ways
        self.locations = [way.location for way in ways]
        self.constants = [way.weight for way in ways]
        self.curves = [[grammar.rules.curves[n] for n, _ in way.features if n in grammar.rules.curves] for way in ways]
        self.features = [[(n, a) for n, a in way.features if n not in grammar.rules.curves] for way in ways]
        for location, features in zip(self.locations, self.features, strict=True):
            for name, arguments in features:
                if name not in FEATURES:
                    raise RuleError(f"{location}: {name} is no number, no curve and no feature ({', '.join(FEATURES)})")
                with at(location):
                    _check_arguments(name, arguments)
        self.depends = sorted({feature for features in self.features for feature in features})
        self.on_line = any(self.curves)
        self.ways: list[tuple[Part, ...]] = [
            tuple(grammar.symbol(symbol, way.location) for symbol in way.symbols) for way in ways
        ]
        self.pushed = [way[::-1] for way in self.ways]
        self._weights: dict[tuple[float, ...], tuple[list[float], list[float]]] = {}

    def shares(self, memory: Memory) -> tuple[list[float], list[float]]:
        """P(way | memory), and its cumulative sums."""
        key = tuple([getattr(memory, name)(*arguments) for name, arguments in self.depends])
        if self.on_line:
            key += (float(memory.line),)
        entry = self._weights.get(key)
        if entry is None:
            values = dict(zip(self.depends, key, strict=False))
            weights = []
            for constant, curves, features in zip(self.constants, self.curves, self.features, strict=True):
                weight = constant
                for curve in curves:
                    weight *= curve[min(memory.line, len(curve) - 1)]
                for feature in features:
                    weight *= values[feature]
                weights.append(weight)
            total = sum(weights)
            if not total:
                here = ", ".join(f"{'.'.join((name, *more))} = {value:g}" for (name, more), value in values.items())
                raise RuleError(f"{self.locations[0]}: all lines of the rule {self.call.rule} have the weight 0 "
                                f"in line {memory.line + 1} of a story{', where ' * bool(here)}{here}")  # fmt: skip
            shares = [weight / total for weight in weights]
            entry = self._weights[key] = (shares, list(accumulate(shares)))
        return entry


class KnownWord:
    """A remembered value: `slot`, `whose`; value → what follows from it, where the word is not the value itself."""

    __slots__ = ("follows", "named", "slot", "whose")

    def __init__(self, symbol: Known, grammar: "Grammar") -> None:
        self.slot, self.whose, self.named = symbol.slot, symbol.whose, symbol.slot
        self.follows: dict[str, str] | None = None
        if symbol.slot in grammar.rules.derived:
            self.slot, name = grammar.rules.derived[symbol.slot]
            self.follows = {row[self.slot]: row[symbol.slot] for row in table(name)}
        known = ", ".join([*PRIORS, *grammar.rules.derived])
        if self.slot not in PRIORS:
            raise RuleError(f"${symbol.slot}: nothing of that name is remembered ({known})")
        if symbol.whose not in (("",) if self.slot == "saying" else SEXES):
            raise RuleError(f"${symbol.slot}.{symbol.whose}: what follows the dot is a person ({', '.join(SEXES)})")
        if PRIORS[self.slot] not in grammar.classes:
            raise RuleError(f"${symbol.slot}: there is no class {PRIORS[self.slot]}")

    def value(self, memory: Memory) -> str:
        """What the memory holds of it; `UNKNOWN`: the reader did not see it."""
        value = memory.value(self.slot, self.whose)
        return self.follows[value] if self.follows and value != UNKNOWN else value


class Change:
    """A change of the memory (`name`, `arguments`), or of the mood."""

    __slots__ = ("arguments", "name", "turns")

    def __init__(self, name: str, arguments: tuple[str, ...]) -> None:
        self.name, self.arguments, self.turns = name, arguments, name == "turn"


Part = str | Rule | DrawnWord | KnownWord | Change
"""A symbol, ready to be drawn and read."""


class Grammar:
    """The rules of a world with their words.

    Attributes:
        extent: how much of the lexicon it has. rules: as they are written. classes: name → class of words.
        slots: what is remembered to the end of a line → its class. start: the rule of a line.
    """

    def __init__(self, extent: Extent, path: Path, curves: Mapping[str, tuple[float, ...]]) -> None:
        """See `microworld.engine.World`."""
        self.extent = extent
        self.rules: Rules = read_rules(path)
        if unknown := curves.keys() - self.rules.curves.keys():
            raise RuleError(f"{path.name}: there is no curve {min(unknown)} ({', '.join(self.rules.curves)})")
        lexicon.check_tables(self.rules)
        self.rules.curves.update(curves)
        self.classes = lexicon.classes(self.rules.classes, self.rules.company, self.extent)
        self.slots: dict[str, str] = {}  # slot of a line → its class
        for name in self.rules.rules:
            for location, line in self.rules.rules[name].lines:
                for token in line.split():
                    head, _, slot = token.partition(">")
                    if slot and head[:1].isupper():
                        slot, table_name = slot.split(".")[0].split("|")[0], head.split(".")[0]
                        if self.slots.setdefault(slot, table_name) != table_name:
                            raise RuleError(f"{location}: {token}: {slot} is a {self.slots[slot]} in another line")
        self._symbols: dict[Symbol, Part] = {}
        self.start: Rule = self.symbol(LINE, "")  # type: ignore[assignment]
        self._priors: dict[tuple[str, str], Words] = {}

    def symbol(self, symbol: Symbol, location: str) -> Part:
        """What the engine works with: made once for equal symbols."""
        if symbol in self._symbols:
            return self._symbols[symbol]
        part: Part
        match symbol:
            case Word(word):
                part = word
            case Say() | Known():
                with at(location):
                    part = DrawnWord(symbol, self) if isinstance(symbol, Say) else KnownWord(symbol, self)
            case Call():
                rule = Rule.__new__(Rule)
                self._symbols[symbol] = rule
                rule.__init__(symbol, self)  # type: ignore[misc]
                return rule
            case Effect(name, arguments):
                if name not in (*EFFECTS, "turn"):
                    raise RuleError(f"{location}: !{name}: there is no such effect ({', '.join(EFFECTS)}, turn)")
                with at(location):
                    _check_arguments(name, arguments)
                part = Change(name, arguments)
        self._symbols[symbol] = part
        return part

    def prior_words(self, word: KnownWord) -> Words:
        """The words that an unknown value may be."""
        key = (word.slot, word.whose)
        if key not in self._priors:
            words = self.classes[PRIORS[word.slot]]
            self._priors[key] = words.form(word.whose if word.whose in words.line.forms else "")
        return self._priors[key]


@contextmanager
def at(location: str) -> Iterator[None]:
    """File and line in front of what a RuleError says."""
    try:
        yield
    except RuleError as error:
        raise RuleError(f"{location}: {error}") from error
