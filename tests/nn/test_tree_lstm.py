"""Tree-LSTMs: three nodes by hand, heights against a loop over nodes, chains against nn.LSTM, the order of children."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from langladder.nn.tree_lstm import Children, ChildSumCell, Forest, NaryCell, TreeCell, compile_tree, join, read_forest
from langladder.text.labelled.labelled import Tree, parse_tree, tree_of_heads

CELLS: dict[str, Callable[[], TreeCell]] = {
    "child-sum": lambda: ChildSumCell(input_width=3, width=4),
    "n-ary": lambda: NaryCell(input_width=3, width=4, max_children=3),
    "n-ary, notes": lambda: NaryCell(input_width=3, width=4, max_children=3, variant="notes"),
}
every_cell = pytest.mark.parametrize("name", CELLS)
# sat ← cat ← {the, on ← mat ← the}
THE_NOTES = tree_of_heads(["the", "cat", "on", "the", "mat", "sat"], [2, 6, 2, 5, 3, 0])
TREES = [
    parse_tree("(3 (2 the) (4 (3 good) (2 film)))"),
    parse_tree("(1 alone)"),
    THE_NOTES,
    parse_tree("(1 (2 (0 a) (1 (1 (0 b) (0 c)) (0 d))) (0 e) (2 (1 f) (1 g)))"),
    parse_tree("((((a) (b)) (c)) (d))"),
]
LABELS = {str(number): number for number in range(5)}


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def build_cell(name: str) -> TreeCell:
    torch.manual_seed(0)
    cell = CELLS[name]()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return cell


def forest(trees: list[Tree]) -> Forest:
    return join([compile_tree(tree, LABELS) for tree in trees])


def words(trees: list[Tree]) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    return [torch.randn(len(tree.words), 3, generator=random, requires_grad=True) for tree in trees]


def by_height(cell: TreeCell, trees: list[Tree], x: list[torch.Tensor]) -> list[torch.Tensor]:
    """h of the nodes of each tree, in its own order."""
    joined = forest(trees)
    rows = torch.stack([x[tree][index] for tree, index in joined.word.tolist()])
    h, _ = read_forest(cell, rows, joined)
    result = []
    for number in range(len(trees)):
        own = (joined.tree == number).nonzero()[:, 0]
        result.append(h[own[joined.position[own].argsort()]])
    return result


def products(cell: TreeCell) -> tuple[Callable[[torch.Tensor], torch.Tensor], ...]:
    """The cell's products as torch differentiates them, each by itself."""
    assert isinstance(cell, ChildSumCell | NaryCell)
    paper = isinstance(cell, NaryCell) and cell.variant == "paper"
    others = () if paper else (cell.U_f,) if isinstance(cell, ChildSumCell) else cell.U_f.unbind()
    return tuple(partial(linear, weight=weight) for weight in (cell.U, *others))


def by_recursion(cell: TreeCell, tree: Tree, x: torch.Tensor) -> torch.Tensor:
    """h of its nodes (n, H), one node after the other."""
    states: list[tuple[torch.Tensor, torch.Tensor]] = []
    for node, below in enumerate(tree.children):
        word = x[tree.word[node]][None] if tree.word[node] >= 0 else None
        if below:
            driven = cell.b[None] if word is None else cell.drive(word)
            h, c = (torch.cat([states[child][part] for child in below]) for part in (0, 1))
            parent, order = torch.zeros(len(below), dtype=torch.long), torch.arange(len(below))
            states.append(cell.join(driven, Children(h, c, parent, order), products(cell)))
        else:
            states.append(cell.leaf(word, 1))
    return torch.cat([h for h, _ in states])


@every_cell
def test_parity_of_heights_with_a_loop_over_nodes(name: str) -> None:
    cell, x = build_cell(name), words(TREES)
    batched = by_height(cell, TREES, x)
    single = [by_recursion(cell, tree, rows) for tree, rows in zip(TREES, x, strict=True)]
    weights = [torch.randn_like(h) for h in single]
    grads = []
    for result in (batched, single):
        loss = sum((h * g).sum() for h, g in zip(result, weights, strict=True))
        assert isinstance(loss, torch.Tensor)
        grads.append(torch.autograd.grad(loss, [*x, *cell.parameters()]))
    for a, b in zip((*batched, *grads[0]), (*single, *grads[1]), strict=True):
        torch.testing.assert_close(a, b)


def test_golden_three_nodes_by_hand() -> None:
    """Child-sum, D = H = 1: root with x = .5 over leaves with 1 and −1; all W = .4, all U = .3, b = .1, b_f = 1.1."""
    cell = ChildSumCell(input_width=1, width=1)
    for parameter, value in ((cell.W, 0.4), (cell.U, 0.3), (cell.U_f, 0.3)):
        nn.init.constant_(parameter, value)
    with torch.no_grad():
        cell.b.copy_(torch.tensor([0.1, 0.1, 0.1, 1.1]))
    leaves = []
    for x in (1.0, -1.0):
        a = 0.4 * x + 0.1
        c = sigmoid(a) * math.tanh(a)
        leaves.append((sigmoid(a) * math.tanh(c), c))
    a = 0.4 * 0.5 + 0.1 + 0.3 * (leaves[0][0] + leaves[1][0])
    forget = [sigmoid(0.4 * 0.5 + 1.1 + 0.3 * h) for h, _ in leaves]
    c = sigmoid(a) * math.tanh(a) + sum(f * child for f, (_, child) in zip(forget, leaves, strict=True))
    h = sigmoid(a) * math.tanh(c)
    tree = tree_of_heads(["root", "left", "right"], [0, 1, 1])
    (result,) = by_height(cell, [tree], [torch.tensor([[0.5], [1.0], [-1.0]])])
    assert result[-1].item() == pytest.approx(h, abs=1e-6)
    assert h == pytest.approx(0.180906, abs=1e-6)


