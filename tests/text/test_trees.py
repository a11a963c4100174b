"""Trees: brackets and heads become one structure, children before parents; what is no tree is refused, and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langladder.ground.errors import InputError
from langladder.text.labelled.labelled import Example, Tree, parse_tree, read_tree, tree_of_heads


def test_golden_tree_of_three_words() -> None:
    tree = parse_tree("(3 (2 the) (4 (3 good) (2 film)))")
    assert tree.words == ("the", "good", "film")
    assert tree.children == ((), (), (), (1, 2), (0, 3))
    assert tree.label == ("2", "3", "2", "4", "3")
    assert tree.word == (0, 1, 2, -1, -1)
    assert tree.heights == [0, 0, 0, 1, 2]


def test_brackets_need_no_labels_and_may_have_one_part() -> None:
    tree = parse_tree("( (S (NP (NN dogs)) (VP bark)) )")
    assert tree.words == ("dogs", "bark")
    assert tree.label == ("NN", "NP", "VP", "S", None)
    assert tree.children == ((), (0,), (), (1, 2), (3,))


def test_golden_tree_of_heads() -> None:
    tree = tree_of_heads(["she", "sees", "old", "dogs"], [2, 0, 4, 2])
    assert tree.children[-1] and tree.words[tree.word[-1]] == "sees"  # the root comes last
    below = {
        tree.words[tree.word[node]]: {tree.words[tree.word[child]] for child in tree.children[node]}
        for node in range(4)
    }
    assert below == {"sees": {"she", "dogs"}, "dogs": {"old"}, "she": set(), "old": set()}


@given(st.recursive(st.just("x"), lambda part: st.lists(part, min_size=1, max_size=3), max_leaves=30))
def test_children_come_before_parents_and_every_word_is_there(shape: object) -> None:
    def written(part: object) -> str:
        return "(1 x)" if part == "x" else f"(1 {' '.join(map(written, part))})"  # type: ignore[call-overload]

    def leaves(part: object) -> int:
        return 1 if part == "x" else sum(map(leaves, part))  # type: ignore[call-overload]

    tree = parse_tree(written(shape))
    assert len(tree.words) == leaves(shape)
    assert all(child < node for node, below in enumerate(tree.children) for child in below)
    assert sorted(child for below in tree.children for child in below) == list(range(len(tree) - 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(3 (2 a)", "character 8: 1 brackets are not closed"),
        ("(3 a))", "character 6: '.' is outside"),
        ("", "no tree"),
        ("(3 a) x", "'x' is outside"),
        ("(3 a b c)", "'3' and 'a' and 'b'"),
        ("((2 a) 3)", "comes after the parts"),
        ("()", "a bracket holds nothing"),
        ("(" * 3000, "more than 2,000 brackets"),
    ],
)
def test_refuses_what_is_no_tree(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("'.'", "'\\)'")):
        parse_tree(text)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 0, 1], r"2 words have head 0 \(the root\): \[1, 2\]"),
        ([2, 3, 1], "0 words have head 0"),
        ([0, 3, 2], r"word 2 \('b'\) depends on itself in a circle"),
        ([0, 9, 1], r"word 2 \('b'\) has head 9; allowed: another of 0 to 3"),
        ([0, 1, 3], r"word 3 \('c'\) has head 3"),
        ([0, 1], "3 words, but 2 heads"),
    ],
)
def test_refuses_heads_that_make_no_tree(heads: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tree_of_heads(list("abc"), heads)


def test_tree_of_an_example() -> None:
    tree = read_tree(Example("a b", tree="(1 (1 a) (1 b))"))
    assert isinstance(tree, Tree) and len(tree) == 3
    assert len(read_tree(Example("a b", heads=(2, 0)))) == 2
    with pytest.raises(InputError, match="has no tree"):
        read_tree(Example("a b"))
    with pytest.raises(InputError, match="'a b': character"):
        read_tree(Example("a b", tree="(1 a"))
