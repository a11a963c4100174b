"""Word vectors for unseen words: an unseen word gets the mean of the vectors of its character n-grams.

Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information", section 5.4. Of a known word, the vector is a
row of the matrix as ever; of another,

    v(w) = 1/|G(w)| Σ_{g ∈ G(w)} z_g,      G(w): those of its n-grams whose bucket a training word fell into

(the fastText tool also counts in buckets that no training word touched, whose vectors are as random as they began).

The character n-grams of a word, each hashed into one of a fixed number of buckets.

Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information", section 3.2: a word is set between < and >,
and its n-grams of 3 to 6 characters are taken; n = 3 gives `where` → <wh, whe, her, ere, re>. So `her`, cut from where,
is another n-gram than the whole word <her>. The hash is FNV-1a (Fowler, Noll & Vo) over the n-gram's UTF-8 bytes:

    h ← 2166136261;   for each byte b:   h ← (h ⊕ b) · 16777619  mod 2³²;   bucket = h mod B

as in the fastText tool, down to its reading of bytes above 127 as negative numbers, so that buckets agree with it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from langladder.embeddings.base import AnalogyMethod, WordVectors
from langladder.ground import artefacts
from langladder.ground.errors import InputError
from langladder.kernels.subword import hash_ngrams


@dataclass(frozen=True)
class NgramBuckets:
    """Which n-grams a word has, and which of B buckets each falls into."""

    min_n: int = 3
    max_n: int = 6
    buckets: int = 2_000_000

    def ngrams(self, word: str) -> list[str]:
        """Every n-gram of <word>, by where it starts, then by length; one that occurs twice stands twice.

        >>> NgramBuckets(3, 3).ngrams("where")
        ['<wh', 'whe', 'her', 'ere', 're>']
        """
        token = f"<{word}>"
        return [
            token[start : start + n]
            for start in range(len(token))
            for n in range(self.min_n, min(self.max_n, len(token) - start) + 1)
            if n > 1 or 0 < start < len(token) - 1  # the marks alone are no n-grams
        ]

    def of(self, words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """The buckets of the words' n-grams, in the order of `ngrams`.

        Returns:
            buckets (N,) int64, and bounds (W + 1,) int64: word i has `buckets[bounds[i] : bounds[i + 1]]`.
        """
        tokens = [f"<{word}>".encode() for word in words]
        data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
        ends = np.concatenate([[0], np.cumsum([len(token) for token in tokens], dtype=np.int64)])
        return hash_ngrams(data, ends, self.min_n, self.max_n, self.buckets)


LONGEST_NGRAM = 100  # characters


@dataclass(frozen=True)
class SubwordVectors(WordVectors):
    """V words and N n-gram buckets with their vectors.

    `word in vectors`, `row` and all that asks by rows (evaluation, files of other tools) know the V words only.
    `vector`, `vectors[word]`, `similarity`, `nearest` and `analogy` know every word that shares an n-gram with them.

    Attributes:
        cut: how words fall into n-grams and these into buckets.
        buckets: (N,) int64, the buckets in use, ascending.
        ngrams: (N, D) float32, their vectors.
    """

    cut: NgramBuckets = field(default_factory=NgramBuckets)
    buckets: np.ndarray = None  # type: ignore[assignment]  # a default, since the parent's last fields have one
    ngrams: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buckets is None or self.ngrams is None or self.ngrams.shape != (len(self.buckets), self.dimension):
            raise InputError("subword vectors: each bucket in use needs one vector, as long as the words'")

    @property
    def dimension(self) -> int:
        """D."""
        return int(self.matrix.shape[1])

    @property
    def bytes_per_word(self) -> float:
        """The size of rows and n-gram table together, per word."""
        return float(super().bytes_per_word + (self.buckets.nbytes + self.ngrams.nbytes) / max(1, len(self)))

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {bucket: position for position, bucket in enumerate(self.buckets.tolist())}

    def vector(self, word: str) -> np.ndarray:
        """The vector of any word, (D,) float32: its row if it has one, else the mean of its known n-grams.

        Raises:
            InputError: the word is not known and none of its n-grams is; names the nearest spellings.
        """
        if word in self.index:
            known: np.ndarray = self.matrix[self.index[word]]
            return known
        numbers, _ = self.cut.of([word])
        positions = [self._positions[bucket] for bucket in numbers.tolist() if bucket in self._positions]
        if not positions:
            self.row(word)  # raises that the word is unknown
        mean: np.ndarray = self.ngrams[positions].mean(axis=0)
        return mean

    def __getitem__(self, word: str) -> np.ndarray:
        return self.vector(word)

    def similarity(self, first: str, second: str) -> float:
        """cos(v, w) of any two words."""
        return float(_unit(self.vector(first)) @ _unit(self.vector(second)))

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k known words nearest to any word, with their cosines, nearest first."""
        return self._among_rows(_unit(self.vector(word)), [word], k)

    def analogy(
        self, a: str, b: str, c: str, k: int = 1, *, method: AnalogyMethod = "3cosadd"
    ) -> list[tuple[str, float]]:
        """a is to b as c is to …: the common method if all three have a row, else 3CosAdd, which works for all words.

        Raises:
            InputError: 3CosMul is requested for a word without a row, or a word has no known n-grams.
        """
        if all(word in self for word in (a, b, c)):
            return super().analogy(a, b, c, k, method=method)
        if method != "3cosadd":
            raise InputError(f"analogies with words without a row need 3cosadd, not {method}")
        first, second, third = (_unit(self.vector(word)) for word in (a, b, c))
        return self._among_rows(_unit(second - first + third), [a, b, c], k)

    def _among_rows(self, target: np.ndarray, without: Sequence[str], k: int) -> list[tuple[str, float]]:
        """The k words whose rows are nearest to a vector of length 1, equal ones by row."""
        cosines = self.unit @ target  # (V,)
        order = np.argsort(-cosines, kind="stable")
        banned = {self.index[word] for word in without if word in self.index}
        best = [row for row in order[: k + len(banned)].tolist() if row not in banned][:k]
        return [(self.words[row], float(cosines[row])) for row in best]

    def _write_more(self, folder: Path) -> artefacts.JSONObject:
        artefacts.write_arrays(folder / "ngrams.safetensors", {"buckets": self.buckets, "vectors": self.ngrams})
        cut = {"min_n": self.cut.min_n, "max_n": self.cut.max_n, "buckets": self.cut.buckets}
        return {"kind": "subword", "ngrams": cut}

    @classmethod
    def complete(cls, vectors: WordVectors, folder: Path, description: artefacts.JSONObject) -> Self:
        """Add what `save` wrote besides the words' own vectors.

        Raises:
            InputError: it is missing or damaged.
        """
        cut = description.get("ngrams")
        keys = ("min_n", "max_n", "buckets")
        if not isinstance(cut, dict) or not all(type(cut.get(key)) is int for key in keys):
            raise InputError(f"{folder / 'words.json'}: subword vectors without ngrams (min_n, max_n, buckets)")
        if not (1 <= cut["min_n"] <= cut["max_n"] <= LONGEST_NGRAM and 1 <= cut["buckets"] < 2**31):
            allowed = f"1 ≤ min_n ≤ max_n ≤ {LONGEST_NGRAM}, 1 ≤ buckets < 2^31"
            raise InputError(f"{folder / 'words.json'}: ngrams: {str(cut)[:100]}; allowed: {allowed}")
        arrays = artefacts.read_arrays(folder / "ngrams.safetensors")
        if set(arrays) != {"buckets", "vectors"}:
            raise InputError(f"{folder / 'ngrams.safetensors'}: no n-gram vectors (its arrays are {sorted(arrays)})")
        buckets, table = arrays["buckets"], arrays["vectors"]
        fits = buckets.ndim == 1 and buckets.dtype == np.int64 and table.ndim == 2 and table.dtype == np.float32
        if vectors.is_sparse or not fits or not np.isfinite(table).all():
            raise InputError(f"{folder / 'ngrams.safetensors'}: not a whole number and a vector of numbers a bucket")
        rule = NgramBuckets(*(cut[key] for key in keys))
        own = (vectors.words, vectors.matrix, vectors.counts, vectors.about)
        return cls(
            *own,
            rule,
            arrays["buckets"],
            arrays["vectors"],
            words_by=vectors.words_by,
            normalisation=vectors.normalisation,
        )


def _unit(vector: np.ndarray) -> np.ndarray:
    """Scaled to length 1; a zero vector stays zero."""
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
