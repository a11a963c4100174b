"""Maps of word vectors in two dimensions; vectors are scaled to length 1, and the result is deterministic.

    pca     principal components (Pearson 1901): the two directions in which the words differ most. Linear, so that
            pairs which differ in one way lie in parallel; distances mean something, as far as the two explain.
    tsne    t-SNE (van der Maaten & Hinton 2008): keeps who is near whom; distances between clusters say nothing.
    umap    UMAP (McInnes, Healy & Melville 2018), where the package umap-learn is installed; the same aim.

Shape legend: W words, D dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors

MapMethod = Literal["pca", "tsne", "umap"]

METHODS: dict[MapMethod, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
"""Method → how people write it."""

PACKAGES = {"umap": ("umap", "umap-learn")}
"""Method → the module that it needs beyond langladder's own, and the package that brings it."""


def missing_package(method: str) -> str | None:
    """The command that installs a method's package; None if it is installed."""
    module, package = PACKAGES.get(method, ("", ""))
    return f"pip install {package}" if module and find_spec(module) is None else None


def check_method(method: MapMethod) -> None:
    """Raise an error for a method whose package is not installed.

    Raises:
        InputError: says how to install it.
    """
    if line := missing_package(method):
        there = ", ".join(name for name in METHODS if not missing_package(name))
        package = PACKAGES[method][1]
        message = f"map: method {method} needs the package {package}, which is not installed; allowed: {there}"
        raise InputError(f"{message} (install it with `{line}`)")


PERPLEXITY = 30.0  # t-SNE: approximate number of neighbours of a word

ITERATIONS = 1000  # of t-SNE at most

NEIGHBOURS = 15  # UMAP: number of neighbours; less for few words


@dataclass(frozen=True)
class WordMap:
    """W words on a plane.

    Attributes:
        points: (W, 2) float64.
        explained: share of the variance that the plane holds (PCA), else None.
    """

    words: list[str]
    points: np.ndarray
    explained: float | None = None


def word_map(
    vectors: "WordVectors",
    words: Sequence[str],
    method: MapMethod = "pca",
    *,
    perplexity: float | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> WordMap:
    """Place words on a plane, each once.

    Args:
        perplexity: of t-SNE; None: 30, or less where the words are few.
        seed: of t-SNE and UMAP.
        verbose: let t-SNE print how far it is, every 50 of its ITERATIONS.

    Raises:
        InputError: a word has no vector; a perplexity that is too large; UMAP is not installed, or has too few words.
    """
    words = list(dict.fromkeys(words))
    if not words:
        return WordMap([], np.zeros((0, 2)))
    matrix = vectors.dense([vectors.row(word) for word in words]).astype(np.float64)  # (W, D)
    if (matrix == matrix[:1]).all():  # one word, or all in one place
        return WordMap(words, np.zeros((len(words), 2)))
    import_module("sklearn.manifold")  # the limit binds the libraries that are loaded by then, OpenMP's too
    with threadpool_limits(1):  # sums in the same order on any machine
        if method == "pca":
            return WordMap(words, *_pca(matrix))
        return WordMap(words, _tsne(matrix, perplexity, seed, verbose) if method == "tsne" else _umap(matrix, seed))


def _pca(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    from sklearn.decomposition import PCA  # scikit-learn takes a second to import

    pca = PCA(n_components=min(2, *matrix.shape), svd_solver="full")
    points = pca.fit_transform(matrix)  # (W, ≤ 2)
    total = float(np.var(matrix, axis=0, ddof=1).sum())
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1]))), float(pca.explained_variance_.sum()) / total


def _tsne(matrix: np.ndarray, perplexity: float | None, seed: int, verbose: bool) -> np.ndarray:
    from sklearn.manifold import TSNE

    chosen = min(PERPLEXITY, (len(matrix) - 1) / 3) if perplexity is None else perplexity
    if not 0 < chosen < len(matrix):
        raise InputError(f"perplexity {chosen:g} for {len(matrix)} words; allowed: above 0, below the number of words")
    start = "pca" if min(matrix.shape) >= 2 else "random"  # van der Maaten's advice: keeps the large-scale order
    tsne = TSNE(
        perplexity=chosen, init=start, random_state=seed, metric="cosine", max_iter=ITERATIONS, verbose=2 * verbose
    )
    points: np.ndarray = tsne.fit_transform(matrix)
    return points.astype(np.float64)


def _umap(matrix: np.ndarray, seed: int) -> np.ndarray:
    check_method("umap")
    if len(matrix) < 4:
        raise InputError(f"map: method umap needs 4 words or more, not {len(matrix)}; allowed: pca, tsne")
    reducer = import_module("umap").UMAP(n_neighbors=min(NEIGHBOURS, len(matrix) - 1), random_state=seed, n_jobs=1)
    points: np.ndarray = reducer.fit_transform(matrix)
    return points.astype(np.float64)
