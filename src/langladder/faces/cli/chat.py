"""`langladder chat`: talk with a model that follows instructions, or with several side by side."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langladder.answers.requests import LARGEST_SEED
from langladder.faces.cli.input import standard_input, typed_lines
from langladder.faces.cli.options import Number, json_option
from langladder.faces.cli.output import echo, print_json, print_table
from langladder.faces.http.choosers import MOST, chooser_of
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.decoding.conversation import Conversation


@click.command(short_help="Talk with a model that follows instructions, or with two side by side.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=click.Path(path_type=Path))
@click.option("--say", "turns", multiple=True, help="A turn of yours; may be given several times.")
@click.option("--system", default="", help="What stands before all turns.")
@click.option("--forget", "forgets", is_flag=True, help="Each turn begins a new dialogue.")
@click.option("--sample", "samples", is_flag=True, help="Draw each token, instead of taking the likeliest one.")
@click.option("--temperature", type=Number(0.01, 100), default=1.0, show_default=True, help="Of what is drawn.")
@click.option("--max-tokens", type=click.IntRange(1, 8192), default=40, show_default=True, help="Most of an answer.")
@click.option("--seed", type=click.IntRange(0, LARGEST_SEED), default=0, show_default=True, help="Of what is drawn.")
@click.option(
    "--best-of", type=click.IntRange(1, MOST), metavar="N", help="Answer N times; --judge says which is given."
)
@click.option("--judge", metavar="FOLDER", type=click.Path(path_type=Path), help="The reward model that chooses.")
@json_option
def chat(
    models: tuple[Path, ...], turns: tuple[str, ...], system: str, forgets: bool, as_json: bool, **how: Any
) -> None:
    """Talk with each MODEL, a folder of a rung that follows instructions. Without --say, ask for turns or read a pipe.

    The models answer the same turns, each with its own answers behind it, as long as there is room in its context. Then
    the oldest turns are left out, and a line on stderr says so.
    A rung that is a best-of-n answers n times, and the reward model that it reads chooses.

    \b
    Examples:
      langladder chat models/instruct/sft
      langladder chat models/instruct/sft models/align/ppo --say "what is the capital of france ?"
      langladder chat models/instruct/sft models/align/best_of_n
      langladder chat models/instruct/sft --best-of 16 --judge models/reward/reward
    """
    conversations = _conversations(models, system, forgets, how)
    if turns or not sys.stdin.isatty():
        given = [turn for turn in turns or standard_input() if turn.strip()]
        if not given:
            raise InputError("nothing was said; give --say TEXT, or turns through a pipe, one a line")
        told = [(turn, _answers(conversations, turn)) for turn in given]
        if as_json:
            print_json({"system": system, "turns": [{"user": turn, "answers": said} for turn, said in told]})
            return
        for turn, said in told:
            _show(turn, said)
        return
    if as_json:
        raise click.UsageError("--json answers turns that are given: by --say, or through a pipe")
    for turn in typed_lines("A turn of yours, or Ctrl-D to end."):
        try:
            if turn.strip():
                _show(None, _answers(conversations, turn))
        except InputError as error:
            echo(f"Error: {error}", err=True)


def _conversations(
    models: tuple[Path, ...], system: str, forgets: bool, how: dict[str, Any]
) -> dict[str, "Conversation"]:
    """A conversation with each model, by its name; two of the same name go by their paths.

    Raises:
        InputError: a folder holds no InstructedGPT, is damaged, or is given twice; see also `chooser_of`.
    """
    for folder in models:
        if not (folder / "config.json").is_file():
            wanted = "a folder with config.json, model.safetensors and tokenizer.json, such as models/instruct/sft"
            raise InputError(f"{folder}: no saved model; expected {wanted}")
    from langladder.decoding.conversation import Conversation
    from langladder.decoding.sampling import SamplingConfig
    from langladder.models.instructed import read_instructed
    from langladder.text.labelled.templates import ChatTemplate

    best_of, judge = how["best_of"], how["judge"]
    config = SamplingConfig(
        strategy="sample" if how["samples"] else "greedy",
        temperature=how["temperature"],
        max_tokens=how["max_tokens"],
        seed=how["seed"],
    )
    names = [folder.name for folder in models]
    found: dict[str, Conversation] = {}
    for folder in models:
        model, tokenizer = read_instructed(folder)
        name = str(folder) if names.count(folder.name) > 1 else folder.name
        if name in found:
            raise InputError(f"{folder}: given twice; name other models to compare")
        more: Any = {"forgets": forgets, "chooser": chooser_of(folder, tokenizer, best_of, judge)}
        found[name] = Conversation(model, ChatTemplate(tokenizer), config, system=system, **more)
    if judge is not None and not any(one.chooser for one in found.values()):
        raise InputError("--judge: there is nothing to choose from; give --best-of N too")
    return found


def _answers(conversations: dict[str, "Conversation"], turn: str) -> dict[str, str]:
    """What each model answers; what it no longer reads of the dialogue is said on stderr."""
    answers = {}
    for name, one in conversations.items():
        answers[name] = one.say(turn.strip())
        if one.left_out:
            turns = "the oldest turn was" if one.left_out == 1 else f"the {one.left_out} oldest turns were"
            why = f"its context of {one.model.context:,} tokens has no room for more"
            click.echo(f"{name}: {turns} left out of the prompt: {why}", err=True)
    return answers


def _show(turn: str | None, answers: dict[str, str]) -> None:
    """One answer as it is, several side by side; the turn before it where nobody typed it."""
    if turn is not None:
        echo(f"> {turn}")
    if len(answers) == 1:
        echo(next(iter(answers.values())))
    else:
        print_table([*answers], [[*answers.values()]])
