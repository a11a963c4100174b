"""Where saved classes are: models saved under the name of a module that has moved are read as before."""

import json
from pathlib import Path

import pytest

from langladder.ground.schema import locate
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import LanguageModel
from langladder.models.network import own_tensors
from langladder.models.saving import MOVED
from pipeline import ROOT


def test_a_model_saved_before_its_module_moved_is_loaded(tmp_path: Path) -> None:
    model = GPT(GPT.Config(context=8, width=8, layers=1, heads=2), 20)
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    description = json.loads(path.read_text())
    assert description["_target_"] == "langladder.models.language.gpt.GPT"
    path.write_text(json.dumps(description | {"_target_": "langladder.models.gpt.GPT"}))
    read = LanguageModel.load(tmp_path / "m")
    assert type(read) is GPT
    ours, theirs = own_tensors(model), own_tensors(read)
    assert all(bool((ours[name] == theirs[name]).all()) for name in ours)


@pytest.mark.parametrize("module", sorted(set(MOVED.values())))
def test_moved_modules_exist(module: str) -> None:
    assert (ROOT / "src" / module.replace(".", "/")).with_suffix(".py").is_file()


@pytest.mark.parametrize(
    "old", ["bert.BERT", "taggers.hmm.HMM", "gpt_choice.GPTChoice", "katz.Katz", "ngrams.arpa_model.ArpaModel"]
)
def test_an_old_path_names_the_class_of_its_new_one(old: str) -> None:
    module, _, name = f"langladder.models.{old}".rpartition(".")
    assert locate(f"{MOVED[module]}.{name}").__name__ == name
