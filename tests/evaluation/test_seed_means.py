"""The page of several seeds: means, intervals that cover them, what stays the first's; what ± covers in a table."""

from collections.abc import Iterator
from typing import get_args

import pytest
from pydantic import BaseModel
from scipy.stats import t

from langladder.evaluation.classifier import ClassifierPage, ClassifierScores
from langladder.evaluation.label_scores import LabelScores
from langladder.evaluation.language_model import LanguageModelPage
from langladder.evaluation.page import Interval, Page, declared
from langladder.evaluation.seeds import joined, uncertainty
from langladder.faces.report import paired as pairs
from langladder.faces.report.inputs import Entry
from langladder.faces.report.paired import paired
from langladder.faces.report.tables import ladder_rows, to_markdown
from langladder.families import families
from tests.faces.report.small_run_files import entry, language_model, report_of

T3 = 4.302653  # the 97.5 % quantile of Student's t with two degrees of freedom


def classifier(accuracy: float, half: float = 0.03, name: str = "textcnn") -> ClassifierPage:
    scores = ClassifierScores(
        accuracy=accuracy,
        accuracy_interval=(accuracy - half, accuracy + half),
        macro_f1=accuracy - 0.1,
        cross_entropy=0.5,
        calibration_error=0.02,
    )
    of_label = LabelScores(label="good", support=3, said=3, precision=accuracy, recall=1.0, f1=0.9)
    return ClassifierPage(
        name=name, parameters=100, texts=500, labels=["good"], scores=scores, bayes_accuracy=0.95, per_label=[of_label],
        right="1" * round(500 * accuracy) + "0" * round(500 * (1 - accuracy)),
    )  # fmt: skip


def test_a_page_alone_is_as_it_is() -> None:
    page = classifier(0.8)
    assert joined([page]) is page and page.seeds == 1 and page.spread == {}


def test_perplexity_by_position_is_a_mean_over_the_seeds() -> None:
    pages = [LanguageModelPage.model_validate(language_model("lstm", "LSTM", value, 9)) for value in (30.0, 34.0)]
    positions = joined(pages).scores.positions
    assert [item.perplexity for item in positions] == [
        33.0,
        32.0,
        31.0,
    ]  # 1 more, as many, 1 less than of the whole text
    assert [(item.first, item.last, item.words) for item in positions] == [
        (1, 1, 30_000),
        (2, 2, 30_000),
        (3, 4, 38_412),
    ]


def test_golden_means_and_intervals() -> None:
    """0.80, 0.83, 0.86: s = 0.03, e = 4.302653 · 0.03 / √3; the interval is of both, √(0.03² + e²)."""
    pages = [classifier(value) for value in (0.80, 0.83, 0.86)]
    result = joined(pages)
    e = T3 * 0.03 / 3**0.5
    assert result.seeds == 3 and result.scores.accuracy == pytest.approx(0.83)
    assert result.scores.macro_f1 == pytest.approx(0.73) and result.scores.cross_entropy == 0.5
    low, high = result.scores.accuracy_interval or (0, 0)
    assert high - 0.83 == pytest.approx((0.03**2 + e**2) ** 0.5, abs=1e-5) == 0.83 - low
    assert result.spread["accuracy"] == pytest.approx(e, abs=1e-5) and result.spread["cross_entropy"] == 0
    assert result.below_best == pytest.approx(0.12)
    assert (result.right, result.per_label, result.parameters) == (pages[0].right, pages[0].per_label, 100)
    assert "accuracy_interval" not in result.spread
    assert ClassifierPage.model_validate(result.model_dump(mode="json")) == result


def test_uncertainty_is_of_student() -> None:
    assert uncertainty([1.0]) == 0 and uncertainty([2.0, 2.0]) == 0
    assert uncertainty([1.0, 2.0, 4.0, 5.0]) == pytest.approx(t.ppf(0.975, 3) * (10 / 3) ** 0.5 / 2)


def test_figures_missing_for_some_seeds_are_those_of_the_first() -> None:
    pages = [classifier(0.8), classifier(0.9)]
    without = pages[1].model_copy(update={"scores": pages[1].scores.model_copy(update={"accuracy_interval": None})})
    result = joined([pages[0], without])
    assert result.scores.accuracy == pytest.approx(0.85)
    assert result.scores.accuracy_interval == pages[0].scores.accuracy_interval


