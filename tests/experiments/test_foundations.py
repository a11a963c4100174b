"""The foundations of training: gradients and steps against closed forms, verdicts that follow the numbers."""

import math
from typing import get_args

import pytest
import torch
from pydantic import ValidationError
from torch import nn
from torch.nn import functional

from claims.foundations import (
    activations,
    approximation,
    batches,
    initialisation,
    logic,
    losses,
    normalisation,
    optimisers,
    regularisation,
)
from claims.foundations.perceptron import ACTIVATIONS, Activation, Perceptron, accuracy, learn, spirals
from langladder.tasks.optimisation import TrainingConfig
from tests.experiments.declared import comparison, findings_from

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
    result = torch.autograd.functional.jacobian(lambda z: z.softmax(dim=0), z)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(result, torch.diag(p) - torch.outer(p, p))


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
    cells = {
        name: {"steps": [steps] * 5, "learnt": [float(steps < 900)] * 5}
        for name, steps in (("squared error", squared), ("cross-entropy", cross))
    }
    assert findings_from("losses", cells).holds is holds


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
    cells = {name: {"accuracy": [0.99] * 5} for name in ("tanh", "leaky ReLU", "ELU", "GELU")}
    cells |= {"sigmoid": {"accuracy": [sigmoid] * 5}, "ReLU": {"accuracy": [1.0] * 5, "dead_high": [relu_dead] * 5}}
    assert findings_from("activations", cells, {"accuracy": 1 / 3}).holds is holds


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
    right = {"zeros": 0.33, "constant": constant, "small": 0.33, "Xavier": 1.0, "He": he}
    cells = {name: {"accuracy": [value] * 5} for name, value in right.items()}
    assert findings_from("initialisation", cells, {"accuracy": 1 / 3}).holds is holds


# ---- optimisers --------------------------------------------------------------------------------------------------


def test_every_optimiser_has_the_same_budget() -> None:
    config = comparison("optimisers").config
    assert {change["optimizer"] for change in config.changes().values()} == set(get_args(optimisers.Optimizer))
    rates = {"SGD": {"optimizer": "sgd", "rates": [0.1, 1.0]}, "Adam": {"optimizer": "adam", "rates": [0.1]}}
    with pytest.raises(ValidationError, match=r"every optimiser needs the same number.*'SGD': 2, 'Adam': 1"):
        optimisers.OptimisersConfig.model_validate(
            {"bases": ["nnlm"], "variants": rates}
            | {"expect": [{"each": ["Adam"], "is": "better", "than": "SGD", "margin": 0}]}
        )


@pytest.mark.parametrize(("adam", "holds"), [(3.0, True), (3.98, False), (5.0, False), (7.0, None)])
def test_the_optimisers_verdict_follows_the_numbers(adam: float, holds: bool | None) -> None:
    ends = {"SGD": 4.0, "momentum": 4.1, "AdaGrad": 4.0, "RMSProp": 4.0, "Adam": adam, "AdamW": adam, "Muon": 4.0}
    cells = {name: {"loss": [value + noise / 100 for noise in range(5)]} for name, value in ends.items()}
    assert findings_from("optimisers", cells, {"loss": 6.0}).holds is holds


def test_a_rate_at_which_a_run_diverges_is_the_worst() -> None:
    assert optimisers.last_loss([1.0, math.nan]) == math.inf
    assert optimisers.stretches([1.0, 3.0] * 25) == dict.fromkeys(range(1, 51, 2), 2.0)


# ---- regularisation ----------------------------------------------------------------------------------------------


def test_golden_soft_threshold() -> None:
    result = regularisation.shrunk(torch.tensor([3.0, -0.5, 0.2, -2.0]), 0.5)
    assert result.tolist() == [2.5, 0.0, 0.0, -1.5]


def test_parity_of_l1_and_l2_with_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    config = comparison("regularisation").config.model_copy(update={"features": 12, "matter": 3, "examples": 60})
    train, held_out = regularisation.made_up(config, 0)
    for penalty, ratio in (("l1", 1.0), ("l2", 0.0)):
        ours = regularisation.fitted(penalty, 0.05, train, held_out, 3000, 0)  # type: ignore[arg-type]
        theirs = LogisticRegression(
            l1_ratio=ratio, C=1 / (0.05 * 60), solver="saga", fit_intercept=False, max_iter=5000, tol=1e-7
        ).fit(train.x.numpy(), train.t.numpy())
        assert ours.w.tolist() == pytest.approx(theirs.coef_[0].tolist(), abs=2e-3)


@pytest.mark.parametrize(
    ("l1", "l2", "holds"),
    [
        ({}, {}, True),
        ({"useless": 0.2}, {}, False),  # too few zeros
        ({"ahead": 0.0}, {}, False),  # weights that matter are 0, too
        ({}, {"any": 0.1}, False),  # L2 has some
        ({}, {"loss": 3.0}, False),  # L2 does not help
    ],
)
def test_the_penalties_verdict_follows_the_numbers(l1: dict[str, float], l2: dict[str, float], holds: bool) -> None:
    ends = {"none": {"loss": 2.0}, "dropout": {"loss": 1.0}, "L2": {"loss": 1.0} | l2}
    ends["L1"] = {"loss": 1.0, "useless": 0.9, "ahead": 0.6} | l1
    cells = {name: {metric: [value] * 5 for metric, value in by.items()} for name, by in ends.items()}
    assert findings_from("regularisation", cells).holds is holds


