"""Chains of GPT, SFT, reward model and policy: each model is trained once and not changed by the next; their scores."""

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from claims.alignment.chain_settings import ChainConfig
from claims.alignment.policy_answers import Judges, text_loss
from claims.alignment.prompted_gpt import answered_in_words, first_sentence, prompt_in_words
from claims.alignment.ranking_pairs import judged
from claims.alignment.sft_epochs import losses
from claims.alignment.small_policies import Chains
from langladder.corpora.instructions.demonstrations import demonstrations
from langladder.decoding.best_of_n import best_of_n_kl
from langladder.evaluation.reward import judge_rewards, rewards_of
from langladder.experiments.experiment import Data
from langladder.ground.errors import InputError
from langladder.models.network import own_tensors
from langladder.text.labelled.instructions import Dialogue, Message
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS

SETTINGS: dict[str, Any] = {"width": 16, "layers": 2, "heads": 2, "context": 64, "effort": 0.02}
SETTINGS |= {"max_new_tokens": 6, "sft_steps": 200, "ppo": {"prompts": 8}, "dpo": {"batch_size": 4}}
SETTINGS |= {"demonstrations": 2800, "ranked": 2800, "samples": 3}


@pytest.fixture(scope="module")
def chains(data: Data) -> Chains:
    return Chains(data, ChainConfig.model_validate(SETTINGS))


def weights(network: Any) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in own_tensors(network).values()]


def same(item: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(item, other, strict=True))


def test_no_dialogue_is_in_two_sets_and_all_leave_room(chains: Chains) -> None:
    texts = [item.prompt[-1].text for some in chains.sets for item in some]
    assert len(set(texts)) == len(texts) and all(len(some) >= 14 for some in chains.sets)
    assert max(len(row) for some in chains.sets for row in chains.template.prompts([d.prompt for d in some])) <= 58
    assert max(len(row.ids) for some in chains.sets for row in chains.template.rows([d.messages for d in some])) <= 64
    kinds = {demonstration.kind for demonstration in chains.sets.demonstrations}
    assert kinds.isdisjoint({item.kind for item in chains.sets.unseen})


def test_a_link_is_made_once_and_by_its_seed(chains: Chains) -> None:
    assert chains.sft(seed=1) is chains.sft(seed=1)
    assert chains.reward(seed=1, base_seed=1) is chains.reward(seed=1, base_seed=1)
    assert chains.sft(seed=1) is not chains.sft(seed=2)
    assert chains.sft(seed=1, width=8).config.width == 8
    again = chains.tuned(chains.gpt(seed=1), chains.sets.demonstrations, seed=1)
    assert same(weights(chains.sft(seed=1)), weights(again))


@pytest.mark.parametrize("method", ["ppo", "dpo"])
def test_aligning_moves_the_policy_and_nothing_that_it_learns_from(chains: Chains, method: Any) -> None:
    base, reward = chains.sft(seed=1), chains.reward(seed=1, base_seed=1)
    before, weights_of_reward = weights(base), weights(reward)
    rankings, steps = chains.learnt(seed=1, base_seed=1), list[int]()

    def align(seed: int) -> list[torch.Tensor]:
        how: dict[str, Any] = {"reward": reward, "rankings": rankings, "watch": lambda _, step: steps.append(step)}
        return weights(chains.aligned(method, base, {"max_steps": 100}, seed=seed, **how))

    first = align(1)
    assert steps == [1, 2] and not same(first, before)
    assert same(align(1), first) and not same(align(2), first)
    assert same(weights(base), before) and same(weights(reward), weights_of_reward)


def test_plain_text_is_learnt_beside_where_it_weighs_something(chains: Chains) -> None:
    base, reward = chains.sft(seed=1), chains.reward(seed=1, base_seed=1)
    mix = {"weight": 2.0, "windows": 2, "length": 16}
    item, other = (
        chains.aligned("ppo", base, {"max_steps": 100, **changes}, seed=1, reward=reward)
        for changes in ({}, {"pretraining": mix})
    )
    assert not same(weights(item), weights(other))


