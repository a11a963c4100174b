"""The drawing of which rung grew from which: every rung legible, however many there are."""

import re
from dataclasses import replace

import pytest
import yaml
from instructed_files import whole
from rich.cells import cell_len

from langladder.faces.report.descent_plot import HEIGHT, Place, descent_plot, layout
from langladder.faces.report.family_tree import family_tree_sections as sections
from langladder.families import families
from langladder.ground.errors import InputError
from pipeline import ROOT

BOX = re.compile(
    r'<g><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="(\d+)" rx="7"/><text[^>]*>([^<]*)</text>'
)


READS = {"ppo": {"reads": "models/reward/reward"}, "dpo": {"reads": "data/preferences/sft"}}


def full_ladder() -> tuple[dict[str, str], dict[str, str]]:
    """Titles and bases of every rung of conf/ that grows, and of those that they grow from."""
    titles, bases = {}, {}
    for family in families():
        for file in sorted((ROOT / "conf" / family).glob("*.yaml")):
            said = yaml.safe_load(file.read_text(encoding="utf-8"))
            titles[f"{family}/{said['name']}"] = said["title"]
            if "base" in said:
                bases[f"{family}/{said['name']}"] = said["base"]
    return {key: title for key, title in titles.items() if key in bases or key in bases.values()}, bases


def test_a_rung_stands_in_the_middle_of_those_that_grew_from_it() -> None:
    bases = {"b": "a", "c": "a", "d": "c", "e": "c", "y": "x"}
    found = layout(list("abcdexy"), bases)
    assert found["b"] == Place(1, 0) and found["d"] == Place(2, 1) and found["e"] == Place(2, 2)
    assert found["c"] == Place(1, 1.5) and found["a"] == Place(0, 0.75)
    assert found["x"] == Place(0, 3) and found["y"] == Place(1, 3)


def test_every_rung_of_the_full_ladder_has_a_box_as_wide_as_its_title_and_none_touch() -> None:
    titles, bases = full_ladder()
    svg = str(descent_plot(titles, bases, "all"))
    boxes = [(*map(float, found[:4]), found[4]) for found in BOX.findall(svg)]
    assert [box[4] for box in boxes] == list(titles.values()) and svg.count('class="edge"') == len(bases)
    for x, y, width, _, title in boxes:
        assert width > 8 * cell_len(title)
        for other_x, other_y, other_width, *_ in boxes:
            beside = other_x >= x + width or x >= other_x + other_width
            assert (x, y) == (other_x, other_y) or beside or abs(other_y - y) > HEIGHT
    drawn = re.search(r'width="(\d+)" height="(\d+)"', svg)
    assert drawn and int(drawn[1]) < 1000 and int(drawn[2]) < 60 * len(titles)


def test_what_a_rung_learnt_from_beside_its_base_is_a_dashed_line() -> None:
    """From reward model to policy, at the right of both; the drawing has room for it."""
    titles = dict.fromkeys(["instruct/sft", "reward/reward", "align/ppo", "align/dpo"], "x")
    bases = dict.fromkeys(list(titles)[1:], "instruct/sft")
    plain = str(descent_plot(titles, bases, "all"))
    svg = str(descent_plot(titles, bases, "all", {"align/ppo": "reward/reward"}))
    assert 'class="edge reads"' not in plain and svg.count('class="edge reads"') == 1
    assert svg.count('class="edge"') == 3
    drawn = re.search(r'class="edge reads" d="M([\d.]+) ([\d.]+) C([\d.]+) .* ([\d.]+) ([\d.]+)"/>', svg)
    boxes = [(*map(float, found[:4]), found[4]) for found in BOX.findall(svg)]
    (_, _, reward, ppo) = (boxes[0], None, boxes[1], boxes[2])
    assert drawn and float(drawn[1]) == reward[0] + reward[2] and float(drawn[4]) == ppo[0] + ppo[2]
    assert float(drawn[5]) == ppo[1] + HEIGHT / 2
    width = re.search(r'width="(\d+)"', svg)
    assert width and float(width[1]) > float(drawn[3])


def test_the_report_draws_and_tells_it() -> None:
    """Of a reward model in the report; data that a rung reads stands in the table."""
    inputs = whole()
    rungs = {
        name: [replace(one, metadata=one.metadata.model_copy(update=READS.get(one.page.name, {}))) for one in some]
        for name, some in inputs.rungs.items()
    }
    (section,) = sections(replace(inputs, rungs=rungs))
    assert str(section.context["tree"]).count("edge reads") == 1 and section.context["beside"]
    told = {key: read for (key, _), _, read in section.context["edges"]}
    assert told["align/ppo"] == "models/reward/reward" and told["align/dpo"] == "data/preferences/sft"
    (section,) = sections(inputs)
    assert not section.context["beside"] and not section.context["reads"]


def test_a_circle_is_refused() -> None:
    with pytest.raises(InputError, match="a, b grow from each other in a circle"):
        descent_plot({"a": "A", "b": "B", "c": "C", "d": "D"}, {"a": "b", "b": "a", "d": "c"}, "none")


def test_what_stands_in_a_title_is_text() -> None:
    svg = str(descent_plot({"a/<b>": "<i>", "c/d": "x"}, {"c/d": "a/<b>"}, '"quoted"'))
    assert "<i>" not in svg and "<b>" not in svg and 'aria-label="&#34;quoted&#34;"' in svg
