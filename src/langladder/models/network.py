"""The base of every network: settings, number of parameters, saving and loading.

A folder from another source can contain wrong sizes, so it is not trusted. The network is first built on torch's `meta`
device, where tensors have shapes but no memory, and compared with the header of `model.safetensors`. So the real
network never takes more memory than the size of that file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from langladder.ground import artefacts, schema
from langladder.ground.errors import InputError
from langladder.models.base import Model
from langladder.models.saving import ARRAYS, Saved, read_description, write_model

MOST_NAMED = 4  # maximum number of differences in a message
_NAMES = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL", torch.float16: "F16", torch.bfloat16: "BF16"}


class Network(nn.Module, Model):
    """A network with settings. Built as `cls(config, *sizes)`, with the sizes in the order of `SIZES`, which are also
    attributes."""

    shards: ClassVar[tuple[str, ...]] = ()
    """The lists of layers that FSDP shards one by one; each layer must only compute in `forward`. (): none."""
    tables: ClassVar[tuple[str, ...]] = ()
    """Its own parameters that are tables of embeddings: of positions, of segments. (): none, or in modules."""
    from_base: dict[str, int] | None = None
    """The parameters that begin as those of a base, with their number of rows there; None: all of them, or no base."""

    def __init__(self, config: schema.Config, *sizes: int) -> None:
        super().__init__()
        self.config = config
        for name, size in zip(self.SIZES, sizes, strict=True):
            setattr(self, name, size)

    def number_of_parameters(self) -> int:
        """Trained numbers, shared ones counted once; without buffers such as word counts, which are not trained."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def one_graph(self) -> bool:
        """Whether its training loss is one graph for `torch.compile` on a GPU, with a gradient for every weight."""
        return False

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """The training loss on artificial data (`models.trial`): a scalar to differentiate.

        It is used for checks and counts: gradients against finite differences, operations, memory.

        Args:
            rows: number of examples; length: positions (tokens, frames) of each.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define trial_loss, its loss on artificial data")

    def products(self, length: int) -> float | None:
        """Multiplications of a forward pass over one row of `length` positions, with its loss; None: unknown.

        Each multiplication has an addition. Elementwise operations are not counted, see `nn.products`.
        """
        del length
        return None

    def save(self, folder: Path) -> None:
        """Write `model.safetensors` and `config.json` into `folder`, atomically. A shared matrix is written once."""
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in own_tensors(self).items()}
        sizes = {name: getattr(self, name) for name in self.SIZES}
        write_model(folder, self, self.config, sizes, arrays, self.write_beside)

    def write_beside(self, folder: Path) -> None:
        """Write the additional files that the network needs into its folder: its part of `save`."""
        del folder

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`; the network is in evaluation mode."""
        return cast(Self, load_network(saved, folder).eval())


