"""Skip-gram's batches: the pairs, the chances of being kept, and that each is a function of (seed, step)."""

from collections import Counter

import numpy as np
import pytest
import torch

from langladder.data import skipgram_pairs
from langladder.data.skipgram_pairs import SkipGramBatches
from langladder.embeddings.word2vec.skipgram import SkipGramBatch, SkipGramConfig
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary

FOX = ["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"]


def make(lines: list[list[int]], vocab_size: int, seed: int = 0, **settings: object) -> SkipGramBatches:
    ids = np.array([word for line in lines for word in line], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    vocabulary = Vocabulary([str(word) for word in range(vocab_size)], np.bincount(ids, minlength=vocab_size) + 1)
    return SkipGramBatches(TokenStream(ids, offsets), vocabulary, SkipGramConfig(**settings), seed=seed)  # type: ignore[arg-type]


def pairs(batch: SkipGramBatch, window: int) -> list[tuple[int, int]]:
    """The (centre, context) pairs of a batch written out, in the order of the text."""
    result = []
    for centres, contexts, before, after in zip(
        *(batch[name].tolist() for name in ("centres", "contexts", "before", "after")), strict=True
    ):
        for i, centre in enumerate(centres):
            reach = range(i + window - before[i], i + window + after[i] + 1)
            result += [(centre, contexts[j]) for j in reach if j != i + window]
    return result


def epoch_pairs(batches: SkipGramBatches, window: int, epoch: int = 0) -> list[tuple[int, int]]:
    steps = range(epoch * batches.steps_per_epoch, (epoch + 1) * batches.steps_per_epoch)
    return [pair for step in steps for pair in pairs(batches.train(step), window)]


@pytest.mark.parametrize("block", [1, 4, 32])
def test_pairs_of_a_sentence_golden(block: int) -> None:
    batches = make([list(range(9))], 9, window=2, dynamic_window=False, subsample=0.0, block=block)
    result = [(FOX[centre], FOX[context]) for centre, context in epoch_pairs(batches, 2)]
    assert len(result) == 30
    assert [context for centre, context in result if centre == "The"] == ["quick", "brown"]
    assert [context for centre, context in result if centre == "quick"] == ["The", "brown", "fox"]
    assert [context for centre, context in result if centre == "brown"] == ["The", "quick", "fox", "jumps"]


def test_pairs_equal_brute_force_and_stay_in_their_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skipgram_pairs, "LONGEST_LINE", 12)
    rng = np.random.default_rng(0)
    lines = [rng.integers(0, 30, rng.integers(0, 40)).tolist() for _ in range(60)]
    batches = make(lines, 30, window=3, dynamic_window=False, subsample=0.0, block=8, batch_words=100)
    assert batches.steps_per_epoch > 5
    pieces = [line[first : first + 12] for line in lines for first in range(0, len(line), 12)]
    expected = Counter(
        (piece[t], piece[s])
        for piece in pieces
        for t in range(len(piece))
        for s in range(max(0, t - 3), min(len(piece), t + 4))
        if s != t
    )
    assert Counter(epoch_pairs(batches, 3)) == expected
    assert Counter(epoch_pairs(batches, 3, epoch=1)) == expected
    assert epoch_pairs(batches, 3) != epoch_pairs(batches, 3, epoch=1)  # another order of the lines


def test_batches_are_functions_of_seed_and_step() -> None:
    lines = [[number % 20 for number in range(start, start + 15)] for start in range(50)]
    first, second = (make(lines, 20, batch_words=100) for _ in range(2))
    for step in (11, 3, 11, 0):
        item, two = first.train(step), second.train(step)
        assert all(torch.equal(item[name], two[name]) for name in item)
    assert not torch.equal(first.train(0)["noise"], make(lines, 20, seed=1, batch_words=100).train(0)["noise"])
    assert not torch.equal(first.train(0)["noise"], first.train(1)["noise"])
    assert first.size(first.train(0)) == pytest.approx(750 / first.steps_per_epoch, abs=1)


def test_dynamic_window_golden() -> None:
    """With windows drawn from 1 … 5, a word at distance d is a context with probability (5 − d + 1) / 5."""
    batches = make([list(range(1000))] * 40, 1000, window=5, subsample=0.0)
    distances = Counter(abs(centre - context) for centre, context in epoch_pairs(batches, 5))
    shares = [distances[d] / (2 * 40 * (1000 - d)) for d in range(1, 6)]
    assert shares == pytest.approx([1, 0.8, 0.6, 0.4, 0.2], abs=0.01)


def test_frequent_words_are_subsampled_and_noise_follows_its_distribution() -> None:
    lines = [[0] * 9 + [1]] * 4000
    batches = make(lines, 2, seed=1, window=1, subsample=0.1, batch_words=50_000)
    kept = Counter(batches.train(0)["centres"][batches.train(0)["before"] > 0].tolist())
    # √(0.1 / 0.9) of the 0s and every 1 (√(0.1/0.1)) stay; of those, a line's first word has nothing before it.
    assert kept[0] / kept[1] == pytest.approx((9 / 3 - 1 + (2 / 3) ** 9) / (1 - (2 / 3) ** 9), rel=0.02)
    noise = batches.train(0)["noise"]
    share = 36001**0.75 / (36001**0.75 + 4001**0.75)
    assert (noise == 0).float().mean().item() == pytest.approx(share, abs=0.01)


def test_tiny_and_empty_text() -> None:
    lonely = make([[0], [1]], 2, window=2)
    assert pairs(lonely.train(0), 2) == []
    with pytest.raises(InputError, match="empty"):
        make([], 2)
