"""Claims of pre-training: verdicts that follow the numbers, what is counted by hand, settings that are refused."""

import math
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from pydantic import ValidationError

from claims.comparison import gathered
from claims.language.few_shot_by_size import FewShotConfig
from claims.language.sliding_window import SlidingWindowConfig, longer, lost
from claims.language.text_comparison import attention_products
from claims.pretraining.body_comparison import BodyComparison, BodyComparisonConfig
from claims.pretraining.masked_or_causal import MaskedOrCausal, MaskedOrCausalConfig
from claims.pretraining.small_bodies import KINDS, Bodies
from claims.pretraining.transfer import Transfer, TransferConfig
from claims.training import loss_a_token
from langladder.evaluation.encoder import fill_rows
from langladder.experiments.experiment import Data
from langladder.experiments.findings import Findings
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.language_model import predicted
from langladder.nn.products import matrix_entries
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS
from microworld.questions import LABELS
from pipeline import ROOT
from tests.experiments.declared import comparison, five
from tests.experiments.declared import findings_from as declared
from tests.experiments.test_one_setting_varied import findings_from

WORDS, BOTH = "words alone", "words and next sentences"


def steps(*values: float, wild: float = 0.002) -> Findings:
    return findings_from(
        "pretraining_steps", **{n: five(value, wild) for n, value in zip(("100", "400", "2000"), values, strict=True)}
    )


def bodies(name: str, first: float, second: float, wild: float = 0.002) -> Findings:
    names = [BOTH, WORDS] if name == "next_sentence" else ["15 %", "40 %"]
    return findings_from(name, **dict(zip(names, (five(first, wild), five(second, wild)), strict=True)))


@pytest.mark.parametrize(
    ("findings", "holds"),
    [
        (bodies("next_sentence", 0.81, 0.81), True),
        (bodies("next_sentence", 0.80, 0.70), False),
        (bodies("next_sentence", 0.80, 0.90), True),
        (bodies("next_sentence", 0.81, 0.80, wild=0.04), None),
        (bodies("masking_rate", 0.80, 0.81), True),
        (bodies("masking_rate", 0.80, 0.70), False),
        (steps(0.6, 0.7, 0.8), True),
        (steps(0.6, 0.7, 0.7), False),
        (steps(0.68, 0.7, 0.8, wild=0.04), None),
    ],
)
def test_verdicts_of_bodies_follow_the_numbers(findings: Findings, holds: bool | None) -> None:
    assert findings.holds is holds


# ---- bodies ---------------------------------------------------------------------------------------------------------


SMALL: dict[str, Any] = {
    "bases": ["bert", "gpt"],
    "variants": {"one": {}, "other": {"layers": 2}},
    "expect": [{"each": ["other"], "is": "better", "than": "one", "margin": 0.01}],
    "width": 16,
    "layers": 1,
    "sequence_length": 24,
    "effort": 0.01,
}


def test_unknown_figures_of_a_body_are_empty(data: Data) -> None:
    """A GPT fills no gaps, and a BERT that knows no pairs tells none."""
    findings = BodyComparison(BodyComparisonConfig.model_validate(SMALL)).run(data, seed=1, progress=lambda _: None)
    masked, follows, divergence = (findings.columns.index(name) for name in findings.columns[-3:])
    by_title = {str(row[0]): row for row in findings.rows}
    assert by_title["GPT"][masked] is by_title["GPT"][follows] is by_title["GPT"][divergence] is None
    assert by_title["BERT"][follows] is None
    assert isinstance(by_title["BERT"][masked], float) and isinstance(by_title["BERT"][divergence], float)
    assert "bert_one_masked" in findings.figures and "gpt_one_masked" not in findings.figures


def test_masked_words_are_scored_at_one_rate(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []

    def watched(*args: Any, **how: Any) -> Any:
        shares.append(how["share"])
        return fill_rows(*args, **how)

    monkeypatch.setattr("claims.pretraining.body_comparison.fill_rows", watched)
    rates = {"variants": {"one": {}, "other": {"masking": {"share": 0.4}}}, "bases": ["bert"], "masked_share": 0.2}
    BodyComparison(BodyComparisonConfig.model_validate(SMALL | rates)).run(data, seed=1, progress=lambda _: None)
    assert shares == [0.2, 0.2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"variants": {"one": {}, "other": {"share": 0.4}}}, "'share' is not a setting of bert"),
        ({"variants": {"one": {}, "other": {"masking": {"share": 2}}}}, "less than 1"),
        ({"variants": {"one": {}, "other": {"next_sentence": False}}}, "'next_sentence' is not a setting of gpt"),
        ({"metric": "bleu"}, "metric"),
        ({"heads": 3}, "width=16"),
    ],
)
def test_wrong_settings_of_bodies_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValidationError, InputError), match=message):
        BodyComparisonConfig.model_validate(SMALL | wrong)


