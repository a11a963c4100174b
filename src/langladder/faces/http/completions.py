"""The completions form of OpenAI's API, for every language model: continue a prompt, or say how likely it is.

https://platform.openai.com/docs/api-reference/completions, as clients and lm-evaluation-harness's `local-completions`
use it: `prompt` is text, several texts, or ids of the model's own tokenizer; `echo` with `logprobs` scores the prompt.
What differs: a text begins with BOS, so its first token has a probability, too; `seed` decides what is drawn. An end
that is drawn is a token with a log-probability and no text. What is impossible has the log-probability that OpenAI
gives what it cannot tell, since JSON has no infinity.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import torch
from pydantic import Field

from langladder.decoding.sampling import SamplingConfig, check_bias, device_of
from langladder.decoding.stream import distributions, stream
from langladder.faces.http.requests import MOST_LIKELIEST, MOST_TOKENS, DrawingRequest, Ids
from langladder.faces.http.shelf import Rung
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import BOS, EOS

MOST_CHARACTERS = 100_000  # of a prompt
MOST_PROMPTS = 128
NEVER = -9999.0  # the log-probability of what a model rules out


class CompletionRequest(DrawingRequest):
    """What a client asks to be continued; see `DrawingRequest`."""

    prompt: str | list[str] | Ids | list[Ids] = ""
    max_tokens: int = Field(default=16, ge=0, le=MOST_TOKENS)
    logprobs: Annotated[int, Field(ge=0, le=MOST_LIKELIEST)] | None = None
    echo: bool = False
    best_of: int | None = None
    suffix: str | None = None

    @property
    def likeliest(self) -> int | None:
        """See `DrawingRequest`."""
        return self.logprobs

    def check(self) -> None:
        """See `DrawingRequest`."""
        super().check()
        if self.suffix:
            raise InputError("suffix: not offered; these models read from left to right")
        if self.best_of not in (None, self.n):
            raise InputError(f"best_of: {self.best_of} is not offered; leave it out, or say n={self.n}")


def prompts(rung: Rung, request: CompletionRequest) -> list[tuple[list[int], bool]]:
    """The ids of each prompt, BOS first, and whether the client's own ids begin with it.

    Raises:
        InputError: too many or too long, or an id that the model does not have.
    """
    asked: Any = request.prompt
    if isinstance(asked, str) or (asked and isinstance(asked[0], int)):
        asked = [asked]
    if not 1 <= len(asked) <= MOST_PROMPTS:
        raise InputError(f"prompt: {len(asked)} prompts; 1 to {MOST_PROMPTS} at once are allowed")
    rows = []
    for prompt in asked:
        if len(prompt) > MOST_CHARACTERS:
            raise InputError(f"prompt: {len(prompt):,} long; at most {MOST_CHARACTERS:,} characters or ids are allowed")
        ids = rung.tokenizer.encode(prompt).tolist() if isinstance(prompt, str) else list(prompt)
        if ids and max(ids) >= rung.model.vocab_size:
            raise InputError(
                f"prompt: id {max(ids)} is none of the model's, which are 0 to {rung.model.vocab_size - 1}"
            )
        opened = ids[:1] == [BOS]
        rows.append((ids if opened else [BOS, *ids], opened))
    return rows


@dataclass
class Choice:
    """One continuation, as it grows.

    Attributes:
        opened: whether the prompt's BOS is the client's, who then wants a mark for it, too.
        config: how tokens are drawn.
        ids: of the text that is given back: the prompt's, where it is echoed, and the new ones.
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
    ids: list[int] = field(default_factory=list)
    text: str = ""
    new: int = 0
    sent: int = 0
    marked: int = 0
    finish: str | None = None
    marks: dict[str, list[Any]] = field(
        default_factory=lambda: {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    )

    def read_prompt(self) -> None:
        """Give the prompt back, with what the model finds of it."""
        model, row = self.rung.model, self.prompt
        if self.opened and self.request.likeliest is not None:
            self.mark(BOS, None, None, 0)
        if self.request.likeliest is not None and len(row) > 1:
            with torch.no_grad():
                found = model.log_probs(torch.tensor([row], device=device_of(model)))[0, 1:].tolist()
            likeliest = distributions(model, row) if self.request.likeliest else iter([None] * len(found))
            for token, value, others in zip(row[1:], found, likeliest, strict=True):
                self.add(token, value, others)
        else:
            self.ids += row[1:]
            self.text = self._decoded()

    def add(self, token: int, log_prob: float | None, others: torch.Tensor | None) -> None:
        """One token more."""
        before = self.text
        self.ids.append(token)
        self.text = self._decoded()
        if self.request.likeliest is not None:
            self.mark(token, log_prob, others, _begun(before, self.text))

    def mark(self, token: int, log_prob: float | None, others: torch.Tensor | None, place: int) -> None:
        """Note a token's log-probability and the likeliest in its place; None of what was given, not predicted."""
        value = None if log_prob is None else log_prob if math.isfinite(log_prob) else NEVER
        likeliest = self._likeliest(others)
        piece = self.rung.tokenizer.piece(token)
        if likeliest and value is not None and others is not None and likeliest.get(piece) == float(others[token]):
            likeliest[piece] = value  # computed in another batch, it may differ in the last digit
        self.marks["tokens"].append(piece)
        self.marks["token_logprobs"].append(value)
        self.marks["top_logprobs"].append(likeliest)
        self.marks["text_offset"].append(place)

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
            ends = [place for stop in self.request.stops if (place := self.text.find(stop, written)) >= 0]
            if ends:
                self.text = self.text[: min(ends)]
                self.finish = "stop"
                return
            yield self.text
        self.finish = "length"

    def _decoded(self) -> str:
        return self.rung.tokenizer.decode(self.ids)

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

    def whole(self) -> dict[str, Any]:
        """All of it, as the API has it."""
        for _ in self.pieces():
            pass
        self.sent = self.marked = 0
        return self.more(len(self.text)) | {"finish_reason": self.finish}

    def pieces(self) -> Iterator[dict[str, Any]]:
        """What is streamed: the text that is certain by now, then how it ended.

        The last characters are held back while they may be the beginning of a stop, or of a character that is not
        whole.
        """
        held = max((len(stop) - 1 for stop in self.request.stops), default=0)
        if isinstance(self.request, CompletionRequest) and self.request.echo:
            self.read_prompt()
            yield self.more(len(self.text))
        for text in self.grow():
            if (safe := len(text.rstrip("\ufffd")) - held) > self.sent:
                yield self.more(safe)
        yield self.more(len(self.text)) | {"finish_reason": self.finish}

    def more(self, until: int) -> dict[str, Any]:
        """As the API has it, what was not given yet: the text up to a place, and the marks of all tokens so far."""
        text, marks = self.text[self.sent : until], None
        if self.request.likeliest is not None:
            marks = {name: values[self.marked :] for name, values in self.marks.items()}
            self.marked = len(self.marks["tokens"])
        self.sent = until
        return {"index": self.index, "text": text, "logprobs": marks, "finish_reason": None}


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


def usage(found: list[Choice]) -> dict[str, int]:
    """Tokens of the prompts (BOS aside) and new ones."""
    read, made = sum(len(choice.prompt) - 1 for choice in found), sum(choice.new for choice in found)
    return {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}


def _begun(before: str, after: str) -> int:
    """Where the text of a token begins, of a text before and after it: a character that is not whole yet is its own."""
    place = len(before) - (before == after and before.endswith("\ufffd"))
    while not after.startswith(before[:place]):
        place -= 1
    return place
