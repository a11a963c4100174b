"""A network with the body of another rung: settings and initial weights come from the base.

A rung's file has no sizes: `model.body` is null there, and `begin` inserts the settings of the base's network. The
saved folder has these settings and all weights, so it can be read without the base.

From a body of N layers, the embeddings and the first `layers_transferred` layers are copied, and the rest has new
initial weights (Radford et al. 2018, section 5, "Impact of number of layers transferred"). Modules after the last layer
are only copied if all N layers are.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

import numpy as np
import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.network import Network, own_tensors
from langladder.models.saving import read_description
from langladder.models.units import Read

TOKENIZER = "tokenizer.json"
"""The tokenizer file in every base's folder."""
INITIAL_STD = 0.02


class BodyConfig(Protocol):
    """Settings of a body: its number of layers, and its dropout."""

    layers: int
    dropout: float

    def model_copy(self, *, update: Mapping[str, object]) -> Self:
        """See pydantic."""


class FineTunedConfig(schema.Config):
    """Settings of every network that starts from another rung's."""

    pretrained: bool = True
    """false: the same network with random initial weights, for comparison."""
    layers_transferred: int | None = Field(default=None, ge=0, le=128)
    """Number of layers from the base; 0: only its embeddings; null: all."""
    body_dropout: float | None = Field(default=None, ge=0, lt=1)
    """Dropout inside the body during fine-tuning; null: that of its base."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout before the output."""


class FineTuned:
    """The part of a network that starts from another rung's network; a mixin for `Network`.

    Attributes:
        BODY: the class of the base, and of the body.
        FAMILIES: the families of possible bases, for messages.
        LAYERS: the body's list of layers; BEHIND: modules after the last layer.
    """

    BODY: ClassVar[type[Network]]
    FAMILIES: ClassVar[str]
    LAYERS: ClassVar[str]
    BEHIND: ClassVar[tuple[str, ...]] = ()
    config: Any
    from_base: dict[str, int] | None

    def body(self) -> nn.Module:
        """The part that comes from the base."""
        raise NotImplementedError

    @classmethod
    def refuses(cls, settings: Mapping[str, object], body: Any) -> str | None:
        """Why a base with these settings is unsuitable for a rung with these settings; None if it is suitable."""
        del settings, body
        return None

    def copy_weights(self, base: Network) -> None:
        """Copy the base's weights into the body, in place; rows that the base lacks keep their initial values."""
        config, self.from_base = self.config, {}
        if not config.pretrained:
            return
        there = base.state_dict()
        number = config.body.layers if config.layers_transferred is None else config.layers_transferred
        fresh = [f"{self.LAYERS}.{layer}." for layer in range(number, config.body.layers)]
        fresh += [f"{name}." for name in self.BEHIND] if number < config.body.layers else []
        body = self.body()
        above = next(name for name, part in cast(nn.Module, self).named_modules() if part is body)
        with torch.no_grad():
            for name, tensor in own_tensors(body).items():
                if not name.startswith(tuple(fresh)):
                    tensor[: len(there[name])] = there[name]
                    self.from_base[f"{above}.{name}"] = len(there[name])


Body = TypeVar("Body", bound=schema.Config)
Settings = TypeVar("Settings", bound=FineTunedConfig)


def body_of(body: Body | None, kind: type[FineTuned]) -> Body:
    """The settings of the body. Raises InputError if there are none."""
    if body is None:
        raise InputError(f"model.body: null; a {kind.__name__} gets it from its base, {kind.FAMILIES}")
    return body


def base_for(kind: type[FineTuned], folder: Path) -> Network:
    """The network of a base.

    Raises:
        InputError: the folder has no network, or one of another kind.
    """
    saved = read_description(folder, Network, "network")
    if not issubclass(saved.kind, kind.BODY):
        raise InputError(
            f"{folder}: a {saved.kind.__name__}, but a {kind.__name__} starts from {kind.FAMILIES}; choose another base"
        )
    network: Network = saved.kind.from_saved(saved, Path(folder))
    return network


def settings_with_body(config: Settings, base: Network, rung: str) -> Settings:
    """The settings of a rung, completed with those of its base's network.

    Raises:
        InputError: the settings request more layers than the base has.
    """
    body = cast(BodyConfig, base.config)
    if why := too_many(config.layers_transferred, body.layers):
        raise InputError(f"{rung}: {why}")
    if config.body_dropout is not None:
        body = body.model_copy(update={"dropout": config.body_dropout})
    return config.model_copy(update={"body": body})


def too_many(wanted: int | None, layers: int) -> str | None:
    """Why this number of layers cannot be transferred; None if it can."""
    if wanted is None or wanted <= layers:
        return None
    return f"model.layers_transferred={wanted}, but its base has {layers} layers; set it to at most {layers}, or null"


def shortened(read: Read, separator: int, room: int) -> Read:
    """A text, or two with `separator` between them, of at most `room` tokens; ends are cut off, first that of the
    longer text."""
    excess = len(read.ids) - room
    if excess <= 0:
        return read
    (positions,) = (read.ids == separator).nonzero()
    first = int(positions[0]) if len(positions) else len(read.ids)
    second = len(read.ids) - first - len(positions)
    left = room - len(positions)
    keep = min(first, max(left - second, left - left // 2)) if len(positions) else room
    kept = np.r_[:keep, first : first + len(positions) + left - keep] if len(positions) else np.r_[:room]
    return Read([read.pieces[position] for position in kept], read.ids[kept])


def start_linear(layer: nn.Linear) -> nn.Linear:
    """Initialise the layer with weights from N(0, 0.02) and biases of 0, like BERT and GPT."""
    nn.init.normal_(layer.weight, std=INITIAL_STD)
    nn.init.zeros_(layer.bias)
    return layer
