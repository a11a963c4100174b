"""Policies that one setting tells apart, answering the same prompts: which of them earns more gold reward, and at what.

    variants: {leash: {ppo: {beta: 0.1}}, none: {ppo: {beta: 0.0}}}     what each variant changes, see `Variant`
    expect: [{variant: none, is: worse, than: leash, margin: 0.02}]     what must come out, and the least that counts

    gold     reward of the gold judge, test prompts of the kinds that were shown
    unseen   the same of kinds that were not
    proxy    reward of the variant's reward model
    kl       KL to the base, nats a response
    text     −log P of plain text, nats a token; less is better

Two variants are compared in pairs over seeds and prompts (windows of text), see `statistics`. One is preferred to
another with a probability of P(gold higher) + ½ P(equal). Nothing is judged where no variant's gold reward lies above
`learnt`.

Seeds are of labels, reward model and policy; the SFT model, and what it begins from, is the same for all of them.

Shape legend: S seeds, N prompts or windows.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.corpora.instructions.judge import NoiseConfig
from langladder.experiments.alignment.chain_settings import ChainConfig
from langladder.experiments.alignment.policy_answers import Judged, Judges, text_loss
from langladder.experiments.alignment.prompted_gpt import answered_in_words
from langladder.experiments.alignment.small_policies import Chains
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.statistics import LEAST_SEEDS, Difference, Verdict, above, difference, every, gated
from langladder.ground import schema
from langladder.models.language.instructed import InstructedGPT
from langladder.models.reward import RewardModel

Name = Literal["gold", "unseen", "proxy", "kl", "text"]
METRICS: dict[Name, tuple[str, bool]] = {
    "gold": ("gold reward", True),
    "unseen": ("gold reward, unseen kinds", True),
    "proxy": ("proxy reward", True),
    "kl": ("KL to SFT, nats a response", False),
    "text": ("plain text, nats a token", False),
}
"""What is measured: its label, and whether more of it is better."""


class Variant(schema.Config):
    """A policy.

    Attributes:
        method: plain: the GPT without fine-tuning, given examples and the instruction as text; sft: the base.
        n: of best_of_n. shots: of plain.
        ppo, dpo: changes to the settings of their training.
        width: of the whole chain; null: that of the settings.
        noise: of the labels. ranked: prompts that are labelled. null: as the settings have it.
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
                raise ValueError(f"method={self.method}: {method}={changes} changes nothing; take it out")
        return self


class Expected(schema.Config):
    """What must come out of two variants."""

    variant: str
    outcome: Literal["better", "worse", "as good"] = Field(alias="is")
    than: str
    metric: Name = "gold"
    margin: float = Field(ge=0)  # the least difference that counts, in units of the metric

    def judged(self, gain: Difference) -> Verdict:
        """gain: of the variant, positive where it is better."""
        if self.outcome == "as good":
            return gain.within(self.margin)
        return (gain if self.outcome == "better" else -gain).exceeds(self.margin)


class PolicyComparisonConfig(ChainConfig):
    """Settings of `PolicyComparison`."""

    variants: dict[str, Variant] = Field(min_length=2)
    expect: list[Expected] = Field(min_length=1)
    seeds: int = Field(default=LEAST_SEEDS, ge=1, le=100)
    learnt: float = 0.2  # gold reward that the best variant must exceed; of responses that say nothing it is about 0
    windows: int = Field(default=200, ge=2)  # of plain text, as long as the context

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        for one in self.expect:
            if unknown := {one.variant, one.than} - {*self.variants}:
                raise ValueError(f"expect: {sorted(unknown)} is no variant; allowed: {', '.join(self.variants)}")
            if one.variant == one.than:
                raise ValueError(f"expect: {one.variant!r} is compared with itself")
        for variant in self.variants.values():
            if variant.method in ("ppo", "dpo"):
                self.aligning(variant.method, getattr(variant, variant.method))
        return self


class Outcome(NamedTuple):
    """One variant. values: metric → (S, N); NaN where a metric says nothing of it."""

    parameters: int
    values: Mapping[Name, np.ndarray]

    def mean(self, metric: Name) -> float:
        """Over seeds and prompts."""
        return float(self.values[metric].mean())

    def gain(self, other: "Outcome", metric: Name) -> Difference:
        """How much better it is than another, in units of the metric."""
        pair = self.values[metric], other.values[metric]
        return difference(*(pair if METRICS[metric][1] else pair[::-1]))

    def preferred(self, other: "Outcome") -> float:
        """How often its answer is: P(gold higher) + ½ P(equal)."""
        ours, theirs = self.values["gold"], other.values["gold"]
        return float(((ours > theirs) + (ours == theirs) / 2).mean())


