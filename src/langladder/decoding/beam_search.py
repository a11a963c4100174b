"""Beam search: the most probable translations, searched along the K best prefixes (Graves 2012; Sutskever 2014).

At each step every one of a sentence's K live hypotheses is extended by every token. Extensions are ranked by their
summed log-probability: sums, not products, because 0.1⁴⁰⁰ is 0 in floating point and 400·ln 0.1 is not. Those among
the best K that end in EOS are finished and kept; the K best others live on. When K are finished the search is over, so
that K = 1 is greedy search. Finished ones are compared by their score: normalised by length, and for coverage of the
source (`scores`).

A sentence is done early when no living hypothesis can reach what is returned. That is provable: with every further
token a sum falls or stays, lp grows or stays (up to the length limit L), and no coverage penalty is above 0, hence

    score(any continuation of y) ≤ Σ_t log P(y_t) / lp(L)

At its length limit a hypothesis may only take EOS, so everything returned is a whole sentence with its exact
probability. All of a sentence's limits come from the sentence itself: which others share its batch changes nothing.

Diverse beam search (Vijayakumar et al. 2016, algorithm 1) divides the K into G groups of B = K/G that search by
themselves, except that at each step a group ranks every token v λ · (how often the groups before it chose v in this
step) lower (their Hamming diversity). The penalty only ranks: the sums remain the model's own.

Shape legend: N sentences still searched, K beam width, R = N·K rows (a sentence's hypotheses adjacent, group by
group), B hypotheses of a group, C candidates of a hypothesis, S source, V vocabulary, t tokens so far.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from pydantic import Field, model_validator

from langladder.decoding.limits import (
    BeamWidth,
    Coverage,
    Diversity,
    FewestTokens,
    LengthExponent,
    LengthForm,
    MostTokens,
)
from langladder.decoding.scores import coverage_penalty, normalised
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.models.translation.translator import State, Translator
from langladder.text.tokenize.specials import BOS, EOS, PAD


class BeamConfig(Config):
    """Settings of the search."""

    width: BeamWidth = 5
    """K; 1 is greedy search."""
    alpha: LengthExponent = 0.7
    """Exponent of the length normalisation; 0 = none, 1 = mean log-probability a token."""
    length_form: LengthForm = "power"
    """T^α, or ((5 + T) / 6)^α as in Google's system."""
    coverage: Coverage = 0.0
    """β of the coverage penalty; 0 = none. Only for models with attention."""
    n_best: BeamWidth = 1
    """Translations returned for each sentence, at most `width`."""
    min_length: FewestTokens = 1
    """Fewest tokens before EOS."""
    max_length: MostTokens = 200
    """Most tokens before EOS."""
    max_ratio: float = Field(default=2.0, gt=0, le=1000)
    """Maximum number of tokens before EOS per source token, plus 10."""
    early_stop: bool = True
    """Stop when no better hypothesis is possible; never changes the result."""
    groups: BeamWidth = 1
    """G of diverse beam search; divides `width`. 1 = ordinary beam search."""
    diversity: Diversity = 0.5
    """λ: penalty of a token for each choice of it by an earlier group; no effect if `groups` is 1."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.n_best > self.width:
            raise ValueError(f"n_best={self.n_best} exceeds width={self.width}: a beam holds `width` hypotheses")
        if self.min_length > self.max_length:
            raise ValueError(f"min_length={self.min_length} exceeds max_length={self.max_length}")
        if self.width % self.groups:
            raise ValueError(f"groups={self.groups} does not divide width={self.width}: all groups have the same size")
        return self


@dataclass(frozen=True)
class Hypothesis:
    """One finished translation.

    Attributes:
        tokens: target ids, without BOS and EOS.
        log_prob: natural log of its probability given the source, EOS included.
        score: `log_prob`, normalised by length and coverage.
        attention: (T, S) float32, T = len(tokens) + 1: how much of each source position was read for each token and
            for EOS; None for a model without attention.
    """

    tokens: list[int]
    log_prob: float
    score: float
    attention: np.ndarray | None = None


@torch.no_grad()
def beam_search(model: Translator, source: torch.Tensor, config: BeamConfig) -> list[list[Hypothesis]]:
    """Translate a batch.

    Args:
        model: any translator, in evaluation mode.
        source: (N, S) int64, ids … EOS, right-padded with PAD.

    Returns:
        For each sentence its `n_best` hypotheses (fewer if fewer exist), best first, without duplicates.

    Raises:
        InputError: a coverage penalty is requested for a model without attention.
    """
    search = _Search.begin(model, source, config)
    while len(search.sentences):
        search.advance()
    return [_best(groups, config.n_best) for groups in search.finished]


def _best(groups: list[list[Hypothesis]], count: int) -> list[Hypothesis]:
    """The best `count` of all groups' hypotheses, each sentence once."""
    distinct = {tuple(hypothesis.tokens): hypothesis for group in groups for hypothesis in group}
    return sorted(distinct.values(), key=lambda hypothesis: -hypothesis.score)[:count]


