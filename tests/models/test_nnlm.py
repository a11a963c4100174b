"""NNLM: the worked example with its right values, the window's edges, pooling."""

import pytest
import torch
from torch.testing import assert_close

from langladder.models.language.nnlm import NNLM
from langladder.text.tokenize.specials import BOS, EOS, PAD


def build(vocab_size: int = 20, **settings: object) -> NNLM:
    torch.manual_seed(0)
    return NNLM(NNLM.Config(**({"window": 3, "embedding_dim": 4, "width": 5} | settings)), vocab_size)


def worked_example() -> NNLM:
    """n − 1 = 2, m = 3, h = 2: a … the as words 4 … 9, C(word k) = [.1, .2, .3] + .3 k, H = [[.1 … .6], [.7 … 1.2]]."""
    model = build(10, window=2, embedding_dim=3, width=2, direct=True).eval()
    with torch.no_grad():
        model.embedding.weight[4:] = torch.tensor([0.1, 0.2, 0.3]) + 0.3 * torch.arange(6)[:, None]
        model.hidden.weight.copy_(torch.arange(1, 13).view(2, 6) / 10)
        model.hidden.bias.copy_(torch.tensor([0.1, 0.2]))
    return model


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((4, 5), [0.7657620182, 0.9826741124]),  # a cat
        ((5, 8), [0.9876370782, 0.9999891012]),  # cat sat
        ((8, 7), [0.9896630939, 0.9999989501]),  # sat on
        ((7, 4), [0.8004990218, 0.9983178697]),  # on a
    ],
)
def test_golden_forward_pass(words, expected):
    model = worked_example()
    hidden, state = model(torch.tensor([words]))
    assert_close(hidden[0, 1, :2], torch.tensor(expected))
    first, second = model.embedding.weight[list(words)]
    assert_close(hidden[0, 1, 2:], torch.cat([first, second]))  # the direct path's x
    assert state[0].tolist() == [[words[1]]]


def test_golden_softmax_and_its_gradient():
    """Scores [.5, .2, .9, −1.2, .1, .8] of a, cat, mat, on, sat, the; the target is sat."""
    model = build(6, window=1, embedding_dim=1, width=1)
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.copy_(torch.tensor([0.5, 0.2, 0.9, -1.2, 0.1, 0.8]))
    right = [0.183975536, 0.1362924292, 0.2744592483, 0.0336092992, 0.1233224897, 0.2483409976]
    assert_close(torch.softmax(model.head(torch.zeros(1, 1)), dim=1)[0], torch.tensor(right))
    loss = model.head.loss(torch.zeros(1, 1), torch.tensor([4]))
    loss.backward()
    assert loss.item() == pytest.approx(2.0929524870)
    assert_close(model.head.bias.grad, torch.tensor(right) - torch.eye(6)[4])


@pytest.mark.parametrize(("direct", "expected"), [(True, 86), (False, 50)])
def test_golden_parameters_of_the_worked_example(direct, expected):
    assert build(6, window=2, embedding_dim=3, width=2, direct=direct).number_of_parameters() == expected


@pytest.mark.parametrize(("window", "expected"), [(5, 1_482_128), (3, 1_405_328)])
def test_golden_parameters_of_the_windows(window, expected):
    """Five, or three, embeddings of 300 → 128 → 10,000 words; the frozen table not counted."""
    with torch.device("meta"):
        model = build(10_000, window=window, embedding_dim=300, width=128)
    assert model.number_of_parameters() - 3_000_000 == expected


@pytest.mark.parametrize("combine", ["concat", "mean", "sum"])
def test_window_ends_at_the_line_and_after_n_words(combine):
    model = build(combine=combine).eval()
    long = torch.tensor([[BOS, 5, 6, 7, 8, EOS, BOS, 9, 5, EOS]])
    scores = model.log_probs(long)
    other_line = torch.tensor([[BOS, 9, 5, EOS]])
    assert_close(scores[0, 7:], model.log_probs(other_line)[0, 1:])  # as if the first line were not there
    changed = long.clone()
    changed[0, 1] = 11
    again = model.log_probs(changed)
    assert (again[0, 1:5] != scores[0, 1:5]).all()  # in the window of three words
    assert torch.equal(again[0, 5:], scores[0, 5:])


def test_missing_words_are_zeros_and_no_part_of_a_mean():
    embedded = build(combine="mean", window=4)
    alone, state = embedded(torch.tensor([[BOS]]))
    twice, _ = embedded(torch.tensor([[PAD, PAD, BOS]]))
    assert_close(alone[0, 0], twice[0, 2])
    assert_close(alone[0, 0], torch.tanh(embedded.hidden(embedded.embedding.weight[BOS])))
    assert state[0].tolist() == [[PAD, PAD, BOS]]


def test_pooling_forgets_the_order_and_concatenation_does_not():
    """I like deep learning but I hate exams / I hate deep learning but I like exams: the same words."""
    first, second = ([BOS, 5, 6, 7, 8, 9, 5, 10, 11], [BOS, 5, 10, 7, 8, 9, 5, 6, 11])
    for combine, same in (("mean", True), ("sum", True), ("concat", False)):
        model = build(combine=combine, window=9).eval()
        ends = [model.next_log_probs(torch.tensor([tokens])) for tokens in (first, second)]
        assert torch.allclose(*ends, atol=1e-6) is same


def test_gradient_of_a_word_that_stands_twice_adds_up():
    model = build(window=3, dropout=0.0)
    hidden, _ = model(torch.tensor([[7, 7, 7]]))
    hidden[0, 2].sum().backward()
    once = build(window=3)
    parts = once.embedding.weight[7].detach().repeat(3).requires_grad_()
    torch.tanh(once.hidden(parts)).sum().backward()
    assert_close(model.embedding.weight.grad[7], parts.grad.view(3, 4).sum(dim=0))


def test_settings_are_checked():
    with pytest.raises(ValueError, match="direct=true"):
        build(tie_weights=True, direct=True)
    with pytest.raises(ValueError, match="output=adaptive"):
        build(tie_weights=True, output="adaptive")
