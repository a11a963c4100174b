"""One training, one MLflow run, with everything that the UI shows of it."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hydra.types import RunMode
from train_once import train_once

from langladder.families import families
from pipeline import ROOT
from pipeline.runs import main
from pipeline.settings import params, sweeps
from pipeline.tracking import processes, run_facts, store, sweep_runs
from pipeline.tracking.job import TrackedJob, tracked_job
from pipeline.tracking.run import _log_datasets
from pipeline.tracking.store import by_fingerprint, find_runs, finished_runs, stored_file

pytestmark = pytest.mark.usefixtures("checkout")

ROWS = [{"step": step, "train_loss": 1 / step, "validation_loss": None, "lr": 0.1} for step in range(5, 65, 5)]


def runs() -> list[Any]:
    """Every run of the store's language models, the oldest first."""
    client, experiments = store.prepare(["language models"])
    return list(client.search_runs([experiments["language models"]], order_by=["attributes.start_time ASC"]))


def points(run: Any, key: str = "train_loss") -> list[tuple[int, float]]:
    return [(point.step, point.value) for point in store.client().get_metric_history(run.info.run_id, key)]


def log(work: TrackedJob, rows: list[dict[str, Any]]) -> None:
    """As training does: through Lightning's logger."""
    logger = work.run.lightning_logger()
    for row in rows:
        logger.log_metrics({"train_loss": row["train_loss"], "lr": row["lr"]}, step=row["step"])
    work.run._write(at_once=True)
    logger.finalize("success")


def test_jobs_that_begin_at_once_name_the_same_data() -> None:
    """MLflow's own look before it writes lets the database refuse one of them."""
    client, experiments = store.prepare(["language models"])
    barrier = threading.Barrier(3)

    def begin(_: int) -> list[str]:
        opened = []
        for round_ in range(6):
            inputs = {name: (Path("data/tokens/text"), f"{name}-{round_}") for name in ("train", "validation")}
            job = SimpleNamespace(stage="evaluate_lm", inputs=inputs)
            opened.append(client.create_run(experiments["language models"]).info.run_id)
            barrier.wait(timeout=60)
            _log_datasets(client, opened[-1], job)  # type: ignore[arg-type]
        return opened

    with ThreadPoolExecutor(3) as pool:
        run_ids = [run for runs_of_one in pool.map(begin, range(3)) for run in runs_of_one]
    assert {len(client.get_run(run).inputs.dataset_inputs) for run in run_ids} == {2}


def test_an_interrupted_training_goes_on_in_its_run(checkout: Path, job: Any) -> None:
    """The second process repeats some steps (its checkpoint is older) and does not know others' points."""
    with pytest.raises(RuntimeError), tracked_job("train_lm", job(), {}) as work:
        log(work, ROWS[:6])
        [run] = runs()
        assert run.info.status == "RUNNING"  # the end of `fit` is not the end of the job
        raise RuntimeError("the machine fails")
    assert [run.info.status for run in runs()] == ["FAILED"]
    with tracked_job("train_lm", job(), {}) as work:
        assert [run.info.status for run in runs()] == ["RUNNING"]
        log(work, [row | {"train_loss": 0.123} for row in ROWS[4:6]] + ROWS[6:9])
        work.write_curve(Path("curve.csv"), ROWS)
        work.run.metrics({"seconds": 3.0, "name": "no number", "train_loss": 0.01})
    [run] = runs()
    assert run.info.status == "FINISHED"
    assert points(run) == [(row["step"], row["train_loss"]) for row in ROWS]
    assert points(run, "lr") == [(row["step"], 0.1) for row in ROWS]
    assert run.data.metrics["seconds"] == 3.0
    assert points(run, "best_train_loss") == [(0, 0.01)]  # not a point of the curve
    assert not (checkout / "checkpoints").exists() or not list((checkout / "checkpoints").iterdir())


def test_the_same_job_again_after_success_is_a_new_run(job: Any) -> None:
    for _ in range(2):
        with tracked_job("train_lm", job(), {}):
            pass
    assert [run.info.status for run in runs()] == ["FINISHED", "FINISHED"]


