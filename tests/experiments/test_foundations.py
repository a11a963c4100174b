"""The foundations of training: gradients and steps against closed forms, verdicts that follow the numbers."""

import math

import pytest
import torch
from pydantic import ValidationError
from torch import nn
from torch.nn import functional

from langladder.experiments.foundations import (
    activations,
    initialisation,
    losses,
    normalisation,
    optimisers,
    regularisation,
)
from langladder.experiments.foundations.perceptron import ACTIVATIONS, Activation, Perceptron, accuracy, learn, spirals
from langladder.tasks.optimisation import TrainingConfig

# ---- losses ------------------------------------------------------------------------------------------------------


def test_golden_cross_entropy_and_its_gradient() -> None:
    """z = (2.5, 1.8, 0.9, −1.2, −2.0), truth 0: p, L = −log p₀, ∂L/∂z = p − y."""
    z = torch.tensor([[2.5, 1.8, 0.9, -1.2, -2.0]], dtype=torch.float64, requires_grad=True)
    p = [0.576597, 0.286329, 0.116413, 0.014256, 0.006405]
    assert z.detach().softmax(dim=1)[0].tolist() == pytest.approx(p, abs=1e-6)
    loss = losses.LOSSES["cross_entropy"](z, torch.tensor([0]))
    loss.backward()  # type: ignore[no-untyped-call]
    assert float(loss.detach()) == pytest.approx(0.550612, abs=1e-6)
    assert z.grad is not None
    assert z.grad[0].tolist() == pytest.approx([-0.423403, *p[1:]], abs=1e-6)
    assert float(z.grad.sum()) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("p", "loss"), [(0.9, 0.105361), (0.7, 0.356675), (0.58, 0.544727), (0.95, 0.051293)])
def test_golden_log_losses(p: float, loss: float) -> None:
    half = 0.5 * math.log(p / (1 - p))
    scores = torch.tensor([[half, -half]], dtype=torch.float64)
    assert float(losses.LOSSES["cross_entropy"](scores, torch.tensor([0]))) == pytest.approx(loss, abs=1e-6)


def test_golden_squared_error_keeps_the_softmaxs_jacobian() -> None:
    """Two scores, c for the wrong label: L = 2c², ∂L/∂z = ±4c · c (1 − c); cross-entropy has ±c."""
    for c in (0.5, 0.9, 0.999):
        assert losses.gradient("squared_error", c) == pytest.approx(math.sqrt(2) * 4 * c * c * (1 - c), rel=1e-9)
        assert losses.gradient("cross_entropy", c) == pytest.approx(math.sqrt(2) * c, rel=1e-9)
        assert losses.gradient("hinge", c) == pytest.approx(math.sqrt(2))


def test_golden_jacobian_of_a_softmax() -> None:
    """∂p/∂z = diag(p) − p pᵀ."""
    z = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    p = z.softmax(dim=0)
    found = torch.autograd.functional.jacobian(lambda z: z.softmax(dim=0), z)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(found, torch.diag(p) - torch.outer(p, p))


def test_parity_of_losses_with_torch() -> None:
    torch.manual_seed(0)
    z, y = torch.randn(7, 4), torch.randint(4, (7,))
    truth = functional.one_hot(y, 4).float()
    binary = functional.binary_cross_entropy_with_logits(z, truth, reduction="none").sum(dim=1).mean()
    torch.testing.assert_close(losses.binary_cross_entropy(z, y), binary)
    squared = functional.mse_loss(z.softmax(dim=1), truth, reduction="none").sum(dim=1).mean()
    torch.testing.assert_close(losses.squared_error(z, y), squared)
    hinge = functional.hinge_embedding_loss(z * (2 * truth - 1), -torch.ones_like(z), margin=1.0, reduction="none")
    torch.testing.assert_close(losses.hinge(z, y), hinge.sum(dim=1).mean())


@pytest.mark.parametrize(
    ("squared", "cross", "holds"), [(600.0, 20.0, True), (30.0, 20.0, False), (900.0, 900.0, None)]
)
def test_the_losses_verdict_follows_the_numbers(squared: float, cross: float, holds: bool | None) -> None:
    gradients = {kind: [losses.gradient(kind, c) for c in (0.5, 0.9999)] for kind in losses.TITLES}
    steps: dict[losses.Kind, dict[losses.Start, list[float]]] = {
        kind: {"first weights": [100.0] * 5, "wrong labels": [20.0] * 5} for kind in losses.TITLES
    }
    steps["squared_error"]["wrong labels"], steps["cross_entropy"]["wrong labels"] = [squared] * 5, [cross] * 5
    found = losses.findings([0.5, 0.9999], gradients, steps, most=900, margin=0.7)
    assert found.holds is holds
    assert ("> 900" in found.verdict) == (squared == 900)


