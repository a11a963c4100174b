"""All pairs of a prompt's K answers in one batch, or each pair as a separate example (Ouyang et al. 2022, section 3.5).

    together   −1 / C(K, 2) Σ log σ(r_w − r_l), each answer is read once per pass
    apart      −log σ(r_w − r_l), the pairs of all prompts, shuffled: each answer is read K − 1 times per pass

"If we simply shuffle the comparisons into one dataset, a single pass over the dataset caused the reward model to
overfit." Both learn the same rankings for the same number of passes, with the same number of pairs per step and the
same rate. They are evaluated on the rankings of held-out prompts.

    overfitting   held-out loss after the last pass, apart − together

Shape legend: C passes, N held-out rankings.
"""

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from claims.alignment.chain_settings import ChainConfig
from claims.alignment.small_policies import Chains
from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from langladder.evaluation.reward import rewards_of
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import Ranking

Way = Literal["together", "apart"]


class Variant(schema.Config):
    """The varied settings."""

    pairs: Way


class RankingPairsConfig(ChainConfig, ComparisonConfig):
    """Settings of `RankingPairs`."""

    VARIANT = Variant
    bases: list[Literal["reward model"]] = Field(min_length=1)
    metric: Literal["loss"] = "loss"
    passes: int = Field(default=6, ge=2)


class Learnt(NamedTuple):
    """One reward model. loss, right: (C, N) of held-out rankings; train: (C,), training loss; read: answers per
    pass."""

    loss: np.ndarray
    right: np.ndarray
    train: np.ndarray
    read: float


class RankingPairs(Comparison[RankingPairsConfig]):
    """Held-out loss after the last pass, and by passes; one line per method."""

    Config: ClassVar[type[schema.Config]] = RankingPairsConfig
    reads = ("tokens/text",)
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("held-out loss, nats per pair"),
        "right": Metric("held-out pairs right", more_is_better=True, drawn=False),
        "best": Metric("at the best pass", more_is_better=True, drawn=False),
        "lowest": Metric("lowest held-out loss", drawn=False),
        "read": Metric("answers read a pass", drawn=False),
        "losses": Metric("held-out loss", along="passes over the rankings"),
        "train": Metric("training loss", along="passes over the rankings"),
        "rights": Metric("held-out pairs right", along="passes over the rankings"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`; the SFT model is the same for all seeds."""
        chains = Chains(data, self.config)

        def trial(_: str, change: Change, seed: int) -> Scored:
            pairs = self._learnt(chains, Variant(**change).pairs, seed, seeds[0])
            loss, right = pairs.loss.mean(axis=1), pairs.right.mean(axis=1)  # (C,)
            return 0, {
                "loss": pairs.loss[-1],
                "right": pairs.right[-1],
                "best": float(right.max()),
                "lowest": float(loss.min()),
                "read": pairs.read,
                "losses": dict(enumerate(loss.tolist(), start=1)),
                "train": dict(enumerate(pairs.train.tolist(), start=1)),
                "rights": dict(enumerate(right.tolist(), start=1)),
            }

        return trial

    def _learnt(self, chains: Chains, way: Way, seed: int, base_seed: int) -> Learnt:
        """One reward model."""
        config, base = self.config, chains.sft(seed=base_seed)
        rankings = chains.learnt(seed=seed, base_seed=base_seed)
        held_out = chains.rankings(chains.sets.held_out, seed=0, base_seed=base_seed)
        pairs = sum(len(ranking.pairs()) for ranking in rankings)
        # the same average number of pairs per step, so that both make the same number of steps per pass
        size = (
            config.reward_batch_size if way == "together" else round(config.reward_batch_size * pairs / len(rankings))
        )
        examples = len(rankings) if way == "together" else pairs
        changes: dict[str, Any] = {
            "pairs": way,
            "batch_size": size,
            "epochs": float(config.passes),
            "schedule": "constant",
        }
        steps = config.rewarding(examples, batch_size=size, epochs=float(config.passes)).max_steps
        stops = np.ceil(np.linspace(0, steps, config.passes + 1)).astype(int)[1:].tolist()
        measured: list[tuple[np.ndarray, np.ndarray, float]] = []

        def watch(model: RewardModel, step: int) -> None:
            if step in stops:
                trained = float(judged(model, rankings[: len(held_out)])[0].mean())
                measured.extend([(*judged(model, held_out), trained)] * stops.count(step))
                model.train()

        chains.judge(rankings, base, seed=seed, watch=watch, **changes)
        answers = sum(len(ranking.responses) for ranking in rankings) if way == "together" else 2 * pairs
        loss, right, train = (np.stack(part) for part in zip(*measured, strict=True))
        return Learnt(loss, right, train, float(answers))


def judged(model: RewardModel, rankings: list[Ranking]) -> tuple[np.ndarray, np.ndarray]:
    """Mean −log σ(r_w − r_l) in nats over the pairs of each ranking, and the share of correct pairs, (N,) each."""
    losses, right = [], []
    for rewards, ranking in zip(rewards_of(model, rankings), rankings, strict=True):
        better, worse = np.array(ranking.pairs()).T  # (pairs,) each
        differences = rewards[better] - rewards[worse]
        losses.append(float(np.logaddexp(0, -differences).mean()))
        right.append(float((differences > 0).mean()))
    return np.array(losses), np.array(right)
