"""The evaluation of a rung: one page class per family, written as JSON by its stage and read by the report.

A page holds what was measured and nothing for people alone: titles and years are the report's, so that a changed one
measures nothing again. Shares stand in 0..1 unless a name says per cent; None: not measured.

A metric is declared once, at the field of the page that holds it:

    accuracy: Annotated[float, Metric("accuracy", "share of the test texts …", unit="share", better="higher")]

The report's tables, the comparison of two runs, the model card, `metrics/` and MLflow read the declaration. `Metrics`
marks a model inside a page whose metrics are the page's, too:

    scores: Annotated[ClassifierScores, Metrics()]

A property may be a metric, too, by the annotation of what it returns; the interval of a figure is displayed as half its
width.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field

# ---- metrics


Interval = tuple[float, float]
"""The 95 % interval of a figure, (low, high)."""
Unit = Literal["number", "whole", "compact", "share", "points", "percent", "perplexity", "bytes"]
"""How a value is written: `points` is a share in per cent without the sign, `percent` is in per cent already."""
LAST = "the others"
"""Value of `after`: after all columns without `after`."""
TEST = "test"
"""The split whose metrics go by their own names."""


@dataclass(frozen=True)
class Metric:
    """The title and meaning of a figure.

    Attributes:
        title: over its column, and on the model card; none: it is only logged.
        sentence: one sentence with the unit that explains it; none: it is no column of the report.
        digits: after the point, of the units `number` and `points`.
        better: which end is, None where neither is.
        brief: one of the few columns that the terminal and the README show.
        compared: one of those by which `pipeline.compare` sets two runs side by side.
        after: the title of the column that it follows, where that is not the one declared before it; or `LAST`.
        name: as which it is logged; none: its field's, behind what `Metrics` puts before it.
        logged: whether it goes to metrics/ and the run.
        card: its title on the model card, where no sentence stands beside it; none: `title`; None: not on it.
        splits: of scores by split, how it is shown for others than the test; logged behind the split's name.
    """

    title: str = ""
    sentence: str = ""
    unit: Unit = "number"
    digits: int = 3
    better: Literal["lower", "higher"] | None = None
    brief: bool = False
    compared: bool = False
    after: str = ""
    name: str = ""
    logged: bool = True
    card: str | None = ""
    splits: Mapping[str, "Metric"] = field(default_factory=dict)


FEWEST = 20
"""Test items that a headline is over, at least."""

LOGGED = Metric()
"""A figure that is only logged."""


def parameter_count(sentence: str, *, brief: bool = True, compared: bool = False, logged: bool = True) -> Metric:
    """The size of a model, in a column after its scores."""
    return Metric(
        "parameters",
        sentence,
        unit="compact",
        better="lower",
        brief=brief,
        compared=compared,
        after=LAST,
        logged=logged,
        card=None,  # it describes the model by its size
    )


@dataclass(frozen=True)
class Metrics:
    """A model inside a page whose metrics are also metrics of the page.

    Attributes:
        prefix: before the names as which they are logged.
        only: field → metric, in the place of what the model declares.
    """

    prefix: str = ""
    only: Mapping[str, Metric] | None = None


@dataclass(frozen=True)
class Declared:
    """A metric of a page, and where its value stands.

    Attributes:
        path: the attributes that lead from the page to it.
        each: whether one of them holds scores by split (`split`), or a list of named ones (`name`).
        interval: whether its value is that of another metric, of which half the width is shown.
    """

    metric: Metric
    name: str
    path: tuple[str, ...]
    each: Literal["", "split", "name"] = ""
    interval: bool = False

    def keys(self, page: BaseModel) -> list[str]:
        """The splits or names that the page has; "" of a metric that has one value."""
        held: object = page
        for part in self.path if self.each else ():
            held = getattr(held, part, None)
            if isinstance(held, Mapping):
                return list(held)
            if isinstance(held, list):
                return [metric.name for metric in held]
        return [] if self.each else [""]

    def read(self, page: BaseModel, key: str = "") -> Any:
        """Its value; None if it was not measured."""
        value: Any = page
        for part in self.path:
            value = getattr(value, part)
            if isinstance(value, Mapping):
                value = value.get(key)
            elif isinstance(value, list):
                value = next((entry for entry in value if entry.name == key), None)
            if value is None:
                return None
        return (value[1] - value[0]) / 2 if isinstance(value, tuple) else value

    def logged_as(self, key: str) -> str:
        """Its name in metrics/ and the run."""
        if self.each == "split":
            return self.name if key == TEST else f"{key}_{self.name}"
        return self.name.format(name=key)


@cache
def declared(page: type[BaseModel]) -> list[Declared]:
    """The metrics of a page, or of a model inside one, in the order of its fields, then of its properties."""
    return list(_walk(page, Metrics()))


def _walk(page: type[BaseModel], inside: Metrics) -> Iterator[Declared]:
    for name, (annotation, metadata) in attributes(page).items():
        metric = next((annotation for annotation in metadata if isinstance(annotation, Metric)), None)
        if inside.only is not None:
            metric = inside.only.get(name)
        if metric is not None:
            interval = Interval in (annotation, *get_args(annotation)) or Interval in get_args(_plain(annotation))
            yield Declared(metric, metric.name or f"{inside.prefix}{name}", (name,), interval=interval)
        elif (
            deeper := next((annotation for annotation in metadata if isinstance(annotation, Metrics)), None)
        ) and inside.only is None:
            model, each = _model(annotation)
            for entry in _walk(model, deeper):
                yield replace(entry, path=(name, *entry.path), each=each or entry.each)


def attributes(page: type[BaseModel]) -> dict[str, tuple[Any, Sequence[object]]]:
    """Fields and properties: name → its type and its declaration."""
    fields: dict[str, tuple[Any, Sequence[object]]] = {
        name: (field.annotation, field.metadata) for name, field in page.model_fields.items()
    }
    for owner in reversed(page.__mro__):
        for name, value in vars(owner).items() if issubclass(owner, BaseModel) and owner is not BaseModel else ():
            if isinstance(value, property):
                returned = get_type_hints(value.fget, include_extras=True).get("return")
                fields[name] = (returned, getattr(returned, "__metadata__", ()))
    return fields


def _plain(annotation: Any) -> Any:
    """A type without its declaration."""
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def _model(annotation: Any) -> tuple[type[BaseModel], Literal["", "split", "name"]]:
    """The model in a field: one or None, one per split, or a list of named ones."""
    origin, inner = get_origin(annotation), [argument for argument in get_args(annotation) if argument is not NoneType]
    if origin is dict:
        return inner[1], "split"
    if origin is list:
        return inner[0], "name"
    return (inner[0] if inner else annotation), ""


def figures(page: BaseModel) -> dict[str, Any]:
    """The logged figures of a page: name → value, without missing ones."""
    values = {
        metric.logged_as(key): metric.read(page, key)
        for metric in declared(type(page))
        if metric.metric.logged
        for key in metric.keys(page)
    }
    return {name: value for name, value in values.items() if value is not None}


def titles(page: type[BaseModel]) -> dict[str, str]:
    """Name as which it is logged → the title on a model card, of every metric that has one."""
    names = {}
    for entry in declared(page):
        has_title = entry.metric.logged and entry.metric.title and entry.metric.card is not None
        if has_title and entry.each != "name":
            names[entry.name] = entry.metric.card or entry.metric.title
            names |= {f"{split}_{entry.name}": metric.title for split, metric in entry.metric.splits.items()}
    return names


# ---- pages


class Measured(BaseModel):
    """Base of all that is measured: frozen; keys that it does not know (of another version) are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Work(Measured):
    """The operations and memory of a network on any machine, see `evaluation.work`.

    Attributes:
        flops: operations of a forward pass, for each position (a token, a frame).
        training_bytes: of weights, gradients, the optimiser's state and what the backward pass needs.
    """

    flops: Annotated[
        float,
        Metric(
            "operations/{position}",
            "multiplications and additions per {position} of a forward pass over a row of the training length; "
            "training takes about three times as many",
            unit="compact",
            better="lower",
            after=LAST,
            logged=False,
        ),
    ]
    training_bytes: Annotated[
        int,
        Metric(
            "training memory",
            "estimated memory for weights, gradients, the optimiser's state and the activations of a batch, in fp32; "
            "libraries and data need more",
            unit="bytes",
            better="lower",
            after=LAST,
            logged=False,
        ),
    ]


