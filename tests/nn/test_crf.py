"""The linear chain against enumeration of all paths, finite differences, pytorch-crf, and numbers worked by hand."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from langladder.ground.errors import InputError
from langladder.nn.crf import CRF, Allowed, log_partition

K, T = 3, 4


def build_crf(seed=0, tags=K, spread=1.0, forbid=False) -> CRF:
    torch.manual_seed(seed)
    crf = CRF(tags)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter, std=spread)
    if forbid:  # 0 → 2 and 1 → 1 never, 2 never first, 1 never last
        steps = np.ones((tags, tags), dtype=bool)
        steps[0, 2] = steps[1, 1] = False
        first, last = np.ones(tags, dtype=bool), np.ones(tags, dtype=bool)
        first[2] = last[1] = False
        crf.allow(Allowed(steps, first, last))
    return crf.double()


def enumerated(crf, emissions) -> dict[tuple[int, ...], float]:
    """The score of every path over (T, K); −∞ for those that are forbidden."""
    transitions, start, end = (part.detach() for part in crf.chain())
    scores = {}
    for path in itertools.product(range(emissions.shape[1]), repeat=len(emissions)):
        score = start[path[0]] + end[path[-1]] + sum(emissions[t, tag] for t, tag in enumerate(path))
        scores[path] = float(score + sum(transitions[i, j] for i, j in itertools.pairwise(path)))
    return scores


@pytest.mark.parametrize("forbid", [False, True])
@pytest.mark.parametrize("spread", [1.0, 60.0, 2000.0])  # sums of exponentials; at the border; in logarithms
def test_partition_viterbi_and_marginals_are_those_of_enumeration(forbid, spread):
    crf = build_crf(forbid=forbid, spread=min(spread, 40))
    lengths = torch.tensor([T, 1, 3])
    emissions = torch.randn(3, T, K, dtype=torch.float64) * spread
    log_z, (paths, best), p = (
        crf.log_partition(emissions, lengths),
        crf.viterbi(emissions, lengths),
        crf.marginals(emissions, lengths),
    )
    for row, length in enumerate(lengths.tolist()):
        scores = enumerated(crf, emissions[row, :length])
        total = torch.logsumexp(torch.tensor(list(scores.values()), dtype=torch.float64), 0)
        assert_close(log_z[row], total)
        likeliest = max(scores, key=scores.get)
        assert tuple(paths[row, :length].tolist()) == likeliest
        assert float(best[row]) == pytest.approx(scores[likeliest])
        array = torch.zeros(T, K, dtype=torch.float64)
        for path, score in scores.items():
            for t, tag in enumerate(path):
                array[t, tag] += math.exp(score - total)
        assert_close(p[row], array)
        gold = torch.tensor([list(likeliest) + [0] * (T - length)])
        loss = crf(emissions[row : row + 1], gold, lengths[row : row + 1])
        assert float(loss.detach()) == pytest.approx(float(total) - scores[likeliest], abs=1e-9)


@pytest.mark.parametrize("forbid", [False, True])
@pytest.mark.parametrize("spread", [1.0, 130.0])
def test_gradients_are_those_of_finite_differences(forbid, spread):
    crf = build_crf(forbid=forbid)
    lengths, tags = torch.tensor([T, 2]), torch.tensor([[0, 1, 0, 0], [1, 0, 0, 0]])
    emissions = torch.randn(2, T, K, dtype=torch.float64) * spread
    emissions.requires_grad_()

    def loss(emissions, *parameters):
        for name, value in zip(("transitions", "start", "end"), parameters, strict=True):
            del crf._parameters[name]
            crf._parameters[name] = value
        return crf(emissions, tags, lengths) * torch.tensor([1.0, 0.3])

    assert torch.autograd.gradcheck(loss, (emissions, *list(crf.parameters())), eps=1e-6, atol=1e-5)


@pytest.mark.parametrize("spread", [1.0, 130.0])
def test_kernels_and_equations_agree_with_their_gradients(spread):
    crf = build_crf(forbid=True)
    lengths = torch.tensor([T, 2, 1])
    emissions = (torch.randn(3, T, K, dtype=torch.float64) * spread).requires_grad_()
    inputs = [emissions, *crf.parameters()]
    ours, equations = (
        crf.log_partition(emissions, lengths),
        log_partition(emissions, lengths, *crf.chain()),
    )
    assert_close(ours, equations)
    for item, other in zip(
        torch.autograd.grad(ours.sum(), inputs), torch.autograd.grad(equations.sum(), inputs), strict=True
    ):
        assert_close(item, other)
        assert item.isfinite().all()


def test_parity_with_pytorch_crf():
    """Loss, its gradients, and Viterbi paths, in float32."""
    torchcrf = pytest.importorskip("torchcrf")
    torch.manual_seed(1)
    theirs, ours = torchcrf.CRF(7, batch_first=True), CRF(7)
    ours.load_state_dict(
        {"transitions": theirs.transitions, "start": theirs.start_transitions, "end": theirs.end_transitions}
    )
    lengths = torch.tensor([9, 4, 1, 6])
    mask = torch.arange(9) < lengths[:, None]
    emissions, tags = torch.randn(4, 9, 7, requires_grad=True), torch.randint(7, (4, 9))
    loss, wanted = ours(emissions, tags, lengths).sum(), -theirs(emissions, tags, mask)
    assert_close(loss, wanted)
    result = torch.autograd.grad(loss, [emissions, ours.transitions, ours.start, ours.end])
    gradients = [emissions, theirs.transitions, theirs.start_transitions, theirs.end_transitions]
    for item, other in zip(result, torch.autograd.grad(wanted, gradients), strict=True):
        assert_close(item, other, atol=1e-5, rtol=1e-4)
    paths, _ = ours.viterbi(emissions, lengths)
    assert [row[:n].tolist() for row, n in zip(paths, lengths, strict=True)] == theirs.decode(emissions, mask)


def test_golden_two_tags_by_hand():
    """Two words, tags N and V; e^scores: emissions (2, 1) and (1, 3), N→V 2, all else 1.

    Paths: NN 2·1·1 = 2, NV 2·2·3 = 12, VN 1·1·1 = 1, VV 1·1·3 = 3; Z = 18.
    """
    crf = CRF(2).double()
    with torch.no_grad():
        crf.transitions[0, 1] = math.log(2)
    emissions = torch.tensor([[[2.0, 1.0], [1.0, 3.0]]], dtype=torch.float64).log().requires_grad_()
    lengths = torch.tensor([2])
    assert crf.log_partition(emissions, lengths).item() == pytest.approx(math.log(18))
    loss = crf(emissions, torch.tensor([[0, 1]]), lengths)
    assert loss.item() == pytest.approx(-math.log(12 / 18))
    p = crf.marginals(emissions, lengths)[0]
    assert_close(p, torch.tensor([[14 / 18, 4 / 18], [3 / 18, 15 / 18]], dtype=torch.float64))
    paths, scores = crf.viterbi(emissions, lengths)
    assert paths.tolist() == [[0, 1]] and scores.item() == pytest.approx(math.log(12))
    loss.sum().backward()
    # expected counts minus those of NV
    counts = torch.tensor([[2, 12 - 18], [1, 3]], dtype=torch.float64) / 18
    assert_close(crf.transitions.grad, counts)
    assert_close(emissions.grad[0], p - torch.tensor([[1, 0], [0, 1]], dtype=torch.float64))


def test_padding_changes_nothing():
    crf = build_crf()
    lengths, tags = torch.tensor([2, 4]), torch.randint(K, (2, 4))
    emissions = torch.randn(2, 4, K, dtype=torch.float64)
    other, others = emissions.clone(), tags.clone()
    other[0, 2:], others[0, 2:] = torch.nan, 1
    assert_close(crf(emissions, tags, lengths), crf(other, others, lengths))
    assert_close(crf.marginals(emissions, lengths), crf.marginals(other, lengths))
    assert torch.equal(crf.viterbi(emissions, lengths)[0], crf.viterbi(other, lengths)[0])


def test_a_forbidden_path_has_no_probability_and_gives_no_nan():
    crf = build_crf(forbid=True)
    emissions = torch.randn(1, 2, K, dtype=torch.float64, requires_grad=True)
    loss = crf(emissions, torch.tensor([[0, 2]]), torch.tensor([2]))
    assert loss.item() == math.inf
    loss.backward()
    assert all(tensor.grad.isfinite().all() for tensor in (emissions, *crf.parameters()))
    assert crf.transitions.grad[0, 2] == 0


def test_no_allowed_path_at_all():
    crf = CRF(2).double()
    nothing = np.zeros(2, dtype=bool)
    crf.allow(Allowed(np.zeros((2, 2), dtype=bool), nothing, nothing))
    emissions, lengths = torch.zeros(1, 3, 2, dtype=torch.float64), torch.tensor([3])
    assert crf.log_partition(emissions, lengths).item() == -math.inf
    assert crf.marginals(emissions, lengths).eq(0).all()
    assert crf.viterbi(emissions, lengths)[1].item() == -math.inf


def test_same_bits_in_every_run_and_float32_close_to_float64():
    crf = build_crf(tags=9).float()
    emissions, tags, lengths = torch.randn(8, 20, 9), torch.randint(9, (8, 20)), torch.randint(1, 21, (8,))
    first, second = crf(emissions, tags, lengths), crf(emissions, tags, lengths)
    assert torch.equal(first, second) and first.dtype == torch.float32
    assert_close(first.double(), crf.double()(emissions.double(), tags, lengths), atol=1e-4, rtol=1e-5)


def test_an_empty_row_is_refused():
    crf = build_crf()
    with pytest.raises(InputError, match="0 … 2: a row must have 1 to 2 words"):
        crf(torch.zeros(2, 2, K), torch.zeros(2, 2, dtype=torch.int64), torch.tensor([2, 0]))
