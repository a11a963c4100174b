"""Training with two processes: the same curve as with one, and resumed runs with another number of processes."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import torch
from one_of_two import CUT, Curve, run, start

from langladder.families import families
from langladder.ground.errors import InputError
from langladder.ground.ranks import ranks
from langladder.tasks.checkpoints import read_checkpoint
from langladder.tasks.devices import check_devices
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.policy.settings import DPOTraining
from langladder.tasks.settings import LMTrainingConfig
from langladder.tasks.sharding import check_shards

QUICK, LONG = (
    ("lstm", "gpt", "transformer", "bert", "classifier"),
    ("attention", "tagger", "gpt_compiled", "gpt_fsdp", "bert_fsdp"),
)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As two processes on two threads have each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Curve]:
    """The curve of a kind, by one process."""
    work = tmp_path_factory.mktemp("alone")

    @cache
    def curve(kind: str) -> Curve:
        return run(kind, work) or []

    return curve


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained by two processes; one training they broke off."""
    work = tmp_path_factory.mktemp("two")
    start(work, ["begun:lstm", *QUICK])
    return work


def read(folder: Path, work: str) -> Curve:
    content: Curve = json.loads((folder / "two" / f"{work}.json").read_text(encoding="utf-8"))
    return content


def same(result: Curve | None, wanted: Curve) -> None:
    assert result and [row.keys() for row in result] == [row.keys() for row in wanted]
    for row, other in zip(result, wanted, strict=True):
        known = {name: value for name, value in other.items() if value is not None}
        assert {name: row[name] for name in known} == pytest.approx(known, rel=1e-5, abs=1e-6), row["step"]


@pytest.mark.long
@pytest.mark.parametrize("kind", QUICK)
def test_two_processes_have_the_curve_of_one(kind: str, folder: Path, alone: Callable[[str], Curve]) -> None:
    same(read(folder, kind), alone(kind))


@pytest.mark.long
def test_one_goes_on_where_two_were_broken_off(folder: Path, alone: Callable[[str], Curve]) -> None:
    saved = read_checkpoint(folder / "work" / "cut_lstm" / "last.safetensors")
    assert 0 < saved["steps_done"] <= CUT
    same(run("continued:lstm", folder), alone("lstm"))


@pytest.mark.long
@pytest.mark.parametrize("kind", LONG)
def test_two_processes_have_the_curve_of_one_for_every_kind(
    kind: str, tmp_path: Path, alone: Callable[[str], Curve]
) -> None:
    start(tmp_path, [kind])
    same(read(tmp_path, kind), alone(kind))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["lstm", "gpt", "transformer", "gpt_fsdp"])
def test_two_go_on_where_one_was_broken_off(kind: str, tmp_path: Path, alone: Callable[[str], Curve]) -> None:
    assert run(f"begun:{kind}", tmp_path) is None
    start(tmp_path, [f"continued:{kind}"])
    same(read(tmp_path, f"continued:{kind}"), alone(kind))


@pytest.mark.long
def test_one_goes_on_where_two_with_parts_of_the_weights_were_broken_off(
    tmp_path: Path, alone: Callable[[str], Curve]
) -> None:
    start(tmp_path, ["begun:gpt_fsdp"])
    same(run("continued:gpt_fsdp", tmp_path), alone("gpt_fsdp"))


def test_only_networks_with_layers_are_shared_out() -> None:
    values = {
        "name": "lstm",
        "title": "LSTM",
        "_target_": "langladder.models.language.recurrent.RecurrentLM",
        "model": {},
    }
    settings = families()["lm"].settings(values)
    with pytest.raises(ValueError, match="a RecurrentLM has no layers to shard; GPT and BERT have"):
        settings.model_validate(values | {"training": {"strategy": "fsdp"}})
    with pytest.raises(ValueError, match="muon needs whole matrices"):
        LMTrainingConfig(strategy="fsdp", optimizer="muon")
    with pytest.raises(InputError, match="a Linear has no layers to shard"):
        check_shards(torch.nn.Linear(1, 1))


def test_a_batch_must_be_divided_evenly() -> None:
    with pytest.raises(ValueError, match="batch_size=64 is not divided evenly among 3 processes"):
        LMTrainingConfig(batch_size=64, devices=3)
    assert LMTrainingConfig(batch_size=64, devices=4, nodes=2).devices == 4


def test_policies_learn_in_one_process() -> None:
    with pytest.raises(ValueError, match="a policy is trained in one process"):
        DPOTraining(devices=2)


def test_missing_processes_raise_an_error() -> None:
    with pytest.raises(InputError, match="there is only this process; start all"):
        check_devices(TrainingConfig(devices=2), ranks())


def test_the_number_of_processes_is_checked_against_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    check_devices(LMTrainingConfig(batch_size=8, accelerator="cpu"), ranks())
    check_devices(LMTrainingConfig(batch_size=8, devices=2, nodes=2, accelerator="cpu"), ranks())
    with pytest.raises(InputError, match="4 processes were started, not 2; set"):
        check_devices(LMTrainingConfig(batch_size=8, devices=2, accelerator="cpu"), ranks())
    with pytest.raises(InputError, match="batch_size=6 is not divided evenly among 4"):
        check_devices(LMTrainingConfig(batch_size=6, accelerator="cpu"), ranks())


def test_more_gpus_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(InputError, match="this machine has 2 GPUs; set it to at most 2"):
        check_devices(LMTrainingConfig(batch_size=8, devices=4), ranks())
