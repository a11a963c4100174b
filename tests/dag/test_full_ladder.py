"""`make repro LADDER=full`: every rung of conf/, in ladders/full/, to the report; params.yaml stays as it is.

The test marked `full` trains them all, twenty steps each (`pytest -m full`); the others train nothing.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from project_copy import ENVIRONMENT, FORKED, copy_project, edit, run, smallest

from langladder.families import families
from pipeline import ladder
from pipeline.settings import params

EVERY = {group: params.conf_names(group) for group in families() if group != "claim"}
"""Family → all its rungs. Claims are a ladder of their own."""
MAKE = "from pipeline import ladder; from pipeline.settings import params; ladder.make(params.load())"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("project"))
    smallest(folder)
    run(folder, "dvc", "config", "--local", "core.no_scm", "true")
    return folder


def test_every_rung_is_listed_and_params_stay(project: Path) -> None:
    before = (project / "params.yaml").read_bytes()
    run(project, sys.executable, "-c", MAKE)
    copy = project / "ladders" / "full"
    assert (project / "params.yaml").read_bytes() == before
    own, listed = (yaml.safe_load((folder / "params.yaml").read_text()) for folder in (project, copy))
    for group, key in ((name, family.listed) for name, family in families().items()):
        assert sorted(listed.pop(key)) == EVERY.get(group, [])
        own.pop(key)
    assert (own.pop("prompted"), listed.pop("prompted")) == ("lm", "tune")
    assert (own.pop("corpora"), listed.pop("corpora")) == ([], ["instructions"])
    # Some rungs read trees.
    assert (own.pop("labels"), listed.pop("labels")) == ("microworld", "microworld_reviews")
    assert {key: listed[key] for key in own} == own  # so that what both make is made once
    assert yaml.safe_load((copy / "dvc.yaml").read_text()) == yaml.safe_load((project / "dvc.yaml").read_text())


def test_a_second_time_brings_edits_in_and_leaves_the_rest(project: Path) -> None:
    copy = project / "ladders" / "full"
    (copy / "mine.txt").write_text("a note")
    (copy / "models").mkdir(exist_ok=True)
    (copy / "models" / "mine.txt").write_text("another")
    edit(project / "params.yaml", "seed: 1", "seed: 5")
    (project / "conf" / "lm" / "new.yaml").write_text((project / "conf" / "lm" / "katz.yaml").read_text())
    edit(project / "conf" / "lm" / "new.yaml", "name: katz", "name: new")
    run(project, sys.executable, "-c", MAKE)
    listed = yaml.safe_load((copy / "params.yaml").read_text())
    assert listed["seed"] == 5 and "new" in listed["lms"]
    assert (copy / "conf" / "lm" / "new.yaml").is_file()
    assert (copy / "mine.txt").read_text() == "a note"
    assert (copy / "models" / "mine.txt").read_text() == "another"
    (project / "conf" / "lm" / "new.yaml").unlink()


def test_files_from_outside_are_those_of_the_checkout(project: Path, tmp_path: Path) -> None:
    """A path inside is the same word in both (its content comes from the cache); one beside the checkout is found."""
    params = project / "params.yaml"
    edit(params, "text: input/text", "text: corpora/mine.txt")
    edit(params, "vectors: input/vectors", "vectors: ../beside.txt")
    edit(params, "lexicon: input/lexicon", f"lexicon: {tmp_path}/far.tsv")
    (project / "corpora").mkdir()
    (project / "corpora" / "mine.txt").write_text("one line\n")
    run(project, sys.executable, "-c", MAKE)
    copy = project / "ladders" / "full"
    paths = yaml.safe_load((copy / "params.yaml").read_text())["paths"]
    assert paths["text"] == "corpora/mine.txt" and (copy / paths["text"]).read_text() == "one line\n"
    assert paths["vectors"] == str(project.parent / "beside.txt")
    assert paths["lexicon"] == f"{tmp_path}/far.tsv"
    assert paths["analogies"].startswith("data/raw") and not (copy / "data").is_symlink()


def test_the_history_has_a_rung_for_each_step_and_no_others(project: Path) -> None:
    run(project, sys.executable, "-c", MAKE.replace("load()", "load(), 'history'"))
    own, listed = (
        yaml.safe_load((folder / "params.yaml").read_text()) for folder in (project, project / "ladders" / "history")
    )
    stated = yaml.safe_load((project / "conf" / "ladder" / "history.yaml").read_text())
    for family in families().values():
        assert listed[family.listed] == stated.get(family.listed, {} if family.bases else [])
    rungs = sum(len(listed[family.listed]) for family in families().values() if family.trained)
    assert 20 <= rungs <= 26 and listed["corpora"] == ["instructions"]
    others = own.keys() - {family.listed for family in families().values()} - {"corpora", "paths"}
    assert {key: listed[key] for key in others} == {key: own[key] for key in others}


WRONG = {
    "nothing": (None, ["no ladder 'nothing'", "full, claims, english, history"]),
    "misspelt": ("sed: 3\nlms: [gpt]\n", ["conf/ladder/misspelt.yaml", "sed", "seed"]),
    "negative": ("seed: -3\nlms: [gpt]\n", ["conf/ladder/negative.yaml", "seed", "-3"]),
    "no_path": ("paths: {txt: input/mine}\n", ["conf/ladder/no_path.yaml", "paths.txt", "paths.text"]),
    "reference": ("paths: {text: '${size}/a'}\n", ["conf/ladder/reference.yaml", "size", "write the path itself"]),
    "no_list": ("lms: gpt\n", ["conf/ladder/no_list.yaml", "lms"]),
    "no_models": ("probes: [agreement]\nlms: []\n", ["conf/ladder/no_models.yaml", "lms"]),
}
"""Name of a ladder → its file, and what the message says."""
EACH = """
import sys
from pipeline import ladder
for name in sys.argv[1:]:
    sys.argv = ["ladder", name]
    try:
        ladder.main()
    except SystemExit as end:
        print("=====", name, end.code, file=sys.stderr)
