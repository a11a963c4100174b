"""What a filter is made of: four parts, each of which may be left out (null)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from langladder.schema import Config
from langladder.text.clean.duplicates import DuplicatesConfig
from langladder.text.filtering.contamination import ContaminationSettings
from langladder.text.filtering.quality import QualitySettings
from langladder.text.read.sources import TextSource


class QualityConfig(QualitySettings):
    """The quality filter and the text that it takes for good."""

    good: TextSource


class ContaminationConfig(ContaminationSettings):
    """The test sets: files of text, or tables of labelled texts and tagged sentences that the stage `clean` wrote."""

    sets: dict[str, TextSource] = Field(min_length=1)


class MixedSource(TextSource):
    """A corpus that is mixed in."""

    weight: float = Field(gt=0)  # its share of the words, over the sum of all weights


class MixtureConfig(Config):
    """Which corpora are mixed with the text, and how much of each."""

    weight: float = Field(gt=0)  # of the text itself
    others: dict[str, MixedSource] = Field(min_length=1)
    words: int | None = Field(default=None, ge=1)  # of the mixture; null: as many as all corpora have together

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        if "text" in self.others:
            raise ValueError("others: 'text' is the corpus itself; call this one otherwise")
        return self


class FilterConfig(Config):
    """What becomes of raw text before it is cleaned, in this order; all null: nothing."""

    quality: QualityConfig | None = None  # of the text itself; corpora that are mixed in are taken for good
    duplicates: DuplicatesConfig | None = None  # over all corpora, those that are mixed in first: their copy stays
    contamination: ContaminationConfig | None = None
    mixture: MixtureConfig | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing is filtered."""
        return not any((self.quality, self.duplicates, self.contamination, self.mixture))

    def sources(self) -> dict[str, TextSource]:
        """Key → every source of text that is read beside the corpus."""
        found: dict[str, TextSource] = {}
        if self.quality:
            found["quality.good"] = self.quality.good
        if self.contamination:
            found |= {f"contamination.sets.{name}": one for name, one in self.contamination.sets.items()}
        if self.mixture:
            found |= {f"mixture.others.{name}": one for name, one in self.mixture.others.items()}
        return found


Kind = Literal["low_quality_document", "contaminated_document", "contaminated_line"]
"""Why text went, beside what `Seen.is_duplicate` says."""
