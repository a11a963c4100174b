"""The whole DAG in a copy of the project, and what DVC and Hydra do with it, as users drive them.

The tests of this module run in order and share one copy: each begins where the one before left off. Its jobs run in
forks of one process (`forked.py`); the last test drives them all through DVC, and so do those marked `long`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from project_copy import FORKED, copy_project, edit, forking, ran, run, smallest, with_git

from langladder.faces.report.tables import ladder_id

pytestmark = [pytest.mark.dag, pytest.mark.timeout(900)]


def differences(stated: object, whole: object, key: str = "") -> list[str]:
    """Keys whose stated value is another in `whole`, which also holds the defaults that nobody stated."""
    if isinstance(stated, dict) and isinstance(whole, dict):
        return [
            difference for name in stated for difference in differences(stated[name], whole.get(name), f"{key}.{name}")
        ]
    return [] if stated == whole else [key]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rung or two of each sort, the cheapest, made; those of all families are made in `test_full_ladder.py`."""
    folder = copy_project(tmp_path_factory.mktemp("project"))
    smallest(
        folder,
        embeddings=["one_hot"],
        lms=["maximum_likelihood", "kneser_ney", "lstm"],
        translators=[],
        classifiers=["majority"],
    )
    with_git(folder)
    run(folder, "env", "OMP_NUM_THREADS=1", sys.executable, FORKED)
    return folder


@pytest.fixture(scope="module")
def committed(project: Path) -> Iterator[Path]:
    """The project with a commit that holds its first ladder."""
    run(project, "git", "add", "dvc.lock")
    run(project, "git", "commit", "-qm", "first ladder", "--allow-empty")
    with forking(project):
        yield project


def test_repro_makes_everything(project: Path) -> None:
    """That `dvc repro` then finds nothing to do is the test after the next."""
    assert {
        "corpus@text",
        "corpus@scenes",
        "embed@one_hot",
        "evaluate_embedding@one_hot",
        "train_lm@lstm",
        "evaluate_lm@lstm",
        "clean@labels",
        "evaluate_classifier@majority",
        "clean@tags",
        "claim@gradient_flow",
        "probe@agreement",
        "report",
    } <= set(yaml.safe_load((project / "dvc.lock").read_text())["stages"])
    page = (project / "reports" / "index.html").read_text()
    assert "LSTM" in page and "Gradient by distance" in page and "claim-agreement" in page
    ladder = json.loads((project / "reports" / "ladder.json").read_text())
    assert [rung["name"] for rung in ladder["classifier"]] == ["majority"]
    scores = json.loads((project / "metrics" / "evaluate_lm" / "lstm.json").read_text())
    assert scores["perplexity_per_word"] > scores["floor_perplexity_per_word"] > 1
    listed = json.loads(run(project, "dvc", "metrics", "show", "--json"))[""]["data"]
    assert listed["reports/headline/lm_perplexity_per_word.json"]["data"] == {
        "maximum_likelihood": "infinite",
        "kneser_ney": pytest.approx(
            json.loads((project / "metrics" / "evaluate_lm" / "kneser_ney.json").read_text())["perplexity_per_word"]
        ),
        "lstm": scores["perplexity_per_word"],
    }
    assert {"classifier_accuracy.json", "claim_outcome.json"} <= {Path(file).name for file in listed}
    assert "<svg" in (project / "reports" / "plots" / "ladder.svg").read_text()
    timings = project / "reports" / "timings.json"
    content = timings.read_bytes()
    assert json.loads(content)["ladder"] == ladder_id(ladder) and json.loads(content)["rungs"]["lm/lstm"]["seconds"] > 0
    timings.unlink()
    assert "perplexity" in run(project, "python", "-m", "pipeline.summary").lower()
    assert "| LSTM |" in run(project, "python", "-m", "pipeline.summary", "--markdown")
    assert timings.read_bytes() == content
    outputs = [
        path for top in ("data", "models", "metrics", "curves", "reports") for path in (project / top).rglob("*")
    ]
    (project / "umask").touch()
    usual = (project / "umask").stat().st_mode
    assert [path for path in outputs if path.is_file() and path.stat().st_mode != usual] == []
    (project / "umask").unlink()


