"""`Comparison` of small pre-trained BERTs and GPTs: their value for other tasks, and their predictions of masked words.

A variant changes settings of the body (`next_sentence`, …) or of its pre-training (`masking`, `max_steps`, …). The body
is then fine-tuned on the tasks of `transfer`. For a BERT, two further measures are the accuracy of masked words on the
test text, with the same number of masked words for every variant, and, if the process of the text is known, the
distance of its predictions from the true distribution.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import pyarrow as pa
from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored, Values
from claims.declaration import TRAINING, Metric, NetworkComparisonConfig
from claims.pretraining.small_bodies import KINDS, TITLES, Bodies, Body, Kind
from claims.pretraining.transfer import Transfer, TransferConfig
from langladder.evaluation.encoder import documents_of, fill_rows
from langladder.evaluation.true_gaps import HiddenWord, gap_log_probs, hidden_words, is_microworld, true_scores
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.models.encoders.bert import BERT
from langladder.text.storage.tables import read_batches
from langladder.text.storage.token_streams import TokenStream

LINES = pa.schema([("text", pa.string()), ("log_prob", pa.float64())])
LEAST_HIDDEN = 4
"""Minimum number of masked words at any effort."""


class BodyComparisonConfig(TransferConfig, NetworkComparisonConfig):
    """Settings of `BodyComparison`."""

    TRAINED: ClassVar[frozenset[str]] = frozenset(TRAINING | {"masking", "short"})
    bases: list[Kind] = Field(min_length=1)
    metric: Literal["single", "pairs", "masked", "follows", "divergence"] = "pairs"
    masked_share: float = Field(default=0.15, gt=0, lt=1)  # share of the test text's tokens that are masked
    test_tokens: int = Field(default=20000, ge=1)  # tokens of the test text in rows with gaps
    true_words: int = Field(default=60, ge=0)  # masked words whose true distribution is computed, at effort 1 and above

    def small(self, base: Kind) -> tuple[Any, dict[str, object]]:
        """See `NetworkComparisonConfig.small`."""
        return KINDS[base], self.body(base)

    def training(self, **changes: object) -> Any:
        """See `NetworkComparisonConfig.training`: those of a BERT, which has all settings."""
        return self.pretraining("bert", **changes)


class Gaps(NamedTuple):
    """The data for predicting masked words: the test text, and words whose true distribution is known."""

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
        bodies = Bodies(data, config, data.stream("train"))
        transfer, gaps = Transfer(bodies, config), self._gaps(data, bodies)
        self.majorities = transfer.majorities()

        def trial(base: Kind, change: Change, seed: int) -> Scored:
            _, settings, training = config.variant(base, change)
            body = bodies.train(base, settings, training, seed=seed)
            values: Values = {**transfer.right(body, seed=seed), **self._gaps_filled(body, bodies, gaps)}
            return body.number_of_parameters(), {key: values[key] for key in self.metrics}

        return trial

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
        room = self.config.sequence_length - len(("<cls>", "<sep>"))
        hidden = []
        if count and is_microworld(documents, known):
            hidden = hidden_words(bodies.tokenizer, documents, count, room=room)
        return Gaps(text, hidden)

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
