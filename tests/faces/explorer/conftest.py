"""A folder of small models, and the explorer over it, asked without a network."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from langladder.embeddings.base import WordVectors
from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf
from langladder.models.language.gpt import GPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

LINES = ["the dogs that the cat sees sleep .", "the cat sees the old king .", "a pair of cats sat ."] * 3


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a checkout has it: models/, reports/ and the truth of microworld."""
    root = tmp_path_factory.mktemp("checkout")
    words = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    pieces = train_tokenizer(LINES, TokenizerConfig(kind="bpe_bytes", vocab_size=330))
    ids = np.concatenate([[BOS, *pieces.encode(line), EOS] for line in LINES]).astype(np.int32)
    torch.manual_seed(0)
    counted = KneserNey(KneserNey.Config(order=3), pieces.vocab_size)
    counted.fit(TokenStream(ids, np.array([0, len(ids)])))
    gpt = GPT(GPT.Config(context=16, width=8, layers=2, heads=2, dropout=0.5), words.vocab_size)
    lstm = RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8, dropout=0.5), pieces.vocab_size)
    for name, model, tokenizer in (("kneser_ney", counted, pieces), ("lstm", lstm, pieces), ("gpt", gpt, words)):
        model.save(root / "models" / "lm" / name)
        tokenizer.save(root / "models" / "lm" / name / "tokenizer.json")
    WordVectors(["king", "cat"], np.eye(2, dtype=np.float32)).save(root / "models" / "embedding" / "svd")
    broken = root / "models" / "lm" / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    (root / "models" / "lm" / "gpt" / "provenance.json").write_text(
        json.dumps({"settings": {"lm": {"title": "A <GPT>"}}})
    )
    chosen = {"chosen": {"corpus": "microworld", "size": "tiny"}}
    (root / "reports").mkdir()
    (root / "reports" / "ladder.json").write_text(json.dumps(chosen))
    truth = root / "data" / "raw" / "text" / "truth"
    truth.mkdir(parents=True)
    pair = {"good": "the cat sleeps .", "bad": "the cat sleep .", "clauses": 0}
    (truth / "agreement.jsonl").write_text(json.dumps(pair) + "\n")
    return root


@pytest.fixture(scope="session")
def models(checkout: Path) -> Shelf:
    return Shelf.below([checkout / "models"])


@pytest.fixture(scope="session")
def client(models: Shelf) -> Iterator[TestClient]:
    with TestClient(create(models), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def ask(client: TestClient) -> Any:
    """ask(path, body) → JSON, or the events of a stream."""

    def post(path: str, body: Any, status: int = 200) -> Any:
        answer = client.post(path, json=body)
        assert answer.status_code == status, answer.text
        if not answer.headers["content-type"].startswith("text/event-stream"):
            return answer.json()
        *events, last = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
        assert last == "[DONE]"
        return [json.loads(event) for event in events]

    return post