@pytest.mark.long
def test_sft_learns_the_text_beside_and_reward_models_read_the_likelihood(chains: Chains, data: Data) -> None:
    """As the ladder's rungs do; both can be taken out."""
    assert chains.reward(seed=1, base_seed=1).config.likelihood
    other = Chains(data, ChainConfig.model_validate(SETTINGS | {"sft_text": 0.0, "likelihood": False}))
    assert not other.reward(seed=1, base_seed=1).config.likelihood
    mixed, alone = (
        some.tuned(chains.gpt(seed=1), some.sets.demonstrations, seed=1, max_steps=5000, lr=0.02)
        for some in (chains, other)
    )
    of_mixed, of_alone = (text_loss(item, data.stream("test"), windows=2, length=64).mean() for item in (mixed, alone))
    assert of_mixed < of_alone - 0.3


def test_fewer_prompts_and_wrong_labels_make_other_rankings(chains: Chains, monkeypatch: pytest.MonkeyPatch) -> None:
    def longer_is_better(dialogues: list[Dialogue]) -> list[float]:
        return [float(len(dialogue.response or "")) for dialogue in dialogues]

    monkeypatch.setattr("claims.alignment.small_policies.gold_rewards", longer_is_better)
    whole = chains.learnt(seed=1, base_seed=1)
    few = chains.learnt(seed=1, base_seed=1, ranked=1400)
    assert 0 < len(few) < len(whole) and few == whole[: len(few)]
    wrong = chains.learnt(seed=1, base_seed=1, noise={"kind": "flips", "amount": 1.0})
    both = [(item, other) for item, other in zip(whole, wrong, strict=True) if len(set(item.ranks)) == 2]
    assert both and all(item.responses == other.responses and item.ranks != other.ranks for item, other in both)


def test_a_reward_model_may_have_fewer_layers_than_its_policy(chains: Chains) -> None:
    base, rankings = chains.sft(seed=1), chains.learnt(seed=1, base_seed=1)
    reward = chains.judge(rankings, base, seed=1, layers=1, lr=1e-9)
    assert reward.gpt.config.layers == 1 and base.config.layers == 2
    assert torch.allclose(reward.gpt.embedding.weight, base.embedding.weight, atol=1e-6)
    policy = chains.aligned("ppo", base, {"max_steps": 50, "critic": "reward"}, seed=1, reward=reward)
    assert policy.config.layers == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ppo": {"clip": 2.0}}, "clip"),
        ({"ppo": {"minibatches": 1000}}, "minibatches=1000 exceeds"),
        ({"dpo": {"colour": 1}}, "colour"),
        ({"world": "tiny"}, "world"),
        ({"heads": 3}, "width=16"),
        ({"context": 32, "max_new_tokens": 40}, "max_new_tokens=40"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_made(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValidationError, InputError), match=message):
        ChainConfig.model_validate(SETTINGS | changes)


def test_a_world_that_has_too_little_says_so(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(config: Any, split: str, count: int) -> list[Dialogue]:
        return demonstrations(config, split, min(count, 30))

    monkeypatch.setattr("claims.alignment.small_policies.demonstrations", few)
    with pytest.raises(InputError, match="there are too few instructions for ranked, prompts; set"):
        Chains(data, ChainConfig.model_validate(SETTINGS))


# ---- judging --------------------------------------------------------------------------------------------------------


def test_answers_are_judged_prompt_by_prompt(chains: Chains) -> None:
    base, reward = chains.sft(seed=1), chains.reward(seed=1, base_seed=1)
    judges = Judges(chains.template, chains.sets.test, 6)
    drawn = judges.drawn(base, base, reward)
    assert [len(part) for part in drawn] == [len(chains.sets.test)] * 3
    assert not drawn.kl.any() and ((drawn.gold >= 0) & (drawn.gold <= 1)).all()
    np.testing.assert_array_equal(drawn.gold, judges.gold_rewards(base))
    best = judges.best(base, reward, 4)
    assert best.proxy.mean() > drawn.proxy.mean() and set(best.kl) == {best_of_n_kl(4)}


def test_loss_of_plain_text_parity_with_scores_of_the_model(chains: Chains) -> None:
    model = chains.sft(seed=1)
    ids = np.random.default_rng(0).integers(4, 60, 100).astype(np.int32)
    text = TokenStream(ids, np.array([0, 100]))
    result = text_loss(model, text, windows=5, length=15)
    assert result.shape == (5,)
    rows = torch.from_numpy(ids[:80].reshape(5, 16).astype(np.int64))
    with torch.no_grad():
        scores = torch.log_softmax(model.head(model(rows[:, :-1])[0])[..., : model.number_of_words], dim=-1)
    expected = -scores.gather(2, rows[:, 1:, None])[..., 0].mean(dim=1)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4)
    assert text_loss(model, text, windows=5, length=40).shape == (2,)


