"""What the report tells of taggers: their table, which differences mean something, each tag, confusions, sentences."""

from collections.abc import Callable, Iterable
from functools import partial

from langladder.evaluation.tagger import TaggedWord, TaggerPage
from langladder.faces.report import numbers
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.labels import chosen_maps, confusion_maps, label_table, reliability_plot
from langladder.faces.report.paired import paired
from langladder.faces.report.plots import score_plot
from langladder.faces.report.section import Section, drawn_lines, in_two_widths
from langladder.faces.report.selection import choice, ranked


def loss(page: TaggerPage) -> float:
    """Share of the words that do not get their tag."""
    return 1 - page.scores.accuracy


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every tagger: which differences mean something, its tags, what it takes for what, its sentences."""
    rungs = inputs.rungs_with(family, TaggerPage)
    if not rungs:
        return
    ceilings = [rung.page.bayes_accuracy for rung in rungs if rung.page.bayes_accuracy is not None]
    dots = partial(
        score_plot,
        list(reversed(ranked(rungs, loss))),
        lambda page: (page.scores.accuracy, page.scores.accuracy_interval),
        "taggers",
        "accuracy on the test words",
        best=max(ceilings, default=None),
        line="Bayes accuracy",
    )
    maps = confusion_maps(rungs, lambda page: (page.confusion, page.labels), loss, "What is taken for what by")
    reliability = reliability_plot(rungs, lambda page: page.reliability, loss, "reliability-tags")
    bracketed = [rung for rung in rungs if rung.page.entities]
    context = {
        "dots": in_two_widths(dots),
        "paired": paired(rungs, lambda page: page.scores.accuracy),
        "tags": label_table(rungs, lambda page: page.per_label, loss),
        "kinds": label_table(bracketed, lambda page: page.entities, loss) if bracketed else None,
        "reliability": reliability and drawn_lines(reliability),
        "maps": maps,
        "mapped": chosen_maps(rungs, maps, loss),
        "sequences": [(rung, [list(map(_word(rung.page), words)) for words in rung.page.shown]) for rung in rungs],
        "sentences": choice(rungs, loss, 1, most=2),
    }
    yield Section("tags", "Tags", "taggers.html.j2", context)


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
