"""Masking: the number of gaps, their positions, their inputs; rows and pairs; pure functions of seed and step."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from langladder.data.masked_language_modelling import MaskedBatches, masked_text
from langladder.data.masking import Masking, mask_tokens, maskable
from langladder.data.sentence_pairs import Pairs, lines_of, rows_of
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.specials import EOS, PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig, WordStarts, word_starts
from langladder.text.words.segmentation import split_words

V = 103  # 100, 101, 102: <sep>, <cls>, <mask>
SEP, CLS, MASK = 100, 101, 102
EVERY = WordStarts(np.ones(V, dtype=bool), np.ones(V, dtype=bool))


def rows(count: int = 400, length: int = 42) -> np.ndarray:
    """(B, T) of `<cls>` 40 tokens `<sep>`."""
    tokens = np.random.default_rng(0).integers(4, 100, (count, length))
    tokens[:, 0], tokens[:, -1] = CLS, SEP
    return tokens


def test_golden_statistics_of_masking() -> None:
    """15 % of each row; of these 80 : 10 : 10 (χ²), all positions alike (χ²), random tokens uniform (χ²)."""
    tokens = rows()
    gaps = mask_tokens(tokens, Masking(), V, np.random.default_rng(1), EVERY)
    row, column = gaps.positions // 42, gaps.positions % 42
    assert (np.bincount(row, minlength=400) == 6).all()  # round(0.15 · 40)
    assert (gaps.targets == tokens.flatten()[gaps.positions]).all()
    assert (gaps.tokens != tokens).sum() <= len(gaps.positions)
    visible = gaps.tokens.flatten()[gaps.positions]
    hidden, kept = visible == MASK, visible == gaps.targets
    # a random token is the same as before one time in 96
    result = [hidden.sum(), (~hidden & ~kept).sum(), kept.sum()]
    expected = np.array([0.8, 0.1 * 95 / 96, 0.1 + 0.1 / 96]) * len(visible)
    assert stats.chisquare(result, expected).pvalue > 0.01
    assert stats.chisquare(np.bincount(column, minlength=42)[1:-1]).pvalue > 0.01
    many = mask_tokens(rows(4000), Masking(hidden=0.0, random=1.0), V, np.random.default_rng(2), EVERY)
    drawn = np.bincount(many.tokens.flatten()[many.positions], minlength=V)
    assert not drawn[:4].any() and not drawn[100:].any()
    assert stats.chisquare(drawn[4:100]).pvalue > 0.01


def test_special_tokens_are_never_masked() -> None:
    tokens = rows(50)
    tokens[:, 20], tokens[:, 30:] = EOS, PAD
    gaps = mask_tokens(tokens, Masking(share=0.99), V, np.random.default_rng(3), EVERY)
    assert maskable(tokens.flatten(), V)[gaps.positions].all()
    assert (gaps.tokens[:, [0, 20]] == tokens[:, [0, 20]]).all() and (gaps.tokens[:, 30:] == PAD).all()
    assert (gaps.positions == np.sort(gaps.positions)).all()


def test_a_short_row_has_one_gap() -> None:
    gaps = mask_tokens(np.array([[CLS, 7, SEP], [CLS, 8, SEP]]), Masking(), V, np.random.default_rng(0), EVERY)
    assert gaps.positions.tolist() == [1, 4] and gaps.targets.tolist() == [7, 8]


def test_whole_words_are_hidden_whole() -> None:
    """Words of 1, 2 and 3 tokens: all of a word or none; the number is reached by the last word at the latest."""
    opens = np.zeros(V, dtype=bool)
    opens[[4, 5, 6, SEP, CLS, MASK]] = True
    words = WordStarts(opens, np.zeros(V, dtype=bool))
    line = [4, 5, 50, 6, 51, 52] * 6  # each word begins with 4, 5 or 6
    tokens = np.array([[CLS, *line, SEP]] * 300)
    masking = Masking(whole_words=True, hidden=1.0, random=0.0)
    gaps = mask_tokens(tokens, masking, V, np.random.default_rng(4), words)
    hidden = (gaps.tokens == MASK)[:, 1:-1].reshape(-1, 6)
    for word in ([0], [1, 2], [3, 4, 5]):
        assert (hidden[:, word].all(axis=1) == hidden[:, word].any(axis=1)).all()
    counts = (gaps.tokens == MASK).sum(axis=1)
    assert counts.min() >= 5 and counts.max() <= 7  # round(0.15 · 36) = 5, and at most two more
    by_token = mask_tokens(tokens, Masking(hidden=1.0, random=0.0), V, np.random.default_rng(4), words)
    parts = (by_token.tokens == MASK)[:, 1:-1].reshape(-1, 6)[:, [3, 4, 5]]
    assert (parts.any(axis=1) & ~parts.all(axis=1)).any()


def test_golden_share_that_falls() -> None:
    """From 50 % to 10 % of 40 tokens over five steps: 20, 16, 12, 8, 4 gaps a row; the settings stay as they are."""
    masking = Masking(share=0.5, last=0.1)
    for step, count in enumerate((20, 16, 12, 8, 4)):
        gaps = mask_tokens(rows(5), masking.at(step / 4), V, np.random.default_rng(step), EVERY)
        assert (np.bincount(gaps.positions // 42, minlength=5) == count).all()
    assert masking == Masking(share=0.5, last=0.1)
    assert Masking().at(0.3) == Masking()


def test_shares_above_one_whole_are_refused() -> None:
    with pytest.raises(ValueError, match=r"hidden=0.8 and random=0.3"):
        Masking(random=0.3)


LINES = [["the cat sleeps", "a dog barks loudly"], ["two birds sing"], ["we walk", "you run fast", "they swim"]]


@pytest.mark.parametrize("between", [" ", "፡", "\U0001091f"])
@pytest.mark.parametrize("kind", ["word", "wordpiece", "bpe_bytes", "bpe_words", "unigram", "character"])
def test_golden_words_of_every_tokenizer(kind: str, between: str) -> None:
    """Counted from the tokens, a line has as many words as between its spaces, or other marks that separate words."""
    lines = [line.replace(" ", between) for document in LINES for line in document]
    size = {"bpe_bytes": 280, "word": None, "character": None}.get(kind, 60)
    tokenizer = train_tokenizer(lines * 3, TokenizerConfig.model_validate({"kind": kind, "vocab_size": size}))
    starts = word_starts(tokenizer)
    for line in lines:
        ids = tokenizer.encode(line)
        begins = starts.opens[ids].copy()
        begins[1:] |= starts.closes[ids[:-1]]
        begins[0] = True
        assert begins.sum() == len(split_words(line)), (kind, line)


def stream(path: Path, documents: int = 12) -> TokenStream:
    """Documents of lines whose tokens say where they are from: 10 · document + line."""
    random = np.random.default_rng(5)
    sentences = []
    for document in range(documents):
        lines = [framed(np.full(random.integers(1, 7), 4 + 5 * document + line)) for line in range(5)]
        sentences.append(np.concatenate(lines))
    TokenStream.write(path, sentences)
    return TokenStream.open(path)


def test_rows_hold_every_line_once_and_fit(tmp_path: Path) -> None:
    text = stream(tmp_path / "a.arrow")
    lines = lines_of(text, 20)
    result = rows_of(lines, 14)
    assert [line for first, last in result for line in range(first, last + 1)] == list(range(60))
    for first, last in result:
        assert len(lines.text(first, last)) <= 14
        assert lines.document[first] == lines.document[last]
        if last + 1 < 60 and lines.document[last + 1] == lines.document[first]:
            assert len(lines.text(first, last + 1)) > 14  # one more would not fit
    ids = lines.text(0, 1)
    assert EOS in ids.tolist() and ids[-1] != EOS


def test_rows_of_so_many_lines_at_most(tmp_path: Path) -> None:
    """Documents of five lines: two, two and one; a line each; and pairs, which are two lines at least."""
    text = stream(tmp_path / "a.arrow", 2)
    assert rows_of(lines_of(text, 20), 20, 2).tolist() == [[0, 1], [2, 3], [4, 4], [5, 6], [7, 8], [9, 9]]
    alone = Pairs(text, length=24, pairs=False, short=0.0, most=1)
    assert alone.rows.tolist() == [[line, line] for line in range(10)]
    pairs = Pairs(text, length=24, pairs=True, short=0.0, most=1)
    assert [int(last - first) for first, last in pairs.rows] == [1, 1, 1, 1, 0] * 2


def test_a_long_line_becomes_several(tmp_path: Path) -> None:
    TokenStream.write(tmp_path / "a.arrow", [np.concatenate([framed(np.arange(4, 29)), framed(np.array([50]))])])
    lines = lines_of(TokenStream.open(tmp_path / "a.arrow"), 10)
    assert (lines.ends - lines.starts).tolist() == [10, 10, 5, 1]
    assert lines.number.tolist() == [0, 0, 0, 1]
    assert lines.text(0, 1).tolist() == list(range(4, 24))  # parts of a line have no end between them
    assert lines.text(2, 3).tolist() == [24, 25, 26, 27, 28, EOS, 50]


def test_half_of_the_second_texts_follow(tmp_path: Path) -> None:
    pairs = Pairs(stream(tmp_path / "a.arrow", 19), length=24, pairs=True, short=0.0)
    random, labels = np.random.default_rng(0), []
    several = [row for row, (first, last) in enumerate(pairs.rows) if last > first]
    for row in several * 40:
        first, second, strange = pairs.draw(row, random)
        assert second is not None
        assert 0 < len(first) + len(second) <= 21
        documents = ({int(token - 4) // 5 for token in part if token > 3} for part in (first, second))
        item, other = documents
        assert (item == other) == (strange == 0)
        labels.append(strange)
    assert stats.binomtest(sum(labels), len(labels)).pvalue > 0.01


def test_short_rows_are_a_share(tmp_path: Path) -> None:
    pairs = Pairs(stream(tmp_path / "a.arrow"), length=30, pairs=False, short=0.5)
    random = np.random.default_rng(0)
    whole = [len(pairs.lines.text(*row)) for row in pairs.rows.tolist()]
    cut = [len(pairs.draw(row, random)[0]) < whole[row] for row in range(len(pairs)) for _ in range(60)]
    several = np.mean([last > first for first, last in pairs.rows])
    assert np.mean(cut) == pytest.approx(0.5 * several, abs=0.05)


def test_a_text_without_pairs_is_refused(tmp_path: Path) -> None:
    TokenStream.write(tmp_path / "a.arrow", [framed(np.array([5, 6])), framed(np.array([7]))])
    with pytest.raises(InputError, match=r"model\.next_sentence=true: pairs need two documents"):
        Pairs(TokenStream.open(tmp_path / "a.arrow"), length=24, pairs=True, short=0.0)


@pytest.mark.parametrize("pairs", [True, False])
def test_batches_are_functions_of_seed_and_step(tmp_path: Path, pairs: bool) -> None:
    text = stream(tmp_path / "a.arrow", 18)
    model = BERT(BERTConfig(context=24, width=8, layers=1, heads=2, next_sentence=pairs), V)
    rows_ = Pairs(text, length=24, pairs=pairs, short=0.1)

    def make(seed: int) -> MaskedBatches:
        return MaskedBatches(rows_, rows_, model, EVERY, Masking(), batch_size=4, seed=seed)

    falling = Masking(share=0.9, last=0.1, hidden=1.0, random=0.0)
    many = MaskedBatches(rows_, rows_, model, EVERY, falling, batch_size=4, seed=1, steps=10)
    counts = [len(many.train(step).positions) for step in (0, 9, 50)]
    assert counts[0] > 3 * counts[1] and counts[0] > 3 * counts[2]
    assert len(many.validation()[0].positions) == len(masked_text(rows_, model, EVERY, falling.at(1.0))[0].positions)

    item, again, other = make(1), make(1), make(2)
    for step in (0, 3, 17):
        for a, b in zip(item.train(step), again.train(step), strict=True):
            assert torch.equal(a, b)
    assert not torch.equal(item.train(0).tokens, other.train(0).tokens)
    batch = item.train(2)
    assert batch.tokens.shape[0] == 4 and batch.tokens.shape[1] <= 24
    assert (batch.tokens[:, 0] == CLS).all()
    assert len(batch.strange) == (4 if pairs else 0)
    assert bool((batch.segments.sum() > 0) == pairs)
    assert item.size(batch) == int((batch.tokens != PAD).sum())
    assert torch.equal(make(9).validation()[0].tokens, item.validation()[0].tokens)
    assert sum(len(part.tokens) for part in masked_text(rows_, model, EVERY, Masking(), limit=60)) <= 3
