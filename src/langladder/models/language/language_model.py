"""The interface of every language model: P(w_1 … w_T) = ∏_t P(w_t | w_1 … w_{t-1}), from unigram to GPT.

Every model with `log_probs` and `next_log_probs` can be scored, compared and sampled from. Conventions: the hidden
state after token t scores token t+1; BOS and PAD are given, never predicted; EOS is predicted.

Shape legend: B rows, T tokens, V vocabulary, D width of the hidden state.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.base import Model
from langladder.text.tokenize.specials import BOS, PAD

State = Any
"""The state of a model between tokens: tensors whose meaning is internal; None before the first token."""


class LanguageModel(Model):
    """Base of all language models. Built as `cls(config, vocab_size)`."""

    vocab_size: int
    SIZES: ClassVar[tuple[str, ...]] = ("vocab_size",)
    WHAT: ClassVar[str] = "language model"
    reads_markers: ClassVar[bool] = False
    """Whether `vocab_size` includes the reserved ids after the text's vocabulary, for models that read them."""

    def __init__(self, config: schema.Config, vocab_size: int) -> None:
        self.config, self.vocab_size = config, vocab_size

    @property
    def joins_lines(self) -> bool:
        """Whether it reads a document as `BOS line EOS line EOS`: it leaves out a BOS after the end of a line."""
        return False

    def as_read(self, ids: Sequence[int]) -> list[int]:
        """The ids of a text from its first BOS, as the model reads them."""
        return [*ids[:1], *(token for token in ids[1:] if token != BOS or not self.joins_lines)]

    @abstractmethod
    def log_probs(self, tokens: torch.Tensor) -> torch.Tensor:
        """Natural-log probability of each token given the previous ones in its row.

        Args:
            tokens: (B, T) int64; one document per row (lines as BOS … EOS BOS … EOS), right-padded with PAD, any T.

        Returns:
            (B, T) float32; exactly 0 at BOS and PAD (given, not predicted).

        Raises:
            InputError: a row does not begin with BOS, or an id is outside the vocabulary.
        """

    @abstractmethod
    def next_log_probs(self, prefix: torch.Tensor) -> torch.Tensor:
        """log P(next = v | prefix): (B, T) int64, rows begin with BOS, right-padded with PAD → (B, V) float32."""

    def advance(self, tokens: torch.Tensor, state: State = None) -> tuple[torch.Tensor, State]:
        """One step of generation: read (B, n) new tokens, return ((B, V) log-probabilities of the next one, state).

        The tokens are those of `as_read`, unlike those of `log_probs` and `next_log_probs`.

        Here the state is the whole prefix; models with a smaller state (a hidden state, a cache) override this.
        """
        prefix = tokens if state is None else torch.cat([state, tokens], dim=1)
        return self.next_log_probs(prefix), prefix

    def advance_each(self, tokens: torch.Tensor, state: State = None) -> tuple[torch.Tensor, list[State]]:
        """Read (B, n) new tokens, return the log-probabilities after each of them, (B, n, V), and n states.

        Here one token after the other; models that read several at once override this.
        """
        results, states = [], []
        for token in torch.split(tokens, 1, dim=1):
            log_probs, state = self.advance(token, state)  # (B, V)
            results.append(log_probs)
            states.append(state)
        return torch.stack(results, dim=1), states


def check_tokens(tokens: torch.Tensor, vocab_size: int) -> None:
    """Raise InputError unless `tokens` is (B, T ≥ 1) int64 with ids below `vocab_size` and rows that begin with BOS."""
    if tokens.dim() != 2 or tokens.dtype != torch.int64 or tokens.shape[1] == 0:
        raise InputError(f"tokens: {tuple(tokens.shape)} {tokens.dtype}; expected (B, T) torch.int64 with T ≥ 1")
    if tokens.numel() == 0:
        return
    ids = tokens.numpy(force=True)  # torch would start its threads
    lowest, highest = ids.min(), ids.max()
    if lowest < 0 or highest >= vocab_size:
        raise InputError(f"tokens: ids {lowest}..{highest}; the model's vocabulary has ids 0..{vocab_size - 1}")
    first = tokens[:, 0]
    if not bool(((first == BOS) | (first == PAD)).all()):
        raise InputError(f"tokens: every row begins with BOS ({BOS}), so that its first token has a context")


def predicted(targets: torch.Tensor) -> torch.Tensor:
    """True where a token is predicted, not given: everywhere except BOS and PAD. Same shape, bool."""
    return (targets != BOS) & (targets != PAD)


def joined_lines(tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows without each BOS after the first token, and the place where each token was: (B, T) → (B, T′) twice.

    Args:
        tokens: right-padded with PAD, as the result is.
    """
    keep = (tokens != PAD) & (tokens != BOS)
    keep[:, 0] = True
    counts = keep.sum(dim=1)  # (B,)
    positions = torch.argsort((~keep).int(), dim=1, stable=True)[:, : int(counts.max())]
    inside = torch.arange(positions.shape[1], device=tokens.device) < counts[:, None]
    return tokens.gather(1, positions).masked_fill(~inside, PAD), positions


def kept_rows(hidden: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """hidden[keep], (…, D) and (…) bool → (N, D), by row indices, whose gradient is much faster than a mask's."""
    flat = hidden.flatten(0, -2)
    rows = keep.flatten().nonzero()[:, 0]  # (N,)
    return flat if len(rows) == len(flat) else flat.index_select(0, rows)
