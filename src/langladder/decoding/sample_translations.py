"""Sampling translations: y_t ~ P(· | y_<t, x), one token after the other, with temperature, top-k and top-p.

What is drawn for a sentence depends on the seed and the sentence alone: not on its place, nor on those that share its
batch. So the same sentence twice gives the same samples twice. What the temperature and the cuts mean is said in
`sampling`; the log-probability of a sample is the model's own, without them.

Shape legend: N sentences, M samples of each, R = N·M rows, V vocabulary, t tokens so far.
"""

import numpy as np
import torch
from pydantic import Field

from langladder.decoding.beam_search import Hypothesis, forbid, length_limits, only_eos
from langladder.decoding.limits import MostTokens, Seed, Temperature, TopK, TopP
from langladder.decoding.sampling import SamplingConfig, choose
from langladder.ground.schema import Config
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import BOS, EOS


class SampleConfig(Config):
    """How translations are drawn."""

    samples: int = Field(default=1, ge=1, le=10_000)
    """M: translations drawn for each sentence."""
    temperature: Temperature = 1.0
    top_k: TopK = None
    top_p: TopP = None
    max_length: MostTokens = 200
    """Most tokens before EOS."""
    max_ratio: float = Field(default=2.0, gt=0, le=1000)
    """Most tokens before EOS for each source token, plus 10."""
    seed: Seed = 0


@torch.no_grad()
def sample_translations(model: Translator, source: torch.Tensor, config: SampleConfig) -> list[list[Hypothesis]]:
    """Draw translations of a batch, (N, S) int64, ids … EOS, right-padded with PAD.

    Returns:
        For each sentence its M samples as drawn (the same one may come twice), each a whole sentence with its exact
        probability; at its length limit a sample takes EOS. Their score is the mean log-probability a token.
    """
    mask = model.present(source)
    N, M, lengths = len(source), config.samples, mask.sum(dim=1)
    rows = torch.arange(N, device=source.device).repeat_interleave(M)  # (R,)
    limits = length_limits(lengths, config.max_ratio, config.max_length)[rows]  # (R,)
    state = model.reorder(model.encode(source, mask), rows)
    prefix = torch.full((N * M, 1), BOS, dtype=torch.int64, device=source.device)  # (R, 1 + t)
    log_prob = torch.zeros(N * M, dtype=torch.float64, device=source.device)
    running = torch.ones(N * M, dtype=torch.bool, device=source.device)
    random = [_generator(config.seed, row[:length]) for row, length in zip(source.tolist(), lengths, strict=True)]
    how = SamplingConfig(temperature=config.temperature, top_k=config.top_k, top_p=config.top_p)
    read: list[torch.Tensor] = []  # attention of each step, (R, S)
    while bool(running.any()):
        log_probs, state, weights = model.step(prefix, state)  # (R, V)
        allowed = only_eos(forbid(log_probs), (limits <= prefix.shape[1] - 1) | ~running).cpu()
        drawn = [choose(allowed[i * M : (i + 1) * M], prefix[:M].cpu(), how, random[i]) for i in range(N)]
        token = torch.cat(drawn).to(source.device)  # (R,)
        log_prob += log_probs.gather(1, token[:, None])[:, 0].masked_fill(~running, 0.0)
        prefix = torch.cat([prefix, token[:, None]], dim=1)
        running = running & (token != EOS)
        read += [] if weights is None else [weights]
    attention = torch.stack(read, dim=1).float().cpu().numpy() if read else None  # (R, T, S)
    return [
        [_hypothesis(prefix[r].tolist(), float(log_prob[r]), attention, r, int(lengths[i])) for r in _rows(i, M)]
        for i in range(N)
    ]


def _rows(sentence: int, samples: int) -> range:
    return range(sentence * samples, (sentence + 1) * samples)


def _hypothesis(ids: list[int], log_prob: float, attention: np.ndarray | None, row: int, width: int) -> Hypothesis:
    tokens = ids[1 : ids.index(EOS)]
    T = len(tokens) + 1
    weights = None if attention is None else attention[row, :T, :width].copy()
    return Hypothesis(tokens, log_prob, log_prob / T, weights)


def _generator(seed: int, source: list[int]) -> torch.Generator:
    """Random numbers of one sentence."""
    words = np.random.SeedSequence([seed, *source]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(words[0] >> np.uint64(1)))
