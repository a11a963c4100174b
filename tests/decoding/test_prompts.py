"""Prompts are beginnings of the corpus' own lines."""

import numpy as np
import pytest

from langladder.decoding.prompts import draw_prompts
from langladder.text.storage.corpus_ids import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

ENGLISH = [
    f"{who} {what} the {how} saddle ." for who in ("she", "he") for what in ("sees", "finds") for how in ("old", "new")
]
CHINESE = ["我喜欢喝绿茶。", "他昨天去了北京。", "猫在桌子下面睡觉。"]


@pytest.mark.parametrize("lines", [ENGLISH, CHINESE], ids=["spaced", "unspaced"])
@pytest.mark.parametrize("kind", ["bpe_bytes", "character"])
def test_drawn_from_the_text_itself(lines: list[str], kind: str) -> None:
    config = TokenizerConfig.model_validate({"kind": kind, "vocab_size": 300 if kind == "bpe_bytes" else None})
    tokenizer = train_tokenizer(lines, config)
    ids = np.concatenate([[BOS, *tokenizer.encode(line), EOS] for line in lines]).astype(np.int32)
    stream = TokenStream(ids, np.array([0, len(ids)]))
    prompts = draw_prompts(stream, tokenizer, 3)
    assert len(set(prompts)) == 3 and prompts == draw_prompts(stream, tokenizer, 3)
    assert all(any(line.startswith(prompt) and line != prompt for line in lines) for prompt in prompts)
    words = [len(prompt.split()) if lines is ENGLISH else len(prompt) for prompt in prompts]
    assert words == [1, 2, 3]


def test_a_text_too_short_for_any_prompt_gives_none() -> None:
    tokenizer = train_tokenizer(["a"], TokenizerConfig(kind="character", vocab_size=None))
    stream = TokenStream(np.array([BOS, 4, EOS], dtype=np.int32), np.array([0, 3]))
    assert draw_prompts(stream, tokenizer, 3) == []
