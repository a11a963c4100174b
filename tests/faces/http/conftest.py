"""Small saved models, and a server of them on loopback."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import uvicorn

from langladder.embeddings.base import WordVectors
from langladder.faces.http import api
from langladder.faces.http.shelf import Shelf
from langladder.models.language.gpt import GPT
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

LINES = ["apple and pear salad", "pear and apple salad", "a pair of cats sat", "the king sat", "the cat sat"] * 3


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    root = tmp_path_factory.mktemp("served")
    words = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    pieces = train_tokenizer(LINES, TokenizerConfig(kind="bpe_bytes", vocab_size=330))
    ids = np.concatenate([[BOS, *pieces.encode(line), EOS] for line in LINES]).astype(np.int32)
    torch.manual_seed(0)
    counted = KneserNey(KneserNey.Config(order=3), pieces.vocab_size)
    counted.fit(TokenStream(ids, np.array([0, len(ids)])))
    gpt = GPT(GPT.Config(context=16, width=8, layers=2, heads=2), words.vocab_size)
    for name, model, tokenizer in (("kneser_ney", counted, pieces), ("gpt", gpt, words)):
        model.save(root / "lm" / name)
        tokenizer.save(root / "lm" / name / "tokenizer.json")
    matrix = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    WordVectors(["king", "cat", "pear"], matrix).save(root / "embedding" / "svd")
    (root / "broken").mkdir()
    (root / "broken" / "config.json").write_text("{")
    return Shelf.of([root / "lm" / "kneser_ney", root / "lm" / "gpt", root / "embedding" / "svd", root / "broken"])


@pytest.fixture(scope="session")
def server(shelf: Shelf) -> Iterator[str]:
    yield from running(shelf)


def running(shelf: Shelf) -> Iterator[str]:
    """The address of a server of these models, until it is asked for no more."""
    server = uvicorn.Server(uvicorn.Config(api.create(shelf), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(5)


@pytest.fixture(scope="session")
def ask(server: str) -> Any:
    """ask(path, body or None, **headers) → (status, JSON or text)."""

    def fetch(path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(server + path, data, {"content-type": "application/json"} | headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text, status = answer.read().decode(), answer.status
        except urllib.error.HTTPError as error:
            text, status = error.read().decode(), error.code
        return status, text if text.startswith("data:") or not text.startswith("{") else json.loads(text)

    return fetch
