"""Policies that differ in one setting, on the same prompts: which of them gets more gold reward, and at which KL and
loss.

    variants: {leash: {ppo: {beta: 0.1}}, none: {ppo: {beta: 0.0}}}     the changes of each variant, see `Variant`

    gold     reward of the gold judge, on test prompts of kinds that are in training
    unseen   the same, on prompts of kinds that are not
    proxy    reward of the variant's reward model
    kl       KL to the base, nats per response
    text     −log P of plain text, nats per token; lower is better

Two variants are compared over seeds and prompts (windows of text), see `comparison`. The probability that one is
preferred to another is P(gold higher) + ½ P(equal). The baseline is a gold reward of `learnt`.

A seed determines labels, reward model and policy. All seeds share the SFT model and the GPT that it starts from.

Shape legend: S seeds, N prompts or windows.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from claims.alignment.chain_settings import ChainConfig
from claims.alignment.policy_answers import Judged, Judges, text_loss
from claims.alignment.prompted_gpt import answered_in_words
from claims.alignment.small_policies import Chains
from claims.comparison import Change, Comparison, Figure, Measure, Measured, Scored
from claims.declaration import ComparisonConfig, Expectation, Metric
from langladder.corpora.instructions.judge import NoiseConfig
from langladder.experiments.experiment import Data
from langladder.experiments.statistics import Verdict
from langladder.ground import schema
from langladder.models.language.instructed import InstructedGPT
from langladder.models.reward import RewardModel


class Variant(schema.Config):
    """A policy.

    Attributes:
        method: plain: the GPT without fine-tuning, given examples and the instruction as text; sft: the base.
        n: of best_of_n. shots: of plain.
        ppo, dpo: changes to the settings of their training.
        width: of the whole chain; null: that of the settings.
        noise: of the labels. ranked: number of labelled prompts. null: those of the settings.
    """

    method: Literal["plain", "sft", "best_of_n", "ppo", "dpo"] = "ppo"
    n: int = Field(default=16, ge=1)
    shots: int = Field(default=2, ge=0)
    ppo: dict[str, object] = Field(default={})
    dpo: dict[str, object] = Field(default={})
    width: int | None = Field(default=None, ge=4)
    noise: NoiseConfig | None = None
    ranked: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _changes_its_own(self) -> Self:
        for method, changes in (("ppo", self.ppo), ("dpo", self.dpo)):
            if changes and self.method != method:
                raise ValueError(f"method={self.method}: {method}={changes} has no effect; remove it")
        return self


class PolicyComparisonConfig(ChainConfig, ComparisonConfig):
    """Settings of `PolicyComparison`."""

    VARIANT = Variant
    bases: list[Literal["policy"]] = Field(default=["policy"], min_length=1)
    metric: Literal["gold", "unseen", "proxy", "kl", "text"] = "gold"
    learnt: float = 0.2  # minimum gold reward of a policy; for empty responses it is about 0
    windows: int = Field(default=200, ge=2)  # windows of plain text, as long as the context

    @model_validator(mode="after")
    def _can_be_aligned(self) -> Self:
        for change in self.variants.values():
            variant = Variant.model_validate(change)
            if variant.method in ("ppo", "dpo"):
                self.aligning(variant.method, getattr(variant, variant.method))
        return self


class PolicyComparison(Comparison[PolicyComparisonConfig]):
    """Measurements of each variant with each seed."""

    Config: ClassVar[type[schema.Config]] = PolicyComparisonConfig
    reads = ("tokens/text",)
    metrics: ClassVar[dict[str, Metric]] = {
        "gold": Metric("gold reward", more_is_better=True),
        "unseen": Metric("gold reward, unseen kinds", more_is_better=True, drawn=False),
        "proxy": Metric("proxy reward", more_is_better=True, drawn=False),
        "kl": Metric("KL to SFT, nats per response", drawn=False),
        "text": Metric("plain text, nats per token", drawn=False),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        del data
        return {"gold": self.config.learnt}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. Every value has one entry per prompt, (N,); NaN if a metric does not apply to the
        policy."""
        config, chains, base_seed = self.config, Chains(data, self.config), seeds[0]

        def trial(_: str, change: Change, seed: int) -> Scored:
            variant = Variant.model_validate(change)
            plainly = variant.method == "plain"  # it needs no SFT model of its width
            base = chains.sft(seed=base_seed, width=None if plainly else variant.width)
            which: dict[str, Any] = {"seed": seed, "base_seed": base_seed, "noise": variant.noise}
            reward = chains.reward(**which, ranked=variant.ranked)
            policy = self._policy(chains, variant, base, reward, which)
            test, unseen = (
                self._answered(chains, variant, policy, base, reward, dialogues, base_seed)
                for dialogues in (chains.sets.test, chains.sets.unseen)
            )
            plain = chains.gpt(seed=base_seed, width=variant.width) if plainly else policy
            windows = max(2, config.fewer(config.windows))
            text = text_loss(plain, data.stream("test"), windows=windows, length=config.context)
            values = {"gold": test.gold, "unseen": unseen.gold, "proxy": test.proxy, "kl": test.kl, "text": text}
            return plain.number_of_parameters(), values

        return trial

    def judged(
        self, expected: Expectation, by: Mapping[str, Measured], *rest: Any, **where: Any
    ) -> tuple[Verdict, list[Figure]]:
        """See `Comparison.judged`; also computes how often an answer is preferred."""
        verdict, figures = super().judged(expected, by, *rest, **where)
        if (expected.metric or self.config.metric) != "gold" or expected.than not in by:
            return verdict, figures
        shares = [preferred(by[figure.variant], by[str(expected.than)]) for figure in figures]
        texts = [f"{figure.text}, preferred in {share:.0%}" for figure, share in zip(figures, shares, strict=True)]
        return verdict, [figure._replace(text=text) for figure, text in zip(figures, texts, strict=True)]

    def _policy(
        self, chains: Chains, variant: Variant, base: InstructedGPT, reward: RewardModel, which: Mapping[str, Any]
    ) -> InstructedGPT:
        if variant.method not in ("ppo", "dpo"):
            return base
        rankings = chains.learnt(**which, ranked=variant.ranked) if variant.method == "dpo" else ()
        how: dict[str, Any] = {"seed": which["seed"], "reward": reward, "rankings": rankings}
        return chains.aligned(variant.method, base, getattr(variant, variant.method), **how)

    def _answered(
        self,
        chains: Chains,
        variant: Variant,
        policy: InstructedGPT,
        base: InstructedGPT,
        reward: RewardModel,
        dialogues: Any,
        base_seed: int,
    ) -> Judged:
        judges = Judges(chains.template, dialogues, self.config.max_new_tokens)
        if variant.method == "best_of_n":
            return judges.best(policy, reward, variant.n)
        if variant.method == "plain":
            gpt, nothing = chains.gpt(seed=base_seed, width=variant.width), np.full(len(dialogues), np.nan)
            demonstrations = chains.sets.demonstrations
            how = {"shots": variant.shots, "max_new_tokens": self.config.max_new_tokens}
            return Judged(answered_in_words(gpt, chains.template, dialogues, demonstrations, **how), nothing, nothing)
        return judges.drawn(policy, base, reward)


def preferred(measured: Measured, other: Measured) -> float:
    """The probability that its answer is preferred: P(gold higher) + ½ P(equal)."""
    ours, theirs = measured.items["gold"], other.items["gold"]
    return float(((ours > theirs) + (ours == theirs) / 2).mean())
