"""The alignment tax: how well a model still predicts plain text, beside the base that it grew from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langladder.evaluation.instructed import InstructedPage
from langladder.evaluation.language_model import LanguageModelPage
from langladder.faces.report import numbers
from langladder.faces.report.entries import Entry
from langladder.faces.report.inputs import ReportInputs


@dataclass(frozen=True)
class Tax:
    """Perplexity per word of the test text, before and after; change in per cent."""

    title: str
    base: str
    before: str
    after: str
    change: str


def taxes(inputs: ReportInputs, rungs: Sequence[Entry[InstructedPage]]) -> list[Tax]:
    """Of the rungs whose base is in the report; those that kept its weights (best-of-n) are left out."""
    bases = {f"{family.name}/{rung.page.name}": rung for family in inputs.families for rung in inputs.of(family.name)}
    found = []
    for rung in rungs:
        base = bases.get(rung.told.base or "")
        before = None if base is None else perplexity(base.page)
        after = perplexity(rung.page)
        if base is None or before is None or after is None or rung.page.method == "best_of_n":
            continue
        change = 100 * (after / before - 1)
        sign = "" if abs(change) < 0.05 else "+" if change > 0 else "−"
        found.append(
            Tax(
                rung.title,
                base.title,
                numbers.perplexity(before),
                numbers.perplexity(after),
                sign + numbers.percent(abs(change)),
            )
        )
    return found


def perplexity(page: Any) -> float | None:
    """Per word of the test text; None of what was not asked to predict it."""
    if isinstance(page, LanguageModelPage):
        return page.scores.perplexity_per_word
    return page.text.perplexity_per_word if isinstance(page, InstructedPage) and page.text is not None else None
