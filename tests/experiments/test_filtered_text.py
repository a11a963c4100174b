"""The claim on filtered text: known damage, precision and recall of the filter, and verdicts by hand."""

import math
from collections import Counter
from typing import Any

import numpy as np

from claims.language import filtered_text
from claims.language.filtered_text import (
    ALONE,
    BOTH,
    CLEAN,
    KINDS,
    NEAR,
    QUALITY,
    RAW,
    FilteredTextConfig,
    Marked,
    filtered,
    noisy,
)
from langladder.experiments.findings import Findings
from langladder.text.clean.duplicates import DuplicatesConfig
from langladder.text.filtering.quality import QualitySettings
from tests.experiments.declared import comparison, findings_from

Documents = list[tuple[str, ...]]


def documents(count: int) -> Documents:
    """Each with words of its own, so that no two are alike."""
    return [tuple(f"the {number} house by line {line} stands in a row" for line in range(4)) for number in range(count)]


def configured(**quality: Any) -> FilteredTextConfig:
    """The claim's own settings, with another filter of quality."""
    update = {"quality": QualitySettings(**quality), "duplicates": DuplicatesConfig(near="documents")}
    config: FilteredTextConfig = comparison("filtered_text").config.model_copy(update=update)
    return config


def test_damage_is_as_it_is_marked() -> None:
    clean = documents(80)
    damaged = noisy(clean, 0.5, seed=1)
    assert Counter(item.kind for item in damaged) == {CLEAN: 40} | dict.fromkeys(KINDS, 10)
    assert damaged == noisy(clean, 0.5, seed=1) != noisy(clean, 0.5, seed=2)
    by_kind = {kind: [item for item in damaged if item.kind == kind] for kind in (CLEAN, *KINDS)}
    assert {item.lines for item in by_kind[CLEAN]} == set(clean[40:])
    words = {tuple(tuple(sorted(line.split())) for line in lines): lines for lines in clean}
    for item in by_kind["shuffled"]:
        same = words[tuple(tuple(sorted(line.split())) for line in item.lines)]
        assert item.lines != same
    assert all(len(item.lines) == 4 for item in damaged)
    assert not {character.lines for character in by_kind["characters"] + by_kind["foreign"]} & set(clean)
    shared = [sum(line in lines for line in item.lines for lines in clean[-4:]) for item in by_kind["boilerplate"]]
    assert shared == [3] * 10


def test_golden_precision_and_recall() -> None:
    """Of four clean and four foreign documents a filter leaves three and one: ¾ and ¾."""
    raw = [Marked((f"{kind} {number}",), kind) for kind in (CLEAN, "foreign") for number in range(4)]
    left = filtered_text.score_filter([*raw[:3], raw[4]], raw)
    assert (left.precision, left.recall) == (0.75, 0.75)
    assert left.stays == {CLEAN: 0.75, "foreign": 0.25, "shuffled": 0.0, "characters": 0.0, "boilerplate": 0.0}


def test_the_filters_find_what_they_are_for() -> None:
    clean = documents(240)
    config = configured(threshold=0.5, ngrams=2, features=2**14)
    raw = noisy(clean[:120], 0.5, seed=1)
    left = filtered(["\n".join(lines) for lines in clean[120:]], raw, config, seed=1)
    assert left[RAW].documents == raw and left["clean alone"].precision == 1.0
    assert left[QUALITY].stays["foreign"] == left[QUALITY].stays["characters"] == 0.0 and left[QUALITY].recall > 0.5
    assert min(left[BOTH].precision, left[QUALITY].precision) > left[RAW].precision
    assert len(left[BOTH].documents) <= len(left[QUALITY].documents)


def test_where_nothing_would_stay_the_best_document_does() -> None:
    clean = documents(60)
    config = configured(threshold=1.0, features=2**12)
    left = filtered(["\n".join(lines) for lines in clean[40:]], noisy(clean[:40], 0.5, seed=1), config, seed=1)
    assert len(left[QUALITY].documents) == len(left[BOTH].documents) == 1


def test_the_verdict_follows_the_numbers() -> None:
    names = (RAW, QUALITY, NEAR, BOTH, ALONE)

    def findings_of(*perplexities: float, apart: float = 0.001) -> Findings:
        cells = {
            name: {"loss": list(math.log(value) + apart * np.roll(range(-2, 3), round(value)))}
            for name, value in zip(names, perplexities, strict=True)
        }
        return findings_from("filtered_text", cells, {"loss": 6.0})

    assert findings_of(100, 50, 95, 49, 40).holds
    assert findings_of(100, 99, 90, 49, 40).holds is False  # near-duplicates gain more
    assert findings_of(100, 50, 95, 101, 40).holds is False
    assert findings_of(100, 50, 95, 49, 40, apart=1.0).holds is None  # within the spread of the seeds
    assert findings_of(900, 800, 850, 700, 600).holds is None  # nothing was learnt
    assert f"{math.log(50):.3f} (quality)" in findings_of(100, 50, 95, 49, 40).verdict
