"""Jobs that run on the workers of a cluster: in the project's folder, again where a worker is lost."""

import os
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from project_copy import ENVIRONMENT, run

from langladder.ground.errors import InputError
from pipeline import ROOT, parallel
from pipeline import cluster as clusters
from pipeline.settings.params import load
from pipeline.settings.resources import CLUSTER_ADDRESS

distributed = pytest.importorskip("distributed", reason="pip install 'langladder[cluster]'")

THERE = """
import os, sys
from pathlib import Path
from pipeline import cluster
cluster.ROOT, cluster.goes, cluster.needs = Path.cwd(), lambda job: job != "a", lambda *_: {}
code = cluster.run_there(sys.argv[1])
sys.exit(os.waitstatus_to_exitcode(os.system(sys.argv[2])) if code is None else code)
"""
"""A stage whose work is a shell command."""
STAGES = """
stages:
  a: {cmd: python there.py a 'echo from a; echo a > a', outs: [a]}
  b: {cmd: python there.py b 'echo begun >> log; sleep 2; echo ended >> log; echo b > b', deps: [a], outs: [b]}
  c: {cmd: python there.py c 'echo $LANGLADDER_CLUSTER > c', deps: [a], outs: [c]}
  d: {cmd: python there.py d 'echo broken; exit 3', deps: [b, c], outs: [d]}
  e: {cmd: python there.py e 'echo e > e', deps: [d], outs: [e]}
"""
NEEDS = {"a": set[str](), "b": {"a"}, "c": {"a"}, "d": {"b", "c"}, "e": {"d"}}


@pytest.fixture(scope="module")
def client():
    from langladder.engine.dask import start

    engine = start("processes", 2, {})
    yield engine.client  # type: ignore[attr-defined]
    engine.close()


def project(folder: Path, stages: str, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DVC project whose jobs run on a cluster, except `a`."""
    monkeypatch.setattr(parallel, "ROOT", folder)
    monkeypatch.setattr(clusters, "goes", lambda job: job != "a")
    monkeypatch.setenv("PATH", ENVIRONMENT["PATH"])
    monkeypatch.setenv(CLUSTER_ADDRESS, client.scheduler.address)
    (folder / "there.py").write_text(THERE)
    (folder / "dvc.yaml").write_text(stages)
    run(folder, "dvc", "init", "-q", "--no-scm")
    clusters.check(client, folder)


@pytest.mark.long
@pytest.mark.dag
def test_a_lost_worker_s_job_runs_again_and_its_first_command_does_not_go_on(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, STAGES, client, monkeypatch)
    pids = client.run(os.getpid)

    def kill() -> None:
        while not (tmp_path / "log").is_file():
            time.sleep(0.05)
        (busy,) = (worker for worker, keys in client.processing().items() if any("b-" in key for key in keys))
        os.kill(pids[busy], signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    failed = parallel.run_all(NEEDS, 1, slots=2)
    killer.join()
    output = capsys.readouterr().out
    assert failed == ["d"] and not (tmp_path / "e").exists()
    assert (tmp_path / "log").read_text().split() == ["begun", "begun", "ended"]
    assert (tmp_path / "c").read_text() == "none\n"  # so that a stage begins no cluster of its own there
    assert "broken" in output and "exit code" in output
    assert all(name in (tmp_path / "dvc.lock").read_text() for name in ("a:", "b:", "c:"))
    assert run(tmp_path, "dvc", "status", "a", "b", "c").strip() == "Data and pipelines are up to date."


@pytest.mark.dag
def test_an_interrupt_ends_what_runs_on_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from langladder.engine.dask import start

    engine = start("processes", 1, {})
    command = "python there.py b 'echo begun >> log; sleep 60; echo ended >> log'"
    project(tmp_path, f'stages: {{b: {{cmd: "{command}"}}}}\n', engine.client, monkeypatch)  # type: ignore[attr-defined]

    def interrupted(*_: object, **__: object) -> None:
        while not (tmp_path / "log").is_file():
            time.sleep(0.05)
        raise KeyboardInterrupt

    monkeypatch.setattr(parallel, "wait", interrupted)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        parallel.run_all({"b": set()}, 1, slots=1)
    while engine.client.processing() and any(engine.client.processing().values()):  # type: ignore[attr-defined]
        time.sleep(0.1)
    engine.close()
    assert time.monotonic() - began < 50
    assert (tmp_path / "log").read_text() == "begun\n"


def test_a_command_s_code_and_lines_come_back(client: Any, tmp_path: Path) -> None:
    from langladder.engine import dask

    lines = dask.run(client, "x", "echo one; echo $PLACE; pwd; exit 4", tmp_path, {"PLACE": "two"})
    printed = []
    with pytest.raises(StopIteration) as end:
        while True:
            printed.append(next(lines))
    assert (printed, end.value.value) == (["one", "two", str(tmp_path)], 4)
    assert "cannot access" in "".join(dask.run(client, "x", "true", tmp_path / "not there", {}))


@pytest.mark.dag
def test_a_command_that_nobody_waits_for_ends(client: Any, tmp_path: Path) -> None:
    from langladder.engine import dask

    lines = dask.run(client, "x", "echo begun; sleep 2; echo ended > ended", tmp_path, {})
    assert next(lines) == "begun"
    lines.close()
    del lines
    time.sleep(3)
    assert not (tmp_path / "ended").exists()


def test_what_is_asked_of_a_worker_is_only_what_some_worker_has(client: Any, tmp_path: Path) -> None:
    for name, text in (("gpt", "training: {lr: 1}"), ("cpu", "training: {accelerator: cpu}"), ("counted", "model: {}")):
        (tmp_path / "resolved" / "train_lm").mkdir(parents=True, exist_ok=True)
        unwatched = "" if "training" in text else "\naside: {engine: {kind: dask}}"
        (tmp_path / "resolved" / "train_lm" / f"{name}.yaml").write_text(f"lm: {{{text}}}{unwatched}\n")
    assert clusters.needs(client, "train_lm@gpt", tmp_path) == {}

    def workers(**_: Any) -> Any:
        offers = {"gpu": 2.0}, {"memory": 5e8}
        return {"workers": {str(number): {"resources": offer} for number, offer in enumerate(offers)}}

    offering: Any = type("", (), {"scheduler_info": staticmethod(workers)})
    assert clusters.needs(offering, "train_lm@gpt", tmp_path) == {"gpu": 1.0, "memory": 5e8}
    for job in ("train_lm@cpu", "report"):
        assert clusters.needs(offering, job, tmp_path) == {"memory": 5e8}
    wanted = {f"train_lm@{name}": name != "counted" for name in ("gpt", "cpu", "counted")}
    wanted |= {"evaluate_lm@gpt": True, "tokenize@text": False, "resolve": False}
    assert {job: clusters.goes(job, tmp_path) for job in wanted} == wanted


def test_several_machines_need_a_tracking_server(client: Any, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(clusters, "platform", type("", (), {"node": staticmethod(lambda: "another")}))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(InputError, match="MLFLOW_TRACKING_URI"):
        clusters.check(client, tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://server:5000")
    clusters.check(client, tmp_path)


def test_no_cluster_where_none_is_chosen() -> None:
    with clusters.connected(ROOT, load()) as result:
        assert result == 0
