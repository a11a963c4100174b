"""What the documents say of the project is so: the stage table, the commands, the files."""

import re

import pytest
import yaml

from pipeline import ROOT
from pipeline.document import fill, stage_table

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_stage_table_is_that_of_the_pipeline() -> None:
    assert fill(README, "stages", stage_table()) == README, "run `make docs`"


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 250


def test_links_and_pictures_exist() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for document in documents:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), (document, target)


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?m)(?:^|`)make ([a-z]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("stage", yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"])
def test_a_stage_is_a_module(stage: str) -> None:
    assert (ROOT / "pipeline" / f"{stage}.py").is_file()
