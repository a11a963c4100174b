"""What a network takes on any machine, in the tables: operations and memory; a dash for what is counted."""

import pytest

from langladder.evaluation.classifier import ClassifierPage
from langladder.evaluation.language_model import LanguageModelPage
from langladder.evaluation.page import Page, Work
from langladder.evaluation.perplexity import TextScores
from langladder.evaluation.tagger import TaggerPage
from langladder.faces.report.inputs import Timing
from langladder.faces.report.section import page_columns

SCORES = TextScores(
    tokens=10,
    words=8,
    characters=40,
    bytes=40,
    nll_nats=20.0,
    perplexity_per_token=7.4,
    perplexity_per_word=12.2,
    bits_per_character=0.72,
    bits_per_byte=0.72,
    unknown_rate=0.0,
)


def page(work: Work | None) -> LanguageModelPage:
    return LanguageModelPage(name="m", parameters=5, scores=SCORES, work=work)


@pytest.mark.parametrize(
    ("kind", "unit"), [(LanguageModelPage, "token"), (ClassifierPage, "word"), (TaggerPage, "word")]
)
def test_they_stand_beside_the_parameters(kind: type[Page], unit: str) -> None:
    titles = [column.title for column in page_columns([kind.model_construct(name="m", scores=SCORES)])]
    index = titles.index("parameters")
    assert titles[index + 1 : index + 3] == [f"operations/{unit}", "training memory"]


@pytest.mark.parametrize(("work", "measured"), [(Work(flops=2.5e6, training_bytes=3 * 2**20), True), (None, False)])
def test_they_read_the_page(work: Work | None, measured: bool) -> None:
    columns = {column.title: column for column in page_columns([page(work)])}
    flops, memory = columns["operations/token"], columns["training memory"]
    values = [column.read(page(work), Timing()) for column in (flops, memory)]
    assert values == ([2.5e6, 3 * 2**20] if measured else [None, None])
    assert not measured or (flops.show(2.5e6), memory.show(3 * 2**20)) == ("2.5 M", "3 MB")
    assert flops.better == memory.better == "lower"


def test_a_page_without_work_has_none() -> None:
    bare = page(None).model_dump(mode="json")
    del bare["work"]
    assert LanguageModelPage.model_validate(bare).work is None
    kept = LanguageModelPage.model_validate(page(Work(flops=1.0, training_bytes=2)).model_dump(mode="json"))
    assert kept.work == Work(flops=1.0, training_bytes=2)


def test_it_is_no_figure_of_the_metrics() -> None:
    """metrics/ holds what was measured of the text; the page is where the rest stands."""
    assert set(page(Work(flops=1.0, training_bytes=2)).figures()) == set(page(None).figures())
