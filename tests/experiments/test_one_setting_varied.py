"""Comparisons: verdicts that follow the numbers, by each YAML's own expectations; YAMLs that say something wrong."""

from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from langladder.experiments.comparison import TRAINING, Comparison, Expectation, Measured, gathered
from langladder.experiments.findings import Findings
from langladder.experiments.language.text_comparison import TextComparison, TextComparisonConfig
from langladder.experiments.translation.translator_comparison import TranslatorComparison, TranslatorComparisonConfig
from langladder.ground.schema import locate
from pipeline import ROOT

SETTINGS: dict[str, Any] = {
    "bases": ["gpt"],
    "variants": {"learned": {}, "none": {"positions": "none"}, "slow": {"lr": 0.001}},
    "expect": [{"each": ["none"], "is": "worse", "than": "learned", "margin": 0.1}],
}
FIVE = np.linspace(-0.02, 0.02, 5)


def settings(**changes: Any) -> TextComparisonConfig:
    return TextComparisonConfig.model_validate(SETTINGS | changes)


def found(name: str, /, **values: list[float]) -> Findings:
    """What conf/experiment/<name>.yaml says to these values of its metric, in order and for every base alike."""
    file = yaml.safe_load((ROOT / "conf" / "experiment" / f"{name}.yaml").read_text(encoding="utf-8"))
    kind = locate(file["_target_"])
    sizes = {"effort": 1.0, "world": "small"}  # what the ladder's size sets
    config = kind.Config.model_validate({key: sizes.get(key, value) for key, value in file["settings"].items()})
    comparison: Comparison[Any] = kind(config)
    names = list(config.changes())
    assert [key.strip("_").replace("_", " ") for key in values] == names
    by = {
        name: Measured(100, dict.fromkeys(comparison.metrics, some))
        for name, some in zip(names, values.values(), strict=True)
    }
    return comparison.findings({comparison.titles[base]: by for base in config.bases})


def five(value: float, wild: float = 1.0) -> list[float]:
    """Of five seeds, in another order for another value."""
    return list(value + wild * np.roll(FIVE, round(100 * value)))


def gpts(bare: list[float], broken: list[float]) -> Findings:
    whole = {"learned_positions": five(8.05), "sinusoidal_positions": five(8.15)}
    return found("gpt_ablations", **whole, no_positions=bare, no_residual_connections=broken)


def heads(one: float, *several: float, wild: float = 1.0) -> Findings:
    rest = {f"_{2**i}": five(loss, wild) for i, loss in enumerate(several, start=1)}
    return found("heads", _1=five(one, wild), **rest)


def cuts(*values: float) -> Findings:
    return found("bptt_length", **{f"_{n}": five(value) for n, value in zip((1, 2, 4, 16, 64), values, strict=True)})


def ablated(positions: float, scaling: float) -> Findings:
    return found("translator_ablations", whole=five(1.05), no_positions=five(positions), no_scaling=five(scaling))


@pytest.mark.parametrize(
    ("findings", "holds"),
    [
        (cuts(20.0, 15.0, 12.0, 10.0, 10.1), True),
        (cuts(20.0, 18.0, 16.0, 12.0, 10.0), False),
        (cuts(10.1, 10.0, 10.0, 10.0, 10.0), False),
        (gpts(five(9.0), five(90.0)), True),
        (gpts(five(8.05), five(90.0)), False),
        (gpts(five(8.2, wild=40), five(90.0)), None),
        (gpts(five(9.0), five(270.0, wild=1000)), True),  # a wild spread of one says nothing of the others
        (heads(2.0, 2.5, 1.5, 2.5), True),
        (heads(2.0, 2.5, 1.99, 2.5, wild=0.1), False),  # better by less than what counts
        (heads(2.0, 2.0, 1.93, 2.0, wild=10), None),
        (ablated(2.0, 1.5), True),
        (ablated(2.0, 1.05), False),
        (ablated(0.9, 1.5), False),
        (found("weight_tying", tied=five(10.0), untied=five(9.95)), True),
        (found("weight_tying", tied=five(10.0), untied=five(9.0)), False),
        (found("weight_tying", tied=five(10.0, wild=20), untied=five(9.95, wild=10)), None),
    ],
)
def test_verdicts_follow_the_numbers(findings: Findings, holds: bool | None) -> None:
    assert findings.holds is holds
    opening = {True: "It holds", False: "It is refuted here", None: "Not tested (too little power"}
    assert findings.verdict.startswith(opening[holds])


