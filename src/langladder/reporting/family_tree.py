"""The family tree: which rung grew from which other."""

from collections.abc import Iterable

from langladder.reporting.dag import draw_dag
from langladder.reporting.entries import Stage
from langladder.reporting.inputs import ReportInputs
from langladder.reporting.section import Section


def sections(inputs: ReportInputs) -> Iterable[Section]:
    """A drawing of the rungs that grew from another, and of those that they grew from; nothing where none did."""
    titles = {f"{one.name}/{rung.name}": rung.title for one in inputs.families for rung in inputs.of(one.name)}
    grown = [(f"{one.name}/{rung.name}", rung.told.base) for one in inputs.families for rung in inputs.of(one.name)]
    bases = {key: base for key, base in grown if base is not None}
    if bases:
        known = [key for key in titles if key in bases or key in bases.values()]
        boxes = [
            Stage(stage=key, desc=titles.get(key, key), depends=[bases[key]] if key in bases else [])
            for key in dict.fromkeys([*known, *bases.values()])
        ]
        edges = [((key, titles[key]), (base, titles.get(base, base))) for key, base in bases.items()]
        drawn = draw_dag(boxes, "The family tree: which rung grew from which")
        yield Section("tree", "Family tree", "tree.html.j2", {"tree": drawn, "edges": edges})
