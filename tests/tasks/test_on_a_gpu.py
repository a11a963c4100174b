"""What a training does otherwise on a GPU, on a machine without one: compiling, precision, batches drawn ahead, DDP.

The step of a GPU is traced on torch's `meta` device, or computed on a processor that is taken for one; torch.compile
runs with the backend `aot_eager`, which traces both passes and computes each operation as it is. What only a GPU shows,
its kernels and their speed, is not tested.
"""

import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import one_of_two
import pytest
import torch
from one_of_two import Curve, run
from small_run import make_model, settings

from langladder.data.batches import Update
from langladder.data.language_modelling import LanguageBatch
from langladder.data.translation import PairBatch
from langladder.models.encoders.encoder import Masked
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.nn import packing
from langladder.tasks import devices, training
from langladder.tasks.checkpoints import read_checkpoint
from langladder.tasks.devices import compiles, tensor_cores
from langladder.tasks.language_modelling import LanguageModelling
from langladder.tasks.masked_language_modelling import MaskedLanguageModelling
from langladder.tasks.optimisation import TrainingConfig, resolve_precision
from langladder.tasks.settings import LMTrainingConfig, MaskedTraining, TranslationTraining
from langladder.tasks.task import Task
from langladder.tasks.training import pinned_ahead, trainer_settings
from langladder.tasks.translation import TranslationTask
from tests.models import test_steps_on_a_gpu as steps

NETWORKS = ("gpt", "bert", "transformer")


def on_meta(kind: str) -> tuple[Task, Any]:
    """A task whose network is on the `meta` device, with dropout, and a batch there."""
    with torch.device("meta"):
        tokens = steps.TOKENS.to("meta")
        if kind == "gpt":
            return LanguageModelling(steps.gpt()[0], LMTrainingConfig()), LanguageBatch(tokens, True)
        if kind == "bert":
            positions, words, strange = (torch.empty(count, dtype=torch.long) for count in (3, 3, 2))
            batch = Masked(tokens, torch.zeros_like(tokens), positions, words, strange)
            return MaskedLanguageModelling(steps.bert()[0], MaskedTraining()), batch
        config = TranslationTraining(label_smoothing=0.1)
        return TranslationTask(steps.transformer()[0], config), PairBatch(tokens, tokens)


@pytest.mark.parametrize("kind", NETWORKS)
def test_the_loss_of_a_step_is_one_graph(kind: str) -> None:
    task, batch = on_meta(kind)
    assert task.one_graph
    for loss in (task.loss, task.means):
        result = torch._dynamo.explain(loss)(batch)
        assert (result.graph_count, result.graph_break_count) == (1, 0), result.break_reasons


def test_a_selection_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "fixed_shapes", lambda *_: False)
    task, batch = on_meta("transformer")
    with pytest.raises((NotImplementedError, RuntimeError)):
        torch._dynamo.explain(task.loss)(batch)


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[torch.fx.GraphModule]]:
    """Let a processor compute as a GPU does, torch.compile make one graph of each loss; the graphs made."""
    result: list[torch.fx.GraphModule] = []
    plain: Any = torch.compile

    def counted(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        result.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    monkeypatch.setattr(packing, "fixed_shapes", lambda *_: True)
    monkeypatch.setattr(torch, "compile", partial(plain, backend=counted, fullgraph=True))
    yield result
    torch.compiler.reset()


def compile_from_now_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all trainings of `run`."""
    plain: Callable[..., dict[str, Any]] = one_of_two.settings
    monkeypatch.setattr(one_of_two, "settings", lambda **more: plain(**more, compile=True))


def weights(folder: Path, kind: str) -> dict[str, torch.Tensor]:
    (last,) = folder.glob(f"work/*{kind}*/last.safetensors")
    results: dict[str, torch.Tensor] = read_checkpoint(last)["state_dict"]
    return results


@pytest.mark.long
@pytest.mark.parametrize("kind", ["gpt", "bert", "transformer"])
def test_a_compiled_training_is_the_plain_one(
    kind: str, graphs: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its figures, the names of its weights; few graphs, whatever the shapes of the batches; broken off and resumed."""
    plain = run(kind, tmp_path / "plain")
    assert plain and not graphs
    compile_from_now_on(monkeypatch)
    same(run(kind, tmp_path / "compiled"), plain)
    assert 1 <= len(graphs) <= 3
    left, wanted = weights(tmp_path / "compiled", kind), weights(tmp_path / "plain", kind)
    assert list(left) == list(wanted)
    assert run(f"begun:{kind}", tmp_path / "cut") is None
    same(run(f"continued:{kind}", tmp_path / "cut"), plain)
    resumed = weights(tmp_path / "cut", kind)
    assert all(torch.equal(resumed[name], tensor) for name, tensor in left.items())


def same(result: Curve | None, wanted: Curve) -> None:
    assert result and len(result) == len(wanted)
    for row, other in zip(result, wanted, strict=True):
        assert row["train_loss"] == pytest.approx(other["train_loss"], rel=1e-5)


@pytest.mark.long
def test_a_compiled_training_goes_on_without_compiling(
    graphs: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run("gpt", tmp_path / "plain")
    assert run("begun:gpt", tmp_path / "cut") is None
    compile_from_now_on(monkeypatch)
    assert plain
    same(run("continued:gpt", tmp_path / "cut"), plain)
    assert graphs


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch says that there is a GPU, and Triton and a compiler beside it."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)
    monkeypatch.setattr(devices, "find_spec", lambda name: name)
    monkeypatch.setattr(shutil, "which", lambda name: name == "gcc")


def test_nothing_is_compiled_on_a_processor_unless_it_is_requested() -> None:
    assert not compiles(TrainingConfig(accelerator="cpu"), one_graph=True)
    assert compiles(TrainingConfig(accelerator="cpu", compile=True), one_graph=False)


@pytest.mark.usefixtures("gpu")
def test_a_gpu_compiles_what_is_one_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiles(TrainingConfig(), one_graph=True)
    assert not compiles(TrainingConfig(), one_graph=False)
    assert not compiles(TrainingConfig(accelerator="cpu"), one_graph=True)
    assert not compiles(TrainingConfig(compile=False), one_graph=True)
    assert not compiles(TrainingConfig(strategy="fsdp"), one_graph=True)
    for name, value in (("find_spec", lambda _: None), ("OLDEST", (10, 0))):
        with monkeypatch.context() as patch:
            patch.setattr(devices, name, value)
            assert not compiles(TrainingConfig(), one_graph=True)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert not compiles(TrainingConfig(), one_graph=True)


def test_models_that_cannot_be_compiled() -> None:
    assert not LanguageModelling(make_model("lstm"), LMTrainingConfig()).one_graph
    model = GPT(GPTConfig(**steps.SIZES, context=8, output="adaptive", shrink=1), steps.V)
    assert not LanguageModelling(model, LMTrainingConfig()).one_graph
    sampling = TranslationTraining(scheduled_sampling=0.5)
    assert not TranslationTask(steps.transformer()[0], sampling).one_graph


def test_a_graph_gathers_no_layers() -> None:
    with pytest.raises(ValueError, match="compile=true with strategy=fsdp"):
        TrainingConfig(compile=True, strategy="fsdp")


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("precision", "computed", "products"),
    [("default", "bf16", "high"), ("auto", "bf16", "high"), ("bf16", "bf16", "high"), ("fp32", "fp32", "highest")],
)
def test_a_gpu_takes_bf16_and_tf32_unless_fp32_is_requested(precision: Any, computed: str, products: str) -> None:
    config = TrainingConfig(precision=precision)
    assert resolve_precision(config) == computed
    with tensor_cores(config):
        assert torch.get_float32_matmul_precision() == products
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.usefixtures("gpu")
def test_an_old_gpu_takes_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation)
    assert resolve_precision(TrainingConfig(precision="default")) == "fp32"


