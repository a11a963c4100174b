"""Claims of transfer: one pre-training for all, fine-tuning, verdicts by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from toy_bodies import BERT_BODY, BERT_RUNG, GPT_BODY, GPT_RUNG, TRANSFER
from toy_rungs import MEAN

from claims.pretraining import body_rungs, small_bodies, transfer_by_labels
from claims.pretraining.auxiliary_loss import AuxiliaryLossConfig
from claims.pretraining.body_rungs import FineTuningConfig, fine_tuned_rung, pretrained, unlabelled
from claims.pretraining.small_bodies import pretrain
from claims.pretraining.transfer_by_labels import (
    Measured,
    TransferByLabels,
    TransferByLabelsConfig,
    change,
    gain_figures,
    gains_of,
)
from claims.pretraining.transfer_comparison import TransferComparison, TransferComparisonConfig
from claims.reading.reading_training import corpus, train_network
from claims.reading.small_vectors import small_vectors
from langladder.experiments.experiment import Data
from langladder.models.encoders.bert import BERT
from langladder.models.language.gpt import GPT
from langladder.text.tokenize.tokenizers import word_tokens
from pipeline.tracking.code_version import files_of
from tests.experiments.declared import findings_from as declared

COMPARED: dict[str, Any] = TRANSFER | {
    "bases": ["bert"],
    "variants": {"tuned": {}, "frozen": {"frozen": True, "layers": "weighted_sum", "lr": 0.02}},
    "expect": [{"each": ["frozen"], "is": "worse", "than": "tuned", "margin": 0.01}],
    "metric": "accuracy",
}


def ignore(_: str) -> None:
    """Discard the progress messages."""


def measured(**accuracies: list[float]) -> Measured:
    """Titles with their accuracy at 16, 64, 256 labels, on 400 texts by five seeds."""
    right = {
        title.replace("_", " ").replace(" from", ", from").replace(" word", ", word"): {
            count: np.arange(400)[None].repeat(5, axis=0) % 100 < 100 * item
            for count, item in zip((16, 64, 256), some, strict=True)
        }
        for title, some in accuracies.items()
    }
    return Measured(right, 0.95, 0.5)


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classifiers stay as they begin."""
    monkeypatch.setattr(small_bodies, "train_network", lambda *_, **__: [])


def test_each_body_is_pre_trained_once_over_its_own_tokens(data: Data) -> None:
    config, messages = FineTuningConfig.model_validate(TRANSFER), list[str]()
    result = pretrained(config, data, seed=1, progress=messages.append)
    assert {name: (type(body), body.vocab_size) for name, body in result.items()} == {
        "bert": (BERT, 403),
        "gpt": (GPT, 400),
    }
    assert [line.split(" in ")[0] for line in messages] == ["BERT: pre-trained", "GPT: pre-trained"]
    assert not any(body.training for body in result.values())


def test_a_body_makes_the_experiments_share_of_its_steps_with_a_tenth_of_warm_up() -> None:
    body = FineTuningConfig.model_validate(TRANSFER).bodies["bert"]
    training = body.trained(lambda steps: 5 * steps)
    assert (training.max_steps, training.warmup_steps) == (50, 5)
    few = body.model_copy(update={"training": body.training | {"warmup_steps": 100}})
    training = few.trained(lambda _: 2)
    assert (training.max_steps, training.warmup_steps) == (2, 1)


def test_the_texts_of_the_labels_stand_behind_the_text_without_their_labels(data: Data) -> None:
    text, more = (unlabelled(data, task_texts=with_texts) for with_texts in (False, True))
    assert more.ids.dtype == text.ids.dtype
    assert (more.ids[: len(text.ids)] == text.ids).all()
    assert len(more) == len(text) + 1
    last = data.tokenizer().decode(more.document(len(more) - 1).tolist())
    assert all(example.text in last for example in data.examples("train")[:5])


