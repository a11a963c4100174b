"""LoRA: the network begins as its base, only low-rank changes and new parts learn, and they end as part of it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_run import make_model, make_stream, moved, settings, stop_at

from langladder.families.family import validated
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.gpt_classifier import GPTClassifier
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import InstructedGPT
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import Run
from langladder.models.units import SubwordUnits
from langladder.nn.lora import adapted
from langladder.tasks.fine_tuning import begin
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.settings import LMTrainingConfig
from tests.models.fine_tuned_rungs import LABELS, PAIRS, saved_bert, saved_gpt

LORA = {"rank": 2, "alpha": 4.0}


def fine_tuned(kind: type[Any], folder: Path, **model: Any) -> Any:
    base = saved_gpt(folder) if kind is GPTClassifier else saved_bert(folder)
    config = kind.Config.model_validate({"dropout": 0.0} | model)
    settings: Any = SimpleNamespace(name="grown", model=config)
    network, tokenizer = begin(kind, settings, base, len(LABELS), seed=1)
    return network.equip(SubwordUnits(tokenizer), LABELS).eval()


def scores(network: Any) -> torch.Tensor:
    return torch.from_numpy(network.log_probs(PAIRS))


def logits(network: GPT, tokens: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        scores: torch.Tensor = network.head(network(tokens)[0])  # (B, T, V)
    return scores


def randomise(network: torch.nn.Module) -> None:
    """What is trained, as if it were."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))


@pytest.mark.parametrize("kind", [BERTClassifier, GPTClassifier])
def test_it_begins_as_its_base_and_ends_merged(kind: type[Any], tmp_path: Path) -> None:
    network = fine_tuned(kind, tmp_path)
    before, flags = scores(network), [parameter.requires_grad for parameter in network.parameters()]
    with adapted(network, network.from_base, seed=1, **LORA):
        assert torch.equal(scores(network), before)
        randomise(network)
        inside = scores(network)
    assert (inside - before).abs().max() > 1e-3
    torch.testing.assert_close(scores(network), inside, atol=1e-6, rtol=0)
    assert [parameter.requires_grad for parameter in network.parameters()] == flags
    network.save(tmp_path / "saved")  # in the usual form
    assert torch.equal(scores(kind.load(tmp_path / "saved")), scores(network))


def test_the_change_is_that_of_the_paper(tmp_path: Path) -> None:
    network = fine_tuned(BERTClassifier, tmp_path)
    name = "features.encoder.layers.0.expand"
    layer = network.get_submodule(name)
    W, x = layer.weight.detach().clone(), torch.randn(3, layer.in_features)
    with adapted(network, network.from_base, seed=1, **LORA):
        randomise(network)
        A, B = layer.parametrizations.weight[0].A, layer.parametrizations.weight[0].B
        expected = x @ W.T + 4.0 / 2 * (x @ A.T) @ B.T + layer.bias
        torch.testing.assert_close(layer(x), expected, atol=1e-6, rtol=1e-6)
        assert A.shape == (2, layer.in_features)
        assert B.shape == (layer.out_features, 2)


@pytest.mark.parametrize("kind", [BERTClassifier, GPTClassifier])
def test_only_the_changes_and_new_parts_get_a_gradient(kind: type[Any], tmp_path: Path) -> None:
    network = fine_tuned(kind, tmp_path)
    task_loss = network.trial_loss(2, 6)
    task_loss.backward()
    whole = {name for name, parameter in network.named_parameters() if parameter.grad is not None}
    network.zero_grad(set_to_none=True)
    with adapted(network, network.from_base, seed=1, **LORA):
        randomise(network)
        network.trial_loss(2, 6).backward()
        learnt = {name for name, parameter in network.named_parameters() if parameter.grad is not None}
    low_rank = {name for name in learnt if name.endswith((".A", ".B"))}
    rows = {name for name in learnt if name.endswith(".rows")}
    assert low_rank
    assert len(rows) == (kind is GPTClassifier)  # BERT has a row for every token already
    assert learnt - low_rank - rows == {name for name in whole if name.startswith(("head", "pooler"))}


def test_newly_initialised_layers_are_trained_in_full(tmp_path: Path) -> None:
    network = fine_tuned(BERTClassifier, tmp_path, layers_transferred=1)
    with adapted(network, network.from_base, seed=1, **LORA):
        trained = {name for name, parameter in network.named_parameters() if parameter.requires_grad}
    assert "features.encoder.layers.1.expand.weight" in trained
    assert "features.encoder.layers.0.expand.bias" not in trained


