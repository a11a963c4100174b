"""Claims of instructions and preferences: verdicts that follow the numbers, and settings that are refused."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from claims.alignment import over_optimisation
from claims.alignment.over_optimisation import OverOptimisation, OverOptimisationConfig, Pressed, course
from claims.alignment.policy_comparison import PolicyComparison, PolicyComparisonConfig, preferred
from claims.alignment.sft_epochs import Curve, lowest_loss
from langladder.evaluation.over_optimisation import Form
from langladder.experiments.findings import Findings
from langladder.ground.errors import InputError
from pipeline import ROOT
from tests.experiments.declared import comparison, of
from tests.experiments.declared import findings_from as declared

NOISE = np.linspace(-0.01, 0.01, 40)  # of 40 prompts


def settings(name: str) -> dict[str, Any]:
    """Of a file of src/claims/conf/claim, at effort 1."""
    file = yaml.safe_load((ROOT / "src" / "claims" / "conf" / "claim" / f"{name}.yaml").read_text(encoding="utf-8"))
    changes: dict[str, Any] = {"effort": 1.0}
    return dict(file["settings"]) | changes


# ---- over-optimisation ----------------------------------------------------------------------------------------------


def curve(*means: float) -> np.ndarray:
    """(5, C, 40): five seeds, checkpoints of such means."""
    return np.stack([np.stack([mean + NOISE for mean in means])] * 5)


def pressed(gold: tuple[float, ...], proxy: tuple[float, ...] = (0.0, 1.0, 2.0)) -> Pressed:
    forms: tuple[Form, Form] = over_optimisation.FORMS
    kl = curve(0.0, 1.0, 9.0)
    golds, proxies, kls = (dict.fromkeys(forms, values) for values in (curve(*gold), curve(*proxy), kl))
    return Pressed(1000, 600, np.array([0.8] * 5), golds, proxies, kls)


@pytest.mark.parametrize(
    ("first", "other", "proxy", "holds"),
    [
        ((0.5, 0.6, 0.4), (0.5, 0.5, 0.2), (0.0, 1.0, 2.0), True),
        ((0.5, 0.6, 0.6), (0.5, 0.5, 0.2), (0.0, 1.0, 2.0), False),  # never falls
        ((0.5, 0.5, 0.4), (0.5, 0.5, 0.2), (0.0, 1.0, 2.0), True),  # never rises
        ((0.5, 0.6, 0.4), (0.5, 0.6, 0.4), (0.0, 1.0, 2.0), False),  # the other is as good
        ((0.5, 0.6, 0.4), (0.5, 0.5, 0.2), (0.0, 1.0, 1.0), False),  # the proxy does not climb
    ],
)
def test_over_optimisation_follows_the_numbers(
    first: tuple[float, ...], other: tuple[float, ...], proxy: tuple[float, ...], holds: bool
) -> None:
    findings = over_optimisation.findings({"whole": pressed(first, proxy), "few": pressed(other)}, [1, 2, 4], 0.01)
    assert findings.holds is holds
    assert f"{first[0]:.3f}" in findings.verdict and f"{first[-1] - max(first):+.3f}" in findings.verdict
    assert findings.figures["whole_rl_last"] == pytest.approx(first[-1]) and len(findings.rows) == 4


def test_reward_models_are_compared_as_far_from_the_base_and_not_after_as_many_updates() -> None:
    """Gold falls by 0.1 a √nat with one and by 0.2 with the other, whose policy has gone half as far."""
    whole, few = pressed((0.6, 0.5, 0.3)), pressed((0.6, 0.5, 0.4))  # √KL 0, 1, 3
    few.kl["rl"][:] = curve(0.0, 0.25, 1.0)  # √KL 0, 0.5, 1
    assert whole.reached() == pytest.approx(3.0, abs=0.01) and few.reached() == pytest.approx(1.0, abs=0.01)
    assert few.at(1.0).mean() == pytest.approx(0.4) and whole.at(1.0).mean() == pytest.approx(0.5)
    assert whole.at(2.0).mean() == pytest.approx(0.4)
    findings = over_optimisation.findings({"whole": whole, "few": few}, [1, 2, 4], 0.01)
    assert findings.holds is True and "at √KL 1.0 few against whole -0.100" in findings.verdict


def test_where_gold_is_highest_is_chosen_by_other_prompts() -> None:
    """Every second prompt puts the peak at place 1, where the others, which are measured, are low."""
    item = pressed((0.5, 0.5, 0.5))
    item.gold["rl"][:, 1, ::2] += 0.3
    item.gold["rl"][:, 1, 1::2] -= 0.3
    result = course(item)
    assert result.best == 1
    assert result.rise.mean == pytest.approx(-0.3) and result.fall.mean == pytest.approx(0.3)


def test_the_fitted_curve_is_that_of_the_numbers_golden() -> None:
    """R(d) = 0.5 + d (0.3 − 0.1 log d) at d = 0, 1, 3: α and β come back, d* = e^(0.3/0.1 − 1)."""
    gold = tuple(0.5 + d * (0.3 - 0.1 * np.log(max(d, 1e-9))) for d in (0.0, 1.0, 3.0))
    findings = over_optimisation.findings({"one": pressed(gold), "other": pressed((0.5, 0.6, 0.4))}, [1, 2, 4], 0.01)
    row = dict(zip(findings.columns, findings.rows[0], strict=True))
    assert row["policy"] == "PPO"
    assert [row["α"], row["β"]] == pytest.approx([0.3, 0.1], rel=1e-4)
    assert row["√KL of the fitted peak"] == pytest.approx(np.exp(2.0), rel=1e-3)


@pytest.mark.parametrize(("effort", "numbers"), [(1.0, [1, 2, 4, 8, 16, 32]), (0.02, [1, 2]), (0.2, [1, 2, 4])])
def test_numbers_of_best_of_n_double(effort: float, numbers: list[int]) -> None:
    config = OverOptimisationConfig.model_validate(settings("over_optimisation") | {"effort": effort})
    assert OverOptimisation(config).numbers() == numbers


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"proxies": {"one": {}}}, "at least 2"),
        ({"proxies": {"one": {}, "deep": {"layers": 3}}}, "deep.layers=3, but the SFT model only has 2"),
        ({"proxies": {"one": {}, "wide": {"width": 3}}}, "width"),
        ({"checkpoints": 1}, "checkpoints"),
    ],
)
def test_wrong_settings_of_proxies_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValidationError, InputError), match=message):
        OverOptimisationConfig.model_validate(settings("over_optimisation") | wrong)


# ---- policies side by side ------------------------------------------------------------------------------------------


def outcome(**means: float) -> dict[str, np.ndarray]:
    """Five seeds, 40 prompts; metrics that are not given are 0."""
    return {metric: np.stack([means.get(metric, 0.0) + NOISE] * 5) for metric in PolicyComparison.metrics}


def findings_from(name: str, by: Mapping[str, dict[str, np.ndarray]]) -> Findings:
    config = comparison(name).config
    assert set(by) <= set(config.variants)
    return declared(name, {variant: by.get(variant, outcome()) for variant in config.variants}, {"gold": config.learnt})


def compared(name: str, **by: dict[str, float]) -> Findings:
    return findings_from(name, {variant.replace("_", " "): outcome(**means) for variant, means in by.items()})


LEASH = {"SFT": {"gold": 0.5}, "leash": {"gold": 0.6, "proxy": 1.0}}
TAX = {"GPT": {"text": 2.0}, "SFT": {"text": 2.1, "gold": 0.5}, "PPO": {"text": 2.5, "gold": 0.6}}


@pytest.mark.parametrize(
    ("findings", "holds"),
    [
        (compared("without_kl", **LEASH, no_leash={"gold": 0.4, "proxy": 2.0}), True),
        (compared("without_kl", **LEASH, no_leash={"gold": 0.7, "proxy": 2.0}), False),
        (compared("without_kl", **LEASH, no_leash={"gold": 0.4, "proxy": 0.5}), False),
        (compared("dpo_or_ppo", SFT={"gold": 0.5}, PPO={"gold": 0.6}, DPO={"gold": 0.6}), True),
        (compared("dpo_or_ppo", SFT={"gold": 0.5}, PPO={"gold": 0.7}, DPO={"gold": 0.6}), False),
        (compared("dpo_or_ppo", SFT={"gold": 0.6}, PPO={"gold": 0.5}, DPO={"gold": 0.7}), False),
        (
            findings_from(
                "ptx_tax", {**{k: outcome(**v) for k, v in TAX.items()}, "PPO-ptx": outcome(text=2.2, gold=0.6)}
            ),
            True,
        ),
        (
            findings_from(
                "ptx_tax", {**{k: outcome(**v) for k, v in TAX.items()}, "PPO-ptx": outcome(text=2.6, gold=0.6)}
            ),
            False,
        ),
        (
            findings_from(
                "ptx_tax", {**{k: outcome(**v) for k, v in TAX.items()}, "PPO-ptx": outcome(text=2.2, gold=0.5)}
            ),
            False,
        ),
        (compared("unseen_kinds", SFT={"gold": 0.5, "unseen": 0.2}, PPO={"gold": 0.6, "unseen": 0.3}), True),
        (compared("unseen_kinds", SFT={"gold": 0.5, "unseen": 0.2}, PPO={"gold": 0.6, "unseen": 0.2}), False),
        (
            compared("label_noise", none={"gold": 0.7}, a_tenth={"gold": 0.7}, four_tenths={"gold": 0.6}),
            True,
        ),
        (compared("label_noise", none={"gold": 0.7}, a_tenth={"gold": 0.6}, four_tenths={"gold": 0.5}), False),
        (compared("label_noise", none={"gold": 0.7}, a_tenth={"gold": 0.7}, four_tenths={"gold": 0.7}), False),
        (
            findings_from(
                "small_aligned_large_plain",
                {"large, plain": outcome(gold=0.1), "small, SFT": outcome(gold=0.3), "small, PPO": outcome(gold=0.4)},
            ),
            True,
        ),
        (
            findings_from(
                "small_aligned_large_plain",
                {"large, plain": outcome(gold=0.4), "small, SFT": outcome(gold=0.3), "small, PPO": outcome(gold=0.4)},
            ),
            False,
        ),
        (
            findings_from(
                "small_aligned_large_plain",
                {"large, plain": outcome(gold=0.1), "small, SFT": outcome(gold=0.4), "small, PPO": outcome(gold=0.4)},
            ),
            False,  # PPO adds nothing
        ),
    ],
)
def test_verdicts_of_policies_follow_the_numbers(findings: Findings, holds: bool) -> None:
    assert findings.holds is holds
    assert findings.verdict.startswith("It holds" if holds else "It is refuted here")


def test_nothing_is_judged_of_policies_that_have_not_learnt() -> None:
    findings = compared("unseen_kinds", SFT={"gold": 0.05, "unseen": 0.0}, PPO={"gold": 0.15, "unseen": 0.1})
    assert findings.holds is None and "PPO has not learnt: its gold reward 0.15 is not above 0.2" in findings.reason


def test_higher_loss_is_worse_and_reported_as_measured() -> None:
    result = findings_from("ptx_tax", {name: outcome(**means) for name, means in TAX.items()})
    assert ("plain text, nats per token, PPO against SFT", 0.4) in [(item.what, item.mean) for item in result.rests_on]
    assert result.rests_on[0].mean == pytest.approx(0.4)  # in favour of the claim: PPO is worse


def test_how_often_an_answer_is_preferred_golden() -> None:
    """Of four prompts one is won, two are equal, one is lost: (1 + 2/2) / 4."""
    item, other = (of({"gold": np.array([row])}) for row in ([1.0, 0.5, 0.5, 0], [0, 0.5, 0.5, 1]))
    assert preferred(item, other) == 0.5
    findings = compared("dpo_or_ppo", SFT={"gold": 0.5}, PPO={"gold": 0.6}, DPO={"gold": 0.7})
    assert "0.700 (DPO) against 0.600 (PPO), 0.100 apart in every seed, preferred in 100%" in findings.verdict


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"variants": {"SFT": {"method": "sft"}}}, "two or more"),
        ({"variants": {"SFT": {"method": "sft"}, "PPO": {"ppo": {"clip": 2}}}}, "clip"),
        ({"variants": {"SFT": {"method": "sft", "ppo": {"beta": 1}}, "PPO": {}}}, "has no effect"),
        ({"expect": [{"each": ["SFT"], "is": "better", "than": "XPO", "margin": 0}]}, "'XPO'.*not a variant"),
        ({"expect": [{"each": ["SFT"], "is": "better", "than": "SFT", "margin": 0}]}, "compared with itself"),
        ({"expect": [{"each": ["SFT"], "is": "better", "than": "PPO", "metric": "bleu", "margin": 0}]}, "metric"),
        ({"expect": [{"each": ["SFT"], "is": "nicer", "than": "PPO", "margin": 0}]}, "better"),
    ],
)
def test_wrong_settings_of_comparisons_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValidationError, InputError), match=message):
        PolicyComparisonConfig.model_validate(settings("unseen_kinds") | wrong)


# ---- epochs of SFT --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "gold", "fell", "holds"),
    [
        (1.2, 0.5, 0.9, True),
        (0.9, 0.5, 0.9, False),  # never overfits
        (1.2, 0.3, 0.9, False),  # no gain
        (1.2, 0.1, 0.9, False),
        (1.2, 0.5, 0.0, None),  # learnt nothing
    ],
)
def test_epochs_of_sft_follow_the_numbers(loss: float, gold: float, fell: float, holds: bool | None) -> None:
    cells = {
        "lowest": {"loss": 1.0 + np.stack([NOISE] * 5), "gold": 0.3 + np.stack([NOISE] * 5)},
        "last": {"loss": loss + np.stack([NOISE] * 5), "gold": gold + np.stack([NOISE] * 5), "fell": [fell] * 5},
    }
    findings = declared("sft_epochs", cells)
    assert findings.holds is holds
    assert findings.rests_on[0].mean == pytest.approx(loss - 1)


def test_where_the_loss_is_lowest_is_chosen_by_every_second_dialogue_over_all_seeds() -> None:
    def trial(*chosen: float) -> Curve:
        loss = np.stack([np.where(np.arange(6) % 2, 0.0, value) for value in chosen])  # the others would say another
        return Curve([1.0, 2.0, 3.0], loss, loss, np.zeros(3))

    assert lowest_loss([trial(3.0, 1.0, 2.0), trial(3.0, 2.5, 2.0)]) == 1


# ---- pairs together or apart ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("joint", "apart", "right", "holds"),
    [(0.5, 0.9, 0.8, True), (0.5, 0.5, 0.8, False), (0.9, 0.5, 0.8, False), (0.5, 0.9, 0.5, None)],
)
def test_pairs_together_follow_the_numbers(joint: float, apart: float, right: float, holds: bool | None) -> None:
    noise = np.stack([NOISE] * 5)
    cells = {
        name: {"loss": loss + noise, "best": [right] * 5} for name, loss in (("together", joint), ("apart", apart))
    }
    findings = declared("ranking_pairs", cells)
    assert findings.holds is holds
    assert f"{apart:.3f} (apart) against {joint:.3f} (together), {abs(apart - joint):.3f} apart" in findings.verdict
