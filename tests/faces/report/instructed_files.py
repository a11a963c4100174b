"""Pages of instructed models and reward models as their stages write them, with figures drawn from a seed."""

from typing import Any

import numpy as np
from small_run_files import HOSTILE

from langladder.decoding.best_of_n import best_of_n_kl
from langladder.evaluation.instructed import (
    AnswerScores,
    BestOf,
    InstructedPage,
    KindAnswers,
    SampleDialogue,
    gold_scores,
)
from langladder.evaluation.label_scores import Bin
from langladder.evaluation.language_model import LanguageModelPage
from langladder.evaluation.perplexity import TextScores
from langladder.evaluation.reward import KindScores, RewardPage, RewardScores
from langladder.faces.report.inputs import CurvePoint, Entry, Meta, ReportInputs, RungMetadata
from langladder.families import families

PROMPTS = 200
NS = (1, 2, 4, 8, 16)


def text(perplexity: float) -> TextScores:
    """How well plain text is predicted."""
    return TextScores(
        tokens=10,
        words=9,
        characters=50,
        bytes=50,
        nll_nats=20.0,
        perplexity_per_token=perplexity,
        perplexity_per_word=perplexity,
        bits_per_character=1.0,
        bits_per_byte=1.0,
        unknown_rate=0.0,
    )


def answer_scores(reward: float, *, prompt_set: str = "a", gold: bool = True, **more: Any) -> AnswerScores:
    """Of a model whose answers have such a mean reward; the same prompts are hard for all."""
    hard = np.random.default_rng(0).random(PROMPTS)
    rewards = np.clip(reward + 0.3 * (hard - 0.5), 0, 1).round(2)
    judgements = np.stack([rewards, *[np.full(PROMPTS, item) for item in (1.0, 0.5, 1.0, 1.0, 0.0)]], axis=1)
    result = gold_scores(judgements) if gold else None
    kinds = [KindAnswers(kind=kind, prompts=PROMPTS // 2, gold=result, proxy=None) for kind in ("capital", "plural")]
    return AnswerScores(
        **{
            "prompts": PROMPTS,
            "gold": result,
            "greedy": result,
            "tokens": 7.5,
            "finished": 0.9,
            "distinct_1": 0.1,
            "distinct_2": 0.4,
            "per_kind": kinds,
            "rewards": rewards.tolist() if gold else None,
            "asked": prompt_set,
        }
        | more
    )


def instructed(name: str, reward: float, method: str = "sft", perplexity: float = 40.0, **more: Any) -> InstructedPage:
    """A page with samples, one of them hostile."""
    samples = [
        SampleDialogue(
            kind="capital",
            prompt=f"what is the capital of {number} ?",
            answer=f"{name} says {number}",
            gold=reward,
            proxy=None if method == "sft" else -1.5,
            parts={"grammatical": 1.0, "true": 0.5, "form": 1.0, "length": 1.0, "followed": float(number % 2)},
        )
        for number in range(12)
    ]
    samples[0] = samples[0].model_copy(update={"prompt": HOSTILE, "answer": HOSTILE})
    samples[-1] = samples[-1].model_copy(update={"answer": ""})
    scores = {"test": answer_scores(reward, **more), "unseen": answer_scores(reward / 2, **more)}
    return InstructedPage(
        name=name,
        approach="Transformer",
        parameters=1000,
        method=method,
        scores=scores,
        text=text(perplexity),
        samples=samples,
    )


def best_of_n(name: str, reward: float) -> InstructedPage:
    """Its gold reward is d (0.5 − 0.2 d) above 0.4."""
    d = [best_of_n_kl(n) ** 0.5 for n in NS]
    by_n = [
        BestOf(n=n, kl=item * item, proxy=2 * item, gold=0.4 + item * (0.5 - 0.2 * item))
        for n, item in zip(NS, d, strict=True)
    ]
    return instructed(name, reward, "best_of_n", proxy=2.0, kl=best_of_n_kl(16), by_n=by_n)


def rl_curve(alpha: float = 0.3, beta: float = 0.2, steps: int = 8) -> tuple[CurvePoint, ...]:
    """A policy whose gold reward is 0.5 + d (α − β log d) while its proxy climbs; a training row between two."""
    rows = [CurvePoint(0, validation_reward=0.0, validation_gold=0.5, validation_kl=0.0)]
    for step in range(1, steps + 1):
        d = 0.5 * step
        gold = 0.5 + d * (alpha - beta * float(np.log(d)))
        rows.append(CurvePoint(10 * step - 5, train_loss=1.0))
        rows.append(CurvePoint(10 * step, 1.0, 0.5, validation_reward=d, validation_gold=gold, validation_kl=d * d))
    return tuple(rows)


def reward_model(name: str, accuracy: float = 0.9) -> RewardPage:
    """A page with two splits."""
    kinds = [KindScores(kind=HOSTILE, pairs=1, accuracy=1.0), KindScores(kind="plural", pairs=99, accuracy=accuracy)]
    bins = [Bin(count=40, confidence=0.65, accuracy=0.7), Bin(count=60, confidence=0.95, accuracy=0.9)]
    scores = RewardScores(
        prompts=20,
        pairs=100,
        accuracy=accuracy,
        accuracy_interval=(accuracy - 0.05, accuracy + 0.05),
        loss=0.3,
        calibration_error=0.04,
        reliability=bins,
        per_kind=kinds,
    )
    return RewardPage(name=name, approach="Transformer", parameters=999, scores={"test": scores, "unseen": scores})


def entry(page: Any, base: str = "", curve: tuple[CurvePoint, ...] = ()) -> Entry[Any]:
    """A rung called by its name in capitals."""
    return Entry(page, RungMetadata(title=page.name.upper(), base=base or None), curve=curve)


def ladder(**rungs: list[Entry[Any]]) -> ReportInputs:
    """A report of some families."""
    base = LanguageModelPage(name="gpt", approach="Transformer", parameters=900, scores=text(32.0))
    names = ("lm", "instruct", "reward", "align")
    nothing: dict[str, Any] = {"text": {}, "parallel": {}}
    return ReportInputs(
        meta=Meta(),
        families=[families()[name] for name in names],
        rungs={"lm": [entry(base)]} | rungs,
        data=nothing,
        tokenizers=nothing,
    )


def whole() -> ReportInputs:
    """SFT, a reward model, and three that were aligned."""
    ppo = instructed("ppo", 0.8, "ppo", 44.0, proxy=3.0, kl=16.0)
    return ladder(
        instruct=[entry(instructed("sft", 0.6), "lm/gpt")],
        reward=[entry(reward_model("reward"), "instruct/sft")],
        align=[
            entry(ppo, "instruct/sft", rl_curve()),
            entry(instructed("dpo", 0.61, "dpo", 40.0), "instruct/sft"),
            entry(best_of_n("best_of_n", 0.7), "instruct/sft"),
        ],
    )
