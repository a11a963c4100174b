"""A line in another language: its derivation, written by the rules of that language.

The derivation names a way at each choice of the English rules. The other file has the same rules with the same lines in
the same order, so the line is written from the top with the words of the same classes, in the order and the forms of
that language.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

from microworld.engine import PRIORS, World, _Known, _Rule, _Say
from microworld.lexicon import HERE, table
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
            if key in self.parts and (found := self.parts[key][number].form(name)):
                return found
        return ""


class Translation:
    """Lines of a world in another language."""

    def __init__(self, world: World, path: Path = HERE / "esperanto.rules") -> None:
        self.world, self.rules = world, read_rules(path)
        self._rows: dict[tuple[str, str], dict[str, int]] = {}
        self._check()

    def translate(self, words: Sequence[str], ways: Sequence[int]) -> list[str]:
        """The words of a line in the other language, from its English words and its derivation."""
        node = self._node(self.world.start, iter(words), iter(ways))
        return list(self._write(node, ()))

    def _node(self, rule: _Rule, words: Iterator[str], ways: Iterator[int]) -> Node:
        number = next(ways)
        way = rule.written[number]
        node = Node(rule.call.rule, way.line, way.values, {}, {}, [])
        for symbol in rule.ways[number]:
            if isinstance(symbol, str):
                next(words)
            elif isinstance(symbol, _Rule):
                name = symbol.call.rule
                node.order.append((name, len(node.parts.setdefault(name, []))))
                node.parts[name].append(self._node(symbol, words, ways))
            elif isinstance(symbol, (_Say, _Known)):
                name, form = _class(symbol)
                node.order.append((name, len(node.words.setdefault(name, []))))
                node.words[name].append((self._row(symbol, next(words)), form))
        return node

    def _row(self, symbol: _Say | _Known, word: str) -> int:
        """The row of a word in its table."""
        name, form = _class(symbol)
        if (name, form) not in self._rows:
            line = self.world.rules.classes.get(name)
            if line is None:  # a value that follows from another
                _base, source = self.world.rules.derived[name.lower()]
                columns = [name.lower()]
            else:
                source, columns = line.table, [column for one, (column, *_) in line.forms.items() if form in ("", one)]
            self._rows[name, form] = {
                row[column]: number for column in columns for number, row in enumerate(table(source))
            }
        return self._rows[name, form][word]

    def _write(self, node: Node, extra: tuple[str, ...]) -> Iterator[str]:
        """The words of a node; extra: the values of the rule's parameters in the other language."""
        taken: dict[str, int] = {}
        values = tuple(sorted(node.values.items()))
        for symbol in self._line(node.rule, node.line, values, extra):
            if isinstance(symbol, Word):
                yield self._agreeing(symbol.word, node)
            elif isinstance(symbol, Call):
                number = taken.get(symbol.rule, 0)
                taken[symbol.rule] = number + 1
                yield from self._write(node.parts[symbol.rule][number], symbol.values)
            elif isinstance(symbol, Say):
                name = symbol.table.split("+")[0]
                number = taken.get(name, 0)
                taken[name] = number + 1
                forms = [node.form(one) if one.isupper() else one for one in symbol.form.split(".") if one]
                yield self._word(symbol.table, forms, node.words[name][number][0])

    @cache  # noqa: B019  (as many as lines)
    def _line(
        self, rule: str, line: int, values: tuple[tuple[str, str], ...], extra: tuple[str, ...]
    ) -> tuple[Symbol, ...]:
        return self.rules.line(
            rule, line, {**dict(values), **dict(zip(self.rules.rules[rule].parameters, extra, strict=True))}
        )

    def _agreeing(self, word: str, node: Node) -> str:
        """`{NOUN kiun kiujn}`: by the form of the noun."""
        if not word.startswith("{"):
            return word
        name, *choices = word[1:-1].split()
        form = node.form(name)
        values = next(values for values in self.rules.parameters.values() if form in values)
        return choices[values.index(form)]

    @cache  # noqa: B019  (as many as words)
    def _word_of(self, name: str, form: str, ending: str, row: int) -> str:
        table_name, endings = name.partition("+")[0], name.partition("+")[2]
        line = self.rules.classes[table_name]
        column = line.forms[form][0]
        end = self.rules.endings[endings][ending] if endings else ""
        return table(line.table)[row][column] + end

    def _word(self, name: str, forms: Sequence[str], row: int) -> str:
        line = self.rules.classes[name.partition("+")[0]]
        form = forms[0] if forms and forms[0] in line.forms else ""
        return self._word_of(name, form, ".".join(forms[1:] if form else forms), row)

    def _check(self) -> None:
        """Every rule has as many lines as in English, with the same classes, values and rules.

        Raises:
            RuleError: it has not; the message names the line.
        """
        for rule, written in self.world.rules.rules.items():
            other = self.rules.rules.get(rule)
            if other is None:
                raise RuleError(f"{self.rules.path.name}: the rule {rule} is missing")
            for (place, line), (there, translated) in zip_longest(
                written.lines, other.lines, fillvalue=(self.rules.path.name, "")
            ):
                one, two = _named(self.world.rules.used(line)), _named(self.rules.used(translated))
                if one != two:
                    raise RuleError(f"{there}: {rule}: {place} has {' '.join(one)}; this has {' '.join(two)}")


def _class(symbol: _Say | _Known) -> tuple[str, str]:
    """The class and the form of a word of English; of a remembered value that of what it was drawn from."""
    if isinstance(symbol, _Say):
        return symbol.table, symbol.form
    return (symbol.named.upper() if symbol.follows else PRIORS[symbol.slot]), ""


def _named(found: Iterator[str]) -> list[str]:
    """Classes and rules, in an order of their own; a remembered value as its class."""
    return sorted(PRIORS.get(one[1:], one[1:].upper()) if one.startswith("$") else one for one in found)
