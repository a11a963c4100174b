"""The two distributions of word2vec that tame frequent words.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality", sections 2.2, 2.3.
"""

import numpy as np


def keep_probabilities(counts: np.ndarray, threshold: float) -> np.ndarray:
    """How likely each word stays in the text when frequent words are subsampled.

        P(keep w) = min(1, √(t / f(w)))        (eq. 5 gives 1 − P), f the relative frequency

    Args:
        counts: (V,) occurrences in the text.
        threshold: t, typically 1e-3 (small corpora) to 1e-5; 0 keeps everything.

    Returns:
        (V,) float64.
    """
    if threshold == 0:
        return np.ones(len(counts))
    frequencies = counts / counts.sum()
    keep: np.ndarray = np.minimum(1.0, np.sqrt(threshold / np.maximum(frequencies, 1e-300)))
    return keep


def noise_distribution(counts: np.ndarray, exponent: float) -> np.ndarray:
    """What negative examples are drawn from: P(w) = c(w)^α / Σ_v c(v)^α, (V,) float64.

    α = 3/4 is the paper's choice; 1 is the unigram distribution, 0 the uniform one.
    """
    powers = counts.astype(np.float64) ** exponent
    noise: np.ndarray = powers / powers.sum()
    return noise
