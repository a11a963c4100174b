"""Which layer of a pre-trained network knows what (Peters et al. 2018, section 5.3; Tenney et al. 2019).

    x⁰ = embeddings, x¹ … xᴺ = the layers' states         of a frozen network
    P(y | word) = softmax(W x̄ⁿ + b)                       x̄ⁿ: the mean of a word's pieces, standardised
    peak = the layer n whose probe is right most often on the validation texts

A probe is a logistic regression, so it finds only what a layer shows linearly. Each task has labels that microworld's
grammar knows:

    speech    the part of speech of words that have several: "sails" is a noun or a verb, which only its line shows
    number    of a verb, read at the word before it: "the dogs that she fed in the yard" → plural. The verb is not shown
    answer    the kind of answer that a question asks for (person, place, job, …), read from the mean of all its words,
              as "who" alone may show it

So no task is read at words that show nothing in the embeddings by construction, and none is solved by them for certain.

The deep BiLSTM is ELMo's: two language models, forwards and backwards, whose states are concatenated layer by layer,
xⁿ_t = [→xⁿ_t ; ←xⁿ_t]. Differences: the two share no embeddings and no output layer, they read tokens instead of
characters, and there are no residual connections.

Shape legend: B rows, T tokens, K labelled words, D width, N layers.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.pretraining.small_bodies import KINDS, TITLES, Bodies, Body, BodyConfig
from claims.reading.reading_training import LEAST
from claims.training import train_language_model
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import padded
from langladder.models.language.gpt import GPT
from langladder.models.language.neural import scoring
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.specials import BOS, EOS, UNK
from langladder.text.tokenize.tokenizers import Tokenizer, word_pieces
from microworld.corpora import draw_tags
from microworld.engine import world
from microworld.questions import draw_kinds
from microworld.truth import agreeing

Kind = Literal["bilm", "bert", "gpt"]
Task = Literal["speech", "number", "answer"]
ROWS = 64  # texts that are read at a time
TRIES = 200  # maximum draws per requested text
DRAWN_LINES = 8_000  # lines in which words with several parts of speech are looked for


# ---- the tasks -----------------------------------------------------------------------------------------------------


WHOLE = -1
"""The index of a label of the whole line."""


class Labelled(NamedTuple):
    """A line of words, and the labels of some of them by their index, or of the line."""

    words: list[str]
    labels: dict[int, str]


def parts_of_speech(random: Random) -> Iterator[Labelled]:
    """Lines of stories with the part of speech of their words that have several."""
    several = ambiguous()
    for row in draw_tags(random.randrange(2**31), "probe", sys.maxsize, "pos"):
        labels = {index: tag for index, tag in enumerate(row["tags"]) if row["words"][index] in several}
        if labels:
            yield Labelled(row["words"], labels)


@cache
def ambiguous() -> frozenset[str]:
    """The words that have more than one part of speech in some thousand lines."""
    tags = defaultdict[str, set[str]](set)
    for row in draw_tags(0, "ambiguous", DRAWN_LINES, "pos"):
        for word, tag in zip(row["words"], row["tags"], strict=True):
            tags[word].add(tag)
    return frozenset(word for word, of_it in tags.items() if len(of_it) > 1)


def numbers(random: Random) -> Iterator[Labelled]:
    """Things with a relative clause, with the number of the verb that follows, singular and plural in turn.

    The last word is the clause's, so its own number does not show that of the verb.
    """
    wanted = "s"
    while True:
        for line in world().draw(random):
            verb, number, clauses = agreeing(line.words) or (0, "", 0)
            if clauses and number == wanted:
                yield Labelled(line.words[:verb], {verb - 1: number})
                wanted = "p" if wanted == "s" else "s"


def questions(random: Random) -> Iterator[Labelled]:
    """Questions with the kind of their answer (person, place, job, …)."""
    for row in draw_kinds(random, 0.0):
        yield Labelled(row["text"].split(), {WHOLE: row["label"]})


DRAWN: dict[Task, Callable[[Random], Iterator[Labelled]]] = {
    "speech": parts_of_speech,
    "number": numbers,
    "answer": questions,
}


class Texts(NamedTuple):
    """Different texts for fitting probes, for the choice of a layer, and for its accuracy."""

    train: list[Labelled]
    validation: list[Labelled]
    test: list[Labelled]

    def majority(self) -> float:
        """The share of the most frequent label of the test texts."""
        labels = _labels(self.test)
        return max(map(labels.count, set(labels))) / len(labels)


# ---- what the networks read ----------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A line as a network reads it: tokens (T,), and the range of each word's pieces, (words, 2)."""

    tokens: np.ndarray
    spans: np.ndarray


