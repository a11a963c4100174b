"""The units of a model: characters, subwords or words, with comparable measures (Mielke et al. 2021).

Perplexity per token cannot be compared between tokenizers, but bits per byte can: L / (ln 2 · bytes) of the same test
text. Every unit gets the same training text: the same number of steps with the same number of words, so more tokens if
these are small. Contexts and orders cover the same number of words, for a GPT and an n-gram (but the order of an n-gram
is at most 6).

The text is the output of the pipeline's tokenizer. All words that are not in the training text are the same token UNK,
which makes words look better than they are. The table has the share of such tokens.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.language.small_models import COUNTED, ORDER, TextConfig, trained
from langladder.evaluation.perplexity import score
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig, Trained
from langladder.text.words.segmentation import conventions_of

LONGEST_ORDER = 6


class Variant(schema.Config):
    """The varied settings."""

    unit: Trained


class UnitsConfig(TextConfig, ComparisonConfig):
    """Settings of `Units`; lengths are in words, so they are the same amount of text for every unit."""

    VARIANT = Variant
    bases: list[Literal["kneser_ney", "lstm", "gpt"]] = Field(min_length=1)
    metric: Literal["bits"] = "bits"
    subwords: int = Field(default=1000, ge=260)  # vocabulary size of units that allow a choice
    order: int = Field(default=ORDER, ge=1, le=LONGEST_ORDER)  # of the n-gram, in words


class Units(Comparison[UnitsConfig]):
    """Bits per byte by unit; one line per model.

    There is no verdict if a network is not better than the n-gram of the same unit, for characters or for all larger
    units: a loss from characters could then be due to insufficient training.
    """

    Config: ClassVar[type[schema.Config]] = UnitsConfig
    reads = ("tokens/text",)
    titles = COUNTED
    metrics: ClassVar[dict[str, Metric]] = {
        "bits": Metric("bits per byte (test)"),
        "per_word": Metric("tokens per word", drawn=False),
        "unknown": Metric("unknown, share of tokens", drawn=False),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        config = self.config
        train, test = list(text_lines(data, "train")), list(self._few(text_lines(data, "test")))
        split = conventions_of(data.clean).split
        size: dict[str, Any] = {
            "words": sum(len(split(line)) + 1 for line in test),
            "characters": sum(len(line) + 1 for line in test),
            "bytes": sum(len(f"{line}\n".encode()) for line in test),
        }

        @cache
        def read_as(unit: Trained) -> tuple[Tokenizer, TokenStream, TokenStream]:
            vocab_size = None if unit in ("word", "character") else config.subwords
            tokenizer = train_tokenizer(train, TokenizerConfig(kind=unit, vocab_size=vocab_size))
            return tokenizer, encoded(train, tokenizer), encoded(test, tokenizer)

        def trial(base: Any, change: Change, seed: int) -> Scored:
            tokenizer, text, held_out = read_as(Variant(**change).unit)
            per_word = (len(held_out.ids) - len(test)) / size["words"]
            length = max(2, round(config.sequence_length * per_word))  # in tokens
            kind, settings = config.counted(min(LONGEST_ORDER, max(2, round(config.order * per_word))))
            if base != "kneser_ney":
                kind, settings = config.small(base)
                settings |= {"context": length} if base == "gpt" else {}
            changes = {"sequence_length": length}
            model, _ = trained(kind, settings, tokenizer.vocab_size, text, config, seed=seed, changes=changes)
            scores = score(model, held_out, **size)
            values = {"bits": scores.bits_per_byte, "per_word": per_word, "unknown": scores.unknown_rate}
            return model.number_of_parameters(), values

        return trial

    def _few(self, all_lines: Iterator[str]) -> Iterator[str]:
        left = self.config.test_tokens
        for line in all_lines:
            if left <= 0:
                return
            left -= len(line.split()) + 1
            yield line


def text_lines(data: Data, split: Any) -> Iterator[str]:
    """The text of a split, line by line, after encoding and decoding with its tokenizer."""
    tokenizer = data.tokenizer()
    for document in data.stream(split):
        for ids in np.split(document, np.flatnonzero(document == EOS) + 1)[:-1]:
            yield tokenizer.decode(token for token in ids.tolist() if token not in (BOS, EOS))


def encoded(text: list[str], tokenizer: Tokenizer) -> TokenStream:
    """Lines as documents of one line each."""
    rows = [framed(ids) for ids in tokenizer.encode_lines(text)]
    return TokenStream(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))
