"""The reward model: scores a response with one number, learnt from comparisons (Ouyang et al. 2022, section 3.5).

    r(x, y) = w · h + b         h the body's last state, at the response's EOS
    loss = −1 / C(K, 2) Σ log σ(r(x, y_w) − r(x, y_l))        over the pairs of K responses to a prompt, equation 1

averaged over prompts. The body is the SFT model without its output layer. Differences of rewards do not depend on b, so
b is not learnt; it is set after training so that the demonstrations have a mean reward of 0. Pairs of equal rank are
left out, so a prompt can have fewer than C(K, 2) pairs.

The last state of a small body does not show whether every word of the answer is right, but its output layer does, word
by word (this is DPO's reward without the reference, Rafailov et al. 2023, equation 5). With model.likelihood, the
output layer is kept and is also trained on the pairs:

    r(x, y) = w · h + a Σ_t log P(y_t | x, y_<t) + b        over the tokens of the last response, including its EOS

Shape legend: R rows, T positions, D width, P pairs, N tokens of responses, V vocabulary.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.fine_tuned import (
    INITIAL_STD,
    TOKENIZER,
    FineTuned,
    FineTunedConfig,
    base_for,
    body_of,
    settings_with_body,
)
from langladder.models.language.gpt import GPTConfig
from langladder.models.language.instructed import InstructedGPT, check_tokenizer
from langladder.models.language.neural import scoring
from langladder.models.making import NamedSettings
from langladder.models.network import Network
from langladder.models.saving import Saved
from langladder.models.trial import words
from langladder.nn.packing import Layout
from langladder.nn.products import matrix_entries
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import EOS, PAD, RESERVED
from langladder.text.tokenize.tokenizers import Tokenizer

CELLS = 16_384
"""Maximum cells (rows × longest) of a batch without training."""
BEGINNING = 0.1
"""Initial a: the log-likelihoods of answers differ by some tens of nats, and rewards should differ by a few."""


class RewardConfig(FineTunedConfig):
    """Settings of `RewardModel`."""

    body: GPTConfig | None = None
    likelihood: bool = False
    """Whether the body's output layer is kept, for the likelihood of the response."""


