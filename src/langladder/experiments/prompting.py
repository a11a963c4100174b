"""A task in natural language for the trained language models: accuracy by examples in the prompt, and by size (Brown et
al. 2020, figures 1.2 and 3.1).

The claim is one of two expectations for every network: its accuracy is higher with the most examples than with none, or
it is higher than that of guessing and of the most frequent answer. The intervals are over items and orders of examples
together.

`items_of` turns drawn examples into items with options in words.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.evaluation.prompting import Item, Prompter, PromptFormat, Shots, ceiling, chance, majority, orders
from langladder.evaluation.significance import crossed_interval, crossed_share_interval
from langladder.experiments.experiment import Data, Experiment, ExperimentConfig, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.prompt_sources import Drawn, Source
from langladder.experiments.statistics import Difference, Verdict, every
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.language.counted import CountedLanguageModel
from langladder.models.language.language_model import LanguageModel
from langladder.text.labelled.templates import Template
from langladder.text.tokenize.tokenizers import Tokenizer

SCORINGS = {"per_token": "per token", "contextual": "calibrated in context"}  # title in reports


class PromptTask(PromptFormat, ExperimentConfig):
    """Settings of `Prompting`: the task's wording, the source of its items, and the measurements."""

    source: Source
    shots: list[int] = Field(default=[0, 1, 4, 16], min_length=1)  # numbers of examples in the prompt, increasing
    orders: int = Field(default=3, ge=1, le=100)  # orders, each with its own examples
    items: int = Field(default=200, ge=1)  # at effort 1
    options: int = Field(default=4, ge=2, le=100)  # number of options of items with wrong answers from other items
    expects: Literal["examples help", "above chance"] = "examples help"
    margin: float = Field(default=0.02, ge=0)  # smallest gain that counts, as a share of the items

    @model_validator(mode="after")
    def _shots_rise(self) -> Self:
        if sorted(set(self.shots)) != self.shots or self.shots[0] < 0:
            raise ValueError(f"shots={self.shots}: must be increasing numbers, 0 or more")
        if self.expects == "examples help" and (self.shots[0] != 0 or len(self.shots) < 2):
            raise ValueError(f"shots={self.shots}: 0 and another number are needed, to measure whether examples help")
        return self


class Asked(NamedTuple):
    """A model and its results: number of examples → `Shots`."""

    parameters: int
    network: bool
    by_shots: dict[int, Shots]


class Prompting(Experiment[PromptTask]):
    """Accuracy by examples; one line per trained model."""

    Config: ClassVar[type[schema.Config]] = PromptTask

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        items, examples = self.items(data, seed)
        measured = {}
        for name, folder in data.models.items():
            model, tokenizer = LanguageModel.load(folder), Tokenizer.load(folder / "tokenizer.json")
            prompter = Prompter(model, tokenizer, config)
            by_shots = {shots: prompter.measure(items, examples, shots) for shots in config.shots}
            network = not isinstance(model, CountedLanguageModel)
            measured[name] = Asked(model.number_of_parameters(), network, by_shots)
            accuracies = ", ".join(f"{k}: {_accuracy(shots, config.scorings[0]):.0%}" for k, shots in by_shots.items())
            progress(f"{name}, by examples {accuracies}")
        return findings(config, measured, items, {name: data.title_of(name) for name in measured})

    def items(self, data: Data, seed: int) -> tuple[list[Item], list[list[Item]]]:
        """The items, and the orders of examples."""
        config, most = self.config, max(self.config.shots)
        count = config.fewer(config.items)
        drawn = max(count, 4 * most)  # enough examples to draw from, even for few items
        items, pool = items_of(config, config.source, data, count=drawn, options=config.options, seed=seed)
        return items[:count], orders(pool, config.fewer(config.orders), most, seed)


def findings(
    config: PromptTask, measured: Mapping[str, Asked], items: Sequence[Item], titles: Mapping[str, str]
) -> Findings:
    """See the module docstring; the verdict and the plots use the first of the scorings."""
    scoring, most = config.scorings[0], config.shots[-1]
    levels = {"chance": chance(items)}
    if (share := majority(items)) is not None:
        levels["most frequent"] = share
    if (best := ceiling(items)) is not None:
        levels["best possible"] = best
    blind = max(levels["chance"], share or 0.0)
    gains = {name: _gain(asked_model, scoring, most, blind, config.expects) for name, asked_model in measured.items()}
    networks = [Difference(gain, *bounds) for name, (gain, bounds) in gains.items() if measured[name].network]
    verdict = every(gain.exceeds(config.margin) for gain in networks) if networks else Verdict(None, "needs a network")
    what = f"{most} examples against none" if config.expects == "examples help" else "above a blind guess"
    text = ", ".join(
        f"{titles[name]} {_accuracy(measured[name].by_shots[most], scoring):.0%} ({100 * gain:+.0f} points, "
        f"{100 * low:+.0f} to {100 * high:+.0f})"
        for name, (gain, (low, high)) in gains.items()
    )
    short = {
        name: asked_model.by_shots[most].used
        for name, asked_model in measured.items()
        if asked_model.by_shots[most].used < most
    }
    if short:
        text += "; " + ", ".join(f"{titles[name]}'s context holds {used:.1f} of {most}" for name, used in short.items())
    others = [f"accuracy, {SCORINGS.get(scoring, scoring)}" for scoring in config.scorings[1:]]
    return Findings(
        **opened(verdict, f"{what}, {len(items)} items: {text}; a blind guess gets {blind:.0%}."),
        columns=["model", "parameters", "examples", "in the prompt", "accuracy", "95 % from", "to", *others],
        rows=[
            [titles[name], float(asked_model.parameters), float(k), *_row(shots, config.scorings)]
            for name, asked_model in measured.items()
            for k, shots in asked_model.by_shots.items()
        ],
        plots=_plots(config, measured, titles, levels),
        figures={
            figure(name, f"{k} shots"): _accuracy(shots, scoring)
            for name, asked_model in measured.items()
            for k, shots in asked_model.by_shots.items()
        },
    )


