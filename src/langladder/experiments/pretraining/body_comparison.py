"""`Comparison` of small BERTs and GPTs by what they are worth after pre-training: to other tasks, and in the gaps.

A variant sets what the body is (`next_sentence`, …) or how it is pre-trained (`masking`, `max_steps`, …); it is then
fine-tuned on `transfer`'s tasks. Of a BERT it is also measured how many masked words it tells on the test text, as many
hidden for every variant, and how far its words for a gap are from the true ones where the process of the text is known.

Next sentences can be known only where a document's lines have something in common; those of `microworld_sentences` are
independent draws. With `documents: related`, lines that share their rarest token become a document, so what follows is
known by what it is about, which is most of what there is to know on real text, too (Lan et al. 2020, section 3.1).

Shape legend: L lines, P pairs of a line and one of its tokens.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import Field

from langladder.evaluation.encoder import documents_of, fill_rows
from langladder.evaluation.true_gaps import HiddenWord, gap_log_probs, hidden_words, known_truth, true_scores
from langladder.experiments.comparison import Change, Comparison, Measure, Scored, Values
from langladder.experiments.declaration import TRAINING, Metric, NetworkComparisonConfig
from langladder.experiments.experiment import Data
from langladder.experiments.pretraining.small_bodies import KINDS, TITLES, Bodies, Body, Kind
from langladder.experiments.pretraining.transfer import Transfer, TransferConfig
from langladder.ground import schema
from langladder.models.encoders.bert import BERT
from langladder.text.storage.tables import read_batches
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS


def related(text: TokenStream) -> TokenStream:
    """The same lines, put into other documents; those that share no token with another line stand alone."""
    starts = np.flatnonzero(text.ids == BOS)  # (L,)
    ends = np.append(starts[1:], len(text.ids))
    keys = rarest_shared(text.ids, starts)
    order = np.argsort(keys, kind="stable")
    found = np.concatenate([text.ids[starts[line] : ends[line]] for line in order])
    first = np.append(True, (np.diff(keys[order]) != 0) | (keys[order][1:] < 0))  # of a document
    lengths = (ends - starts)[order]
    before = np.cumsum(lengths) - lengths
    return TokenStream(found, np.append(before[first], len(found)))


def rarest_shared(ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(L,) int64: of each line's tokens which other lines have, too, the one that fewest have; −1: there is none.

    Args:
        starts: (L,), where the lines begin.
    """
    line = np.searchsorted(starts, np.arange(len(ids)), side="right") - 1
    inner = (ids != BOS) & (ids != EOS)
    pairs = np.unique(np.stack([line[inner], ids[inner].astype(np.int64)], axis=1), axis=0)  # (P, 2)
    lines_with = np.bincount(pairs[:, 1])[pairs[:, 1]]  # (P,)
    pairs, lines_with = pairs[lines_with > 1], lines_with[lines_with > 1]
    pairs = pairs[np.lexsort((pairs[:, 1], lines_with, pairs[:, 0]))]
    of, first = np.unique(pairs[:, 0], return_index=True)
    keys = np.full(len(starts), -1, dtype=np.int64)
    keys[of] = pairs[first, 1]
    return keys


LINES = pa.schema([("text", pa.string()), ("log_prob", pa.float64())])
LEAST_HIDDEN = 4
"""Hidden words below which no effort goes."""


class BodyComparisonConfig(TransferConfig, NetworkComparisonConfig):
    """Settings of `BodyComparison`."""

    TRAINED: ClassVar[frozenset[str]] = frozenset(TRAINING | {"masking", "short"})
    bases: list[Kind] = Field(min_length=1)
    documents: Literal["text", "related"] = "text"  # as they stand; of lines that share a rare token
    metric: Literal["single", "pairs", "masked", "follows", "divergence"] = "pairs"
    masked_share: float = Field(default=0.15, gt=0, lt=1)  # of the test text's tokens that are hidden
    test_tokens: int = Field(default=20000, ge=1)  # of the test text in which they are
    true_words: int = Field(default=60, ge=0)  # whose true distribution is computed, at effort 1 and above

    def small(self, base: Kind) -> tuple[Any, dict[str, object]]:
        """See `NetworkComparisonConfig.small`."""
        return KINDS[base], self.body(base)

    def arranged(self, text: TokenStream) -> TokenStream:
        """A text in the documents that are asked for."""
        return related(text) if self.documents == "related" else text

    def training(self, **changes: object) -> Any:
        """See `NetworkComparisonConfig.training`: of a BERT, which has all settings."""
        return self.pretraining("bert", **changes)


class Gaps(NamedTuple):
    """Where encoders are asked for words: the test text, and words whose true distribution is known."""

    test: TokenStream
    known: Sequence[HiddenWord]


class BodyComparison(Comparison[BodyComparisonConfig]):
    """Variants of a body."""

    Config: ClassVar[type[schema.Config]] = BodyComparisonConfig
    reads = ("tokens/text", "clean/text")
    titles = TITLES
    majorities: dict[str, float]
    metrics: ClassVar[dict[str, Metric]] = {
        "pairs": Metric("accuracy, pairs of texts", more_is_better=True),
        "single": Metric("accuracy, single texts", more_is_better=True),
        "masked": Metric("masked words told", more_is_better=True, drawn=False),
        "follows": Metric("next sentences told", more_is_better=True, drawn=False),
        "divergence": Metric("nats from the true words", drawn=False),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        config = self.config
        bodies = Bodies(data, config, config.arranged(data.stream("train")))
        transfer, gaps = Transfer(bodies, config), self._gaps(data, bodies)
        self.majorities = transfer.majorities()

        def one(base: Kind, change: Change, seed: int) -> Scored:
            _, settings, training = config.variant(base, change)
            body = bodies.train(base, settings, training, seed=seed)
            values: Values = {**transfer.right(body, seed=seed), **self._gaps_filled(body, bodies, gaps)}
            return body.number_of_parameters(), {key: values[key] for key in self.metrics}

        return one

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        del data
        return self.majorities

    def _gaps(self, data: Data, bodies: Bodies) -> Gaps:
        count = max(LEAST_HIDDEN, self.config.fewer(self.config.true_words)) if self.config.true_words else 0
        lines: list[str] = []
        known: list[float | None] = []
        for part in read_batches(data.clean / "test", LINES):
            lines, known = lines + part.column("text").to_pylist(), known + part.column("log_prob").to_pylist()
        text = data.stream("test")
        documents = documents_of(text, lines)
        truth = known_truth(documents, known) if count else None
        room = self.config.sequence_length - len(("<cls>", "<sep>"))
        alone = None if self.config.documents == "text" else 1
        hidden = []
        if truth is not None:
            hidden = hidden_words(truth, bodies.tokenizer, documents, count, room=room, most_lines=alone)
        return Gaps(self.config.arranged(text), hidden)

    def _gaps_filled(self, body: Body, bodies: Bodies, gaps: Gaps) -> dict[str, float]:
        config = self.config
        if not isinstance(body, BERT):
            return {"masked": math.nan, "follows": math.nan, "divergence": math.nan}
        how: dict[str, Any] = {"length": config.sequence_length, "share": config.masked_share}
        how["tokens"] = max(1000, config.fewer(config.test_tokens))
        scores = fill_rows(body, bodies.tokenizer, gaps.test, **how)
        true = true_scores(gaps.known, gap_log_probs(body, gaps.known)) if gaps.known else None
        return {
            "masked": scores.accuracy,
            "follows": math.nan if scores.next_sentence is None else scores.next_sentence,
            "divergence": math.nan if true is None else true.divergence,
        }
