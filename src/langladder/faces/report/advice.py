"""Which rung to use on this text: of each kind the cheapest that is as good as the best, with its figure and its cost.

Three sentences say why: what there is to learn from and what is best, what the best costs beside a cheaper one, what
growing and other data have been measured to give.

Only measured figures are used. A rung is as good as the best where the two are level: by the paired test on the items
of the test split, where the pages have them (`paired`). Elsewhere it is as good if its figure is within 2 % of the
best, or if their difference is no more than the root of the sum of their squared ± (half of 95 % intervals).
Rungs that are judged alike (language models, and those that grew from another) are compared with each other. What word
vectors or pre-training give is the difference to the same network without them. Costs are seconds of processors, where
they were measured: they hardly depend on what else the machine does.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import hypot
from types import MappingProxyType
from typing import Any, NamedTuple

from langladder.evaluation.more_labels import FEWEST, MoreLabels
from langladder.evaluation.page import Page
from langladder.evaluation.significance import LEVEL
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.paired import Pair, Pairs, tested
from langladder.faces.report.section import Column, family_columns
from langladder.families.family import AnyFamily
from langladder.text.clean.statistics import SMALL

NEAR = 0.02
"""Share of the best figure: a rung that is no further from it is as good for use."""

HARDLY = 1.0
"""Points of accuracy: twice the labels that give less are hardly worth it."""

ELSEWHERE = ("word vectors", "pre-training")
"""The kinds of pre-trained inputs that a rung can have, by their names in `Family.also_given`."""


class Advice(NamedTuple):
    """What is said of one kind of rung.

    Attributes:
        title: of the kind.
        rung: the one to use; None: none was measured.
        sentences: why.
        figure: of that rung, with the name of the measure. time: of processors, for its training. size: of the model.
            "" where it is not known.
    """

    title: str
    rung: str | None
    sentences: list[str]
    figure: str = ""
    time: str = ""
    size: str = ""


class Judged(NamedTuple):
    """A rung by the measure that its kind is compared by.

    Attributes:
        margin: its ±, None where none was measured.
        cost: seconds of processors that its training took; by the clock where those are not known.
        pretrained: the pre-trained inputs that it has. network: the module of its class.
        pairs: the tests of the rungs of its kind on the same items.
    """

    name: str
    title: str
    value: float
    margin: float | None
    cost: float | None
    counted: bool
    pretrained: str
    size: str
    network: str | None = None
    pairs: Pairs = MappingProxyType({})


class Measure(NamedTuple):
    """What rungs of a kind are compared by."""

    column: Column[Any]
    interval: Column[Any] | None

    @property
    def sign(self) -> int:
        """1 where higher is better, else −1."""
        return 1 if self.column.better == "higher" else -1

    def figure(self, rung: Judged) -> str:
        """A rung's figure with its ±."""
        beside = "" if rung.margin is None else f" ± {self.width(rung.margin)}"
        return f"{self.column.show(rung.value)}{beside}"

    def width(self, value: float) -> str:
        """A ±, as the measure is written."""
        return self.column.show(value)

    def gap(self, value: float) -> str:
        """A difference as the measure is written, that of shares in points."""
        return self.column.show(abs(value)).replace(" %", " points")


def advice(inputs: ReportInputs) -> list[Advice]:
    """For each kind of rung that is trained here; nothing of kinds of which nothing is listed."""
    results = []
    for family in inputs.families:
        rungs = inputs.rungs_with(family.name, family.page()) if family.trained and family.report_module else []
        if rungs and (advised := _of_kind(family, rungs, inputs)):
            results.append(advised)
    return results


def nothing_measured(data: Mapping[str, Any]) -> str:
    """What there is to say of data on which no rung was evaluated."""
    known = [facts for side in data if (facts := _size(data, side))]
    here = f" Here are {'; '.join(known)}." if known else ""
    return f"Nothing was measured on this text, so there is no advice.{here} `dvc repro` measures the listed rungs."


