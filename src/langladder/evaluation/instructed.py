"""Evaluate a model that follows instructions: it answers held-out prompts; gold judge and reward model score them.

    test      prompts of seen kinds
    unseen    unseen kinds
    reworded  seen kinds in new wordings

Every answer is drawn at temperature 1, as policies are trained, with random numbers that depend on the prompt's place
alone: two models can be compared prompt by prompt.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, SupportsFloat

import numpy as np
from pydantic import Field

from langladder.decoding.answers import answers
from langladder.decoding.best_of_n import Sampled, best_of_n_kl, best_of_n_values, sample_many
from langladder.decoding.judging import by_judge, by_reward_model
from langladder.decoding.rollouts import Response, Score, roll_out
from langladder.decoding.sampling import SamplingConfig
from langladder.evaluation.page import (
    LOGGED,
    Excluded,
    Interval,
    Measured,
    Metric,
    Metrics,
    Page,
    Work,
    parameter_count,
)
from langladder.evaluation.perplexity import TextScores
from langladder.evaluation.significance import crossed_interval
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT
from langladder.models.reward import RewardModel
from langladder.tasks.policy.responses import checked_scores, sequence_kl
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import text_unit

GoldJudge = Callable[[Sequence[Dialogue]], Sequence[object]]
"""Dialogues with a response → a judgement of each: grammatical, true, form, length, `reward` and `followed`."""

PARTS = ("reward", "grammatical", "true", "form", "length", "followed")

SAMPLES = 10

SEED = 0


class GoldScores(Measured):
    """The gold judge's scores of answers: the mean reward, its parts, and the share with nothing wrong."""

    reward: Annotated[
        float,
        Metric(
            "gold reward",
            "mean gold reward of one answer to each test prompt, sampled at temperature 1",
            better="higher",
            brief=True,
            compared=True,
            splits={
                "unseen": Metric(
                    "unseen kinds",
                    "the same on unseen kinds of instructions",
                    better="higher",
                    brief=True,
                    after="±",
                ),
                "reworded": Metric(
                    "reworded",
                    "the same on seen kinds in new wordings",
                    better="higher",
                    after="unseen kinds",
                ),
            },
        ),
    ]
    reward_interval: Annotated[
        Interval | None,
        Metric(
            "±",
            "half the width of the gold reward's 95 % interval, by resampling the test prompts (bootstrap)",
            after="gold reward",
            logged=False,
        ),
    ] = None
    grammatical: Annotated[
        float,
        Metric(
            "grammatical",
            "part of the gold reward: the answer is grammatical for the requested form, mean over the test prompts",
            better="higher",
        ),
    ]
    true: Annotated[
        float,
        Metric(
            "true",
            "part of the gold reward: the answer is true in the small world, mean over the test prompts",
            better="higher",
        ),
    ]
    form: Annotated[
        float,
        Metric(
            "form",
            "part of the gold reward: the answer has the requested form, mean over the test prompts",
            better="higher",
        ),
    ]
    length: Annotated[
        float,
        Metric(
            "length",
            "part of the gold reward: the answer has the requested length, mean over the test prompts",
            better="higher",
        ),
    ]
    followed: Annotated[float, LOGGED]


class KindAnswers(Measured):
    """The scores of one kind of instruction."""

    kind: str
    prompts: int
    gold: GoldScores | None
    proxy: float | None


class BestOf(Measured):
    """The reward of the best of n answers, by the proxy that chooses it and by the gold judge."""

    n: int
    kl: float
    proxy: float
    gold: float | None


FOLLOWED = Metric(
    "followed",
    "share of the greedy answers without any error; not measured for best-of-n",
    unit="share",
    better="higher",
    brief=True,
    after="reworded",
)
ALIGNMENT_TAX = Metric(
    "perplexity of text",
    "perplexity per word of the test text, which is plain text; what it is above that of the base is the cost of "
    "alignment",
    unit="perplexity",
    better="lower",
    brief=True,
)


