"""The kind of the model in a folder, from the class in its config.json, without loading the model.

The kinds are the families' names; a rung that started from another has the kind of its use (`tune`: `lm`).
"""

from pathlib import Path

from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.encoders.encoder import Encoder
from langladder.models.language.instructed import InstructedGPT
from langladder.models.language.language_model import LanguageModel
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.reading.reader import Reader
from langladder.models.recognizer import Recognizer
from langladder.models.reward import RewardModel
from langladder.models.saving import located
from langladder.models.tagging.tagger import Tagger
from langladder.models.translation.captioner import Captioner
from langladder.models.translation.translator import Translator

KINDS: dict[str, type] = {
    "instruct": InstructedGPT,
    "reward": RewardModel,
    "captioner": Captioner,
    "transcriber": Recognizer,
    "lm": LanguageModel,
    "encoder": Encoder,
    "translator": Translator,
    "classifier": Classifier,
    "tagger": Tagger,
    "reader": Reader,
}
"""Kind → the class of its models; the first that fits is used."""
_USED_AS = {"tune": "lm", "align": "instruct"}


def kind_of(folder: Path) -> str | None:
    """The kind of a saved model in a folder, without loading it; None if there is none.

    If config.json cannot be read, the folder above decides (`models/lm/gpt`), so that the model is still listed and
    loading it reports the error (but `has_vectors` is false for it).
    """
    if (folder / "words.json").is_file():
        return "embedding"
    if not (folder / "config.json").is_file():
        return None
    model = class_of(folder)
    found = None if model is None else kind_of_class(model)
    if found is not None:
        return found
    family = folder.parent.name.removesuffix("_transfer")
    return _USED_AS.get(family, family if family in KINDS else None)


def kind_of_class(model: type) -> str | None:
    """The kind of a class of models; None if it has none."""
    return next((kind for kind, base in KINDS.items() if issubclass(model, base)), None)


def has_vectors(folder: Path) -> bool:
    """Whether a folder has word vectors, or a language model with an input embedding."""
    kind = kind_of(folder)
    if kind != "lm":
        return kind == "embedding"
    model = class_of(folder)
    return model is not None and issubclass(model, NeuralLanguageModel)


def approach_of(folder: Path) -> str | None:
    """The approach of the model in a folder, such as `Transformer`; None if it is unknown."""
    model = class_of(folder)
    return None if model is None else getattr(model, "approach", None)


def class_of(folder: Path) -> type | None:
    """The class in config.json; None if it cannot be read."""
    file = folder / "config.json"
    try:
        return located(file, str(read_json(file)["_target_"]))
    except (InputError, KeyError, TypeError):
        return None


def title_of(folder: Path) -> str:
    """The rung's title from its provenance.json; else the folder's name."""
    try:
        settings = read_json(folder / "provenance.json")["settings"].values()
    except (InputError, KeyError, TypeError, AttributeError):
        return folder.name
    titles = [job["title"] for job in settings if isinstance(job, dict) and "title" in job]
    return str(titles[0])[:80] if titles else folder.name