Fields: TypeAlias = bool | set[str]
Excluded: TypeAlias = Mapping[str, Fields | Mapping[str, Fields | Mapping[str, Fields]]]
"""Fields that are left out, as pydantic's `exclude`."""


class Page(Measured):
    """The base of all pages: the rung's name, and the approach of its class, by which the report groups rungs.

    A field of a page with a `Metric` is a figure: a column of the report, a row of the model card, a metric of the run.

    Attributes:
        seeds: trainings that it is the mean of; spread: what each of its figures may be off for them, see
            `evaluation.seeds`.
    """

    detail: ClassVar[Excluded] = {}  # what reports/ladder.json leaves out

    name: str
    approach: str = ""
    seeds: int = 1
    spread: dict[str, float] = Field(default_factory=dict)

    sampled: ClassVar[str] = "test texts"  # what its intervals are over
    position: ClassVar[str] = "token"  # the positions that a network reads, see `Work.flops`
    headlines: ClassVar[tuple[str, ...]] = ()  # candidates for the headline figure, see `headline`
    item_figure: ClassVar[str] = ""  # the figure that `item_scores` are about: their mean, or that over their words
    trained_on: ClassVar[str] = ""  # the unit of the training speed; none: there is no column for it

    @property
    def items(self) -> int | None:
        """How many test items the main figure is over; None: many, or not counted."""
        return None

    @property
    def item_scores(self) -> Sequence[float]:
        """How much it gets right of each test item: rungs are compared by it. None where it is not judged by items."""
        return ()

    @property
    def judged_among(self) -> str:
        """Rungs of a kind are compared item by item where this is the same."""
        return ""

    @property
    def text_unit(self) -> Literal["word", "grapheme"]:
        """What its figures per word are per: graphemes where the text does not separate words."""
        return "word"

    @property
    def is_sound(self) -> bool:
        """Whether the main figure is over enough test items to be a headline."""
        return self.items is None or self.items >= FEWEST

    def figures(self) -> dict[str, Any]:
        """The flat figures of the page, for metrics/ and the run: its declared metrics; what is infinite is so."""
        return figures(self)

    @classmethod
    def headline(cls, pages: Sequence["Page"]) -> str | None:
        """The main figure for comparing pages of the class; None: it was not measured.

        It is the first of `headlines` that a page has or, where the class names none, of the metrics that say which end
        is better; the size of a model is not one of these. Pages with fewer than `FEWEST` test items are not asked.
        """
        better = (
            metric.name for metric in declared(cls) if metric.metric.logged and metric.metric.better and not metric.each
        )
        names = cls.headlines or [name for name in better if name != "parameters"]
        sound = [page for page in pages if page.is_sound]
        return next((name for name in names for page in sound if page.figures().get(name) is not None), None)

    def summary(self) -> dict[str, Any]:
        """The page without details, for JSON."""
        return self.model_dump(mode="json", exclude=self.detail)