class PolicyComparison(Experiment[PolicyComparisonConfig]):
    """Each variant with each seed."""

    Config: ClassVar[type[schema.Config]] = PolicyComparisonConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, chains = self.config, Chains(data, self.config)
        seeds = range(seed, seed + config.fewer(config.seeds))
        found: dict[str, Outcome] = {}
        for name, variant in config.variants.items():
            some = [self._measured(data, chains, variant, number, seed) for number in seeds]
            values = {metric: np.stack([one.values[metric] for one in some]) for metric in METRICS}
            found[name] = Outcome(some[0].parameters, values)
            progress(f"{name}: " + ", ".join(f"{metric} {found[name].mean(metric):.3f}" for metric in METRICS))
        return findings(found, config.expect, config.learnt)

    def _measured(self, data: Data, chains: Chains, variant: Variant, seed: int, base_seed: int) -> Outcome:
        """One policy; values (N,)."""
        config = self.config
        plainly = variant.method == "plain"  # it reads no SFT model of its width
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
        values: dict[Name, np.ndarray] = {"gold": test.gold, "unseen": unseen.gold, "proxy": test.proxy}
        return Outcome(plain.number_of_parameters(), values | {"kl": test.kl, "text": text})

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
            shown = chains.sets.demonstrations
            how = {"shots": variant.shots, "max_new_tokens": self.config.max_new_tokens}
            return Judged(answered_in_words(gpt, chains.template, dialogues, shown, **how), nothing, nothing)
        return judges.drawn(policy, base, reward)


def findings(found: Mapping[str, Outcome], expect: list[Expected], learnt: float) -> Findings:
    """The claim holds where all that is expected comes out."""
    gains = [found[one.variant].gain(found[one.than], one.metric) for one in expect]
    best = max(found.values(), key=lambda one: one.mean("gold"))
    gate = above(best.values["gold"], learnt, "no policy has learnt: the best gold reward")
    verdict = gated([gate], every(one.judged(gain) for one, gain in zip(expect, gains, strict=True)))
    text = "; ".join(_statement(one, gain, found) for one, gain in zip(expect, gains, strict=True)) + "."
    shown: dict[Name, str] = {metric: label for metric, (label, _) in METRICS.items()}
    return Findings(
        **opened(verdict, text),
        columns=["policy", "parameters", *shown.values()],
        rows=[[name, float(one.parameters), *(rounded(one.mean(m)) for m in shown)] for name, one in found.items()],
        plots=[_plot(found, metric) for metric in dict.fromkeys(["gold", *(one.metric for one in expect)])],
        figures={
            figure(name, metric): value
            for name, one in found.items()
            for metric in shown
            if (value := rounded(one.mean(metric))) is not None
        },
    )


def _statement(one: Expected, gain: Difference, found: Mapping[str, Outcome]) -> str:
    ours, theirs = found[one.variant], found[one.than]
    label, more = METRICS[one.metric]
    sign = 1 if more else -1  # as it was measured, not as it is better
    low, high = sorted((sign * gain.low, sign * gain.high))
    text = (
        f"{label}: {one.variant} {ours.mean(one.metric):.3f}, {one.than} {theirs.mean(one.metric):.3f}, "
        f"{sign * gain.mean:+.3f} ({low:+.3f} to {high:+.3f})"
    )
    return text if one.metric != "gold" else f"{text}, preferred in {ours.preferred(theirs):.0%}"


def _plot(found: Mapping[str, Outcome], metric: Name) -> Plot:
    label = METRICS[metric][0]
    halves = []
    for one in found.values():
        interval = difference(one.values[metric], np.zeros_like(one.values[metric]))
        halves.append(interval.half)
    means = [one.mean(metric) for one in found.values()]
    return Plot(
        title=label[0].upper() + label[1:],
        x_label="policy",
        y_label=f"{label}, 95 %",
        series=[series(label, list(found), means, halves)],
    )