def test_four_seeds_are_too_few() -> None:
    few = cuts_of(4)
    assert few.holds is None
    assert few.verdict.startswith("Not tested (4 seeds, 5 are needed")
    assert cuts_of(5).holds is True


def cuts_of(seeds: int) -> Findings:
    rows = zip((1, 2, 4, 16, 64), (20.0, 15.0, 12.0, 10.0, 10.1), strict=True)
    return found("bptt_length", **{f"_{n}": five(value)[:seeds] for n, value in rows})


def test_nothing_is_judged_of_networks_that_have_not_learnt() -> None:
    comparison = TextComparison(settings())
    by = {
        name: Measured(1, {"perplexity": five(value)})
        for name, value in (("learned", 8.0), ("none", 9.0), ("slow", 9.0))
    }
    assert comparison.findings({"GPT": by}, {"perplexity": 9.5}).holds is True
    found = comparison.findings({"GPT": by}, {"perplexity": 8.0})
    assert found.holds is None
    assert "learned has not learnt: its perplexity per token 8 is not below 8" in found.reason
    worse = settings(expect=[{"each": ["none"], "is": "as good", "than": "slow", "margin": 0.1}])
    found = TextComparison(worse).findings({"GPT": by}, {"perplexity": 8.5})
    assert found.holds is None and "slow has not learnt" in found.reason
    better = settings(expect=[{"each": ["learned"], "is": "better", "than": "slow", "margin": 0.1}])
    assert TextComparison(better).findings({"GPT": by}, {"perplexity": 8.5}).holds is True
    best = {name: of_texts(*[share] * 5) for name, share in (("a", 0.6), ("b", 0.5))}
    metric = TranslatorComparison(TranslatorComparisonConfig.model_validate(TWO | {"expect": [B_BETTER]}))
    assert metric._learnt(best, None, "bleu", 0.5).holds is True
    assert metric._learnt(best, None, "bleu", 0.58).holds is None


def test_figures_bear_the_names_of_variant_and_metric() -> None:
    losses = heads(2.0, 2.5, 1.5, 2.5)
    assert losses.figures["1_loss"] == 2.0
    assert losses.figures["4_bleu"] == 1.5
    assert "heads 4 against heads 1 -25.0 % (" in losses.verdict
    tied = found("weight_tying", tied=[10.0], untied=[12.0])
    assert "tied against untied -16.7 % (one seed)" in tied.verdict
    assert tied.figures == {
        f"{base}_{how}_perplexity": value for base in ("lstm", "gpt") for how, value in TIED.items()
    }


TIED = {"tied": 10.0, "untied": 12.0}


@pytest.mark.parametrize(
    ("outcome", "value", "came"),
    [("better", 30.0, True), ("better", 20.1, False), ("worse", 10.0, True), ("as good", 19.9, True)],
)
@pytest.mark.parametrize("counts", [{"margin": 1.0}, {"factor": 1.2}])
def test_of_bleu_more_is_better(outcome: str, value: float, came: bool, counts: dict[str, float]) -> None:
    expected = Expectation.model_validate({"each": ["b"], "is": outcome, "than": "a"} | counts)
    config = TranslatorComparisonConfig.model_validate(TWO | {"expect": [expected.model_dump(by_alias=True)]})
    measured = {"a": Measured(1, {"bleu": five(20.0)}), "b": Measured(1, {"bleu": five(value)})}
    assert TranslatorComparison(config).judged(expected, measured)[0].holds is came


def of_texts(*shares: float) -> Measured:
    """Networks that each get such a share of 500 test texts right."""
    values = [{"bleu": np.arange(500) < 500 * share} for share in shares]
    return gathered(values, ["bleu"], 1)


TWO: dict[str, Any] = {"bases": ["attention"], "variants": {"a": {}, "b": {"width": 8}}, "metric": "bleu"}
B_BETTER = {"each": ["b"], "is": "better", "than": "a", "margin": 0.01}


def judged(outcome: str, first: Measured, second: Measured) -> tuple[bool | None, str]:
    """Whether b is so beside a."""
    expected = Expectation.model_validate({"each": ["b"], "is": outcome, "than": "a", "margin": 0.05})
    config = TranslatorComparisonConfig.model_validate(TWO | {"expect": [expected.model_dump(by_alias=True)]})
    verdict, said = TranslatorComparison(config).judged(expected, {"a": first, "b": second})
    return verdict.holds, said


