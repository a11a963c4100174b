"""Language models: how fast they train and how well, beside plain loops of the same models, in one run.

    python benchmarks/language_models.py all            every part, each in a process of its own
    python benchmarks/language_models.py lstm           one part; --help names its options

The peers cannot be installed together with this project, or lack what a fair comparison needs (the same data, the same
number of steps): a plain equivalent stands beside it in `plain_language_models.py`. The plain side of a comparison
always runs first, before this process is told to keep freed memory: that is part of what is measured. Times are
medians over steps, and a step is all that lies between two batches.
"""

import math
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import mean

import click
import numpy as np
import torch
from measure import Clocked, machine, markdown, product_speed, speed_row, threads, verdict
from ngram_quality import main as ngram_quality
from ngram_speed import main as ngram_speed
from plain_language_models import PlainGPT, PlainLSTM, train_plain_gpt, train_plain_lstm
from public_data import Missing, data, find, read
from softmax_speed import main as softmax
from wikitext import split_text, word_ids

from langladder.data.language_modelling import LanguageBatch, StreamBatches, WindowBatches
from langladder.ground.memory import keep_freed_memory
from langladder.models.language.gpt import GPT
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.making import Run
from langladder.tasks.language_modelling import LanguageModelling
from langladder.tasks.optimisation import (
    clip_update,
    learning_rate,
    make_optimizer,
    resolve_precision,
    set_learning_rate,
    train_by_rows,
)
from langladder.tasks.settings import LMTrainingConfig
from langladder.tasks.training import TrainingResult, train_task
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, NAMES

ADAPTIVE = {"output": "adaptive", "cutoffs": [0.06, 0.3], "shrink": 1}
SGD = {"optimizer": "sgd", "schedule": "constant", "clip_norm": 0.25}
NANOGPT = {
    "optimizer": "adamw",
    "lr": 1e-3,
    "min_lr": 1e-4,
    "schedule": "warmup_cosine",
    "warmup_steps": 100,
    "betas": [0.9, 0.99],
    "weight_decay": 0.1,
    "clip_norm": 1.0,
}
CHARACTERS = {"context": 64, "width": 128, "layers": 4, "heads": 4}


def words(data: Path) -> tuple[TokenStream, int]:
    """The training words of WikiText-2 as one document, and the vocabulary's size; random ones without the corpus."""
    try:
        ids, types = word_ids(split_text(data, "train"))
        ids = ids[ids != BOS]  # as in the example: one text of words and line ends
        size = len(types) + len(NAMES)
    except Missing:
        size, share = 33_278, 1 / np.arange(1, 33_278 - 3)
        ids = (np.random.default_rng(0).choice(size - 4, size=500_000, p=share / share.sum()) + 4).astype(np.int32)
    return document(ids), size


def document(ids: np.ndarray) -> TokenStream:
    """Ids as one document."""
    ids = np.concatenate([[BOS], ids]).astype(np.int32)
    return TokenStream(ids, np.array([0, len(ids)]))


def train(model: NeuralLanguageModel, batches: Clocked[LanguageBatch], training: LMTrainingConfig) -> TrainingResult:
    """What `train_language_model` does, under a clock."""
    with tempfile.TemporaryDirectory() as work:
        return train_task(LanguageModelling(model, training), batches, training, Run(1, Path(work)))


def train_bare(model: NeuralLanguageModel, batches: Clocked[LanguageBatch], training: LMTrainingConfig) -> None:
    """The same model, optimiser, batches and learning rates in a plain loop."""
    task = LanguageModelling(model.train(), training)
    train_by_rows(model, training)
    optimizer = make_optimizer(model, training)
    for step in range(training.max_steps):
        batch = batches.train(step)
        set_learning_rate(optimizer, training, step)
        task.loss(batch).backward()
        clip_update(model, optimizer, training.clip_norm or math.inf)
        optimizer.step()
        optimizer.zero_grad()


def settings(steps: int, **chosen: object) -> LMTrainingConfig:
    """Training settings of a benchmark: on the CPU, a loss from every step, no validation before the end."""
    shown = {"log_every": 1, "progress": False, "validate_every": steps, "checkpoint_every": steps}
    return LMTrainingConfig.model_validate({"max_steps": steps, "accelerator": "cpu"} | shown | chosen)


precision = click.option(
    "--precision", type=click.Choice(["fp32", "bf16"]), default="fp32", show_default=True, help="ours; theirs is fp32"
)


@click.group(help=__doc__)
def main() -> None:
    """See the module."""


main.add_command(ngram_quality, "ngram-quality")
main.add_command(ngram_speed, "ngram-speed")
main.add_command(softmax, "softmax")


