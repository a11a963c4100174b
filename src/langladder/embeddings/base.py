"""The result of every method for word vectors: words, a matrix, and questions about them.

Similarity is the cosine. An analogy a : b :: c : ? is answered, all vectors scaled to length 1 and the three words of
the question left out, by one of

    3CosAdd (Mikolov et al. 2013, "Linguistic Regularities in Continuous Space Word Representations", section 4):
        argmax_w cos(w, b − a + c)
    3CosMul (Levy & Goldberg 2014, "Linguistic Regularities in Sparse and Explicit Word Representations", section 6):
        argmax_w cos(w, b) cos(w, c) / (cos(w, a) + ε), each cosine shifted to (x + 1) / 2 so that none is negative

The matrix may be dense, or sparse where most entries are zero (co-occurrence counts, one-hot): the questions are the
same. `langladder.embeddings.saved` reads what `save` wrote, `langladder.formats.vector_files` other formats too.

Shape legend: V words, D dimensions, Q questions, K answers, A candidates, P pairs, U different words.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, diags_array, issparse

from langladder.counts.stored import write_sparse
from langladder.ground import artefacts
from langladder.ground.atomic import Owner, atomic_folder
from langladder.ground.errors import InputError
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmentation import WordChoice

QUESTIONS_AT_ONCE = 1024  # share the (U, A) table of their words' cosines
SCORES_AT_ONCE = 256  # bounds the (Q, A) tables of scores
EPSILON = 0.001  # ε of 3CosMul
ALIKE = 0.75  # share of equal letters in a suggested word, difflib's ratio: kng → king, kings; not baking
AnalogyMethod = Literal["3cosadd", "3cosmul"]
Matrix = Any
"""(V, D) numbers: a NumPy array, or a SciPy CSR matrix, which share no type."""


def _are_vectors(folder: Path) -> bool:
    try:
        return {"format", "words", "counts"} <= set(artefacts.read_json(folder / "words.json"))
    except (InputError, TypeError):
        return False


VECTORS = Owner(
    "word vectors that langladder saved",
    ("vectors.safetensors", "words.json", "ngrams.safetensors", "provenance.json", "README.md"),
    _are_vectors,
)


@dataclass(frozen=True)
class WordVectors:
    """V words, most frequent first, and their vectors.

    Attributes:
        words: V different words.
        matrix: (V, D) float32, a NumPy array or a SciPy CSR matrix.
        counts: (V,) int64 occurrences in the training text, or None where unknown.
        about: how the vectors came to be (resolved settings, hashes of inputs); kept with them, JSON.
        words_by: how a text is cut into such words.
        normalisation: how their training text was written; questions are written so first (`spelled`).
    """

    words: list[str]
    matrix: Matrix
    counts: np.ndarray | None = None
    about: artefacts.JSONObject = field(default_factory=dict)
    words_by: WordChoice = field(default="auto", kw_only=True)
    normalisation: Normalisation = field(default_factory=Normalisation, kw_only=True)

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != self.matrix.shape[0]:
            raise InputError(f"word vectors: {len(self.words)} words, but a matrix of shape {self.matrix.shape}")
        if self.counts is not None and len(self.counts) != len(self.words):
            raise InputError(f"word vectors: {len(self.words)} words, but {len(self.counts)} counts")
        if len(self.index) != len(self.words):
            seen: set[str] = set()
            twice = next(word for word in self.words if word in seen or seen.add(word))  # type: ignore[func-returns-value]
            raise InputError(f"word vectors: the word {twice[:60]!r} occurs twice")

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """Word → row of the matrix."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is stored as CSR."""
        return bool(issparse(self.matrix))

    @property
    def bytes_per_word(self) -> float:
        """The size of a word in memory and on disk: its float32 row, or its non-zero entries with their positions."""
        parts = (self.matrix.data, self.matrix.indices, self.matrix.indptr) if self.is_sparse else (self.matrix,)
        return float(sum(part.nbytes for part in parts) / max(1, len(self)))

    @cached_property
    def unit(self) -> Matrix:
        """(V, D) float32: the vectors scaled to length 1 (dense or sparse as `matrix`); a zero vector stays zero."""
        if self.is_sparse:
            squares = self.matrix.astype(np.float64).power(2)
            lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
            return csr_matrix(diags_array(1 / np.where(lengths == 0, 1, lengths)) @ self.matrix).astype(np.float32)
        # in float64: the squares of 1e-25 and 1e25 are no float32
        lengths = np.sqrt(np.einsum("vd,vd->v", self.matrix, self.matrix, dtype=np.float64)).astype(np.float32)[:, None]
        return self.matrix / np.where(lengths == 0, 1, lengths)

    def dense(self, rows: np.ndarray | list[int]) -> np.ndarray:
        """The unit vectors of these rows, (N, D) float32, dense in any case: only for few rows."""
        part = self.unit[rows]
        results: np.ndarray = part.toarray() if self.is_sparse else part
        return results

    def cosines(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """cos(v_i, w_i) of pairs of rows, (P,) and (P,) → (P,) float32."""
        if self.is_sparse:
            return np.asarray(self.unit[first].multiply(self.unit[second]).sum(axis=1)).ravel()
        result: np.ndarray = np.einsum("pd,pd->p", self.unit[first], self.unit[second])
        return result

    def spelled(self, word: str) -> str:
        """A word, normalised like the training text; unchanged if it has a row."""
        return word if word in self.index else self.normalisation.normalise(word)

    def row(self, word: str) -> int:
        """The row of a word.

        Raises:
            InputError: the word has no vector; names the nearest spellings.
        """
        if word not in self.index:
            hint = did_you_mean(word, self.words)
            raise InputError(f"{word!r} is not among the {len(self):,} words that have a vector{hint}")
        return self.index[word]

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector of a word, (D,), dense."""
        row = self.row(word)
        vector: np.ndarray = self.matrix[[row]].toarray()[0] if self.is_sparse else self.matrix[row]
        return vector

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def similarity(self, first: str, second: str) -> float:
        """cos(v, w) = v · w / (‖v‖ ‖w‖), from −1 to 1."""
        return float(self.cosines(np.array([self.row(first)]), np.array([self.row(second)]))[0])

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k words nearest to a word, with their cosines, nearest first."""
        row = self.row(word)
        cosines = self.unit @ self.dense([row])[0]  # (V,)
        cosines[row] = -np.inf
        return [
            (self.words[other], float(cosines[other])) for other in _largest(cosines[None], min(k, len(self) - 1))[0]
        ]

    def analogy(
        self, a: str, b: str, c: str, k: int = 1, *, method: AnalogyMethod = "3cosadd"
    ) -> list[tuple[str, float]]:
        """a is to b as c is to …: the k best answers with their scores (cosines by 3CosAdd), best first."""
        answers, scores = self.analogies(np.array([[self.row(a), self.row(b), self.row(c)]]), k, method=method)
        pairs = zip(answers[0], scores[0], strict=True)
        return [(self.words[row], float(score)) for row, score in pairs if score > -np.inf]

    def analogies(
        self,
        questions: np.ndarray,
        k: int = 1,
        *,
        among: np.ndarray | None = None,
        method: AnalogyMethod = "3cosadd",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Many analogies at once: the words w that fit a : b :: c : w best, w none of a, b, c.

        Args:
            questions: (Q, 3) rows of the words a, b, c.
            among: rows that may be answers, ascending; None: all.
            method: 3CosAdd, scored by cos(w, b − a + c), or 3CosMul, scored by its quotient.

        Returns:
            answers (Q, K) rows of the matrix, and their scores (Q, K) float32; best first. Where K exceeds
            the possible answers, the question's own words come last, with −∞.
        """
        among = np.arange(len(self)) if among is None else among
        candidates = self.unit if len(among) == len(self) else self.unit[among]  # (A, D)
        answers = np.empty((len(questions), min(k, len(among))), dtype=np.int64)
        scores = np.empty(answers.shape, dtype=np.float32)
        for first in range(0, len(questions), QUESTIONS_AT_ONCE):
            start = first
            for table in self._analogy_scores(questions[first : first + QUESTIONS_AT_ONCE], candidates, method):
                rows = slice(start, start + len(table))
                part = questions[rows]
                positions = np.minimum(np.searchsorted(among, part), len(among) - 1)  # (Q, 3)
                question, column = np.nonzero(among[positions] == part)
                table[question, positions[question, column]] = -np.inf
                best = _largest(table, k)
                answers[rows], scores[rows] = among[best], np.take_along_axis(table, best, axis=1)
                start = rows.stop
        return answers, scores

    def _analogy_scores(self, questions: np.ndarray, candidates: Matrix, method: AnalogyMethod) -> Iterator[np.ndarray]:
        """The scores of every candidate, some questions at a time, (Q, A); shared words meet the candidates once."""
        words, positions = np.unique(questions, return_inverse=True)  # (U,), (Q, 3)
        unit = self.unit[words]  # (U, D)
        product = unit @ candidates.T
        cosines: np.ndarray = product.toarray() if self.is_sparse else product  # (U, A)
        if method == "3cosmul":
            cosines = np.maximum(0, (1 + cosines) / 2)
        for first in range(0, len(questions), SCORES_AT_ONCE):
            a, b, c = positions.reshape(-1, 3)[first : first + SCORES_AT_ONCE].T
            if method == "3cosmul":
                # cos(w, b) cos(w, c) / (cos(w, a) + ε)
                scores = cosines[b] * cosines[c]
                scores /= cosines[a] + np.float32(EPSILON)
            else:
                # cos(w, b − a + c) = (cos(w, b) − cos(w, a) + cos(w, c)) / ‖b − a + c‖
                target = unit[b] - unit[a] + unit[c]  # (Q, D)
                square = target.multiply(target) if self.is_sparse else target * target
                scores = cosines[b] - cosines[a]
                scores += cosines[c]
                scores /= np.maximum(np.sqrt(np.asarray(square.sum(axis=1))), 1e-12).reshape(-1, 1)
            yield scores

    def save(self, folder: Path) -> None:
        """Write `vectors.safetensors` (the matrix or its CSR parts) and `words.json` (the rest), atomically."""
        counts = None if self.counts is None else self.counts.tolist()
        description = {"format": artefacts.FORMAT_VERSION, "about": self.about, "words": self.words, "counts": counts}
        if self.words_by != "auto":
            description["words_by"] = self.words_by
        if self.normalisation.names:
            description["normalisation"] = list(self.normalisation.names)
        with atomic_folder(Path(folder), VECTORS) as temporary:
            if self.is_sparse:
                write_sparse(temporary / "vectors.safetensors", self.matrix.astype(np.float32))
            else:
                artefacts.write_arrays(temporary / "vectors.safetensors", {"vectors": self.matrix.astype(np.float32)})
            artefacts.write_json(temporary / "words.json", description | self._write_more(temporary))

    def _write_more(self, folder: Path) -> artefacts.JSONObject:  # noqa: ARG002
        """Additional data of a subclass: files in `folder`, and keys of `words.json`, including `kind`."""
        return {}


def _largest(table: np.ndarray, k: int) -> np.ndarray:
    """(Q, K): columns of the k largest values of each row, largest first, equal ones by column."""
    k = min(k, table.shape[1])
    if k == 1:
        largest: np.ndarray = table.argmax(1)[:, None]
        return largest
    top = np.sort(np.argpartition(-table, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(-np.take_along_axis(table, top, axis=1), axis=1, kind="stable")
    best: np.ndarray = np.take_along_axis(top, order, axis=1)
    return best


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: up to three known words with nearly the same spelling; empty if none has."""
    close = get_close_matches(word, [*known], n=3, cutoff=ALIKE)
    return f"; did you mean {', '.join(close)}?" if close else ""


def changed(vectors: WordVectors, matrix: np.ndarray, done: dict[str, object]) -> WordVectors:
    """The same words with another matrix, as float32; `done` is added to the list `about["postprocess"]`."""
    about = vectors.about | {"postprocess": [*vectors.about.get("postprocess", []), done]}
    return WordVectors(vectors.words, matrix.astype(np.float32), vectors.counts, about)
