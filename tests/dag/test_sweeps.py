"""Launchers and searches: refused in a sentence where they cannot be; the figure that a search is told."""

import math
import pickle
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest
from hydra.types import RunMode

from langladder.families import families
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.settings import params, sweeps

FIGURES = {"validation_perplexity_per_word": 9.5, "parameters": 7, "note": "x"}


@pytest.mark.parametrize("file", sorted((ROOT / "conf" / "hydra").glob("*er/*.yaml")), ids=lambda file: file.stem)
def test_each_file_says_its_plugin_where_that_is_not_installed(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    argument = f"hydra/{file.parent.name}={file.stem}"
    monkeypatch.setattr(sweeps, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=rf"^{argument}: hydra-\w+-\w+ is not installed; pip install .*cluster"):
        sweeps.check(["-m", argument])
    sweeps.check(["-m", "lm=lstm"])


def test_a_launcher_without_a_sweep_is_refused() -> None:
    if find_spec("hydra_plugins") is None:
        pytest.skip("pip install 'langladder[cluster]'")
    with pytest.raises(InputError, match="add -m"):
        sweeps.check(["lm=lstm", "hydra/launcher=joblib"])


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    hydra = SimpleNamespace(mode=RunMode.MULTIRUN, sweeper=SimpleNamespace(_target_="x.OptunaSweeper"))
    monkeypatch.setattr(sweeps.HydraConfig, "get", lambda: hydra)  # type: ignore[attr-defined]
    return hydra


def test_a_search_minimises_the_family_s_figure_or_the_chosen_metric(search: SimpleNamespace) -> None:
    assert sweeps.objective("lm", None, FIGURES) == 9.5
    assert sweeps.objective("lm", "parameters", FIGURES) == 7
    assert sweeps.objective("lm", None, FIGURES | {"validation_perplexity_per_word": math.inf}) == math.inf
    # an earlier run has the curve's last point under the name, the figure under another
    assert sweeps.objective("tagger", None, {"validation_loss": 3.0, "best_validation_loss": 2.0}) == 2.0
    with pytest.raises(InputError, match=r"objective: nonsense is not a figure .* parameters, validation_perplexity"):
        sweeps.objective("lm", "nonsense", FIGURES)
    with pytest.raises(InputError, match=r"objective: null .* this one has no figures"):
        sweeps.objective(None, None, {})
    search.sweeper._target_ = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"
    assert sweeps.objective("lm", None, {}) is None


def test_every_family_that_trains_names_a_figure_but_word_vectors() -> None:
    assert {name for name, family in families().items() if family.objective is None} == {
        name for name, family in families().items() if not family.trained or name == "embedding"
    }


def test_what_a_launcher_brings_back_is_the_sentence() -> None:
    again = pickle.loads(pickle.dumps(InputError("lm.training.lr: -1 is too small")))
    assert isinstance(again, InputError) and str(again) == "lm.training.lr: -1 is too small"
    assert "objective" not in params.schema().model_fields  # it belongs to one search