# ---- activations -------------------------------------------------------------------------------------------------


def test_golden_activations() -> None:
    """σ(1.1) = 0.750260, tanh(1.3) = 0.861723, tanh(−0.51) = −0.469945, GELU(1) = Φ(1) = 0.841345."""
    at = {name: float(make()(torch.tensor(1.1, dtype=torch.float64))) for name, make in ACTIVATIONS.items()}
    assert at["sigmoid"] == pytest.approx(0.750260, abs=1e-6)
    assert at["relu"] == at["leaky_relu"] == at["elu"] == 1.1
    below = torch.tensor(-2.0, dtype=torch.float64)
    assert float(ACTIVATIONS["leaky_relu"]()(below)) == pytest.approx(-0.02)
    assert float(ACTIVATIONS["elu"]()(below)) == pytest.approx(math.exp(-2) - 1)
    tanh = ACTIVATIONS["tanh"]()(torch.tensor([1.3, -0.51], dtype=torch.float64))
    assert tanh.tolist() == pytest.approx([0.861723, -0.469945], abs=1e-6)
    assert float(ACTIVATIONS["gelu"]()(torch.ones((), dtype=torch.float64))) == pytest.approx(0.841345, abs=1e-6)


def test_golden_gelu_and_its_tanh_form() -> None:
    """½x(1 + tanh(√(2/π)(x + 0.044715x³))) is 0.841192 at 1 and 4.73e-4 off at most; the minimum is −0.169971."""
    x = torch.linspace(-5, 5, 100_001, dtype=torch.float64)
    exact, rough = functional.gelu(x), functional.gelu(x, approximate="tanh")
    assert float(functional.gelu(torch.ones((), dtype=torch.float64), approximate="tanh")) == pytest.approx(
        0.841192, abs=1e-6
    )
    assert float((exact - rough).abs().max()) == pytest.approx(4.73e-4, abs=1e-6)
    assert float(exact.min()) == pytest.approx(-0.169971, abs=1e-6)
    assert float(x[exact.argmin()]) == pytest.approx(-0.7518, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "z", "slope"),
    [
        ("sigmoid", 0.0, 0.25),
        ("tanh", 0.0, 1.0),
        ("relu", -1.0, 0.0),
        ("leaky_relu", -1.0, 0.01),
        ("elu", -1.0, 0.367879),
    ],
)
def test_golden_slopes(name: Activation, z: float, slope: float) -> None:
    assert float(activations.slope(ACTIVATIONS[name](), torch.tensor([z]))) == pytest.approx(slope, abs=1e-5)


def test_a_dead_unit_is_one_without_a_slope_anywhere() -> None:
    points = spirals(60, arms=3, seed=0)
    network = Perceptron([2, 4, 3], "relu")
    with torch.no_grad():
        weight, bias = network.linear[0].parameters()
        weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
        bias.copy_(torch.tensor([0.0, 1.0, -1.0, -2.0]))  # on for half, always on, dead, dead
    saturated, dead = activations.flatness(network, points, "relu")
    assert dead == 0.5
    off = float((points.x[:, 0] <= 0).double().mean())
    assert saturated == pytest.approx((off + 0 + 1 + 1) / 4)
    leaky = Perceptron([2, 4, 3], "leaky_relu")
    leaky.load_state_dict(network.state_dict())
    assert activations.flatness(leaky, points, "leaky_relu") == (0.0, 0.0)


@pytest.mark.parametrize(("sigmoid", "relu_dead", "holds"), [(0.33, 0.5, True), (0.95, 0.5, False), (0.33, 0.0, False)])
def test_the_activations_verdict_follows_the_numbers(sigmoid: float, relu_dead: float, holds: bool) -> None:
    found: dict[Activation, list[activations.Outcome]] = {
        "sigmoid": [activations.Outcome([1e-7, 1.0], 0.0, 0.0, 0.0, sigmoid)] * 5,
        "relu": [activations.Outcome([0.5, 1.0], 0.5, 0.1, relu_dead, 1.0)] * 5,
        "leaky_relu": [activations.Outcome([0.5, 1.0], 0.0, 0.0, 0.0, 0.99)] * 5,
    }
    assert activations.findings(found, 1 / 3, 0.05).holds is holds


