"""Training a softmax with the target and a few noise words instead of the whole vocabulary.

With the logits s(v) = W_v · h + b_v, k noise words n_1 … n_k drawn from q (the same ones for all positions of a
batch), and Δ(v) = s(v) − log(k q(v)):

    sampled softmax   L = −s(w) + log(exp s(w) + Σ_i exp Δ(n_i)),  without the n_i that equal w
    NCE               L = −log σ(Δ(w)) − Σ_i log σ(−Δ(n_i))

Sampled softmax (Bengio & Senécal 2008; Jean et al. 2015, section 3.2) estimates the normaliser without bias, because
E[Σ_i exp Δ(n_i)] = Σ_{v≠w} exp s(v); so it approaches the full cross-entropy as k grows. Noise-contrastive estimation
(Gutmann & Hyvärinen 2010; Mnih & Teh 2012) learns to distinguish a word from noise, and thereby a softmax whose
normaliser is 1. Its bias starts at −log V, for which the normaliser is nearly 1 from the start. Both losses are only
used in training. Evaluation uses the full, normalised softmax, so figures are comparable with those of other models.

Shape legend: N positions, D width, V words, k noise words.
"""

import math
from typing import Literal

import torch
from torch import nn
from torch.nn import functional

from langladder.nn.output import CountedOutput, SoftmaxOutput, refuse_smoothing

Noise = Literal["unigram", "log_uniform", "uniform"]


class SampledSoftmax(SoftmaxOutput, CountedOutput):
    """A softmax trained with noise words.

    Args:
        samples: k.
        noise: q. unigram: ∝ count^power; log_uniform: ∝ log((r + 2) / (r + 1)) for the word of rank r = 0, 1, …
            (Zipf's law, which only needs the order of the counts); uniform.
        power: the exponent of the unigram noise.
        For the other arguments see `SoftmaxOutput`.
    """

    log_noise: torch.Tensor  # (V,): log q

    def __init__(
        self,
        *,
        width: int,
        vocab_size: int,
        samples: int,
        noise: Noise = "unigram",
        power: float = 1.0,
        tied: torch.Tensor | None = None,
    ) -> None:
        super().__init__(width=width, vocab_size=vocab_size, tied=tied)
        self.samples, self.noise, self.power = samples, noise, power
        assert self.bias is not None
        nn.init.constant_(self.bias, self._first_bias())
        self._register_counts(vocab_size)

    def _first_bias(self) -> float:
        return 0.0

    def _derive(self) -> None:
        if self.noise == "unigram":
            share = self.counts.double() ** self.power
        elif self.noise == "log_uniform":
            rank = torch.argsort(torch.argsort(self.counts, descending=True, stable=True)).double()
            share = torch.log((rank + 2) / (rank + 1))
        else:
            share = torch.ones_like(self.counts, dtype=torch.float64)
        self.keep("log_noise", (share / share.sum()).log().float())

    def products(self) -> float:
        """See `OutputLayer.products`: scores of k noise words and the target."""
        return float((self.samples + 1) * self.width)

    def takes_all(self, x: torch.Tensor) -> bool:  # noqa: ARG002 - the signature of the base class
        """See `OutputLayer.takes_all`: false, because noise words are drawn for a selection."""
        return False

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """See `OutputLayer.loss`: the sampled loss, with newly drawn noise words."""
        refuse_smoothing(smoothing, "sampled or nce")
        self.refresh()
        noise = torch.multinomial(self.log_noise.exp(), self.samples, replacement=True)  # (k,)
        return self.loss_against(hidden, targets, noise)

    def loss_against(self, hidden: torch.Tensor, targets: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """The loss for given noise words: (N, D), (N,), (k,) → scalar."""
        target, others = self._scores(hidden, targets, noise)  # (N,), (N, k)
        others = others.masked_fill(noise == targets[:, None], -math.inf)
        return (torch.logaddexp(target, others.logsumexp(dim=1)) - target).sum()

    def _scores(
        self, hidden: torch.Tensor, targets: torch.Tensor, noise: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """s of the targets, (N,), and Δ of the noise words, (N, k), in float32."""
        self.refresh()
        assert self.bias is not None
        # `embedding` selects rows, because its gradient is faster than that of indexing
        weight, bias = (functional.embedding(noise, table) for table in (self.weight, self.bias[:, None]))
        others = functional.linear(hidden, weight.to(hidden.dtype)).float()  # (N, k)
        others = others + bias[:, 0] - self._log_expected(noise, len(noise))
        weight, bias = (functional.embedding(targets, table) for table in (self.weight, self.bias[:, None]))
        return (hidden.float() * weight).sum(dim=1) + bias[:, 0], others

    def _log_expected(self, words: torch.Tensor, samples: int) -> torch.Tensor:
        """log k q(v): log of the expected number of a word's occurrences in the noise."""
        return math.log(samples) + self.log_noise[words]


class NoiseContrastive(SampledSoftmax):
    """A softmax trained with noise-contrastive estimation."""

    def _first_bias(self) -> float:
        return -math.log(self.vocab_size)

    def loss_against(self, hidden: torch.Tensor, targets: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        target, others = self._scores(hidden, targets, noise)  # (N,), (N, k)
        target = target - self._log_expected(targets, len(noise))
        return -functional.logsigmoid(target).sum() - functional.logsigmoid(-others).sum()
