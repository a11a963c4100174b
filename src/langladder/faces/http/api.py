"""The HTTP side: OpenAI's completions, chats, models and embeddings, and the tokens, of the models of a shelf.

`guard` refuses bad requests; `requests` reads options.
"""

import base64
import secrets
import threading
import time
from collections.abc import Iterator, Sequence

from anyio import from_thread
from fastapi import FastAPI, Request, Response

from langladder.answers.words import text_vector
from langladder.faces.http import chat, completions
from langladder.faces.http.completions import Choice
from langladder.faces.http.guard import LOOPBACK, REFUSALS, Responses, guard
from langladder.faces.http.requests import (
    MOST_CHARACTERS,
    ChatRequest,
    CompletionRequest,
    DrawingRequest,
    EmbeddingRequest,
    StreamOptions,
    Texts,
    Tokens,
    texts_or_ids,
)
from langladder.faces.http.server import Json, streamed
from langladder.faces.http.shelf import Rung, Shelf
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import BOS, EOS, NAMES
from langladder.text.tokenize.tokenizers import Tokenizer

MOST_TEXTS = 2048  # to embed at once
CLIENT_LEFT = 499  # nginx's code; the client does not read this answer
SPECIALS = {NAMES[special]: special for special in (BOS, EOS)}
STREAMED: Responses = {
    200: {"description": "the answer; in pieces if `stream` is true", "content": {"text/event-stream": {}}}
}


def create(shelf: Shelf, hosts: Sequence[str] = LOOPBACK) -> FastAPI:
    """The application; /openapi.json describes it.

    Args:
        hosts: accepted host names; ["*"] for any.
    """
    about = "Language models and word vectors of one ladder, as OpenAI's API"
    app = FastAPI(title="langladder", description=about, docs_url=None, redoc_url=None, responses=REFUSALS)
    guard(app, hosts)
    began = int(time.time())

    @app.get("/v1/models")
    def models() -> Json:
        return {"object": "list", "data": [_model(name, began) for name in shelf.folders]}

    @app.get("/v1/models/{name:path}")
    def model(name: str) -> Json:
        shelf.find(name)
        return _model(name, began)

    @app.post("/v1/completions", response_model=None, responses=STREAMED)
    def complete(request: CompletionRequest, http: Request) -> Json | Response:
        rung = shelf.language_model(request.model)
        return _answer(rung.lock, completions.choices(rung, request), http, request, "cmpl", "text_completion")

    @app.post("/v1/chat/completions", response_model=None, responses=STREAMED)
    def answer(request: ChatRequest, http: Request) -> Json | Response:
        lock, answers = chat.answers(shelf, request)
        return _answer(lock, answers, http, request, "chatcmpl", "chat.completion")

    @app.post("/v1/embeddings")
    def embed(request: EmbeddingRequest) -> Json:
        data, read = _embeddings(shelf, request)
        used = {"prompt_tokens": read, "total_tokens": read}
        return {"object": "list", "data": data, "model": request.model, "usage": used}

    _add_tokens(app, shelf)
    return app


def _add_tokens(app: FastAPI, shelf: Shelf) -> None:
    """A model's tokens, in vLLM's form, so that clients know them without the model's files.

    lm-evaluation-harness counts the tokens of a context with it (`tokenizer_backend=remote`, which it finds by itself).
    vLLM's requests do not name a model; a server with several language models needs `model` in them.
    """

    def rung_of(name: str | None) -> Rung:
        if name is None:
            names = list(shelf.folders_of("lm"))
            if len(names) != 1:
                raise InputError(f"model: missing, and {len(names)} language models are served: {', '.join(names)}")
            name = names[0]
        return shelf.language_model(name)

    @app.get("/tokenizer_info")
    def info(model: str | None = None) -> Json:
        tokenizer = rung_of(model).tokenizer
        return {"bos_token": NAMES[BOS], "eos_token": NAMES[EOS], "vocab_size": tokenizer.vocab_size}

    @app.post("/tokenize")
    def tokenize(request: Texts) -> Json:
        special = SPECIALS.get(request.prompt)
        ids = rung_of(request.model).tokenizer.encode(request.prompt).tolist() if special is None else [special]
        return {"tokens": ids, "count": len(ids)}

    @app.post("/detokenize")
    def detokenize(request: Tokens) -> Json:
        rung = rung_of(request.model)
        if (most := max(request.tokens, default=0)) >= rung.model.vocab_size:
            raise InputError(f"tokens: id {most} is not one of the model's, which are 0 to {rung.model.vocab_size - 1}")
        return {"prompt": rung.tokenizer.decode(request.tokens)}


