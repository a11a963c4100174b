"""The filter of raw text: the Pareto rule, duplicates, test sets' n-grams, mixtures; what it reports and refuses."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError
from scipy.stats import kstest, lomax

from langladder.ground.errors import InputError
from langladder.text.clean.splitting import hash_fraction
from langladder.text.filtering.contamination import (
    ContaminationReport,
    ContaminationSettings,
    HeldOutNGrams,
    contamination_report,
    normalize,
    remove_contaminated,
)
from langladder.text.filtering.filtering import Corpus, FilterConfig, FilterReport, epochs, filter_text, mixed, shares
from langladder.text.filtering.quality import QualityModel, QualitySettings, keep_probability, pareto, sample_halves
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.storage import shards, tables
from langladder.text.storage.tables import Document, read_documents, write_documents

GOOD_TEXT = "the king rules a quiet land where every farmer sells bread wine and honey to friends of old"
BAD_TEXT = "click buy cheap pills free bonus login casino win cash offer now subscribe deal spam ads"
GOOD, BAD = GOOD_TEXT.split(), BAD_TEXT.split()


def texts(words: list[str], count: int, seed: int, length: int = 12) -> list[str]:
    random = Random(seed)
    return [" ".join(random.choices(words, k=length)) for _ in range(count)]


def documents(lines: Iterable[str]) -> list[Document]:
    return [Document([line], [-1.5]) for line in lines]


def raw(folder: Path, **splits: list[Document]) -> Path:
    for split, result in splits.items():
        write_documents(folder / split, result)
    return folder


def lines_of(path: Path) -> list[str]:
    return [line for document in read_documents(path) for line in document.lines]


def run(tmp_path: Path, settings: dict[str, Any], **splits: list[Document]) -> tuple[FilterReport, Path]:
    out = tmp_path / "filtered"
    config = FilterConfig.model_validate(settings)
    report = filter_text(raw(tmp_path / "raw", **splits), out, config, seed=1)
    assert json.loads((out / "filter.json").read_text()) == json.loads(json.dumps(report)) == report
    assert {file.name for file in out.iterdir()} == {"filter.json", *splits}
    return report, out


def written(path: Path, lines: Iterable[str]) -> dict[str, Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return {"path": str(path)}


def test_golden_pareto_rule() -> None:
    """P(X > x) = (1 + x)^−9 of NumPy's Pareto (Lomax): at the scores 1, 0.9, 0.5 and 0."""
    assert [keep_probability(score, 9.0) for score in (1.0, 0.9, 0.5, 0.0)] == pytest.approx(
        [1.0, 0.424098, 0.026012, 0.001953], abs=1e-6
    )
    # 1 − F(x) = (1 + x)^−9 = ½ at x = 2^(1/9) − 1
    assert pareto(0.5, 9.0) == pytest.approx(0.080060, abs=1e-6) and pareto(0.0, 9.0) == 0.0


def test_golden_draws_are_paretos_and_do_not_go_with_the_splits() -> None:
    draws = [pareto(hash_fraction(["quality", text], 1), 9.0) for text in texts(GOOD, 4000, 0)]
    assert kstest(draws, lomax(9).cdf).pvalue > 0.01
    assert kstest(draws, np.random.default_rng(0).pareto(9.0, 4000)).pvalue > 0.01
    fractions = [hash_fraction([text], 1) for text in texts(GOOD, 4000, 0)]
    assert abs(np.corrcoef(np.argsort(np.argsort(draws)), np.argsort(np.argsort(fractions)))[0, 1]) < 0.05


def test_golden_shares_of_documents_that_stay() -> None:
    model = QualityModel(QualitySettings(), seed=3)
    for score in (0.5, 0.9):
        kept = sum(model.keeps(text, score) for text in texts(GOOD, 6000, 1))
        assert kept / 6000 == pytest.approx(keep_probability(score, 9.0), abs=0.02)
    assert all(model.keeps(text, 1.0) for text in texts(GOOD, 50, 1))


def test_golden_epochs_of_gpt3() -> None:
    """Table 2.2, in billions of tokens; the paper's weights are rounded, so are the epochs that follow."""
    sizes = {"crawl": (410, 60), "webtext2": (19, 22), "books1": (12, 8), "books2": (55, 8), "wikipedia": (3, 3)}
    corpora = {name: Corpus(lambda: iter(()), words, weight) for name, (words, weight) in sizes.items()}
    result = epochs(corpora, 300)
    assert sum(shares({name: corpus.weight for name, corpus in corpora.items()}).values()) == pytest.approx(1)
    # the weights add up to 101 %: 60 / 101 · 300 / 410 = 0.435, the paper says 0.44
    expected = {"crawl": 0.435, "webtext2": 3.439, "books1": 1.980, "books2": 0.432, "wikipedia": 2.970}
    assert result == pytest.approx(expected, abs=1e-3)


