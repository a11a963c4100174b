"""The reward model: the pairwise loss by hand, the reward of a response, the bias, the tokenizer, the folder."""

import json
import math
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fine_tuned_rungs import saved_gpt
from spoken import DIALOGUES, RANKINGS, TOKENIZER, V, asked, dialogue, saved_instructed

from langladder.data.instructions import ranking_batch, ranking_rows
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT
from langladder.models.reward import RewardModel, begin_reward, pairwise_loss
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

TEMPLATE = ChatTemplate(TOKENIZER)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_instructed(tmp_path_factory.mktemp("reward") / "sft")


def build(base: Path, **settings: Any) -> RewardModel:
    rung = SimpleNamespace(name="reward", model=RewardModel.Config.model_validate({"dropout": 0.0} | settings))
    model = begin_reward(rung, base, seed=1)
    with torch.no_grad():
        model.head.weight.mul_(20)
    return model.eval()


def batch() -> Any:
    return ranking_batch(ranking_rows(TEMPLATE, RANKINGS, 12, too_long="refuse", split="train"))


def test_golden_loss_of_four_ranked_responses() -> None:
    """Rewards 2, 1, 0, −1: Δ = 1 three times, 2 twice, 3 once; −log σ(1) = 0.31326, (2) 0.12693, (3) 0.04859."""
    better, worse = zip(*combinations(range(4), 2), strict=True)
    weights = torch.full((6,), 1 / 6)
    loss = pairwise_loss(torch.tensor([2.0, 1.0, 0.0, -1.0]), torch.tensor(better), torch.tensor(worse), weights)
    assert loss.item() == pytest.approx((3 * 0.3132617 + 2 * 0.1269280 + 0.0485874) / 6, abs=1e-6)
    assert loss.item() == pytest.approx(0.2070380, abs=1e-6)
    even = pairwise_loss(torch.zeros(4), torch.tensor(better), torch.tensor(worse), weights)
    assert even.item() == pytest.approx(math.log(2))


def test_golden_loss_is_the_mean_over_pairs_then_over_prompts(base: Path) -> None:
    """A prompt of six pairs counts no more than one of a single pair."""
    model, rankings = build(base), [RANKINGS[0], RANKINGS[5]._replace(responses=("cat", "not"), ranks=(2, 1))]
    result = ranking_batch(ranking_rows(TEMPLATE, rankings, 12, too_long="refuse", split="train"))
    losses = []
    for ranking in rankings:
        rewards = model.rewards([(*ranking.prompt, Message("assistant", answer)) for answer in ranking.responses])
        losses.append(
            np.mean([-np.log(1 / (1 + np.exp(rewards[lose] - rewards[win]))) for win, lose in ranking.pairs()])
        )
    loss = pairwise_loss(model(result.tokens), result.better, result.worse, result.weights)
    assert loss.item() == pytest.approx(np.mean(losses), rel=1e-5)


def test_golden_gradient_of_a_pair_is_how_wrong_it_is() -> None:
    """∂L/∂r_w = −σ(r_l − r_w): for r_w = 0, r_l = ln 3 it is −3/4."""
    rewards = torch.tensor([0.0, math.log(3)], requires_grad=True)
    pairwise_loss(rewards, torch.tensor([0]), torch.tensor([1]), torch.ones(1)).backward()
    torch.testing.assert_close(rewards.grad, torch.tensor([-0.75, 0.75]))


def test_shapes_and_the_reward_is_read_at_the_last_end(base: Path) -> None:
    model, result = build(base), batch()
    rewards = model(result.tokens)
    assert rewards.shape == (len(result.tokens),) and rewards.dtype == torch.float32
    whole = InstructedGPT.load(base)
    for tokens, reward in zip(result.tokens, rewards, strict=True):
        own = tokens[tokens != PAD]
        hidden = whole(own[None])[0][0, -1]  # (D,), where EOS stands
        assert reward.item() == pytest.approx((hidden @ model.head.weight[0]).item(), abs=1e-4)


def test_golden_likelihood_of_the_last_response_is_added(base: Path) -> None:
    """a Σ log P of the tokens behind the last ASSISTANT, EOS included, by the InstructedGPT itself, token by token."""
    model, plain, whole = build(base, likelihood=True), build(base), InstructedGPT.load(base).eval()
    two = torch.from_numpy(
        TEMPLATE.row([*asked("say"), Message("assistant", "cat"), *DIALOGUES[0].messages]).ids
    ).long()
    for tokens in (*batch().tokens, two):
        own = tokens[tokens != PAD]
        begin = int((own == whole.markers.assistant).nonzero()[-1]) + 1
        log_probs = torch.log_softmax(whole.head(whole(own[None])[0][0]), dim=-1)  # (T, V)
        log_prob = sum(log_probs[t - 1, own[t]].item() for t in range(begin, len(own)))
        difference = (model(own[None]) - plain(own[None])).item()
        assert difference == pytest.approx(model.a.item() * log_prob, abs=1e-4)


@pytest.mark.parametrize("likelihood", [False, True])
def test_padding_and_the_rest_of_the_batch_change_nothing(likelihood: bool, base: Path) -> None:
    model, tokens = build(base, likelihood=likelihood), batch().tokens
    padded = torch.nn.functional.pad(tokens, (0, 12 - tokens.shape[1]), value=PAD)
    torch.testing.assert_close(model(padded), model(tokens), atol=1e-5, rtol=0)
    for row, reward in zip(tokens, model(tokens), strict=True):
        torch.testing.assert_close(model(row[row != PAD][None])[0], reward, atol=1e-5, rtol=0)