class Cutter:
    """Lines → rows: `BOS line EOS` of language models, `<cls> line <sep>` of BERT."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self._known = tokenizer, dict[tuple[str, bool], np.ndarray]()

    def row(self, words: Sequence[str], encoder: BERT | None = None) -> Row:
        """The row of a language model, or of an encoder."""
        pieces = [self._pieces(word, index == 0) for index, word in enumerate(words)]
        ids, ends = (
            np.concatenate(pieces),
            1 + np.cumsum([len(piece) for piece in pieces]),
        )  # 1: the token before the line
        spans = np.stack([np.append(1, ends[:-1]), ends], axis=1)
        return Row(framed(ids) if encoder is None else encoder.framed(ids)[0], spans)

    def _pieces(self, word: str, opens: bool) -> np.ndarray:
        """The pieces of a word, at least one."""
        key = (word, opens)
        if key not in self._known:
            (pieces,) = self.tokenizer.encode_lines([word]) if opens else word_pieces(self.tokenizer, [word])
            self._known[key] = pieces if len(pieces) else np.array([UNK])
        return self._known[key]


def mirrored(ids: np.ndarray) -> np.ndarray:
    """Tokens from right to left, BOS and EOS exchanged: `BOS a b EOS` → `BOS b a EOS`."""
    turned = ids[::-1]
    return np.where(turned == BOS, EOS, np.where(turned == EOS, BOS, turned)).astype(ids.dtype)


class BiLM(NamedTuple):
    """Two language models, of which one reads the text from right to left."""

    forwards: RecurrentLM
    backwards: RecurrentLM


@torch.no_grad()
def layer_states(model: Body | RecurrentLM, tokens: torch.Tensor) -> list[torch.Tensor]:
    """x⁰ … xᴺ of right-padded rows: (B, T) → (B, T, D) each."""
    states: list[torch.Tensor] = []
    with scoring(model, tokens.device.type):
        if isinstance(model, BERT):
            return model.hidden(tokens)
        layers = list(model.blocks if isinstance(model, GPT) else model.cell.layers)
        hooks = [layers[0].register_forward_pre_hook(lambda _, read: states.append(read[0]))]
        hooks += [layer.register_forward_hook(lambda _, __, out: states.append(out[0])) for layer in layers]
        try:
            model(tokens)
        finally:
            for hook in hooks:
                hook.remove()
    return states


def word_vectors(model: Body | RecurrentLM, rows: Sequence[Row]) -> np.ndarray:
    """x̄ⁿ of every span of the rows: (N + 1, words of all rows, D) float64."""
    parts = []
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        states = torch.stack(layer_states(model, padded([row.tokens for row in some])))  # (N + 1, B, T, D)
        sums = torch.nn.functional.pad(states.double().cumsum(dim=2), (0, 0, 1, 0)).numpy()  # (N + 1, B, T + 1, D)
        for row, summed in zip(some, sums.swapaxes(0, 1), strict=True):
            start, stop = row.spans.T  # (words,) each
            # x̄ = (1/m) Σ of the m pieces
            parts.append((summed[:, stop] - summed[:, start]) / (stop - start)[:, None])  # (N + 1, words, D)
    return np.concatenate(parts, axis=1)


def features(model: Body | BiLM, texts: Sequence[Labelled], cutter: Cutter) -> np.ndarray:
    """The probes' input for each labelled word: (N + 1, K, D)."""
    rows = [cutter.row(text.words, model if isinstance(model, BERT) else None) for text in texts]
    rows = [
        Row(row.tokens, np.stack([_span(row, index) for index in text.labels]))
        for row, text in zip(rows, texts, strict=True)
    ]
    if not isinstance(model, BiLM):
        return word_vectors(model, rows)
    turned = [Row(mirrored(row.tokens), len(row.tokens) - row.spans[:, ::-1]) for row in rows]
    return np.concatenate([word_vectors(model.forwards, rows), word_vectors(model.backwards, turned)], axis=2)


def _span(row: Row, index: int) -> np.ndarray:
    """The range of a word's pieces, or of the whole line: (2,)."""
    return np.array([row.spans[0, 0], row.spans[-1, 1]]) if index == WHOLE else row.spans[index]


# ---- probes --------------------------------------------------------------------------------------------------------


class Read(NamedTuple):
    """Labelled words as a network represents them: x (N + 1, K, D), labels (K,)."""

    x: np.ndarray
    labels: np.ndarray


def read(model: Body | BiLM, texts: Sequence[Labelled], cutter: Cutter) -> Read:
    """The labelled words of texts."""
    return Read(features(model, texts, cutter), np.array(_labels(texts)))


def accuracies(train: Read, judged: Sequence[Read], strength: float) -> np.ndarray:
    """The share of right labels of each layer's probe, fitted on `train`, in each of `judged`: (N + 1, judged)."""
    from sklearn.linear_model import LogisticRegression  # takes a second to import

    shares = []
    for layer, x in enumerate(train.x):
        middle, spread = x.mean(axis=0), x.std(axis=0)  # (D,)
        spread[spread == 0] = 1.0
        probe = LogisticRegression(C=strength, max_iter=1000).fit((x - middle) / spread, train.labels)
        shares.append([(probe.predict((item.x[layer] - middle) / spread) == item.labels).mean() for item in judged])
    return np.array(shares)


