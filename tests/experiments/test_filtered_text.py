"""The claim on filtered text: known damage, what of it the filter finds, and a verdict that follows the numbers."""

import math
from collections import Counter

import numpy as np

from langladder.experiments.findings import Findings
from langladder.experiments.language import filtered_text
from langladder.experiments.language.filtered_text import (
    BOTH,
    CLEAN,
    KINDS,
    NEAR,
    QUALITY,
    RAW,
    FilteredTextConfig,
    Left,
    Marked,
    filtered,
    findings,
    noisy,
)
from langladder.text.filtering.quality import QualitySettings

Documents = list[tuple[str, ...]]


def documents(count: int) -> Documents:
    """Each with words of its own, so that no two are alike."""
    return [tuple(f"the {number} house by line {line} stands in a row" for line in range(4)) for number in range(count)]


def test_damage_is_as_it_is_marked() -> None:
    clean = documents(80)
    found = noisy(clean, 0.5, seed=1)
    assert Counter(one.kind for one in found) == {CLEAN: 40} | dict.fromkeys(KINDS, 10)
    assert found == noisy(clean, 0.5, seed=1) != noisy(clean, 0.5, seed=2)
    by_kind = {kind: [one for one in found if one.kind == kind] for kind in (CLEAN, *KINDS)}
    assert {one.lines for one in by_kind[CLEAN]} == set(clean[40:])
    words = {tuple(tuple(sorted(line.split())) for line in lines): lines for lines in clean}
    for one in by_kind["shuffled"]:
        same = words[tuple(tuple(sorted(line.split())) for line in one.lines)]
        assert one.lines != same
    assert all(len(one.lines) == 4 for one in found)
    assert not {one.lines for one in by_kind["characters"] + by_kind["foreign"]} & set(clean)
    shared = [sum(line in lines for line in one.lines for lines in clean[-4:]) for one in by_kind["boilerplate"]]
    assert shared == [3] * 10


def test_golden_precision_and_recall() -> None:
    """Of four clean and four foreign documents a filter leaves three and one: ¾ and ¾."""
    raw = [Marked((f"{kind} {number}",), kind) for kind in (CLEAN, "foreign") for number in range(4)]
    left = filtered_text.score_filter([*raw[:3], raw[4]], raw)
    assert (left.precision, left.recall) == (0.75, 0.75)
    assert left.stays == {CLEAN: 0.75, "foreign": 0.25, "shuffled": 0.0, "characters": 0.0, "boilerplate": 0.0}


def test_the_filters_find_what_they_are_for() -> None:
    clean = documents(240)
    config = FilteredTextConfig(quality=QualitySettings(threshold=0.5, ngrams=2, features=2**14))
    raw = noisy(clean[:120], 0.5, seed=1)
    left = filtered(["\n".join(lines) for lines in clean[120:]], raw, config, seed=1)
    assert left[RAW].documents == raw and left["clean alone"].precision == 1.0
    assert left[QUALITY].stays["foreign"] == left[QUALITY].stays["characters"] == 0.0 and left[QUALITY].recall > 0.5
    assert min(left[BOTH].precision, left[QUALITY].precision) > left[RAW].precision
    assert len(left[BOTH].documents) <= len(left[QUALITY].documents)


def test_where_nothing_would_stay_the_best_document_does() -> None:
    clean = documents(60)
    config = FilteredTextConfig(quality=QualitySettings(threshold=1.0, features=2**12))
    left = filtered(["\n".join(lines) for lines in clean[40:]], noisy(clean[:40], 0.5, seed=1), config, seed=1)
    assert len(left[QUALITY].documents) == len(left[BOTH].documents) == 1


def test_the_verdict_follows_the_numbers() -> None:
    one = Left([Marked(("a",), CLEAN)], dict.fromkeys((CLEAN, *KINDS), 0.5), 0.8, 0.5)
    names = (RAW, QUALITY, NEAR, BOTH, "clean alone")

    def told(*perplexities: float, apart: float = 0.001) -> Findings:
        losses = {
            name: list(math.log(value) + apart * np.roll(range(-2, 3), round(value)))
            for name, value in zip(names, perplexities, strict=True)
        }
        return findings(dict.fromkeys(names, one), losses, 1000, 6.0, 0.01)

    assert told(100, 50, 95, 49, 40).holds
    assert told(100, 99, 90, 49, 40).holds is False  # near-duplicates gain more
    assert told(100, 50, 95, 101, 40).holds is False
    assert told(100, 50, 95, 49, 40, apart=1.0).holds is None  # within the spread of the seeds
    verdict = told(100, 50, 95, 49, 40).verdict
    assert "quality 50.0" in verdict and "80% is clean" in verdict and "50% stay" in verdict
