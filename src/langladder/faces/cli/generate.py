"""`langladder generate`: how each of several language models goes on from the same words."""

from pathlib import Path
from typing import Any

import click

from langladder.answers.loading import LoadedModel, read_model
from langladder.faces.cli.options import json_option
from langladder.faces.cli.output import print_json, print_table


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=click.Path(path_type=Path))
@click.option("--prompt", "prompts", multiple=True, default=("",), help="Where to begin; may be given several times.")
@click.option("--greedy", is_flag=True, help="Always take the likeliest token, instead of drawing one.")
@click.option("--temperature", type=float, default=1.0, show_default=True, help="Below 1 bolder, above 1 wilder.")
@click.option("--top-k", type=int, help="Draw among the k likeliest tokens.")
@click.option("--top-p", type=float, help="Draw among the likeliest tokens that hold this probability together.")
@click.option("--repetition-penalty", type=float, default=1.0, show_default=True, help="Above 1: repeat less.")
@click.option("--max-tokens", type=int, default=50, show_default=True, help="Most tokens after the prompt.")
@click.option("--samples", type=click.IntRange(1, 1000), default=1, show_default=True, help="Texts of each prompt.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same texts.")
@json_option
def generate(
    models: tuple[Path, ...], prompts: tuple[str, ...], greedy: bool, samples: int, as_json: bool, **settings: Any
) -> None:
    """Go on from a prompt, up to the end of the line, with each MODEL.

    \b
    Examples:
      langladder generate models/lm/gpt models/lm/lstm --prompt "the king"
      langladder generate models/lm/* --prompt "the king" --top-p 0.9 --samples 3 --seed 7
    """
    from pydantic import ValidationError

    from langladder.decoding.sampling import SamplingConfig

    try:
        config = SamplingConfig(strategy="greedy" if greedy else "sample", **settings)
    except ValidationError as error:
        told = [
            f"--{str(e['loc'][0]).replace('_', '-')} {e['input']}: {e['msg'].lower()}" if e["loc"] else e["msg"]
            for e in error.errors()
        ]
        raise click.UsageError("; ".join(told)) from error
    begun = [prompt for prompt in prompts for _ in range(samples)]
    found = {rung.name: _continue(rung, begun, config) for rung in _rungs(models)}
    if as_json:
        texts = [
            {"model": name, "prompt": prompt, "text": text}
            for name, answers in found.items()
            for prompt, text in zip(begun, answers, strict=True)
        ]
        others = {"logit_bias", "presence_penalty", "frequency_penalty"}  # no options of this command
        print_json({"settings": config.model_dump(mode="json", exclude=others), "texts": texts})
        return
    for number, prompt in enumerate(prompts):
        part = slice(number * samples, (number + 1) * samples)
        rows = [[name, text] for name, answers in found.items() for text in answers[part]]
        print_table(["model", "text"], rows, title=f"“{prompt}” …" if prompt else "from the beginning of a line")


def _rungs(models: tuple[Path, ...]) -> list[LoadedModel]:
    """All models; two of the same name go by their paths."""
    rungs = [read_model(folder) for folder in models]
    names = [rung.name for rung in rungs]
    return [
        rung._replace(name=str(folder)) if names.count(rung.name) > 1 else rung
        for rung, folder in zip(rungs, models, strict=True)
    ]


def _continue(rung: LoadedModel, prompts: list[str], config: Any) -> list[str]:
    """Every prompt with what the model says after it."""
    from langladder.decoding.sampling import generate_batch
    from langladder.text.tokenize.specials import BOS

    begun = [ids.tolist() for ids in rung.tokenizer.encode_lines(prompts)]
    new = generate_batch(rung.model, [[BOS, *ids] for ids in begun], config)
    return [rung.tokenizer.decode(ids + more) for ids, more in zip(begun, new, strict=True)]
