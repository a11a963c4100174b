"""Hard debiasing: removes the bias component from neutral words, and makes pairs equal except for the bias.

Bolukbasi et al. 2016, "Man is to Computer Programmer as Woman is to Homemaker? Debiasing Word Embeddings", section 6,
on vectors of length 1. v_B is the part of v in the bias subspace B.

    1. identify    B: the first principal components of the definitional sets, each centred on its own mean
    2. neutralise  v ← (v − v_B) / ‖v − v_B‖, for all words but those of the lists
    3. equalise    each set with mean μ and ν = μ − μ_B:  v ← ν + √(1 − ‖ν‖²) (v_B − μ_B) / ‖v_B − μ_B‖

After it, every neutral word is as near to one word of an equalised pair as to the other. Unlike the authors' program,
the words of the equalised and definitional sets are never neutralised first, even if the list of specific words lacks
them: along B they would be left with rounding errors, which step 3 would blow up to full length. Gonen & Goldberg 2019
("Lipstick on a Pig") show what it does not do: words that shared a stereotype stay neighbours of each other.
"""

from collections.abc import Sequence

import numpy as np

from langladder.embeddings.base import WordVectors, changed
from langladder.embeddings.word_lists import BiasLists
from langladder.ground.errors import InputError

Sets = Sequence[Sequence[str]]


def bias_subspace(vectors: WordVectors, definitional: Sets, components: int = 1) -> np.ndarray:
    """The directions along which the words of the definitional sets differ, (k, D) float64, orthonormal.

    Each points to the first words of the sets. Sets with a word that has no vector are left out.

    Raises:
        InputError: too few sets have vectors for so many components, or the vectors are sparse.
    """
    unit = _unit(vectors)
    known = [
        [vectors.index[word] for word in words] for words in definitional if all(word in vectors for word in words)
    ]
    # Σ_i Σ_{w ∈ D_i} (w − μ_i)(w − μ_i)ᵀ / |D_i|: its eigenvectors are the right singular vectors of these rows.
    centred = [(unit[rows] - unit[rows].mean(axis=0)) / np.sqrt(len(rows)) for rows in known]
    stacked = np.concatenate(centred) if centred else np.zeros((0, unit.shape[1]))
    if len(stacked) == 0 or np.linalg.matrix_rank(stacked) < components:
        raise InputError(
            f"definitional sets: {len(known)} of {len(definitional)} have vectors for all of their words, and they "
            f"differ in fewer than {components} directions; give more sets with words of the text"
        )
    directions: np.ndarray = np.linalg.svd(stacked, full_matrices=False)[2][:components]  # (k, D)
    first = np.mean([rows[0] for rows in centred], axis=0)  # (D,)
    directions[directions @ first < 0] *= -1
    return directions


def neutralise(unit: np.ndarray, subspace: np.ndarray) -> np.ndarray:
    """(v − v_B) / ‖v − v_B‖ of each row, (N, D) → (N, D); what lies in B as a whole becomes zero.

    Args:
        subspace: (k, D), orthonormal.
    """
    rest = unit - (unit @ subspace.T) @ subspace  # (N, D)
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    neutral: np.ndarray = np.where(lengths < 1e-9, 0, rest / np.maximum(lengths, 1e-9))
    return neutral


def equalise(unit: np.ndarray, subspace: np.ndarray) -> np.ndarray:
    """One set of vectors of length 1, (N, D) → (N, D): equal except for their directions in B.

    Raises:
        InputError: a vector's component in B does not differ from the mean's, so its side is unknown.
    """
    mean = unit.mean(axis=0)  # μ (D,)
    mean_in = (mean @ subspace.T) @ subspace  # μ_B
    outside = mean - mean_in  # ν
    sides = (unit @ subspace.T) @ subspace - mean_in  # v_B − μ_B (N, D)
    lengths = np.linalg.norm(sides, axis=1, keepdims=True)
    if (lengths < 1e-9).any():
        raise InputError("words that do not differ along the bias cannot be equalised")
    # ν + √(1 − ‖ν‖²) (v_B − μ_B) / ‖v_B − μ_B‖
    equal: np.ndarray = outside + np.sqrt(max(0.0, 1 - outside @ outside)) * sides / lengths
    return equal


def hard_debias(vectors: WordVectors, lists: BiasLists, *, components: int = 1) -> WordVectors:
    """The vectors, of length 1, after the three steps. Words are matched as they are written.

    Args:
        components: dimensions of the bias subspace.

    Raises:
        InputError: see `bias_subspace`; a word is in two equalised sets; a set cannot be equalised.
    """
    subspace = bias_subspace(vectors, lists.definitional, components)
    unit = _unit(vectors)
    sets = _equalised(vectors, lists.equalise)
    kept = {*lists.specific, *(word for words in (*lists.definitional, *sets) for word in words)}
    neutral = np.array([word not in kept for word in vectors.words], dtype=bool)  # (V,)

    debiased = unit.copy()
    debiased[neutral] = neutralise(unit[neutral], subspace)
    for words in sets:
        rows = [vectors.index[word] for word in words]
        try:
            debiased[rows] = equalise(unit[rows], subspace)
        except InputError as error:
            raise InputError(f"equalised set {words}: {error}") from error
    done = {
        "step": "hard_debias",
        "components": components,
        "neutralised": int(neutral.sum()),
        "equalised_sets": len(sets),
    }
    return changed(vectors, debiased, done)


def _equalised(vectors: WordVectors, sets: Sets) -> list[tuple[str, ...]]:
    """The sets whose words all have vectors: as written, and in lower case, Title Case and CAPITALS (as the authors).

    A variant that shares a word with an earlier set is left out.
    """
    seen: dict[str, tuple[str, ...]] = {}
    pairs: list[tuple[str, ...]] = []
    for words in map(tuple, sets):
        twice = next((word for word in words if word in seen), None)
        if twice is not None:
            raise InputError(
                f"equalised sets: {twice!r} is in {seen[twice]} and in {words}; a word can be in one set only"
            )
        seen |= dict.fromkeys(words, words)
        pairs.append(words)
    for words in map(tuple, sets):
        for variant in (str.lower, str.title, str.upper):
            varied = tuple(map(variant, words))
            if not set(varied) & set(seen):
                seen |= dict.fromkeys(varied, varied)
                pairs.append(varied)
    return [words for words in pairs if all(word in vectors for word in words)]


def _unit(vectors: WordVectors) -> np.ndarray:
    """(V, D) float64, of length 1."""
    if vectors.is_sparse:
        raise InputError(
            "debiasing: these vectors are sparse and would become dense; factorise them first (a rung with SVD)"
        )
    lengths = np.linalg.norm(vectors.matrix.astype(np.float64), axis=1, keepdims=True)
    unit: np.ndarray = vectors.matrix / np.where(lengths == 0, 1, lengths)
    return unit
