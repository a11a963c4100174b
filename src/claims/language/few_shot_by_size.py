"""Whether larger models gain more from examples in the prompt (Brown et al. 2020, figures 1.2 and 1.3).

GPTs that only differ in width are trained on the text with the same number of steps. Each then gets tasks in natural
language, the files in conf/prompt, with 0 to k examples before every item (`evaluation.prompting`).

    right     accuracy with k examples, over all tasks
    helped    accuracy with k examples − accuracy with 0

Results are means over the orders of the examples: networks and items are random draws, orders are not.

Shape legend: N items of all tasks.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.language.small_models import TITLES, TextConfig, trained
from langladder.evaluation.prompting import Item, Prompter, chance
from langladder.experiments.experiment import Data
from langladder.experiments.prompting import Prompting, PromptTask
from langladder.ground import schema
from langladder.models.language.gpt import GPT

READ = ("microworld", "text")
"""Sources of items that this experiment can read."""


class TaskFile(schema.Config):
    """A file in conf/prompt, composed into this experiment's settings."""

    name: str
    title: str
    year: int | None = None
    claim: str = ""
    target: str = Field(default="", alias="_target_")
    settings: PromptTask


class Variant(schema.Config):
    """The varied settings."""

    width: int = Field(ge=1)


class FewShotConfig(TextConfig, ComparisonConfig):
    """Settings of `FewShotBySize`. Numbers of examples, orders and items are those of all tasks."""

    VARIANT = Variant
    bases: list[Literal["gpt"]] = Field(min_length=1)
    metric: Literal["right", "helped"] = "right"
    tasks: dict[str, TaskFile] = Field(min_length=1)
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=4, ge=1)
    shots: list[int] = Field(default=[0, 1, 4], min_length=2)
    orders: int = Field(default=2, ge=1, le=100)
    items: int = Field(default=100, ge=1)

    def metrics(self) -> tuple[str, ...]:
        """See `ComparisonConfig.metrics`; includes the accuracy of each task."""
        return (*super().metrics(), *self.tasks)

    def gpt(self, width: int) -> dict[str, object]:
        """Settings of a network."""
        shape = {"context": self.sequence_length, "width": width, "layers": self.layers, "heads": self.heads}
        return shape | {"rows": self.rows}

    def task(self, name: str) -> PromptTask:
        """A task with this experiment's prompting settings."""
        how = {"shots": self.shots, "orders": self.orders, "items": self.items, "effort": self.effort}
        return PromptTask.model_validate(self.tasks[name].settings.model_dump() | how | {"expects": "examples help"})

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        for change in self.changes().values():
            width = Variant.model_validate(change).width
            schema.checked(GPT.Config, self.gpt(width), f"width {width}")
        for name in self.tasks:
            source = self.task(name).source
            if source.kind not in READ:
                raise ValueError(f"tasks: items of {name} come from {source.kind!r}; allowed: {', '.join(READ)}")
        return self


class Asking(NamedTuple):
    """A task: its items, and the orders of examples."""

    form: PromptTask
    items: Sequence[Item]
    orders: Sequence[Sequence[Item]]


class FewShotBySize(Comparison[FewShotConfig]):
    """Accuracy by size, and by examples with one line per width."""

    Config: ClassVar[type[schema.Config]] = FewShotConfig
    reads = ("tokens/text", "clean/text")
    titles = TITLES
    blind: dict[str, float]  # task → accuracy of a blind guess

    def __init__(self, config: FewShotConfig) -> None:
        super().__init__(config)
        most = config.shots[-1]
        self.metrics = {  # type: ignore[misc]
            "right": Metric(f"accuracy with {most} examples", more_is_better=True),
            "helped": Metric(f"what {most} examples change", more_is_better=True),
            **{name: Metric(task.title, more_is_better=True, drawn=False) for name, task in config.tasks.items()},
            "by_shots": Metric("accuracy", along="examples in the prompt"),
        }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`: the accuracy of a blind guess."""
        del data
        return self.blind

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        config, tokenizer, text = self.config, data.tokenizer(), data.stream("train")
        tasks = {name: self._task(name, data, seeds[0]) for name in config.tasks}
        self.blind = {name: float(np.mean([chance([item]) for item in task.items])) for name, task in tasks.items()}

        def trial(_: str, change: Change, seed: int) -> Scored:
            settings = config.gpt(Variant(**change).width)
            network = trained(GPT, settings, tokenizer.vocab_size, text, config, seed=seed)[0]
            right = {name: self._right(Prompter(network, tokenizer, task.form), task) for name, task in tasks.items()}
            both = {shots: np.concatenate([by[shots] for by in right.values()]) for shots in config.shots}  # (N,) each
            most = config.shots[-1]
            return network.number_of_parameters(), {
                "right": both[most],
                "helped": both[most] - both[0],
                **{name: by[most] for name, by in right.items()},
                "by_shots": {shots: float(values.mean()) for shots, values in both.items()},
            }

        return trial

    def _task(self, name: str, data: Data, seed: int) -> Asking:
        form = self.config.task(name)
        return Asking(form, *Prompting(form).items(data, seed))

    def _right(self, asking: Prompter, task: Asking) -> dict[int, np.ndarray]:
        """Number of examples → share of the orders in which each item is right, (N,)."""
        scoring = task.form.scorings[0]
        return {
            shots: asking.measure(task.items, task.orders, shots).right[scoring].mean(axis=0).astype(np.float64)
            for shots in self.config.shots
        }