def test_parity_of_what_a_rung_begins_with_and_its_body(data: Data, untrained: None) -> None:
    del untrained
    config = FineTuningConfig.model_validate(TRANSFER)
    texts = corpus(data, config)
    for name, base in pretrained(config, data, seed=1, progress=ignore).items():
        rung = config.rungs[name]
        how: dict[str, Any] = {"training": config.training_of(rung), "seed": 1}
        begun: Any = fine_tuned_rung(rung, base, data.tokenizer(), texts, **how)
        fresh: Any = fine_tuned_rung(rung, base, data.tokenizer(), texts, **how, model=rung.config(pretrained=False))
        tables = [result.body().embedding.weight[:400] for result in (begun, fresh)]
        torch.testing.assert_close(tables[0], base.embedding.weight[:400])
        assert not torch.allclose(tables[1], base.embedding.weight[:400])


def test_word_vectors_alone_change_the_table_and_not_its_size(data: Data, untrained: None) -> None:
    del untrained
    config = FineTuningConfig.model_validate(TRANSFER | {"bodies": {"bert": BERT_BODY}, "rungs": {"bert": BERT_RUNG}})
    texts, rung = corpus(data, config), config.rungs["bert"]
    vectors = small_vectors(data, dim=16, epochs=1, lines=200, seed=1)
    how: dict[str, Any] = {"seed": 1, "model": rung.config(pretrained=False)}
    base = pretrained(config, data, seed=1, progress=ignore)["bert"]
    fine_tuned_rungs = [
        fine_tuned_rung(rung, base, data.tokenizer(), texts, config.training_of(rung), vectors=some, **how)
        for some in (None, vectors)
    ]
    plain, begun = ({name: item.detach() for name, item in two.named_parameters()} for two in fine_tuned_rungs)
    changed = {name for name, item in begun.items() if not torch.equal(item, plain[name])}
    assert changed == {"features.encoder.embedding.weight"}
    (name,) = changed
    assert float(begun[name].std()) == pytest.approx(float(plain[name].std()), rel=0.1)
    token = next(token for token, word in word_tokens(data.tokenizer()).items() if word == "the")
    cosine = torch.cosine_similarity(begun[name][token], torch.from_numpy(vectors["the"]), dim=0)
    assert float(cosine) == pytest.approx(1.0, abs=1e-5)


