"""Rollouts: responses sampled from a policy in batches, with the log-probability of every sampled token.

The policy's distribution is the softmax over all tokens except BOS and PAD, at temperature τ:

    π(v | s) = exp(z_v / τ) / Σ_u exp(z_u / τ)       u neither BOS nor PAD

A token is drawn by its inverse distribution function, from a uniform number that depends on (seed, step, row, place in
the response) alone: not on the other rows, nor on how rows are put together. A response ends with its EOS or after
`max_new_tokens`.

Rows are sorted by the length of their prompts and read in groups. A group reads the beginnings of its prompts up to the
shortest one's end, equal ones once, and goes on a token at a time: a row takes its prompt's next token while there is
one, and a drawn one afterwards. Keys and values of what was read are kept; rows that have ended leave the group.

Shape legend: B rows, T positions, R positions of the longest response, V vocabulary, D width, N drawn tokens.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from langladder.data.batches import generator
from langladder.ground.errors import InputError
from langladder.models.language.neural import NeuralLanguageModel, scoring
from langladder.nn.output import SoftmaxOutput
from langladder.text.tokenize.specials import BOS, EOS, PAD

BARRED = (PAD, BOS)
"""Never drawn."""
GROUP = 128
"""Rows per batch; only changes the speed, see `tests/decoding/test_rollouts.py`."""
CROWDED = 0.75
"""Finished rows are removed when at most this share is left; removing copies the caches."""
_STREAM = 0x726F6C6C  # separates these random numbers from those of batches, which also use (seed, …)


class Response(NamedTuple):
    """One response as a judge reads it.

    Attributes:
        row: which prompt of the data it answers.
        prompt, tokens: ids; those of the response without the EOS.
        finished: whether it ended with EOS, not by its length.
    """

    row: int
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    finished: bool


Score = Callable[[Sequence[Response]], torch.Tensor | np.ndarray | Sequence[float]]
"""Rewards of N responses: N numbers, as a tensor, an array or a list."""

Value = Callable[[torch.Tensor], torch.Tensor]
"""The values of states (N, D): (N,)."""


class Prompts(NamedTuple):
    """Prompts, and the scorer of the responses.

    Attributes:
        ids: each begins with BOS and ends where the response begins.
        score: the reward that is learnt from.
        judges: other measures by name (the gold reward beside the proxy), which are watched and never learnt from.
    """

    ids: Sequence[Sequence[int]]
    score: Score
    judges: Mapping[str, Score] = {}


class Rollouts(NamedTuple):
    """B responses to B prompts.

    Attributes:
        tokens: (B, T) int64, prompt and response, then PAD.
        starts: (B,) int64, start of the response. mask: (B, R) bool, true at the response's tokens, including its EOS.
        log_probs: (B, R) float32, log π of the drawn tokens; 0 after the response.
        values: (B, R) float32, those of the states before each token, 0 after the end; None: not computed.
    """

    tokens: torch.Tensor
    starts: torch.Tensor
    mask: torch.Tensor
    log_probs: torch.Tensor
    values: torch.Tensor | None = None

    @property
    def lengths(self) -> torch.Tensor:
        """Tokens of each response, (B,)."""
        return self.mask.sum(dim=1)

    @property
    def finished(self) -> torch.Tensor:
        """Whether each response ended with EOS, (B,) bool."""
        last = self.starts + self.lengths - 1
        return self.tokens.gather(1, last[:, None])[:, 0] == EOS

    def responses(self, rows: Sequence[int] | np.ndarray) -> list[Response]:
        """The responses one by one; `rows` says which prompt each of them answers."""
        ends = (self.starts + self.lengths - self.finished.long()).tolist()
        records = zip(rows, self.tokens.tolist(), self.starts.tolist(), ends, self.finished.tolist(), strict=True)
        return [
            Response(int(row), tuple(ids[:start]), tuple(ids[start:end]), finished)
            for row, ids, start, end, finished in records
        ]


def log_policy(policy: NeuralLanguageModel, hidden: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """log π of every token: hidden states (…, D) → (…, V) float32, −∞ for tokens that are never drawn."""
    scores = policy.head(hidden).float()
    barred = torch.tensor(BARRED, device=scores.device)
    if isinstance(policy.head, SoftmaxOutput):  # nothing else uses its scores, also not the gradient
        scores = scores.index_fill_(-1, barred, -torch.inf)
    else:
        scores = scores.index_fill(-1, barred, -torch.inf)
    # log π(v | s) = z_v / τ − log Σ_u exp(z_u / τ)
    return torch.log_softmax(scores if temperature == 1 else scores / temperature, dim=-1)


def check_prompts(prompts: Sequence[Sequence[int]], context: int | None, max_new_tokens: int) -> None:
    """Refuse prompts that cannot be answered.

    Raises:
        InputError: one does not begin with BOS, or leaves no room for the response in the policy's context.
    """
    for number, prompt in enumerate(prompts):
        if not len(prompt) or prompt[0] != BOS:
            raise InputError(f"prompt {number}: {list(prompt)[:5]} … must begin with BOS ({BOS})")
        if context is not None and len(prompt) + max_new_tokens > context:
            raise InputError(
                f"prompt {number}: {len(prompt)} tokens, and with max_new_tokens={max_new_tokens} more it exceeds the "
                f"policy's context of {context}; shorten the prompt, lower max_new_tokens, or choose a base with a "
                "longer context"
            )


def roll_out(
    policy: NeuralLanguageModel,
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
    seed: int,
    step: int = 0,
    temperature: float = 1.0,
    group: int = GROUP,
    value: Value | None = None,
) -> Rollouts:
    """Draw one response to each prompt.

    Args:
        prompts: B rows of ids that begin with BOS.
        seed, step: of the random numbers, with the row's place.
        value: read from the states as they are drawn from, see `Rollouts.values`.

    Raises:
        InputError: see `check_prompts`; or the policy's probabilities are not numbers.
    """
    check_prompts(prompts, policy.context, max_new_tokens)
    device = next(policy.parameters()).device
    B, lengths = len(prompts), np.array([len(prompt) for prompt in prompts], dtype=np.int64)
    tokens = torch.full((B, int(lengths.max(initial=0)) + max_new_tokens), PAD, device=device)  # (B, T)
    for row, prompt in enumerate(prompts):
        tokens[row, : len(prompt)] = torch.tensor(list(prompt), device=device)
    uniform = torch.from_numpy(_uniform(B, max_new_tokens, seed, step)).to(device)  # (B, R)
    starts = torch.from_numpy(lengths).to(device)  # (B,)
    mask = torch.zeros((B, max_new_tokens), dtype=torch.bool, device=device)
    log_probs = torch.zeros((B, max_new_tokens), device=device)
    drawn = Rollouts(tokens, starts, mask, log_probs, None if value is None else torch.zeros_like(log_probs))
    order = torch.from_numpy(np.argsort(lengths, kind="stable"))
    with torch.no_grad(), scoring(policy, device.type):
        for rows in torch.split(order, group) if B else ():
            _read_group(policy, drawn, rows.to(device), uniform, temperature, value)
    R = int(drawn.lengths.max()) if B else 0
    T = int((starts + drawn.lengths).max()) if B else 0
    values = None if drawn.values is None else drawn.values[:, :R]
    return Rollouts(tokens[:, :T], starts, mask[:, :R], log_probs[:, :R], values)


def _read_group(
    policy: NeuralLanguageModel,
    drawn: Rollouts,
    rows: torch.Tensor,
    uniform: torch.Tensor,
    temperature: float,
    value: Value | None,
) -> None:
    """Draw the responses of some rows (b,), in place."""
    tokens, starts, longest = drawn.tokens, drawn.starts, uniform.shape[1]
    t = int(starts[rows].min())
    beginnings, position = torch.unique(tokens[rows, :t], dim=0, return_inverse=True)
    hidden, state = policy.read_on(beginnings, None)  # (≤ b, t, D)
    hidden, state = hidden[:, -1].index_select(0, position), policy.state_of(state, position)  # (b, D)
    running = torch.ones_like(rows, dtype=torch.bool)
    while True:
        own = ((starts[rows] <= t) & running).nonzero()[:, 0]  # whose prompt is read, not ended: (n,)
        if len(own):
            there, at = rows[own], t - starts[rows[own]]  # (n,)
            states = hidden.index_select(0, own)  # (n, D)
            log_probs = log_policy(policy, states, temperature)  # (n, V)
            token = draw(log_probs, uniform[there, at])  # (n,)
            tokens[there, t] = token
            drawn.mask[there, at] = True
            drawn.log_probs[there, at] = log_probs.gather(1, token[:, None])[:, 0]
            if value is not None and drawn.values is not None:
                drawn.values[there, at] = value(states)
            running[own] = (token != EOS) & (at + 1 < longest)
        left = int(running.sum())
        if not left:
            return
        if left <= CROWDED * len(rows):
            keep = running.nonzero()[:, 0]
            rows, state, running = rows[keep], policy.state_of(state, keep), running[keep]
        following, state = policy.read_on(tokens[rows, t : t + 1], state)  # (b, 1, D)
        hidden, t = following[:, -1], t + 1


def draw(log_probs: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """The tokens v with F(v − 1) ≤ u < F(v), F(v) = Σ_{w ≤ v} π(w): (N, V), u (N,) in [0, 1) → (N,) int64.

    Raises:
        InputError: the probabilities are not numbers.
    """
    below = log_probs.double().exp_().cumsum(dim=1)  # (N, V)
    total = below[:, -1:].clone()  # 1, except for rounding
    if bool(total.isnan().any()):  # a NaN makes every later sum NaN
        raise InputError("the policy's probabilities are not numbers: its weights are unusable")
    position = torch.searchsorted(below, uniform.double()[:, None] * total, right=True)
    return torch.minimum(position, torch.searchsorted(below, total))[:, 0]


def _uniform(rows: int, positions: int, seed: int, step: int) -> np.ndarray:
    """(rows, places) float64 in [0, 1); a row is a function of (seed, step, row)."""
    numbers = [generator(_STREAM, seed, step, row).random(positions) for row in range(rows)]
    return np.array(numbers, dtype=np.float64).reshape(rows, positions)
