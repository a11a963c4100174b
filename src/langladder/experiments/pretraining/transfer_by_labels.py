"""What pre-training is worth, by the number of labels (Devlin et al. 2019; Radford et al. 2018; Howard & Ruder 2018).

Each rung begins as its pre-trained body and, to compare with, the same network from fresh weights. Some also begin from
fresh weights but for the table of tokens, in which those that are words get skip-gram vectors of the same text (Turian
et al. 2010). All weights are trained on in each case, in as many steps. One pre-training serves all numbers of labels
and all seeds. The gain is the difference in accuracy on the test texts from the same network from fresh weights.
`others` are classifiers that stand beside them in the drawing, and in no verdict.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, opened
from langladder.experiments.pretraining.body_rungs import GrowingConfig, GrownRung, grown, pretrained
from langladder.experiments.pretraining.small_bodies import Body
from langladder.experiments.reading.by_labels import (
    CountsConfig,
    Line,
    Measured,
    accuracy_plot,
    change,
    corpus,
    gain_figures,
    gain_plot,
    gain_rows,
    gains_of,
    measured,
    right_after,
    several,
)
from langladder.experiments.reading.reading_training import Texts, right_labels
from langladder.experiments.reading.rungs import ClassifierRung
from langladder.experiments.reading.small_vectors import small_vectors
from langladder.experiments.statistics import Difference, every, gated
from langladder.ground import schema
from langladder.text.tokenize.tokenizers import Tokenizer

FROM_SCRATCH = "{}, from scratch"
VECTORS_ALONE = "{}, word vectors alone"
WITH_VECTORS = "{} from word vectors"


class TransferByLabelsConfig(GrowingConfig, CountsConfig):
    """Settings of `TransferByLabels`."""

    rungs: dict[str, GrownRung] = Field(min_length=1)  # type: ignore[assignment]
    others: dict[str, ClassifierRung] = Field(default={})  # files of conf/classifier, to compare with
    vectors: list[str] = Field(default=[])  # rungs that also begin with word vectors alone; others that begin with them
    vector_epochs: int = Field(default=5, ge=1)
    vector_lines: int = Field(default=50_000, ge=1)  # of the text, to make them of

    @model_validator(mode="after")
    def _lines_differ(self) -> Self:
        every = self.rungs | self.others
        if unknown := set(self.vectors) - set(every):
            raise ValueError(f"vectors: {sorted(unknown)} are none of the rungs; allowed: {', '.join(every)}")
        if without := [name for name in self.vectors if every[name].training is None]:
            raise ValueError(f"vectors: {without} have no embedding; name networks")
        titles = [rung.title for rung in [*self.rungs.values(), *self.others.values()]]
        if len(set(titles)) < len(titles):
            raise ValueError(f"rungs: titles {titles}: each another, or no reader can tell their lines apart")
        if begun := [rung.name for rung in self.rungs.values() if not rung.config().pretrained]:
            raise ValueError(f"rungs: {begun} with pretrained=false: every rung is measured from fresh weights anyway")
        return self


class TransferByLabels(Experiment[TransferByLabelsConfig]):
    """A line for each rung and each of its beginnings."""

    Config: ClassVar[type[schema.Config]] = TransferByLabelsConfig
    reads = ("clean/labels", "clean/text", "tokens/text")

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        whole = corpus(data, self.config)
        lines = self._lines(data, pretrained(self.config, data, seed=seed, progress=progress), seed)
        others = self._others(data, seed)
        found = measured(others | lines, whole, self.config, networks=list(lines), seed=seed, progress=progress)
        return findings(found, [rung.title for rung in self.config.rungs.values()], self.config.margin)

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
        rung: GrownRung,
        base: Body,
        tokenizer: Tokenizer,
        model: Any,
        vectors: WordVectors | None,
        texts: Texts,
        seed: int,
    ) -> np.ndarray:
        training = self.config.training_on(rung, texts)
        found = grown(rung, base, tokenizer, texts, training, seed=seed, model=model, vectors=vectors)
        return right_labels(found, texts.test)


class Summary(NamedTuple):
    """Where a rung gains most.

    Attributes:
        best: the number of labels; with all where it gains most there.
        gain: there. last: with all labels. less: how much less it is with all.
        enough: the fewest labels with which it is as good as from scratch with all; None: with all it is not.
    """

    best: int
    gain: Difference
    last: Difference
    less: Difference
    enough: int | None


def findings(measured: Measured, rungs: list[str], margin: float) -> Findings:
    """The claim holds where every rung gains most with fewer labels than all, and less with all.

    Args:
        rungs: titles of those that are pre-trained; the others are looked at beside them.
    """
    counts = measured.counts
    pairs: dict[str, tuple[str, str]] = {}
    for title in rungs:
        scratch, vectors = FROM_SCRATCH.format(title), VECTORS_ALONE.format(title)
        pairs |= {line: (line, scratch) for line in (vectors, title) if line in measured.right}
    gains = gains_of(measured, pairs)
    told = {title: _summary(measured, pairs[title], gains[title]) for title in rungs}
    gates = [several(counts), *(measured.learnt(title) for title in rungs)]
    verdict = gated(gates, every(part.exceeds(margin) for one in told.values() for part in (one.gain, one.less)))
    said = [
        f"{title} gains most with {one.best:,} labels, {one.gain}, and with all {counts[-1]:,} {one.last}, "
        f"which is less by {one.less}; {_enough(title, one.enough, counts[-1])}"
        for title, one in told.items()
    ]
    said += [
        f"{line} gain {gains[line][counts[0]]} with {counts[0]:,} labels, {gains[line][counts[-1]]} with all"
        for line in gains
        if line not in told
    ]
    return Findings(
        **opened(verdict, f"{'; '.join(said)}."),
        columns=["network", "labels", "from scratch", "begun so", "gain (95 %)"],
        rows=gain_rows(measured, gains, pairs),
        plots=[accuracy_plot(measured, front=True), gain_plot(gains, counts)],
        figures=gain_figures(gains),
    )


def _summary(measured: Measured, pair: tuple[str, str], gains: Mapping[int, Difference]) -> Summary:
    last = measured.counts[-1]
    best = max(gains, key=lambda count: gains[count].mean)
    wanted = measured.mean(pair[1], last)
    enough = next((count for count in gains if measured.mean(pair[0], count) >= wanted), None)
    return Summary(best, gains[best], gains[last], change(measured, pair, best, last), enough)


def _enough(title: str, enough: int | None, last: int) -> str:
    if enough is None:
        return f"from scratch with all {last:,} it is better"
    return f"{title} with {enough:,} is as good as from scratch with {last:,}"
