"""Beam search: the most probable translations, looked for along the K best beginnings (Graves 2012; Sutskever 2014).

At each step every one of a sentence's K live hypotheses is extended by every token. Extensions are ranked by their
summed log-probability: sums, not products, because 0.1⁴⁰⁰ is 0 in floating point and 400·ln 0.1 is not. Those among
the best K that end in EOS are finished and kept; the K best others live on. Finished ones are compared by

    score(y) = 1/T_y^α · Σ_t log P(y_t | y_<t, x),   T_y = number of tokens, EOS included

since the plain sum (α = 0) favours short sentences: each token makes it smaller. α = 1 is the mean a token.

A sentence is done when K hypotheses are finished, when none lives, or when no living one can still win. The last is
provable: a continuation's sum is at most its beginning's, and its length at most the limit L, so that its score is at
most Σ/L^α (the sum is negative: the longer, the nearer to 0).

At its length limit a hypothesis may only take EOS, so everything returned is a whole sentence with its exact
probability. All of a sentence's limits come from the sentence itself: which others share its batch changes nothing.

Shapes: N sentences still searched, K beam width, R = N·K rows (a sentence's hypotheses adjacent), S source, V
vocabulary, t tokens so far.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from pydantic import Field, model_validator

from langladder.models.translator import State, Translator
from langladder.schema import Config
from langladder.text.specials import BOS, EOS, PAD


class BeamConfig(Config):
    """How translations are searched for."""

    width: int = Field(default=5, ge=1)
    """K; 1 is greedy search."""
    alpha: float = Field(default=0.7, ge=0, le=2)
    """Exponent of the length normalisation; 0 = none, 1 = mean log-probability a token."""
    n_best: int = Field(default=1, ge=1)
    """Translations returned for each sentence, at most `width`."""
    min_length: int = Field(default=1, ge=0)
    """Fewest tokens before EOS."""
    max_length: int = Field(default=200, ge=1)
    """Most tokens before EOS."""
    max_ratio: float = Field(default=2.0, gt=0)
    """Most tokens before EOS for each source token, plus 10."""
    early_stop: bool = True
    """Stop where nothing better can come; never changes the result."""

    @model_validator(mode="after")
    def _check(self) -> "BeamConfig":
        if self.n_best > self.width:
            raise ValueError(f"n_best={self.n_best} exceeds width={self.width}: a beam holds `width` hypotheses")
        if self.min_length > self.max_length:
            raise ValueError(f"min_length={self.min_length} exceeds max_length={self.max_length}")
        return self


@dataclass(frozen=True)
class Hypothesis:
    """One finished translation.

    Attributes:
        tokens: target ids, without BOS and EOS.
        log_prob: natural log of its probability given the source, EOS included.
        score: `log_prob`, length-normalised.
        attention: (T, S) float32, T = len(tokens) + 1: how much of each source position was read for each token and
            for EOS; None for a model without attention.
    """

    tokens: list[int]
    log_prob: float
    score: float
    attention: np.ndarray | None = None


def normalised(log_prob: float, length: int, alpha: float) -> float:
    """Σ log P / T^α for a hypothesis of `length` tokens, EOS included."""
    return log_prob / math.pow(length, alpha)


@torch.no_grad()
def beam_search(model: Translator, source: torch.Tensor, config: BeamConfig) -> list[list[Hypothesis]]:
    """Translate a batch.

    Args:
        model: any translator, in evaluation mode.
        source: (N, S) int64, ids … EOS, right-padded with PAD.

    Returns:
        For each sentence its `n_best` hypotheses (fewer if fewer exist), best first, no two alike.
    """
    search = _Search.begin(model, source, config)
    while len(search.sentences):
        search.advance()
    return [sorted(found, key=lambda hypothesis: -hypothesis.score)[: config.n_best] for found in search.finished]


@dataclass
class _Search:
    """What a running search knows. `sentences` (N,) are the places in the batch of those not yet done."""

    model: Translator
    config: BeamConfig
    finished: list[list[Hypothesis]]
    sentences: torch.Tensor  # (N,)
    limits: torch.Tensor  # (N,) most tokens before EOS
    widths: list[int]  # source length of each sentence of the batch
    state: State  # R rows
    prefix: torch.Tensor  # (N, K, 1 + t), BOS first
    log_prob: torch.Tensor  # (N, K) float64; −inf where there is no hypothesis
    attention: torch.Tensor | None = None  # (N, K, t, S); None before the first step and without attention

    @classmethod
    def begin(cls, model: Translator, source: torch.Tensor, config: BeamConfig) -> "_Search":
        mask = source != PAD
        N, K, device = len(source), config.width, source.device
        lengths = mask.sum(dim=1)
        rows = torch.arange(N, device=device).repeat_interleave(K)  # (R,)
        log_prob = torch.full((N, K), -math.inf, dtype=torch.float64, device=device)
        log_prob[:, 0] = 0.0  # one beginning, BOS
        limits = (config.max_ratio * lengths + 10).long().clamp(max=config.max_length)
        return cls(
            model=model,
            config=config,
            finished=[[] for _ in range(N)],
            sentences=torch.arange(N, device=device),
            limits=limits.clamp(min=config.min_length),
            widths=lengths.tolist(),
            state=model.reorder(model.encode(source, mask), rows),
            prefix=torch.full((N, K, 1), BOS, dtype=torch.int64, device=device),
            log_prob=log_prob,
        )

    def advance(self) -> None:
        """Extend every hypothesis by one token; take out what is finished and the sentences that are done."""
        N, K, t = self.prefix.shape[0], self.config.width, self.prefix.shape[2] - 1
        log_probs, self.state, weights = self.model.step(self.prefix.flatten(0, 1), self.state)  # (R, V)
        if weights is not None:
            step = weights.view(N, K, 1, -1)
            self.attention = step if self.attention is None else torch.cat([self.attention, step], dim=2)
        allowed = self._allowed(log_probs.view(N, K, -1), t)  # (N, K, V)
        # A hypothesis' K + 1 best tokens are all that can matter: K live on at most, and EOS only ranks among them.
        values, tokens = allowed.topk(min(K + 1, allowed.shape[2]), dim=2)  # (N, K, C)
        best, place = (self.log_prob.unsqueeze(2) + values).flatten(1).sort(dim=1, descending=True, stable=True)
        parent, token = place // values.shape[2], tokens.flatten(1).gather(1, place)  # (N, K·C)
        ends = token == EOS
        self._finish((ends & best.isfinite())[:, :K], best, parent)
        living = torch.argsort(ends.long(), dim=1, stable=True)[:, :K]  # the K best that do not end
        ended = ends.gather(1, living)
        self.log_prob = best.gather(1, living).masked_fill(ended, -math.inf)
        self._select(parent.gather(1, living), token.gather(1, living))
        self._drop_done()

    def _allowed(self, log_probs: torch.Tensor, t: int) -> torch.Tensor:
        """Log-probabilities (N, K, V), −inf for what may not come after t tokens."""
        allowed = log_probs.clone()
        allowed[..., [PAD, BOS]] = -math.inf
        if t < self.config.min_length:
            allowed[..., EOS] = -math.inf
        full = self.limits <= t  # (N,)
        if bool(full.any()):
            end = allowed[full][..., EOS]
            allowed[full] = -math.inf
            allowed[full.nonzero()[:, 0], :, EOS] = end
        return allowed

    def _finish(self, ending: torch.Tensor, best: torch.Tensor, parent: torch.Tensor) -> None:
        """Keep the extensions marked in `ending` (N, K) as finished hypotheses."""
        for row, rank in ending.nonzero().tolist():
            sentence, beam = int(self.sentences[row]), int(parent[row, rank])
            if len(self.finished[sentence]) == self.config.width:
                continue
            tokens, log_prob = self.prefix[row, beam, 1:].tolist(), float(best[row, rank])
            score = normalised(log_prob, len(tokens) + 1, self.config.alpha)
            attention = None
            if self.attention is not None:
                attention = self.attention[row, beam, :, : self.widths[sentence]].float().cpu().numpy().copy()
            self.finished[sentence].append(Hypothesis(tokens, log_prob, score, attention))

    def _select(self, parent: torch.Tensor, token: torch.Tensor) -> None:
        """Let the hypotheses (N, K) that extend `parent` by `token` live on."""
        rows = torch.arange(len(parent), device=parent.device).unsqueeze(1)
        self.prefix = torch.cat([self.prefix[rows, parent], token.unsqueeze(2)], dim=2)
        self.attention = None if self.attention is None else self.attention[rows, parent]
        self.state = self.model.reorder(self.state, (rows * self.config.width + parent).flatten(), same_source=True)

    def _drop_done(self) -> None:
        """Take out the sentences whose search is over."""
        best_living = self.log_prob.max(dim=1).values.tolist()  # (N,)
        limits = self.limits.tolist()
        going = [
            row
            for row, sentence in enumerate(self.sentences.tolist())
            if not self._done(self.finished[sentence], best_living[row], limits[row])
        ]
        if len(going) == len(best_living):
            return
        rows = torch.tensor(going, dtype=torch.int64, device=self.prefix.device)
        K = self.config.width
        self.sentences, self.limits = self.sentences[rows], self.limits[rows]
        self.prefix, self.log_prob = self.prefix[rows], self.log_prob[rows]
        self.attention = None if self.attention is None else self.attention[rows]
        beams = torch.arange(K, device=rows.device)
        self.state = self.model.reorder(self.state, (rows.unsqueeze(1) * K + beams).flatten())

    def _done(self, finished: list[Hypothesis], best_living: float, limit: int) -> bool:
        if len(finished) == self.config.width or best_living == -math.inf:
            return True
        if not self.config.early_stop or len(finished) < self.config.n_best:
            return False
        worst_returned = sorted((hypothesis.score for hypothesis in finished), reverse=True)[self.config.n_best - 1]
        return worst_returned >= normalised(best_living, limit + 1, self.config.alpha)
