"""The family tree: which rung grew from which other."""

from collections.abc import Iterable

from langladder.reporting.descent_plot import descent_plot
from langladder.reporting.inputs import ReportInputs
from langladder.reporting.section import Section


def sections(inputs: ReportInputs) -> Iterable[Section]:
    """A drawing of the rungs that grew from another, and of those that they grew from; nothing where none did."""
    titles = {f"{one.name}/{rung.name}": rung.title for one in inputs.families for rung in inputs.of(one.name)}
    grown = [(f"{one.name}/{rung.name}", rung.told.base) for one in inputs.families for rung in inputs.of(one.name)]
    bases = {key: base for key, base in grown if base is not None}
    if bases:
        known = [key for key in titles if key in bases or key in bases.values()]
        shown = {key: titles.get(key, key) for key in dict.fromkeys([*known, *bases.values()])}
        edges = [((key, shown[key]), (base, shown[base])) for key, base in bases.items()]
        drawn = descent_plot(shown, bases, "The family tree: which rung grew from which")
        yield Section("tree", "Family tree", "tree.html.j2", {"tree": drawn, "edges": edges})
