"""Evaluation of policies: an answer to each prompt, its gold and proxy reward, its KL, and the loss on plain text.

All policies answer the same prompts with the same random numbers (temperature 1), so that two policies are compared
prompt by prompt.

Shape legend: P prompts, W windows of plain text, T tokens of a window, D width.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from langladder.corpora.instructions.judge import rewards_of_answers
from langladder.decoding.best_of_n import best_of_n_kl, sample_many
from langladder.decoding.judging import by_judge, by_reward_model
from langladder.decoding.rollouts import Response, roll_out
from langladder.experiments.statistics import Difference
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import InstructedGPT
from langladder.models.reward import RewardModel
from langladder.tasks.policy.responses import sequence_kl
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.storage.token_streams import TokenStream

DRAWN = 0
"""The seed of the answers, for all policies."""


def with_interval(difference: Difference) -> str:
    """A difference of rewards or losses as text."""
    return f"{difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})"


class Judged(NamedTuple):
    """For one answer to each prompt: gold (P,) in [0, 1], proxy (P,) from the reward model, kl (P,) to the base in
    nats."""

    gold: np.ndarray
    proxy: np.ndarray
    kl: np.ndarray


class Judges:
    """The judge of answers to some prompts."""

    def __init__(self, template: ChatTemplate, dialogues: Sequence[Dialogue], max_new_tokens: int) -> None:
        self.template, self.dialogues, self.max_new_tokens = template, dialogues, max_new_tokens
        self.ids = [row.tolist() for row in template.prompts([dialogue.prompt for dialogue in dialogues])]
        self.score = by_judge(rewards_of_answers, dialogues, template)

    def drawn(self, policy: InstructedGPT, base: InstructedGPT, reward: RewardModel) -> Judged:
        """A drawn answer to each prompt."""
        rollouts = roll_out(policy, self.ids, max_new_tokens=self.max_new_tokens, seed=DRAWN)
        responses = rollouts.responses(range(len(self.ids)))
        kl = sequence_kl(policy, base, rollouts).double().numpy()
        return Judged(self.gold(responses), by_reward_model(reward)(responses), kl)

    def gold_rewards(self, policy: InstructedGPT) -> np.ndarray:
        """The gold reward of the same answers, (P,)."""
        rollouts = roll_out(policy, self.ids, max_new_tokens=self.max_new_tokens, seed=DRAWN)
        return self.gold(rollouts.responses(range(len(self.ids))))

    def best(self, policy: InstructedGPT, reward: RewardModel, n: int) -> Judged:
        """The best of n answers by the reward model; the KL is `best_of_n_kl`."""
        how = {"n": n, "max_new_tokens": self.max_new_tokens, "seed": DRAWN}
        sampled = sample_many(policy, self.ids, by_reward_model(reward), **how)
        return Judged(self.gold(sampled.best()), sampled.rewards.max(axis=1), np.full(len(self.ids), best_of_n_kl(n)))

    def gold(self, responses: Sequence[Response]) -> np.ndarray:
        """The gold reward of responses, (P,)."""
        return np.asarray(self.score(responses), dtype=np.float64)


def text_loss(model: GPT, text: TokenStream, *, windows: int, length: int) -> np.ndarray:
    """Mean −log P(w_t | w_<t) in nats of each of the first windows, (W,); consecutive windows of `length` + 1 tokens.

    The result is empty if the text has less than one window.
    """
    count = min(windows, len(text.ids) // (length + 1))
    rows = np.asarray(text.ids[: count * (length + 1)]).reshape(count, length + 1)
    tokens = torch.from_numpy(rows.astype(np.int64))  # (W, T + 1)
    with torch.no_grad():
        hidden, _ = model(tokens[:, :-1])  # (W, T, D)
        scores = model.head.target_log_probs(hidden.flatten(0, 1), tokens[:, 1:].flatten())  # (W · T,)
    losses: np.ndarray = -scores.double().view(count, length).mean(dim=1).numpy()
    return losses
