"""The value of pre-training by the number of labels (Devlin et al. 2019; Radford et al. 2018; Howard & Ruder 2018).

Each rung starts from its pre-trained body and, for comparison, from random weights. Some rungs also start from random
weights with skip-gram vectors of the same text for tokens that are words (Turian et al. 2010). All weights are trained
in each case, with the same number of steps. One pre-training is used for all numbers of labels and all seeds. The gain
is the difference in test accuracy to the same network from random weights. `others` are classifiers that are in the
plot, but in no verdict.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from claims.pretraining.body_rungs import FineTunedRung, FineTuningConfig, fine_tuned_rung, pretrained
from claims.pretraining.small_bodies import Body
from claims.reading.by_labels import CountsConfig
from claims.reading.reading_training import (
    Texts,
    corpus,
    fitted,
    fitting,
    majority,
    right_labels,
    subset,
)
from claims.reading.rungs import ClassifierRung
from claims.reading.small_vectors import small_vectors
from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.statistics import CONFIDENCE, Difference, Verdict, above, difference, every, gated
from langladder.ground import schema
from langladder.text.tokenize.tokenizers import Tokenizer

FROM_SCRATCH = "{}, from scratch"
VECTORS_ALONE = "{}, word vectors alone"
WITH_VECTORS = "{} from word vectors"
Line = Callable[[Texts, int], np.ndarray]
"""Texts, seed → whether each test text gets the right label, (N,) bool, after training on the other splits."""


class TransferByLabelsConfig(FineTuningConfig, CountsConfig, RepeatedConfig):
    """Settings of `TransferByLabels`."""

    rungs: dict[str, FineTunedRung] = Field(min_length=1)  # type: ignore[assignment]
    others: dict[str, ClassifierRung] = Field(default={})  # files of conf/classifier, for comparison
    vectors: list[str] = Field(default=[])  # rungs that also start with only word vectors; others that start with them
    vector_epochs: int = Field(default=5, ge=1)
    vector_lines: int = Field(default=50_000, ge=1)  # lines of text for training the vectors

    @model_validator(mode="after")
    def _lines_differ(self) -> Self:
        every = self.rungs | self.others
        if unknown := set(self.vectors) - set(every):
            raise ValueError(f"vectors: {sorted(unknown)} are not among the rungs; allowed: {', '.join(every)}")
        if without := [name for name in self.vectors if every[name].training is None]:
            raise ValueError(f"vectors: {without} have no embedding; name networks")
        titles = [rung.title for rung in [*self.rungs.values(), *self.others.values()]]
        if len(set(titles)) < len(titles):
            raise ValueError(f"rungs: titles {titles}: every rung needs a different title, to distinguish their lines")
        if begun := [rung.name for rung in self.rungs.values() if not rung.config().pretrained]:
            raise ValueError(f"rungs: {begun} with pretrained=false: every rung is measured from random weights anyway")
        return self


class Measured(NamedTuple):
    """The measurements: title → number of labels → (S, N) bool, whether a test text got the right label.

    Attributes:
        ceiling: the best possible accuracy; None where it is unknown.
        majority: share of the most frequent label among the test texts.
        remark: the end of the sentence, about the numbers of labels.
    """

    right: Mapping[str, Mapping[int, np.ndarray]]
    ceiling: float | None
    majority: float
    remark: str = ""

    def mean(self, title: str, count: int) -> float:
        """Accuracy over all seeds."""
        return float(self.right[title][count].mean())

    def learnt(self, title: str) -> Verdict:
        """A gate: with all labels it is better than always predicting the most frequent one."""
        return above(self.right[title][self.counts[-1]], self.majority, f"{title} has not learnt: its accuracy")

    def spread(self, title: str, count: int) -> float:
        """Standard deviation of the accuracy between seeds; 0 for one seed."""
        by_seed = self.right[title][count].mean(axis=1)  # (S,)
        return float(by_seed.std(ddof=1)) if len(by_seed) > 1 else 0.0

    @property
    def counts(self) -> list[int]:
        """Numbers of labels, in increasing order."""
        return list(next(iter(self.right.values())))


class TransferByLabels(Experiment[TransferByLabelsConfig]):
    """Accuracy by number of labels; one line for each rung and each of its initialisations."""

    Config: ClassVar[type[schema.Config]] = TransferByLabelsConfig
    reads = ("clean/labels", "clean/text", "tokens/text")

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        whole = corpus(data, self.config)
        lines = self._lines(data, pretrained(self.config, data, seed=seed, progress=progress), seed)
        others = self._others(data, seed)
        results = measured(others | lines, whole, self.config, seed=seed, progress=progress)
        return findings(results, [rung.title for rung in self.config.rungs.values()], self.config.margin)

    def _others(self, data: Data, seed: int) -> dict[str, Line]:
        config, lines = self.config, dict[str, Line]()
        for name, rung in config.others.items():
            begun = name in config.vectors
            vectors = self._vectors(data, rung.config().embedding_dim, seed) if begun else None
            title = WITH_VECTORS.format(rung.title) if begun else rung.title
            lines[title] = partial(right_after, rung, vectors, config)
        return lines

    def _vectors(self, data: Data, dim: int, seed: int) -> WordVectors:
        how = {"epochs": self.config.vector_epochs, "lines": self.config.vector_lines, "seed": seed}
        return small_vectors(data, dim=dim, **how)

    def _lines(self, data: Data, bases: Mapping[str, Body], seed: int) -> dict[str, Line]:
        config, tokenizer, lines = self.config, data.tokenizer(), dict[str, Line]()
        for name, rung in config.rungs.items():
            body = config.body_of(rung)
            fresh = rung.config(pretrained=False, layers_transferred=None)
            right = partial(self._right, rung, bases[body], tokenizer)
            lines[FROM_SCRATCH.format(rung.title)] = partial(right, fresh, None)
            if name in config.vectors:
                vectors = self._vectors(data, config.bodies[body].config().width, seed)
                lines[VECTORS_ALONE.format(rung.title)] = partial(right, fresh, vectors)
            lines[rung.title] = partial(right, rung.config(), None)
        return lines

    def _right(
        self,
        rung: FineTunedRung,
        base: Body,
        tokenizer: Tokenizer,
        model: Any,
        vectors: WordVectors | None,
        texts: Texts,
        seed: int,
    ) -> np.ndarray:
        training = self.config.training_on(rung, texts)
        classifier = fine_tuned_rung(rung, base, tokenizer, texts, training, seed=seed, model=model, vectors=vectors)
        return right_labels(classifier, texts.test)


def right_after(
    rung: ClassifierRung, vectors: WordVectors | None, config: TransferByLabelsConfig, texts: Texts, seed: int
) -> np.ndarray:
    """Whether each test text gets the right label, (N,) bool, after training, which starts with vectors or without."""
    training = None if rung.training is None else config.training_on(rung, texts)
    return right_labels(fitted(rung, texts, training, seed=seed, vectors=vectors), texts.test)


def measured(
    lines: Mapping[str, Line],
    whole: Texts,
    config: TransferByLabelsConfig,
    *,
    seed: int,
    progress: Progress,
) -> Measured:
    """Measure every line at every number of labels, with one training run per seed."""
    seeds = config.numbers(seed)
    right: dict[str, dict[int, np.ndarray]] = {title: {} for title in lines}
    counts, left_out = fitting(config.counts, whole)
    for number in [*counts, whole.size]:
        parts = [whole if number == whole.size else subset(whole, number, seed) for seed in seeds]
        for title, line in lines.items():
            right[title][number] = np.stack([line(part, seed) for part, seed in zip(parts, seeds, strict=True)])
        accuracies = ", ".join(f"{title} {by[number].mean():.1%}" for title, by in right.items())
        progress(f"{number:,} labels: {accuracies}")
    ceilings = [example.ceiling for example in whole.test if example.ceiling is not None]
    ceiling = sum(ceilings) / len(ceilings) if len(ceilings) == len(whole.test) else None
    remark = f"; of all {whole.size:,} labels {len(whole.validation):,} select the weights{left_out}"
    return Measured(right, ceiling, majority(whole.test), remark)


Pairs = Mapping[str, tuple[str, str]]
"""Name → title of the line, title of its baseline."""
Gains = Mapping[str, Mapping[int, Difference]]
"""Name → number of labels → gain of the line."""


def gains_of(measured: Measured, pairs: Pairs) -> dict[str, dict[int, Difference]]:
    """The gain of each pair at every number of labels."""
    right = measured.right
    return {
        name: {count: difference(right[line][count], right[base][count]) for count in measured.counts}
        for name, (line, base) in pairs.items()
    }


def change(
    measured: Measured, pair: tuple[str, str], first: int, second: int, confidence: float = CONFIDENCE
) -> Difference:
    """The difference between the gains with `first` labels and with `second`."""
    line, base = (measured.right[title] for title in pair)
    # (a_n − b_n) − (a_m − b_m)
    each = [line[count].astype(int) - base[count] for count in (first, second)]  # (S, N)
    return difference(each[0], each[1], confidence)


def several(counts: Sequence[int]) -> Verdict:
    """A gate: one number of labels does not show a change with the number."""
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
    """One line per pair, with half of its interval as error."""
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
    """The gains as metrics."""
    return {figure(name, "gain", str(count)): gain.mean for name, by in gains.items() for count, gain in by.items()}


def accuracy_plot(measured: Measured, *, front: bool = False) -> Plot:
    """Accuracy by labels, one line per rung, with the spread between seeds; for `front` see `Plot`."""
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


class Summary(NamedTuple):
    """The number of labels with the largest gain of a rung.

    Attributes:
        best: the number of labels with the largest gain; can be all.
        gain: the gain there. last: the gain with all labels. less: the difference between the two.
        enough: the smallest number of labels with which it is as good as from scratch with all; None: it is not even
            with all.
    """

    best: int
    gain: Difference
    last: Difference
    less: Difference
    enough: int | None


def findings(measured: Measured, rungs: list[str], margin: float) -> Findings:
    """The claim holds if every rung gains most with fewer labels than all, and less with all.

    Args:
        rungs: titles of the pre-trained rungs; the others are only for comparison.
    """
    counts = measured.counts
    pairs: dict[str, tuple[str, str]] = {}
    for title in rungs:
        scratch, vectors = FROM_SCRATCH.format(title), VECTORS_ALONE.format(title)
        pairs |= {line: (line, scratch) for line in (vectors, title) if line in measured.right}
    gains = gains_of(measured, pairs)
    summaries = {title: _summary(measured, pairs[title], gains[title]) for title in rungs}
    gates = [several(counts), *(measured.learnt(title) for title in rungs)]
    verdict = gated(
        gates, every(part.exceeds(margin) for summary in summaries.values() for part in (summary.gain, summary.less))
    )
    sentences = [
        f"{title} gains most with {summary.best:,} labels, {summary.gain}, and with all {counts[-1]:,} {summary.last}, "
        f"which is less by {summary.less}; {_enough(title, summary.enough, counts[-1])}"
        for title, summary in summaries.items()
    ]
    sentences += [
        f"{line} gain {gains[line][counts[0]]} with {counts[0]:,} labels, {gains[line][counts[-1]]} with all"
        for line in gains
        if line not in summaries
    ]
    return Findings(
        **opened(verdict, f"{'; '.join(sentences)}{measured.remark}."),
        columns=["network", "labels", "from scratch", "begun so", "gain (95 %)"],
        rows=gain_rows(measured, gains, pairs),
        plots=[accuracy_plot(measured, front=True), gain_plot(gains, counts)],
        figures=gain_figures(gains),
    )


def _summary(measured: Measured, pair: tuple[str, str], gains: Mapping[int, Difference]) -> Summary:
    last, apart = measured.counts[-1], 1 - (1 - CONFIDENCE) / len(gains)  # the best of several is selected
    best = max(gains, key=lambda count: gains[count].mean)
    line, base = (measured.right[title][best] for title in pair)
    wanted = measured.mean(pair[1], last)
    enough = next((count for count in gains if measured.mean(pair[0], count) >= wanted), None)
    return Summary(best, difference(line, base, apart), gains[last], change(measured, pair, best, last, apart), enough)


def _enough(title: str, enough: int | None, last: int) -> str:
    if enough is None:
        return f"from scratch with all {last:,} it is better"
    return f"{title} with {enough:,} is as good as from scratch with {last:,}"
