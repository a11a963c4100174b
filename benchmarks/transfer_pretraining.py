"""Pre-training of a BERT by the clock: what so many minutes of this machine give, not so many steps.

    η(t) = lr · min(t / w, (1 − t) / (1 − w))      t the share of the time that has passed, w the warm-up's share

(Izsak et al. 2021, "How to train BERT with an academic budget", section 3.) Rows are short and filled with whole lines
of an article; there is no dropout and no second text, nothing is computed for padding, and scores only where a token is
to be told. Batches grow: `grow` of them make the last updates, one the first. A run that was killed goes on from its
last checkpoint; as the clock decides, no two runs end with the same bits. The clock is the processor's, shared out
among the threads: other work on the machine takes nothing away.
"""

import csv
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from langladder.data.masked_language_modelling import MaskedBatches
from langladder.data.masking import Masking
from langladder.data.sentence_pairs import Pairs
from langladder.ground.artefacts import read_json, write_json
from langladder.ground.errors import InputError
from langladder.ground.memory import keep_freed_memory
from langladder.ground.schema import Config
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.tasks.checkpoints import read_checkpoint, write_checkpoint
from langladder.tasks.optimisation import (
    TrainingConfig,
    clip_gradients,
    make_optimizer,
    resolve_precision,
    train_by_rows,
)
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer, word_starts

COLUMNS = ("minutes", "steps", "tokens", "lr", "train_loss", "validation_loss", "right")
VALIDATION_TOKENS = 15_000


class Plan(Config):
    """How an encoder is pre-trained; a run goes on only with the plan that it began with."""

    minutes: float = 60.0
    rows: int = 64
    length: int = 64
    short: float = 0.1
    share: float = 0.25
    lr: float = 1e-3
    warmup: float = 0.06
    weight_decay: float = 0.01
    grow: int = 4
    precision: Literal["fp32", "bf16", "auto"] = "auto"
    seed: int = 1
    every: float = 240.0  # seconds from one validation and checkpoint to the next

    def optimiser(self) -> TrainingConfig:
        """The part that the house's optimiser reads."""
        return TrainingConfig(
            lr=self.lr, betas=[0.9, 0.98], eps=1e-6, weight_decay=self.weight_decay, precision=self.precision,
            accelerator="cpu",
        )  # fmt: skip

    def rate(self, done: float) -> float:
        """η after this share of the time."""
        return self.lr * max(0.0, min(done / self.warmup, (1 - done) / (1 - self.warmup)))

    def batches_at(self, done: float) -> int:
        """Batches of an update: 1 in the first half of the time, then evenly up to `grow`."""
        return 1 + min(self.grow - 1, int(max(0.0, 2 * done - 1) * self.grow))


def network(tokenizer: Tokenizer, plan: Plan) -> BERT:
    """A BERT-mini of the published size (`models.encoders.bert`), without the pooler."""
    torch.manual_seed(plan.seed)
    config = BERTConfig.model_validate({"preset": "mini", "context": 512, "next_sentence": False, "dropout": 0.0})
    return BERT(config, tokenizer.full_vocab_size)


def batches_of(
    train: TokenStream, validation: TokenStream, model: BERT, tokenizer: Tokenizer, plan: Plan
) -> MaskedBatches:
    """Training batches and some of the held-out text."""
    texts = [Pairs(train, length=plan.length, pairs=False, short=plan.short)]
    texts += [Pairs(validation, length=plan.length, pairs=False, short=0.0)]
    return MaskedBatches(
        *texts, model, word_starts(tokenizer), Masking(share=plan.share), batch_size=plan.rows, seed=plan.seed,
        validation_tokens=VALIDATION_TOKENS,
    )  # fmt: skip


def attend_in_fp32(model: BERT) -> None:
    """Under autocast let attention alone compute in 32 bits: torch's kernel goes back slower in bf16 than in fp32."""
    for layer in model.layers:
        heads = cast("Any", layer.get_submodule("attention"))
        heads.mix = partial(_mixed, heads.mix)


def _mixed(mix: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, causal: bool) -> Tensor:
    with torch.autocast("cpu", enabled=False):
        mixed: Tensor = mix(query.float(), key.float(), value.float(), mask, causal=causal)
    return mixed


