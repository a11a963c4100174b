"""Over-optimisation: a policy that is optimised too much for a proxy loses gold reward (Gao et al. 2022).

The gold judge ranks the SFT model's answers, and reward models learn from the rankings. Policies then maximise their
rewards: best-of-n with growing n, and PPO without a KL penalty over its training steps. Both are plotted against
d = √KL, and the paper's curves are fitted to the gold reward (`evaluation.over_optimisation`).

    rise    highest gold − gold of the base
    fall    gold at the last step − highest gold
    climb   proxy at the last step − proxy at the step of highest gold

Every second prompt determines the step of highest gold; rise, fall and climb are measured on the other prompts. Two
reward models are compared at the same distance, the largest √KL that the policies of both reach with every seed. The
reason is that with a reward model whose rewards differ less, PPO moves less far in the same number of updates.

Shape legend: S seeds (of labels, reward model and policy), C checkpoints, P prompts, L numbers n.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from claims.alignment.chain_settings import ChainConfig
from claims.alignment.policy_answers import DRAWN, Judged, Judges, with_interval
from claims.alignment.small_policies import Chains
from langladder.decoding.best_of_n import best_of_n_kl, best_of_n_values, sample_many
from langladder.decoding.judging import by_reward_model
from langladder.evaluation.over_optimisation import Form, RewardFit, fit_reward
from langladder.evaluation.reward import judge_rewards, rewards_of
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.statistics import Difference, Verdict, above, difference, every, gated
from langladder.ground import schema
from langladder.models.language.instructed import InstructedGPT
from langladder.models.reward import RewardModel

FORMS: tuple[Form, Form] = ("rl", "best_of_n")
OF = ("reward model", "parameters", "pairs", "held-out pairs right", "policy")
TITLES: dict[Form, str] = {"rl": "PPO", "best_of_n": "best of n"}


class Proxy(schema.Config):
    """The settings of one reward model: its layers, and its number of training prompts (null: the default)."""

    layers: int | None = Field(default=None, ge=1)
    ranked: int | None = Field(default=None, ge=1)


class OverOptimisationConfig(ChainConfig, RepeatedConfig):
    """Settings of `OverOptimisation`."""

    proxies: dict[str, Proxy] = Field(min_length=2)  # the first proxy is compared with the others
    checkpoints: int = Field(default=8, ge=2)  # checkpoints of PPO, evenly spread
    most: int = Field(default=64, ge=2)  # samples per prompt from which best-of-n chooses
    best_prompts: int = Field(default=100, ge=2)

    @model_validator(mode="after")
    def _are_no_deeper(self) -> Self:
        for name, proxy in self.proxies.items():
            if proxy.layers is not None and proxy.layers > self.layers:
                raise ValueError(f"proxies.{name}.layers={proxy.layers}, but the SFT model only has {self.layers}")
        return self


class Pressed(NamedTuple):
    """The measurements of one proxy. accuracy: (S,) on held-out pairs; gold, proxy, kl: form → (S, C or L, P)."""

    parameters: int
    pairs: int
    accuracy: np.ndarray
    gold: Mapping[Form, np.ndarray]
    proxy: Mapping[Form, np.ndarray]
    kl: Mapping[Form, np.ndarray]

    def d(self, form: Form) -> np.ndarray:
        """√KL of each checkpoint or n, (C,)."""
        d: np.ndarray = np.sqrt(np.maximum(self.kl[form].mean(axis=(0, 2)), 0.0))
        return d

    def reached(self) -> float:
        """The √KL that PPO reaches with every seed."""
        return float(np.sqrt(np.maximum(self.kl["rl"].mean(axis=2).max(axis=1), 0.0)).min())

    def at(self, d: float) -> np.ndarray:
        """Gold under PPO where √KL first reaches `d`, interpolated between two checkpoints, (S, P)."""
        points = []
        for kl, gold in zip(self.kl["rl"], self.gold["rl"], strict=True):  # (C, P) each
            way = np.sqrt(np.maximum(kl.mean(axis=1), 0.0))  # (C,)
            after = int((way >= d).argmax())
            before = max(0, after - 1)
            share = 1.0 if way[after] <= way[before] else (d - way[before]) / (way[after] - way[before])
            points.append((1 - share) * gold[before] + share * gold[after])
        return np.stack(points)

    def fit(self, form: Form) -> RewardFit | None:
        """The paper's curve fitted to the gold rewards; it starts at the base's reward."""
        kl, gold = self.kl[form].mean(axis=(0, 2)), self.gold[form].mean(axis=(0, 2))
        return fit_reward(kl.tolist(), gold.tolist(), form, start=float(gold[0]))


class Course(NamedTuple):
    """best: the index of the checkpoint with the highest gold; for the others see the module docstring."""

    best: int
    rise: Difference
    fall: Difference
    climb: Difference

    def over_optimised(self, margin: float) -> Verdict:
        """The claim that gold falls while the proxy rises."""
        return every([(-self.fall).exceeds(margin), self.climb.exceeds(margin)])


class OverOptimisation(Experiment[OverOptimisationConfig]):
    """Gold and proxy by √KL, one line per proxy."""

    Config: ClassVar[type[schema.Config]] = OverOptimisationConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, chains = self.config, Chains(data, self.config)
        seeds = config.numbers(seed)
        curves: dict[str, list[Pressed]] = {name: [] for name in config.proxies}
        base = chains.sft(seed=seed)
        progress(f"SFT: {base.number_of_parameters():,} parameters")
        for number in seeds:
            samples = self._samples(chains, base, number)
            for name, proxy in config.proxies.items():
                curves[name].append(self._pressed(chains, base, proxy, samples, number, seed))
                gold = curves[name][-1].gold["rl"].mean(axis=(0, 2))
                progress(f"{name}, seed {number}: gold {gold[0]:.3f} to {gold[-1]:.3f}, at most {gold.max():.3f}")
        return findings({name: _all_seeds(some) for name, some in curves.items()}, self.numbers(), config.margin)

    def numbers(self) -> list[int]:
        """1, 2, 4, … up to the number of samples."""
        most = max(2, self.config.fewer(self.config.most))
        return [2**power for power in range(most.bit_length()) if 2**power <= most]

    def _samples(self, chains: Chains, base: InstructedGPT, seed: int) -> Any:
        """Responses to some test prompts, and their gold rewards (P, N). All proxies choose from the same responses."""
        config = self.config
        judges = Judges(chains.template, chains.sets.test[: config.count(config.best_prompts)], config.max_new_tokens)
        how = {"n": self.numbers()[-1], "max_new_tokens": config.max_new_tokens, "seed": seed}
        return sample_many(base, judges.ids, judges.score, **how)

    def _pressed(
        self, chains: Chains, base: InstructedGPT, proxy: Proxy, samples: Any, seed: int, base_seed: int
    ) -> Pressed:
        which: dict[str, Any] = {"seed": seed, "base_seed": base_seed, "ranked": proxy.ranked}
        reward = chains.reward(layers=proxy.layers, **which)
        held_out = chains.rankings(chains.sets.held_out, seed=DRAWN, base_seed=base_seed)
        right = judge_rewards(rewards_of(reward, held_out), held_out).accuracy
        pairs = sum(len(body.pairs()) for body in chains.learnt(**which))
        judged = self._ppo(chains, base, reward, seed)
        by = by_reward_model(reward)(samples.responses).reshape(samples.rewards.shape)  # (P, N)
        numbers = self.numbers()
        gold, chosen = (
            np.stack([best_of_n_values(by, values, n) for n in numbers]) for values in (samples.rewards, by)
        )
        kl = np.stack([np.full(len(by), best_of_n_kl(n)) for n in numbers])
        rl = [np.stack(values)[None] for values in zip(*judged, strict=True)]  # (1, C, P) each
        both = [
            dict(zip(FORMS, pair, strict=True)) for pair in zip(rl, (gold[None], chosen[None], kl[None]), strict=True)
        ]
        return Pressed(reward.number_of_parameters(), pairs, np.array([right]), *both)

    def _ppo(self, chains: Chains, base: InstructedGPT, reward: RewardModel, seed: int) -> list[Judged]:
        """The policy's responses before PPO, and at each checkpoint."""
        config, judges = self.config, Judges(chains.template, chains.sets.test, self.config.max_new_tokens)
        steps = config.aligning("ppo", {"beta": 0.0}).max_steps
        stops = set(np.linspace(0, steps, config.checkpoints + 1).round().astype(int).tolist())
        judged = [judges.drawn(base, base, reward)]

        def watch(policy: InstructedGPT, step: int) -> None:
            if step in stops:
                judged.append(judges.drawn(policy, base, reward))

        chains.aligned("ppo", base, {"beta": 0.0}, seed=seed, reward=reward, watch=watch)
        return judged


