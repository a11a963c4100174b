"""The plain way to pre-train a BERT: `transformers`' network and collator, a loop, rows padded to the longest."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from langladder.formats.bert import bert_arrays, bert_config
from langladder.models.encoders.bert import BERT
from langladder.text.tokenize.specials import SPELLINGS, spelling
from langladder.text.tokenize.tokenizers import Tokenizer

SKIP = 3  # steps before the clock counts


@dataclass(frozen=True)
class Trained:
    """What a loop took: the median speed, and tokens, padding apart."""

    tokens_per_second: float
    tokens: int
    tokens_a_step: float


def peer_network(model: BERT) -> Any:
    """`BertForMaskedLM` with the weights that ours begins with."""
    from transformers import BertConfig, BertForMaskedLM

    peer = BertForMaskedLM(BertConfig(**bert_config(model)))
    arrays = {name: torch.from_numpy(array.copy()) for name, array in bert_arrays(model).items()}
    peer.load_state_dict(arrays, strict=False)
    peer.tie_weights()
    return peer


def peer_batches(
    lines: list[np.ndarray], model: BERT, rows: int, length: int, tokenizer: Tokenizer
) -> Callable[[int], Any]:
    """Step → a batch of lines in random order, masked and padded by the library's collator."""
    from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast

    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._backend,
        pad_token=SPELLINGS[0], unk_token=SPELLINGS[1],
        sep_token=spelling("<sep>"), cls_token=spelling("<cls>"), mask_token=spelling("<mask>"),
    )  # fmt: skip
    collate = DataCollatorForLanguageModeling(fast, mlm_probability=0.15)
    order = np.random.default_rng(1).permutation(len(lines))

    def batch(step: int) -> Any:
        chosen = order[np.arange(step * rows, (step + 1) * rows) % len(order)]
        framed = [model.framed(lines[row][: length - 2])[0].tolist() for row in chosen]
        return collate([{"input_ids": ids, "attention_mask": [1] * len(ids)} for ids in framed])

    return batch


def train_steps(
    network: Any, batch: Callable[[int], Any], steps: int, loss: Callable[[Any, Any], tuple[torch.Tensor, int]]
) -> Trained:
    """AdamW for so many steps, the gradient clipped at 1."""
    network.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01)
    spans, tokens = [], 0
    for step in range(steps):
        started = time.perf_counter()
        value, count = loss(network, batch(step))
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        spans.append((time.perf_counter() - started) / count)
        tokens += count
    network.eval()
    return Trained(1 / statistics.median(spans[SKIP:]), tokens, tokens / steps)