def test_linear_layers_golden_collapse_into_one() -> None:
    """Without f: W′ = W₂W₁, b′ = W₂b₁ + b₂."""
    torch.manual_seed(0)
    first, second = nn.Linear(3, 5).double(), nn.Linear(5, 2).double()
    x = torch.randn(4, 3, dtype=torch.float64)
    joined = functional.linear(x, second.weight @ first.weight, second.weight @ first.bias + second.bias)
    torch.testing.assert_close(second(first(x)), joined)


# ---- first weights -----------------------------------------------------------------------------------------------


def test_golden_variances_of_first_weights() -> None:
    """Xavier 2 / (n_in + n_out), He 2 / n_in, small and large (0.1 and 4)² / n_in."""
    torch.manual_seed(0)
    variances: dict[initialisation.Start, float] = {
        "xavier": 2 / (300 + 500),
        "he": 2 / 300,
        "small": 0.01 / 300,
        "large": 16 / 300,
    }
    for start, variance in variances.items():
        weight = torch.empty(500, 300)
        initialisation.begin(weight, start)
        assert float(weight.var()) == pytest.approx(variance, rel=0.02)
        assert float(weight.mean()) == pytest.approx(0, abs=4 * math.sqrt(variance / weight.numel()))


@pytest.mark.parametrize("start", ["zeros", "constant"])
def test_equal_units_stay_equal(start: initialisation.Start) -> None:
    points = spirals(90, arms=3, seed=0)
    network = Perceptron([2, 8, 8, 3], "tanh")
    for layer in (*network.linear, network.head):
        initialisation.begin(layer.weight, start)  # type: ignore[arg-type]
    learn(network, points, functional.cross_entropy, losses.sgd(0.1, 30), rows=30, seed=0)
    assert initialisation.different_units(network.linear[1]) == 0.0
    assert initialisation.different_units(Perceptron([2, 8, 8, 3], "tanh").linear[1]) == 1.0


@pytest.mark.parametrize(("he", "constant", "holds"), [(1.0, 0.5, True), (0.5, 0.5, False), (1.0, 0.9, False)])
def test_the_first_weights_verdict_follows_the_numbers(he: float, constant: float, holds: bool) -> None:
    def outcome(right: float) -> list[initialisation.Outcome]:
        return [initialisation.Outcome([1.0, 0.5], [0.1, 0.0], 1.0, right)] * 5

    found: dict[initialisation.Kind, list[initialisation.Outcome]] = {
        ("tanh", "zeros"): outcome(0.33),
        ("tanh", "constant"): outcome(constant),
        ("tanh", "xavier"): outcome(1.0),
        ("relu", "he"): outcome(he),
    }
    assert initialisation.findings(found, 1 / 3).holds is holds


# ---- optimisers --------------------------------------------------------------------------------------------------


def test_every_optimiser_has_the_same_budget() -> None:
    rates = optimisers.OptimisersConfig().rates
    assert set(rates) == set(optimisers.TITLES)
    assert len({len(grid) for grid in rates.values()}) == 1
    with pytest.raises(ValidationError, match=r"as many for each optimiser.*'sgd': 2, 'adam': 1"):
        optimisers.OptimisersConfig(rates={"sgd": [0.1, 1.0], "adam": [0.1]})


@pytest.mark.parametrize(("adam", "holds"), [(3.0, True), (3.98, False), (5.0, False)])
def test_the_optimisers_verdict_follows_the_numbers(adam: float, holds: bool) -> None:
    def runs(value: float) -> dict[float, list[list[float]]]:
        return {0.1: [[9.0, value + noise / 100] for noise in range(5)], 1.0: [[9.0, math.nan]]}

    found: dict[optimisers.Optimizer, dict[float, list[list[float]]]] = {
        "sgd": runs(4.0),
        "momentum": runs(4.1),
        "adam": runs(adam),
        "adamw": runs(adam),
    }
    assert optimisers.findings(found, 6.0, 0.05).holds is holds
    assert optimisers.last_loss([1.0, math.nan]) == math.inf


# ---- regularisation ----------------------------------------------------------------------------------------------


def test_golden_soft_threshold() -> None:
    found = regularisation.shrunk(torch.tensor([3.0, -0.5, 0.2, -2.0]), 0.5)
    assert found.tolist() == [2.5, 0.0, 0.0, -1.5]


