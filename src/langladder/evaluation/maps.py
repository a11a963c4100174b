"""Word vectors drawn in two dimensions.

    pca     principal components (Pearson 1901): linear, so that pairs which differ in one way lie in parallel
    tsne    t-SNE (van der Maaten & Hinton 2008): keeps who is next to whom; distances between clusters say nothing
    umap    UMAP (McInnes, Healy & Melville 2018), where the package umap-learn is installed; the same aim

All of vectors scaled to length 1, and without chance between two runs.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from langladder.embeddings.base import WordVectors
from langladder.errors import InputError

MapMethod = Literal["pca", "tsne", "umap"]
SEED = 0
PERPLEXITY = 30.0  # of t-SNE; less where there are few words
NEIGHBOURS = 15  # of UMAP; less where there are few words


def word_map(
    vectors: WordVectors, words: Mapping[str, str] | Sequence[str], method: MapMethod = "pca"
) -> list[dict[str, Any]]:
    """Where words lie on the map.

    Args:
        words: words, or words and the groups that colour them.

    Returns:
        [{"word", "x", "y", "group"}], coordinates rounded to 4 decimals.

    Raises:
        InputError: a word has no vector; UMAP is asked for but not installed, or there are too few words for it.
    """
    grouped = words if isinstance(words, Mapping) else dict.fromkeys(words, "")
    matrix = vectors.dense([vectors.row(word) for word in grouped]) if grouped else np.zeros((0, 2))
    return [
        {"word": word, "x": round(float(x), 4) + 0.0, "y": round(float(y), 4) + 0.0, "group": group}
        for (word, group), (x, y) in zip(grouped.items(), points(matrix, method), strict=True)
    ]


def points(matrix: np.ndarray, method: MapMethod = "pca") -> np.ndarray:
    """(W, D) → (W, 2) float64.

    Raises:
        InputError: see `word_map`.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    if (matrix == matrix[:1]).all():  # no words, or all in one place
        return np.zeros((len(matrix), 2))
    with threadpool_limits(1):  # sums in one order, whatever the machine
        if method == "pca":
            return _pca(matrix)
        return _tsne(matrix) if method == "tsne" else _umap(matrix)


def _pca(matrix: np.ndarray) -> np.ndarray:
    found = PCA(n_components=min(2, *matrix.shape), svd_solver="full").fit_transform(matrix)  # (W, ≤ 2)
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))


def _tsne(matrix: np.ndarray) -> np.ndarray:
    perplexity = min(PERPLEXITY, (len(matrix) - 1) / 3)
    start = _pca(matrix)  # van der Maaten's advice: keeps the large-scale order; small, as the gradient wants it
    start *= 1e-4 / start[:, 0].std()
    tsne = TSNE(2, perplexity=perplexity, init=start, random_state=SEED)
    found: np.ndarray = tsne.fit_transform(matrix)
    return found.astype(np.float64)


def _umap(matrix: np.ndarray) -> np.ndarray:
    if find_spec("umap") is None:
        raise InputError("map: method umap needs the package umap-learn, which is not installed; allowed: pca, tsne")
    if len(matrix) < 4:
        raise InputError(f"map: method umap needs 4 words or more, not {len(matrix)}; allowed: pca, tsne")
    reducer = import_module("umap").UMAP(n_neighbors=min(NEIGHBOURS, len(matrix) - 1), random_state=SEED, n_jobs=1)
    found: np.ndarray = reducer.fit_transform(matrix)
    return found.astype(np.float64)
