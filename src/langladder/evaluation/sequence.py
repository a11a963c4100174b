"""The judge of each sequence task: reads the model that its training left, makes the test data again, scores."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from langladder.data.captioning import CODES, SceneCodes
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.captions import evaluate_captions
from langladder.evaluation.transcripts import TranscriptionConfig, evaluate_transcripts
from langladder.models.captioner import Captioner
from langladder.models.ctc import CTCRecognizer
from langladder.tasks.sequence import Captioning, SequenceTask, SpeechRecognition


def evaluate_sequence(task: SequenceTask, folder: Path, *, beam: int) -> dict[str, Any]:
    """Scores and examples of a trained task.

    Args:
        folder: the model, as `task.train` wrote it.
        beam: width of the search that greedy search is compared with.

    Returns:
        {"kind": "captions" or "transcripts", "parameters", "scores", "examples", …}; deterministic.
    """
    return JUDGES[type(task)](task, folder, beam)


def _captions(task: Any, folder: Path, beam: int) -> dict[str, Any]:
    model, codes = Captioner.load(folder), SceneCodes.load(folder / CODES)
    test, size = task.data()["test"], task.data_config.size
    page = evaluate_captions(folder.name, model, codes, test, size, BeamConfig(width=beam))
    return {"kind": "captions"} | page.model_dump(mode="json", exclude={"name", "approach"})


def _transcripts(task: Any, folder: Path, beam: int) -> dict[str, Any]:
    model = CTCRecognizer.load(folder)
    page = evaluate_transcripts(folder.name, model, task.data()["test"], TranscriptionConfig(width=beam))
    return {"kind": "transcripts"} | page.model_dump(mode="json", exclude={"name", "approach"})


JUDGES: dict[type[SequenceTask], Callable[[Any, Path, int], dict[str, Any]]] = {
    Captioning: _captions,
    SpeechRecognition: _transcripts,
}