def test_all_lines_grow_from_one_pre_training(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    pretrained_bodies: list[str] = []
    monkeypatch.setattr(body_rungs, "pretrain", _noted(pretrained_bodies))
    config = TransferByLabelsConfig.model_validate(
        TRANSFER | {"vectors": ["bert"], "counts": [16, 64], "seeds": 2, "epochs": 0.01, "vector_lines": 100}
    )
    completed = TransferByLabels(config).run(data, seed=1, progress=ignore)
    assert pretrained_bodies == ["BERT", "GPT"]
    assert [line.name for line in completed.plots[0].series] == [
        "BERT, from scratch",
        "BERT, word vectors alone",
        "BERT",
        "GPT, from scratch",
        "GPT",
    ]
    assert [row[:2] for row in completed.rows[:4]] == [
        ["BERT, word vectors alone", 16.0],
        ["BERT, word vectors alone", 64.0],
        ["BERT, word vectors alone", 540.0],
        ["BERT", 16.0],
    ]


def test_other_classifiers_stand_beside_them_and_in_no_verdict(data: Data, untrained: None) -> None:
    del untrained
    logistic: dict[str, Any] = {"name": "logistic", "title": "TF-IDF", "model": {"method": "logistic"}}
    logistic["_target_"] = "langladder.models.classification.linear_classifier.LinearClassifier"
    others = {"logistic": logistic, "mean": MEAN}
    settings = TRANSFER | {"bodies": {"bert": BERT_BODY}, "rungs": {"bert": BERT_RUNG}, "others": others}
    few: dict[str, Any] = {"vectors": ["mean"], "counts": [16], "seeds": 1, "epochs": 0.01, "vector_lines": 100}
    completed = TransferByLabels(TransferByLabelsConfig.model_validate(settings | few)).run(
        data, seed=1, progress=ignore
    )
    titles = ["TF-IDF", f"{MEAN['title']} from word vectors", "BERT, from scratch", "BERT"]
    assert [line.name for line in completed.plots[0].series] == titles
    assert {row[0] for row in completed.rows} == {"BERT"} and "TF-IDF" not in completed.verdict
    assert [plot.front for plot in completed.plots] == [True, False]
    for wrong, message in (("none", "not among the rungs"), ("logistic", "have no embedding")):
        with pytest.raises(ValidationError, match=message):
            TransferByLabelsConfig.model_validate(settings | few | {"vectors": [wrong]})


def _noted(names: list[str]) -> Any:
    def noting(body: Any, *rest: Any, **named: Any) -> Any:
        names.append(type(body).__name__)
        return pretrain(body, *rest, **named)

    return noting


def test_what_is_frozen_does_not_learn_and_variants_share_their_body(data: Data) -> None:
    config = TransferComparisonConfig.model_validate(COMPARED)
    completed = TransferComparison(config).run(data, seed=1, progress=ignore)
    parameters = {str(row[1]): row[2] for row in completed.rows}
    assert parameters["frozen"] == 16 * 5 + 5 + 3 + 1  # head, and the mix of embeddings and two layers
    assert float(parameters["tuned"] or 0) > 6000


def test_golden_gains_and_how_they_change() -> None:
    """60 less 50 of 100 texts, then 70 less 65: gains of 10 and 5 points, and 5 less."""
    result = measured(a=[0.6, 0.7, 0.7], b=[0.5, 0.65, 0.7])
    gains = gains_of(result, {"a": ("a", "b")})
    assert [item.mean for item in gains["a"].values()] == pytest.approx([0.1, 0.05, 0.0])
    assert change(result, ("a", "b"), 16, 64).mean == pytest.approx(0.05)
    assert gain_figures(gains) == {"a_gain_16": 0.1, "a_gain_64": 0.05, "a_gain_256": 0.0}


@pytest.mark.parametrize(
    ("bert", "holds", "statement"),
    [
        ([0.7, 0.8, 0.82], True, "most with 16 labels, +20.0 points"),
        ([0.55, 0.8, 0.82], True, "most with 64 labels, +20.0 points"),
        ([0.5, 0.6, 0.95], False, "most with 256 labels, +15.0 points"),
        ([0.5, 0.6, 0.8], False, "+0.0 points"),
        ([0.65, 0.75, 0.95], None, "less by +0.0 points"),
    ],
)
def test_pre_training_is_worth_most_where_the_gain_with_all_labels_is_less(
    bert: list[float], holds: bool | None, statement: str
) -> None:
    rest = {"BERT_from_scratch": [0.5, 0.6, 0.8], "BERT_word_vectors_alone": [0.5, 0.65, 0.8]}
    findings = transfer_by_labels.findings(measured(**rest, BERT=bert), ["BERT"], 0.01)
    assert findings.holds is holds
    assert statement in findings.verdict
    assert "BERT, word vectors alone gain +0.0 points" in findings.verdict
    enough = "BERT with 64 is as good as from scratch with 256" in findings.verdict
    assert enough is (bert[1] >= 0.8)


def test_of_two_rungs_both_must_gain() -> None:
    rest = {"BERT_from_scratch": [0.5, 0.6, 0.8], "GPT_from_scratch": [0.5, 0.6, 0.8], "BERT": [0.7, 0.8, 0.8]}
    assert transfer_by_labels.findings(measured(**rest, GPT=[0.7, 0.7, 0.8]), ["BERT", "GPT"], 0.01).holds is True
    assert transfer_by_labels.findings(measured(**rest, GPT=[0.5, 0.6, 0.7]), ["BERT", "GPT"], 0.01).holds is False


@pytest.mark.parametrize(
    ("half", "holds"), [((0.5, 0.9), True), ((0.6, 0.9), None), ((0.4, 0.8), False), ((0.7, 0.9), False)]
)
def test_the_auxiliary_loss_holds_where_many_labels_profit_and_few_do_not(
    half: tuple[float, float], holds: bool | None
) -> None:
    def right(few: float, many: float) -> dict[str, np.ndarray]:
        item, every = (np.arange(400)[None].repeat(5, axis=0) % 100 < 100 * share for share in (few, many))
        return {"few": item, "all": every, "fades": item.astype(float) - every}

    result = declared("auxiliary_loss", {"λ = 0": right(0.5, 0.8), "λ = 0.5": right(*half)}, {"all": 0.5})
    assert result.holds is holds
    assert result.figures["0_5_all"] == pytest.approx(half[1])


def test_one_number_of_labels_gives_no_verdict() -> None:
    item = {16: np.ones((2, 10), dtype=bool)}
    result = Measured({"BERT, from scratch": item, "BERT": item}, None, 0.5)
    assert transfer_by_labels.findings(result, ["BERT"], 0.01).holds is None


def with_model(rung: dict[str, Any], **model: Any) -> dict[str, Any]:
    return rung | {"model": rung["model"] | model}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bodies": {"gpt": GPT_BODY}}, "rung bert_fine_tuned needs exactly one BERT; there are 0"),
        (
            {"bodies": {"bert": BERT_BODY, "gpt": GPT_BODY, "big": GPT_BODY}},
            "rung gpt_fine_tuned needs exactly one GPT; there are 2",
        ),
        ({"rungs": {"mean": MEAN | {"base": "lm/gpt"}}}, "does not use its base's network"),
        ({"bodies": {"bert": BERT_BODY | {"_target_": MEAN["_target_"]}}}, "is neither a BERT nor a GPT"),
        ({"bodies": {"bert": with_model(BERT_BODY, width=15), "gpt": GPT_BODY}}, "width=15"),
        ({"bodies": {"bert": BERT_BODY | {"training": {"lr": -1.0}}, "gpt": GPT_BODY}}, "lr: -1.0 is not allowed"),
        ({"rungs": {"gpt": with_model(GPT_RUNG, layers_transferred=3)}}, "layers_transferred=3.*has 2 layers"),
        (
            {"bodies": {"bert": BERT_BODY, "gpt": with_model(GPT_BODY, output="adaptive", shrink=1)}},
            "does not support new tokens",
        ),
        ({"vectors": ["cnn"]}, r"vectors: \['cnn'\] are not among the rungs"),
        ({"rungs": {"bert": BERT_RUNG, "other": BERT_RUNG}}, "needs a different title"),
        ({"rungs": {"gpt": with_model(GPT_RUNG, pretrained=False)}}, "from random weights anyway"),
        ({"counts": [64, 16]}, "increasing numbers"),
    ],
)
def test_settings_that_say_something_wrong_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=message):
        TransferByLabelsConfig.model_validate(TRANSFER | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": {"none": {"lm_weight": 0.0}, "half": {"lm_weight": 1000.0}}}, "lm_weight: 1000.0 is not allowed"),
        ({"bases": ["bert"]}, "'lm_weight' is not a setting of bert_fine_tuned"),
        ({"counts": [64, 16]}, "increasing numbers"),
    ],
)
def test_weights_that_cannot_be_compared_are_refused(changes: dict[str, Any], message: str) -> None:
    expect = [{"each": ["half"], "is": "better", "than": "none", "margin": 0.01}]
    values = {"bases": ["gpt"], "variants": {"none": {"lm_weight": 0.0}, "half": {"lm_weight": 0.5}}, "expect": expect}
    AuxiliaryLossConfig.model_validate(TRANSFER | values)
    with pytest.raises((ValidationError, ValueError), match=message):
        AuxiliaryLossConfig.model_validate(TRANSFER | values | changes)


def test_a_variant_without_a_base_is_refused() -> None:
    variants = {"two": {"layers_transferred": 2}, "three": {"layers_transferred": 3}}
    expect = [{"each": ["three"], "is": "better", "than": "two", "margin": 0.01}]
    with pytest.raises(ValidationError, match=r"layers_transferred=3.*has 2 layers"):
        TransferComparisonConfig.model_validate(COMPARED | {"variants": variants, "expect": expect})


def test_an_edit_of_a_body_runs_the_claim_again() -> None:
    target = "claims.pretraining.transfer_by_labels.TransferByLabels"
    value = {"claim": {"_target_": target, "settings": TRANSFER}}
    names = {Path(file).name for file in files_of("claim", value)}
    assert {
        "bert.py",
        "gpt.py",
        "body_rungs.py",
        "small_bodies.py",
        "masked_language_modelling.py",
        "fine_tuning.py",
    } <= names


def test_the_loop_is_that_of_the_other_experiments() -> None:
    assert small_bodies.train_network is train_network  # type: ignore[attr-defined]
