"""Text for the pre-training of `transfer_quality.py`: articles of wiki-en, and training texts of the tasks, unlabelled.

The sets with labels have punctuation and clitics as words of their own, so articles are split in the same way, and
quotes and brackets are written alike. A sentence of a set is a document of its own, as it will stand in a row when it
is to be labelled. MR has no text here: SST was made from its reviews, so that MR's training folds hold SST's dev and
test sentences. The other way round about seven in ten of MR's test reviews are among SST's training sentences, which
the encoder reads here without their labels; `--sets` leaves them out.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from public_data import find, read
from public_labels import questions, sentences, trees

from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

SETS = ("sst2", "trec", "ud_ewt")
HELD_OUT = 100  # articles
WORD = re.compile(
    r"(?:[^\W\d_]\.){2,}|\d+(?:[.,]\d+)+|n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W_]+?(?=n't\b)|[^\W_]+|\S", re.IGNORECASE
)
ALIKE = {"\u2019": "'", "\u201c": '"', "\u201d": '"', "``": '"', "''": '"', "\\/": "/"}
ALIKE |= {"-LRB-": "(", "-RRB-": ")", "-lrb-": "(", "-rrb-": ")"}


class Corpus(NamedTuple):
    """What an encoder is pre-trained on."""

    tokenizer: Tokenizer
    train: TokenStream
    validation: TokenStream


def normal(word: str, *, lowercase: bool) -> str:
    """Quotes, brackets and slashes in one spelling; case as asked."""
    for one, other in ALIKE.items():
        word = word.replace(one, other)
    return word.lower() if lowercase else word


def as_read(text: str, *, lowercase: bool) -> str:
    """A text with its words and its punctuation apart."""
    return " ".join(WORD.findall(normal(text, lowercase=lowercase)))


def articles(data: Path, most: int | None, *, lowercase: bool) -> list[list[str]]:
    """The articles' lines without titles; `most`: articles, None: all."""
    blocks = read(find(data, "wiki-en/wiki_en.txt")).decode("utf-8").split("\n\n")[:most]
    found = []
    for block in blocks:
        lines = [as_read(line, lowercase=lowercase) for line in block.splitlines() if not line.startswith("= ")]
        found.append([line for line in lines if line])
    return [article for article in found if article]


def unlabelled(data: Path, name: str, *, lowercase: bool) -> list[str]:
    """The training texts of a set."""
    if name == "ud_ewt":  # its words are what is tagged, so they stay as they are
        rows = [" ".join(normal(word, lowercase=lowercase) for word in one.words) for one in sentences(data, "train")]
    else:
        names: dict[str, str | None] = {label: label for label in "01234"}
        examples = (trees(data, names) if name == "sst2" else questions(data)).train
        rows = [as_read(example.text, lowercase=lowercase) for example in examples]
    return [row for row in rows if row]


def prepare(
    data: Path, out: Path, sets: tuple[str, ...], *, vocabulary: int, repeat: int, lowercase: bool, most: int | None
) -> Corpus:
    """Tokenizer and streams, made in `out` or taken from there.

    Args:
        sets: whose training texts are read. repeat: how often, where the articles are read once.
        vocabulary: V. most: articles.
    """
    made = out / "validation.arrow"  # written last
    if not made.is_file():
        documents = articles(data, most, lowercase=lowercase)
        held, documents = documents[:HELD_OUT], documents[HELD_OUT:]
        texts = [[row] for name in sets for row in unlabelled(data, name, lowercase=lowercase)]
        lines = [line for document in [*documents, *texts] for line in document]
        config = TokenizerConfig(kind="wordpiece", vocab_size=vocabulary, character_coverage=0.9995)
        tokenizer = train_tokenizer(lines, config)
        tokenizer.save(out / "tokenizer.json")
        for path, part in ((out / "train.arrow", [*documents, *texts * repeat]), (made, held)):
            _write(path, part, tokenizer)
    tokenizer = Tokenizer.load(out / "tokenizer.json")
    return Corpus(tokenizer, TokenStream.open(out / "train.arrow"), TokenStream.open(made))


def _write(path: Path, documents: list[list[str]], tokenizer: Tokenizer) -> None:
    encoded = iter(tokenizer.encode_lines([line for document in documents for line in document]))
    rows = ([framed(next(encoded)) for _ in document] for document in documents)
    TokenStream.write(path, (np.concatenate(row) for row in rows))
