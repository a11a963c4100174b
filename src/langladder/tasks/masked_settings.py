"""Settings of encoders that fill gaps, apart from the task so that checking them loads no Lightning."""

from pydantic import Field

from langladder.data.masking import Masking
from langladder.ground.schema import Config
from langladder.tasks.optimisation import TrainingConfig


class MaskedTraining(TrainingConfig):
    """How an encoder is pre-trained."""

    batch_size: int = Field(default=32, ge=1)
    """Rows a step."""
    sequence_length: int = Field(default=64, ge=8)
    """Tokens of a row, specials included, at most."""
    most_lines: int | None = Field(default=None, ge=1)
    """Lines of a row at most; null: as many as fit. Two texts have two lines at least."""
    short: float = Field(default=0.1, ge=0, le=1)
    """Share of the rows that are cut to their first lines."""
    masking: Masking = Field(default_factory=Masking)
    validation_tokens: int | None = Field(default=None, ge=1)
    """Validate during training on about this many tokens; null = on all."""


class Judged(Config):
    """On how much of the test text an encoder is judged; every amount is spread evenly over it."""

    tokens: int = Field(default=50_000, ge=1)  # in rows with gaps: masked accuracy, next sentences
    share: float = Field(default=0.15, gt=0, lt=1)  # of these that are masked, all of them hidden
    sentences: int = Field(default=300, ge=1)  # pseudo-perplexity: a forward pass a token
    words: int = Field(default=100, ge=0)  # hidden words whose true distribution is computed, where it is known
    shown: int = Field(default=12, ge=0)  # gaps that the report shows
