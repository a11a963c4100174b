"""Tables of predictions: their rows, the round trip, and the comparison of two by hand."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from scipy.stats import binomtest
from stated_answers import Says

from langladder.evaluation.classifier import evaluate_classifier
from langladder.evaluation.perplexity import LineLoss, score
from langladder.evaluation.predictions import Prediction, compare, read_predictions, write_predictions
from langladder.evaluation.tagger import evaluate_tagger
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.counted_classifier import CountedClassifier
from langladder.models.classification.fasttext import FastText
from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.language.language_model import LanguageModel
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.hmm import HMM
from langladder.text.labelled.labelled import Example, Tagged
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, PAD, UNK
from langladder.text.words.segmentation import splitter_of

HOSTILE = ['a "quoted"; text, with\tall', "two\nlines", "", "=1+1", "日本語"]


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_table_comes_back(ending: str, tmp_path: Path) -> None:
    rows = [
        Prediction(0, text, "yes", "no", right=False, probability=0.25, loss=math.inf, unknown="x y")
        for text in HOSTILE
    ]
    rows.append(Prediction(7, "a", "b", "c", score=0.5, context="d", id="r7"))
    write_predictions(tmp_path / f"v2.1{ending}", rows)
    assert [file.name for file in tmp_path.iterdir()] == [f"v2.1{ending}"]
    assert read_predictions(tmp_path / f"v2.1{ending}") == rows


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,label\na,b\n")
    with pytest.raises(InputError, match="columns are text, label, not item"):
        read_predictions(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text(f"{','.join(Prediction._fields)}\none,a,b,c,,,,,,,\n")
    with pytest.raises(InputError, match="no table of predictions"):
        read_predictions(tmp_path / "x.csv")


def test_rows_of_a_classifier_are_those_of_its_page() -> None:
    test = [Example(f"{n} new word", label=label, id=f"r{n}") for n, label in enumerate("aab")]
    table: list[Prediction] = []
    model = Says([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], "ab")
    page = evaluate_classifier(model, test, name="x", known={"0", "1", "2", "word"}, table=table)
    assert [item.prediction for item in table] == ["a", "b", "a"] and [item.item for item in table] == [0, 1, 2]
    assert [item.id for item in table] == ["r0", "r1", "r2"]
    assert "".join("01"[bool(item.right)] for item in table) == page.right
    assert [item.probability for item in table] == [0.9, 0.8, 0.6] and {item.unknown for item in table} == {"new"}
    assert np.mean([item.loss for item in table]) == pytest.approx(page.scores.cross_entropy, abs=1e-6)


RAW = [Example("A film, dull.", label="a"), Example("Good film.", label="b"), Example("Disappointed!", label="a")]


@pytest.mark.parametrize(("kind", "unknown"), [(LinearClassifier, "zebra"), (FastText, "zebra"), (None, "Film Zebra")])
def test_unknown_words_of_raw_text_are_those_that_the_classifier_has_not_read(
    kind: type[CountedClassifier] | None, unknown: str
) -> None:
    test = [Example('0 "Film" disappointed. Good Zebra!', label="b")]
    model: Classifier = Says([[0.4, 0.6]], "ab")
    if kind is not None:
        model = kind(kind.Config(), ["a", "b"])
        model.fit(RAW, RAW)
    split = splitter_of("apart")  # for a model that reads no words: as the text's conventions cut it
    known = {word for item in [*RAW, Example('0 "disappointed', label="b")] for word in model.words(item, split)}
    table: list[Prediction] = []
    evaluate_classifier(model, test, name="x", known=known, split=split, table=table)
    assert table[0].unknown == unknown


def test_words_of_trees_are_their_leaves() -> None:
    model = LinearClassifier(LinearClassifier.Config(), ["a", "b"])
    model.fit(RAW, RAW)
    tree = Example("it 's Dull.", label="a", tree="(a it 's Dull.)")
    assert model.words(tree, str.split) == ["it", "'s", "dull."]
    assert model.words(Example("Dull.", "Bad."), str.split) == ["dull", ".", "bad", "."]


def test_rows_of_a_tagger_are_its_words() -> None:
    train = [Tagged(("the", "dog", "sleeps"), ("D", "N", "V")), Tagged(("a", "cat"), ("D", "N"))]
    tagger = HMM(HMM.Config(), ["D", "N", "V"])
    tagger.fit(train, tag_ids(train, tagger.tags))
    test = [Tagged(("the", "bird"), ("D", "V"), id="a.conll:1"), Tagged(("a", "dog", "sleeps"), ("D", "N", "V"))]
    known = {word for item in train for word in item.words}
    table: list[Prediction] = []
    page = evaluate_tagger(tagger, test, known=known, name="hmm", table=table)
    assert [(item.item, item.text, item.truth) for item in table] == [
        (item, word, tag)
        for item, entry in enumerate(test)
        for word, tag in zip(entry.words, entry.tags or (), strict=True)
    ]
    assert [item.unknown for item in table] == ["", "bird", "", "", ""]
    assert [item.id for item in table] == ["a.conll:1", "a.conll:1", "", "", ""]
    assert sum(bool(item.right) for item in table) == sum(page.right)
    assert np.mean([item.loss for item in table]) == pytest.approx(page.scores.cross_entropy, abs=1e-5)


class Falling(LanguageModel):
    """−log P of each token is its id."""

    def __init__(self) -> None:
        self.vocab_size = 20

    def log_probs(self, tokens: torch.Tensor) -> torch.Tensor:
        scored = (tokens != BOS) & (tokens != PAD)
        return -tokens.float() * scored

    def next_log_probs(self, prefix: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def number_of_parameters(self) -> int:
        return 0

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def test_lines_of_a_text_come_in_its_order_with_their_losses() -> None:
    """Documents are scored by length, the longest first, in batches; the lines are those of the text all the same."""
    documents = [[BOS, 4, EOS], [BOS, 5, UNK, EOS, BOS, 6, 7, 8, EOS], [], [BOS, 9, EOS, BOS, EOS]]
    ids = np.array([item for document in documents for item in document], dtype=np.int32)
    text = TokenStream(ids, np.cumsum([0, *map(len, documents)]))
    for batch_tokens in (4, 1000):
        lines: list[LineLoss] = []
        result = score(Falling(), text, words=9, characters=9, bytes=9, batch_tokens=batch_tokens, lines=lines)
        assert [line.ids.tolist() for line in lines] == [[4], [5, UNK], [6, 7, 8], [9], []]
        assert [line.loss for line in lines] == [4 + EOS, 5 + UNK + EOS, 21 + EOS, 9 + EOS, EOS]
        assert sum(line.loss for line in lines) == pytest.approx(result.nll_nats)


def rows(rights: str, items: Sequence[int] | None = None) -> list[Prediction]:
    return [
        Prediction(number if items is None else items[number], f"t{number}", "x", right, right=right == "1")
        for number, right in enumerate(rights)
    ]


def test_golden_comparison_by_right_and_wrong() -> None:
    result = compare(rows("1111100000"), rows("1100010000"), ("a", "b"))
    assert (result.both, result.first_only, result.second_only, result.neither) == (2, 3, 1, 4)
    assert result.means == (0.5, 0.3) and result.measure == "share right"
    assert result.test == "McNemar's exact test" and result.p == pytest.approx(binomtest(1, 4).pvalue)
    assert [(difference.first.text, difference.better) for difference in result.differences] == [
        ("t2", 0),
        ("t3", 0),
        ("t4", 0),
        ("t5", 1),
    ]


def test_words_of_one_sentence_are_no_items_of_their_own() -> None:
    """Eight sentences of five words: in five of them one model has all words right, in three the other."""
    first, second = "1" * 25 + "0" * 15, "0" * 25 + "1" * 15
    alone, by_sentence = (compare(rows(first, items), rows(second, items), ("a", "b")) for items in (None, SENTENCES))
    assert alone.test == "McNemar's exact test" and by_sentence.test == "paired randomisation test over items"
    assert (alone.items, by_sentence.items, by_sentence.rows) == (40, 8, 40) and by_sentence.first_only == 25
    assert alone.p < 0.2 < 0.4 < by_sentence.p
    assert compare(rows("11", [0, 0]), rows("00", [0, 0]), ("a", "b")).p == 1.0


SENTENCES = [number // 5 for number in range(40)]


def test_lines_are_compared_by_their_losses() -> None:
    first = [Prediction(n, f"t{n}", "", "", loss=loss) for n, loss in enumerate([1.0, 2.0, 3.0])]
    second = [item._replace(loss=loss) for item, loss in zip(first, [2.0, 2.0, 1.0], strict=True)]
    result = compare(first, second, ("a", "b"))
    assert result.measure == "loss, nats" and list(result.means) == pytest.approx([2.0, 5 / 3])
    assert (result.first_only, result.second_only) == (1, 1)
    assert [(difference.first.text, difference.better) for difference in result.differences] == [("t2", 1), ("t0", 0)]


def test_other_items_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"a and b do not have the same test items: item 0 is 't0' in the first and 'u'"
    ):
        compare(rows("1"), [rows("1")[0]._replace(text="u")], ("a", "b"))
    with pytest.raises(InputError, match="a has 2 rows, b 1"):
        compare(rows("11"), rows("1"), ("a", "b"))
    with pytest.raises(InputError, match="b: no predictions"):
        compare(rows("11"), [], ("a", "b"))


def test_a_table_of_an_earlier_version_says_how_to_make_it_again(tmp_path: Path) -> None:
    write_predictions(tmp_path / "a.parquet", [Prediction(0, "a", "x", "x", True)])
    old = pq.read_table(tmp_path / "a.parquet").drop_columns(["id"])
    pq.write_table(old, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"has no column 'id'; .*evaluate the rung again"):
        read_predictions(tmp_path / "a.parquet")