def test_the_quality_model_tells_bad_from_good_and_no_order_matters() -> None:
    good, bad = texts(GOOD, 300, 1), texts(BAD, 300, 2)
    pool = [*texts(GOOD, 60, 3), *bad]
    reports, scores = [], []
    for order in (pool, pool[::-1]):
        model = QualityModel(QualitySettings(features=2**12), seed=1)
        reports.append(model.fit(good, order))
        scores.append(model.scores(pool))
    assert np.array_equal(scores[0], scores[1]) and reports[0].area == reports[1].area > 0.8
    assert scores[0][:60].min() > scores[0][60:].max()
    assert all(0 < score < 1 for score in scores[0])


def test_a_higher_weight_of_good_text_scores_higher() -> None:
    good, pool = texts(GOOD, 100, 1), [*texts(GOOD, 50, 3), *texts(BAD, 50, 2)]
    means = []
    for weight in (1.0, 10.0):
        model = QualityModel(QualitySettings(features=2**12, good_weight=weight), seed=1)
        model.fit(good, pool)
        means.append(model.scores(pool).mean())
    assert means[1] > means[0]


def test_numbers_of_documents_do_not_matter_and_unlike_lengths_are_warned_of() -> None:
    bad = texts(BAD, 400, 2)
    for many in (100, 400):
        model = QualityModel(QualitySettings(features=2**12), seed=1)
        report = model.fit(texts(GOOD, many, 1), [*texts(GOOD, 400, 3), *bad])
        # half of the raw text is as the good: P(good) = 1 / (1 + 1/2) there
        assert model.scores(texts(GOOD, 100, 4)).mean() == pytest.approx(2 / 3, abs=0.1) and not report.warnings
    report = QualityModel(QualitySettings(features=2**12), seed=1).fit(texts(GOOD, 50, 1, length=60), bad)
    (warning,) = report.warnings
    assert "60 words of good text and 12 of raw text" in warning


def test_characters_show_noise_that_single_words_do_not() -> None:
    def noisy(text: str, seed: int) -> str:
        random = Random(f"{seed} {text}")
        return " ".join("".join(random.sample(word, len(word))) for word in text.split())

    good, clean = texts(GOOD, 200, 1), texts(GOOD, 50, 2)
    noise = [noisy(text, 1) for text in texts(GOOD, 200, 3)]
    model = QualityModel(QualitySettings(unit="characters", ngrams=3, features=2**14), seed=1)
    model.fit(good, [*clean, *noise])
    assert np.median(model.scores(clean)) > np.median(model.scores(noise)) + 0.3


def test_a_sample_is_the_same_in_every_order() -> None:
    fractions = {f"text {number}": hash_fraction(["sample", f"text {number}"], 1) for number in range(50)}
    result, reverse = (sample_halves(order, 7, 1) for order in (list(fractions), list(fractions)[::-1]))
    assert result == reverse and all(half == sorted(half, key=fractions.__getitem__) for half in result)
    item, two = sample_halves(fractions, 50, 1)
    assert {*item} | {*two} == {*fractions} and not {*item} & {*two}
    assert result == [item[:7], two[:7]]


class Searched:
    """Documents that were searched for the n-grams of one test set."""

    def __init__(self, settings: dict[str, Any], lines: list[str], result: list[Document]) -> None:
        self.settings = ContaminationSettings.model_validate(settings)
        self.held_out, self.common = HeldOutNGrams(self.settings.ngram_words), Counter[str]()
        self.held_out.add_set("set", lines, self.settings.min_words)
        self.counts = self.held_out.count_documents(result)

    def clean(self, result: list[Document]) -> list[tuple[Document | None, list[str]]]:
        return remove_contaminated(result, self.held_out, self.counts, self.settings, self.common)

    def report(self) -> ContaminationReport:
        return contamination_report(self.held_out, self.counts, self.settings, self.common)


def test_golden_ngrams_are_removed_by_line_and_by_document() -> None:
    """n = 3: of the set's line `a b c d` the n-grams are `a b c` and `b c d`."""
    text = Document(["x y z", "w B, c D. v", "a b d c"], [-1.0, -2.0, None])
    by_line = Searched({"ngram_words": 3, "min_words": 1}, ["A b c d!"], [text])
    assert by_line.clean([text]) == [(Document(["x y z", "a b d c"], [-1.0, None]), ["w B, c D. v"])]
    whole = Searched({"ngram_words": 3, "remove": "documents"}, ["a b c d"], [text])
    assert whole.clean([text]) == [(None, ["w B, c D. v"])]
    report = by_line.report()
    assert report["sets"] == {"set": {"lines": 1, "lines_copied": 1, "ngrams": 2}}
    assert report["ngrams_in_the_text"] == 1 and report["ngrams_too_common"] == 0


