"""Skip-gram with negative sampling: the distributions, the loss, its gradient."""

import math

import numpy as np
import pytest
import torch

from langladder.embeddings.word2vec.sampling import keep_probabilities, noise_distribution
from langladder.embeddings.word2vec.skipgram import SkipGram, SkipGramConfig, in_window


def random_batch(config: SkipGramConfig, vocab_size: int, blocks: int = 3) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    shapes = {
        "centres": config.block,
        "contexts": config.block + 2 * config.window,
        "noise": config.shared_negatives,
    }
    batch = {name: torch.randint(vocab_size, (blocks, width), generator=draw) for name, width in shapes.items()}
    for side in ("before", "after"):
        batch[side] = torch.randint(config.window + 1, (blocks, config.block), generator=draw)
    return batch


def test_noise_distribution_golden() -> None:
    counts = np.array([100, 10, 1])
    assert noise_distribution(counts, 0.75).tolist() == pytest.approx([0.82682162, 0.14703199, 0.02614640], abs=1e-8)
    assert noise_distribution(counts, 1).tolist() == pytest.approx([0.90090090, 0.09009009, 0.00900901], abs=1e-8)
    assert noise_distribution(counts, 0).tolist() == pytest.approx([1 / 3] * 3)


def test_subsampling_golden() -> None:
    counts = np.array([1, 10, 100, 9889])  # relative frequencies 1e-4, 1e-3, 1e-2, and the rest
    discard = 1 - keep_probabilities(counts, 1e-5)
    assert discard[:3].tolist() == pytest.approx([0.683772, 0.9, 0.968377], abs=1e-6)
    assert keep_probabilities(counts, 1e-3)[0] == 1  # rarer than the threshold: never discarded
    assert keep_probabilities(counts, 0).tolist() == [1, 1, 1, 1]


def test_loss_at_zero_golden() -> None:
    """All scores 0: each pair costs (1 + K) ln 2 = 5 ln 2 with four negatives, however the noise is shared."""
    for shared in (4, 64):
        config = SkipGramConfig(dim=7, negatives=4, shared_negatives=shared)
        loss = SkipGram(config, 20)(random_batch(config, 20))
        assert loss.item() == pytest.approx(5 * math.log(2), rel=1e-6)
        assert loss.item() == pytest.approx(3.4657359, abs=1e-6)


def test_window_mask() -> None:
    mask = in_window(torch.tensor([[0, 2, 1]]), torch.tensor([[1, 0, 2]]), window=2)[0].T.int().tolist()
    assert mask == [[0, 0, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 1]]


def brute_force(model: SkipGram, batch: dict[str, torch.Tensor]) -> tuple[float, np.ndarray, np.ndarray]:
    """Loss and gradients in closed form, pair by pair: ∂J/∂v_c = (σ(u_o·v_c) − 1) u_o + K/S Σ_s σ(u_s·v_c) u_s."""
    v, u = (table.weight.detach().double().numpy() for table in (model.input, model.output))
    grad_v, grad_u = np.zeros_like(v), np.zeros_like(u)
    total, pairs, window = 0.0, 0, model.config.window
    for centres, contexts, before, after, noise in zip(
        *(batch[name].tolist() for name in ("centres", "contexts", "before", "after", "noise")), strict=True
    ):
        for i, c in enumerate(centres):
            for distance in [d for d in range(-before[i], after[i] + 1) if d != 0]:
                pairs += 1
                share = model.config.negatives / len(noise)
                terms = [(contexts[i + window + distance], 1.0, 1.0)] + [(word, 0.0, share) for word in noise]
                for word, label, weight in terms:
                    p = 1 / (1 + np.exp(-v[c] @ u[word]))
                    total -= weight * math.log(p if label else 1 - p)
                    grad_v[c] += weight * (p - label) * u[word]
                    grad_u[word] += weight * (p - label) * v[c]
    return total / pairs, grad_v / pairs, grad_u / pairs


@pytest.mark.parametrize("sparse", [False, True])
def test_loss_and_gradient_equal_closed_form(sparse: bool) -> None:
    config = SkipGramConfig(dim=5, window=2, negatives=3, block=6, shared_negatives=8)
    torch.manual_seed(0)
    model = SkipGram(config, 15)
    model.sparse = sparse
    torch.nn.init.normal_(model.input.weight)
    torch.nn.init.normal_(model.output.weight)
    batch = random_batch(config, 15)
    loss = model(batch)
    loss.backward()
    expected, grad_v, grad_u = brute_force(model, batch)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert model.input.weight.grad is not None and model.output.weight.grad is not None
    np.testing.assert_allclose(model.input.weight.grad.to_dense().numpy(), grad_v, atol=1e-6)
    np.testing.assert_allclose(model.output.weight.grad.to_dense().numpy(), grad_u, atol=1e-6)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="window"):
        SkipGramConfig(window=0)
    with pytest.raises(ValueError, match="shared_negatives=4"):
        SkipGramConfig(shared_negatives=4, negatives=5)