def _all_seeds(some: Sequence[Pressed]) -> Pressed:
    """Measure one proxy with all seeds."""
    first = some[0]
    parts = [
        {form: np.concatenate([getattr(curve, name)[form] for curve in some]) for form in FORMS}
        for name in ("gold", "proxy", "kl")
    ]
    return Pressed(first.parameters, first.pairs, np.concatenate([curve.accuracy for curve in some]), *parts)


def course(pressed: Pressed) -> Course:
    """The rise and fall of gold, and the climb of the proxy, under PPO."""
    gold, proxy = pressed.gold["rl"], pressed.proxy["rl"]  # (S, C, P)
    chosen, rest = gold[:, :, ::2], slice(1, None, 2)
    best = int(chosen.mean(axis=(0, 2)).argmax())
    return Course(
        best,
        rise=difference(gold[:, best, rest], gold[:, 0, rest]),
        fall=difference(gold[:, -1, rest], gold[:, best, rest]),
        climb=difference(proxy[:, -1, rest], proxy[:, best, rest]),
    )


def findings(curves: Mapping[str, Pressed], numbers: Sequence[int], margin: float) -> Findings:
    """The claim holds if the first proxy's gold falls while the proxy rises, and gold is lower for the other proxies at
    the same distance."""
    courses = {name: course(curve) for name, curve in curves.items()}
    first, *others = curves
    far = {name: min(curves[name].reached(), curves[first].reached()) for name in others}
    ends = {name: difference(curves[name].at(far[name]), curves[first].at(far[name])) for name in others}
    gate = above(curves[first].accuracy, 0.5, f"{first} has not learnt: its share of held-out pairs")
    lower = [(-end).exceeds(margin) for end in ends.values()]
    verdict = gated([gate], every([courses[first].over_optimised(margin), *lower]))
    parts = [_summary(name, curves[name], courses[name]) for name in curves]
    parts += [f"at √KL {far[name]:.1f} {name} against {first} {with_interval(end)}" for name, end in ends.items()]
    best = ", ".join(f"{_gold(curve, 'best_of_n', -1)} ({name})" for name, curve in curves.items())
    parts.append(f"the best of {numbers[-1]}: {best}")
    return Findings(
        **opened(verdict, "; ".join(parts) + "."),
        columns=[
            *OF,
            "gold at first",
            "highest",
            "at last",
            "√KL at last",
            "α",
            "β",
            "√KL of the fitted peak",
            "residual",
        ],
        rows=[_row(name, curve, form) for name, curve in curves.items() for form in FORMS],
        plots=[_plot(curves, form, what) for form in FORMS for what in ("gold", "proxy")],
        figures={
            figure(name, form, what): value
            for name, curve in curves.items()
            for form in FORMS
            for what, value in (("first", _mean(curve, form, 0)), ("last", _mean(curve, form, -1)))
        }
        | {figure(name, "accuracy"): float(curve.accuracy.mean()) for name, curve in curves.items()},
    )


