"""`langladder score`: how surprising each token of a sentence is, and which sentence a model finds likeliest."""

import math
from pathlib import Path
from typing import Any

import click

from langladder.answers.loading import LoadedModel, read_model
from langladder.faces.cli.input import is_folder, standard_input
from langladder.faces.cli.options import json_option
from langladder.faces.cli.output import note_normalised, print_json, print_table
from langladder.ground.errors import InputError


@click.command()
@click.argument("asked", nargs=-1, required=True, metavar="MODEL... SENTENCE...")
@click.option("--file", "file", metavar="FILE", help="Sentences, one per line, also .gz; - is the standard input.")
@click.option("--tokens/--no-tokens", "show_tokens", default=True, help="Show each token's surprisal [default: yes].")
@json_option
def score(asked: tuple[str, ...], file: str | None, show_tokens: bool, as_json: bool) -> None:
    """Rank sentences by their probability under each MODEL.

    Surprisal is −log₂ P(token | those before it), in bits; a sentence's is the sum, its end (<eos>) included. What is a
    folder is a model, the rest are sentences. Between models, compare sentences' bits, not tokens'.

    \b
    Examples:
      langladder score models/lm/* "apple and pear salad" "apple and pair salad"
      langladder score models/lm/gpt --file candidates.txt --no-tokens
    """
    folders, sentences = _sort(asked)
    if file is not None:
        sentences += _lines(file)
    if not folders or not sentences:
        raise click.UsageError(f"{len(folders)} models and {len(sentences)} sentences: name at least one of each")
    found = {}
    for folder in folders:
        loaded = read_model(folder)
        note_normalised(loaded.tokenizer.normalisation, sentences, "sentences")
        found[str(folder)] = score_sentences(loaded, sentences)
    if as_json:
        models = [{"model": model, "sentences": ranked} for model, ranked in found.items()]
        print_json({"unit": "bits", "models": models})
        return
    for model, ranked in found.items():
        rows: list[list[Any]] = []
        for scored in ranked:
            tokens = [
                f"{token['token'].strip() or repr(token['token'])} {_bits(token['bits'])}" for token in scored["tokens"]
            ]
            rows.append(
                [scored["rank"], scored["sentence"], _bits(scored["bits"])] + [" · ".join(tokens)] * show_tokens
            )
        columns = ["", "sentence", "bits"] + ["of which"] * show_tokens
        print_table(columns, rows, title=model)


def score_sentences(loaded: LoadedModel, sentences: list[str]) -> list[dict[str, Any]]:
    """[{"rank", "sentence", "bits", "tokens": [{"token", "bits"}]}], likeliest first; bits of the impossible: None."""
    import torch

    from langladder.text.tokenize.specials import BOS, EOS

    rows = [[BOS, *ids.tolist(), EOS] for ids in loaded.tokenizer.encode_lines(sentences)]
    scored = []
    for sentence, row in zip(sentences, rows, strict=True):
        bits = (-loaded.model.log_probs(torch.tensor([row]))[0, 1:].double() / math.log(2)).tolist()  # (T − 1,)
        names = [loaded.tokenizer.piece(token) for token in row]
        tokens = [{"token": name, "bits": _finite(b)} for name, b in zip(names[1:], bits, strict=True)]
        scored.append((sum(bits), {"sentence": sentence, "bits": _finite(sum(bits)), "tokens": tokens}))
    ranked = sorted(scored, key=lambda pair: pair[0])  # stable: equals stay as given
    return [{"rank": rank} | found for rank, (_, found) in enumerate(ranked, start=1)]


def _sort(asked: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    folders = [Path(word) for word in asked if is_folder(word)]
    sentences = [word for word in asked if not is_folder(word)]
    for sentence in sentences:
        if "/" in sentence and not any(character.isspace() for character in sentence):
            raise InputError(f"{sentence}: no such folder (a sentence that looks like a path goes into --file)")
    return folders, sentences


def _lines(file: str) -> list[str]:
    if file == "-":
        return [line.strip() for line in standard_input() if line.strip()]
    from langladder.text.read.lines import filled_lines

    return [line for _, line in filled_lines(Path(file))]


def _finite(bits: float) -> float | None:
    return round(bits, 6) + 0.0 if math.isfinite(bits) else None


def _bits(bits: float | None) -> str:
    return "∞" if bits is None else f"{round(bits, 2) + 0.0:.2f}"  # a certain token's 0.00 has no sign
