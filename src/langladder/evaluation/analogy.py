"""Analogies: is d the word that fits a : b :: c best?

Question files have the form of the Google set (Mikolov et al. 2013, "Efficient Estimation of Word Representations in
Vector Space", section 4.1): a section opens with `: name`, and each line below it has four words, a b c d. Sections
named `gram…`, or like one of the Google set's `gram…` sections without that prefix, ask about syntax, the others about
meaning.

A question counts only if all four of its words have vectors; coverage says how many do. As in word2vec's own script,
answers may be restricted to the most frequent words, which also drops questions about rarer ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from langladder.embeddings.base import AnalogyMethod, WordVectors
from langladder.evaluation.page import Interval, Measured, Metric, Metrics
from langladder.evaluation.question_files import question_files, rows_by_word
from langladder.evaluation.significance import share_interval
from langladder.ground.errors import InputError
from langladder.ground.progress import tracked
from langladder.text.read.lines import filled_lines

SYNTACTIC = {  # names of the Google set's sections after `gram1-` … `gram9-`
    "adjective-to-adverb",
    "opposite",
    "comparative",
    "superlative",
    "present-participle",
    "nationality-adjective",
    "past-tense",
    "plural",
    "plural-verbs",
}


@dataclass(frozen=True)
class Section:
    """One kind of analogy: questions a b c d."""

    name: str
    questions: list[tuple[str, str, str, str]]


class AnalogyFigure(Measured):
    """Answers to analogy questions: `answered` counts those whose words all have vectors; accuracy is over these."""

    accuracy: float | None
    interval: Interval | None
    correct: int
    answered: int
    questions: int
    coverage: float


class AnalogySection(AnalogyFigure):
    """One section of the question file."""

    name: str


OVERALL = {
    "accuracy": Metric(
        "analogies",
        "share of the answered questions a : b = c : ? in which the word nearest to b − a + c is correct (3CosAdd; a, "
        "b and c are left out)",
        unit="share",
        better="higher",
        brief=True,
        compared=True,
        name="analogy",
        card="analogies answered",
    ),
    "interval": Metric(
        "±",
        "half the width of the analogies' 95 % interval; it covers the choice of the questions (Wilson)",
        unit="share",
        brief=True,
        after="analogies",
        logged=False,
    ),
    "coverage": Metric(
        "answered",
        "share of the analogy questions whose four words all have a vector",
        unit="share",
        better="higher",
        name="analogy_coverage",
        after="3CosMul",
        card="share of analogies whose words it has",
    ),
}


def _half(name: str) -> Metric:
    sentence = f"analogies, the {name} questions only"
    return Metric(name, sentence, unit="share", better="higher", brief=True, logged=False)


class AnalogyTotals(Measured):
    """All questions together, and both halves if the set has both."""

    overall: Annotated[AnalogyFigure, Metrics(only=OVERALL)]
    semantic: Annotated[AnalogyFigure | None, Metrics(only={"accuracy": _half("semantic")})]
    syntactic: Annotated[AnalogyFigure | None, Metrics(only={"accuracy": _half("syntactic")})]


class Analogies(AnalogyTotals):
    """Answers to a question file or a folder of them; `cosmul`: the totals by 3CosMul, if requested."""

    sections: list[AnalogySection]
    restrict_vocabulary: int | None
    method: str
    skipped_files: list[str]
    cosmul: AnalogyTotals | None = None

    @property
    def cosmul_accuracy(
        self,
    ) -> Annotated[
        float | None,
        Metric(
            "3CosMul",
            "share of the analogies that are right by 3CosMul, which multiplies and divides similarities where 3CosAdd"
            " adds and subtracts them",
            unit="share",
            better="higher",
            after="±",
            logged=False,
        ),
    ]:
        """The total by 3CosMul; None if not requested."""
        return None if self.cosmul is None else self.cosmul.overall.accuracy


def read_analogies(path: Path) -> list[Section]:
    """The sections of one question file.

    Raises:
        InputError: the file is missing or a line is malformed (names it), or there is no question in it.
    """
    sections: list[Section] = []
    for number, text in filled_lines(Path(path)):
        if text.startswith(":"):
            name = text[1:].strip()
            if not name:
                raise InputError(f"{path}:{number}: a section needs a name after the colon")
            sections.append(Section(name, []))
            continue
        if not sections:
            raise InputError(f"{path}:{number}: {text[:60]!r} comes before the first section (a line `: name`)")
        words = text.split()
        if len(words) != 4:
            raise InputError(f"{path}:{number}: {len(words)} words; a question has four: a b c d")
        sections[-1].questions.append((words[0], words[1], words[2], words[3]))
    if not any(section.questions for section in sections):
        raise InputError(f"{path}: has no analogy questions")
    return sections


def is_syntactic(section: str) -> bool:
    """Whether a section is about syntax, by its name."""
    return section.startswith("gram") or section in SYNTACTIC


def evaluate_analogies(
    vectors: WordVectors,
    path: Path,
    *,
    restrict_vocabulary: int | None = None,
    ignore_case: bool = True,
    method: AnalogyMethod = "3cosadd",
) -> Analogies:
    """Answer the questions of a file, or of all question files in a folder.

    Args:
        restrict_vocabulary: only use this many most frequent words.
        ignore_case: ignore the case of words; of words that differ only in case, the most frequent one is used.
        method: the method of answering, see `langladder.embeddings.base`.

    Returns:
        The figures; accuracy and interval are None if nothing is answered, the halves unless the set has both.

    Raises:
        InputError: see `read_analogies`; or `restrict_vocabulary` below 1.
    """
    if restrict_vocabulary is not None and restrict_vocabulary < 1:
        raise InputError(f"restrict_vocabulary: {restrict_vocabulary}; allowed: 1 or more, or null for all words")
    files, skipped = question_files(path, lambda line: line.startswith(":"), "analogy questions")
    sections = [section for file in files for section in read_analogies(file)]
    rows = rows_by_word(vectors, restrict_vocabulary, ignore_case=ignore_case)
    among = np.array(sorted(rows.values()), dtype=np.int64)

    figures = [
        _score(vectors, section, rows, among, ignore_case, method)
        for section in tracked(sections, f"answering analogies by {method}", unit="sections")
    ]
    syntactic = [figure for figure in figures if is_syntactic(figure.name)]
    semantic = [figure for figure in figures if not is_syntactic(figure.name)]
    return Analogies(
        overall=_total(figures),
        semantic=_total(semantic) if syntactic and semantic else None,
        syntactic=_total(syntactic) if syntactic else None,
        sections=figures,
        restrict_vocabulary=restrict_vocabulary,
        method=method,
        skipped_files=skipped,
    )


def _score(
    vectors: WordVectors,
    section: Section,
    rows: dict[str, int],
    among: np.ndarray,
    ignore_case: bool,
    method: AnalogyMethod,
) -> AnalogySection:
    known = []
    for question in section.questions:
        words = [vectors.normalisation.normalise(word) for word in question]
        words = [word.casefold() for word in words] if ignore_case else words
        if all(word in rows for word in words):
            known.append([rows[word] for word in words])
    answerable = np.array(known, dtype=np.int64).reshape(-1, 4)
    answers, _ = vectors.analogies(answerable[:, :3], among=among, method=method)
    right = int((answers[:, 0] == answerable[:, 3]).sum()) if len(answerable) else 0
    figure = _figure(right, len(answerable), len(section.questions))
    return AnalogySection(name=section.name, **figure.model_dump())


def _total(figures: Sequence[AnalogyFigure]) -> AnalogyFigure:
    return _figure(*(sum(getattr(figure, key) for figure in figures) for key in ("correct", "answered", "questions")))


def _figure(correct: int, answered: int, questions: int) -> AnalogyFigure:
    return AnalogyFigure(
        accuracy=round(correct / answered, 6) if answered else None,
        interval=share_interval(correct, answered),
        correct=correct,
        answered=answered,
        questions=questions,
        coverage=round(answered / questions, 6) if questions else 0.0,
    )
