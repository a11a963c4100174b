"""Every counted n-gram model: sums to 1, hand-computed numbers, NLTK, padding, causality, saving, pruning."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langladder.counts.ngram_pieces import frequencies
from langladder.counts.ngrams import count_ngrams
from langladder.evaluation.perplexity import score
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.models.ngrams.absolute_discounting import (
    AbsoluteDiscounting,
    AbsoluteDiscountingConfig,
    closed_form_discount,
)
from langladder.models.ngrams.add_k import AddK, AddKConfig
from langladder.models.ngrams.katz import Katz, KatzConfig, discounted_counts, good_turing
from langladder.models.ngrams.kneser_ney import KneserNey, KneserNeyConfig
from langladder.models.ngrams.maximum_likelihood import MaximumLikelihood, MaximumLikelihoodConfig
from langladder.models.ngrams.ngram import NgramModel
from langladder.models.ngrams.stupid_backoff import StupidBackoff, StupidBackoffConfig
from langladder.models.ngrams.witten_bell import WittenBell, WittenBellConfig
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, PAD, UNK

MODELS: dict[str, tuple[type[NgramModel], dict[str, object]]] = {
    "maximum likelihood": (MaximumLikelihood, {}),
    "add 1": (AddK, {}),
    "add 0.01": (AddK, {"k": 0.01}),
    "katz": (Katz, {}),
    "stupid": (StupidBackoff, {}),
    "witten-bell": (WittenBell, {}),
    "absolute": (AbsoluteDiscounting, {}),
    "one discount": (KneserNey, {"modified": False}),
    "modified": (KneserNey, {}),
}
PRUNABLE = list(MODELS)[3:]
V = 12
SPECIALS = 4


def as_stream(sentences: Sequence[Sequence[int]]) -> TokenStream:
    ids = np.array([word for sentence in sentences for word in [BOS, *sentence, EOS]], dtype=np.int32)
    return TokenStream(ids, np.array([0, len(ids)]))


def fitted(
    name: str, sentences: Sequence[Sequence[int]], order: int, vocab_size: int = V, **extra: object
) -> NgramModel:
    cls, settings_ = MODELS[name]
    model = cls(cls.Config.model_validate({"order": order} | settings_ | extra), vocab_size)
    model.fit(as_stream(sentences))
    return model


def random_sentences(seed: int, vocab_size: int = V, lines: int = 60) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, vocab_size - SPECIALS + 1)
    words = np.arange(SPECIALS, vocab_size)
    return [rng.choice(words, rng.integers(0, 8), p=weights / weights.sum()).tolist() for _ in range(lines)]


def probability(model: NgramModel, history: Sequence[int], word: int) -> float:
    return math.exp(model.next_log_probs(torch.tensor([[BOS, *history]]))[0, word].item())


sentences_strategy = st.lists(st.lists(st.integers(SPECIALS, V - 1), max_size=7), min_size=1, max_size=12)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=25, deadline=None)
@given(sentences=sentences_strategy, order=st.integers(1, 6), seed=st.integers(0, 99))
@example(sentences=[[], [], [], [4, 4, 5], [5]], order=2, seed=0)  # the closed form gives D_2 = 0
def test_probabilities_sum_to_one_after_every_history(
    name: str, sentences: list[list[int]], order: int, seed: int
) -> None:
    model = fitted(name, sentences, order)
    rng = np.random.default_rng(seed)
    unseen = [[BOS, *rng.integers(1, V, 6)] for _ in range(4)]
    seen = [[BOS, *sentence[:length]] for sentence in sentences for length in range(len(sentence) + 1)]
    for prefix in [*unseen, *seen]:
        row = model.next_log_probs(torch.tensor([prefix]))[0].double().exp()
        assert row.sum().item() == pytest.approx(1, abs=2e-6), prefix
        assert row[PAD] == row[BOS] == 0
        if name != "maximum likelihood":
            assert (row[[UNK, *range(EOS, V)]] > 0).all()


@pytest.mark.parametrize("name", PRUNABLE)
@pytest.mark.parametrize(
    "extra",
    [{"prune": [0, 1]}, {"prune": [1, 2, 2]}, {"prune_entropy": 0.003}, {"prune": [0, 1], "prune_entropy": 0.001}],
)
def test_pruned_models_are_smaller_and_sum_to_one(name: str, extra: dict[str, object]) -> None:
    sentences = random_sentences(5, lines=120)
    whole, pruned = fitted(name, sentences, 4), fitted(name, sentences, 4, **extra)
    assert sum(pruned.ngrams_per_order()) < sum(whole.ngrams_per_order())
    assert pruned.ngrams_per_order()[0] == V
    for sentence in random_sentences(6, lines=30):
        row = pruned.next_log_probs(torch.tensor([[BOS, *sentence]]))[0].double().exp()
        assert row.sum().item() == pytest.approx(1, abs=2e-6)
        assert (row[[UNK, *range(EOS, V)]] > 0).all()


def test_count_cut_offs_keep_exactly_the_frequent() -> None:
    sentences = random_sentences(7, lines=150)
    counts = count_ngrams(as_stream(sentences).ids, 3, V)
    model = fitted("modified", sentences, 3, prune=[1, 2])
    expected = [int((counts.counts[counts.level(n)] > n - 1).sum()) for n in (2, 3)]
    assert model.ngrams_per_order()[1:] == expected


def test_entropy_pruning_by_hand_golden() -> None:
    """Stolcke's equation by exhaustive sums: the cost of removing each trigram; only the cheap ones are removed."""
    sentences = random_sentences(8, lines=80)
    threshold = 0.002
    whole, pruned = fitted("absolute", sentences, 3), fitted("absolute", sentences, 3, prune_entropy=threshold)
    counts = count_ngrams(as_stream(sentences).ids, 3, V)
    predicted = sum(len(sentence) + 1 for sentence in sentences)
    level, dropped = counts.level(3), 0
    bounds = counts.starts[counts.level(2).start : counts.level(2).stop + 1]
    histories = np.repeat(np.arange(counts.level(2).start, counts.level(2).stop), np.diff(bounds))
    firsts = {counts.number([a, b]): (a, b) for a in range(V) for b in range(V) if counts.number([a, b]) >= 0}
    for number in range(level.start, level.stop):
        a, b = firsts[int(histories[number - level.start])]
        word = int(counts.words[number])
        prefix = [BOS, b] if a == BOS else [BOS, 4, a, b]
        p = whole.next_log_probs(torch.tensor([prefix]))[0].double().exp()
        lower = whole.next_log_probs(torch.tensor([[BOS, UNK, b]]))[0].double().exp()  # nothing was seen after UNK
        after = [
            int(w)
            for w in counts.words[counts.starts[histories[number - level.start]] :][
                :   # the words seen after h
                int(np.diff(counts.starts)[histories[number - level.start]])
            ]
        ]
        rest = [w for w in after if w != word]
        scale = (1 - p[rest].sum()) / (1 - lower[rest].sum())
        q = scale * lower
        q[rest] = p[rest]
        mask = p > 0
        divergence = (p[mask] * (p[mask].log() - q[mask].log())).sum().item() * counts.count([a, b]) / predicted
        gone = not _has(pruned, [a, b, word])
        dropped += gone
        assert gone == (math.expm1(divergence) < threshold)
    assert 0 < dropped < level.stop - level.start


