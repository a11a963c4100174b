"""Starting from the weights of another model: all are copied, or an error names both models and the difference."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from langladder.ground.errors import InputError
from langladder.ground.schema import locate_function
from langladder.models.language.counted import CountedLanguageModel
from langladder.models.language.gpt import GPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.network import start_from
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.translation.seq2seq import Seq2Seq
from langladder.text.storage.token_streams import TokenStream

V = 12
SMALL: dict[str, Any] = {"context": 8, "width": 8, "layers": 2, "heads": 2}


def gpt(seed: int, vocab_size: int = V, **changes: Any) -> GPT:
    torch.manual_seed(seed)
    return GPT(GPT.Config.model_validate(SMALL | changes), vocab_size)


def seq2seq(seed: int, vocab_size: int = V) -> Seq2Seq:
    torch.manual_seed(seed)
    return Seq2Seq(Seq2Seq.Config(width=8, embedding_dim=8), vocab_size, V)


def lstm(seed: int, **changes: Any) -> RecurrentLM:
    torch.manual_seed(seed)
    return RecurrentLM(RecurrentLM.Config.model_validate({"width": 8, "embedding_dim": 8} | changes), V)


def counted_output(seed: int) -> RecurrentLM:
    return lstm(seed, output="hierarchical", tie_weights=False)


@pytest.mark.parametrize("build", [gpt, seq2seq, lstm, counted_output])
def test_all_weights_are_those_of_the_base(build: Any, tmp_path: Path) -> None:
    base, model = build(1), build(2)
    base.save(tmp_path / "base")
    before = torch.random.get_rng_state()
    start_from(model, tmp_path / "base", rung="lm/new")
    assert torch.equal(torch.random.get_rng_state(), before)
    for name, value in base.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name


def test_how_it_learns_may_differ(tmp_path: Path) -> None:
    gpt(1, dropout=0.5).save(tmp_path / "base")
    model = gpt(2)
    start_from(model, tmp_path / "base", rung="lm/new")
    assert torch.equal(model.embedding.weight, gpt(1).embedding.weight) and model.dropout.p == 0


@pytest.mark.parametrize(
    ("model", "differs"),
    [
        (gpt(2, width=16), "width is 8 there, 16 here"),
        (gpt(2, heads=4), "heads is 2 there, 4 here"),  # the same shapes
        (gpt(2, V + 1), "vocab_size is 12 there, 13 here"),
        (lstm(2), "that is a GPT, this a RecurrentLM"),
        (seq2seq(2), "that is a GPT, this a Seq2Seq"),
    ],
)
def test_another_architecture_is_refused(model: Any, differs: str, tmp_path: Path) -> None:
    gpt(1).save(tmp_path / "base")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(InputError, match=differs) as error:
        start_from(model, tmp_path / "base", rung="lm/new")
    assert f"lm/new cannot start from {tmp_path / 'base'}" in str(error.value)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_arrays_that_do_not_fit_their_description_are_refused_unread(tmp_path: Path) -> None:
    gpt(1).save(tmp_path / "base")
    save_file({"embedding.weight": np.zeros((3, 3), np.float32)}, tmp_path / "base" / "model.safetensors")
    with pytest.raises(InputError, match=r"lm/new cannot start from .*lacks position"):
        start_from(gpt(2), tmp_path / "base", rung="lm/new")


def test_counted_models_and_missing_folders_are_no_beginning(tmp_path: Path) -> None:
    counted = KneserNey(KneserNey.Config(), V)
    counted.fit(TokenStream(np.array([2, 7, 8, 3], np.int32), np.array([0, 4])))
    counted.save(tmp_path / "counted")
    with pytest.raises(InputError, match=r"holds a .*KneserNey"):
        start_from(gpt(2), tmp_path / "counted", rung="lm/new")
    with pytest.raises(InputError, match="no such file"):
        start_from(gpt(2), tmp_path / "none", rung="lm/new")


@pytest.mark.parametrize("kind", [GPT, RecurrentLM, Seq2Seq, KneserNey])
def test_every_kind_names_what_makes_it(kind: Any) -> None:
    makers = [kind.maker] + ([kind.maker_from_vectors] if kind in (GPT, RecurrentLM) else [])
    assert all(callable(locate_function(name)) for name in makers)
    assert issubclass(kind, CountedLanguageModel) == ("tasks" not in kind.maker)
