"""train_task: resumed runs, early stopping, best weights, checkpoints of other runs."""

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from faults import largest_file
from small_run import STEPS, make_model, make_stream, settings, stop_at

from langladder.data.language_modelling import LanguageBatch, StreamBatches, WindowBatches, pad_rows
from langladder.ground.errors import InputError
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import Run, TrainingResult
from langladder.tasks.checkpoints import read_checkpoint
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.settings import LMTrainingConfig
from langladder.text.tokenize.specials import BOS

KINDS = ["lstm", "gpt"]


def train(kind: str, work: Path, seed: int = 1, rows="stream", **changes) -> tuple[NeuralLanguageModel, TrainingResult]:
    model = make_model(kind, rows)
    config = LMTrainingConfig(**settings(**changes))
    return model, train_language_model(model, make_stream(0), make_stream(1), config, Run(seed, work))


def equal(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, tuple[NeuralLanguageModel, TrainingResult, dict]]:
    """Uninterrupted runs."""
    runs = {}
    for kind in KINDS:
        work = tmp_path_factory.mktemp(kind)
        runs[kind] = (*train(kind, work), read_checkpoint(work / "last.safetensors"))
    return runs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stop", [4, 7, 10, 13, 15])
def test_interrupted_anywhere_ends_with_the_same_bits(kind, stop, whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, stop)
        with pytest.raises(KeyError):
            train(kind, tmp_path)
    assert read_checkpoint(tmp_path / "last.safetensors")["steps_done"] <= stop
    model, result = train(kind, tmp_path)
    reference, expected, state = whole[kind]
    assert equal(model, reference) and result.curve == expected.curve and result.steps == STEPS
    last = read_checkpoint(tmp_path / "last.safetensors")
    torch.testing.assert_close(last["optimizer_states"], state["optimizer_states"], rtol=0, atol=0)
    torch.testing.assert_close(last["carried"], state["carried"], rtol=0, atol=0)


# The learning rate is too high: validations go up and down, so the best one lies before the kill.
UNSTEADY = {"lr": 0.3, "schedule": "constant", "warmup_steps": 0}


@pytest.mark.parametrize("more", [{"max_steps": 20}, {"max_steps": 60, "patience": 2}])
def test_interrupted_and_moved_run_ends_with_the_same_bits(more, tmp_path, monkeypatch):
    """The best weights so far, and how long patience lasts, do not depend on where the folder is."""
    reference, expected = train("gpt", tmp_path / "whole", **UNSTEADY, **more)
    losses = [row["validation_loss"] for row in expected.curve if row["validation_loss"] is not None]
    assert losses.index(min(losses)) == 1 and losses[3] < losses[0]
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, 17)
        with pytest.raises(KeyError):
            train("gpt", tmp_path / "first", **UNSTEADY, **more)
    (tmp_path / "first").rename(tmp_path / "moved")
    model, result = train("gpt", tmp_path / "moved", **UNSTEADY, **more)
    assert equal(model, reference) and result.curve == expected.curve
    assert result.validation_loss == expected.validation_loss
    for name in ("last", "best"):
        ours, theirs = (read_checkpoint(tmp_path / run / f"{name}.safetensors") for run in ("moved", "whole"))
        assert ours["steps_done"] == theirs["steps_done"]
    for file in tmp_path.rglob("*.safetensors"):
        assert str(tmp_path).encode() not in file.read_bytes()


def test_a_checkpoint_without_the_weights_kept_beside_it_is_refused(tmp_path, monkeypatch):
    for name, more in (("best.safetensors", {}), ("snapshots", {"average_checkpoints": 2})):
        work = tmp_path / name
        with monkeypatch.context() as patch, pytest.raises(KeyError):
            stop_at(patch, LanguageModelling, 7)
            train("lstm", work, **more)
        (work / name).rename(tmp_path / "elsewhere")
        with pytest.raises(InputError, match=rf"{name}: missing or incomplete, but the training at step 6 may need"):
            train("lstm", work, **more)
        (tmp_path / "elsewhere").rename(work / name)
        assert train("lstm", work, **more)[1].steps == STEPS


