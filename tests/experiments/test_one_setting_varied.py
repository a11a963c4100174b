"""Comparisons: verdicts that follow the numbers, by each YAML's own expectations; YAMLs that say something wrong."""

from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from langladder.experiments.comparison import TRAINING, Comparison, Expectation, Measured, gathered
from langladder.experiments.findings import Findings
from langladder.experiments.text_comparison import TextComparison, TextComparisonConfig
from langladder.experiments.translator_comparison import TranslatorComparison, TranslatorComparisonConfig
from langladder.ground.schema import locate
from pipeline import ROOT

SETTINGS: dict[str, Any] = {
    "bases": ["gpt"],
    "variants": {"learned": {}, "none": {"positions": "none"}, "slow": {"lr": 0.001}},
    "expect": [{"each": ["none"], "is": "worse", "than": "learned"}],
}


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


def gpts(bare: list[float], broken: list[float]) -> Findings:
    whole = {"learned_positions": [8.0, 8.1], "sinusoidal_positions": [8.1, 8.2]}
    return found("gpt_ablations", **whole, no_positions=bare, no_residual_connections=broken)


def heads(one: float, *several: float) -> Findings:
    return found("heads", _1=[one, one + 0.1], **{f"_{2**i}": [loss, loss] for i, loss in enumerate(several, start=1)})


def cuts(*values: float) -> Findings:
    return found("bptt_length", **{f"_{n}": [value] for n, value in zip((1, 2, 4, 16, 64), values, strict=True)})


@pytest.mark.parametrize(
    ("findings", "holds"),
    [
        (cuts(20.0, 15.0, 12.0, 10.0, 10.1), True),
        (cuts(20.0, 18.0, 16.0, 12.0, 10.0), False),
        (cuts(10.1, 10.0, 10.0, 10.0, 10.0), False),
        (gpts([9.0, 9.0], [90.0, 90.0]), True),
        (gpts([8.1, 8.2], [90.0, 90.0]), False),
        (
            gpts([9.0, 9.1], [250.0, 300.0]),
            True,
        ),  # a wild spread of one says nothing of the others
        (heads(2.0, 2.5, 1.5, 2.5), True),
        (heads(2.0, 2.5, 1.95, 2.5), False),
        (found("translator_ablations", whole=[1.0, 1.1], no_positions=[2.0, 2.0], no_scaling=[1.5, 1.5]), True),
        (found("translator_ablations", whole=[1.0, 1.1], no_positions=[2.0, 2.0], no_scaling=[1.1, 1.1]), False),
        (found("translator_ablations", whole=[1.0, 1.1], no_positions=[0.9, 0.9], no_scaling=[1.5, 1.5]), False),
        (found("weight_tying", tied=[10.0, 10.0], untied=[10.0, 9.9]), True),
        (found("weight_tying", tied=[10.0, 10.0], untied=[9.0, 9.0]), False),
    ],
)
def test_verdicts_follow_the_numbers(findings: Findings, holds: bool) -> None:
    assert findings.holds is holds
    assert findings.verdict.startswith("It holds" if holds else "It does not hold")


def test_figures_bear_the_names_of_variant_and_metric() -> None:
    losses = heads(2.0, 2.5, 1.5, 2.5)
    assert losses.figures["1_loss"] == 2.05
    assert losses.figures["4_bleu"] == 1.5
    assert "heads 4 against heads 1 -0.550, where 0.141 is what seeds may make" in losses.verdict
    tied = found("weight_tying", tied=[10.0], untied=[12.0])
    assert tied.figures == {
        f"{base}_{how}_perplexity": value for base in ("lstm", "gpt") for how, value in TIED.items()
    }


TIED = {"tied": 10.0, "untied": 12.0}


@pytest.mark.parametrize(
    ("outcome", "value", "came"),
    [("better", 30.0, True), ("better", 20.1, False), ("worse", 10.0, True), ("as good", 19.9, True)],
)
@pytest.mark.parametrize("factor", [None, 1.2])
def test_of_bleu_more_is_better(outcome: str, value: float, came: bool, factor: float | None) -> None:
    expected = Expectation.model_validate({"each": ["b"], "is": outcome, "than": "a", "factor": factor})
    values = {"bases": ["attention"], "variants": {"a": {}, "b": {"width": 8}}, "metric": "bleu"}
    config = TranslatorComparisonConfig.model_validate(values | {"expect": [expected.model_dump(by_alias=True)]})
    measured = {"a": Measured(1, {"bleu": [19.5, 20.5]}), "b": Measured(1, {"bleu": [value]})}
    assert TranslatorComparison(config).judged(expected, measured)[0] is came


def of_texts(*shares: float) -> Measured:
    """Networks that each get such a share of 500 test texts right."""
    values = [{"bleu": np.arange(500) < 500 * share} for share in shares]
    return gathered(values, ["bleu"], 1)


def judged(outcome: str, first: Measured, second: Measured) -> tuple[bool, str]:
    """Whether b is so beside a."""
    expected = Expectation.model_validate({"each": ["b"], "is": outcome, "than": "a"})
    values = {"bases": ["attention"], "variants": {"a": {}, "b": {"width": 8}}, "metric": "bleu"}
    config = TranslatorComparisonConfig.model_validate(values | {"expect": [expected.model_dump(by_alias=True)]})
    return TranslatorComparison(config).judged(expected, {"a": first, "b": second})


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
    whole = of_texts(0.8, 0.8)
    assert whole.values == {"bleu": [0.8, 0.8]} and whole.right["bleu"].shape == (2, 500)
    found, said = judged(outcome, whole, of_texts(share, share))
    assert found is came
    assert said.startswith(f"b against a {100 * (share - 0.8):+.1f} points (")


def test_a_network_that_failed_makes_no_other_as_good() -> None:
    """Twice the spread would call 20 points less as good, since one network of two learnt nothing."""
    whole, failed = of_texts(0.89, 0.88), of_texts(0.58, 0.80)
    assert judged("as good", whole, failed)[0] is False
    assert judged("as good", whole._replace(right={}), failed._replace(right={}))[0] is True


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
        ({"expect": [{"each": ["none"], "is": "odd", "than": "learned"}]}, r"'better', 'worse' or 'as good'"),
        ({"expect": [{"is": "worse", "than": "learned"}]}, r"name variants in one of the two"),
        ({"expect": [{"each": ["none"], "is": "worse", "than": "none"}]}, r"'none' is compared with itself"),
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
