"""The embeddings form of OpenAI's API: a vector for a text, the mean of its words' vectors.

https://platform.openai.com/docs/api-reference/embeddings. Word vectors of any rung serve, and the input embedding of a
language model. Words without a vector are passed over; where vectors know character n-grams, every word has one.
"""

import base64
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from langladder.embeddings.base import WordVectors
from langladder.errors import InputError
from langladder.text.words import split_words

MOST_TEXTS, MOST_CHARACTERS = 2048, 100_000


class EmbeddingRequest(BaseModel):
    """What a client asks for; other keys are passed over."""

    model_config = ConfigDict(extra="ignore")

    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


def embed(vectors: WordVectors, request: EmbeddingRequest) -> list[dict[str, Any]]:
    """The vector of each text, as the API has them.

    Raises:
        InputError: no text, too many or too long ones, another number of dimensions, or a text none of whose words has
            a vector.
    """
    texts = [request.input] if isinstance(request.input, str) else request.input
    if not 1 <= len(texts) <= MOST_TEXTS:
        raise InputError(f"input: {len(texts)} texts; 1 to {MOST_TEXTS} at once are allowed")
    if request.dimensions not in (None, vectors.matrix.shape[1]):
        raise InputError(
            f"dimensions: {request.dimensions} is not offered; these vectors have {vectors.matrix.shape[1]}"
        )
    data = []
    for index, text in enumerate(texts):
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"input: {len(text):,} characters; at most {MOST_CHARACTERS:,} are allowed")
        vector = text_vector(vectors, text)
        form = vector.tolist() if request.encoding_format == "float" else base64.b64encode(vector.tobytes()).decode()
        data.append({"object": "embedding", "index": index, "embedding": form})
    return data


def text_vector(vectors: WordVectors, text: str) -> np.ndarray:
    """The mean of the vectors of a text's words, (D,) float32; a text that is a word itself has that word's.

    Raises:
        InputError: no word of it has a vector.
    """
    found = []
    for word in [text] if text in vectors else split_words(text, "auto"):
        try:
            found.append(vectors[word])
        except InputError:  # it has none
            continue
    if not found:
        raise InputError(f"input: no word of {text[:60]!r} is among the {len(vectors):,} that have a vector")
    mean: np.ndarray = np.mean(found, axis=0, dtype=np.float64).astype("<f4")
    return mean
