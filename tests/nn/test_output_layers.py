"""Every output layer: normalised, exact where it says so, in expectation or by exhaustion where it samples."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from langladder.ground.errors import InputError
from langladder.nn.adaptive_softmax import AdaptiveSoftmax
from langladder.nn.hierarchical_softmax import HierarchicalSoftmax
from langladder.nn.output import OutputLayer, SoftmaxOutput
from langladder.nn.output_choice import OutputConfig, make_output
from langladder.nn.sampled_softmax import NoiseContrastive, SampledSoftmax

D, V = 8, 29
COUNTS = torch.from_numpy(np.random.default_rng(0).permutation(np.arange(V) ** 3))
KINDS = ["softmax", "adaptive", "tied adaptive", "hierarchical", "sampled", "nce"]
NORMALISED = ["adaptive", "tied adaptive", "hierarchical"]  # without a softmax over V
every_kind = pytest.mark.parametrize("kind", KINDS)


def build(kind: str, **settings: object) -> OutputLayer:
    torch.manual_seed(0)
    tied = {"tie_weights": True, "shrink": 1} if kind.startswith("tied") else {"shrink": 2}
    config = OutputConfig(output=kind.split()[-1], noise_samples=7, **tied, **settings)
    _, layer = make_output(config, width=D, embedding=nn.Embedding(V, D))
    layer.set_counts(COUNTS)
    return layer


def positions(count: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    return torch.randn(count, D, generator=random), torch.randint(V, (count,), generator=random)


@every_kind
def test_probabilities_sum_to_one_and_agree_with_target_log_probs(kind):
    layer, (hidden, targets) = build(kind), positions()
    log_probs = torch.log_softmax(layer(hidden.view(5, 8, D)), dim=-1).view(40, V)
    assert_close(log_probs.exp().sum(dim=1), torch.ones(40))
    if kind in NORMALISED:
        assert_close(layer(hidden).exp().sum(dim=1), torch.ones(40))
    assert_close(layer.target_log_probs(hidden, targets), log_probs.gather(1, targets[:, None])[:, 0])
    assert layer.target_log_probs(hidden[:0], targets[:0]).shape == (0,)


@pytest.mark.parametrize("kind", ["softmax", *NORMALISED])
def test_parity_of_the_exact_losses(kind):
    layer, (hidden, targets) = build(kind), positions()
    hidden.requires_grad_()
    inputs = [hidden, *layer.parameters()]
    plain = -torch.log_softmax(layer(hidden), dim=1).gather(1, targets[:, None]).sum()
    loss = layer.loss(hidden, targets)
    assert_close(loss, plain)
    for ours, theirs in zip(torch.autograd.grad(loss, inputs), torch.autograd.grad(plain, inputs), strict=True):
        assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


@every_kind
def test_gradient_reaches_every_parameter_also_under_bf16(kind):
    layer, (hidden, targets) = build(kind), positions(300)
    hidden.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        torch.manual_seed(3)
        rough = layer.loss(hidden.bfloat16(), targets)
    rough.backward()
    for parameter in (hidden, *layer.parameters()):
        assert parameter.grad.isfinite().all() and parameter.grad.abs().sum() > 0
    torch.manual_seed(3)
    assert rough.item() == pytest.approx(layer.loss(hidden, targets).item(), rel=0.02)
    assert layer.loss(hidden[:0], targets[:0]).item() == 0


def test_parity_of_adaptive_softmax_with_torch():
    """Words sorted by frequency, the same weights: the same function."""
    layer = build("adaptive", cutoffs=[0.2, 0.5])
    layer.set_counts(torch.arange(V, 0, -1))
    theirs = nn.AdaptiveLogSoftmaxWithLoss(D, V, cutoffs=layer.bounds[:-1], div_value=2.0, head_bias=True)
    with torch.no_grad():
        theirs.head.weight.copy_(layer.head.weight)
        theirs.head.bias.copy_(layer.head.bias.normal_())
        for (shrink, tail), ours, own in zip(theirs.tail, layer.shrink, layer.tails, strict=True):
            shrink.weight.copy_(ours.weight)
            tail.weight.copy_(own.weight)
    hidden, targets = positions()
    assert_close(layer(hidden), theirs.log_prob(hidden))
    assert_close(layer.loss(hidden, targets) / 40, theirs(hidden, targets).loss)


def test_adaptive_shortlist_holds_the_most_frequent_words():
    layer = build("adaptive")
    layer.refresh()
    assert (COUNTS[layer.rank < layer.bounds[0]].min() > COUNTS[layer.rank >= layer.bounds[0]].max()).item()


def test_parity_of_tied_adaptive_softmax_with_its_equation():
    """P(w | h) by hand: a softmax over the shortlist's rows of the table and the clusters, then one in the cluster."""
    layer, (hidden, _) = build("tied adaptive", cutoffs=[0.3]), positions(5)
    with torch.no_grad():
        layer.bias.normal_()
        layer.cluster_bias.normal_()
    order = torch.argsort(COUNTS.clamp(min=1), descending=True, stable=True)
    short, rest = order[: layer.bounds[0]], order[layer.bounds[0] :]
    first = hidden @ torch.cat([layer.weight[short], layer.clusters]).T
    first = torch.log_softmax(first + torch.cat([layer.bias[: len(short)], layer.cluster_bias]), dim=1)
    second = torch.log_softmax(hidden @ layer.weight[rest].T + layer.bias[len(short) :], dim=1)
    ours = layer(hidden)
    assert_close(ours[:, short], first[:, :-1])
    assert_close(ours[:, rest], first[:, -1:] + second)


