"""Instructed models in the report: tournament, over-optimisation, kinds, tax, dialogues, reward models, all escaped."""

import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from instructed_files import answer_scores, entry, instructed, ladder, reward_model, rl_curve, whole

from langladder.evaluation.instructed import InstructedPage
from langladder.faces.report import instructed as shown
from langladder.faces.report import plots
from langladder.faces.report.inputs import CurvePoint, Entry, ReportInputs
from langladder.faces.report.instructed import (
    LISTED,
    beside,
    courses,
    dialogues,
    fitted,
    picture_of,
    taxes,
    tournaments,
)
from langladder.faces.report.page import build_page
from langladder.faces.report.section import page_columns
from langladder.faces.report.tables import ladder_rows


def instructed_of(inputs: ReportInputs) -> list[Entry[InstructedPage]]:
    return inputs.rungs_with("instruct", InstructedPage)


@pytest.fixture(scope="module")
def html() -> str:
    return build_page(whole())


def test_the_page_shows_them_and_escapes_what_they_say(html: str) -> None:
    for heading in (
        "Instructed models compared",
        "Gold and proxy reward",
        "What the instructed models answer",
        "Reward models compared",
    ):
        assert heading in html
    assert "&lt;script&gt;" in html and "<script>alert" not in html
    assert "PPO, whose answers have a mean gold reward of 0.8" in str(shown.headline(whole(), "instruct"))
    assert re.search(r"<th scope=\"row\">Models that follow instructions</th><td><strong>[^<]+</strong></td>", html)
    assert "(nothing)" in html


def test_families_share_one_tournament_and_the_best_stands_first() -> None:
    test, unseen = tournaments(instructed_of(whole()))
    assert [row.title for row in test.rows] == ["PPO", "BEST_OF_N", "DPO", "SFT"] and test.prompts == 200
    assert test.sentence.startswith("PPO leads: against BEST_OF_N, the next, it wins ")
    first, last = test.rows[0].matches, test.rows[-1].matches
    assert first[0] is None and all(match and match.wins for match in first[1:])
    assert first[3] and last[0] and float(first[3].share) + float(last[0].share) == pytest.approx(100)
    assert [float(row.rating.replace(",", "")) for row in test.rows] == sorted(
        (float(row.rating.replace(",", "")) for row in test.rows), reverse=True
    )
    assert unseen.title == "Kinds of instruction that were never shown"


def test_equal_rungs_cannot_be_distinguished() -> None:
    rungs = [entry(instructed(name, 0.5)) for name in ("one", "two")]
    (test, _) = tournaments(rungs)
    assert test.rows[0].rating == test.rows[1].rating == "1,000"
    assert "this can be chance" in test.sentence and "50.0 %" in test.sentence


def test_only_equal_prompts_are_compared() -> None:
    rungs = [
        entry(instructed(name, 0.5, prompt_set=prompt_set)) for name, prompt_set in (("a", "x"), ("b", "y"), ("c", "y"))
    ]
    for tournament in tournaments(rungs):
        assert {row.title for row in tournament.rows} == {"B", "C"} and tournament.left_out == ["A"]
    assert not list(tournaments(rungs[:2]))  # nobody to play with
    assert not list(tournaments([entry(instructed("a", 0.5, gold=False)), rungs[1]]))


def test_golden_fits_of_a_policy_and_of_best_of_n() -> None:
    """The curves were made by α = 0.3, β = 0.2 and by α = 0.5, β = 0.2."""
    result = {course.rung.name: course for course in courses(instructed_of(whole()))}
    assert set(result) == {"ppo", "best_of_n"}
    ppo, best = result["ppo"].fit, result["best_of_n"].fit
    assert ppo is not None and best is not None and ppo.peak is not None and best.peak is not None
    assert (ppo.alpha, ppo.beta, ppo.start) == pytest.approx((0.3, 0.2, 0.5))
    assert (best.alpha, best.beta, best.start) == pytest.approx((0.5, 0.2, 0.4))
    assert ppo.peak.d == pytest.approx(math.exp(0.5)) and best.peak.d == pytest.approx(1.25)
    assert result["ppo"].proxy[-1] == (4.0, 4.0) and len(result["ppo"].gold) == 9
    rows = {row.title: row for row in fitted(list(result.values()))}
    assert (rows["PPO"].alpha, rows["PPO"].peak, rows["PPO"].beyond) == ("0.300", "1.649", False)
    assert rows["BEST_OF_N"].form == "d (α − β d)" and rows["PPO"].last.endswith("at 4.00")


def test_the_picture_has_a_line_for_gold_proxy_fit_and_its_peak() -> None:
    drawn = picture_of(courses(instructed_of(whole())), shown.loss)
    assert drawn is not None and set(drawn.choice.titles) == {"ppo", "best_of_n"}
    for name in ("ppo", "best_of_n"):
        assert drawn.svg.count(f'data-rung="{name}"') == 4  # gold, fit, its peak, proxy
    assert "gold reward" in drawn.svg and "proxy reward" in drawn.svg and "√KL" in drawn.svg
    assert 'class="rung fit on"' in drawn.svg


def test_a_peak_beyond_what_was_measured_is_reported_and_not_drawn() -> None:
    rung = entry(instructed("ppo", 0.8, "ppo", proxy=1.0), curve=rl_curve(alpha=1.0, beta=0.1))
    result = courses([rung])
    (row,) = fitted(result)
    assert row.beyond and float(row.peak.replace(",", "")) > 4
    drawn = picture_of(result, shown.loss)
    assert drawn is not None and drawn.svg.count('data-rung="ppo"') == 3


