"""Operations by formula against torch's counter, for every network; memory of training against closed forms."""

import math
from typing import Any, get_args

import pytest
import torch
from torch import nn

from langladder.evaluation.work import STATES, counted, counted_trial, kept_bytes, training_bytes, work_of
from langladder.models.language.gpt import GPT
from langladder.models.language.knn import KNNLM
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.nnlm import NNLM
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.network import Network
from langladder.models.trial import sentences
from langladder.nn.adaptive_softmax import AdaptiveSoftmax, TiedAdaptiveSoftmax
from langladder.nn.hierarchical_softmax import HierarchicalSoftmax
from langladder.nn.output import SoftmaxOutput
from langladder.nn.products import matrix_entries
from langladder.nn.sampled_softmax import NoiseContrastive
from langladder.tasks.optimisation import OptimizerName, TrainingConfig
from tests.gradient_check import kinds, tiny_networks

LENGTH = 6
CHOICES = ("output=", "noise=", "init=")  # of the output layer, which is looked at by itself; of first weights
MODELS: dict[str, NeuralLanguageModel] = {
    name: network
    for kind in kinds().values()
    if issubclass(kind, NeuralLanguageModel)
    for name, network in tiny_networks(kind)
    if not any(choice in name for choice in CHOICES) and isinstance(network, NeuralLanguageModel)
}
for network in MODELS.values():
    if isinstance(network, KNNLM):
        network.head.mix[0] = 0.5  # at λ = 0 the store is not read
OTHERS = {
    name: network
    for kind in kinds().values()
    if issubclass(kind, Network) and not issubclass(kind, NeuralLanguageModel)
    for name, network in tiny_networks(kind, every_choice=False)
}


@pytest.mark.parametrize("name", MODELS)
def test_parity_of_every_language_model_with_torchs_counter(name: str) -> None:
    """Hidden states and scores of all words; a new language model is found without a new test."""
    model, tokens = MODELS[name], sentences(1, LENGTH - 1, 13)[:, :-1]
    assert counted(lambda: model.head(model(tokens)[0])) == 2 * model.products(tokens.shape[1])


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_network_is_counted(name: str) -> None:
    """At least its matrices once, at most its matrices at every position and the attention between them."""
    network: Any = OTHERS[name]
    result = work_of(network, "adamw", rows=1, length=LENGTH)
    once = matrix_entries(network)
    attention = 40 * LENGTH * sum(p.shape[-1] for p in network.parameters())
    assert 2 * once / LENGTH <= result.flops <= 2 * (once + 13 * 8 + attention)
    assert result.training_bytes > 4 * 4 * network.number_of_parameters()


def test_golden_operations_of_known_networks() -> None:
    """By hand: a token meets each matrix once."""
    lstm = RecurrentLM(RecurrentLM.Config(cell="lstm", width=8, embedding_dim=6, tie_weights=False), 50)  # type: ignore[call-arg]
    assert lstm.products(1) == 4 * 8 * (6 + 8) + 50 * 8
    nnlm = NNLM(NNLM.Config(width=9, embedding_dim=5, window=3, tie_weights=False), 50)  # type: ignore[call-arg]
    assert nnlm.products(2) == 2 * (9 * 3 * 5 + 50 * 9)
    gpt = GPT(GPT.Config(width=8, layers=3, heads=2, context=16), 50)  # type: ignore[call-arg]
    # 12 D² a layer (4 for attention, 8 for the feed-forward network), 2 T² D for scores and values, V D for the scores
    assert gpt.products(10) == 10 * (3 * 12 * 64 + 50 * 8) + 3 * 2 * 100 * 8


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_golden_fused_layers_are_seen(kind: Any) -> None:
    """oneDNN's LSTM counts nothing; its plain form 2 G H (I + H) a step."""
    layer, gates = kind(8, 16, batch_first=True), {nn.RNN: 1, nn.GRU: 3, nn.LSTM: 4}[kind]
    assert counted(lambda: layer(torch.randn(2, 5, 8))) == 2 * 2 * 5 * gates * 16 * (8 + 16)
    assert matrix_entries(layer) == gates * 16 * (8 + 16)


def test_golden_attention_is_seen() -> None:
    x = torch.randn(2, 4, 5, 8)
    result = counted(lambda: nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True))
    assert result == 2 * 2 * 2 * 4 * 5 * 5 * 8


