"""Readers that start from BERT and from GPT: rows and losses by hand, padding, windows, saving, errors."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from langladder.ground.errors import InputError
from langladder.models.reading.bert_span import BERTSpan, Window
from langladder.models.reading.gpt_choice import GPTChoice
from langladder.models.reading.network_reader import NetworkReader
from langladder.models.reading.reader import Found, Reader
from langladder.tasks.fine_tuning import begin
from langladder.text.labelled.questions import Answer, Question
from tests.hostile import little_memory
from tests.models.fine_tuned_rungs import TOKENIZER, saved_bert, saved_gpt
from tests.models.question_rows import CAT, DOG, QUESTIONS

SEP, CLS, MASK = TOKENIZER.vocab_size, TOKENIZER.vocab_size + 1, TOKENIZER.vocab_size + 2
LONG = {"context": 64}
KINDS: list[tuple[type[Any], dict[str, Any]]] = [
    (BERTSpan, {}),
    (BERTSpan, {"frozen": True, "layers": "weighted_sum"}),
    (BERTSpan, {"layers": "concat"}),
    (GPTChoice, {}),
    (GPTChoice, {"lm_weight": 0.0}),
]
every_kind = pytest.mark.parametrize(("kind", "settings"), KINDS)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[type[Any], Path]:
    folder = tmp_path_factory.mktemp("bases")
    return {BERTSpan: saved_bert(folder / "bert", **LONG), GPTChoice: saved_gpt(folder / "gpt", **LONG)}


def reader(kind: type[Any], base: Path, **settings: Any) -> Any:
    rung = SimpleNamespace(name="grown", model=kind.Config.model_validate({"dropout": 0.0} | settings))
    network, tokenizer = begin(kind, rung, base, seed=1)
    return network.equip(tokenizer).eval()


def rows(network: NetworkReader, questions: list[Question]) -> list[Any]:
    return [row for question in questions for row in network.encode(question)]


def same(item: list[list[Found]], other: list[list[Found]]) -> bool:
    return all(
        (a.text, a.start) == (b.text, b.start) and np.isclose(a.score, b.score, atol=1e-4)
        for mine, yours in zip(item, other, strict=True)
        for a, b in zip(mine, yours, strict=True)
    )


def test_golden_row_of_a_question(bases: dict[type[Any], Path]) -> None:
    network = reader(BERTSpan, bases[BERTSpan])
    question, ids = TOKENIZER.encode("a dog").tolist(), TOKENIZER.encode(DOG).tolist()
    (row,) = network.encode(QUESTIONS[3])
    assert row.ids.tolist() == [CLS, *question, SEP, *ids, SEP]
    begins = len(question) + 2
    assert (row.begins, row.first, row.tokens) == (begins, 0, len(ids))
    assert TOKENIZER.decode(row.ids[row.start : row.end + 1]).strip() == "sleeps"
    assert (network.encode(QUESTIONS[4])[0].start, network.encode(QUESTIONS[4])[0].end) == (0, 0)
    batch = network.collate([row])
    allowed = [0, *range(begins, begins + len(ids))]
    assert batch.allowed[0].nonzero()[:, 0].tolist() == allowed


def test_golden_loss_is_that_of_the_start_and_of_the_end(bases: dict[type[Any], Path]) -> None:
    """−log of e^{S·T_i} over its sum, and of e^{E·T_j} over its own, over the paragraph and <cls>."""
    network = reader(BERTSpan, bases[BERTSpan])
    (row,) = network.encode(QUESTIONS[3])
    batch = network.collate([row])
    with torch.no_grad():
        scores = network(batch.tokens)[0].double().numpy()  # (T, 2)
    allowed = [0, *range(row.begins, row.begins + row.tokens)]
    shares = np.exp(scores[allowed]) / np.exp(scores[allowed]).sum(axis=0)
    start, end = (allowed.index(position) for position in (row.start, row.end))
    wanted = -np.log(shares[start, 0]) - np.log(shares[end, 1])
    assert float(network.losses(batch).detach()) == pytest.approx(wanted, rel=1e-5)
    loss, _, count = network.judge(batch)
    assert (loss, count) == (pytest.approx(wanted, rel=1e-5), 1)


def test_golden_rows_and_loss_of_multiple_choice(bases: dict[type[Any], Path]) -> None:
    """L3 = −log softmax(z)_y + λ · the mean over the tokens behind start."""
    network = reader(GPTChoice, bases[GPTChoice], lm_weight=0.25)
    (choice,) = network.encode(QUESTIONS[3])
    context, question = TOKENIZER.encode(DOG).tolist(), TOKENIZER.encode(" a dog").tolist()
    options = [TOKENIZER.encode(option).tolist() for option in ("sleeps", "a dog", "")]
    assert [row.tolist() for row in choice.rows] == [
        [MASK, *context, *question, SEP, *option, CLS] for option in options
    ]
    assert choice.right == 0 and network.encode(QUESTIONS[2])[0].right == 1
    batch = network.collate([choice])
    log_probs = network(batch)[0]
    assert float(log_probs.exp().sum().detach()) == pytest.approx(1, rel=1e-5)
    losses = []
    for row in choice.rows:
        hidden = network.gpt(torch.from_numpy(row.astype(np.int64))[None])[0][0]
        logs = torch.log_softmax(network.gpt.head(hidden[:-1]), dim=-1)
        losses += [-float(logs[position, token].detach()) for position, token in enumerate(row[1:])]
    wanted = -float(log_probs[0, 0].detach()) + 0.25 * np.mean(losses)
    assert float(network.losses(batch).detach()) == pytest.approx(wanted, rel=1e-4)


@every_kind
def test_gradient_reaches_every_parameter_that_is_not_frozen(
    bases: dict[type[Any], Path], kind: type[Any], settings: dict[str, Any]
) -> None:
    network = reader(kind, bases[kind], **settings).train()
    network.losses(network.collate(rows(network, QUESTIONS))).backward()
    for name, parameter in network.named_parameters():
        if settings.get("frozen") and "encoder" in name:
            assert parameter.grad is None and not parameter.requires_grad, name
        else:
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


@every_kind
def test_padding_and_order_change_nothing(
    bases: dict[type[Any], Path], kind: type[Any], settings: dict[str, Any]
) -> None:
    network = reader(kind, bases[kind], **settings)
    questions = [*QUESTIONS, Question(f"{CAT} {CAT} {CAT}", "a dog", (), ("a dog", "the cat sees a house"))]
    batched = network.candidates(questions, 3)
    assert same(batched, [network.candidates([question], 3)[0] for question in questions])
    assert same(batched[::-1], network.candidates(questions[::-1], 3))
    losses = [network.judge(network.collate([row]))[0] for row in rows(network, questions)]
    assert network.judge(network.collate(rows(network, questions)))[0] == pytest.approx(sum(losses), rel=1e-4)


@every_kind
def test_two_batches_are_learnt_by_heart(
    bases: dict[type[Any], Path], kind: type[Any], settings: dict[str, Any]
) -> None:
    if settings.get("frozen"):
        pytest.skip("its body learns nothing")
    network = reader(kind, bases[kind], **settings)
    batches = [network.collate(rows(network, part)) for part in (QUESTIONS[:2], QUESTIONS[2:])]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    for step in range(160):
        optimizer.zero_grad()
        network.losses(batches[step % 2]).backward()
        optimizer.step()
    network.fit_threshold(QUESTIONS, needed=True)
    assert (network.threshold is None) == network.knows_none
    assert [some[0].text for some in network.answers(QUESTIONS)] == [item.gold()[0] for item in QUESTIONS]


@every_kind
def test_save_and_load_need_no_base(
    bases: dict[type[Any], Path], kind: type[Any], settings: dict[str, Any], tmp_path: Path
) -> None:
    network = reader(kind, bases[kind], **settings)
    network.threshold = None if network.knows_none else -0.5
    network.save(tmp_path / "one")
    loaded: Any = Reader.load(tmp_path / "one")
    assert type(loaded) is kind and loaded.config == network.config and loaded.threshold == network.threshold
    assert loaded.answers(QUESTIONS, 3) == network.answers(QUESTIONS, 3)
    loaded.save(tmp_path / "two")
    for file in ("config.json", "reading.json", "model.safetensors", "tokenizer.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert float(loaded.trial_loss(2, 12)) > 0


def test_a_long_paragraph_is_read_through_windows(bases: dict[type[Any], Path]) -> None:
    """The best span of all windows, the least s_none, and the answer in each window that has all of it."""
    network = reader(BERTSpan, bases[BERTSpan], stride=9, longest=4)
    text = " ".join([CAT] * 6)
    start = text.rindex("the house")
    question = Question(text, "the dogs walk", (Answer("the house", start),))
    result = network.encode(question)
    assert len(result) > 3 and all(row.length <= 64 for row in result)
    having = [row for row in result if row.start]
    assert 1 <= len(having) < len(result)
    assert {TOKENIZER.decode(row.ids[row.start : row.end + 1]).strip() for row in having} == {"the house"}
    best = []
    none = np.inf
    for row in result:
        with torch.no_grad():
            scores = network(torch.from_numpy(row.ids.astype(np.int64))[None])[0].double().numpy()
        part = scores[row.begins : row.begins + row.tokens]
        best.append(max(part[i, 0] + part[j, 1] for i in range(len(part)) for j in range(i, min(i + 4, len(part)))))
        none = min(none, scores[0].sum())
    (answer,) = network.candidates([question], 1)[0]
    assert answer.score == pytest.approx(max(best) - none, abs=1e-4)
    assert text[answer.start : answer.start + len(answer.text)] == answer.text == answer.text.strip()


def test_answers_are_characters_of_the_paragraph_as_it_was_written(bases: dict[type[Any], Path]) -> None:
    """Tokens with white space, unknown letters and parts of letters map back to the original characters."""
    network = reader(BERTSpan, bases[BERTSpan])
    text = "  the  猫 sees\tthe dög!  "
    candidate = network.candidates([Question(text, "猫 ?")], 500)[0]
    assert candidate and len({(item.start, item.text) for item in candidate}) > 20
    for item in candidate:
        assert text[item.start : item.start + len(item.text)] == item.text and item.text == item.text.strip() != ""
    assert sum(item.probability or 0 for item in candidate) < 1.0 + 1e-6


def test_an_answer_is_given_where_it_beats_none_by_the_threshold(bases: dict[type[Any], Path]) -> None:
    network = reader(BERTSpan, bases[BERTSpan])
    (item, two) = network.candidates([QUESTIONS[0]], 2)[0]
    network.threshold = item.score + 0.1
    assert [some.text for some in network.answers([QUESTIONS[0]], 3)[0][:2]] == ["", item.text]
    network.threshold = (item.score + two.score) / 2
    assert [some.text for some in network.answers([QUESTIONS[0]], 2)[0]] == [item.text, ""]
    network.fit_threshold(QUESTIONS, needed=False)
    assert network.threshold is None and network.answers([QUESTIONS[4]])[0][0].text


@pytest.mark.parametrize("kind", [BERTSpan, GPTChoice])
def test_damaged_folders_are_refused_with_a_one_line_error(
    bases: dict[type[Any], Path], kind: type[Any], tmp_path: Path
) -> None:
    network = reader(kind, bases[kind])
    network.save(tmp_path)

    def refused(file: str, value: Any) -> None:
        good = (tmp_path / file).read_bytes()
        (tmp_path / file).write_text(json.dumps(value))
        with little_memory(), pytest.raises(InputError) as raised:
            Reader.load(tmp_path)
        assert "\n" not in str(raised.value)
        (tmp_path / file).write_bytes(good)

    config = json.loads((tmp_path / "config.json").read_text())
    for body in (
        None,
        config["config"]["body"] | {"width": 16384, "heads": 1},
        config["config"]["body"] | {"layers": 128},
    ):
        refused("config.json", config | {"config": config["config"] | {"body": body}})
    refused("config.json", config | {"vocab_size": 10**9})
    refused("config.json", config | {"_target_": "langladder.models.language.gpt.GPT"})
    for reading in ({}, [], {"threshold": "0"}, {"threshold": True}, {"threshold": 1e999}, {"threshold": 0, "more": 1}):
        refused("reading.json", reading)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        Reader.load(tmp_path)


def test_invalid_settings_raise_a_named_error(bases: dict[type[Any], Path]) -> None:
    with pytest.raises(InputError, match="a GPT, but a BERTSpan starts from a rung of the family encoder"):
        reader(BERTSpan, bases[GPTChoice])
    with pytest.raises(InputError, match="a BERT, but a GPTChoice starts from a GPT"):
        reader(GPTChoice, bases[BERTSpan])
    with pytest.raises(InputError, match="has no options to choose from"):
        reader(GPTChoice, bases[GPTChoice]).answers([Question(DOG, "who ?")])
    network = reader(BERTSpan, bases[BERTSpan])
    (row,) = network.encode(Question(DOG, "the cat " * 99))  # a question that fills the row loses its end
    assert isinstance(row, Window) and row.tokens == len(TOKENIZER.encode(DOG)) and row.length <= 64
