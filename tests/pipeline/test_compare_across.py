"""`make compare SETS=…`: rungs × data sets of several folders, printed and written."""

import csv
import json
from pathlib import Path

import pytest

from pipeline import compare
from tests.faces.report.classifier_files import classifier
from tests.faces.report.small_run_files import entry, report_of

from langladder.faces.report.tables import ladder_summary  # isort: skip


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, accuracies in (("ladders/mine", {"net": 0.8, "tf": 0.7}), ("ladders/other", {"tf": 0.9}), ("b/mine", {})):
        entries = [entry("classifier", classifier(name, accuracy)) for name, accuracy in accuracies.items()]
        (tmp_path / name / "reports").mkdir(parents=True)
        (tmp_path / name / "reports/ladder.json").write_text(json.dumps(ladder_summary(report_of(classifier=entries))))
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    return tmp_path


def test_the_table_is_printed_and_written(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare.main(["--across", "ladders/mine", "ladders/other", "--ladder", "classifier"])
    printed = capsys.readouterr().out
    written = (root / "outputs/across.md").read_text()
    assert "| accuracy | mine | other |" in written and written.splitlines()[0] in printed
    with (root / "outputs/across.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["rung"], row["data_set"]) for row in rows} == {("net", "mine"), ("tf", "mine"), ("tf", "other")}
    assert printed.endswith("compare: → outputs/across.md, outputs/across.csv\n")


def test_folders_of_one_name_keep_their_paths(root: Path) -> None:
    compare.main(["--across", "ladders/mine", "b/mine"])
    assert "| accuracy | ladders/mine | b/mine |" in (root / "outputs/across.md").read_text()


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        (["ladders/mine"], "give two or more different sources"),
        (["ladders/mine", "ladders/mine"], "two or more different sources"),
        (["ladders/mine", "ladders"], r"ladders/reports/ladder.json: no such file; run `dvc repro` there first"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    root: Path, sources: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        compare.main(["--across", *sources])
    assert says in capsys.readouterr().err and not (root / "outputs").exists()
