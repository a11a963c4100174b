"""Stage `evaluate_transcriber`: transcribe the test utterances, greedily and by prefix beam search; count errors."""

from pathlib import Path
from typing import Any

from langladder.corpora.speech import read_speech
from langladder.evaluation.transcripts import TranscriptionConfig, evaluate_transcripts
from langladder.models.ctc import CTCRecognizer
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged
from pipeline.settings.stage import stage

SPEECH = Path("data/raw/speech")


@stage
def main(job: Any, out: Path) -> None:
    name = job.transcriber.name
    folder = Path("models/transcriber") / name
    with tracked_job("transcriber", "evaluate_transcriber", job, {"model": folder, "speech": SPEECH}) as work:
        test, config = read_speech(SPEECH).splits["test"], TranscriptionConfig(width=job.beam)
        page = evaluate_transcripts(name, CTCRecognizer.load(folder), test, config)
        judged(work, out, page, folder)
    found = page.scores.beam
    print(f"evaluate_transcriber {name}: by beam search CER {found.cer:.1%}, WER {found.wer:.1%}")


if __name__ == "__main__":
    main()