class AnswerScores(Measured):
    """Of the answers to a set of prompts, one drawn for each at temperature 1; of best-of-n the chosen ones.

    Attributes:
        gold: None without a gold judge. greedy: the same for greedy answers; None for best-of-n.
        proxy: mean reward of the reward model that the rung reads, or None.
        kl: KL(π ‖ π_base) of whole answers in nats; of best-of-n log n − (n − 1)/n; None of what is not aligned.
        tokens: mean length of an answer, its EOS included. finished: share that ends with EOS.
        distinct_1, distinct_2: different words, and pairs of them, of all answers ÷ how many they are (Li et al. 2016).
        rewards: gold reward of each prompt's answer, in their order.
        asked: a hash of the prompts; rungs are compared where it is the same.
        by_n: of best-of-n, for n in powers of two.
    """

    prompts: int
    gold: Annotated[GoldScores | None, Metrics()]
    greedy: Annotated[GoldScores | None, Metrics("greedy_", only={"reward": LOGGED, "followed": FOLLOWED})] = None
    proxy: Annotated[
        float | None,
        Metric(
            "proxy reward",
            "mean reward by the rung's own reward model; comparable between rungs with the same reward model",
            brief=True,
        ),
    ] = None
    kl: Annotated[
        float | None,
        Metric("KL", "KL divergence of whole answers from those of the base, in nats", digits=2, brief=True),
    ] = None
    tokens: Annotated[float, Metric("tokens", "mean length of an answer", digits=1, after="finished")]
    finished: Annotated[
        float, Metric("finished", "share of the answers that end by themselves", unit="share", after="KL")
    ]
    distinct_1: Annotated[float | None, Metric("distinct-1", "share of different words among all words in all answers")]
    distinct_2: Annotated[
        float | None, Metric("distinct-2", "share of different pairs of words among all pairs of words in all answers")
    ]
    per_kind: list[KindAnswers] = Field(default_factory=list)
    rewards: list[float] | None = None
    asked: str = ""
    by_n: list[BestOf] = Field(default_factory=list)


