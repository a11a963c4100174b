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

from langladder.corpora import instructions  # noqa: F401 - registers the kinds
from langladder.corpora.instructions.judge import written
from langladder.corpora.instructions.kinds import KINDS, REWORDED, UNSEEN, Asked, Request, split_of
from langladder.corpora.lexicon import Size
from langladder.corpora.world import World, world
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

COUNTS = {"tiny": 700, "small": 40_000, "base": 100_000}
HELD_OUT, MOST_HELD_OUT = 0.1, 1_000  # validation, test and unseen: the share of each, and the maximum
TENTHS = 10
TRIES = 400  # consecutive draws without a new request, after which drawing stops


class InstructionsConfig(Config):
    """Settings: `size` sets the lexicon and, if `examples` is not set, the maximum number of dialogues."""

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
    place, rng = world(config.size), Random(f"{config.seed} instructions {split}")
    kinds = [(name, name) for name in KINDS if (name in UNSEEN) == (split == "unseen")]
    if split == "unseen":
        kinds.append((REWORDED, ""))
    drawn: dict[str, None] = {}
    found: list[Dialogue] = []
    streams = [_stream(place, name, shown, split, Random(rng.random()), drawn) for shown, name in kinds]
    with_more = list(streams)
    for _ in tracked(range(count), f"drawing {split}", unit="dialogues"):
        while with_more:
            stream = with_more.pop(0)
            if (dialogue := next(stream, None)) is not None:
                with_more.append(stream)
                found.append(dialogue)
                break
    return found


def _stream(place: World, name: str, shown: str, split: str, rng: Random, drawn: dict[str, None]) -> Iterator[Dialogue]:
    """Dialogues of a kind ("": any seen kind, in another phrasing) that were not drawn before, while there are any."""
    seen = [kind for kind in KINDS if kind not in UNSEEN]
    missed = 0
    while missed < TRIES:
        kind = name or rng.choice(seen)
        request = KINDS[kind].draw(place, rng)
        wanted = split if name else "test"
        phrasings = KINDS[kind].phrasings
        usual = phrasings if kind in UNSEEN else phrasings[:-1]
        text = (rng.choice(usual) if name else phrasings[-1]).format(**request.slots)
        if text in drawn or split_of(kind in UNSEEN, _tenth(request)) != wanted:
            missed += 1
            continue
        missed = 0
        drawn[text] = None
        asked = written(Asked(kind, place.lexicon.size, request.fields))
        yield Dialogue((Message(USER, text), Message(ASSISTANT, request.answers[0])), shown, asked)


def _tenth(request: Request) -> int:
    """The tenth to which a request belongs: a checksum of its content, the same for every seed and phrasing."""
    return crc32(request.key.encode()) // 7 % TENTHS
