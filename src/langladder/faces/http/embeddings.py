"""The embeddings form of OpenAI's API: a vector for a text, the mean of its words' vectors.

https://platform.openai.com/docs/api-reference/embeddings. Word vectors of any rung serve, and the input embedding of a
language model. Words without a vector are passed over; where vectors know character n-grams, every word has one. Ids of
a language model's own tokenizer stand for the text that they make.
"""

import base64

from langladder.answers.words import text_vector
from langladder.faces.http.requests import MOST_CHARACTERS, EmbeddingRequest, texts_or_ids
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError
from langladder.text.tokenize.tokenizers import Tokenizer

MOST_TEXTS = 2048


def embed(shelf: Shelf, request: EmbeddingRequest) -> tuple[list[Json], int]:
    """The vector of each text, as the API has them, and how many words, or ids, there were.

    Raises:
        UnknownModelError: there is no such model.
        InputError: no text, too many or too long ones, another number of dimensions, a text none of whose words has a
            vector, or ids that are none of the model's.
    """
    vectors = shelf.vectors(request.model)
    inputs = texts_or_ids(request.input)
    if not 1 <= len(inputs) <= MOST_TEXTS:
        raise InputError(f"input: {len(inputs)} texts; 1 to {MOST_TEXTS} at once are allowed")
    if request.dimensions not in (None, vectors.matrix.shape[1]):
        raise InputError(
            f"dimensions: {request.dimensions} is not offered; these vectors have {vectors.matrix.shape[1]}"
        )
    data: list[Json] = []
    read = 0
    for index, one in enumerate(inputs):
        if len(one) > MOST_CHARACTERS:
            raise InputError(f"input: {len(one):,} long; at most {MOST_CHARACTERS:,} characters or ids are allowed")
        text = one if isinstance(one, str) else _text_of(shelf, request.model, one)
        read += len(text.split()) if isinstance(one, str) else len(one)
        vector = text_vector(vectors, text)
        form = vector.tolist() if request.encoding_format == "float" else base64.b64encode(vector.tobytes()).decode()
        data.append({"object": "embedding", "index": index, "embedding": form})
    return data, read


def _text_of(shelf: Shelf, model: str, ids: list[int]) -> str:
    file = shelf.find(model) / "tokenizer.json"
    if not file.is_file():
        raise InputError(f"input: ids are of a tokenizer, and {model[:80]!r} has none; send text")
    tokenizer = shelf.load("tokenizer", file, Tokenizer.load)
    if (most := max(ids, default=0)) >= tokenizer.vocab_size:
        raise InputError(f"input: id {most} is none of the model's, which are 0 to {tokenizer.vocab_size - 1}")
    return tokenizer.decode(ids)