class SampleDialogue(Measured):
    """A prompt and the answer that was drawn.

    Attributes:
        prompt: the user's text; for longer dialogues, each turn on a line after its role.
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

    headlines = ("reward",)
    trained_on = "tokens"
    sampled = "prompts"
    detail: ClassVar[Excluded] = {
        "scores": {"__all__": {"rewards": True, "per_kind": True, "by_n": True}},
        "samples": True,
    }

    parameters: Annotated[int, parameter_count("numbers of the model", brief=False, logged=False)]
    work: Annotated[Work | None, Metrics()] = None
    method: str = "sft"
    scores: Annotated[dict[str, AnswerScores], Metrics()]
    left_out: Annotated[
        int,
        Metric(
            "left out",
            "prompts of the test data that leave no room for an answer in the model's context; no figure counts them",
            digits=0,
            brief=True,
            logged=False,
        ),
    ] = 0
    text: Annotated[TextScores | None, Metrics(only={"perplexity_per_word": ALIGNMENT_TAX})] = None
    samples: list[SampleDialogue] = Field(default_factory=list)

    @property
    def text_unit(self) -> Literal["word", "grapheme"]:
        """That of its scores on plain text."""
        return "word" if self.text is None else text_unit(self.text.word_unit)

    @property
    def items(self) -> int | None:
        """Prompts of the test split of seen kinds."""
        return self.scores["test"].prompts if "test" in self.scores else None


@dataclass(frozen=True)
class Answering:
    """The settings of answering and judging.

    Attributes:
        base: what the KL is measured to; None: it is not.
        reward_model: the proxy. gold: None without a gold judge.
        n: number of drawn answers, from which the one with the highest proxy reward is chosen; 1: the drawn one.
    """

    model: InstructedGPT
    tokenizer: Tokenizer
    max_new_tokens: int
    gold: GoldJudge | None = None
    reward_model: RewardModel | None = None
    base: InstructedGPT | None = None
    n: int = 1

    def scores(self, dialogues: Sequence[Dialogue]) -> tuple[AnswerScores, list[SampleDialogue]]:
        """Answer the prompts and judge the answers; → the figures, and some answers to be shown."""
        template = ChatTemplate(self.tokenizer)
        ids = [row.tolist() for row in template.prompts([dialogue.prompt for dialogue in dialogues])]
        responses, kl, by_n = self._drawn(ids, dialogues)
        texts = [template.response(response.tokens) for response in responses]
        gold = self._judgements(dialogues, texts)
        proxy = (
            None if self.reward_model is None else checked_scores(by_reward_model(self.reward_model), responses).numpy()
        )
        words = [text.split() for text in texts]
        scores = AnswerScores(
            prompts=len(dialogues),
            gold=gold_scores(gold),
            greedy=None if self.n > 1 else gold_scores(self._judgements(dialogues, self._greedy(dialogues, template))),
            proxy=None if proxy is None else rounded(proxy.mean()),
            kl=kl,
            tokens=rounded(np.mean([len(response.tokens) + response.finished for response in responses])),
            finished=rounded(np.mean([response.finished for response in responses])),
            distinct_1=distinct(words, 1),
            distinct_2=distinct(words, 2),
            per_kind=list(_per_kind(dialogues, gold, proxy)),
            rewards=None if gold is None else gold[:, 0].round(6).tolist(),
            asked=hash_of(dialogues),
            by_n=by_n,
        )
        return scores, samples_of(dialogues, texts, gold, proxy)

    def _drawn(
        self, ids: list[list[int]], dialogues: Sequence[Dialogue]
    ) -> tuple[list[Response], float | None, list[BestOf]]:
        """An answer to each prompt, KL(π ‖ π_base), and the expected reward of the best of fewer answers."""
        most = self.max_new_tokens
        if self.n > 1:
            score = by_reward_model(self.reward_model) if self.reward_model else self._gold_score(dialogues)
            sampled = sample_many(self.model, ids, score, n=self.n, max_new_tokens=most, seed=SEED)
            return sampled.best(), rounded(best_of_n_kl(self.n)), list(self._by_n(sampled, dialogues))
        rollouts = roll_out(self.model, ids, max_new_tokens=most, seed=SEED)
        kl = None if self.base is None else rounded(sequence_kl(self.model, self.base, rollouts).mean())
        return rollouts.responses(range(len(ids))), kl, []

    def _by_n(self, sampled: Sampled, dialogues: Sequence[Dialogue]) -> Iterable[BestOf]:
        """From all the answers, see `decoding.best_of_n`."""
        template, by = ChatTemplate(self.tokenizer), sampled.rewards  # (P, N)
        prompts = [dialogues[response.row] for response in sampled.responses]
        judgements = self._judgements(prompts, [template.response(response.tokens) for response in sampled.responses])
        gold = None if judgements is None else judgements[:, 0].reshape(by.shape)
        for n in sorted({2**power for power in range(self.n.bit_length())} | {self.n}):
            yield BestOf(
                n=n,
                kl=rounded(best_of_n_kl(n)),
                proxy=rounded(best_of_n_values(by, by, n).mean()),
                gold=None if gold is None else rounded(best_of_n_values(by, gold, n).mean()),
            )

    def _gold_score(self, dialogues: Sequence[Dialogue]) -> Score:
        """The gold reward as the chooser. Raises InputError if there is no gold judge either."""
        if self.gold is None:
            raise InputError(
                f"n={self.n}: best-of-n needs a reward model or a gold judge; set a reward model in the rung's `reads`"
            )

        def rewards(prompts: Sequence[Dialogue], texts: Sequence[str]) -> list[float]:
            judgements = self._judgements(prompts, texts)
            return [] if judgements is None else judgements[:, 0].tolist()

        return by_judge(rewards, dialogues, ChatTemplate(self.tokenizer))

    def _greedy(self, dialogues: Sequence[Dialogue], template: ChatTemplate) -> list[str]:
        config = SamplingConfig(strategy="greedy", max_tokens=self.max_new_tokens)
        return answers(self.model, template, [dialogue.prompt for dialogue in dialogues], config)

    def _judgements(self, dialogues: Sequence[Dialogue], texts: Sequence[str]) -> np.ndarray | None:
        """The gold judge's scores of the answers, (N, P) as `PARTS`."""
        if self.gold is None:
            return None
        judged = self.gold([dialogue.answered(text) for dialogue, text in zip(dialogues, texts, strict=True)])
        return np.array([[float(getattr(judgement, part)) for part in PARTS] for judgement in judged]).reshape(
            -1, len(PARTS)
        )


