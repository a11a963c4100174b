"""A network that begins with the weights of a saved one, to go on learning: another text, or another way to train.

Both must be one architecture: the same class, vocabularies, and settings but those that only say how a network begins
and learns (dropout, first weights, noise words). The head of `model.safetensors` is compared before any number is read.
"""

from pathlib import Path

from langladder.ground.artefacts import read_array_facts
from langladder.ground.errors import InputError
from langladder.models.network import Network, fill, misfits, own_tensors
from langladder.models.saving import ARRAYS, read_description

LEARNING = {"dropout", "input_dropout", "word_dropout", "weight_drop", "locked"}
LEARNING |= {"init", "input_init", "recurrent_init", "forget_bias", "noise_samples", "noise", "noise_power", "preset"}
"""Settings that may differ: the network computes the same without them."""


def start_from(model: Network, folder: Path, *, rung: str) -> None:
    """Put the weights of the model that `folder` holds into `model`, in place.

    Call it before training and before a checkpoint is read back.

    Args:
        rung: what `model` is called, for messages.

    Raises:
        InputError: `folder` holds no such model, or one of another architecture: names both, and what differs.
    """
    folder = Path(folder)
    kind = read_description(folder, Network, (), Network.WHAT).kind
    if kind is not type(model):
        differ = [f"that is a {kind.__name__}, this a {type(model).__name__}"]
    else:
        saved = read_description(folder, kind, model.SIZES, model.WHAT)
        there = dict(zip(model.SIZES, saved.sizes, strict=True)) | saved.config.model_dump()
        here = {name: getattr(model, name) for name in model.SIZES} | model.config.model_dump()
        differ = [
            f"{name} is {value!r} there, {here[name]!r} here"
            for name, value in there.items()
            if value != here[name] and name not in LEARNING
        ]
    if differ or (differ := misfits(own_tensors(model), read_array_facts(folder / ARRAYS))):
        raise InputError(
            f"{rung} cannot begin with {folder}: {'; '.join(differ)}. Make them alike, or choose another base"
        )
    fill(model, folder / ARRAYS)
