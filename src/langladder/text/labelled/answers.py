"""When an answer is right: exact match and F₁ of its words, as SQuAD's own script counts them.

    normalised   lower case; without !"#$… ; without the words a, an, the; single spaces
    exact        1 where both are the same so, else 0
    F₁           2 P R / (P + R) of the words that both have, each as often as both have it; where one of the two has no
                 word, 1 if neither has, else 0

Of several right answers the best one counts (Rajpurkar et al. 2016, section 6.1; 2018 for questions without an answer,
whose one right answer is ""). Each is the maximum by itself.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """See above.

    >>> normalised("The Franc,  of a  country.")
    'franc of country'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(said: str, gold: Sequence[str]) -> float:
    """1 or 0; the best over what is right."""
    return float(normalised(said) in {normalised(one) for one in wanted(gold)})


def word_f1(said: str, gold: Sequence[str]) -> float:
    """From 0 to 1; the best over what is right."""
    return max(_f1(normalised(said).split(), normalised(one).split()) for one in wanted(gold))


def wanted(gold: Sequence[str]) -> list[str]:
    """Right answers of which something is left; [""] where nothing is."""
    return [one for one in gold if normalised(one)] or [""]


def _f1(said: list[str], right: list[str]) -> float:
    if not said or not right:
        return float(said == right)
    both = sum((Counter(said) & Counter(right)).values())
    # F₁ = 2 P R / (P + R),  P = both / |said|,  R = both / |right|
    return 2 * both / (len(said) + len(right))


def best_threshold(scores: np.ndarray, answered: np.ndarray, silent: np.ndarray) -> float:
    """τ that makes most of Σ (answered where score > τ, else silent), in its middle where several do.

    Args:
        scores: (N,) how sure a reader is that its answer is better than none.
        answered, silent: (N,) what it gets for its answer, and for saying that there is none.
    """
    order = np.argsort(-scores, kind="stable")
    gains = np.concatenate([[0.0], np.cumsum((answered - silent)[order])])  # (N + 1,) of the n surest answered
    ranked = scores[order].astype(np.float64)
    # of equal scores all are answered, or none
    cuts = np.concatenate([[True], ranked[1:] != ranked[:-1], [True]]) if len(ranked) else np.ones(1, dtype=bool)
    number = int(np.flatnonzero(cuts)[np.argmax(gains[cuts].round(9))])
    if not len(ranked):
        return 0.0
    if number == 0:
        return float(ranked[0]) + 1.0
    return float(ranked[-1]) - 1.0 if number == len(ranked) else float(ranked[number - 1] + ranked[number]) / 2
