"""Comparisons: verdicts that follow the numbers, by each YAML's own expectations; YAMLs that say something wrong."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from claims.comparison import Comparison, Measure, Measured, gathered
from claims.declaration import TRAINING, ComparisonConfig, Expectation, Metric
from claims.language.text_comparison import TextComparison, TextComparisonConfig
from claims.translation.translator_comparison import TranslatorComparison, TranslatorComparisonConfig
from langladder.experiments.experiment import Data
from langladder.experiments.findings import Findings
from langladder.ground.errors import InputError
from langladder.ground.schema import Config, locate
from pipeline import ROOT
from tests.experiments.declared import comparison, five
from tests.experiments.declared import findings_from as declared

SETTINGS: dict[str, Any] = {
    "bases": ["gpt"],
    "variants": {"learned": {}, "none": {"positions": "none"}, "slow": {"lr": 0.001}},
    "expect": [{"each": ["none"], "is": "worse", "than": "learned", "margin": 0.1}],
}


def settings(**changes: Any) -> TextComparisonConfig:
    return TextComparisonConfig.model_validate(SETTINGS | changes)


def findings_from(name: str, /, **values: list[float]) -> Findings:
    """What conf/claim/<name>.yaml says to these values of all its metrics, in order and for every base alike."""
    experiment = comparison(name)
    names = list(experiment.config.changes())
    assert [key.strip("_").replace("_", " ") for key in values] == names
    cells = {name: dict.fromkeys(experiment.metrics, some) for name, some in zip(names, values.values(), strict=True)}
    return declared(name, cells)


def gpts(bare: list[float], broken: list[float]) -> Findings:
    return findings_from(
        "gpt_ablations", learned_positions=five(8.05), no_positions=bare, no_residual_connections=broken
    )


def heads(item: float, *several: float, wild: float = 0.02) -> Findings:
    rest = {f"_{2**i}": five(loss, wild) for i, loss in enumerate(several, start=1)}
    return findings_from("heads", _1=five(item, wild), **rest)


def cuts(*values: float) -> Findings:
    return findings_from("bptt_length", **{f"_{n}": five(value) for n, value in zip((1, 16, 64), values, strict=True)})


def ablated(positions: float, scaling: float) -> Findings:
    return findings_from(
        "translator_ablations", whole=five(1.05), no_positions=five(positions), no_scaling=five(scaling)
    )


def narrowed(without: float, half: float) -> Findings:
    rest = {"no_norm": five(without), "half_the_width": five(half), "twice_the_width": five(0.9)}
    return findings_from("translator_norm_width", norms_before=five(1.05), norms_after=five(1.2), **rest)


@pytest.mark.parametrize(
    ("findings", "holds"),
    [
        (cuts(20.0, 10.0, 10.1), True),
        (cuts(20.0, 12.0, 10.0), False),
        (cuts(10.1, 10.0, 10.0), False),
        (gpts(five(9.0), five(90.0)), True),
        (gpts(five(8.05), five(90.0)), False),
        (gpts(five(8.2, wild=0.8), five(90.0)), None),
        (gpts(five(9.0), five(270.0, wild=20)), True),  # a wild spread of one says nothing of the others
        (heads(2.0, 2.5, 1.5, 2.5), True),
        (heads(2.0, 2.5, 1.99, 2.5, wild=0.002), False),  # better by less than what counts
        (heads(2.0, 2.0, 1.93, 2.0, wild=0.2), None),
        (ablated(2.0, 1.5), True),
        (narrowed(2.0, 1.5), True),
        (narrowed(1.0, 1.5), False),
        (ablated(2.0, 1.05), False),
        (ablated(0.9, 1.5), False),
        (findings_from("weight_tying", tied=five(10.0), untied=five(9.95)), True),
        (findings_from("weight_tying", tied=five(10.0), untied=five(9.0)), False),
        (findings_from("weight_tying", tied=five(10.0, wild=0.4), untied=five(9.95, wild=0.2)), None),
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
    rows = zip((1, 16, 64), (20.0, 10.0, 10.1), strict=True)
    return findings_from("bptt_length", **{f"_{n}": five(value)[:seeds] for n, value in rows})


def test_nothing_is_judged_of_networks_that_have_not_learnt() -> None:
    text = TextComparison(settings())
    by = {
        name: Measured(1, {"perplexity": five(value)})
        for name, value in (("learned", 8.0), ("none", 9.0), ("slow", 9.0))
    }
    assert text.findings({"GPT": by}, {"perplexity": 9.5}).holds is True
    findings = text.findings({"GPT": by}, {"perplexity": 8.0})
    assert findings.holds is None
    assert "learned has not learnt: its perplexity per token 8 is not below 8" in findings.reason
    worse = settings(expect=[{"each": ["none"], "is": "as good", "than": "slow", "margin": 0.1}])
    findings = TextComparison(worse).findings({"GPT": by}, {"perplexity": 8.5})
    assert findings.holds is None and "slow has not learnt" in findings.reason
    better = settings(expect=[{"each": ["learned"], "is": "better", "than": "slow", "margin": 0.1}])
    assert TextComparison(better).findings({"GPT": by}, {"perplexity": 8.5}).holds is True
    best = {name: of_texts(*[share] * 5) for name, share in (("a", 0.6), ("b", 0.5))}
    metric = TranslatorComparison(TranslatorComparisonConfig.model_validate(TWO | {"expect": [B_BETTER]}))
    assert metric._has_learnt(best, None, "bleu", 0.5).holds is True
    assert metric._has_learnt(best, None, "bleu", 0.58).holds is None


def test_figures_bear_the_names_of_variant_and_metric() -> None:
    losses = heads(2.0, 2.5, 1.5, 2.5)
    assert losses.figures["1_loss"] == 2.0
    assert losses.figures["4_bleu"] == 1.5
    assert "loss per token: 1.500 (heads 4) against 2.000 (heads 1), 33.3 % apart (" in losses.verdict
    assert losses.verdict.endswith("; 5 seeds, 95 % intervals.")
    tied = findings_from("weight_tying", tied=[10.0], untied=[12.0])
    assert "10.000 (LSTM tied) against 12.000 (untied), 20.0 % apart; 10.000 (GPT tied)" in tied.verdict
    assert tied.verdict.endswith("; one seed.")
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
    verdict, (figure,) = TranslatorComparison(config).judged(expected, {"a": first, "b": second})
    return verdict.holds, figure.text


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
    assert whole.values == {"bleu": [0.8] * 5} and whole.items["bleu"].shape == (5, 500)
    result, text = judged(outcome, whole, of_texts(*[share] * 5))
    assert result is came
    assert text.startswith(f"{share:.3f} (b) against 0.800 (a), {100 * abs(share - 0.8):.1f} points apart (")


def test_of_some_that_are_picked_from_each_interval_is_wider() -> None:
    three = TWO | {"variants": {"a": {}, "b": {"width": 8}, "c": {"width": 12}}}
    by = {name: Measured(1, {"bleu": five(value)}) for name, value in (("a", 20.0), ("b", 20.41), ("c", 20.72))}
    halves = []
    for names in ({"each": ["b", "c"]}, {"some": ["b", "c"]}):
        expected = Expectation.model_validate({**names, "is": "better", "than": "a", "margin": 0.1})
        config = TranslatorComparisonConfig.model_validate(three | {"expect": [expected.model_dump(by_alias=True)]})
        verdict, _ = TranslatorComparison(config).judged(expected, by)
        halves.append([item.difference.half for item in verdict.rests_on])
    assert all(picked > 1.2 * alone > 0 for alone, picked in zip(*halves, strict=True))


def test_a_network_that_failed_makes_no_other_as_good() -> None:
    """Twice the spread would call 20 points less as good, since one network learnt nothing."""
    whole, failed = of_texts(0.89, 0.88, 0.89, 0.88, 0.89), of_texts(0.58, 0.80, 0.85, 0.80, 0.84)
    for without in ({}, {"items": {}}):
        assert judged("as good", whole._replace(**without), failed._replace(**without))[0] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"variants": {"a": {}, "b": {"positons": "none"}}},
            r"expect: \['learned', 'none'\] is not a variant; allowed: a, b",
        ),
        ({"model": {"positons": "none"}}, r"model: 'positons' is not a setting of gpt; allowed: .*positions"),
        ({"model": {"lr": 0.1}}, r"model: 'lr' is not a setting of gpt"),
        (
            {"variants": SETTINGS["variants"] | {"x": {"patience": 3}}},
            r"x: 'patience' is not a setting of gpt; allowed: .*lr",
        ),
        ({"variants": SETTINGS["variants"] | {"x": {"positions": "odd"}}}, r"gpt, x: positions: 'odd' is not allowed"),
        ({"variants": SETTINGS["variants"] | {"x": {"heads": 5}}}, r"gpt, x: .*heads=5"),
        ({"variants": SETTINGS["variants"] | {"x": {"lr": -1.0}}}, r"lr\s.*greater than 0"),
        ({"metric": "blue"}, r"'perplexity'"),
        ({"bases": ["gpt2"]}, r"'lstm' or 'gpt'"),
        ({"vary": {"heads": [1, 2]}}, r"give either variants"),
        ({"variants": {}}, r"give either variants"),
        ({"variants": {"learned": {}}}, r"two or more"),
        ({"variants": {}, "vary": {"heads": [1, 1]}}, r"two or more different ones"),
        (
            {"variants": {}, "vary": {"heads": [1, 2], "layers": [1]}},
            r"the same number of values.*'heads': 2, 'layers': 1",
        ),
        ({"expect": []}, r"expect\s.*at least 1 item"),
        (
            {"expect": [{"each": ["none"], "is": "odd", "than": "learned", "margin": 0}]},
            r"'better', 'worse', 'as good' or 'no better'",
        ),
        ({"expect": [{"is": "worse", "than": "learned"}]}, r"list variants in one of the two"),
        (
            {"expect": [{"each": ["none"], "is": "worse", "than": "none", "margin": 0}]},
            r"'none' is compared with itself",
        ),
        ({"expect": [{"each": ["none"], "is": "worse", "than": "learned"}]}, r"exactly one of the two"),
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
    text = (ROOT / "docs" / "adding-a-claim.md").read_text(encoding="utf-8")
    (example,) = [block for block in text.split("```yaml\n")[1:] if block.startswith("# src/claims/conf/claim/")]
    file = yaml.safe_load(example.partition("```")[0])
    locate(file["_target_"]).Config.model_validate(file["settings"] | {"effort": 1.0})


# ---- experiments of their own


class ToyVariant(Config):
    """What varies."""

    dose: float = 0.0


class ToyConfig(ComparisonConfig):
    """Settings of `Toy`."""

    VARIANT = ToyVariant
    metric: Literal["score", "cost", "seconds"] = "score"


class Toy(Comparison[ToyConfig]):
    """Measures a known function: score = dose + seed / 100, no number at a dose of 13."""

    Config: ClassVar[type[Config]] = ToyConfig
    titles: Mapping[Any, str] = {"one": "One", "other": "Other"}
    metrics: ClassVar[dict[str, Metric]] = {
        "score": Metric("score", more_is_better=True),
        "cost": Metric("cost", drawn=False),
        "way": Metric("height", along="step", log="y"),
        "seconds": Metric("seconds", clock=True),
    }

    def levels(self, data: Data) -> dict[str, float]:
        del data
        return {"score": 0.5}

    def measure(self, data: Data, seeds: range) -> Measure:
        del data

        def trial(base: Any, change: Mapping[str, Any], seed: int) -> Any:
            dose = ToyVariant(**change).dose
            lost = dose == 13 and seed < seeds[0] + 2
            score = math.nan if lost else dose + seed / 100 + (base == "other")
            return 0, {"score": score, "cost": -dose, "way": {1: dose, 2: 1.0 + seed}, "seconds": 2 * dose + seed / 10}

        return trial


def toy(*expect: dict[str, Any], **changes: Any) -> Findings:
    """Doses 1, 2, 3 and 13, by the very code that the YAMLs run."""
    first = {"each": ["2"], "is": "better", "than": "1", "margin": 0.1}
    values: dict[str, Any] = {"bases": ["one"], "what": "dose", "vary": {"dose": [1, 2, 3, 13]}}
    values["expect"] = list(expect) or [first]
    config = ToyConfig.model_validate(values | changes)
    return Toy(config).run(Data(), seed=1, progress=lambda _: None)


@pytest.mark.parametrize(
    ("expected", "holds"),
    [
        ({"each": ["2"], "is": "better", "than": "1", "margin": 0.1}, True),
        ({"each": ["1"], "is": "better", "than": "2", "margin": 0.1}, False),
        ({"each": ["2", "3"], "is": "better", "than": "the one before", "margin": 0.1}, True),
        ({"each": ["2", "3"], "is": "worse", "than": "the one before", "margin": 0.1}, False),
        ({"each": ["1"], "is": "better", "than": 0.9, "margin": 0}, True),
        ({"each": ["1"], "is": "worse", "than": 0.9, "margin": 0}, False),
        ({"each": ["1"], "is": "better", "than": "baseline", "margin": 0}, True),
        ({"each": ["1"], "is": "no better", "than": "baseline", "margin": 0.1}, False),
        ({"each": ["1"], "is": "no better", "than": 1.02, "margin": 0.1}, True),
        ({"each": ["2"], "is": "better", "than": "1", "metric": "cost", "margin": 0}, True),
        ({"some": ["1", "3"], "is": "better", "than": "2", "margin": 0.1}, True),
        ({"each": ["3"], "is": "as good", "than": "best", "margin": 0.1}, True),  # at 13 runs are lost
        ({"each": ["1"], "is": "as good", "than": "best", "margin": 0.1}, False),
    ],
)
def test_every_verdict_is_reached_by_declaration(expected: dict[str, Any], holds: bool | None) -> None:
    assert toy(expected).holds is holds


def test_a_variant_is_compared_with_the_same_variant_of_another_base() -> None:
    worse = {"of": ["one"], "each": ["1", "2"], "is": "worse", "than": "other", "margin": 0.5}
    result = toy(worse, bases=["one", "other"])
    assert result.holds is True and "1.030 (One dose 1) against 2.030 (Other), 1.000 apart" in result.verdict
    assert "Other dose" not in result.verdict  # of the other nothing is expected
    assert toy(worse | {"is": "better"}, bases=["one", "other"]).holds is False


def test_without_its_conditions_a_claim_has_no_verdict() -> None:
    condition = {"each": ["1"], "is": "better", "than": 0.9, "margin": 0}
    assert toy(given=[condition]).holds is True
    result = toy(given=[condition | {"than": 1.5}])
    assert result.holds is None
    assert result.reason.startswith("score: 1.030 (dose 1) against 1.5, 0.470 apart (")
    assert "where better is needed" in result.reason


def test_a_condition_guards_the_expectations_of_its_base_alone() -> None:
    """What is refuted of another base is refuted; a base that is compared with the one in the condition is guarded."""
    worse = {"of": ["other"], "each": ["2"], "is": "worse", "than": "1", "margin": 0.1}
    condition = {"of": ["one"], "each": ["1"], "is": "better", "than": 1.5, "margin": 0}
    better = {"of": ["one"], "each": ["2"], "is": "better", "than": "1", "margin": 0.1}
    both = ["one", "other"]
    assert toy(better, worse, bases=both, given=[condition]).holds is False
    assert toy(better, worse | {"is": "better"}, bases=both, given=[condition]).holds is None
    assert toy(worse | {"is": "better"}, bases=both, given=[condition]).holds is True
    assert toy(worse | {"than": "one", "is": "better"}, bases=both, given=[condition]).holds is None


@pytest.mark.parametrize(
    ("name", "better", "worse"),
    [
        ("depth", "two layers", "one layer"),
        ("directions", "both directions", "forwards"),
        ("word_order", "LSTM", "mean of embeddings"),
    ],
)
def test_where_two_arms_exchange_their_data_the_verdict_turns(name: str, better: str, worse: str) -> None:
    experiment = comparison(name)
    metric = experiment.config.metric
    cells = {variant: {metric: five(0.6, 0.01)} for variant in experiment.config.changes()}
    cells |= {better: {metric: five(0.8, 0.01)}, worse: {metric: five(0.6, 0.01)}}
    assert declared(name, cells).holds is True
    assert declared(name, cells | {better: cells[worse], worse: cells[better]}).holds is False


def test_a_share_of_the_runs_has_wilsons_interval() -> None:
    """All of five runs: at least 57 % of all runs, and not 100 % for certain."""
    runs = Measured(0, {"diverged": [1.0] * 5})
    experiment = comparison("clipping")
    expected = Expectation.model_validate(
        {"each": ["never"], "is": "worse", "than": 0, "metric": "diverged", "margin": 0}
    )
    (judged,) = experiment.judged(expected, {"never": runs})[0].rests_on
    assert (judged.difference.low, judged.difference.high) == pytest.approx((0.5655, 1.0), abs=1e-4)


def test_a_sentence_has_the_figures_that_decide() -> None:
    """Those of the verdict's outcome, of these the least sure ones, and no figure twice."""
    expected = [
        {"each": ["2", "3"], "is": "better", "than": "1", "margin": 0.1},
        {"each": ["3"], "is": "better", "than": "2", "margin": 0.1},
        {"each": ["2", "3"], "is": "better", "than": 0.5, "margin": 0.1},
    ]
    result = toy(*expected)
    assert result.verdict.count("apart") == 3 and len(result.rests_on) == 5
    wrong = {"each": ["1"], "is": "better", "than": "2", "margin": 0.1}
    assert toy(*expected, wrong).verdict == (
        "It is refuted here: score: 1.030 (dose 1) against 2.030 (dose 2), 1.000 apart in every seed; "
        "5 seeds, 95 % intervals; 2 of 20 runs have no score."
    )