def test_loss_of_dialogues_is_of_their_answers_alone(chains: Chains) -> None:
    model, dialogues = chains.sft(seed=1), chains.sets.held_out[:3]
    rows = chains.template.rows([dialogue.messages for dialogue in dialogues])
    result = losses(model, rows)
    other = [row._replace(learnt=np.ones_like(row.learnt)) for row in rows]
    assert result.shape == (3,) and not np.allclose(result, losses(model, other))
    row = rows[0]
    with torch.no_grad():
        hidden, _ = model(torch.from_numpy(row.ids[None, :-1].astype(np.int64)))
        scores = torch.log_softmax(model.head(hidden)[0, :, : model.number_of_words], dim=-1)
    learnt = np.flatnonzero(row.learnt)
    expected = -np.mean([float(scores[position - 1, row.ids[position]]) for position in learnt])
    assert result[0] == pytest.approx(expected, rel=1e-4)


def test_loss_of_rankings_parity_with_the_judge_of_reward_models(chains: Chains) -> None:
    reward = chains.reward(seed=1, base_seed=1)
    rankings = chains.rankings(chains.sets.held_out, seed=0, base_seed=1)
    loss, right = judged(reward, rankings)
    judgement = judge_rewards(rewards_of(reward, rankings), rankings)
    pairs = np.array([len(ranking.pairs()) for ranking in rankings])
    assert loss.mean() == pytest.approx(judgement.loss, abs=1e-5)
    assert (right * pairs).sum() / pairs.sum() == pytest.approx(judgement.accuracy, abs=1e-5)


# ---- a GPT that is asked in plain text ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [("paris . what is", "paris ."), ("paris", "paris"), ("", ""), (". paris .", "."), ("a.b c . d", "a.b c .")],
)
def test_an_answer_in_words_ends_with_its_full_stop(text: str, answer: str) -> None:
    assert first_sentence(text) == answer


def test_examples_are_of_the_kind_that_is_requested_and_leave_room(chains: Chains) -> None:
    pool = [Dialogue((Message("user", f"ask {kind}"), Message("assistant", f"say {kind} .")), kind) for kind in "ab"]
    question = Dialogue((Message("user", "ask more b"),), "b")

    def words(room: int, dialogue: Dialogue = question, shots: int = 2) -> str:
        ids = prompt_in_words(chains.template, dialogue, pool, shots, room)
        assert ids[0] == BOS and len(ids) <= room
        return chains.tokenizer.decode(ids[1:])

    assert words(60) == "ask b say b . ask more b"
    assert words(60, shots=0) == "ask more b"
    assert words(60, Dialogue((Message("user", "ask c"),), "c")) == "ask a say a . ask b say b . ask c"
    bare = len(prompt_in_words(chains.template, question, pool, 0, 60))
    assert words(bare) == "ask more b"


def test_a_plain_gpt_answers_every_prompt(chains: Chains) -> None:
    how: dict[str, Any] = {"shots": 1, "max_new_tokens": 6}
    result = answered_in_words(chains.gpt(seed=1), chains.template, chains.sets.test, chains.sets.demonstrations, **how)
    assert result.shape == (len(chains.sets.test),) and ((result >= 0) & (result <= 1)).all()
