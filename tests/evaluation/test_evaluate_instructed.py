"""Judging answers: figures by hand, three sets of prompts, the distance to the base, best-of-n, omitted prompts."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from langladder.decoding.best_of_n import best_of_n_kl
from langladder.evaluation.instructed import (
    Answering,
    AnswerScores,
    InstructedPage,
    distinct,
    gold_scores,
    hash_of,
    prompt_text,
    splits_of,
    with_room,
)
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT, read_instructed
from langladder.text.labelled.instructions import Dialogue, Message
from langladder.text.labelled.templates import ChatTemplate
from tests.models.spoken import DIALOGUES, SAY, TOKENIZER, TWICE, dialogue, saved_instructed


class Verdict(NamedTuple):
    """What a judge of words says: longer answers are better."""

    reward: float
    grammatical: float = 1.0
    true: float = 0.5
    form: float = 0.0
    length: float = 1.0
    followed: bool = False


def gold(dialogues: Sequence[Dialogue]) -> list[Verdict]:
    return [Verdict(len((item.response or "").split()) / 10) for item in dialogues]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> InstructedGPT:
    return read_instructed(saved_instructed(tmp_path_factory.mktemp("judged") / "sft"))[0]


def answering(model: InstructedGPT, **more: object) -> Answering:
    return Answering(model, TOKENIZER, 4, **({"gold": gold} | more))  # type: ignore[arg-type]


def test_golden_figures_of_answers_by_hand() -> None:
    assert distinct([["a", "b", "a"], ["b"]], 1) == 0.5
    assert distinct([["a", "b", "a"], ["a", "b"]], 2) == round(2 / 3, 6)
    assert distinct([[], ["a"]], 2) is None
    result = gold_scores(np.array([[0.2, 1, 0, 1, 1, 0], [0.6, 0, 1, 1, 0, 1]]))
    assert result is not None and (result.reward, result.grammatical, result.followed) == (0.4, 0.5, 0.5)
    assert result.reward_interval is not None and result.reward_interval[0] <= 0.4 <= result.reward_interval[1]
    assert gold_scores(None) is None


def test_answers_are_judged_prompt_by_prompt(model: InstructedGPT) -> None:
    scores, samples = answering(model, base=model).scores(DIALOGUES)
    assert scores.kl == 0.0  # to itself
    assert scores.prompts == len(DIALOGUES) and scores.rewards is not None and len(scores.rewards) == len(DIALOGUES)
    assert scores.gold is not None and scores.gold.reward == pytest.approx(np.mean(scores.rewards), abs=1e-6)
    assert scores.greedy is not None and scores.proxy is None
    assert [kind.kind for kind in scores.per_kind] == ["say", "twice"]
    assert sum(kind.prompts for kind in scores.per_kind) == len(DIALOGUES)
    answers = {sample.prompt: sample.answer for sample in samples}
    assert len(samples) == len(DIALOGUES) and all(
        sample.gold == len(answers[sample.prompt].split()) / 10 for sample in samples
    )
    assert answering(model, base=model).scores(DIALOGUES)[0] == scores  # the same numbers every time


def test_without_a_gold_judge_the_page_names_its_measure(model: InstructedGPT) -> None:
    scores, samples = answering(model, gold=None).scores(SAY)
    assert scores.gold is None and scores.rewards is None and scores.kl is None and samples[0].gold is None
    assert set(page(scores).figures()) == {"tokens", "finished", "distinct_1", "distinct_2"}


def test_best_of_n_chooses_and_its_kl_is_known(model: InstructedGPT) -> None:
    item, many = answering(model).scores(DIALOGUES)[0], answering(model, n=8).scores(DIALOGUES)[0]
    assert many.kl == round(best_of_n_kl(8), 6) and many.greedy is None
    assert item.gold is not None and many.gold is not None and many.gold.reward > item.gold.reward
    with pytest.raises(InputError, match="needs a reward model or a gold judge"):
        answering(model, n=8, gold=None).scores(SAY)


def test_three_sets_of_prompts() -> None:
    new = [dialogue("say cat please", "cat", "please"), dialogue("cat say", "cat", "reworded")]
    result = splits_of(SAY, new, "reworded")
    assert {name: len(some) for name, some in result.items()} == {"test": 4, "unseen": 1, "reworded": 1}
    assert list(splits_of(SAY, [], "reworded")) == ["test"]


def test_prompts_without_room_are_left_out() -> None:
    template = ChatTemplate(TOKENIZER)
    lengths = [len(row) for row in template.prompts([item.prompt for item in DIALOGUES])]
    assert with_room(DIALOGUES, template, min(lengths)) == SAY
    assert with_room(DIALOGUES, template, max(lengths)) == [*SAY, *TWICE]


def page(scores: AnswerScores) -> InstructedPage:
    return InstructedPage(name="x", parameters=1, scores={"test": scores})


def test_a_page_is_read_back_and_its_figures_are_named_by_split(model: InstructedGPT, tmp_path: Path) -> None:
    scores, samples = answering(model, base=model).scores(DIALOGUES)
    whole = InstructedPage(name="x", parameters=1, scores={"test": scores, "unseen": scores}, samples=samples)
    file = tmp_path / "x.json"
    file.write_text(whole.model_dump_json())
    assert InstructedPage.model_validate_json(file.read_text()) == whole
    figures = whole.figures()
    assert figures["unseen_reward"] == figures["reward"] and {"greedy_followed", "unseen_kl"} <= figures.keys()
    assert "rewards" not in whole.summary()["scores"]["test"] and "samples" not in whole.summary()


def test_what_the_best_of_fewer_answers_is_worth(model: InstructedGPT) -> None:
    """n in powers of two and n itself; the last value is that of the chosen answers, the first the mean of all."""
    scores = answering(model, n=6).scores(DIALOGUES)[0]
    assert [item.n for item in scores.by_n] == [1, 2, 4, 6]
    assert [item.kl for item in scores.by_n] == [round(best_of_n_kl(n), 6) for n in (1, 2, 4, 6)]
    assert scores.gold is not None and scores.by_n[-1].gold == pytest.approx(scores.gold.reward, abs=1e-5)
    gold = [item.gold for item in scores.by_n]
    assert gold == [item.proxy for item in scores.by_n] == sorted(gold)  # the gold judge chooses
    assert answering(model).scores(DIALOGUES)[0].by_n == []


def test_prompts_are_known_by_their_hash_and_shown_whole(model: InstructedGPT) -> None:
    item, other = answering(model).scores(SAY)[0], answering(model, n=2).scores(SAY)[0]
    assert item.asked == other.asked and len(item.asked) == 64
    assert len({hash_of(some) for some in (SAY, SAY[::-1], TWICE, SAY[:1])}) == 4
    assert prompt_text(SAY[0]) == SAY[0].prompt[0].text
    more = Dialogue((Message("system", "please"), *SAY[0].messages))
    assert prompt_text(more) == f"system: please\nuser: {SAY[0].prompt[0].text}"
    samples = answering(model).scores(SAY)[1]
    assert samples[0].parts == {"grammatical": 1, "true": 0.5, "form": 0, "length": 1, "followed": 0}
    assert samples[0].proxy is None
