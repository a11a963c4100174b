"""Fill: the likeliest words for the gaps of a sentence, `<mask>` each; see `decoding.fill`."""

from langladder.answers.loading import LoadedEncoder
from langladder.answers.requests import FillRequest
from langladder.decoding import fill as decoding
from langladder.decoding.fill import Filling


def fill(encoder: LoadedEncoder, sentence: str, request: FillRequest) -> list[list[Filling]]:
    """For each gap its likeliest tokens, the likeliest first.

    Raises:
        InputError: there is no gap, or the sentence is longer than the encoder's context.
    """
    return decoding.fill(encoder.model, encoder.tokenizer, sentence, best=request.best)
