"""The completions form of OpenAI's API, for every language model: continue a prompt, or say how likely it is.

https://platform.openai.com/docs/api-reference/completions, as clients and lm-evaluation-harness's `local-completions`
use it: `prompt` is text, several texts, or ids of the model's own tokenizer; `echo` with `logprobs` scores the prompt.
What differs: a text begins with BOS, so its first token has a probability, too; `seed` decides what is drawn. An end
that is drawn is a token with a log-probability and no text. What is impossible has the log-probability that OpenAI
gives what it cannot tell, since JSON has no infinity.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from langladder.answers.generate import TextStream, distributions, stream
from langladder.decoding.sampling import SamplingConfig, check_bias, device_of
from langladder.faces.http.requests import MOST_CHARACTERS, CompletionRequest, DrawingRequest, texts_or_ids
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Rung
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import BOS, EOS

MOST_PROMPTS = 128
NEVER = -9999.0  # the log-probability of what a model rules out


def prompts(rung: Rung, request: CompletionRequest) -> list[tuple[list[int], bool]]:
    """The ids of each prompt, BOS first, and whether the client's own ids begin with it.

    Raises:
        InputError: too many or too long, or an id that the model does not have.
    """
    found = texts_or_ids(request.prompt)
    if not 1 <= len(found) <= MOST_PROMPTS:
        raise InputError(f"prompt: {len(found)} prompts; 1 to {MOST_PROMPTS} at once are allowed")
    rows = []
    for prompt in found:
        if len(prompt) > MOST_CHARACTERS:
            raise InputError(f"prompt: {len(prompt):,} long; at most {MOST_CHARACTERS:,} characters or ids are allowed")
        ids = rung.tokenizer.encode(prompt).tolist() if isinstance(prompt, str) else list(prompt)
        if ids and max(ids) >= rung.model.vocab_size:
            raise InputError(
                f"prompt: id {max(ids)} is not one of the model's, which are 0 to {rung.model.vocab_size - 1}"
            )
        opened = ids[:1] == [BOS]
        rows.append((ids if opened else [BOS, *ids], opened))
    return rows


class Mark(NamedTuple):
    """What the model finds of a token.

    Attributes:
        log_prob: None of what was given, not predicted.
        likeliest: the likeliest tokens in its place, by their text; None where they are not asked for.
        offset: where its text begins.
    """

    token: str
    log_prob: float | None
    likeliest: dict[str, float] | None
    offset: int


@dataclass
class Choice:
    """One continuation, as it grows.

    Attributes:
        config: how tokens are drawn.
        prompt: BOS first. opened: whether this BOS is the client's, who then wants a mark for it, too.
        text: what is given back: the prompt, where it is echoed, and what is new.
        new: how many tokens were drawn.
        sent: characters, and `marked` tokens, that were given in pieces already.
        finish: why it ended.
    """

    rung: Rung
    request: DrawingRequest
    config: SamplingConfig
    index: int
    prompt: list[int]
    opened: bool = False
    text: str = ""
    new: int = 0
    sent: int = 0
    marked: int = 0
    finish: str | None = None
    marks: list[Mark] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._decoder = TextStream(self.rung.tokenizer)

    def read_prompt(self) -> None:
        """Give the prompt back, with what the model finds of it."""
        model, row = self.rung.model, self.prompt
        if self.opened and self.request.likeliest is not None:
            self.mark(BOS, None, None, 0)
        if self.request.likeliest is None or len(row) == 1:
            for token in row[1:]:
                self.add(token, None, None)
            return
        with torch.no_grad():
            found = model.log_probs(torch.tensor([row], device=device_of(model)))[0, 1:].tolist()
        likeliest = distributions(model, row) if self.request.likeliest else iter([None] * len(found))
        for token, value, others in zip(row[1:], found, likeliest, strict=True):
            self.add(token, value, others)

    def add(self, token: int, log_prob: float | None, others: torch.Tensor | None) -> None:
        """One token more."""
        before, self.text = self.text, self._stripped(self._decoder.add(token))
        if self.request.likeliest is not None:
            self.mark(token, log_prob, others, _begun(before, self.text))

    def mark(self, token: int, log_prob: float | None, others: torch.Tensor | None, offset: int) -> None:
        """Note a token's log-probability and the likeliest in its place."""
        value = None if log_prob is None else log_prob if math.isfinite(log_prob) else NEVER
        likeliest = self._likeliest(others)
        piece = self.rung.tokenizer.piece(token)
        if likeliest and value is not None and others is not None and likeliest.get(piece) == float(others[token]):
            likeliest[piece] = value  # computed in another batch, it may differ in the last digit
        self.marks.append(Mark(piece, value, likeliest, offset))

    def _likeliest(self, log_probs: torch.Tensor | None) -> dict[str, float] | None:
        """The likeliest tokens by their text, of which several ids may have the same: the likelier one counts."""
        most = self.request.likeliest
        if not most or log_probs is None:
            return {} if most == 0 else None
        values, ids = log_probs.topk(min(most, len(log_probs)))
        found: dict[str, float] = {}
        for value, token in zip(values.tolist(), ids.tolist(), strict=True):
            if math.isfinite(value):
                found.setdefault(self.rung.tokenizer.piece(token), value)
        return found

    def grow(self) -> Iterator[str]:
        """Draw tokens until EOS, a stop, or `max_tokens`; gives the text so far."""
        written = len(self.text)
        for token, log_probs in stream(self.rung.model, self.prompt, self.config, row=self.index):
            self.new += 1
            if token == EOS:
                if self.request.likeliest is not None:
                    self.mark(EOS, float(log_probs[token]), log_probs, len(self.text))
                self.finish = "stop"
                return
            self.add(token, float(log_probs[token]), log_probs)
            ends = [end for stop in self.request.stops if (end := self.text.find(stop, written)) >= 0]
            if ends:
                self.text = self.text[: min(ends)]
                self.finish = "stop"
                return
            yield self.text
        self.finish = "length"

    def pieces(self) -> Iterator[Json]:
        """What is streamed: the text that is certain by now, then how it ended.

        The last characters are held back while they may be the beginning of a stop, or of a character that is not
        whole.
        """
        withheld = max((len(stop) - 1 for stop in self.request.stops), default=0)
        if isinstance(self.request, CompletionRequest) and self.request.echo:
            self.read_prompt()
            yield self.more(len(self.text))
        for text in self.grow():
            if (safe := len(text.rstrip("\ufffd")) - withheld) > self.sent:
                yield self.more(safe)
        yield self.more(len(self.text)) | {"finish_reason": self.finish}

    def whole(self) -> Json:
        """All of it as the API has it, when `pieces` are through."""
        return self.as_json(self.text, self.marks) | {"finish_reason": self.finish}

    def more(self, until: int) -> Json:
        """As the API has it, what was not given yet: the text up to a place, and the marks of all tokens so far."""
        text, marks = self.text[self.sent : until], self.marks[self.marked :]
        self.sent, self.marked = until, len(self.marks)
        return self.as_json(text, marks)

    def as_json(self, text: str, marks: Sequence[Mark]) -> Json:
        """A part, or all of it."""
        columns = {
            "tokens": [mark.token for mark in marks],
            "token_logprobs": [mark.log_prob for mark in marks],
            "top_logprobs": [mark.likeliest for mark in marks],
            "text_offset": [mark.offset for mark in marks],
        }
        logprobs = None if self.request.likeliest is None else columns
        return {"index": self.index, "text": text, "logprobs": logprobs, "finish_reason": None}

    def _stripped(self, text: str) -> str:
        return text


def choices(rung: Rung, request: CompletionRequest) -> list[Choice]:
    """The choices that a request asks for, n of each prompt, not yet grown.

    Raises:
        InputError: as `CompletionRequest.check` and `prompts`.
    """
    request.check()
    config = request.sampling(request.max_tokens)
    check_bias(config.logit_bias, rung.model.vocab_size)
    rows = [row for row in prompts(rung, request) for _ in range(request.n)]
    return [Choice(rung, request, config, index, *row) for index, row in enumerate(rows)]


def usage(found: Sequence[Choice]) -> dict[str, int]:
    """Tokens of the prompts (BOS aside) and new ones."""
    read, new = sum(len(choice.prompt) - 1 for choice in found), sum(choice.new for choice in found)
    return {"prompt_tokens": read, "completion_tokens": new, "total_tokens": read + new}


def _begun(before: str, after: str) -> int:
    """Where the text of a token begins, of a text before and after it: a character that is not whole yet is its own."""
    offset = len(before) - (before == after and before.endswith("\ufffd"))
    while not after.startswith(before[:offset]):
        offset -= 1
    return offset
