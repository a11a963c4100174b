"""Text behind a URL in the DAG: DVC notices what changes there, the stage reads it, bad URLs stop the run at once."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir
from project_copy import ENVIRONMENT, copy_project, edit, forking, ran, run, smallest
from pydantic import ValidationError
from remote_servers import AWS, BUCKET, s3_server, web_server

from langladder.ground.errors import InputError
from pipeline import ROOT, ladder, parallel
from pipeline.settings import checks, compose, params, titles

STAGES = """
stages:
  read:
    foreach: {text: "${text}"}
    do: {cmd: echo read, deps: ["${item}"]}
"""


def chosen(**paths: str) -> params.Choices:
    values = params.load().model_dump()
    return params.schema().model_validate(values | {"paths": values["paths"] | paths})


@pytest.mark.parametrize(
    ("key", "url", "message"),
    [
        ("vectors", "s3://a/vectors.txt", r"langladder copy s3://a/vectors\.txt input/vectors"),
        ("text", "hf://datasets/a/b", "cannot track; supported: s3://.* set corpus: hub"),
        ("text", "https://a/folder/", "has no ETag"),
        ("text", "gs://a/b", "dvc-gs, which is not installed; pip install dvc-gs"),
    ],
)
def test_urls_that_dvc_cannot_watch_are_refused(key: str, url: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        chosen(**{key: url})


def test_a_link_to_nothing_stops_the_run_before_dvc_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").symlink_to("a.txt")
    changed = chosen(text=str(tmp_path), tags="s3://bucket/tags")
    assert checks.broken_links(changed.paths.model_dump()) == []
    for name in ("gone.txt", "deep/gone.txt"):
        (tmp_path / name).symlink_to("nowhere.txt")
    monkeypatch.setattr(params, "load", lambda: changed)
    monkeypatch.setattr(parallel, "find_jobs", lambda: pytest.fail("DVC was asked"))
    message = rf"paths\.text: {tmp_path}/gone\.txt is a link to nowhere\.txt, which does not exist \(and 1 more\); fix"
    with pytest.raises(InputError, match=message):
        parallel.repro([])
    monkeypatch.setattr("pipeline.settings.plan.jobs", lambda _: [])  # no job need be composed for this
    monkeypatch.setattr("pipeline.settings.checks.misfits", lambda *_: [])
    with initialize_config_dir(compose.conf_folder(), version_base="1.3"), pytest.raises(InputError, match=message):
        compose.resolve(changed)
    (tmp_path / "link").symlink_to("nowhere")
    assert "paths.text" in checks.broken_links({"text": str(tmp_path / "link")})[0]


def test_a_url_is_no_path_to_the_full_ladder_and_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://host/corpora/novels.txt.gz"
    monkeypatch.setattr(ladder, "_dvc_config", lambda: "")
    monkeypatch.setattr(ladder, "ROOT", tmp_path)
    for link in (*ladder.LINKED, "input"):
        (tmp_path / link).mkdir()
    folder = ladder.make(chosen(text=url))
    assert yaml.safe_load((folder / "params.yaml").read_text())["paths"]["text"] == url
    assert not (folder / "https:").is_symlink()
    (tmp_path / "resolved" / "corpus").mkdir(parents=True)
    (tmp_path / "resolved" / "corpus" / "text.yaml").write_text(yaml.safe_dump({"corpus": {"source": {"path": url}}}))
    monkeypatch.setattr(titles, "ROOT", tmp_path)
    assert titles._name("text", "text") == "novels"


@contextmanager
def watched(folder: Path, url: str, change: Any) -> Iterator[str]:
    """DVC reads what a URL names once, and again when that has changed."""
    (folder / ".dvc").mkdir()
    (folder / ".dvc" / "config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    (folder / "params.yaml").write_text(yaml.safe_dump({"text": url}))
    (folder / "dvc.yaml").write_text(STAGES)
    assert ran(run(folder, "dvc", "repro")) == {"read@text"}
    assert not ran(run(folder, "dvc", "repro"))
    change()
    yield run(folder, "dvc", "repro")


@pytest.mark.long
def test_dvc_notices_a_change_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dvc_s3", reason="needs dvc-s3: pip install 'langladder[cluster]'")
    with s3_server() as s3:
        for key in [*AWS, "AWS_ENDPOINT_URL"]:
            monkeypatch.setitem(ENVIRONMENT, key, os.environ[key])
        s3.pipe({f"{BUCKET}/text/a.txt": b"one\n", f"{BUCKET}/text/deep/b.txt": b"two\n"})
        with watched(tmp_path, f"s3://{BUCKET}/text", lambda: s3.pipe(f"{BUCKET}/text/deep/b.txt", b"TWO\n")) as output:
            assert ran(output) == {"read@text"}


@pytest.mark.long
@pytest.mark.dag
def test_text_from_the_web_goes_through_the_stages(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    smallest(project, corpus="text")
    run(project, "dvc", "config", "--local", "core.no_scm", "true")
    (tmp_path / "web").mkdir()
    file = tmp_path / "web" / "mine.txt"
    lines = [f"the cat number {number} sees {number % 7} dogs ." for number in range(300)]
    file.write_text("\n".join(lines) + "\n")
    with web_server(tmp_path / "web") as (url, _), forking(project):
        edit(project / "params.yaml", "text: input/text", f"text: {url}/mine.txt")
        assert {"corpus@text", "clean@text"} <= ran(run(project, "dvc", "repro", "clean@text"))
        assert not ran(run(project, "dvc", "repro", "clean@text"))
        file.write_text("\n".join(lines[:200]) + "\n")
        assert {"corpus@text", "clean@text"} <= ran(run(project, "dvc", "repro", "clean@text"))
    report = json.loads((project / "metrics" / "corpus" / "text.json").read_text())
    assert report["splits"]["all"]["lines"] == 200
    assert "mine" in (project / "dvc.lock").read_text() and not list(project.glob("http*"))


def test_the_project_has_no_url_that_it_needs() -> None:
    """A fresh checkout needs no network."""
    assert "://" not in yaml.safe_dump(yaml.safe_load((ROOT / "params.yaml").read_text())["paths"])