def test_the_tasks_labels_are_entailments() -> None:
    config = BodyComparisonConfig.model_validate(SMALL)
    assert config.texts("entailment").labels == sorted(LABELS)
    texts = TransferConfig(effort=1.0).texts("questions")
    assert {"job", "number", "person", "place", "thing"} < set(texts.labels)
    assert (len(texts.train), len(texts.validation), len(texts.test)) == (256, 32, 500)


# ---- masked or next words -------------------------------------------------------------------------------------------


SHORT = comparison("masked_or_causal").config.model_copy(
    update={"checkpoints": [2, 4], "width": 16, "layers": 1, "sequence_length": 24}
    | {"train_texts": 32, "test_texts": 32}
)


def curve(untrained: float, first: float, last: float) -> dict[str, Any]:
    """Of 200 test texts a task and five networks."""
    start, early, end = (np.tile(np.arange(400) < 400 * share, (5, 1)) for share in (untrained, first, last))
    both = {"end": end, "early": early.astype(float) - start, "late": end.astype(float) - start}
    return both | dict.fromkeys(("single", "pairs"), end)


@pytest.mark.parametrize(
    ("bert", "gpt", "holds"),
    [
        ((0.5, 0.5, 0.9), (0.5, 0.7, 0.7), True),
        ((0.5, 0.7, 0.9), (0.5, 0.7, 0.7), False),  # never behind
        ((0.5, 0.5, 0.7), (0.5, 0.7, 0.7), False),  # never ahead
        ((0.4, 0.6, 0.9), (0.6, 0.7, 0.7), False),  # behind at first, as the untrained one is: gained more
        ((0.6, 0.6, 0.8), (0.4, 0.6, 0.7), False),  # ahead at the end, by less than the untrained one was
        ((0.5, 0.5, 0.9), (0.3, 0.3, 0.35), None),  # a GPT that has learnt nothing
    ],
)
def test_masked_or_causal_follows_the_numbers(
    bert: tuple[float, float, float], gpt: tuple[float, float, float], holds: bool | None
) -> None:
    findings = declared("masked_or_causal", {"BERT": curve(*bert), "GPT": curve(*gpt)}, {"single": 0.4, "pairs": 0.4})
    assert findings.holds is holds
    assert [row[1] for row in findings.rows] == ["BERT", "GPT"]
    assert {round(bert[-1], 3), round(gpt[-1], 3)} <= {cell for row in findings.rows for cell in row}


