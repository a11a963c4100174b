"""What a job reads is in its fingerprint by content: the same path with other content is another job."""

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_bad_input import run_stage

from pipeline import ROOT
from pipeline.provenance.fingerprint import digest, fingerprint
from pipeline.settings import params

RUNGS = {"embedding": "lexicon", "lm": "lstm", "translator": "attention", "sequence": "captioner"}
RUNGS |= {"experiment": "gradient_flow", "probe": "agreement"}
STAGES = {
    "embed": "embedding",
    "train_lm": "lm",
    "train_translator": "translator",
    "train_sequence": "sequence",
    "evaluate_embedding": "embedding",
    "evaluate_lm": "lm",
    "evaluate_translator": "translator",
    "evaluate_sequence": "sequence",
    "experiment": "experiment",
    "probe": "probe",
}


class Opened(BaseException):
    """Raised in place of the work, with the inputs that it was to be known by."""


def opened(stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *overrides: str) -> dict[str, Path]:
    """The inputs that a stage's job hashes."""

    def work(*arguments: Any) -> Any:
        raise Opened(next(value for value in arguments[3:] if isinstance(value, dict)))

    module = importlib.import_module(f"pipeline.{stage}")
    if stage in ("experiment", "probe"):
        monkeypatch.setattr(module, "measure", lambda *arguments: work(None, *arguments))
        monkeypatch.setattr(module, "read_json", lambda _: {"settings": {"lm": {"title": "T"}}}, raising=False)
    else:
        monkeypatch.setattr(module, "tracked_job", work)
    with pytest.raises(Opened) as found:
        run_stage(stage, tmp_path, monkeypatch, f"{STAGES[stage]}={RUNGS[STAGES[stage]]}", *overrides)
    inputs: dict[str, Path] = found.value.args[0]
    return inputs


def dependencies(stage: str, paths: dict[str, str]) -> list[Path]:
    """What dvc.yaml says that the stage reads, settings aside."""
    said = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"][stage].get("deps", [])
    names = {"item.rung": RUNGS[STAGES[stage]]} | {f"paths.{key}": value for key, value in paths.items()}
    for name, value in names.items():
        said = [dependency.replace(f"${{{name}}}", value) for dependency in said]
    return [Path(dependency) for dependency in said]


@pytest.mark.parametrize("stage", STAGES)
def test_what_dvc_watches_is_what_is_hashed(stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dependency, or a part of it, is hashed; nothing is hashed that DVC does not watch."""
    own = {"vectors": str(tmp_path / "mine.vec"), "lexicon": str(tmp_path / "mine.tsv")}
    overrides = [f"paths.{key}='{path}'" for key, path in own.items()]
    overrides += [f"+lm.input.vectors='{own['vectors']}'"] if stage == "train_lm" else []
    overrides += [f"embedding.model.lexicon='{own['lexicon']}'"] if stage == "embed" else []
    hashed = list(opened(stage, tmp_path, monkeypatch, *overrides).values())
    watched = dependencies(stage, params.load().paths.model_dump() | own)
    for path in watched:
        assert any(other == path or path in other.parents for other in hashed), f"{path} is not hashed: {hashed}"
    for path in hashed:
        assert any(other == path or other in path.parents for other in watched), f"{path} is not watched: {watched}"


@pytest.mark.parametrize("stage", ["embed", "train_lm"])
def test_files_that_a_rung_does_not_use_are_not_hashed(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not {"vectors", "lexicon"} & set(opened(stage, tmp_path, monkeypatch))


def test_other_content_at_the_same_path_is_another_job(tmp_path: Path) -> None:
    names = []
    for content in ("king 1 2\n", "king 2 1\n", "king 1 2\n"):
        (tmp_path / "mine.vec").write_text(content)
        names.append(fingerprint("train_lm", {}, {"vectors": digest(tmp_path / "mine.vec")}))
    assert names[0] == names[2] != names[1]
