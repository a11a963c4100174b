"""Dialogues of a few words, the rungs that they are learnt from, and who judges them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.instructed import InstructedGPT, begin
from langladder.text.labelled.instructions import Dialogue, Message, Ranking
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

THINGS = ["cat", "dog", "king", "queen"]
TOKENIZER = train_tokenizer(
    [" ".join([*THINGS, "say", "twice", "please", "not"])], TokenizerConfig(kind="word", vocab_size=None)
)
V = TOKENIZER.vocab_size


def asked(text: str) -> tuple[Message, ...]:
    """A prompt of one turn."""
    return (Message("user", text),)


def dialogue(text: str, answer: str, kind: str = "") -> Dialogue:
    return Dialogue((*asked(text), Message("assistant", answer)), kind)


SAY = [dialogue(f"say {thing}", thing, "say") for thing in THINGS]
TWICE = [dialogue(f"say {thing} twice please", f"{thing} {thing}", "twice") for thing in THINGS]
DIALOGUES = SAY + TWICE
RANKINGS = [
    Ranking(item.prompt, (item.response, "not " + item.response, "not", "not not"), (1, 2, 3, 3), item.kind)
    for item in DIALOGUES
    if item.response
]


def judge(prompts: Sequence[Dialogue], answers: Sequence[str]) -> list[float]:
    """1 for the very answer, else 0."""
    return [float(answer == prompt.response) for prompt, answer in zip(prompts, answers, strict=True)]


def saved_base(folder: Path, **settings: Any) -> Path:
    """A GPT with its tokenizer beside it."""
    small = {"context": 12, "width": 16, "layers": 2, "heads": 2, "tie_weights": True}
    torch.manual_seed(7)
    GPT(GPTConfig.model_validate(small | settings), V).save(folder)
    TOKENIZER.save(folder / "tokenizer.json")
    return folder


def saved_instructed(folder: Path, **settings: Any) -> Path:
    """An InstructedGPT before its first step, with its tokenizer beside it."""
    model: InstructedGPT = begin(saved_base(folder.with_name(folder.name + "_base"), **settings), seed=3)[0]
    with torch.no_grad():  # larger than they begin, so that every test sees outputs that differ
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save(folder)
    TOKENIZER.save(folder / "tokenizer.json")
    return folder
