"""Merges, pieces and paths end where the library ends, for every kind of tokenizer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langladder.text.tokenize.specials import SPELLINGS, UNK
from langladder.text.tokenize.token_steps import Steps
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

LINES = ["the cat sat on the mat", "the cats sit , they sat", "a bat sat at that hat", "naïve cafés — 北京 ok"] * 4
SIZES = {"bpe_bytes": 330, "bpe_words": 90, "wordpiece": 110, "unigram": 70, "character": 60}
STEPS = {
    kind: Steps(train_tokenizer(LINES, TokenizerConfig(kind=kind, vocab_size=size))) for kind, size in SIZES.items()
}
text = st.text(st.sampled_from("theca sniot,bé北京z\t ▁😀\u0301\u3000\n<unk>"), max_size=40) | st.sampled_from(LINES)


def named(steps: Steps, line: str) -> list[str]:
    return [SPELLINGS[UNK] if i == UNK else steps.tokenizer.name(i) for i in steps.tokenizer.encode(line).tolist()]


@settings(max_examples=60, deadline=None)
@given(line=text, kind=st.sampled_from(["bpe_bytes", "bpe_words", "character"]))
def test_merges_end_in_the_library_s_tokens(line: str, kind: str) -> None:
    steps = STEPS[kind]
    symbols, merges = steps.bpe(line)
    for merge in merges:
        for place in reversed(merge.positions):
            assert (symbols[place], symbols[place + 1]) == (merge.left, merge.right)
            symbols[place : place + 2] = [merge.merged]
    assert symbols == named(steps, line)


def test_merges_are_told_in_the_order_in_which_they_were_learnt() -> None:
    steps = STEPS["bpe_bytes"]
    symbols, merges = steps.bpe("the cat sat")
    ranks = [merge.rank for merge in merges]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)
    assert "".join(map(steps.show, symbols)) == "the cat sat"
    assert max(ranks) < steps.merges
    at = next(merge for merge in merges if (merge.left, merge.right) == ("a", "t"))
    assert [symbols[place : place + 2] for place in at.positions] == [["a", "t"], ["a", "t"]]


@settings(max_examples=30, deadline=None)
@given(line=text)
def test_wordpiece_takes_the_library_s_pieces(line: str) -> None:
    steps = STEPS["wordpiece"]
    taken = steps.wordpiece(line)
    assert [step.token for step in taken] == named(steps, line)
    for step in taken:
        if step.token != SPELLINGS[UNK]:
            assert step.rest.startswith(step.token.removeprefix("##"))


@settings(max_examples=30, deadline=None)
@given(line=text)
def test_unigram_s_best_path_is_the_library_s(line: str) -> None:
    steps = STEPS["unigram"]
    wanted = named(steps, line)
    found: list[str] = []
    for piece in steps.pieces(line):
        cuts = steps.unigram(piece)
        assert [cut.total for cut in cuts] == sorted((cut.total for cut in cuts), reverse=True)
        for cut in cuts:
            assert "".join(cut.tokens) == piece
            assert cut.total == pytest.approx(sum(cut.scores))
        known = steps.tokenizer._backend.get_vocab()
        for token in cuts[0].tokens:
            token = token if token in known else SPELLINGS[UNK]
            if token != SPELLINGS[UNK] or found[-1:] != [token]:  # the library writes neighbours as one
                found.append(token)
    assert found == wanted