def _has(model: NgramModel, ngram: list[int]) -> bool:
    return model._number(np.array(ngram)) >= 0


# Four sentences, one symbol a word: 我爱吃苹果 / 我爱吃香蕉 / 我喜欢苹果 / 他爱吃苹果 (WE: 我)
WE, LOVE, EAT, APPLE, BANANA, LIKE, HE, DURIAN = range(4, 12)
NOTES = [[WE, LOVE, EAT, APPLE], [WE, LOVE, EAT, BANANA], [WE, LIKE, APPLE], [HE, LOVE, EAT, APPLE]]


def test_maximum_likelihood_golden() -> None:
    bigram, trigram = fitted("maximum likelihood", NOTES, 2), fitted("maximum likelihood", NOTES, 3)
    assert probability(bigram, [WE], LOVE) == pytest.approx(2 / 3)
    assert probability(bigram, [WE], LIKE) == pytest.approx(1 / 3)
    assert probability(trigram, [WE, LOVE, EAT], APPLE) == pytest.approx(2 / 3)
    # P(我) as 3 of 15 words, lines not marked; then bigrams: 3/15 · 2/3 · 3/3 · 2/3
    unigram = count_ngrams(as_stream(NOTES).ids, 1, V)
    first = unigram.count([WE]) / sum(len(sentence) for sentence in NOTES)
    chain = (
        first * probability(bigram, [WE], LOVE) * probability(bigram, [LOVE], EAT) * probability(bigram, [EAT], APPLE)
    )
    assert chain == pytest.approx(0.0888889, abs=1e-7)


