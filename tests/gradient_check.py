"""Gradients of every network compared with finite differences.

    ∂L/∂θ_i  ≈  (L(θ + ε e_i) − L(θ − ε e_i)) / 2ε          its error falls with ε², until rounding takes over

Numbers of 64 bits leave room for a small ε. Networks compute their losses in 32 bits (`.float()`), whatever they are
made of: within `exact` they do not. Of each parameter a few entries are looked at, the one with the largest gradient
among them. The error of an entry is relative to it, or to a share of the network's largest gradient where it is tiny:

    |a − n| / max(|a|, |n|, FLOOR · max |∂L/∂θ|)

Networks are found, not listed: every class of `models` and `embeddings` that is a network with settings, each with its
settings shrunk and each choice among them made once. Its loss is `Network.trial_loss`.
"""

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, cast, get_args, get_origin

import torch
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from torch import nn
from torch.overrides import TorchFunctionMode

from langladder import embeddings, models
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.models.network import Network

STEP = 1e-5  # ε
FLOOR = 1e-4
LARGEST_ERROR = 1e-4  # maximum error of a correct gradient
SIZE = 8  # of widths, contexts, vocabularies
VOCABULARY = 13
ROWS, LENGTH = 2, 5


class Checked(NamedTuple):
    """One network: how many entries were compared, the largest relative error and the parameter that has it."""

    network: str
    parameters: int
    entries: int
    error: float
    where: str

    @property
    def right(self) -> bool:
        """Whether every entry agrees; false if one is NaN."""
        return self.error <= LARGEST_ERROR


def check(name: str, network: nn.Module, *, entries: int = 5, seed: int = 0) -> Checked:
    """Compare the gradients of a network's trial loss; the network is unchanged afterwards, except that it has 64 bits.

    Args:
        entries: of each parameter, at least; those whose gradient is 0 are looked at, too.
    """
    network.double().train()
    with exact():
        result = compare(network, lambda: cast(Network, network).trial_loss(ROWS, LENGTH), entries=entries, seed=seed)
    error, where, count = result
    return Checked(name, sum(p.numel() for p in network.parameters()), count, error, where)


def compare(network: nn.Module, loss: Callable[[], torch.Tensor], *, entries: int, seed: int) -> tuple[float, str, int]:
    """The largest relative error, the parameter that has it, and how many entries were compared."""

    def value() -> torch.Tensor:
        torch.manual_seed(seed)  # the same dropout and the same noise words every time
        return loss()

    network.zero_grad()
    value().backward()  # type: ignore[no-untyped-call]
    parameters = [(name, p) for name, p in network.named_parameters() if p.requires_grad]
    zero = torch.zeros(1, dtype=torch.float64)
    slopes = {name: (zero if p.grad is None else p.grad.to_dense()).expand(p.shape) for name, p in parameters}
    floor = FLOOR * max(float(slope.abs().nan_to_num(0.0).max()) for slope in slopes.values())
    worst, where, count = 0.0, "", 0
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in parameters:
            slope = slopes[name].flatten()
            for entry in _entries(slope, entries, draw):
                a, n = float(slope[entry]), _difference(parameter, entry, value)
                error = abs(a - n) / max(abs(a), abs(n), floor, 1e-300)
                count += 1
                if error > worst or not math.isfinite(error):  # NaN is the worst
                    worst, where = error if math.isfinite(error) else math.inf, name
    return worst, where, count


def _entries(slope: torch.Tensor, entries: int, draw: torch.Generator) -> list[int]:
    """The entry with the largest gradient, some others that have one, and two drawn from all."""
    having = slope.nonzero()[:, 0]
    chosen = having[torch.randperm(len(having), generator=draw)[: max(0, entries - 3)]].tolist()
    anywhere = torch.randint(len(slope), (2,), generator=draw).tolist()
    return sorted({int(slope.abs().argmax()), *chosen, *anywhere})


def _difference(parameter: torch.Tensor, entry: int, value: Callable[[], torch.Tensor]) -> float:
    """(L(θ + ε e_i) − L(θ − ε e_i)) / 2ε."""
    entries = parameter.view(-1)
    kept = float(entries[entry])
    losses = []
    for step in (STEP, -STEP):
        entries[entry] = kept + step
        losses.append(float(value()))
    entries[entry] = kept
    return (losses[0] - losses[1]) / (2 * STEP)


class _KeepDouble(TorchFunctionMode):
    """Makes `.float()` in a network keep 64-bit numbers."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.float and args[0].dtype == torch.float64:
            return args[0]
        return func(*args, **(kwargs or {}))


@contextmanager
def exact() -> Iterator[None]:
    """64 bits throughout; restores the global random state."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.random.fork_rng(devices=[]), _KeepDouble():
            yield
    finally:
        torch.set_default_dtype(before)


# ---- finding the networks ----------------------------------------------------------------------------------------


def kinds() -> dict[str, type[nn.Module]]:
    """Name → class of every network that a rung may be: whole, with settings, in `models` or `embeddings`."""
    result: dict[str, type[nn.Module]] = {}
    for package in (models, embeddings):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, kind in vars(importlib.import_module(module.name)).items():
                own = inspect.isclass(kind) and kind.__module__ == module.name and issubclass(kind, nn.Module)
                if own and not inspect.isabstract(kind) and _settings(kind) is not None:
                    result[name] = kind
    return dict(sorted(result.items()))


def _settings(kind: type) -> type[Config] | None:
    own = getattr(kind, "Config", None)
    return own if own is not None and own is not Config else None


def tiny_networks(kind: type[nn.Module], *, every_choice: bool = True) -> Iterator[tuple[str, nn.Module]]:
    """The class with its settings shrunk, and once more for each other choice among them: (name, network)."""
    for name, config in _configs(kind, every_choice):
        torch.manual_seed(0)
        try:
            network = kind(config, *[VOCABULARY] * len(getattr(kind, "SIZES", ("vocab_size",))))
        except InputError:  # the class has settings that it refuses
            if not name:
                raise
            continue
        yield f"{kind.__name__}{name and f', {name}'}", network


def _configs(kind: type[nn.Module], every_choice: bool) -> Iterator[tuple[str, Config]]:
    settings = _settings(kind)
    assert settings is not None
    small = _small(settings)
    if body := getattr(kind, "BODY", None):  # it starts from a network of this class
        small["body"] = body.Config.model_validate(_small(body.Config))
    yield "", settings.model_validate(small)
    for name, field in settings.model_fields.items() if every_choice else ():
        for value in _choices(field):
            try:
                yield f"{name}={str(value).lower()}", settings.model_validate(small | {name: value})
            except ValidationError:  # not together with the others
                continue


def _small(settings: type[Config]) -> dict[str, object]:
    """The settings that are shrunk, each with its small value."""
    return {name: value for name, field in settings.model_fields.items() if (value := _shrunk(name, field))}


def _shrunk(name: str, field: FieldInfo) -> int | None:
    """A small value for a setting of size; None keeps the setting."""
    if type(field.default) is not int or field.default <= SIZE:
        return 2 if name == "layers" and type(field.default) is int else None
    return SIZE


def _choices(field: FieldInfo) -> list[object]:
    """The other values of a setting that has a few."""
    kinds = [field.annotation, *get_args(field.annotation)]
    values = [value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]
    values += [True, False] if bool in kinds else []
    return [value for value in values if value != field.default]