@pytest.mark.slow
@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[1:])])
def test_killed_process_resumes_to_the_same_bits(kind, whole, tmp_path):
    """SIGKILL while it trains: no handler runs, no file is closed."""
    script = textwrap.dedent(
        f"""
        import sys
        from pathlib import Path
        sys.path.append({str(Path(__file__).parents[1])!r})
        from test_training import LanguageModelling, train
        loss = LanguageModelling.loss
        def slow(task, batch):
            import time; time.sleep(0.1)
            return loss(task, batch)
        LanguageModelling.loss = slow
        train({kind!r}, Path(sys.argv[1]))
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    process = subprocess.Popen(command, cwd=Path(__file__).parent, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "last.safetensors").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.25)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    done = read_checkpoint(tmp_path / "last.safetensors")["steps_done"]
    assert 0 < done < STEPS
    model, result = train(kind, tmp_path)
    reference, expected, _ = whole[kind]
    assert equal(model, reference) and result.curve == expected.curve


def test_a_disk_that_is_full_loses_no_training(whole, tmp_path):
    """One sentence, the checkpoint before stays, nothing half-written beside it; with room again, the same bits."""
    train("lstm", tmp_path / "first", max_steps=3)
    size = (tmp_path / "first" / "last.safetensors").stat().st_size
    with pytest.raises(KeyError), pytest.MonkeyPatch.context() as patch:
        stop_at(patch, LanguageModelling, 7)
        train("lstm", tmp_path)
    with largest_file(size // 2), pytest.raises(InputError, match=r"safetensors: larger than the file system or the"):
        train("lstm", tmp_path)
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"last.safetensors", "best.safetensors"}
    assert read_checkpoint(tmp_path / "last.safetensors")["steps_done"] == 6
    model, result = train("lstm", tmp_path)
    assert equal(model, whole["lstm"][0]) and result.curve == whole["lstm"][1].curve


def test_finished_run_is_not_trained_again(whole, tmp_path):
    first, result = train("lstm", tmp_path)
    written = (tmp_path / "last.safetensors").stat().st_mtime_ns
    again, repeated = train("lstm", tmp_path)
    assert equal(first, again) and repeated.curve == result.curve and repeated.steps == STEPS
    assert (tmp_path / "last.safetensors").stat().st_mtime_ns == written
    assert equal(first, whole["lstm"][0])


def test_curve_and_best_weights(whole):
    model, result, _ = whole["lstm"]
    steps = [row["step"] for row in result.curve]
    assert steps == [2, 4, 5, 6, 8, 10, 12, 14, 15, 16]
    validations = {row["step"]: row["validation_loss"] for row in result.curve if row["validation_loss"] is not None}
    assert list(validations) == [5, 10, 15, 16]
    assert result.validation_loss == min(validations.values())
    task = LanguageModelling(model, LMTrainingConfig(**settings()))
    batches = StreamBatches(make_stream(0), make_stream(1), batch_size=2, sequence_length=4, seed=1)
    sums = [task.evaluate(batch) for batch in batches.validation()]
    assert sum(total for total, _ in sums) / sum(n for _, n in sums) == pytest.approx(result.validation_loss)
    assert not model.training and result.cost["tokens_per_second"] > 0 and result.cost["peak_memory_bytes"] > 10**7


def test_early_stopping_stops_and_stays_stopped(tmp_path):
    changes = {"lr": 1.0, "max_steps": 200, "patience": 2, "schedule": "constant", "warmup_steps": 0}
    first, result = train("lstm", tmp_path, **changes)
    losses = [row["validation_loss"] for row in result.curve if row["validation_loss"] is not None]
    assert result.steps < 200 and losses.index(min(losses)) == len(losses) - 3
    again, repeated = train("lstm", tmp_path, **changes)
    assert equal(first, again) and repeated.curve == result.curve


def test_overfit_batches_repeat(tmp_path):
    _, result = train("gpt", tmp_path, overfit_batches=1, max_steps=120, lr=0.02, log_every=120)
    assert result.curve[-1]["train_loss"] < 1.0


def test_fast_dev_run_writes_nothing(tmp_path):
    _, result = train("lstm", tmp_path, fast_dev_run=True)
    assert result.steps == 1 and list(tmp_path.iterdir()) == []


def test_checkpoint_of_another_run_is_refused(tmp_path):
    train("lstm", tmp_path, max_steps=3, warmup_steps=0)
    with pytest.raises(InputError, match="another run"):
        train("lstm", tmp_path, max_steps=4, warmup_steps=0)
    with pytest.raises(InputError, match="another run"):
        train("lstm", tmp_path, seed=2, max_steps=3, warmup_steps=0)


def test_divergence_raises_an_error(tmp_path, monkeypatch):
    loss = LanguageModelling.loss
    monkeypatch.setattr(LanguageModelling, "loss", lambda task, batch: loss(task, batch) / (task.steps_done != 3))
    with pytest.raises(InputError, match=r"training diverged: the loss is inf at step 4.*training\.lr"):
        train("lstm", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_documents_have_no_state_and_padding_changes_nothing(kind):
    task = LanguageModelling(make_model(kind, "documents").eval(), LMTrainingConfig(**settings()))
    rows = [make_stream(2).document(0)[:length].astype(np.int64) for length in (3, 9, 6)]
    batch = LanguageBatch(pad_rows(rows), True)
    alone = [(task.loss(LanguageBatch(torch.from_numpy(row)[None], True)), len(row[row != BOS])) for row in rows]
    mean = sum(loss * count for loss, count in alone) / sum(count for _, count in alone)
    for _ in range(2):
        torch.testing.assert_close(task.loss(batch), mean)
        assert task.carried() is None


@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_on_documents_ends_with_the_same_bits(kind, tmp_path, monkeypatch):
    reference, expected = train(kind, tmp_path / "whole", rows="documents")
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, 10)
        with pytest.raises(KeyError):
            train(kind, tmp_path / "cut", rows="documents")
    model, result = train(kind, tmp_path / "cut", rows="documents")
    assert equal(model, reference) and result.curve == expected.curve
    assert not equal(model, train(kind, tmp_path / "stream")[0])


def test_window_longer_than_the_context_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"sequence_length=9 exceeds the model's context of 8"):
        train("gpt", tmp_path, sequence_length=9)


@pytest.mark.parametrize("kind", KINDS)
def test_bf16_learns_as_well(kind, tmp_path, monkeypatch):
    if not torch.cpu.get_capabilities().get("avx512_f") and kind == "lstm":
        pytest.skip("torch's LSTM needs AVX-512 to run in bf16 at all")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    changes = {"max_steps": 60, "lr": 0.01, "schedule": "constant", "log_every": 30}
    exact = train(kind, tmp_path / "fp32", **changes)[1].curve[-1]["train_loss"]
    rough = train(kind, tmp_path / "bf16", precision="bf16", **changes)[1].curve[-1]["train_loss"]
    assert rough == pytest.approx(exact, rel=0.02)


def test_auto_takes_bf16_where_all_batches_are_of_one_shape(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})

    def trained(name: str, precision: str) -> torch.nn.Module:
        return train("gpt", tmp_path / name, max_steps=3, warmup_steps=0, precision=precision)[0]

    exact, rough = trained("exact", "fp32"), trained("rough", "bf16")
    assert equal(trained("one shape", "auto"), rough) and not equal(exact, rough)
    monkeypatch.setattr(WindowBatches, "one_shape", False)
    assert equal(trained("many shapes", "auto"), exact)
