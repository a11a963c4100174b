"""Fine-tuning a BERT-mini on sentences with labels: how fast, beside `BertForSequenceClassification` in a plain loop.

    .venv-peers/bin/python benchmarks/pretraining.py fine-tuning --vocabulary 8000

Stanford Sentiment Treebank (8,544 sentences, five labels), WordPiece learnt on it and on Wikipedia; without these sets,
random tokens in sentences of such lengths. Both sides begin with the same weights, which is checked first, and see the
same sentences a round, as many a batch: theirs in random order, padded to the longest of its batch, by torch's AdamW;
ours of about equal length, without padding, by the optimiser that trains every rung. Both clip the gradient at 1.

Processor time; rounds alternate, and the ratio is the median of the paired ratios.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import click
import numpy as np
import torch
from measure import machine, markdown, threads, verdict
from public_data import Missing, data, find, read

from langladder.data.reading import ReadingBatches
from langladder.formats.bert import fine_tuned_arrays, fine_tuned_config
from langladder.ground.memory import keep_freed_memory
from langladder.models.classification.bert_classifier import BERTClassifier, BERTClassifierConfig
from langladder.models.classification.neural_classifier import Encoded, collate
from langladder.models.encoders.bert import BERTConfig
from langladder.models.encoders.bert_features import framed
from langladder.tasks.classification import Classification, LabelledBatch
from langladder.tasks.optimisation import clip_gradients
from langladder.tasks.settings import ReadingTraining
from langladder.text.labelled.labelled import parse_tree
from langladder.text.tokenize.specials import PAD, RESERVED
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

LABELS, TARGET = 5, 2.0
TRAINING = ReadingTraining(lr=1e-4, clip_norm=1.0, schedule="constant")
Step = Callable[[np.ndarray], float]


class Sentences(NamedTuple):
    """Framed ids of each, their labels (N,), how many tokens there are, and where they come from."""

    ids: list[np.ndarray]
    labels: torch.Tensor
    vocab_size: int
    source: str


def sentences(folder: Path, vocabulary: int) -> Sentences:
    """SST's, else random ones of its lengths."""
    try:
        lines = read(find(folder, "sst-trees/train.8544.txt")).decode().replace("\xa0", "_").splitlines()
        trees = [parse_tree(line) for line in lines if line]
        texts = [" ".join(tree.words) for tree in trees]
        more = read(find(folder, "wiki-en/wiki_en.txt")).decode().splitlines()[:20_000]
    except Missing:
        random = np.random.default_rng(1)
        lengths = random.gamma(4.0, 6.0, 8_000).astype(int).clip(2, 80)  # mean 24, deviation 12
        rows = [random.integers(4, vocabulary, length) for length in lengths]
        labels = torch.from_numpy(random.integers(0, LABELS, len(rows)))
        return _framed(rows, labels, vocabulary + len(RESERVED), "random tokens")
    tokenizer = train_tokenizer(
        [*texts, *more], TokenizerConfig(kind="wordpiece", vocab_size=vocabulary, character_coverage=0.995)
    )
    labels = torch.tensor([int(str(tree.label[-1])) for tree in trees])
    return _framed(tokenizer.encode_lines(texts), labels, tokenizer.full_vocab_size, "SST")


def _framed(rows: Sequence[np.ndarray], labels: torch.Tensor, vocab_size: int, source: str) -> Sentences:
    return Sentences([np.array(framed(row, vocab_size), dtype=np.int32) for row in rows], labels, vocab_size, source)


def our_step(model: BERTClassifier, text: Sentences) -> Step:
    """What `tasks.classification` does at a step, Lightning apart."""
    task = Classification(model, TRAINING)
    optimizer = task.configure_optimizers()
    encoded = [Encoded(ids) for ids in text.ids]

    def step(rows: np.ndarray) -> float:
        batch = LabelledBatch(collate([encoded[row] for row in rows]), text.labels[rows])
        loss = task.loss(batch)
        task.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        clip_gradients(task, 1.0)
        optimizer.step()
        return float(loss.detach())

    return step


