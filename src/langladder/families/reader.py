"""Readers: a paragraph and a question → the answer that stands there, or none; judged by exact match and F₁."""

from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family


class ReaderFamily(Family):
    """See `Family`."""

    name = "reader"
    listed = "readers"
    title = "Readers"
    experiment = "readers"
    report_module = "langladder.faces.report.readers"
    place = 27
    default = "sliding_window"
    reads = ("data/raw/questions",)
    side = "questions"
    loading = """from pathlib import Path

from langladder.models.reader import Reader
from langladder.text.labelled.questions import Question

model = Reader.load(Path("{folder}"))
asked = [Question("anna lives in paris .", "where does anna live ?")]  # options=(…) for those that choose
model.answers(asked, best=3)  # for each question: text, start (a character of the paragraph), score, probability"""
    limits = "The model answers by what stands in the paragraph alone, in words such as those that it was trained on."

    def page(self) -> type[Page]:
        """`ReaderPage`."""
        from langladder.evaluation.reader import ReaderPage

        return ReaderPage

    def parts(self, rung: Any) -> dict[str, Any]:
        """See `Family.parts`; what is trained by gradient says how."""
        from torch import nn

        from langladder.ground.schema import locate

        parts = super().parts(rung)
        if issubclass(rung, nn.Module):
            parts["training"] = (locate("langladder.tasks.settings.ReadingTraining"), ...)
        return parts


FAMILY = ReaderFamily()