def test_golden_hierarchical_path():
    """P = σ(s_1)(1 − σ(s_2))σ(s_3) on a path left, right, left: 0.125 for scores 0, 0, 0; 0.470739 for 1, −1, 2."""
    layer = HierarchicalSoftmax(width=1, vocab_size=8)
    layer.refresh()
    word = int((layer.signs == torch.tensor([1.0, -1.0, 1.0])).all(dim=1).nonzero()[0, 0])
    for scores, expected in (((0, 0, 0), 0.125), ((1, -1, 2), 0.4707390436)):
        with torch.no_grad():
            layer.weight[layer.nodes[word], 0] = torch.tensor(scores, dtype=torch.float32)
        assert layer.target_log_probs(torch.ones(1, 1), torch.tensor([word])).exp().item() == pytest.approx(expected)


@pytest.mark.parametrize("size", [2, 3, 5, 6, 8, 10])
def test_hierarchical_has_one_node_less_than_words(size):
    layer = HierarchicalSoftmax(width=3, vocab_size=size)
    assert layer.weight.shape == (size - 1, 3)
    assert_close(layer(torch.randn(4, 3)).exp().sum(dim=1), torch.ones(4))


def test_sampled_softmax_of_every_word_once_is_the_full_softmax():
    """Noise = the whole vocabulary, uniform: log k q(v) is 0, the target stands once, nothing is left out."""
    layer = build("sampled", noise="uniform")
    hidden, targets = positions()
    assert_close(layer.loss_against(hidden, targets, torch.arange(V)), SoftmaxOutput.loss(layer, hidden, targets))


@pytest.mark.parametrize("noise", ["unigram", "log_uniform", "uniform"])
def test_sampled_softmax_tends_to_the_full_softmax(noise):
    layer = build("sampled", noise=noise, noise_power=0.5)
    hidden, targets = positions()
    layer.samples = 200_000
    full = SoftmaxOutput.loss(layer, hidden, targets).item()
    assert layer.loss(hidden, targets).item() == pytest.approx(full, rel=0.01)


