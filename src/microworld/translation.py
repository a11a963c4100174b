"""A line in another language: its derivation, written by the rules of that language.

The derivation names a way at each choice of the English rules. The other file has the same rules with the same lines in
the same order, so the line is written from the top with the words of the same classes, in the order and the forms of
that language.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product, zip_longest
from pathlib import Path

from microworld.engine import World
from microworld.grammar import PRIORS, DrawnWord, KnownWord, Rule, at
from microworld.lexicon import HERE, check_tables, table
from microworld.notation import Call, RuleError, Say, Symbol, Word, read_rules


@dataclass
class Node:
    """A part of a derivation.

    Attributes:
        rule, line: which of its lines. values: of the parameters that are not the rule's own.
        words: class → its words in this line: (row of the table, form), in order. parts: rule → its nodes, in order.
        order: the classes and rules in the order of English.
    """

    rule: str
    line: int
    values: Mapping[str, str]
    words: dict[str, list[tuple[int, str]]]
    parts: dict[str, list["Node"]]
    order: list[tuple[str, int]]

    def form(self, name: str) -> str:
        """The form of the first word of a class in this node or below it; "": there is none."""
        for key, number in self.order:
            if key == name:
                return self.words[key][number][1]
            if key in self.parts and (form := self.parts[key][number].form(name)):
                return form
        return ""


class Translation:
    """Lines of a world in another language."""

    def __init__(self, world: World, path: Path = HERE / "esperanto.rules") -> None:
        """
        Raises:
            RuleError: the rules do not fit those of the world; the message names file and line.
        """
        self.world, self.rules = world, read_rules(path)
        self._rows: dict[tuple[str, str], dict[str, int]] = {}
        self._check()

    def translate(self, words: Sequence[str], ways: Sequence[int]) -> list[str]:
        """The words of a line in the other language, from its English words and its derivation."""
        node = self._node(self.world.start, iter(words), iter(ways))
        return list(self._write(node, ()))

    def _node(self, rule: Rule, words: Iterator[str], ways: Iterator[int]) -> Node:
        number = next(ways)
        way = rule.written[number]
        node = Node(rule.call.rule, way.line, way.values, {}, {}, [])
        for symbol in rule.ways[number]:
            if isinstance(symbol, str):
                next(words)
            elif isinstance(symbol, Rule):
                name = symbol.call.rule
                node.order.append((name, len(node.parts.setdefault(name, []))))
                node.parts[name].append(self._node(symbol, words, ways))
            elif isinstance(symbol, (DrawnWord, KnownWord)):
                name, form = _class(symbol)
                node.order.append((name, len(node.words.setdefault(name, []))))
                node.words[name].append((self._row(symbol, next(words)), form))
        return node

    def _row(self, symbol: DrawnWord | KnownWord, word: str) -> int:
        """The row of a word in its table."""
        name, form = _class(symbol)
        if (name, form) not in self._rows:
            line = self.world.rules.classes.get(name)
            if line is None:  # a value that follows from another
                _base, source = self.world.rules.derived[name.lower()]
                columns = [name.lower()]
            else:
                source, columns = (
                    line.table,
                    [column for name, (column, *_) in line.forms.items() if form in ("", name)],
                )
            self._rows[name, form] = {
                row[column]: number for column in columns for number, row in enumerate(table(source))
            }
        return self._rows[name, form][word]

    def _write(self, node: Node, extra: tuple[str, ...]) -> Iterator[str]:
        """The words of a node; extra: the values of the rule's parameters in the other language."""
        counts: dict[str, int] = {}
        values = tuple(sorted(node.values.items()))
        for symbol in self._line(node.rule, node.line, values, extra):
            if isinstance(symbol, Word):
                yield self._agreeing(symbol.word, node)
            elif isinstance(symbol, Call):
                number = counts.get(symbol.rule, 0)
                counts[symbol.rule] = number + 1
                yield from self._write(node.parts[symbol.rule][number], symbol.values)
            elif isinstance(symbol, Say):
                name = symbol.table.split("+")[0]
                number = counts.get(name, 0)
                counts[name] = number + 1
                forms = [node.form(part) if part.isupper() else part for part in symbol.form.split(".") if part]
                yield self._word_of(symbol.table, tuple(forms), node.words[name][number][0])

    @cache  # noqa: B019  (as many as lines)
    def _line(
        self, rule: str, line: int, values: tuple[tuple[str, str], ...], extra: tuple[str, ...]
    ) -> tuple[Symbol, ...]:
        return self.rules.line(
            rule, line, {**dict(values), **dict(zip(self.rules.rules[rule].parameters, extra, strict=True))}
        )

    def _agreeing(self, word: str, node: Node) -> str:
        """`{NOUN kiun kiujn}`: by the form of the noun."""
        return self._choice(word, node.form(word[1:-1].split()[0])) if word.startswith("{") else word

    def _choice(self, word: str, form: str) -> str:
        choices = word[1:-1].split()[1:]
        for values in self.rules.parameters.values():
            if form in values and len(values) == len(choices):
                return choices[values.index(form)]
        raise RuleError(f"{word}: no parameter has the value {form or '(none)'} and {len(choices)} values")

    @cache  # noqa: B019  (as many as words)
    def _word_of(self, name: str, forms: tuple[str, ...], row: int) -> str:
        class_name, _, endings = name.partition("+")
        line = self.rules.classes.get(class_name)
        if line is None:
            raise RuleError(f"there is no class {class_name} ({', '.join(self.rules.classes)})")
        form = forms[0] if forms and forms[0] in line.forms else ""
        if form not in line.forms:
            raise RuleError(f"class {class_name} has no form {'.'.join(forms) or '(none)'} ({', '.join(line.forms)})")
        if endings and endings not in self.rules.endings:
            raise RuleError(f"there are no endings {endings} ({', '.join(self.rules.endings)})")
        ends = self.rules.endings[endings] if endings else {"": ""}
        ending = ".".join(forms[1:] if form else forms)
        if ending not in ends:
            raise RuleError(f"{name} has no ending {ending or '(none)'} ({', '.join(filter(None, ends)) or 'none'})")
        return table(line.table)[row][line.forms[form][0]] + ends[ending]

    def _check(self) -> None:
        """Every rule has as many lines as in English, with the same classes, values and rules.

        Raises:
            RuleError: it has not; the message names the line.
        """
        check_tables(self.rules)
        for rule, written in self.rules.rules.items():
            if rule not in self.world.rules.rules:
                raise RuleError(f"{written.location}: {self.world.rules.path.name} has no rule {rule}")
        for rule, written in self.world.rules.rules.items():
            other = self.rules.rules.get(rule)
            if other is None:
                raise RuleError(f"{self.rules.path.name}: the rule {rule} is missing ({written.location})")
            for (location, line), (there, translated) in zip_longest(
                written.lines, other.lines, fillvalue=(other.location, "")
            ):
                used, two = _named(self.world.rules.used(line)), _named(self.rules.used(translated))
                if used != two:
                    has, this = (" ".join(names) or "(none)" for names in (used, two))
                    raise RuleError(f"{there}: {rule}: {location} has {has}; this has {this}")
        for rule in self.world.rules.rules:
            self._check_forms(rule)

    def _check_forms(self, rule: str) -> None:
        """Each word of a rule's lines can be written, in all forms."""
        english, other = self.world.rules, self.rules.rules[rule]
        call = Call(rule, tuple(english.parameters[parameter][0] for parameter in english.rules[rule].parameters))
        for way in english.ways(call):
            location = other.lines[way.line][0]
            below = self._below(english.rules[rule].lines[way.line][1])
            for extra in product(*(self.rules.parameters[parameter] for parameter in other.parameters)):
                with at(location):
                    for symbol in self._line(rule, way.line, tuple(sorted(way.values.items())), extra):
                        self._check_symbol(symbol, below)

    def _check_symbol(self, symbol: Symbol, below: set[str]) -> None:
        if isinstance(symbol, Word) and symbol.word.startswith("{"):
            for form in self._forms(symbol.word[1:-1].split()[0], below):
                self._choice(symbol.word, form)
        elif isinstance(symbol, Say):
            written = [part for part in symbol.form.split(".") if part]
            for forms in product(*(self._forms(symbol, below) if symbol.isupper() else [symbol] for symbol in written)):
                self._word_of(symbol.table, forms, 0)

    def _forms(self, name: str, below: set[str]) -> list[str]:
        """The forms of a class of English that a line has, or a line below it."""
        if name not in below:
            raise RuleError(f"{name}: there is no {name} in this line, nor below it")
        return list(self.world.rules.classes[name].forms)

    def _below(self, line: str) -> set[str]:
        """The classes of a line of English and of the rules that it names."""
        names, left = set[str](), _named(self.world.rules.used(line))
        while left:
            name = left.pop()
            if name not in names:
                names.add(name)
                lines = self.world.rules.rules[name].lines if name in self.world.rules.rules else ()
                left += [name for _, text in lines for name in _named(self.world.rules.used(text))]
        return names


def _class(symbol: DrawnWord | KnownWord) -> tuple[str, str]:
    """The class and the form of a word of English; of a remembered value that of what it was drawn from."""
    if isinstance(symbol, DrawnWord):
        return symbol.table, symbol.form
    return (symbol.named.upper() if symbol.follows else PRIORS[symbol.slot]), ""


def _named(lines: Iterator[str]) -> list[str]:
    """Classes and rules, in an order of their own; a remembered value as its class."""
    return sorted(PRIORS.get(name[1:], name[1:].upper()) if name.startswith("$") else name for name in lines)