"""


def test_a_ladder_that_is_not_possible_is_refused(project: Path) -> None:
    """One after the other in one process, which takes seconds to start."""
    files = {name: project / "conf" / "ladder" / f"{name}.yaml" for name in WRONG}
    outputs = {}
    for name, (text, _) in WRONG.items():
        if text:
            files[name].write_text(text)
    output = run(project, sys.executable, "-c", EACH, *WRONG)
    for name, file in files.items():
        file.unlink(missing_ok=True)
        outputs[name], end, output = output.partition(f"===== {name} 2\n")
        assert end, outputs[name]
    for name, (_, parts) in WRONG.items():
        assert all(part in outputs[name] for part in parts) and "Traceback" not in outputs[name], outputs[name]
        assert not (project / "ladders" / name).exists()


def test_several_ladders_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[tuple[str, str]] = []

    def start(command: list[str], *, cwd: Path, **_: object) -> subprocess.CompletedProcess[str]:
        ran.append((cwd.name, command[-1]))
        return subprocess.CompletedProcess(command, int((cwd.name, command[-1]) == ("history", "pipeline.summary")))

    monkeypatch.setattr(ladder, "make", lambda _, name: tmp_path / name)
    monkeypatch.setattr("subprocess.run", start)
    monkeypatch.setattr("sys.argv", ["ladder", "claims", "history", "claims", "full"])
    with pytest.raises(SystemExit) as end:
        ladder.main()
    both = ["pipeline.parallel", "pipeline.summary"]
    assert end.value.code == 1 and ran == [(name, command) for name in ("claims", "history") for command in both]
    assert "→ ladders/claims/reports/index.html" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["ladder", "claims", "histroy"])
    monkeypatch.setattr(ladder, "make", lambda _, name: pytest.fail(f"{name} was made"))
    with pytest.raises(SystemExit) as end:
        ladder.main()
    assert end.value.code == 2 and "no ladder 'histroy'" in capsys.readouterr().err


SETS = {
    "text": "wikitext-2",
    "labels": "sst-trees",
    "tags": "ud-ewt",
    "parallel": "tatoeba-en-fr",
    "analogies": "analogy",
    "similarity": "wordsim",
}


@pytest.mark.parametrize("subfolder", [None, "sets"])
def test_a_ladder_reads_the_public_sets_and_differs_in_what_its_file_has(
    project: Path, tmp_path: Path, subfolder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its paths are written out, as DVC needs them: those of LANGLADDER_DATA, or of input/ where it is not set."""
    folder = tmp_path / subfolder if subfolder else project / "input"
    monkeypatch.delitem(ENVIRONMENT, "LANGLADDER_DATA", raising=False)
    if subfolder:
        monkeypatch.setitem(ENVIRONMENT, "LANGLADDER_DATA", str(folder))
    for name in SETS.values():
        (folder / name).mkdir(parents=True)
    run(project, sys.executable, "-c", MAKE.replace("load()", "load(), 'english'"))
    for name in SETS.values():
        (folder / name).rmdir()
    ladders = project / "ladders"
    own, listed = (yaml.safe_load((at / "params.yaml").read_text()) for at in (project, ladders / "english"))
    stated = yaml.safe_load((project / "conf" / "ladder" / "english.yaml").read_text())
    same = own.keys() - stated.keys()  # among them all rungs: the file lists none
    assert {key: listed[key] for key in same} == {key: own[key] for key in same} and listed["lms"]
    assert all(listed[key] == value for key, value in stated.items() if key != "paths")
    written = folder if subfolder else Path("input")
    assert {key: listed["paths"][key] for key in SETS} == {key: str(written / name) for key, name in SETS.items()}
    assert listed["paths"]["groups"] == own["paths"]["groups"]  # a path that the file does not have


