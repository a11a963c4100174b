"""Best-of-n where people talk with a model: it answers n times, and a reward model says which answer is given.

It is `decoding.best_of_n` for one prompt of text: what is drawn is text by then, so that any sampling may draw it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from langladder.decoding.answers import answers
from langladder.decoding.sampling import SamplingConfig
from langladder.models.instructed import InstructedGPT
from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import ASSISTANT, Message
from langladder.text.labelled.templates import ChatTemplate


class Chooser(NamedTuple):
    """So many answers are drawn, and the reward model chooses."""

    n: int
    model: RewardModel


def chosen_answer(
    model: InstructedGPT, template: ChatTemplate, prompt: Sequence[Message], config: SamplingConfig, chooser: Chooser
) -> str:
    """The drawn answer with the highest reward, of equal ones the first; empty where nothing was ever said.

    Args:
        config: how they are drawn; `greedy` is taken as `sample`, since n equal answers leave nothing to choose.

    Raises:
        InputError: the prompt leaves no room for a response.
    """
    drawing = "sample" if config.strategy == "greedy" else config.strategy
    room = min(model.context, chooser.model.context) - len(template.prompt(prompt)) - 1  # the reward is read at the EOS
    most = max(1, min(config.max_tokens, room))
    config = config.model_copy(update={"strategy": drawing, "max_tokens": most})
    drawn = [text for text in dict.fromkeys(answers(model, template, [prompt] * chooser.n, config)) if text.strip()]
    if not drawn:
        return ""
    rewards = chooser.model.rewards([(*prompt, Message(ASSISTANT, text)) for text in drawn])  # (N,)
    return drawn[int(rewards.argmax())]
