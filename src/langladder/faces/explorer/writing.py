"""Generated texts: one prompt continued by every language model, one instruction answered by two.

Both are streamed token by token, the models in turn. Microworld's gold judge scores answers to its instructions. A
model that learnt to answer reads the chat template; any other language model reads the instruction as a text and
continues it.
"""

import hashlib
from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.answers.chat import Chooser, chosen_answer
from langladder.answers.generate import stream
from langladder.answers.requests import sampling_at
from langladder.data.instructions import check_prompt
from langladder.decoding.limits import TopP
from langladder.decoding.sampling import SamplingConfig
from langladder.faces.explorer import microworld
from langladder.faces.explorer.page import ModelName, Page, in_turn
from langladder.faces.http.chat import read_answering
from langladder.faces.http.server import Json, streamed
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT
from langladder.models.language.language_model import LanguageModel
from langladder.text.labelled.instructions import USER, Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer

LONGEST_PROMPT, LONGEST_INSTRUCTION = 5_000, 2_000  # characters
MOST_CONTINUED, MOST_ANSWERED = 400, 200  # tokens
MOST_MODELS = 20


class Continuing(BaseModel):
    """A prompt, and how tokens are drawn: temperature 0 takes the likeliest."""

    prompt: str = Field(default="", max_length=LONGEST_PROMPT)
    models: list[ModelName] = Field(max_length=MOST_MODELS)
    temperature: float = Field(default=1.0, ge=0, le=100, allow_inf_nan=False)
    top_k: int | None = Field(default=None, ge=1, le=2**31)
    top_p: TopP = None
    seed: int = Field(default=0, ge=0, lt=2**53)
    max_tokens: int = Field(default=40, ge=1, le=MOST_CONTINUED)


def continue_router(shelf: Shelf) -> APIRouter:
    """The API of the page."""
    routes = APIRouter()

    @routes.post("/text", response_class=StreamingResponse)
    def text(request: Continuing) -> StreamingResponse:
        """The continuation of each model: one event per token, {"model", "text" so far}.

        The last has the `end` and the model's own `seed`, with which `langladder generate` draws the same.
        """
        return streamed(in_turn(request.models, lambda name: _continued(shelf, name, request)))

    return routes


def own_seed(seed: int, name: str) -> int:
    """The seed of one model: from the page's seed and the model's name.

    With the same random numbers, two models draw nearly the same text while their probabilities are similar, which
    hides the difference between them.
    """
    return int.from_bytes(hashlib.blake2b(f"{seed} {name}".encode(), digest_size=4).digest())


def _continued(shelf: Shelf, name: str, request: Continuing) -> Iterator[Json]:
    """The continuation of one model, which is locked for one token at a time: nobody waits for a whole text."""
    rung = shelf.language_model(name)
    config = sampling_at(
        request.temperature,
        top_k=request.top_k,
        top_p=request.top_p,
        seed=own_seed(request.seed, name),
        max_tokens=request.max_tokens,
    )
    ids = rung.tokenizer.encode(request.prompt).tolist()
    begun, drawn = len(rung.tokenizer.decode(ids)), stream(rung.model, [BOS, *ids], config)
    while True:
        with rung.lock:
            text = next(drawn, None)
        if text is None or text.token == EOS:
            end = "length" if text is None else "stop"
            yield {"text": rung.tokenizer.decode(ids)[begun:], "end": end, "seed": config.seed}
            return
        ids.append(text.token)
        yield {"text": rung.tokenizer.decode(ids)[begun:].rstrip("\ufffd")}


CONTINUE = Page(
    "continue",
    "Continue",
    "How each language model continues the same words.",
    "continue.html.j2",
    "continue.js",
    continue_router,
)


