"""The page of a recogniser: its error rates, whose the errors are, examples with the labels' probabilities."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.caption_page import searched
from langladder.evaluation.page import Measured, Page


class TranscriptScores(Measured):
    """cer, wer: character and word error rates; exact: share of the sentences without an error; search_errors: share of
    the wrong transcripts where the network itself finds what was said more probable (None where none is wrong)."""

    cer: float
    wer: float
    exact: float
    search_errors: float | None


class TranscriptSearches(Measured):
    """The scores of each search, on so many sentences."""

    sentences: int
    greedy: TranscriptScores
    beam: TranscriptScores


class Transcript(Measured):
    """An utterance: what was said, what each search reads, and probabilities frame by frame (rounded to 3 decimals).

    Attributes:
        blank: of the blank; labels: of the letters that are ever likely.
        sounding: for each frame the place in the text of the letter that really sounded, −1 in silence.
    """

    text: str
    greedy: str
    beam: str
    frames: int
    blank: list[float]
    labels: dict[str, list[float]]
    sounding: list[int]


class TranscriptPage(Page):
    """Of one recogniser."""

    detail: ClassVar[dict[str, Any]] = {"examples": True}

    parameters: int
    scores: TranscriptSearches
    examples: list[Transcript] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        return searched(self.scores)