@main.command()
@data
@click.option("--width", default=200, show_default=True)
@click.option("--layers", default=2, show_default=True)
@click.option("--batch", default=20, show_default=True, help="parallel streams")
@click.option("--bptt", default=35, show_default=True, help="tokens a step in each of them")
@click.option("--steps", default=100, show_default=True)
@click.option("--lr", default=5.0, show_default=True)
@click.option("--output", type=click.Choice(["softmax", "adaptive"]), default="softmax", show_default=True, help="ours")
@precision
@threads
def lstm(
    data: Path,
    width: int,
    layers: int,
    batch: int,
    bptt: int,
    steps: int,
    lr: float,
    output: str,
    precision: str,
    threads: int,
) -> None:
    """LSTM over words, against pytorch/examples' word_language_model, which has a full softmax."""
    torch.set_num_threads(threads)
    stream, V = words(data)
    sizes = {"batch_size": batch, "sequence_length": bptt}
    training = settings(steps, **sizes, **SGD, lr=lr, precision=precision)
    torch.manual_seed(1)
    config = {"width": width, "embedding_dim": width, "layers": layers, "tie_weights": False}
    model = RecurrentLM(RecurrentLM.Config.model_validate(config), V)
    plain = PlainLSTM(model)
    if output == "adaptive":
        model = RecurrentLM(RecurrentLM.Config.model_validate(config | ADAPTIVE), V)
        model.head.set_counts(torch.from_numpy(np.bincount(stream.ids, minlength=V)))
    clocks = [Clocked(StreamBatches(stream, document(stream.ids[1:50]), seed=1, **sizes)) for _ in range(2)]
    losses = train_plain_lstm(plain, clocks[0], steps, lr, 0.25)
    curve = train(model, clocks[1], training).curve
    theirs, ours = (clock.tokens_per_second() for clock in clocks)
    tail = max(1, steps // 5)
    loss = mean(losses[-tail:]), mean(float(row["train_loss"] or math.nan) for row in curve[-tail:])
    speed = product_speed()
    # a product (m, k)(k, n) is 2mkn operations; backwards there are two for each one forwards
    operations = 3 * 2 * batch * bptt * (width * V + layers * 8 * width**2)
    bound = batch * bptt * speed / operations
    at_most = f"at most {bound / theirs:.2f} ×" if output == "softmax" else ""  # adaptive has smaller products
    markdown(
        f"LSTM {layers} × {width}, batch {batch}, BPTT {bptt}, V = {V:,}, {steps} steps; ours with output={output}",
        ["", "plain torch", "langladder", "ratio", "target"],
        [
            speed_row(theirs, ours, 2.3 if precision == "fp32" else 3),
            [
                f"loss, last {tail} steps",
                *(f"{value:.4f}" for value in loss),
                f"{loss[1] / loss[0] - 1:+.2%}",
                "≤ +1 %",
            ],
            ["matrix products of a full softmax alone", f"{bound:,.0f}", "", at_most, ""],
        ],
        [
            f"{machine(threads)}; ours in {resolve_precision(training)}. The last row: {operations / 1e9:.1f} G "
            f"operations a step at the {speed / 1e9:.0f} GFLOP/s that a product of 2048 × 2048 in fp32 reaches here."
        ],
    )


def characters(data: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """Tiny Shakespeare as character ids: the first nine tenths, the last tenth, the vocabulary's size."""
    text = read(find(data, "tinyshakespeare/input.txt")).decode()
    number = {character: place for place, character in enumerate(sorted(set(text)), start=len(NAMES))}
    ids = np.array([number[character] for character in text], dtype=np.int32)
    cut = int(0.9 * len(ids))  # as nanoGPT's prepare.py
    return ids[:cut], ids[cut:], len(number) + len(NAMES)


@torch.no_grad()
def windows_loss(loss: object, ids: np.ndarray, T: int) -> float:
    """Mean loss over all windows of T characters laid end to end, as nanoGPT estimates it from random ones."""
    assert callable(loss)
    whole = torch.from_numpy(ids[: (len(ids) - 1) // T * T + 1].astype(np.int64))
    rows = whole.unfold(0, T + 1, T)  # (windows, T + 1)
    return mean(float(loss(part[:, :-1], part[:, 1:])) for part in rows.split(256) if len(part) == 256)


@main.command()
@data
@click.option("--steps", default=2000, show_default=True)
@precision
@threads
def gpt(data: Path, steps: int, precision: str, threads: int) -> None:
    """GPT over characters at nanoGPT's setting for a CPU, against its loop."""
    torch.set_num_threads(threads)
    known, unseen, V = characters(data)
    sizes = {"batch_size": 12, "sequence_length": 64}
    training = settings(
        steps, **sizes, **(NANOGPT | {"warmup_steps": min(100, steps), "precision": precision}), log_every=100
    )
    torch.manual_seed(1)
    plain, T = PlainGPT(vocab_size=V, **CHARACTERS), 64
    model = GPT(GPT.Config(**CHARACTERS, bias=False), V)
    stamps = Clocked(WindowBatches(document(known), document(unseen[:50]), seed=1, **sizes))
    random = np.random.default_rng(1)

    def batch(step: int) -> torch.Tensor:
        stamps.train(step)
        starts = random.integers(len(known) - T, size=12)
        return torch.stack([torch.from_numpy(known[s : s + T + 1].astype(np.int64)) for s in starts])

    train_plain_gpt(plain, batch, steps, partial(learning_rate, training))
    clock = Clocked(WindowBatches(document(known), document(unseen[:50]), seed=1, **sizes))
    train(model, clock, training)
    theirs, ours = stamps.tokens_per_second(), clock.tokens_per_second()
    model.eval()
    losses = [windows_loss(loss, unseen, T) for loss in (plain, lambda x, y: model.loss(model(x)[0], y))]
    scored = model.log_probs(torch.from_numpy(document(unseen).ids[None].astype(np.int64)))
    speed, D = product_speed(), CHARACTERS["width"]
    operations = 3 * 2 * 12 * T * (CHARACTERS["layers"] * 12 * D**2 + V * D)
    bound = 12 * T * speed / operations
    markdown(
        f"GPT, tiny Shakespeare characters, context 64, batch 12, 4 layers, 4 heads, width 128, {steps:,} steps",
        ["", "nanoGPT's loop", "langladder", "ratio", "target"],
        [
            speed_row(theirs, ours, 1.25 if precision == "fp32" else 1.4),
            [
                "validation loss, windows end to end",
                *(f"{loss:.4f}" for loss in losses),
                f"{losses[1] / losses[0] - 1:+.2%}",
                verdict(losses[1], 1.88, at_most=True),
            ],
            ["validation loss as the pipeline scores it", "", f"{-float(scored.mean()):.4f}", "", ""],
            ["matrix products alone", f"{bound:,.0f}", f"{bound:,.0f}", f"at most {bound / theirs:.2f} ×", ""],
        ],
        [f"{machine(threads)}; ours in {resolve_precision(training)}. {speed / 1e9:.0f} GFLOP/s at 2048 × 2048, fp32."],
    )


@main.command()
@click.option("--steps", default=60, show_default=True, help="in each of the rounds; GPT makes five times as many")
@click.option("--rounds", default=3, show_default=True)
@data
@threads
def lightning(steps: int, rounds: int, data: Path, threads: int) -> None:
    """Training under Lightning against a bare loop of the same model."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    stream, V = words(data)
    known, _, C = characters(data)
    few = document(known[:50])
    lstm_sizes, gpt_sizes = {"batch_size": 20, "sequence_length": 35}, {"batch_size": 12, "sequence_length": 64}
    config = RecurrentLM.Config(width=200, embedding_dim=200, layers=2, tie_weights=False)
    kinds = {
        "LSTM, words": (
            lambda: RecurrentLM(config, V),
            lambda: StreamBatches(stream, few, seed=1, **lstm_sizes),
            settings(steps, **SGD, **lstm_sizes),
        ),
        "GPT, characters": (
            lambda: GPT(GPT.Config(**CHARACTERS, bias=False), C),
            lambda: WindowBatches(document(known), few, seed=1, **gpt_sizes),
            settings(5 * steps, **(NANOGPT | {"warmup_steps": 10}), **gpt_sizes, log_every=50),
        ),
    }
    rows = []
    for name, (make, batches_of, training) in kinds.items():
        spans: list[list[float]] = [[], []]
        for _ in range(rounds):
            for side, loop in enumerate((train_bare, train)):
                clock: Clocked[LanguageBatch] = Clocked(batches_of())
                loop(make(), clock, training)
                spans[side].append(1 / clock.seconds_a_token())
        bare, ours = (sorted(figures)[rounds // 2] for figures in spans)
        rows.append([name, f"{bare:,.0f}", f"{ours:,.0f}", f"{ours / bare:.3f} ×", verdict(ours / bare, 0.95)])
    head = ["training tokens/s", "bare loop", "under Lightning", "ratio", "target"]
    markdown("Lightning", head, rows, [f"{machine(threads)}; {rounds} rounds of both, medians"])


@main.command(name="all")
def everything() -> None:
    """Every part, one after the other."""
    for part in ("lstm", "lstm --output adaptive", "gpt", "softmax", "lightning", "ngram-speed"):
        subprocess.run([sys.executable, __file__, *part.split()], check=True)


if __name__ == "__main__":
    main()