def _of_kind(family: AnyFamily, entries: Sequence[Entry[Page]], inputs: ReportInputs) -> Advice | None:
    columns = family_columns(family, [entry.page for entry in entries])
    measure = measure_of(columns)
    if measure is None:
        return None
    rungs = judged(entries, measure)
    if not rungs:
        return Advice(family.title, None, [f"Nothing was measured by {measure.column.title}."])
    best = max(rungs, key=lambda rung: measure.sign * rung.value)
    worth, cost = _cost(best, rungs, measure)
    return Advice(
        family.title,
        worth.title,
        [
            _first(family, best, rungs, entries, measure, inputs),
            cost,
            _too_small(family, rungs, inputs)
            + _more(family, rungs, measure, inputs, _more_data(best, entries, inputs)),
        ],
        f"{measure.column.title} {measure.figure(worth)}",
        "" if worth.cost is None else _time(worth),
        worth.size,
    )


def measure_of(columns: Sequence[Column[Any]]) -> Measure | None:
    """The first telling column of which one end is better, and the one behind it that says its ±."""
    for index, column in enumerate(columns):
        if column.better and (column.brief or column.compared) and not column.interval:
            behind = columns[index + 1] if index + 1 < len(columns) and columns[index + 1].interval else None
            return Measure(column, behind)
    return None


def judged(entries: Sequence[Entry[Page]], measure: Measure) -> list[Judged]:
    """The rungs that were measured, in their order."""
    pairs = tested(entries)
    return [rung for entry in entries if (rung := _judged(entry, measure, pairs)) is not None]


def _judged(entry: Entry[Page], measure: Measure, pairs: Pairs) -> Judged | None:
    value = measure.column.read(entry.page, entry.timing)
    if value is None:
        return None
    margin = measure.interval.read(entry.page, entry.timing) if measure.interval else None
    if margin is None and measure.column.margin:
        margin = measure.column.margin(entry.page)
    page: Any = entry.page
    return Judged(
        entry.name,
        entry.title,
        value,
        margin,
        entry.timing.processor_seconds or entry.timing.seconds,
        getattr(page, "work", None) is None,
        " and ".join(kind for kind in ELSEWHERE if kind in entry.metadata.also_given),
        _model_size(page),
        entry.metadata.module,
        pairs,
    )


def _model_size(page: Any) -> str:
    """Parameters, or bytes of word vectors; "" where the page has neither."""
    if (parameters := getattr(page, "parameters", None)) is not None:
        return f"{numbers.compact(parameters)} parameters"
    if (each := getattr(page, "bytes_per_word", None)) is not None:
        return f"{numbers.memory(each * page.vocabulary)} of vectors"
    return ""


def _first(
    family: AnyFamily,
    best: Judged,
    rungs: Sequence[Judged],
    entries: Sequence[Entry[Page]],
    measure: Measure,
    inputs: ReportInputs,
) -> str:
    """The sentence about the training data and the best rung."""
    size = _size(inputs.data, family.texts[-1])
    learnt = f"Trained on {size}" if size else "On this text (its size is unknown)"
    page: Any = next(entry.page for entry in entries if entry.title == best.title)
    if by_fold := getattr(page, "by_fold", None):
        learnt = f"In cross-validation with {by_fold.folds} folds of all labelled texts"
    if len(rungs) == 1:
        return f"{learnt}, {best.title}, the only rung, has {measure.column.title} {measure.figure(best)}."
    floor = _bound(entries, best)
    return (
        f"{learnt}, the best of {len(rungs)} rungs by {measure.column.title} is {best.title} with "
        f"{measure.figure(best)}{floor}."
    )


def _cost(best: Judged, rungs: Sequence[Judged], measure: Measure) -> tuple[Judged, str]:
    """The recommended rung, and the sentence with the reason."""
    if len(rungs) == 1:
        return best, "There is nothing to compare it with: also list a baseline."
    if best.cost is None:
        return best, "Its training time is unknown: the times of that training run are not here."
    cheaper = [rung for rung in rungs if rung.cost is not None and rung.cost < best.cost]
    took = _time(best)
    if not cheaper:
        return best, f"It is also the cheapest: it took {took} to train."
    as_good = [rung for rung in cheaper if is_level(best, rung) or _near(best, rung)]
    if as_good:
        chosen = min(as_good, key=lambda rung: rung.cost or 0)
        wins = "Your baseline wins: " if chosen.counted and not best.counted else ""
        within = f"is within {NEAR:.0%} of it".replace("%", " %")
        if is_level(best, chosen):
            within = f"cannot be told apart from it ({evidence(best, chosen, measure)})"
        return chosen, (
            f"{wins}{chosen.title} ({measure.figure(chosen)}) {within} and trains in "
            f"{_time(chosen)} instead of {took}, so it is the better choice."
        )
    other = max(cheaper, key=lambda rung: measure.sign * rung.value)
    times = best.cost / (other.cost or best.cost)
    sure = _known(best, other) or (best.counted and other.counted)  # which are made once
    unsure = "" if sure else "; the difference between seeds was not measured (set `seeds: 3`)"
    return best, (
        f"It took {took}, {times:,.{times < 10:d}f} times as long as the best cheaper rung, {other.title} "
        f"({measure.figure(other)} in {_time(other)}), and is ahead of it by "
        f"{measure.gap(best.value - other.value)}{unsure}."
    )


