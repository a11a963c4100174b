"""The interface of every experiment: settings in, findings out.

`run` does the measurements. It either trains small models itself (ladder `experiment`) or examines trained models of
the ladder (ladder `probe`). The same data, settings and seed give the same findings, except `Findings.timed`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, Literal, TypeVar

from pydantic import Field

from langladder.evaluation.bleu import BleuChoice
from langladder.experiments.findings import Findings
from langladder.experiments.statistics import LEAST_SEEDS
from langladder.ground import schema
from langladder.text.labelled.labelled import Example, Tagged, read_labelled, read_labels, read_tagged
from langladder.text.storage.tables import read_column
from langladder.text.storage.token_streams import PairStream, TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer

Progress = Callable[[str], None]
Split = Literal["train", "validation", "test"]
Source = Literal["tokens/text", "tokens/parallel", "clean/text", "clean/labels", "clean/tags", "agreement", "models"]
"""Possible inputs of an experiment: a folder in data/, the file of `paths.agreement`, trained language models."""


@dataclass(frozen=True)
class Data:
    """The data of an experiment. Files are only opened on use.

    Attributes:
        text, parallel: folders of the stage `tokenize`.
        clean, labels, tags: folders of the stage `clean`: of the text, of labelled texts, of tagged sentences.
        agreement: sentence pairs, JSON lines {"good", "bad", "clauses"}.
        models: name → folder of the trained models that a probe examines.
        titles: name → title in reports; a model without a title is shown with its name.
        bleu_tokenize: sacreBLEU's tokenisation for BLEU.
    """

    text: Path = Path("data/tokens/text")
    parallel: Path = Path("data/tokens/parallel")
    clean: Path = Path("data/clean/text")
    labels: Path = Path("data/clean/labels")
    tags: Path = Path("data/clean/tags")
    agreement: Path = Path("data/raw/text/truth/agreement.jsonl")
    models: Mapping[str, Path] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    bleu_tokenize: BleuChoice = "auto"

    def stream(self, split: Split) -> TokenStream:
        """One split of the monolingual text."""
        return TokenStream.open(self.text / f"{split}.arrow")

    def pairs(self, split: Split) -> PairStream:
        """One split of the sentence pairs."""
        return PairStream.open(self.parallel / f"{split}.arrow")

    def lines(self, split: Split) -> Iterator[str]:
        """One split of the cleaned monolingual text, line by line."""
        for lines in read_column(self.clean / split, "text"):
            yield from lines

    def examples(self, split: Split) -> list[Example]:
        """One split of the labelled texts."""
        return read_labelled(self.labels / f"{split}.parquet")

    def label_names(self) -> list[str]:
        """The labels in the order of their ids."""
        return read_labels(self.labels)

    def sentences(self, split: Split) -> list[Tagged]:
        """One split of the tagged sentences."""
        return read_tagged(self.tags / f"{split}.parquet")

    def tag_names(self) -> list[str]:
        """The tags in the order of their ids."""
        return read_labels(self.tags)

    def title_of(self, model: str) -> str:
        """The title of one of `models`."""
        return self.titles.get(model, model)

    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the monolingual text."""
        return Tokenizer.load(self.text / "tokenizer.json")


class ExperimentConfig(schema.Config):
    """Settings of every experiment. Numbers of steps in other settings are for `effort` 1."""

    effort: float = Field(default=1.0, gt=0, le=1000)  # factor of training steps and repetitions; set by the size

    def steps(self, count: int) -> int:
        """`count` training steps at effort 1, at this effort: at least 2."""
        return max(2, round(count * self.effort))

    def fewer(self, count: int) -> int:
        """`count` at effort 1 and above (repetitions, examples), fewer below it: at least 1."""
        return max(1, min(count, round(count * self.effort)))


class RepeatedConfig(ExperimentConfig):
    """Settings of an experiment that trains every network once per seed, and tests differences over the seeds."""

    seeds: int = Field(default=LEAST_SEEDS, ge=1, le=100)
    margin: float = Field(default=0.0, ge=0)  # the smallest difference that counts, in the measure's units

    def numbers(self, seed: int) -> range:
        """The seeds; fewer below effort 1."""
        return range(seed, seed + self.fewer(self.seeds))


C = TypeVar("C", bound=ExperimentConfig)


class Experiment(ABC, Generic[C]):
    """One claim, measured. Built as `cls(config)`.

    `reads` names the parts of `Data` that it opens. It opens nothing else, so it only runs again if these change.
    """

    Config: ClassVar[type[schema.Config]] = ExperimentConfig
    reads: ClassVar[tuple[Source, ...]] = ()  # (): it creates its own data

    def __init__(self, config: C) -> None:
        self.config = config

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """Measure and give a verdict; below effort 1 there is no verdict.

        Args:
            seed: of everything random.
            progress: a function that is called with a line about the progress.

        Raises:
            InputError: data is missing or too small.
        """
        measured = self.examine(data, seed=seed, progress=progress)
        if self.config.effort >= 1:
            return measured
        reason = f"effort {self.config.effort:g}, as at size tiny, is too little training for a verdict"
        timed = None if measured.timed is None else measured.timed.model_copy(update=measured.timed.untested(reason))
        return measured.model_copy(update={**measured.untested(reason), "timed": timed})

    @abstractmethod
    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """The implementation of `run`, at any effort."""
