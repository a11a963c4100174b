"""Small chains of GPT, SFT model, reward model and policy on microworld's instructions. Each link is trained once per
run.

Rows, losses, rollouts and labellers are those of the ladder (`tasks.instruction`, `tasks.reward`, `tasks.policy`), with
the experiments' simple training loop. So experiments train the same models as the ladder, only smaller.

    config: a `ChainConfig`
    chains = Chains(data, config)
    base = chains.sft(seed=1)
    proxy = chains.reward(seed=2, base_seed=1)
    policy = chains.aligned("ppo", base, {"beta": 0.0}, reward=proxy, seed=2)

Instructions are those of microworld, drawn independently of the text. Demonstrations, ranked prompts and rollout
prompts are three disjoint sets, as in Ouyang et al. 2022, section 3.2.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from claims.alignment.chain_settings import LEAST, ChainConfig, Method
from claims.pretraining.small_bodies import fresh, pretrain
from claims.training import train
from langladder.corpora.instructions.demonstrations import InstructionsConfig, demonstrations
from langladder.corpora.instructions.judge import NoiseConfig, PreferencesConfig, gold_rewards, preferences
from langladder.corpora.instructions.requests import REWORDED
from langladder.data.instructions import DialogueBatches, RankingBatches, dialogue_rows, ranking_rows, repeated
from langladder.data.preference_pairs import PairBatches
from langladder.data.prompts import RolloutBatches
from langladder.decoding.judging import by_reward_model
from langladder.decoding.rollouts import Prompts
from langladder.decoding.sampled_preferences import sampled
from langladder.evaluation.instructed import with_room
from langladder.experiments.experiment import Data
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import InstructedGPT
from langladder.models.reward import RewardConfig, RewardModel
from langladder.tasks.instruction import InstructionTuning
from langladder.tasks.language_modelling import mixed_windows
from langladder.tasks.policy.dpo import DPO, references
from langladder.tasks.policy.ppo import PPO, critic_from, make_critic
from langladder.tasks.policy.settings import DPOTraining, PPOTraining
from langladder.tasks.policy.training import token_pairs
from langladder.tasks.reward import RewardModelling
from langladder.text.labelled.instructions import Dialogue, Ranking, ranking_of
from langladder.text.labelled.templates import ChatTemplate

Made = TypeVar("Made")
DRAWN = (1, 2, 4)
"""How many dialogues are drawn for each that is wanted, until enough fit into the context."""


class Sets(NamedTuple):
    """The dialogues of a run in disjoint sets, each with equal numbers of each kind."""

    demonstrations: list[Dialogue]
    ranked: list[Dialogue]
    prompts: list[Dialogue]
    held_out: list[Dialogue]
    test: list[Dialogue]
    unseen: list[Dialogue]


class Chains:
    """The links of one run; callers must not change them."""

    def __init__(self, data: Data, config: ChainConfig) -> None:
        self.text, self.tokenizer, self.config = data.stream("train"), data.tokenizer(), config
        self.template = ChatTemplate(self.tokenizer)
        self.sets = self._drawn()
        self._cache: dict[str, Any] = {}

    def gpt(self, *, seed: int, width: int | None = None) -> GPT:
        """A language model of the text."""

        def make() -> GPT:
            body = fresh(GPT, GPT.Config.model_validate(self.config.network(width)), self.tokenizer, seed=seed)
            pretrain(body, self.tokenizer, self.text, self.config.pretraining(), seed=seed)
            assert isinstance(body, GPT)
            return body

        return self._once(["gpt", width or self.config.width, seed], make)

    def sft(self, *, seed: int, width: int | None = None) -> InstructedGPT:
        """A language model of the text, fine-tuned on the demonstrations."""

        def make() -> InstructedGPT:
            return self.tuned(self.gpt(seed=seed, width=width), self.sets.demonstrations, seed=seed)

        return self._once(["sft", width or self.config.width, seed], make)

    def tuned(
        self,
        base: GPT,
        dialogues: Sequence[Dialogue],
        *,
        seed: int,
        watch: Callable[[InstructedGPT, int], None] | None = None,
        **changes: object,
    ) -> InstructedGPT:
        """A copy of a GPT, trained on demonstrations. watch: called with it after each step, with the number of steps
        so far.

        Args:
            changes: to `ChainConfig.tuning`.
        """
        torch.manual_seed(seed)
        model, config = InstructedGPT.from_gpt(base), self.config.tuning(**changes)
        rows = dialogue_rows(
            self.template, repeated(dialogues, config.repeats), model.context, too_long="leave_out", split="train"
        )
        mixed = mixed_windows(config.pretraining, model, self.text, seed)
        batches, task = (
            DialogueBatches(rows, [], batch_size=config.batch_size, seed=seed, text=mixed),
            InstructionTuning(model, config),
        )
        at_step = None if watch is None else lambda step: watch(model, step)
        train(task, lambda step: task.loss(batches.train(step)), config, at_step)
        return model

    def rankings(
        self, dialogues: Sequence[Dialogue], *, seed: int, base_seed: int, noise: NoiseConfig | None = None
    ) -> list[Ranking]:
        """Answers of the SFT model to prompts, ranked by a labeller with access to the gold reward.

        Args:
            noise: None: the labeller makes no errors.
        """
        policy, config = (
            self.sft(seed=base_seed),
            PreferencesConfig(samples=self.config.samples, max_new_tokens=self.config.max_new_tokens),
        )
        texts = [ranking.prompt[-1].text for ranking in (dialogues[0], dialogues[-1])]
        answers = self._once(
            ["samples", *texts, len(dialogues), seed, base_seed],
            lambda: sampled(policy, self.template, dialogues, config, seed),
        )
        return preferences(answers, gold_rewards, noise or NoiseConfig(), seed)

    def learnt(self, *, seed: int, base_seed: int, ranked: int | None = None, noise: Any = None) -> list[Ranking]:
        """The training rankings: of the first `ranked` prompts (None: all), with noise (None: that of the settings)."""
        rankings = self.rankings(
            self.sets.ranked,
            seed=seed,
            base_seed=base_seed,
            noise=NoiseConfig.model_validate(noise or self.config.noise),
        )
        if ranked is None:
            return rankings
        kept = {ranking.prompt for ranking in self.sets.ranked[: self.config.count(ranked)]}
        return [ranking for ranking in rankings if ranking.prompt in kept]

    def reward(
        self,
        *,
        seed: int,
        base_seed: int,
        layers: int | None = None,
        ranked: int | None = None,
        noise: Any = None,
    ) -> RewardModel:
        """A reward model whose body starts as the first `layers` of the SFT model (None: all). See `learnt`."""

        def make() -> RewardModel:
            rankings = self.learnt(seed=seed, base_seed=base_seed, ranked=ranked, noise=noise)
            return self.judge(rankings, self.sft(seed=base_seed), seed=seed, layers=layers)

        key = ["reward", layers or self.config.layers, seed, base_seed, ranked, _plain(noise)]
        return self._once(key, make)

    def judge(
        self,
        rankings: Sequence[Ranking],
        base: InstructedGPT,
        *,
        seed: int,
        layers: int | None = None,
        watch: Callable[[RewardModel, int], None] | None = None,
        **changes: object,
    ) -> RewardModel:
        """A reward model trained on rankings; it starts as the first `layers` of `base` (None: all). See `tuned`.

        Args:
            changes: to `ChainConfig.rewarding`.
        """
        pairs = changes.get("pairs", "together")
        if pairs == "apart":
            rankings = [ranking_of(pair) for ranking in rankings for pair in ranking.preferences()]
        torch.manual_seed(seed)
        body = base.config.model_copy(update={"layers": layers or base.config.layers})
        model = RewardModel(RewardConfig(body=body, dropout=0.0, likelihood=self.config.likelihood), base.vocab_size)
        model.copy_weights(base)
        model.equip(self.tokenizer)
        rows = ranking_rows(self.template, rankings, model.context, too_long="leave_out", split="train")
        config = self.config.rewarding(len(rows), **changes)
        batches, task = (
            RankingBatches(rows, [], batch_size=config.batch_size, seed=seed),
            RewardModelling(model, config),
        )
        at_step = None if watch is None else lambda step: watch(model, step)
        train(task, lambda step: task.loss(batches.train(step)), config, at_step)
        model.centre([dialogue.messages for dialogue in self.sets.held_out])
        return model

    def aligned(
        self,
        method: Method,
        base: InstructedGPT,
        changes: Mapping[str, object],
        *,
        seed: int,
        reward: RewardModel,
        rankings: Sequence[Ranking] = (),
        watch: Callable[[InstructedGPT, int], None] | None = None,
    ) -> InstructedGPT:
        """A copy of `base`, trained with the reward model (ppo) or with the rankings (dpo); see `tuned`.

        Args:
            changes: to `ChainConfig.aligning`.
        """
        policy, config = deepcopy(base), self.config.aligning(method, changes)
        torch.manual_seed(seed)
        task, batches = (
            self._ppo(policy, config, reward, seed) if method == "ppo" else self._dpo(policy, config, rankings, seed)
        )
        task.seed = seed
        at_step = None if watch is None else lambda step: watch(policy, step)
        train(task, lambda step: task.loss(batches.train(step)), config, at_step)
        return policy

    def _ppo(self, policy: InstructedGPT, config: PPOTraining, reward: RewardModel, seed: int) -> tuple[Any, Any]:
        ids = [row.tolist() for row in self.template.prompts([prompt.prompt for prompt in self.sets.prompts])]
        critic = (
            critic_from(reward) if config.critic == "reward" else make_critic(policy, shared=config.critic == "shared")
        )
        text = mixed_windows(config.pretraining, policy, self.text, seed)
        counts = {"per_rollout": config.prompts, "kept": config.kept, "epochs": config.inner_epochs}
        batches = RolloutBatches(len(ids), 0, **counts, minibatches=config.minibatches, seed=seed, text=text)
        return PPO(policy, critic, config, Prompts(ids, by_reward_model(reward))), batches

    def _dpo(
        self, policy: InstructedGPT, config: DPOTraining, rankings: Sequence[Ranking], seed: int
    ) -> tuple[Any, Any]:
        pairs = token_pairs(self.template, rankings, policy.context)
        reference_log_probs = references(policy, pairs), np.zeros((0, 2), dtype=np.float32)
        return DPO(policy, config), PairBatches(pairs, [], reference_log_probs, batch_size=config.batch_size, seed=seed)

    def _once(self, key: Sequence[object], make: Callable[[], Made]) -> Made:
        name = json.dumps(key)
        if name not in self._cache:
            self._cache[name] = make()
        policy: Made = self._cache[name]
        return policy

    def _drawn(self) -> Sets:
        config = self.config
        sizes = [config.count(number) for number in (config.demonstrations, config.ranked, config.prompts)]
        some = config.count(config.test_prompts)
        ends = np.cumsum(sizes).tolist()
        dialogues = self._fitting("train", ends[-1])
        parts = dialogues[: ends[0]], dialogues[ends[0] : ends[1]], dialogues[ends[1] :]
        sets = Sets(*parts, *(self._fitting(split, some) for split in ("validation", "test", "unseen")))
        if least := [name for name, some in sets._asdict().items() if len(some) < LEAST // 2]:
            raise InputError(
                f"claim.settings: there are too few instructions for {', '.join(least)}; set demonstrations, ranked or "
                "prompts lower, or context higher"
            )
        return sets

    def _fitting(self, split: str, count: int) -> list[Dialogue]:
        """So many dialogues that the context holds, with room for `max_new_tokens` after the prompt; fewer if few fit.

        Kinds that training has in other words are left out.
        """
        context, kept = self.config.context, list[Dialogue]()
        for times in DRAWN:
            drawn = demonstrations(InstructionsConfig(), split, times * count)
            drawn = [dialogue for dialogue in drawn if dialogue.kind != REWORDED]
            prompts = with_room(drawn, self.template, context - self.config.max_new_tokens)
            rows = self.template.rows([prompt.messages for prompt in prompts])
            kept = [prompt for prompt, row in zip(prompts, rows, strict=True) if len(row.ids) <= context][:count]
            if len(kept) == count:
                break
        return kept


def _plain(noise: Any) -> Any:
    return noise.model_dump() if isinstance(noise, NoiseConfig) else noise
