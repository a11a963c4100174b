"""What the stages' command lines offer: presets, help, tab completion, short lines of what a sweep runs."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from omegaconf import OmegaConf
from project_copy import copy_project, run, smallest

from pipeline import ROOT, completion
from pipeline.settings import params, plan
from pipeline.settings.compose import conf_folder, prepare

CHOSEN = params.load()
PRESETS = params.conf_names("preset")


def composed(*overrides: str, **changes: Any) -> Any:
    """A composition as the command line of a stage makes it."""
    prepare(CHOSEN.model_copy(update=changes))
    with hydra.initialize_config_dir(conf_folder(), version_base="1.3"):
        return hydra.compose("stage", [*overrides])


def test_params_are_a_config_of_hydras_and_a_preset_and_the_command_line_win() -> None:
    chosen = {"size": "medium", "tokenizer": "word", "seed": 9}
    result = composed(**chosen)
    assert (result.size.name, result.tokenizer.kind, result.seed) == ("medium", "word", 9)
    result = composed("+preset=quick", **chosen)
    assert (result.size.name, result.size.lm_steps, result.tokenizer.kind, result.seed) == ("tiny", 20, "word", 9)
    result = composed("+preset=quick", "size=base", "seed=3", **chosen)
    assert (result.size.name, result.seed) == ("base", 3)


def test_changes_of_a_rung_are_those_of_the_chosen_one_and_a_preset_and_the_command_line_win() -> None:
    """Their keys may have letters of any language, which Hydra's overrides cannot have."""
    chosen = {"lm": {"gpt": {"model": {"width": 96}, "слово": 1}, "stacked_lstm": {"model": {"width": 33}}}}
    lm = composed("lm=gpt", **chosen).lm
    assert (lm.name, lm.model.width, lm["слово"]) == ("gpt", 96, 1)
    assert composed("lm=gpt", "lm.model.width=5", **chosen).lm.model.width == 5
    assert composed("lm=stacked_lstm", **chosen).lm.model.width == 33
    assert composed("+preset=zaremba", **chosen).lm.model.width == 650


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_what_it_says(name: str) -> None:
    stated = yaml.safe_load((ROOT / "conf" / "preset" / f"{name}.yaml").read_text(encoding="utf-8"))
    result, before = composed(f"+preset={name}"), composed()
    assert result != before
    for choice in stated.pop("defaults", []):
        ((group, chosen),) = choice.items()
        group = group.removeprefix("override /")
        if group != "debug":
            selected = OmegaConf.select(result, group)
            assert selected.get("name", selected.get("kind")) == chosen
    assert OmegaConf.merge(result, stated) == result


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("project"))
    smallest(folder)
    return folder


def test_help_lists_families_groups_choices_and_examples(project: Path) -> None:
    output = run(project, sys.executable, "-m", "pipeline.train", "--help")
    assert "FAMILY is one of embedding, lm, " in output
    for part in (
        "\nlm: absolute_discounting, ",
        "\nsize: base, medium, small, tiny\n",
        f"\npreset: {', '.join(PRESETS)}\n",
    ):
        assert part in output
    examples = re.findall(r"^python -m pipeline\.train lm .*?(?=   |$)", output, re.M)
    assert len(examples) == 6
    for example in examples:
        assert all(params.conf_names(group) for group in re.findall(r" \+?(lm|preset|hydra/\w+)=", example))
    assert 'eval "$(python -m pipeline.completion bash)"' in output


@pytest.mark.long
def test_what_a_preset_cannot_be_is_reported(project: Path) -> None:
    output = run(project, sys.executable, "-m", "pipeline.train", "lm", "+preset=quik", check=False)
    assert "preset: 'quik' is not a choice: the nearest: quick" in output
    output = run(project, sys.executable, "-m", "pipeline.train", "lm", "preset=quick", check=False)
    assert "preset: write + before it" in output


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("python -m pipeline.tr", "pipeline.train"),
        ("python -m pipeline.measure pro", "probe prompt"),
        ("python -m pipeline.train lm lm=gpt_s", "lm=gpt_sinusoidal lm=gpt_sparse"),
        ("python -m pipeline.train tune tune=gpt_", "tune=gpt_longer"),
        ("python -m pipeline.train lm lm=gpt lm.model.he", "lm.model.heads="),
        ("python -m pipeline.train lm +preset=q", "+preset=quick"),
        ("python -m pipeline.tokenize siz", "size. size="),
        ("python -m pip", ""),
        ("python", ""),
    ],
)
def test_a_tab_completes_the_line(line: str, expected: str, project: Path) -> None:
    script = (
        f'{completion.script()}COMP_LINE="{line}"; COMP_WORDS=($COMP_LINE); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n'
        '_langladder_stage; echo "${COMPREPLY[*]}"'
    )
    assert run(project, "bash", "-c", script).strip() == expected


def test_the_script_of_the_completion_names_every_stage_that_has_settings() -> None:
    output = subprocess.run(
        [sys.executable, "-m", "pipeline.completion", "bash"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert {f"pipeline.{stage.module}" for stage in plan.stages().values()} <= set(re.findall(r"pipeline\.\w+", output))


@pytest.mark.long
def test_a_sweep_names_what_its_command_line_says(project: Path) -> None:
    """Not the values of params.yaml, which each of its jobs has."""
    output = run(project, sys.executable, "-m", "pipeline.corpus", "-m", "side=scenes", "seed=1,2", "+preset=quick")
    jobs = re.findall(r"#\d : (.*)", output)
    assert jobs == ["side=scenes seed=1 +preset=quick", "side=scenes seed=2 +preset=quick"]
    folders = {file.parent.name for file in (project / "multirun").glob("corpus/*/*/data")}
    assert folders == {"+preset=quick,seed=1,side=scenes", "+preset=quick,seed=2,side=scenes"}
