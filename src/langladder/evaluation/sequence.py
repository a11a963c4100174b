"""The judge of each sequence task: reads the model that its training left, makes the test data again, scores."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from langladder.data.captioning import SceneCodes
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.captions import evaluate_captions
from langladder.evaluation.transcripts import TranscriptionConfig, evaluate_transcripts
from langladder.models.captioner import Captioner
from langladder.models.ctc import CTCRecognizer
from langladder.tasks.captioning import CODES, Captioning
from langladder.tasks.sequence import SequenceTask
from langladder.tasks.speech_recognition import SpeechRecognition


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
    page = evaluate_captions(model, codes, task.data()["test"], task.data_config.size, BeamConfig(width=beam))
    return {"kind": "captions", "parameters": model.number_of_parameters()} | page


def _transcripts(task: Any, folder: Path, beam: int) -> dict[str, Any]:
    model = CTCRecognizer.load(folder)
    page = evaluate_transcripts(model, task.data()["test"], TranscriptionConfig(width=beam))
    return {"kind": "transcripts", "parameters": model.number_of_parameters()} | page


JUDGES: dict[type[SequenceTask], Callable[[Any, Path, int], dict[str, Any]]] = {
    Captioning: _captions,
    SpeechRecognition: _transcripts,
}
