"""Settings of the filter: four steps, each of which may be left out (null)."""

from typing import Self

from pydantic import Field, model_validator

from langladder.schema import Config
from langladder.text.clean.duplicates import DuplicatesConfig
from langladder.text.filtering.contamination import ContaminationSettings
from langladder.text.filtering.quality import QualitySettings
from langladder.text.read.sources import TextSource


class QualityConfig(QualitySettings):
    """The quality filter, and the text that is its example of good text."""

    good: TextSource


class ContaminationConfig(ContaminationSettings):
    """The test sets: files of text, or tables of labelled texts or tagged sentences from the stage `clean`."""

    sets: dict[str, TextSource] = Field(min_length=1)


class MixedSource(TextSource):
    """A corpus that is mixed in."""

    weight: float = Field(gt=0)  # its share of the words, over the sum of all weights


class MixtureConfig(Config):
    """The corpora that are mixed with the text, and their weights."""

    weight: float = Field(gt=0)  # of the text itself
    others: dict[str, MixedSource] = Field(min_length=1)
    words: int | None = Field(default=None, ge=1)  # of the mixture; null: as many as all corpora have together

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        if "text" in self.others:
            raise ValueError("others: 'text' is the corpus itself; call this one otherwise")
        return self


class FilterConfig(Config):
    """Steps on raw text before it is cleaned, in this order; all null: no step."""

    quality: QualityConfig | None = None  # of the text itself, not of corpora that are mixed in
    duplicates: DuplicatesConfig | None = None  # over all corpora; of copies the one in a corpus that is mixed in stays
    contamination: ContaminationConfig | None = None
    mixture: MixtureConfig | None = None

    @property
    def idle(self) -> bool:
        """Whether there is no step."""
        return not any((self.quality, self.duplicates, self.contamination, self.mixture))

    def sources(self) -> dict[str, TextSource]:
        """All sources of text besides the corpus, by key."""
        found: dict[str, TextSource] = {}
        if self.quality:
            found["quality.good"] = self.quality.good
        if self.contamination:
            found |= {f"contamination.sets.{name}": one for name, one in self.contamination.sets.items()}
        if self.mixture:
            found |= {f"mixture.others.{name}": one for name, one in self.mixture.others.items()}
        return found