def models(page: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A page and all that it is made of."""
    yield page
    for field in page.model_fields.values():
        inner = [field.annotation, *get_args(field.annotation)]
        inner += [deeper for item in inner for deeper in get_args(item)]
        for item in inner:
            if isinstance(item, type) and issubclass(item, BaseModel):
                yield from models(item)


@pytest.mark.parametrize("family", families())
def test_an_interval_stands_behind_its_figure(family: str) -> None:
    """The columns that identify a page when the figure is the mean of several seeds."""
    for model in models(families()[family].page()):
        before = ""
        for name, field in model.model_fields.items():
            kinds = get_args(field.annotation)
            if Interval in (field.annotation, *kinds) and not issubclass(model, Page) and name != "extent":
                stem = name.removesuffix("interval").rstrip("_")
                assert before and (not stem or before.startswith(stem)), (model, name, before)
            elif field.annotation is float or float in kinds:
                before = name


def table_of(*pages: Page, family: str = "classifier") -> str:
    rungs = [Entry(page) for page in pages]
    return to_markdown(ladder_rows(report_of(**{family: rungs})))


def test_a_table_says_what_its_intervals_cover() -> None:
    alone = table_of(classifier(0.8), classifier(0.9, name="rnn"))
    assert alone.startswith("**Classifiers** (±: 95 % interval over test texts)\n\n|")
    three = joined([classifier(value) for value in (0.80, 0.83, 0.86)])
    both = table_of(three, classifier(0.9, name="logistic"))
    assert "over test texts and, of rungs trained by gradient, 3 seeds" in both and "are means over the seeds" in both
    assert "| textcnn | 83.0 % | 8.0 |" in both  # half of √(0.03² + 0.0745²), as a column of its own
    assert "73.0 % ± 7.5 %" in both  # which has no interval over the texts
    assert "over test texts and 3 seeds" in table_of(three, three.model_copy(update={"name": "rnn"}))


def test_pairs_are_tested_by_the_first_training_and_the_report_says_so() -> None:
    pages = [classifier(value).model_copy(update={"right": "1" * 400 + "0" * 100}) for value in (0.8, 0.86)]
    other = classifier(0.9, name="logistic").model_copy(update={"right": "1" * 450 + "0" * 50})
    for first, tested in ((joined(pages), True), (pages[0], False)):
        result = paired([Entry(first), Entry(other)], lambda page: page.scores.accuracy)
        assert result and result.seeds is tested


def test_means_that_differ_by_less_than_their_seeds_vary_are_level() -> None:
    """The first trainings differ in 50 of 500 texts, McNemar's p is next to 0; the means of three decide."""
    other = classifier(0.75, name="logistic")
    for values, better in (((0.85, 0.80, 0.75), False), ((0.85, 0.84, 0.83), True)):
        rungs = [Entry(joined([classifier(value) for value in values])), Entry(other)]
        result = paired(rungs, lambda page: page.scores.accuracy)
        assert result and result.sentence.startswith("textcnn (80" if not better else "textcnn (84")
        assert ("is better than every other rung" in result.sentence) is better
        assert pairs.tested(rungs)["textcnn", "logistic"].p < 0.001
        assert (
            "not significantly different" in ladder_rows(report_of(classifier=rungs), steps=True)[0].steps
        ) is not better


def test_rungs_judged_by_items_say_which_figure_that_is() -> None:
    for family in families().values():
        page = family.page()
        by_items = page.item_scores is not Page.item_scores
        assert bool(page.item_figure) is by_items
        assert not by_items or page.item_figure in {metric.name for metric in declared(page)}


def test_figures_without_a_test_interval_have_that_of_the_seeds() -> None:
    pages = [entry("lm", language_model("gpt", "GPT", value, 1000)).page for value in (20.0, 21.0)]
    result = joined(pages)
    assert isinstance(result, LanguageModelPage) and result.scores.perplexity_per_word == 20.5
    e = t.ppf(0.975, 1) * 0.5
    assert f"20.50 ± {e:.2f}" in (text := table_of(result, family="lm"))
    assert "±: 95 % interval over 2 seeds;" in text and "test texts" not in text
    assert "±" not in table_of(pages[0], family="lm")


def test_every_declared_interval_is_known_as_one() -> None:
    titles = {
        item.metric.title: item.interval
        for family in families().values()
        for item in declared(family.page())
        if "±" in item.metric.title
    }
    assert len(titles) >= 4 and all(titles.values())
