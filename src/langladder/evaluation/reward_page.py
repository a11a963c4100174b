"""The page of a reward model: how often it prefers the better response, and whether it knows how sure it may be."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.calibration import Bin
from langladder.evaluation.page import Interval, Measured, Page, Work


class KindScores(Measured):
    """Of one kind of instruction: its pairs, and the share whose better response has the higher reward."""

    kind: str
    pairs: int
    accuracy: float


class RewardScores(Measured):
    """Of a set of rankings.

    Attributes:
        prompts, pairs: how many; a prompt whose responses are all equal has no pair and is not counted.
        accuracy: share of the pairs whose better response has the higher reward; its interval is over prompts.
        loss: −log σ(Δr) in nats, the mean over a prompt's pairs and over prompts.
        calibration_error: ECE of σ(|Δr|) as the probability that the preferred response is the better one.
    """

    prompts: int
    pairs: int
    accuracy: float
    accuracy_interval: Interval | None
    loss: float
    calibration_error: float
    reliability: list[Bin] = Field(default_factory=list)
    per_kind: list[KindScores] = Field(default_factory=list)


class RewardPage(Page):
    """Of one reward model.

    scores: by split, e.g. test and unseen. work: as it is trained, at the mean length. left_out: rankings that its
    context has no room for.
    """

    detail: ClassVar[dict[str, Any]] = {"scores": {"__all__": {"reliability": True}}}

    parameters: int
    work: Work | None = None
    scores: dict[str, RewardScores]
    left_out: int = 0

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`; those of other splits than the test with its name before them."""
        shown = {"accuracy", "loss", "calibration_error"}
        return {
            f"{'' if split == 'test' else split + '_'}{name}": value
            for split, scores in self.scores.items()
            for name, value in scores.model_dump(include=shown).items()
        }