@pytest.mark.usefixtures("gpu")
def test_an_explicit_precision_is_kept() -> None:
    torch.set_float32_matmul_precision("medium")
    try:
        with tensor_cores(TrainingConfig(precision="auto")):
            assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_processor_keeps_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    config = TrainingConfig(accelerator="cpu", precision="default")
    assert resolve_precision(config) == "fp32"
    with tensor_cores(config):
        assert torch.get_float32_matmul_precision() == "highest"


def updates(count: int, drawn: list[str]) -> Iterator[Update]:
    for step in range(count):
        drawn.append(threading.current_thread().name)
        yield Update([LanguageBatch(torch.full((2, 3), step), step == 0)], [6], [()])


def test_batches_are_drawn_ahead_in_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[int] = []

    def pin(tensor: torch.Tensor) -> torch.Tensor:
        pinned.append(int(tensor[0, 0]))
        return tensor.clone()

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    drawn: list[str] = []
    wanted = list(updates(4, []))
    for step, (update, other) in enumerate(zip(pinned_ahead(updates(4, drawn)), wanted, strict=True)):
        torch.testing.assert_close(update, other)
        assert isinstance(update.batches[0], LanguageBatch) and step in pinned
    assert pinned == [0, 1, 2, 3] and threading.current_thread().name not in drawn


def test_tensors_are_pinned_wherever_they_are_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = torch.ones(1)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda _: pinned)
    plain = torch.zeros(1)
    batches: list[Any] = [plain, {"a": plain}, (plain, [plain, 2]), "a tree"]
    (update,) = pinned_ahead(iter([Update(batches, [1], [()])]))
    first, second, (third, (fourth, number)), tree = update.batches
    assert all(item is pinned for item in (first, second["a"], third, fourth)) and (number, tree) == (2, "a tree")


def test_what_fails_while_it_is_drawn_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)

    def fails() -> Iterator[Update]:
        yield from updates(1, [])
        raise OSError("no such file")

    result = pinned_ahead(fails())
    next(result)
    with pytest.raises(OSError, match="no such file"):
        next(result)


def test_the_training_is_the_same_with_batches_drawn_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("gpt", tmp_path / "plain")
    pinned: list[int] = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pinned.append(1) or tensor)  # type: ignore[func-returns-value]
    monkeypatch.setattr(training, "on_gpu", lambda _: True)
    assert run("gpt", tmp_path / "ahead") == plain
    assert len(pinned) == settings()["max_steps"]


@pytest.mark.parametrize("one_graph", [True, False])
def test_ddp_looks_for_weights_without_a_gradient_where_there_may_be_some(
    one_graph: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(training, "DDPStrategy", dict)
    strategy: Any = trainer_settings(TrainingConfig(accelerator="cpu"), one_graph=one_graph)["strategy"]
    assert strategy == {
        "find_unused_parameters": not one_graph,
        "broadcast_buffers": False,
        "gradient_as_bucket_view": True,
    }
