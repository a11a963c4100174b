"""Translate: what every translator makes of a sentence, what it reads meanwhile, and how the search went."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.faces.explorer.page import Page
from langladder.faces.http.shelf import Shelf
from langladder.faces.http.streaming import streamed
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from langladder.answers.loading import LoadedTranslator
    from langladder.decoding.beam_search import BeamConfig

MOST_CHARACTERS = 1_000
MOST_TOKENS = 120  # of a sentence: every step of its search is shown
WIDEST = 16

Name = Annotated[str, Field(max_length=500)]


class Search(BaseModel):
    """A sentence, and how its translations are looked for."""

    text: str = Field(max_length=MOST_CHARACTERS)
    width: int = Field(default=5, ge=1, le=WIDEST)
    n_best: int = Field(default=5, ge=1, le=WIDEST)
    alpha: float = Field(default=0.7, ge=0, le=2)
    length_form: Literal["power", "gnmt"] = "power"

    def config(self) -> "BeamConfig":
        """For `beam_search`."""
        from langladder.decoding.beam_search import BeamConfig

        n_best = min(self.n_best, self.width)
        return BeamConfig(width=self.width, n_best=n_best, alpha=self.alpha, length_form=self.length_form)


class SearchAll(Search):
    """By several models."""

    models: list[Name] = Field(max_length=40)


class SearchOne(Search):
    """By one model."""

    model: Name


class Reading(BaseModel):
    """A sentence and a translation of it, by the ids of its tokens."""

    model: Name
    text: str = Field(max_length=MOST_CHARACTERS)
    ids: list[Annotated[int, Field(ge=0)]] = Field(max_length=1_000)


class Held(NamedTuple):
    """A translator; `lock`: it answers one question at a time."""

    loaded: "LoadedTranslator"
    lock: threading.Lock


def router(shelf: Shelf) -> APIRouter:
    """See `Page`."""
    routes = APIRouter()

    @routes.post("/search", response_class=StreamingResponse)
    def search(asked: SearchAll) -> StreamingResponse:
        """The best translations of each model and its greedy one, an event a model."""
        return streamed(_all(shelf, asked, sentence(asked.text)))

    @routes.post("/attention")
    def attention(asked: Reading) -> dict[str, Any]:
        """What was read for each token: `weights` of every layer and head, (heads, tokens, tokens)."""
        held = _held(shelf, asked.model)
        with held.lock:
            return read_by(held.loaded, sentence(asked.text), asked.ids)

    @routes.post("/tree")
    def tree(asked: SearchOne) -> dict[str, Any]:
        """The search, step by step: a node is a token behind its parent, with what became of it."""
        held = _held(shelf, asked.model)
        with held.lock:
            return tree_of(held.loaded, sentence(asked.text), asked.config())

    return routes


def sentence(text: str) -> str:
    """The text as one line.

    Raises:
        InputError: it is empty.
    """
    if not text.strip():
        raise InputError("text: empty; write a sentence")
    return " ".join(text.split())


def _held(shelf: Shelf, name: str) -> Held:
    found: Held = shelf.have("translator", shelf.find(name), _read)
    return found


def _read(folder: Path) -> Held:
    from langladder.answers.loading import read_translator

    loaded = read_translator(folder)
    loaded.model.eval()
    return Held(loaded, threading.Lock())


def _source(loaded: "LoadedTranslator", text: str) -> "np.ndarray":
    import numpy as np

    from langladder.text.tokenize.specials import EOS

    ids = np.append(loaded.source.encode(text), EOS).astype(np.int64)
    if len(ids) > MOST_TOKENS:
        raise InputError(f"text: {len(ids):,} tokens for {loaded.name}; at most {MOST_TOKENS} are shown here: cut it")
    return ids


def _all(shelf: Shelf, asked: SearchAll, text: str) -> Iterator[dict[str, Any]]:
    for name in dict.fromkeys(asked.models):
        try:
            held = _held(shelf, name)
            with held.lock:
                yield {"model": name} | search_by(held.loaded, text, asked.config())
        except InputError as error:
            yield {"model": name, "error": {"message": str(error)}}


def search_by(loaded: "LoadedTranslator", text: str, config: "BeamConfig") -> dict[str, Any]:
    """The best translations by beam search, the greedy one, and the tokens of the sentence."""
    from langladder.decoding.translate import translate
    from langladder.evaluation.translation import pieces
    from langladder.text.tokenize.specials import UNK

    ids = _source(loaded, text)
    greedy = config.model_copy(update={"width": 1, "n_best": 1})
    found = [translate(loaded.model, [ids], one)[0] for one in (config, greedy)]
    beam, single = (
        [
            {
                "text": loaded.target.decode(one.tokens),
                "ids": one.tokens,
                "tokens": len(one.tokens) + 1,
                "score": round(one.score, 6),
                "log_prob": round(one.log_prob, 6),
            }
            for one in hypotheses
        ]
        for hypotheses in found
    )
    unknown = [place for place, token in enumerate(ids.tolist()) if token == UNK]
    return {"source": pieces(loaded.source, ids[:-1]), "unknown": unknown, "beam": beam, "greedy": single[0]}


def read_by(loaded: "LoadedTranslator", text: str, ids: list[int]) -> dict[str, Any]:
    """Every layer's attention; of a network without layers of it what its search sees, of one without any nothing."""
    from langladder.decoding.attention_heads import Heads, heads, read_by_step
    from langladder.evaluation.translation import pieces

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


def tree_of(loaded: "LoadedTranslator", text: str, config: "BeamConfig") -> dict[str, Any]:
    """All nodes of a search, and which of them end the translations that it returns."""
    import torch

    from langladder.decoding.beam_trace import trace
    from langladder.evaluation.translation import pieces
    from langladder.text.tokenize.specials import EOS

    device = next(loaded.model.parameters()).device
    with torch.autocast(device.type, enabled=False):
        found = trace(loaded.model, torch.from_numpy(_source(loaded, text))[None].to(device), config)
    shown = pieces(loaded.target, [node.token for node in found.nodes])
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
        for node, piece in zip(found.nodes, shown, strict=True)
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
