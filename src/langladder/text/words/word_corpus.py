"""What word vectors are made of: a training text as word ids, with its vocabulary and, where they are kept, its counts.

Shape legend: T words of text, R lines, D documents, V words of the vocabulary.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from langladder.ground.artefacts import read_arrays
from langladder.ground.errors import InputError
from langladder.text.storage.corpus_ids import TokenStream, id_bounds
from langladder.text.words.vocabulary import Vocabulary


@dataclass(frozen=True)
class WordCorpus:
    """A training text as word ids, maybe larger than memory.

    Attributes:
        stream: rows are lines (sentences); `stream.ids` (T,) int32 memory-mapped, `stream.offsets` (R + 1,) int64.
        vocabulary: V words, most frequent first, with their counts in this text.
        documents: (D + 1,) int64 bounds of the documents in `stream.ids`; None: each line is a document.
        counts: folder of what was counted in this text before (see `langladder.counts.stored`); None: count anew.
        path: the file of `stream`, so that other processes find it; None: it stands in memory alone.
    """

    stream: TokenStream
    vocabulary: Vocabulary
    documents: np.ndarray | None = None
    counts: Path | None = None
    path: Path | None = None

    def __post_init__(self) -> None:
        ids = self.stream.ids
        if len(ids) == 0:
            raise InputError("the word stream is empty: the vocabulary has none of the training text's words")
        low, high = id_bounds(ids)
        if not 0 <= low <= high < len(self.vocabulary):
            raise InputError(
                f"word ids {low} … {high}, but the vocabulary has {len(self.vocabulary)} words; "
                "make both again (stage `vocab`)"
            )

    @classmethod
    def open(cls, folder: Path, counts: Path | None = None) -> Self:
        """What `langladder.text.words.word_stream.encode_words` wrote, mapped into memory.

        Raises:
            InputError: files are missing, damaged, or do not fit each other.
        """
        folder = Path(folder)
        vocabulary = Vocabulary.load(folder / "vocabulary.json")
        stream = TokenStream.open(folder / "train.arrow")
        path = folder / "documents.safetensors"
        documents = read_arrays(path).get("bounds")
        if documents is None or documents.ndim != 1 or documents.dtype != np.int64 or not len(documents):
            raise InputError(f"{path}: has no array `bounds` of whole numbers; make it again (stage `vocab`)")
        if documents[0] != 0 or documents[-1] != len(stream.ids) or (np.diff(documents) < 0).any():
            raise InputError(f"{path}: its documents are not those of train.arrow; make both again (stage `vocab`)")
        return cls(stream, vocabulary, documents, counts, folder / "train.arrow")

    def beginning(self, words: int) -> Self:
        """The first lines, of so many words or a few more, each a document; nothing was counted in them."""
        return type(self)(self.stream.beginning(words), self.vocabulary)

    @property
    def document_bounds(self) -> np.ndarray:
        """(D + 1,) int64."""
        bounds: np.ndarray = self.stream.offsets if self.documents is None else self.documents
        return bounds
