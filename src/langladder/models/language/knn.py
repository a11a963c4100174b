"""kNN-LM: a trained language model that also looks up similar contexts of its training text (Khandelwal et al. 2020).

    p(y | x) = λ p_kNN(y | x) + (1 − λ) p_LM(y | x)                              equation 3
    p_kNN(y | x) ∝ Σ_{(k_i, v_i) ∈ N} 1[v_i = y] exp(−‖k_i − f(x)‖² / τ)         equation 2, with a temperature τ

f(x) is the state of the network after the context x. The store holds the pairs (f(x), next token) of the beginning of
the training text, at most `entries`; N are the `neighbours` entries closest to f(x). The network is not trained any
further. λ and τ are those of a grid with the lowest loss on the validation text; λ = 0 is in the grid.

Differs from the paper: f(x) is the input of the output layer, not of the last feed-forward network; distances are exact
(one product with all keys), not searched by an index; the store is bounded, because the model's folder contains it.

Shape legend: N positions, E entries, K neighbours, D width, V vocabulary, B rows, T tokens.
"""

import math
from collections.abc import Iterable
from typing import Annotated, ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT, Cache, GPTConfig
from langladder.models.language.language_model import State
from langladder.models.language.neural import NeuralLanguageModel
from langladder.nn.output import OutputLayer

WEIGHTS = tuple(step / 20 for step in range(20))
"""λ to choose from: 0, 0.05, … 0.95."""
SLICE = 256
"""Positions whose distances are computed at once."""


class KNNConfig(schema.Config):
    """Settings of `KNNLM`."""

    body: GPTConfig | None = None  # null in a rung's file: that of its base
    entries: int = Field(default=65_536, ge=1, le=2**24)
    """Maximum entries of the store; each takes 4 D + 8 bytes, in memory and in the model's folder."""
    neighbours: int = Field(default=64, ge=1, le=65_536)
    temperatures: list[Annotated[float, Field(gt=0)]] = Field(
        default=[1.0, 3.0, 10.0, 30.0, 100.0], min_length=1, max_length=100
    )
    """τ to choose from."""


class Pairs(NamedTuple):
    """States (N, D) float32 and the token that follows each, (N,) int64."""

    states: torch.Tensor
    tokens: torch.Tensor


