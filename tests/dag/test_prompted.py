"""To whom tasks in words are put: language models, and those that start from others where `prompted` says so."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir

from langladder.families.probe import title_of
from langladder.families.prompt import prompted as models_prompted
from langladder.ground.artefacts import write_json
from pipeline import ROOT
from pipeline.settings import params
from pipeline.settings.compose import conf_folder, resolve

FINE_TUNED = {"gpt_longer": {"base": "lm/gpt"}}


def chosen(**changes: Any) -> params.Choices:
    few: dict[str, Any] = {"embeddings": [], "translators": [], "classifiers": [], "taggers": [], "claims": []}
    few |= {"encoders": [], "classifier_transfers": {}}
    few |= {"probes": [], "lms": ["kneser_ney", "gpt"], "prompts": ["knowledge"], "tunes": FINE_TUNED}
    return params.schema().model_validate(params.load().model_dump() | few | changes)


@pytest.mark.parametrize(("prompted", "tunes"), [("lm", []), ("tune", ["gpt_longer"])])
def test_a_job_says_whom_it_asks(prompted: str, tunes: list[str]) -> None:
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        job = resolve(chosen(prompted=prompted))["prompt/knowledge"]
    assert job["lms"] == ["kneser_ney", "gpt"] and job["tunes"] == tunes


def test_without_any_to_ask_it_is_refused() -> None:
    with pytest.raises(ValueError, match="prompted=tune, but tunes is empty"):
        chosen(prompted="tune", tunes={})
    with pytest.raises(ValueError, match="prompted"):
        chosen(prompted="embedding")
    assert chosen(prompted="tune", tunes={}, prompts=[]).prompted == "tune"  # nothing is asked


def test_dvc_waits_for_those_that_are_requested() -> None:
    deps = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["prompt"]["deps"]
    assert {"models/lm", "models/${prompted}"} <= set(deps)
    assert yaml.safe_load((ROOT / "params.yaml").read_text())["prompted"] == "lm"  # DVC knows no default


def test_a_rung_that_grew_and_its_base_may_have_one_name() -> None:
    paths = {"kneser_ney": "lm/kneser_ney", "gpt": "lm/gpt", "gpt_longer": "tune/gpt_longer", "tune/gpt": "tune/gpt"}
    result = models_prompted(["kneser_ney", "gpt"], ["gpt_longer", "gpt"])
    assert result == {name: Path("models") / path for name, path in paths.items()}


def test_each_is_called_by_its_own_title(tmp_path: Path) -> None:
    for family in ("lm", "tune"):
        folder = tmp_path / family / "gpt"
        write_json(folder / "provenance.json", {"settings": {family: {"title": f"GPT of {family}"}}})
        assert title_of(folder) == f"GPT of {family}"
