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

from langladder.evaluation.translation import BUCKETS, bleu_by_length
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Grid, Plot, lines, opened, rounded
from langladder.experiments.statistics import Verdict, above, difference, every, gated, mean
from langladder.experiments.translation.small_translators import TITLES, Network, TranslationConfig, trained
from langladder.experiments.translation.translation_judge import Judge
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import Split, conventions_of

FIXED: Network = "seq2seq"
CHO: dict[str, object] = {"cell": "gru", "context_each_step": True, "readout": "maxout"}
"""Its settings: those of the network with attention."""
LEAST = 5.0
"""BLEU of the shortest sentences below which a translator has learned too little to tell anything."""


class AttentionByLengthConfig(TranslationConfig, RepeatedConfig):
    """Settings of `AttentionByLength`."""

    networks: list[Network] = Field(default=["seq2seq", "attention"], min_length=1)
    fixed_lr: float = Field(default=0.01, gt=0)  # of seq2seq; `lr` is that of the others
    a_length: int = Field(default=60, ge=1)  # test sentences of each range of lengths, at most


class AttentionByLength(Experiment[AttentionByLengthConfig]):
    """BLEU by source length, a line a network."""

    Config: ClassVar[type[schema.Config]] = AttentionByLengthConfig
    reads = ("tokens/parallel",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        found: dict[Network, dict[tuple[str, int], list[float]]] = {}
        judge, words = by_length(
            Judge.open(data), config.fewer(config.a_length), conventions_of(data.parallel, "source").split
        )
        for name in config.networks:
            lr = config.fixed_lr if name == FIXED else config.lr
            kind, settings = config.small(name)
            settings |= CHO if name == FIXED else {}
            found[name] = {}
            for one in config.numbers(seed):
                model, _ = trained(kind, settings, data, config, seed=one, lr=lr)
                for row in bleu_by_length(words, judge.translations(model), judge.references, judge.bleu):
                    found[name].setdefault((row.length, row.sentences), []).append(row.bleu)
            said = (f"{mean(bleus):.1f} of {length} words" for (length, _), bleus in found[name].items())
            progress(f"{TITLES[name]}: BLEU {', '.join(said)}")
        return findings(found, config.margin)


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


def findings(found: dict[Network, dict[tuple[str, int], list[float]]], margin: float) -> Findings:
    """The claim holds where seq2seq's BLEU falls from the shortest to the longest sentences, and attention's less.

    Falls are shares of the BLEU of the shortest, so that a weaker network is not credited with a small fall.

    Args:
        found: network → (length, sentences) → BLEU, a value a seed.
        margin: the least share that counts.
    """
    first, last = ({name: np.array(list(by.values())[end]) for name, by in found.items()} for end in (0, -1))  # (S,)
    kept = {name: last[name] / np.maximum(first[name], 1e-9) for name in found}
    others = [name for name in found if name != FIXED]
    lengths = list(next(iter(found.values())))
    verdict = Verdict(None, f"needs {TITLES[FIXED]}, another network and two ranges of lengths")
    if FIXED in found and others and len(lengths) > 1:
        gates = [above(first[name], LEAST, f"{TITLES[name]} has not learnt: its BLEU") for name in found]
        less = [difference(kept[name], kept[FIXED]).exceeds(margin) for name in others]
        verdict = gated(gates, every([difference(1.0, kept[FIXED]).exceeds(margin), *less]))
    grid: Grid = {TITLES[name]: {length: values for (length, _), values in by.items()} for name, by in found.items()}
    said = "; ".join(f"{TITLES[name]} from {first[name].mean():.1f} to {last[name].mean():.1f}" for name in found)
    return Findings(
        **opened(verdict, f"from {lengths[0][0]} words to {lengths[-1][0]}, BLEU goes: {said}."),
        columns=["source words", "sentences", *(f"BLEU, {TITLES[name]}" for name in found)],
        rows=[
            [length, float(sentences), *(rounded(mean(by[length, sentences])) for by in found.values())]
            for length, sentences in lengths
        ],
        plots=[
            Plot(
                title="BLEU by length",
                x_label="words of the source sentence",
                y_label="BLEU (greedy)",
                series=lines(grid),
            )
        ],
        figures={f"{name}_bleu_of_longest": float(values.mean()) for name, values in last.items()}
        | {f"{name}_kept": float(values.mean()) for name, values in kept.items()},
    )