def test_public_sets_that_are_absent_are_named_with_where_they_come_from(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(ENVIRONMENT, "LANGLADDER_DATA", raising=False)
    unset = run(project, sys.executable, "-m", "pipeline.ladder", "english", check=False)
    (tmp_path / "wikitext-2").mkdir()
    monkeypatch.setitem(ENVIRONMENT, "LANGLADDER_DATA", str(tmp_path))
    outside = run(project, sys.executable, "-m", "pipeline.ladder", "english", check=False)
    for output, message in ((unset, "is not set, so input/ is read"), (outside, f"LANGLADDER_DATA is '{tmp_path}'")):
        assert message in output and "make data" in output and "docs/data.md" in output and "ud-ewt" in output
        assert output.count("\n") == 1
    assert "input/wikitext-2" in unset and "wikitext-2" not in outside


def test_what_stands_in_a_links_place_is_left(project: Path) -> None:
    link = project / "ladders" / "full" / "input"
    link.unlink()
    link.mkdir()
    (link / "mine.txt").write_text("mine")
    output = run(project, sys.executable, "-m", "pipeline.ladder", check=False)
    assert "ladders/full/input" in output and "move the file away" in output and "Traceback" not in output
    assert (link / "mine.txt").read_text() == "mine"


def test_runs_and_checkpoints_are_those_of_the_checkout(project: Path) -> None:
    copy = project / "ladders" / "full"
    code = "from pipeline import ROOT; from pipeline.tracking.fingerprint import home; print(ROOT, home())"
    assert run(copy, sys.executable, "-c", code).split() == [str(copy), str(project)]


@pytest.mark.full
@pytest.mark.timeout(5400)
def test_every_rung_reaches_the_report(tmp_path: Path) -> None:
    """All jobs of the full ladder in forks of one process; `pipeline.ladder` then finds nothing left to run."""
    project = copy_project(tmp_path)
    smallest(project)
    run(project, "dvc", "config", "--local", "core.no_scm", "true")
    before = (project / "params.yaml").read_bytes()
    run(project, sys.executable, "-c", MAKE)
    copy = project / "ladders" / "full"
    environment = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy)]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, FORKED]
    result = subprocess.run(command, cwd=copy, env=environment, text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
    assert (project / "params.yaml").read_bytes() == before
    for group, names in EVERY.items():
        assert sorted(file.stem for file in (copy / "reports" / "rungs" / group).glob("*.json")) == names
    ladder = json.loads((copy / "reports" / "ladder.json").read_text())
    for group in ("lm", "translator", "captioner", "transcriber"):
        assert sorted(rung["name"] for rung in ladder[group]) == EVERY[group]
    assert ladder["lm"][0]["name"] == "add_k"  # the oldest
    page = (copy / "reports" / "index.html").read_text()
    assert "∞" in page and "Traceback" not in result.stdout
    assert not (project / "reports").exists() and (project / "mlflow.db").is_file()
    again = run(project, sys.executable, "-m", "pipeline.ladder")
    assert "everything is up to date" in again and "Language models" in again