def _near(best: Judged, other: Judged) -> bool:
    """Whether it is as good for use; not if a test says that it is worse."""
    return _pair(best, other) is None and abs(best.value - other.value) <= NEAR * abs(best.value)


def _time(rung: Judged) -> str:
    """Its own training alone, and what is not in it."""
    without = f" without the {rung.pretrained}" if rung.pretrained else ""
    return f"{numbers.seconds(rung.cost or 0)}{without}"


def is_level(first: Judged, second: Judged) -> bool:
    """Whether two rungs cannot be told apart; false if nothing that could tell them apart was measured."""
    if (pair := _pair(first, second)) is not None:
        return not pair.differs
    return _known(first, second) and abs(first.value - second.value) <= _margin(first, second)


def _pair(first: Judged, second: Judged) -> Pair | None:
    """The test of the better rung against the other on the same items; None where there is none."""
    better, worse = (first, second) if first.value >= second.value else (second, first)  # shares of what is right
    return first.pairs.get((better.name, worse.name))


def evidence(first: Judged, second: Judged, measure: Measure) -> str:
    """What `is_level` rests on: `p = 0.3`, or their ± together."""
    pair = _pair(first, second)
    if pair is None or (pair.p <= LEVEL and not pair.over_seeds):
        return f"± {measure.width(_margin(first, second))}"
    return numbers.p_value(pair.p)


def _margin(first: Judged, second: Judged) -> float:
    return hypot(first.margin or 0, second.margin or 0)


def _known(*rungs: Judged) -> bool:
    """Whether the uncertainty of a difference was measured. Counted rungs do not depend on the seed."""
    margins = [rung.margin for rung in rungs]
    paired = len(rungs) == 2 and _pair(*rungs) is not None
    return paired or (any(margins) and all(rung.margin is not None or rung.counted for rung in rungs))


def _more_data(best: Judged, entries: Sequence[Entry[Page]], inputs: ReportInputs) -> str:
    """The sentence about the best rung's gain from twice the labels, if it was measured (`evaluation.more_labels`)."""
    page: Any = next(entry.page for entry in entries if entry.title == best.title)
    if "more_labels" not in type(page).model_fields:
        return "how much more data would give was not measured."
    result: MoreLabels | None = page.more_labels
    if result is None:
        train = ((inputs.data.get("labels") or {}).get("splits") or {}).get("train") or {}
        if train.get("examples", FEWEST) < FEWEST:
            return f"the gain from more labels cannot be estimated from fewer than {FEWEST} texts."
        return "the gain from more data was not measured (`learning_curve: true` measures it for labels)."
    texts = f"twice the labels ({2 * result.texts:,} instead of {result.texts:,})"
    if not result.learnt:
        return f"the gain from more labels cannot be estimated, because {best.title} hardly learns anything from fewer."
    low, high = (100 * end for end in (result.low, result.high))
    if result.low > 0:
        where = " on the test split" if page.by_fold else ""
        ends = [numbers.share(min(1.0, result.accuracy + more)) for more in (result.gain, result.low, result.high)]
        return (
            f"with {texts} {best.title} would have accuracy {ends[0]} ({ends[1]} to {ends[2]}) instead of "
            f"{numbers.share(result.accuracy)}{where}, if its learning curve continues in the same way."
        )
    if high < HARDLY:
        return f"{texts} would improve {best.title} by at most {high:.1f} points of accuracy."
    between = f"{low:+.1f} to {high:+.1f}".replace("-", "−")
    return (
        f"it is unclear if {texts} would help {best.title}: its learning curve predicts {between} points of accuracy."
    )


