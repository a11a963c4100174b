"""What the benchmarks of translators share: Tatoeba's pairs as ids, training under a clock, its settings."""

import tempfile
from pathlib import Path

import click
import numpy as np
from public_data import Missing, find, read

from langladder.data.batches import StepBatches
from langladder.data.translation import PairBatch
from langladder.models.making import Run
from langladder.models.translation.translator import Translator
from langladder.tasks.settings import TranslationTraining
from langladder.tasks.training import train_task
from langladder.tasks.translation import TranslationTask
from langladder.text.storage.token_streams import PairStream, Rows
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from microworld import corpora

HELD_OUT = 500
SIZES = {"width": 256, "heads": 8, "layers": 3, "expansion": 2}
"""Of the Transformer that is measured: 3 + 3 layers, 256/512, 8 heads."""
ADAM = {"optimizer": "adam", "betas": [0.9, 0.98], "schedule": "constant", "clip_norm": 1.0}

cells = click.option("--batch-tokens", default=4096, show_default=True, help="cells of an update: padding and all")


def text(data: Path) -> list[tuple[str, str]]:
    """Sentence pairs in random order; microworld's where the corpus is not there."""
    try:
        lines = read(find(data, "tatoeba-en-fr/fra.txt")).decode().splitlines()
        pairs = [(source, target) for source, target, *_ in (line.split("\t") for line in lines)]
    except Missing:
        table = corpora.draw_pairs(1, "train", corpora.SIZES["small"].pairs[0])
        pairs = list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))
    order = np.random.default_rng(1).permutation(len(pairs))
    return [pairs[place] for place in order]


def corpus(data: Path, vocabulary: int = 4000) -> tuple[PairStream, PairStream, Tokenizer]:
    """Training pairs, held-out pairs, and their common tokenizer."""
    pairs = text(data)[:60_000]
    learnt = [side for pair in pairs[:20_000] for side in pair]
    tokenizer = train_tokenizer(learnt, TokenizerConfig(kind="bpe_bytes", vocab_size=vocabulary))
    sources, targets = (tokenizer.encode_lines(side) for side in zip(*pairs, strict=True))

    def rows(column: list[np.ndarray]) -> Rows:
        return Rows(np.concatenate(column), np.concatenate([[0], np.cumsum([len(row) for row in column])]))

    whole = (
        [np.append(row, EOS).astype(np.int32) for row in sources],
        [np.concatenate([[BOS], row, [EOS]]).astype(np.int32) for row in targets],
    )
    train, held = (
        PairStream(*(rows(side[part]) for side in whole)) for part in (slice(HELD_OUT, None), slice(HELD_OUT))
    )
    return train, held, tokenizer


def train(model: Translator, batches: StepBatches[PairBatch], training: TranslationTraining) -> None:
    """What `train_translator` does, under a clock."""
    with tempfile.TemporaryDirectory() as work:
        train_task(TranslationTask(model, training), batches, training, Run(1, Path(work)))
    model.eval()


def settings(steps: int, **chosen: object) -> TranslationTraining:
    """Training settings of a benchmark: on the CPU, no validation before the end."""
    shown = {"progress": False, "validate_every": steps, "checkpoint_every": steps}
    return TranslationTraining.model_validate({"max_steps": steps, "accelerator": "cpu"} | ADAM | shown | chosen)