class RewardModel(FineTuned, Network):
    """Body → the state at the last token → a number. After construction, `equip` sets its tokenizer."""

    approach: ClassVar[str] = "Transformer"
    maker: ClassVar[str] = "langladder.tasks.reward.make"
    SIZES = ("vocab_size",)
    WHAT = "reward model"
    BODY: ClassVar[type[Network]] = InstructedGPT
    FAMILIES: ClassVar[str] = "an InstructedGPT of the family instruct"
    LAYERS: ClassVar[str] = "blocks"
    BEHIND: ClassVar[tuple[str, ...]] = ("norm",)
    Config: ClassVar[type[schema.Config]] = RewardConfig
    config: RewardConfig
    vocab_size: int
    tokenizer: Tokenizer
    bias: torch.Tensor

    def __init__(self, config: RewardConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        settings = body_of(config.body, type(self))
        self.gpt = InstructedGPT(settings, vocab_size)
        self.dropout = nn.Dropout(config.dropout)
        self.head = nn.Linear(settings.width, 1, bias=False)
        nn.init.normal_(self.head.weight, std=INITIAL_STD)
        if config.likelihood:
            self.a = nn.Parameter(torch.full((1,), BEGINNING))
        else:
            del self.gpt.head
        self.register_buffer("bias", torch.zeros(1))

    def body(self) -> nn.Module:
        """See `FineTuned.body`."""
        return self.gpt

    @property
    def context(self) -> int:
        """Maximum tokens of a row."""
        return self.gpt.context

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The rewards of rows of the chat template: (R, T) int64, right-padded → (R,).

        Raises:
            InputError: a row is longer than the context.
        """
        if tokens.shape[1] > self.context:
            raise InputError(f"{tokens.shape[1]} tokens exceed the reward model's context of {self.context}")
        hidden, layout = self.gpt.packed(tokens)  # (N, D)
        lengths = (tokens != PAD).sum(dim=1)  # (R,)
        ends = torch.arange(len(tokens), device=tokens.device) * tokens.shape[1] + lengths - 1
        h = hidden.index_select(0, layout.rank(ends))  # (R, D)
        # r = w · h + b
        rewards: torch.Tensor = self.head(self.dropout(h))[:, 0].float() + self.bias
        if self.config.likelihood:
            # r = w · h + a Σ_t log P(y_t | x, y_<t) + b
            rewards = rewards + self.a * self._likelihood(tokens, hidden, layout)
        return rewards

    def _likelihood(self, tokens: torch.Tensor, hidden: torch.Tensor, layout: Layout) -> torch.Tensor:
        """log P of the last response of each row, (R,), from the packed states of the body."""
        rows, T = tokens.shape
        position = torch.arange(T, device=tokens.device)
        begins = torch.where(tokens == self.gpt.markers.assistant, position, 0).amax(dim=1, keepdim=True)  # (R, 1)
        row, t = ((tokens != PAD) & (position > begins)).nonzero(as_tuple=True)  # (N,)
        scores = self.gpt.head(hidden.index_select(0, layout.rank(row * T + t - 1))).float()  # (N, V)
        log_probs = torch.log_softmax(scores, dim=-1).gather(1, tokens[row, t][:, None])[:, 0]  # (N,)
        return log_probs.new_zeros(rows).index_add(0, row, log_probs)

    def equip(self, tokenizer: Tokenizer) -> Self:
        """Set the tokenizer of the network.

        Raises:
            InputError: the tokenizer is of another size.
        """
        check_tokenizer(tokenizer, self.gpt.number_of_words)
        self.tokenizer = tokenizer
        return self

    def check_policy(self, tokenizer: Tokenizer, name: str) -> None:
        """Check that a policy has the same tokenizer.

        Args:
            name: of the policy, for the message.

        Raises:
            InputError: the policy has another tokenizer.
        """
        if not self.tokenizer.same_as(tokenizer):
            raise InputError(
                f"{name}: its {TOKENIZER} is not that of the reward model, so ids would have other meanings; train the "
                "reward model on a base with the same tokenizer"
            )

    def rewards(self, dialogues: Sequence[Sequence[Message]]) -> np.ndarray:
        """The reward of the last response of each dialogue, (N,) float64. Raises the same errors as `rewards_of`."""
        return self.rewards_of([row.ids for row in ChatTemplate(self.tokenizer).rows(dialogues)])

    @torch.no_grad()
    def rewards_of(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """The rewards (N,) float64 of rows of ids, without dropout; rows of similar length are read together.

        Raises:
            InputError: a row is longer than the context.
        """
        device, rewards = self.head.weight.device, np.zeros(len(rows))
        with scoring(self, device.type):
            for batch in _by_length([len(row) for row in rows]):
                tokens = [torch.from_numpy(rows[row]).long() for row in batch]
                padded = nn.utils.rnn.pad_sequence(tokens, batch_first=True, padding_value=PAD)
                rewards[batch] = self(padded.to(device)).double().cpu().numpy()
        return rewards

    def centre(self, demonstrations: Sequence[Sequence[Message]]) -> None:
        """Set b so that the demonstrations have a mean reward of 0. Raises InputError if there are none."""
        if not demonstrations:
            raise InputError("reward model: no demonstration to set the bias by; give some")
        self.bias -= float(self.rewards(demonstrations).mean())

    def write_beside(self, folder: Path) -> None:
        """See `Network.write_beside`."""
        self.tokenizer.save(folder / TOKENIZER)

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        network = super().from_saved(saved, folder)
        try:
            return network.equip(Tokenizer.load(Path(folder) / TOKENIZER))
        except InputError as error:
            raise error if str(folder) in str(error) else InputError(f"{folder}: {error}") from error

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`: pairs of each row and the next one."""
        length = min(max(length, 5), self.context)
        tokens = words(max(2, rows), length, self.vocab_size - len(RESERVED))
        tokens[:, 1], tokens[:, length // 2], tokens[:, -1] = self.gpt.markers.user, self.gpt.markers.assistant, EOS
        better = torch.arange(len(tokens))
        return pairwise_loss(self(tokens), better, better.roll(1), torch.full((len(tokens),), 1 / len(tokens)))

    def products(self, length: int) -> float:
        """See `Network.products`: those of the body, and of the head.

        With the likelihood, also those of the output layer, as if the whole row were the response.
        """
        layers, D = self.gpt.config.layers, self.gpt.config.width
        each = matrix_entries(self.gpt) + (self.gpt.head.products() if self.config.likelihood else 0)
        # 2 N T² D, as of a GPT
        return length * each + 2 * layers * length**2 * D + D


def pairwise_loss(
    rewards: torch.Tensor, better: torch.Tensor, worse: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Σ_p weight_p (−log σ(r_w − r_l)): rewards (R,), rows (P,), rows (P,), weights (P,) → scalar."""
    # −log σ(Δ) = log(1 + e^−Δ)
    losses = functional.softplus(rewards[worse] - rewards[better])  # (P,)
    return (weights * losses).sum()


def begin_reward(settings: NamedSettings[RewardConfig], base: Path, *, seed: int) -> RewardModel:
    """The network before its first step.

    Args:
        settings: `name` and `model` of the rung. base: the folder of the InstructedGPT that it starts from.
        seed: for the head's initial weights.

    Raises:
        InputError: the base is of another kind, has fewer layers than requested, or has no matching tokenizer.
    """
    result = base_for(RewardModel, base)
    assert isinstance(result, InstructedGPT)
    torch.manual_seed(seed)
    model = RewardModel(settings_with_body(settings.model, result, settings.name), result.vocab_size)
    model.copy_weights(result)
    try:
        return model.equip(Tokenizer.load(Path(base) / TOKENIZER))
    except InputError as error:
        raise error if str(base) in str(error) else InputError(f"{base}: {error}") from error


def _by_length(lengths: Sequence[int]) -> list[np.ndarray]:
    """Rows in batches of at most `CELLS` cells, shortest first."""
    order = np.argsort(lengths, kind="stable")
    batches, start = [], 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * lengths[order[end]] > CELLS:
            batches.append(order[start:end])
            start = end
    return batches
