"""The GPTs of the papers, by name: GPT-1 (2018), GPT-2 (2019, table 2), GPT-3 (2020, table 2.1).

`preset: gpt2-medium` among a GPT's settings stands for these; what is set beside it wins. The vocabulary is that of the
tokenizer: the papers' have 40,478 (GPT-1: 40,000 merges, 477 characters, an unknown token) and 50,257 tokens.

Counts are of all parameters, the embeddings and positions included, the tied output layer once:

    V·D + C·D + N·(12 D² + 13 D) (+ 2 D for pre-norm's last layer norm)

The papers' names round and sometimes err: GPT-2's authors corrected 117M and 345M to 124M and 355M. In GPT-3's table 24
heads of width 128 do not make XL's 2048 (16 do), and 13B's width 5140 is not 40 heads of 128 (5120 is): the values
here are those that fit. GPT-3's window is not in its paper; 128 is ours and changes no count.

Shape legend: V vocabulary, C context, D width, N layers.
"""

from typing import Any


def _gpt2(layers: int, width: int, heads: int) -> dict[str, Any]:
    return {"context": 1024, "width": width, "layers": layers, "heads": heads, "dropout": 0.1}


def _gpt3(layers: int, width: int, heads: int) -> dict[str, Any]:
    return {"context": 2048, "width": width, "layers": layers, "heads": heads, "sparse_window": 128}


PRESETS: dict[str, dict[str, Any]] = {
    "gpt1": {"context": 512, "width": 768, "layers": 12, "heads": 12, "dropout": 0.1, "norm": "post"},
    "gpt2": _gpt2(12, 768, 12),
    "gpt2-medium": _gpt2(24, 1024, 16),
    "gpt2-large": _gpt2(36, 1280, 20),
    "gpt2-xl": _gpt2(48, 1600, 25),
    "gpt3-125M": _gpt3(12, 768, 12),
    "gpt3-350M": _gpt3(24, 1024, 16),
    "gpt3-760M": _gpt3(24, 1536, 16),
    "gpt3-1.3B": _gpt3(24, 2048, 16),
    "gpt3-2.7B": _gpt3(32, 2560, 32),
    "gpt3-6.7B": _gpt3(32, 4096, 32),
    "gpt3-13B": _gpt3(40, 5120, 40),
    "gpt3-175B": _gpt3(96, 12288, 96),
}
