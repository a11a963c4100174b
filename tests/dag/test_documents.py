"""What the documents say of the project is so: the stage table, the commands, the files."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from langladder.families.family import Rung
from langladder.ground.errors import InputError
from langladder.ground.schema import locate
from pipeline import ROOT
from pipeline.document import CLAIMS, FOUNDATIONS, fill, published, stage_table, with_claims, write_ladder
from pipeline.settings import params
from pipeline.settings.titles import Description
from pipeline.site.story import settings

README = (ROOT / "README.md").read_text(encoding="utf-8")
ADDING = (ROOT / "docs" / "adding-a-rung.md").read_text(encoding="utf-8")


def test_the_stage_table_is_that_of_the_pipeline() -> None:
    written = (ROOT / "docs" / "stages.md").read_text(encoding="utf-8")
    assert fill(written, "stages", stage_table()) == written, "run `make docs`"
    assert stage_table() in written


@pytest.mark.parametrize("page", [CLAIMS, FOUNDATIONS])
def test_the_figures_of_claims_are_those_of_the_last_run(page: Path) -> None:
    written = page.read_text(encoding="utf-8")
    assert with_claims(written, published()) == written, "run `python -m pipeline.document claims`"


def test_the_foundations_have_figures_of_claims_from_one_source_only() -> None:
    """Outside the generated tables no number with decimals and no per cent, but for equations and settings."""
    written = FOUNDATIONS.read_text(encoding="utf-8")
    claims, rest = written.partition("## The claims")[2].partition("## Is every gradient right?")[::2]
    prose = re.sub(r"<!-- means (\w+) -->.*?<!-- /means \1 -->|```.*?```", "", claims, flags=re.DOTALL)
    assert rest and not re.findall(r"\d+\.\d{2,}|\d %", prose)
    assert len(re.findall("<!-- means ", claims)) == 9


def test_the_claims_are_those_of_the_configs() -> None:
    written = CLAIMS.read_text(encoding="utf-8")
    assert published().keys() <= {*params.conf_names("claim"), *params.conf_names("probe")}
    assert "(None)" not in written, "a claim of conf/ names no paper"


def test_the_ladder_of_claims_lists_every_claim() -> None:
    listed = yaml.safe_load((ROOT / "conf" / "ladder" / "claims.yaml").read_text(encoding="utf-8"))
    assert sorted(listed["claims"]) == sorted(params.conf_names("claim"))
    assert sorted(listed["probes"]) == sorted(params.conf_names("probe"))


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 200


def test_the_ladder_tables_are_narrow_and_the_readme_has_the_first() -> None:
    pages = README, (ROOT / "docs" / "results" / "default.md").read_text(encoding="utf-8")
    first, tables = (re.findall(r"<!-- ladder -->(.*?)<!-- /ladder -->", page, re.DOTALL) for page in pages)
    assert tables[0].startswith(first[0].rstrip())
    rows = [line for line in tables[0].splitlines() if line.startswith("|")]
    assert len(rows) > 9
    assert max(map(len, rows)) <= 120
    assert max(row.count("|") for row in rows) <= 10


@pytest.mark.parametrize("name", ["history", "english", "full"])
def test_a_ladder_run_fills_the_tables_of_its_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "docs" / "results" / f"{name}.md"
    page.parent.mkdir(parents=True)
    written = CLAIMS.with_name(page.name).read_text(encoding="utf-8")
    page.write_text(written, encoding="utf-8")
    monkeypatch.setattr("pipeline.document.ROOT", tmp_path)
    monkeypatch.setattr("pipeline.document.CLAIMS", page.with_name("claims.md"))
    with pytest.raises(InputError, match=f"make repro LADDER={name}"):
        write_ladder(name)
    report = tmp_path / "ladders" / name / "reports" / "ladder.json"
    report.parent.mkdir(parents=True)
    report.write_text("{}")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, "| rung |\n"))
    write_ladder(name)
    before, after = written.partition("<!-- ladder -->\n")[0], written.partition("<!-- /ladder -->")[2]
    expected = f"{before}<!-- ladder -->\n| rung |\n<!-- /ladder -->{after}"
    assert page.read_text(encoding="utf-8") == expected
    linked = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert f"](results/{page.name})" in linked


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


def test_the_sample_of_a_rungs_file_says_what_every_file_must() -> None:
    sample = re.findall(r"```yaml\n(.*?)```", ADDING, re.DOTALL)[0]
    fields = Rung.model_fields | Description.model_fields
    required = {field.alias or name for name, field in fields.items() if field.is_required()}
    assert required <= yaml.safe_load(sample).keys()


def test_the_contracts_named_are_the_abstract_methods() -> None:
    rows = re.findall(r"\| `((?:\w+\.)+\w+)` \| (.*) \|", ADDING)
    assert len(rows) == 6
    for contract, offers in rows:
        wanted = getattr(locate(f"langladder.{contract}"), "__abstractmethods__", set())
        assert wanted <= set(re.findall(r"\w+", offers)), contract


def test_a_stage_runs_a_module_of_the_pipeline() -> None:
    text = (ROOT / "dvc.yaml").read_text()
    modules = re.findall(r"cmd: python -m pipeline\.(\w+)", text)
    assert len(modules) == len(yaml.safe_load(text)["stages"])
    assert all((ROOT / "pipeline" / f"{module}.py").is_file() for module in modules)


@pytest.mark.parametrize("group", ["embedding", "lm", "translator", "captioner", "transcriber"])
def test_every_rung_has_an_approach(group: str) -> None:
    for name in params.conf_names(group):
        target = settings(group, name)["_target_"]
        assert locate(target).approach, f"{target} (of {name}) says no approach, under which the report shows it"
