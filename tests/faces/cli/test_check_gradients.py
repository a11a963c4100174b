"""`langladder check-gradients`: tables, JSON, exit codes, trained models, names that are none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from langladder.faces.cli.main import app
from langladder.models.language.nnlm import NNLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    return lambda *words: CliRunner().invoke(app, ["check-gradients", *map(str, words)])


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    NNLM(NNLM.Config(width=8, embedding_dim=6), 30).save(tmp_path / "nnlm")
    return tmp_path / "nnlm"


def test_a_table_with_the_largest_error(run: Run) -> None:
    found = run("nnlm", "SkipGram", "--entries", 2)
    assert found.exit_code == 0, found.output
    assert "NNLM" in found.output and "SkipGram" in found.output and "WRONG" not in found.output
    assert "2 of 2 correct" in found.output


def test_all_choices_in_json(run: Run) -> None:
    found = run("NNLM", "--all", "--entries", 1, "--json")
    told = json.loads(found.output)
    names = [one["network"] for one in told["networks"]]
    assert "NNLM, combine=mean" in names and len(names) > 5
    assert all(one["right"] and one["error"] < told["largest_error"] for one in told["networks"])


def test_a_trained_model(run: Run, trained: Path) -> None:
    found = run(trained, "--json")
    (one,) = json.loads(found.output)["networks"]
    assert (
        one["network"] == str(trained)
        and one["right"]
        and one["parameters"] == 30 * 6 + (4 * 6 * 8 + 8) + (30 * 8 + 30)
    )


def test_code_1_where_a_gradient_is_wrong(run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = NNLM.loss

    def wrong(*arguments: Any) -> torch.Tensor:
        right = loss(*arguments)
        return 2 * right - right.detach()

    monkeypatch.setattr(NNLM, "loss", wrong)
    found = run("NNLM", trained)
    assert found.exit_code == 1
    assert found.output.count("WRONG") == 2 and "0 of 2 correct" in found.output
    assert json.loads(run("NNLM", "--json").output)["networks"][0]["right"] is False


def test_a_name_that_is_none(run: Run) -> None:
    found = run("GTP")
    assert found.exit_code == 2 and "GTP: neither a model folder nor a network; networks: " in found.output
    assert "GPT" in found.output


def test_a_folder_without_a_network(run: Run, tmp_path: Path) -> None:
    model = KneserNey(KneserNey.Config(order=2), 10)
    model.fit(TokenStream(np.array([2, 5, 6, 3], dtype=np.int32), np.array([0, 4])))
    model.save(tmp_path / "counted")
    found = run(tmp_path / "counted")
    assert found.exit_code == 2 and "KneserNey is not a network and has no gradients" in found.output
    found = run(tmp_path)
    assert found.exit_code == 2 and "config.json" in found.output
    (tmp_path / "config.json").write_text("[]")
    assert run(tmp_path).exit_code == 2
