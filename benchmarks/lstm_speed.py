"""How fast the LSTM language model trains, beside a plain torch loop of the same model, in one run.

The plain side is the loop of pytorch/examples `word_language_model`, written beside ours: embedding, `nn.LSTM`,
`nn.Linear`, `CrossEntropyLoss`, SGD by hand after `clip_grad_norm_`, in fp32. Ours is `RecurrentLM` under
`train_language_model`: Lightning, the sliced softmax, memory kept between steps, bf16 where the processor has it.
Both see the same batches, begin with the same weights and make the same number of steps.

    python benchmarks/lstm_speed.py --steps 60
    python benchmarks/lstm_speed.py --text wikitext-2/train.txt   # words of a file; else Zipf-like random words
"""

import math
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

import click
import numpy as np
import torch
from torch import nn

from langladder.data.language_modelling import StreamBatches
from langladder.models.recurrent import RecurrentLM
from langladder.tasks.language_modelling import train_language_model
from langladder.tasks.memory import keep_freed_memory
from langladder.tasks.optimisation import resolve_precision
from langladder.tasks.settings import LMTrainingConfig
from langladder.text.corpus_ids import TokenStream
from langladder.text.specials import BOS, EOS

CLIP = 0.25


class Plain(nn.Module):
    """The example's model, without dropout, so that both sides can be held to the same losses."""

    def __init__(self, ours: RecurrentLM) -> None:
        super().__init__()
        config = ours.config
        assert ours.head.bias is not None
        self.encoder = nn.Embedding(ours.vocab_size, config.embedding_dim)
        self.rnn = nn.LSTM(config.embedding_dim, config.width, config.layers)  # time first, as the example has it
        self.decoder = nn.Linear(config.width, ours.vocab_size)
        with torch.no_grad():
            self.encoder.weight.copy_(ours.embedding.weight)
            self.decoder.weight.copy_(ours.head.weight)
            self.decoder.bias.copy_(ours.head.bias)
            for number, layer in enumerate(ours.cell.layers):
                for name, parameter in layer.rnn.named_parameters():
                    getattr(self.rnn, name.replace("_l0", f"_l{number}")).copy_(parameter)

    def forward(self, tokens: torch.Tensor, state: tuple[torch.Tensor, ...] | None) -> tuple[torch.Tensor, ...]:
        """(T, B) → logits (T · B, V), state."""
        output, state = self.rnn(self.encoder(tokens), state)
        return self.decoder(output).flatten(0, 1), state


def train_plain(model: Plain, batches: StreamBatches, steps: int, rate: float) -> tuple[list[float], list[float]]:
    """Loss and seconds of every step."""
    criterion, state, losses, seconds = nn.CrossEntropyLoss(), None, [], []
    for step in range(steps):
        batch = batches.train(step)
        started = time.perf_counter()
        state = None if batch.fresh or state is None else tuple(part.detach() for part in state)
        tokens = batch.tokens.T.contiguous()  # (T + 1, B)
        model.zero_grad()
        logits, state = model(tokens[:-1], state)
        loss = criterion(logits, tokens[1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=-rate)
        losses.append(loss.item())
        seconds.append(time.perf_counter() - started)
    return losses, seconds


def corpus(text: Path | None, vocabulary: int, tokens: int) -> tuple[TokenStream, int]:
    """A text as one document, and its vocabulary's size."""
    if text is None:
        share = 1 / np.arange(1, vocabulary - 3)
        words = np.random.default_rng(0).choice(vocabulary - 4, size=tokens, p=share / share.sum()) + 4
        ids = words.astype(np.int32)
        ids[0] = BOS
        return TokenStream(ids, np.array([0, len(ids)])), vocabulary
    lines = [line.split() for line in text.read_text(encoding="utf-8").splitlines()]
    counts = Counter(word for line in lines for word in line)
    number = {word: place for place, (word, _) in enumerate(counts.most_common(), start=4)}
    # as in the example: one text of words and line ends
    ids = np.array([BOS, *(i for line in lines for i in [*(number[w] for w in line), EOS])], dtype=np.int32)
    return TokenStream(ids, np.array([0, len(ids)])), len(number) + 4


@click.command()
@click.option("--text", type=click.Path(exists=True, path_type=Path), help="a text file of words; none: random words")
@click.option("--vocabulary", default=33_278, show_default=True, help="of the random words")
@click.option("--width", default=200, show_default=True)
@click.option("--layers", default=2, show_default=True)
@click.option("--batch", default=20, show_default=True, help="parallel streams")
@click.option("--bptt", default=35, show_default=True, help="tokens a step in each of them")
@click.option("--steps", default=60, show_default=True)
@click.option("--lr", default=5.0, show_default=True)
@click.option("--threads", default=2, show_default=True)
def main(
    text: Path | None,
    vocabulary: int,
    width: int,
    layers: int,
    batch: int,
    bptt: int,
    steps: int,
    lr: float,
    threads: int,
) -> None:
    """Print tokens a second and the last losses of both sides, and their ratio."""
    torch.set_num_threads(threads)
    stream, size = corpus(text, vocabulary, max(200_000, batch * bptt * (steps + 2)))
    few = TokenStream(stream.ids[:50], np.array([0, 50]))  # validation is no part of this
    sizes = {"batch_size": batch, "sequence_length": bptt}
    optimisation = {"optimizer": "sgd", "lr": lr, "schedule": "constant", "clip_norm": CLIP, "max_steps": steps}
    training = LMTrainingConfig(
        **sizes, **optimisation, accelerator="cpu", validate_every=steps, log_every=1, progress=False
    )
    torch.manual_seed(1)
    model = RecurrentLM(RecurrentLM.Config(width=width, embedding_dim=width, layers=layers, tie_weights=False), size)
    plain = Plain(model)
    # before memory is told to stay: that is part of what is measured
    losses, seconds = train_plain(plain, StreamBatches(stream, few, seed=1, **sizes), steps, lr)
    theirs = batch * bptt / statistics.median(seconds)
    with tempfile.TemporaryDirectory() as work:
        result = train_language_model(model, stream, few, training, seed=1, work=Path(work))
    ours = result.tokens_per_second
    last = [float(row["train_loss"] or math.nan) for row in result.curve]
    tail = max(1, steps // 5)
    print(f"V = {size:,}, {layers} × {width}, batch {batch}, BPTT {bptt}, {threads} threads, {steps} steps")
    print(
        f"plain torch   {theirs:>9,.0f} tokens/s   loss of the last {tail} steps {statistics.mean(losses[-tail:]):.4f}"
    )
    print(
        f"langladder    {ours:>9,.0f} tokens/s   loss of the last {tail} steps {statistics.mean(last[-tail:]):.4f}   "
        f"({resolve_precision(training)})"
    )
    print(f"ratio         {ours / theirs:>9.2f} ×        freed memory kept: {keep_freed_memory()}")


if __name__ == "__main__":
    main()
