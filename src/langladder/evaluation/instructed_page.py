"""The page of a model that follows instructions: what its answers are worth, and how far they are from its base's."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.language_model_page import TextScores
from langladder.evaluation.page import Interval, Measured, Page, Work


class GoldScores(Measured):
    """What the gold judge says of answers: the mean reward, its parts, and the share with which nothing is wrong."""

    reward: float
    reward_interval: Interval | None = None
    grammatical: float
    true: float
    form: float
    length: float
    followed: float


class KindAnswers(Measured):
    """Of one kind of instruction."""

    kind: str
    prompts: int
    gold: GoldScores | None
    proxy: float | None


class BestOf(Measured):
    """What the best of n answers is worth, by what chooses it (the proxy) and by the gold judge."""

    n: int
    kl: float
    proxy: float
    gold: float | None


class AnswerScores(Measured):
    """Of the answers to a set of prompts, one drawn for each at temperature 1; of best-of-n the chosen ones.

    Attributes:
        gold: None where nobody knows what was asked. greedy: the same of the likeliest tokens; None of best-of-n.
        proxy: mean reward of the reward model that the rung reads, or None.
        kl: KL(π ‖ π_base) of whole answers in nats; of best-of-n log n − (n − 1)/n; None of what is not aligned.
        tokens: mean length of an answer, its EOS included. finished: share that ends with EOS.
        distinct_1, distinct_2: different words, and pairs of them, of all answers ÷ how many they are (Li et al. 2016).
        rewards: gold reward of each prompt's answer, in their order.
        asked: a hash of the prompts; rungs are compared where it is the same.
        by_n: of best-of-n, for n in powers of two.
    """

    prompts: int
    gold: GoldScores | None
    greedy: GoldScores | None = None
    proxy: float | None = None
    kl: float | None = None
    tokens: float
    finished: float
    distinct_1: float | None
    distinct_2: float | None
    per_kind: list[KindAnswers] = Field(default_factory=list)
    rewards: list[float] | None = None
    asked: str = ""
    by_n: list[BestOf] = Field(default_factory=list)


class SampleDialogue(Measured):
    """A prompt and the answer that was drawn.

    Attributes:
        prompt: what the user said; where there is more than that, each turn on a line behind its role.
        gold: its reward, and `parts` what that is made of, each in [0, 1]; proxy: by the reward model.
    """

    kind: str
    prompt: str
    answer: str
    gold: float | None
    proxy: float | None = None
    parts: dict[str, float] = Field(default_factory=dict)


class InstructedPage(Page):
    """Of one model. scores: by split: test (seen kinds), unseen (kinds), reworded (seen kinds in other words).

    Attributes:
        left_out: prompts that leave no room for an answer in the context.
        text: how well it predicts plain text (the alignment tax, beside its base's).
    """

    detail: ClassVar[dict[str, Any]] = {
        "scores": {"__all__": {"rewards": True, "per_kind": True, "by_n": True}},
        "samples": True,
    }

    parameters: int
    work: Work | None = None
    method: str = "sft"
    scores: dict[str, AnswerScores]
    left_out: int = 0
    text: TextScores | None = None
    samples: list[SampleDialogue] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`; those of other splits than the test with its name before them."""
        found: dict[str, Any] = {}
        for split, one in self.scores.items():
            before = "" if split == "test" else f"{split}_"
            gold = {} if one.gold is None else one.gold.model_dump(exclude={"reward_interval"})
            greedy = {} if one.greedy is None else one.greedy.model_dump(include={"reward", "followed"})
            rest = one.model_dump(include={"proxy", "kl", "tokens", "finished", "distinct_1", "distinct_2"})
            found |= {f"{before}{name}": value for name, value in gold.items()}
            found |= {f"{before}greedy_{name}": value for name, value in greedy.items()}
            found |= {f"{before}{name}": value for name, value in rest.items() if value is not None}
        if self.text is not None:
            found["perplexity_per_word"] = self.text.perplexity_per_word
        return found
