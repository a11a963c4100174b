"""Translation: how fast translators train and decode, beside plain loops of the same models, in one run.

    python benchmarks/translation.py all            every part, each in a process of its own
    python benchmarks/translation.py transformer    one part; --help names its options

Pairs are Tatoeba's English and French, or microworld's where those are absent, in one BPE vocabulary. The plain loops
stand in `plain_translation.py`, one of Hugging Face's beam search too; where `transformers` is installed (`make
test-peers` makes such an environment), its Marian model with the same weights decodes as well, and where JoeyNMT is
(`joeynmt_speed.py`), it trains the same Transformer. The plain side trains first, before this process is told to keep
freed memory. Both sides make the same number of updates from the same number of pairs an update, so that they have
seen as much when losses are compared.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from statistics import median

import click
import numpy as np
import torch
from joeynmt_speed import main as joeynmt
from measure import Clocked, machine, markdown, speed_row, threads, verdict
from pairs import SIZES, cells, corpus, settings, train
from plain_translation import (
    PlainRNN,
    PlainTransformer,
    UnsortedBatches,
    order_of_arrival,
    plain_beam_search,
    train_plain,
    validation_loss,
)
from public_data import data

from langladder.data.translation import TranslationBatches, pad
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.translate import translate
from langladder.formats.marian import export_marian
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.transformer import Transformer
from langladder.models.translation.translator import Translator
from langladder.tasks.optimisation import learning_rate, resolve_precision
from langladder.tasks.settings import TranslationTraining
from langladder.text.tokenize.specials import EOS, PAD
from langladder.text.tokenize.tokenizers import Tokenizer

LIMIT = 50
"""Most tokens of a translation in the comparison of searches, EOS included."""


def compare(
    title: str, model: Translator, plain: torch.nn.Module, path: Path, training: TranslationTraining, target: float
) -> None:
    """Train both sides and print the table."""
    pairs, held, _ = corpus(path)
    limits = {"batch_tokens": training.batch_tokens, "max_length": training.max_length}
    batches = TranslationBatches(pairs, None, **limits, seed=1, padded=model.pads)
    rows = round(len(pairs) / batches.batches_per_epoch())
    clocks = [Clocked(UnsortedBatches(pairs, rows, seed=1)), Clocked(batches)]
    steps = training.max_steps
    first, second = training.betas
    rate = partial(learning_rate, training)
    train_plain(plain, clocks[0], range(steps), rate, betas=(first, second), clip=training.clip_norm or np.inf)
    train(model, clocks[1], training)
    plain.eval()
    ends = TranslationBatches(pairs, held, batch_tokens=4096, max_length=200, seed=1).validation()
    losses = [validation_loss(side, list(ends)) for side in (plain, model)]
    theirs, ours = (clock.mean_tokens_per_second() for clock in clocks)
    seen = [sum(clock.sizes) for clock in clocks]
    markdown(
        f"{title}, {steps} updates of about {rows} pairs",
        ["", "plain torch, unsorted", "langladder", "ratio", "target"],
        [
            speed_row(theirs, ours, target, "training target tokens/s"),
            ["target tokens seen", *(f"{count:,}" for count in seen), f"{seen[1] / seen[0]:.2f} ×", ""],
            ["held-out loss a token", *(f"{loss:.3f}" for loss in losses), f"{losses[1] / losses[0] - 1:+.1%}", ""],
        ],
        [f"{machine(torch.get_num_threads())}; ours in {resolve_precision(training)}"],
    )


@click.group(help=__doc__)
def main() -> None:
    """See the module."""


main.add_command(joeynmt, "joeynmt")


@main.command()
@data
@click.option("--steps", default=50, show_default=True)
@cells
@threads
def transformer(data: Path, steps: int, batch_tokens: int, threads: int) -> None:
    """Transformer (3 + 3 layers, 256/512, 8 heads) against torch.nn.Transformer in a bare loop."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    V = corpus(data)[2].vocab_size
    plain = PlainTransformer(vocab_size=V, width=256, heads=8, layers=3, inner=512, dropout=0.1)
    model = Transformer(Transformer.Config(**SIZES, dropout=0.1), V, V)
    training = settings(steps, lr=1e-3, warmup_steps=min(20, steps), batch_tokens=batch_tokens)
    compare(f"Transformer, 3 + 3 layers, 256/512, 8 heads, V = {V:,}", model, plain, data, training, 3)


