"""Transcribers: frames of sound → letters, without an alignment; evaluated by errors in letters and words."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.evaluation.page import Page
from langladder.families.family import Configured, Evaluated, Family, Fields, Make, Rung, Trained, validated
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.families.family import Job

SPEECH = Path("data/raw/speech")


class TranscriberFamily(Family[Rung]):
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
    loading = """from pathlib import Path

from langladder.decoding.ctc import greedy
from langladder.models.ctc import CTCRecognizer


model = CTCRecognizer.load(Path("{folder}"))
model(frames, lengths)  # (B, T, D) float32, (B,) → (B, T, A + 1) log-probabilities of the blank and the letters"""
    limits = "The model only knows the sounds of the small world's letters."

    def parts(self, kind: type[Configured]) -> Fields:
        """All are trained."""
        return super().parts(kind) | {"training": (locate("langladder.tasks.settings.SpeechTraining"), ...)}

    def page(self) -> type[Page]:
        """`TranscriptPage`."""
        from langladder.evaluation.transcripts import TranscriptPage

        return TranscriptPage

    def training_inputs(self, rung: "Rung") -> dict[str, Path]:
        """The utterances."""
        return {"speech": SPEECH}

    def train(self, rung: "Rung", job: "Job", make: Make) -> Trained:
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

    def evaluation_inputs(self, rung: "Rung", job: "Job") -> dict[str, Path]:
        """The utterances."""
        return {"speech": SPEECH}

    def evaluate(self, rung: "Rung", job: "Job", folder: Path) -> Evaluated:
        """Transcribe the test utterances, greedily and by prefix beam search; count errors."""
        from langladder.corpora.speech import read_speech
        from langladder.evaluation.transcripts import TranscriptionConfig, evaluate_transcripts
        from langladder.models.ctc import CTCRecognizer

        test, config = read_speech(SPEECH).splits["test"], TranscriptionConfig(width=job.beam)
        page = evaluate_transcripts(rung.name, CTCRecognizer.load(folder), test, config)
        found = page.scores.beam
        return Evaluated(page, f"by beam search CER {found.cer:.1%}, WER {found.wer:.1%}")


FAMILY = TranscriberFamily()