def gold_scores(judgements: np.ndarray | None) -> GoldScores | None:
    """The means of judgements (N, P); None if there are none."""
    if judgements is None or not len(judgements):
        return None
    means = dict(zip(PARTS, map(rounded, judgements.mean(axis=0)), strict=True))
    return GoldScores(reward_interval=crossed_interval(judgements[None, :, 0]), **means)


def samples_of(
    dialogues: Sequence[Dialogue], texts: Sequence[str], gold: np.ndarray | None, proxy: np.ndarray | None
) -> list[SampleDialogue]:
    """`SAMPLES` of the answers, evenly spread, so that all models show the same prompts."""
    rows = np.linspace(0, len(dialogues) - 1, min(SAMPLES, len(dialogues))).round().astype(int).tolist()
    return [
        SampleDialogue(
            kind=dialogues[row].kind,
            prompt=prompt_text(dialogues[row]),
            answer=texts[row],
            gold=None if gold is None else rounded(gold[row, 0]),
            proxy=None if proxy is None else rounded(proxy[row]),
            parts={} if gold is None else dict(zip(PARTS[1:], map(rounded, gold[row, 1:]), strict=True)),
        )
        for row in rows
    ]


def prompt_text(dialogue: Dialogue) -> str:
    """The prompt for people, see `SampleDialogue`."""
    turns = dialogue.prompt
    return turns[0].text if len(turns) == 1 else "\n".join(f"{role}: {text}" for role, text in turns)


def hash_of(dialogues: Sequence[Dialogue]) -> str:
    """SHA-256 of the requests, turn by turn, in order."""
    whole = json.dumps([[dialogue.prompt, dialogue.kind, dialogue.asked] for dialogue in dialogues], ensure_ascii=False)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def distinct(answers: Iterable[Sequence[str]], n: int) -> float | None:
    """Different n-grams of all answers ÷ all (Li et al. 2016, section 5.3), n 1 or 2; None: there are none."""
    grams = [gram for words in answers for gram in (words if n == 1 else pairwise(words))]
    return rounded(len(set(grams)) / len(grams)) if grams else None


def rounded(value: SupportsFloat) -> float:
    """To six places."""
    return round(float(value), 6)


def splits_of(test: Sequence[Dialogue], unseen: Sequence[Dialogue], reworded: str) -> dict[str, list[Dialogue]]:
    """The three sets of the module; without those that have no prompts.

    Args:
        reworded: what such dialogues have as their kind.
    """
    sets = {
        "test": list(test),
        "unseen": [dialogue for dialogue in unseen if dialogue.kind != reworded],
        "reworded": [dialogue for dialogue in unseen if dialogue.kind == reworded],
    }
    return {name: some for name, some in sets.items() if some}


def with_room(dialogues: Sequence[Dialogue], template: ChatTemplate, room: int) -> list[Dialogue]:
    """Those whose prompt has at most `room` tokens."""
    rows = template.prompts([dialogue.prompt for dialogue in dialogues])
    return [dialogue for dialogue, row in zip(dialogues, rows, strict=True) if len(row) <= room]


def _per_kind(
    dialogues: Sequence[Dialogue], gold: np.ndarray | None, proxy: np.ndarray | None
) -> Iterable[KindAnswers]:
    kinds = np.array([dialogue.kind for dialogue in dialogues])
    for kind in sorted(set(kinds.tolist())):
        those = kinds == kind
        yield KindAnswers(
            kind=kind,
            prompts=int(those.sum()),
            gold=None if gold is None else gold_scores(gold[those]),
            proxy=None if proxy is None else rounded(proxy[those].mean()),
        )
