"""Whether larger models make more of examples in the prompt (Brown et al. 2020, figures 1.2 and 1.3).

GPTs that only their width tells apart learn the text in the same steps. Each is then given tasks in words, the files of
conf/prompt, with 0 to k examples before every item (`evaluation.prompting`).

    gain of size        accuracy of the largest with k examples − accuracy of the smallest with k
    gain of examples    (accuracy with k − accuracy with 0) of the largest, less the same of the smallest

Shape legend: S networks times orders of examples, N items of all tasks.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.evaluation.prompting import Item, Prompter, chance
from langladder.evaluation.significance import crossed_interval
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, Series, figure, opened, rounded, series
from langladder.experiments.language.prompting import Prompting, PromptTask
from langladder.experiments.language.small_models import TextConfig, trained
from langladder.experiments.statistics import above, difference, every, gated
from langladder.ground import schema
from langladder.models.language.gpt import GPT

READ = ("microworld", "text")
"""Sources of items of which this experiment says that it reads them."""


class TaskFile(schema.Config):
    """A file of conf/prompt, composed into this experiment's settings."""

    name: str
    title: str
    year: int | None = None
    claim: str = ""
    target: str = Field(default="", alias="_target_")
    settings: PromptTask


class FewShotConfig(TextConfig, RepeatedConfig):
    """Settings of `FewShotBySize`. Numbers of examples, orders and items are those of all tasks."""

    tasks: dict[str, TaskFile] = Field(min_length=1)
    widths: list[int] = Field(default=[16, 32, 64, 128], min_length=2)
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=4, ge=1)
    shots: list[int] = Field(default=[0, 1, 4], min_length=2)
    orders: int = Field(default=2, ge=1, le=100)
    items: int = Field(default=100, ge=1)

    def gpt(self, width: int) -> dict[str, object]:
        """Settings of a network."""
        return {"context": self.sequence_length, "width": width, "layers": self.layers, "heads": self.heads}

    def task(self, name: str) -> PromptTask:
        """A task, asked as this experiment asks."""
        how = {"shots": self.shots, "orders": self.orders, "items": self.items, "effort": self.effort}
        return PromptTask.model_validate(self.tasks[name].settings.model_dump() | how | {"expects": "examples help"})

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if sorted(set(self.widths)) != self.widths:
            raise ValueError(f"widths={self.widths}: rising numbers")
        for width in self.widths:
            schema.checked(GPT.Config, self.gpt(width), f"width {width}")
        for name in self.tasks:
            source = self.task(name).source
            if source.kind not in READ:
                raise ValueError(f"tasks: items of {name} come from {source.kind!r}; allowed: {', '.join(READ)}")
        return self


class Sized(NamedTuple):
    """Networks of one width. right: task → number of examples → (S, N of the task)."""

    parameters: int
    right: Mapping[str, Mapping[int, np.ndarray]]

    def all(self, shots: int) -> np.ndarray:
        """(S, N) of all tasks."""
        return np.concatenate([by[shots] for by in self.right.values()], axis=1)

    def helped(self, shots: int) -> np.ndarray:
        """(S, N): what so many examples change."""
        changed: np.ndarray = self.all(shots) - self.all(0)
        return changed


class Asking(NamedTuple):
    """A task: its items, and the orders of examples."""

    form: PromptTask
    items: Sequence[Item]
    orders: Sequence[Sequence[Item]]


