"""Every file in conf/prompt, asked as the smallest ladder asks it: a new YAML needs no new test but its line in the
document."""

import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir

from langladder.evaluation.prompting import Prompter
from langladder.experiments.experiment import Data, Experiment
from langladder.experiments.findings import Findings
from langladder.experiments.page import ClaimPage
from langladder.faces.report.claims import claim_views
from langladder.faces.report.inputs import Entry, Timing
from langladder.families import family
from langladder.ground.errors import InputError
from langladder.ground.schema import locate
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.tokenizers import Tokenizer
from pipeline import ROOT
from pipeline.settings import params, schema
from pipeline.settings.compose import Compositions, conf_folder

NAMES = params.conf_names("prompt")
NOWHERE = Path("nowhere")
DOCUMENT = (ROOT / "docs" / "prompting.md").read_text(encoding="utf-8")
every_prompt = pytest.mark.parametrize("name", NAMES)


@cache
def compositions() -> Compositions:
    return Compositions.prepared(params.load().model_copy(update={"size": "tiny", "debug": "fast", "prompt": {}}))


@cache
def job(name: str) -> Any:
    """The task's settings, composed and checked as the pipeline does."""
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        values = compositions().rung("prompt", name)
    return schema.checked_rung("prompt", values, str)


def declared(name: str, data: Data) -> Data:
    """The data of which all that the task does not say it reads is nowhere."""
    read = family("prompt").inputs(job(name).model_dump(mode="json"))
    lost = {"parallel": NOWHERE, "agreement": NOWHERE, "tags": NOWHERE, "text": NOWHERE}
    lost |= {} if "clean/labels" in read else {"labels": NOWHERE}
    return replace(data, **lost | ({} if "clean/text" in read else {"clean": NOWHERE}))


def measure(name: str, data: Data) -> Findings:
    listed = job(name)
    experiment: Experiment[Any] = locate(listed.target)(listed.settings)
    return experiment.run(declared(name, data), seed=1, progress=lambda _: None)


@pytest.fixture(scope="module")
def measured(data: Data) -> dict[str, Findings]:
    """What every task's first run found."""
    return {name: measure(name, data) for name in NAMES}


@pytest.mark.long
@every_prompt
def test_it_runs_and_its_findings_can_be_shown(name: str, measured: dict[str, Findings]) -> None:
    page = ClaimPage(name=name, fingerprint="f", findings=measured[name])
    written = json.dumps(page.model_dump(mode="json"), allow_nan=False)
    (view,) = claim_views([Entry(ClaimPage.model_validate_json(written), timing=Timing())])
    shots = job(name).settings.shots
    assert len(view.parts[0].rows) == 3 * len(shots) and view.parts[0].figures
    assert all(math.isfinite(value) for value in measured[name].figures.values())
    assert {f"gpt_{shots[0]}_shots", f"kneser_ney_{shots[-1]}_shots"} <= set(measured[name].figures)
    assert re.search(r"\d", measured[name].verdict)


@pytest.mark.long
@pytest.mark.parametrize("name", ["knowledge", "last_word"])
def test_the_same_seed_finds_the_same(name: str, data: Data, measured: dict[str, Findings]) -> None:
    assert measure(name, data) == measured[name]


@every_prompt
def test_an_n_gram_sees_no_example(name: str, measured: dict[str, Findings]) -> None:
    """It does not look past the line's beginning: what it gets right with examples it gets right without."""
    if job(name).settings.scorings[0] != "generated":
        assert len({measured[name].figures[f"kneser_ney_{k}_shots"] for k in job(name).settings.shots}) == 1


@every_prompt
def test_the_document_has_its_claim_and_what_it_renders_to(name: str, data: Data) -> None:
    """The first item after one example, as the smallest ladder asks it."""
    value = yaml.safe_load((ROOT / "conf" / "prompt" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert f"| `{name}` | {value['claim']} |" in DOCUMENT, "write the claim into docs/prompting.md"
    if value["settings"]["source"]["kind"] in ("microworld", "file"):
        assert f"\n{rendered(name, data)} …" in DOCUMENT, "write what it renders to into docs/prompting.md"


def rendered(name: str, data: Data) -> str:
    """A prompt with one example, up to the answer."""
    folder = data.models["kneser_ney"]
    asking = Prompter(LanguageModel.load(folder), Tokenizer.load(folder / "tokenizer.json"), job(name).settings)
    (item, *_), (examples, *_) = locate(job(name).target)(job(name).settings).items(data, 1)
    return asking.prompt(examples[:1], item.fields).rstrip()


def test_the_document_lists_nothing_else() -> None:
    table = DOCUMENT.partition("| task | claim |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(NAMES)


def test_a_source_that_is_not_there_is_named(data: Data) -> None:
    with pytest.raises((InputError, OSError), match="nowhere"):
        settings = job("last_word").settings
        locate(job("last_word").target)(settings).run(replace(data, clean=NOWHERE), seed=1, progress=lambda _: None)
