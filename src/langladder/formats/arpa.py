r"""ARPA files: the text form of back-off models that KenLM, SRILM and speech recognisers read and write.

    \data\                      what is in the file: the number of n-grams of each order
    ngram 1=4
    \1-grams:                   log10 p, tab, the words with spaces between, and below the highest order tab, log10 b
    -0.60206    the     -0.30103
    \end\

BOS is `<s>`, EOS `</s>`, UNK `<unk>`; PAD is left out. Other tokens are unchanged, except that a word must not contain
white space (a BPE token, or a character, may) and must not equal one of these three (WikiText has an ordinary `<unk>`):
such characters, and every backslash, are written `\xHH`, and read back. A logarithm of 0 is -99, as in SRILM. `.gz`
files are compressed.

Files are read as KenLM reads them, line by line into the trie of `langladder.counts.ngrams`: `<UNK>` is `<unk>`; a file
without `<unk>` gets it with log10 p = -100, with a warning. Accepted, as by KenLM: a byte-order mark, no blank line
after the head, a back-off of 0 at the highest order. Refused, as by KenLM: another back-off there, text after \end\, a
file without `<s>` or `</s>`. Words with control characters are also refused, because such a file is damaged.
"""

import codecs
import logging
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from langladder.ground.errors import InputError
from langladder.kernels.counting import numbers
from langladder.models.ngrams.backoff import ArpaConfig, ArpaModel, BackoffLanguageModel
from langladder.text.read.lines import byte_lines, writing
from langladder.text.tokenize.specials import BOS, EOS, NAMES, PAD, UNK

# ---- reading, line by line


LONGEST_LINE = 1_000_000  # bytes
HIGHEST_ORDER = 64
ZERO = -99.0  # the logarithm of 0
LARGEST = 1e30  # larger numbers are errors
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1b\x7f]")  # the others separate fields


class Section:
    """The lines of one order in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[tuple[list[bytes], int]] = []  # words (UTF-8), line number
        self.log_probs: list[float] = []
        self.log_backoffs: list[float] = []


class Reader:
    """The file, line by line, with its position."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        self.lines = self._lines()
        self.header = ""  # of order 1, if it ended the head

    def _lines(self) -> Iterator[bytes]:
        for number, line in byte_lines(self.path, LONGEST_LINE):
            self.number = number
            yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line

    def wrong(self, what: str) -> InputError:
        """An error in the line that was read last."""
        return InputError(f"{self.path}:{self.number}: {what}")

    def filled(self) -> str:
        """The next line that is not blank."""
        for line in self.lines:
            if line.strip():
                return self._text(line)
        raise self.wrong("the file ends here; a complete ARPA file ends with \\end\\")

    def _text(self, line: bytes) -> str:
        try:
            return line.decode("utf-8").strip(" \t\r\n")
        except UnicodeDecodeError as error:
            raise self.wrong(f"not UTF-8 ({error.reason})") from error

    def sizes(self) -> list[int]:
        """The number of n-grams of each order, from the header of the file."""
        for line in self.lines:  # any text may come before \data\
            if line.strip() == b"\\data\\":
                break
        else:
            raise self.wrong("not an ARPA file: it has no line \\data\\")
        sizes: list[int] = []
        for line in self.lines:
            text = self._text(line)
            if not text or text == "\\1-grams:":
                self.header = text
                if sizes:
                    return sizes
                if not text:
                    continue
            match = re.fullmatch(r"ngram\s+(\d+)\s*=\s*(\d+)", text)
            if not match or int(match[1][:9]) != len(sizes) + 1 or len(match[2]) > 15:
                raise self.wrong(f"{text[:60]!r}; expected 'ngram {len(sizes) + 1}=<number>'")
            sizes.append(int(match[2]))
            if len(sizes) > HIGHEST_ORDER:
                raise self.wrong(f"an order above {HIGHEST_ORDER}")
        raise self.wrong("the file ends within its header")

    def section(self, n: int, size: int, highest: bool) -> Section:
        """The n-grams of order n."""
        header, self.header = self.header or self.filled(), ""
        if header != f"\\{n}-grams:":
            raise self.wrong(f"{header[:60]!r}; expected '\\{n}-grams:'")
        section = Section(self.path)
        for _ in range(size):
            line = next(self.lines, b"")
            fields = line.split()  # at ASCII white space, and no other
            extra = len(fields) - n - 1
            if extra not in (0, 1) or (extra and not _has_backoff(line, fields[-1], highest)):
                shape = f"log10 p, {n} words" + (", no log10 b but 0" if highest else ", and perhaps log10 b")
                raise self.wrong(f"{self._text(line)[:60]!r} is not one of the {size} n-grams of order {n} ({shape})")
            section.log_probs.append(self._number(line, fields[0]))
            section.log_backoffs.append(self._number(line, fields[-1]) if extra else 0.0)
            if not section.log_probs[-1] <= 0 or not section.log_backoffs[-1] < LARGEST:
                raise self.wrong(f"{self._text(line)[:60]!r}: log10 p must be at most 0, and log10 b a number")
            if n == 1:
                self._text(line)  # longer n-grams have only words of order 1, so they can stay bytes
                if CONTROL.search(fields[1]):
                    raise self.wrong(f"the word {fields[1][:40]!r} has a control character: is the file damaged?")
            section.rows.append((fields[1 : n + 1], self.number))
        return section

    def _number(self, line: bytes, field: bytes) -> float:
        try:
            if b"_" in field:  # Python would read 1_5 as 15
                raise ValueError
            return float(field)
        except ValueError:
            raise self.wrong(f"{self._text(line)[:60]!r}: {field[:40]!r} is not a number") from None

    def end(self) -> None:
        """The file is complete, and ends here."""
        if (line := self.filled()) != "\\end\\":
            raise self.wrong(f"{line[:60]!r}; expected \\end\\ (more n-grams than the head announces?)")
        for more in self.lines:
            if more.strip():
                raise self.wrong(f"{self._text(more)[:60]!r} after \\end\\; an ARPA file ends there")


