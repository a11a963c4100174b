"""Batches: pure functions of the step, covering the corpus, carrying streams on."""

import numpy as np
import pytest
import torch

from langladder.data.batches import permutation, shuffled
from langladder.data.language_modelling import StreamBatches, WindowBatches, document_batches
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, PAD


def stream_of(documents: int, lines: int = 4, words: int = 6) -> TokenStream:
    """Documents whose words are numbered on and on, so that a place can be told from its id."""
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
