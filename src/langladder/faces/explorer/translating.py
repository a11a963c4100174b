"""Translate: the translations of every translator, its attention, and its search."""

import threading
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.answers import translate as translating
from langladder.answers.loading import LoadedTranslator, read_translator
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.limits import LengthExponent, LengthForm
from langladder.faces.explorer.page import ModelName, Page, each_model
from langladder.faces.http.server import Json, streamed
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import EOS

MOST_CHARACTERS = 1_000
MOST_TOKENS = 120  # of a sentence: every step of its search is shown
WIDEST = 16


class Search(BaseModel):
    """A sentence, and the settings of the search."""

    text: str = Field(max_length=MOST_CHARACTERS)
    width: int = Field(default=5, ge=1, le=WIDEST)
    n_best: int = Field(default=5, ge=1, le=WIDEST)
    alpha: LengthExponent = 0.7
    length_form: LengthForm = "power"

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
    """The API of the page."""
    routes = APIRouter()

    @routes.post("/search", response_class=StreamingResponse)
    def search(request: SearchAll) -> StreamingResponse:
        """The best translations of each model and its greedy one, one event per model."""
        text = one_line(request.text)

        def translations(name: str) -> Json:
            loaded, lock = locked_translator(shelf, name)
            with lock:
                return {**translating.search(loaded, _source(loaded, text), request.config())}

        return streamed(each_model(request.models, translations))

    @routes.post("/attention")
    def attention(request: Reading) -> Json:
        """The attention for each token: `weights` of every layer and head, (heads, tokens, tokens)."""
        loaded, lock = locked_translator(shelf, request.model)
        with lock:
            return {**translating.weights(loaded, _source(loaded, one_line(request.text)), request.ids)}

    @routes.post("/tree")
    def tree(request: SearchOne) -> Json:
        """The search, step by step: a node is a token after its parent, with its outcome."""
        loaded, lock = locked_translator(shelf, request.model)
        with lock:
            return {**translating.search_tree(loaded, _source(loaded, one_line(request.text)), request.config())}

    return routes


def one_line(text: str) -> str:
    """The text as one line.

    Raises:
        InputError: it is empty.
    """
    if not text.strip():
        raise InputError("text: empty; write a sentence")
    return " ".join(text.split())


def locked_translator(shelf: Shelf, name: str) -> LockedTranslator:
    """A translator of the shelf.

    Raises:
        UnknownModelError: there is no such model. InputError: it is damaged.
    """
    return shelf.load("translator", shelf.find(name), _read)


def _read(folder: Path) -> LockedTranslator:
    loaded = read_translator(folder)
    loaded.model.eval()
    return LockedTranslator(loaded, threading.Lock())


def _source(loaded: LoadedTranslator, text: str) -> np.ndarray:
    """The ids of a sentence, EOS at its end, (S,).

    Raises:
        InputError: it has too many tokens.
    """
    ids = np.append(loaded.source.encode(text), EOS).astype(np.int64)
    if len(ids) > MOST_TOKENS:
        raise InputError(f"text: {len(ids):,} tokens for {loaded.name}; at most {MOST_TOKENS} are shown here: cut it")
    return ids


PAGE = Page(
    "translate",
    "Translate",
    "A sentence through every translator: its best translations, its attention, and the search as a tree.",
    "translate.html.j2",
    "translate.js",
    router,
    at_once=8,
)