def _has_backoff(line: bytes, last: bytes, highest: bool) -> bool:
    """Whether the last field of a line with one more than p and the words is a back-off, as KenLM would read it.

    One tab comes before it (one space if the line has no tabs): otherwise a word that is cut in two, or a number
    that has lost its sign, could be taken for one.
    """
    before = line.strip()[: -len(last)]
    separated = not before[-2:-1].isspace() and (before.endswith(b"\t") or b"\t" not in before)
    return separated and (not highest or re.fullmatch(rb"[+-]?0*\.?0*", last) is not None)


class Tables:
    """The trie of `langladder.counts.ngrams`, one order at a time."""

    def __init__(self, vocab_size: int) -> None:
        self.levels = [0]
        self.words = np.zeros(0, dtype=np.int32)
        self.starts = np.array([vocab_size], dtype=np.int64)
        self.log_probs = [np.full(vocab_size, -np.inf)]
        self.log_backoffs: list[np.ndarray] = [np.zeros(vocab_size)]
        self.vocab_size = vocab_size

    def add(self, section: Section, names: dict[bytes, int]) -> None:
        """Add one order."""
        try:
            ids = np.array([[names[word] for word in words] for words, _ in section.rows], dtype=np.int64)
        except KeyError:
            word, line = next((w, line) for words, line in section.rows for w in words if w not in names)
            known = "the given vocabulary" if len(self.levels) == 1 else "the words of order 1"
            raise InputError(f"{section.path}:{line}: {as_text([word])[:60]!r} is not among {known}") from None
        if len(self.levels) == 1:
            self._add_words(section, ids.reshape(-1))
        else:
            self._add_longer(section, ids.reshape(len(section.rows), len(self.levels)))

    def _add_words(self, section: Section, ids: np.ndarray) -> None:
        _refuse_repeats(section, ids, np.argsort(ids, kind="stable"))
        self.log_probs[0][ids] = _natural(section.log_probs)
        self.log_probs[0][[PAD, BOS]] = -np.inf  # never predicted
        self.log_backoffs[0][ids] = _natural(section.log_backoffs)
        self.words = np.arange(self.vocab_size, dtype=np.int32)
        self.levels.append(self.vocab_size)

    def _add_longer(self, section: Section, ids: np.ndarray) -> None:
        base, end = self.levels[-2:]
        histories = numbers(self.words, self.starts, ids[:, :-1])  # (M, n) → (M,)
        if (histories < 0).any():
            words, line = section.rows[int(np.argmax(histories < 0))]
            raise InputError(f"{section.path}:{line}: the file has {as_text(words)[:60]!r}, but not its history")
        keys = (histories - base) * self.vocab_size + ids[:, -1]
        order = np.argsort(keys, kind="stable")
        _refuse_repeats(section, keys, order)
        self.starts = np.concatenate(
            [self.starts, self.starts[-1] + np.cumsum(np.bincount(histories - base, minlength=end - base))]
        )
        self.words = np.concatenate([self.words, ids[order, -1].astype(np.int32)])
        self.log_probs.append(_natural(section.log_probs)[order])
        self.log_backoffs.append(_natural(section.log_backoffs)[order])
        self.levels.append(end + len(order))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for `BackoffLanguageModel.set_arrays`."""
        lower = [np.zeros(0), *self.log_backoffs[:-1]]  # the highest order has none
        with np.errstate(over="ignore"):  # too small for float32: log 0
            log_probs, log_backoffs = (np.concatenate(part).astype(np.float32) for part in (self.log_probs, lower))
        return {
            "levels": np.array(self.levels, dtype=np.int64),
            "words": self.words,
            "starts": self.starts,
            "log_probs": log_probs,
            "log_backoffs": log_backoffs,
        }


def as_text(words: list[bytes]) -> str:
    """Words as text."""
    return b" ".join(words).decode("utf-8", errors="replace")


def _natural(base10: list[float]) -> np.ndarray:
    values = np.array(base10, dtype=np.float64)
    return np.where(values == ZERO, -np.inf, values * math.log(10))


def _refuse_repeats(section: Section, keys: np.ndarray, order: np.ndarray) -> None:
    repeated = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(repeated):
        words, line = section.rows[int(order[repeated[0] + 1])]
        raise InputError(f"{section.path}:{line}: {as_text(words)[:60]!r} occurs twice in the file")


# ---- writing


MARKS = {UNK: "<unk>", BOS: "<s>", EOS: "</s>"}
CAPITAL_UNK = b"<UNK>"
MISSING_UNK = -100.0  # log10 p
ROWS = 1 << 18  # lines written at a time


def spell(token: str) -> str:
    r"""A token as a word of an ARPA file: `a b` → `a\x20b`, an ordinary `<unk>` → `\x3cunk>`."""
    if token.lower() in MARKS.values():
        return "\\x3c" + token[1:]
    return re.sub(r"[\\\x00-\x20\x7f]", lambda match: f"\\x{ord(match[0]):02x}", token)


def unspell(word: str) -> str:
    """The inverse of `spell`."""
    return re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), word)


def write_arpa(path: Path, model: BackoffLanguageModel, tokens: Sequence[str]) -> None:
    """Write a back-off model, atomically; the same model gives the same bytes.

    Args:
        tokens: the V tokens by id, e.g. `tokenizer.name(id)`; those at PAD, UNK, BOS and EOS are ignored.

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
    texts = spelt  # of the n-grams of the current order
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
            file.write(lines.buffers()[2][bounds[0] : bounds[-1]])  # the lines are contiguous in memory
    file.write(b"\n\\end\\\n")


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _joined(separator: str, *columns: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*columns, _text(separator))


def _logarithms(natural: np.ndarray) -> pa.Array:
    """Natural logarithms as text to base 10, with enough digits for float32."""
    base10 = np.where(np.isneginf(natural), ZERO, natural / math.log(10)) + 0.0
    return pc.cast(pa.array(base10.astype(np.float32)), pa.large_string())


def read_arpa(path: Path, tokens: Sequence[str] | None = None) -> tuple[ArpaModel, list[str]]:
    """Read a back-off model.

    Args:
        tokens: the vocabulary by id, as `write_arpa` takes it; a token that the file lacks gets P = 0. None: ids are
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
        known = [*NAMES, *(unspell(as_text([word])) for word in new)]

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
    """Add <unk> if the words of order 1 lack it; raise InputError if they lack <s> or </s>."""
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