def _gain(asked_model: Asked, scoring: str, most: int, blind: float, expects: str) -> tuple[float, tuple[float, float]]:
    """The gain with the most examples, over none or over a blind guess, and its 95 % interval."""
    right = asked_model.by_shots[most].right[scoring]  # (S, N)
    if expects == "examples help":
        difference = right - asked_model.by_shots[0].right[scoring]
        return float(difference.mean()), crossed_interval(difference)
    low, high = crossed_share_interval(right)  # has a width where all are right, too
    return float(right.mean()) - blind, (low - blind, high - blind)


def _accuracy(shots: Shots, scoring: str) -> float:
    return float(shots.right[scoring].mean())


def _row(shots: Shots, scorings: Sequence[str]) -> list[str | float | None]:
    low, high = crossed_share_interval(shots.right[scorings[0]])
    figures = [shots.used, _accuracy(shots, scorings[0]), low, high]
    return [rounded(value) for value in [*figures, *(_accuracy(shots, scoring) for scoring in scorings[1:])]]


def _plots(
    config: PromptTask, measured: Mapping[str, Asked], titles: Mapping[str, str], levels: dict[str, float]
) -> list[Plot]:
    scoring = config.scorings[0]
    by_examples = [
        series(
            titles[name],
            [float(k) for k in asked_model.by_shots],
            [_accuracy(shots, scoring) for shots in asked_model.by_shots.values()],
            [_half(shots, scoring) for shots in asked_model.by_shots.values()],
        )
        for name, asked_model in measured.items()
    ]
    plots = [
        Plot(
            title="Accuracy by examples",
            x_label="examples in the prompt",
            y_label="accuracy",
            levels=levels,
            series=by_examples,
        )
    ]
    networks = sorted(
        (asked_model for asked_model in measured.values() if asked_model.network),
        key=lambda asked_model: asked_model.parameters,
    )
    if len({network.parameters for network in networks}) > 1:
        by_size = [
            series(
                f"{k} examples",
                [float(network.parameters) for network in networks],
                [_accuracy(network.by_shots[k], scoring) for network in networks],
            )
            for k in config.shots
        ]
        plots.append(
            Plot(
                title="Accuracy by size of the network",
                x_label="parameters",
                y_label="accuracy",
                log_x=True,
                levels=levels,
                series=by_size,
            )
        )
    return plots


def _half(shots: Shots, scoring: str) -> float:
    low, high = crossed_share_interval(shots.right[scoring])
    return float(np.subtract(high, low)) / 2


def items_of(
    form: PromptFormat, source: Source, data: Data, *, count: int, options: int, seed: int
) -> tuple[list[Item], list[Item]]:
    """The items of a task, and the pool of its examples; no item is in the pool.

    Args:
        count: maximum items. options: number of options of an item with wrong answers from other items.

    Raises:
        InputError: a label has no words, a field of the template is missing, or there is no other answer.
    """
    drawn, pool = source.draw(data, count, seed)
    if not drawn:
        raise InputError(f"prompt: the source {source.kind!r} has no items; see the report of the stage `clean`")
    form_fields = Template(form.template)
    form_fields.context(drawn[0].fields), form_fields.whole(drawn[0].fields, "")
    random = Random(f"{seed} options")
    if form.verbalisers:
        return [_labelled(item, form.verbalisers) for item in drawn], [
            _labelled(item, form.verbalisers) for item in pool
        ]
    others = _answers([*drawn, *pool])
    return (
        [_open(item, others[item.among], options, random) for item in drawn],
        [_open(item, others[item.among], options, random) for item in pool],
    )


def _labelled(drawn: Drawn, words: Mapping[str, str]) -> Item:
    if drawn.answer not in words:
        raise InputError(
            f"verbalisers: no words for {drawn.answer!r}, the label of {next(iter(drawn.fields.values()), '')[:60]!r}; "
            f"there are words for {', '.join(words)}"
        )
    return Item(drawn.fields, tuple(words.values()), list(words).index(drawn.answer), drawn.ceiling)


def _answers(drawn: Sequence[Drawn]) -> dict[str, list[str]]:
    """Sort → the distinct answers of that sort."""
    results: dict[str, dict[str, None]] = {}
    for item in drawn:
        results.setdefault(item.among, {})[item.answer] = None
    return {among: list(answers) for among, answers in results.items()}


def _open(drawn: Drawn, others: Sequence[str], count: int, random: Random) -> Item:
    if drawn.options:
        return Item(drawn.fields, drawn.options, drawn.options.index(drawn.answer), drawn.ceiling)
    wrong = [other for other in others if other != drawn.answer]
    if not wrong:
        raise InputError(f"prompt: {drawn.answer!r} is the only answer; add options, or verbalisers")
    options = sorted([drawn.answer, *random.sample(wrong, min(len(wrong), count - 1))])
    return Item(drawn.fields, tuple(options), options.index(drawn.answer), drawn.ceiling)
