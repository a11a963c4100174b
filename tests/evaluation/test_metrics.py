"""A metric that is declared at one field of a page is a column, a row of the card and a figure of the run."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import Field

from langladder.embeddings.base import WordVectors
from langladder.evaluation.classifier import ClassifierPage, ClassifierScores
from langladder.evaluation.language_model import LanguageModelPage
from langladder.evaluation.page import LOGGED, Interval, Measured, Metric, Metrics, Page, declared, figures, titles
from langladder.faces.report.inputs import Entry, Meta, ReportInputs, Timing
from langladder.faces.report.section import page_columns
from langladder.faces.report.tables import ladder_rows, to_markdown
from langladder.families import families
from langladder.formats.model_card import model_card


class Scores(ClassifierScores):
    """Those of a classifier, and one more."""

    speed: Annotated[float, Metric("texts per second", "how many texts it labels in a second", digits=1, brief=True)]


class FasterPage(ClassifierPage):
    """A page with one more metric."""

    scores: Annotated[Scores, Metrics()]


def page(name: str, speed: float) -> FasterPage:
    scores = {"accuracy": 0.5, "accuracy_interval": (0.4, 0.6), "macro_f1": 0.5, "cross_entropy": 1.0, "speed": speed}
    values: dict[str, Any] = {"name": name, "parameters": 3, "texts": 9, "labels": ["a", "b"], "per_label": []}
    return FasterPage.model_validate(values | {"scores": scores | {"calibration_error": 0.1}})


def test_one_more_field_is_a_column_a_row_of_the_card_and_a_figure(tmp_path: Path) -> None:
    entries = [Entry(page("slow", 2.25)), Entry(page("fast", 100.0))]
    inputs = ReportInputs(Meta(), [families()["classifier"]], {"classifier": entries})
    table = to_markdown(ladder_rows(inputs))
    assert "| texts per second |" in table.splitlines()[2] and " 100.0 " in table
    assert entries[1].page.figures()["speed"] == 100.0
    WordVectors(["a", "b"], np.eye(2, 3, dtype=np.float32)).save(tmp_path)
    card = model_card(tmp_path, entries[1].page.figures(), titles(FasterPage))
    assert "| texts per second | 100 |" in card and "| accuracy | 0.5 |" in card


class Split(Measured):
    """Scores of a split."""

    share: Annotated[
        float,
        Metric("share", "of the test", unit="share", splits={"unseen": Metric("unseen", "of others", unit="share")}),
    ]
    interval: Annotated[Interval | None, Metric("±", "half of it", unit="points", digits=1, logged=False)] = None
    items: Annotated[int, LOGGED] = 0


class Named(Measured):
    """One of several."""

    name: str
    rho: Annotated[float | None, Metric("ρ {name}", "with {name}", name="rho_{name}")] = None


class SplitPage(Page):
    """Scores by split, and named ones."""

    trained_on = "lines"
    splits: Annotated[dict[str, Split], Metrics("of_")]
    named: Annotated[list[Named], Metrics()] = Field(default_factory=list)

    @property
    def twice(self) -> Annotated[float, Metric("twice", "the double", digits=2, after="share", logged=False)]:
        return 2 * self.splits["test"].share


SPLIT = SplitPage(
    name="x",
    splits={"test": Split(share=0.5, interval=(0.4, 0.6), items=3), "unseen": Split(share=0.25)},
    named=[Named(name="a", rho=0.1), Named(name="b")],
)


def test_splits_names_and_properties() -> None:
    assert figures(SPLIT) == {
        "of_share": 0.5, "unseen_of_share": 0.25, "of_items": 3, "unseen_of_items": 0, "rho_a": 0.1
    }  # fmt: skip
    columns = page_columns([SPLIT])
    assert [column.title for column in columns] == [
        "share", "twice", "unseen", "±", "ρ a", "ρ b", "lines trained on", "lines/s", "time", "memory"
    ]  # fmt: skip
    values = {column.title: column.read(SPLIT, Timing()) for column in columns[:6]}
    assert values == {"share": 0.5, "twice": 1.0, "unseen": 0.25, "±": pytest.approx(0.1), "ρ a": 0.1, "ρ b": None}
    assert columns[3].show(0.1) == "10.0" and columns[4].explanation == "with a"
    assert titles(SplitPage) == {"of_share": "share", "unseen_of_share": "unseen"}


def test_a_column_that_follows_none_that_is_there_comes_last() -> None:
    class Lost(Page):
        one: Annotated[float, Metric("one", "1", after="two")]
        three: Annotated[float, Metric("three", "3")]

    assert [column.title for column in page_columns([Lost(name="x", one=1, three=3)])] == ["three", "one"]
    assert page_columns([]) == []


def test_every_page_declares_metrics_whose_titles_differ() -> None:
    """Of what stands in one table; what is logged has a name of its own."""
    for family in families().values():
        kind: Any = family.page()
        kinds = [kind] if isinstance(kind, type) else []
        for entry in kinds:
            names = [result.name for result in declared(entry) if result.metric.logged]
            assert len(set(names)) == len(names), family.name
    assert titles(LanguageModelPage)["perplexity_per_word"] == "perplexity per word"
    assert "parameters" not in titles(LanguageModelPage)
