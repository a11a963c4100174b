"""Chains of rungs as the documents show them: each resolves at every size."""

import re
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir

from langladder.families import families
from pipeline import ROOT
from pipeline.settings import params
from pipeline.settings.compose import conf_folder, resolve

FINE_TUNED = {family.listed for family in families().values() if family.bases}
"""Keys of params.yaml that list rungs which begin with another one."""


def chains() -> list[Any]:
    """Blocks of YAML that can stand in params.yaml and list such rungs, by file and line; none that needs files."""
    known = {*params.load().model_dump(), *families()}
    result = []
    for file in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        text = file.read_text(encoding="utf-8")
        for block in re.finditer(r"(?ms)^```yaml\n(.*?)^```", text):
            values = yaml.safe_load(block[1])
            if isinstance(values, dict) and {*values} <= known - {"given", "paths"} and FINE_TUNED & {*values}:
                line = text.count("\n", 0, block.start(1)) + 1
                result.append(pytest.param(values, id=f"{file.relative_to(ROOT)}:{line}"))
    return result


def test_the_chains_are_found() -> None:
    listed = {key for chain in chains() for key in chain.values[0]} & FINE_TUNED
    assert listed >= {"tunes", "instructs", "rewards", "aligns", "classifier_transfers", "reader_transfers"}


SIZES = [pytest.param(size, marks=[pytest.mark.long] if size != "tiny" else []) for size in params.conf_names("size")]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("chain", chains())
def test_a_documented_chain_resolves_at_every_size(
    chain: dict[str, Any], size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In params.yaml as it is: what a reader gets who copies the block over its keys."""
    monkeypatch.chdir(ROOT)
    values = params.load().model_dump() | {"size": size} | chain
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        assert resolve(params.schema().model_validate(values))