def test_nce_by_exhaustion():
    """The expectation over q of the noise terms, word by word, against the mean over many draws."""
    layer, (hidden, targets) = build("nce", noise_power=0.5), positions()
    layer.refresh()
    q, k = layer.log_noise.exp().double(), 50_000
    delta = layer(hidden).double() - (math.log(k) + layer.log_noise)  # (N, V)
    expected = -torch.nn.functional.logsigmoid(delta.gather(1, targets[:, None])).sum()
    expected -= k * (q * torch.nn.functional.logsigmoid(-delta)).sum()
    layer.samples = k
    assert layer.loss(hidden, targets).item() == pytest.approx(expected.item(), rel=0.01)


def test_nce_learns_a_normalised_distribution():
    """One context, known probabilities: the optimum of NCE is log P itself, normaliser 1, without a constraint."""
    torch.manual_seed(0)
    layer = NoiseContrastive(width=1, vocab_size=5, samples=400, noise="uniform")
    truth = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05])
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    targets = torch.repeat_interleave(torch.arange(5), (truth * 400).round().long())
    for _ in range(200):
        optimizer.zero_grad()
        (layer.loss(torch.ones(400, 1), targets) / 400).backward()
        optimizer.step()
    scores = layer(torch.ones(1, 1))[0]
    assert scores.exp().sum().item() == pytest.approx(1, abs=0.05)
    assert_close(torch.softmax(scores, 0), truth, atol=0.03, rtol=0)


def test_golden_noise_distributions():
    layer = SampledSoftmax(width=2, vocab_size=4, samples=1, noise="unigram", power=0.75)
    layer.set_counts(torch.tensor([0, 16, 1, 81]))  # a word never seen counts once
    layer.refresh()
    assert_close(layer.log_noise.exp(), torch.tensor([1.0, 8.0, 1.0, 27.0]) / 37)
    zipf = SampledSoftmax(width=2, vocab_size=4, samples=1, noise="log_uniform")
    zipf.set_counts(torch.tensor([5, 16, 2, 81]))
    zipf.refresh()
    share = [math.log((r + 2) / (r + 1)) / math.log(5) for r in (2, 1, 3, 0)]
    assert_close(zipf.log_noise.exp(), torch.tensor(share))


@pytest.mark.parametrize("kind", KINDS[1:])
def test_counts_are_saved_and_loaded_roundtrip(kind):
    layer, fresh, (hidden, _) = build(kind), build(kind), positions()
    fresh.set_counts(torch.ones(V, dtype=torch.int64))
    fresh(hidden)  # derived once from other counts
    fresh.load_state_dict(layer.state_dict())
    assert torch.equal(layer(hidden), fresh(hidden))
    assert set(layer.state_dict()) == {"counts", *(name for name, _ in layer.named_parameters())}


@pytest.mark.parametrize("kind", KINDS[1:])
def test_label_smoothing_is_refused(kind):
    with pytest.raises(InputError, match=r"label_smoothing=0\.1"):
        build(kind).loss(*positions(), 0.1)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="output=hierarchical"):
        OutputConfig(output="hierarchical", tie_weights=True)
    with pytest.raises(ValueError, match="set shrink to 1"):
        OutputConfig(output="adaptive", tie_weights=True)
    for wrong in ([0.5, 0.2], [0.0], [1.0], [0.2, 0.2]):
        with pytest.raises(ValueError, match="rising shares"):
            OutputConfig(cutoffs=wrong)


def test_tied_weights_are_bridged_to_the_embedding():
    embedding = nn.Embedding(V, D)
    bridge, layer = make_output(OutputConfig(tie_weights=True), width=D + 3, embedding=embedding)
    assert layer.weight is embedding.weight and bridge(torch.zeros(2, D + 3)).shape == (2, D)
    tied = make_output(OutputConfig(output="adaptive", tie_weights=True, shrink=1), width=D, embedding=embedding)[1]
    assert tied.weight is embedding.weight
    assert isinstance(AdaptiveSoftmax(width=4, vocab_size=3, shares=[0.1, 0.4]).bounds, list)