class FewShotBySize(Experiment[FewShotConfig]):
    """Accuracy by size, a line a number of examples."""

    Config: ClassVar[type[schema.Config]] = FewShotConfig
    reads = ("tokens/text", "clean/text")

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, tokenizer, text = self.config, data.tokenizer(), data.stream("train")
        tasks = {name: self._task(name, data, seed) for name in config.tasks}
        found: dict[int, Sized] = {}
        for width in config.widths:
            networks = [
                trained(GPT, config.gpt(width), tokenizer.vocab_size, text, config, seed=number)[0]
                for number in config.numbers(seed)
            ]
            right: dict[str, dict[int, np.ndarray]] = {}
            for name, task in tasks.items():
                by_network = [self._right(Prompter(one, tokenizer, task.form), task) for one in networks]
                right[name] = {shots: np.concatenate([by[shots] for by in by_network]) for shots in config.shots}
            found[width] = Sized(networks[0].number_of_parameters(), right)
            said = ", ".join(f"{shots} examples {found[width].all(shots).mean():.1%}" for shots in config.shots)
            progress(f"width {width}: {said}")
        guessed = {name: float(np.mean([chance([item]) for item in task.items])) for name, task in tasks.items()}
        return findings(found, guessed, config.margin)

    def _task(self, name: str, data: Data, seed: int) -> Asking:
        form = self.config.task(name)
        return Asking(form, *Prompting(form).items(data, seed))

    def _right(self, asking: Prompter, task: Asking) -> dict[int, np.ndarray]:
        """Number of examples → (orders, N); without examples every order is the same."""
        scoring, found = task.form.scorings[0], {}
        for shots in self.config.shots:
            right = asking.measure(task.items, task.orders, shots).right[scoring]
            found[shots] = np.broadcast_to(right, (len(task.orders), right.shape[1]))
        return found


def findings(found: Mapping[int, Sized], guessed: Mapping[str, float], margin: float) -> Findings:
    """The claim holds where both gains (see the module) lie above 0 with 95 % of the intervals.

    Nothing is judged where the largest network does not beat a blind guess in every task.

    Args:
        guessed: task → share that a blind guess gets right.
    """
    small, large = found[min(found)], found[max(found)]
    shots = list(next(iter(small.right.values())))
    most = shots[-1]
    size = difference(large.all(most), small.all(most))
    examples = difference(large.helped(most), small.helped(most))
    gates = [
        above(by[most], guessed[task], f"the largest has not learnt {task}: its accuracy")
        for task, by in large.right.items()
    ]
    verdict = gated(gates, every([size.exceeds(margin), examples.exceeds(margin)]))
    blind = sum(guessed[task] * by[most].shape[1] for task, by in large.right.items()) / large.all(most).shape[1]
    helped = ", ".join(f"{100 * one.helped(most).mean():+.1f} (width {width})" for width, one in found.items())
    text = (
        f"with {most} examples {large.all(most).mean():.1%} are right with {large.parameters:,} parameters against "
        f"{small.all(most).mean():.1%} with {small.parameters:,}, {size}; examples change that by {helped} points, for "
        f"the largest more than for the smallest by {examples}; a blind guess gets {blind:.0%}."
    )
    return Findings(
        **opened(verdict, text),
        columns=["width", "parameters", "task", *(f"{k} examples" for k in shots)],
        rows=[
            [float(width), float(one.parameters), task, *(rounded(float(by[k].mean())) for k in shots)]
            for width, one in found.items()
            for task, by in {**one.right, "all": {k: one.all(k) for k in shots}}.items()
        ],
        plots=_plots(found, shots, {"blind guess": blind}),
        figures={
            figure("width", str(width), task, f"{k} shots"): float(by[k].mean())
            for width, one in found.items()
            for task, by in one.right.items()
            for k in shots
        },
    )


def _plots(found: Mapping[int, Sized], shots: Sequence[int], levels: dict[str, float]) -> list[Plot]:
    sizes = [float(one.parameters) for one in found.values()]
    return [
        Plot(
            title="Accuracy by size",
            x_label="parameters",
            y_label="accuracy",
            log_x=True,
            levels=levels,
            series=[_line(f"{k} examples", sizes, [one.all(k) for one in found.values()]) for k in shots],
        ),
        Plot(
            title="Accuracy by examples",
            x_label="examples in the prompt",
            y_label="accuracy",
            levels=levels,
            series=[
                _line(f"{one.parameters:,} parameters", [float(k) for k in shots], [one.all(k) for k in shots])
                for one in found.values()
            ],
        ),
    ]


def _line(name: str, x: Sequence[float], right: Sequence[np.ndarray]) -> Series:
    halves = [float(np.subtract(*crossed_interval(one)[::-1])) / 2 for one in right]
    return series(name, x, [float(one.mean()) for one in right], halves)
