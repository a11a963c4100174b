"""Skip-gram with negative sampling: a word's vector must tell its neighbours from words drawn at random.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality", section 2.2, eq. 4:

    J(c, o) = −log σ(u_o · v_c) − Σ_{k=1..K} log σ(−u_{n_k} · v_c),     n_k ~ noise(w) ∝ count(w)^¾

with an input vector v and an output vector u for every word.

What differs: the text is cut into blocks of L successive centres, and the pairs of a block share S noise words, each
weighing K/S. The expected loss is the same, while all products of a block become two matrix multiplications instead
of one dot product a pair. As in the paper's equation (not its code), a noise word may happen to be a true neighbour.

Shape legend: B blocks, L centres a block, M window, C = L + 2M contexts a block, S shared noise words, D dimensions.
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn import functional

from langladder.ground.schema import Config

SkipGramBatch = dict[str, torch.Tensor]


class SkipGramConfig(Config):
    """Settings of skip-gram with negative sampling."""

    dim: int = Field(default=100, ge=1)
    window: int = Field(default=5, ge=1, le=100)  # M, words on each side
    dynamic_window: bool = True  # each centre draws its own window from 1 … M, so near words count more
    negatives: int = Field(default=5, ge=1)  # K, noise words a pair
    noise_exponent: float = Field(default=0.75, ge=0)
    subsample: float = Field(default=1e-3, ge=0, le=1)  # t; 0 keeps every word
    epochs: int = Field(default=5, ge=1)
    batch_words: int = Field(default=8192, ge=1)  # words of text a step, before subsampling
    block: int = Field(default=32, ge=1)  # L
    shared_negatives: int = Field(default=64, ge=1)  # S
    vectors: Literal["input", "sum"] = (
        "sum"  # a word's vector: v as in the paper, or v + u (Levy et al. 2015, section 3.3)
    )

    @model_validator(mode="after")
    def _enough_noise(self) -> Self:
        if self.shared_negatives < self.negatives:
            raise ValueError(
                f"shared_negatives={self.shared_negatives} is less than negatives={self.negatives}: a block must draw "
                "at least as many noise words as each of its pairs weighs"
            )
        return self


class SkipGram(nn.Module):
    """The two vector tables and the loss."""

    approach = "prediction"
    maker: ClassVar[str] = "langladder.tasks.word_vectors.make"
    Config: ClassVar[type[Config]] = SkipGramConfig

    def __init__(self, config: SkipGramConfig, vocab_size: int) -> None:
        super().__init__()
        self.config = config
        self.vocab_size = vocab_size
        self.sparse = False  # True: gradients hold the batch's rows only; for optimisers that can use such gradients
        self.input = nn.Embedding(vocab_size, config.dim)  # v
        self.output = nn.Embedding(vocab_size, config.dim)  # u
        bound = 0.5 / config.dim
        nn.init.uniform_(self.input.weight, -bound, bound)
        nn.init.zeros_(self.output.weight)

    def forward(self, batch: SkipGramBatch) -> torch.Tensor:
        """Mean of J over the batch's pairs, a scalar.

        Args:
            batch: centres (B, L), contexts (B, C), before and after (B, L): how many words of context each centre has
                on each side, noise (B, S). Context j of a block stands j − M places after its first centre.
        """
        pairs = batch["before"] + batch["after"]  # (B, L)
        v = self._look_up(self.input, batch["centres"])  # (B, L, D)
        u = self._look_up(self.output, torch.cat([batch["contexts"], batch["noise"]], dim=1))  # (B, C + S, D)
        scores = u @ v.transpose(1, 2)  # (B, C + S, L): u_j · v_i

        # One logistic regression: is this word a true neighbour (label 1) or noise (label 0)?
        contexts, noise = batch["contexts"].shape[1], batch["noise"].shape[1]
        is_pair = in_window(batch["before"], batch["after"], self.config.window)  # (B, C, L)
        share = pairs * (self.config.negatives / noise)  # K / S for each of the centre's pairs
        weights = torch.cat([is_pair.to(share.dtype), share[:, None].expand(-1, noise, -1)], dim=1)
        labels = (torch.arange(contexts + noise, device=scores.device) < contexts).to(scores.dtype)
        loss = functional.binary_cross_entropy_with_logits(
            scores, labels[:, None].expand_as(scores), weights, reduction="sum"
        )
        return loss / pairs.sum().clamp(min=1)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """The loss on made-up data, as networks of `models` have it: `rows` blocks of `length` centres."""
        own, M, S = torch.Generator().manual_seed(0), self.config.window, self.config.shared_negatives
        batch = {
            name: torch.randint(self.vocab_size, (rows, count), generator=own)
            for name, count in (("centres", length), ("contexts", length + 2 * M), ("noise", S))
        }
        return self(batch | dict.fromkeys(("before", "after"), torch.full((rows, length), M)))  # type: ignore[no-any-return]

    def word_vectors(self) -> torch.Tensor:
        """What the words are taken to mean after training, (V, D)."""
        v, u = self.input.weight.detach(), self.output.weight.detach()
        return v + u if self.config.vectors == "sum" else v.clone()

    def _look_up(self, table: nn.Embedding, words: torch.Tensor) -> torch.Tensor:
        """(B, N) words → (B, N, D), by way of a small table of the batch's different words."""
        if not self.sparse:
            rows: torch.Tensor = table(words)
            return rows
        different, positions = torch.unique(words, return_inverse=True)
        return functional.embedding(positions, functional.embedding(different, table.weight, sparse=True))


def in_window(before: torch.Tensor, after: torch.Tensor, window: int) -> torch.Tensor:
    """True where context j is in the window of centre i: −before_i ≤ j − M − i ≤ after_i, but not i itself.

    Args:
        before, after: (B, L).

    Returns:
        (B, L + 2M, L) bool.
    """
    length = before.shape[1]
    positions = torch.arange(length + 2 * window, device=before.device) - window
    distance = positions[:, None] - torch.arange(length, device=before.device)  # (C, L)
    return (distance >= -before[:, None]) & (distance <= after[:, None]) & (distance != 0)
