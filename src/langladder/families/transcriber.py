"""Transcribers: frames of sound → letters, without an alignment; judged by the errors in letters and words."""

from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family
from langladder.ground.schema import locate


class TranscriberFamily(Family):
    """See `Family`."""

    name = "transcriber"
    listed = "transcribers"
    title = "Speech"
    experiment = "speech"
    place = 51
    default = "ctc"
    report_module = "langladder.faces.report.sequences"
    judged_in = 20.0  # it searches with a beam
    reads = ("data/raw/speech",)
    side = "speech"
    loading = """from pathlib import Path

from langladder.decoding.ctc import greedy
from langladder.models.ctc import CTCRecognizer

model = CTCRecognizer.load(Path("{folder}"))
model(frames, lengths)  # (B, T, D) float32, (B,) → (B, T, A + 1) log-probabilities of the blank and the letters"""
    limits = "The model knows the sounds of the small world's letters only."

    def parts(self, rung: Any) -> dict[str, Any]:
        """All are trained."""
        return super().parts(rung) | {"training": (locate("langladder.tasks.settings.SpeechTraining"), ...)}

    def page(self) -> type[Page]:
        """`TranscriptPage`."""
        from langladder.evaluation.transcripts import TranscriptPage

        return TranscriptPage


FAMILY = TranscriberFamily()