@pytest.mark.long
def test_an_infinite_perplexity_is_a_result(project: Path) -> None:
    """The unsmoothed n-gram rules words of the test text out."""
    for stage in ("train_lm", "evaluate_lm"):
        figures = json.loads((project / "metrics" / stage / "maximum_likelihood.json").read_text())
        assert [key for key in figures["infinite"] if "perplexity_per_word" in key and figures[key] is None]
    summary = run(project, "python", "-m", "pipeline.summary")
    assert "∞" in next(line for line in summary.splitlines() if "Unsmoothed 3-gram" in line)
    run_id = run(project, "python", "-m", "pipeline.runs", "of", "models/lm/maximum_likelihood").split()[0]
    from mlflow import MlflowClient

    logged = MlflowClient(f"sqlite:///{project / 'mlflow.db'}").get_run(run_id).data.metrics
    assert logged["validation_perplexity_per_word"] > 1e300  # what MLflow keeps for infinity


def test_nothing_runs_twice(project: Path) -> None:
    output = run(project, "dvc", "repro")
    assert ran(output) == set()
    assert "up to date" in output


def test_nothing_tracked_depends_on_the_moment_or_the_machine(project: Path) -> None:
    lock = (project / "dvc.lock").read_text()
    assert str(project) not in lock
    for file in (project / "models").rglob("provenance.json"):
        assert str(project) not in file.read_text()


@pytest.mark.long
def test_a_commit_without_the_lock_file_has_nothing_to_compare(project: Path) -> None:
    output = run(project, "python", "-m", "pipeline.compare", "HEAD", check=False)
    assert "HEAD: neither a folder nor a commit" in output and "git add dvc.lock" in output
    assert "Traceback" not in output
    output = run(project, "python", "-m", "pipeline.compare", "nonsense", ".", check=False)
    assert "nonsense: neither" in output and "Traceback" not in output
    run(project, "git", "add", "dvc.lock")
    run(project, "git", "commit", "-qm", "first ladder")
    output = run(project, "python", "-m", "pipeline.compare")
    assert "LSTM" in output and "+" not in output and " = " in output


@pytest.mark.long
def test_an_edit_and_a_new_rung_run_only_what_they_touch(committed: Path) -> None:
    """Of the LSTM, edited, and of add-k, which is new, everything; of the other rungs nothing."""
    edit(committed / "conf" / "lm" / "lstm.yaml", "width: ${size.lm_width}", "width: 48")
    edit(committed / "params.yaml", "- kneser_ney\n- lstm", "- kneser_ney\n- lstm\n- add_k")
    assert ran(run(committed, "dvc", "repro")) == {
        "resolve",
        "watch@lm",  # which notes what the new one reads: nothing of its own
        "train_lm@lstm",
        "train_lm@add_k",
        "evaluate_lm@lstm",
        "evaluate_lm@add_k",
        "probe@agreement",
        "report",
    }


@pytest.mark.long
def test_two_commits_side_by_side(committed: Path) -> None:
    """The last commit has no add-k model, and an LSTM of another width."""
    lines = run(committed, "python", "-m", "pipeline.compare", "HEAD", ".", "--ladder", "lm").splitlines()
    assert max(map(len, lines)) <= 100
    (new,) = (line.removeprefix("Add-k 3-gram").split() for line in lines if line.startswith("Add-k 3-gram"))
    assert new[0] == "–" and float(new[1].replace(",", "")) > 1
    (lstm,) = (line.split() for line in lines if line.startswith("LSTM "))
    assert lstm[3][0] in "+−"
    summary = run(committed, "python", "-m", "pipeline.summary").splitlines()
    assert max(map(len, summary)) <= 100


