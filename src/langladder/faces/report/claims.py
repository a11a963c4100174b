"""Claims of the literature on the page: each with the sentence that the numbers make, its plots and its table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from langladder.experiments.page import ClaimPage
from langladder.faces.report.entries import Entry
from langladder.faces.report.findings_plot import findings_plot
from langladder.faces.report.graph_plot import graph_plot
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.numbers import DASH, significant
from langladder.faces.report.section import Section

Claims = Sequence[Entry[ClaimPage]]


@dataclass(frozen=True)
class ShownView:
    """A sentence, its drawings and its table, ready for the page."""

    verdict: str
    figures: list[Markup]
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class ClaimView:
    """One claim, ready for the page: what the seed decides, then what the machine's speed decides."""

    name: str
    title: str
    claim: str
    mark: str
    parts: list[ShownView]


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """All claims, of experiments and of probes."""
    if claims := inputs.judged_alike(family, ClaimPage):
        yield Section("claims", "Claims, measured", "claims.html.j2", {"claims": claim_views(claims)})


def claim_views(claims: Claims) -> list[ClaimView]:
    """In the order of history."""
    return [
        ClaimView(claim.name, claim.title, claim.told.claim or claim.title, _mark(claim), list(_parts(claim)))
        for claim in claims
    ]


def _mark(claim: Entry[ClaimPage]) -> str:
    """What the seed and the machine's speed decide, in a word."""
    shown = (claim.page.findings, claim.timing.timed)
    told = {one.holds for one in shown if one is not None and one.holds is not None}
    if len(told) == 1:
        return "holds" if told == {True} else "does not hold"
    return "holds in part" if told else "open"


def _parts(claim: Entry[ClaimPage]) -> Iterator[ShownView]:
    for number, shown in enumerate((claim.page.findings, claim.timing.timed)):
        if shown is not None:
            drawn = (findings_plot(plot, f"claim-{claim.name}-{number}-{i}") for i, plot in enumerate(shown.plots))
            graphs = (
                graph_plot(graph, f"claim-{claim.name}-{number}-graph-{i}") for i, graph in enumerate(shown.graphs)
            )
            rows = [[_cell(value) for value in row] for row in shown.rows]
            yield ShownView(shown.verdict, [Markup(svg) for svg in (*graphs, *drawn) if svg], shown.columns, rows)


def _cell(value: str | float | None) -> str:
    if value is None:
        return DASH
    return value if isinstance(value, str) else significant(value)
