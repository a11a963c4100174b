"""Filtering noisy text as for GPT-3 (Brown et al. 2020, section 2.2, appendix A): what is removed, and the gain.

A known share of the training documents is damaged (`noisy`). The documents are then filtered with the pipeline's own
quality filter and near-duplicate removal. The same small network is trained on the same number of tokens of each
variant: the noisy text, the text after each filter, after both, and the clean documents alone. Perplexity is measured
on clean test text.

Documents are damaged in ways that a filter should find, each marked by its kind:

shuffled     the words of every line in random order: single words do not show it
characters   letters replaced by others: words that do not exist
foreign      other lines instead of the document's own: here the Esperanto of microworld's stories
boilerplate  a copy of one of a few documents with one line of another: good text that occurs many times
"""

import math
from collections.abc import Sequence
from itertools import islice
from random import Random
from string import ascii_lowercase
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.language.small_models import ORDER, TITLES, Network, TextConfig, measured
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.clean.duplicates import DuplicatesConfig, duplicate_kinds
from langladder.text.filtering.quality import QualityModel, QualitySettings
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.tokenizers import Tokenizer
from microworld.corpora import draw_pairs

KINDS = ("shuffled", "characters", "foreign", "boilerplate")
CLEAN = "clean"
REPLACED = 0.15  # share of the letters
PAIRS = 400  # number of pairs from which foreign lines are drawn
TEMPLATES = 4  # number of documents from which boilerplate is copied


class Marked(NamedTuple):
    """A document of some lines, and its kind of damage (`CLEAN`: none)."""

    lines: tuple[str, ...]
    kind: str

    @property
    def text(self) -> str:
        """The whole text of the document."""
        return "\n".join(self.lines)


def noisy(clean: Sequence[tuple[str, ...]], share: float, seed: int) -> list[Marked]:
    """The documents in random order; a share of them is damaged, with all kinds in equal shares.

    Args:
        clean: documents as lists of lines; they include the sources of boilerplate.
    """
    random = Random(f"{seed} noise")
    damaged = round(share * len(clean))
    foreign = draw_pairs(1, "train", PAIRS)["target"].to_pylist()
    templates = clean[-TEMPLATES:]
    damaged_lines = [Marked(lines, CLEAN) for lines in clean[damaged:]]
    for number, lines in enumerate(clean[:damaged]):
        kind = KINDS[number % len(KINDS)]
        if kind == "shuffled":
            marked = tuple(" ".join(random.sample(line.split(), len(line.split()))) for line in lines)
        elif kind == "characters":
            marked = tuple("".join(_letter(letter, random) for letter in line) for line in lines)
        elif kind == "foreign":
            marked = tuple(random.choice(foreign) for _ in lines)
        else:
            marked = (*random.choice(templates)[: len(lines) - 1], lines[-1])
        damaged_lines.append(Marked(marked, kind))
    random.shuffle(damaged_lines)
    return damaged_lines


def _letter(letter: str, random: Random) -> str:
    return random.choice(ascii_lowercase) if letter.isalpha() and random.random() < REPLACED else letter


RAW, QUALITY, NEAR, BOTH, ALONE = "as it is", "quality", "near-duplicates", "both", "clean alone"


class Variant(schema.Config):
    """The varied setting: the filters of the training text."""

    text: Literal["as it is", "quality", "near-duplicates", "both", "clean alone"]


class FilteredTextConfig(TextConfig, ComparisonConfig):
    """Settings of `FilteredText`."""

    VARIANT = Variant
    bases: list[Network] = Field(min_length=1)
    metric: Literal["loss", "perplexity"] = "loss"
    documents: int = Field(default=2000, ge=60)  # maximum number, and half as many documents of good text in addition
    lines: int = Field(default=20, ge=2)  # of a document
    noise: float = Field(default=0.75, gt=0, lt=1)  # share of damaged documents, with all kinds in equal shares
    quality: QualitySettings = QualitySettings()
    duplicates: DuplicatesConfig = DuplicatesConfig(near="documents")


class Left(NamedTuple):
    """The result of a filter: the remaining documents, and the remaining share of each kind.

    Attributes:
        precision: share of clean documents among the remaining ones.
        recall: share of the clean documents that remain.
    """

    documents: list[Marked]
    stays: dict[str, float]
    precision: float
    recall: float