def test_both_bodies_are_of_one_form_and_read_alike(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """Post-norm, initial weights equally wide, and a classifier over the mean of the states."""
    bodies = Bodies(data, SHORT)
    bert, gpt = (bodies.fresh(kind, seed=1) for kind in KINDS)
    assert isinstance(gpt, GPT) and gpt.config.norm == "post"
    layers = [list(module.parameters()) for module in (bert.get_submodule("layers"), gpt.get_submodule("blocks"))]
    spreads = [np.mean([float(w.std()) for w in some if w.dim() == 2]) for some in layers]
    assert spreads[0] == pytest.approx(spreads[1], rel=0.05)
    poolings: list[str] = []

    def stopped(*_: Any, config: Any, **__: Any) -> None:
        poolings.append(config.pooling)

    monkeypatch.setattr("claims.pretraining.transfer.fine_tuned", stopped)
    monkeypatch.setattr("claims.pretraining.transfer.right_labels", lambda *_: np.zeros(4, dtype=bool))
    for body in (bert, gpt):
        Transfer(bodies, SHORT).right(body, seed=1)
    assert set(poolings) == {"mean"} and len(poolings) == 4


def test_the_checkpoints_are_of_one_training(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a copy that is not trained further; 0 is the network before its first step."""
    kept: list[torch.Tensor] = []

    def watched(_: Any, body: Any, *, seed: int) -> dict[str, np.ndarray]:
        assert not body.training
        kept.append(body.embedding.weight.detach().clone())
        return dict.fromkeys(("single", "pairs"), np.zeros(4, dtype=bool) | bool(seed))

    monkeypatch.setattr("claims.pretraining.transfer.Transfer.right", watched)
    MaskedOrCausal(SHORT.model_copy(update={"seeds": 1})).run(data, seed=1, progress=lambda _: None)
    assert len(kept) == 6
    assert all(not torch.equal(item, other) for item, other in ((kept[0], kept[1]), (kept[1], kept[2])))


@pytest.mark.parametrize("checkpoints", [[5, 2], [0, 4], [4, 4]])
def test_checkpoints_rise(checkpoints: list[int]) -> None:
    with pytest.raises(ValidationError, match="increasing numbers of steps"):
        MaskedOrCausalConfig.model_validate(SHORT.model_dump(by_alias=True) | {"checkpoints": checkpoints})


# ---- few shots ------------------------------------------------------------------------------------------------------


def sized(none: float, most: float, **tasks: float) -> dict[str, Any]:
    """Of 200 items and five networks, without examples and with 4."""
    without, right = (np.tile((np.arange(200) < 200 * share) * 1.0, (5, 1)) for share in (none, most))
    named = {task: [tasks.get(task, 0.9)] * 5 for task in ("agreement_in_words", "last_word", "analogies")}
    return {"right": right, "helped": right - without, **named}


BLIND = {"agreement_in_words": 0.5, "last_word": 0.25, "analogies": 0.25}


@pytest.mark.parametrize(
    ("small", "large", "holds"),
    [
        ((0.5, 0.5), (0.6, 0.9), True),
        ((0.5, 0.5), (0.9, 0.9), False),  # examples help neither
        ((0.3, 0.9), (0.6, 0.9), False),  # the smallest is as good
        ((0.9, 0.5), (0.9, 0.5), False),
    ],
)
def test_few_shots_by_size_follow_the_numbers(
    small: tuple[float, float], large: tuple[float, float], holds: bool
) -> None:
    findings = declared("few_shot_by_size", {"16": sized(*small), "128": sized(*large)}, BLIND)
    assert findings.holds is holds
    assert (findings.figures["16_right"], findings.figures["128_right"]) == (small[-1], large[-1])


def test_few_shots_judge_nothing_where_one_task_is_not_learnt() -> None:
    """A network below a blind guess on one task has not learnt it, whatever the others' scores."""
    cells = {"16": sized(0.5, 0.5), "128": sized(0.6, 0.9, analogies=0.2)}
    findings = declared("few_shot_by_size", cells, BLIND)
    assert findings.holds is None
    assert "Analogies in words: 0.200 (width 128) against 0.250 (the baseline), 0.050 apart" in findings.reason


def few_shot_settings(**changes: Any) -> dict[str, Any]:
    task = yaml.safe_load((ROOT / "conf" / "prompt" / "last_word.yaml").read_text(encoding="utf-8"))
    task["settings"]["effort"] = 1.0
    task["settings"]["source"] = changes.pop("source", {"kind": "text"})
    expect = [{"each": ["16"], "is": "better", "than": "8", "margin": 0.01}]
    values = {"bases": ["gpt"], "vary": {"width": [8, 16]}, "expect": expect, "tasks": {"last_word": task}, "heads": 2}
    return {**values, **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vary": {"width": [8, 16, 15]}}, "width=15"),
        (
            {"given": [{"each": ["8"], "is": "better", "than": 0.5, "metric": "verbs", "margin": 0}]},
            "'verbs'.*last_word",
        ),
        ({"shots": [1, 4]}, "0 and another number"),
        ({"source": {"kind": "labels"}}, "'labels'; allowed: microworld, text"),
    ],
)
def test_invalid_few_shot_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    assert FewShotConfig.model_validate(few_shot_settings()).task("last_word").shots == [0, 1, 4]
    with pytest.raises((ValidationError, InputError), match=message):
        FewShotConfig.model_validate(few_shot_settings(**changes))


# ---- sparse attention -----------------------------------------------------------------------------------------------


def test_golden_products_of_attention() -> None:
    """D = 4, T = 8: dense 2·4·64 = 512 a layer; a window of 2 reads 4 of 8, which is 256."""
    config = {"context": 8, "width": 4, "layers": 2, "heads": 2}
    assert attention_products(GPTConfig(**config), 8) == 1024
    assert attention_products(GPTConfig(**config, sparse_window=2), 8) == 512 + 256
    assert attention_products(GPTConfig(**config, sparse_window=5), 8) == 1024  # two blocks of 5 hold all
    dense = GPT(GPTConfig(**config), 20)
    assert attention_products(dense.config, 8) == dense.products(8) - 8 * (
        matrix_entries(dense) + dense.head.products()
    )


@pytest.mark.parametrize(
    ("perplexities", "products", "holds"),
    [
        ((10.0, 10.1, 10.1), (100.0, 60.0, 50.0), True),
        ((10.0, 10.1, 11.0), (100.0, 60.0, 50.0), False),
        ((10.0, 9.0, 9.0), (100.0, 95.0, 50.0), False),
    ],
)
def test_sparse_attention_follows_the_numbers(
    perplexities: tuple[float, ...], products: tuple[float, ...], holds: bool
) -> None:
    from claims.comparison import Measured

    experiment = comparison("sparse_attention")
    names = list(experiment.config.changes())
    rows = zip(names, perplexities, products, strict=True)
    by = {name: Measured(10, {"perplexity": [item] * 5, "products": [two] * 5}) for name, item, two in rows}
    assert experiment.findings({"GPT": by}).holds is holds


# ---- a sliding window -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpt() -> GPT:
    torch.manual_seed(0)
    model = GPT(GPTConfig(context=8, width=16, layers=2, heads=2), 30)
    torch.nn.init.normal_(model.embedding.weight, std=1.0)
    return model.eval()


def opened(rows: int, length: int) -> torch.Tensor:
    """Rows that begin as documents do."""
    tokens = torch.randint(4, 30, (rows, length), generator=torch.Generator().manual_seed(1))
    tokens[:, 0] = BOS
    return tokens


def test_sliding_by_half_a_window_parity_with_the_scores_of_the_ladder(gpt: GPT) -> None:
    tokens = opened(3, 30)
    tokens[1, 20:] = 0
    assert torch.equal(gpt.sliding_log_probs(tokens, 4), gpt.log_probs(tokens))


@torch.no_grad()
@pytest.mark.parametrize("stride", [1, 3, 8])
def test_a_sliding_window_parity_with_every_token_alone(stride: int, gpt: GPT) -> None:
    """Each token by the very tokens that its window shows before it, read one by one."""
    tokens = opened(1, 29)
    result, context = gpt.sliding_log_probs(tokens, stride), gpt.context
    for position in range(1, tokens.shape[1]):
        start = max(0, -(-(position - context) // stride) * stride)
        alone = torch.log_softmax(gpt.head(gpt(tokens[:, start:position])[0][0, -1]), dim=-1)[tokens[0, position]]
        torch.testing.assert_close(result[0, position], alone, atol=1e-5, rtol=1e-5)


def test_sliding_is_causal(gpt: GPT) -> None:
    tokens = opened(1, 25)
    other = tokens.clone()
    other[0, 20:] = 5
    for stride in (1, 3, 8):
        before, after = (gpt.sliding_log_probs(item, stride)[0, :20] for item in (tokens, other))
        torch.testing.assert_close(before, after, atol=1e-6, rtol=1e-6)


def test_what_is_lost_by_document_adds_up(gpt: GPT) -> None:
    ids = np.concatenate([[2], np.arange(4, 22), [3], [2], np.arange(5, 17), [3]]).astype(np.int32)
    text = TokenStream(ids, np.array([0, 20, len(ids)]))
    (tokens, eight), (_, four) = (lost(gpt, text, stride, 1000) for stride in (8, 4))
    assert tokens.tolist() == [19.0, 13.0]
    assert four.sum() / tokens.sum() == pytest.approx(loss_a_token(gpt, text, tokens=1000))
    row = torch.from_numpy(ids[20:].astype(np.int64))[None]
    assert eight[1] == pytest.approx(-float(gpt.sliding_log_probs(row, 8)[predicted(row)].sum()), rel=1e-5)


def test_only_texts_longer_than_the_context_are_read() -> None:
    text = TokenStream(np.arange(30, dtype=np.int32), np.array([0, 5, 20, 30]))
    assert longer(text, 8).offsets.tolist() == [0, 15, 25] and longer(text, 8).ids.tolist() == list(range(5, 30))
    assert longer(text, 12).offsets.tolist() == [0, 15]
    with pytest.raises(InputError, match="sequence_length=20"):
        longer(text, 20)


@pytest.mark.parametrize(
    ("nats", "holds"),
    [((3.0, 2.9, 2.8, 2.0), True), ((3.0, 2.9, 2.8, 2.8), False), ((3.0, 3.1, 2.8, 2.7), False)],
)
def test_the_sliding_verdict_follows_the_numbers(nats: tuple[float, ...], holds: bool) -> None:
    """Over networks and documents, of which some are harder than others."""
    experiment = comparison("sliding_window")
    hard = np.linspace(-1, 1, 10)
    values = [
        [{"loss": value + hard + seed / 100, "perplexity": math.exp(value), "read": 1.0} for seed in range(5)]
        for value in nats
    ]
    by = {
        stride: gathered(some, experiment.metrics, 1)
        for stride, some in zip(experiment.config.changes(), values, strict=True)
    }
    findings = experiment.findings({"GPT": by}, {"perplexity": math.exp(5.0)})
    assert findings.holds is holds
    assert findings.rests_on[0].mean == pytest.approx(nats[0] - nats[1]) and findings.rests_on[0].seeds == 5
    assert experiment.findings({"GPT": by}, {"perplexity": math.exp(2.0)}).holds is None


def test_strides_are_no_longer_than_the_context() -> None:
    expect = [{"each": ["4"], "is": "better", "than": "the one before", "margin": 0}]
    values = {"bases": ["gpt"], "expect": expect, "sequence_length": 64}
    with pytest.raises(ValidationError, match=r"stride=\[128, 4\]: from sequence_length=64"):
        SlidingWindowConfig.model_validate(values | {"vary": {"stride": [128, 4]}})
