"""Translators that learn from the quality of whole translations, after cross-entropy has taught them words.

Cross-entropy trains each word after correct ones and knows no better and worse translation. Here a translator makes
translations of its training sentences; R(y) from 0 to 1 is the sentence BLEU of the text, with one added to the counts
of bigrams and longer (Lin & Och 2004), because an unsmoothed one is mostly 0.

    risk            minimum risk training (Shen et al. 2016, section 3.2), with S(x) the different ones of M samples and
                    the reference:
                        Q(y | x) = P(y | x)^α / Σ_{y' ∈ S(x)} P(y' | x)^α,   L = mean_x Σ_{y ∈ S(x)} Q(y | x) (1 − R(y))
    self_critical   REINFORCE (Williams 1992; Ranzato et al. 2016) against the model's own greedy translation ŷ
                    (Rennie et al. 2017, equation 8):
                        L = −mean_x mean_m (R(y^m) − R(ŷ)) log P(y^m | x)

Samples are drawn from P itself, and nothing here has dropout: log P of another network than the one that drew them has
a mean gradient that is not 0, which drives P away. No gradient passes through R or through what is drawn.

Differences from Shen et al.: no dropout, and 1 − R is never negative.

Shape legend: B sentences, K candidates of one, R all candidates, T target positions, N their tokens, D width.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch.nn import functional

from langladder.data.batches import generator
from langladder.data.translation import PairBatch, pad
from langladder.decoding.beam_search import BeamConfig, beam_search
from langladder.decoding.sample_translations import SampleConfig, sample_translations
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.models.translation.translator import Translator
from langladder.tasks import translation
from langladder.tasks.settings import TranslationTuning
from langladder.tasks.translation import BleuSample, TranslationTask
from langladder.text.storage.token_streams import PairStream
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizers import Tokenizer

Reward = Callable[[Sequence[int], Sequence[int]], float]
"""R of a translation against its reference, both ids without BOS and EOS."""


def expected_cost(log_probs: torch.Tensor, costs: torch.Tensor, alpha: float) -> torch.Tensor:
    """Σ Q(y) cost(y) over K candidates, Q = softmax(α log P): log P (K,), costs (K,) → scalar."""
    # Q(y | x) = P(y | x)^α / Σ_{y'} P(y' | x)^α
    return (torch.softmax(alpha * log_probs, dim=0) * costs).sum()


def self_critical(log_probs: torch.Tensor, rewards: torch.Tensor, baseline: float) -> torch.Tensor:
    """−mean (R(y) − R(ŷ)) log P(y) over K samples: log P (K,), rewards (K,) → scalar."""
    return -((rewards - baseline) * log_probs).mean()


def candidate_log_probs(
    model: Translator, source: torch.Tensor, candidates: Sequence[Sequence[Sequence[int]]]
) -> tuple[torch.Tensor, ...]:
    """log P(y | x) with its gradient: source (B, S), of each row K candidates (ids without BOS, EOS) → B × (K,)."""
    counts = [len(several) for several in candidates]
    rows = torch.arange(len(source)).repeat_interleave(torch.tensor(counts)).to(source.device)  # (R,)
    target = pad([np.array([BOS, *ids, EOS]) for several in candidates for ids in several]).to(source.device)
    following = target[:, 1:]  # (R, T)
    keep = following != PAD
    logits = model.head(model.kept(source[rows], target[:, :-1], keep)).float()  # (N, V)
    # log P(y | x) = Σ_t log P(y_t | y_<t, x)
    tokens = -functional.cross_entropy(logits, following[keep], reduction="none")  # (N,)
    sums = tokens.new_zeros(keep.shape).masked_scatter(keep, tokens).sum(dim=1)  # (R,)
    return torch.split(sums, counts)


class RewardTask(TranslationTask):
    """Lower the expected cost of a translator's own translations."""

    def __init__(
        self, model: Translator, config: TranslationTuning, sample: BleuSample | None = None, *, reward: Reward
    ) -> None:
        super().__init__(model, config, sample)
        assert config.reward is not None
        self.settings, self.reward = config.reward, reward

    @property
    def one_graph(self) -> bool:
        """See `Task.one_graph`: translations are drawn."""
        return False

    def loss(self, batch: PairBatch) -> torch.Tensor:
        """Mean over the sentences."""
        references = [row[(row != PAD) & (row != BOS) & (row != EOS)].tolist() for row in batch.target]
        self.model.eval()
        samples = self._samples(batch.source)
        best = self._greedy(batch.source) if self.settings.method == "self_critical" else references
        if self.settings.method == "risk":  # each of S(x) once
            samples = [
                [list(sample) for sample in dict.fromkeys(map(tuple, (reference, *several)))]
                for reference, several in zip(references, samples, strict=True)
            ]
        with torch.backends.cudnn.flags(enabled=False):  # cuDNN does not differentiate a network without dropout
            results = candidate_log_probs(self.model, batch.source, samples)
        losses = []
        for log_probs, several, reference, greedy in zip(results, samples, references, best, strict=True):
            rewards = log_probs.new_tensor([self.reward(ids, reference) for ids in several])  # (K,)
            if self.settings.method == "risk":
                losses.append(expected_cost(log_probs, 1 - rewards, self.settings.alpha))
            else:
                losses.append(self_critical(log_probs, rewards, self.reward(greedy, reference)))
        return torch.stack(losses).mean()

    def _samples(self, source: torch.Tensor) -> list[list[list[int]]]:
        """M samples of each sentence, a function of the seed, the step and the sentence."""
        seed = int(generator(self.seed, self.steps_done).integers(2**63))
        config = SampleConfig(samples=self.settings.samples, max_ratio=self.settings.max_ratio, seed=seed)
        return [
            [candidate.tokens for candidate in several] for several in sample_translations(self.model, source, config)
        ]

    def _greedy(self, source: torch.Tensor) -> list[list[int]]:
        results = beam_search(self.model, source, BeamConfig(width=1, max_ratio=self.settings.max_ratio))
        return [hypotheses[0].tokens for hypotheses in results]


def make(
    model: Translator,
    tokenizers: Sequence[Tokenizer],
    train: PairStream,
    validation: PairStream,
    *,
    settings: TrainingSettings[TranslationTuning],
    run: Run,
    score: Callable[[str, str], float],
    bleu_tokenize: str = "13a",
) -> TrainingResult:
    """Train a trained translator further by a reward; see `translation.make`.

    Args:
        score: R of a text against its reference.
    """
    target = tokenizers[1]

    def reward(ids: Sequence[int], reference: Sequence[int]) -> float:
        return score(target.decode(ids), target.decode(reference))

    task = partial(RewardTask, reward=reward)
    return translation.make(
        model, tokenizers, train, validation, settings=settings, run=run, bleu_tokenize=bleu_tokenize, task=task
    )
