"""Batches of dialogues and of rankings by hand: inputs, targets, pairs."""

import numpy as np
import pytest
import torch

from langladder.data.instructions import (
    DialogueBatches,
    RankingBatches,
    check_prompt,
    dialogue_batch,
    dialogue_rows,
    ranking_batch,
    ranking_rows,
    repeated,
)
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.tasks.language_modelling import mixed_windows
from langladder.tasks.settings import PretrainingMix
from langladder.text.labelled.instructions import Dialogue, Ranking
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, PAD
from tests.models.spoken import DIALOGUES, RANKINGS, SAY, TOKENIZER, TWICE, V, asked, dialogue

TEMPLATE = ChatTemplate(TOKENIZER)
ASSISTANT, USER = V, V + 1


def word(text: str) -> int:
    return int(TOKENIZER.encode(text)[0])


def rows(dialogues, context=12, **settings):
    return dialogue_rows(TEMPLATE, dialogues, context, **{"too_long": "refuse", "split": "train"} | settings)


def ranked(rankings, context=12, **settings):
    return ranking_rows(TEMPLATE, rankings, context, **{"too_long": "refuse", "split": "train"} | settings)


def test_golden_batch_learns_on_responses_only_and_padding_is_not_learnt() -> None:
    batch = dialogue_batch(rows([SAY[0], TWICE[1]]))
    say, cat, dog, twice, please = (word(text) for text in ("say", "cat", "dog", "twice", "please"))
    assert batch.tokens.tolist() == [
        [BOS, USER, say, cat, ASSISTANT, cat, PAD, PAD, PAD],
        [BOS, USER, say, dog, twice, please, ASSISTANT, dog, dog],
    ]
    assert batch.targets.tolist() == [
        [PAD, PAD, PAD, PAD, cat, EOS, PAD, PAD, PAD],
        [PAD, PAD, PAD, PAD, PAD, PAD, dog, dog, EOS],
    ]


def test_plain_text_windows_are_added_and_divided_with_the_dialogues() -> None:
    text = TokenStream(4 + np.arange(40, dtype=np.int32) % (V - 4), np.array([0, 40]))
    model = GPT(GPT.Config(context=12, width=4, layers=1, heads=1), V)
    mixed = mixed_windows(PretrainingMix(weight=1.0, windows=3, length=5), model, text, 1)
    batches = DialogueBatches(rows(DIALOGUES), [], batch_size=4, seed=1, text=mixed)
    batch = batches.train(0)
    assert mixed is not None and batch.text is not None
    assert torch.equal(batch.text, mixed.train(0).tokens) and batch.text.shape == (3, 6)
    assert not torch.equal(batch.text, batches.train(1).text)
    learnt = int((batch.targets != PAD).sum())
    assert batches.terms(batch) == (learnt, 3 * 5) and batches.size(batch) == learnt
    shares = [batches.share(0, number, 4) for number in range(4)]  # of the last, dialogues alone
    assert [len(share.batch.text) for share in shares] == [1, 1, 1, 0]
    assert torch.equal(torch.cat([share.batch.text for share in shares]), batch.text)
    assert [sum(weights) for weights in zip(*(share.weights for share in shares), strict=True)] == pytest.approx([1, 1])
    plain = DialogueBatches(rows(DIALOGUES), [], batch_size=4, seed=1)
    assert plain.train(0).text is None and torch.equal(plain.train(0).tokens, batch.tokens)
    assert plain.terms(plain.train(0)) == (learnt,)


def test_golden_pairs_of_four_responses_and_what_they_weigh() -> None:
    tied = Ranking(asked("say cat"), ("cat", "dog", "king"), (1, 2, 2))
    batch = ranking_batch(ranked([tied, RANKINGS[0]]))
    # 1 > 2 = 3: two pairs; 1 > 2 > 3 = 3: five pairs, of rows 3 to 6
    assert list(zip(batch.better.tolist(), batch.worse.tolist(), strict=True)) == [
        (0, 1), (0, 2), (3, 4), (3, 5), (3, 6), (4, 5), (4, 6),
    ]  # fmt: skip
    torch.testing.assert_close(batch.weights, torch.tensor([1 / 4] * 2 + [1 / 10] * 5))
    assert batch.prompts == 2 and batch.tokens.shape[0] == 7
    assert batch.tokens[1].tolist()[:7] == [BOS, USER, word("say"), word("cat"), ASSISTANT, word("dog"), EOS]


