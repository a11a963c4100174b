"""Judging a reward model on rankings that it has not seen: accuracy on their pairs, calibration, by kind.

It says P(y_w ≻ y_l) = σ(r_w − r_l) (Bradley & Terry 1952). That one response is preferred at all it says with
σ(|Δr|) ≥ ½, and of the pairs with σ(|Δr|) = p a share p should be right. Two equal rewards are no preference: wrong.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from langladder.evaluation.label_scores import Bin, calibration_error, reliability
from langladder.evaluation.page import Excluded, Interval, Measured, Metric, Metrics, Page, Work, parameter_count
from langladder.evaluation.significance import ratio_interval
from langladder.evaluation.work import work_of
from langladder.ground.errors import InputError
from langladder.models.reward import RewardModel
from langladder.tasks.extensions import Target
from langladder.tasks.optimisation import OptimizerName
from langladder.text.labelled.instructions import ASSISTANT, Message, Ranking
from langladder.text.labelled.templates import ChatTemplate


class KindScores(Measured):
    """The scores of one kind of instruction: its pairs, and the share whose better response has the higher reward."""

    kind: str
    pairs: int
    accuracy: float


class RewardScores(Measured):
    """The scores of a set of rankings.

    Attributes:
        prompts, pairs: how many; a prompt whose responses are all equal has no pair and is not counted.
        accuracy: share of the pairs whose better response has the higher reward; its interval is over prompts.
        loss: −log σ(Δr) in nats, the mean over a prompt's pairs and over prompts.
        calibration_error: ECE of σ(|Δr|) as the probability that the preferred response is the better one.
    """

    prompts: int
    pairs: Annotated[
        int,
        Metric(
            "pairs",
            "number of pairs of answers from which the accuracy is computed",
            digits=0,
            brief=True,
            logged=False,
            card=None,
        ),
    ]
    accuracy: Annotated[
        float,
        Metric(
            "accuracy",
            "share of the pairs of answers to test prompts in which the better answer gets the higher reward, in per "
            "cent",
            unit="points",
            digits=1,
            better="higher",
            brief=True,
            compared=True,
            splits={
                "unseen": Metric(
                    "unseen kinds",
                    "the same on unseen kinds of instructions, and on new wordings",
                    unit="points",
                    digits=1,
                    better="higher",
                    brief=True,
                    after="±",
                )
            },
        ),
    ]
    accuracy_interval: Annotated[
        Interval | None,
        Metric(
            "±",
            "half the width of the accuracy's 95 % interval, in points; it covers the choice of the prompts (Wilson)",
            unit="points",
            digits=1,
            after="accuracy",
            logged=False,
        ),
    ]
    loss: Annotated[
        float,
        Metric(
            "loss",
            "−log σ of the difference of the two rewards of a pair, in nats; guessing gives log 2 = 0.693",
            better="lower",
        ),
    ]
    calibration_error: Annotated[
        float,
        Metric(
            "calibration error",
            "mean difference between the share of correct pairs and the predicted probability (ECE)",
            better="lower",
            brief=True,
            card="expected calibration error",
        ),
    ]
    reliability: list[Bin] = Field(default_factory=list)
    per_kind: list[KindScores] = Field(default_factory=list)


class RewardPage(Page):
    """The page of one reward model.

    scores: by split, e.g. test and unseen. work: as it is trained, at the mean length. left_out: rankings that its
    context has no room for.
    """

    headlines = ("accuracy",)
    trained_on = "prompts"
    sampled = "prompts"
    detail: ClassVar[Excluded] = {"scores": {"__all__": {"reliability": True}}}

    parameters: Annotated[int, parameter_count("numbers of the model", logged=False)]
    work: Annotated[Work | None, Metrics()] = None
    scores: Annotated[dict[str, RewardScores], Metrics()]
    left_out: Annotated[
        int,
        Metric(
            "left out",
            "rankings of the test data that exceed the model's context; no figure counts them",
            digits=0,
            brief=True,
            logged=False,
            after="±",
        ),
    ] = 0

    @property
    def items(self) -> int | None:
        """Pairs of the test."""
        return self.scores["test"].pairs if "test" in self.scores else 0


def evaluate_reward(
    model: RewardModel,
    splits: Mapping[str, Sequence[Ranking]],
    *,
    name: str,
    optimizer: OptimizerName | Target | None = None,
    batch_size: int = 1,
) -> RewardPage:
    """Judge a reward model on the rankings of each split, without those that its context has no room for.

    Args:
        optimizer, batch_size: how it was trained, the size in prompts, for what that takes; None: it is not said.

    Raises:
        InputError: a split has no two responses of different rank that the context has room for.
    """
    fitting = {split: [ranking for ranking in side if _fits(model, ranking)] for split, side in splits.items()}
    scores, fitting_rankings = {}, [ranking for side in fitting.values() for ranking in side]
    for split, rankings in fitting.items():
        kept = [ranking for ranking in rankings if ranking.pairs()]
        if not kept:
            raise InputError(
                f"{split}: no pair of responses with different ranks fits into the context of {model.context} tokens; "
                "create more rankings, or choose a base with a longer context"
            )
        scores[split] = judge_rewards(rewards_of(model, kept), kept)
    return RewardPage(
        name=name,
        left_out=sum(map(len, splits.values())) - len(fitting_rankings),
        approach=model.approach,
        parameters=model.number_of_parameters(),
        work=None if optimizer is None else _work(model, fitting_rankings, optimizer, batch_size),
        scores=scores,
    )


def _work(model: RewardModel, rankings: Sequence[Ranking], optimizer: OptimizerName | Target, prompts: int) -> Work:
    """At the mean length of a dialogue and the mean number of a prompt's responses."""
    lengths = [len(row.ids) for row in ChatTemplate(model.tokenizer).rows(dialogues_of(rankings))]
    rows = max(1, round(prompts * len(lengths) / len(rankings)))
    return work_of(model, optimizer, rows=rows, length=round(float(np.mean(lengths))))