class Instructing(BaseModel):
    """An instruction, the models that answer it, and the sampling: temperature 0 takes the likeliest token."""

    instruction: str = Field(max_length=LONGEST_INSTRUCTION)
    models: list[ModelName] = Field(max_length=4)
    temperature: float = Field(default=0.0, ge=0, le=100, allow_inf_nan=False)
    seed: int = Field(default=0, ge=0, lt=2**32)
    max_tokens: int = Field(default=40, ge=1, le=MOST_ANSWERED)


def instruct_router(shelf: Shelf) -> APIRouter:
    """The API of the page."""
    routes = APIRouter()

    @routes.post("/examples")
    def examples() -> list[dict[str, str]]:
        """Some instructions of each kind, with a right answer; `shown`: unseen if training has none of the kind."""
        return microworld.examples()

    @routes.post("/answer", response_class=StreamingResponse)
    def answer(request: Instructing) -> StreamingResponse:
        """Events: {"model", "text" so far}; the last of each model has {"end", "judged"}."""
        return streamed(in_turn(request.models, lambda name: _answered(shelf, name, request)))

    return routes


def _answered(shelf: Shelf, name: str, request: Instructing) -> Iterator[Json]:
    model = shelf.load("answering", shelf.find(name), read_answering)
    config = sampling_at(request.temperature, seed=own_seed(request.seed, name), max_tokens=request.max_tokens)
    text, texts = "", answer_as_it_grows(model.model, model.tokenizer, request.instruction, config, model.chooser)
    while True:
        with model.lock:
            longer = next(texts, None)
        if longer is None:
            evaluation = microworld.evaluate_answer(request.instruction, text)
            yield {"text": text, "end": "whole", "judged": evaluation}
            return
        text = longer
        yield {"text": text}


def check_instruction(model: LanguageModel, tokenizer: Tokenizer, instruction: str) -> None:
    """Raise InputError if the instruction is empty, or there is no room for an answer."""
    if not instruction.strip():
        raise InputError("no instruction; type one, or choose an example")
    if isinstance(model, InstructedGPT):
        dialogue = (Message(USER, instruction),)
        check_prompt(ChatTemplate(tokenizer).prompt(dialogue), model.context, "the instruction", dialogue)


def answer_as_it_grows(
    model: LanguageModel,
    tokenizer: Tokenizer,
    instruction: str,
    config: SamplingConfig,
    chooser: Chooser | None = None,
) -> Iterator[str]:
    """The answer as it grows: each text continues the one before it, up to its last complete character.

    Args:
        chooser: for a best-of-n, whose answer is sent at once.

    Raises:
        InputError: as `check_instruction`.
    """
    instruction = instruction.strip()
    check_instruction(model, tokenizer, instruction)
    dialogue = (Message(USER, instruction),)
    if not isinstance(model, InstructedGPT):
        prompt = [BOS, *tokenizer.encode(instruction).tolist()]
        yield from _drawn(model, tokenizer, prompt, config)
        return
    template = ChatTemplate(tokenizer)
    if chooser is not None:
        yield chosen_answer(model, template, dialogue, config, chooser)
        return
    row = template.prompt(dialogue).tolist()
    shortened = config.model_copy(update={"max_tokens": min(config.max_tokens, model.context - len(row))})
    yield from _drawn(model, tokenizer, row, shortened)


def _drawn(model: LanguageModel, tokenizer: Tokenizer, prompt: list[int], config: SamplingConfig) -> Iterator[str]:
    ids: list[int] = []
    text = ""
    for token, _ in stream(model, prompt, config):
        if token == EOS:
            break
        ids.append(token)
        if (longer := tokenizer.decode(ids).strip()) != text and not longer.endswith("\ufffd"):
            text = longer
            yield text
    if (whole := tokenizer.decode(ids).strip()) != text or not text:
        yield whole


INSTRUCT = Page(
    "instruct",
    "Instruct",
    "Two models answer one instruction, and microworld's gold judge scores the answers.",
    "instruct.html.j2",
    "instruct.js",
    instruct_router,
    needs=("instruct",),
)
