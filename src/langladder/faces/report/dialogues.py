"""Sampled dialogues: the same prompts, answered by each instructed model, and what the judges say of the answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from langladder.evaluation.instructed import InstructedPage, SampleDialogue
from langladder.faces.report.choosing import BESIDE, Choice, Loss, choice
from langladder.faces.report.entries import Entry
from langladder.faces.report.labels import ranked
from langladder.faces.report.views import Aligned, aligned

SHOWN = 10


@dataclass(frozen=True)
class Answer:
    """An answer; verdict: what is said of it, in a line; followed: nothing is wrong with it."""

    text: str
    verdict: str
    followed: bool


def dialogues(rungs: Sequence[Entry[InstructedPage]]) -> Aligned[tuple[str, str], Answer]:
    """A row a prompt, (kind, prompt): `SHOWN` of them, evenly from all that were kept."""
    found = aligned(rungs, lambda page: (((one.kind, one.prompt), _answer(one)) for one in page.samples))
    rows = np.linspace(0, len(found.rows) - 1, min(SHOWN, len(found.rows))).round().astype(int).tolist()
    return Aligned(found.rungs, [found.rows[row] for row in rows])


def beside(rungs: Sequence[Entry[InstructedPage]], loss: Loss) -> Choice:
    """Which stand there first: the best that was not aligned, so that what alignment changed is seen, and the best."""
    best = ranked(rungs, loss)
    plain = [rung.name for rung in best if rung.page.method == "sft"][:1]
    kept = [*plain, *(rung.name for rung in best if rung.name not in plain)][:BESIDE]
    return replace(choice(rungs, loss, BESIDE), chosen=[rung.name for rung in rungs if rung.name in kept])


def _answer(one: SampleDialogue) -> Answer:
    said = [] if one.gold is None else [f"gold {one.gold:.2f}"]
    said += [f"{part} {value:.2f}" for part, value in one.parts.items() if part != "followed" and value < 1]
    said += [] if one.proxy is None else [f"proxy {one.proxy:.2f}".replace("-", "−")]
    return Answer(one.answer, " · ".join(said), one.parts.get("followed", 0.0) == 1)
