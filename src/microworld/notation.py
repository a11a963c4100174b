"""The notation of the rules.

    # a comment
    parameter p m f                        values of the parameter p (none of them is itself a parameter)
    curve age 0.3 0.4 0.5                  a weight by the number of the line (the last value holds on)
    class NOUN nouns subject s=singular pl=plural   words: table, what tilts them (subject, mood, -), form=column
    company ACT NOUN acts                  the column `acts` of a NOUN names the ACTs that go with it
    derived country town lands             $country.p follows from town.p by the table `lands`
    endings noun s.nom=o pl.nom=oj         endings of a root by form

    rule p n                               a rule and its parameters
        2*met.p*age   {p he she} VERB.past>do <object n> .

An indented line is one way to write the rule: a weight, then symbols. The weight is a product of numbers, curves,
features of the memory and choices `{p 1 0}`; each way has its share of the sum of the weights. Symbols:

    word              a word                    {p he she}    one of two words, by the value of p
    CLASS.form        a word of a class         CLASS|do      a word that goes with what was heard in the slot `do`
    CLASS>slot        it is remembered: for the line (`do`), or of a person (`town.p`)
    $town.p           what is remembered        <rule n>      a rule
    !mention.p        an effect on the memory   !turn         the mood changes

Where a parameter is not one of the rule's own, the line stands for one line for each of its values.

In a translation (`translates english`) a rule has the same lines in the same order, without weights, with the same
classes and rules in any order; a remembered value stands as its class (TOWN for $town.p). A rule may have other
parameters, and a class is written `CLASS+endings.form`; a class in the place of a form, or of a parameter in braces,
stands for the form of the first word of that class in the line or below it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import inf
from pathlib import Path
from typing import NamedTuple


class RuleError(ValueError):
    """Something is wrong in a file of rules; the message names file and line."""


class Word(NamedTuple):
    """A word as it is."""

    word: str


class Say(NamedTuple):
    """A word of a class: its form, the slot that remembers it with whose it is, the slot of the word it goes with."""

    table: str
    form: str
    slot: str = ""
    whose: str = ""
    condition: str = ""


class Known(NamedTuple):
    """A value that is remembered, and of which person it is."""

    slot: str
    whose: str


class Call(NamedTuple):
    """A rule with the values of its parameters."""

    rule: str
    values: tuple[str, ...]


class Effect(NamedTuple):
    """A change of the memory, or of the mood (`turn`)."""

    name: str
    arguments: tuple[str, ...]


Symbol = Word | Say | Known | Call | Effect


class Way(NamedTuple):
    """One way to write a rule.

    Attributes:
        weight: its constant factor. features: its others: (name, arguments). symbols: what is written.
        location: file and line. line: its number in the rule. values: of the parameters that are not the rule's own.
    """

    weight: float
    features: tuple[tuple[str, tuple[str, ...]], ...]
    symbols: tuple[Symbol, ...]
    location: str
    line: int
    values: Mapping[str, str]


class ClassLine(NamedTuple):
    """The declaration of a class: its table, what tilts it, form → column, with a condition on another column."""

    table: str
    tilt: str
    forms: Mapping[str, tuple[str, str, str]]


class Written(NamedTuple):
    """A rule as it is written: its parameters, its location, and its lines, each with its location."""

    parameters: tuple[str, ...]
    location: str
    lines: list[tuple[str, str]]


@dataclass
class Rules:
    """A file of rules.

    Attributes:
        locations: file and line of each declaration, by its first words ("class NOUN").
    """

    path: Path
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    curves: dict[str, tuple[float, ...]] = field(default_factory=dict)
    classes: dict[str, ClassLine] = field(default_factory=dict)
    company: list[tuple[str, str, str]] = field(default_factory=list)
    derived: dict[str, tuple[str, str]] = field(default_factory=dict)
    endings: dict[str, dict[str, str]] = field(default_factory=dict)
    rules: dict[str, Written] = field(default_factory=dict)
    translates: str = ""
    locations: dict[str, str] = field(default_factory=dict)

    def ways(self, call: Call) -> list[Way]:
        """The ways to write a rule, with the values of its parameters put in."""
        self._check_call(self.path.name, call)
        written = self.rules[call.rule]
        values = dict(zip(written.parameters, call.values, strict=True))
        return [way for number in range(len(written.lines)) for way in self._ways(written, number, values)]

    def line(self, rule: str, line: int, values: Mapping[str, str]) -> tuple[Symbol, ...]:
        """The symbols of a line of a translation, with the values of its parameters put in."""
        location, text = self.rules[rule].lines[line]
        return tuple(self._symbol(location, token, values) for token in _tokens(text))

    def used(self, line: str) -> Iterator[str]:
        """The rules, classes and remembered values (`$town`) of a line."""
        for token in _tokens(line)[0 if self.translates else 1 :]:
            if token.startswith("<"):
                yield token[1:-1].split()[0]
            elif token.startswith("$"):
                yield token.split(".")[0]
            elif match := re.match(r"[A-Z]+", token):
                yield match[0]

    def check(self) -> None:
        """Check each line with all values of its parameters.

        Raises:
            RuleError: something does not exist or cannot be written like this; the message names file and line.
        """
        for name, values in self.parameters.items():
            if both := set(values) & self.parameters.keys():
                raise RuleError(
                    f"{self.locations[f'parameter {name}']}: {min(both)} is a parameter, and cannot be a value"
                )
        for name, written in self.rules.items():
            if not written.lines:
                raise RuleError(f"{written.location}: the rule {name} has no lines")
            for parameter in written.parameters:
                if parameter not in self.parameters:
                    raise RuleError(f"{written.location}: there is no parameter {parameter} ({self._declared()})")
        for written in self.rules.values():
            for number, (location, text) in enumerate(written.lines):
                if text.count("{") != text.count("}"):
                    raise RuleError(f"{location}: a brace is open")
                for results in product(*(self.parameters[parameter] for parameter in written.parameters)):
                    self._check_line(written, number, dict(zip(written.parameters, results, strict=True)))

    def _declared(self) -> str:
        return ", ".join(self.parameters) or "none is declared"

    def _check_line(self, written: Written, number: int, values: Mapping[str, str]) -> None:
        location, text = written.lines[number]
        for way in self._ways(written, number, values):
            if not way.symbols:
                raise RuleError(f"{location}: expected a weight and what is written: a word, a class or a rule")
            if isinstance(way.symbols[0], Effect):
                raise RuleError(
                    f"{location}: a line begins with a word, a class or a rule, not with {_tokens(text)[1]}"
                )
            if not 0 <= way.weight < inf:
                raise RuleError(f"{location}: the weight {way.weight:g} is not a number from 0 on")
            for symbol in way.symbols:
                if isinstance(symbol, Call):
                    self._check_call(location, symbol)
                elif isinstance(symbol, Word) and not (self.translates and symbol.word.startswith("{")):
                    _check_word(location, symbol.word)

    def _check_call(self, location: str, call: Call) -> None:
        written = self.rules.get(call.rule)
        if written is None:
            raise RuleError(f"{location}: there is no rule {call.rule}")
        if len(written.parameters) != len(call.values):
            has, gets = (" ".join(names) or "(none)" for names in (written.parameters, call.values))
            raise RuleError(f"{location}: the rule {call.rule} has the parameters {has}, and gets {gets}")
        for parameter, value in zip(written.parameters, call.values, strict=True):
            if value not in self.parameters[parameter]:
                raise RuleError(f"{location}: {value} is no value of the parameter {parameter} of the rule {call.rule} "
                                f"({' '.join(self.parameters[parameter])})")  # fmt: skip

    def _ways(self, written: Written, number: int, values: Mapping[str, str]) -> Iterator[Way]:
        location, line = written.lines[number]
        tokens = _tokens(line)
        names = {name for token in tokens for name in _names(token)}
        loose = [name for name in self.parameters if name in names and name not in values]
        for results in product(*(self.parameters[name] for name in loose)):
            more = dict(zip(loose, results, strict=True))
            weight, features = (1.0, ()) if self.translates else self._weight(location, tokens[0], {**values, **more})
            symbols = tuple(
                self._symbol(location, token, {**values, **more}) for token in tokens[0 if self.translates else 1 :]
            )
            yield Way(weight, features, symbols, location, number, more)

    def _weight(
        self, location: str, text: str, values: Mapping[str, str]
    ) -> tuple[float, tuple[tuple[str, tuple[str, ...]], ...]]:
        weight, features = 1.0, []
        for factor in _factors(text):
            factor = self._chosen(location, factor, values)
            try:
                weight *= float(factor)
            except ValueError:
                name, *arguments = factor.split(".")
                features.append((name, tuple(values.get(argument, argument) for argument in arguments)))
        return weight, tuple(features)

    def _chosen(self, location: str, token: str, values: Mapping[str, str]) -> str:
        """`{p he she}` → he."""
        if not token.startswith("{"):
            return token
        name, *choices = token[1:-1].split() or [""]
        if self.translates and name in self.classes:
            return token  # by the form of a word, which only the derivation tells
        if name not in self.parameters:
            raise RuleError(f"{location}: {token}: there is no parameter {name} ({self._declared()})")
        if name not in values:
            raise RuleError(f"{location}: {token}: the line that this translates has no parameter {name}")
        if len(choices) != len(self.parameters[name]):
            raise RuleError(f"{location}: {token}: expected {len(self.parameters[name])} choices, one for each value "
                            f"of {name} ({' '.join(self.parameters[name])})")  # fmt: skip
        return choices[self.parameters[name].index(values[name])]

    def _symbol(self, location: str, token: str, values: Mapping[str, str]) -> Symbol:
        if token.startswith("<"):
            name, *arguments = token[1:-1].split() or [""]
            if not token.endswith(">"):
                raise RuleError(f"{location}: {token}: a rule stands between < and >")
            return Call(name, tuple(values.get(argument, argument) for argument in arguments))
        head, *rest = self._chosen(location, token, values).split(".") if len(token) > 1 else (token,)
        results = [values.get(name, name) for name in rest]
        if head.startswith("$"):
            return Known(head[1:], "".join(results))
        if head.startswith("!"):
            return Effect(head[1:], tuple(results))
        match = re.fullmatch(r"([A-Z]+)(\+\w+)?((?:\.\w+)*)(?:>(\w+)(?:\.(\w+))?)?(?:\|(\w+))?", token)
        if match is None:
            return Word(self._chosen(location, token, values))
        table, endings, form, slot, whose, condition = (group or "" for group in match.groups())
        forms = ".".join(values.get(part, part) for part in form.split(".") if part)
        return Say(table + endings, forms, slot, values.get(whose, whose), condition)


def _check_word(location: str, word: str) -> None:
    if re.search(r"[A-Z<>{}|$!+*=]|\w\.", word) or not word:
        raise RuleError(f"{location}: {word} is no word, and no other symbol of the notation")


def _tokens(line: str) -> list[str]:
    """The weight and the symbols of a line; braces and angles hold together."""
    return re.findall(r"(?:\{[^}]*\}|<[^>]*>(?=\s|$)|[^\s{])+", line)


def _factors(weight: str) -> list[str]:
    return re.findall(r"\{[^}]*\}|[^*\s]+", weight)


def _names(token: str) -> Iterator[str]:
    """The parameters that a token may name."""
    yield from re.findall(r"\{(\w+)", token)
    if token.startswith("<"):
        yield from token[1:-1].split()[1:]
    else:
        yield from re.findall(r"\.(\w+)", token)


def read_rules(path: Path) -> Rules:
    """Read a file of rules.

    Raises:
        RuleError: a line is not in the notation; the message names file and line.
    """
    rules, current = Rules(path), None
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise RuleError(f"{path.name}: no text in UTF-8 ({error})") from error
    for number, line in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", line)
        location = f"{path.name}:{number}"
        if not line.strip():
            continue
        if line[0].isspace():
            if current is None:
                raise RuleError(f"{location}: a way to write a rule, but no rule above it")
            current.lines.append((location, line.strip()))
            continue
        head, *rest = line.split()
        try:
            current = _declared(rules, head, rest, location)
        except ValueError as error:
            raise RuleError(f"{location}: {' '.join(line.split())}: {error}") from error
    rules.check()
    return rules


SHAPES = {
    "parameter": "NAME VALUE …",
    "translates": "NAME",
    "curve": "NAME NUMBER …",
    "class": "NAME TABLE TILT FORM …",
    "company": "CLASS CLASS COLUMN",
    "derived": "NAME NAME TABLE",
    "endings": "NAME FORM=ENDING …",
}
"""What stands after the first word of a declaration."""


def _declared(rules: Rules, head: str, rest: list[str], location: str) -> Written | None:
    shape = SHAPES.get(head, "").split()
    if len(rest) < len(shape) - shape.count("…") or (shape and "…" not in shape and len(rest) > len(shape)):
        raise ValueError(f"expected {head} {SHAPES[head]}")
    key = " ".join([head, *rest[: 2 if head == "company" else 1]])
    if shape and key in rules.locations:
        raise ValueError(f"{key} is there twice, first in {rules.locations[key]}")
    rules.locations[key] = location
    match head:
        case "parameter":
            rules.parameters[rest[0]] = tuple(rest[1:])
        case "translates":
            rules.translates = rest[0]
        case "curve":
            rules.curves[rest[0]] = tuple(float(word) for word in rest[1:])
            if not all(0 <= curve < inf for curve in rules.curves[rest[0]]):
                raise ValueError("the numbers of a curve are from 0 on")
        case "class":
            name, table, tilt, *forms = rest
            if tilt not in ("-", "subject", "mood"):
                raise ValueError(f"{tilt}: what tilts a class is subject, mood or - (nothing)")
            rules.classes[name] = ClassLine(table, tilt.strip("-"), dict(_form(form) for form in forms))
        case "company":
            for word in rest[:2]:
                if word not in rules.classes:
                    raise ValueError(f"there is no class {word} above this line")
            rules.company.append((rest[0], rest[1], rest[2]))
        case "derived":
            rules.derived[rest[0]] = (rest[1], rest[2])
        case "endings":
            rules.endings[rest[0]] = {key: ending for key, _, ending in (word.partition("=") for word in rest[1:])}
        case _:
            if head in rules.rules:
                raise ValueError(f"the rule {head} is there twice")
            rules.rules[head] = Written(tuple(rest), location, [])
            return rules.rules[head]
    return None


def _form(text: str) -> tuple[str, tuple[str, str, str]]:
    """`m=word?sex=m` → m, (word, sex, m)."""
    match = re.fullmatch(r"(?:(\w+)=)?(\w+)(?:\?(\w+)=(\w+))?", text)
    if match is None:
        raise ValueError(f"{text}: a form is COLUMN, FORM=COLUMN or FORM=COLUMN?COLUMN=VALUE")
    form, column, key, value = match.groups("")
    return form, (column, key, value)
