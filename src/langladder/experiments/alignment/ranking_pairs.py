"""All pairs of a prompt's K answers in one batch, or each pair an example of its own (Ouyang et al. 2022, section 3.5).

    together   −1 / C(K, 2) Σ log σ(r_w − r_l), each answer read once a pass
    apart      −log σ(r_w − r_l), the pairs of all prompts shuffled: each answer is read and learnt K − 1 times a pass

"If we simply shuffle the comparisons into one dataset, a single pass over the dataset caused the reward model to
overfit." Both learn the same rankings for as many passes, with as many pairs a step at the same rate, and are judged
on the rankings of held-out prompts.

    overfitting   held-out loss after the last pass, apart − together

Shape legend: S seeds, C passes, N held-out rankings.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from langladder.evaluation.reward import rewards_of
from langladder.experiments.alignment.chain_settings import ChainConfig
from langladder.experiments.alignment.policy_answers import with_interval
from langladder.experiments.alignment.small_policies import Chains
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.statistics import Difference, above, difference, gated
from langladder.ground import schema
from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import Ranking

Way = Literal["together", "apart"]
WAYS: tuple[Way, Way] = ("together", "apart")


class RankingPairsConfig(ChainConfig, RepeatedConfig):
    """Settings of `RankingPairs`."""

    passes: int = Field(default=6, ge=2)


class Learnt(NamedTuple):
    """One way. loss, right: (S, C, N) of held-out rankings; train: (S, C), loss; read: answers read a pass."""

    loss: np.ndarray
    right: np.ndarray
    train: np.ndarray
    read: float


class RankingPairs(Experiment[RankingPairsConfig]):
    """Held-out loss and accuracy by passes, a line a way."""

    Config: ClassVar[type[schema.Config]] = RankingPairsConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, chains = self.config, Chains(data, self.config)
        found: dict[Way, Learnt] = {}
        for way in WAYS:
            some = [self._learnt(chains, way, one, seed) for one in config.numbers(seed)]
            loss, right, train = (np.stack([getattr(one, name) for one in some]) for name in ("loss", "right", "train"))
            found[way] = Learnt(loss, right, train, some[0].read)
            told = ", ".join(f"{value:.3f}" for value in loss.mean(axis=(0, 2)))
            progress(f"{way}: held-out loss {told}")
        return findings(found, config.margin)

    def _learnt(self, chains: Chains, way: Way, seed: int, base_seed: int) -> Learnt:
        """One reward model, without the dimension of seeds."""
        config, base = self.config, chains.sft(seed=base_seed)
        rankings = chains.learnt(seed=seed, base_seed=base_seed)
        held_out = chains.rankings(chains.sets.held_out, seed=0, base_seed=base_seed)
        pairs = sum(len(one.pairs()) for one in rankings)
        # as many pairs a step, on average, so that both make as many steps a pass
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
        told: list[tuple[np.ndarray, np.ndarray, float]] = []

        def watch(model: RewardModel, step: int) -> None:
            if step in stops:
                trained = float(judged(model, rankings[: len(held_out)])[0].mean())
                told.extend([(*judged(model, held_out), trained)] * stops.count(step))
                model.train()

        chains.judge(rankings, base, seed=seed, watch=watch, **changes)
        answers = sum(len(one.responses) for one in rankings) if way == "together" else 2 * pairs
        loss, right, train = (np.stack(part) for part in zip(*told, strict=True))
        return Learnt(loss, right, train, float(answers))


def judged(model: RewardModel, rankings: list[Ranking]) -> tuple[np.ndarray, np.ndarray]:
    """Mean −log σ(r_w − r_l) in nats over the pairs of each ranking, and the share of them that is right, (N,) each."""
    losses, right = [], []
    for given, one in zip(rewards_of(model, rankings), rankings, strict=True):
        better, worse = np.array(one.pairs()).T  # (pairs,) each
        differences = given[better] - given[worse]
        losses.append(float(np.logaddexp(0, -differences).mean()))
        right.append(float((differences > 0).mean()))
    return np.array(losses), np.array(right)


def findings(found: Mapping[Way, Learnt], margin: float) -> Findings:
    """The claim holds where, after the last pass, the pairs apart lose more on held-out rankings than together."""
    together, apart = (found[way] for way in WAYS)
    passes = together.loss.shape[1]

    def gap(place: int, what: str) -> Difference:
        return difference(getattr(apart, what)[:, place], getattr(together, what)[:, place])

    last, first = gap(-1, "loss"), gap(0, "loss")
    gate = above(together.right.mean(axis=2).max(axis=1), 0.5, "nothing was learnt: the share of held-out pairs")
    verdict = gated([gate], last.exceeds(margin))
    parts = [
        f"after {passes} passes the held-out loss is {_mean(together.loss, -1)} together, {_mean(apart.loss, -1)} "
        f"apart, {with_interval(last)}, the pairs right {_mean(together.right, -1)} and {_mean(apart.right, -1)}, "
        f"{with_interval(gap(-1, 'right'))}",
        f"after one pass the loss is {_mean(together.loss, 0)} and {_mean(apart.loss, 0)}, {with_interval(first)}",
        f"at its lowest it is {together.loss.mean(axis=(0, 2)).min():.3f} and {apart.loss.mean(axis=(0, 2)).min():.3f}",
        f"{apart.read / together.read:.1f} times as many answers are read apart",
    ]
    return Findings(
        **opened(verdict, "; ".join(parts) + "."),
        columns=["pairs", "passes", "training loss", "held-out loss", "held-out pairs right"],
        rows=[
            [
                way,
                float(place + 1),
                *(rounded(float(values[:, place].mean())) for values in (one.train, one.loss, one.right)),
            ]
            for way, one in found.items()
            for place in range(passes)
        ],
        plots=[
            _plot(
                "Loss",
                "nats a pair",
                {f"{way}, held out": one.loss.mean(axis=2) for way, one in found.items()}
                | {f"{way}, training": one.train for way, one in found.items()},
            ),
            _plot("Held-out pairs right", "share", {way: one.right.mean(axis=2) for way, one in found.items()}),
        ],
        figures={
            figure(way, what, str(place + 1)): float(getattr(one, what)[:, place].mean())
            for way, one in found.items()
            for what in ("loss", "right")
            for place in range(passes)
        },
    )


def _mean(values: np.ndarray, place: int) -> str:
    return f"{values[:, place].mean():.3f}"


def _plot(title: str, label: str, lines: Mapping[str, np.ndarray]) -> Plot:
    """Lines (S, C) with their spread over seeds."""
    return Plot(
        title=f"{title} by passes",
        x_label="passes over the rankings",
        y_label=label,
        series=[
            series(
                name,
                [float(place + 1) for place in range(values.shape[1])],
                values.mean(axis=0).tolist(),
                values.std(axis=0, ddof=1).tolist() if len(values) > 1 else None,
            )
            for name, values in lines.items()
        ],
    )
