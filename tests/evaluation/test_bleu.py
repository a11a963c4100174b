"""BLEU: the worked example, the definition against sacreBLEU, and public system outputs with known scores."""

import gzip
import json
import math
import re

import pytest
from real_data import real

from langladder.evaluation.bleu import (
    BleuConfig,
    brevity_penalty,
    clipped_precision,
    clipping,
    corpus_bleu,
    score_translations,
    sentence_bleu,
)
from langladder.ground.errors import InputError

HYPOTHESIS = ["the", "cat", "the", "cat", "on", "the", "mat"]
REFERENCES = [["the", "cat", "is", "on", "the", "mat"], ["there", "is", "a", "cat", "on", "the", "mat"]]


def test_marks_that_separate_words_count_as_spaces() -> None:
    lines, references = ["ሰላም ለዓለም ሁሉ ነው ።"], [["ሰላም ለዓለም ሁሉ ሕዝብ ነው ።"]]
    marked, others = [lines[0].replace(" ", "፡")], [[references[0][0].replace(" ", "፡")]]
    spaced, result = score_translations(lines, references), score_translations(marked, others)
    assert (result.bleu, result.ter, result.chrf) == (spaced.bleu, spaced.ter, spaced.chrf) and 40 < result.bleu < 41
    assert corpus_bleu(marked, others) == corpus_bleu(lines, references) == spaced.bleu
    assert result.signature == f"{spaced.signature}|dividers:spaces" and result.exact_match == 0
    assert score_translations(marked, others, BleuConfig(tokenize="none")).bleu < 1


def test_golden_clipped_precisions() -> None:
    assert [clipped_precision(HYPOTHESIS, REFERENCES, n) for n in (1, 2, 3, 4)] == [(5, 7), (4, 6), (2, 5), (1, 4)]
    alone = [clipped_precision(HYPOTHESIS, REFERENCES[:1], n) for n in (1, 2, 3, 4)]
    assert alone == [(5, 7), (3, 6), (1, 5), (0, 4)]


def test_golden_clipping_shown_as_one_works_it_out() -> None:
    rows = clipping(HYPOTHESIS, REFERENCES, 2)
    assert [(" ".join(row.ngram), row.occurs, row.largest, row.clipped) for row in rows] == [
        ("the cat", 2, 1, 1),
        ("cat the", 1, 0, 0),
        ("cat on", 1, 1, 1),
        ("on the", 1, 1, 1),
        ("the mat", 1, 1, 1),
    ]
    assert clipping(["the"] * 7, REFERENCES, 1) == [(("the",), 7, 2)]
    assert clipping([], REFERENCES, 1) == []


def test_golden_clipping_stops_a_repeated_word() -> None:
    the = ["the"] * 7
    assert sum(word in REFERENCES[0] for word in the) / len(the) == 7 / 7  # plain precision is fooled
    assert clipped_precision(the, REFERENCES, 1) == (2, 7)


def test_golden_bleu_of_the_example() -> None:
    assert sentence_bleu(HYPOTHESIS, REFERENCES) == pytest.approx(0.46713798, abs=1e-8)
    assert sentence_bleu(HYPOTHESIS, REFERENCES, order=2) == pytest.approx(0.69006556, abs=1e-8)
    assert sentence_bleu(HYPOTHESIS, REFERENCES[:1]) == 0.0
    # one added to the counts of bigrams and longer: 5/7, 5/7, 3/6, 2/5
    assert sentence_bleu(HYPOTHESIS, REFERENCES, smoothed=True) == pytest.approx(0.5651887, abs=1e-7)
    assert (
        sentence_bleu(HYPOTHESIS, REFERENCES[:1], smoothed=True) > 0 == sentence_bleu(["x"], REFERENCES, smoothed=True)
    )
    assert sentence_bleu(REFERENCES[0], REFERENCES) == 1.0


def test_golden_brevity_penalty() -> None:
    assert brevity_penalty(8, 7) == 1
    assert brevity_penalty(7, 7) == 1
    assert brevity_penalty(5, 7) == pytest.approx(0.67032005, abs=1e-8)
    assert brevity_penalty(6, 12) == pytest.approx(0.36787944, abs=1e-8)
    assert brevity_penalty(0, 5) == 0


def test_parity_the_definition_equals_sacrebleu() -> None:
    score = score_translations(
        [" ".join(HYPOTHESIS)], [[" ".join(r) for r in REFERENCES]], BleuConfig(tokenize="none", bootstrap=0)
    )
    assert score.bleu == pytest.approx(46.713798, abs=1e-6)
    assert score.precisions == pytest.approx([5 / 7, 4 / 6, 2 / 5, 1 / 4])
    assert score.brevity_penalty == 1
    assert (score.hypothesis_length, score.reference_length) == (7, 7)
    assert score.bleu_low is score.bleu_high is None
    assert score.exact_match == 0


