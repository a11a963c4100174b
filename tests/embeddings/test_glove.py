"""GloVe: worked figures, gradients, the kernel against plain NumPy and autograd, the order of the pairs, learning."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix, random_array

from langladder.counts.cooccurrence import CooccurrenceConfig, count_cooccurrence
from langladder.embeddings import glove
from langladder.embeddings.glove import GloVe, cost, initial_parameters, train_epoch, training_pairs
from langladder.ground.errors import InputError
from langladder.kernels import glove as kernels
from langladder.kernels.glove import Pairs, Parameters
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

LINES = ["I like deep learning", "I like NLP", "I enjoy learning"]
WORDS = ["I", "like", "deep", "learning", "NLP", "enjoy"]


def worked_counts() -> csr_matrix:
    rows = [[WORDS.index(word) for word in line.split()] for line in LINES]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    ids = np.array([word for row in rows for word in row], dtype=np.int32)
    return count_cooccurrence(ids, offsets, len(WORDS), CooccurrenceConfig(window=1))


def random_counts(size: int = 40, seed: int = 0) -> csr_matrix:
    table: Any = random_array((size, size), density=0.3, rng=np.random.default_rng(seed), format="csr")
    table.data = np.ceil(table.data**-1.0)  # 1 … large
    return csr_matrix(table)


def random_parameters(size: int, dim: int, seed: int = 0, *, biases: bool = True) -> Parameters:
    parameters = initial_parameters(size, dim, biases=biases, seed=seed)
    for array in parameters[: 4 if biases else 2]:
        array[:, 0] *= dim
    return parameters


def objective(w: Any, c: Any, b: Any, d: Any, pairs: Pairs) -> Any:
    """J by the equation: words w (V, D), contexts c (V, D), their biases b (V,) and d (V,) → scalar.

    Arrays or tensors of torch, which differentiates it.
    """
    rows, columns = pairs.rows, pairs.columns
    # Σ_ij f(X_ij) (w_i · w̃_j + b_i + b̃_j − log X_ij)²
    error = (w[rows] * c[columns]).sum(-1) + b[rows] + d[columns] - pairs.logs
    total: Any = (pairs.weights * error**2).sum()
    return total


def of_tensors(values: list[torch.Tensor], pairs: Pairs) -> Any:
    """J in float64, for any of the pairs."""
    rows, columns, *numbers = (torch.from_numpy(array) for array in pairs)
    return objective(*values, Pairs(rows.long(), columns.long(), *(array.double() for array in numbers)))


def test_worked_counts_golden() -> None:
    counts = worked_counts()
    expected = [[0, 2, 0, 0, 0, 1], [2, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 0, 0]]
    assert counts.toarray().tolist() == [*expected, [1, 0, 0, 1, 0, 0]]
    assert counts.sum() == 14 and counts.nnz == 12


def test_weight_golden() -> None:
    xs = [0, 1, 2, 10, 50, 99, 100, 101]
    expected = [0, 0.0316227766, 0.0531829590, 0.1778279410, 0.5946035576, 0.9924905857, 1, 1]
    assert [kernels.weight(float(x), 100.0, 0.75) for x in xs] == pytest.approx(expected, abs=1e-10)


def test_cost_of_zero_parameters_golden() -> None:
    parameters = initial_parameters(6, 3, biases=True, seed=0)
    for array in parameters:
        array[:, 0] = 0
    pairs = training_pairs(worked_counts(), x_max=100, alpha=0.75, seed=0)
    assert cost(parameters, pairs) == pytest.approx(0.0511038259, rel=1e-6)  # 2 f(2) (ln 2)²


def one_pair(x: float, w: list[float], c: list[float], b: float, d: float) -> tuple[Parameters, Pairs]:
    parameters = initial_parameters(2, len(w), biases=True, seed=0)
    parameters.words[0, 0, : len(w)], parameters.contexts[1, 0, : len(c)] = w, c
    parameters.word_biases[0, 0], parameters.context_biases[1, 0] = b, d
    return parameters, training_pairs(csr_matrix(np.array([[0.0, x], [0.0, 0.0]])), x_max=100, alpha=0.75, seed=0)


def test_single_step_golden() -> None:
    """AdaGrad's sums start at 1, so the first step is η · ½ ∂J: half of the gradients of J without its ½."""
    parameters, pairs = one_pair(2, [0.1, 0.2], [0.3, 0.4], 0.05, -0.05)
    before = [array.copy() for array in parameters]
    assert cost(parameters, pairs) == pytest.approx(0.0180854308, rel=1e-6)
    assert train_epoch(parameters, pairs, learning_rate=0.05, biases=True) == pytest.approx(0.0180854308 / 2, rel=1e-6)
    moved = [(old - new)[:, 0] / 0.05 * 2 for old, new in zip(before, parameters, strict=True)]
    assert moved[0][0, :2] == pytest.approx(np.array([-0.0186080955, -0.0248107941]), abs=2e-6)
    assert moved[1][1, :2] == pytest.approx(np.array([-0.0062026985, -0.0124053970]), abs=2e-6)
    assert [moved[2][0], moved[3][1]] == pytest.approx([-0.0620269852] * 2, abs=2e-6)
    assert not moved[0][1].any() and not moved[1][0].any()  # nothing else moves
    assert parameters.word_biases[0, 1] == pytest.approx(1 + (0.05 * 0.0620269852 / 2) ** 2, abs=1e-7)


