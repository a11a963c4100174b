"""Stages run by hand: whatever is typed, what is wrong is one sentence that names the key and where to change it."""

import sys
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

from langladder.families.sides import SIDES
from pipeline import ROOT
from pipeline.settings import plan, stage

MODULES = {item.command[0].rpartition(".")[2]: name for name, item in reversed(plan.stages().items())}
"""Each module of stages → the first of its stages."""


def error_output(name: str, *typed: str, capsys: pytest.CaptureFixture[str], folder: Path) -> str:
    """What a single run prints on its error stream; it must end with 2, or run."""
    ran: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        runs = len([*folder.glob("run*")])  # a run has a folder of its own
        patch.setattr(sys, "argv", [name, *typed, f"hydra.run.dir={folder / f'run{runs}'}"])
        patch.chdir(ROOT)
        for key in stage.QUIET:
            patch.setenv(key, stage.QUIET[key])
        patch.setattr("pipeline.settings.needed.check_data", lambda _: None)
        GlobalHydra.instance().clear()
        try:
            stage._main(name, lambda job, out: ran.append((job, out)))
        except SystemExit as end:
            assert end.code == 2
    errors = capsys.readouterr().err
    assert "Traceback" not in errors and bool(ran) == (not errors), errors
    return errors


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "key"),
    [
        *((module, "size.foo") for module in sorted(set(MODULES) - {"watch", "take"})),
        *((module, key) for module in ("corpus", "train") for key in ("foo", "foo.bar")),
    ],
)
def test_an_unknown_key_is_named_by_every_stage(
    module: str, key: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Where it stands makes no difference to a stage: that is tested with a stage of rungs and one without."""
    result = error_output(MODULES[module], f"{key}=1", capsys=capsys, folder=tmp_path)
    assert f"{key}: unknown key" in result and len(result.splitlines()) == 1


@pytest.mark.long
@pytest.mark.parametrize("side", SIDES)
def test_settings_of_each_side_of_the_data(side: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    group = SIDES[side].group
    name = max(file.stem for file in (ROOT / "conf" / group).glob("*.yaml") if file.stem != "none")  # of most: files
    chosen = f"side={side}", f"{group}={name}"
    for key in (f"{group}.source.foo", f"{group}.foo"):
        result = error_output("corpus", *chosen, f"{key}=1", capsys=capsys, folder=tmp_path)
        assert f"{key}: unknown key" in result and len(result.splitlines()) == 1
    result = error_output("corpus", *chosen, f"++{group}.iid=maybe", capsys=capsys, folder=tmp_path)
    assert "corpus.iid: 'maybe' is not allowed" in result and "change it on the command line" in result
    assert not error_output("corpus", *chosen, f"++{group}.iid=true", capsys=capsys, folder=tmp_path)
    if SIDES[side].cleaning:
        result = error_output("clean", f"side={side}", "clean.foo=1", capsys=capsys, folder=tmp_path)
        assert "clean.foo: unknown key" in result and len(result.splitlines()) == 1
        result = error_output("clean", f"side={side}", f"++clean.{side}.split.test=7", capsys=capsys, folder=tmp_path)
        assert "7" in result and "on the command line" in result
        assert not error_output(
            "clean", f"side={side}", f"++clean.{side}.split.test=0.2", capsys=capsys, folder=tmp_path
        )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "typed", "parts"),
    [
        ("corpus", ["side=text", "corpus=text", "corpus.encoding=latin-1"], ["the nearest: corpus.source.encoding"]),
        ("corpus", ["side=parallel", "parallel=text", "parallel.layout=columns"], ["parallel.source.layout"]),
        ("corpus", ["side=zzz"], ["side: 'zzz' is not allowed: text, parallel"]),
        ("corpus", ["side=zzz", "corpus.foo=1"], ["corpus.foo: unknown key"]),
        ("clean", ["side=speech"], ["side: 'speech' is not allowed: text, parallel"]),
        ("watch", [], ["dvc repro watch@FAMILY"]),
        ("take", [], ["dvc repro take@NAME", "given"]),
        ("train_lm", ["seed=abc"], ["seed: 'abc' is not allowed", "; change it on the command line\n"]),
        ("train_lm", ["lm.training.lr=-1"], ["lm.training.lr: -1 is not allowed", "; change it on the command line\n"]),
        (
            "train_lm",
            ["trainer.foo=1"],
            ["trainer.foo: not a flag", "change it on the command line (trainer.foo) or in"],
        ),
        (
            "train_lm",
            ["lm=gpt", "lm.model.heads=7"],
            ["heads", "on the command line (lm.model.heads) or in conf/lm/gpt.yaml"],
        ),
        (
            "train_lm",
            ["plugins=[x]", "callbacks=[y]"],
            ["plugins=[x]: plugins define", "params.yaml", "callbacks: 'y' is"],
        ),
        ("train_lm", ["memory=x"], ["memory: 'x' is not allowed", "; change it on the command line\n"]),
    ],
)
def test_what_is_wrong_on_the_command_line_is_changed_there(
    name: str, typed: list[str], parts: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = error_output(name, *typed, capsys=capsys, folder=tmp_path)
    assert result and all(part in result for part in parts), result
