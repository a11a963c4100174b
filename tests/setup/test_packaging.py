"""What others get the project by: the image, the editor's container, the workflow, the citation, the changelog."""

import fnmatch
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from pipeline import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOP = {
    *(".ci", ".devcontainer", ".dockerignore", ".dvc", ".dvcignore", ".gitattributes", ".github", ".gitignore"),
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile", "README.md"),
    *("benchmarks", "conf", "deploy", "docs", "examples", "input", "lessons", "pipeline", "scripts", "src", "tests"),
    *("dvc.lock", "dvc.yaml", "mkdocs.yml", "params.yaml", "pyproject.toml"),
    *("requirements.lock", "requirements-dev.lock", "requirements-peers.lock"),
}
"""Everything that may lie at the top of a checkout."""


def instructions(text: str) -> list[tuple[str, str]]:
    """Of a Dockerfile: each instruction with its words, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^\s*#.*\n", "", text))
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def test_the_top_of_the_checkout_stays_short() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    listed = done.stdout.splitlines()
    if not any(listed):
        pytest.skip("no git")
    assert {name.split("/")[0] for name in listed if name} <= TOP


def test_a_checkout_with_other_line_ends_has_the_same_bytes(tmp_path: Path) -> None:
    """`core.autocrlf=true`, git's own setting on Windows: another `code` in every job, and bash reads no script."""
    files = [".gitattributes", "scripts/lock", "pipeline/__init__.py", "Makefile"]
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "mine.csv").write_bytes(b"a,b\r\n")
    git = ["git", "-c", "core.autocrlf=true", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"], ["rm", "-q", "-r", "."]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([*git, "reset", "-q", "--hard"], cwd=tmp_path, check=True)
    assert all((tmp_path / name).read_bytes() == (ROOT / name).read_bytes() for name in files)
    assert (tmp_path / "input" / "mine.csv").read_bytes() == b"a,b\r\n"  # data stay as they are


def test_what_building_a_wheel_leaves_is_ignored() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/build/", "/dist/", "*.egg-info/"} <= set(ignored)


def test_the_image_has_stages_no_rights_and_what_it_copies() -> None:
    words = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    known = {"ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "CMD"}
    assert {name for name, _ in words} == known
    stages = [index for index, (name, _) in enumerate(words) if name == "FROM"]
    assert len(stages) == 2 and ("ARG", "TORCH=cpu") in words
    [base] = [rest for name, rest in words if name == "ARG" and rest.startswith("PYTHON=")]
    assert re.search(r"@sha256:[0-9a-f]{64}$", base) and all(
        words[at][1].startswith("python:${PYTHON}") for at in stages
    )
    last = words[stages[-1] :]
    users = [rest for name, rest in last if name == "USER"]
    assert users == ["1000"] and last.index(("USER", "1000")) < last.index(("CMD", '["make", "repro"]'))
    for name, rest in words:
        sources = [] if name != "COPY" or "--from" in rest else [part for part in rest.split()[:-1] if part[:2] != "--"]
        assert all((ROOT / source).exists() for source in sources), rest


def test_the_image_is_made_without_what_git_ignores() -> None:
    def lines(name: str) -> list[str]:
        text = (ROOT / name).read_text(encoding="utf-8")
        return [line.strip("/") for line in text.splitlines() if line.strip() and not line.startswith("#")]

    kept_out = [line.removeprefix("**/") for line in lines(".dockerignore")]
    assert not [item for item in lines(".gitignore") if not any(fnmatch.fnmatch(item, line) for line in kept_out)]
    tracked = {"src", "pipeline", "conf", "scripts", "params.yaml", "dvc.yaml", "requirements.lock", "input"}
    assert not tracked & set(kept_out)


def test_the_container_of_editors_sets_up_as_make_does() -> None:
    content = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert content["postCreateCommand"] == "make setup TORCH=cpu"
    served = (ROOT / "src/langladder/faces/cli/serve.py").read_text(encoding="utf-8")
    assert all(f"default={port}" in served for port in content["forwardPorts"] if port != 5000)


def test_the_workflow_runs_what_is_promised_on_every_python() -> None:
    path = ROOT / ".github" / "workflows" / "ci.yml"
    result = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert result["permissions"] == {"contents": "read"} and "secrets." not in path.read_text(encoding="utf-8")
    pythons = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    jobs = result["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == pythons
    runs = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert runs["tests"] == ["make test"] and runs["everything"][-1] == ".ci/run"
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", item) for item in used), "a tag can be moved"
    on = result[True]  # YAML's word for `on`
    assert set(on) == {"push", "pull_request", "workflow_dispatch"}


def test_the_licence_is_the_one_that_is_declared() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0" and PROJECT["license-files"] == ["LICENSE"]
    assert text.split()[:4] == ["Apache", "License", "Version", "2.0,"] and "END OF TERMS AND CONDITIONS" in text


def test_the_citation_and_the_changelog_say_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["version"] == PROJECT["version"] and cited["license"] == PROJECT["license"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^## \[(.+?)\]", changes)
    assert headings[0] == "Unreleased" and len(set(headings)) == len(headings)
    assert set(re.findall(r"(?m)^### (\w+)", changes)) <= {
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    }


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/installing.md"])
def test_links_and_targets_are_there(name: str) -> None:
    file = ROOT / name
    text = file.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert links and not [link for link in links if not (file.parent / link).exists()]
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    assert set(re.findall(r"\bmake ([a-z-]+)\b(?=[ `,)\n])", text)) - {"needs"} <= targets
    extras = set(re.findall(r"(?m)^\| ((?:`\w+`(?:, )?)+) \|", text)) if name.startswith("docs") else set()
    extra_names = {extra for cell in extras for extra in re.findall(r"`(\w+)`", cell)}
    assert not extra_names or extra_names == set(PROJECT["optional-dependencies"])
