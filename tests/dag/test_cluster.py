"""Jobs whose commands run on the workers of a cluster: in the project's folder, again where a worker is lost."""

import os
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from project_copy import run

from langladder.ground.errors import InputError
from pipeline import ROOT, parallel
from pipeline import cluster as clusters
from pipeline.settings.params import load

distributed = pytest.importorskip("distributed", reason="pip install 'langladder[cluster]'")

STAGES = """
stages:
  a: {cmd: echo from a; echo a > a, outs: [a]}
  b: {cmd: echo begun >> log; sleep 2; echo ended >> log; echo b > b, deps: [a], outs: [b]}
  c: {cmd: echo $LANGLADDER_CLUSTER > c, deps: [a], outs: [c]}
  d: {cmd: echo broken; exit 3, deps: [b, c], outs: [d]}
  e: {cmd: echo e > e, deps: [d], outs: [e]}
"""
NEEDS = {"a": set[str](), "b": {"a"}, "c": {"a"}, "d": {"b", "c"}, "e": {"d"}}


@pytest.fixture(scope="module")
def client():
    from langladder.engine.dask import start

    engine = start("processes", 2, {})
    yield engine.client  # type: ignore[attr-defined]
    engine.close()


@pytest.fixture
def cluster(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parallel, "ROOT", tmp_path)
    monkeypatch.setattr(clusters.Cluster, "goes", lambda _, job: job != "a")
    (tmp_path / "dvc.yaml").write_text(STAGES)
    run(tmp_path, "dvc", "init", "-q", "--no-scm")
    with clusters.Cluster(client, tmp_path, 2) as made:
        yield made
    assert not list((tmp_path / ".dvc" / "tmp").glob("ask-*"))


@pytest.mark.long
@pytest.mark.dag
def test_a_lost_worker_s_job_runs_again_and_its_first_command_does_not_go_on(
    cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pids = cluster.client.run(os.getpid)

    def kill() -> None:
        while not (tmp_path / "log").is_file():
            time.sleep(0.05)
        (busy,) = (worker for worker, keys in cluster.client.processing().items() if any("b-" in key for key in keys))
        os.kill(pids[busy], signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    failed = parallel.run_all(NEEDS, 1, cluster)
    killer.join()
    said = capsys.readouterr().out
    assert failed == ["d"] and not (tmp_path / "e").exists()
    assert (tmp_path / "log").read_text().split() == ["begun", "begun", "ended"]
    assert (tmp_path / "c").read_text() == "none\n"  # so that a stage begins no cluster of its own there
    assert "broken" in said and "exit code" in said
    assert all(name in (tmp_path / "dvc.lock").read_text() for name in ("a:", "b:", "c:"))
    assert run(tmp_path, "dvc", "status", "a", "b", "c").strip() == "Data and pipelines are up to date."


@pytest.mark.dag
def test_an_interrupt_ends_what_runs_on_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from langladder.engine.dask import start

    monkeypatch.setattr(parallel, "ROOT", tmp_path)
    monkeypatch.setattr(clusters.Cluster, "goes", lambda *_: True)
    (tmp_path / "dvc.yaml").write_text("stages: {a: {cmd: echo begun >> log; sleep 60; echo ended >> log}}\n")
    run(tmp_path, "dvc", "init", "-q", "--no-scm")

    def interrupted(*_: object, **__: object) -> None:
        while not (tmp_path / "log").is_file():
            time.sleep(0.05)
        raise KeyboardInterrupt

    monkeypatch.setattr(parallel, "wait", interrupted)
    engine, began = start("processes", 1, {}), time.monotonic()
    with pytest.raises(KeyboardInterrupt), clusters.Cluster(engine.client, tmp_path, 1) as cluster:  # type: ignore[attr-defined]
        parallel.run_all({"a": set()}, 1, cluster)
    engine.close()
    assert time.monotonic() - began < 50
    assert (tmp_path / "log").read_text() == "begun\n"


def test_a_command_s_code_and_lines_come_back(client: Any, tmp_path: Path) -> None:
    from langladder.engine import dask

    lines = dask.run(client, "x", "echo one; echo $PLACE; pwd; exit 4", tmp_path, {"PLACE": "two"})
    said = []
    with pytest.raises(StopIteration) as end:
        while True:
            said.append(next(lines))
    assert (said, end.value.value) == (["one", "two", str(tmp_path)], 4)
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


def test_what_is_asked_of_a_worker_is_only_what_some_worker_has(client: Any, tmp_path: Path, monkeypatch) -> None:
    made = clusters.Cluster(client, tmp_path, 1)
    for name, text in (("gpt", "training: {lr: 1}"), ("cpu", "training: {accelerator: cpu}"), ("counted", "model: {}")):
        (tmp_path / "resolved" / "train_lm").mkdir(parents=True, exist_ok=True)
        aside = "" if "training" in text else "\naside: {engine: {kind: dask}}"
        (tmp_path / "resolved" / "train_lm" / f"{name}.yaml").write_text(f"lm: {{{text}}}{aside}\n")
    assert made.needs("train_lm@gpt") == {}

    def workers(**_: Any) -> Any:
        offers = {"gpu": 2.0}, {"memory": 5e8}
        return {"workers": {str(number): {"resources": offer} for number, offer in enumerate(offers)}}

    monkeypatch.setattr(made, "client", type("", (), {"scheduler_info": staticmethod(workers)}))
    assert made.needs("train_lm@gpt") == {"gpu": 1.0, "memory": 5e8}
    assert made.needs("train_lm@cpu") == {"memory": 5e8} == made.needs("report")
    assert [made.goes(f"train_lm@{name}") for name in ("gpt", "cpu", "counted")] == [True, True, False]
    assert made.goes("evaluate_lm@gpt") and not made.goes("tokenize@text") and not made.goes("resolve")


def test_several_machines_need_a_tracking_server(client: Any, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(clusters, "platform", type("", (), {"node": staticmethod(lambda: "another")}))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(InputError, match="MLFLOW_TRACKING_URI"), clusters.Cluster(client, tmp_path, 1):
        pass
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://server:5000")
    with clusters.Cluster(client, tmp_path, 1):
        pass


def test_no_cluster_where_none_is_chosen() -> None:
    with clusters.connected(ROOT, load()) as found:
        assert found is None