def test_golden_ngrams_of_more_than_k_documents_are_left_alone() -> None:
    """`a b c` stands in three documents (twice in one of them), `b c d` in two: k = 2 keeps the former."""
    result = documents(["a b c a b c", "a b c d", "z a b c d"])
    contamination = Searched({"ngram_words": 3, "max_documents": 2}, ["a b c d"], result)
    cleaned = [document for document, _ in contamination.clean(result)]
    assert cleaned == [result[0], None, None]
    report = contamination.report()
    assert report["ngrams_too_common"] == 1 and "a b c a b c" in report["too_common_in"]


def test_a_document_that_would_lose_too_many_lines_goes_whole() -> None:
    text = Document(["a b c", "a b c x", "keep this line"], [None] * 3)
    for most, left in ((2, ["keep this line"]), (1, None)):
        contamination = Searched({"ngram_words": 3, "max_lines": most, "min_words": 3}, ["a b c"], [text])
        ((document, _),) = contamination.clean([text])
        assert (document and document.lines) == left


def test_short_lines_of_a_set_are_looked_for_whole_and_shorter_ones_not() -> None:
    result = documents(["Rain falls again today.", "rain falls again today and tomorrow", "yes yes"])
    contamination = Searched({"min_words": 4}, ["rain falls again today", "yes yes"], result)
    assert [document for document, _ in contamination.clean(result)] == [None, *result[1:]]
    assert normalize("“Don't”, he — said!") == "dont he said"
    assert normalize("ሰላም፡ለዓለም፡፡") == "ሰላም ለዓለም"


