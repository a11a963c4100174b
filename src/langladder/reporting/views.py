"""What rungs did with the same words, side by side: continuations, neighbours, translations, analogy sections.

Rungs may have been asked different things (one was evaluated with older prompts): rows are the union, in the order of
first mention, and a rung that lacks one has `None` there.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from langladder.evaluation.language_model_page import Sample
from langladder.evaluation.translator_page import Translation
from langladder.evaluation.word_vectors_page import Neighbours
from langladder.reporting import numbers
from langladder.reporting.rungs import EmbeddingRung, LanguageModelRung, Rung, TranslatorRung

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R", bound=Rung)


@dataclass(frozen=True)
class Aligned(Generic[K, V]):
    """A row a key; in each row a value or `None` for each rung of `rungs`, which are (name, title)."""

    rungs: list[tuple[str, str]]
    rows: list[tuple[K, list[V | None]]]


def generations(rungs: Sequence[LanguageModelRung]) -> Aligned[tuple[str, int], Sample]:
    """A row a prompt (its second sample is a row of its own: keys are prompt and number)."""

    def numbered(rung: LanguageModelRung) -> Iterable[tuple[tuple[str, int], Sample]]:
        seen: Counter[str] = Counter()
        for sample in rung.samples:
            seen[sample.prompt] += 1
            yield (sample.prompt, seen[sample.prompt]), sample

    return _aligned([rung for rung in rungs if rung.samples], numbered)


def neighbours(rungs: Sequence[EmbeddingRung]) -> Aligned[str, Neighbours]:
    """A row a word."""
    with_some = [rung for rung in rungs if rung.neighbours]
    return _aligned(with_some, lambda rung: ((found.word, found) for found in rung.neighbours))


def translations(rungs: Sequence[TranslatorRung]) -> Aligned[tuple[str, str], Translation]:
    """A row a test sentence: (source, reference)."""
    with_some = [rung for rung in rungs if rung.examples]
    return _aligned(with_some, lambda rung: (((seen.source, seen.reference), seen) for seen in rung.examples))


def analogy_sections(rungs: Sequence[EmbeddingRung]) -> Aligned[str, str]:
    """A row a section: accuracy, and how many of its questions were answered where that is not all."""

    def shown(rung: EmbeddingRung) -> Iterable[tuple[str, str]]:
        for section in rung.scores.analogy.sections if rung.scores.analogy else ():
            text = numbers.DASH if section.accuracy is None else numbers.share(section.accuracy)
            few = "" if section.answered == section.questions else f" ({section.answered:,} of {section.questions:,})"
            yield section.name, text + few

    with_some = [rung for rung in rungs if rung.scores.analogy and rung.scores.analogy.sections]
    return _aligned(with_some, shown)


def _aligned(rungs: list[R], items: Callable[[R], Iterable[tuple[K, V]]]) -> Aligned[K, V]:
    columns = [dict(items(rung)) for rung in rungs]
    keys = dict.fromkeys(key for column in columns for key in column)
    names = [(rung.name, rung.title) for rung in rungs]
    return Aligned(names, [(key, [column.get(key) for column in columns]) for key in keys])