def test_a_job_that_dvc_has_not_recorded_goes_on_in_the_run_that_it_had_finished(
    checkout: Path, job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DVC was killed between the end of the run and dvc.lock; with `dvc repro --force` the run is a new one."""
    monkeypatch.setenv("DVC_STAGE", "train_lm@lstm")
    for unrecorded in (True, True, False, True):
        monkeypatch.setattr(processes, "unrecorded", lambda value=unrecorded: value)
        with tracked_job("train_lm", job(), {}) as work:
            log(work, ROWS[:3])
    assert [run.info.status for run in runs()] == ["FINISHED", "FINISHED"]
    assert all(points(run) == [(row["step"], row["train_loss"]) for row in ROWS[:3]] for run in runs())
    with tracked_job("train_lm", job(seed=2), {}):  # another job
        pass
    assert len(runs()) == 3 and not list((checkout / "checkpoints").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["repro", "-s", "train_lm@gpt"], True),
        (["repro", "--single-item", "fff"], True),
        (["exp", "run", "-S", "a=f"], True),
        (["repro", "-f"], False),
        (["repro", "-sf", "train_lm@gpt"], False),
        (["repro", "--force"], False),
        (["repro", "--force-downstream"], False),
    ],
)
def test_whether_dvc_was_told_to_run_a_job_again(words: list[str], result: bool, tmp_path: Path) -> None:
    program = tmp_path / "dvc"
    line = f"{sys.executable} -c 'from pipeline.tracking.processes import unrecorded; print(unrecorded())'"
    program.write_text(f"#!/bin/sh\n{line}\ntrue\n")
    program.chmod(0o755)
    environment = os.environ | {"DVC_STAGE": "train_lm@gpt", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(result)
    del environment["DVC_STAGE"]
    assert subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_most_complete_of_two_finished_runs_is_found(job: Any) -> None:
    with tracked_job("train_lm", job(), {}) as work:
        work.run.metrics({"seconds": 1.0, "tokens_per_second": 5.0})
    with tracked_job("train_lm", job(), {}) as work:
        work.run.metrics({"seconds": 1.0})
    whole, poor = runs()
    client = store.client()
    for key in ("test_a", "test_b", "test_c"):  # scores that were added later do not count
        client.log_metric(poor.info.run_id, key, 1.0)
    result = find_runs(work.fingerprint)
    assert [run.info.run_id for run in result] == [whole.info.run_id, poor.info.run_id]


def test_one_search_finds_for_every_job_what_a_search_of_its_own_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PAGE", 2)
    client, experiments = store.prepare(["language models", "translation"])
    for i in range(7):
        run_id = client.create_run(
            experiments["translation" if i % 2 else "language models"], start_time=i, tags={"fingerprint": f"f{i % 3}"}
        ).info.run_id
        for key in ("seconds", "test_a", "test_b")[: i % 4]:
            client.log_metric(run_id, key, 1.0)
        client.set_terminated(run_id, "FAILED" if i == 4 else "FINISHED")
    client.set_terminated(client.create_run(experiments["translation"]).info.run_id)  # somebody's own, untagged
    result = {name: [run.info.run_id for run in runs] for name, runs in by_fingerprint(finished_runs()).items() if name}
    assert result == {name: [run.info.run_id for run in find_runs(name)] for name in ("f0", "f1", "f2")}
    assert sorted(map(len, result.values())) == [1, 2, 3]


CHILD = """
    import sys, time
    from pathlib import Path
    from pipeline.tracking import fingerprint
    fingerprint.ROOT = Path.cwd()
    sys.path.insert(0, {tests!r})
    from conftest import FakeJob
    from pipeline.tracking.job import tracked_job
    with tracked_job("train_lm", FakeJob(), {{}}) as work:
        work.run._curve_point({{"train_loss": 0.5}}, 5)
        print("open", flush=True)
        time.sleep(100)
"""


@pytest.fixture
def child(checkout: Path) -> Any:
    """A process that has the job's run open."""
    code = textwrap.dedent(CHILD.format(tests=str(Path(__file__).parent)))
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As in a terminal: what a shell starts in the background passes over Ctrl-C, and under `nohup` over SIGHUP."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for signum, handler in zip((signal.SIGINT, signal.SIGHUP), before, strict=True):
        signal.signal(signum, handler)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_job_that_gets_a_signal_leaves_its_run_killed(job: Any, signum: int) -> None:
    before = signal.getsignal(signum)
    with pytest.raises((SystemExit, KeyboardInterrupt)), tracked_job("train_lm", job(), {}):
        signal.raise_signal(signum)
    assert [run.info.status for run in runs()] == ["KILLED"]
    assert signal.getsignal(signum) == before


@pytest.mark.long
def test_a_process_killed_outright(child: Any, job: Any) -> None:
    """While it lives, its run is its own; dead, the same job goes on with it, and another job ends it."""
    with tracked_job("train_lm", job(), {}) as beside:
        assert beside.checkpoints.name == f"{beside.fingerprint}-{os.getpid()}"
    assert [run.info.status for run in runs()] == ["RUNNING", "FINISHED"]
    child.kill()
    child.wait()
    assert [run.info.status for run in runs()] == ["KILLED", "FINISHED"]
    with tracked_job("train_lm", job(seed=2), {}):
        assert [run.info.status for run in runs()] == ["KILLED", "FINISHED", "RUNNING"]
    with tracked_job("train_lm", job(), {}):
        assert [run.info.status for run in runs()] == ["RUNNING", "FINISHED", "FINISHED"]
    assert points(runs()[0]) == [(5, 0.5)]


@pytest.mark.long
def test_the_run_of_a_killed_job_that_is_not_run_again_is_ended_when_the_store_is_opened(child: Any) -> None:
    """As where DVC takes from its cache what the killed job was to make."""
    assert CliRunner().invoke(main, ["uri"]).exit_code == 0
    assert [run.info.status for run in runs()] == ["RUNNING"]
    child.kill()
    child.wait()
    assert CliRunner().invoke(main, ["uri"]).exit_code == 0
    assert [run.info.status for run in runs()] == ["KILLED"]


def test_only_the_dead_of_this_place_are_ended(job: Any) -> None:
    client, experiments = store.prepare(["language models"])
    node, namespace, pid, start = processes.this_process().split()
    gone = subprocess.Popen(["true"])
    gone.wait()
    named = {
        "itself": (f"{node} {namespace} {pid} {start}", "RUNNING"),
        "another process with its number": (f"{node} {namespace} {pid} {start}0", "KILLED"),
        "no such process": (f"{node} {namespace} {gone.pid} {start}", "KILLED"),
        "another host": (f"elsewhere 0badcafe {gone.pid} {start}", "RUNNING"),
        "nonsense": (f"{namespace}", "RUNNING"),
    }
    for name, (process, _) in named.items():
        tags = {"process": process, "mlflow.runName": name}
        client.create_run(experiments["language models"], tags=tags)
    with tracked_job("train_lm", job(), {}):
        pass
    result = {run.info.run_name: run.info.status for run in runs()}
    assert result == {name: status for name, (_, status) in named.items()} | {"train_lm lstm": "FINISHED"}


def test_a_zombie_is_dead() -> None:
    process = subprocess.Popen(["true"])
    deadline = time.monotonic() + 20
    while processes.started(process.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert processes.started(process.pid) is None
    process.wait()
    assert processes.started(os.getpid()) == processes.started(os.getpid()) is not None


def test_what_the_run_says_of_its_job(checkout: Path, job: Any) -> None:
    (checkout / "data").mkdir()
    (checkout / "data" / "tokens").write_text("1 2 3")
    folder = checkout / "models" / "lm" / "lstm"
    folder.mkdir(parents=True)
    with tracked_job("train_lm", job(), {"tokens": Path("data/tokens")}) as training:
        (folder / "provenance.json").write_text(json.dumps(training.provenance))
        training.run.folder = folder
        training.run.metrics({"seconds": 2.0})
        training.run.file("timed.json", {"a": 1})
    with tracked_job("evaluate_lm", job(), {"model": folder}) as evaluation:
        evaluation.run.test_scores(folder, {"perplexity": 9.5, "words": 3, "floor": None})
    client = store.client()
    trained, evaluated = (client.get_run(run.info.run_id) for run in runs())
    assert trained.data.params == {
        "dimension": "8",
        "lr": "0.01",
        "rung": "lstm",
        "seed": "1",
        "settings.cell": "lstm",
        "settings.dropout": "0.1",
        "settings.max_steps": "60",
    }
    assert sorted(trained.data.params)[:4] == ["dimension", "lr", "rung", "seed"]  # the axes that one compares by
    tags = trained.data.tags
    assert (tags["size"], tags["corpus"]) == ("small", "microworld") and tags["code"] == "c0de"
    assert tags["mlflow.source.name"] == "pipeline/train.py" and "LSTM" in tags["mlflow.note.content"]
    [data] = trained.inputs.dataset_inputs
    assert (data.dataset.name, data.dataset.digest) == (
        "microworld: data/tokens",
        training.provenance["inputs"]["tokens"],
    )
    assert evaluated.data.metrics == {"perplexity": 9.5, "words": 3.0}
    assert trained.data.metrics == {"seconds": 2.0, "test_perplexity": 9.5}
    [output] = trained.outputs.model_outputs
    model = client.get_logged_model(output.model_id)
    assert (model.name, model.tags["folder"], str(model.status)) == ("lstm", str(folder), "READY")
    assert {metric.key: metric.value for metric in model.metrics} == trained.data.metrics
    assert [used.model_id for used in evaluated.inputs.model_inputs] == [output.model_id]
    assert stored_file(trained.info.run_id, "timed.json") == {"a": 1}
    experiment = client.get_experiment(trained.info.experiment_id)
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"


@pytest.mark.parametrize("family", families())
def test_settings_of_every_file_have_names_that_mlflow_takes(family: str) -> None:
    from mlflow.utils.validation import _validate_param_name

    for file in [params.conf_file(family, name) for name in params.conf_names(family)]:
        rung = {key: value for key, value in yaml.safe_load(file.read_text()).items() if key != "defaults"}
        parameters = run_facts.parameters(run_facts.Job(family, "stage", {family: rung, "seed": 1}, "f", {}))
        for name in parameters:
            _validate_param_name(name)
        assert parameters["rung"] == file.stem


def test_an_artefact_does_not_say_which_engine_read_the_corpus(job: Any) -> None:
    """Its bytes are the same on all."""
    provenances = []
    for engine in ({"kind": "local"}, {"kind": "dask"}):
        with tracked_job("train_lm", job(engine=engine, memory="4GB"), {}) as work:
            provenances.append(work.provenance)
    assert provenances[0] == provenances[1] and provenances[0]["settings"]["seed"] == 1


def test_scores_are_added_once(checkout: Path, job: Any) -> None:
    folder = checkout / "model"
    folder.mkdir()
    with tracked_job("train_lm", job(), {}) as training:
        (folder / "provenance.json").write_text(json.dumps(training.provenance))
    for value in (9.5, 9.5, 9.0):
        with tracked_job("evaluate_lm", job(), {"model": folder}) as evaluation:
            evaluation.run.test_scores(folder, {"perplexity": value})
    assert [value for _, value in points(runs()[0], "test_perplexity")] == [9.5, 9.0]
    assert runs()[0].data.metrics["test_perplexity"] == 9.0


def test_a_sweep_says_the_size_of_its_own_composition(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    composed = dict.fromkeys(run_facts.CHOSEN, "x") | {"size": "tiny"}
    use_hydra(monkeypatch, [], choices=composed)
    with tracked_job("train_lm", job(), {}):
        pass
    assert runs()[0].data.tags["size"] == "tiny"


def use_hydra(
    monkeypatch: pytest.MonkeyPatch, typed: list[str], sweep: str | None = None, choices: dict[str, str] | None = None
) -> None:
    """As Hydra describes a job: what was typed; the folder of the sweep."""
    namespace = SimpleNamespace(
        runtime=SimpleNamespace(choices=choices or {}),
        overrides=SimpleNamespace(task=typed),
        mode=RunMode.MULTIRUN if sweep else RunMode.RUN,
        sweep=SimpleNamespace(dir=sweep),
    )
    for module in (run_facts, sweeps, sweep_runs):
        monkeypatch.setattr(module, "HydraConfig", SimpleNamespace(initialized=lambda: True, get=lambda: namespace))


def test_a_sweep_has_a_parent_that_knows_its_best_run(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    result = {0.1: 9.0, 0.01: 7.0, 0.001: 8.0}
    for rate, perplexity in result.items():
        use_hydra(
            monkeypatch, [f"lm.training.lr={rate}", "+lm.model.layers=1"], "multirun/train_lm/2026-01-02_03-04-05"
        )
        with tracked_job("train_lm", job(seed=round(1 / rate)), {}) as work:
            [parent] = [run for run in runs() if "sweep" in run.data.tags]
            assert parent.info.status == "RUNNING"
            work.run.metrics({"validation_perplexity_per_word": perplexity})
    [parent] = [run for run in runs() if "sweep" in run.data.tags]
    children = [run for run in runs() if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    assert len(children) == 3 == parent.data.metrics["runs"] and len(runs()) == 4
    assert parent.info.run_name == "sweep train_lm 2026-01-02_03-04-05" and parent.info.status == "FINISHED"
    assert parent.data.metrics["validation_perplexity_per_word"] == 7.0
    assert parent.data.tags["best"] == "lm.training.lr=0.01 +lm.model.layers=1"
    [best] = [run for run in children if run.info.run_id == parent.data.tags["best_run"]]
    tags = {key: value for key, value in best.data.tags.items() if key.startswith("override.")}
    assert tags == {"override.lm.training.lr": "0.01", "override.lm.model.layers": "1"}
    use_hydra(monkeypatch, [], "multirun/train_lm/2026-01-02_03-04-06")
    with pytest.raises(RuntimeError), tracked_job("train_lm", job(seed=7), {}):
        raise RuntimeError
    failed = runs()[-2]
    assert (failed.data.tags["sweep"], failed.info.status) == ("train_lm/2026-01-02_03-04-06", "FAILED")


def test_a_single_run_has_its_overrides_and_no_parent(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use_hydra(monkeypatch, ["seed=3"])
    with tracked_job("train_lm", job(), {}):
        pass
    [run] = runs()
    assert run.data.tags["overrides"] == "seed=3" and "mlflow.parentRunId" not in run.data.tags


def test_runs_of_one_repro_share_a_tag(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(processes.REPRO, processes.repro_name(0, 4711))
    for seed in (1, 2):
        with tracked_job("train_lm", job(seed=seed), {}):
            pass
    monkeypatch.delenv(processes.REPRO)
    with tracked_job("train_lm", job(seed=3), {}):
        pass
    shared = [run.data.tags.get("repro") for run in runs()]
    assert shared[0] == shared[1] and str(shared[0]).endswith(" (4711)") and shared[2] is None


@pytest.mark.slow
def test_a_plain_dvc_repro_is_found_among_the_processes_above(tmp_path: Path) -> None:
    """Two commands of one `dvc` have one name, of two `dvc` two."""
    program = tmp_path / "dvc"
    line = f"{sys.executable} -c 'from pipeline.tracking.processes import repro; print(repro())'"
    program.write_text(f"#!/bin/sh\n{line}\n{line}\n")
    program.chmod(0o755)
    environment = os.environ | {"DVC_STAGE": "train_lm@gpt", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    environment.pop(processes.REPRO, None)
    outputs = [
        subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True).stdout.split("\n")
        for _ in range(2)
    ]
    assert outputs[0][0] == outputs[0][1] != outputs[1][0] == outputs[1][1] and all(
        output[0].endswith(")") for output in outputs
    )


def test_an_experiment_is_made_with_its_first_run(job: Any) -> None:
    """The database, which `prepare` has made, has none."""
    assert store.used() == {}
    with tracked_job("train_lm", job(), {}):
        pass
    assert list(store.used()) == ["language models"]


def test_a_rung_has_its_colour(job: Any) -> None:
    for seed in (1, 2):
        with tracked_job("train_lm", job(seed=seed), {}):
            pass
    colours = {run.data.tags["mlflow.runColor"] for run in runs()}
    assert colours == {run_facts.colour("lm", "lstm")}
    names = params.conf_names("lm")
    assert len({run_facts.colour("lm", name) for name in names}) == len(names)
    assert all(re.fullmatch("#[0-9a-f]{6}", run_facts.colour("lm", name)) for name in [*names, "mine"])


@pytest.mark.long
@pytest.mark.slow
def test_a_killed_training_ends_as_one_run_with_its_whole_curve(checkout: Path, job: Any) -> None:
    """Killed at step 14, its last checkpoint is of step 10; steps 11 to 14 are made again."""
    script = Path(__file__).parent / "train_once.py"
    killed = subprocess.run([sys.executable, str(script), str(checkout), "14"], cwd=checkout, check=False)
    assert killed.returncode == -signal.SIGKILL
    [run] = runs()
    before = [step for step, _ in points(run)]
    assert run.info.status == "KILLED" and before[-1] > 10, before
    curve = train_once(job())
    [run] = runs()
    assert run.info.status == "FINISHED"
    assert points(run) == [(row["step"], row["train_loss"]) for row in curve]
    validated = [(row["step"], row["validation_loss"]) for row in curve if row["validation_loss"] is not None]
    assert points(run, "validation_loss") == validated and len(validated) == 4
    assert "seconds" in run.data.metrics


def test_links_open_the_view_of_runs() -> None:
    """Of the experiments that there are, in the order of the report."""
    store.prepare(["translation", "language models"])
    output = CliRunner().invoke(main, ["links", "http://127.0.0.1:5005"]).output.splitlines()[1:]
    assert [line[:16].strip() for line in output] == ["language models", "translation"]
    assert all("http://127.0.0.1:5005/#/experiments/" in line for line in output)
    assert all(line.endswith("/runs?workflowType=machine_learning") for line in output)