@main.command()
@data
@click.option("--steps", default=30, show_default=True)
@click.option("--batch-tokens", default=2048, show_default=True, help="cells of a batch: pairs × longest side")
@threads
def attention(data: Path, steps: int, batch_tokens: int, threads: int) -> None:
    """Attention seq2seq (GRU 256, additive attention) against a decoder that loops over whole steps."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    V = corpus(data)[2].vocab_size
    plain = PlainRNN(vocab_size=V, embedding=256, width=256, attention=256)
    config = AttentionSeq2Seq.Config(width=256, embedding_dim=256, attention_width=256, dropout=0.0)
    training = settings(steps, lr=2e-3, warmup_steps=min(10, steps), batch_tokens=batch_tokens)
    compare(f"Attention seq2seq, GRU 256, V = {V:,}", AttentionSeq2Seq(config, V, V), plain, data, training, 3)


def marian_generate(
    model: Transformer, tokenizer: Tokenizer, *, width: int, alpha: float
) -> Callable[[torch.Tensor, int], list[list[int]]]:
    """The beam search of `transformers`, through its own Marian model with our weights."""
    from transformers import MarianMTModel

    with tempfile.TemporaryDirectory() as work:
        export_marian(model, tokenizer, tokenizer, Path(work) / "marian")
        peer = MarianMTModel.from_pretrained(Path(work) / "marian").eval()

    @torch.no_grad()
    def generate(source: torch.Tensor, limit: int) -> list[list[int]]:
        mask = (source != PAD).long()
        beams = {"num_beams": width, "length_penalty": alpha, "max_length": limit + 1}  # BOS counts
        rows = peer.generate(input_ids=source, attention_mask=mask, **beams).tolist()
        return [list(takewhile(lambda token: token != EOS, row[1:])) for row in rows]

    return generate


@main.command()
@data
@click.option("--steps", default=250, show_default=True, help="of training before; an untrained model never ends")
@click.option("--sentences", default=192, show_default=True)
@click.option("--rows", default=32, show_default=True, help="sentences a batch of the plain search")
@threads
def beam(data: Path, steps: int, sentences: int, rows: int, threads: int) -> None:
    """Beam search of width 5 against Hugging Face's `generate`, and against a plain form of its search."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    pairs, held, tokenizer = corpus(data)
    V = tokenizer.vocab_size
    model = Transformer(Transformer.Config(**SIZES, dropout=0.0), V, V)
    training = settings(steps, lr=1e-3, warmup_steps=min(50, steps), batch_tokens=2048)
    train(model, TranslationBatches(pairs, None, batch_tokens=2048, max_length=60, seed=1, padded=model.pads), training)
    sources = [held.source.row(row) for row in range(sentences)]
    lengths = np.array([len(source) for source in sources])
    batches = [pad([sources[row] for row in part]) for part in order_of_arrival(lengths, rows)]
    config = BeamConfig(width=5, alpha=0.7, max_length=LIMIT - 1, max_ratio=LIMIT)  # EOS may follow

    def plainly() -> list[list[int]]:
        found = (plain_beam_search(model, batch, width=5, alpha=0.7, limit=LIMIT) for batch in batches)
        return [tokens for part in found for tokens in part]

    def ours() -> list[list[int]]:
        return [found[0].tokens for found in translate(model, sources, config)]

    sides: dict[str, Callable[[], list[list[int]]]] = {"langladder": ours, "its search, plainly": plainly}
    if find_spec("transformers"):
        generate = marian_generate(model, tokenizer, width=5, alpha=0.7)
        sides["Marian's generate"] = lambda: [tokens for batch in batches for tokens in generate(batch, LIMIT)]
    found, seconds = {}, {}
    for name, side in sides.items():
        seconds[name], found[name] = median_of_three(side)
    times = list(seconds.values())
    markdown(
        f"Beam search, width 5, α = 0.7, {sentences} sentences, Transformer of 3 + 3 layers after {steps} updates",
        ["", *sides],
        [
            ["sentences/s", *(f"{sentences / value:.1f}" for value in times)],
            [
                "langladder is faster",
                "",
                *(f"{value / times[0]:.2f} × {verdict(value / times[0], 2)}" for value in times[1:]),
            ],
            ["tokens found", *(f"{sum(map(len, found[name])):,}" for name in sides)],
            [
                "the same sentence as langladder",
                *(
                    f"{np.mean([a == b for a, b in zip(found['langladder'], found[name], strict=True)]):.0%}"
                    for name in sides
                ),
            ],
        ],
        [
            f"{machine(threads)}; fp32, median of 3. The others take {rows} sentences a batch as they come, "
            "and carry all of them along until the last one is done."
        ],
    )


def median_of_three(side: Callable[[], list[list[int]]]) -> tuple[float, list[list[int]]]:
    """Seconds, and what was found."""
    seconds, found = [], side()
    for _ in range(3):
        started = time.perf_counter()
        found = side()
        seconds.append(time.perf_counter() - started)
    return median(seconds), found


@main.command(name="all")
def everything() -> None:
    """Every part, one after the other."""
    for part in ("transformer", "attention", "beam"):
        subprocess.run([sys.executable, __file__, part], check=True)


if __name__ == "__main__":
    main()