def test_one_term_without_biases_golden() -> None:
    parameters, pairs = one_pair(10, [1.0, 1.0], [1.0, 1.0], 0.0, 0.0)
    assert cost(parameters, pairs) == pytest.approx(0.01628152, abs=1e-8)


def test_cost_without_weights_is_a_factorisation_golden() -> None:
    """α = 0 makes f = 1: Σ (w · w̃ − log X)² = ‖W W̃ᵀ − log X‖², where every pair was seen."""
    table = np.arange(1.0, 17).reshape(4, 4)
    parameters = random_parameters(4, 3, biases=False)
    pairs = training_pairs(csr_matrix(table), x_max=100, alpha=0, seed=0)
    expected = np.linalg.norm(parameters.words[:, 0] @ parameters.contexts[:, 0].T - np.log(table)) ** 2
    assert cost(parameters, pairs) == pytest.approx(expected, rel=1e-5)


def test_gradient_of_the_cost_by_differences() -> None:
    pairs = training_pairs(random_counts(6), x_max=10, alpha=0.75, seed=0)
    start = [torch.from_numpy(array[:, 0].copy()).double() for array in random_parameters(6, 3)]
    assert torch.autograd.gradcheck(
        lambda *values: of_tensors(list(values), pairs), [x.requires_grad_() for x in start]
    )


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("dim", [1, 7, 100])
def test_kernel_parity_with_autograd(biases: bool, dim: int) -> None:
    """Two epochs pair by pair: the gradient from autograd on ½ J, AdaGrad as in the C program in plain NumPy."""
    pairs = training_pairs(random_counts(12), x_max=10, alpha=0.75, seed=3)
    parameters = random_parameters(12, dim, biases=biases)
    values = [torch.from_numpy(array[:, 0].copy()).double().requires_grad_() for array in parameters]
    squares = [torch.ones_like(value) for value in values]
    for _ in range(2):
        total = 0.0
        for pair in range(len(pairs.rows)):
            part = slice(pair, pair + 1)
            half = of_tensors(values, Pairs(*(array[part] for array in pairs))) / 2
            total += float(half.detach())
            gradients = torch.autograd.grad(half, values)
            with torch.no_grad():
                for value, square, gradient in list(zip(values, squares, gradients, strict=True))[: 4 if biases else 2]:
                    value -= 0.05 * gradient / square.sqrt()
                    square += (0.05 * gradient) ** 2
        mean = train_epoch(parameters, pairs, learning_rate=0.05, biases=biases)
        assert mean == pytest.approx(total / len(pairs.rows), rel=1e-4)
    for array, value, square in zip(parameters, values, squares, strict=True):
        np.testing.assert_allclose(array[:, 0], value.detach().numpy(), rtol=2e-3, atol=2e-5)
        np.testing.assert_allclose(array[:, 1], square.numpy(), rtol=2e-3)