def test_rare_kinds_are_repeated_up_to_the_limit() -> None:
    many = [Dialogue(item.messages, "many") for item in DIALOGUES[:6]]
    rare, rarest = Dialogue(DIALOGUES[6].messages, "rare"), Dialogue(DIALOGUES[7].messages, "rarest")
    dialogues = [rarest, *many[:3], rare, *many[3:], rare]
    assert repeated(dialogues, 1) == dialogues
    assert repeated(dialogues, 4) == [*[rarest] * 4, *many[:3], *[rare] * 3, *many[3:], *[rare] * 3]
    assert repeated([], 4) == []


def test_every_dialogue_comes_once_per_epoch_and_batches_depend_on_the_step_only() -> None:
    batches = DialogueBatches(rows(DIALOGUES), rows(SAY), batch_size=3, seed=5)
    again = DialogueBatches(rows(DIALOGUES), rows(SAY), batch_size=3, seed=5)
    seen = []
    for step in range(batches.per_epoch):
        assert all(torch.equal(a, b) for a, b in zip(batches.train(step)[:2], again.train(step)[:2], strict=True))
        batch = batches.train(step)
        assert batches.size(batch) == int((batch.targets != PAD).sum())
        seen += [tuple(row[row != PAD].tolist()) for row in batch.tokens]
    assert sorted(seen) == sorted(tuple(row.ids[:-1].tolist()) for row in rows(DIALOGUES))
    assert sum(len(batch.tokens) for batch in batches.validation()) == len(SAY)
    assert not DialogueBatches(rows(SAY), [], batch_size=3, seed=5).validation()


def test_every_ranking_comes_once_an_epoch() -> None:
    batches = RankingBatches(ranked(RANKINGS), ranked(RANKINGS[:3]), batch_size=3, seed=5)
    results = [batches.train(step) for step in range(batches.per_epoch)]
    assert [batches.size(batch) for batch in results] == [batch.prompts for batch in results]
    assert sum(batch.prompts for batch in results) == len(RANKINGS)
    assert all(float(batch.weights.sum()) == pytest.approx(1) for batch in results)
    assert sum(batch.prompts for batch in batches.validation()) == 3


def test_too_long_dialogues_are_refused_or_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(rows(TWICE, 9)) == 4  # ten tokens, the last of which is not read
    with pytest.raises(
        InputError, match=r"train, dialogue 5 \('cat cat'\): 9 tokens exceed .* context of 8; set train"
    ):
        rows(DIALOGUES, 8)
    assert not capsys.readouterr().err
    assert len(rows(DIALOGUES, 8, too_long="leave_out")) == len(SAY)
    line = f"train: 4 of {len(DIALOGUES)} dialogues are left out, because they exceed the model's context of 8 tokens"
    assert line in capsys.readouterr().err
    with pytest.raises(InputError, match=r"train, ranking 5 \('say cat twice please'\): 11 tokens exceed"):
        ranked(RANKINGS, 10)
    assert len(ranked(RANKINGS, 10, too_long="leave_out")) == 4
    assert f"train: 4 of {len(RANKINGS)} rankings are left out" in capsys.readouterr().err


def test_unusable_dialogues_are_refused_or_left_out() -> None:
    with pytest.raises(InputError, match=r"train, dialogue 2 \('say cat'\): no response to learn from"):
        rows([SAY[0], Dialogue(asked("say cat"))])
    with pytest.raises(InputError, match="no response to learn from"):
        rows([dialogue("say cat", "")])
    assert ranked([Ranking(asked("say cat"), ("cat", "dog"), (1, 1))]) == []
    with pytest.raises(InputError, match=r"prompt 3 \('say cat'\): 12 tokens leave no room"):
        check_prompt(np.zeros(12), 12, "prompt 3", asked("say cat"))
