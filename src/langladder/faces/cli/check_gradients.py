"""`langladder check-gradients`: whether the gradients of networks agree with finite differences."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.faces.cli.input import is_folder
from langladder.faces.cli.options import json_option
from langladder.faces.cli.output import Cell, echo, print_json, print_table
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    from langladder.evaluation.gradient_check import Checked


@click.command("check-gradients", short_help="Compare gradients with finite differences.")
@click.argument("networks", nargs=-1, metavar="[NETWORK | MODEL]...")
@click.option(
    "--all", "every_choice", is_flag=True, help="Also check each choice of a network's settings (takes a minute)."
)
@click.option(
    "--entries",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Entries to compare in each parameter, at least.",
)
@json_option
@click.pass_context
def check_gradients(
    context: click.Context, networks: tuple[str, ...], every_choice: bool, entries: int, as_json: bool
) -> None:
    """Compare the gradients of networks with finite differences.

    NETWORK is the name of a class (GPT, RecurrentLM); the command builds a small one with its initial weights. MODEL is
    the folder of a trained network. Without arguments, the command checks every kind of network that a rung can have.
    It computes in 64 bits on random data, and exits with code 1 if an error is too large.

    \b
    Examples:
      langladder check-gradients GPT Transformer --all
      langladder check-gradients models/lm/lstm
    """
    from langladder.evaluation.gradient_check import LARGEST_ERROR, check

    found = [check(name, network, entries=entries) for name, network in _networks(networks, every_choice)]
    wrong = [one for one in found if not one.right]
    if as_json:
        print_json({"largest_error": LARGEST_ERROR, "networks": [_as_dict(one) for one in found]})
    else:
        rows: list[list[Cell]] = [
            [one.network, one.parameters, one.entries, _error(one), one.where, _verdict(one)] for one in found
        ]
        print_table(["network", "parameters", "compared", "largest error", "at", ""], rows)
        echo(f"{len(found) - len(wrong)} of {len(found)} correct: relative errors of at most {LARGEST_ERROR:g}")
    if wrong:
        context.exit(1)


def _networks(names: tuple[str, ...], every_choice: bool) -> Iterator[tuple[str, "nn.Module"]]:
    """Name and network of each argument; all names are checked before the first network is built."""
    from langladder.evaluation.gradient_check import kinds, tiny_networks

    known = kinds()
    by_name = {name.lower(): kind for name, kind in known.items()}
    folders = [name for name in names if is_folder(name)]
    if unknown := [name for name in names if name not in folders and name.lower() not in by_name]:
        raise InputError(f"{unknown[0]}: neither a model folder nor a network; networks: {', '.join(known)}")
    loaded = [(name, _network(Path(name))) for name in folders]
    chosen = [by_name[name.lower()] for name in names if name not in folders]
    for kind in chosen if names else known.values():
        yield from tiny_networks(kind, every_choice=every_choice)
    yield from loaded


def _network(folder: Path) -> "nn.Module":
    """The trained network of a folder.

    Raises:
        InputError: it has no model, or a model without gradients.
    """
    from langladder.ground.artefacts import read_json
    from langladder.models.network import Network
    from langladder.models.saving import located

    path = folder / "config.json"
    description = read_json(path)
    kind = located(path, str(description.get("_target_")) if isinstance(description, dict) else "")
    if not issubclass(kind, Network):
        raise InputError(f"{path}: {kind.__name__} is not a network and has no gradients")
    return kind.load(folder)


def _error(one: "Checked") -> str:
    return f"{one.error:.1e}"


def _verdict(one: "Checked") -> str:
    return "" if one.right else "WRONG"


def _as_dict(one: "Checked") -> dict[str, object]:
    import math

    finite = one.error if math.isfinite(one.error) else None
    return one._asdict() | {"error": finite, "right": one.right}
