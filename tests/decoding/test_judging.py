"""Who scores responses: a reward model reads the same rows as of dialogues, a judge the same texts."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from langladder.decoding.judging import by_judge, by_reward_model
from langladder.decoding.rollouts import Response
from langladder.models.reward import RewardModel, begin_reward
from langladder.text.labelled.templates import ChatTemplate
from tests.models.spoken import DIALOGUES, TOKENIZER, judge, saved_instructed

TEMPLATE = ChatTemplate(TOKENIZER)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> RewardModel:
    base = saved_instructed(tmp_path_factory.mktemp("judging") / "sft")
    result = begin_reward(SimpleNamespace(name="reward", model=RewardModel.Config()), base, seed=1).eval()
    with torch.no_grad():
        result.head.weight.mul_(20)
    return result


def response(number: int, text: str, finished: bool = True) -> Response:
    prompt = TEMPLATE.prompt(DIALOGUES[number].prompt).tolist()
    return Response(number, tuple(prompt), tuple(TOKENIZER.encode(text).tolist()), finished)


def test_a_reward_model_reads_the_rows_of_the_dialogues(model: RewardModel) -> None:
    answers = ["cat", "dog", "not not", "", "king king"]
    result = by_reward_model(model)([response(number, text) for number, text in enumerate(answers)])
    dialogues = [DIALOGUES[number].answered(text).messages for number, text in enumerate(answers)]
    np.testing.assert_allclose(result, model.rewards(dialogues), atol=1e-6)
    assert len(set(result.round(4))) == len(answers)


def test_a_response_cut_off_is_read_at_its_last_token(model: RewardModel) -> None:
    score = by_reward_model(model)
    cut, ended = score([response(0, "cat", finished=False), response(0, "cat")])
    row = np.array([*response(0, "cat").prompt, *TOKENIZER.encode("cat")])
    assert cut == pytest.approx(model.rewards_of([row])[0], abs=1e-6) and cut != ended
    long = " ".join(["cat"] * 7)  # five of the prompt and seven fill the context of twelve
    assert score([response(0, long)]) == pytest.approx(score([response(0, long, finished=False)]), abs=1e-6)


def test_a_judge_reads_the_texts_and_the_prompts_that_they_answer() -> None:
    score = by_judge(judge, DIALOGUES, TEMPLATE)
    assert score([response(5, "dog dog"), response(1, "cat"), response(0, "cat")]).tolist() == [1.0, 0.0, 1.0]