def _too_small(family: AnyFamily, rungs: Sequence[Judged], inputs: ReportInputs) -> str:
    """The sentence that a text is too small for networks; "" if it is not, or if one was measured."""
    size = ((((inputs.data.get("text") or {}).get("splits") or {}).get("train")) or {}).get("bytes", SMALL + 1)
    if family.name != "lm" or size > SMALL or not all(rung.counted for rung in rungs):
        return ""
    return (
        f"Networks are not worth their time on less than {SMALL // 1000} kB of text: on 50 kB, an LSTM and a GPT of "
        "300 steps took thousands of times as long as a Kneser–Ney 5-gram of characters, and had more bits per "
        "character (docs/small-languages.md). "
    )


def _more(family: AnyFamily, rungs: Sequence[Judged], measure: Measure, inputs: ReportInputs, data: str) -> str:
    """The sentence about the gain from word vectors or pre-training.

    Args:
        data: the sentence about more data.
    """
    with_more = [rung for rung in rungs if rung.pretrained]
    without = [rung for rung in rungs if not rung.pretrained]
    kind = [entry for entry in inputs.families if entry.page() is family.page()]
    growing = [family for family in kind if family.bases]
    if not with_more or not without:
        if not growing or growing == kind:  # of what always grows from another there is no rung without
            return f"Other settings were not tried here; {data}"
        listed = ", ".join(f"`{family.listed}`" for family in growing)
        return f"The effect of word vectors or pre-training was not measured here (list some in {listed}); {data}"
    results = []
    for rung in with_more:
        twins = [other for other in without if other.network and other.network == rung.network]
        if twins:
            twin = max(twins, key=lambda other: measure.sign * other.value)
            results.append(_gain(rung, twin, measure))
    if not results:
        names = " and ".join(rung.title for rung in with_more)
        missing = f"the network of {names} was not trained without them"
        if any(rung.network is None for rung in with_more):
            missing = "this report does not say which network a rung has; `dvc repro -f -s report` makes it again"
        return f"The gain from word vectors or pre-training was not measured: {missing}; {data}"
    return f"{'; '.join(results)}; {data}"


def _gain(rung: Judged, twin: Judged, measure: Measure) -> str:
    """What its pre-trained inputs give a rung over the same network without them."""
    label = rung.pretrained.capitalize()
    figures = f"{measure.figure(rung)}, {twin.title}, the same network without, {measure.figure(twin)}"
    better = measure.sign * (rung.value - twin.value) > 0
    if rung.value == twin.value or (_known(rung, twin) and is_level(rung, twin)):
        return f"{label}: no significant gain. {rung.title} has {figures} ({evidence(rung, twin, measure)})"
    tested = f" ({evidence(rung, twin, measure)})" if _known(rung, twin) else ""
    return f"{label}: {'a gain' if better else 'a loss'}. {rung.title} has {figures}{tested}"


# ---- the data --------------------------------------------------------------------------------------------------------


def _size(data: Mapping[str, Any], side: str) -> str:
    """How much there is to train on, in which script, with how many labels; "" where no report tells."""
    report = data.get(side) or {}
    train = (report.get("splits") or {}).get("train") or {}
    parts = [_counted(train, unit) for unit in ("documents", "examples", "sentences", "pairs", "words")]
    text = ", ".join(part for part in parts if part)
    if not text:
        return ""
    scripts = train.get("scripts") or {}
    if scripts:
        text += f" in {max(scripts, key=scripts.__getitem__)} script"
    labels = (report.get("labels") or {}).get("train") or {}
    if not labels:
        return text
    rarest = min(labels, key=labels.__getitem__)
    kind = "tags" if side == "tags" else "labels"
    return f"{text} and {len(labels):,} {kind} (the rarest, {rarest}, occurs {labels[rarest]:,} times)"


def _counted(train: Mapping[str, Any], unit: str) -> str:
    return f"{train[unit]:,} {unit}" if isinstance(train.get(unit), int) else ""


def _bound(entries: Sequence[Entry[Page]], best: Judged) -> str:
    """What nobody can beat, where the corpus says it."""
    page: Any = next(entry.page for entry in entries if entry.title == best.title)
    if (accuracy := getattr(page, "bayes_accuracy", None)) is not None:
        return f" (the best possible is {numbers.share(accuracy)})"
    floor = getattr(getattr(page, "scores", None), "floor_perplexity_per_word", None)
    return "" if floor is None else f" (the floor is {floor:.2f})"


def lines(results: Sequence[Advice]) -> Iterator[str]:
    """As text: a line a kind."""
    for line in results:
        yield f"{line.title}: {' '.join(line.sentences)}"