def test_order_has_each_pair_once_and_follows_the_seed() -> None:
    counts = random_counts(600)
    item, same, other = (training_pairs(counts, x_max=100, alpha=0.75, seed=seed) for seed in (1, 1, 2))
    for pairs in (item, other):
        order = np.lexsort((pairs.columns, pairs.rows))
        coordinates = counts.tocoo()
        assert np.array_equal(pairs.rows[order], coordinates.row)
        assert np.array_equal(pairs.columns[order], coordinates.col)
        np.testing.assert_allclose(pairs.logs[order], np.log(coordinates.data), rtol=1e-6, atol=1e-7)
    assert np.array_equal(item.rows, same.rows) and not np.array_equal(item.rows, other.rows)
    part = item.rows[: len(item.rows) // 8]  # the first rounds: a fair sample of all rows
    assert abs(part.mean() / item.rows.mean() - 1) < 0.05 and len(np.unique(part)) > 590


def clusters(seed: int = 0) -> WordCorpus:
    """Two topics: words 0 … 9 co-occur, and so do words 10 … 19."""
    rng = np.random.default_rng(seed)
    lines = [rng.integers(0, 10, 15) + 10 * rng.integers(0, 2) for _ in range(400)]
    ids = np.concatenate(lines).astype(np.int32)
    words = [f"w{number}" for number in range(20)]
    return WordCorpus(TokenStream(ids, np.arange(0, len(ids) + 1, 15)), Vocabulary(words, np.bincount(ids)))


@pytest.mark.parametrize("settings", [{}, {"biases": False}, {"vectors": "word"}, {"threads": 2}])
def test_cost_falls_and_topics_part(settings: dict[str, Any]) -> None:
    config = GloVe.Config(dim=8, epochs=40, x_max=10.0, **settings)
    fitted = GloVe(config).make(clusters(), seed=1, progress=str)
    costs = [row["train_loss"] for row in fitted.curve]
    assert costs[-1] < 0.2 * costs[0] and costs[10] < costs[1]
    table = fitted.vectors.unit @ fitted.vectors.unit.T
    topic = np.arange(20) // 10
    same = topic[:, None] == topic
    assert table[same & ~np.eye(20, dtype=bool)].mean() > table[~same].mean() + 0.2


def test_same_seed_same_bytes() -> None:
    config = GloVe.Config(dim=8, epochs=3)
    item, same, other = (GloVe(config).make(clusters(), seed=seed, progress=str).vectors.matrix for seed in (1, 1, 2))
    assert item.tobytes() == same.tobytes() and item.tobytes() != other.tobytes()


def test_vectors_are_words_or_sums() -> None:
    summed, words = (
        GloVe(GloVe.Config(dim=4, epochs=1, vectors=kind)).make(clusters(), seed=1, progress=str).vectors.matrix
        for kind in ("sum", "word")
    )
    start = initial_parameters(20, 4, biases=True, seed=1)
    assert words.shape == summed.shape and not np.array_equal(words, summed)
    assert np.abs(words - start.words[:, 0, :4]).max() < 1


def test_text_without_pairs_is_refused() -> None:
    corpus = WordCorpus(TokenStream(np.arange(3, dtype=np.int32), np.arange(4)), Vocabulary(list("abc"), np.ones(3)))
    with pytest.raises(InputError, match="two words"):
        GloVe(GloVe.Config(dim=2)).make(corpus, seed=1, progress=str)
    assert glove.ROUNDS >= 1
