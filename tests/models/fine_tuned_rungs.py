"""Bases that are made in a moment, and texts that they read."""

from pathlib import Path
from typing import Any

import torch

from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.network import Network
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

LABELS = ["no", "yes", "maybe"]
TEXTS = ["the cat sees a dog", "a dog sleeps", "the dogs see the cats", "the cat walks to the house", "not a house"]
TOKENIZER = train_tokenizer(TEXTS, TokenizerConfig(kind="bpe_bytes", vocab_size=290))
SINGLES = [Example(text, None, LABELS[number % 3]) for number, text in enumerate([*TEXTS, "cats"])]
PAIRS = [
    Example(row.text, other.text, row.label) for row, other in zip(SINGLES, [*SINGLES[2:], *SINGLES[:2]], strict=True)
]


def saved_gpt(folder: Path, **settings: Any) -> Path:
    """A GPT of two layers with its tokenizer beside it."""
    small = {"context": 24, "width": 16, "layers": 2, "heads": 2, "tie_weights": True}
    return _saved(GPT, GPTConfig.model_validate(small | settings), TOKENIZER.vocab_size, folder)


def saved_bert(folder: Path, **settings: Any) -> Path:
    """A BERT of two layers with its tokenizer beside it."""
    small = {"context": 24, "width": 16, "layers": 2, "heads": 2}
    return _saved(BERT, BERTConfig.model_validate(small | settings), TOKENIZER.full_vocab_size, folder)


def _saved(kind: type[Network], config: Any, vocab_size: int, folder: Path) -> Path:
    torch.manual_seed(7)
    network = kind(config, vocab_size)
    with torch.no_grad():  # larger than they begin, so that every test sees outputs that differ
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    network.save(folder)
    TOKENIZER.save(folder / "tokenizer.json")
    return folder