def test_golden_mixture_takes_its_epochs_evenly() -> None:
    """Ten words of `small` and forty of `large`, half of the mixture each: 2.5 epochs and 0.625."""
    small, large = documents(texts(GOOD, 10, 1, 10)), documents(texts(BAD, 40, 2, 10))
    corpora = {"small": Corpus(lambda: iter(small), 100, 1.0), "large": Corpus(lambda: iter(large), 400, 1.0)}
    times = epochs(corpora)
    assert times == {"small": 2.5, "large": 0.625}
    result = list(mixed(corpora, times, seed=1))
    assert result == list(mixed(corpora, times, seed=1)) != list(mixed(corpora, times, seed=2))
    often = Counter(document.text for name, document in result if name == "small")
    assert set(often.values()) <= {2, 3} and len(often) == 10
    drawn = [document for name, document in result if name == "large"]
    assert len({document.text for document in drawn}) == len(drawn) and 15 <= len(drawn) <= 35
    first_half = [name for name, _ in result[: len(result) // 2]]
    assert 0.3 < first_half.count("small") / len(first_half) < 0.7  # interleaved, not one after the other


def test_each_part_alone_and_what_the_report_says(tmp_path: Path) -> None:
    clean, bad = texts(GOOD, 40, 1), texts(BAD, 200, 2)
    good = written(tmp_path / "good" / "a.txt", texts(GOOD, 200, 3))
    settings: dict[str, Any] = {"quality": {"good": good, "threshold": 0.5, "features": 4096}}
    report, out = run(tmp_path / "quality", settings, all=documents([*clean, *bad]))
    assert lines_of(out / "all") == clean
    assert report["went"]["low_quality_document"]["count"] == 200
    assert len(report["went"]["low_quality_document"]["examples"]) == 3
    assert report["size"]["read"]["documents"] == 240 and report["size"]["left"]["words"] == 40 * 12
    assert report["quality"]["area_under_roc_curve"] > 0.8 and not report["repeats_documents"]

    near = [clean[0], clean[0] + " again", clean[0], *clean[1:]]
    long = [" ".join([text, *GOOD, *BAD]) for text in near]
    report, out = run(tmp_path / "near", {"duplicates": {"near": "documents"}}, all=documents(long))
    kinds = {reason: item["count"] for reason, item in report["went"].items()}
    assert kinds["duplicate_document"] == 1 and kinds["near_duplicate_document"] >= 1
    assert lines_of(out / "all")[0] == long[0]

    sets = {"own": written(tmp_path / "held" / "t.txt", clean[:5])}
    report, out = run(tmp_path / "contaminated", {"contamination": {"sets": sets}}, all=documents(clean))
    assert lines_of(out / "all") == clean[5:]
    assert report["contamination"]["sets"]["own"] == {"lines": 5, "lines_copied": 5, "ngrams": 5}

    others = {"books": {**good, "weight": 3.0}}
    report, out = run(tmp_path / "mixed", {"mixture": {"weight": 1.0, "others": others}}, all=documents(clean))
    assert report["mixture"]["books"]["epochs"] == 0.9 and report["mixture"]["text"]["epochs"] == 1.5
    assert report["mixture"]["text"]["weight"] == 0.25 and report["repeats_documents"]


def everything(tmp_path: Path) -> dict[str, Any]:
    good = written(tmp_path / "good" / "a.txt", texts(GOOD, 100, 3))
    sets = {"own": written(tmp_path / "held" / "t.txt", texts(GOOD, 30, 1)[:5])}
    mixture = {"weight": 1.0, "others": {"books": {**good, "weight": 1.0}}}
    quality = {"good": good, "features": 4096, "good_weight": 20.0}
    return {
        "quality": quality,
        "duplicates": {"near": "documents"},
        "contamination": {"sets": sets},
        "mixture": mixture,
    }


def test_all_parts_together_leave_held_out_tables_alone_and_give_the_same_bytes(tmp_path: Path) -> None:
    train = documents([*texts(GOOD, 30, 1), *texts(BAD, 60, 2)])
    splits = {"train": train, "validation": documents(texts(BAD, 3, 8)), "test": documents(texts(GOOD, 30, 1)[:5])}
    settings = everything(tmp_path)
    outs = [run(tmp_path / name, settings, **splits)[1] for name in ("one", "two")]
    for split in splits:
        item, two = (sorted((out / split).iterdir()) for out in outs)
        assert [file.read_bytes() for file in item] == [file.read_bytes() for file in two]
    assert lines_of(outs[0] / "test") == lines_of(tmp_path / "one" / "raw" / "test")
    trained = lines_of(outs[0] / "train")
    assert not {*trained} & {*lines_of(outs[0] / "test")}
    assert {*texts(GOOD, 100, 3)} & {*trained} and {*texts(GOOD, 30, 1)} & {*trained}
    known = tables.read_table(outs[0] / "train", shards.TEXT).column("log_prob").to_pylist()
    assert {-1.5, None} == {*known}  # of the text itself the exact probabilities stay


def test_labelled_texts_and_tagged_sentences_are_test_sets(tmp_path: Path) -> None:
    clean = texts(GOOD, 20, 1)
    pair = {name: [None] for name in LABELLED.names} | {"text": [clean[0]], "second": [clean[1]], "label": ["a"]}
    tables.write_table(tmp_path / "labels.parquet", pa.table(pair, schema=LABELLED))
    tagged = {name: [None] for name in TAGGED.names} | {"words": [clean[2].split()]}
    tables.write_table(tmp_path / "tags.parquet", pa.table(tagged, schema=TAGGED))
    sets = {name: {"path": str(tmp_path / f"{name}.parquet")} for name in ("labels", "tags")}
    _, out = run(tmp_path, {"contamination": {"sets": sets, "ngram_words": 8}}, all=documents(clean))
    assert lines_of(out / "all") == clean[3:]


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"quality": {"good": {"path": "nowhere"}}}, ["filter.quality.good", "nowhere", "conf/filter/"]),
        ({"contamination": {"sets": {"own": {"path": "nowhere"}}}}, ["filter.contamination.sets.own", "nowhere"]),
        ({"mixture": {"weight": 1.0, "others": {"b": {"path": "gone", "weight": 1.0}}}}, ["filter.mixture.others.b"]),
        ({"quality": {"good": {"path": "FILE"}}}, ["one half of the good documents", "too few"]),
        ({"quality": {"good": {"path": "FOLDER", "files": {"train": "*"}}}}, ["quality.good.files", "one glob"]),
        ({"contamination": {"sets": {"own": {"path": "FOLDER"}}}}, ["filtering leaves nothing", "contaminated"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_refused_and_nothing_half_written(settings: dict[str, Any], parts: list[str], tmp_path: Path) -> None:
    written(tmp_path / "folder" / "one.txt", texts(GOOD, 3, 1))
    written(tmp_path / "file.txt", ["only one"])
    text = json.dumps(settings).replace("FOLDER", str(tmp_path / "folder")).replace("FILE", str(tmp_path / "file.txt"))
    source = raw(tmp_path / "raw", all=documents(texts(GOOD, 3, 1)))
    with pytest.raises(InputError) as error:
        filter_text(source, tmp_path / "out", FilterConfig.model_validate(json.loads(text)), seed=1)
    assert all(part in str(error.value) for part in parts), error.value
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.txt", "folder", "raw"]


@pytest.mark.parametrize(
    "settings",
    [
        {"quality": {"good": {"path": "x"}, "alpha": 0.0}},
        {"quality": {"good": {"path": "x"}, "threshold": 1.5}},
        {"quality": {"alpha": 9.0}},
        {"contamination": {"sets": {}}},
        {"mixture": {"weight": 1.0, "others": {"text": {"path": "x", "weight": 1.0}}}},
        {"mixture": {"weight": 1.0, "others": {"a": {"path": "x", "weight": -1.0}}}},
        {"duplicates": {"near_threshold": 1.0}},
        {"other": 1},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FilterConfig.model_validate(settings)
