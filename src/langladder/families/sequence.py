"""Two more shapes of sequence: facts to a sentence (captions), frames of speech to letters (CTC)."""

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from langladder.families.family import Family, Rung
from langladder.schema import Config


class SequenceFamily(Family):
    """See `Family`."""

    name = "sequence"
    listed = "sequences"
    title = "Captions and speech"
    experiment = "sequences"
    shown_by = "langladder.reporting.sequences"
    place = 50
    default = "captioner"
    judged_in = 20.0  # it searches with a beam

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """Data, network and training are the task's own."""
        task = self.rung_class(value)
        parts: dict[str, Any] = {
            "data": (task.Data, ...),
            "model": (task.Config, ...),
            "training": (task.Training, ...),
        }
        return create_model("sequence_rung", __base__=Rung, **parts)

    def page(self) -> Any:
        """`CaptionPage` or `TranscriptPage`."""
        from langladder.evaluation.caption_page import CaptionPage
        from langladder.evaluation.transcript_page import TranscriptPage

        return CaptionPage | TranscriptPage


FAMILY = SequenceFamily()
