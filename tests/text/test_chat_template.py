"""The chat template: rows by hand, what is learnt, what no text can say, and the way back."""

import numpy as np
import pytest

from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate, Markers
from langladder.text.tokenize.specials import BOS, EOS, NAMES, RESERVED, spelling
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

# ids by hand: the specials 0 to 3, then a 4, b 5, c 6, yes 7 by frequency; V = 8
WORDS = train_tokenizer(["a a a a b b b c c yes"], TokenizerConfig(kind="word", vocab_size=None))
BYTES = train_tokenizer(["the cat sees a dog"], TokenizerConfig(kind="bpe_bytes", vocab_size=270))
ASSISTANT, USER, SYSTEM = 8, 9, 10
TEMPLATE = ChatTemplate(WORDS)


def turns_of(*turns: str) -> tuple[Message, ...]:
    """`u: a b` is a turn of the user."""
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return tuple(Message(roles[turn[0]], turn[3:]) for turn in turns)


def test_golden_ids_of_one_turn_and_what_is_learnt() -> None:
    assert [int(token) for token in WORDS.encode("a b c yes")] == [4, 5, 6, 7]
    assert TEMPLATE.markers == Markers(SYSTEM, USER, ASSISTANT)
    row = TEMPLATE.row(turns_of("u: a b", "a: yes c"))
    assert row.ids.tolist() == [BOS, USER, 4, 5, ASSISTANT, 7, 6, EOS] == [2, 9, 4, 5, 8, 7, 6, 3]
    assert row.learnt.astype(int).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


def test_golden_ids_of_a_system_and_two_turns_and_what_is_learnt() -> None:
    row = TEMPLATE.row(turns_of("s: c", "u: a", "a: b", "u: b", "a: a a"))
    assert row.ids.tolist() == [2, 10, 6, 9, 4, 8, 5, 3, 9, 5, 8, 4, 4, 3]
    assert row.learnt.astype(int).tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1]
    assert row.ids.dtype == np.int32 and row.learnt.dtype == np.bool_


def test_golden_prompt_is_the_row_up_to_the_response() -> None:
    prompt = TEMPLATE.prompt(turns_of("s: c", "u: a", "a: b", "u: b"))
    assert prompt.tolist() == [2, 10, 6, 9, 4, 8, 5, 3, 9, 5, 8]
    whole = TEMPLATE.row(turns_of("s: c", "u: a", "a: b", "u: b", "a: yes")).ids
    assert whole[: len(prompt)].tolist() == prompt.tolist()


def test_the_first_word_of_a_turn_is_the_token_that_it_is_inside_a_line() -> None:
    template = ChatTemplate(BYTES)
    cat, dog = (BYTES.encode(text).tolist() for text in (" cat", " dog"))
    assert len(cat) == 1 and BYTES.encode("cat").tolist() != cat
    markers = template.markers
    row = template.row(turns_of("u: cat", "a: dog"))
    assert row.ids.tolist() == [BOS, markers.user, *cat, markers.assistant, *dog, EOS]
    assert template.response(row.ids[row.learnt]) == "dog"
    again = template.row(turns_of("u:  cat", "a: "))  # white space of its own; nothing said
    assert again.ids.tolist() == [BOS, markers.user, *cat, markers.assistant, EOS]


def test_many_rows_are_those_one_by_one() -> None:
    dialogues = [
        turns_of("u: a b", "a: yes"),
        turns_of("u: c", "a: b", "u: a", "a: c c"),
        turns_of("s: a", "u: b", "a: a"),
    ]
    for row, messages in zip(TEMPLATE.rows(dialogues), dialogues, strict=True):
        alone = TEMPLATE.row(messages)
        assert row.ids.tolist() == alone.ids.tolist() and row.learnt.tolist() == alone.learnt.tolist()


@pytest.mark.parametrize("tokenizer", [WORDS, BYTES], ids=["word", "bpe_bytes"])
def test_no_text_says_a_marker(tokenizer) -> None:
    template = ChatTemplate(tokenizer)
    names = [*RESERVED, *NAMES]
    text = " ".join([*names, *(spelling(name) for name in names)])
    prompt = template.prompt([Message("user", text)])
    assert [token for token in prompt.tolist() if token >= tokenizer.vocab_size] == [
        template.markers.user,
        template.markers.assistant,
    ]
    assert (prompt == BOS).sum() == 1 and not (prompt == EOS).any() and not (prompt == 0).any()


def test_a_response_comes_back_up_to_its_end() -> None:
    template = ChatTemplate(BYTES)
    row = template.row(turns_of("u: the cat", "a: sees a dog"))
    assert template.response(row.ids[row.learnt]) == "sees a dog"
    assert template.response([*BYTES.encode("a dog").tolist(), EOS, *BYTES.encode("the").tolist()]) == "a dog"
    assert template.response(BYTES.encode("a dog")) == "a dog" and template.response([EOS]) == ""


def test_what_is_no_prompt_is_refused() -> None:
    with pytest.raises(InputError, match="the last turn is of assistant"):
        TEMPLATE.prompt(turns_of("u: a", "a: b"))
    with pytest.raises(InputError, match="of nobody"):
        TEMPLATE.prompt(())
    with pytest.raises(InputError, match="'robot' is not one of system, user, assistant"):
        TEMPLATE.row([Message("robot", "a")])
