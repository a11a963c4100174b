"""How fast JoeyNMT trains the same Transformer on the same pairs, beside ours, in one run.

    .venv-peers/bin/pip install --no-deps joeynmt==2.3.0 absl-py plotly sentencepiece subword-nmt tensorboard
    .venv-peers/bin/python benchmarks/translation.py joeynmt

JoeyNMT asks for versions that exclude ours, but runs with ours: so it is installed by hand, without what it asks for,
into the environment of `make test-peers`. It reads the ids of our tokenizer as words; both sides take pairs in random
order, make updates of as many cells, and have the same optimiser and learning rates. Many of JoeyNMT's cells are
padding and none of ours, so that it sees fewer words in as many updates.
"""

import math
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import harmonic_mean
from typing import Any

import click
import torch
import yaml
from measure import Clocked, machine, markdown, speed_row, threads
from pairs import ADAM, SIZES, cells, corpus, settings, train
from plain_translation import validation_loss
from public_data import data

from langladder.data.translation import TranslationBatches
from langladder.models.translation.transformer import Transformer
from langladder.tasks.optimisation import resolve_precision
from langladder.text.storage.token_streams import PairStream, Rows
from langladder.text.tokenize.specials import BOS, EOS

DROPOUT = 0.1
PEAK, WARMUP = 1e-3, 20
"""The highest learning rate, and the update that has it (noam's schedule)."""


def write_words(path: Path, rows: Rows) -> None:
    """A line a sentence, a word an id, without BOS and EOS."""
    lines = (" ".join(f"t{token}" for token in row if token not in (BOS, EOS)) for row in rows)
    path.write_text("\n".join(lines) + "\n")


def write_corpus(work: Path, **splits: PairStream) -> None:
    """`train.src`, `train.trg`, … as JoeyNMT reads them."""
    for name, pairs in splits.items():
        write_words(work / f"{name}.src", pairs.source)
        write_words(work / f"{name}.trg", pairs.target)


def configuration(work: Path, vocab_size: int, steps: int, cells: int) -> dict[str, Any]:
    """JoeyNMT's settings of the same network, optimiser and batches."""
    words = ["<unk>", "<pad>", "<s>", "</s>", *(f"t{token}" for token in range(vocab_size))]
    (work / "words.txt").write_text("\n".join(words) + "\n")
    width = SIZES["width"]
    side = {"level": "word", "voc_file": str(work / "words.txt"), "max_length": 100}
    layer = {
        "type": "transformer",
        "num_layers": SIZES["layers"],
        "num_heads": SIZES["heads"],
        "embeddings": {"embedding_dim": width, "scale": True, "dropout": DROPOUT},
        "hidden_size": width,
        "ff_size": SIZES["expansion"] * width,
        "dropout": DROPOUT,
        "layer_norm": "post",
    }
    return {
        "name": "peer",
        "model_dir": str(work / "model"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(work / "train"),
            "dev": str(work / "held"),
            "dataset_type": "plain",
            "src": {"lang": "src", **side},
            "trg": {"lang": "trg", **side},
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "bias_initializer": "zeros",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": layer,
            "decoder": layer,
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": ADAM["betas"],
            "scheduling": "noam",
            "learning_rate_factor": PEAK * math.sqrt(width * WARMUP),
            "learning_rate_warmup": WARMUP,
            "learning_rate_min": 1e-9,
            "clip_grad_norm": ADAM["clip_norm"],
            "normalization": "tokens",
            "batch_type": "token",
            "batch_size": cells,
            "epochs": 1000,
            "updates": steps,
            "logging_freq": 1,
            "validation_freq": steps,
            "early_stopping_metric": "loss",
        },
        "testing": {"batch_size": 50, "max_output_length": 5},
    }


def run_joeynmt(work: Path, threads: int) -> tuple[float, float]:
    """(target tokens per second, over all updates but the first three; held-out loss a token)."""
    command = [sys.executable, "-m", "joeynmt", "train", str(work / "config.yaml"), "--skip-test"]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    speeds = [float(found) for found in re.findall(r"Tokens per Sec:\s+([\d.]+)", log)]
    perplexity = re.search(r"ppl:\s+([\d.]+)", log)
    if done.returncode or not speeds or perplexity is None:
        raise click.ClickException(f"JoeyNMT stopped with {done.returncode}:\n{log[-3000:]}")
    return harmonic_mean(speeds[3:]), math.log(float(perplexity[1]))


@click.command()
@data
@click.option("--steps", type=click.IntRange(min=WARMUP), default=40, show_default=True)
@cells
@threads
def main(data: Path, steps: int, batch_tokens: int, threads: int) -> None:
    """Transformer (3 + 3 layers, 256/512, 8 heads) against JoeyNMT 2.3."""
    if not find_spec("joeynmt"):
        raise click.ClickException("joeynmt is not installed here; benchmarks/joeynmt_speed.py says how")
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    pairs, held, tokenizer = corpus(data)
    V = tokenizer.vocab_size
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        write_corpus(work, train=pairs, held=held)
        (work / "config.yaml").write_text(yaml.safe_dump(configuration(work, V, steps, batch_tokens)))
        theirs, their_loss = run_joeynmt(work, threads)
    model = Transformer(Transformer.Config(**SIZES, dropout=DROPOUT), V, V)
    noam = {"schedule": "noam", "lr": PEAK, "warmup_steps": WARMUP}
    training = settings(steps, batch_tokens=batch_tokens, **noam)
    limits = {"batch_tokens": batch_tokens, "max_length": training.max_length}
    batches = TranslationBatches(pairs, held, **limits, seed=1, padded=model.pads)
    clock = Clocked(batches)
    train(model, clock, training)
    loss = validation_loss(model, list(batches.validation()))
    ours = clock.mean_tokens_per_second()
    markdown(
        f"Transformer, 3 + 3 layers, 256/512, 8 heads, V = {V:,}, {steps} updates",
        ["", "JoeyNMT 2.3", "langladder", "ratio", "target"],
        [
            speed_row(theirs, ours, 4, "training target tokens/s"),
            ["held-out loss a token", f"{their_loss:.3f}", f"{loss:.3f}", f"{loss / their_loss - 1:+.1%}", ""],
        ],
        [f"{machine(threads)}; ours in {resolve_precision(training)}. Updates of {batch_tokens:,} cells."],
    )


if __name__ == "__main__":
    main()
