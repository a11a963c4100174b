"""Networks that classify beside the same ones as they are mostly written: texts, trees, words per second of training.

    python benchmarks/reading.py networks                     # all four, in turn, medians of the paired steps

Stanford Sentiment Treebank (8,544 trees, five labels), one thread, processor time: steps of both sides alternate, and
the ratio is the median of the paired ratios over rounds of `--steps` steps. Both sides have the same sizes and see the
same texts a round; a step is batch, loss, gradients, update. Ours takes batches of about equal length, as training
does. fastText's peer is the tool (`pip install fasttext`), else a loop over texts in torch; both whole: reading the
texts, counting words, 5 epochs of words and word pairs.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import click
import numpy as np
import torch
from measure import machine, markdown, verdict
from plain_reading import PlainBiLSTM, PlainTextCNN, PlainTreeLSTM
from public_data import data, find, read
from torch import nn
from torch.nn import functional

from langladder.ground.memory import keep_freed_memory
from langladder.models.classification.fasttext import FastText, FastTextConfig, make
from langladder.models.classification.neural_classifier import NeuralClassifier, collate
from langladder.models.classification.recurrent_classifier import RecurrentClassifier, RecurrentReaderConfig
from langladder.models.classification.textcnn import TextCNN, TextCNNConfig
from langladder.models.classification.tree_lstm import TreeLSTM, TreeLSTMConfig
from langladder.models.making import Run
from langladder.models.units import WordUnits
from langladder.tasks.optimisation import TrainingConfig, make_optimizer, train_by_rows
from langladder.text.labelled.labelled import Example, Tree, parse_tree

LABELS = ["0", "1", "2", "3", "4"]
DIM, BATCH = 300, 50
PEER = """
import sys, time, fasttext
began = time.process_time()
fasttext.train_supervised(sys.argv[1], dim=100, lr=0.5, epoch=5, wordNgrams=2, thread=1, verbose=0)
print(time.process_time() - began)
"""
Step = Callable[[Sequence[int]], None]


class Corpus:
    """The training trees of SST."""

    def __init__(self, folder: Path) -> None:
        lines = read(find(folder, "sst-trees/train.8544.txt")).decode().replace("\xa0", "_").splitlines()
        self.trees = [parse_tree(line) for line in lines if line]
        self.examples = [
            Example(" ".join(tree.words), None, tree.label[-1], line)
            for tree, line in zip(self.trees, filter(None, lines), strict=True)
        ]
        self.units = WordUnits.of([example.text for example in self.examples], mode="whitespace")
        self.ids = [torch.from_numpy(self.units.ids(tree.words)).long() for tree in self.trees]
        self.labels = torch.tensor([int(str(example.label)) for example in self.examples])

    def rounds(self, count: int, texts: int) -> list[np.ndarray]:
        """So many rounds of so many texts each."""
        order = np.random.default_rng(1).permutation(len(self.trees))
        return [order[place * texts : (place + 1) * texts] for place in range(count)]

    def plain_batch(self, rows: Sequence[int]) -> torch.Tensor:
        """Padded to the longest text."""
        return nn.utils.rnn.pad_sequence([self.ids[row] for row in rows], batch_first=True)


def ours(corpus: Corpus, network: NeuralClassifier, optimizer_name: str = "adam") -> Step:
    """One step of ours, the optimiser as in every training here."""
    network.equip(corpus.units, LABELS).train()
    training = TrainingConfig.model_validate(
        {"optimizer": optimizer_name, "lr": 0.05 if optimizer_name == "adagrad" else 1e-3}
    )
    train_by_rows(network, training)
    optimizer = make_optimizer(network, training)
    encoded = [network.encode(example) for example in corpus.examples]

    def step(rows: Sequence[int]) -> None:
        loss = network.loss(collate([encoded[row] for row in rows]), corpus.labels[list(rows)])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def theirs(corpus: Corpus, network: nn.Module) -> Step:
    """One step of a plain network over padded batches."""
    optimizer = torch.optim.Adam(network.parameters())

    def step(rows: Sequence[int]) -> None:
        loss = functional.cross_entropy(network(corpus.plain_batch(rows)), corpus.labels[list(rows)])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def by_recursion(corpus: Corpus, network: PlainTreeLSTM) -> Step:
    """One step of the recursive loop."""
    optimizer = torch.optim.Adagrad(network.parameters(), lr=0.05)

    def wanted(tree: Tree) -> list[int]:
        return [-1 if label is None else int(label) for label in tree.label]

    def step(rows: Sequence[int]) -> None:
        loss = network.loss([(corpus.trees[row], corpus.ids[row], wanted(corpus.trees[row])) for row in rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def batches(corpus: Corpus, rows: np.ndarray, size: int, *, by_length: bool) -> list[np.ndarray]:
    """The texts of a round in batches, as they come or of about equal length."""
    if by_length:
        rows = rows[np.argsort([len(corpus.ids[row]) for row in rows], kind="stable")]
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def clocked(step: Step, parts: Sequence[np.ndarray]) -> float:
    """Processor seconds."""
    began = time.process_time()
    for part in parts:
        step(part.tolist())
    return time.process_time() - began


def pair(corpus: Corpus, own: Step, peer: Step, size: int, rounds: int, steps: int) -> tuple[float, float, float]:
    """Texts per second of the peer and of ours, and the median of the paired ratios; the first round warms up."""
    found = []
    for rows in corpus.rounds(rounds + 1, size * steps):
        seconds = clocked(peer, batches(corpus, rows, size, by_length=False))
        found.append((seconds, clocked(own, batches(corpus, rows, size, by_length=True))))
    texts = size * steps
    slow, fast = (median(texts / row[side] for row in found[1:]) for side in (0, 1))
    return slow, fast, median(row[0] / row[1] for row in found[1:])


def fasttext_pair(corpus: Corpus, python: str, rounds: int) -> tuple[float, float, float, str]:
    """Words per second of the peer and of ours, the median ratio, and who the peer is."""
    words = 5 * sum(len(tree.words) for tree in corpus.trees)
    settings = SimpleNamespace(model=FastTextConfig(dim=100, lr=0.5, epochs=5, word_ngrams=2, words="whitespace"))
    make(
        FastText, LABELS, corpus.examples[:50], [], settings=settings, run=Run(1, Path())
    )  # compiled before the clock starts
    found, peer = [], "fasttext"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.txt"
        lines = [f"__label__{example.label} {example.text.lower()}\n" for example in corpus.examples]
        file.write_text("".join(lines), encoding="utf-8")
        for _ in range(rounds):
            done = subprocess.run([python, "-c", PEER, str(file)], capture_output=True, text=True, check=False)
            peer = "fasttext" if done.returncode == 0 else "a loop in torch"
            seconds = float(done.stdout) if done.returncode == 0 else torch_loop(corpus)
            model = FastText(settings.model, LABELS)
            began = time.process_time()
            model.fit(corpus.examples, [])
            found.append((seconds, time.process_time() - began))
    slow, fast = (median(words / row[side] for row in found) for side in (0, 1))
    return slow, fast, median(row[0] / row[1] for row in found), peer


def torch_loop(corpus: Corpus, texts: int = 1000) -> float:
    """Seconds that the same would take text by text in torch (words alone), from so many texts."""
    bag = nn.EmbeddingBag(corpus.units.full_vocab_size, 100, mode="mean", sparse=True)
    head = nn.Linear(100, len(LABELS))
    optimizer = torch.optim.SGD([*bag.parameters(), *head.parameters()], lr=0.5)
    began = time.process_time()
    for row in range(texts):
        loss = functional.cross_entropy(head(bag(corpus.ids[row][None])), corpus.labels[row : row + 1])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return (time.process_time() - began) * 5 * len(corpus.trees) / texts


@click.command("networks")
@data
@click.option("--works", default="trees,textcnn,bilstm,fasttext", show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--steps", default=50, show_default=True, help="of a round; training sorts as many by length")
@click.option("--peer-python", default=sys.executable, help="An interpreter that has the package fasttext.")
def networks(data: Path, works: str, rounds: int, steps: int, peer_python: str) -> None:
    """Trees, sentences and words per second of training, ours and plain ones, interleaved."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as in every training here: the peers gain from it, too
    corpus, rows = Corpus(data), []
    V, C = corpus.units.full_vocab_size, len(LABELS)
    for work in works.split(","):
        torch.manual_seed(1)
        if work == "fasttext":
            slow, fast, ratio, peer = fasttext_pair(corpus, peer_python, rounds)
            rows.append((f"fastText, words/s, beside {peer}", slow, fast, ratio, 1.0 if peer == "fasttext" else 8.0))
        elif work == "trees":
            for cell in ("n_ary", "child_sum"):
                config = TreeLSTMConfig.model_validate(
                    {"cell": cell, "embedding_dim": DIM, "width": 150, "loss": "nodes"}
                )
                plain = by_recursion(corpus, PlainTreeLSTM(V, DIM, C, 150, n_ary=cell == "n_ary"))
                own = ours(corpus, TreeLSTM(config, V, C), "adagrad")
                found = pair(corpus, own, plain, BATCH, rounds, max(2, steps // 25))
                rows.append((f"Tree-LSTM, {cell}, trees/s", *found, 20.0))
        else:
            network: NeuralClassifier = TextCNN(TextCNNConfig(embedding_dim=DIM), V, C)
            plain_network: nn.Module = PlainTextCNN(V, DIM, C)
            if work == "bilstm":
                settings = RecurrentReaderConfig(embedding_dim=DIM, width=300, bidirectional=True, pooling="max")
                network, plain_network = RecurrentClassifier(settings, V, C), PlainBiLSTM(V, DIM, C, 300)
            found = pair(corpus, ours(corpus, network), theirs(corpus, plain_network), BATCH, rounds, steps)
            rows.append((f"{work}, sentences/s", *found, 2.0))
    markdown(
        f"Training of classifiers, medians of {rounds} paired rounds",
        ["work", "plain", "langladder", "ratio", "target"],
        [
            [name, f"{a:,.0f}", f"{b:,.0f}", f"{ratio:.2f} ×", verdict(ratio, target)]
            for name, a, b, ratio, target in rows
        ],
        [machine(1), f"SST, {len(corpus.trees):,} trees"],
    )