@pytest.mark.long
def test_from_an_artefact_to_its_run_and_back(project: Path) -> None:
    run_id = run(project, "python", "-m", "pipeline.runs", "of", "models/lm/add_k").split()[0]
    assert run(project, "python", "-m", "pipeline.runs", "artefact", run_id).strip().endswith("models/lm/add_k")


@pytest.mark.long
def test_every_entry_point_sees_the_same_values(project: Path) -> None:
    """`dvc repro` after an edit, `dvc exp run -S`, `dvc exp run --queue`, and Hydra's sweep."""
    file = project / "resolved" / "train_lm" / "lstm.yaml"
    run(project, "git", "add", "-A")
    run(project, "git", "commit", "-qm", "before")
    run(project, "dvc", "exp", "run", "-S", "seed=7", "-S", "++lm.lstm.model.layers=2", "resolve")
    by_experiment = yaml.safe_load(file.read_text())
    assert (by_experiment["seed"], by_experiment["lm"]["model"]["layers"]) == (7, 2)

    run(project, "git", "checkout", "-q", "params.yaml")
    changes = ["-S", "seed=7", "-S", "++lm.lstm.model.layers=2"]
    run(project, "dvc", "exp", "run", "--queue", "--name", "queued", *changes, "resolve")
    output = run(project, "dvc", "exp", "run", "--run-all")
    run(project, "dvc", "exp", "apply", "queued")
    assert yaml.safe_load(file.read_text()) == by_experiment, output

    run(project, "git", "checkout", "-q", "params.yaml")
    edit(project / "params.yaml", "seed: 1", "seed: 7")
    edit(project / "params.yaml", "lm: {}", "lm: {lstm: {model: {layers: 2}}}")
    run(project, "dvc", "repro", "resolve")
    by_edit = yaml.safe_load(file.read_text())
    assert by_edit == by_experiment

    run(project, "git", "checkout", "-q", "params.yaml")
    output = run(
        project,
        "python",
        "-m",
        "pipeline.train",
        "lm",
        "-m",
        "lm=lstm",
        "seed=7,8",
        "lm.model.layers=2",
        check=False,
    )
    settings = [
        json.loads(path.read_text())["settings"] for path in sorted((project / "multirun").rglob("provenance.json"))
    ]
    assert len(settings) == 2, output
    seven = next(value for value in settings if value["seed"] == 7)
    assert differences(by_edit["lm"], seven["lm"]) == []
    assert by_edit["code"] == seven["code"]


@pytest.mark.long
def test_bad_settings_stop_everything_before_it_starts(project: Path) -> None:
    before = _resolved(project)
    assert before
    output = run(project, "dvc", "exp", "run", "-S", "seed=abc", check=False)
    assert "seed" in output and "'abc'" in output and "params.yaml" in output
    assert ran(output) <= {"resolve"}
    run(project, "git", "checkout", "-q", "params.yaml")
    assert _resolved(project) == before


def _resolved(project: Path) -> dict[Path, tuple[int, bytes]]:
    """What stands in resolved/, and when each file was written."""
    return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in (project / "resolved").rglob("*.yaml")}


@pytest.mark.long
def test_it_works_without_git(tmp_path: Path) -> None:
    """As from a source tarball, every job through DVC, as `make repro` does."""
    folder = copy_project(tmp_path)
    smallest(folder, embeddings=["one_hot"], lms=["kneser_ney"], translators=[], claims=[])
    run(folder, "dvc", "config", "--local", "core.no_scm", "true")
    output = run(folder, "env", "JOBS=2", "python", "-m", "pipeline.parallel", "--summary")
    assert "Language models" in output.partition("done, ")[2]
    assert {"corpus@text", "embed@one_hot", "evaluate_lm@kneser_ney", "probe@agreement", "report"} <= ran(output)
    assert "up to date" in run(folder, "dvc", "repro")
