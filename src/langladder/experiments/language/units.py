"""What a model reads: characters, subwords or words, compared where they can be (Mielke et al. 2021).

Perplexity per token says nothing between tokenizers; bits per byte do: L / (ln 2 · bytes) of the same test text. Every
unit gets the same text to learn from: as many steps, each over as many words, hence over more tokens where these are
small.
Contexts and orders reach as far back in words, for a GPT and an n-gram alike (an n-gram no further than order 6).

The text is what the pipeline's tokenizer spells. A word that the training text lacks is UNK, one token for them all,
which makes words look better than they are; the share of such tokens stands in the table.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from langladder.evaluation.perplexity import score
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, figure, lines, opened, rounded
from langladder.experiments.language.small_models import TITLES, Network, TextConfig, trained
from langladder.experiments.statistics import CONFIDENCE, below, difference, every, gated, mean, some
from langladder.ground import schema
from langladder.models.language.language_model import LanguageModel
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig, Trained
from langladder.text.words.segmentation import conventions_of

LONGEST_ORDER = 6


BYTE = 8.0
COUNTED = "Kneser–Ney"
"""The title of the n-gram, which the networks must beat."""


class UnitsConfig(TextConfig, RepeatedConfig):
    """Settings of `Units`; lengths are in words, for every unit the same stretch of text."""

    units: list[Trained] = Field(default=["character", "bpe_bytes", "word"], min_length=2)
    subwords: int = Field(default=1000, ge=260)  # vocabulary of those units that have a size to choose
    order: int = Field(default=3, ge=1, le=LONGEST_ORDER)  # of the n-gram
    networks: list[Network] = Field(default=["lstm", "gpt"])


class Units(Experiment[UnitsConfig]):
    """Bits a byte by unit; a line a model."""

    Config: ClassVar[type[schema.Config]] = UnitsConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        train, test = list(text_lines(data, "train")), list(self._few(text_lines(data, "test")))
        split = conventions_of(data.clean).split
        size: dict[str, Any] = {
            "words": sum(len(split(line)) + 1 for line in test),
            "characters": sum(len(line) + 1 for line in test),
            "bytes": sum(len(f"{line}\n".encode()) for line in test),
        }
        per_word: dict[Trained, float] = {}
        unknown: dict[Trained, float] = {}
        found: dict[str, dict[Trained, list[float]]] = {}
        for unit in config.units:
            tokenizer = self._tokenizer(unit, train)
            text, held_out = encoded(train, tokenizer), encoded(test, tokenizer)
            per_word[unit] = (len(held_out.ids) - len(test)) / size["words"]
            for title, (kind, settings, changes) in self._models(per_word[unit]).items():
                bits = found.setdefault(title, {}).setdefault(unit, [])
                for one in config.numbers(seed):
                    model, _ = trained(kind, settings, tokenizer.vocab_size, text, config, seed=one, changes=changes)
                    result = score(model, held_out, **size)
                    bits.append(result.bits_per_byte)
                    unknown[unit] = result.unknown_rate
            said = ", ".join(f"{title} {mean(by[unit]):.3f}" for title, by in found.items())
            progress(f"{unit}: {per_word[unit]:.2f} tokens per word, bits per byte {said}")
        return findings(found, per_word, unknown, config.margin)

    def _few(self, all_lines: Iterator[str]) -> Iterator[str]:
        left = self.config.test_tokens
        for line in all_lines:
            if left <= 0:
                return
            left -= len(line.split()) + 1
            yield line

    def _tokenizer(self, unit: Trained, train: list[str]) -> Tokenizer:
        size = None if unit in ("word", "character") else self.config.subwords
        return train_tokenizer(train, TokenizerConfig(kind=unit, vocab_size=size))

    def _models(self, per_word: float) -> dict[str, tuple[type[LanguageModel], dict[str, object], dict[str, object]]]:
        """Title → class, settings, and changes to the training, with lengths in tokens."""
        config = self.config
        length = max(2, round(config.sequence_length * per_word))
        order = min(LONGEST_ORDER, max(2, round(config.order * per_word)))
        models: dict[str, tuple[type[LanguageModel], dict[str, object], dict[str, object]]] = {}
        models[COUNTED] = (KneserNey, {"order": order}, {})
        for name in config.networks:
            kind, settings = config.small(name)
            settings |= {"context": length} if name == "gpt" else {}
            models[TITLES[name]] = (kind, settings, {"sequence_length": length})
        return models


def text_lines(data: Data, split: Any) -> Iterator[str]:
    """The text of a split, line by line, as its tokenizer spells it."""
    tokenizer = data.tokenizer()
    for document in data.stream(split):
        for ids in np.split(document, np.flatnonzero(document == EOS) + 1)[:-1]:
            yield tokenizer.decode(token for token in ids.tolist() if token not in (BOS, EOS))


def encoded(text: list[str], tokenizer: Tokenizer) -> TokenStream:
    """Lines as documents of one line each."""
    rows = [framed(ids) for ids in tokenizer.encode_lines(text)]
    return TokenStream(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))


def findings(
    found: dict[str, dict[Trained, list[float]]],
    per_word: dict[Trained, float],
    unknown: dict[Trained, float],
    margin: float,
) -> Findings:
    """The claim holds where every model does better by some larger unit than by characters, by `margin` bits a byte.

    Nothing is judged where a network has learnt characters, or its best unit, no better than COUNTED does by the same
    unit: what it loses by characters may be training that it lacks. Bytes that are all alike take BYTE bits each.
    """
    units = list(per_word)
    finest = max(per_word, key=lambda unit: per_word[unit])
    best = {title: min(by, key=lambda unit: mean(by[unit])) for title, by in found.items()}
    larger = [unit for unit in units if unit != finest]
    apart = 1 - (1 - CONFIDENCE) / max(1, len(larger))  # the best of some is picked
    counted = found.get(COUNTED, {})
    levels = {unit: mean(counted[unit]) if unit in counted else BYTE / 2 for unit in units}
    gates = [
        below(by[unit], levels[unit], f"{title} has not learnt the unit {unit}: its bits per byte")
        for title, by in found.items()
        if title != COUNTED
        for unit in dict.fromkeys((finest, best[title]))
    ]
    expected = [some(difference(by[finest], by[one], apart).exceeds(margin) for one in larger) for by in found.values()]
    verdict = gated(gates, every(expected))
    said = "; ".join(
        f"{title} " + ", ".join(f"{unit} {mean(by[unit]):.3f}" for unit in units) for title, by in found.items()
    )
    lead = ", ".join(f"{title} by {unit}" for title, unit in best.items())
    rows = [["tokens per word", *(rounded(per_word[unit]) for unit in units)]]
    rows += [["unknown, share of tokens", *(rounded(unknown[unit]) for unit in units)]]
    return Findings(
        **opened(verdict, f"bits per byte from the same text: {said}. Best are {lead}."),
        columns=["", *units],
        rows=rows
        + [[f"{title}, bits per byte", *(rounded(mean(by[unit])) for unit in units)] for title, by in found.items()],
        plots=[
            Plot(
                title="Bits a byte by unit",
                x_label="unit",
                y_label="bits per byte (test)",
                series=lines(found),
            )
        ],
        figures={figure(title, unit): mean(values) for title, by in found.items() for unit, values in by.items()},
    )
