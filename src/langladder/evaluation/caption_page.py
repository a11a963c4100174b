"""The page of a captioner: how often its captions are right, which facts they say, examples."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.page import Measured, Page


class CaptionScores(Measured):
    """right: share of the captions that the grammar allows for their scene; facts: share of the facts that are said,
    each in its place; bleu: 0 to 100, against all sentences that the grammar allows."""

    right: float
    facts: float
    bleu: float


class CaptionSearches(Measured):
    """The scores of each search, on so many scenes."""

    sentences: int
    greedy: CaptionScores
    beam: CaptionScores


class Asked(Measured):
    """asked: scenes that answer the question; said: share of them whose caption says the answer (beam search)."""

    asked: int
    said: float


class Caption(Measured):
    """A scene with what the captioner says of it, and every sentence that is right."""

    facts: list[str]
    output: str
    allowed: list[str]
    right: bool


class CaptionPage(Page):
    """Of one captioner. by_question: in the order of the sentence."""

    detail: ClassVar[dict[str, Any]] = {"examples": True}

    parameters: int
    scores: CaptionSearches
    by_question: dict[str, Asked]
    examples: list[Caption] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        return searched(self.scores)


def searched(scores: Measured) -> dict[str, Any]:
    """{"sentences", "greedy_<score>", "beam_<score>"} of the scores of each search; without what was not measured."""
    found: dict[str, Any] = {}
    for name, value in scores.model_dump().items():
        several = {f"{name}_{score}": figure for score, figure in value.items()} if isinstance(value, dict) else {}
        found |= several or {name: value}
    return {name: value for name, value in found.items() if value is not None}
