"""How much of a bias (of gender, say) word vectors hold, before and after debiasing.

Three looks of Bolukbasi et al. 2016 and one of Caliskan et al. 2017, at words that should be neutral (professions):

    projections    cos(w, g) on the bias direction g; their mean size is the paper's direct bias with c = 1 (section
                   5.2), and their ranks are held against how people judged the words
    analogies      man : programmer :: woman : ?  by 3CosAdd. It never answers with a word of the question (Nissim et
                   al. 2020), so also told: whether `programmer` itself would have won.
    WEAT           see `langladder.evaluation.weat`
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from langladder.embeddings.base import WordVectors
from langladder.embeddings.debias import bias_subspace, hard_debias
from langladder.embeddings.word_lists import BiasLists
from langladder.evaluation.bootstrap import spearman_interval
from langladder.evaluation.similarity import spearman
from langladder.evaluation.weat import evaluate_weat

ASKED = 10  # professions asked about from either end


def debias_and_audit(
    vectors: WordVectors, lists: BiasLists, *, weat: Path | None = None, components: int = 1
) -> tuple[WordVectors, dict[str, Any]]:
    """Hard-debiased vectors, and the audit of both: {"explained", "before": …, "after": …}, see `audit`.

    Both are held against the direction found before, and asked the same analogies: about the professions that lean
    most to either side before.

    Returns:
        "explained": share of the definitional sets' variance along each of their first ten principal components.

    Raises:
        InputError: see `hard_debias`, `evaluate_weat`.
    """
    direction = bias_subspace(vectors, lists.definitional)[0]
    debiased = hard_debias(vectors, lists, components=components)
    before = audit(vectors, direction, lists, weat=weat)
    leaning = [word for word, _ in before["projections"]]
    asked = list(dict.fromkeys(leaning[:ASKED] + leaning[-ASKED:]))
    before["analogies"] = analogies(vectors, lists.definitional, asked)
    after = audit(debiased, direction, lists, weat=weat)
    after["analogies"] = analogies(debiased, lists.definitional, asked)
    return debiased, {"explained": explained(vectors, lists.definitional), "before": before, "after": after}


def audit(vectors: WordVectors, direction: np.ndarray, lists: BiasLists, *, weat: Path | None = None) -> dict[str, Any]:
    """Projections of the professions, and WEAT.

    Args:
        direction: (D,), of length 1; points to the first words of the definitional pairs.
        weat: a file of tests; None: not asked.

    Returns:
        {"direct_bias", "projections": [[word, cos]] from −1 to 1, "words", "covered", "stereotype": {"spearman",
        "interval", "words"}, "weat": list of tests or None}. Words that are specific by meaning are not asked. The
        stereotypes' sign is turned, so that ρ is positive where the vectors lean as people do.
    """
    specific = {*lists.specific, *(word for words in (*lists.definitional, *lists.equalise) for word in words)}
    asked = [word for word in dict.fromkeys(lists.professions) if word not in specific]
    known = [word for word in asked if word in vectors]
    rows = np.array([vectors.index[word] for word in known], dtype=np.int64)
    cosines = vectors.dense(rows).astype(np.float64) @ direction if len(rows) else np.zeros(0)  # (P,)
    cosines = cosines.round(6) + 0.0  # what rounding leaves of nothing says nothing
    projections = [[known[place], float(cosines[place])] for place in np.argsort(cosines, kind="stable")]

    judged = [place for place, word in enumerate(known) if word in lists.stereotypes]
    leaning = cosines[judged]
    stereotypes = -np.array([lists.stereotypes[known[place]] for place in judged])
    correlation = spearman(leaning, stereotypes)
    interval = None if correlation is None else spearman_interval(leaning, stereotypes)
    return {
        # DirectBias = 1/|N| Σ_{w ∈ N} |cos(w, g)|
        "direct_bias": round(float(np.abs(cosines).mean()), 6) if known else None,
        "projections": projections,
        "words": len(asked),
        "covered": len(known),
        "stereotype": {"spearman": correlation, "interval": interval, "words": len(judged)},
        "weat": None if weat is None else evaluate_weat(vectors, weat)["tests"],
    }


def analogies(vectors: WordVectors, pairs: Sequence[Sequence[str]], words: Sequence[str]) -> dict[str, Any] | None:
    """second : word :: first : ? of each word, with the first pair that has vectors (man : programmer :: woman : ?).

    Returns:
        {"pair": [second, first], "answers": [{"word", "answer", "cosine", "unchanged"}]}; unchanged where the word
        itself is nearer to the target than the answer. None where no pair has vectors.
    """
    pair = next((pair for pair in pairs if pair[0] in vectors and pair[1] in vectors), None)
    if pair is None:
        return None
    first, second = pair[0], pair[1]
    answers = []
    for word in words:
        if word not in vectors:
            continue
        for answer, cosine in vectors.analogy(second, word, first):
            b, a, c = vectors.dense([vectors.row(word), vectors.row(second), vectors.row(first)])
            target = b - a + c
            own = float(b @ target) / max(float(np.linalg.norm(target)), 1e-12)
            answers.append({"word": word, "answer": answer, "cosine": round(cosine, 6), "unchanged": own > cosine})
    return {"pair": [second, first], "answers": answers}


def explained(vectors: WordVectors, definitional: Sequence[Sequence[str]]) -> list[float]:
    """Share of the variance within the definitional sets along each of the first (at most ten) components."""
    unit = vectors.unit.astype(np.float64)
    rows = [[vectors.index[word] for word in words] for words in definitional if all(word in vectors for word in words)]
    within = np.concatenate([(unit[part] - unit[part].mean(axis=0)) / np.sqrt(len(part)) for part in rows])
    squares = np.linalg.svd(within, compute_uv=False) ** 2
    return [round(float(share), 6) for share in (squares / squares.sum())[:10]]
