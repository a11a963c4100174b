"""Classifiers on public sets: sentiment trees (two and five labels), questions, reviews; mean and deviation over seeds.

    python benchmarks/classifier_quality.py vectors /tmp/wiki300                    # skip-gram on wiki-en, two minutes
    python benchmarks/classifier_quality.py judge sst2 --vectors /tmp/wiki300       # on dev, by which all was chosen
    python benchmarks/classifier_quality.py judge sst2 --vectors /tmp/wiki300 --test

`sst2` and `sst5`: a binary Tree-LSTM, a loss at every labelled node; `trec`: TextCNN with two channels; `mr`: NB-SVM
drawn towards naive Bayes, without vectors. Dev of `trec` are three thirds of the training questions, each left out in
turn; `mr` has ten folds, and dev is a tenth of the training texts of each. Both are judged on test after training on
all training texts: which weights are best is not asked. Vectors are scaled to a spread of 0.1 and trained on.
"""

import re
import tempfile
from collections import Counter
from pathlib import Path
from statistics import mean, stdev
from types import SimpleNamespace
from typing import Any, NamedTuple

import click
import numpy as np
import torch
from measure import markdown
from public_data import data, find, read
from public_labels import Splits, label_accuracy, splits

from langladder.embeddings.base import WordVectors
from langladder.embeddings.saved import load_vectors
from langladder.embeddings.word2vec.method import Word2Vec, Word2VecConfig
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.models.classification.textcnn import TextCNN
from langladder.models.classification.tree_lstm import TreeLSTM
from langladder.models.making import Run
from langladder.tasks.classification import make
from langladder.tasks.settings import ReadingInput, ReadingTraining
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

WORD = re.compile(r"n't\b|'(?:s|re|ve|ll|d|m)\b|[a-z0-9à-ÿ]+?(?=n't\b)|[a-z0-9à-ÿ]+(?:[-.,][a-z0-9à-ÿ]+)*|[^\sa-z0-9]")
SPREAD = 0.1
TREES: dict[str, Any] = {"cell": "n_ary", "width": 150, "loss": "nodes", "dropout": 0.5, "input_dropout": 0.2}
FILTERS: dict[str, Any] = {"widths": [1, 2, 3, 4], "filters": 100, "channels": 2, "padding": "same"}
FILTERS |= {"input_dropout": 0.2, "dropout": 0.5}
NB_SVM: dict[str, Any] = {"method": "nb_svm", "words": "whitespace", "ngrams": [1, 2], "strengths": [0.1]}
NB_SVM |= {"smoothing": 0.5, "interpolation": 0.5}
ADAGRAD: dict[str, Any] = {"optimizer": "adagrad", "lr": 0.05, "batch_size": 25, "epochs": 4}
ADAM: dict[str, Any] = {"optimizer": "adam", "lr": 0.001, "batch_size": 50, "epochs": 8, "validations": 1}
QUIET = {"schedule": "constant", "clip_norm": None, "max_steps": 100_000, "checkpoint_every": 100_000}
QUIET |= {"progress": False, "accelerator": "cpu"}


class Chosen(NamedTuple):
    """What dev chose for a set."""

    kind: type[NeuralClassifier] | type[LinearClassifier]
    model: dict[str, Any]
    training: dict[str, Any]
    lowercase: bool = True


CHOSEN = {
    "sst2": Chosen(TreeLSTM, TREES, ADAGRAD),
    "sst5": Chosen(TreeLSTM, TREES, ADAGRAD),
    "trec": Chosen(TextCNN, FILTERS, ADAM, lowercase=False),
    "mr": Chosen(LinearClassifier, NB_SVM, {}),
}


def vectors_of(path: Path, rows: Splits, out: Path, *, lowercase: bool) -> Path:
    """The vectors of the words of a set; a word keeps its case where case is kept, and has the vector of the other."""
    vectors = load_vectors(path)
    places = {word: place for place, word in enumerate(vectors.words)}
    words = {word for split in rows for example in split for word in example.text.split()}
    kept = {word.lower() if lowercase else word: places.get(word.lower(), -1) for word in sorted(words)}
    found = sorted((word for word in kept if kept[word] >= 0), key=lambda word: (kept[word], word))
    WordVectors(found, vectors.matrix[[kept[word] for word in found]]).save(out)
    return out


