"""What the report tells of language models: their table, the ladder's picture, what they write."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from markupsafe import Markup

from langladder.evaluation.language_model_page import LanguageModelPage, Sample
from langladder.faces.report import numbers
from langladder.faces.report.choosing import BESIDE, choice
from langladder.faces.report.columns import Column, cost_columns, work_columns
from langladder.faces.report.entries import Entry
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.ladder_plot import headline_text, ladder_plot
from langladder.faces.report.section import Figure, Section
from langladder.faces.report.views import Aligned, aligned
from langladder.text.words.segmentation import description_of

LanguageModels = Sequence[Entry[LanguageModelPage]]

COLUMNS: tuple[Column[LanguageModelPage], ...] = (
    Column(
        "perplexity per word",
        "e to the mean surprise per word: as unsure as a free choice among so many words; every character of the test "
        "text counts once, so it compares models with different tokenizers",
        lambda page, _: page.scores.perplexity_per_word,
        numbers.perplexity,
        "lower",
        brief=True,
        compared=True,
    ),
    Column(
        "perplexity per token",
        "the same for each token of the model's own tokenizer; compares only models that share one",
        lambda page, _: page.scores.perplexity_per_token,
        numbers.perplexity,
        "lower",
    ),
    Column(
        "bits per character",
        "the size to which the model would compress each character of the test text; compares models of one language, "
        "also where it is written without spaces",
        lambda page, _: page.scores.bits_per_character,
        numbers.decimals(3),
        "lower",
    ),
    Column(
        "bits per byte",
        "the size to which the model would compress each byte of the test text; knows neither words nor tokens. A "
        "character takes one byte in English and three in Thai or Chinese: do not compare scripts by it",
        lambda page, _: page.scores.bits_per_byte,
        numbers.decimals(3),
        "lower",
        brief=True,
        compared=True,
    ),
    Column(
        "above the floor",
        "how far perplexity per word stands above the entropy floor, the true uncertainty of the text, which no model "
        "can beat; only a corpus made by a known grammar can tell it",
        lambda page, _: page.scores.above_floor_percent,
        numbers.percent,
        "lower",
        brief=True,
    ),
    Column(
        "parameters",
        "numbers that the model stores: weights, or counts of an n-gram model",
        lambda page, _: page.parameters,
        numbers.compact,
        "lower",
        brief=True,
        compared=True,
    ),
    *work_columns("token"),
    *cost_columns("tokens"),
)


def columns(pages: Sequence[LanguageModelPage]) -> tuple[Column[LanguageModelPage], ...]:
    """The columns; where words are graphemes, bits per character come first.

    Perplexity per word says what a word was.
    """
    units = {page.scores.word_unit for page in pages}
    per_word, per_token, per_character, *rest = COLUMNS
    said = "; ".join(map(description_of, sorted(units)))
    per_word = replace(per_word, explanation=f"{per_word.explanation}. A word: {said}")
    if "graphemes" not in units:
        return (per_word, per_token, per_character, *rest)
    per_character = replace(per_character, brief=True, compared=True)
    per_word = replace(per_word, title="perplexity per grapheme", brief=False, compared=False)
    return (per_character, per_word, per_token, *rest)


def loss(page: LanguageModelPage) -> float:
    """The figure by which language models are compared, see `TextScores.headline`."""
    return page.scores.headline[1]


def headline(inputs: ReportInputs, family: str) -> tuple[str, str] | None:
    """The first sentence of the report: what is best, and which rung it is with how much."""
    rungs = inputs.judged_alike(family, LanguageModelPage)
    measured = [rung for rung in rungs if isfinite(loss(rung.page))]
    if not measured:
        return None
    best = min(measured, key=lambda rung: loss(rung.page))
    name, value = best.page.scores.headline
    text = f"{best.title}, with {name} {headline_text(name, value)}"
    above = best.page.scores.above_floor_percent
    text += "" if above is None else f", {numbers.percent(above)} above the floor"
    return "Best language model on this text", text


def picture(inputs: ReportInputs, family: str) -> Figure | None:
    """The ladder, with its caption."""
    rungs = inputs.judged_alike(family, LanguageModelPage)
    svg = ladder_plot(rungs, inputs.meta.text)
    name = rungs[0].page.scores.headline[0] if rungs else ""
    caption = f"{name.capitalize()} on the test text, from the oldest rung at the foot to the newest at the top."
    if any(rung.page.scores.floor_perplexity_per_word for rung in rungs):
        caption += " The dashed line is the entropy floor: the true uncertainty of the text, which no model can beat."
    return None if svg is None else Figure(Markup(svg), caption)


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """What each rung makes of the same prompts."""
    writers = [rung for rung in inputs.judged_alike(family, LanguageModelPage) if rung.page.samples]
    if writers:
        context: dict[str, Any] = {"generations": generations(writers)}
        context["writers"] = choice(writers, loss, BESIDE)
        yield Section("generations", "What the language models write", "generations.html.j2", context)


def generations(rungs: LanguageModels) -> Aligned[tuple[str, int], Sample]:
    """A row a prompt (its second sample is a row of its own: keys are prompt and number)."""

    def numbered(page: LanguageModelPage) -> Iterable[tuple[tuple[str, int], Sample]]:
        seen: Counter[str] = Counter()
        for sample in page.samples:
            seen[sample.prompt] += 1
            yield (sample.prompt, seen[sample.prompt]), sample

    return aligned(rungs, numbered)
