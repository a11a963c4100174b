"""SFT: learning, model selection by reward, resumed runs, errors."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from langladder.data.instructions import dialogue_batch, dialogue_rows
from langladder.decoding.answers import answers
from langladder.decoding.sampling import SamplingConfig, generate
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT, begin
from langladder.models.making import Run, TrainingResult
from langladder.tasks.instruction import InstructionTuning, JudgedSample, make
from langladder.tasks.settings import InstructionTraining
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, PAD
from tests.models.spoken import DIALOGUES, SAY, TOKENIZER, asked, judge, saved_base
from tests.tasks.small_run import moved, stop_at

TEMPLATE = ChatTemplate(TOKENIZER)
GREEDY = SamplingConfig(strategy="greedy", max_tokens=5)


def training(**changes: Any) -> InstructionTraining:
    small = {"max_steps": 80, "lr": 0.02, "batch_size": 4, "validations": 4, "checkpoint_every": 3, "max_tokens": 5}
    return InstructionTraining.model_validate(small | {"progress": False, "accelerator": "cpu"} | changes)


def tuned(folder: Path, run_name: str = "a", **changes: Any) -> tuple[InstructedGPT, TrainingResult]:
    dropout = changes.pop("dropout", 0.0)
    more = {"judge": judge} | {name: changes.pop(name) for name in ("judge", "text") if name in changes}
    train, validation = changes.pop("train", DIALOGUES), changes.pop("validation", DIALOGUES)
    rung = SimpleNamespace(name="sft", dropout=dropout, training=training(**changes))
    base = saved_base(folder / "base")
    return make(base, train, validation, settings=rung, run=Run(1, folder / run_name), **more)


def test_two_batches_are_learnt_by_heart_and_the_reward_says_so(tmp_path: Path) -> None:
    model, result = tuned(tmp_path)
    assert answers(model, TEMPLATE, [item.prompt for item in DIALOGUES], GREEDY) == [
        item.response for item in DIALOGUES
    ]
    assert [row["step"] for row in result.curve if row["validation_loss"] is not None] == [20, 40, 60, 80]
    rewards = [row["validation_reward"] for row in result.curve if "validation_reward" in row]
    assert len(rewards) == 4 and max(rewards) == 1.0 and not model.training
    first_best = next(row for row in result.curve if row.get("validation_reward") == 1.0)
    assert result.validation_loss == first_best["validation_loss"] and result.curve[-1]["validation_loss"] < 0.1


def test_the_loss_that_is_trained_and_validated_is_that_of_the_responses(tmp_path: Path) -> None:
    model = begin(saved_base(tmp_path / "base"), seed=1)[0].eval()
    task = InstructionTuning(model, training())
    batch = dialogue_batch(dialogue_rows(TEMPLATE, DIALOGUES, 12, too_long="refuse", split="train"))
    total, count = 0.0, 0
    for item in DIALOGUES:  # each dialogue alone, each learnt token by a whole softmax
        ids, learnt = TEMPLATE.row(item.messages)
        own = torch.from_numpy(ids).long()
        scores = torch.log_softmax(model.head(model(own[None, :-1])[0])[0].detach().double(), dim=1)
        chosen = scores.gather(1, own[1:, None])[:, 0][torch.from_numpy(learnt[1:])]
        total, count = total - float(chosen.sum()), count + int(learnt.sum())
    assert count == sum(len(str(item.response).split()) + 1 for item in DIALOGUES)
    assert task.loss(batch).item() == pytest.approx(total / count, rel=1e-5)
    result = task.evaluate(batch)
    assert result[1] == count and result[0] == pytest.approx(total, rel=1e-5)


MIX = {"weight": 2.0, "windows": 3, "length": 6}


def text() -> TokenStream:
    ids = np.random.default_rng(1).integers(4, TOKENIZER.vocab_size, 60).astype(np.int32)
    return TokenStream(ids, np.array([0, 60]))


def test_plain_text_loss_is_added_with_its_weight(tmp_path: Path) -> None:
    model = begin(saved_base(tmp_path / "base"), seed=1)[0].eval()
    task = InstructionTuning(model, training(pretraining=MIX))
    alone = dialogue_batch(dialogue_rows(TEMPLATE, DIALOGUES, 12, too_long="refuse", split="train"))
    windows = torch.from_numpy(text().ids[:14].astype(np.int64)).view(2, 7)
    scores = torch.log_softmax(model.head(model(windows[:, :-1])[0]).detach().double(), dim=-1)  # (2, 6, V)
    text_loss = -float(scores.gather(2, windows[:, 1:, None]).mean())
    assert task.loss(alone._replace(text=windows)).item() == pytest.approx(
        task.loss(alone).item() + 2.0 * text_loss, rel=1e-5
    )
    answered, nothing = task.means(alone._replace(text=windows[:0]))
    assert answered.item() == pytest.approx(task.loss(alone).item()) and nothing.item() == 0.0


def test_with_plain_text_it_forgets_less_of_it(tmp_path: Path) -> None:
    def loss(model: InstructedGPT) -> float:
        return -float(model.log_probs(torch.tensor([[BOS, *text().ids[:11].tolist()]])).sum())

    short = {"max_steps": 40, "lr": 0.01}
    (plain, _), (mixed, _) = (
        tuned(tmp_path, name, text=text(), **short, **more) for name, more in (("a", {}), ("b", {"pretraining": MIX}))
    )
    assert loss(mixed) < loss(plain) - 1.0


def test_a_mix_without_text_or_beyond_the_context_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pretraining.weight=2.0: there is no plain text"):
        tuned(tmp_path, pretraining=MIX)
    with pytest.raises(InputError, match=r"pretraining.length=13 exceeds the model's context of 12"):
        tuned(tmp_path, text=text(), pretraining=MIX | {"length": 13})


def test_padding_and_user_turns_are_not_in_the_loss(tmp_path: Path) -> None:
    task = InstructionTuning(begin(saved_base(tmp_path / "base"), seed=1)[0].eval(), training())
    batch = dialogue_batch(dialogue_rows(TEMPLATE, SAY, 12, too_long="refuse", split="train"))
    padded = batch._replace(
        tokens=torch.nn.functional.pad(batch.tokens, (0, 4), value=PAD),
        targets=torch.nn.functional.pad(batch.targets, (0, 4), value=PAD),
    )
    torch.testing.assert_close(task.loss(padded), task.loss(batch))
    assert task.evaluate(padded)[0] == pytest.approx(task.evaluate(batch)[0], rel=1e-6)


def test_the_reward_chooses_the_weights_though_the_loss_has_risen(tmp_path: Path) -> None:
    """A judge who likes the last validation's answers best: a loss that rises towards it is no matter."""
    seen: list[list[str]] = []

    def likes_the_later(_prompts: Any, responses: Any) -> list[float]:
        seen.append(list(responses))
        return [float(len(seen))] * len(responses)

    other = [Dialogue((*item.prompt, item.messages[-1]._replace(text="not")), item.kind) for item in DIALOGUES]
    late, result = tuned(tmp_path, "late", judge=likes_the_later, validation=other, max_steps=40)
    early, _ = tuned(tmp_path, "early", validation=other, max_steps=40, early_stopping="validation_loss")
    losses = [row["validation_loss"] for row in result.curve if row["validation_loss"] is not None]
    assert losses[-1] > min(losses)  # type: ignore[type-var]
    prompts = [item.prompt for item in other]
    assert answers(late, TEMPLATE, prompts, GREEDY) == seen[-1]
    assert not torch.equal(late.embedding.weight, early.embedding.weight)