def test_four_seeds_judge_nothing_and_say_so() -> None:
    result = toy(seeds=4)
    assert (result.holds, result.rests_on[0].seeds) == (None, 4) and "4 seeds, 5 are needed" in result.reason


def test_runs_without_a_number_are_left_out_and_counted() -> None:
    result = toy({"each": ["13"], "is": "better", "than": "1", "margin": 0.1})
    assert result.holds is None and "3 seeds, 5 are needed" in result.reason
    assert "2 of 20 runs have no score" in result.verdict
    assert result.columns[-1] == "runs left out" and [row[-1] for row in result.rows] == [0.0, 0.0, 0.0, 2.0]
    assert result.rows[-1][2] == pytest.approx(13.04)  # of those that are left
    assert "13_score" not in result.figures and result.figures["3_score"] == pytest.approx(3.03)
    assert toy(seeds=7).rows[-1][-1] == 2.0
    assert toy({"each": ["13"], "is": "better", "than": "1", "margin": 0.1}, seeds=7).rests_on[0].seeds == 5


def test_what_a_verdict_rests_on_is_data() -> None:
    (item,) = toy().rests_on
    assert (item.what, item.seeds, item.least) == ("dose 2 against dose 1", 5, 0.1)
    assert item.mean == item.low == item.high == pytest.approx(1.0)