class FilteredText(Comparison[FilteredTextConfig]):
    """Loss after training on the same number of tokens of noisy text, and of filtered text."""

    Config: ClassVar[type[schema.Config]] = FilteredTextConfig
    reads = ("tokens/text", "clean/text")
    titles = TITLES
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("loss, nats per token", drawn=False),
        "perplexity": Metric("perplexity per token (clean test text)"),
        "documents": Metric("documents", drawn=False),
        "precision": Metric("of it clean", drawn=False),
        "recall": Metric("of the clean documents", drawn=False),
        "stays": Metric("share that stays", along="kind of document"),
    }

    counted: float  # loss of the n-gram

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`: the loss of an n-gram of as many tokens of the text that the quality filter left."""
        del data
        return {"loss": self.counted}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`; noise and filters are those of the first seed."""
        config, tokenizer = self.config, data.tokenizer()
        good, pool = self._documents(data)
        left = filtered(good, noisy(pool, config.noise, seeds[0]), config, seeds[0])
        streams = {name: stream(corpus.documents, tokenizer) for name, corpus in left.items()}
        size = min(len(tokens.ids) for tokens in streams.values())
        best = streams[QUALITY].beginning(size)
        self.counted = math.log(measured(KneserNey, {"order": ORDER}, data, config, seed=1, text=best).perplexity)

        def trial(base: Network, change: Change, seed: int) -> Scored:
            name = Variant(**change).text
            first, of = streams[name].beginning(size), left[name]
            parameters, perplexity = measured(*config.small(base), data, config, seed=seed, text=first)
            return parameters, {
                "loss": math.log(perplexity),
                "perplexity": perplexity,
                "documents": float(len(of.documents)),
                "precision": of.precision,
                "recall": of.recall,
                "stays": of.stays,
            }

        return trial

    def _documents(self, data: Data) -> tuple[list[str], list[tuple[str, ...]]]:
        """Good text, and documents to damage, of consecutive lines: a third and two thirds of the text."""
        lines = data.lines("train")
        most = self.config.documents + self.config.documents // 2
        documents: list[tuple[str, ...]] = []
        while len(some := tuple(islice(lines, self.config.lines))) == self.config.lines and len(documents) < most:
            documents.append(some)
        if len(documents) < 2 * len(KINDS):
            raise InputError(
                f"claim.settings.lines: {self.config.lines} lines per document give {len(documents)} documents of "
                "training text; set fewer lines (src/claims/conf/claim/filtered_text.yaml)"
            )
        return ["\n".join(lines) for lines in documents[2::3]], [
            lines for index, lines in enumerate(documents) if index % 3 != 2
        ]


def filtered(good: Sequence[str], raw: list[Marked], config: FilteredTextConfig, seed: int) -> dict[str, Left]:
    """The result of each filter on the raw documents."""
    model = QualityModel(config.quality, seed)
    model.fit(good, [document.text for document in raw])
    scores = model.scores([document.text for document in raw])
    chosen = [document for document, score in zip(raw, scores, strict=True) if model.keeps(document.text, float(score))]
    chosen = chosen or [raw[int(scores.argmax())]]  # with only a few dozen documents, none may remain
    kept = {RAW: raw, QUALITY: chosen, NEAR: new(raw, config.duplicates), BOTH: new(chosen, config.duplicates)}
    kept[ALONE] = [document for document in raw if document.kind == CLEAN]
    if empty := [name for name, documents in kept.items() if not documents]:
        raise InputError(f"claim: {', '.join(empty)} leaves no document (src/claims/conf/claim/filtered_text.yaml)")
    return {name: score_filter(documents, raw) for name, documents in kept.items()}


def new(documents: Sequence[Marked], config: DuplicatesConfig) -> list[Marked]:
    """The documents that are not duplicates of earlier ones."""
    kinds = duplicate_kinds([document.text for document in documents], config, "documents")
    return [document for document, kind in zip(documents, kinds, strict=True) if kind == 0]


def score_filter(documents: list[Marked], raw: Sequence[Marked]) -> Left:
    """Precision and recall of a filter."""

    def of(kind: str, some: Sequence[Marked]) -> int:
        return sum(document.kind == kind for document in some)

    stays = {kind: of(kind, documents) / max(1, of(kind, raw)) for kind in (CLEAN, *KINDS)}
    return Left(documents, stays, of(CLEAN, documents) / len(documents), stays[CLEAN])


def stream(documents: Sequence[Marked], tokenizer: Tokenizer) -> TokenStream:
    """The documents as ids, one row per document."""
    rows = [np.concatenate(list(map(framed, tokenizer.encode_lines(document.lines)))) for document in documents]
    offsets = np.cumsum([0, *map(len, rows)])
    return TokenStream(np.concatenate(rows).astype(np.int32), offsets)
