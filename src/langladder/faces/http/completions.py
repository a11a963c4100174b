"""OpenAI's completions API, for every language model: continue a prompt, or score it.

https://platform.openai.com/docs/api-reference/completions, as clients and lm-evaluation-harness's `local-completions`
use it: `prompt` is text, several texts, or ids of the model's own tokenizer; `echo` with `logprobs` scores the prompt.
Differences: a text begins with BOS, so its first token has a probability, too; `seed` determines the samples. A sampled
end is a token with a log-probability and no text. Impossible tokens have the log-probability that OpenAI uses for
unknown ones, because JSON has no infinity.
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
NEVER = -9999.0  # the log-probability of tokens with probability 0


def prompts(rung: Rung, request: CompletionRequest) -> list[tuple[list[int], bool, str | None]]:
    """The ids of each prompt, BOS first, whether the client's own ids begin with it, and the client's text.

    Raises:
        InputError: too many or too long, or an id that the model does not have.
    """
    results = texts_or_ids(request.prompt)
    if not 1 <= len(results) <= MOST_PROMPTS:
        raise InputError(f"prompt: {len(results)} prompts; allowed are 1 to {MOST_PROMPTS} at once")
    rows = []
    for prompt in results:
        if len(prompt) > MOST_CHARACTERS:
            raise InputError(f"prompt: {len(prompt):,} long; at most {MOST_CHARACTERS:,} characters or ids are allowed")
        ids = rung.tokenizer.encode(prompt).tolist() if isinstance(prompt, str) else list(prompt)
        if ids and max(ids) >= rung.model.vocab_size:
            raise InputError(
                f"prompt: id {max(ids)} is not one of the model's, which are 0 to {rung.model.vocab_size - 1}"
            )
        opened = ids[:1] == [BOS]
        rows.append((ids if opened else [BOS, *ids], opened, prompt if isinstance(prompt, str) else None))
    return rows


class Mark(NamedTuple):
    """The model's view of a token.

    Attributes:
        log_prob: None for a given token that was not predicted.
        likeliest: the likeliest tokens at its position, by their text; None if not requested.
        offset: the start of its text.
    """

    token: str
    log_prob: float | None
    likeliest: dict[str, float] | None
    offset: int


@dataclass
class Choice:
    """One continuation while it is generated.

    Attributes:
        config: the sampling settings.
        prompt: BOS first. opened: whether this BOS is the client's, who then needs a mark for it, too.
        prompt_text: the prompt as the client's text, before it was normalised; None: ids.
        text: the returned text: the prompt, if it is echoed, and the new part.
        new: number of sampled tokens.
        sent: characters, and `marked` tokens, that were already sent in pieces.
        finish: why it ended.
    """

    rung: Rung
    request: DrawingRequest
    config: SamplingConfig
    index: int
    prompt: list[int]
    opened: bool = False
    prompt_text: str | None = None
    text: str = ""
    new: int = 0
    sent: int = 0
    marked: int = 0
    finish: str | None = None
    marks: list[Mark] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._decoder = TextStream(self.rung.tokenizer)
        self._decoded = 0  # characters of the decoder that `prompt_text` replaces

    def read_prompt(self) -> None:
        """Return the prompt with its scores."""
        self._score_prompt()
        if self.prompt_text is None:
            return
        end = 0
        _, spans = self.rung.tokenizer.encode_with_spans(self.prompt_text)
        for index, (mark, (start, stop)) in enumerate(zip(self.marks, spans.tolist(), strict=False)):
            self.marks[index] = mark._replace(offset=min(end, start))  # spaces before a token belong to it
            end = max(end, stop)
        self._decoded, self.text = len(self.text), self.prompt_text

    def _score_prompt(self) -> None:
        model, row = self.rung.model, self.prompt
        if self.opened and self.request.likeliest is not None:
            self.mark(BOS, None, None, 0)
        if self.request.likeliest is None or len(row) == 1:
            for token in row[1:]:
                self.add(token, None, None)
            return
        with torch.no_grad():
            log_probs = model.log_probs(torch.tensor([row], device=device_of(model)))[0, 1:].tolist()
        likeliest = distributions(model, row) if self.request.likeliest else iter([None] * len(log_probs))
        for token, value, others in zip(row[1:], log_probs, likeliest, strict=True):
            self.add(token, value, others)

    def add(self, token: int, log_prob: float | None, others: torch.Tensor | None) -> None:
        """One token more."""
        decoded = self._decoder.add(token)
        if self._decoded:
            decoded = f"{self.prompt_text}{decoded[self._decoded :]}"
        before, self.text = self.text, self._stripped(decoded)
        if self.request.likeliest is not None:
            self.mark(token, log_prob, others, _begun(before, self.text))

    def mark(self, token: int, log_prob: float | None, others: torch.Tensor | None, offset: int) -> None:
        """Record a token's log-probability and the likeliest tokens at its position."""
        value = None if log_prob is None else log_prob if math.isfinite(log_prob) else NEVER
        likeliest = self._likeliest(others)
        piece = self.rung.tokenizer.piece(token)
        if likeliest and value is not None and others is not None and likeliest.get(piece) == float(others[token]):
            likeliest[piece] = value  # computed in another batch, so it can differ in the last digit
        self.marks.append(Mark(piece, value, likeliest, offset))

    def _likeliest(self, log_probs: torch.Tensor | None) -> dict[str, float] | None:
        """The likeliest tokens by their text; if several ids have the same text, the likelier one counts."""
        most = self.request.likeliest
        if not most or log_probs is None:
            return {} if most == 0 else None
        values, ids = log_probs.topk(min(most, len(log_probs)))
        results: dict[str, float] = {}
        for value, token in zip(values.tolist(), ids.tolist(), strict=True):
            if math.isfinite(value):
                results.setdefault(self.rung.tokenizer.piece(token), value)
        return results

    def grow(self) -> Iterator[str]:
        """Sample tokens until EOS, a stop, or `max_tokens`; yields the text so far."""
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
        """The stream: the text that is final so far, then how it ended.

        The last characters are held back while they can be the beginning of a stop, or of a character that is not
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
        """The whole answer in the API's format, after `pieces` has ended."""
        return self.as_json(self.text, self.marks) | {"finish_reason": self.finish}

    def more(self, until: int) -> Json:
        """The part not sent yet, in the API's format: the text up to a position, and the marks of all tokens so far."""
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
    """The requested choices, n for each prompt, not yet generated.

    Raises:
        InputError: as `CompletionRequest.check` and `prompts`.
    """
    request.check()
    config = request.sampling(request.max_tokens)
    check_bias(config.logit_bias, rung.model.vocab_size)
    rows = [row for row in prompts(rung, request) for _ in range(request.n)]
    return [Choice(rung, request, config, index, *row) for index, row in enumerate(rows)]


def usage(results: Sequence[Choice]) -> dict[str, int]:
    """Tokens of the prompts (BOS aside), each prompt once, and new ones of all its choices."""
    read = sum(len(choice.prompt) - 1 for choice in results[:: results[0].request.n])
    new = sum(choice.new for choice in results)
    return {"prompt_tokens": read, "completion_tokens": new, "total_tokens": read + new}


def _begun(before: str, after: str) -> int:
    """The start of a token's text, from the text before and after it; an incomplete character belongs to the token."""
    offset = len(before) - (before == after and before.endswith("\ufffd"))
    while not after.startswith(before[:offset]):
        offset -= 1
    return offset
