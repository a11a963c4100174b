"""Batches: pure functions of the step, covering the corpus, carrying streams on."""

import numpy as np
import pytest
import torch

from langladder.data.batches import permutation, shuffled
from langladder.data.language_modelling import DocumentBatches, StreamBatches, WindowBatches, document_batches
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, PAD


def stream_of(documents: int, lines: int = 4, words: int = 6) -> TokenStream:
    """Documents whose words are numbered consecutively, so that an id gives the position."""
    numbers = np.arange(documents * lines * words).reshape(documents, lines, words) + 4
    first, last = np.full((documents, lines, 1), BOS), np.full((documents, lines, 1), EOS)
    ids = np.concatenate([first, numbers, last], axis=2).astype(np.int32)
    return TokenStream(ids.ravel(), np.arange(documents + 1) * lines * (words + 2))


def make(kind, stream, **changes):
    settings = {"batch_size": 4, "sequence_length": 5, "seed": 3} | changes
    return kind(stream, stream, **settings)


@pytest.mark.parametrize("kind", [StreamBatches, WindowBatches])
def test_batch_is_a_pure_function_of_seed_and_step(kind):
    stream = stream_of(10)
    walked = make(kind, stream)
    all_batches = [walked.train(step) for step in range(60)]
    for step in (47, 3, 0, 59):
        again = make(kind, stream).train(step)
        assert torch.equal(again.tokens, all_batches[step].tokens) and again.fresh == all_batches[step].fresh
    assert not torch.equal(make(kind, stream, seed=4).train(0).tokens, all_batches[0].tokens)
    assert all_batches[0].tokens.shape == (4, 6) and all_batches[0].tokens.dtype == torch.int64
    assert walked.size(all_batches[0]) == 20


def test_streams_go_on_where_the_step_before_ended():
    batches = make(StreamBatches, stream_of(10))
    for step in range(batches.steps * 3 - 1):
        now, following = batches.train(step), batches.train(step + 1)
        if not following.fresh:
            assert torch.equal(now.tokens[:, -1], following.tokens[:, 0])
    starts = [step for step in range(batches.steps * 3) if batches.train(step).fresh]
    assert starts == [0, batches.steps, 2 * batches.steps]
    for step in starts:
        assert (batches.train(step).tokens[:, 0] == BOS).all()
    assert not torch.equal(batches.train(0).tokens, batches.train(batches.steps).tokens)


def test_windows_cover_the_corpus_once_an_epoch():
    stream = stream_of(10)
    batches = make(WindowBatches, stream, batch_size=8)
    assert batches.windows == len(stream.ids) // 5 == 64
    seen = torch.cat([batches.train(step).tokens[:, :-1].flatten() for step in range(8)])
    words = seen[seen > EOS]
    assert len(words.unique()) == len(words) > 0.9 * 10 * 4 * 6


@pytest.mark.parametrize("kind", [StreamBatches, WindowBatches])
def test_corpus_smaller_than_a_batch_names_sizes_and_keys(kind):
    with pytest.raises(InputError, match=r"32 tokens.*training\.sequence_length"):
        make(kind, stream_of(1), sequence_length=40)


def documents_of(*lengths: int) -> TokenStream:
    """Documents of so many tokens: BOS, then words that are numbered on and on."""
    ids = np.arange(sum(lengths), dtype=np.int32) + 4
    offsets = np.cumsum([0, *lengths])
    ids[[start for start, length in zip(offsets[:-1], lengths, strict=True) if length]] = BOS
    return TokenStream(ids, offsets)


def epoch(batches: DocumentBatches, tokens: int) -> list[torch.Tensor]:
    """The batches of the first epoch, which predicts so many tokens."""
    result, step = [], 0
    while tokens > 0:
        batch = batches.train(step)
        assert batch.fresh
        result.append(batch.tokens)
        tokens -= batches.size(batch)
        step += 1
    assert tokens == 0
    return result


