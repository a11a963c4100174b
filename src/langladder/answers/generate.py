"""Generate: the continuation of a text, whole or token by token.

The model reads BOS and the prompt, and continues until EOS, the end of a line.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from langladder.answers.loading import LoadedModel, read_model
from langladder.decoding.sampling import SamplingConfig, candidates, device_of, draw, generate_batch, generator
from langladder.decoding.speculative import Speculation, speculate
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer


class Continuation(NamedTuple):
    """A prompt with its continuation, and the continuation alone."""

    text: str
    continuation: str


def generate(
    loaded: LoadedModel,
    prompts: Sequence[str],
    config: SamplingConfig,
    *,
    draft: Path | None = None,
    lookahead: int = 4,
    counts: Speculation | None = None,
) -> list[Continuation]:
    """Continue each prompt, all in one batch, or with a draft one after the other.

    Args:
        config: from `GenerateRequest.sampling`. For several samples of a prompt, give it several times.
        draft: folder of a model that proposes `lookahead` tokens at a time, see `decoding.speculative`.
        counts: is added to, if there is a draft.

    Raises:
        InputError: the draft has another tokenizer; see also `read_model`.
    """
    prefixes = [ids.tolist() for ids in loaded.tokenizer.encode_lines(list(prompts))]
    if draft is None:
        drawn = generate_batch(loaded.model, [[BOS, *ids] for ids in prefixes], config)
    else:
        helper = read_model(draft)
        if not helper.tokenizer.same_as(loaded.tokenizer):
            raise InputError(
                f"draft: {draft} has another tokenizer than {loaded.name}; choose a draft with the same one"
            )
        drawn = [
            speculate(loaded.model, helper.model, [BOS, *ids], config, lookahead=lookahead, row=row, counts=counts)
            for row, ids in enumerate(prefixes)
        ]
    continuations = []
    for ids, new in zip(prefixes, drawn, strict=True):
        text = loaded.tokenizer.decode(ids + new)
        continuations.append(Continuation(text, text.removeprefix(loaded.tokenizer.decode(ids))))
    return continuations


class Drawn(NamedTuple):
    """A sampled token (also EOS) and the model's distribution at its position: (V,) natural-log probabilities."""

    token: int
    log_probs: torch.Tensor


@torch.no_grad()
def stream(model: LanguageModel, prefix: Sequence[int], config: SamplingConfig, *, row: int = 0) -> Iterator[Drawn]:
    """Continue a text until EOS, which is also yielded, or for `max_tokens`; yields each token when it is sampled.

    The tokens are those of `generate_batch` for a single row: same seed, same tokens.

    Args:
        prefix: ids that begin with BOS.
        row: the number of the sample; each sample has its own random numbers.

    Raises:
        InputError: the prefix does not begin with BOS.
    """
    if not prefix or prefix[0] != BOS:
        raise InputError(f"prefix: {list(prefix)[:5]} … must begin with BOS ({BOS})")
    random, device = generator(config.seed, row), device_of(model)
    prefix = model.as_read(prefix)
    tokens = torch.tensor([prefix])  # (1, t)
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
    """The model's distribution at each position after the first, one after the other: (V,) log P each.

    Args:
        ids: BOS and the following tokens.
    """
    device, state = device_of(model), None
    log_probs = torch.zeros(0)
    for position, token in enumerate(ids[:-1]):
        if token != BOS or not position or not model.joins_lines:  # else as after the end of the line
            log_probs, state = model.advance(torch.tensor([[token]], device=device), state)  # (1, V)
        yield log_probs[0].cpu()


class TextStream:
    """The text of ids that arrive one by one, equal to decoding all of them, but only the last ones are decoded again.

    They are decoded after a token that is decoded already, because a first token has no white space before it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []  # the last ones
        self._before, self._known = "", ""  # the text up to the first of these, and that of the first of these

    def add(self, token: int) -> str:
        """The text with one more id."""
        self._ids.append(token)
        text = self._before + self._tokenizer.decode(self._ids)[len(self._known) :]
        alone = self._tokenizer.decode([token])
        if alone and not text.endswith("\ufffd"):  # can be the beginning of a character
            self._ids, self._before, self._known = [token], text, alone
        return text
