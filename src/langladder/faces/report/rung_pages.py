"""Each rung on a page of its own within the report, closed until asked for.

Its idea, papers and equations come from its file in conf/ and from the docstring of its module; its parts from its
model; what changed, its figures, samples and mistakes from the run; claims of the literature that it is about stand
there, too. A part for which the run has no data is left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from langladder.evaluation.encoder import EncoderPage
from langladder.evaluation.language_model import LanguageModelPage
from langladder.evaluation.page import Page
from langladder.evaluation.translation import TranslatorPage
from langladder.evaluation.word_vectors import WordVectorsPage
from langladder.faces.report import numbers
from langladder.faces.report.advice import judged, measure_of
from langladder.faces.report.claims import Claims, ClaimView, claim_views, placed_claims
from langladder.faces.report.docstrings import docstring, equations, papers, prose, sentences
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.predictions import chosen, cut
from langladder.faces.report.section import Column, Section, family_columns
from langladder.faces.report.steps import step
from langladder.faces.report.tables import anchor
from langladder.families.family import AnyFamily

IDEA, SAMPLES, MISTAKES, CHANGES = 3, 3, 3, 6
"""Sentences, samples, mistakes, changed settings of a rung."""

LONGEST = 160
"""Characters of a text."""

SIDES = {"corpus": ("text", "text"), "parallel": ("source", "target")}
"""A family's side → `Kind.sides`; of others (labels, tags, …) what a rung writes has no corpus."""

MOST = 0.8
"""A part with a larger share of the weights than this is replaced by its own parts."""

DEEPEST = 4
"""Names in the path of a part."""

FLOW = "embedding", "position", "segment", "encoder", "bridge", "decoder", "readout", "head", "crf"
"""Words in the names of parts, roughly in the order in which a text passes them; others stand with the encoder."""


class Part(NamedTuple):
    """A part of a model.

    Attributes:
        shape: of its largest array. numbers: how many it has; share: of all. inside: the parts that it is made of.
    """

    name: str
    shape: str
    numbers: str
    share: float
    inside: str


class Mistake(NamedTuple):
    """A test item that went wrong; of a language model a line with its loss."""

    text: str
    truth: str
    predicted: str
    loss: str


@dataclass(frozen=True)
class RungPage:
    """One rung; what is empty is left out.

    Attributes:
        code: the file of its module. before: the rung before it in history.
        changed: what is different from that one, settings as (name, before, now); step: what that gave.
        samples: what it was given, and what it made of it.
    """

    id: str
    title: str
    year: int | None
    idea: str = ""
    papers: str = ""
    equations: str = ""
    code: str = ""
    guide: str = ""
    parts: Sequence[Part] = ()
    base: str = ""
    sizes_only: bool = False
    before: str = ""
    changed: Sequence[tuple[str, str, str]] = ()
    step: str = ""
    figures: Sequence[tuple[str, str]] = ()
    samples: Sequence[tuple[str, str]] = ()
    mistakes: Sequence[Mistake] = ()
    claims: Sequence[ClaimView] = ()


@dataclass(frozen=True)
class Kind:
    """Rungs that are judged alike, in order of history, and the claims that are about all of them.

    Attributes:
        sides: the corpora of what its rungs read and of what they write, keys of `ReportInputs.languages`.
    """

    title: str
    sides: tuple[str, str | None]
    rungs: list[RungPage]
    claims: list[ClaimView] = field(default_factory=list)


def sections(inputs: ReportInputs) -> Iterable[Section]:
    """One section; none if no rung has more than its figures."""
    claims = placed_claims(inputs)
    blocks = [_kind(family, inputs, claims) for family in inputs.families if family.trained]
    kinds = [kind for kind in blocks if kind is not None]
    if kinds:
        context = {"kinds": kinds, "code_at": inputs.code, "guides_at": inputs.guides}
        yield Section("rungs", "Rung by rung", "rungs.html.j2", context)


def _kind(family: AnyFamily, inputs: ReportInputs, claims: Mapping[tuple[str, str], Claims]) -> Kind | None:
    rungs = [rung for rung in inputs.rungs_with(family.name, family.page()) if not rung.inside]
    if not any(rung.metadata.idea or rung.metadata.module for rung in rungs):
        return None
    columns = family_columns(family, [rung.page for rung in rungs])
    measure = measure_of(columns)
    known = {entry.name: entry for entry in judged(rungs, measure)} if measure else {}
    titles = {f"{family.name}/{rung.name}": rung.title for family in inputs.families for rung in inputs.of(family.name)}
    families = {id(rung.page): family for family in inputs.families for rung in inputs.of(family.name)}
    pages = []
    for before, rung in zip([None, *rungs], rungs, strict=False):
        base, own = rung.metadata.base, families[id(rung.page)]
        base_title = titles.get(base, base) if base else ""
        about = claim_views(claims.get((family.name, rung.name), []))
        both = [known[entry.name] for entry in (before, rung) if entry and entry.name in known]
        gained = step(both[0], both[1], measure) if measure and len(both) == 2 else ""
        page_id = anchor(own.name, rung.page.name)
        pages.append(_page(rung, before, columns, page_id, own.guide, base_title, gained, about))
    sides = SIDES.get(family.side, (family.side, None))
    return Kind(family.title, sides, pages, claim_views(claims.get((family.name, ""), [])))