def test_rows_of_documents_begin_with_them_and_predict_every_token_once():
    lengths = [*range(2, 30), 0, 1, 7, 7, 7]
    stream = documents_of(*lengths)
    for batch_size, length in [(4, 5), (2, 30), (1, 1)]:
        batches = make(DocumentBatches, stream, batch_size=batch_size, sequence_length=length)
        rows = [
            row[row != PAD].tolist() for batch in epoch(batches, sum(max(0, n - 1) for n in lengths)) for row in batch
        ]
        pieces = [
            document[at : at + length + 1].tolist() for document in stream for at in range(0, len(document) - 1, length)
        ]
        assert sorted(rows) == sorted(pieces)


def test_batches_of_documents_have_little_padding_and_a_size():
    random = np.random.default_rng(0)
    stream = documents_of(*random.integers(5, 60, size=400))
    batches = make(DocumentBatches, stream, batch_size=4, sequence_length=64)
    result = epoch(batches, len(stream.ids) - len(stream))
    cells = [batch.shape[0] * (batch.shape[1] - 1) for batch in result]
    assert max(cells) <= 4 * 64 and np.median(cells) > 0.75 * 4 * 64
    assert sum(cells) < 1.05 * len(stream.ids)
    lengths = [batch.shape[1] for batch in result]
    assert lengths != sorted(lengths)  # in random order


def test_rows_of_documents_are_a_pure_function_of_seed_and_step():
    stream = documents_of(*np.random.default_rng(1).integers(2, 30, size=50))
    walked = [make(DocumentBatches, stream).train(step).tokens for step in range(200)]
    for step in (199, 0, 60, 120):
        assert torch.equal(make(DocumentBatches, stream).train(step).tokens, walked[step])
    assert not all(torch.equal(make(DocumentBatches, stream, seed=4).train(s).tokens, walked[s]) for s in range(9))


def test_rows_of_documents_begin_a_later_line_without_bos():
    stream = stream_of(7, lines=3, words=2)  # BOS w w EOS BOS w w EOS BOS w w EOS
    for length in (30, 4, 1):
        batches = make(DocumentBatches, stream, sequence_length=length)
        rows = [row[row != PAD] for batch in epoch(batches, 7 * 9) for row in batch]
        targets = torch.cat([row[1:] for row in rows])
        assert (targets != BOS).all() and sorted(targets[targets != EOS].tolist()) == [*range(4, 4 + 7 * 6)]
        assert (targets == EOS).sum() == 7 * 3
        assert sum(int(row[0] == BOS) for row in rows) == 7
    (row,) = [row for row in rows if row[0] == BOS and row[1] == 4]
    whole = make(DocumentBatches, stream, sequence_length=30)
    assert [BOS, 4, 5, EOS, 6, 7, EOS, 8, 9, EOS] in [row.tolist() for batch in epoch(whole, 63) for row in batch]
    assert len(row) == 2


def test_text_without_documents_is_refused():
    with pytest.raises(InputError, match="no document"):
        make(DocumentBatches, documents_of(1, 0))


def test_documents_are_scored_whole_and_with_their_like():
    rows = [np.full(n, 7, dtype=np.int32) for n in (3, 9, 0, 4, 8, 2)]
    stream = TokenStream(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))
    batches = list(document_batches(stream, batch_tokens=18))
    assert [tuple(batch.shape) for batch in batches] == [(2, 9), (3, 4)]
    assert sum(int((batch != PAD).sum()) for batch in batches) == len(stream.ids)
    assert sum(len(batch) for batch in document_batches(stream, limit=10)) == 2
    assert all(len(batch) == 1 for batch in document_batches(stream, batch_tokens=1))


def test_shuffled_walks_through_whole_epochs():
    walk = np.concatenate([shuffled(10, 4, step, 0) for step in range(5)])
    assert sorted(walk[:10]) == sorted(walk[10:]) == list(range(10))
    assert walk[:10].tolist() == permutation(10, 0, 0).tolist() != walk[10:].tolist()