def test_parity_of_l1_and_l2_with_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    config = regularisation.RegularisationConfig(features=12, matter=3, examples=60)
    train, held_out = regularisation.made_up(config, 0)
    for penalty, ratio in (("l1", 1.0), ("l2", 0.0)):
        ours = regularisation.fitted(penalty, 0.05, train, held_out, 3000, 0)  # type: ignore[arg-type]
        theirs = LogisticRegression(
            l1_ratio=ratio, C=1 / (0.05 * 60), solver="saga", fit_intercept=False, max_iter=5000, tol=1e-7
        ).fit(train.x.numpy(), train.t.numpy())
        assert ours.w.tolist() == pytest.approx(theirs.coef_[0].tolist(), abs=2e-3)


def test_the_penalties_verdict_follows_the_numbers() -> None:
    def fit(held_out: float, zeros: int, judged_by: float | None = None) -> regularisation.Fitted:
        w = torch.ones(10)
        w[10 - zeros :] = 0.0
        judged = held_out if judged_by is None else judged_by
        return regularisation.Fitted(0.1, w, 0.1, held_out, held_out, judged)

    def holds(l1: regularisation.Fitted, l2: regularisation.Fitted) -> bool | None:
        found: dict[regularisation.Penalty, list[regularisation.Fitted]] = {
            "l1": [l1],
            "l2": [l2],
            "dropout": [fit(1, 0)],
        }
        return regularisation.findings([regularisation.Paths(fit(2.0, 0), found)] * 5, matter=2, margin=0.005).holds

    assert holds(fit(1.0, 6), fit(1.0, 0)) is True
    assert holds(fit(1.0, 2), fit(1.0, 0)) is False  # too few zeros
    assert holds(fit(1.0, 10), fit(1.0, 0)) is False  # weights that matter are 0, too
    assert holds(fit(1.0, 6), fit(1.0, 1)) is False  # L2 has some
    assert holds(fit(1.0, 6), fit(3.0, 0)) is False  # L2 does not help
    assert holds(fit(1.0, 6), fit(1.0, 0, judged_by=2.0)) is False  # nor on rows that did not choose


# ---- norms -------------------------------------------------------------------------------------------------------


def test_layer_norm_padding_changes_nothing_batch_norm_does() -> None:
    torch.manual_seed(0)
    words = normalisation.sentences(6, 8, torch.Generator().manual_seed(0)).words
    padded = functional.pad(words, (0, 20))
    layer, batch = normalisation.Reader("layer", 16).train(), normalisation.Reader("batch", 16).train()
    torch.testing.assert_close(layer(words), layer(padded))
    assert not torch.allclose(batch(words), batch(padded), atol=1e-2)
    batch.eval()  # the running means do not see who else is there
    torch.testing.assert_close(batch(words), batch(padded))


def test_sentences_are_labelled_by_what_is_in_them() -> None:
    found = normalisation.sentences(400, 30, torch.Generator().manual_seed(3))
    for words, label in zip(found.words.tolist(), found.labels.tolist(), strict=True):
        kinds = [sum(1 for w in words if low <= w < low + normalisation.KIND) for low in (1, 1 + normalisation.KIND)]
        assert label == (kinds[1] >= kinds[0]) and sum(kinds) > 0
    assert 0.35 < float(found.labels.double().mean()) < 0.75


@pytest.mark.parametrize(("batch", "moved", "holds"), [(0.7, 0.1, True), (0.99, 0.1, False), (0.7, 0.0, True)])
def test_the_norms_verdict_follows_the_numbers(batch: float, moved: float, holds: bool) -> None:
    by_rows: dict[normalisation.Norm, dict[int, list[float]]] = {
        "batch": {2: [batch + noise / 1000 for noise in range(5)], 128: [0.99] * 5},
        "layer": {2: [0.99] * 5, 128: [0.99] * 5},
    }
    by_length: dict[normalisation.Norm, dict[int, normalisation.Read]] = {
        "batch": {8: normalisation.Read([0.9], moved)},
        "layer": {8: normalisation.Read([0.9], 1e-8)},
    }
    assert normalisation.findings(by_rows, by_length, 1 / 3, 0.01).holds is holds


# ---- the task ----------------------------------------------------------------------------------------------------


def test_spirals_can_be_learnt_and_lines_do_not_part_them() -> None:
    points = spirals(300, arms=3, seed=1)
    assert points.x.shape == (300, 2) and points.y.bincount().tolist() == [100, 100, 100]
    torch.manual_seed(1)
    deep, line = Perceptron([2, 24, 24, 3], "relu"), Perceptron([2, 3], "relu")
    config = TrainingConfig(optimizer="adam", lr=0.01, schedule="constant", max_steps=300, clip_norm=None)
    for network in (deep, line):
        learn(network, points, functional.cross_entropy, config, rows=64, seed=0)
    assert accuracy(deep, points) > 0.95 > 0.8 > accuracy(line, points)
