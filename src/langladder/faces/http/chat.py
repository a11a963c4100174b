"""OpenAI's chat API, for rungs that follow instructions: the answers of `langladder chat` over HTTP.

https://platform.openai.com/docs/api-reference/chat. The model's chat template formats a dialogue; `developer` is
`system`. Differences: the dialogue must fit into the context, because no turn is dropped; an answer has no white space
at its ends; a best-of-n rung returns the answer that its reward model chooses, all at once.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from langladder.answers.chat import Chooser, chooser_of, chosen_answer
from langladder.answers.kinds import kind_of
from langladder.answers.loading import read_model
from langladder.data.instructions import check_prompt
from langladder.decoding.sampling import check_bias
from langladder.faces.http.completions import Choice, Mark
from langladder.faces.http.requests import ChatRequest
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Rung, Shelf
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT
from langladder.models.language.language_model import LanguageModel
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.tokenizers import Tokenizer


class AnsweringModel(NamedTuple):
    """A language model with its tokenizer and a chooser among answers; it answers one question at a time."""

    model: LanguageModel
    tokenizer: Tokenizer
    chooser: Chooser | None
    lock: threading.Lock


def read_answering(folder: Path) -> AnsweringModel:
    """A saved language model; one that follows instructions can be a best-of-n.

    Raises:
        InputError: as `read_model` and `chooser_of`.
    """
    _, model, tokenizer, _ = read_model(folder)
    chooser = chooser_of(folder, tokenizer, None, None) if kind_of(folder) == "instruct" else None
    if isinstance(model, InstructedGPT):
        model.eval()
    return AnsweringModel(model, tokenizer, chooser, threading.Lock())


@dataclass
class ChatChoice(Choice):
    """One answer while it is generated.

    Attributes:
        chooser: for a best-of-n.
        messages: the dialogue.
    """

    chooser: Chooser | None = None
    messages: tuple[Message, ...] = ()

    def grow(self) -> Iterator[str]:
        if self.chooser is None:
            yield from super().grow()
            return
        model = self.rung.model
        assert isinstance(model, InstructedGPT)  # `answers` sees to it
        config = self.config.model_copy(update={"seed": self.config.seed + self.index})
        self.text = chosen_answer(model, ChatTemplate(self.rung.tokenizer), self.messages, config, self.chooser)
        self.new = len(self.rung.tokenizer.encode(self.text))
        ends = [end for stop in self.request.stops if (end := self.text.find(stop)) >= 0]
        self.text = self.text[: min(ends, default=None)]
        self.finish = "stop"

    def whole(self) -> Json:
        message = {"role": "assistant", "content": self.text, "refusal": None}
        content = super().whole() | {"message": message}
        del content["delta"]
        return content

    def pieces(self) -> Iterator[Json]:
        """First the role."""
        yield self.more(0) | {"delta": {"role": "assistant", "content": ""}}
        yield from super().pieces()

    def as_json(self, text: str, marks: Sequence[Mark]) -> Json:
        content = [
            _mark(mark.token, mark.log_prob)
            | {"top_logprobs": [_mark(*pair) for pair in (mark.likeliest or {}).items()]}
            for mark in marks
        ]
        logprobs = None if self.request.likeliest is None else {"content": content, "refusal": None}
        delta = {"content": text} if text else {}
        return {"index": self.index, "logprobs": logprobs, "finish_reason": None, "delta": delta}

    def _stripped(self, text: str) -> str:
        return text.strip()


def _mark(token: str, value: float | None) -> Json:
    return {"token": token, "logprob": value, "bytes": None}


def answers(shelf: Shelf, request: ChatRequest) -> tuple[threading.Lock, list[Choice]]:
    """The requested answers, not yet generated, and the lock of their model.

    Raises:
        UnknownModelError: there is no such model. InputError: it does not follow instructions, an option is not
            supported, or the dialogue leaves no room for an answer.
    """
    request.check()
    model, tokenizer, chooser, lock = shelf.load("answering", shelf.find(request.model), read_answering)
    if not isinstance(model, InstructedGPT):
        raise InputError(f"model: {request.model[:80]!r} does not follow instructions; use /v1/completions")
    if chooser is not None and request.likeliest is not None:
        raise InputError(f"logprobs: not supported by {request.model[:80]!r}, which chooses whole answers")
    messages = tuple(message.message() for message in request.messages)
    prompt = ChatTemplate(tokenizer).prompt(messages)
    check_prompt(prompt, model.context, "messages", messages)
    free = model.context - len(prompt)
    config = request.sampling(min(request.max_completion_tokens or request.max_tokens or free, free))
    check_bias(config.logit_bias, model.number_of_words)
    rung = Rung(model, tokenizer, lock)
    choices: list[Choice] = [
        ChatChoice(rung, request, config, index, prompt.tolist(), chooser=chooser, messages=messages)
        for index in range(request.n)
    ]
    return lock, choices
