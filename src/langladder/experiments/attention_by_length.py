"""What a fixed vector costs by the length of the sentence (Bahdanau, Cho & Bengio 2015, figure 2; Cho et al. 2014b).

    P(y_t | y_<t, x) = g(y_{t−1}, s_t, c_t),   s_t = GRU([E y_{t−1} ; c_t], s_{t−1})
    without attention   c_t = c, the encoder's last state: H numbers for any sentence (Cho et al. 2014a)
    with attention      c_t = Σ_j α_tj h_j: an annotation h_j for every word

Both are trained on the same batches in the same order for the same number of steps, and translate the same test
sentences greedily: as many of each range of lengths as there are, up to a limit. Cells and readout are the same.
"""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.evaluation.translation import BUCKETS, LengthBucket, bleu_by_length
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.small_translators import TITLES, Network, TranslationConfig, trained
from langladder.experiments.translation_judge import Judge
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import Split, conventions_of

FIXED: Network = "seq2seq"
CHO: dict[str, object] = {"cell": "gru", "context_each_step": True, "readout": "maxout"}
"""Its settings: those of the network with attention."""
LEAST = 5.0
"""BLEU of the shortest sentences below which a translator has learned too little to tell anything."""


class AttentionByLengthConfig(TranslationConfig):
    """Settings of `AttentionByLength`."""

    networks: list[Network] = Field(default=["seq2seq", "attention"], min_length=1)
    fixed_lr: float = Field(default=0.01, gt=0)  # of seq2seq; `lr` is that of the others
    a_length: int = Field(default=60, ge=1)  # test sentences of each range of lengths, at most


class AttentionByLength(Experiment[AttentionByLengthConfig]):
    """BLEU by source length, a line a network."""

    Config: ClassVar[type[schema.Config]] = AttentionByLengthConfig
    reads = ("tokens/parallel",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config, found = self.config, {}
        judge, words = by_length(
            Judge.open(data), config.fewer(config.a_length), conventions_of(data.parallel, "source").split
        )
        for name in config.networks:
            lr = config.fixed_lr if name == FIXED else config.lr
            kind, settings = config.small(name)
            model, _ = trained(kind, settings | (CHO if name == FIXED else {}), data, config, seed=seed, lr=lr)
            found[name] = bleu_by_length(words, judge.translations(model), judge.references, judge.bleu)
            progress(f"{TITLES[name]}: BLEU " + ", ".join(f"{row.bleu} of {row.length} words" for row in found[name]))
        return findings(found)


def by_length(judge: Judge, count: int, split: Split) -> tuple[Judge, np.ndarray]:
    """The first `count` sentences of each range of lengths, and the source words of each; `split` cuts sources.

    A range of which there is less than a third of `count` is left out: its BLEU would say little.

    Raises:
        InputError: none is left.
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


def findings(found: dict[Network, list[LengthBucket]]) -> Findings:
    """The claim holds where seq2seq's BLEU falls from the shortest to the longest sentences, and attention's less.

    Falls are shares of the BLEU of the shortest, so that a weaker network is not credited with a small fall.
    """
    first, last = ({name: rows[place].bleu for name, rows in found.items()} for place in (0, -1))
    kept = {name: last[name] / first[name] if first[name] else 0.0 for name in found}
    others = [name for name in found if name != FIXED]
    lengths = [row.length for row in found[next(iter(found))]]
    able = FIXED in found and len(others) > 0 and len(lengths) > 1 and min(first.values()) >= LEAST
    holds = kept[FIXED] < 1 and all(kept[FIXED] < kept[name] for name in others) if able else None
    said = "; ".join(f"{TITLES[name]} from {first[name]:.1f} to {last[name]:.1f}" for name in found)
    return Findings(
        holds=holds,
        verdict=opened(holds, f"from {lengths[0]} words to {lengths[-1]}, BLEU goes: {said}."),
        columns=["source words", "sentences", *(f"BLEU, {TITLES[name]}" for name in found)],
        rows=[
            [length, float(rows[0].sentences), *(rounded(row.bleu) for row in rows)]
            for length, *rows in zip(lengths, *found.values(), strict=True)
        ],
        plots=[
            Plot(
                title="BLEU by length",
                x_label="words of the source sentence",
                y_label="BLEU (greedy)",
                series=[series(TITLES[name], lengths, [row.bleu for row in rows]) for name, rows in found.items()],
            )
        ],
        figures={f"{name}_bleu_of_longest": last[name] for name in found}
        | {f"{name}_kept": rounded(share) or 0.0 for name, share in kept.items()},
    )
