"""Training word vectors: same seed, same bytes; resuming; rows or whole tables; analogies of a small world."""

from pathlib import Path

import numpy as np
import pytest

from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import TrainedVectors
from langladder.embeddings.word2vec.skipgram import SkipGram, SkipGramConfig
from langladder.ground.errors import InputError
from langladder.models.making import Run
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.word_vectors import make
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus
from tests.tasks.small_run import moved

TRAINING = TrainingConfig(
    optimizer="adagrad", lr=0.1, eps=1e-12, schedule="constant", clip_norm=None, precision="fp32", progress=False
)
CONFIG = SkipGramConfig(dim=12, epochs=3, batch_words=400, shared_negatives=16, subsample=0.0, vectors="input")


def world(lines: int = 600, seed: int = 0) -> WordCorpus:
    """`PLACE` and `FOOD` words in frames of their own: within a kind all co-occur with the same ones."""
    rng = np.random.default_rng(seed)
    frames = {"place": "they travel to {} by night", "food": "we eat fresh {} with salt"}
    texts = [
        frame.format(f"{kind}{rng.integers(6)}")
        for kind, frame in (list(frames.items())[choice] for choice in rng.integers(0, 2, lines))
    ]
    vocabulary = Vocabulary.build(texts)
    rows = [vocabulary.encode(text.split()) for text in texts]
    return WordCorpus(TokenStream(np.concatenate(rows), np.cumsum([0, *map(len, rows)])), vocabulary)


def train(
    work: Path, config: SkipGramConfig = CONFIG, training: TrainingConfig = TRAINING, seed: int = 1
) -> tuple[WordVectors, TrainedVectors]:
    result = make(SkipGram, config, world(), training=training, run=Run(seed, work))
    return result.vectors, result


def test_learns_kinds_and_is_deterministic(tmp_path: Path) -> None:
    vectors, result = train(tmp_path / "a")
    assert result.curve[-1]["step"] == 3 * -(-3600 // 400)
    losses = [row["train_loss"] for row in result.curve]
    assert losses[-1] is not None and losses[-1] < 6 * np.log(2) * 0.7
    cities, foods = ([f"{kind}{number}" for number in range(6)] for kind in ("place", "food"))
    within = np.mean([vectors.similarity(a, b) for kind in (cities, foods) for a in kind for b in kind if a != b])
    between = np.mean([vectors.similarity(a, b) for a in cities for b in foods])
    assert within > between + 0.2
    again, _ = train(tmp_path / "b")
    assert np.array_equal(vectors.matrix, again.matrix)
    other, _ = train(tmp_path / "c", seed=2)
    assert not np.array_equal(vectors.matrix, other.matrix)


def test_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    whole, _ = train(tmp_path / "whole")

    class KilledError(Exception):
        pass

    from langladder.data.skipgram_pairs import SkipGramBatches

    original = SkipGramBatches.train
    with pytest.MonkeyPatch.context() as patch:

        def fail_at_17(self: SkipGramBatches, step: int) -> object:
            if step == 17:
                raise KilledError
            return original(self, step)

        patch.setattr(SkipGramBatches, "train", fail_at_17)
        with pytest.raises(KilledError):
            train(tmp_path / "part", training=TRAINING.model_copy(update={"checkpoint_every": 5}))
    resumed, result = train(moved(tmp_path / "part"))
    assert result.curve[-1]["step"] == 27
    assert np.array_equal(resumed.matrix, whole.matrix)


def test_rows_or_whole_tables_learn_the_same(tmp_path: Path) -> None:
    """Gradients by rows (AdaGrad without clipping) and whole gradients (a clip that never bites) agree."""
    by_rows, _ = train(tmp_path / "a")
    whole, _ = train(tmp_path / "b", training=TRAINING.model_copy(update={"clip_norm": 1e9}))
    np.testing.assert_allclose(by_rows.matrix, whole.matrix, atol=1e-4)


def test_other_optimisers_and_summed_vectors(tmp_path: Path) -> None:
    adam = TRAINING.model_copy(update={"optimizer": "adamw", "lr": 0.01, "clip_norm": 1.0, "warmup_steps": 500})
    vectors, _ = train(tmp_path, config=CONFIG.model_copy(update={"vectors": "sum"}), training=adam)
    alike, unlike = (vectors.similarity("place0", other) for other in ("place1", "food1"))
    assert alike > unlike + 0.3


def test_cost_is_measured(tmp_path: Path) -> None:
    cost = make(SkipGram, CONFIG, world(), training=TRAINING, run=Run(1, tmp_path)).cost
    assert set(cost) == {"seconds", "processor_seconds", "tokens_per_second", "peak_memory_bytes"}
    assert cost["seconds"] > 0 and cost["tokens_per_second"] * cost["seconds"] == pytest.approx(3 * 3600, rel=0.01)


def test_bad_streams_are_refused() -> None:
    corpus = world()
    small = Vocabulary(corpus.vocabulary.words[:5], corpus.vocabulary.counts[:5])
    with pytest.raises(InputError, match="the vocabulary has 5 words"):
        WordCorpus(corpus.stream, small)
    with pytest.raises(InputError, match="empty"):
        WordCorpus(TokenStream(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)), corpus.vocabulary)
