"""A GPT without fine-tuning, prompted with plain text: it continues after examples and the instruction.

    in which country is rome ? italy . in which country is paris ?

This is the baseline GPT-3 "prompted" in Ouyang et al. 2022, section 3.5. The examples are the shortest demonstrations
of the same kind, as many as fit; for kinds without demonstrations, they are of any kind. The answer ends with its full
stop, at the end of the line, or after a maximum number of tokens.

Shape legend: P prompts.
"""

from collections.abc import Sequence

import numpy as np

from langladder.corpora.instructions.judge import rewards_of_answers
from langladder.decoding.rollouts import roll_out
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import InstructedGPT
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import BOS

STOP = "."


def answered_in_words(
    model: GPT,
    template: ChatTemplate,
    dialogues: Sequence[Dialogue],
    examples: Sequence[Dialogue],
    *,
    shots: int,
    max_new_tokens: int,
    seed: int = 0,
) -> np.ndarray:
    """The gold rewards (P,) of drawn answers, temperature 1."""
    policy = InstructedGPT.from_gpt(model).eval()  # it has not learnt the markers of dialogues
    room = policy.context - max_new_tokens
    ids = [prompt_in_words(template, dialogue, examples, shots, room) for dialogue in dialogues]
    rollouts = roll_out(policy, ids, max_new_tokens=max_new_tokens, seed=seed)
    answers = [template.response(response.tokens) for response in rollouts.responses(range(len(ids)))]
    return np.array(rewards_of_answers(dialogues, [first_sentence(text) for text in answers]), dtype=np.float64)


def first_sentence(text: str) -> str:
    """The text up to and including the first separate full stop."""
    words = text.split()
    return " ".join(words[: words.index(STOP) + 1] if STOP in words else words)


def prompt_in_words(
    template: ChatTemplate, dialogue: Dialogue, pool: Sequence[Dialogue], shots: int, room: int
) -> list[int]:
    """As many of the examples as fit, and the instruction, in at most `room` tokens."""
    alike = [entry for entry in pool if entry.kind == dialogue.kind] or pool
    examples = sorted(
        (f"{dialogue.prompt[-1].text} {dialogue.response}" for dialogue in alike), key=lambda text: (len(text), text)
    )
    instruction = dialogue.prompt[-1].text
    for count in range(min(shots, len(examples)), -1, -1):
        text = " ".join([*examples[:count], instruction])
        ids = [BOS, *template.tokenizer.encode_lines([text])[0].tolist()]
        if len(ids) <= room:
            break
    return ids[:room]
