"""The benchmark of learning from preferences: both sides do the same work."""

import importlib
from typing import Any

import numpy as np
import pytest
import torch

from langladder.data.instructions import ranking_batch
from langladder.decoding.rollouts import roll_out
from langladder.models.language.gpt import GPTConfig
from langladder.models.language.instructed import InstructedGPT
from langladder.models.reward import pairwise_loss
from langladder.text.tokenize.specials import RESERVED
from pipeline import ROOT

BODY = {"width": 16, "layers": 1, "heads": 4}


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("instruction")


def test_parity_one_pair_a_pass_has_the_loss_and_gradient_of_the_batch(benchmark: Any) -> None:
    model, ranked = benchmark.make_reward(BODY), benchmark.rankings(3)
    apart = benchmark.one_pair_a_pass(model, ranked)
    theirs = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    batch = ranking_batch(ranked)
    loss = pairwise_loss(model(batch.tokens), batch.better, batch.worse, batch.weights)
    loss.backward()  # type: ignore[no-untyped-call]
    ours = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert float(loss.detach()) == pytest.approx(apart, abs=1e-6)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-4)


def test_answers_end_at_their_end_token(benchmark: Any) -> None:
    torch.manual_seed(0)
    policy = InstructedGPT(GPTConfig(context=benchmark.CONTEXT, width=16, layers=1, heads=4), benchmark.WORDS + 3)
    assert len(RESERVED) == 3
    benchmark.ending(policy.embedding.weight, policy.norm.bias)
    drawn = roll_out(policy, benchmark.prompts(96), max_new_tokens=benchmark.ANSWER, seed=0)
    # (1 − (1 − 1/8)^24) · 8 tokens in the mean
    assert float(drawn.lengths.double().mean()) == pytest.approx(7.7, abs=2)


def test_it_prints_its_table(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.our_ppo(BODY, 4, 1) > 0
    ranked = benchmark.rankings(2)
    step = benchmark.plain_reward(BODY, ranked)
    measured = benchmark.compared(step, lambda: benchmark.our_reward(BODY, ranked, 2, 1), 1, 1)
    assert np.isfinite(measured).all() and min(measured) > 0
    benchmark.show("Reward model", "one pair a pass", "pairs/s", 12, BODY, (0.3, 0.1, 3.0))
    printed = capsys.readouterr().out
    assert "| pairs/s | 40 | 120 | 3.00 × | ≥ 3: met |" in printed


def test_the_plain_loop_steps(benchmark: Any) -> None:
    pytest.importorskip("transformers")
    benchmark.plain_ppo(BODY, 4)()