def test_maximum_likelihood_zero_is_shown_golden() -> None:
    """我爱吃榴莲: a word never seen makes the sentence impossible; the scorer says so and gives no perplexity."""
    model = fitted("maximum likelihood", NOTES, 3)
    scores = model.log_probs(torch.tensor([[BOS, WE, LOVE, EAT, DURIAN, EOS]]))[0]
    assert scores[4] == -math.inf
    assert probability(model, [WE, LOVE, EAT], DURIAN) == 0
    figures = score(model, as_stream([[WE, LOVE, EAT, DURIAN]]), words=5, characters=8, bytes=10)
    assert figures.impossible_tokens >= 1 and figures.perplexity_per_token == math.inf
    for name in list(MODELS)[1:]:
        other = score(fitted(name, NOTES, 3), as_stream([[WE, LOVE, EAT, DURIAN]]), words=5, characters=8, bytes=10)
        assert 1 < other.perplexity_per_token < math.inf


def test_perplexity_golden() -> None:
    """Probabilities .7, .6, .8 a token: perplexity exp(1.09064 / 3) = 1.438424."""
    model = fitted("maximum likelihood", [[4, 5, 6]] * 336 + [[4, 5, 7]] * 84 + [[4, 8]] * 280 + [[9]] * 300, 3)
    scores = model.log_probs(torch.tensor([[BOS, 4, 5, 6]]))[0, 1:].double()
    assert scores.exp().tolist() == pytest.approx([0.7, 0.6, 0.8])
    assert math.exp(-scores.mean().item()) == pytest.approx(1.438424, abs=1e-6)


def test_add_k_golden() -> None:
    model = fitted("add 1", NOTES, 2)
    assert probability(model, [WE], LOVE) == pytest.approx((2 + 1) / (3 + V - 2))
    assert probability(model, [WE], DURIAN) == pytest.approx(1 / (3 + V - 2))
    assert probability(model, [DURIAN], WE) == pytest.approx(1 / (V - 2))
    trigram = fitted("add 0.01", NOTES, 3)
    assert probability(trigram, [], WE) == pytest.approx(3.01 / (4 + 0.1))
    assert probability(trigram, [], LIKE) == pytest.approx(0.01 / (4 + 0.1))
    assert probability(trigram, [WE], LIKE) == pytest.approx(1.01 / (3 + 0.1))
    assert probability(trigram, [WE, LOVE], EAT) == pytest.approx(2.01 / (2 + 0.1))


def katz_counts(counts: np.ndarray) -> np.ndarray:
    """Counts discounted by their own frequencies, k = 5."""
    return discounted_counts(counts, good_turing(frequencies(counts, 7), 5))


