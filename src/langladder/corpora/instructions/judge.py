"""The gold judge: how good an answer to an instruction of microworld is, by its grammar and the tables of its world.

What people want of an answer is nowhere to be seen, only a model of it (Ouyang et al. 2022, section 5.2). Of
microworld's instructions it is known: this judge reads the request, never another answer and never a model.
"""

import json
from collections.abc import Sequence
from functools import lru_cache

from langladder.corpora import instructions  # noqa: F401 - registers the kinds
from langladder.corpora.instructions.kinds import KINDS, NOTHING, Asked, Judgement, words_of
from langladder.corpora.world import world
from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import Dialogue

SIZES = ("tiny", "small", "base")
MOST = 200  # words that are looked at: a longer answer is no answer to any of the kinds


def judge(asked: str | None, answer: str) -> Judgement:
    """Judge an answer.

    Args:
        asked: the request, `Dialogue.asked`.

    Raises:
        InputError: nobody knows what was asked, or it is no request of these kinds.
    """
    kind, size, fields = _read(asked)
    words = words_of(answer[: 20 * MOST])
    if not words or len(words) > MOST:
        return NOTHING
    return KINDS[kind].judge(world(size), fields, words)


def judgements(dialogues: Sequence[Dialogue]) -> list[Judgement]:
    """The judgement of each response; one that is missing is empty. Raises as `judge`."""
    return [judge(dialogue.asked, dialogue.response or "") for dialogue in dialogues]


def gold_rewards(dialogues: Sequence[Dialogue]) -> list[float]:
    """The reward of each response, in [0, 1]. Raises as `judge`."""
    return [found.reward for found in judgements(dialogues)]


def rewards_of_answers(prompts: Sequence[Dialogue], answers: Sequence[str]) -> list[float]:
    """The reward of an answer to each prompt (`decoding.judging.Judge`). Raises as `judge`."""
    return gold_rewards([prompt.answered(answer) for prompt, answer in zip(prompts, answers, strict=True)])


def written(asked: Asked) -> str:
    """A request as JSON."""
    return json.dumps({"kind": asked.kind, "size": asked.size, **asked.fields}, sort_keys=True)


@lru_cache(maxsize=100_000)
def _read(asked: str | None) -> Asked:
    try:
        value = json.loads(asked or "null")
        kind, size = value.pop("kind"), value.pop("size")
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise InputError(
            f"asked: {str(asked)[:60]!r} is no request of microworld's; the gold judge knows no other instructions "
            "(conf/instructions: microworld)"
        ) from error
    if kind not in KINDS or size not in SIZES:
        raise InputError(f"asked: kind {str(kind)[:40]!r} of size {str(size)[:40]!r}; allowed: {', '.join(KINDS)}")
    return Asked(kind, size, value)