def test_golden_three_nodes_n_ary() -> None:
    """Paper's form: i = σ(b + U_1 h_1 + U_2 h_2), f_k reads both children; the notes' form: each f its own child."""
    for variant in ("paper", "notes"):
        cell = NaryCell(input_width=1, width=1, variant="paper" if variant == "paper" else "notes")
        with torch.no_grad():
            nn.init.constant_(cell.W, 0.4)
            cell.b.zero_()
            if variant == "paper":
                cell.U.copy_(torch.tensor([[0.1, 0.2], [0.1, 0.2], [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
            else:
                nn.init.constant_(cell.U, 0.2)
                cell.U_f.copy_(torch.tensor([[[0.3]], [[0.6]]]))  # type: ignore[operator]
        leaf = [sigmoid(0.4 * x) * math.tanh(0.4 * x) for x in (1.0, -0.5)]
        h = [sigmoid(0.4 * x) * math.tanh(c) for x, c in zip((1.0, -0.5), leaf, strict=True)]
        if variant == "paper":
            a, f = 0.1 * h[0] + 0.2 * h[1], [0.3 * h[0] + 0.4 * h[1], 0.5 * h[0] + 0.6 * h[1]]
        else:
            a, f = 0.2 * (h[0] + h[1]), [0.3 * h[0], 0.6 * h[1]]
        c = sigmoid(a) * math.tanh(a) + sum(sigmoid(g) * child for g, child in zip(f, leaf, strict=True))
        (result,) = by_height(cell, [parse_tree("((a) (b))")], [torch.tensor([[1.0], [-0.5]])])
        assert result[-1].item() == pytest.approx(sigmoid(a) * math.tanh(c), abs=1e-6)


def test_parity_of_a_chain_with_the_sequence_lstm() -> None:
    """Every word the only child of the next: child-sum is nn.LSTM, whose gates stand as i, f, g, o."""
    cell, lstm = ChildSumCell(input_width=3, width=4), nn.LSTM(3, 4, batch_first=True)
    U_i, U_o, U_u = cell.U.data.chunk(3)
    W_i, W_o, W_u, W_f = cell.W.data.chunk(4)
    b_i, b_o, b_u, b_f = cell.b.data.chunk(4)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(torch.cat([W_i, W_f, W_u, W_o]))
        lstm.weight_hh_l0.copy_(torch.cat([U_i, cell.U_f, U_u, U_o]))
        lstm.bias_ih_l0.copy_(torch.cat([b_i, b_f, b_u, b_o]))
        lstm.bias_hh_l0.zero_()
    x = torch.randn(7, 3)
    chain = tree_of_heads([f"w{index}" for index in range(7)], [*range(2, 8), 0])
    (result,) = by_height(cell, [chain], [x])
    torch.testing.assert_close(result, lstm(x[None])[0][0])


@every_cell
def test_order_of_children(name: str) -> None:
    """Child-sum does not see it; N-ary does."""
    cell, x = build_cell(name), torch.randn(3, 3)
    (there,) = by_height(cell, [parse_tree("((a) (b) (c))")], [x])
    (back,) = by_height(cell, [parse_tree("((a) (b) (c))")], [x.flip(0)])
    assert torch.allclose(there[-1], back[-1], atol=1e-6) == (name == "child-sum")


def test_golden_parameters() -> None:
    """Child-sum 4 H (D + H + 1); N-ary 4 H (D + 1) + (3 + N) N H²; notes (3 + N) (H (D + 1) + H²)."""

    def count(cell: TreeCell) -> int:
        return sum(parameter.numel() for parameter in cell.parameters())

    D, H, N = 300, 150, 2
    assert count(ChildSumCell(input_width=D, width=H)) == 4 * H * (D + H + 1) == 270_600
    paper = NaryCell(input_width=D, width=H, max_children=N)
    assert count(paper) == 4 * H * (D + 1) + (3 + N) * N * H * H == 405_600
    notes = NaryCell(input_width=D, width=H, max_children=N, variant="notes")
    assert count(notes) == (3 + N) * (H * (D + 1) + H * H) == 338_250


def test_forest_keeps_words_labels_and_roots() -> None:
    joined = forest(TREES)
    assert len(joined.label) == sum(len(tree) for tree in TREES)
    assert joined.tree[joined.roots].tolist() == [0, 1, 2, 3, 4]
    assert joined.label[joined.roots].tolist() == [3, 1, -1, 1, -1]
    for number, tree in enumerate(TREES):
        own = (joined.tree == number).nonzero()[:, 0]
        own = own[joined.position[own].argsort()]
        wanted = [-1 if label is None else LABELS[label] for label in tree.label]
        assert joined.label[own].tolist() == wanted
        assert joined.word[joined.word[:, 0] == number, 1].sort().values.tolist() == list(range(len(tree.words)))
    nodes = [height.last - height.first for height in joined.heights]
    assert nodes == np.bincount([height for tree in TREES for height in tree.heights]).tolist()
