"""Answers that are to be ranked: K to a prompt, the same for the same seed, the demonstration among them if wanted."""

import pytest

from langladder.corpora.instructions.judge import PreferencesConfig
from langladder.decoding.sampled_preferences import sampled
from langladder.models.language.instructed import InstructedGPT, read_instructed
from langladder.text.labelled.templates import ChatTemplate
from tests.models.spoken import DIALOGUES, TOKENIZER, saved_instructed

TEMPLATE = ChatTemplate(TOKENIZER)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> InstructedGPT:
    return read_instructed(saved_instructed(tmp_path_factory.mktemp("ranked") / "sft"))[0]


def config(**changes: object) -> PreferencesConfig:
    return PreferencesConfig.model_validate({"samples": 3, "max_new_tokens": 3} | changes)


def test_k_answers_to_each_prompt(model: InstructedGPT) -> None:
    result = sampled(model, TEMPLATE, DIALOGUES, config(), 1)
    assert [item for item, _ in result] == DIALOGUES and all(len(texts) == 3 for _, texts in result)
    assert (
        sampled(model, TEMPLATE, DIALOGUES, config(), 1) == result != sampled(model, TEMPLATE, DIALOGUES, config(), 2)
    )


def test_the_demonstration_is_one_of_them(model: InstructedGPT) -> None:
    result = sampled(model, TEMPLATE, DIALOGUES, config(demonstrations=True), 1)
    assert all(texts[0] == item.response and len(texts) == 3 for item, texts in result)


def test_the_first_prompts_and_those_with_room(model: InstructedGPT) -> None:
    assert [item for item, _ in sampled(model, TEMPLATE, DIALOGUES, config(prompts=2), 1)] == DIALOGUES[:2]
    shortest = min(len(TEMPLATE.prompt(item.prompt)) for item in DIALOGUES)
    result = sampled(model, TEMPLATE, DIALOGUES, config(max_new_tokens=model.context - shortest), 1)
    assert [item for item, _ in result] == DIALOGUES[:4]


def test_an_answer_that_is_too_long_as_text_is_left_out(model: InstructedGPT) -> None:
    result = sampled(model, TEMPLATE, DIALOGUES, config(max_new_tokens=5, temperature=100.0), 1)
    for item, texts in result:
        assert all(len(TEMPLATE.row(item.answered(text).messages).ids) <= model.context for text in texts)
