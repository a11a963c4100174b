"""Options scored per second, beside transformers with the same weights and one forward pass an option.

    .venv-peers/bin/python benchmarks/prompting.py [--items 16] [--rounds 5]     # with transformers, see Makefile

A GPT of GPT-2's form (copied weights) is given prompts of k examples, an item and four options of one to three tokens.
Theirs: for every option the whole prompt goes through `GPT2LMHeadModel` once; and, as a second peer, all options of an
item in one padded batch. Ours: `decoding.options.score_options`. Both in float32 on the same threads, processor time,
rounds alternate, medians of the paired ratios; the scores are compared first.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
import torch
from measure import machine, markdown, threads, verdict

from langladder.decoding.options import OptionItem, score_options
from langladder.formats.gpt2 import export_gpt2
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

EXAMPLE, ITEM, OPTIONS, TARGET = 16, 16, 4, 3.0  # tokens of an example and of an item, options, times as fast
Scorer = Callable[[], list[np.ndarray]]


def prompts(vocab_size: int, shots: int, items: int) -> list[OptionItem]:
    """Items after the same examples, each of a length of its own."""
    random = np.random.default_rng(shots)

    def line(length: int) -> list[int]:
        return random.integers(4, vocab_size, length).tolist()

    examples = [token for _ in range(shots) for token in (BOS, *line(EXAMPLE - 2), EOS)]
    found = []
    for _ in range(items):
        context = np.array([*examples, BOS, *line(int(random.integers(ITEM // 2, ITEM)))])
        found.append(OptionItem(context, [np.array(line(int(random.integers(1, 4)))) for _ in range(OPTIONS)]))
    return found


@torch.no_grad()
def one_pass_an_option(model: Any, asked: list[OptionItem]) -> list[np.ndarray]:
    """The plain way."""
    found = []
    for item in asked:
        sums = []
        for option in item.options:
            ids = torch.from_numpy(np.concatenate([item.context, option]))[None]
            log_probs = torch.log_softmax(model(ids).logits[0, :-1], dim=-1)  # (T − 1, V)
            start = len(item.context) - 1
            sums.append(float(log_probs[start:].gather(1, ids[0, start + 1 :, None]).sum()))
        found.append(np.array(sums))
    return found


@torch.no_grad()
def one_batch_an_item(model: Any, asked: list[OptionItem]) -> list[np.ndarray]:
    """The options of an item side by side, padded on the right."""
    found = []
    for item in asked:
        longest = max(map(len, item.options))
        rows = [np.concatenate([item.context, option, np.zeros(longest - len(option))]) for option in item.options]
        ids = torch.from_numpy(np.stack(rows).astype(np.int64))
        start = len(item.context) - 1
        log_probs = torch.log_softmax(model(ids).logits[:, start:-1], dim=-1)  # (O, longest, V)
        scores = log_probs.gather(2, ids[:, start + 1 :, None])[..., 0].numpy()
        found.append(np.array([row[: len(o)].sum() for row, o in zip(scores, item.options, strict=True)]))
    return found


def compared(theirs: Scorer, ours: Scorer, rounds: int) -> tuple[float, float, float]:
    """Seconds of both, medians, and the median of the paired ratios."""
    spans: list[tuple[float, float]] = []
    for _ in range(rounds):
        pair = []
        for work in (theirs, ours):
            began = time.process_time()
            work()
            pair.append(time.process_time() - began)
        spans.append((pair[0], pair[1]))
    return median(a for a, _ in spans), median(b for _, b in spans), median(a / b for a, b in spans)


@click.command()
@threads
@click.option("--items", default=16, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--width", default=256, show_default=True)
@click.option("--layers", default=4, show_default=True)
def main(threads: int, items: int, rounds: int, width: int, layers: int) -> None:
    """Options scored per second of asking a language model in words."""
    from transformers import GPT2LMHeadModel

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    words = [f"word{number}" for number in range(7996)]
    tokenizer = train_tokenizer(words, TokenizerConfig(kind="word", vocab_size=None))
    model = GPT(GPTConfig(context=512, width=width, layers=layers, heads=4), tokenizer.vocab_size).eval()
    with tempfile.TemporaryDirectory() as folder:
        export_gpt2(model, tokenizer, Path(folder) / "gpt2")
        peer = GPT2LMHeadModel.from_pretrained(Path(folder) / "gpt2").eval()
    rows, worst = [], 0.0
    for shots in (0, 4, 16):
        asked = prompts(tokenizer.vocab_size, shots, items)
        ours = score_options(model, asked)
        for name, work in {"a pass an option": one_pass_an_option, "a batch an item": one_batch_an_item}.items():
            pairs = zip(work(peer, asked), ours, strict=True)
            worst = max(worst, *(float(np.abs(a - b).max()) for a, b in pairs))
            slow, fast, ratio = compared(
                lambda work=work, asked=asked: work(peer, asked),  # type: ignore[misc]
                lambda asked=asked: score_options(model, asked),  # type: ignore[misc]
                rounds,
            )
            count = items * OPTIONS
            goal = verdict(ratio, TARGET) if work is one_pass_an_option else "–"
            rows.append([str(shots), name, f"{count / slow:,.0f}", f"{count / fast:,.0f}", f"{ratio:.1f} ×", goal])
    title = f"Options scored per second, {layers} layers of width {width}, V = {tokenizer.vocab_size:,}"
    notes = [f"{machine(threads)}. Largest difference of a score: {worst:.1e} nats."]
    markdown(title, ["examples", "transformers", "theirs", "ours", "ratio", "target"], rows, notes)


if __name__ == "__main__":
    main()
