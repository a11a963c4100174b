"""microworld's instructions as demonstrations: drawn requests in varied phrasings, each with a right answer.

train, validation, test   the seen kinds, in equal numbers; no request is in two of them, in any phrasing
unseen                    kinds that are not in train, and requests of test in a phrasing that is not in train
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from pydantic import Field

from langladder.corpora.instructions.judge import written
from langladder.corpora.instructions.requests import KINDS, REWORDED, UNSEEN
from langladder.ground.progress import tracked
from langladder.ground.schema import Config
from langladder.text.labelled.instructions import (
    ASSISTANT,
    INSTRUCTION_SPLITS,
    USER,
    Dialogue,
    Message,
    write_dialogues,
)
from microworld.corpora import Size

COUNTS: dict[Size, int] = {"tiny": 700, "small": 40_000, "medium": 40_000, "base": 100_000}
"""Maximum number of dialogues."""
HELD_OUT, MOST_HELD_OUT = 0.1, 1_000  # validation, test and unseen: the share of each, and the maximum
TENTHS = 10
TRIES = 400  # consecutive draws without a new request, after which drawing stops


class InstructionsConfig(Config):
    """Settings; `examples`: the maximum number of dialogues, instead of the one that belongs to the size."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    examples: int | None = Field(default=None, ge=100)


def write_instructions(config: InstructionsConfig, folder: Path) -> dict[str, Any]:
    """Draw demonstrations into a folder, one table per split. Same settings, same bytes.

    Returns:
        The number of dialogues of each split, and of each kind, for the data report.
    """
    facts, kinds = {}, {}
    for split, count in counts(config).items():
        dialogues = demonstrations(config, split, count)
        write_dialogues(folder / f"{split}.parquet", dialogues)
        facts[split] = {"dialogues": len(dialogues)}
        kinds[split] = dict(sorted(Counter(dialogue.kind for dialogue in dialogues).items()))
    return {"splits": facts, "kinds": kinds}


def counts(config: InstructionsConfig) -> dict[str, int]:
    """Split → number of dialogues to make."""
    total = COUNTS[config.size] if config.examples is None else config.examples
    held = min(round(total * HELD_OUT), MOST_HELD_OUT)
    return {split: total - 3 * held if split == "train" else held for split in INSTRUCTION_SPLITS}


def demonstrations(config: InstructionsConfig, split: str, count: int) -> list[Dialogue]:
    """Distinct dialogues of a split with right answers, in equal numbers of each kind; fewer if there are no more.

    The draws only depend on the split, not on `count`: a larger count begins with the same dialogues.
    """
    rng = Random(f"{config.seed} instructions {split}")
    kinds = [name for name in KINDS if (name in UNSEEN) == (split == "unseen")]
    if split == "unseen":
        kinds.append(REWORDED)
    drawn = set[str]()
    dialogues: list[Dialogue] = []
    with_more = [_stream(name, split, Random(rng.random()), drawn) for name in kinds]
    for _ in tracked(range(count), f"drawing {split}", unit="dialogues"):
        while with_more:
            stream = with_more.pop(0)
            if (dialogue := next(stream, None)) is not None:
                with_more.append(stream)
                dialogues.append(dialogue)
                break
    return dialogues


def _stream(source: str, split: str, rng: Random, drawn: set[str]) -> Iterator[Dialogue]:
    """Dialogues of a kind (reworded: of any seen kind) that were not drawn before, while there are any."""
    seen = [name for name in KINDS if name not in UNSEEN]
    missed = 0
    while missed < TRIES:
        name = rng.choice(seen) if source == REWORDED else source
        kind = KINDS[name]
        request = kind.draw(rng)
        text = (kind.reworded if source == REWORDED else rng.choice(kind.phrasings)).format(**request.slots)
        if text in drawn or (name not in UNSEEN and _split(request.key) != ("test" if source == REWORDED else split)):
            missed += 1
            continue
        missed = 0
        drawn.add(text)
        messages = (Message(USER, text), Message(ASSISTANT, f"{request.answer} ."))
        yield Dialogue(messages, source, written(name, request.wanted))


def _split(key: str) -> str:
    """The split of a request of a seen kind, by a checksum of its key: the same for every seed and phrasing."""
    return {0: "validation", 1: "test"}.get(crc32(key.encode()) // 7 % TENTHS, "train")