def _page(
    rung: Entry[Any],
    before: Entry[Any] | None,
    columns: Sequence[Column[Any]],
    page_id: str,
    guide: str,
    base: str,
    gained: str,
    claims: Sequence[ClaimView],
) -> RungPage:
    about, module = rung.metadata, rung.metadata.module or ""
    text = docstring(module) if module else ""
    return RungPage(
        id=page_id,
        title=rung.title,
        year=about.year,
        idea=" ".join(_idea(about.idea, prose(text))),
        papers=papers(about.idea) or papers(prose(text)),
        equations=equations(text, rung.settings),
        code=f"{module.replace('.', '/')}.py" if module else "",
        guide=guide,
        parts=parts(rung.arrays),
        base=base,
        sizes_only=bool(base) and rung.grew_from is None,
        before=before.title if before else "",
        changed=list(_changed(before, rung))[:CHANGES] if before else [],
        step=gained,
        figures=[
            (column.title, column.show(value))
            for column in columns
            if column.brief and (value := column.read(rung.page, rung.timing)) is not None
        ],
        samples=[(cut(prompt, LONGEST), cut(output, LONGEST)) for prompt, output in _samples(rung.page)][:SAMPLES],
        mistakes=list(_mistakes(rung)),
        claims=claims,
    )


def _idea(*texts: str) -> list[str]:
    """The first sentences; of two that define the same (`GPT: …`) the first."""
    ideas: dict[str, str] = {}
    for sentence in (entry for text in texts for entry in sentences(text)):
        ideas.setdefault(sentence.partition(":")[0], sentence)
    return list(ideas.values())[:IDEA]


# ---- what it is made of ----------------------------------------------------------------------------------------------


def parts(arrays: Mapping[str, Sequence[int]]) -> list[Part]:
    """The parts of a model, about in the order in which a text passes them; one that holds most is taken apart."""
    total = _size(arrays)
    groups = _grouped(arrays, 0)
    for depth in range(1, DEEPEST):
        divided = [
            _grouped(results, depth) if _size(results) > MOST * total else {name: results}
            for name, results in groups.items()
        ]
        groups = {name: shapes for group in divided for name, shapes in group.items()}
    return [
        Part(
            _called(name, shapes),
            " × ".join(f"{size:,}" for size in max(shapes.values(), key=prod)),
            numbers.compact(_size(shapes)),
            _size(shapes) / total,
            ", ".join(_words(inner) for inner in _grouped(shapes, name.count(".") + 1) if inner != name),
        )
        for name, shapes in sorted(groups.items(), key=lambda group: _flow_index(group[0]))
    ]


def _size(arrays: Mapping[str, Sequence[int]]) -> int:
    return sum(map(prod, arrays.values()))


def _grouped(arrays: Mapping[str, Sequence[int]], depth: int) -> dict[str, dict[str, Sequence[int]]]:
    """Arrays by the first names in their paths, `depth` + 1 of them; numbers of layers, and the array's own, aside."""
    groups: dict[str, dict[str, Sequence[int]]] = {}
    for name, shape in arrays.items():
        path = [part for part in name.split(".") if not part.isdecimal()]
        own = len(path) > 1 and path[-1].startswith(("weight", "bias"))
        groups.setdefault(".".join(path[: len(path) - own][: depth + 1]), {})[name] = shape
    return groups


def _called(name: str, arrays: Iterable[str]) -> str:
    """`2 × blocks` of a part that is there several times."""
    depth = name.count(".") + 1
    layers = set[str]()
    for array in arrays:
        own = [index for index, part in enumerate(array.split(".")) if not part.isdecimal()]
        layers |= {part for part in array.split(".")[own[depth - 1] + 1 :][:1] if part.isdecimal()}
    return f"{len(layers)} × {_words(name)}" if len(layers) > 1 else _words(name)


def _words(name: str) -> str:
    return name.rpartition(".")[2].replace("_", " ")


def _flow_index(name: str) -> int:
    last = name.rpartition(".")[2]
    return next((index for index, stem in enumerate(FLOW) if stem in last), FLOW.index("encoder"))


# ---- what changed, what it makes, what it gets wrong -----------------------------------------------------------------


def _changed(before: Entry[Any], rung: Entry[Any]) -> Iterator[tuple[str, str, str]]:
    """Its approach; of the same class the settings that differ."""
    if before.approach != rung.approach:
        yield "approach", before.approach, rung.approach
    if before.settings.get("_target_") == rung.settings.get("_target_"):
        for name, value in rung.settings.items():
            if name in before.settings and before.settings[name] != value:
                yield name.replace("_", " "), _typed(before.settings[name]), _typed(value)


def _typed(value: object) -> str:
    """As in a file of conf/: true, null."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _samples(page: Page) -> Iterator[tuple[str, str]]:
    """What it was given, and what it made of it."""
    if isinstance(page, LanguageModelPage):
        yield from ((sample.prompt, sample.text.removeprefix(sample.prompt)) for sample in page.samples)
    elif isinstance(page, TranslatorPage):
        yield from ((example.source, example.output) for example in page.examples)
    elif isinstance(page, WordVectorsPage):
        yield from (
            (neighbour.word, ", ".join(word for word, _ in neighbour.nearest[:5])) for neighbour in page.neighbours
        )
    elif isinstance(page, EncoderPage):
        for gap in page.gaps:
            yield f"{gap.before} ___ {gap.after}", ", ".join(guess.word for guess in gap.guesses[:3])


def _mistakes(rung: Entry[Any]) -> Iterator[Mistake]:
    """The surest; of a language model the lines with the highest loss."""
    wrong = [prediction for prediction in chosen(rung.predictions) if not prediction.right][:MISTAKES]
    for prediction in wrong:
        loss = "" if prediction.right is not None or prediction.loss is None else f"{prediction.loss:.1f} nats"
        yield Mistake(
            cut(prediction.text, LONGEST), cut(prediction.truth, LONGEST), cut(prediction.prediction, LONGEST), loss
        )
