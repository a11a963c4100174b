"""Options out of a request: names, types, limits, defaults and help are those of its fields."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click
import pytest
from click.testing import CliRunner, Result
from pydantic import Field

from langladder.faces.cli.options import options
from langladder.ground.schema import Config


class Asking(Config):
    """A request with a field of each kind."""

    count: int = Field(default=5, ge=1, le=9, description="How many.")
    top_p: float | None = Field(default=None, gt=0, le=1)
    greedy: bool = Field(default=False, description="No drawing.")
    form: Literal["long", "short"] = "long"
    options: Sequence[str] = Field(default=(), description="To choose from.")
    judge: Path | None = Field(default=None, title="FOLDER")
    words: str = ""


@click.command()
@options(Asking, count=("-k", "--count"), options="--option")
def ask(request: Asking) -> None:
    """Print the request."""
    click.echo(request.model_dump_json())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(ask, arguments)


def test_the_command_gets_the_request() -> None:
    assert json.loads(run().output) == json.loads(Asking().model_dump_json())
    words = [
        "-k",
        "9",
        "--top-p",
        "0.5",
        "--greedy",
        "--form",
        "short",
        "--option",
        "a",
        "--option",
        "b",
        "--judge",
        "j",
    ]
    expected = Asking(count=9, top_p=0.5, greedy=True, form="short", options=("a", "b"), judge=Path("j"), words="x y")
    assert json.loads(run(*words, "--words", "x y").output) == json.loads(expected.model_dump_json())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--count", "0"], "0 is not in the range 1<=x<=9"),
        (["--top-p", "0"], "0.0 is not in the range 0<x<=1"),
        (["--top-p", "nan"], "nan is not a finite number"),
        (["--form", "round"], "'long', 'short'"),
    ],
)
def test_limits_are_those_of_the_fields(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.output


def test_help_has_descriptions_defaults_and_limits_in_the_order_of_the_fields() -> None:
    lines = [" ".join(line.split()) for line in run("--help").output.splitlines()]
    first = lines.index("-k, --count INTEGER RANGE How many. [default: 5; 1<=x<=9]")
    assert lines[first + 1 : first + 7] == [
        "--top-p FLOAT RANGE [0<x<=1]",
        "--greedy No drawing.",
        "--form [long|short] [default: long]",
        "--option TEXT To choose from.",
        "--judge FOLDER",
        "--words TEXT",
    ]
