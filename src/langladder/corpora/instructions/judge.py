"""Judges of answers: the gold judge, and a labeller who makes errors.

The gold judge scores an answer to an instruction of microworld with the rules and the tables of its stories.

For real instructions, the quality of an answer is not known; there are only models of human preferences (Ouyang et al.
2022, section 5.2). For microworld's instructions it is known. This judge only uses the request and the answer, never
another answer or a model.

A labeller ranks answers by the gold reward, with noise as set:

    exact         by the gold reward
    temperature   P(a before b) = σ((r_a − r_b) / T), as in Bradley & Terry (1952). Rankings of K by Gumbel noise:
                  sort r_i / T + g_i, g_i ~ Gumbel(0, 1) (Plackett 1975; Luce 1959), whose pairs have exactly these
                  probabilities
    flips         errors: P(ranking) ∝ φ^(pairs in the wrong order), φ = p / (1 − p) (Mallows 1957), so that
                  neighbours swap with a probability of about p; for a pair (K = 2), exactly p

Answers of equal reward always share a rank, so they do not form a pair; neither does an answer with itself.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from inspect import signature
from random import Random
from typing import Literal

from pydantic import Field

from langladder.corpora.instructions.answers import NOTHING, Judgement, words_of
from langladder.corpora.instructions.requests import KINDS, Kind, Wanted
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.labelled.instructions import Dialogue, Ranking

# ---- the gold judge


MOST = 200  # maximum words that are judged: no kind has longer right answers


def judge(request: str | None, answer: str) -> Judgement:
    """Judge an answer.

    Args:
        request: `Dialogue.asked`.

    Raises:
        InputError: the request is missing, or is not one of these kinds.
    """
    kind, wanted = _read(request)
    words = words_of(answer[: 20 * MOST])
    if not words or len(words) > MOST:
        return NOTHING
    return kind.judge(words, **wanted)


def judgements(dialogues: Sequence[Dialogue]) -> list[Judgement]:
    """The judgement of each response; a missing response counts as empty. Raises the same errors as `judge`."""
    return [judge(dialogue.asked, dialogue.response or "") for dialogue in dialogues]


def gold_rewards(dialogues: Sequence[Dialogue]) -> list[float]:
    """The reward of each response, in [0, 1]. Raises as `judge`."""
    return [judgement.reward for judgement in judgements(dialogues)]


def rewards_of_answers(prompts: Sequence[Dialogue], answers: Sequence[str]) -> list[float]:
    """The reward of an answer to each prompt (`decoding.judging.Judge`). Raises as `judge`."""
    return gold_rewards([prompt.answered(answer) for prompt, answer in zip(prompts, answers, strict=True)])


def written(kind: str, wanted: Wanted) -> str:
    """A request as JSON."""
    return json.dumps({"kind": kind, **wanted}, sort_keys=True)


@lru_cache(maxsize=100_000)
def _read(request: str | None) -> tuple[Kind, Wanted]:
    try:
        value = json.loads(request or "null")
        name = value.pop("kind")
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise InputError(
            f"asked: {str(request)[:60]!r} is not a request of microworld; the gold judge only knows its instructions "
            "(conf/instructions: microworld)"
        ) from error
    kind = KINDS.get(str(name))
    if kind is None:
        raise InputError(f"asked: kind {str(name)[:40]!r}; allowed: {', '.join(KINDS)}")
    try:
        signature(kind.judge).bind((), **value)
    except TypeError as error:
        raise InputError(
            f"asked: {str(request)[:60]!r}: {name}: {error}; these instructions are of another version: run the stage "
            "demonstrate again"
        ) from error
    return kind, value


# ---- the labeller


Judge = Callable[[Sequence[Dialogue]], Sequence[float]]


class NoiseConfig(Config):
    """A labeller's noise. amount: the temperature T, or the probability p of a flip."""

    kind: Literal["exact", "temperature", "flips"] = "exact"
    amount: float = Field(default=0.1, ge=0, le=100)


class PreferencesConfig(Config):
    """Settings of sampling and ranking.

    Attributes:
        samples: K. prompts: the number of prompts of each split, from the start; null: all.
        demonstrations: whether the demonstration is one of the K.
        noise: of the labeller in training and validation rankings; test and unseen are ranked by the gold reward.
    """

    samples: int = Field(default=4, ge=2, le=64)
    prompts: int | None = Field(default=None, ge=1)
    max_new_tokens: int = Field(default=32, ge=1, le=4096)
    temperature: float = Field(default=1.0, gt=0, le=100)
    demonstrations: bool = False
    noise: NoiseConfig = NoiseConfig()


def preferences(
    samples: Iterable[tuple[Dialogue, Sequence[str]]], judge: Judge, noise: NoiseConfig, seed: int
) -> list[Ranking]:
    """Rank the answers to each prompt by their judged rewards.

    Args:
        samples: prompts (responses in them are ignored) with K answers each; empty and duplicate answers are left out.
        judge: dialogues → their rewards.
        seed: the noise of a ranking is a function of the seed and the ranking's index.

    Returns:
        The rankings with at least one pair that is not tied.
    """
    rankings = []
    for number, (dialogue, answers) in enumerate(samples):
        texts = tuple(dict.fromkeys(answer.strip() for answer in answers if answer.strip()))
        if len(texts) < 2:
            continue
        rewards = [float(reward) for reward in judge([dialogue.answered(text) for text in texts])]
        ranks = ranked(rewards, noise, Random(f"{seed} preferences {number}"))
        ranking = Ranking(dialogue.prompt, texts, ranks, dialogue.kind, dialogue.asked)
        if ranking.pairs():
            rankings.append(ranking)
    return rankings


def ranked(rewards: Sequence[float], noise: NoiseConfig, rng: Random) -> tuple[int, ...]:
    """The rank of each reward, 1 is the best, by a labeller with this noise; equal rewards share a rank."""
    best_first = sorted(set(rewards), reverse=True)
    if noise.kind == "temperature" and noise.amount > 0:
        # −ln(−ln u) ~ Gumbel(0, 1)
        seen = {reward: reward / noise.amount - math.log(-math.log(1.0 - rng.random())) for reward in best_first}
        best_first.sort(key=lambda reward: -seen[reward])
    elif noise.kind == "flips":
        best_first = _mallows(best_first, noise.amount, rng)
    return tuple(1 + best_first.index(reward) for reward in rewards)


def _mallows(order: list[float], flip: float, rng: Random) -> list[float]:
    """Draw a ranking around an order by repeated insertion (Doignon, Pekeč & Regenwetter 2004)."""
    drawn: list[float] = []
    for count, item in enumerate(order):
        # P(j of the previous items move behind it) ∝ φ^j; with weights p and 1 − p, so that p = 1 is allowed
        weights = [flip**behind * (1.0 - flip) ** (count - behind) for behind in range(count + 1)]
        behind = rng.choices(range(count + 1), weights)[0]
        drawn.insert(count - behind, item)
    return drawn
