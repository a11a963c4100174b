"""What the report tells of language models: their table, the ladder's picture, what they write."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from markupsafe import Markup

from langladder.evaluation.language_model_page import LanguageModelPage, Sample
from langladder.reporting import numbers
from langladder.reporting.choosing import BESIDE, choice
from langladder.reporting.columns import Column, cost_columns, work_columns
from langladder.reporting.entries import Entry
from langladder.reporting.inputs import ReportInputs
from langladder.reporting.ladder_plot import ladder_plot
from langladder.reporting.section import Figure, Section
from langladder.reporting.views import Aligned, aligned

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
    """The same for all."""
    del pages
    return COLUMNS


def loss(page: LanguageModelPage) -> float:
    """Perplexity per word."""
    return page.scores.perplexity_per_word


def headline(inputs: ReportInputs, family: str) -> tuple[str, str] | None:
    """The first sentence of the report: what is best, and which rung it is with how much."""
    rungs = inputs.judged_alike(family, LanguageModelPage)
    measured = [rung for rung in rungs if isfinite(loss(rung.page))]
    if not measured:
        return None
    best = min(measured, key=lambda rung: loss(rung.page))
    text = f"{best.title}, with perplexity per word {numbers.perplexity(loss(best.page))}"
    above = best.page.scores.above_floor_percent
    text += "" if above is None else f", {numbers.percent(above)} above the floor"
    return "Best language model on this text", text


def picture(inputs: ReportInputs, family: str) -> Figure | None:
    """The ladder, with its caption."""
    rungs = inputs.judged_alike(family, LanguageModelPage)
    svg = ladder_plot(rungs, inputs.meta.text)
    caption = "Perplexity per word on the test text, from the oldest rung at the foot to the newest at the top."
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
