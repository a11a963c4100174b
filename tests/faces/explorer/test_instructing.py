"""Answers to instructions as they grow, and the gold judge: who is judged, who is not, what leaves no room."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from langladder.answers.loading import read_model
from langladder.corpora.instructions.requests import UNSEEN
from langladder.decoding.answers import answers
from langladder.decoding.sampling import SamplingConfig, generate
from langladder.faces.explorer import microworld
from langladder.faces.explorer.writing import answer_as_it_grows
from langladder.ground.errors import InputError
from langladder.models.language.instructed import read_instructed
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import BOS
from tests.faces.explorer import small_readers
from tests.models.spoken import TOKENIZER, asked

evaluate: Any = microworld.evaluate_answer  # JSON, as the page reads it
GREEDY = SamplingConfig(strategy="greedy", max_tokens=6)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("told")
    small_readers.instructed(root)
    return root


@pytest.mark.parametrize("config", [GREEDY, SamplingConfig(seed=3, max_tokens=6, temperature=1.5)])
def test_an_answer_grows_to_what_is_given_at_once(models: Path, config: SamplingConfig) -> None:
    model, tokenizer = read_instructed(models / "instruct/sft")
    partial_answers = list(answer_as_it_grows(model.eval(), tokenizer, "say cat", config))
    assert partial_answers[-1] == answers(model, ChatTemplate(TOKENIZER), [asked("say cat")], config)[0]
    assert all(longer.startswith(text) for text, longer in pairwise(partial_answers))


def test_a_model_that_did_not_learn_to_answer_goes_on(models: Path) -> None:
    _, model, tokenizer, _ = read_model(models / "lm/gpt")
    *_, last = answer_as_it_grows(model, tokenizer, " say cat ", GREEDY)
    (ids,) = generate(model, [BOS, *tokenizer.encode("say cat").tolist()], GREEDY)
    assert last == tokenizer.decode(ids).strip()


def test_an_instruction_without_room_or_words_is_refused(models: Path) -> None:
    model, tokenizer = read_instructed(models / "instruct/sft")
    for text in (" ", "say " * 40):
        with pytest.raises(InputError, match="instruction"):
            list(answer_as_it_grows(model, tokenizer, text, GREEDY))


def test_right_answers_to_the_examples_are_judged_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microworld, "DRAWN", {"train": 300, "unseen": 60})
    microworld.requests.cache_clear()
    examples = microworld.examples()
    assert len({example["kind"] for example in examples}) >= 15 and UNSEEN & {example["kind"] for example in examples}
    known = [example for example in examples if evaluate(f"  {example['text'].upper()} ", "")["known"]]
    assert len(known) == len(examples)
    for item in known:
        assert evaluate(item["text"], item["answer"])["reward"] == 1.0, item
    wrong = evaluate(known[0]["text"], "the the of")
    assert wrong["reward"] < 0.7 and set(wrong["parts"]) == {"grammatical", "true", "form", "length"}
    assert evaluate(known[0]["text"], "")["reward"] == 0.0
    microworld.requests.cache_clear()


def test_what_the_grammar_does_not_draw_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microworld, "requests", dict)
    result = evaluate("write a poem", "no")
    assert not result["known"] and "microworld" in result["why"]
