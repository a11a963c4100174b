"""A back-off model that came from an ARPA file; `langladder.formats.arpa` reads and writes those."""

from typing import ClassVar

from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.models.ngrams.backoff import BackoffLanguageModel
from langladder.text.storage.token_streams import TokenStream


class ArpaConfig(Config):
    """A model read from a file has no settings: its order and its numbers are the file's."""


class ArpaModel(BackoffLanguageModel):
    """A back-off model read from an ARPA file."""

    Config: ClassVar[type[Config]] = ArpaConfig
    config: ArpaConfig

    def fit(self, stream: TokenStream) -> None:
        """Refused: this model comes from a file."""
        read = f"{type(self).__name__} is read from a file, not fitted"
        raise InputError(f"{read} on {len(stream.ids)} tokens; choose another n-gram model")
