"""Inside one model: the computation of one token of a sentence, with the numbers of each step.

n-gram models, GPT, recurrent language models, BERT and translators each have their own picture; other models are
not listed. The size of a request is limited by the numbers of its answer.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from fastapi import APIRouter
from pydantic import BaseModel, Field

from langladder.answers.inside import ngrams, recurrent, transformers, translators
from langladder.answers.kinds import class_of, title_of
from langladder.answers.loading import LoadedEncoder, LoadedTranslator, read_encoder
from langladder.answers.surprisal import Row, guess, row_of
from langladder.answers.translate import weights
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.fill import GAP, gapped
from langladder.decoding.translate import translate
from langladder.faces.explorer.history import in_order
from langladder.faces.explorer.page import ModelName, Page
from langladder.faces.explorer.translating import locked_translator, one_line
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Rung, Shelf
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import InstructedGPT
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM
from langladder.models.ngrams.backoff import BackoffLanguageModel
from langladder.models.translation.translator import Translator
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer

MOST_CHARACTERS = 2_000
MOST_TOKENS = 64  # of a text
MOST_NUMBERS = 600_000  # of an answer
UNITS = 32  # of a recurrent layer that are shown individually
GROUPS = (
    ("n-gram models", BackoffLanguageModel),
    ("recurrent networks", RecurrentLM),
    ("Transformers that continue a text", GPT),
    ("Transformers that fill a gap", BERT),
    ("translators", Translator),
)


class LookRequest(BaseModel):
    """A text, and the position of the token to show, from 0; null: one near the end. For translators it is ignored."""

    model: ModelName
    text: str = Field(max_length=MOST_CHARACTERS)
    place: int | None = Field(default=None, ge=0, le=MOST_CHARACTERS)


class LockedEncoder(NamedTuple):
    """An encoder; `lock`: it answers one question at a time."""

    loaded: LoadedEncoder
    lock: threading.Lock


def router(shelf: Shelf) -> APIRouter:
    """The API of the page."""
    routes = APIRouter()

    @routes.post("/models")
    def models() -> list[Json]:
        """The models that can be shown: groups with name and title of each."""
        shelf.refresh()
        groups = {name: group for name, folder in in_order(shelf).items() if (group := _group(folder))}
        return [
            {
                "group": group,
                "models": [
                    {"name": name, "title": title_of(shelf.folders[name])} for name in groups if groups[name] == group
                ],
            }
            for group, _ in GROUPS
            if group in groups.values()
        ]

    @routes.post("/look")
    def look(request: LookRequest) -> Json:
        """The computation of one model for one token; the keys depend on `kind`."""
        folder = shelf.find(request.model)
        group = _group(folder)
        if group is None:
            raise InputError(f"model: {request.model[:80]!r} cannot be shown; `/api/inside/models` lists the others")
        if not request.text.strip():
            raise InputError("text: empty; write a sentence")
        if group == "translators":
            loaded, lock = locked_translator(shelf, request.model)
            with lock:
                return _translator(loaded, one_line(request.text))
        if group == "Transformers that fill a gap":
            encoder, lock = shelf.load("encoder inside", folder, _read_encoder)
            with lock:
                return _encoder(encoder, " ".join(request.text.split()), request.place)
        rung = shelf.language_model(request.model)
        with rung.lock:
            return _language_model(shelf, rung, request)

    return routes


def _group(folder: Path) -> str | None:
    """The group (of `GROUPS`) of the model in a folder; None if it cannot be shown."""
    kind = class_of(folder)
    if kind is None or issubclass(kind, InstructedGPT):
        return None
    return next((group for group, base in GROUPS if issubclass(kind, base)), None)


def _read_encoder(folder: Path) -> LockedEncoder:
    return LockedEncoder(read_encoder(folder), threading.Lock())


# Language models.


def _language_model(shelf: Shelf, rung: Rung, request: LookRequest) -> Json:
    row = row_of(rung.tokenizer, request.text)
    predicted = [at for at, token in enumerate(row.ids) if token != BOS]
    _check_length(len(predicted))
    position = _position(request.place, len(predicted), max(0, len(predicted) - 3))
    at = predicted[position]
    prefix, token = rung.model.as_read(row.ids[:at]), row.ids[at]
    answer = guess(rung.model, rung.tokenizer, request.text, position)
    content: Json = {
        "tokens": [[before, text] for before, text, _, _ in row.marks],
        "place": position,
        "token": row.marks[position][1],
        "answer": answer._asdict() | {"probability": None if answer.bits is None else 2.0**-answer.bits},
    }
    joined = rung.model.joins_lines
    names = [
        name
        for position, (name, read) in enumerate(zip(_names(rung.tokenizer, row, predicted), row.ids[:at], strict=False))
        if not position or read != BOS or not joined
    ]
    if isinstance(rung.model, BackoffLanguageModel):
        return content | _ngrams(shelf, rung, rung.model, prefix, token)
    if isinstance(rung.model, GPT):
        model = rung.model
        _check_numbers(model.config.layers * model.config.heads * min(len(prefix), model.context) ** 2)
        seen = transformers.gpt(model, prefix, token)
        return content | {"read": names[-len(seen.tokens) :]} | _transformer(seen, rung.tokenizer)
    assert isinstance(rung.model, RecurrentLM)
    return content | {"read": names} | _recurrent(rung.model, prefix)


def _names(tokenizer: Tokenizer, row: Row, predicted: Sequence[int]) -> list[str]:
    """The label of each id of a row: its text, or the name of a special token."""
    names = [tokenizer.name(token) for token in row.ids]
    for at, (_, text, _, _) in zip(predicted, row.marks, strict=True):
        names[at] = text
    return names


def _ngrams(shelf: Shelf, rung: Rung, model: BackoffLanguageModel, prefix: list[int], token: int) -> Json:
    ids = _training_ids(shelf, rung.tokenizer)
    name = rung.tokenizer.piece
    steps = [
        step._asdict()
        | {
            "history": [rung.tokenizer.name(token) if token == BOS else name(token).strip() for token in step.history],
            "counts": None if step.counts is None else step.counts._asdict(),
        }
        for step in ngrams.steps(model, prefix, token, ids)
    ]
    interpolated = isinstance(model, ngrams.INTERPOLATED)
    return {"kind": "ngram", "steps": steps, "order": model.order, "interpolated": interpolated}


def _training_ids(shelf: Shelf, tokenizer: Tokenizer) -> np.ndarray | None:
    """The training tokens of the language models; None if they are missing, or of another tokenizer."""
    folder = shelf.project / "data" / "tokens" / "text"
    try:
        own = shelf.load("tokenizer", folder / "tokenizer.json", Tokenizer.load)
        stream = shelf.load("tokens", folder / "train.arrow", TokenStream.open, 0)  # mapped
    except InputError:
        return None
    return stream.ids if own.same_as(tokenizer) else None


def _transformer(seen: transformers.Inside, tokenizer: Tokenizer) -> Json:
    return {
        "kind": "transformer",
        "at": seen.position,
        "embedded": _rounded(seen.embedded),
        "first": _guess(seen.first, tokenizer),
        "layers": [
            {
                "weights": _rounded(layer.weights, 3),
                "scores": [
                    [None if weight == -np.inf else weight for weight in head] for head in _rounded(layer.scores)
                ],
                "queries": _rounded(layer.queries),
                "keys": _rounded(layer.keys),
                "values": _rounded(layer.values),
                "attention": _rounded(layer.attention),
                "feed_forward": _rounded(layer.feed_forward),
                "stream": _rounded(layer.stream),
                "guess": _guess(layer.guess, tokenizer),
            }
            for layer in seen.layers
        ],
    }


def _guess(results: transformers.Guess, tokenizer: Tokenizer) -> Json:
    return {
        "likeliest": _likeliest(results.likeliest, tokenizer),
        "probability": results.probability,
        "rank": results.rank,
    }


def _likeliest(near: Sequence[tuple[int, float]], tokenizer: Tokenizer) -> list[tuple[str, float]]:
    return [(tokenizer.piece(token), probability) for token, probability in near]


def _recurrent(model: RecurrentLM, prefix: list[int]) -> Json:
    _check_numbers(len(prefix) * UNITS * 4 * len(model.cell.layers))
    layers: list[Json] = []
    for layer in recurrent.gates(model, prefix).layers:
        memory = layer.states if layer.cells is None else layer.cells  # (T, H)
        moves = (memory - torch.cat([torch.zeros_like(memory[:1]), memory[:-1]])).abs().sum(dim=0)  # (H,)
        units = moves.topk(min(UNITS, len(moves))).indices
        parts = layer.gates | {"memory": memory}
        layers.append(
            {
                "gates": {name: _rounded(gate.mean(dim=1)) for name, gate in layer.gates.items()},
                "state": _rounded(layer.states.norm(dim=1)),
                "cell": None if layer.cells is None else _rounded(layer.cells.norm(dim=1)),
                "units": units.tolist(),
                "values": {name: _rounded(part[:, units].T) for name, part in parts.items()},
            }
        )
    return {"kind": "recurrent", "cell": cast("RecurrentConfig", model.config).cell, "layers": layers}


# BERT and translators.


def _encoder(encoder: LoadedEncoder, text: str, requested: int | None) -> Json:
    """A gap of the text, or a token of it that is masked."""
    model, tokenizer = encoder.model, encoder.tokenizer
    gap = tokenizer.special_id(GAP)
    ids = (gapped(tokenizer, text) if GAP in text else tokenizer.encode(text)).tolist()
    _check_length(len(ids))
    gaps = [at for at, token in enumerate(ids) if token == gap]
    chosen = _position(requested, len(ids), max(0, len(ids) - 2))
    if gaps:
        chosen = chosen if chosen in gaps else gaps[0]
    row = model.framed(np.array(ids))[0]
    if len(row) > model.context:
        raise InputError(f"text: {len(ids)} tokens; this model reads {model.context - 2}: cut it")
    _check_numbers(model.number_of_layers * model.config.heads * len(row) ** 2)
    at = chosen + 1  # behind <cls>
    own = int(row[at])
    row[at] = gap
    ordinary = set(tokenizer.ordinary)
    other = [token for token in range(model.vocab_size) if token not in ordinary]
    seen = transformers.bert(model, row.tolist(), at, own, other)
    names = [tokenizer.name(token) if token not in ordinary else tokenizer.piece(token).strip() for token in ids]
    last = seen.layers[-1].guess
    answer = {"likeliest": _likeliest(last.likeliest, tokenizer), "probability": last.probability, "rank": last.rank}
    read = ["<cls>", *names, "<sep>"]
    read[at] = GAP
    return {
        "tokens": [[" " if position else "", name] for position, name in enumerate(names)],
        "place": chosen,
        "token": None if own == gap else names[chosen],
        "answer": answer | {"bits": None if own == gap else float(-np.log2(max(last.probability, 1e-300)))},
        "read": read,
    } | _transformer(seen, tokenizer)


def _translator(loaded: LoadedTranslator, text: str) -> Json:
    source = np.append(loaded.source.encode(text), EOS).astype(np.int64)
    _check_length(len(source))
    ((best, *_),) = translate(loaded.model, [source], BeamConfig(width=1, n_best=1))
    output = best.tokens
    steps = translators.steps(loaded.model, source.tolist(), output)
    attention = weights(loaded, source, output)
    _check_numbers(sum(np.array(layer["weights"]).size for layer in attention["layers"]))
    return {
        "kind": "translator",
        "translation": loaded.target.decode(output),
        "log_prob": best.log_prob,
        "source": attention["source"],
        "steps": [
            {
                "token": name,
                "probability": float(np.exp(step.log_prob)),
                "log_prob": step.log_prob,
                "likeliest": _likeliest(step.likeliest, loaded.target),
                "weights": step.weights,
            }
            for name, step in zip(attention["target"], steps, strict=True)
        ],
        "layers": attention["layers"],
    }


def _position(position: int | None, length: int, otherwise: int) -> int:
    """The position that is shown.

    Raises:
        InputError: the text has no such token.
    """
    if position is None:
        return otherwise
    if position >= length:
        raise InputError(f"place: {position}; the text has tokens 0 to {length - 1} for this model")
    return position


def _check_length(length: int) -> None:
    """Raise InputError if a text is empty or too long."""
    if not 0 < length <= MOST_TOKENS:
        raise InputError(f"text: {length:,} tokens for this model; 1 to {MOST_TOKENS} are shown here: cut it")


def _check_numbers(numbers: int) -> None:
    """Raise InputError if an answer would be too large."""
    if numbers > MOST_NUMBERS:
        raise InputError(f"text: {numbers:,} numbers inside this model; at most {MOST_NUMBERS:,} are sent: shorten it")


def _rounded(values: torch.Tensor, digits: int = 4) -> list[Any]:
    """As JSON."""
    rounded: list[Any] = values.double().cpu().numpy().round(digits).tolist()
    return rounded


PAGE = Page(
    "inside",
    "Inside",
    "The computation of one token in one model, step by step, with the numbers of each step.",
    "inside.html.j2",
    "inside.js",
    router,
    at_once=8,
)
