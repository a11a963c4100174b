"""About how long jobs take: by earlier runs where there are some, else by their steps."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.provenance import store
from pipeline.provenance.estimate import A_JOB, COUNTED, duration, estimate, rough
from pipeline.provenance.job import tracked_job
from pipeline.provenance.run_facts import choice

pytestmark = pytest.mark.usefixtures("checkout")


def lstm(steps: int, **model: int) -> dict[str, Any]:
    training = {"max_steps": steps, "batch_size": 16, "sequence_length": 48}
    return {"lm": {"name": "lstm", "model": {"width": 256, "layers": 1} | model, "training": training}}


def resolved(root: Path, job: str, settings: dict[str, Any]) -> None:
    stage, _, name = job.partition("@")
    file = root / "resolved" / stage / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(settings))


def finished(
    stage: str, rung: str, seconds: float, *, steps: int = 2900, status: str = "FINISHED", **tags: str
) -> None:
    client, experiments = store.prepare(["language models"])
    names = {"stage": stage, "rung": rung} | choice() | tags
    run_id = client.create_run(experiments["language models"], start_time=1000, tags=names).info.run_id
    client.log_param(run_id, "settings.max_steps", steps)
    client.set_terminated(run_id, status, end_time=1000 + int(1000 * seconds))


def test_more_steps_width_layers_and_batch_take_longer() -> None:
    reference = rough("train_lm", lstm(2900))
    assert reference == pytest.approx(80 + COUNTED)  # what it was in the default ladder
    for more in (lstm(2901), lstm(2900, width=257), lstm(2900, layers=2)):
        assert rough("train_lm", more) > reference
    assert 45 < rough("train_lm", lstm(29_000, width=650)) / reference < 65  # ten times the steps, 6.4 times the work
    assert rough("train_lm", lstm(300, width=64)) < reference / 10
    gpt = rough("train_lm", lstm(3600, width=128, layers=2, heads=4))
    assert gpt == pytest.approx(120 + COUNTED)


def test_an_experiment_takes_its_steps_times_its_effort() -> None:
    def claim(steps: int, effort: float) -> float:
        return rough("experiment", {"experiment": {"settings": {"max_steps": steps, "effort": effort}}})

    assert claim(800, 1.0) < claim(1600, 1.0) == claim(800, 2.0)
    assert rough("experiment", {"experiment": {"settings": {"effort": 1.0}}}) == COUNTED  # trains nothing
    assert rough("clean", {"side": "text"}) == COUNTED


def test_earlier_runs_of_the_same_are_believed(checkout: Path) -> None:
    resolved(checkout, "train_lm@lstm", lstm(2900))
    jobs: dict[str, set[str]] = {"train_lm@lstm": set()}
    finished("train_lm", "lstm", 9.0, steps=20)
    finished("train_lm", "lstm", 9.0, size="another")
    finished("train_lm", "lstm", 9.0, status="FAILED")
    finished("evaluate_lm", "lstm", 9.0)
    by_steps = estimate(jobs, checkout, 1)
    assert by_steps.told == 0 and by_steps.seconds > 80 and str(by_steps).endswith("(roughly, by their steps)")
    for seconds in (900.0, 40_000.0, 1000.0):  # of which one was interrupted for a night
        finished("train_lm", "lstm", seconds)
    told = estimate(jobs, checkout, 1)
    assert told.seconds == 1000.0 + A_JOB and str(told) == "15 min (1 of them by earlier runs)"


def test_what_a_job_logs_of_itself_is_recognised(checkout: Path, job: Any) -> None:
    with tracked_job("lm", "train_lm", job(), {}):
        pass
    for steps, told in ((60, 1), (61, 0)):
        resolved(checkout, "train_lm@lstm", lstm(steps))
        assert estimate({"train_lm@lstm": set()}, checkout, 1).told == told


def test_jobs_run_beside_each_other_and_after_each_other(checkout: Path) -> None:
    for name in ("a", "b", "c", "d"):
        resolved(checkout, f"train_lm@{name}", lstm(2900))
    one = A_JOB + COUNTED + 80
    apart: dict[str, set[str]] = {f"train_lm@{name}": set() for name in "abcd"}
    chain = {"train_lm@a": set(), "train_lm@b": {"train_lm@a"}, "train_lm@c": {"train_lm@b"}, "train_lm@d": set()}
    assert [round(estimate(apart, checkout, n).seconds / one, 6) for n in (1, 2, 4)] == [4, 2, 1]
    assert estimate(chain, checkout, 4).seconds == pytest.approx(3 * one)


def test_a_store_without_runs_is_not_waited_for(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may just be made by another process, and MLflow takes seconds to load."""
    store.prepare()
    monkeypatch.setattr("pipeline.provenance.store.client", None)
    with store.alone():
        assert estimate({"train_lm@lstm": set()}, checkout, 1).told == 0


def test_without_a_store_none_is_made_and_a_broken_one_is_left(checkout: Path) -> None:
    (checkout / "mlflow.db").unlink()
    assert estimate({"train_lm@lstm": set()}, checkout, 1).told == 0
    assert not (checkout / "mlflow.db").exists()
    (checkout / "mlflow.db").write_bytes(b"no database " * 1000)
    assert estimate({"train_lm@lstm": set()}, checkout, 1).told == 0


def test_durations_are_said_as_one_says_them() -> None:
    said = {3: "1 min", 200: "3 min", 1300: "20 min", 3500: "1 h", 9100: "2 h 30 min", 86_400: "24 h"}
    assert {seconds: duration(seconds) for seconds in said} == said