def test_what_learnt_from_the_gold_judge_has_no_proxy() -> None:
    curve = tuple(replace(row, validation_gold=None) for row in rl_curve())
    (item,) = courses([entry(instructed("ppo", 0.8, "ppo"), curve=curve)])
    assert not item.proxy and item.gold[-1] == (4.0, 4.0)
    drawn = picture_of([item], shown.loss)
    assert drawn is not None and "proxy reward" not in drawn.svg


def test_few_points_are_drawn_and_not_fitted() -> None:
    rung = entry(instructed("ppo", 0.8, "ppo", proxy=1.0), curve=rl_curve(steps=2))
    (item,) = courses([rung])
    assert item.fit is None and len(item.gold) == 3 and not fitted([item])
    assert not courses([replace(rung, curve=rl_curve()[:1])])
    assert not courses([replace(rung, curve=(CurvePoint(1, 2.0, validation_loss=1.0),))])


def test_the_tax_is_measured_against_the_base() -> None:
    inputs = whole()
    result = {tax.title: tax for tax in taxes(inputs, instructed_of(inputs))}
    assert set(result) == {"SFT", "PPO", "DPO"}  # best-of-n has its base's weights
    assert (result["SFT"].base, result["SFT"].before, result["SFT"].change) == ("GPT", "32.00", "+25.0 %")
    assert (result["PPO"].change, result["DPO"].change) == ("+10.0 %", "0.0 %")
    alone = ladder(instruct=[entry(instructed("sft", 0.6), "tune/gone")])
    assert not taxes(alone, instructed_of(alone))


def test_kinds_of_all_splits_stand_in_rows() -> None:
    kinds = shown.kinds(instructed_of(whole()))
    assert [key for key, _ in kinds.rows] == [
        (kind, split, 100) for split in ("", "unseen") for kind in ("capital", "plural")
    ]
    assert len(kinds.rungs) == 4


def test_ten_dialogues_with_sft_beside_what_was_aligned() -> None:
    rungs = instructed_of(whole())
    result = dialogues(rungs)
    assert len(result.rows) == LISTED and [name for name, _ in result.rungs] == ["sft", "ppo", "dpo", "best_of_n"]
    answers = dict(result.rows)["capital", "what is the capital of 1 ?"]
    assert answers[1] is not None and answers[1].followed
    assert answers[1].verdict == "gold 0.80 · true 0.50 · proxy −1.50"
    assert beside(rungs, shown.loss).chosen == ["sft", "ppo", "best_of_n"]
    assert beside(rungs[1:], shown.loss).chosen == ["ppo", "dpo", "best_of_n"]


def test_columns_say_parts_length_and_diversity() -> None:
    page = instructed("sft", 0.6)
    result = {column.title: column for column in page_columns([page])}
    entry_ = entry(page)
    read = {title: column.read(page, entry_.timing) for title, column in result.items()}
    assert (read["grammatical"], read["true"], read["finished"], read["distinct-1"]) == (1.0, 0.5, 0.9, 0.1)
    assert 0 < (read["±"] or 0) < 0.05 and read["proxy reward"] is None
    (table,) = (table for table in ladder_rows(ladder(instruct=[entry_])) if table.family == "instruct")
    assert {"proxy reward", "KL"}.isdisjoint(column.title for column in table.columns)


def test_reward_models_kind_by_kind_and_how_sure(html: str) -> None:
    (section,) = shown.sections(whole(), "reward")
    assert [key[1] for key, _ in section.context["kinds"].rows] == ["", "", "unseen", "unseen"]
    assert section.context["reliability"] is not None
    assert "99 pairs" in html and "1 pair<" in html
    assert list(shown.sections(ladder(), "reward")) == []
    page = reward_model("r")
    result = {column.title: column.read(page, entry(page).timing) for column in page_columns([page])}
    assert result["±"] == pytest.approx(0.05) and result["loss"] == 0.3 and result["unseen kinds"] == 0.9


def test_without_a_gold_judge_nothing_is_compared() -> None:
    """Own instructions: the table, and what is answered."""
    page = instructed("sft", 0.5, gold=False)
    page = page.model_copy(
        update={
            "text": None,
            "samples": [sample.model_copy(update={"gold": None, "parts": {}}) for sample in page.samples],
        }
    )
    inputs = ladder(instruct=[entry(page, "lm/gpt")])
    assert [section.id for section in shown.sections(inputs, "instruct")] == ["dialogues"]
    assert shown.headline(inputs, "instruct") is None
    assert list(shown.sections(ladder(), "instruct")) == []


def test_reward_stands_beside_the_loss_in_the_curves(html: str) -> None:
    curve = (
        CurvePoint(1, 3.0),
        CurvePoint(5, 2.0, 2.1, validation_reward=0.3),
        CurvePoint(9, 1.0, 2.2, validation_reward=0.6),
    )
    drawn = plots.reward_curves_plot([entry(instructed("sft", 0.6), "lm/gpt", curve)], "instruct", shown.loss)
    assert drawn is not None and drawn.svg.count('data-rung="sft"') == 1
    assert plots.reward_curves_plot([entry(instructed("sft", 0.6))], "instruct", shown.loss) is None
    assert "Models aligned by rewards or preferences: reward of answers to validation prompts" in html


def test_scores_of_other_prompts_have_other_hashes() -> None:
    """What the helper's pages stand for."""
    assert answer_scores(0.5, prompt_set="b").asked == "b"
    assert all(item.step < two.step for item, two in pairwise(rl_curve()))
