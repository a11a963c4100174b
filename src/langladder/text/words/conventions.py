"""How a text is read: what a word of it is, how it is written, in which language, and how it was normalised.

The stage `clean` decides this once for each text (of pairs: for `source` and `target`) and writes it beside the clean
tables. All counts of words use it: limits, statistics, leakage, perplexity per word, the vocabulary of word vectors. A
language model keeps it beside its tokenizer, so that the words of other texts are counted in the same way.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator

from langladder.ground.artefacts import read_json, write_json
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.scripts import Writing, writing
from langladder.text.words.segmenters import SAMPLE, Split, WordChoice, reading, splitter_of

CONVENTIONS = "conventions.json"
"""The file of conventions beside clean tables, tokens and models."""
WordUnit = WordChoice | Literal["graphemes"]
"""What a word is: by a mode or a segmenter; graphemes (characters with their signs) where a text separates no words."""
TEXT = "text"
"""The name of the only text of a folder that has no pairs."""
DESCRIPTIONS: dict[str, str] = {
    "whitespace": "words as white space separates them",
    "auto": "words as white space separates them (punctuation stands apart already)",
    "apart": "words as white space separates them, without the punctuation at their ends",
    "separated": "words as spaces and zero-width spaces separate them, without the punctuation at their ends",
    "unicode": "words by Unicode's letters, marks and digits",
    "graphemes": "graphemes (Tibetan: syllables): this text does not separate words; choose a segmenter (`words`)",
}


def description_of(unit: WordUnit) -> str:
    """What a word is, for people."""
    return DESCRIPTIONS.get(unit, f"words as {unit} cuts them")


class Conventions(Config):
    """How one text is read.

    Attributes:
        words: what a word is; `auto` with no look at the text any more.
        writing: with or without spaces between words.
        language: BCP 47 tag such as `tr` or `zh-Hant`; None: not stated.
        steps: of `text.words.normalisation`, by name: what is asked of a model is written so, too.
    """

    words: WordChoice = "auto"
    writing: Writing = "spaced"
    language: str | None = None
    steps: list[str] = Field(default_factory=list)

    @field_validator("steps")
    @classmethod
    def _are_known(cls, steps: list[str]) -> list[str]:
        return list(Normalisation.checked(steps, "steps").names)

    @classmethod
    def of(
        cls,
        choice: WordChoice,
        lines: Iterable[str],
        language: str | None = None,
        normalisation: Normalisation | None = None,
    ) -> Self:
        """The conventions of a text.

        Args:
            choice: what the settings call a word; `auto` depends on the text.
            lines: after cleaning; the first 20,000 are read.
            normalisation: how they were written.
        """
        sample = list(islice(lines, SAMPLE))
        steps = [] if normalisation is None else list(normalisation.names)
        return cls(words=reading(choice, sample), writing=writing(sample), language=language, steps=steps)

    @property
    def normalisation(self) -> Normalisation:
        """The steps by which the text was written."""
        return Normalisation(tuple(self.steps))

    @property
    def split(self) -> Split:
        """A line → its words."""
        return splitter_of(self.words)

    @property
    def unit(self) -> WordUnit:
        """What `split` gives: without a segmenter, a script without spaces is cut into graphemes."""
        return "graphemes" if self.writing != "spaced" and self.words in ("auto", "apart", "unicode") else self.words

    @property
    def description(self) -> str:
        """What a word is, for reports."""
        return description_of(self.unit)


def conventions_report(texts: Mapping[str, Conventions]) -> dict[str, Any]:
    """For the data report: of each text what a word is, its language, and its normalisation."""
    return {
        name: {"words": one.description, "language": one.language, "normalisation": one.steps}
        for name, one in texts.items()
    }


def write_conventions(folder: Path, texts: Mapping[str, Conventions]) -> None:
    """Write conventions.json: name of the text (`text`; of pairs `source`, `target`) → its conventions."""
    write_json(folder / CONVENTIONS, {name: conventions.model_dump(mode="json") for name, conventions in texts.items()})


def conventions_of(folder: Path, name: str = TEXT) -> Conventions:
    """The conventions of one text of a folder of clean text, of tokens, or of a model.

    A folder without conventions.json (a model from elsewhere) has the default ones.

    Raises:
        InputError: the file holds something else.
    """
    path = Path(folder) / CONVENTIONS
    if not path.is_file():
        return Conventions()
    try:
        return Conventions.model_validate(read_json(path)[name])
    except (KeyError, TypeError, ValidationError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: not the conventions of {name!r} ({reason})") from error