def test_causal_the_last_word_is_read_and_nothing_behind_it(base: Path) -> None:
    model = build(base)
    item, other = (model.rewards([dialogue("say cat", answer).messages])[0] for answer in ("cat", "dog"))
    assert item != other
    cut = torch.tensor([TEMPLATE.row(DIALOGUES[0].messages).ids[:-1].tolist()])
    assert model(cut).isfinite().all()  # a response that was cut off before its EOS: the state at its last token


@pytest.mark.parametrize("likelihood", [False, True])
def test_gradient_reaches_every_parameter_that_a_difference_depends_on(likelihood: bool, base: Path) -> None:
    model, result = build(base, likelihood=likelihood).train(), batch()
    pairwise_loss(model(result.tokens), result.better, result.worse, result.weights).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if name == "gpt.norm.bias" and not likelihood:  # it adds the same number to every reward
            assert parameter.grad.abs().max() < 1e-6
        else:
            assert parameter.grad.abs().sum() > 0, name
    assert "bias" not in dict(model.named_parameters()) and "bias" in model.state_dict()


def test_the_body_is_the_base_s_and_so_many_layers_are_transferred(base: Path) -> None:
    there = InstructedGPT.load(base).state_dict()
    for number in (0, 1, 2):
        result = build(base, layers_transferred=number).gpt.state_dict()
        same = {
            int(n.split(".")[1]) for n in result if n.endswith("expand.weight") and torch.equal(result[n], there[n])
        }
        assert same == set(range(number))
        assert torch.equal(result["embedding.weight"], there["embedding.weight"])
    fresh = build(base, pretrained=False).gpt.state_dict()
    assert not torch.equal(fresh["embedding.weight"], there["embedding.weight"])
    assert build(base, body_dropout=0.3).gpt.config.dropout == 0.3


def test_demonstrations_have_a_mean_reward_of_nought(base: Path) -> None:
    model, dialogues = build(base), [item.messages for item in DIALOGUES]
    before = model.rewards(dialogues)
    assert abs(before.mean()) > 1e-3
    model.centre(dialogues)
    after = model.rewards(dialogues)
    assert abs(after.mean()) < 1e-6 and np.allclose(after - after[0], before - before[0], atol=1e-6)
    with pytest.raises(InputError, match="no demonstration"):
        model.centre([])


@pytest.mark.parametrize("likelihood", [False, True])
def test_save_and_load_need_no_base(likelihood: bool, base: Path, tmp_path: Path) -> None:
    model, dialogues = build(base, likelihood=likelihood), [item.messages for item in DIALOGUES]
    model.centre(dialogues)
    model.save(tmp_path / "one")
    loaded = RewardModel.load(tmp_path / "one")
    np.testing.assert_array_equal(loaded.rewards(dialogues), model.rewards(dialogues))
    loaded.save(tmp_path / "two")
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_policy_of_another_tokenizer_is_refused(base: Path) -> None:
    model = build(base)
    model.check_policy(Tokenizer.load(base / "tokenizer.json"), "ppo")
    words = ["cat", "dog", "king", "queen", "say", "twice", "please", "not"]
    for other in (words[::-1], [*words[:-1], "bird"]):  # as many tokens, other ids; another word
        config = TokenizerConfig(kind="word", vocab_size=None)
        tokenizer = train_tokenizer([" ".join(word for n, word in enumerate(other) for _ in range(n + 1))], config)
        assert tokenizer.vocab_size == V
        with pytest.raises(InputError, match=r"ppo: its tokenizer\.json is not that of the reward model"):
            model.check_policy(tokenizer, "ppo")


def test_invalid_settings_raise_a_named_error(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a GPT, but a RewardModel starts from an InstructedGPT"):
        build(saved_gpt(tmp_path / "gpt"))
    with pytest.raises(InputError, match=r"layers_transferred=3, but its base has 2"):
        build(base, layers_transferred=3)
    with pytest.raises(InputError, match=r"model\.body: null"):
        RewardModel(RewardModel.Config(), V + 3)
    with pytest.raises(InputError, match="exceed the reward model's context of 12"):
        build(base).rewards([(*asked("say " * 10), Message("assistant", "cat"))])


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_fuzz_damaged_folders_are_read_or_refused(file: str, base: Path, tmp_path: Path) -> None:
    build(base).save(tmp_path / "m")
    path = tmp_path / "m" / file
    data = path.read_bytes()
    for what in (b"", data[: len(data) // 2], b"\xff\xfe" * 50, b"[]", data + b"\0\0"):
        path.write_bytes(what)
        with pytest.raises(InputError, match=file.replace(".", r"\.")):
            RewardModel.load(tmp_path / "m")
    path.unlink()
    with pytest.raises(InputError, match=file.replace(".", r"\.")):
        RewardModel.load(tmp_path / "m")


def test_sizes_and_tokenizers_that_do_not_fit_are_refused(base: Path, tmp_path: Path) -> None:
    build(base).save(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    text = path.read_text()
    for changes in ({"vocab_size": 10**8}, {"vocab_size": 3}, {"vocab_size": -1}, {"config": {}}, {"config": None}):
        path.write_text(json.dumps(json.loads(text) | changes))
        with pytest.raises(InputError, match=r"m/(config\.json|model\.safetensors)"):
            RewardModel.load(tmp_path / "m")
    path.write_text(text)
    train_tokenizer(["a b"], TokenizerConfig(kind="word", vocab_size=None)).save(tmp_path / "m" / "tokenizer.json")
    with pytest.raises(InputError, match=rf"m: the network has {V} tokens, its tokenizer\.json 6"):
        RewardModel.load(tmp_path / "m")


def test_a_trial_loss_is_learnt_from(base: Path) -> None:
    assert build(base).trial_loss(3, 9).item() > 0
    # the output layer stays: V words more for each token
    assert build(base, likelihood=True).products(8) - build(base).products(8) == 8 * V * build(base).gpt.config.width
