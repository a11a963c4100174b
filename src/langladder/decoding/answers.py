"""Answers of an instructed model: each prompt is read once, the response is sampled token by token up to its EOS.

Prompts of one length are answered side by side, so that no row is padded and each has the whole rest of the context.
What is drawn depends on the seed, the prompt's place in the list and its text alone.
"""

from collections.abc import Sequence

import numpy as np

from langladder.data.instructions import check_prompt
from langladder.decoding.sampling import SamplingConfig, generate_batch
from langladder.models.language.instructed import InstructedGPT
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate

ROWS = 128
"""Prompts per batch."""


def answers(
    model: InstructedGPT, template: ChatTemplate, prompts: Sequence[Sequence[Message]], config: SamplingConfig
) -> list[str]:
    """The response to each prompt, in their order.

    Args:
        prompts: messages that end with a turn of the user.

    Raises:
        InputError: a prompt leaves no room for a response.
    """
    rows = template.prompts(prompts)
    for number, (row, messages) in enumerate(zip(rows, prompts, strict=True), start=1):
        check_prompt(row, model.context, f"prompt {number}", messages)
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    responses = [""] * len(rows)
    for length in np.unique(lengths).tolist():
        same = np.flatnonzero(lengths == length)
        room = config.model_copy(update={"max_tokens": min(config.max_tokens, model.context - length)})
        for part in np.array_split(same, -(-len(same) // ROWS)):
            generated = generate_batch(model, [rows[row].tolist() for row in part], room, numbers=part.tolist())
            for row, ids in zip(part.tolist(), generated, strict=True):
                responses[row] = template.response(ids)
    return responses
