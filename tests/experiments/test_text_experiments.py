"""Experiments on text: the shared training, the probes' scores, and verdicts that follow the numbers."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from claims.foundations.output_layers import ZipfText
from claims.language import agreement, context_length, scaling_law, units
from claims.language.small_models import first_part
from claims.training import loss_a_token, train, train_language_model
from langladder.experiments.experiment import Data, Experiment
from langladder.experiments.findings import Findings
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.language_model import LanguageModel, predicted
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM
from langladder.models.making import Run
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.settings import LMTrainingConfig
from langladder.text.storage.tables import read_column
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Kind, Tokenizer, TokenizerConfig
from tests.experiments.declared import findings_from, five


def network(kind: str, vocab_size: int) -> NeuralLanguageModel:
    torch.manual_seed(0)
    if kind == "lstm":
        return RecurrentLM(RecurrentConfig(width=16, embedding_dim=16), vocab_size)
    return GPT(GPTConfig(context=16, width=16, layers=1, heads=2), vocab_size)


@pytest.mark.parametrize("kind", ["lstm", "gpt"])
def test_training_parity_with_the_ladders(kind: str, data: Data, tmp_path: Path) -> None:
    """The bare loop makes the steps that `tasks.language_modelling` makes under Lightning."""
    from langladder.tasks import language_modelling

    settings = {"max_steps": 12, "batch_size": 4, "sequence_length": 16, "lr": 0.01, "warmup_steps": 3}
    config = LMTrainingConfig.model_validate(
        settings | {"precision": "fp32", "accelerator": "cpu", "log_every": 1, "validate_every": 12, "progress": False}
    )
    text, vocab_size = data.stream("train"), data.tokenizer().vocab_size
    bare, ladder = network(kind, vocab_size), network(kind, vocab_size)
    losses = train_language_model(bare, text, config, seed=5)
    result = language_modelling.train_language_model(ladder, text, data.stream("test"), config, Run(5, tmp_path))
    assert losses == pytest.approx([row["train_loss"] for row in result.curve], rel=1e-5)
    for name, tensor in bare.state_dict().items():
        torch.testing.assert_close(tensor, ladder.state_dict()[name], rtol=1e-4, atol=1e-6)


def test_training_ends_where_the_loss_is_no_number() -> None:
    layer = torch.nn.Linear(1, 1)
    config = TrainingConfig(max_steps=10, lr=0.1, schedule="constant")
    losses = train(layer, lambda step: layer.weight.sum() * (math.nan if step == 3 else 1.0), config)
    assert len(losses) == 4
    assert math.isnan(losses[-1])


def test_loss_a_token_is_the_mean_of_what_is_predicted(data: Data) -> None:
    text, model = data.stream("test"), network("lstm", data.tokenizer().vocab_size)
    row = torch.from_numpy(text.document(0).astype(np.int64))[None]
    expected = -float(model.log_probs(row).sum()) / int(predicted(row).sum())
    assert loss_a_token(model, text, tokens=1) == pytest.approx(expected, rel=1e-5)


def test_first_part_is_whole_documents() -> None:
    text = TokenStream(np.arange(100, dtype=np.int32), np.array([0, 10, 40, 60, 100]))
    assert first_part(text, 0.5).offsets.tolist() == [0, 10, 40]
    assert first_part(text, 0.01).offsets.tolist() == [0, 10]
    assert first_part(text, 1.0).offsets.tolist() == text.offsets.tolist()


def test_a_model_agrees_where_the_good_sentence_is_likelier(data: Data) -> None:
    """Number by number what `Agreement` counts, from the definition."""
    pairs = agreement.read_pairs(data.agreement, 5)
    assert list(pairs) == [0, 1, 2]
    folder = data.models["kneser_ney"]
    model, tokenizer = LanguageModel.load(folder), Tokenizer.load(folder / "tokenizer.json")
    completed = agreement.Agreement(agreement.AgreementConfig(pairs=5)).run(data, seed=1, progress=lambda _: None)
    right = []
    for good, bad in pairs[1]:
        scores = agreement.sentence_log_probs(model, tokenizer, [good, bad])
        alone = [float(agreement.sentence_log_probs(model, tokenizer, [item])) for item in (good, bad)]
        assert scores.tolist() == pytest.approx(alone, rel=1e-5)  # padding changes nothing
        right.append(alone[0] > alone[1])
    assert completed.rows[0][:3] == ["kneser_ney", completed.rows[0][1], sum(right) / len(right)]


@pytest.mark.parametrize(
    "probe",
    [
        agreement.Agreement(agreement.AgreementConfig(pairs=5)),
        context_length.ContextLength(context_length.ContextLengthConfig(contexts=[2, 4], positions=20)),
    ],
)
def test_models_are_named_by_their_titles(probe: Experiment, data: Data) -> None:
    titled = replace(data, titles={"kneser_ney": "Kneser–Ney"})
    completed = probe.run(titled, seed=1, progress=lambda _: None)
    assert [row[0] for row in completed.rows] == ["Kneser–Ney", *list(data.models)[1:]]
    assert [line.name for line in completed.plots[0].series] == [row[0] for row in completed.rows]


def test_bad_pairs_are_refused_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    with pytest.raises(InputError, match=r"pairs.jsonl: no such file.*paths.agreement"):
        agreement.read_pairs(path, 5)
    path.write_text(json.dumps({"good": "a", "bad": "b", "clauses": 0}) + "\n" + '{"good": "a"}\n')
    with pytest.raises(InputError, match=r"pairs.jsonl:2"):
        agreement.read_pairs(path, 5)


@pytest.mark.parametrize(
    ("ngram", "lstm", "holds"), [(0.3, 0.99, True), (0.95, 0.99, False), (0.3, 0.75, False), (0.3, 0.95, None)]
)
def test_the_agreement_verdict_follows_the_numbers(ngram: float, lstm: float, holds: bool | None) -> None:
    shares = {"ngram": {0: (0.9, 200), 1: (ngram, 200)}, "lstm": {0: (1.0, 200), 1: (lstm, 200)}}
    findings = agreement.findings(shares, {"ngram"})
    assert findings.holds is holds
    assert f"lstm {100 * lstm:.0f} %" in findings.verdict


def test_a_model_that_does_not_agree_at_all_says_nothing_of_distance() -> None:
    shares = {"ngram": {0: (0.5, 200), 1: (0.3, 200)}, "lstm": {0: (1.0, 200), 1: (1.0, 200)}}
    assert "ngram is not above chance" in agreement.findings(shares, {"ngram"}).reason
    assert agreement.findings(shares, {"ngram"}).holds is None


def test_a_network_that_loses_the_number_refutes_the_claim_whatever_the_ngram_does() -> None:
    shares = {"ngram": {0: (0.5, 200), 1: (0.5, 200)}, "lstm": {0: (0.9, 200), 1: (0.42, 200)}}
    assert agreement.findings(shares, {"ngram"}).holds is False
    blind = shares | {"lstm": {0: (0.5, 200), 1: (0.42, 200)}}
    assert agreement.findings(blind, {"ngram"}).holds is None


def test_no_pairs_is_no_verdict() -> None:
    assert agreement.findings({"lstm": {}}, set()).holds is None


def test_context_golden_of_an_ngram_is_its_order(data: Data) -> None:
    """A trigram is not measured below two tokens, and from there on is the same whatever it is shown."""
    text, model = data.stream("test"), LanguageModel.load(data.models["kneser_ney"])
    positions = context_length.positions(text, 16, 40, seed=1)
    losses = {c: context_length.token_losses(model, text, positions, c) for c in (1, 2, 8, 16)}
    values = list(context_length.perplexities(losses).values())
    assert values[0] is None
    assert values[1] == pytest.approx(values[2]) == pytest.approx(values[3])


@pytest.mark.parametrize("name", ["lstm", "gpt"])
def test_context_is_causal_and_bounded(name: str, data: Data) -> None:
    """Tokens further back than c change nothing; tokens inside do."""
    text, model = data.stream("test"), LanguageModel.load(data.models[name])
    positions = context_length.positions(text, 16, 40, seed=1)
    ids = text.ids.copy()
    ids[positions[0] - 5] = 7 if ids[positions[0] - 5] != 7 else 8
    changed = TokenStream(ids, text.offsets)
    item = positions[:1]
    for c, same in ((4, True), (8, False)):
        before, after = (context_length.token_losses(model, one_text, item, c) for one_text in (text, changed))
        assert bool((before == after).all()) is same


def test_contexts_longer_than_any_document_are_refused(data: Data) -> None:
    with pytest.raises(InputError, match="contexts"):
        context_length.positions(data.stream("test"), 10**6, 10, seed=1)


def test_zipf_text_has_the_probabilities_that_it_says() -> None:
    text = ZipfText(6, seed=0)
    words = torch.arange(6).repeat_interleave(6)
    following = torch.arange(6).repeat(6)
    table = text.log_probs(words, following).exp().view(6, 6)
    assert table.sum(dim=1).tolist() == pytest.approx([1.0] * 6)
    assert (text.zipf @ table).tolist() == pytest.approx(text.marginal.tolist())
    drawn = text.draw(40_000)
    seen = torch.bincount(drawn[0] * 6 + drawn[1], minlength=36).view(6, 6) / 40_000
    torch.testing.assert_close(seen.double(), text.zipf[:, None] * table, atol=0.01, rtol=0)


def clipped(never: float, clipped: float, loss: float = 4.0) -> Findings:
    """Shares of the runs that diverge, and the loss of the others, where word frequencies alone have one of 6."""
    cells = {name: {"diverged": [clipped] * 5, "loss": five(loss)} for name in ("5", "1", "0.25")}
    return findings_from(
        "clipping", {"never": {"diverged": [never] * 5, "loss": [math.nan] * 5}, **cells}, {"loss": 6.0}
    )


def by_size(*losses: float, counted: float = 3.6) -> Findings:
    """Networks beside an n-gram that ends at a loss of `counted`."""

    def cells(*losses: float) -> dict[str, dict[str, list[float]]]:
        shares = zip(("0.03125", "0.0625", "0.125"), losses, strict=True)
        return {share: {"loss": five(loss, 0.001)} for share, loss in shares}

    ngram = cells(*(counted + more for more in (0.2, 0.1, 0.0)))
    return findings_from("data_size", {"kneser_ney": ngram, "lstm": cells(*losses), "gpt": cells(*losses)})


def by_unit(character: float, word: float) -> Findings:
    """A GPT beside an n-gram of 1.8 bits by characters and 1.7 by others."""

    def cells(*bits: float) -> dict[str, dict[str, list[float]]]:
        units = zip(("character", "bpe_bytes", "word"), bits, strict=True)
        return {unit: {"bits": five(item, 0.001)} for unit, item in units}

    return findings_from("units", {"kneser_ney": cells(1.8, 1.7, 1.7), "gpt": cells(character, 3.0, word)})


@pytest.mark.parametrize(
    ("findings", "holds"),
    [
        (clipped(1.0, 0.0), True),
        (clipped(0.0, 0.0), None),  # nothing to mend
        (clipped(1.0, 1.0), None),  # five runs of each say little of a share
        (clipped(1.0, 0.0, loss=7.0), False),  # it learns nothing
        (by_size(3.4, 3.3, 3.2), True),
        (by_size(3.4, 3.4, 3.2), False),
        (by_size(3.4, 3.3, 3.29), False),  # by less than what counts
        (by_size(3.4, 3.3, 3.2, counted=3.0), None),
        (by_unit(1.7, 1.5), True),
        (by_unit(1.3, 1.5), False),
        (by_unit(2.0, 1.5), None),  # characters: not learnt
        (by_unit(1.7, 1.9), None),  # words: not learnt
    ],
)
def test_verdicts_follow_the_numbers(findings: Findings, holds: bool | None) -> None:
    assert findings.holds is holds


def test_where_every_run_diverges_the_loss_is_left_out() -> None:
    result = clipped(1.0, 0.0)
    assert "5 of 20 runs have no training loss" in result.verdict
    assert "never_loss" not in result.figures


@pytest.mark.parametrize(("last", "holds"), [(2.0, True), (2.5, False)])
def test_the_context_verdict_follows_the_last_doubling(last: float, holds: bool) -> None:
    """That the loss falls at first says nothing of what lies further back."""
    noise = np.linspace(-0.5, 0.5, 100)
    losses = {"ngram": dict.fromkeys((2, 8, 16), 3 + noise), "lstm": {2: 3 + noise, 8: 2.5 + noise, 16: last + noise}}
    findings = context_length.findings(losses, {"ngram": 3}, str, 0.01)
    assert findings.holds is holds
    assert findings.figures["lstm_gain"] == pytest.approx(2.5 - last)
    assert context_length.findings(losses, {"ngram": 12}, str, 0.01).holds is None


@pytest.mark.parametrize("kind", ["character", "word"])
def test_units_roundtrip_the_very_same_text(kind: Kind, data: Data) -> None:
    spelt = list(units.text_lines(data, "test"))
    assert spelt == [line for part in read_column(data.text.parent / "clean" / "test", "text") for line in part]
    tokenizer = train_tokenizer(spelt, TokenizerConfig(kind=kind, vocab_size=None))
    again = units.encoded(spelt, tokenizer)
    assert [tokenizer.decode(row[1:-1]) for row in again] == spelt


def test_golden_a_scaling_law_is_recovered_from_its_own_losses() -> None:
    law = scaling_law.Law(E=1.45, A=30.0, B=900.0, alpha=0.5, beta=0.6)
    sizes = [(n, d) for n in (3_000, 12_000, 50_000, 200_000) for d in (50_000, 200_000, 400_000)]
    points = [scaling_law.Point(n, d, scaling_law.value(law, n, d)) for n, d in sizes]
    assert points[0].loss == pytest.approx(1.45 + 30 / 3_000**0.5 + 900 / 50_000**0.6)
    assert scaling_law.fit(points) == pytest.approx(law, rel=1e-2)


@pytest.mark.parametrize(("irreducible", "holds"), [(1.47, True), (1.8, False), (1.1, False)])
def test_the_verdict_on_the_scaling_law_follows_the_numbers(
    irreducible: float, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = iter([scaling_law.Law(irreducible + noise / 100, 30.0, 900.0, 0.5, 0.6) for noise in range(5)] * 2)
    monkeypatch.setattr(scaling_law, "fit", lambda _: next(laws))
    law = scaling_law.Law(irreducible, 30.0, 900.0, 0.5, 0.6)
    points = [scaling_law.Point(n, 51_200, scaling_law.value(law, n, 51_200)) for n in (3_000, 12_000)]
    judged = scaling_law.ScalingLaw(scaling_law.ScalingLawConfig())
    findings = judged.findings([points] * 5, 1.5)
    assert findings.holds is holds and "1.500" in findings.verdict
    far = [point._replace(loss=point.loss + 0.3 * side) for point, side in zip(points, (1, -1), strict=True)]
    assert judged.findings([far] * 5, 1.5).holds is False, "no law of this form fits these losses"


def test_an_irreducible_loss_of_0_refutes_the_scaling_law(monkeypatch: pytest.MonkeyPatch) -> None:
    law = scaling_law.Law(0.005, 30.0, 900.0, 0.5, 0.6)
    monkeypatch.setattr(scaling_law, "fit", lambda _: law)
    points = [scaling_law.Point(n, 51_200, scaling_law.value(law, n, 51_200)) for n in (3_000, 12_000)]
    assert scaling_law.ScalingLaw(scaling_law.ScalingLawConfig()).findings([points] * 5, 1.25).holds is False


def test_a_scaling_law_needs_a_text_whose_probability_is_known(tmp_path: Path) -> None:
    (tmp_path / "sizes.json").write_text(json.dumps({"test": {"log_prob": None}}))
    with pytest.raises(InputError, match=r"sizes\.json: test\.log_prob is null.*set corpus: microworld"):
        scaling_law.true_entropy(Data(text=tmp_path))