def dialogues_of(rankings: Sequence[Ranking]) -> list[tuple[Message, ...]]:
    """Each prompt with each of its responses, those of a prompt side by side."""
    return [(*ranking.prompt, Message(ASSISTANT, response)) for ranking in rankings for response in ranking.responses]


def _fits(model: RewardModel, ranking: Ranking) -> bool:
    rows = ChatTemplate(model.tokenizer).rows(dialogues_of([ranking]))
    return all(len(row.ids) <= model.context for row in rows)


def rewards_of(model: RewardModel, rankings: Sequence[Ranking]) -> list[np.ndarray]:
    """The rewards (K,) of the responses of each ranking."""
    ends = np.cumsum([len(ranking.responses) for ranking in rankings])[:-1]
    return np.split(model.rewards(dialogues_of(rankings)), ends)


def judge_rewards(rewards: Sequence[np.ndarray], rankings: Sequence[Ranking]) -> RewardScores:
    """The figures of rewards (K,) given to the responses of rankings, each of which has a pair."""
    right, pairs, losses, sure = [], [], [], []
    for of_responses, ranking in zip(rewards, rankings, strict=True):
        better, worse = np.array(ranking.pairs()).T  # (P,) each
        differences = of_responses[better] - of_responses[worse]
        right.append(differences > 0)
        pairs.append(len(differences))
        losses.append(float(np.logaddexp(0, -differences).mean()))  # −log σ(Δr)
        sure.append(1 / (1 + np.exp(-np.abs(differences))))  # σ(|Δr|)
    number = np.array([parts.sum() for parts in right], dtype=np.float64)
    whole = np.array(pairs, dtype=np.float64)
    bins = reliability(np.concatenate(sure), np.concatenate(right))
    kinds = np.array([ranking.kind for ranking in rankings])
    return RewardScores(
        prompts=len(rankings),
        pairs=int(whole.sum()),
        accuracy=_share(number, whole),
        accuracy_interval=ratio_interval(number, whole),
        loss=round(float(np.mean(losses)), 6),
        calibration_error=calibration_error(bins),
        reliability=bins,
        per_kind=[
            KindScores(
                kind=kind,
                pairs=int(whole[kinds == kind].sum()),
                accuracy=_share(number[kinds == kind], whole[kinds == kind]),
            )
            for kind in sorted(set(kinds.tolist()))
        ],
    )


def _share(right: np.ndarray, total: np.ndarray) -> float:
    return round(float(right.sum() / total.sum()), 6)
