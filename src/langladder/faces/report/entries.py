"""What the report tells of: rungs with their pages, what they cost, what was chosen, which stage needs which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from langladder.evaluation.page import Page
from langladder.experiments.findings import Shown

P = TypeVar("P", bound=Page)


class Part(BaseModel):
    """Base of what is read beside the pages: frozen; keys that it does not know are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Told(Part):
    """What people call a rung, when it came into the world, what it claims, which rung (`family/name`) it grew from.

    `reads` is the folder that it reads beside that one: `models/reward/reward`, or data. All this is said for the
    report alone: no rung is made or measured anew for it.
    """

    title: str = ""
    year: int | None = None
    claim: str | None = None
    base: str | None = None
    reads: str | None = None


class Timing(Part):
    """What a rung cost on this machine; nothing of it is deterministic, so it never goes to tracked files."""

    model_config = ConfigDict(allow_inf_nan=False)

    seconds: float | None = None
    tokens_per_second: float | None = None
    peak_memory_bytes: int | None = None
    run: str | None = None  # MLflow run id or address
    timed: Shown | None = None  # of a claim: what the machine's speed decides


@dataclass(frozen=True)
class CurvePoint:
    """One row of a learning curve; None where nothing was measured.

    Losses and KL in nats, BLEU from 0 to 100; reward by what is learnt from, gold by the gold judge beside it.
    """

    step: int
    train_loss: float | None = None
    validation_loss: float | None = None
    lr: float | None = None
    validation_bleu: float | None = None
    validation_reward: float | None = None
    validation_gold: float | None = None
    validation_kl: float | None = None


MEASURED = [column.name for column in fields(CurvePoint) if column.name != "step"]


@dataclass(frozen=True)
class Entry(Generic[P]):
    """A rung as the report tells of it: its page, and what is beside it.

    Attributes:
        alias: its name among others, where one of another family has the same.
    """

    page: P
    told: Told = field(default_factory=Told)
    timing: Timing = field(default_factory=Timing)
    curve: tuple[CurvePoint, ...] = ()
    alias: str = ""

    @property
    def name(self) -> str:
        """Of its file; or its alias."""
        return self.alias or self.page.name

    @property
    def title(self) -> str:
        """For people; the name, where it has none."""
        return self.told.title or self.name

    @property
    def approach(self) -> str:
        """Under which it stands in tables."""
        return self.page.approach


def told_apart(families: Mapping[str, Sequence[Entry[P]]]) -> list[Entry[P]]:
    """The rungs of all families, each under a name of its own."""
    found: dict[str, Entry[P]] = {}
    for family, rungs in families.items():
        for rung in rungs:
            name = f"{family}_{rung.name}" if rung.name in found else rung.name
            found[name] = replace(rung, alias=name if name != rung.page.name else "")
    return list(found.values())


class Stage(Part):
    """One job of the pipeline; `stage` is `train_lm@lstm` for the job of a matrix."""

    stage: str
    desc: str = ""
    depends: list[str] = Field(default_factory=list)


class Meta(Part):
    """What was chosen in params.yaml; `text`, `pairs`, `labels` and `tags` name the corpora themselves."""

    text: str | None = None
    pairs: str | None = None
    labels: str | None = None
    tags: str | None = None
    size: str | None = None
    seed: int | None = None
    corpus: str | None = None
    parallel: str | None = None
    tokenizer: str | None = None
