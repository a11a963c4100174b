"""Steps that change word vectors after training.

    centre             v ← v − μ, the mean of all vectors
    all_but_the_top    Mu & Viswanath 2018, "All-but-the-Top: Simple and Effective Postprocessing for Word
                       Representations", algorithm 1: centre, then take away what lies along the first principal
                       components u_1 … u_n, which say more of frequency than of meaning:
                       v ← v − μ − Σ_i (u_i · (v − μ)) u_i
    unit_length        v ← v / ‖v‖
    hard_debias        Bolukbasi et al. 2016 (`embeddings.debias`), with lists of words

Centred vectors have no zeros, so the first two want dense vectors; sparse ones are factorised first (SVD).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from langladder.embeddings.base import WordVectors, changed
from langladder.embeddings.debias import hard_debias
from langladder.embeddings.word_lists import BiasLists, microworld_lists
from langladder.ground.errors import InputError
from langladder.ground.schema import Config


class Centre(Config):
    """Take the mean away."""

    step: Literal["centre"]


class AllButTheTop(Config):
    """Remove the mean and the first principal components."""

    step: Literal["all_but_the_top"]
    components: int | None = Field(None, ge=1)  # null: a hundredth of the dimension, as the paper advises; at least 1


class UnitLength(Config):
    """Scale every vector to length 1; a zero vector stays zero."""

    step: Literal["unit_length"]


class HardDebias(Config):
    """Remove the bias that pairs of words define from all words that should be neutral."""

    step: Literal["hard_debias"]
    # microworld (its couples, and jobs as professions), or the folder of lists that paths.lexicon names
    lists: str = Field(default="microworld", min_length=1)
    components: int = Field(1, ge=1)  # of the bias subspace

    def words(self) -> BiasLists:
        """Raises: InputError: see `BiasLists.read`."""
        return microworld_lists() if self.lists == "microworld" else BiasLists.read(Path(self.lists))


Step = Annotated[Centre | AllButTheTop | UnitLength | HardDebias, Field(discriminator="step")]


class PostprocessConfig(Config):
    """Steps, in the order of execution."""

    steps: list[Step]


def postprocess(vectors: WordVectors, steps: Sequence[Step]) -> WordVectors:
    """The vectors after all steps; the steps are recorded in their `about`.

    Raises:
        InputError: a step does not fit the vectors.
    """
    for step in steps:
        if isinstance(step, Centre):
            vectors = centre(vectors)
        elif isinstance(step, AllButTheTop):
            vectors = all_but_the_top(vectors, step.components)
        elif isinstance(step, HardDebias):
            vectors = hard_debias(vectors, step.words(), components=step.components)
        else:
            vectors = unit_length(vectors)
    return vectors


def centre(vectors: WordVectors) -> WordVectors:
    """v − μ.

    Raises:
        InputError: the vectors are sparse.
    """
    matrix = _dense(vectors, "centre")  # (V, D) float64
    return changed(vectors, matrix - matrix.mean(axis=0), {"step": "centre"})


def all_but_the_top(vectors: WordVectors, components: int | None = None) -> WordVectors:
    """Vectors without the mean and without the first principal components.

    Args:
        components: the number; None: D / 100, at least 1.

    Raises:
        InputError: the vectors are sparse, or do not have more dimensions than components.
    """
    matrix = _dense(vectors, "all_but_the_top")  # (V, D) float64
    dim = matrix.shape[1]
    components = max(1, round(dim / 100)) if components is None else components
    if not 1 <= components < dim:
        raise InputError(f"all_but_the_top: components: {components}; allowed for vectors of {dim}: 1 … {dim - 1}")
    matrix -= matrix.mean(axis=0)
    # The principal components are the eigenvectors of the covariance; eigh has the largest eigenvalues last.
    top = np.linalg.eigh(matrix.T @ matrix)[1][:, -components:]  # (D, n)
    # v ← v − Σ_i (u_i · v) u_i
    done = {"step": "all_but_the_top", "components": components}
    return changed(vectors, matrix - (matrix @ top) @ top.T, done)


def unit_length(vectors: WordVectors) -> WordVectors:
    """v / ‖v‖, dense or sparse."""
    return changed(vectors, vectors.unit, {"step": "unit_length"})


def _dense(vectors: WordVectors, step: str) -> np.ndarray:
    if vectors.is_sparse:
        raise InputError(
            f"{step}: these vectors are sparse ({vectors.matrix.shape[1]:,} columns) and would fill up; "
            "factorise them first (a rung with SVD), or use unit_length"
        )
    matrix: np.ndarray = np.asarray(vectors.matrix, dtype=np.float64)
    return matrix.copy()
