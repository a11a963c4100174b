"""Transcribers: frames of sound → letters, without an alignment; evaluated by errors in letters and words."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.evaluation.page import Page
from langladder.families.family import Evaluated, Family, Make, Trained, validated
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.families.job import Job
    from langladder.families.rungs import TranscriberRung

SPEECH = Path("data/raw/speech")


class TranscriberFamily(Family["TranscriberRung"]):
    """See `Family`."""

    name = "transcriber"
    listed = "transcribers"
    guide = "sequences.md"
    title = "Speech"
    experiment = "speech"
    position = 51
    default = "ctc"
    report_module = "langladder.faces.report.sequences"
    reads = ("data/raw/speech",)
    side = "speech"
    model = "langladder.models.recognizer.Recognizer"
    loading = """from pathlib import Path

from langladder.evaluation.transcripts import TranscriptionConfig, transcribe
from {module} import {class}


model = {class}.load(Path("{folder}"))
transcribe(model, utterances, TranscriptionConfig())  # `corpora.speech.Utterance`s → texts with their log P"""
    limits = "The model only knows the sounds of the small world's letters."

    def rung(self) -> "type[TranscriberRung]":
        """All are trained; those with attention like translators."""
        from langladder.families.rungs import TranscriberRung

        return TranscriberRung

    def page(self) -> type[Page]:
        """`TranscriptPage`."""
        from langladder.evaluation.transcripts import TranscriptPage

        return TranscriptPage

    def training_inputs(self, rung: "TranscriberRung") -> dict[str, Path]:
        """The utterances."""
        return {"speech": SPEECH}

    def train(self, rung: "TranscriberRung", job: "Job", make: Make) -> Trained:
        """Train on utterances and their letters, without an alignment."""
        import torch

        from langladder.corpora.speech import ALPHABET, read_speech

        splits = (corpus := read_speech(SPEECH)).splits
        torch.manual_seed(job.seed)
        model = locate(rung.target)(rung.model, corpus.dimensions, len(ALPHABET))
        result = make(model, ALPHABET, splits["train"], splits["validation"], settings=rung)
        figures, message = validated(model, result)
        figures |= {f"{split}_examples": len(examples) for split, examples in splits.items()}
        return Trained(model, result, figures, message)

    def evaluation_inputs(self, rung: "TranscriberRung", job: "Job") -> dict[str, Path]:
        """The utterances."""
        return {"speech": SPEECH}

    def evaluate(self, rung: "TranscriberRung", job: "Job", folder: Path) -> Evaluated:
        """Transcribe the test utterances, greedily and by beam search; count errors."""
        from langladder.corpora.speech import read_speech
        from langladder.evaluation.transcripts import TranscriptionConfig, evaluate_transcripts
        from langladder.models.recognizer import Recognizer

        test, config = read_speech(SPEECH).splits["test"], TranscriptionConfig(width=job.beam)
        page = evaluate_transcripts(rung.name, Recognizer.load(folder), test, config)
        beam = page.scores.beam
        return Evaluated(page, f"by beam search CER {beam.cer:.1%}, WER {beam.wer:.1%}")


FAMILY = TranscriberFamily()