class Pretraining:
    """One pre-training: network, optimiser, where it stands."""

    def __init__(self, model: BERT, batches: MaskedBatches, plan: Plan) -> None:
        keep_freed_memory()
        self.model, self.batches, self.plan = model, batches, plan
        config = plan.optimiser()
        self.half = resolve_precision(config) == "bf16"
        if self.half:
            attend_in_fp32(model)
        train_by_rows(model, config)
        self.optimizer = make_optimizer(model, config)
        self.steps = self.read = self.tokens = 0
        self.seconds = 0.0

    def step(self, done: float) -> float:
        """One update; its mean loss in nats."""
        self.model.train()
        count, total = self.plan.batches_at(done), 0.0
        for _ in range(count):
            batch = self.batches.train(self.read)
            with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
                loss = self.model.losses(batch)[0] / count
            loss.backward()  # type: ignore[no-untyped-call]
            self.read, self.tokens = self.read + 1, self.tokens + self.batches.size(batch)
            total += float(loss.detach())
        clip_gradients(self.model, 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.rate(done)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1
        return total

    @torch.no_grad()
    def validate(self) -> tuple[float, float]:
        """Mean −log P of the held-out gaps, and the share whose best token is right."""
        self.model.eval()
        loss, right, count = 0.0, 0, 0
        for batch in self.batches.validation():
            scores = self.model.masked_log_probs(batch)  # (M, V)
            loss -= float(scores.gather(1, batch.targets[:, None]).sum())
            right += int((scores.argmax(1) == batch.targets).sum())
            count += len(batch.targets)
        return loss / count, right / count

    def save(self, path: Path) -> None:
        """Everything that the rest depends on."""
        write_checkpoint(
            path, {"at": self._at(), "model": self.model.state_dict(), "adam": self.optimizer.state_dict()}
        )

    def load(self, path: Path) -> None:
        """Go on from there."""
        saved = read_checkpoint(path)
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["adam"])
        for name, value in saved["at"].items():
            setattr(self, name, value)

    def _at(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("steps", "read", "tokens", "seconds")}


def pretrain(run: Pretraining, out: Path, tokenizer: Tokenizer, *, spent: float) -> None:
    """Train until the time is over; the encoder stands in `out`/model then, the curve in `out`/log.csv.

    Args:
        spent: seconds that preparation took, which count.

    Raises:
        InputError: `out` holds a run with another plan.
    """
    checkpoint = out / "last.safetensors"
    agree(out / "plan.json", run.plan.model_dump(mode="json"))
    if checkpoint.is_file():
        run.load(checkpoint)
    run.seconds += spent
    _train(run, out / "log.csv", checkpoint)
    run.model.eval().save(out / "model")
    tokenizer.save(out / "model" / "tokenizer.json")


def agree(path: Path, settings: dict[str, Any]) -> None:
    """Note the settings of a folder. Raises InputError where it was begun with others."""
    if path.is_file() and read_json(path) != settings:
        raise InputError(f"{path}: this folder holds a run with other settings; take its own, or another folder")
    write_json(path, settings)


def seconds() -> float:
    """Of processor time, of each thread."""
    return time.process_time() / torch.get_num_threads()


def _train(run: Pretraining, log: Path, checkpoint: Path) -> None:
    limit, before = 60 * run.plan.minutes, seconds()
    began, losses = run.seconds, list[float]()
    due = began + run.plan.every
    while run.seconds < limit:
        losses.append(run.step(run.seconds / limit))
        run.seconds = began + seconds() - before
        if run.seconds >= min(due, limit):
            loss, right = run.validate()
            run.seconds = began + seconds() - before
            mean = sum(losses) / len(losses)
            _note(log, run, [f"{mean:.4f}", f"{loss:.4f}", f"{right:.4f}"])
            run.save(checkpoint)
            losses, due = [], run.seconds + run.plan.every


def _note(log: Path, run: Pretraining, figures: list[str]) -> None:
    rate = run.plan.rate(run.seconds / (60 * run.plan.minutes))
    row = [f"{run.seconds / 60:.1f}", str(run.steps), str(run.tokens), f"{rate:.2e}", *figures]
    new = not log.is_file()
    with log.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, row] if new else [row])
    print("  ".join(f"{name} {value}" for name, value in zip(COLUMNS, row, strict=True)), flush=True)


def parameters(model: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(parameter.numel() for parameter in model.parameters())
