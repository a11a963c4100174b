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
    given: str = ""


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
        place: file and line. line: its number in the rule. values: of the parameters that are not the rule's own.
    """

    weight: float
    features: tuple[tuple[str, tuple[str, ...]], ...]
    symbols: tuple[Symbol, ...]
    place: str
    line: int
    values: Mapping[str, str]


class ClassLine(NamedTuple):
    """The declaration of a class: its table, what tilts it, form → column, with a condition on another column."""

    table: str
    tilt: str
    forms: Mapping[str, tuple[str, str, str]]


class Written(NamedTuple):
    """A rule as it is written."""

    parameters: tuple[str, ...]
    lines: list[tuple[str, str]]


@dataclass
class Rules:
    """A file of rules."""

    path: Path
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    curves: dict[str, tuple[float, ...]] = field(default_factory=dict)
    classes: dict[str, ClassLine] = field(default_factory=dict)
    company: list[tuple[str, str, str]] = field(default_factory=list)
    derived: dict[str, tuple[str, str]] = field(default_factory=dict)
    endings: dict[str, dict[str, str]] = field(default_factory=dict)
    rules: dict[str, Written] = field(default_factory=dict)
    translates: str = ""

    def ways(self, call: Call) -> list[Way]:
        """The ways to write a rule, with the values of its parameters put in."""
        written = self.rules.get(call.rule)
        if written is None:
            raise RuleError(f"{self.path.name}: there is no rule {call.rule}")
        if len(written.parameters) != len(call.values):
            raise RuleError(f"{self.path.name}: rule {call.rule} has the parameters {' '.join(written.parameters)}, "
                            f"and is called with {' '.join(call.values) or 'none'}")  # fmt: skip
        values = dict(zip(written.parameters, call.values, strict=True))
        return [way for number in range(len(written.lines)) for way in self._ways(written, number, values)]

    def line(self, rule: str, line: int, values: Mapping[str, str]) -> tuple[Symbol, ...]:
        """The symbols of a line of a translation, with the values of its parameters put in."""
        place, text = self.rules[rule].lines[line]
        return tuple(self._symbol(place, one, values) for one in _tokens(text))

    def used(self, line: str) -> Iterator[str]:
        """The rules, classes and remembered values (`$town`) of a line."""
        for token in _tokens(line)[0 if self.translates else 1 :]:
            if token.startswith("<"):
                yield token[1:-1].split()[0]
            elif token.startswith("$"):
                yield token.split(".")[0]
            elif found := re.match(r"[A-Z]+", token):
                yield found[0]

    def _ways(self, written: Written, number: int, values: Mapping[str, str]) -> Iterator[Way]:
        place, line = written.lines[number]
        tokens = _tokens(line)
        names = {name for token in tokens for name in _names(token)}
        loose = [name for name in self.parameters if name in names and name not in values]
        for found in product(*(self.parameters[name] for name in loose)):
            more = dict(zip(loose, found, strict=True))
            weight, features = self._weight(place, tokens[0], {**values, **more})
            symbols = tuple(self._symbol(place, one, {**values, **more}) for one in tokens[1:])
            yield Way(weight, features, symbols, place, number, more)

    def _weight(
        self, place: str, text: str, values: Mapping[str, str]
    ) -> tuple[float, tuple[tuple[str, tuple[str, ...]], ...]]:
        weight, features = 1.0, []
        for factor in _factors(text):
            factor = self._chosen(place, factor, values)
            try:
                weight *= float(factor)
            except ValueError:
                name, *arguments = factor.split(".")
                features.append((name, tuple(values.get(one, one) for one in arguments)))
        return weight, tuple(features)

    def _chosen(self, place: str, token: str, values: Mapping[str, str]) -> str:
        """`{p he she}` → he."""
        if not token.startswith("{"):
            return token
        name, *choices = token[1:-1].split()
        if self.translates and name in self.classes:
            return token  # by the form of a word, which only the derivation tells
        if name not in values or len(choices) != len(self.parameters[name]):
            raise RuleError(f"{place}: {token}: expected a parameter and {len(self.parameters.get(name, ()))} choices")
        return choices[self.parameters[name].index(values[name])]

    def _symbol(self, place: str, token: str, values: Mapping[str, str]) -> Symbol:
        if token.startswith("<"):
            name, *arguments = token[1:-1].split()
            return Call(name, tuple(values.get(one, one) for one in arguments))
        head, *rest = self._chosen(place, token, values).split(".") if len(token) > 1 else (token,)
        found = [values.get(one, one) for one in rest]
        if head.startswith("$"):
            return Known(head[1:], "".join(found))
        if head.startswith("!"):
            return Effect(head[1:], tuple(found))
        said = re.fullmatch(r"([A-Z]+)(\+\w+)?((?:\.\w+)*)(?:>(\w+)(?:\.(\w+))?)?(?:\|(\w+))?", token)
        if said is None:
            return Word(self._chosen(place, token, values))
        table, endings, form, slot, whose, given = (one or "" for one in said.groups())
        forms = ".".join(values.get(one, one) for one in form.split(".") if one)
        return Say(table + endings, forms, slot, values.get(whose, whose), given)


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
        RuleError: a line is not in the notation.
    """
    rules, current = Rules(path), None
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", line)
        place = f"{path.name}:{number}"
        if not line.strip():
            continue
        if line[0].isspace():
            if current is None:
                raise RuleError(f"{place}: a way to write a rule, but no rule above it")
            current.lines.append((place, line.strip()))
            continue
        head, *rest = line.split()
        try:
            current = _declared(rules, head, rest)
        except (ValueError, KeyError) as error:
            raise RuleError(f"{place}: {line.strip()}: {error}") from error
    return rules


def _declared(rules: Rules, head: str, rest: list[str]) -> Written | None:
    match head:
        case "parameter":
            rules.parameters[rest[0]] = tuple(rest[1:])
        case "translates":
            rules.translates = rest[0]
        case "curve":
            rules.curves[rest[0]] = tuple(float(one) for one in rest[1:])
        case "class":
            name, table, tilt, *forms = rest
            rules.classes[name] = ClassLine(table, tilt.strip("-"), dict(_form(one) for one in forms))
        case "company":
            rules.company.append((rest[0], rest[1], rest[2]))
        case "derived":
            rules.derived[rest[0]] = (rest[1], rest[2])
        case "endings":
            rules.endings[rest[0]] = {key: ending for key, _, ending in (one.partition("=") for one in rest[1:])}
        case _:
            if head in rules.rules:
                raise ValueError(f"the rule {head} is there twice")
            rules.rules[head] = Written(tuple(rest), [])
            return rules.rules[head]
    return None


def _form(text: str) -> tuple[str, tuple[str, str, str]]:
    """`m=word?sex=m` → m, (word, sex, m)."""
    form, column, key, value = re.fullmatch(r"(?:(\w+)=)?(\w+)(?:\?(\w+)=(\w+))?", text).groups("")  # type: ignore[union-attr]
    return form, (column, key, value)