def _answer(
    lock: threading.Lock, choices: Sequence[Choice], http: Request, request: DrawingRequest, prefix: str, kind: str
) -> Json | Response:
    """All choices, whole or in pieces. Errors in the request are found before anything is sent."""
    chunks = request.stream and kind == "chat.completion"
    about: Json = {"id": f"{prefix}-{secrets.token_hex(12)}", "object": f"{kind}.chunk" if chunks else kind}
    about |= {"created": int(time.time()), "model": request.model}
    if request.stream:
        return streamed(_events(lock, choices, about, request.stream_options))
    for choice in choices:
        for _ in _pieces(lock, choice):
            if from_thread.run(http.is_disconnected):
                return Response(status_code=CLIENT_LEFT)
    return about | {"choices": [choice.whole() for choice in choices], "usage": completions.usage(choices)}


def _pieces(lock: threading.Lock, choice: Choice) -> Iterator[Json]:
    """The model is locked for one piece at a time, so that long answers and slow clients do not block others."""
    pieces = choice.pieces()
    while True:
        with lock:
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _events(
    lock: threading.Lock, choices: Sequence[Choice], about: Json, options: StreamOptions | None
) -> Iterator[Json]:
    counted = options is not None and options.include_usage
    nothing = {"usage": None} if counted else {}
    for choice in choices:
        for piece in _pieces(lock, choice):
            yield about | {"choices": [piece]} | nothing
    if counted:
        yield about | {"choices": [], "usage": completions.usage(choices)}


def _embeddings(shelf: Shelf, request: EmbeddingRequest) -> tuple[list[Json], int]:
    """The vector of each text, the mean of its words' vectors, and how many words, or ids, there were.

    The model can have word vectors, or be a language model with an input embedding. Words without a vector are skipped;
    vectors with character n-grams have one for every word. Ids of a language model's own tokenizer are decoded to text.

    Raises:
        UnknownModelError: there is no such model.
        InputError: no text, too many or too long ones, another number of dimensions, a text none of whose words has a
            vector, or ids that are not among the model's.
    """
    vectors = shelf.vectors(request.model)
    inputs = texts_or_ids(request.input)
    if not 1 <= len(inputs) <= MOST_TEXTS:
        raise InputError(f"input: {len(inputs)} texts; allowed are 1 to {MOST_TEXTS} at once")
    if request.dimensions not in (None, vectors.matrix.shape[1]):
        raise InputError(
            f"dimensions: {request.dimensions} is not supported; these vectors have {vectors.matrix.shape[1]}"
        )
    data: list[Json] = []
    read = 0
    for index, entry in enumerate(inputs):
        if len(entry) > MOST_CHARACTERS:
            raise InputError(f"input: {len(entry):,} long; at most {MOST_CHARACTERS:,} characters or ids are allowed")
        text = entry if isinstance(entry, str) else _text_of(shelf, request.model, entry)
        read += len(text.split()) if isinstance(entry, str) else len(entry)
        vector = text_vector(vectors, text)
        form = vector.tolist() if request.encoding_format == "float" else base64.b64encode(vector.tobytes()).decode()
        data.append({"object": "embedding", "index": index, "embedding": form})
    return data, read


def _text_of(shelf: Shelf, model: str, ids: list[int]) -> str:
    file = shelf.find(model) / "tokenizer.json"
    if not file.is_file():
        raise InputError(f"input: ids need a tokenizer, and {model[:80]!r} has none; send text")
    tokenizer = shelf.load("tokenizer", file, Tokenizer.load)
    if (most := max(ids, default=0)) >= tokenizer.vocab_size:
        raise InputError(f"input: id {most} is not one of the model's, which are 0 to {tokenizer.vocab_size - 1}")
    return tokenizer.decode(ids)


def _model(name: str, created: int) -> Json:
    return {"id": name, "object": "model", "created": created, "owned_by": "langladder"}
