"""Scorers for the responses of a rollout: a reward model (the proxy), or a judge of texts (the gold judge)."""

from collections.abc import Callable, Sequence

import numpy as np

from langladder.decoding.rollouts import Response
from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import EOS

Judge = Callable[[Sequence[Dialogue], Sequence[str]], Sequence[float]]
"""The reward, 0 to 1, of an answer to each prompt."""


def by_reward_model(model: RewardModel) -> Callable[[Sequence[Response]], np.ndarray]:
    """The rewards of a model with the policy's tokenizer (`RewardModel.check_policy`).

    A response that was cut off has no EOS: its reward is read at its last token. So it is where a row fills the whole
    context, which has no room for the EOS.
    """

    def score(responses: Sequence[Response]) -> np.ndarray:
        rows = [[*response.prompt, *response.tokens, *([EOS] if response.finished else [])] for response in responses]
        return model.rewards_of([np.array(row[: model.context]) for row in rows])

    return score


def by_judge(
    judge: Judge, prompts: Sequence[Dialogue], template: ChatTemplate
) -> Callable[[Sequence[Response]], np.ndarray]:
    """The rewards of a judge of texts.

    Args:
        prompts: those that the responses answer, by `Response.row`.
    """

    def score(responses: Sequence[Response]) -> np.ndarray:
        texts = [template.response(response.tokens) for response in responses]
        return np.array(judge([prompts[response.row] for response in responses], texts), dtype=np.float64)

    return score
