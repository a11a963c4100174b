"""Generate: how a text goes on, whole or token by token.

A prompt is read behind BOS; the model goes on until EOS, the end of a line.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from langladder.answers.loading import LoadedModel
from langladder.decoding.sampling import SamplingConfig, candidates, device_of, draw, generate_batch, generator
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer


class Continuation(NamedTuple):
    """A prompt with what the model says after it, and that alone."""

    text: str
    continuation: str


def generate(loaded: LoadedModel, prompts: Sequence[str], config: SamplingConfig) -> list[Continuation]:
    """How the model goes on from each prompt, all drawn side by side.

    Args:
        config: `GenerateRequest.sampling` makes it. Several samples of a prompt are drawn by naming it several times.
    """
    prefixes = [ids.tolist() for ids in loaded.tokenizer.encode_lines(list(prompts))]
    drawn = generate_batch(loaded.model, [[BOS, *ids] for ids in prefixes], config)
    found = []
    for ids, new in zip(prefixes, drawn, strict=True):
        text = loaded.tokenizer.decode(ids + new)
        found.append(Continuation(text, text.removeprefix(loaded.tokenizer.decode(ids))))
    return found


class Drawn(NamedTuple):
    """A drawn token (EOS too) and what the model gave every token in its place: (V,) natural-log probabilities."""

    token: int
    log_probs: torch.Tensor


@torch.no_grad()
def stream(model: LanguageModel, prefix: Sequence[int], config: SamplingConfig, *, row: int = 0) -> Iterator[Drawn]:
    """Continue a text until EOS, which is given too, or for `max_tokens`; each token is given as soon as it is drawn.

    The tokens are those of `generate_batch` for a row by itself: same seed, same tokens.

    Args:
        prefix: ids that begin with BOS.
        row: which of several samples of it this is; each has random numbers of its own.

    Raises:
        InputError: the prefix does not begin with BOS.
    """
    if not prefix or prefix[0] != BOS:
        raise InputError(f"prefix: {list(prefix)[:5]} … must begin with BOS ({BOS})")
    random, device = generator(config.seed, row), device_of(model)
    tokens = torch.tensor([list(prefix)])  # (1, t)
    unread, state = tokens, None
    for _ in range(config.max_tokens):
        log_probs, state = model.advance(unread.to(device), state)  # (1, V)
        token = draw(candidates(log_probs.cpu(), tokens, config, [len(prefix)])[0], config, random)
        yield Drawn(token, log_probs[0].cpu())
        if token == EOS:
            return
        unread = torch.tensor([[token]])
        tokens = torch.cat([tokens, unread], dim=1)


@torch.no_grad()
def distributions(model: LanguageModel, ids: Sequence[int]) -> Iterator[torch.Tensor]:
    """What the model gives every token in each place after the first, one place after the other: (V,) log P each.

    Args:
        ids: BOS and what follows.
    """
    device, state = device_of(model), None
    for token in ids[:-1]:
        log_probs, state = model.advance(torch.tensor([[token]], device=device), state)  # (1, V)
        yield log_probs[0].cpu()


class TextStream:
    """The text of ids that come one by one: that of all of them together, while only the last ones are decoded anew.

    They are decoded behind one that is decoded already, since a first token has no white space before it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []  # the last ones
        self._before, self._known = "", ""  # the text up to the first of these, and that of the first of these

    def add(self, token: int) -> str:
        """The text with one id more."""
        self._ids.append(token)
        text = self._before + self._tokenizer.decode(self._ids)[len(self._known) :]
        alone = self._tokenizer.decode([token])
        if alone and not text.endswith("\ufffd"):  # which may be the beginning of a character
            self._ids, self._before, self._known = [token], text, alone
        return text
