"""Modified Kneser-Ney: hand-computed numbers, brute force, sums to 1, and KenLM's figures on WikiText-2."""

import gzip
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from real_data import real

from langladder.counts.ngram_pieces import frequencies
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.models.ngrams.kneser_ney import KneserNey, KneserNeyConfig, closed_form_discounts
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, PAD, UNK


def as_stream(sentences: list[list[int]]) -> TokenStream:
    ids = np.array([word for sentence in sentences for word in [BOS, *sentence, EOS]], dtype=np.int32)
    return TokenStream(ids, np.array([0, len(ids)]))


def random_sentences(seed: int, vocab_size: int, lines: int = 80) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, vocab_size - 3)
    return [
        rng.choice(np.arange(4, vocab_size), rng.integers(0, 7), p=weights / weights.sum()).tolist()
        for _ in range(lines)
    ]


def fitted(sentences: list[list[int]], order: int, vocab_size: int) -> KneserNey:
    model = KneserNey(KneserNeyConfig(order=order), vocab_size)
    model.fit(as_stream(sentences))
    return model


def test_bigram_by_hand_golden() -> None:
    """a b / a c / a b: unigram counts 1 1 1 2 (fallback D), bigram D = 1/3, 3/2, 3."""
    a, b, c = 4, 5, 6
    model = fitted([[a, b], [a, c], [a, b]], order=2, vocab_size=7)

    unigram = model.next_log_probs(torch.tensor([[BOS, c, UNK]])).exp()[0]  # UNK was never seen: no history at all
    assert unigram.tolist() == pytest.approx([0, 0.1, 0, 0.3, 0.2, 0.2, 0.2])
    after_a = model.next_log_probs(torch.tensor([[BOS, a]])).exp()[0]
    assert after_a[b] == pytest.approx(0.5 / 3 + 11 / 18 * 0.2)
    assert after_a[c] == pytest.approx(2 / 9 + 11 / 18 * 0.2)
    assert after_a[EOS] == pytest.approx(11 / 18 * 0.3)
    scores = model.log_probs(torch.tensor([[BOS, a, b, EOS]])).exp()[0]
    assert scores.tolist() == pytest.approx([1, 0.2, 0.5 / 3 + 11 / 90, 0.475])


def test_discounts_golden() -> None:
    counts = np.repeat([1, 2, 3, 4, 9], [8, 4, 2, 1, 5])  # Y = 8 / 16
    assert closed_form_discounts(frequencies(counts, 5), [0.5, 1, 1.5]).tolist() == pytest.approx([0, 0.5, 1.25, 2.0])
    assert closed_form_discounts(frequencies(counts[:12], 5), [0.5, 1, 1.5]).tolist() == [0, 0.5, 1, 1.5]


class BruteForce:
    """The definition, with dictionaries and recursion."""

    def __init__(self, sentences: list[list[int]], order: int, vocab_size: int) -> None:
        self.uniform = 1 / (vocab_size - 2)
        plain: Counter[tuple[int, ...]] = Counter()
        companions = defaultdict(set)
        for sentence in sentences:
            line = [BOS, *sentence, EOS]
            for end in range(2, len(line) + 1):
                for n in range(1, min(order, end) + 1):
                    gram = tuple(line[end - n : end])
                    plain[gram] += 1
                    companions[gram[1:]].add(gram[0])
        self.children: dict[tuple[int, ...], dict[int, int]] = defaultdict(dict)
        levels = defaultdict(list)
        for gram, count in plain.items():
            adjusted = count if len(gram) == order or gram[0] == BOS else len(companions[gram])
            self.children[gram[:-1]][gram[-1]] = adjusted
            levels[len(gram)].append(adjusted)
        result = {n: frequencies(np.array(values), 5) for n, values in levels.items()}
        self.discounts = {n: closed_form_discounts(values, [0.5, 1, 1.5]) for n, values in result.items()}

    def probability(self, history: tuple[int, ...], word: int) -> float:
        lower = self.probability(history[1:], word) if history else self.uniform
        seen = self.children.get(history)
        if not seen:
            return lower
        d = self.discounts[len(history) + 1]
        total = sum(seen.values())
        gamma = sum(d[min(count, 3)] for count in seen.values()) / total
        count = seen.get(word, 0)
        return (count - d[min(count, 3)]) / total + gamma * lower


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_scores_equal_brute_force(order: int) -> None:
    vocab_size = 13
    sentences = random_sentences(order, vocab_size)
    model, reference = fitted(sentences, order, vocab_size), BruteForce(sentences, order, vocab_size)
    document = [
        w for s in random_sentences(99, vocab_size + 1, lines=30) for w in [BOS, *(min(s_, 12) for s_ in s), EOS]
    ]
    document[1:1] = [UNK]
    scores = model.log_probs(torch.tensor([document]))[0]
    start = 0
    for t, word in enumerate(document):
        if word == BOS:
            start = t
            assert scores[t] == 0
        else:
            history = tuple(document[max(start, t - order + 1) : t])
            assert scores[t].item() == pytest.approx(np.log(reference.probability(history, word)), abs=2e-6)