@pytest.mark.parametrize(
    ("outcome", "share", "came"),
    [
        ("better", 0.9, True),
        ("better", 0.8, False),
        ("worse", 0.7, True),
        ("as good", 0.8, True),
        ("as good", 0.7, False),
    ],
)
def test_where_right_texts_are_kept_an_interval_decides(outcome: str, share: float, came: bool) -> None:
    whole = of_texts(*[0.8] * 5)
    assert whole.values == {"bleu": [0.8] * 5} and whole.right["bleu"].shape == (5, 500)
    found, said = judged(outcome, whole, of_texts(*[share] * 5))
    assert found is came
    assert said.startswith(f"b against a {100 * (share - 0.8):+.1f} points (")


def test_a_network_that_failed_makes_no_other_as_good() -> None:
    """Twice the spread would call 20 points less as good, since one network learnt nothing."""
    whole, failed = of_texts(0.89, 0.88, 0.89, 0.88, 0.89), of_texts(0.58, 0.80, 0.85, 0.80, 0.84)
    for without in ({}, {"right": {}}):
        assert judged("as good", whole._replace(**without), failed._replace(**without))[0] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"variants": {"a": {}, "b": {"positons": "none"}}},
            r"expect: \['learned', 'none'\] is no variant; allowed: a, b",
        ),
        ({"model": {"positons": "none"}}, r"model: 'positons' is no setting of gpt; allowed: .*positions"),
        ({"model": {"lr": 0.1}}, r"model: 'lr' is no setting of gpt"),
        (
            {"variants": SETTINGS["variants"] | {"x": {"patience": 3}}},
            r"x: 'patience' is no setting of gpt; allowed: .*lr",
        ),
        ({"variants": SETTINGS["variants"] | {"x": {"positions": "odd"}}}, r"gpt, x: positions: 'odd' is not allowed"),
        ({"variants": SETTINGS["variants"] | {"x": {"heads": 5}}}, r"gpt, x: .*heads=5"),
        ({"variants": SETTINGS["variants"] | {"x": {"lr": -1.0}}}, r"lr\s.*greater than 0"),
        ({"metric": "blue"}, r"'perplexity'"),
        ({"bases": ["gpt2"]}, r"'lstm' or 'gpt'"),
        ({"vary": {"heads": [1, 2]}}, r"one of the two"),
        ({"variants": {}}, r"one of the two"),
        ({"variants": {"learned": {}}}, r"two or more"),
        ({"variants": {}, "vary": {"heads": [1, 1]}}, r"two or more, each another"),
        ({"variants": {}, "vary": {"heads": [1, 2], "layers": [1]}}, r"as many values .*'heads': 2, 'layers': 1"),
        ({"expect": []}, r"expect\s.*at least 1 item"),
        (
            {"expect": [{"each": ["none"], "is": "odd", "than": "learned", "margin": 0}]},
            r"'better', 'worse' or 'as good'",
        ),
        ({"expect": [{"is": "worse", "than": "learned"}]}, r"name variants in one of the two"),
        (
            {"expect": [{"each": ["none"], "is": "worse", "than": "none", "margin": 0}]},
            r"'none' is compared with itself",
        ),
        ({"expect": [{"each": ["none"], "is": "worse", "than": "learned"}]}, r"which difference counts"),
    ],
)
def test_a_yaml_that_says_something_wrong_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=f"(?s){message}"):
        settings(**changes)


@pytest.mark.parametrize("kind", [TextComparison, TranslatorComparison])
def test_no_setting_is_one_of_the_network_and_of_its_training(kind: Any) -> None:
    for base in kind.titles:
        config = kind.Config.model_construct()
        assert not TRAINING & set(config.small(base)[0].Config.model_fields)


def test_the_effort_scales_the_steps_of_a_variant() -> None:
    assert settings(effort=0.5).training(max_steps=100).max_steps == 50


def test_the_documents_example_is_a_comparison() -> None:
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    (example,) = [block for block in text.split("```yaml\n")[1:] if block.startswith("# conf/experiment/")]
    file = yaml.safe_load(example.partition("```")[0])
    locate(file["_target_"]).Config.model_validate(file["settings"] | {"effort": 1.0})
