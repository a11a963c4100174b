"""Training speed of one process with two threads against two processes with one thread each, equal batches.

    python benchmarks/two_processes.py --rounds 5

The two take turns, each round in processes of its own. A row has the best round of either: tokens/s by the clock, and
tokens by second of processor time, which what else the machine does changes less.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from measure import Clocked, machine, markdown

from langladder.data.batches import StepBatches
from langladder.data.language_modelling import StreamBatches, WindowBatches
from langladder.data.translation import TranslationBatches
from langladder.ground.ranks import part
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM
from langladder.models.making import Run
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.tasks.language_modelling import LanguageModelling
from langladder.tasks.settings import LMTrainingConfig, TranslationTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.tasks.translation import TranslationTask
from langladder.text.storage.token_streams import PairStream, Rows, TokenStream
from langladder.text.tokenize.specials import BOS, EOS

SKIP = 5  # steps that are not measured
V = 4000
SHOWN = {"progress": False, "accelerator": "cpu", "validate_every": 100_000, "checkpoint_every": 100_000}
ADAM = {"lr": 0.001, "log_every": 100_000}


def text(documents: int = 400) -> TokenStream:
    """Words of Zipf's law, forty a line."""
    random = np.random.default_rng(1)
    words = np.minimum(random.zipf(1.2, size=(documents, 10, 40)) + 3, V - 1)
    ends = [np.full((documents, 10, 1), special) for special in (BOS, EOS)]
    ids = np.concatenate([ends[0], words, ends[1]], axis=2).astype(np.int32).ravel()
    return TokenStream(ids, np.arange(documents + 1) * 420)


def pairs(count: int = 20_000) -> PairStream:
    """Sentences of 3 to 12 words, and others as long."""
    random = np.random.default_rng(1)
    lengths = random.integers(3, 13, count)
    sides = [[random.integers(4, V, n) for n in lengths] for _ in range(2)]
    sources, targets = [np.append(s, EOS) for s in sides[0]], [np.concatenate([[BOS], t, [EOS]]) for t in sides[1]]
    return PairStream(*(Rows(np.concatenate(rows), np.cumsum([0, *map(len, rows)])) for rows in (sources, targets)))


def made(network: str, steps: int) -> tuple[Task, StepBatches[Any]]:
    """A network to train, and its batches."""
    torch.manual_seed(1)
    none = TokenStream(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    if network == "transformer":
        translator = TransformerConfig(width=256, heads=4, layers=2, dropout=0.1)
        training = TranslationTraining.model_validate(SHOWN | ADAM | {"max_steps": steps, "batch_tokens": 1024})
        model, limits = Transformer(translator, V, V), {"batch_tokens": 1024, "max_length": 50}
        batches: StepBatches[Any] = TranslationBatches(pairs(), None, **limits, seed=1, padded=model.pads)
        return TranslationTask(model, training), batches
    shape = {"batch_size": 12, "sequence_length": 64} if network == "gpt" else {"batch_size": 20, "sequence_length": 35}
    config = LMTrainingConfig.model_validate(SHOWN | ADAM | shape | {"max_steps": steps})
    if network == "gpt":
        settings = GPTConfig(context=64, width=128, layers=4, heads=4, dropout=0.0)
        return LanguageModelling(GPT(settings, V), config), WindowBatches(text(), none, **shape, seed=1)
    recurrent = RecurrentConfig(cell="lstm", width=200, embedding_dim=200, layers=2, dropout=0.0, tie_weights=True)
    return LanguageModelling(RecurrentLM(recurrent, V), config), StreamBatches(text(), none, **shape, seed=1)


def work(network: str, steps: int, threads: int) -> None:
    """Train, and print what it took: tokens, seconds by the clock, and processor seconds of this process."""
    torch.set_num_threads(threads)
    task, batches = made(network, steps)
    clock = Clocked(batches)
    begun: list[float] = []
    plain = task.training_step

    def counted(update: Any) -> torch.Tensor:
        if task.steps_done == SKIP:
            begun.append(processor_seconds())
        return plain(update)

    task.training_step = counted  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        train_task(task, clock, task.config, Run(1, Path(folder)))
    used = processor_seconds() - begun[0]
    tokens = sum(clock.sizes[SKIP:-1])
    print(json.dumps({"tokens": tokens, "clock": clock.stamps[-1] - clock.stamps[SKIP], "processor": used}))
    part()


def processor_seconds() -> float:
    """Of this process, in all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(network: str, steps: int, processes: int) -> tuple[float, float]:
    """Tokens/s by the clock, and by processor second of all processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    started = [
        subprocess.Popen(
            [sys.executable, __file__, "--network", network, "--steps", str(steps), "--threads", "2"],
            env=os.environ | said | {"RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "2"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    found = [json.loads(process.communicate()[0].splitlines()[-1]) for process in started]
    return found[0]["tokens"] / found[0]["clock"], found[0]["tokens"] / sum(one["processor"] for one in found)


@click.command()
@click.option("--rounds", default=5, show_default=True)
@click.option("--steps", default=60, show_default=True)
@click.option("--network", default=None, help="Train this one in this process, and print what it took.")
@click.option("--threads", default=2, show_default=True, help="Of all processes together.")
def main(rounds: int, steps: int, network: str | None, threads: int) -> None:
    """Print the table."""
    if network:
        work(network, steps, threads)
        return
    rows = []
    for name in ("lstm", "gpt", "transformer"):
        turns = [[measured(name, steps, processes) for processes in (1, 2)] for _ in range(rounds)]
        one, two = ([max(turn[side][kind] for turn in turns) for kind in range(2)] for side in range(2))
        ratios = [two[kind] / one[kind] for kind in range(2)]
        figures = [f"{one[0]:,.0f}", f"{two[0]:,.0f}", f"{ratios[0]:.2f}"]
        rows.append([name, *figures, f"{one[1]:,.0f}", f"{two[1]:,.0f}", f"{ratios[1]:.2f}"])
    head = ["network", "1 × 2, tokens/s", "2 × 1", "ratio", "1 × 2, tokens by processor second", "2 × 1", "ratio"]
    markdown("One process with two threads, two with one", head, rows, [machine(2)])


if __name__ == "__main__":
    main()
