"""What the report tells of models that follow instructions: their table, of the families `instruct` and `align`."""

from collections.abc import Callable, Sequence

from langladder.evaluation.instructed_page import AnswerScores, InstructedPage
from langladder.reporting import numbers
from langladder.reporting.columns import Column, cost_columns, work_columns
from langladder.reporting.entries import Timing


def loss(page: InstructedPage) -> float | None:
    """1 − the gold reward; None where there is no gold judge."""
    gold = page.scores["test"].gold if "test" in page.scores else None
    return None if gold is None else 1 - gold.reward


def _of(split: str, read: Callable[[AnswerScores], float | None]) -> Callable[[InstructedPage, Timing], float | None]:
    """A figure of a split; None where the split has no prompts."""
    return lambda page, _: read(page.scores[split]) if split in page.scores else None


def _gold(one: AnswerScores) -> float | None:
    return None if one.gold is None else one.gold.reward


def _followed(one: AnswerScores) -> float | None:
    return None if one.greedy is None else one.greedy.followed


SCORES: tuple[Column[InstructedPage], ...] = (
    Column(
        "gold reward",
        "mean reward by the gold judge of an answer to each test prompt, drawn at temperature 1",
        _of("test", _gold),
        numbers.decimals(3),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "unseen kinds",
        "the same on kinds of instruction that were never shown",
        _of("unseen", _gold),
        numbers.decimals(3),
        "higher",
        brief=True,
    ),
    Column(
        "reworded",
        "the same on kinds that were shown, in words that were not",
        _of("reworded", _gold),
        numbers.decimals(3),
        "higher",
    ),
    Column(
        "followed",
        "share of the greedy answers with which nothing is wrong; not measured of what chooses among answers",
        _of("test", _followed),
        numbers.share,
        "higher",
        brief=True,
    ),
    Column(
        "proxy reward",
        "mean reward by the reward model that the rung learnt from; comparable between rungs of one reward model",
        _of("test", lambda one: one.proxy),
        numbers.decimals(3),
        None,
        brief=True,
    ),
    Column(
        "KL",
        "how far whole answers are from those of the base, in nats",
        _of("test", lambda one: one.kl),
        numbers.decimals(2),
        None,
        brief=True,
    ),
    Column("tokens", "mean length of an answer", _of("test", lambda one: one.tokens), numbers.decimals(1), None),
    Column(
        "distinct-2",
        "different pairs of words of all answers, as a share of all pairs",
        _of("test", lambda one: one.distinct_2),
        numbers.decimals(3),
        None,
    ),
    Column(
        "perplexity of text",
        "per word of the test text, which is no dialogue: what alignment costs",
        lambda page, _: None if page.text is None else page.text.perplexity_per_word,
        numbers.perplexity,
        "lower",
        brief=True,
    ),
    Column("parameters", "numbers of the model", lambda page, _: page.parameters, numbers.compact, "lower"),
    *work_columns("token"),
    *cost_columns("tokens"),
)


def columns(pages: Sequence[InstructedPage]) -> tuple[Column[InstructedPage], ...]:
    """The columns; of proxy and KL where a rung has them."""
    scores = [one for page in pages for one in page.scores.values()]
    left_out = set() if any(one.proxy is not None for one in scores) else {"proxy reward"}
    left_out |= set() if any(one.kl is not None for one in scores) else {"KL"}
    return tuple(column for column in SCORES if column.title not in left_out)
