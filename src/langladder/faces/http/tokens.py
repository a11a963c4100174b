"""A model's tokens over HTTP, in vLLM's form, so that clients know them without the model's files.

lm-evaluation-harness counts the tokens of a context with it (`tokenizer_backend=remote`, which it finds by itself).
These requests of vLLM's name no model; a server of several language models needs `model` in them. Other options of
vLLM's are ignored.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from langladder.faces.http.completions import MOST_CHARACTERS
from langladder.faces.http.requests import Ids, OpenAIRequest
from langladder.faces.http.shelf import Rung, Shelf
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import BOS, EOS, NAMES

SPECIALS = {NAMES[special]: special for special in (BOS, EOS)}


class Texts(OpenAIRequest):
    """What is to be cut; a special by itself, such as `<eos>`, is that special."""

    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    prompt: Annotated[str, Field(max_length=MOST_CHARACTERS)]


class Tokens(OpenAIRequest):
    """Ids whose text is asked for."""

    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    tokens: Annotated[Ids, Field(max_length=MOST_CHARACTERS)]


def router(shelf: Shelf) -> APIRouter:
    """`/tokenizer_info`, `/tokenize` and `/detokenize`."""
    routes = APIRouter()

    @routes.get("/tokenizer_info")
    def info(model: str | None = None) -> dict[str, Any]:
        tokenizer = _rung(shelf, model).tokenizer
        return {"bos_token": NAMES[BOS], "eos_token": NAMES[EOS], "vocab_size": tokenizer.vocab_size}

    @routes.post("/tokenize")
    def tokenize(request: Texts) -> dict[str, Any]:
        special = SPECIALS.get(request.prompt)
        ids = _rung(shelf, request.model).tokenizer.encode(request.prompt).tolist() if special is None else [special]
        return {"tokens": ids, "count": len(ids)}

    @routes.post("/detokenize")
    def detokenize(request: Tokens) -> dict[str, Any]:
        rung = _rung(shelf, request.model)
        if (most := max(request.tokens, default=0)) >= rung.model.vocab_size:
            raise InputError(f"tokens: id {most} is none of the model's, which are 0 to {rung.model.vocab_size - 1}")
        return {"prompt": rung.tokenizer.decode(request.tokens)}

    return routes


def _rung(shelf: Shelf, model: str | None) -> Rung:
    if model is None:
        names = list(shelf.folders_of("lm"))
        if len(names) != 1:
            raise InputError(f"model: not named, and {len(names)} language models are served: {', '.join(names)}")
        model = names[0]
    return shelf.language_model(model)
