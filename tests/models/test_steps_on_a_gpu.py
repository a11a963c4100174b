"""A training step of GPT, BERT and Transformer as a GPU computes it, on a machine without one.

Where a network is on no processor, no shape may depend on what a tensor holds: torch's `meta` device has shapes and no
numbers, so whatever asks for one fails there, and `torch.compile` of a whole step fails where its graph would end.
What that step computes is compared with the processor's own step, by letting a processor take the other one's path.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.models.encoders.encoder import Masked
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.nn import packing
from langladder.nn.output import SoftmaxOutput, TextOutput
from langladder.tasks.optimisation import TrainingConfig, clip_update, make_optimizer
from langladder.text.tokenize.specials import BOS, EOS, PAD

V = 50
SIZES = {"width": 16, "heads": 2, "layers": 2}
TOKENS = torch.tensor([[BOS, 10, 11, 12, EOS, BOS, 13], [BOS, 20, 21, EOS, PAD, PAD, PAD]])

Step = Callable[[str], torch.Tensor]
"""The loss of a batch on a device."""


def gpt() -> tuple[torch.nn.Module, Step]:
    model = GPT(GPTConfig(**SIZES, context=8, dropout=0.1), V)

    def step(device: str) -> torch.Tensor:
        tokens = TOKENS.to(device)
        return model.loss(model(tokens[:, :-1])[0], tokens[:, 1:], 0.1)

    return model, step


def bert() -> tuple[torch.nn.Module, Step]:
    model = BERT(BERTConfig(**SIZES, context=8, dropout=0.1, next_sentence=True), V)
    positions, words = torch.tensor([1, 3, 8]), torch.tensor([10, 12, 20])
    parts = [TOKENS, torch.zeros_like(TOKENS), positions, words, torch.tensor([0, 1])]

    def step(device: str) -> torch.Tensor:
        words, pairs = model.losses(Masked(*(part.to(device) for part in parts)))
        assert pairs is not None
        return words + pairs

    return model, step


def transformer() -> tuple[torch.nn.Module, Step]:
    model = Transformer(TransformerConfig(**SIZES, dropout=0.1), V, V)

    def step(device: str) -> torch.Tensor:
        return model.loss(TOKENS[:, 1:].to(device), TOKENS.flip(0).to(device), 0.1)

    return model, step


MAKERS = pytest.mark.parametrize("make", [gpt, bert, transformer])


def without_dropout(model: torch.nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


@MAKERS
def test_no_shape_depends_on_the_data(make: Any) -> None:
    with torch.device("meta"):
        model, step = make()
        config = TrainingConfig(lr=0.1)
        optimizer = make_optimizer(model, config)
        step("meta").backward()
        clip_update(model, optimizer, 1.0)
        assert all(parameter.grad is not None for parameter in model.parameters())


@MAKERS
def test_a_selection_would_be_found(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "fixed_shapes", lambda *_: False)
    with torch.device("meta"), pytest.raises((NotImplementedError, RuntimeError)):
        make()[1]("meta")


@pytest.mark.long
@MAKERS
def test_a_step_is_one_graph(make: Any) -> None:
    with torch.device("meta"):
        model, step = make()
        without_dropout(model)
        compiled = torch.compile(lambda: step("meta"), fullgraph=True, backend="eager")
        assert compiled().shape == ()


@MAKERS
def test_a_gpu_step_equals_a_cpu_step(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model, step = make()
    without_dropout(model)
    result = []
    for on_gpu in (False, True):
        monkeypatch.setattr(packing, "fixed_shapes", lambda *_, on_gpu=on_gpu: on_gpu)
        model.zero_grad()
        loss = step("cpu")
        loss.backward()
        result.append([loss.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for plain, other in zip(*result, strict=True):
        torch.testing.assert_close(other, plain, rtol=1e-4, atol=1e-6)


def test_excluded_words_are_left_out_on_a_gpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer = TextOutput(width=8, vocab_size=10, unsaid=3)
    hidden, targets = torch.randn(6, 8), torch.arange(6)
    plain = layer.loss(hidden, targets, 0.1)
    monkeypatch.setattr(packing, "fixed_shapes", lambda *_: True)
    torch.testing.assert_close(layer.loss(hidden, targets, 0.1), plain)


class Counted(TorchDispatchMode):
    """Counts the operations."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[str(function)] += 1
        return function(*args, **(kwargs or {}))


def test_the_loss_is_one_product_whatever_the_vocabulary() -> None:
    """In slices, as on a processor, 16 · 1,024 tokens and 50,257 words are 25 of them."""
    with torch.device("meta"):
        layer = SoftmaxOutput(width=32, vocab_size=50257)
        hidden = torch.empty(16 * 1024, 32, requires_grad=True)
        with Counted() as counted:
            layer.loss(hidden, torch.empty(16 * 1024, dtype=torch.long)).backward()
    products = sum(number for name, number in counted.counts.items() if "mm" in name)
    assert products == 3, counted.counts  # z = W h; ∂L/∂W; ∂L/∂h


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("words", [50, 64])
def test_a_product_has_a_multiple_of_64_words(words: int, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that are added change neither the loss nor a gradient, and are no weights."""
    shapes = []

    class Shapes(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            if "mm" in str(function):
                shapes.append(tuple(result.shape))
            return result

    torch.manual_seed(0)
    layer = SoftmaxOutput(width=8, vocab_size=words, bias=bias)
    hidden, targets = torch.randn(6, 8, requires_grad=True), torch.arange(6)
    inputs = [hidden, *layer.parameters()]
    plain = layer.loss(hidden, targets, 0.1)
    wanted = torch.autograd.grad(plain, inputs)
    monkeypatch.setattr(packing, "fixed_shapes", lambda *_: True)
    with Shapes():
        loss = layer.loss(hidden, targets, 0.1)
    assert shapes == [(6, 64)]
    torch.testing.assert_close([loss, *torch.autograd.grad(loss, inputs)], [plain, *wanted])
    assert layer.weight.shape == (words, 8)