def own_tensors(network: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and persistent buffers; a shared (tied) one once, under its first name."""
    seen: set[int] = set()
    own = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            own[name] = tensor
    return own


def load_network(saved: Saved, folder: Path) -> Network:
    """Build the network that `folder` describes, with its arrays.

    Raises:
        InputError: the arrays are missing, damaged, not finite, or do not fit the description.
    """
    path = Path(folder) / ARRAYS
    facts = artefacts.read_array_facts(path)
    if wrong := misfits(own_tensors(outline(saved, folder)), facts):
        raise InputError(f"{path}: the arrays do not fit config.json ({'; '.join(wrong)})")
    network: Network = saved.kind(saved.config, *saved.sizes)
    if saved.normalisation.names:
        network.normalisation = saved.normalisation
    fill(network, path)
    return network


def outline(saved: Saved, folder: Path) -> Network:
    """The network that `folder` describes, on the `meta` device.

    Raises:
        InputError: its sizes are inconsistent.
    """
    try:
        with torch.device("meta"), _Layout():
            network: Network = saved.kind(saved.config, *saved.sizes)
            return network
    except (RuntimeError, ValueError, OverflowError) as error:
        path = Path(folder) / "config.json"
        raise InputError(f"{path}: cannot build the network ({str(error).splitlines()[0]})") from error


def fill(network: nn.Module, path: Path) -> None:
    """Read the arrays of a file into the network; its header must fit the network (`misfits`).

    Raises:
        InputError: a number is not finite, or the file is damaged.
    """
    values = {name: torch.from_numpy(array) for name, array in artefacts.read_arrays(path).items()}
    for name, tensor in values.items():
        # one pass: a sum is finite unless a number is not finite, or the numbers are much too large
        if tensor.is_floating_point() and not tensor.sum().isfinite() and not tensor.isfinite().all():
            raise InputError(f"{path}: {name} has a number that is not finite (a training that diverged?)")
    # not strict, because a shared tensor has one name here and two in the network
    network.load_state_dict(values, strict=False)


class _Layout(TorchFunctionMode):
    """Skips the initialisation of tensors on the `meta` device, for which torch would load its compiler, which takes
    seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ("normal_", "uniform_"):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def misfits(plan: dict[str, torch.Tensor], facts: dict[str, artefacts.ArrayFacts]) -> list[str]:
    """The differences between a file's tensors and a network's, in words; empty if they agree."""
    wrong = [f"lacks {name[:100]}" for name in plan if name not in facts]
    wrong += [f"has {name[:100]}, which is not asked for" for name in facts if name not in plan]
    for name, tensor in plan.items():
        if name not in facts:
            continue
        dtype, shape = facts[name]
        if shape != tuple(tensor.shape):
            wrong.append(f"{name} has shape {shape}, expected {tuple(tensor.shape)}")
        elif dtype != _NAMES[tensor.dtype]:
            wrong.append(f"{name} is {dtype}, expected {_NAMES[tensor.dtype]}")
    return wrong if len(wrong) <= MOST_NAMED else [*wrong[:MOST_NAMED], f"and {len(wrong) - MOST_NAMED} more"]


LEARNING = {"dropout", "input_dropout", "word_dropout", "weight_drop", "locked", "weight_noise", "input_noise"}
LEARNING |= {"init", "input_init", "recurrent_init", "forget_bias", "noise_samples", "noise", "noise_power", "preset"}
"""Settings of initialisation and training, which do not change what a network computes."""


def start_from(model: Network, folder: Path, *, rung: str) -> None:
    """Copy the weights of the model in `folder` into `model`, in place.

    Both must have the same architecture: the same class, vocabularies, and settings except `LEARNING`. The header of
    the file is compared before any number is read. Call it before training and before a checkpoint is read.

    Args:
        rung: the name of `model`, for messages.

    Raises:
        InputError: `folder` has no such model, or one of another architecture; the message names both and the
            differences.
    """
    folder = Path(folder)
    saved = read_description(folder, Network, "network")
    if saved.kind is not type(model):
        differ = [f"that is a {saved.kind.__name__}, this a {type(model).__name__}"]
    else:
        there = dict(zip(model.SIZES, saved.sizes, strict=True)) | saved.config.model_dump()
        here = {name: getattr(model, name) for name in model.SIZES} | model.config.model_dump()
        differ = [
            f"{name} is {value!r} there, {here[name]!r} here"
            for name, value in there.items()
            if value != here[name] and name not in LEARNING
        ]
    if differ or (differ := misfits(own_tensors(model), artefacts.read_array_facts(folder / ARRAYS))):
        raise InputError(
            f"{rung} cannot start from {folder}: {'; '.join(differ)}. Make them equal, or choose another base"
        )
    fill(model, folder / ARRAYS)


def with_preset(values: object, presets: Mapping[str, dict[str, object]]) -> object:
    """The given settings, completed with those of the size in `preset`. Raises ValueError for an unknown name."""
    if not isinstance(values, dict) or not isinstance(chosen := values.get("preset"), str):
        return values  # the field's own validation reports other types
    if chosen not in presets:
        raise ValueError(f"preset={chosen!r}: allowed is {', '.join(presets)}, or null")
    return presets[chosen] | values


def check_width(width: int, heads: int, positions: str) -> None:
    """Raise ValueError unless heads divide the width, and the width is even for sinusoidal positions."""
    if width % heads:
        raise ValueError(f"width={width} is not divisible by heads={heads}: each head takes an equal part")
    if positions == "sinusoidal" and width % 2:
        raise ValueError(f"width={width} is odd: sinusoidal positions come in pairs (sine, cosine)")
    if positions == "rotary" and width // heads % 2:
        raise ValueError(f"width={width} with heads={heads}: rotary positions turn pairs; a head needs an even width")
