"""What the report tells of reward models: their table."""

from langladder.evaluation.reward_page import RewardPage
from langladder.reporting import numbers
from langladder.reporting.columns import Column, cost_columns, work_columns


def loss(page: RewardPage) -> float | None:
    """The share of the test pairs that are ordered wrongly."""
    return 1 - page.scores["test"].accuracy if "test" in page.scores else None


def _accuracy(page: RewardPage, split: str) -> float | None:
    return 100 * page.scores[split].accuracy if split in page.scores else None


SCORES: tuple[Column[RewardPage], ...] = (
    Column(
        "accuracy",
        "share of the pairs of answers to test prompts whose better one has the higher reward, in per cent",
        lambda page, _: _accuracy(page, "test"),
        numbers.decimals(1),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "unseen kinds",
        "the same on kinds of instruction that were never shown, and on new wordings",
        lambda page, _: _accuracy(page, "unseen"),
        numbers.decimals(1),
        "higher",
        brief=True,
    ),
    Column(
        "calibration error",
        "how far the share of right pairs is from how sure the model was, on average (ECE)",
        lambda page, _: page.scores["test"].calibration_error if "test" in page.scores else None,
        numbers.decimals(3),
        "lower",
        brief=True,
    ),
    Column("parameters", "numbers of the model", lambda page, _: page.parameters, numbers.compact, "lower", brief=True),
    *work_columns("token"),
    *cost_columns("prompts"),
)


def columns(_: object) -> tuple[Column[RewardPage], ...]:
    """The columns."""
    return SCORES
