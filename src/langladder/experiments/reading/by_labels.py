"""Classifiers by the number of labels: the same subsets for every rung, drawn anew for each seed.

A subset of n labels has the classes in the shares that the whole has, and a larger one of the same seed contains it. A
fifth of it is what a classifier chooses by (strength of regularisation, best weights), because who has n labels has no
others to choose by. All there are is the training and the validation texts as they are. What is measured are the same
test texts throughout.

    gain_n = accuracy of a line − accuracy of its baseline, both with n labels

`LabelCurve` asks from how many labels on a network is worth it over TF-IDF and logistic regression: where the interval
of the difference lies above 0 at n and at every larger number. `VectorsByLabels` asks what word vectors of unlabelled
text are worth (Turian et al. 2010; Kim 2014, section 4): each network begins with skip-gram vectors of the training
text without labels, or at random; both are fine-tuned.

Shape legend: S seeds, N test texts.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.data.batches import generator
from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.reading.reading_training import ReadingConfig, Texts, fitted, majority, right_labels
from langladder.experiments.reading.rungs import ClassifierRung
from langladder.experiments.reading.small_vectors import small_vectors
from langladder.experiments.statistics import LEAST_SEEDS, Difference, Verdict, above, difference, every, gated, some
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.tasks.settings import ReadingTraining

HELD = 5
"""One label in so many is there to choose by."""
WITH_VECTORS = "{}, pre-trained"
Line = Callable[[Texts, int], np.ndarray]
"""Texts, seed → whether each test text gets its label, (N,) bool, after training on the others."""


class CountsConfig(ReadingConfig):
    """Settings of an experiment that trains on so many labels, and on so many more."""

    counts: list[int] = Field(default=[16, 64, 256, 1024], min_length=1)  # of labels; those that the corpus has
    seeds: int = Field(default=LEAST_SEEDS, ge=1, le=100)
    margin: float = Field(default=0.01, ge=0)  # the least difference in accuracy that counts
    epochs: float = Field(default=3.0, gt=0)  # of a network over its texts, where these are more than max_steps

    @model_validator(mode="after")
    def _counts_rise(self) -> Self:
        if min(self.counts) < HELD or sorted(set(self.counts)) != self.counts:
            raise ValueError(f"counts={self.counts}: rising numbers, the first at least {HELD}")
        return self

    def training_on(self, rung: ClassifierRung, texts: Texts) -> ReadingTraining:
        """How a network is trained on so many texts."""
        passes = math.ceil(self.epochs * len(texts.train) / self.batch_size)
        return self.training_of(rung, max_steps=max(self.max_steps, passes))


class ByLabelsConfig(CountsConfig):
    """Settings of the experiments by number of labels."""

    vectors: list[str] = Field(default=[])  # rungs that also begin with word vectors of the unlabelled text
    vector_epochs: int = Field(default=5, ge=1)
    vector_lines: int = Field(default=50_000, ge=1)  # of the text, to make them of

    @model_validator(mode="after")
    def _are_known(self) -> Self:
        if unknown := set(self.vectors) - set(self.rungs):
            raise ValueError(f"vectors: {sorted(unknown)} are none of the rungs; allowed: {', '.join(self.rungs)}")
        if without := [name for name in self.vectors if self.rungs[name].training is None]:
            raise ValueError(f"vectors: {without} have no embedding; name networks")
        return self

    def lines(self) -> list[tuple[str, ClassifierRung, bool]]:
        """Title, rung, and whether it begins with vectors, of each line of the picture."""
        plain = [(rung.title, rung, False) for rung in self.rungs.values()]
        return plain + [(WITH_VECTORS.format(self.rungs[name].title), self.rungs[name], True) for name in self.vectors]


class Measured(NamedTuple):
    """What was measured: title → number of labels → (S, N) bool, whether a test text got its label.

    Attributes:
        networks: titles of those that are trained by gradient.
        ceiling: the best possible accuracy; None where it is unknown.
        majority: share of the most frequent label among the test texts.
    """

    right: Mapping[str, Mapping[int, np.ndarray]]
    networks: Sequence[str]
    ceiling: float | None
    majority: float

    def mean(self, title: str, count: int) -> float:
        """Accuracy over all seeds."""
        return float(self.right[title][count].mean())

    def learnt(self, title: str) -> Verdict:
        """A gate: with all labels it is better than who always says the most frequent one."""
        return above(self.right[title][self.counts[-1]], self.majority, f"{title} has not learnt: its accuracy")

    def spread(self, title: str, count: int) -> float:
        """Standard deviation of the accuracy between seeds; 0 for one seed."""
        by_seed = self.right[title][count].mean(axis=1)  # (S,)
        return float(by_seed.std(ddof=1)) if len(by_seed) > 1 else 0.0

    @property
    def counts(self) -> list[int]:
        """Numbers of labels, rising."""
        return list(next(iter(self.right.values())))


class ByLabels(Experiment[ByLabelsConfig]):
    """Trains and measures; subclasses say what is to be found in it."""

    Config: ClassVar[type[Any]] = ByLabelsConfig
    reads = ("clean/labels", "clean/text")

    def measure(self, data: Data, *, seed: int, progress: Progress) -> Measured:
        """Every line of the picture at every number of labels, a training a seed."""
        config = self.config
        whole = corpus(data, config)
        vectors = self._vectors(data, seed)
        lines = {
            title: partial(right_after, rung, vectors.get(rung.name) if begun else None, config)
            for title, rung, begun in config.lines()
        }
        networks = [title for title, rung, _ in config.lines() if rung.training is not None]
        return measured(lines, whole, config, networks=networks, seed=seed, progress=progress)

    def _vectors(self, data: Data, seed: int) -> dict[str, WordVectors]:
        config, made, found = self.config, dict[int, WordVectors](), dict[str, WordVectors]()
        for name in config.vectors:
            dim = config.rungs[name].config().embedding_dim
            if dim not in made:
                how = {"epochs": config.vector_epochs, "lines": config.vector_lines}
                made[dim] = small_vectors(data, dim=dim, seed=seed, **how)
            found[config.rungs[name].name] = made[dim]
        return found


def right_after(
    rung: ClassifierRung, vectors: WordVectors | None, config: CountsConfig, texts: Texts, seed: int
) -> np.ndarray:
    """Whether each test text gets its label, (N,) bool, after training on the others; begun with vectors or without."""
    training = None if rung.training is None else config.training_on(rung, texts)
    return right_labels(fitted(rung, texts, training, seed=seed, vectors=vectors), texts.test)


def measured(
    lines: Mapping[str, Line],
    whole: Texts,
    config: CountsConfig,
    *,
    networks: Sequence[str],
    seed: int,
    progress: Progress,
) -> Measured:
    """Every line at every number of labels, a training a seed.

    Args:
        networks: titles of the lines that are trained by gradient.
    """
    seeds = range(seed, seed + config.fewer(config.seeds))
    right: dict[str, dict[int, np.ndarray]] = {title: {} for title in lines}
    for count in [*fitting(config.counts, whole), None]:
        parts = [whole if count is None else subset(whole, count, one) for one in seeds]
        number = len(parts[0].train) + len(parts[0].validation)
        for title, line in lines.items():
            right[title][number] = np.stack([line(part, one) for part, one in zip(parts, seeds, strict=True)])
        said = ", ".join(f"{title} {by[number].mean():.1%}" for title, by in right.items())
        progress(f"{number:,} labels: {said}")
    ceilings = [example.ceiling for example in whole.test if example.ceiling is not None]
    ceiling = sum(ceilings) / len(ceilings) if len(ceilings) == len(whole.test) else None
    return Measured(right, networks, ceiling, majority(whole.test))


def corpus(data: Data, config: ReadingConfig) -> Texts:
    """The labelled texts, the test texts as many as are asked for.

    Raises:
        InputError: a split has none.
    """
    train, validation, test = (data.examples(split) for split in ("train", "validation", "test"))
    for name, split in (("train", train), ("validation", validation), ("test", test)):
        if not split:
            raise InputError(f"{data.labels}/{name}.parquet: no labelled text; see the report of the stage `clean`")
    return Texts(data.label_names(), train, validation, config.few(test, config.test_texts))


def fitting(counts: Sequence[int], whole: Texts) -> list[int]:
    """The numbers of labels that can be drawn: no more than there are to train on, at least one a class."""
    return [count for count in counts if len(whole.labels) <= count < len(whole.train)]


def subset(whole: Texts, count: int, seed: int) -> Texts:
    """`count` of the training texts, a fifth of them to choose by."""
    chosen = [whole.train[row] for row in stratified(whole.train, seed)[:count]]
    order, held = stratified(chosen, seed, 1), count // HELD
    train, validation = ([chosen[row] for row in sorted(rows)] for rows in (order[held:], order[:held]))
    return whole._replace(train=train, validation=validation)


def stratified(examples: Sequence[object], *key: int) -> list[int]:
    """An order in which every beginning has about the shares of the labels that the whole has.

    The k-th of the n texts of a label, in an order drawn for `key`, stands at (k + ½) / n.
    """
    of: dict[str, list[int]] = {}
    for row in generator(*key).permutation(len(examples)).tolist():
        of.setdefault(str(examples[row].label), []).append(row)
    placed = [((k + 0.5) / len(rows), row) for rows in of.values() for k, row in enumerate(rows)]
    return [row for _, row in sorted(placed)]


Pairs = Mapping[str, tuple[str, str]]
"""Name → title of the line, title of its baseline."""
Gains = Mapping[str, Mapping[int, Difference]]
"""Name → number of labels → what the line gains."""


def gains_of(measured: Measured, pairs: Pairs) -> dict[str, dict[int, Difference]]:
    """The gain of each pair at every number of labels."""
    right = measured.right
    return {
        name: {count: difference(right[line][count], right[base][count]) for count in measured.counts}
        for name, (line, base) in pairs.items()
    }


def change(measured: Measured, pair: tuple[str, str], first: int, second: int) -> Difference:
    """How much larger a gain is with `first` labels than with `second`."""
    line, base = (measured.right[title] for title in pair)
    # (a_n − b_n) − (a_m − b_m)
    each = [line[count].astype(int) - base[count] for count in (first, second)]  # (S, N)
    return difference(*each)


def several(counts: Sequence[int]) -> Verdict:
    """A gate: one number of labels says nothing of what changes with it."""
    return Verdict(True) if len(counts) > 1 else Verdict(None, f"{len(counts)} number of labels, two are needed")


def gain_rows(measured: Measured, gains: Gains, pairs: Pairs) -> list[list[str | float | None]]:
    """Name, labels, accuracy of the baseline and of the line, gain."""
    return [
        [
            name,
            float(count),
            rounded(measured.mean(pairs[name][1], count)),
            rounded(measured.mean(pairs[name][0], count)),
            str(gain),
        ]
        for name, by in gains.items()
        for count, gain in by.items()
    ]


def gain_plot(gains: Gains, counts: Sequence[int]) -> Plot:
    """A line a pair, with half of its interval as error."""
    return Plot(
        title="Gain by number of labels",
        x_label="labels",
        y_label="gain in accuracy",
        log_x=True,
        levels={"none": 0.0},
        series=[
            series(
                name,
                [float(count) for count in counts],
                [by[count].mean for count in counts],
                [by[count].half for count in counts],
            )
            for name, by in gains.items()
        ],
    )


def gain_figures(gains: Gains) -> dict[str, float]:
    """For the metrics."""
    return {figure(name, "gain", str(count)): gain.mean for name, by in gains.items() for count, gain in by.items()}


class LabelCurveConfig(ByLabelsConfig):
    """Settings of `LabelCurve`."""

    baseline: str  # of the rungs: what the others are compared with

    @model_validator(mode="after")
    def _is_a_rung(self) -> Self:
        if self.baseline not in self.rungs:
            raise ValueError(f"baseline={self.baseline!r} is none of the rungs; allowed: {', '.join(self.rungs)}")
        return self


class LabelCurve(ByLabels):
    """A line a rung; the verdict says from how many labels on which is better than the baseline."""

    Config: ClassVar[type[schema.Config]] = LabelCurveConfig
    config: LabelCurveConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        found = self.measure(data, seed=seed, progress=progress)
        return curve_findings(found, config.rungs[config.baseline].title, config.margin)


def curve_findings(measured: Measured, baseline: str, margin: float) -> Findings:
    """It holds where the baseline is as good as each network with the fewest labels, and one is better with all."""
    counts = measured.counts
    against = {title: _against(measured, title, baseline) for title in measured.right if title != baseline}
    since = {title: _since(by) for title, by in against.items()}
    networks = [title for title in measured.networks if title in against]
    winners = {title: start for title in networks if (start := since[title]) is not None}
    early = every((-against[title][counts[0]]).within(margin) for title in networks)
    late = some(against[title][counts[-1]].exceeds(margin) for title in networks)
    gates = [several(counts), *([measured.learnt(max(networks, key=lambda one: measured.mean(one, counts[-1])))])]
    verdict = gated(gates, every([early, late]))
    said = [f"{title} from {start:,} labels on, {against[title][start]}" for title, start in winners.items()]
    never = [title for title in networks if title not in winners]
    best = {count: max(measured.right, key=lambda title: measured.mean(title, count)) for count in counts}
    ends = ", ".join(f"{title} {measured.mean(title, n):.1%} with {n:,} labels" for n, title in _ends(best))
    parts = [f"better than {baseline} by more than chance: {'; '.join(said) if said else 'no network'}"]
    parts += [f"not so: {', '.join(never)}"] if never else []
    return Findings(
        **opened(verdict, f"{'; '.join(parts)}. Best are {ends}{_known(measured)}."),
        columns=["rung", *(f"{count:,} labels" for count in counts), "better from", "by, with all (95 %)"],
        rows=[
            [title, *(rounded(measured.mean(title, count)) for count in counts), *_cells(title, since, against, counts)]
            for title in measured.right
        ],
        plots=[accuracy_plot(measured)],
        figures={
            figure(title, str(count)): measured.mean(title, count) for title in measured.right for count in counts
        },
    )


def accuracy_plot(measured: Measured, *, front: bool = False) -> Plot:
    """Accuracy by labels, a line a rung, with the spread between seeds; `front` as of `Plot`."""
    counts = measured.counts
    levels = {"most frequent label": measured.majority}
    return Plot(
        title="Accuracy by number of labels",
        x_label="labels",
        y_label="accuracy (test)",
        log_x=True,
        front=front,
        levels=levels | ({} if measured.ceiling is None else {"best possible": measured.ceiling}),
        series=[
            series(
                title,
                [float(count) for count in counts],
                [measured.mean(title, count) for count in counts],
                [measured.spread(title, count) for count in counts],
            )
            for title in measured.right
        ],
    )


def _against(measured: Measured, title: str, baseline: str) -> dict[int, Difference]:
    right = measured.right
    return {count: difference(right[title][count], right[baseline][count]) for count in measured.counts}


def _since(by: dict[int, Difference]) -> int | None:
    """The smallest number of labels from which on the interval lies above 0."""
    start = None
    for count in reversed(by):
        if by[count].low <= 0:
            break
        start = count
    return start


def _ends(best: dict[int, str]) -> list[tuple[int, str]]:
    counts = list(best)
    return [(count, best[count]) for count in dict.fromkeys((counts[0], counts[-1]))]


def _known(measured: Measured) -> str:
    return "" if measured.ceiling is None else f"; {measured.ceiling:.1%} can be known"


def _cells(
    title: str, since: dict[str, int | None], against: dict[str, dict[int, Difference]], counts: list[int]
) -> list[str | float | None]:
    if title not in against:
        return ["baseline", None]
    start = since[title]
    return ["never" if start is None else f"{start:,}", str(against[title][counts[-1]])]


class VectorsByLabels(ByLabels):
    """Pre-trained against random, a line a network."""

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        return vector_findings(self.measure(data, seed=seed, progress=progress), self.config.margin)


def vector_findings(measured: Measured, margin: float) -> Findings:
    """The claim holds where each network gains with the fewest labels, and less so with all."""
    counts = measured.counts
    begun = {title: WITH_VECTORS.format(title) for title in measured.right}
    pairs = {title: (line, title) for title, line in begun.items() if line in measured.right}
    gains = gains_of(measured, pairs)
    best = {title: max(by, key=lambda count: by[count].mean) for title, by in gains.items()}
    less = {title: change(measured, pair, counts[0], counts[-1]) for title, pair in pairs.items()}
    given = Verdict(True) if pairs else Verdict(None, "no network begins with vectors")
    gates = [several(counts), given, *(measured.learnt(line) for line, _ in pairs.values())]
    expected = (one.exceeds(margin) for title in pairs for one in (gains[title][counts[0]], less[title]))
    verdict = gated(gates, every(expected))
    said = "; ".join(
        f"{title} gains {by[counts[0]]} with {counts[0]:,} labels, most with {best[title]:,}, {by[best[title]]}, and "
        f"with all {counts[-1]:,} {by[counts[-1]]}"
        for title, by in gains.items()
    )
    return Findings(
        **opened(verdict, f"{said or 'no network was given vectors; 0 differences'}."),
        columns=["network", "labels", "random", "pre-trained", "gain (95 %)"],
        rows=gain_rows(measured, gains, pairs),
        plots=[gain_plot(gains, counts), accuracy_plot(measured)],
        figures=gain_figures(gains),
    )
