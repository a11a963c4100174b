r"""ARPA files: the text form of back-off models that KenLM, SRILM and speech recognisers read and write.

    \data\                      what is in the file: the number of n-grams of each order
    ngram 1=4
    \1-grams:                   log10 p, tab, the words with spaces between, and below the highest order tab, log10 b
    -0.60206	the	-0.30103
    \end\

BOS is `<s>`, EOS `</s>`, UNK `<unk>`; PAD is no word and is left out. Other tokens stand as they are, except that a
word can hold no white space (a BPE token, or a character, may) and none may pass for one of these three (WikiText
writes an ordinary `<unk>`): such characters, and every backslash, are written `\xHH`, and read back. A logarithm of 0
is -99, as in SRILM. `.gz` files are compressed.

They are read as KenLM reads them: `<UNK>` is `<unk>`; a file without `<s>` or `</s>` is refused; one without `<unk>`
gets it with log10 p = -100, and a warning is logged.
"""

import logging
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from langladder.formats.arpa_reader import ZERO, Reader, Section, Tables, shown
from langladder.ground.errors import InputError
from langladder.models.ngrams.arpa_model import ArpaConfig, ArpaModel
from langladder.models.ngrams.backoff import BackoffLanguageModel
from langladder.text.read.lines import writing
from langladder.text.tokenize.specials import BOS, EOS, NAMES, PAD, UNK

MARKS = {UNK: "<unk>", BOS: "<s>", EOS: "</s>"}
CAPITAL_UNK = b"<UNK>"
MISSING_UNK = -100.0  # log10 p
ROWS = 1 << 18  # lines written at a time


def spell(token: str) -> str:
    r"""A token as a word of an ARPA file: `a b` → `a\x20b`, an ordinary `<unk>` → `\x3cunk>`."""
    if token.lower() in MARKS.values():
        return "\\x3c" + token[1:]
    return re.sub(r"[\\\x00-\x20\x7f]", lambda found: f"\\x{ord(found[0]):02x}", token)


def unspell(word: str) -> str:
    """What `spell` spelt."""
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), word)


def write_arpa(path: Path, model: BackoffLanguageModel, tokens: Sequence[str]) -> None:
    """Write a back-off model, atomically; the same model gives the same bytes.

    Args:
        tokens: the V tokens by id, e.g. `tokenizer.name(id)`; what stands at PAD, UNK, BOS and EOS does not matter.

    Raises:
        InputError: the number of tokens is not the model's, or two tokens are the same.
    """
    words = [MARKS.get(token, spell(text)) for token, text in enumerate(tokens)]
    if len(words) != model.vocab_size or len(set(words[PAD + 1 :])) < len(words) - 1:
        raise InputError(f"{path}: {len(set(words))} different tokens for a vocabulary of {model.vocab_size} ids")
    spelt = pa.array(words, pa.large_string())
    with writing(path, level=6) as file:
        _write(file, model, spelt)


def _write(file: IO[bytes], model: BackoffLanguageModel, spelt: pa.Array) -> None:
    tables = model.arrays()
    levels, order = tables["levels"], model.order
    sizes = [int(size) - (n == 0) for n, size in enumerate(np.diff(levels))]  # PAD is left out
    counts = "".join(f"ngram {n}={size}\n" for n, size in enumerate(sizes, start=1))
    file.write(f"\n\\data\\\n{counts}".encode())
    texts = spelt  # of the n-grams of the order in hand
    for n in range(1, order + 1):
        first, last = int(levels[n - 1]), int(levels[n])
        if n > 1:
            shorter = int(levels[n - 2])
            of = np.repeat(np.arange(first - shorter), np.diff(tables["starts"][shorter : first + 1]))
            texts = _joined(" ", texts.take(pa.array(of)), spelt.take(pa.array(tables["words"][first:last])))
        file.write(f"\n\\{n}-grams:\n".encode())
        for start in range(first, last, ROWS):
            rows = slice(start, min(start + ROWS, last))
            columns = [_logarithms(tables["log_probs"][rows]), texts.slice(start - first, rows.stop - start)]
            if n < order:
                columns.append(_logarithms(tables["log_backoffs"][rows]))
            lines = _joined("\n", _joined("\t", *columns), _text(""))  # each ends in a newline
            if start == 0:
                lines = lines.slice(PAD + 1)
            bounds = np.frombuffer(lines.buffers()[1], np.int64)[lines.offset : lines.offset + len(lines) + 1]
            file.write(lines.buffers()[2][bounds[0] : bounds[-1]])  # the lines lie end to end in memory
    file.write(b"\n\\end\\\n")


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _joined(separator: str, *columns: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*columns, _text(separator))


def _logarithms(natural: np.ndarray) -> pa.Array:
    """Natural logarithms as text to base 10, with the digits that tell one float32 from the next."""
    base10 = np.where(np.isneginf(natural), ZERO, natural / math.log(10)) + 0.0
    return pc.cast(pa.array(base10.astype(np.float32)), pa.large_string())


def read_arpa(path: Path, tokens: Sequence[str] | None = None) -> tuple[ArpaModel, list[str]]:
    """Read a back-off model.

    Args:
        tokens: the vocabulary by id, as `write_arpa` takes it; a token that the file lacks is impossible. None: ids are
            given in the file's order, after those of PAD, UNK, BOS and EOS.

    Returns:
        The model, and its tokens by id.

    Raises:
        InputError: the file is missing or malformed (names file and line), lacks <s> or </s>, or has a word that is not
            among `tokens`.
    """
    path = Path(path)
    reader = Reader(path)
    sizes = reader.sizes()
    section = reader.section(1, sizes[0], len(sizes) == 1)
    names = {word.encode(): token for token, word in MARKS.items()} | {CAPITAL_UNK: UNK}
    _complete(section)
    if tokens is not None:
        names |= {spell(text).encode(): token for token, text in enumerate(tokens) if token not in (PAD, *MARKS)}
        known = list(tokens)
    else:
        new = [word for (word,), _ in section.rows if word not in names]
        names |= {word: token for token, word in enumerate(new, start=len(NAMES))}
        known = [*NAMES, *(unspell(shown([word])) for word in new)]

    tables = Tables(len(known))
    for n, size in enumerate(sizes, start=1):
        if n > 1:
            section = reader.section(n, size, n == len(sizes))
        tables.add(section, names)
    reader.end()
    model = ArpaModel(ArpaConfig(), len(known))
    model.set_arrays(tables.arrays())
    return model, known


def _complete(section: Section) -> None:
    """Add <unk> where the words of order 1 lack it; raise InputError where they lack <s> or </s>."""
    words = {word for (word,), _ in section.rows}
    for token in (BOS, EOS):
        if MARKS[token].encode() not in words:
            raise InputError(
                f"{section.path}: no word {MARKS[token]} among the 1-grams; a model of sentences has <s> and </s>"
            )
    if not words & {MARKS[UNK].encode(), CAPITAL_UNK}:
        logging.getLogger(__name__).warning("%s: no word <unk>; it gets log10 p = %g", section.path, MISSING_UNK)
        section.rows.append(([MARKS[UNK].encode()], 0))
        section.log_probs.append(MISSING_UNK)
        section.log_backoffs.append(0.0)
