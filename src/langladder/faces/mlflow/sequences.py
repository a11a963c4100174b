"""Recognisers of speech and captioners of scenes as python functions."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from langladder.corpora.scenes import QUESTIONS, Scene
from langladder.corpora.speech import Utterance
from langladder.data.captioning import CODES, SceneCodes
from langladder.data.speech import decode
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.ctc import prefix_beam_search
from langladder.decoding.translate import translate
from langladder.evaluation.transcripts import TranscriptionConfig, posteriors
from langladder.faces.mlflow.kind import Column, Kind, Rows
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.captioner import Captioner
from langladder.models.ctc import CTCRecognizer

MOST_FRAMES = 100_000
NEEDED = ("agent", "agents", "agent_is", "deed", "time")


class Transcribing(Kind):
    """The letters of an utterance, given as frames of numbers."""

    reads = (Column("frames", "double", 2),)
    gives = (Column("text"), Column("log_prob", "double"))
    asks: ClassVar[dict[str, Any]] = {"width": 8}

    def __init__(self, model: CTCRecognizer) -> None:
        self.model = model

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(CTCRecognizer.load(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        return {"frames": [[0.0] * int(read_json(folder / "config.json")["dimensions"])] * 3}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`; the probability is that of the paths which the search found."""
        config = checked(TranscriptionConfig, asked, "params")
        spoken = [self._utterance(number, row["frames"]) for number, row in enumerate(rows)]
        best = [prefix_beam_search(one, config.width, config.cutoff)[0] for one in posteriors(self.model, spoken)]
        return [{"text": decode(one.labels), "log_prob": one.log_prob} for one in best]

    def _utterance(self, number: int, frames: list[Any]) -> Utterance:
        wanted = f"a list of frames, {self.model.dimensions} finite numbers each"
        try:
            array = np.array([list(frame) for frame in frames], dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"row {number}: frames: not {wanted}") from error
        if array.ndim != 2 or array.shape[1] != self.model.dimensions or not np.isfinite(array).all():
            raise InputError(f"row {number}: frames: not {wanted}")
        if len(array) > MOST_FRAMES:
            raise InputError(f"row {number}: {len(array):,} frames; at most {MOST_FRAMES:,} are read")
        return Utterance("", array, np.zeros(len(array), dtype=np.int64))


class Captioning(Kind):
    """A sentence about a scene, given as facts: agent=dog, agents=one, …"""

    reads = (Column("facts", "string", 1),)
    gives = (Column("caption"), Column("score", "double"))
    asks: ClassVar[dict[str, Any]] = {"width": 5}

    def __init__(self, model: Captioner, codes: SceneCodes) -> None:
        self.model, self.codes = model, codes

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(Captioner.load(folder), SceneCodes.load(folder / CODES))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`: the first answer to each question that every scene answers."""
        facts = SceneCodes.load(folder / CODES).facts
        return {"facts": [next(fact for fact in facts if fact.startswith(f"{asked}=")) for asked in NEEDED]}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`."""
        sources = [self.codes.source(_scene(number, row["facts"])) for number, row in enumerate(rows)]
        found = [best for best, *_ in translate(self.model, sources, checked(BeamConfig, asked, "params"))]
        return [{"caption": self.codes.sentence(best.tokens), "score": best.score} for best in found]


def _scene(number: int, facts: list[str]) -> Scene:
    answers = dict(str(fact).partition("=")[::2] for fact in facts)
    if strange := [name for name in answers if name not in QUESTIONS]:
        raise InputError(f"row {number}: facts: {strange[0]!r} is none of {', '.join(QUESTIONS)}")
    return Scene(**{name: answers.get(name, "") for name in QUESTIONS})