def train(name: str, rows: Splits, vectors: Path, seed: int) -> Classifier:
    """The classifier chosen for a set."""
    kind, model, training, lowercase = CHOSEN[name]
    labels = sorted({str(example.label) for example in rows.train})
    if issubclass(kind, LinearClassifier):
        linear = kind(kind.Config.model_validate(model), labels)
        linear.fit(rows.train, rows.dev)
        return linear
    with tempfile.TemporaryDirectory() as work:
        own = vectors_of(vectors, rows, Path(work) / "vectors", lowercase=lowercase)
        dim = load_vectors(own).matrix.shape[1]
        settings = SimpleNamespace(
            model=kind.Config.model_validate(model | {"embedding_dim": dim}),
            input=ReadingInput(words="whitespace", vectors=str(own), spread=SPREAD, lowercase=lowercase),
            training=ReadingTraining.model_validate(QUIET | training),
        )
        network, _ = make(kind, labels, rows.train, rows.dev, settings=settings, run=Run(seed, Path(work)))
    return network


@click.group()
def main() -> None:
    """Quality of classifiers."""


@main.command()
@click.argument("name", type=click.Choice(sorted(CHOSEN)))
@data
@click.option("--vectors", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--test", is_flag=True, help="Judge on the test split.")
@click.option("--seeds", default=5, show_default=True)
@click.option("--folds", default=10, show_default=True, help="Of mr: how many of ten.")
def judge(name: str, data: Path, vectors: Path, test: bool, seeds: int, folds: int) -> None:
    """Accuracy on dev or test; the mean over folds where there are some."""
    torch.set_num_threads(1)
    parts, found = splits(data, name, test=test)[:folds], []
    seeds = 1 if CHOSEN[name].kind is LinearClassifier else seeds  # no seed moves it
    for seed in range(1, seeds + 1):
        networks = [(train(name, rows, vectors, seed), rows) for rows in parts]
        found.append(mean(label_accuracy(network, rows.test if test else rows.dev) for network, rows in networks))
        print(f"{name}, seed {seed}: {found[-1]:.2f}", flush=True)
    spread = f"{stdev(found):.2f}" if seeds > 1 else ""
    row = [CHOSEN[name][0].__name__, f"{mean(found):.2f}", spread, str(seeds)]
    markdown(f"{name}, {'test' if test else 'dev'}", ["classifier", "accuracy", "±", "seeds"], [row])


@main.command("vectors")
@click.argument("out", type=click.Path(path_type=Path))
@data
@click.option("--dim", default=300, show_default=True)
@click.option("--window", default=5, show_default=True)
@click.option("--epochs", default=12, show_default=True)
def make_vectors(out: Path, data: Path, dim: int, window: int, epochs: int) -> None:
    """Skip-gram on wiki-en: lower-cased, clitics and punctuation words of their own."""
    text = read(find(data, "wiki-en/wiki_en.txt")).decode("utf-8").lower().replace("\u2019", "'")
    lines = [WORD.findall(line) for line in text.split("\n") if not line.startswith("= ")]
    counts = Counter(word for line in lines for word in line)
    words = sorted((word for word in counts if counts[word] >= 3), key=lambda word: (-counts[word], word))
    vocabulary = Vocabulary(words, np.array([counts[word] for word in words], dtype=np.int64))
    rows = [vocabulary.encode(line) for line in lines]
    corpus = WordCorpus(
        TokenStream(np.concatenate(rows), np.concatenate([[0], np.cumsum([len(row) for row in rows])])), vocabulary
    )
    config = Word2VecConfig(dim=dim, window=window, epochs=epochs, lr=0.02, subsample=1e-4, vectors="sum")
    Word2Vec(config).make(corpus, seed=1).vectors.save(out)


if __name__ == "__main__":
    main()
