"""`langladder attention`: which token of a text reads which in GPT and BERT, by layer and head."""

from pathlib import Path

import click

from langladder.faces.cli.options import FOLDER, json_option
from langladder.faces.cli.output import note, print_json
from langladder.ground.errors import InputError


@click.command(short_help="Show the attention of GPT or BERT, by layer and head.")
@click.argument("model", type=FOLDER)
@click.argument("text")
@click.option("--layer", type=click.IntRange(min=1), help="Only this layer, from 1 [default: all].")
@click.option("--head", type=click.IntRange(min=1), help="Only this head, from 1 [default: all].")
@json_option
def attention(model: Path, text: str, layer: int | None, head: int | None, as_json: bool) -> None:
    """Show the weights of self-attention for TEXT: rows read, columns are read; fuller characters mean more weight.

    MODEL is a GPT or an encoder. For translators use `langladder translate --attention`.

    \b
    Examples:
      langladder attention models/lm/gpt "the dog sees the cats ." --layer 2
      langladder attention models/encoder/roberta_mini "the dog sees the cats ." --layer 1 --head 3
    """
    from langladder.answers.kinds import kind_of
    from langladder.answers.loading import read_encoder, read_model
    from langladder.evaluation.attention_maps import attention_weights, framed, token_names
    from langladder.faces.cli.translate import print_attention
    from langladder.models.encoders.bert import BERT
    from langladder.models.language.gpt import GPT

    loaded = read_encoder(model) if kind_of(model) == "encoder" else read_model(model)
    network, tokenizer = loaded.model, loaded.tokenizer
    if not isinstance(network, GPT | BERT):
        raise InputError(f"{model}: a {type(network).__name__} has no self-attention; choose a GPT or an encoder")
    note(tokenizer.normalisation.note([text], "texts"))
    row = framed(network, tokenizer.encode(text).tolist())
    if len(row) > network.context:
        raise InputError(f"text: {len(row):,} tokens with the specials; this model reads {network.context:,}: cut it")
    layers = attention_weights(network, row)
    for name, chosen, most in (("layer", layer, len(layers)), ("head", head, len(layers[0]))):
        if chosen is not None and chosen > most:
            raise InputError(f"--{name} {chosen}: this model has {most}; allowed: 1 … {most}")
    names = token_names(tokenizer, row)
    maps = [
        {"layer": i, "head": j, "weights": weights.double().cpu().numpy().round(6).tolist()}
        for i, heads in enumerate(layers, start=1)
        for j, weights in enumerate(heads, start=1)
        if layer in (None, i) and head in (None, j)
    ]
    if as_json:
        print_json({"tokens": names, "maps": maps})
        return
    for attention_map in maps:
        print_attention(
            f"layer {attention_map['layer']}, head {attention_map['head']}", names, names, attention_map["weights"]
        )
