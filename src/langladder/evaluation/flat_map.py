"""Word vectors on a plane, to be looked at: PCA or t-SNE of the vectors scaled to length 1.

PCA (Pearson 1901) keeps the two directions in which the words differ most: distances and parallels mean something, as
far as the two explain. t-SNE (van der Maaten & Hinton 2008) keeps who is near whom: clusters mean something, the
distances between them do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from langladder.embeddings.base import WordVectors
from langladder.errors import InputError

Method = Literal["pca", "tsne"]
PERPLEXITY = 30.0  # of t-SNE: about how many neighbours a word is to have


@dataclass(frozen=True)
class FlatMap:
    """N words on a plane.

    Attributes:
        points: (N, 2) float64.
        explained: share of the variance that the plane holds (PCA), else None.
    """

    words: list[str]
    points: np.ndarray
    explained: float | None


def flat_map(
    vectors: WordVectors,
    words: Sequence[str],
    method: Method = "pca",
    *,
    perplexity: float | None = None,
    seed: int = 0,
) -> FlatMap:
    """Place words on a plane.

    Args:
        perplexity: of t-SNE; None: 30, or less where the words are few.

    Raises:
        InputError: fewer than three words, a word without a vector, or a perplexity that is too large.
    """
    if len(set(words)) < 3:
        raise InputError(f"a map needs at least three different words, not {len(set(words))}")
    words = list(dict.fromkeys(words))
    matrix = vectors.dense([vectors.row(word) for word in words]).astype(np.float64)  # (N, D)
    from sklearn.decomposition import PCA

    if method == "pca":
        pca = PCA(n_components=min(2, matrix.shape[1]), svd_solver="full")
        points = pca.fit_transform(matrix)
        points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
        total = float(np.var(matrix, axis=0, ddof=1).sum())
        return FlatMap(words, points, float(pca.explained_variance_.sum()) / total if total else None)
    from sklearn.manifold import TSNE

    chosen = min(PERPLEXITY, (len(words) - 1) / 3) if perplexity is None else perplexity
    if not 0 < chosen < len(words):
        raise InputError(f"perplexity {chosen:g} for {len(words)} words; allowed: above 0, below the number of words")
    start = "pca" if matrix.shape[1] >= 2 else "random"
    points = TSNE(perplexity=chosen, init=start, random_state=seed, metric="cosine").fit_transform(matrix)
    return FlatMap(words, points.astype(np.float64), None)