def test_half_of_the_rows_choose_the_strength_and_the_other_half_judges() -> None:
    def fit(strength: float, zeros: int, chosen_by: float, judged_by: float) -> regularisation.Fitted:
        w = torch.ones(10)
        w[10 - zeros :] = 0.0
        return regularisation.Fitted(strength, w, 0.1, 0.0, chosen_by, judged_by)

    summary = regularisation.summary([fit(0.1, 4, 1.0, 5.0), fit(0.2, 9, 2.0, 4.0)], matter=2)
    assert (summary["loss"], summary["strength"]) == (5.0, 0.1)
    assert (summary["useless"], summary["ahead"], summary["any"]) == (0.5, 0.5, 0.9)
    assert summary["of_useful"] == {0.1: 1.0, 0.2: 0.5}
    assert regularisation.summary([fit(0.0, 0, 1.0, 5.0)], matter=2)["by_strength"] == {}


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
    sentences = normalisation.sentences(400, 30, torch.Generator().manual_seed(3))
    for words, label in zip(sentences.words.tolist(), sentences.labels.tolist(), strict=True):
        kinds = [sum(1 for w in words if low <= w < low + normalisation.KIND) for low in (1, 1 + normalisation.KIND)]
        assert label == (kinds[1] >= kinds[0]) and sum(kinds) > 0
    assert 0.35 < float(sentences.labels.double().mean()) < 0.75


@pytest.mark.parametrize(("batch", "large", "holds"), [(0.7, 0.99, True), (0.99, 0.99, False), (0.7, 0.3, None)])
def test_the_norms_verdict_follows_the_numbers(batch: float, large: float, holds: bool | None) -> None:
    small = [batch + noise / 1000 for noise in range(5)]
    cells = {
        "batch norm": {"small": small, "large": [large] * 5, "lost": [large - item for item in small]},
        "layer norm": {"small": [0.99] * 5, "large": [0.99] * 5},
    }
    assert findings_from("normalisation", cells, {"large": 1 / 3}).holds is holds


# ---- what a hidden layer is for ----------------------------------------------------------------------------------


def test_golden_truth_tables() -> None:
    """Rows in the order of binary numbers, the first input being the last digit."""
    wanted: dict[logic.Table, list[int]] = {"and": [0, 0, 0, 1], "or": [0, 1, 1, 1], "xor": [0, 1, 1, 0]}
    for name, y in wanted.items():
        rows = logic.table(name, bits=7)
        assert rows.y.tolist() == y and rows.x.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    parity = logic.table("parity", bits=5)
    assert parity.x.shape == (32, 5) and torch.equal(parity.y, parity.x.sum(dim=1).long() % 2)


def test_golden_n_threshold_units_compute_parity_and_no_line_computes_xor() -> None:
    n = 5
    rows = logic.table("parity", bits=n)
    hidden = (rows.x.sum(dim=1, keepdim=True) > torch.arange(1, n + 1) - 0.5).float()  # (2ⁿ, n)
    assert torch.equal((hidden @ torch.tensor([(-1.0) ** k for k in range(n)])).long(), rows.y)
    xor = logic.table("xor", bits=2)
    lines = torch.randn(10_000, 3, generator=torch.Generator().manual_seed(0))
    right = ((lines[:, :2] @ xor.x.T + lines[:, 2:] > 0).long() == xor.y).double().mean(dim=1)
    assert float(right.max()) == 0.75


@pytest.mark.parametrize(("line", "deep", "holds"), [(0.6, 1.0, True), (1.0, 1.0, False), (0.6, 0.7, False)])
def test_the_verdict_on_hidden_layers_follows_the_numbers(line: float, deep: float, holds: bool) -> None:
    def cells(line: float, deep: float) -> dict[str, dict[str, list[float]]]:
        right = {"no hidden layer": line, "one layer of 2": 0.7, "one layer of 16": deep, "two layers of 16": deep}
        return {name: {"accuracy": [value] * 5} for name, value in right.items()}

    hard = cells(line, deep)
    by = {"and": cells(1.0, 1.0), "or": cells(1.0, 1.0), "xor": hard, "parity": hard}
    assert findings_from("logic", by, {"accuracy": 0.5}).holds is holds


# ---- batches, approximation --------------------------------------------------------------------------------------


def test_every_point_is_read_once_in_each_pass() -> None:
    result = batches.passes_over(10, 4, seed=1)
    passes = [[next(result) for _ in range(3)] for _ in range(2)]
    assert [[len(rows) for rows in run] for run in passes] == [[4, 4, 2]] * 2
    orders = [torch.cat(run).tolist() for run in passes]
    assert [sorted(order) for order in orders] == [list(range(10))] * 2
    assert orders[0] != orders[1]


def test_every_batch_size_reads_the_same_examples_and_its_loss_is_that_of_all_points() -> None:
    config = comparison("batches").config.model_copy(update={"points": 30, "passes": 3})
    result = {rows: batches.Batches(config)._losses(rows, 0.1, 1) for rows in (30, 7, 1)}
    assert [max(item) for item in result.values()] == [3, 15, 90] and all(3 in item for item in result.values())
    points = spirals(30, arms=3, seed=1)
    torch.manual_seed(1)
    network = Perceptron([2, 32, 32, 3], "tanh")
    functional.cross_entropy(network(points.x), points.y).backward()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for parameter in network.parameters():
            assert parameter.grad is not None
            parameter.sub_(0.1 * parameter.grad)
    assert result[30][1] == pytest.approx(batches.whole(network, points), abs=1e-6), "one step of gradient descent"


def test_units_are_centred_all_over_the_interval() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(1, 500)
    approximation.spread(layer.weight, layer.bias)
    centres = (-layer.bias / layer.weight[:, 0]).detach()
    assert -2 <= float(centres.min()) < -1.9 and 1.9 < float(centres.max()) <= 2 and abs(float(centres.mean())) < 0.15
    golden = math.sin(1.5) + 0.5 * math.sin(3.5)
    assert float(approximation.target(torch.tensor(0.5))) == pytest.approx(golden, abs=1e-6)


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
