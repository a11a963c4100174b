"""params.yaml as DVC rewrites it: `dvc exp run -S` changes what it names, and a value that it left behind is named."""

import re
import subprocess
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from dvc.utils.hydra import apply_overrides

from pipeline import ROOT
from pipeline.settings import params

PARAMS = ROOT / "params.yaml"
SCALARS = ["seed=7", "size=tiny", "memory=2GB", "tokenizer=word", "paths.text=input/mine", "prompted=tune"]
LISTS = ["lms=[gpt]", "lms=[]", "taggers=[]", "probes=[]", "encoders=[roberta_mini,bert_mini]", "prompts=[knowledge]"]
ADDED = ["++lm.lstm.model.width=64", "++tunes.gpt_longer.base=lm/gpt"]


def changed(folder: Path, *overrides: str) -> str:
    """What DVC makes of params.yaml."""
    file = folder / "params.yaml"
    file.write_bytes(PARAMS.read_bytes())
    apply_overrides(file, list(overrides))
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("override", SCALARS)
def test_one_value_is_one_line(override: str, tmp_path: Path) -> None:
    before, after = PARAMS.read_text(encoding="utf-8").splitlines(), changed(tmp_path, override).splitlines()
    assert len(before) == len(after)
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


@pytest.mark.parametrize("override", LISTS + ADDED)
def test_no_comment_is_lost(override: str, tmp_path: Path) -> None:
    before, after = (re.findall("#.*", text) for text in (PARAMS.read_text("utf-8"), changed(tmp_path, override)))
    assert before == after


def test_values_given_together_are_read_as_given(tmp_path: Path) -> None:
    """A comment beside the key of a list made DVC write what is not YAML when the list became empty."""
    for pair in combinations(["seed=7", *LISTS, *ADDED], 2):
        keys = [override.lstrip("+").partition("=")[0] for override in pair]
        if keys[0] == keys[1]:
            continue
        result = yaml.safe_load(changed(tmp_path, *pair))
        for key, override in zip(keys, pair, strict=True):
            value = result
            for part in key.split("."):
                value = value[part]
            assert value == yaml.safe_load(override.partition("=")[2]), (pair, key)


def test_a_value_left_behind_is_named_with_what_restores_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(params, "ROOT", tmp_path)
    text = changed(tmp_path, "seed=1")
    assert params.uncommitted() == ""  # no repository
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        mine = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *command]
        subprocess.run(mine, cwd=tmp_path, check=True)
    assert params.uncommitted() == ""
    apply_overrides(tmp_path / "params.yaml", ["seed=abc", "++lm.lstm.model.width=64"])
    message = params.uncommitted()
    assert "seed: 'abc' (committed: 1)" in message and "lm.lstm.model.width: 64 (committed: not set)" in message
    command = re.findall(r"`(git [^`]+)`", message)[0]
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    assert (tmp_path / "params.yaml").read_text() == text
    (tmp_path / "params.yaml").write_text("seed: [1")  # what is not YAML is named with its line, not here
    assert params.uncommitted() == ""
