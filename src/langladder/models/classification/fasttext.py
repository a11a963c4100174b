"""fastText's classifier: the mean of the vectors of words and word n-grams under a linear layer (Joulin et al. 2017).

    P(y | x) = softmax(B A x)        section 2: rows of A are vectors of features, x their shares; B one row per label

The features of a text are its words, its n-grams of 2 to `word_ngrams` words, each hashed into one of `buckets`
(section 2.2), and `</s>` once. Only the buckets that occur in the training texts have a row, so the size of the table
depends on the text. Other words and buckets are not features. With many labels, `loss: hierarchical` (section 2.1)
takes log C decisions instead of C scores. Hashes and steps are those of the fastText tool:

    h ← hash(w_1);   h ← 116049371 h + hash(w_j)  mod 2⁶⁴, for j = 2 … n;   bucket = h mod `buckets`

Each epoch reads the texts in random order; the tool reads them in the order of the file. A kernel (`kernels.fasttext`)
does the training, with one text per step and a learning rate that falls linearly to 0.

Shape legend: N texts, T tokens, P features of all texts, F features with a row, C labels, D dimensions.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field
from scipy.special import log_expit, log_softmax

from langladder.ground import schema
from langladder.ground.artefacts import JSONObject
from langladder.ground.errors import InputError
from langladder.ground.progress import Stopwatch, working
from langladder.kernels.fasttext import Paths, Texts, fnv1a, learn_texts, means
from langladder.models.classification.classifier import Explained, label_ids
from langladder.models.classification.counted_classifier import CountedClassifier, finite
from langladder.models.making import ModelSettings, Row, Run, TrainingResult
from langladder.models.units import WordUnits, units_from
from langladder.nn.huffman import HuffmanTree
from langladder.text.labelled.labelled import Example
from langladder.text.words.normalisation import lower_of
from langladder.text.words.segmentation import InstalledWords, reading

MULTIPLIER = np.uint64(116049371)
SECOND = "<sep> "
"""Prefix of the words of a pair's second text, which makes them separate words."""
WARM_UP_TEXTS = 50


class FastTextConfig(schema.Config):
    """Settings of `FastText`."""

    dim: int = Field(default=100, ge=1, le=8192)  # D
    word_ngrams: int = Field(default=2, ge=1, le=10)  # longest n-grams; 1: only words
    buckets: int = Field(default=2_000_000, ge=1, le=2**31 - 1)
    min_count: int = Field(default=1, ge=1)  # rarer words have no vector
    words: InstalledWords = "auto"
    lowercase: bool = True
    loss: Literal["softmax", "hierarchical"] = "softmax"
    epochs: int = Field(default=5, ge=1)
    lr: float = Field(default=0.5, gt=0)  # falls linearly to 0


class Features(NamedTuple):
    """Encoded texts: token ids (T,) int64 (0: unknown, else word + 1), hashes (T,) uint64, bounds (N + 1,) int64."""

    ids: np.ndarray
    hashes: np.ndarray
    bounds: np.ndarray


