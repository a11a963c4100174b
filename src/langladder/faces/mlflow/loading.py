"""From a folder, of the pipeline or of MLflow, to what answers for it.

MLflow's folder has `langladder.json` beside its MLmodel: {"model", where in it the model lies, "place", where that was
written, "fingerprint"}. A registered model is a copy and lies in the folder. One that was only logged stays where the
pipeline wrote it, and is found there as long as it is the same; where the project was moved, beside `mlartifacts/`.
"""

from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from langladder.faces.mlflow.kind import Kind
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.models.saving import located

POINTER = "langladder.json"
KINDS = {  # the door of a saved model → what answers for it; the first in the order of its ancestors
    "langladder.models.captioner.Captioner": "sequences.Captioning",
    "langladder.models.ctc.CTCRecognizer": "sequences.Transcribing",
    "langladder.models.translator.Translator": "readings.Translating",
    "langladder.models.classifier.Classifier": "readings.Classifying",
    "langladder.models.tagger.Tagger": "readings.Tagging",
    "langladder.models.reader.Reader": "readings.Answering",
    "langladder.models.encoder.Encoder": "texts.Filling",
    "langladder.models.reward.RewardModel": "instructed.Rewarding",
    "langladder.models.instructed.InstructedGPT": "instructed.Talking",
    "langladder.models.base.LanguageModel": "texts.Continuing",
}


def load(path: str | Path, _: Any = None) -> Kind:
    """What answers for a model's folder, or for one that MLflow has downloaded.

    Raises:
        InputError: it holds no model, or one that is not here any more.
    """
    folder = _lies_in(Path(path))
    kind = kind_of(folder)
    if kind is None:
        raise InputError(f"{folder}: holds no model that answers rows; expected a folder such as models/lm/gpt")
    return kind.load(folder)


def kind_of(folder: Path) -> type[Kind] | None:
    """The kind of the model in a folder, by its files alone; None where it holds none that could answer.

    Raises:
        InputError: its config.json is damaged, or names no class of the house.
    """
    if (folder / "words.json").is_file() and (folder / "vectors.safetensors").is_file():
        return _named("texts.Vectors")
    path = folder / "config.json"
    if not path.is_file():
        return None
    description = read_json(path)
    target = description.get("_target_") if isinstance(description, dict) else None
    for ancestor in located(path, str(target)).__mro__:
        if name := KINDS.get(f"{ancestor.__module__}.{ancestor.__qualname__}"):
            return _named(name)
    return None


def _named(name: str) -> type[Kind]:
    module, _, kind = name.partition(".")
    found: type[Kind] = getattr(import_module(f"langladder.faces.mlflow.{module}"), kind)
    return found


def _lies_in(folder: Path) -> Path:
    """Where the model of an MLflow folder lies; a folder of the pipeline is where it is."""
    if not (folder / POINTER).is_file():
        return folder
    said = read_json(folder / POINTER)
    if not isinstance(said, dict) or not all(
        isinstance(said.get(key), str) for key in ("model", "place", "fingerprint")
    ):
        raise InputError(f"{folder / POINTER}: is not {{model, place, fingerprint}}")
    inside = PurePosixPath(said["model"])
    if inside.is_absolute() or ".." in inside.parts:
        raise InputError(f"{folder / POINTER}: model: {said['model'][:200]!r} is outside its folder")
    if (folder / inside).is_dir():
        return folder / inside
    place = Path(said["place"])
    beside = [above.parent / inside for above in folder.resolve().parents if above.name == "mlartifacts"]
    for candidate in (*beside, place):  # a project that was moved or copied has its models beside MLflow's folder
        about = read_json(candidate / "provenance.json") if (candidate / "provenance.json").is_file() else None
        if isinstance(about, dict) and about.get("fingerprint") == said["fingerprint"]:
            return candidate
    raise InputError(
        f"{place}: the model {said['fingerprint']} is not there (any more), and MLflow has no copy of it: "
        f"`python -m pipeline.runs register {said['model']}`, where it is, makes one"
    )
