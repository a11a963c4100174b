"""The cost of a fixed-size vector by sentence length (Bahdanau, Cho & Bengio 2015, figure 2; Cho et al. 2014b).

    P(y_t | y_<t, x) = g(y_{t−1}, s_t, c_t),   s_t = GRU([E y_{t−1} ; c_t], s_{t−1})
    without attention   c_t = c, the encoder's last state: H numbers for every sentence (Cho et al. 2014a)
    with attention      c_t = Σ_j α_tj h_j: an annotation h_j for every word

Both are trained on the same batches in the same order for the same number of steps, and translate the same test
sentences greedily. Each range of lengths has the same maximum number of sentences. Cells and readout are the same.

The result is the share of the shortest sentences' BLEU that is kept for long ones, so that a weaker network does not
look better because of a smaller absolute fall.
"""

import math
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.translation.small_translators import Network, TranslationConfig, trained
from claims.translation.translation_judge import Judge
from langladder.evaluation.translation import BUCKETS, bleu_by_length
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import Split, conventions_of

CHO: dict[str, object] = {"cell": "gru", "context_each_step": True, "readout": "maxout"}
"""Settings of seq2seq: those of the network with attention."""


class Variant(schema.Config):
    """The varied settings: the network, and its learning rate; null: that of the settings."""

    network: Network
    lr: float | None = Field(default=None, gt=0)


class AttentionByLengthConfig(TranslationConfig, ComparisonConfig):
    """Settings of `AttentionByLength`."""

    VARIANT = Variant
    bases: list[Literal["translator"]] = Field(min_length=1)
    metric: Literal["kept", "short"] = "kept"
    a_length: int = Field(default=60, ge=1)  # maximum test sentences per range of lengths


class AttentionByLength(Comparison[AttentionByLengthConfig]):
    """BLEU by source length, one line per network."""

    Config: ClassVar[type[schema.Config]] = AttentionByLengthConfig
    reads = ("tokens/parallel",)
    metrics: ClassVar[dict[str, Metric]] = {
        "kept": Metric("share of the BLEU that is kept", more_is_better=True),
        "short": Metric("BLEU, shortest", more_is_better=True, drawn=False),
        "long": Metric("longest", more_is_better=True, drawn=False),
        "by_length": Metric("BLEU (greedy)", along="words of the source sentence"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`; with only one range of lengths, there is no kept share."""
        del seeds
        config, split = self.config, conventions_of(data.parallel, "source").split
        judge, words = by_length(Judge.open(data), config.fewer(config.a_length), split)

        def trial(_: str, change: Change, seed: int) -> Scored:
            variant = Variant(**change)
            kind, settings = config.small(variant.network)
            settings |= CHO if variant.network == "seq2seq" else {}
            model = trained(kind, settings, data, config, seed=seed, lr=variant.lr or config.lr)[0]
            rows = bleu_by_length(words, judge.translations(model), judge.references, judge.bleu)
            first, last = rows[0].bleu, rows[-1].bleu
            return model.number_of_parameters(), {
                "kept": last / max(first, 1e-9) if len(rows) > 1 else math.nan,
                "short": first,
                "long": last,
                "by_length": {row.length: row.bleu for row in rows},
            }

        return trial


def by_length(judge: Judge, count: int, split: Split) -> tuple[Judge, np.ndarray]:
    """The first `count` sentences of each range of lengths, and their numbers of source words; `split` splits sources
    into words.

    A range with fewer than a third of `count` sentences is left out, because its BLEU would not be reliable.

    Raises:
        InputError: no range is left.
    """
    words = np.array([len(split(sentence.text)) for sentence in judge.sentences])
    ranges = [np.flatnonzero((words >= low) & (words <= (high or words.max()))) for low, high in BUCKETS]
    kept = [rows[:count] for rows in ranges if 3 * len(rows) >= count]
    if not kept:
        raise InputError(
            f"settings.a_length={count}: no range of lengths has {math.ceil(count / 3)} test sentences; set it lower "
            f"or give more pairs (there are {len(words)} to test on)"
        )
    chosen = np.concatenate(kept)
    return replace(judge, sentences=[judge.sentences[i] for i in chosen]), words[chosen]