class KNNOutput(OutputLayer):
    """The output layer of the network, mixed with the store.

    Args:
        base: p_LM. entries: E. neighbours: K.
    """

    keys: torch.Tensor
    values: torch.Tensor
    mix: torch.Tensor

    def __init__(self, base: OutputLayer, *, entries: int, neighbours: int) -> None:
        super().__init__()
        self.base, self.neighbours = base, min(neighbours, entries)
        self.width, self.vocab_size = base.width, base.vocab_size
        self.register_buffer("keys", torch.zeros(entries, base.width))  # (E, D)
        self.register_buffer("values", torch.zeros(entries, dtype=torch.int64))  # (E,)
        self.register_buffer("mix", torch.tensor([0.0, 1.0]))  # λ, τ

    def nearest(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Squared distances to the nearest keys and their values: (N, D) → (N, K), (N, K)."""
        lengths = self.keys.square().sum(dim=1)  # (E,)
        near = []
        for h in torch.split(hidden.float(), SLICE):
            # ‖k − h‖² = ‖k‖² − 2 k·h + ‖h‖²
            squares = torch.addmm(lengths, h, self.keys.T, alpha=-2).add_(h.square().sum(dim=1, keepdim=True))
            near.append(squares.topk(self.neighbours, dim=1, largest=False))
        if not near:
            return hidden.new_zeros(0, self.neighbours), self.values.new_zeros(0, self.neighbours)
        distances, rows = (torch.cat(parts) for parts in zip(*near, strict=True))
        return distances.clamp(min=0), self.values[rows]

    @torch.no_grad()
    def _memory(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The weights (N, K) of the neighbours, which sum to 1, and their tokens (N, K)."""
        distances, tokens = self.nearest(hidden)
        return torch.softmax(-distances / self.mix[1], dim=1), tokens

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → log P (…, V)."""
        network = torch.log_softmax(self.base(hidden).float(), dim=-1)  # (…, V)
        if not self.mix[0]:
            return network
        weights, tokens = self._memory(hidden.flatten(0, -2))  # (N, K) each
        memory = weights.new_zeros(len(weights), network.shape[-1]).scatter_add_(1, tokens, weights)  # (N, V)
        return self._mixed(network, memory.view(network.shape))

    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """See `OutputLayer.target_log_probs`."""
        network = self.base.target_log_probs(hidden, targets)  # (N,)
        if not self.mix[0]:
            return network
        weights, tokens = self._memory(hidden)
        return self._mixed(network, (weights * (tokens == targets[:, None])).sum(dim=1))

    def _mixed(self, network: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        # log p = log(λ p_kNN + (1 − λ) p_LM)
        return torch.logaddexp(memory.log() + self.mix[0].log(), network + torch.log1p(-self.mix[0]))

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """The loss of the network: the store is not trained."""
        return self.base.loss(hidden, targets, smoothing)

    def products(self) -> float:
        """See `OutputLayer.products`: those of the network, and a distance to each entry."""
        return self.base.products() + float(self.keys.numel())

    @torch.no_grad()
    def choose(self, pairs: Pairs, temperatures: Iterable[float]) -> float:
        """Set λ and τ to those with the lowest mean loss on held-out pairs, and return this loss in nats."""
        network = self.base.target_log_probs(pairs.states, pairs.tokens).double()  # (N,)
        distances, tokens = self.nearest(pairs.states)
        hits = tokens == pairs.tokens[:, None]  # (N, K)
        best = math.inf
        for temperature in temperatures:
            memory = (torch.softmax(-distances.double() / temperature, dim=1) * hits).sum(dim=1)  # (N,)
            for weight in WEIGHTS:
                loss = -float((weight * memory + (1 - weight) * network.exp()).log().mean())
                if loss < best:
                    best, self.mix[0], self.mix[1] = loss, weight, temperature
        return best


class _Recorder(nn.Module):
    """In the place of an output layer: keeps the states that it is to score, and their targets."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[Pairs] = []

    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Zeros."""
        self.pairs.append(Pairs(hidden.float(), targets))
        return hidden.new_zeros(len(hidden), dtype=torch.float32)


class KNNLM(NeuralLanguageModel):
    """A GPT whose output layer is mixed with a store of its states."""

    approach = "Transformer"
    Config: ClassVar[type[schema.Config]] = KNNConfig
    SIZES = ("vocab_size", "entries")
    BODY: ClassVar[type[NeuralLanguageModel]] = GPT
    """The class of its base, and of its body."""
    tuned_maker: ClassVar[str] = "langladder.tasks.nearest_neighbours.make_tuned"
    config: KNNConfig
    vocab_size: int
    entries: int

    def __init__(self, config: KNNConfig, vocab_size: int, entries: int) -> None:
        super().__init__(config, vocab_size, entries)
        if config.body is None:
            raise InputError("model.body: null; a KNNLM gets it from its base, a GPT of the families lm and tune")
        self.gpt = GPT(config.body, vocab_size)
        self.context = self.gpt.context
        self.gpt.head = KNNOutput(self.gpt.head, entries=entries, neighbours=config.neighbours)

    @property
    def head(self) -> KNNOutput:  # type: ignore[override]  # read only: it is the body's
        """Its output layer."""
        head = self.gpt.head
        assert isinstance(head, KNNOutput)
        return head

    @property
    def joins_lines(self) -> bool:
        """See `LanguageModel.joins_lines`: as the network does."""
        return self.gpt.joins_lines

    def forward(self, tokens: torch.Tensor, state: None = None) -> tuple[torch.Tensor, None]:
        """See `NeuralLanguageModel.forward`."""
        return self.gpt(tokens, state)  # type: ignore[no-any-return]

    def advance(self, tokens: torch.Tensor, state: Cache | None = None) -> tuple[torch.Tensor, State]:
        """See `LanguageModel.advance`."""
        return self.gpt.advance(tokens, state)

    def advance_each(self, tokens: torch.Tensor, state: Cache | None = None) -> tuple[torch.Tensor, list[Cache]]:
        """See `LanguageModel.advance_each`."""
        return self.gpt.advance_each(tokens, state)

    def read_on(self, tokens: torch.Tensor, state: Cache | None) -> tuple[torch.Tensor, Cache]:
        """See `NeuralLanguageModel.read_on`."""
        return self.gpt.read_on(tokens, state)

    def state_of(self, state: Cache, rows: torch.Tensor) -> Cache:
        """See `NeuralLanguageModel.state_of`."""
        return self.gpt.state_of(state, rows)

    def products(self, length: int) -> float:
        """See `Network.products`."""
        return self.gpt.products(length)

    def input_embedding(self) -> nn.Embedding | None:
        """See `NeuralLanguageModel.input_embedding`."""
        return self.gpt.input_embedding()


def pairs_of(model: GPT, batches: Iterable[torch.Tensor], limit: int | None = None) -> Pairs:
    """The states of texts (B, T), as they are when these are scored, and their tokens; the first `limit` of them.

    Raises:
        InputError: there is no token to predict.
    """
    head, recorder, count = model.head, _Recorder(), 0
    model.head = recorder  # type: ignore[assignment]
    try:
        for batch in batches:
            model.log_probs(batch)
            count = sum(len(part.tokens) for part in recorder.pairs)
            if limit is not None and count >= limit:
                break
    finally:
        model.head = head
    if not count:
        raise InputError("kNN-LM: the text has no token to predict")
    return Pairs(*(torch.cat(parts)[:limit] for parts in zip(*recorder.pairs, strict=True)))


def from_gpt(config: KNNConfig, gpt: GPT, store: Pairs) -> KNNLM:
    """A KNNLM with the weights of a network and its states on a training text; λ = 0 until `choose`."""
    model = KNNLM(config.model_copy(update={"body": gpt.config}), gpt.vocab_size, len(store.tokens))
    there = {
        f"head.base.{name[5:]}" if name.startswith("head.") else name: weight
        for name, weight in gpt.state_dict().items()
    }
    model.gpt.load_state_dict(there, strict=False)  # all but the store
    model.head.keys.copy_(store.states)
    model.head.values.copy_(store.tokens)
    return model.eval()
