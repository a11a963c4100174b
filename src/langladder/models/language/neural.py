"""The base of language models that are trained by gradient: the loss, the scores, saving.

A network defines its hidden states (`forward`) and how far back it can see (`context`); this class provides the rest.
Networks with carried state read a text from left to right: recurrent networks carry their hidden state; those with a
fixed reach (the last n words, a stack of convolutions) carry their last inputs. Networks with a bounded context slide a
window by half its length. So each token is scored once and, if the row is long enough, with at least half a window of
context.

Shape legend: B rows, T tokens, V vocabulary, D width of the hidden state, C context, W windows.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

import torch
from torch import nn

from langladder.models.language.language_model import (
    LanguageModel,
    State,
    check_tokens,
    joined_lines,
    kept_rows,
    predicted,
)
from langladder.models.network import Network
from langladder.models.trial import sentences
from langladder.nn.output import IGNORED, OutputLayer
from langladder.nn.output_choice import OutputConfig
from langladder.nn.products import matrix_entries
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, PAD

CHUNK = 256
"""Tokens a network with carried state reads at a time when scoring."""

WINDOW_TOKENS = 8192
"""Tokens read at a time when scoring windows."""


class NeuralConfig(OutputConfig):
    """Settings of every network, for its own settings to inherit."""

    rows: Literal["stream", "documents"] = "stream"
    """What a network reads, in training and after it. stream: the text as one stream of tokens, cut without regard to
    documents; a recurrent network carries its state on. documents: each document from its beginning, alone, and without
    the BOS of its later lines."""


class NeuralLanguageModel(Network, LanguageModel):
    """A network that computes hidden states from tokens, and an output layer `head` that computes probabilities from
    these.

    `context` is the number of tokens that a position can see, including itself; None for a network with carried state.
    """

    maker: ClassVar[str] = "langladder.tasks.language_modelling.make"
    maker_from_vectors: ClassVar[str] = "langladder.tasks.from_vectors.make"  # if `input.vectors` is set
    state_rows: ClassVar[int] = 0  # the batch dimension of a carried state's tensors
    head: OutputLayer
    context: int | None = None

    @property
    def joins_lines(self) -> bool:
        """See `LanguageModel.joins_lines`: true with rows of documents."""
        return getattr(self.config, "rows", "stream") == "documents"

    @abstractmethod
    def forward(self, tokens: torch.Tensor, state: State = None) -> tuple[torch.Tensor, State]:
        """Hidden states that predict the next token.

        Args:
            tokens: (B, T) int64, T ≤ context if there is one.
            state: the state from an earlier call, to continue from there; None: start of a text.

        Returns:
            hidden (B, T, D), and the state after the last token (None for networks with a bounded context).
        """

    def prepare(self, stream: TokenStream) -> None:
        """Before training: pass the frequency of each target token in the training stream to the output layer.

        Raises:
            InputError: an id is outside the vocabulary.
        """
        counts = stream.counts(self.vocab_size)  # (V,)
        counts[[PAD, BOS]] = 0
        self.head.set_counts(torch.from_numpy(counts))

    def input_embedding(self) -> nn.Embedding | None:
        """The input embedding of tokens (V, D), which must be the attribute `embedding`; None without one."""
        table = getattr(self, "embedding", None)
        return table if isinstance(table, nn.Embedding) and table.num_embeddings == self.vocab_size else None

    def predicts(self, targets: torch.Tensor) -> torch.Tensor:
        """True where a token is predicted, not given: everything but BOS and PAD. Same shape, bool."""
        return predicted(targets)

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """L = −(1/N) Σ_t log P(w_t | w_<t) in nats, over the N targets that are neither BOS nor PAD.

        Args:
            hidden: (B, T, D); targets: (B, T), the token after each position.
        """
        keep = self.predicts(targets)  # (B, T)
        if self.head.takes_all(hidden):
            every = targets.masked_fill(~keep, IGNORED).flatten()  # (B·T,)
            return self.head.loss(hidden.flatten(0, -2), every, smoothing) / keep.sum().clamp(min=1)
        chosen = targets[keep]  # (N,)
        return self.head.loss(kept_rows(hidden, keep), chosen, smoothing) / max(1, len(chosen))

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`."""
        tokens = sentences(rows, length - 1, self.vocab_size)  # (B, T + 1)
        return self.loss(self(tokens[:, :-1])[0], tokens[:, 1:])

    def products(self, length: int) -> float:
        """See `Network.products`."""
        return length * (matrix_entries(self) + self.head.products())

    @torch.no_grad()
    def log_probs(self, tokens: torch.Tensor) -> torch.Tensor:
        """See `LanguageModel.log_probs`. Always computed in float32, without dropout."""
        return self._scores(tokens, None if self.context is None else max(1, self.context // 2))

    @torch.no_grad()
    def sliding_log_probs(self, tokens: torch.Tensor, stride: int) -> torch.Tensor:
        """`log_probs` of a network with a bounded context, whose window moves by `stride` tokens at a time.

        Each window predicts the last `stride` of its tokens (a row's first window predicts all), so these have at least
        C − stride previous tokens. `log_probs` moves by half a window.

        Args:
            stride: 1 to the context; with the context, windows do not overlap.
        """
        assert self.context is not None and 1 <= stride <= self.context, (self.context, stride)
        return self._scores(tokens, stride)

    @torch.no_grad()
    def next_log_probs(self, prefix: torch.Tensor) -> torch.Tensor:
        """See `LanguageModel.next_log_probs`."""
        check_tokens(prefix, self.vocab_size)
        if self.joins_lines:
            prefix, _ = joined_lines(prefix)
        lengths = (prefix != PAD).sum(dim=1)  # (B,)
        if self.context is not None:
            starts = (lengths - self.context).clamp(min=0)  # (B,)
            window = torch.arange(min(self.context, prefix.shape[1]), device=prefix.device)
            prefix = prefix.gather(1, starts[:, None] + window)  # (B, ≤ C): the last C tokens of each row
            lengths = lengths - starts
        with scoring(self, prefix.device.type):
            hidden, _ = self(prefix)  # (B, T, D)
            last = hidden[torch.arange(len(prefix), device=prefix.device), lengths - 1]  # (B, D)
            return torch.log_softmax(self.head(last).float(), dim=-1)  # (B, V)

    @torch.no_grad()
    def advance(self, tokens: torch.Tensor, state: State = None) -> tuple[torch.Tensor, State]:
        """See `LanguageModel.advance`: a network with carried state continues from it, token by token."""
        if self.context is not None:
            return super().advance(tokens, state)
        with scoring(self, tokens.device.type):
            hidden, state = self(tokens, state)  # (B, n, D)
            return torch.log_softmax(self.head(hidden[:, -1]).float(), dim=-1), state

    def read_on(self, tokens: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Hidden states (B, n, D) of tokens (B, n) after a state, and the state after them. None: start of a text.

        Together they must not be longer than the context, if there is one.
        """
        hidden, after = self(tokens, state)
        return hidden, after

    def state_of(self, state: State, rows: torch.Tensor) -> State:
        """The states of some rows (B,), which can repeat, for a tuple of tensors."""
        return tuple(part.index_select(self.state_rows, rows) for part in state)

    def _scores(self, tokens: torch.Tensor, stride: int | None) -> torch.Tensor:
        """`log_probs`; stride: of the windows of a network with a bounded context, None: the state is carried."""
        check_tokens(tokens, self.vocab_size)
        read, positions = joined_lines(tokens) if self.joins_lines else (tokens, None)
        with scoring(self, tokens.device.type):
            scores = self._log_probs_carried(read) if stride is None else self._log_probs_windows(read, stride)
        return scores if positions is None else scores.new_zeros(tokens.shape).scatter_(1, positions, scores)

    def _log_probs_carried(self, tokens: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(tokens.shape, dtype=torch.float32, device=tokens.device)  # (B, T)
        state = None
        for start in range(0, tokens.shape[1] - 1, CHUNK):
            stop = min(start + CHUNK, tokens.shape[1] - 1)
            hidden, state = self(tokens[:, start:stop], state)  # (B, ≤ CHUNK, D)
            self._score(scores, hidden, tokens, slice(start + 1, stop + 1))
        return scores

    def _score(self, scores: torch.Tensor, hidden: torch.Tensor, tokens: torch.Tensor, span: slice) -> None:
        """Fill `scores[:, span]` where a token is predicted, from the hidden states one position earlier."""
        targets = tokens[:, span]
        keep = self.predicts(targets)
        scores[:, span][keep] = self.head.target_log_probs(hidden[keep], targets[keep])

    def _log_probs_windows(self, tokens: torch.Tensor, stride: int) -> torch.Tensor:
        assert self.context is not None
        T, device = tokens.shape[1], tokens.device
        scores = torch.zeros(tokens.shape, dtype=torch.float32, device=device)
        offsets = torch.arange(min(self.context, T - 1), device=device)  # (C,)
        windows = _windows((tokens != PAD).sum(dim=1).tolist(), self.context, stride)
        group = max(1, WINDOW_TOKENS // max(1, len(offsets)))
        for first in range(0, len(windows), group):
            rows, starts = torch.tensor(windows[first : first + group], device=device).T[..., None]  # (W, 1) each
            positions = (starts + offsets).clamp(max=T - 2)  # (W, C)
            inside = starts + offsets <= T - 2
            inputs = tokens[rows, positions].masked_fill(~inside, PAD)
            targets = tokens[rows, positions + 1].masked_fill(~inside, PAD)
            hidden, _ = self(inputs)  # (W, C, D)
            # all windows except a row's first skip the tokens that the previous window has predicted
            keep = self.predicts(targets) & ((starts == 0) | (offsets >= self.context - stride))
            flat = (rows * T + positions + 1)[keep]
            scores.view(-1)[flat] = self.head.target_log_probs(hidden[keep], targets[keep])
        return scores


def _windows(lengths: list[int], context: int, stride: int) -> list[tuple[int, int]]:
    """(row, start) of every window. It reads start … start+C−1 and predicts the tokens one position later."""
    return [
        (row, start)
        for row, length in enumerate(lengths)
        if length > 1
        for start in range(0, max(1, length - 1 - context + stride), stride)
    ]


@contextmanager
def scoring(model: nn.Module, device: str) -> Iterator[None]:
    """Evaluation mode without autocast; restores the mode afterwards."""
    training = model.training
    model.eval()
    try:
        with torch.autocast(device, enabled=False):
            yield
    finally:
        model.train(training)