@pytest.mark.parametrize("order", [1, 3, 6])
def test_probabilities_sum_to_one(order: int) -> None:
    model = fitted(random_sentences(1, 40, lines=300), order, 40)
    rng = np.random.default_rng(0)
    prefixes = torch.from_numpy(rng.integers(3, 40, (50, 6)))
    prefixes[:, 0] = BOS
    prefixes[25:, 3] = BOS
    table = model.next_log_probs(prefixes).double().exp()
    assert torch.allclose(table.sum(1), torch.ones(50, dtype=torch.float64), atol=1e-6)
    assert (table[:, [PAD, BOS]] == 0).all()
    assert (table[:, EOS] > 0).all() and (table[:, UNK] > 0).all()


def test_both_scoring_methods_agree_and_padding_changes_nothing() -> None:
    model = fitted(random_sentences(2, 20), 3, 20)
    row = torch.tensor([[BOS, 4, 6, 5, EOS, BOS, 4, 4, EOS, PAD, PAD]])
    scores = model.log_probs(row)
    for t in range(1, 9):
        if row[0, t] != BOS:
            assert model.next_log_probs(row[:, :t])[0, row[0, t]] == pytest.approx(scores[0, t].item(), abs=1e-6)
    assert (scores[0, 9:] == 0).all()
    assert torch.equal(model.log_probs(row[:, :9]), scores[:, :9])
    padded = torch.tensor([[BOS, 4, PAD, PAD]])
    assert torch.equal(model.next_log_probs(padded), model.next_log_probs(padded[:, :2]))


def test_scores_are_causal_and_reset_at_lines() -> None:
    model = fitted(random_sentences(3, 20), 4, 20)
    line = [BOS, 4, 6, 5, EOS]
    first = model.log_probs(torch.tensor([[*line, *line]]))[0]
    assert torch.equal(first[:5], first[5:])
    changed = model.log_probs(torch.tensor([[*line[:3], 9, EOS, *line]]))[0]
    assert torch.equal(first[:3], changed[:3])


def test_save_load_roundtrip(tmp_path: Path) -> None:
    model = fitted(random_sentences(4, 20), 3, 20)
    model.save(tmp_path / "one")
    loaded = LanguageModel.load(tmp_path / "one")
    assert isinstance(loaded, KneserNey) and loaded.config == model.config
    row = torch.tensor([[BOS, 4, 6, 5, EOS]])
    assert torch.equal(loaded.log_probs(row), model.log_probs(row))
    again = fitted(random_sentences(4, 20), 3, 20)
    again.save(tmp_path / "two")
    item, two = (tmp_path / name / "model.safetensors" for name in ("one", "two"))
    assert item.read_bytes() == two.read_bytes()


def test_bad_settings_and_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="order"):
        KneserNeyConfig(order=7)
    with pytest.raises(ValueError, match="fallback_discounts"):
        KneserNeyConfig(fallback_discounts=[0.5, 1.0, 4.0])
    model = fitted([[4, 5]], 2, 6)
    with pytest.raises(InputError, match="ids"):
        model.log_probs(torch.tensor([[BOS, 6]]))
    with pytest.raises(ValueError, match="single words"):
        KneserNey(KneserNeyConfig(), 7).set_arrays(model.arrays())
    with pytest.raises(RuntimeError, match="not fitted"):
        KneserNey(KneserNeyConfig(), 7).log_probs(torch.tensor([[BOS, 4]]))


@pytest.mark.real
@pytest.mark.parametrize(("order", "kenlm"), [(3, (247.66, 230.89)), (5, (239.98, 224.81))])
def test_wikitext2_perplexity_parity_with_kenlm(order: int, kenlm: tuple[float, float]) -> None:
    folder = real("wikitext-2")
    numbers: dict[str, int] = {}

    def encode(split: str) -> np.ndarray:
        ids: list[int] = []
        with gzip.open(folder / f"{split}.txt.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    ids += [BOS, *(numbers.setdefault(word, len(numbers) + 4) for word in line.split()), EOS]
        return np.array(ids, dtype=np.int32)

    train, validation, test = (encode(split) for split in ("train", "valid", "test"))
    model = KneserNey(KneserNeyConfig(order=order), len(numbers) + 4)
    model.fit(TokenStream(train, np.array([0, len(train)])))
    for ids, expected in zip((validation, test), kenlm, strict=True):
        scores = model.log_probs(torch.from_numpy(ids.astype(np.int64))[None]).double()
        perplexity = torch.exp(-scores.sum() / int((ids != BOS).sum())).item()
        assert perplexity == pytest.approx(expected, rel=1e-4)