def test_good_turing_discounts_golden() -> None:
    """n = 40, 16, 9, 6, 4, 3 with k = 5: A = 6·3/40 = .45, d_1 = (2·16/40 − .45) / .55 = 7/11, …"""
    n = [40, 16, 9, 6, 4, 3]
    counts = np.repeat(np.arange(1, 7), n)
    d = {r: ((r + 1) * n[r] / n[r - 1] / r - 0.45) / 0.55 for r in range(1, 6)}
    assert d[1] == pytest.approx(7 / 11) and d[2] == pytest.approx((27 / 32 - 0.45) / 0.55)
    table = dict(zip(counts.tolist(), katz_counts(counts).tolist(), strict=True))
    assert table == pytest.approx({r: r * d[r] for r in range(1, 6)} | {6: 6})
    # no n-gram occurs three times: only d_1 is defined, A = 2·16/40 ≠ …, and it is 0: half a count from everything
    sparse = np.repeat([1, 2, 7], [40, 16, 3])
    assert katz_counts(sparse).tolist() == (sparse - 0.5).tolist()


def test_katz_by_hand_golden() -> None:
    """a b / a c / a b. Counts of counts are unusable in so small a text: ½ from every count."""
    a, b, c = 4, 5, 6
    model = fitted("katz", [[a, b], [a, c], [a, b]], 2, vocab_size=7)
    # single words: c = a 3, b 2, c 1, EOS 3 of 9; 4 · ½ = 2 of 9 go to the 5 ids that can be predicted
    single = {a: 2.5 / 9 + 2 / 45, b: 1.5 / 9 + 2 / 45, c: 0.5 / 9 + 2 / 45, EOS: 2.5 / 9 + 2 / 45, UNK: 2 / 45}
    assert sum(single.values()) == pytest.approx(1)
    for word, expected in single.items():
        assert probability(model, [UNK], word) == pytest.approx(expected)
    left, room = 1 - 1.5 / 3 - 0.5 / 3, 1 - single[b] - single[c]
    assert probability(model, [a], b) == pytest.approx(1.5 / 3)
    assert probability(model, [a], c) == pytest.approx(0.5 / 3)
    for word in (a, EOS, UNK):
        assert probability(model, [a], word) == pytest.approx(left / room * single[word])


def test_katz_trusts_no_history_wholly() -> None:
    """4 is followed by 5 only, six times, which is above the cut-off: one count more, as SRILM does."""
    sentences = [[4, 5]] * 6 + [[r, 6] for r in range(6, 12) for _ in range(1 + (r == 6))] + [[7, 8], [9, 10], [9, 10]]
    model = fitted("katz", sentences, 2)
    discounted = katz_counts(np.array([6]))
    assert probability(model, [4], 5) in (pytest.approx(6 / 7), pytest.approx(discounted[0] / 6))
    assert 0 < probability(model, [4], 6) < 0.2


def test_stupid_backoff_is_its_scores_normalised() -> None:
    """Against Brants' recursion with plain counting, every word after seen and unseen histories."""
    sentences = random_sentences(9)
    model = fitted("stupid", sentences, 3)
    counts = count_ngrams(as_stream(sentences).ids, 3, V)
    everything = sum(len(sentence) + 1 for sentence in sentences)

    def score_of(history: tuple[int, ...], word: int) -> float:
        if not history:
            seen = counts.count([word])
            return seen / everything if seen else 0.4 / (V - 2)
        count = counts.count([*history, word])
        return count / counts.count(list(history)) if count else 0.4 * score_of(history[1:], word)

    words = [UNK, *range(EOS, V)]
    for history in [(BOS,), (BOS, 4), (4, 5), (5, 4), (11, 11), (UNK, 4), (9, 10)]:
        scores = np.array([score_of(history, word) for word in words])
        prefix = history if history[0] == BOS else (BOS, 4, *history)
        row = model.next_log_probs(torch.tensor([prefix]))[0, words].double().exp().numpy()
        assert row == pytest.approx(scores / scores.sum(), rel=1e-5)


def test_witten_bell_golden() -> None:
    model = fitted("witten-bell", NOTES, 2)
    # 19 running words (ends included), 8 types; after 我: 3 occurrences, 2 types
    love = (3 + 8 / (V - 2)) / (19 + 8)
    assert probability(model, [UNK], LOVE) == pytest.approx(love)
    assert probability(model, [WE], LOVE) == pytest.approx((2 + 2 * love) / (3 + 2))
    assert probability(model, [WE], DURIAN) == pytest.approx(2 * (8 / (V - 2)) / (19 + 8) / 5)


