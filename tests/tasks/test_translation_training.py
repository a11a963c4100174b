"""Training a translator through the one training loop, from pairs on disk to translations."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.data.translation import PairBatch
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.translate import translate
from langladder.models.making import Run
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.tasks.settings import TranslationTraining
from langladder.tasks.translation import TranslationTask, train_translator
from langladder.text.storage.token_streams import PairStream
from langladder.text.tokenize.specials import BOS, EOS, PAD

VOCABULARY = 14


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small lose time to a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def reversal(tmp_path: Path) -> PairStream:
    """A small language whose translation is the sentence backwards."""
    random = np.random.default_rng(0)
    rows = []
    for _ in range(400):
        words = random.integers(4, VOCABULARY, random.integers(1, 6))
        rows.append((np.append(words, EOS), np.concatenate([[BOS], words[::-1], [EOS]])))
    PairStream.write(tmp_path / "pairs.arrow", rows)
    return PairStream.open(tmp_path / "pairs.arrow")


def model() -> AttentionSeq2Seq:
    torch.manual_seed(0)
    config = AttentionSeq2Seq.Config(width=32, embedding_dim=24, attention_width=24, dropout=0.0)
    return AttentionSeq2Seq(config, VOCABULARY, VOCABULARY)


def settings(steps: int, **changes: object) -> TranslationTraining:
    values = {
        "max_steps": steps, "batch_tokens": 256, "lr": 1e-2, "validate_every": 20, "checkpoint_every": 20,
        "progress": False, "accelerator": "cpu", "precision": "fp32",
    }  # fmt: skip
    return TranslationTraining.model_validate(values | changes)


@pytest.mark.slow
def test_learns_to_reverse(reversal: PairStream, tmp_path: Path) -> None:
    network = model()
    result = train_translator(network, reversal, reversal, settings(160), Run(1, tmp_path / "work"))
    assert result.steps == 160
    assert result.validation_loss is not None
    assert result.validation_loss < 0.1
    assert not network.training
    sources = [reversal.source.row(index) for index in range(50)]
    results = translate(network, sources, BeamConfig(width=3))
    right = sum(
        hypotheses[0].tokens == source[:-1][::-1].tolist() for source, hypotheses in zip(sources, results, strict=True)
    )
    assert right >= 48


def test_same_seed_same_weights(reversal: PairStream, tmp_path: Path) -> None:
    networks = [model(), model()]
    for index, network in enumerate(networks):
        train_translator(network, reversal, None, settings(5), Run(2, tmp_path / str(index)))
    for left, right in zip(networks[0].parameters(), networks[1].parameters(), strict=True):
        assert torch.equal(left, right)


def test_golden_losses_with_and_without_smoothing() -> None:
    network = model().eval()
    batch = PairBatch(torch.tensor([[5, 6, EOS], [7, EOS, PAD]]), torch.tensor([[BOS, 6, 5, EOS], [BOS, 7, EOS, PAD]]))
    log_probs = network(batch.source, batch.target[:, :-1]).log_softmax(-1)  # (B, T, V)
    following = batch.target[:, 1:]
    keep = following != PAD
    plain = -log_probs.gather(2, following.unsqueeze(2)).squeeze(2)[keep].mean()
    uniform = -log_probs.mean(-1)[keep].mean()
    for epsilon in (0.0, 0.1):
        task = TranslationTask(network, settings(1, label_smoothing=epsilon))
        torch.testing.assert_close(task.loss(batch), (1 - epsilon) * plain + epsilon * uniform)
        total, count = task.evaluate(batch)
        assert count == 5
        assert math.isclose(total / count, plain.item(), rel_tol=1e-5)
