"""The kind of the model in a folder, from the class in its config.json, without loading the model.

The kinds are the families' names; a rung that started from another has the kind of its use (`tune`: `lm`).
"""

from pathlib import Path

from langladder.families import families, kinds
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.models.saving import located


def kind_of(folder: Path) -> str | None:
    """The kind of a saved model in a folder, without loading it; None if there is none.

    If config.json cannot be read, the folder above decides (`models/lm/gpt`), so that the model is still listed and
    loading it reports the error (but `has_vectors` is false for it).
    """
    for family in kinds().values():
        if family.file != "config.json" and (folder / family.file).is_file():
            return family.name
    if not (folder / "config.json").is_file():
        return None
    model = class_of(folder)
    kind = None if model is None else kind_of_class(model)
    if kind is not None or folder.parent.name not in families():
        return kind
    above = kinds().get(families()[folder.parent.name].model)
    return None if above is None else above.name


def kind_of_class(model: type) -> str | None:
    """The kind of a class of models: that of its nearest base class with one; None if it has none."""
    bases = (f"{base.__module__}.{base.__qualname__}" for base in model.__mro__)
    return next((kinds()[base].name for base in bases if base in kinds()), None)


def has_vectors(folder: Path) -> bool:
    """Whether a folder has word vectors, or a language model with an input embedding."""
    kind = kind_of(folder)
    if kind != "lm":
        return kind == "embedding"
    model = class_of(folder)
    return model is not None and hasattr(model, "input_embedding")


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
