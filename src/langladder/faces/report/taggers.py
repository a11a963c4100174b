"""Taggers in the report: what differs from other rungs that are judged item by item, and their test sentences."""

from collections.abc import Callable, Iterable, Sequence

from langladder.evaluation.tagger import TaggedWord, TaggerPage
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.items import Calibration, Judging, Scores, judged_section
from langladder.faces.report.labels import label_explanation, label_rows
from langladder.faces.report.section import Section
from langladder.faces.report.selection import choice


def loss(page: TaggerPage) -> float:
    """Share of the words that do not get their tag."""
    return JUDGING.loss(page)


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every tagger: which differences mean something, its tags, what it takes for what, its sentences."""
    if rungs := inputs.rungs_with(family, TaggerPage):
        yield judged_section(rungs, JUDGING)


def _sentences(rungs: Sequence[Entry[TaggerPage]]) -> dict[str, object]:
    """Test sentences with their tags."""
    return {
        "sequences": [(rung, [list(map(_word(rung.page), words)) for words in rung.page.shown]) for rung in rungs],
        "sentences": choice(rungs, loss, 1, most=2),
    }


def _word(page: TaggerPage) -> Callable[[TaggedWord], dict[str, object]]:
    hues = {label: round(360 * index / len(page.labels)) for index, label in enumerate(page.labels)}

    def word_view(word: TaggedWord) -> dict[str, object]:
        return {
            "word": word.word,
            "said": word.said,
            "tag": word.tag,
            "wrong": word.tag != word.said,
            "hue": hues.get(word.said, 0),
            "sure": numbers.share(word.probability),
            "unknown": word.unknown,
        }

    return word_view


JUDGING = Judging[TaggerPage](
    id="tags",
    title="Tags",
    items="test sentences",
    score=lambda page: page.scores.accuracy,
    interval=lambda page: page.scores.accuracy_interval,
    axis="accuracy on the test words",
    ceiling=lambda page: page.bayes_accuracy,
    tables=[
        Scores("Each tag", "tag", lambda page: label_rows(page.per_label), label_explanation("tag")),
        Scores("Each kind of phrase", "kind", lambda page: label_rows(page.entities), label_explanation("kind")),
    ],
    calibration=Calibration(lambda page: page.reliability, "right tags", "its tag", "words"),
    confusion=lambda page: (page.confusion, page.labels),
    template="tagged.html.j2",
    context=_sentences,
)
