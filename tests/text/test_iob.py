"""Which tags may follow which, by hand."""

import pytest

from langladder.text.labelled.labelled import bad_steps, may_follow, scheme_of


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["O", "B-PER", "I-PER"], "IOB2"),
        (["B", "I", "O"], "IOB2"),
        (["O", "S-PER", "B-PER", "I-PER", "E-PER"], "IOBES"),
        (["NOUN", "VERB"], None),
        (["O"], None),
        (["O", "I-PER"], None),  # IOB1, which this is not
        (["O", "B-PER", "NOUN"], None),
        ([], None),
    ],
)
def test_scheme_of_a_tag_set(tags, scheme):
    assert scheme_of(tags) == scheme


@pytest.mark.parametrize(
    ("tags", "bad"),
    [
        ("B-PER I-PER O B-LOC B-LOC I-LOC", []),
        ("I-PER O", [0]),
        ("O I-PER", [1]),
        ("B-PER I-LOC", [1]),
        ("O O I-LOC I-LOC I-PER", [2, 4]),
    ],
)
def test_golden_iob2_validity(tags, bad):
    assert bad_steps(tags.split(), "IOB2") == bad


@pytest.mark.parametrize(
    ("tags", "bad"),
    [
        ("S-PER B-LOC I-LOC E-LOC O", []),
        ("B-PER O", [1]),  # never closed
        ("B-PER", [1]),  # nor at the end
        ("B-PER E-LOC", [1]),
        ("S-PER I-PER E-PER", [1]),
        ("E-PER", [0]),
        ("B-PER I-PER B-PER E-PER", [2]),
    ],
)
def test_golden_iobes_validity(tags, bad):
    assert bad_steps(tags.split(), "IOBES") == bad


def test_begin_and_end_of_a_sentence():
    assert may_follow(None, "B-X", "IOB2") and may_follow("I-X", None, "IOB2")
    assert not may_follow(None, "I-X", "IOB2") and not may_follow("I-X", None, "IOBES")
