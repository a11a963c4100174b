"""Translate: what every translator makes of a sentence, what it reads meanwhile, and how the search went."""

import threading
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.answers.loading import LoadedTranslator, read_translator
from langladder.decoding.attention_heads import Heads, heads, read_by_step
from langladder.decoding.beam_search import BeamConfig, Hypothesis
from langladder.decoding.beam_trace import trace
from langladder.decoding.translate import translate
from langladder.evaluation.translation import pieces
from langladder.faces.explorer.page import ModelName, Page, each_model
from langladder.faces.http.server import Json, streamed
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import EOS, UNK

MOST_CHARACTERS = 1_000
MOST_TOKENS = 120  # of a sentence: every step of its search is shown
WIDEST = 16


class Search(BaseModel):
    """A sentence, and how its translations are looked for."""

    text: str = Field(max_length=MOST_CHARACTERS)
    width: int = Field(default=5, ge=1, le=WIDEST)
    n_best: int = Field(default=5, ge=1, le=WIDEST)
    alpha: float = Field(default=0.7, ge=0, le=2)
    length_form: Literal["power", "gnmt"] = "power"

    def config(self) -> BeamConfig:
        """For `beam_search`."""

        n_best = min(self.n_best, self.width)
        return BeamConfig(width=self.width, n_best=n_best, alpha=self.alpha, length_form=self.length_form)


class SearchAll(Search):
    """By several models."""

    models: list[ModelName] = Field(max_length=40)


class SearchOne(Search):
    """By one model."""

    model: ModelName


class Reading(BaseModel):
    """A sentence and a translation of it, by the ids of its tokens."""

    model: ModelName
    text: str = Field(max_length=MOST_CHARACTERS)
    ids: list[Annotated[int, Field(ge=0)]] = Field(max_length=1_000)


class LockedTranslator(NamedTuple):
    """A translator; `lock`: it answers one question at a time."""

    loaded: LoadedTranslator
    lock: threading.Lock


def router(shelf: Shelf) -> APIRouter:
    """What answers the page's script."""
    routes = APIRouter()

    @routes.post("/search", response_class=StreamingResponse)
    def search(request: SearchAll) -> StreamingResponse:
        """The best translations of each model and its greedy one, an event a model."""
        text = one_line(request.text)

        def translations(name: str) -> Json:
            translator = _translator(shelf, name)
            with translator.lock:
                return search_by(translator.loaded, text, request.config())

        return streamed(each_model(request.models, translations))

    @routes.post("/attention")
    def attention(request: Reading) -> Json:
        """What was read for each token: `weights` of every layer and head, (heads, tokens, tokens)."""
        translator = _translator(shelf, request.model)
        with translator.lock:
            return read_by(translator.loaded, one_line(request.text), request.ids)

    @routes.post("/tree")
    def tree(request: SearchOne) -> Json:
        """The search, step by step: a node is a token behind its parent, with what became of it."""
        translator = _translator(shelf, request.model)
        with translator.lock:
            return tree_of(translator.loaded, one_line(request.text), request.config())

    return routes


def one_line(text: str) -> str:
    """The text as one line.

    Raises:
        InputError: it is empty.
    """
    if not text.strip():
        raise InputError("text: empty; write a sentence")
    return " ".join(text.split())


def _translator(shelf: Shelf, name: str) -> LockedTranslator:
    return shelf.load("translator", shelf.find(name), _read)


def _read(folder: Path) -> LockedTranslator:

    loaded = read_translator(folder)
    loaded.model.eval()
    return LockedTranslator(loaded, threading.Lock())


def _source(loaded: LoadedTranslator, text: str) -> np.ndarray:

    ids = np.append(loaded.source.encode(text), EOS).astype(np.int64)
    if len(ids) > MOST_TOKENS:
        raise InputError(f"text: {len(ids):,} tokens for {loaded.name}; at most {MOST_TOKENS} are shown here: cut it")
    return ids


def search_by(loaded: LoadedTranslator, text: str, config: BeamConfig) -> Json:
    """The best translations by beam search, the greedy one, and the tokens of the sentence."""

    ids = _source(loaded, text)
    (beam,) = translate(loaded.model, [ids], config)
    (greedy,) = translate(loaded.model, [ids], config.model_copy(update={"width": 1, "n_best": 1}))
    unknown = [position for position, token in enumerate(ids.tolist()) if token == UNK]
    return {"source": pieces(loaded.source, ids[:-1]), "unknown": unknown} | {
        "beam": [_as_json(loaded, one) for one in beam],
        "greedy": _as_json(loaded, greedy[0]),
    }


def _as_json(loaded: LoadedTranslator, found: Hypothesis) -> Json:
    return {
        "text": loaded.target.decode(found.tokens),
        "ids": found.tokens,
        "tokens": len(found.tokens) + 1,
        "score": round(found.score, 6),
        "log_prob": round(found.log_prob, 6),
    }


def read_by(loaded: LoadedTranslator, text: str, ids: list[int]) -> Json:
    """Every layer's attention; of a network without layers of it what its search sees, of one without any nothing."""

    if ids and max(ids) >= loaded.model.target_vocab_size:
        raise InputError(f"ids: {max(ids)} is none of the target's {loaded.model.target_vocab_size:,} tokens")
    source = _source(loaded, text)
    layers = heads(loaded.model, source.tolist(), ids)
    if not layers:
        weights = read_by_step(loaded.model, source.tolist(), ids)
        layers = [] if weights is None else [Heads("source", 1, weights[None])]
    return {
        "source": [*pieces(loaded.source, source[:-1]), "<eos>"],
        "target": [*pieces(loaded.target, ids), "<eos>"],
        "layers": [
            {"kind": one.kind, "layer": one.layer, "weights": one.weights.astype(float).round(3).tolist()}
            for one in layers
        ],
    }


def tree_of(loaded: LoadedTranslator, text: str, config: BeamConfig) -> Json:
    """All nodes of a search, and which of them end the translations that it returns."""

    device = next(loaded.model.parameters()).device
    with torch.autocast(device.type, enabled=False):
        found = trace(loaded.model, torch.from_numpy(_source(loaded, text))[None].to(device), config)
    tokens = pieces(loaded.target, [node.token for node in found.nodes])
    nodes = [
        {
            "parent": node.parent,
            "step": node.step,
            "token": "<eos>" if node.token == EOS else piece,
            "log_prob": round(node.log_prob, 4) + 0.0,
            "total": round(node.total, 4) + 0.0,
            "fate": node.fate,
            "score": None if node.score is None else round(node.score, 4),
        }
        for node, piece in zip(found.nodes, tokens, strict=True)
    ]
    return {"nodes": nodes, "ends": found.ends, "texts": [loaded.target.decode(best.tokens) for best in found.best]}


PAGE = Page(
    "translate",
    "Translate",
    "A sentence through every translator: the best it finds, what it reads for each token, and the search as a tree.",
    "translate.html.j2",
    "translate.js",
    router,
    at_once=8,
)
