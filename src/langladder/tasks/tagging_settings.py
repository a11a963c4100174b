"""Settings of taggers' training, apart from the task so that checking settings loads no Lightning."""

from pydantic import Field

from langladder.ground.schema import Config
from langladder.tasks.settings import InputVectors, ReadingTraining


class ReadAs(Config):
    """What a tagger reads words as."""

    lowercase: bool = True
    """Whether case is folded in the list of words; letters and shapes see it in any case."""
    digits: bool = True
    """Whether every digit is a 0 there."""
    min_count: int = Field(default=1, ge=1)
    """Rarer words of the training text are unknown, unless there is a vector for them."""


class TaggerInput(ReadAs, InputVectors):
    """And where its input embedding begins."""


class TransferInput(ReadAs):
    """Likewise, where it begins with the vectors of another rung."""

    vectors: None = None  # its base says which
    frozen: bool = False  # true: they are not trained


class TaggerTraining(ReadingTraining):
    """Training settings of taggers; `batch_size` counts sentences."""

    word_dropout: float = Field(default=0.25, ge=0, le=1000)
    """α: a training word that occurs n times is taken for unknown with probability α / (α + n) (Kiperwasser & Goldberg
    2016, section 4.2), so that the network learns what to make of unknown words."""