def test_curves_have_plots_and_the_clock_a_part_of_its_own() -> None:
    timed = {"each": ["2", "3"], "is": "worse", "than": "the one before", "metric": "seconds", "margin": 0}
    result = toy(timed=[timed])
    assert result.columns == ["network", "dose", "score", "± between seeds", "cost", "runs left out"]
    assert [plot.title for plot in result.plots] == ["score by dose", "height by step"]
    assert result.plots[0].levels == {"baseline": 0.5}
    assert result.plots[1].series[0].name == "dose 1" and result.plots[1].series[0].y == [1.0, 4.0]
    assert "seconds" not in str(result.model_dump(exclude={"timed"}))
    assert result.timed is not None and result.timed.holds is True
    assert result.timed.columns == ["network", "dose", "seconds", "± between seeds"]
    assert toy().timed is None and toy(timed=[timed | {"is": "better"}]).timed.holds is False  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vary": {"dos": [1, 2]}}, "one, 1: dos"),
        ({"vary": {"dose": [1, 2], "way": [3, 4]}}, "one, 1: way"),
        ({"variants": {"1": {"dose": "a"}, "2": {}}, "vary": {}}, "one, 1: dose: 'a'"),
        ({"given": [{"of": ["two"], "each": ["1"], "is": "better", "than": "2", "margin": 0}]}, r"given: of=\['two'\]"),
        ({"given": [{"each": ["9"], "is": "better", "than": "2", "margin": 0}]}, r"given: \['9'\] is not a variant"),
        ({"timed": [{"each": ["1"], "is": "better", "than": "the one before", "margin": 0}]}, "compared with itself"),
    ],
)
def test_settings_of_ones_own_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValidationError, InputError), match=message):
        toy(**changes)
