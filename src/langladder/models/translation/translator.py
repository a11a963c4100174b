"""The interface of every translator: P(y | x) = ∏_t P(y_t | y_<t, x), from the fixed vector to the Transformer.

A network defines the `State` of a source (`encode`), the next token from a state (`step`), and for training the states
of a whole target at once (`hidden`). Beam search, training, scoring and saving are the same for all.

Conventions: source rows are ids … EOS; target rows BOS ids … EOS; both right-padded with PAD. `target_in` is the target
without its last column; it predicts the target without its first column.

Shape legend: B rows, S source positions, T target positions, V target vocabulary, D width of the hidden state.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch

from langladder.models.language.language_model import kept_rows
from langladder.models.network import Network
from langladder.models.trial import sentences
from langladder.nn.output import IGNORED, SoftmaxOutput
from langladder.text.tokenize.specials import PAD


@dataclass(frozen=True)
class State:
    """The state of decoding between steps: tensors by name, rows first (B, …).

    Attributes:
        source: the part that all hypotheses of a sentence share (annotations, keys, mask).
        decoder: the part that differs between hypotheses (hidden state, cache).
    """

    source: dict[str, torch.Tensor]
    decoder: dict[str, torch.Tensor]


class Translator(Network):
    """Base of all translators. Built as `cls(config, source_vocab_size, target_vocab_size)`."""

    maker: ClassVar[str] = "langladder.tasks.translation.make"
    SIZES: ClassVar[tuple[str, ...]] = ("source_vocab_size", "target_vocab_size")
    WHAT = "translator"
    pads: ClassVar[bool] = True  # whether `loss` computes padding; then batches have pairs of similar length
    source_vocab_size: int
    target_vocab_size: int
    head: SoftmaxOutput

    @abstractmethod
    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        """Read the source: ids (B, S) int64, mask (B, S) bool, true where there is a token → the state before y_1."""

    @abstractmethod
    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, torch.Tensor | None]:
        """One step of decoding.

        Args:
            prefix: (B, T) int64, BOS first, no padding. A model whose state has the past only reads the last column.
            state: the result of `encode` or of the last `step`.

        Returns:
            log P(next = v | prefix, source) (B, V) float32, the next state, and the attention weights of the source (B,
            S) (None for a model without attention).
        """

    @abstractmethod
    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """Teacher forcing: source (B, S), target_in (B, T) → hidden (B, T, D), from which `head` computes logits.

        Position t sees target_in[:, : t + 1] and the whole source. Rows can be padded; results at PAD positions are
        meaningless.
        """

    def kept(self, source: torch.Tensor, target_in: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        """The entries of `hidden` where `keep` (B, T) bool is true, the first positions of each row: (N, D)."""
        return kept_rows(self.hidden(source, target_in), keep)

    def forward(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, V) of the token after each position of `target_in`."""
        logits: torch.Tensor = self.head(self.hidden(source, target_in))
        return logits

    def loss(
        self,
        source: torch.Tensor,
        target: torch.Tensor,
        smoothing: float = 0.0,
        inputs: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """−Σ log P(y_t | y_<t, x) in nats, summed over the batch's target tokens (EOS counts, BOS and PAD do not).

        Args:
            source: (B, S); target: (B, T + 1), BOS … EOS.
            smoothing: ε of label smoothing (Szegedy et al. 2016).
            inputs: (B, T), input of the decoder instead of the target without its last column.
        """
        following = target[:, 1:]  # (B, T)
        keep = following != PAD
        decoder_input = target[:, :-1] if inputs is None else inputs
        if self.head.takes_all(decoder_input):
            hidden = self.hidden(source, decoder_input).flatten(0, 1)  # (B·T, D)
            return self.head.loss(hidden, following.masked_fill(~keep, IGNORED).flatten(), smoothing)
        return self.head.loss(self.kept(source, decoder_input, keep), following[keep], smoothing)  # of (N, D)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; source and target have the same number of positions."""
        source = sentences(rows, length - 1, self.source_vocab_size)[:, 1:]  # (B, S)
        return self.loss(source, sentences(rows, length - 1, self.target_vocab_size))

    @torch.no_grad()
    def log_probs(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """log P(y_t | y_<t, x) of given translations: (B, S), (B, T + 1) → (B, T) float32, exactly 0 at PAD."""
        following = target[:, 1:]
        keep = following != PAD
        scores = torch.zeros(following.shape, dtype=torch.float32, device=target.device)  # (B, T)
        scores[keep] = self.head.target_log_probs(self.kept(source, target[:, :-1], keep), following[keep])
        return scores

    def present(self, source: torch.Tensor) -> torch.Tensor:
        """The positions of a source that are not padding: (B, S, …) → (B, S) bool, true from the left."""
        return source != PAD

    def reorder(self, state: State, index: torch.Tensor, *, same_source: bool = False) -> State:
        """The state whose row i is the old row index[i]; `index` (B') int64 can repeat or leave out rows.

        With `same_source`, rows only move between hypotheses of one sentence, so the source side does not change.
        """

        def chosen(side: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            return {name: old.index_select(0, index) for name, old in side.items()}  # whole rows: no index per entry

        return State(state.source if same_source else chosen(state.source), chosen(state.decoder))


class AttendingTranslator(Translator):
    """A translator with one attention, which gives each position of the source one weight."""

    @abstractmethod
    def attended(self, source: torch.Tensor, target_in: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Translator.hidden`, with the weights: source (B, S), target_in (B, T) → (B, T, D), α (B, T, S)."""

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """See `Translator.hidden`."""
        return self.attended(source, target_in)[0]