@pytest.mark.parametrize("step", [1, 6, 11])
def test_a_killed_run_ends_with_the_same_bits(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {"max_steps": 12, "validations": 3, "dropout": 0.2, "text": text(), "pretraining": MIX}
    with monkeypatch.context() as patch:
        stop_at(patch, InstructionTuning, step)
        with pytest.raises(KeyError):
            tuned(tmp_path, "broken", **short)
    again = moved(tmp_path / "broken").name
    (resumed, item), (whole, other) = tuned(tmp_path, again, **short), tuned(tmp_path, "whole", **short)
    for (name, ours), theirs in zip(resumed.state_dict().items(), whole.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name
    assert item.curve == other.curve and whole.config.dropout == 0.2


def test_batched_answers_equal_single_ones_and_end_with_the_context(tmp_path: Path) -> None:
    model = begin(saved_base(tmp_path / "base"), seed=1)[0].eval()
    long = SamplingConfig(temperature=30.0, max_tokens=50, seed=4)
    prompts = [item.prompt for item in DIALOGUES] * 2
    batched = answers(model, TEMPLATE, prompts, long)
    assert len(set(batched)) > 4 and answers(model, TEMPLATE, prompts, long) == batched
    assert all(len(TEMPLATE.prompt(p)) + len(answer.split()) <= 12 for p, answer in zip(prompts, batched, strict=True))
    greedy = answers(model, TEMPLATE, prompts, GREEDY)
    for messages, answer in zip(prompts, greedy, strict=True):
        assert answer == TEMPLATE.response(generate(model, TEMPLATE.prompt(messages).tolist(), GREEDY)[0])
    assert answers(model, TEMPLATE, prompts[3:4], long) != [] and answers(model, TEMPLATE, [], long) == []


def test_epochs_make_steps_and_the_sample_is_spread(tmp_path: Path) -> None:
    _, result = tuned(tmp_path, epochs=3, batch_size=4, validations=3, judged=3)
    assert [row["step"] for row in result.curve] == [2, 4, 6]
    sample = JudgedSample.of(DIALOGUES, 3, judge, TEMPLATE, 5)
    assert sample.prompts == [DIALOGUES[0], DIALOGUES[4], DIALOGUES[7]]


def test_invalid_settings_raise_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"early_stopping=reward: there is no judge"):
        tuned(tmp_path, judge=None)
    with pytest.raises(InputError, match=r"no validation data"):
        tuned(tmp_path, validation=[])
    with pytest.raises(InputError, match="no training dialogue"):
        tuned(tmp_path, train=[])
    long = [*DIALOGUES, Dialogue((*asked("say cat " * 8), SAY[0].messages[-1]))]
    with pytest.raises(InputError, match=r"train, dialogue 9 .* exceed the model's context of 12"):
        tuned(tmp_path, train=long)
    model, _ = tuned(tmp_path, train=long, too_long="leave_out", max_steps=1)
    with pytest.raises(InputError, match=r"prompt 1 .* leave no room for a response"):
        answers(model, TEMPLATE, [long[-1].prompt], GREEDY)
    _, result = tuned(tmp_path, "b", judge=None, early_stopping="validation_loss", max_steps=4, validations=1)
    assert "validation_reward" not in result.curve[-1]
