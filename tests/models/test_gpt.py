"""GPT in particular: initialisation, tied gradients, size."""

import pytest
import torch

from langladder.models.gpt import GPT


def test_golden_parameter_count_of_gpt2():
    """GPT-2 small has 124,439,808 parameters; built without memory."""
    with torch.device("meta"):
        model = GPT(GPT.Config(context=1024, width=768, layers=12, heads=12), 50257)
    assert sum(p.numel() for p in model.parameters()) == 124_439_808


def test_residual_writers_begin_smaller():
    torch.manual_seed(0)
    model = GPT(GPT.Config(width=128, layers=8), 50)
    block = model.blocks[0]
    assert block.expand.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert block.contract.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)  # 1/√(2·8)
    assert block.attention.output.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)


def test_gradient_of_tied_weights_is_the_sum_of_both_uses():
    torch.manual_seed(0)
    tied = GPT(GPT.Config(context=8, width=8, layers=1, heads=2), 11)
    untied = GPT(GPT.Config(context=8, width=8, layers=1, heads=2, tie_weights=False), 11)
    with torch.no_grad():
        for name, parameter in untied.named_parameters():
            parameter.copy_(tied.get_parameter(name))
    tokens = torch.randint(4, 11, (3, 9))
    for model in (tied, untied):
        model.loss(model(tokens[:, :-1])[0], tokens[:, 1:]).backward()
    torch.testing.assert_close(tied.embedding.weight.grad, untied.embedding.weight.grad + untied.head.weight.grad)