class FastText(CountedClassifier):
    """See the module docstring."""

    approach = "bag of vectors"
    by_gradient = True
    maker = f"{__name__}.make"
    Config: ClassVar[type[schema.Config]] = FastTextConfig
    KEYS = frozenset({"units"})
    config: FastTextConfig
    units: WordUnits
    used: np.ndarray  # (U,) int64, buckets with a row, ascending
    table: np.ndarray  # (F, D), rows: `</s>`, the words, the used buckets
    output: np.ndarray  # (C, D), or (C − 1, D) for the tree
    counts: np.ndarray  # (C,) int64, number of training texts per label; determines the tree

    def tokens(self, example: Example) -> list[str]:
        """The words of an example in the form of the table."""
        words = self._words(example.text, treed=example.tree is not None or example.heads is not None)
        return words if example.second is None else [*words, *(SECOND + word for word in self._words(example.second))]

    def _words(self, text: str, *, treed: bool = False) -> list[str]:
        return self.units.split(self.units.folded(text), words=treed)

    def fit(self, train: Sequence[Example], validation: Sequence[Example], seed: int = 1) -> list[Row]:  # type: ignore[override]
        """Train on the training texts; returns the rows of the learning curve, one per epoch.

        Raises:
            InputError: no word is left, or training diverged.
        """
        del validation
        config, y = self.config, label_ids(train, self.labels)
        tokens = self._begin(train)
        parts, bounds = self.parts(self._features(tokens), new=True)
        random = np.random.default_rng(seed)
        D = -(-config.dim // 8) * 8
        self.table = np.zeros((1 + len(self.units.words) + len(self.used), D), dtype=np.float32)
        self.table[:, : config.dim] = (random.random((len(self.table), config.dim), np.float32) * 2 - 1) / config.dim
        self.counts = np.bincount(y, minlength=len(self.labels))
        paths = self._paths()
        self.output = np.zeros((len(self.labels) - (config.loss == "hierarchical"), D), dtype=np.float32)
        texts = Texts(parts, bounds, y)
        curve: list[Row] = []
        with working("fastText", config.epochs, "epochs") as task:
            for epoch in range(config.epochs):
                rates = (config.lr * (1 - epoch / config.epochs), config.lr * (1 - (epoch + 1) / config.epochs))
                order = random.permutation(len(train))
                loss = learn_texts(texts, order, (self.table, self.output), paths, rates) / len(train)
                curve.append({"step": (epoch + 1) * len(train), "train_loss": round(loss, 6), "lr": rates[0]})
                task.advance()
        if not (np.isfinite(self.table).all() and np.isfinite(self.output).all()):
            raise InputError(f"fasttext: training diverged; lower model.lr ({config.lr}) in the rung's file")
        return curve

    def _begin(self, train: Sequence[Example]) -> list[list[str]]:
        """Select the words; returns the training texts as words."""
        texts = [text for example in train for text in (example.text, example.second) if text is not None]
        treed = any(example.tree is not None or example.heads is not None for example in train)
        mode = reading("whitespace" if treed else self.config.words, texts)
        self.units = WordUnits([], mode, lower_of(self.config.lowercase, self.language))
        tokens = [self.tokens(example) for example in train]
        counts = Counter(chain.from_iterable(tokens))
        kept = sorted((w for w, n in counts.items() if n >= self.config.min_count), key=lambda w: (-counts[w], w))
        if not kept:
            raise InputError(f"model.min_count={self.config.min_count} leaves no word of the training texts; lower it")
        self.units = replace(self.units, words=kept)
        return tokens

    def features(self, examples: Sequence[Example]) -> Features:
        """The token ids, hashes and bounds of examples."""
        return self._features([self.tokens(example) for example in examples])

    def _features(self, tokens: Sequence[list[str]]) -> Features:
        number: dict[str, int] = {}
        flat = [number.setdefault(word, len(number)) for word in chain.from_iterable(tokens)]
        index = {word: position for position, word in enumerate(self.units.words, start=1)}
        ids = np.array([index.get(word, 0) for word in number], dtype=np.int64)
        # a signed number of 32 bits, widened to 64
        hashes = np.array([fnv1a(word.encode()) for word in number], dtype=np.uint32).astype(np.int32).astype(np.int64)
        bounds = np.concatenate([[0], np.cumsum([len(text) for text in tokens], dtype=np.int64)])
        return Features(ids[flat], hashes.astype(np.uint64)[flat], bounds)

    def parts(self, features: Features, *, new: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the examples' features (P,) int32, and bounds (N + 1,): `</s>`, words, n-grams by their length.

        new: whether these are the training texts, whose buckets get rows.
        """
        texts = np.repeat(np.arange(len(features.bounds) - 1), np.diff(features.bounds))  # (T,)
        rows, owners = (
            [np.zeros(len(features.bounds) - 1, np.int64), features.ids],
            [np.arange(len(features.bounds) - 1), texts],
        )
        grams = list(self._buckets(features.hashes, texts))
        if new:
            self.used = np.unique(np.concatenate([bucket for bucket, _ in grams])) if grams else np.zeros(0, np.int64)
        for bucket, owner in grams:
            position = np.searchsorted(self.used, bucket)
            known = self.used[np.minimum(position, len(self.used) - 1)] == bucket if len(self.used) else position < 0
            rows.append(np.where(known, 1 + len(self.units.words) + position, 0))
            owners.append(owner)
        row, owner = np.concatenate(rows), np.concatenate(owners)
        kept = (row > 0) | (np.arange(len(row)) < len(rows[0]))  # `</s>`, and all known features
        row, owner = row[kept], owner[kept]
        order = np.argsort(owner, kind="stable")
        return row[order].astype(np.int32), np.searchsorted(owner[order], np.arange(len(features.bounds)))

    def _buckets(self, hashes: np.ndarray, texts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For n = 2, 3, …: the bucket of each n-gram within one text, and the index of the text; int64 each."""
        h = hashes
        for n in range(2, self.config.word_ngrams + 1):
            if len(hashes) < n:
                return
            # h ← 116049371 h + hash(w_j) mod 2⁶⁴
            h = h[:-1] * MULTIPLIER + hashes[n - 1 :]
            inside = texts[: len(h)] == texts[n - 1 :]
            yield (h % np.uint64(self.config.buckets)).astype(np.int64)[inside], texts[: len(h)][inside]

    def _paths(self) -> Paths:
        if self.config.loss == "softmax":
            return Paths(np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.int8))
        tree = HuffmanTree.from_counts(self.counts)
        return Paths(tree.offsets, tree.nodes, tree.bits)

    def log_probs(self, examples: Sequence[Example]) -> np.ndarray:
        """See `Classifier.log_probs`."""
        parts, bounds = self.parts(self.features(examples))
        z = (means(self.table, parts, bounds) @ self.output.T).astype(np.float64)  # (N, R)
        if self.config.loss == "softmax":
            log_probs: np.ndarray = log_softmax(z, axis=1)
            return log_probs
        # ln P(y | h) = Σ_j ln σ(±u_{n(y, j)} · h)
        paths, ways = self._paths(), np.stack([log_expit(z), log_expit(-z)])  # (2, N, R)
        decided = ways[paths.bits.astype(np.int64), :, paths.nodes]  # (decisions of all labels, N)
        return np.add.reduceat(decided, paths.offsets[:-1]).T

    def explain(self, example: Example, label: int) -> Explained:
        """The contribution of each feature to the label's score minus the mean score; that of an n-gram is divided
        among its words."""
        features = self.features([example])
        pieces, rows = self.units.example(example).pieces, self.parts(features)[0]
        first = len(pieces) if example.second is None else pieces.index(SECOND.strip())
        positions = np.array(
            [position for position in range(len(pieces)) if example.second is None or position != first]
        )  # (T,)
        if self.config.loss == "softmax":
            direction = self.output[label] - self.output.mean(axis=0)  # (D,)
        else:
            paths = self._paths()
            own = slice(paths.offsets[label], paths.offsets[label + 1])
            direction = (1.0 - 2.0 * paths.bits[own]) @ self.output[paths.nodes[own]]
        projected = self.table @ direction / len(rows)  # (F,)
        weights = np.zeros(len(pieces))
        np.add.at(weights, positions, np.where(features.ids > 0, projected[features.ids], 0.0))
        for n, (bucket, _) in enumerate(self._buckets(features.hashes, np.zeros(len(positions))), start=2):
            for start, number in enumerate(bucket):
                position = int(np.searchsorted(self.used, number))
                if position < len(self.used) and self.used[position] == number:
                    weights[positions[start : start + n]] += projected[1 + len(self.units.words) + position] / n
        return Explained(pieces, weights.tolist())

    def reading(self) -> dict[str, object]:
        """See `CountedClassifier.reading`."""
        return {"units": self.units.description()}

    def arrays(self) -> dict[str, np.ndarray]:
        """See `CountedClassifier.arrays`."""
        return {"used": self.used, "table": self.table, "output": self.output, "counts": self.counts}

    def number_of_parameters(self) -> int:
        """The vectors of features and of labels, or of the tree's nodes."""
        return (len(self.table) + len(self.output)) * self.config.dim

    def set_arrays(self, arrays: Mapping[str, np.ndarray], reading: JSONObject, path: Path) -> None:
        """See `CountedClassifier.set_arrays`."""
        units = units_from(path, reading["units"])
        if not isinstance(units, WordUnits):
            raise InputError(f"{path}: units: fastText reads words")
        self.units = units
        C, D = len(self.labels), -(-self.config.dim // 8) * 8
        self.used, self.counts = arrays["used"], finite("counts", arrays["counts"], (C,))
        if self.used.ndim != 1 or self.used.dtype != np.int64 or (np.diff(self.used) <= 0).any():
            raise ValueError("used holds no ascending whole numbers")
        if self.counts.dtype != np.int64 or (self.counts < 0).any() or self.counts.sum() > 2**53:
            raise ValueError("counts are no counts")
        self.table = finite("table", arrays["table"], (1 + len(units.words) + len(self.used), D))
        self.output = finite("output", arrays["output"], (C - (self.config.loss == "hierarchical"), D))
        if {self.table.dtype, self.output.dtype} != {np.dtype(np.float32)}:
            raise ValueError("table and output are not float32")


def make(
    kind: type[FastText],
    labels: Sequence[str],
    train: Sequence[Example],
    validation: Sequence[Example],
    *,
    settings: ModelSettings[FastTextConfig],
    run: Run,
    language: str | None = None,
    **_: object,
) -> tuple[FastText, TrainingResult]:
    """Train a classifier; see `models.making`. Kernels are compiled before the time is measured.

    Raises:
        InputError: there is no training text, or training diverged.
    """
    if not train:
        raise InputError("classification: no training text; see the report of the stage `clean`")
    with working("compiling"):
        kind(settings.model.model_copy(update={"epochs": 1}), labels).fit(train[:WARM_UP_TEXTS], validation)
    model = kind(settings.model, labels)
    model.language = language
    clock = Stopwatch()
    curve = model.fit(train, validation, run.seed)
    return model, TrainingResult(curve, clock.cost(settings.model.epochs * len(train)))