class Variant(schema.Config):
    """The varied settings."""

    task: Task


class LayerProbesConfig(BodyConfig, ComparisonConfig):
    """Settings of `LayerProbes`."""

    VARIANT = Variant
    bases: list[Kind] = Field(min_length=1)
    metric: Literal["peak", "best", "gain", "embeddings", "first", "last"] = "peak"
    masked_share: float = Field(default=0.4, gt=0, lt=1)  # of a BERT's tokens in pre-training
    train_texts: int = Field(default=1000, ge=LEAST)  # of each task, at effort 1 and above
    test_texts: int = Field(default=500, ge=LEAST)  # likewise, and as many for validation
    strength: float = Field(default=0.1, gt=0)  # C of the logistic regression, the inverse of its L2 regularisation

    def recurrent(self) -> RecurrentConfig:
        """Settings of each of the two language models of a BiLM."""
        values = {"cell": "lstm", "width": self.width, "embedding_dim": self.width, "layers": self.layers}
        return RecurrentConfig.model_validate(values)

    @model_validator(mode="after")
    def _can_be_built(self) -> Self:
        for base in self.bases:
            _ = self.recurrent() if base == "bilm" else KINDS[base].Config.model_validate(self.body(base))
        return self


class LayerProbes(Comparison[LayerProbesConfig]):
    """Accuracy of linear probes by layer, one line per task."""

    Config: ClassVar[type[schema.Config]] = LayerProbesConfig
    reads = ("tokens/text",)
    titles: Mapping[Any, str] = {"bilm": "BiLSTM", **TITLES}
    metrics: ClassVar[dict[str, Metric]] = {
        "peak": Metric("layer of the highest accuracy"),
        "best": Metric("accuracy there", more_is_better=True, drawn=False),
        "gain": Metric("above the most frequent label", more_is_better=True, drawn=False),
        "embeddings": Metric("of the embeddings", more_is_better=True, drawn=False),
        "first": Metric("of the first layer", more_is_better=True, drawn=False),
        "last": Metric("of the last layer", more_is_better=True, drawn=False),
        "accuracy": Metric("accuracy of the probe", along="layer"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        bodies = Bodies(data, self.config)
        cutter, pairs = Cutter(bodies.tokenizer), dict[int, BiLM]()
        tasks = {name: self._texts(name, cutter) for name in DRAWN}

        def trial(base: Kind, change: Change, seed: int) -> Scored:
            if base == "bilm" and seed not in pairs:
                pairs[seed] = self._bilm(bodies, seed)
            masking = {"masking": {"share": self.config.masked_share}} if base == "bert" else {}
            network = pairs[seed] if base == "bilm" else bodies.get(base, None, masking, seed=seed)
            texts = tasks[Variant(**change).task]
            train, *judged = (read(network, some, cutter) for some in texts)
            validation, test = accuracies(train, judged, self.config.strength).T.tolist()  # (N + 1) each
            peak = int(np.argmax(validation))
            parts = network if isinstance(network, BiLM) else (network,)
            return sum(part.number_of_parameters() for part in parts), {
                "peak": float(peak),
                "best": test[peak],
                "gain": test[peak] - texts.majority(),
                "embeddings": test[0],
                "first": test[1],
                "last": test[-1],
                "accuracy": dict(enumerate(test)),
            }

        return trial

    def _texts(self, task: Task, cutter: Cutter) -> Texts:
        """The texts of a task that fit into the context; the same for all networks and seeds."""
        config = self.config
        held, train = (max(LEAST, config.fewer(count)) for count in (config.test_texts, config.train_texts))
        drawn, count = DRAWN[task](Random(f"probes {task}")), 2 * held + train
        results: dict[str, Labelled] = {}
        for text, _ in zip(drawn, range(TRIES * count), strict=False):
            if len(cutter.row(text.words).tokens) <= config.sequence_length:
                results.setdefault(" ".join(text.words), text)
            if len(results) == count:
                texts = list(results.values())
                return Texts(texts[2 * held :], texts[held : 2 * held], texts[:held])
        raise InputError(
            f"claim.settings: there are not {count} different texts of {task!r} with at most "
            f"sequence_length={config.sequence_length} tokens; set train_texts or test_texts lower, or sequence_length "
            "larger"
        )

    def _bilm(self, bodies: Bodies, seed: int) -> BiLM:
        """Both language models, each trained on the text in one direction, by AdamW."""
        text, vocab_size = bodies.text, bodies.tokenizer.vocab_size
        turned = TokenStream(mirrored(text.ids), len(text.ids) - text.offsets[::-1])
        states = []
        for stream in (text, turned):
            torch.manual_seed(seed)
            model = RecurrentLM(self.config.recurrent(), vocab_size)
            train_language_model(model, stream, self.config.pretraining("gpt", optimizer="adamw"), seed=seed)
            states.append(model)
        return BiLM(*states)


def _labels(texts: Sequence[Labelled]) -> list[str]:
    return [label for text in texts for label in text.labels.values()]
