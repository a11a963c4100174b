"""Tree-LSTM: reads a sentence along its tree, from the words to the root (Tai et al. 2015).

    state of a node: `nn.tree_lstm`;   P(y | node) = softmax(W h_j + b)   (section 4.1)
    J = −(1/m) Σ_j log P(y_j | node j)            over the m labelled nodes of a batch, or only over the roots

Child-sum for any tree, dependencies or constituents; N-ary for trees whose nodes have at most `places` children. At
inference, the label of a text is that of its root. All trees of a batch are processed together, height by height.

Shape legend: B rows, T positions, D width of the embedding, H width, N nodes, W nodes with a word, C labels.
"""

from typing import ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.classification.neural_classifier import Encoded, Reading, collate
from langladder.models.classification.reading_network import WIDEST, ReadingConfig, ReadingNetwork
from langladder.nn.tree_lstm import ChildSumCell, Forest, NaryCell, TreeCell, Variant, read_forest
from langladder.text.labelled.labelled import Example


class TreeLSTMConfig(ReadingConfig):
    """Settings of `TreeLSTM`."""

    cell: Literal["child_sum", "n_ary"] = "child_sum"
    places: int = Field(default=2, ge=1, le=16)  # N of n_ary: maximum children of a node
    variant: Variant = "paper"  # of n_ary, see `nn.tree_lstm`
    width: int = Field(default=150, ge=1, le=WIDEST)  # H
    loss: Literal["root", "nodes"] = "root"  # nodes: the loss is over all labelled nodes

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.pairs == "compared":
            raise ValueError("pairs=compared: a Tree-LSTM reads one tree per text; set it to joined")
        if self.max_length is not None:
            raise ValueError(f"max_length={self.max_length}: a Tree-LSTM reads whole trees; set it to null")
        return self


class TreeLSTM(ReadingNetwork):
    """Embedding → states of all nodes → output at the root, or at every node."""

    approach = "trees"
    reads_trees = True
    Config: ClassVar[type[schema.Config]] = TreeLSTMConfig
    config: TreeLSTMConfig

    @classmethod
    def also_given(cls, config: schema.Config) -> str:
        """The trees of all texts, and the labels of their nodes if the loss uses them."""
        assert isinstance(config, TreeLSTMConfig), config
        return "trees, labels of their nodes" if config.loss == "nodes" else "trees"

    def __init__(self, config: TreeLSTMConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        sizes = {"input_width": config.embedding_dim, "width": config.width}
        self.cell: TreeCell = (
            ChildSumCell(**sizes)
            if config.cell == "child_sum"
            else NaryCell(**sizes, max_children=config.places, variant=config.variant)
        )
        self.finish(config.width)

    def encode(self, example: Example) -> Encoded:
        """See `NeuralClassifier.encode`; an N-ary network does not support nodes with more than N children."""
        encoded = super().encode(example)
        assert encoded.tree is not None
        most = int(encoded.tree.order.max()) + 1 if len(encoded.tree.order) > 1 else 0
        if self.config.cell == "n_ary" and most > self.config.places:
            raise InputError(
                f"{example.text[:60]!r}: a node of its tree has {most} children, but model.places is "
                f"{self.config.places}; set it to {most}, or model.cell to child_sum"
            )
        return encoded

    def states(self, batch: Reading) -> tuple[torch.Tensor, Forest]:
        """h of all nodes (N, H), and their forest."""
        assert batch.forest is not None
        tree, position = batch.forest.word.unbind(dim=1)  # (W,) each
        words = self.embed(batch).flatten(0, 1).index_select(0, tree * batch.tokens.shape[1] + position)  # (W, D)
        h, _ = read_forest(self.cell, words, batch.forest)
        return h, batch.forest

    def read(self, batch: Reading) -> torch.Tensor:
        """See `ReadingNetwork.read`: h of the roots."""
        h, forest = self.states(batch)
        return h[forest.roots]

    def loss(self, batch: Reading, labels: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """See `NeuralClassifier.loss`; a root's label is that of its text, independent of the tree."""
        if self.config.loss == "root":
            return super().loss(batch, labels, smoothing)
        h, forest = self.states(batch)
        wanted = forest.label.index_put((forest.roots,), labels)  # (N,)
        return self.label_loss(self.decide(h), wanted, smoothing)

    def terms(self, batch: Reading) -> tuple[int, ...]:
        """See `NeuralClassifier.terms`: labelled nodes, if the loss uses them."""
        if self.config.loss == "root" or batch.forest is None:
            return super().terms(batch)
        known = batch.forest.label >= 0  # (N,)
        known[batch.forest.roots] = True
        return (int(known.sum()),)

    @torch.no_grad()
    def nodes(self, example: Example) -> list[np.ndarray]:
        """P(label) at each node of the example's tree, (C,) float64 each, in the order of `Tree`: the root last."""
        self.eval()
        h, forest = self.states(collate([self.encode(example)]))
        shares = torch.softmax(self.decide(h).float(), dim=-1).double().numpy()  # (N, C)
        return list(shares[np.argsort(forest.position.numpy())])
