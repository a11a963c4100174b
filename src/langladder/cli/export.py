"""`langladder export`: a language model in the format of another tool, with its model card."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from langladder.cli.language_models import Rung, read_rung
from langladder.cli.output import json_option, print_json
from langladder.errors import InputError

if TYPE_CHECKING:
    from langladder.models.base import LanguageModel

Format = Literal["gpt2", "torchscript", "arpa"]
LOADED = {"gpt2": ".", "torchscript": ".", "arpa": "model.arpa"}  # what the card's reader loads


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--to", "format", type=click.Choice([*LOADED]), help="The format [default: what fits the model].")
@click.option("--scores", type=click.Path(path_type=Path), help="Figures for the model card, as JSON.")
@json_option
def export(model: Path, out: Path, format: Format | None, scores: Path | None, as_json: bool) -> None:
    """Write MODEL into the new folder OUT for other tools, with a model card (README.md).

    \b
      gpt2         a GPT, for Hugging Face's GPT2LMHeadModel: config.json, model.safetensors, tokenizer.json
      torchscript  a recurrent model, for torch.jit.load and C++: model.pt, tokenizer.json
      arpa         an n-gram model, for KenLM and SRILM: model.arpa

    \b
    Examples:
      langladder export models/lm/gpt exported/gpt
      langladder export models/lm/kneser_ney exported/kneser_ney --to arpa
    """
    if out.exists():
        raise InputError(f"{out}: exists already; name a new folder")
    rung = read_rung(model)
    chosen = format or _fitting(rung.model, model)
    from langladder.artefacts import atomic, read_json, write_text
    from langladder.models.model_card import model_card

    figures: Mapping[str, Any] | None = None if scores is None else read_json(scores)
    card = model_card(model, figures, kind=chosen, name=LOADED[chosen])
    with atomic(out) as temporary:
        _write(rung, model, temporary, chosen)
        write_text(temporary / "README.md", card)
    if as_json:
        print_json({"out": str(out), "format": chosen, "files": sorted(file.name for file in out.iterdir())})
    else:
        click.echo(f"{rung.name} → {out} ({chosen}: {', '.join(sorted(file.name for file in out.iterdir()))})")


def _fitting(model: "LanguageModel", folder: Path) -> Format:
    from langladder.models.backoff import BackoffLanguageModel
    from langladder.models.gpt import GPT
    from langladder.models.recurrent import RecurrentLM

    kinds: dict[type, Format] = {GPT: "gpt2", RecurrentLM: "torchscript", BackoffLanguageModel: "arpa"}
    for kind, format in kinds.items():
        if isinstance(model, kind):
            return format
    raise InputError(
        f"{folder}: no other format holds a {type(model).__name__}; GPT, recurrent and n-gram models have one"
    )


def _write(rung: Rung, folder: Path, out: Path, format: Format) -> None:
    fitting = _fitting(rung.model, folder)
    if fitting != format:
        raise InputError(f"{folder}: a {type(rung.model).__name__} goes to {fitting}, not to {format}")
    from langladder.models.backoff import BackoffLanguageModel
    from langladder.models.gpt import GPT
    from langladder.models.recurrent import RecurrentLM

    model, tokenizer = rung.model, rung.tokenizer
    if isinstance(model, GPT):
        from langladder.models.export_gpt2 import export_gpt2

        export_gpt2(model, tokenizer, out)
        return
    out.mkdir()
    if isinstance(model, RecurrentLM):
        from langladder.models.export_torchscript import export_torchscript

        export_torchscript(model, out / "model.pt")
        tokenizer.save(out / "tokenizer.json")
    elif isinstance(model, BackoffLanguageModel):
        from langladder.models.arpa import write_arpa

        write_arpa(out / "model.arpa", model, [tokenizer.name(token) for token in range(model.vocab_size)])
