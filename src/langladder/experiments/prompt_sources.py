"""Sources of the items of prompted tasks: microworld, labelled texts, last words, your own files.

    microworld   sentiment, questions, entailment    labelled, with the true probability of each label
                 translation                         a line of a story, and its translation among four Esperanto lines
                 agreement                           the verb that agrees with a subject some clauses before
                 analogies                           a is to b as c is to which of four
                 knowledge                           the country of a town, or of a language, of four
    labels       data/clean/labels, from any corpus
    text         the last word of held-out lines, of four (Paperno et al. 2016, LAMBADA, in form)
    file         TSV with a header line, or JSON lines: fields, `answer`, and `options` if there are no verbalisers

If an answer has no options, the wrong options are the right answers of other items.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from langladder.experiments.experiment import Data
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.read.lines import json_row, read_lines
from microworld.engine import world
from microworld.lexicon import table
from microworld.questions import draw_entailment, draw_kinds
from microworld.reviews import POLARITY, draw_reviews
from microworld.translation import Translation
from microworld.truth import CLAUSES, SECTIONS, probe

TRIES = 40  # draws per requested item; duplicates are left out
OPTIONS = "|"  # separates the options in a TSV


class Drawn(NamedTuple):
    """An example before it gets options. answer: a label, or the words themselves; among: the sort of the answer."""

    fields: Mapping[str, str]
    answer: str
    options: tuple[str, ...] = ()
    among: str = ""
    ceiling: float | None = None


class WorldSource(Config):
    """Drawn from microworld."""

    kind: Literal["microworld"]
    task: Literal["sentiment", "questions", "entailment", "translation", "agreement", "analogies", "knowledge"]
    ambiguity: float = Field(default=0.0, ge=0, lt=1)  # labelled tasks: share of ambiguous examples
    clauses: int = Field(default=1, ge=0, le=CLAUSES[-1])  # agreement: clauses between subject and verb

    def draw(self, data: Data, count: int, seed: int) -> tuple[list[Drawn], list[Drawn]]:  # noqa: ARG002
        """See `split`; examples and items have the same distribution."""
        random = Random(f"{seed} prompts {self.task}")
        if self.task == "analogies":
            every = list(_analogies(random))
        elif self.task == "knowledge":
            every = list(_knowledge())
        else:
            every = _different(self._drawn(random), count)
        random.shuffle(every)
        return split(every, count)

    def _drawn(self, random: Random) -> Iterator[Drawn]:
        if self.task == "translation":
            return _translations(random)
        if self.task == "agreement":
            return _agreements(self.clauses, random)
        if self.task == "sentiment":
            return map(_labelled, draw_reviews(random, self.ambiguity, POLARITY))
        drawn = draw_kinds if self.task == "questions" else draw_entailment
        return map(_labelled, drawn(random, self.ambiguity))


class LabelsSource(Config):
    """The labelled texts of the pipeline: items of the test split, examples of the training split."""

    kind: Literal["labels"]

    def draw(self, data: Data, count: int, seed: int) -> tuple[list[Drawn], list[Drawn]]:
        """See `split`."""
        items = []
        for part in ("test", "train"):
            rows = [_labelled(example._asdict()) for example in data.examples(part)]
            Random(f"{seed} prompts {part}").shuffle(rows)
            items.append(rows[:count])
        return items[0], items[1]


class TextSource(Config):
    """The last word of lines of the text: items of the test split, examples of the validation split."""

    kind: Literal["text"]
    least: int = Field(default=5, ge=1)  # words before the last one

    def draw(self, data: Data, count: int, seed: int) -> tuple[list[Drawn], list[Drawn]]:
        """See `split`."""
        items = []
        for part in ("test", "validation"):
            lines = list(dict.fromkeys(data.lines(part)))
            Random(f"{seed} prompts {part}").shuffle(lines)
            cut = (_last_word(line, self.least) for line in lines)
            items.append([item for item in cut if item is not None][:count])
        return items[0], items[1]


class FileSource(Config):
    """Your own file: in an order drawn with the seed, the first entries are items and the others examples."""

    kind: Literal["file"]
    folder: str
    file: str

    def draw(self, data: Data, count: int, seed: int) -> tuple[list[Drawn], list[Drawn]]:  # noqa: ARG002
        """See `split`."""
        every = read_items(Path(self.folder) / self.file)
        Random(f"{seed} prompts file").shuffle(every)
        return split(every, count)


Source = Annotated[WorldSource | LabelsSource | TextSource | FileSource, Field(discriminator="kind")]


def split(every: Sequence[Drawn], count: int) -> tuple[list[Drawn], list[Drawn]]:
    """At most `count` items, and the rest as examples; if there are few, half are items."""
    items = min(count, (len(every) + 1) // 2)
    return list(every[:items]), list(every[items:])


def read_items(path: Path) -> list[Drawn]:
    """The items of a TSV or JSON lines file.

    Raises:
        InputError: there is no such file, a line is not an item (the message names it), or there are no items.
    """
    name = path.name.removesuffix(".gz")
    if not name.endswith((".tsv", ".jsonl")):
        raise InputError(f"{path}: is neither .tsv nor .jsonl (also .gz)")
    lines = [(number, line) for number, line in enumerate(read_lines(path), start=1) if line.strip()]
    items = list(_from_json(path, lines) if name.endswith(".jsonl") else _from_columns(path, lines))
    if len(items) < 2:
        raise InputError(f"{path}: has {len(items)} items; two or more are needed")
    return items


def _from_columns(path: Path, lines: list[tuple[int, str]]) -> Iterator[Drawn]:
    names = lines[0][1].split("\t") if lines else []
    if "answer" not in names or len(set(names)) < len(names):
        raise InputError(
            f"{path}:1: the first line must name the columns, `answer` among them, each once; it is {names}"
        )
    for number, line in lines[1:]:
        cells = line.split("\t")
        if len(cells) != len(names):
            raise InputError(f"{path}:{number}: has {len(cells)} columns, the first line names {len(names)}")
        yield _item(f"{path}:{number}", dict(zip(names, cells, strict=True)))


def _from_json(path: Path, lines: list[tuple[int, str]]) -> Iterator[Drawn]:
    for number, line in lines:
        row = json_row(path, number, line)
        if not isinstance(row, dict) or "answer" not in row:
            raise InputError(f'{path}:{number}: not {{"answer": …, and fields}}')
        options = row.pop("options", [])
        if not isinstance(options, list) or not all(isinstance(option, str) for option in [*options, *row.values()]):
            raise InputError(f"{path}:{number}: fields are texts, `options` is a list of texts")
        yield _item(f"{path}:{number}", row | ({"options": OPTIONS.join(options)} if options else {}))


def _item(where: str, row: dict[str, str]) -> Drawn:
    answer = row.pop("answer").strip()
    options = tuple(part.strip() for part in row.pop("options", "").split(OPTIONS) if part.strip())
    if not answer or (options and (answer not in options or len(options) < 2)):
        raise InputError(f"{where}: the answer {answer!r} is empty, or none of the options {list(options)}")
    return Drawn({name: " ".join(value.split()) for name, value in row.items()}, answer, options)


# ---- microworld ------------------------------------------------------------------------------------------------------


def _different(drawn: Iterator[Drawn], count: int) -> list[Drawn]:
    """Twice `count` examples with different fields; fewer if there are no more."""
    different: dict[tuple[str, ...], Drawn] = {}
    for item in islice(drawn, TRIES * count):
        different.setdefault(tuple(item.fields.values()), item)
        if len(different) == 2 * count:
            break
    return list(different.values())


def _labelled(row: Mapping[str, Any]) -> Drawn:
    fields = {"text": row["text"]} | ({"second": row["second"]} if row.get("second") else {})
    return Drawn(fields, row["label"], ceiling=row.get("ceiling"))


def _translations(random: Random) -> Iterator[Drawn]:
    """A line of each story."""
    here = Translation(world())
    while True:
        line = random.choice(world().draw(random))
        yield Drawn({"source": line.text}, " ".join(here.translate(line.words, line.ways)))


def _agreements(clauses: int, random: Random) -> Iterator[Drawn]:
    """The beginnings of lines, up to a verb whose subject is so many clauses before it."""
    while True:
        for line in world().draw(random):
            pair = probe([line.words])
            if pair and pair[2] == clauses:
                good, bad = (text.split() for text in pair[:2])
                index = next(index for index, word in enumerate(good) if word != bad[index])
                options = tuple(sorted((good[index], bad[index])))
                yield Drawn({"text": " ".join(good[:index])}, good[index], options)


def _analogies(random: Random) -> Iterator[Drawn]:
    for section, (name, first, second) in SECTIONS.items():
        pairs = [(row[first], row[second]) for row in table(name)]
        questions = [(pair, other) for pair in pairs for other in pairs if pair != other]
        for (a, b), (c, d) in random.sample(questions, min(len(questions), 100)):
            yield Drawn({"a": a, "b": b, "c": c}, d, among=section)


def _knowledge() -> Iterator[Drawn]:
    for row in table("lands"):
        yield Drawn({"text": f"he lives in {row['town']} ,"}, row["country"], among="country")
        yield Drawn({"text": f"she speaks {row['language']} , the language of"}, row["country"], among="country")


def _last_word(line: str, least: int) -> Drawn | None:
    words = line.split()
    while words and not words[-1][-1].isalnum():  # the end of the sentence is not a word to guess
        words.pop()
    return Drawn({"text": " ".join(words[:-1])}, words[-1]) if len(words) > least else None