def their_step(peer: Any, text: Sentences) -> Step:
    """The plain way: rows padded to the longest, `torch.optim.AdamW`."""
    optimizer = torch.optim.AdamW(peer.parameters(), lr=TRAINING.lr, weight_decay=0.0)
    rows_of = [torch.from_numpy(ids.astype(np.int64)) for ids in text.ids]

    def step(rows: np.ndarray) -> float:
        ids = torch.nn.utils.rnn.pad_sequence([rows_of[row] for row in rows], batch_first=True, padding_value=PAD)
        loss = peer(input_ids=ids, attention_mask=(ids != PAD).long(), labels=text.labels[rows]).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    return step


def peer_of(model: BERTClassifier) -> Any:
    """`BertForSequenceClassification` with the weights that ours begins with."""
    from transformers import BertConfig, BertForSequenceClassification

    peer = BertForSequenceClassification(BertConfig(**fine_tuned_config(model)))
    arrays = {name: torch.from_numpy(array.copy()) for name, array in fine_tuned_arrays(model).items()}
    peer.load_state_dict(arrays)
    return peer


@torch.no_grad()
def difference(model: BERTClassifier, peer: Any, text: Sentences) -> float:
    """The largest difference of a score, over some sentences."""
    batch = collate([Encoded(ids) for ids in text.ids[:32]])
    theirs = peer.eval()(input_ids=batch.tokens, attention_mask=batch.mask.long()).logits
    return float((model.eval().logits(batch) - theirs).abs().max())


def rounds(text: Sentences, count: int, rows: int, steps: int) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """The sentences of each round in batches: theirs in random order, ours as training takes them."""
    for number in range(count):
        chosen = np.random.default_rng(number).permutation(len(text.ids))[: rows * steps]
        lengths = [len(text.ids[row]) for row in chosen]
        own = ReadingBatches((lengths, []), lambda _, places: places, batch_size=rows, seed=number)
        yield np.split(chosen, len(chosen) // rows), [chosen[own.rows(step)] for step in range(own.per_epoch)]


def seconds(step: Step, batches: Sequence[np.ndarray]) -> float:
    """Processor time."""
    began = time.process_time()
    for rows in batches:
        step(rows)
    return time.process_time() - began


@click.command("fine-tuning")
@data
@threads
@click.option("--vocabulary", default=8000, show_default=True)
@click.option("--rounds", "count", default=5, show_default=True)
@click.option("--steps", default=50, show_default=True, help="Of a round; training sorts as many by length.")
@click.option("--rows", default=32, show_default=True, help="Sentences of a batch.")
def fine_tuning(data: Path, threads: int, vocabulary: int, count: int, steps: int, rows: int) -> None:
    """Sentences per second of fine-tuning a classifier."""
    torch.set_num_threads(threads)
    keep_freed_memory()  # as in every training here: the peer gains from it, too
    text = sentences(data, vocabulary)
    torch.manual_seed(1)
    body = BERTConfig.model_validate({"preset": "mini", "context": 512})
    model = BERTClassifier(BERTClassifierConfig(body=body), text.vocab_size, LABELS)
    model.labels = [str(label) for label in range(LABELS)]
    peer = peer_of(model)
    apart = difference(model, peer, text)
    theirs, ours = their_step(peer.train(), text), our_step(model.train(), text)
    spans = [(seconds(theirs, one), seconds(ours, two)) for one, two in rounds(text, count + 1, rows, steps)][1:]
    slow, fast = (median(rows * steps / pair[side] for pair in spans) for side in (0, 1))
    ratio = median(pair[0] / pair[1] for pair in spans)
    markdown(
        f"BERT-mini, fine-tuned on sentences, V = {text.vocab_size:,}",
        ["", "transformers", "ours", "ratio", "target"],
        [["sentences/s", f"{slow:,.0f}", f"{fast:,.0f}", f"{ratio:.2f} ×", verdict(ratio, TARGET)]],
        [
            f"{machine(threads)}. {text.source}: {len(text.ids):,} sentences, {np.mean(list(map(len, text.ids))):.1f} "
            f"tokens in the mean, {rows} a batch. Largest difference of a score at first: {apart:.1e}."
        ],
    )


if __name__ == "__main__":
    fine_tuning()