def test_golden_output_layers() -> None:
    """The full softmax V D; noise words (k + 1) D; a code's mean length; the head, and the clusters by their share."""
    V, D = 64, 16
    assert SoftmaxOutput(width=D, vocab_size=V).products() == V * D
    sampled = NoiseContrastive(width=D, vocab_size=V, samples=9)
    assert sampled.products() == 10 * D
    hidden, targets = torch.randn(3, D), torch.tensor([1, 2, 3])
    assert counted(lambda: sampled.loss(hidden, targets)) == 2 * 3 * 9 * D  # the target's is taken entry by entry
    tree = HierarchicalSoftmax(width=D, vocab_size=V)
    assert tree.products() == math.log2(V) * D  # as often each: a balanced tree
    assert counted(lambda: tree.loss(hidden, targets)) == 2 * 3 * tree.products()
    everything = torch.arange(V)
    for layer, clusters in (
        (AdaptiveSoftmax(width=D, vocab_size=V, shares=[0.25, 0.5], shrink=2), [8, 4]),
        (TiedAdaptiveSoftmax(tied=nn.Parameter(torch.randn(V, D)), shares=[0.25, 0.5]), [D, D]),
    ):
        narrow, narrower = clusters
        shrinking = 0 if narrow == D else 1
        head, tails = (16 + 2) * D, [16 * narrow + shrinking * D * narrow, 32 * narrower + shrinking * D * narrower]
        assert layer.products() == pytest.approx(head + tails[0] / 4 + tails[1] / 2)
        layer.set_counts(torch.tensor([1000] * 16 + [1] * 48))
        assert layer.products() == pytest.approx(head, rel=0.05)
        assert layer.target_log_probs(torch.randn(V, D), everything).shape == (V,)


def test_a_translators_softmax_is_counted_once() -> None:
    """The loss makes its gradients in the forward pass: they are no part of the count."""
    network: Any = OTHERS["Seq2Seq"]
    plain = counted(lambda: network(torch.full((1, LENGTH), 5), torch.full((1, LENGTH), 5)))
    assert counted_trial(network, LENGTH) == plain


def test_every_optimiser_has_a_state() -> None:
    assert set(STATES) == set(get_args(OptimizerName))


@pytest.mark.parametrize("optimizer", STATES)
def test_states_are_what_the_optimisers_keep(optimizer: Any) -> None:
    from langladder.tasks.optimisation import make_optimizer

    model = GPT(GPT.Config(width=8, layers=2, heads=2, context=16), 30)  # type: ignore[call-arg]
    rule = make_optimizer(model, TrainingConfig(optimizer=optimizer))
    model.trial_loss(1, 4).backward()  # type: ignore[no-untyped-call]
    rule.step()
    kept = sum(v.numel() for state in rule.state.values() for v in state.values() if torch.is_tensor(v) and v.dim())
    fixed = training_bytes(model, optimizer, rows=0, length=4)
    assert fixed == 4 * (2 * model.number_of_parameters() + kept)


def test_what_is_kept_grows_with_rows_and_positions() -> None:
    model = GPT(GPT.Config(width=8, layers=2, heads=2, context=16), 30)  # type: ignore[call-arg]
    short, long = kept_bytes(model, 4), kept_bytes(model, 8)
    assert 1.7 < long / short < 2.3
    fixed = training_bytes(model, "sgd", rows=0, length=8)
    assert training_bytes(model, "sgd", rows=3, length=8) - fixed == 3 * long
    assert fixed == 4 * 2 * model.number_of_parameters()


def test_counting_changes_nothing() -> None:
    model = MODELS["RecurrentLM"]
    state, training = torch.get_rng_state(), model.training
    work_of(model, "adamw", rows=4, length=LENGTH)
    assert model.training is training and torch.equal(state, torch.get_rng_state())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.backends.mkldnn.enabled


def test_of_a_frozen_network_only_the_weights_are_held() -> None:
    model = GPT(GPT.Config(width=8, layers=1, heads=2, context=16), 30).requires_grad_(False)  # type: ignore[call-arg]
    assert training_bytes(model, "adamw", rows=0, length=4) == 4 * model.number_of_parameters()