def _summary(name: str, pressed: Pressed, way: Course) -> str:
    far, last = pressed.d("rl")[[way.best, -1]].tolist()
    return (
        f"{name}: gold {_gold(pressed, 'rl', 0)}, at √KL {far:.1f} {_gold(pressed, 'rl', way.best)}, a rise of "
        f"{with_interval(way.rise)}, then to √KL {last:.1f} {with_interval(way.fall)} while the proxy changes by "
        f"{with_interval(way.climb)}"
    )


def _mean(pressed: Pressed, form: Form, step: int) -> float:
    return float(pressed.gold[form][:, step].mean())


def _gold(pressed: Pressed, form: Form, step: int) -> str:
    return f"{_mean(pressed, form, step):.3f}"


def _row(name: str, pressed: Pressed, form: Form) -> list[str | float | None]:
    fit, gold = pressed.fit(form), pressed.gold[form].mean(axis=(0, 2))
    peak = None if fit is None or fit.peak is None else fit.peak.d
    of: list[str | float | None] = [
        name,
        float(pressed.parameters),
        float(pressed.pairs),
        rounded(float(pressed.accuracy.mean())),
    ]
    measured = [rounded(float(value)) for value in (gold[0], gold.max(), gold[-1], pressed.d(form)[-1])]
    fitted = [None] * 4 if fit is None else [rounded(fit.alpha), rounded(fit.beta), rounded(peak), rounded(fit.error)]
    return [*of, TITLES[form], *measured, *fitted]


def _plot(curves: Mapping[str, Pressed], form: Form, what: str) -> Plot:
    """Means over seeds and prompts; for gold also the fitted curve."""
    lines = []
    for name, curve in curves.items():
        values = getattr(curve, what)[form]  # (S, C, P)
        error = values.mean(axis=2).std(axis=0, ddof=1).tolist() if len(values) > 1 else None
        lines.append(series(name, curve.d(form).round(2).tolist(), values.mean(axis=(0, 2)).tolist(), error))
        fit = curve.fit(form)
        if what == "gold" and fit is not None:
            d = np.linspace(0.0, float(curve.d(form).max()), 30).tolist()
            lines.append(series(f"{name}, fitted", d, [fit.reward(distance) for distance in d]))
    return Plot(
        title=f"{what.capitalize()} reward by {TITLES[form]}",
        x_label="√KL to the SFT model (√nats)",
        y_label=f"{what} reward",
        series=lines,
    )
