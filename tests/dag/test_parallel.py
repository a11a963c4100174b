"""Several jobs at once: the order respects what waits for what, and a failure stops what has not begun."""

import pytest
import yaml

from pipeline import ROOT, ladder, parallel
from pipeline.support import choices

NEEDS: dict[str, set[str]] = {"a": set(), "b": {"a"}, "c": {"a"}, "d": {"b", "c"}, "alone": set()}


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_jobs_wait_for_what_they_need(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(parallel, "_run", lambda job, _: begun.append(job) or 0)
    assert parallel.run_all(NEEDS, jobs) == []
    assert sorted(begun) == sorted(NEEDS)
    for job, needed in NEEDS.items():
        assert all(begun.index(need) < begun.index(job) for need in needed)


def test_nothing_is_begun_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(parallel, "_run", lambda job, _: begun.append(job) or int(job == "a"))
    assert parallel.run_all(NEEDS, 1) == ["a"]
    assert not {"b", "c", "d"} & set(begun)


def test_each_job_gets_its_share_of_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(parallel, "_run", lambda _, environment: seen.append(environment["OMP_NUM_THREADS"]) or 0)
    parallel.run_all({"a": set()}, 2)
    assert seen == ["4"]


def test_the_full_ladder_lists_every_rung() -> None:
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    listed = yaml.safe_load(ladder.full(text, choices.load_choices()))
    for group, key in choices.LADDERS.items():
        assert sorted(listed[key]) == choices.conf_names(group)
    assert yaml.safe_load(text)["seed"] == listed["seed"]