def test_closed_form_discount_golden() -> None:
    assert closed_form_discount(frequencies(np.repeat([1, 2, 5], [6, 2, 9]), 3)) == pytest.approx(0.6)
    assert closed_form_discount(frequencies(np.array([1, 1, 3]), 3)) == 0.5
    model = fitted("absolute", NOTES, 2, discount=0.75)
    apple = (3 - 0.75) / 19 + 0.75 * 8 / 19 / (V - 2)
    assert probability(model, [UNK], APPLE) == pytest.approx(apple)
    assert probability(model, [EAT], APPLE) == pytest.approx((2 - 0.75) / 3 + 0.75 * 2 / 3 * apple)


@pytest.mark.parametrize("name", MODELS)
def test_causal_padding_and_both_scoring_methods(name: str) -> None:
    model = fitted(name, random_sentences(2), 4)
    row = torch.tensor([[BOS, 4, 6, 5, EOS, BOS, 4, 11, 4, EOS, PAD, PAD]])
    scores = model.log_probs(row)
    for t in range(1, 10):
        if row[0, t] != BOS:
            expected = model.next_log_probs(row[:, :t])[0, row[0, t]].item()
            assert scores[0, t].item() == (expected if math.isinf(expected) else pytest.approx(expected, abs=2e-6))
    assert (scores[0, 10:] == 0).all() and (scores[row == BOS] == 0).all()
    assert torch.equal(model.log_probs(row[:, :10]), scores[:, :10])
    changed = row.clone()
    changed[0, 8] = 9
    assert torch.equal(model.log_probs(changed)[:, :8], scores[:, :8])


@pytest.mark.parametrize("name", MODELS)
def test_save_load_roundtrip_is_mapped_and_deterministic(name: str, tmp_path: Path) -> None:
    sentences = random_sentences(4)
    extra = {"prune": [0, 1]} if name in PRUNABLE else {}
    model = fitted(name, sentences, 3, **extra)
    model.save(tmp_path / "one")
    loaded = LanguageModel.load(tmp_path / "one")
    assert type(loaded) is type(model) and loaded.config == model.config
    assert all(
        isinstance(array.base, np.memmap) or isinstance(array.base.base, np.memmap)
        for array in loaded.arrays().values()
    )
    row = torch.tensor([[BOS, 4, 6, 5, EOS]])
    assert torch.equal(loaded.log_probs(row), model.log_probs(row))
    fitted(name, sentences, 3, **extra).save(tmp_path / "two")
    item, two = (tmp_path / folder / "model.safetensors" for folder in ("one", "two"))
    assert item.read_bytes() == two.read_bytes()


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    fitted("katz", NOTES, 2).save(tmp_path / "m")
    file = tmp_path / "m" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(InputError, match="not a safetensors file"):
        LanguageModel.load(tmp_path / "m")
    file.unlink()
    with pytest.raises(InputError, match="no such file"):
        LanguageModel.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("config", "settings_", "message"),
    [
        (KneserNeyConfig, {"prune": [2, 1]}, "prune"),
        (KneserNeyConfig, {"order": 2, "prune": [0, 1]}, "prune"),
        (WittenBellConfig, {"prune": [-1]}, "prune"),
        (AddKConfig, {"k": 0.0}, "k"),
        (KatzConfig, {"cutoff": 0}, "cutoff"),
        (StupidBackoffConfig, {"factor": 1.5}, "factor"),
        (AbsoluteDiscountingConfig, {"discount": 1.2}, "discount"),
        (MaximumLikelihoodConfig, {"order": 0}, "order"),
        (MaximumLikelihoodConfig, {"prune": [1]}, "prune"),
    ],
)
def test_bad_settings_are_refused(config: type, settings_: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config.model_validate(settings_)
