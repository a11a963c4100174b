"""The family tree: which rung grew from which other, and which learnt from what another one says."""

from collections.abc import Iterable

from langladder.faces.report.descent_plot import descent_plot
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.section import Section

MODELS = "models/"


def family_tree_sections(inputs: ReportInputs) -> Iterable[Section]:
    """A drawing of the rungs that grew from another, and of those that they grew from; nothing where none did."""
    titles = {f"{one.name}/{rung.name}": rung.title for one in inputs.families for rung in inputs.of(one.name)}
    grown = [(f"{one.name}/{rung.name}", rung.metadata.base) for one in inputs.families for rung in inputs.of(one.name)]
    bases = {key: base for key, base in grown if base is not None}
    read = {f"{one.name}/{rung.name}": rung.metadata.reads for one in inputs.families for rung in inputs.of(one.name)}
    if bases:
        known = [key for key in titles if key in bases or key in bases.values()]
        shown = {key: titles.get(key, key) for key in dict.fromkeys([*known, *bases.values()])}
        edges = [((key, shown[key]), (base, shown[base]), read.get(key)) for key, base in bases.items()]
        beside = {key: folder.removeprefix(MODELS) for key, folder in read.items() if folder and key in shown}
        beside = {key: other for key, other in beside.items() if other in shown}
        drawn = descent_plot(shown, bases, "The family tree: which rung grew from which", beside)
        context = {"tree": drawn, "edges": edges, "beside": bool(beside), "reads": any(read.values())}
        yield Section("tree", "Family tree", "tree.html.j2", context)