def test_parity_corpus_with_brevity_penalty() -> None:
    pairs = [("the cat sat on a mat", "the cat sat on the mat today"), ("a dog barks at night", "a dog barks at night")]
    score = score_translations([h for h, _ in pairs], [[r] for _, r in pairs], BleuConfig(tokenize="none"))
    logs = []
    for n in (1, 2, 3, 4):
        counts = [clipped_precision(h.split(), [r.split()], n) for h, r in pairs]
        logs.append(math.log(sum(m for m, _ in counts) / sum(t for _, t in counts)))
    assert score.bleu == pytest.approx(100 * brevity_penalty(11, 12) * math.exp(sum(logs) / 4))
    assert score.exact_match == 0.5
    assert score.bleu_low is not None
    assert score.bleu_high is not None
    assert score.bleu_low < score.bleu_high
    assert "tok:none" in score.signature
    assert "version:" in score.signature
    assert score.chrf_signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6")


def test_perfect_translation_scores_100_and_scores_repeat() -> None:
    lines = ["Le chat est sur le tapis.", "Il fait très beau aujourd'hui !"]
    score = score_translations(lines, [[line] for line in lines])
    assert score.bleu == pytest.approx(100)
    assert score.chrf == pytest.approx(100)
    assert score.exact_match == 1
    assert score == score_translations(lines, [[line] for line in lines])


@pytest.mark.parametrize(
    ("hypothesis", "edits"),
    [
        ("the cat sat on the mat", 0),
        ("the cat sat on a mat", 1),  # replaced
        ("the cat sat on the", 1),  # missing
        ("on the mat the cat sat", 1),  # one block moved
    ],
)
def test_golden_edits(hypothesis: str, edits: int) -> None:
    score = score_translations([hypothesis], [["the cat sat on the mat"]], BleuConfig(bootstrap=0))
    assert score.ter == pytest.approx(100 * edits / 6)
    assert score.ter_signature.startswith("nrefs:1|case:mixed|tok:tercom|norm:no")


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="2 translations, 1 sentences"):
        score_translations(["a", "b"], [["a"]])
    with pytest.raises(InputError, match="0 translations"):
        score_translations([], [])
    with pytest.raises(InputError, match="same number of references"):
        score_translations(["a", "b"], [["a"], ["a", "b"]])


def perl_words(line: str) -> str:
    """The line as the script that made the listed scores cuts it: only ASCII white space parts words."""
    return re.sub(r"[^\S \t\n\r\f\v]", "\ue000", line)


@pytest.mark.long
@pytest.mark.real
def test_parity_wmt17_outputs() -> None:
    folder = real("ref-bleu")
    systems = dict(json.loads(gzip.decompress((folder / "wmt17_en_de_systems.json.gz").read_bytes())))
    (reference,) = systems.pop("reference")
    lines = (folder / "multi_bleu_perl_scores.tsv").read_text().splitlines()
    listed = dict(line.split("\t") for line in lines if not line.startswith("#"))
    assert len(listed) == len(systems) == 16
    config = BleuConfig(tokenize="none", bootstrap=0)  # the listed scores are of whitespace tokens, cased
    reference = [perl_words(line) for line in reference]
    references = [[line] for line in reference]
    for key, text in listed.items():
        outputs = [perl_words(line) for line in systems[key]]
        numbers = [float(number) for number in re.findall(r"\d+\.?\d*", text)]
        assert corpus_bleu(outputs, references, config) == pytest.approx(numbers[0], abs=0.006)
        if not any(name in key for name in ("PROMT", "uedin", "C-3MA")):  # three suffice for what is slow
            continue
        # the definition, sentence after sentence, gives what is listed too: P_1 … P_4, BP, c and r
        pairs = [(h.split(), [r.split()]) for h, r in zip(outputs, reference, strict=True)]
        for n in (1, 2, 3, 4):
            matched, total = (sum(x) for x in zip(*(clipped_precision(h, r, n) for h, r in pairs), strict=True))
            assert 100 * matched / total == pytest.approx(numbers[n], abs=0.051)
        c, r = sum(len(h) for h, _ in pairs), sum(len(group[0]) for _, group in pairs)
        assert (c, r) == (numbers[7], numbers[8])
        assert brevity_penalty(c, r) == pytest.approx(numbers[5], abs=0.0006)