@dataclass
class _Search:
    """The state of a running search. `sentences` (N,) are the positions in the batch of those not yet done."""

    model: Translator
    config: BeamConfig
    finished: list[list[list[Hypothesis]]]  # of each sentence of the batch, of each group
    sentences: torch.Tensor  # (N,)
    limits: torch.Tensor  # (N,) most tokens before EOS
    widths: list[int]  # source length of each sentence of the batch
    state: State  # R rows; before the first step, when all hypotheses of a sentence are BOS, N
    prefix: torch.Tensor  # (N, K, 1 + t), BOS first
    log_prob: torch.Tensor  # (N, K) float64; −inf for no hypothesis
    attention: torch.Tensor | None = None  # (N, K, t, S); None before the first step and without attention

    @classmethod
    def begin(cls, model: Translator, source: torch.Tensor, config: BeamConfig) -> Self:
        mask = model.present(source)
        N, K, device = len(source), config.width, source.device
        lengths = mask.sum(dim=1)
        log_prob = torch.full((N, K), -math.inf, dtype=torch.float64, device=device)
        log_prob[:, :: K // config.groups] = 0.0  # one beginning a group, BOS
        limits = length_limits(lengths, config.max_ratio, config.max_length)
        return cls(
            model=model,
            config=config,
            finished=[[[] for _ in range(config.groups)] for _ in range(N)],
            sentences=torch.arange(N, device=device),
            limits=limits.clamp(min=config.min_length),
            widths=lengths.tolist(),
            state=model.encode(source, mask),
            prefix=torch.full((N, K, 1), BOS, dtype=torch.int64, device=device),
            log_prob=log_prob,
        )

    @property
    def group_size(self) -> int:
        """B."""
        return self.config.width // self.config.groups

    def advance(self) -> None:
        """Extend every hypothesis by one token; remove finished hypotheses and completed sentences."""
        t = self.prefix.shape[2] - 1
        log_probs, weights = self._step(t)  # (N, K, V), (N, K, S)
        if weights is not None:
            step = weights.unsqueeze(2)
            self.attention = step if self.attention is None else torch.cat([self.attention, step], dim=2)
        elif self.config.coverage:
            raise InputError(
                f"coverage={self.config.coverage}: {type(self.model).__name__} has no attention weights, which "
                "coverage needs; allowed is 0"
            )
        allowed = self._allowed(log_probs, t)  # (N, K, V)
        chosen = torch.zeros_like(allowed[:, 0]) if self.config.groups > 1 else None  # (N, V) times, by earlier groups
        parents, tokens, sums = zip(
            *(self._extend(group, allowed, chosen) for group in range(self.config.groups)), strict=True
        )
        self.log_prob = torch.cat(sums, dim=1)  # (N, K)
        self._select(torch.cat(parents, dim=1), torch.cat(tokens, dim=1))
        self._drop_done()

    def _step(self, t: int) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The model's step: log-probabilities (N, K, V), weights (N, K, S). Equal first steps are computed once."""
        N, K = self.log_prob.shape
        prefix = self.prefix.flatten(0, 1) if t > 0 else self.prefix[:, 0]  # R rows, or N
        log_probs, self.state, weights = self.model.step(prefix, self.state)
        if t == 0:
            rows = torch.arange(N, device=prefix.device).repeat_interleave(K)  # (R,)
            self.state = self.model.reorder(self.state, rows)
            log_probs, weights = log_probs[rows], None if weights is None else weights[rows]
        return log_probs.view(N, K, -1), None if weights is None else weights.view(N, K, -1)

    def _extend(
        self, group: int, allowed: torch.Tensor, chosen: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The extensions of a group that continue, as parent, token and sum (N, B); stores those that end.

        `chosen` makes the ranking diverse, and learns what this group chose.
        """
        B, first = self.group_size, group * self.group_size
        log_probs, before = allowed[:, first : first + B], self.log_prob[:, first : first + B]  # (N, B, V), (N, B)
        ranked = log_probs if chosen is None else log_probs - self.config.diversity * chosen.unsqueeze(1)
        # Only a hypothesis' B + 1 best tokens matter: at most B continue, and EOS can be one of them.
        values, tokens = ranked.topk(min(B + 1, ranked.shape[2]), dim=2)  # (N, B, C)
        best, position = (before.unsqueeze(2) + values).flatten(1).sort(dim=1, descending=True, stable=True)
        parent, token = position // values.shape[2], tokens.flatten(1).gather(1, position)  # (N, B·C)
        if chosen is not None:
            chosen.scatter_add_(1, token[:, :B], best[:, :B].isfinite().to(chosen.dtype))
            rows = torch.arange(len(parent), device=parent.device).unsqueeze(1)
            best = before.gather(1, parent) + log_probs[rows, parent, token]  # the model's own sums
        ends = token == EOS
        self._finish(group, (ends & best.isfinite())[:, :B], best, parent + first)
        living = torch.argsort(ends.long(), dim=1, stable=True)[:, :B]  # the B best that do not end
        over = ends.gather(1, living)
        if (
            chosen is not None
        ):  # a group with B finished hypotheses is complete; without groups the sentence is complete
            full = [len(self.finished[sentence][group]) == B for sentence in self.sentences.tolist()]
            over = over | torch.tensor(full, device=over.device).unsqueeze(1)
        sums = best.gather(1, living).masked_fill(over, -math.inf)
        return parent.gather(1, living) + first, token.gather(1, living), sums

    def _allowed(self, log_probs: torch.Tensor, t: int) -> torch.Tensor:
        """Log-probabilities (N, K, V), −inf for tokens that are not allowed after t tokens."""
        allowed = forbid(log_probs, EOS if t < self.config.min_length else None)
        full = self.limits <= t  # (N,)
        return only_eos(allowed, full) if bool(full.any()) else allowed

    def _finish(self, group: int, ending: torch.Tensor, best: torch.Tensor, parent: torch.Tensor) -> None:
        """Keep the extensions marked in `ending` (N, B) as finished hypotheses of a group."""
        rows, ranks = ending.nonzero().unbind(1)
        beams = parent[rows, ranks]
        finished = zip(
            self.sentences[rows].tolist(),
            self.prefix[rows, beams, 1:].tolist(),
            best[rows, ranks].tolist(),
            [None] * len(rows) if self.attention is None else self.attention[rows, beams].float().cpu().numpy(),
            strict=True,
        )
        for sentence, tokens, log_prob, weights in finished:
            if len(self.finished[sentence][group]) == self.group_size:
                continue
            score = normalised(log_prob, len(tokens) + 1, self.config.alpha, self.config.length_form)
            attention = None
            if weights is not None:
                attention = weights[:, : self.widths[sentence]].copy()
                score += coverage_penalty(attention, self.config.coverage) if self.config.coverage else 0.0
            self.finished[sentence][group].append(Hypothesis(tokens, log_prob, score, attention))

    def _select(self, parent: torch.Tensor, token: torch.Tensor) -> None:
        """Continue with the hypotheses (N, K) that extend `parent` by `token`."""
        rows = torch.arange(len(parent), device=parent.device).unsqueeze(1)
        self.prefix = torch.cat([self.prefix[rows, parent], token.unsqueeze(2)], dim=2)
        self.attention = None if self.attention is None else self.attention[rows, parent]
        self.state = self.model.reorder(self.state, (rows * self.config.width + parent).flatten(), same_source=True)

    def _drop_done(self) -> None:
        """Remove the sentences whose search is complete."""
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

    def _done(self, finished: list[list[Hypothesis]], best_living: float, limit: int) -> bool:
        if best_living == -math.inf or all(len(group) == self.group_size for group in finished):
            return True
        if not self.config.early_stop:
            return False
        returned = _best(finished, self.config.n_best)
        if len(returned) < self.config.n_best:
            return False
        # score(any continuation) ≤ Σ / lp(L), L the most tokens there can be, EOS included: see the module's proof.
        bound = normalised(best_living, limit + 1, self.config.alpha, self.config.length_form)
        return returned[-1].score >= bound


def length_limits(lengths: torch.Tensor, max_ratio: float, max_length: int) -> torch.Tensor:
    """Maximum tokens before EOS for sources of these lengths, (N,) → (N,): max_ratio per source token, plus 10."""
    return (max_ratio * lengths + 10).long().clamp(max=max_length)


def forbid(log_probs: torch.Tensor, token: int | None = None) -> torch.Tensor:
    """A copy of log-probabilities (…, V) with −inf for PAD, BOS and one token more."""
    allowed = log_probs.clone()
    allowed[..., [PAD, BOS] if token is None else [PAD, BOS, token]] = -math.inf
    return allowed


def only_eos(allowed: torch.Tensor, full: torch.Tensor) -> torch.Tensor:
    """Log-probabilities (N, …, V) with −inf for all but EOS in the rows `full` (N,)."""
    others = torch.ones(allowed.shape[-1], dtype=torch.bool, device=allowed.device)
    others[EOS] = False
    return allowed.masked_fill(full.view(-1, *[1] * (allowed.ndim - 1)) & others, -math.inf)
