"""Encoders in the report: a table of their own, the truth where it is known, words for gaps side by side."""

from typing import Any

from langladder.evaluation.attention_maps import AttentionMaps
from langladder.evaluation.encoder import EncoderPage, Gap, GapScores, Guess, PseudoScores
from langladder.evaluation.true_gaps import TrueScores
from langladder.faces.report.inputs import Entry, Meta, ReportInputs, RungMetadata
from langladder.faces.report.language_models import loss, sections
from langladder.faces.report.page import build_page
from langladder.faces.report.tables import ladder_rows
from langladder.families import families


def page(name: str, *, truth: bool = True, pairs: bool = True) -> EncoderPage:
    scores = {"masked": 100, "accuracy": 0.6, "cross_entropy": 1.5}
    pseudo = {"sentences": 5, "tokens": 50, "words": 40, "log_likelihood": -80.0, "per_token": 4.95, "per_word": 7.4}
    true = {"words": 9, "perplexity": 5.0, "true_perplexity": 4.0, "above_percent": 25.0, "divergence": 0.2}
    guesses = [Guess(word="<b>dog</b>", probability=0.5, true=0.4), Guess(word="cat", probability=0.25, true=0.0)]
    return EncoderPage(
        name=name,
        approach="Transformer",
        parameters=1000,
        scores=GapScores.model_validate(scores | ({"pairs": 20, "next_sentence": 0.5} if pairs else {})),
        pseudo=PseudoScores.model_validate(pseudo | {"unknown_rate": 0.0}),
        truth=TrueScores.model_validate(true | {"expected_above_percent": 22.1}) if truth else None,
        gaps=[Gap(before="the", word="cat", after="sleeps", guesses=guesses)] if truth else [],
    )


def report(*pages: EncoderPage) -> ReportInputs:
    rungs = [Entry(item, RungMetadata(title=item.name.upper())) for item in pages]
    nothing: dict[str, Any] = {"text": {}, "parallel": {}}
    return ReportInputs(
        meta=Meta(), families=[families()["encoder"]], rungs={"encoder": rungs}, data=nothing, tokenizers=nothing
    )


def test_the_page_has_the_table_and_the_gaps() -> None:
    html = build_page(report(page("bert"), page("roberta", pairs=False)))
    assert "not comparable with the perplexity of language models" in html
    assert "&lt;b&gt;dog&lt;/b&gt;" in html and "<b>dog</b>" not in html
    assert "<mark>cat</mark>" in html and '<b><bdi dir="ltr">cat</bdi></b>' in html
    assert "50.0 % | 40.0 %" in html and "its true probability" in html


def test_a_true_probability_is_explained_where_there_is_one() -> None:
    known = page("bert")
    guesses = [guess.model_copy(update={"true": None}) for guess in known.gaps[0].guesses]
    html = build_page(
        report(known.model_copy(update={"gaps": [known.gaps[0].model_copy(update={"guesses": guesses})]}))
    )
    assert "50.0 %</span>" in html and "its true probability" not in html


def test_attention_has_a_figure_for_each_layer_and_a_map_for_each_head() -> None:
    head = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]
    maps = AttentionMaps(tokens=["<cls>", "<b>", "<sep>"], layers=[[head, head], [head] * 5])
    (section,) = sections(report(page("bert", truth=False).model_copy(update={"attention": maps})), "encoder")
    (result,) = section.context["attention"]
    assert [drawn.heading for drawn in result.figures] == ["Layer 1 of 2", "Layer 2 of 2"]
    assert [drawn.svg.count("head ") for drawn in result.figures] == [2, 5]
    html = build_page(report(page("bert").model_copy(update={"attention": maps})))
    assert 'id="attention-encoder"' in html and "Layer 2 of 2" in html


def test_columns_of_the_truth_and_of_pairs_stand_where_they_mean_something() -> None:
    (table,) = ladder_rows(report(page("bert")))
    result = {column.title: cell.value for column, cell in zip(table.columns, table.rows[0].cells, strict=True)}
    assert result["above the truth"] == 22.1 and result["next sentence"] == 0.5 and result["gaps filled"] == 0.6
    plain = page("plain", truth=False, pairs=False)
    (table,) = ladder_rows(report(plain))
    titles = [column.title for column in table.columns]
    assert "above the truth" not in titles and "next sentence" not in titles
    assert loss(plain) == 7.4
    assert list(sections(report(plain), "encoder")) == []
