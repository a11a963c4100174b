"""What the report tells of translators: their table, what they make of test sentences, whose their errors are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from langladder.evaluation.bleu import TranslationScores
from langladder.evaluation.translation import TranslatorPage
from langladder.faces.report import numbers, plots
from langladder.faces.report.choosing import BESIDE, choice
from langladder.faces.report.columns import Column, cost_columns
from langladder.faces.report.enclosed import isolated
from langladder.faces.report.entries import Entry
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.section import Figure, RungFigures, Section, drawn_lines
from langladder.faces.report.translator_plots import length_plot, search_errors_plot
from langladder.faces.report.views import aligned

# Figures are most of the file's size: rungs share these.
MAX_ATTENTION_MAPS = 24
MAPS_A_RUNG = 4
LONGEST_MAP = 40  # tokens; longer sentences make maps that nobody can read

TranslatorRungs = Sequence[Entry[TranslatorPage]]


def loss(page: TranslatorPage) -> float:
    """What chrF or BLEU lacks, whichever is the figure to go by."""
    return 100 - (page.scores.chrf if page.scores.main == "chrf" else page.scores.bleu)


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Translations side by side, BLEU by length and how it comes about, search errors, n-best lists, attention."""
    rungs = inputs.judged_alike(family, TranslatorPage)
    if not rungs:
        return
    lengths, widths = length_plot(rungs, loss), search_errors_plot(rungs, loss)
    shown = [rung for rung in rungs if rung.page.examples]
    attention = list(_attention(rungs, inputs.languages))
    attentive = [rung for rung in shown if rung.name in {drawn.name for drawn in attention}]
    context: dict[str, Any] = {
        "rungs": rungs,
        "translations": aligned(shown, lambda page: (((seen.source, seen.reference), seen) for seen in page.examples)),
        "shown": choice(shown, loss, BESIDE),
        "attention": attention,
        "attentive": choice(attentive, loss, 1, most=2),
        "by_length": lengths and drawn_lines(lengths),
        "search_errors": widths and drawn_lines(widths),
    }
    yield Section("translations", "Translations and attention", "translations.html.j2", context)


def _attention(rungs: TranslatorRungs, languages: Mapping[str, str | None]) -> Iterator[RungFigures]:
    """Maps of the first sentences of each rung that has attention."""
    drawable = [
        (rung, [seen for seen in rung.page.examples if seen.attention and len(seen.source_tokens) <= LONGEST_MAP])
        for rung in rungs
    ]
    drawable = [(rung, examples) for rung, examples in drawable if examples]
    each = min(MAPS_A_RUNG, max(1, MAX_ATTENTION_MAPS // max(1, len(drawable))))
    for i, (rung, examples) in enumerate(drawable):
        drawn = [
            Figure(
                Markup(svg),
                isolated(example.source, languages.get("source"))
                + " → "
                + isolated(example.output, languages.get("target")),
            )
            for j, example in enumerate(examples[:each])
            if (svg := plots.attention_plot(example, f"attention-{i}-{j}", rung.title))
        ]
        yield RungFigures(rung.name, rung.title, drawn)


def _half_interval(scores: TranslationScores) -> float | None:
    if scores.bleu_low is None or scores.bleu_high is None:
        return None
    return (scores.bleu_high - scores.bleu_low) / 2


COLUMNS: tuple[Column[TranslatorPage], ...] = (
    Column(
        "BLEU",
        "n-gram overlap with the reference, 0 to 100 (sacreBLEU, on detokenized text)",
        lambda page, _: page.scores.bleu,
        numbers.decimals(1),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "BLEU ±",
        "half the width of its 95 % interval, by drawing test sentences anew (bootstrap); not over seeds",
        lambda page, _: _half_interval(page.scores),
        numbers.decimals(1),
        None,
        brief=True,
    ),
    Column(
        "chrF",
        "overlap of character n-grams, 0 to 100; kinder to languages with rich endings",
        lambda page, _: page.scores.chrf,
        numbers.decimals(1),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "TER",
        "words to insert, delete, replace or move to reach the reference, per hundred of its words",
        lambda page, _: page.scores.ter,
        numbers.decimals(1),
        "lower",
    ),
    Column(
        "exact",
        "share of the test sentences whose translation equals the reference",
        lambda page, _: page.scores.exact_match,
        numbers.share,
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "search errors",
        "share of the wrong translations where the model gives the reference a better score than its own output, so "
        "that the search is to blame; in the others it is the model",
        lambda page, _: page.search_errors.share,
        numbers.share,
        None,
    ),
    Column("parameters", "weights of the model", lambda page, _: page.parameters, numbers.compact, "lower", brief=True),
    *cost_columns("tokens"),
)


def columns(pages: Sequence[TranslatorPage]) -> tuple[Column[TranslatorPage], ...]:
    """The columns; chrF first where it is the figure to go by, for BLEU then counts characters or so."""
    if not any(page.scores.main == "chrf" for page in pages):
        return COLUMNS
    return tuple(sorted(COLUMNS, key=lambda column: column.title != "chrF"))
