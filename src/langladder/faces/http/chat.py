"""The chat form of OpenAI's API, for rungs that follow instructions: what `langladder chat` answers, over HTTP.

https://platform.openai.com/docs/api-reference/chat. A dialogue is read by the model's chat template; `developer` is
`system`. What differs: the dialogue has to fit into the context, which no turn is dropped for; an answer has no white
space at its ends; a rung that is a best-of-n gives the answer that its reward model chooses, all at once.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from langladder.answers.loading import read_model
from langladder.data.instructions import check_prompt
from langladder.decoding.chosen_answers import Chooser, chosen_answer
from langladder.decoding.sampling import check_bias
from langladder.faces.http.choosers import chooser_of
from langladder.faces.http.completions import MOST_CHARACTERS, Choice
from langladder.faces.http.kinds import kind_of
from langladder.faces.http.requests import MOST_LIKELIEST, MOST_TOKENS, DrawingRequest, OpenAIRequest
from langladder.faces.http.shelf import Rung, Shelf
from langladder.ground.errors import InputError
from langladder.models.instructed import InstructedGPT
from langladder.text.labelled.instructions import Message, check_messages
from langladder.text.labelled.templates import ChatTemplate


class Part(OpenAIRequest):
    """A part of a message."""

    type: Literal["text"]
    text: str


class ChatMessage(OpenAIRequest):
    """A turn. Ignored: `name`, `refusal`, `annotations`, which answers of OpenAI's bear."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Part]
    name: str | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None

    def message(self) -> Message:
        """As the chat template reads it."""
        text = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return Message("system" if self.role == "developer" else self.role, text.strip())


class ResponseFormat(OpenAIRequest):
    """Text is the only form of an answer."""

    type: Literal["text"]


class ChatRequest(DrawingRequest):
    """A dialogue whose next turn is asked for; see `DrawingRequest`.

    Ignored: `metadata`, `store`, `service_tier`, `safety_identifier`, `prompt_cache_key`, `parallel_tool_calls`.
    """

    messages: list[ChatMessage]
    max_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None  # their newer name of it
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=MOST_LIKELIEST)] | None = None
    response_format: ResponseFormat | None = None
    modalities: list[Literal["text"]] | None = None
    tool_choice: Literal["none", "auto"] | None = None
    tools: Annotated[list[Any], Field(max_length=0)] | None = None
    metadata: dict[str, str] | None = None
    store: bool = False
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    parallel_tool_calls: bool = True

    @property
    def likeliest(self) -> int | None:
        """See `DrawingRequest`."""
        return (self.top_logprobs or 0) if self.logprobs else None

    def check(self) -> None:
        """See `DrawingRequest`."""
        super().check()
        if self.top_logprobs and not self.logprobs:
            raise InputError(f"top_logprobs: {self.top_logprobs} without logprobs; say logprobs: true")
        if len({self.max_tokens, self.max_completion_tokens} - {None}) > 1:
            raise InputError(
                f"max_tokens: {self.max_tokens}, and max_completion_tokens: {self.max_completion_tokens}; they are "
                "two names of one option: give one"
            )
        messages = [one.message() for one in self.messages]
        check_messages(messages, "messages")
        if (length := sum(len(message.text) for message in messages)) > MOST_CHARACTERS:
            raise InputError(f"messages: {length:,} characters; at most {MOST_CHARACTERS:,} are allowed")


class Answering(NamedTuple):
    """A language model with its tokenizer, and who chooses among its answers; it answers one question at a time."""

    model: Any
    tokenizer: Any
    chooser: Chooser | None
    lock: threading.Lock


def read_answering(folder: Path) -> Answering:
    """A saved language model; one that follows instructions may be a best-of-n.

    Raises:
        InputError: as `read_model` and `chooser_of`.
    """
    _, model, tokenizer, _ = read_model(folder)
    chooser = chooser_of(folder, tokenizer, None, None) if kind_of(folder) == "instruct" else None
    return Answering(model.eval() if hasattr(model, "eval") else model, tokenizer, chooser, threading.Lock())


@dataclass
class Answer(Choice):
    """One answer, as it grows.

    Attributes:
        chooser: of a best-of-n.
        messages: the dialogue.
    """

    chooser: Chooser | None = None
    messages: tuple[Message, ...] = ()

    def grow(self) -> Iterator[str]:
        """See `Choice`."""
        if self.chooser is None:
            yield from super().grow()
            return
        config = self.config.model_copy(update={"seed": self.config.seed + self.index})
        template = ChatTemplate(self.rung.tokenizer)
        self.text = chosen_answer(self.rung.model, template, self.messages, config, self.chooser)  # type: ignore[arg-type]
        self.new = len(self.rung.tokenizer.encode(self.text))
        ends = [place for stop in self.request.stops if (place := self.text.find(stop)) >= 0]
        self.text = self.text[: min(ends, default=None)]
        self.finish = "stop"

    def whole(self) -> dict[str, Any]:
        """See `Choice`."""
        found = super().whole()
        message = {"role": "assistant", "content": found["delta"].get("content", ""), "refusal": None}
        return {key: value for key, value in found.items() if key != "delta"} | {"message": message}

    def pieces(self) -> Iterator[dict[str, Any]]:
        """See `Choice`: first who speaks."""
        yield self.more(0) | {"delta": {"role": "assistant", "content": ""}}
        yield from super().pieces()

    def more(self, until: int) -> dict[str, Any]:
        """See `Choice`."""
        found = super().more(until)
        text, marks = found.pop("text"), found["logprobs"]
        rows = zip(marks["tokens"], marks["token_logprobs"], marks["top_logprobs"], strict=True) if marks else ()
        content = [
            _mark(token, value) | {"top_logprobs": [_mark(*one) for one in others.items()]}
            for token, value, others in rows
        ]
        return found | {
            "delta": {"content": text} if text else {},
            "logprobs": {"content": content, "refusal": None} if marks else None,
        }

    def _decoded(self) -> str:
        return super()._decoded().strip()


def _mark(token: str, value: float) -> dict[str, Any]:
    return {"token": token, "logprob": value, "bytes": None}


def answers(shelf: Shelf, request: ChatRequest) -> tuple[threading.Lock, list[Choice]]:
    """The answers that a request asks for, not yet grown, and the lock of their model.

    Raises:
        UnknownModelError: there is no such model. InputError: it follows no instructions, what is asked is not offered,
            or the dialogue leaves no room for an answer.
    """
    request.check()
    model, tokenizer, chooser, lock = shelf.have("answering", shelf.find(request.model), read_answering)
    if not isinstance(model, InstructedGPT):
        raise InputError(f"model: {request.model[:80]!r} follows no instructions; ask it by /v1/completions")
    if chooser is not None and request.likeliest is not None:
        raise InputError(f"logprobs: not offered by {request.model[:80]!r}, whose answers are chosen as a whole")
    messages = tuple(one.message() for one in request.messages)
    prompt = ChatTemplate(tokenizer).prompt(messages)
    check_prompt(prompt, model.context, "messages", messages)
    room = model.context - len(prompt)
    config = request.sampling(min(request.max_completion_tokens or request.max_tokens or room, room))
    check_bias(config.logit_bias, model.number_of_words)
    rung = Rung(model, tokenizer, lock)
    found: list[Choice] = [
        Answer(rung, request, config, index, prompt.tolist(), chooser=chooser, messages=messages)
        for index in range(request.n)
    ]
    return lock, found
