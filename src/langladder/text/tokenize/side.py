"""Tokenize a side of the clean data, as the stage `tokenize` and `ll.train` do: train, encode every split, report.

A text has one tokenizer. Sentence pairs have one for each language, or one for both.
"""

from pathlib import Path
from typing import Any

import tokenizers as hf

from langladder.text.storage.tables import PAIRS, TableLines
from langladder.text.tokenize.encoding import encode_corpus, encode_pairs, training_sides, training_text
from langladder.text.tokenize.tokenizer_training import (
    Alphabet,
    Sample,
    count_characters_of,
    few_tokens,
    report_on,
    train_tokenizer,
)
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from langladder.text.words.segmentation import conventions_of


def tokenize_side(side: str, clean: Path, config: TokenizerConfig, folder: Path, *, shared: bool) -> dict[str, Any]:
    """Train the tokenizers of `text` or `parallel`, and encode every split into a folder.

    Args:
        clean: the folder of its clean data. shared: the same tokens for both languages of pairs.

    Returns:
        The documents, lines and tokens of each split; of each tokenizer what it was trained on, how it cuts the
        validation text, which it has not seen, the number of characters of the training text, and warnings if its
        vocabulary is too small for them, or too large.

    Raises:
        InputError: no training text, or the characters alone are more than `vocab_size`.
    """
    if side == "text":
        sample = Sample.of(training_text(clean).shards(), config.sample_bytes)
        tokenizer = train_tokenizer(sample, config, conventions_of(clean).normalisation)
        splits = encode_corpus(clean, tokenizer, folder)
        held_out = TableLines([(clean / "validation", "text")])
        report = report_on(tokenizer, held_out.shards(), conventions_of(clean))
        return {"splits": splits} | sample.report() | report | _alphabet(training_text(clean), tokenizer, config)
    (source, target), samples = train_pair_tokenizers(clean, config, shared=shared)
    result: dict[str, Any] = {"splits": encode_pairs(clean, source, target, folder)}
    for language, tokenizer, sample in zip(PAIRS.names, (source, target), samples, strict=True):
        held_out = TableLines([(clean / "validation.parquet", language)])
        report = report_on(tokenizer, held_out.shards(), conventions_of(clean, language))
        result[language] = sample.report() | report | _alphabet(training_sides(clean, [language]), tokenizer, config)
    return result


def train_pair_tokenizers(
    clean_folder: Path, config: TokenizerConfig, *, shared: bool
) -> tuple[list[Tokenizer], list[Sample]]:
    """Tokenizers of the source and the target of a clean parallel corpus, with what each was trained on.

    Args:
        shared: the same tokens for both sides; each tokenizer writes a text as its side is written.
    """
    sides = [["source", "target"]] * 2 if shared else [["source"], ["target"]]
    samples = [Sample.of(training_sides(clean_folder, side).shards(), config.sample_bytes) for side in sides]
    written = [conventions_of(clean_folder, side).normalisation for side in ("source", "target")]
    if shared:
        both = train_tokenizer(samples[0], config)
        trained = [Tokenizer(hf.Tokenizer.from_str(both.to_json()), both.kind, names) for names in written]
    else:
        trained = [train_tokenizer(sample, config, names) for sample, names in zip(samples, written, strict=True)]
    return trained, samples


def _alphabet(text: TableLines, tokenizer: Tokenizer, config: TokenizerConfig) -> dict[str, Any]:
    """The number of characters of the training text, and warnings about the vocabulary."""
    alphabet = Alphabet.of(count_characters_of(text))
    small = alphabet.warning(tokenizer.vocab_size) if tokenizer.kind == "bpe_bytes" else None
    few = few_tokens(tokenizer, config)
    warnings = [warning for warning in (few, None if few else small) if warning]
    sizes = {"characters": alphabet.size, "common_characters": alphabet.common}
    return sizes | ({"warnings": warnings} if warnings else {})
