"""Parity with nltk.lm, given the same n-grams.

Where the definitions differ, and what the tests do about it:

* NLTK pads both ends n − 1 times and counts the padding; here a line opens with one BOS, which is never predicted. NLTK
  is given our n-grams instead of its own padding.
* Its interpolated models end in relative frequencies of single words; ours end in the uniform distribution, so that a
  word never seen keeps a probability. The estimators here get our last step (`unigram_score`).
* Its Kneser-Ney counts continuations of every history, ours (like lmplz) not of those that open with BOS: compared
  are the histories within lines. Its discount is fixed, ours in closed form: NLTK is given ours, if one for all orders.
* After a history never seen NLTK's MLE is 0 everywhere, ours that of the longest history seen: compared are seen ones.
"""

import math
from typing import Any

import numpy as np
import pytest
import torch
from nltk.lm import (
    MLE,
    AbsoluteDiscountingInterpolated,
    KneserNeyInterpolated,
    Laplace,
    Lidstone,
    Vocabulary,
    WittenBellInterpolated,
)

from langladder.counts.ngram_pieces import Pieces, continuation_counts, frequencies
from langladder.counts.ngrams import count_ngrams
from langladder.models.ngrams.absolute_discounting import AbsoluteDiscounting, closed_form_discount
from langladder.models.ngrams.add_k import AddK
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.ngrams.maximum_likelihood import MaximumLikelihood
from langladder.models.ngrams.ngram import NgramModel
from langladder.models.ngrams.witten_bell import WittenBell
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, UNK

V = 14
PREDICTED = [EOS, *range(4, V)]  # every word of the vocabulary occurs; UNK does not


def corpus(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    lines = [[BOS, *rng.choice(np.arange(4, V), rng.integers(1, 9)), EOS] for _ in range(60)]
    return np.array([word for line in lines for word in line], dtype=np.int32)


def ngrams_of(ids: np.ndarray, order: int) -> list[tuple[str, ...]]:
    """All n-grams of orders 1 … `order` within lines that do not end in BOS, as NLTK takes them."""
    result, start = [], 0
    for t, word in enumerate(ids):
        start = t if word == BOS else start
        if word != BOS:
            result += [tuple(map(str, ids[t - n + 1 : t + 1])) for n in range(1, order + 1) if t - n + 1 >= start]
    return result


def nltk_fitted(model: Any, ids: np.ndarray, order: int) -> Any:
    model.fit([ngrams_of(ids, order)])
    return model


def ours(cls: type[NgramModel], ids: np.ndarray, order: int, **settings: object) -> NgramModel:
    model = cls(cls.Config.model_validate({"order": order} | settings), V)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    return model


def vocabulary() -> Vocabulary:
    return Vocabulary([*map(str, PREDICTED)], unk_label=str(UNK))  # its length counts UNK: V′


def histories(ids: np.ndarray, order: int, *, with_bos: bool = True) -> list[tuple[int, ...]]:
    """Seen histories of full length, and the short ones that open with BOS."""
    result = {tuple(int(w) for w in gram[:-1]) for gram in ngrams_of(ids, order) if len(gram) == order}
    short = {tuple(int(w) for w in g[:-1]) for g in ngrams_of(ids, order) if 1 < len(g) < order and int(g[0]) == BOS}
    return sorted(h for h in result | short if with_bos or BOS not in h)[:80]


def check(model: NgramModel, reference: Any, wanted: list[tuple[int, ...]]) -> None:
    assert wanted
    for history in wanted:
        prefix = history if history and history[0] == BOS else (BOS, 5, 5, *history)
        row = model.next_log_probs(torch.tensor([prefix]))[0].double().exp()
        context = tuple(map(str, history))
        expected = [reference.score(str(word), context) for word in PREDICTED]
        assert row[PREDICTED].tolist() == pytest.approx(expected, abs=2e-7), history


def with_uniform(estimator: Any, seen_counts: dict[int, int], discount: float) -> None:
    """Give NLTK's estimator our last step: (c − D) / C + γ / V′, with D or, for Witten-Bell, T(h) in `discount`."""
    total, types = sum(seen_counts.values()), sum(count > 0 for count in seen_counts.values())

    def unigram_score(word: str) -> float:
        count = seen_counts[int(word)]
        if math.isinf(discount):
            return (count + types / (V - 2)) / (total + types)
        return (count - discount) / total + discount * types / total / (V - 2)

    estimator.unigram_score = unigram_score


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_maximum_likelihood_parity_with_nltk(order: int) -> None:
    ids = corpus(order)
    reference = nltk_fitted(MLE(order, vocabulary=vocabulary()), ids, order)
    check(ours(MaximumLikelihood, ids, order), reference, histories(ids, order))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_add_k_parity_with_nltk(order: int) -> None:
    ids = corpus(order)
    laplace = nltk_fitted(Laplace(order, vocabulary=vocabulary()), ids, order)
    check(ours(AddK, ids, order, k=1.0), laplace, histories(ids, order))
    seen = histories(ids, order)
    unseen = [(4, second) for second in PREDICTED if (4, second) not in seen] if order == 3 else []
    lidstone = nltk_fitted(Lidstone(0.1, order, vocabulary=vocabulary()), ids, order)
    check(ours(AddK, ids, order, k=0.1), lidstone, histories(ids, order) + unseen)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_witten_bell_parity_with_nltk(order: int) -> None:
    ids = corpus(order)
    reference = nltk_fitted(WittenBellInterpolated(order, vocabulary=vocabulary()), ids, order)
    with_uniform(reference.estimator, {word: int((ids == word).sum()) for word in PREDICTED}, math.inf)
    check(ours(WittenBell, ids, order), reference, histories(ids, order))


@pytest.mark.parametrize("order", [2, 3, 4])
def test_absolute_discounting_parity_with_nltk(order: int) -> None:
    ids = corpus(order)
    reference = nltk_fitted(AbsoluteDiscountingInterpolated(order, discount=0.75, vocabulary=vocabulary()), ids, order)
    with_uniform(reference.estimator, {word: int((ids == word).sum()) for word in PREDICTED}, 0.75)
    check(ours(AbsoluteDiscounting, ids, order, discount=0.75), reference, histories(ids, order))


def test_kneser_ney_parity_with_nltk() -> None:
    """Bigrams: single words by continuation counts. One discount an order, where NLTK has one for both."""
    ids = corpus(7)
    counts = count_ngrams(ids, 2, V)
    adjusted = continuation_counts(Pieces(counts), 1)
    lower, upper = (closed_form_discount(frequencies(continuation_counts(Pieces(counts), n), 3)) for n in (1, 2))
    reference = nltk_fitted(KneserNeyInterpolated(2, discount=upper, vocabulary=vocabulary()), ids, 2)
    for word in PREDICTED:  # NLTK's continuation counts are ours
        expected = adjusted[word] / adjusted.sum()
        assert reference.estimator.unigram_score(str(word)) == pytest.approx(expected)
    with_uniform(reference.estimator, {word: int(adjusted[word]) for word in PREDICTED}, lower)
    check(ours(KneserNey, ids, 2, modified=False), reference, histories(ids, 2, with_bos=False))