def test_marker_embeddings_are_trained_too() -> None:
    network = InstructedGPT.from_gpt(make_model("gpt")).eval()  # type: ignore[arg-type]
    with adapted(network, network.from_base, seed=1, **LORA):
        trained = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
        (rows,) = [parameter for name, parameter in trained.items() if name.endswith(".rows")]
        assert rows.shape == (3, 8)
        assert all(name.endswith((".rows", ".A", ".B")) for name in trained)
        randomise(network)
        inside = logits(network, torch.tensor([[20, 5, 21]]))
    assert network.embedding.weight is network.head.weight  # still tied
    torch.testing.assert_close(logits(network, torch.tensor([[20, 5, 21]])), inside, atol=1e-6, rtol=0)


@pytest.mark.parametrize("tied", [True, False])
def test_new_rows_of_a_tied_head_are_trained_and_stay_at_the_merge(tied: bool) -> None:
    torch.manual_seed(0)
    known, more = 20, 3
    network = GPT(GPT.Config(context=8, width=8, layers=1, heads=2, tie_weights=tied), known + more).eval()
    from_base = {name: len(parameter) for name, parameter in network.named_parameters()}
    new = ["embedding.weight"] if tied else ["embedding.weight", "head.weight"]
    from_base |= dict.fromkeys(new, known)
    tokens = torch.tensor([[2, 20, 5, 21]])
    before = logits(network, tokens)
    with adapted(network, from_base, seed=1, **LORA):
        assert torch.equal(logits(network, tokens), before)
        network.head(torch.ones(1, 8))[..., known:].sum().backward()
        rows = [parameter for name, parameter in network.named_parameters() if name.endswith(".rows")]
        assert len(rows) == len(new) and torch.equal(rows[-1].grad, torch.ones(more, 8))
        randomise(network)
        inside = logits(network, tokens)
        assert ((inside - before)[..., known:].abs().amax(dim=(0, 1)) > 1e-3).all()
    torch.testing.assert_close(logits(network, tokens), inside, atol=1e-6, rtol=0)
    assert (network.embedding.weight is network.head.weight) == tied


def tune(work: Path, **changes: Any) -> tuple[NeuralLanguageModel, Any]:
    model = make_model("gpt")
    config = LMTrainingConfig(**settings(lora=LORA) | changes)
    return model, train_language_model(model, make_stream(0), make_stream(1), config, Run(1, work))


@pytest.mark.parametrize(
    "changes", [{}, pytest.param({"average_checkpoints": 2, "optimizer": "muon"}, marks=pytest.mark.long)]
)
def test_an_interrupted_run_ends_with_the_same_bits(changes, tmp_path, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, 8)
        with pytest.raises(KeyError):
            tune(tmp_path / "broken", **changes)
    (resumed, _), (whole, result) = tune(moved(tmp_path / "broken"), **changes), tune(tmp_path / "whole", **changes)
    first = make_model("gpt").state_dict()
    assert sorted(whole.state_dict()) == sorted(first)
    for name, ours in resumed.state_dict().items():
        assert torch.equal(ours, whole.state_dict()[name]), name
        linear = name.endswith(("project.weight", "output.weight", "expand.weight", "contract.weight"))
        assert torch.equal(ours, first[name]) != linear, name
    # two layers of D = 8: 3D × D, D × D, 4D × D and D × 4D, each with r (O + I) numbers
    assert result.trained == 2 * 2 * ((24 + 8) + (8 + 8) + (32 + 8) + (8 + 32))
    assert validated(whole, result)[0]["trained_parameters"] == result.trained < whole.number_of_parameters()
    again, _ = tune(tmp_path / "whole", **changes)  # a finished run: its weights are read back
    assert all(torch.equal(ours, whole.state_dict()[name]) for name, ours in again.state_dict().items())


def test_models_without_adaptable_layers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="RecurrentLM has no linear layer"):
        train_language_model(
            make_model("lstm"),
            make_stream(0),
            make_stream(1),
            LMTrainingConfig(**settings(lora=LORA)),
            Run(1, tmp_path),
        )
    network = fine_tuned(BERTClassifier, tmp_path / "base", frozen=True)
    with pytest.raises(InputError, match="not frozen"), adapted(network, network.from_base, seed=1, **LORA):
        pass
    with pytest.raises(InputError, match="lora needs whole matrices"):
        checked(TrainingConfig, {"lora": LORA, "strategy": "fsdp"}, "training")
