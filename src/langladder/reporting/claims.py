"""Claims of the literature on the page: each with the sentence that the numbers make, its plots and its table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from markupsafe import Markup

from langladder.experiments.findings import Findings, Shown
from langladder.reporting.findings_plot import findings_plot
from langladder.reporting.numbers import DASH, significant
from langladder.reporting.rungs import Part


class Claim(Part):
    """`reports/rungs/experiment/<name>.json` and `reports/rungs/probe/<name>.json`; `timed` comes from MLflow."""

    name: str
    title: str
    claim: str
    fingerprint: str
    findings: Findings
    timed: Shown | None = None

    def with_timed(self, timed: Mapping[str, Any] | None) -> Self:
        """The same with what this machine's speed decides."""
        return self.model_copy(update={"timed": None if timed is None else Shown.model_validate(timed)})


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


def claim_views(claims: list[Claim]) -> list[ClaimView]:
    """In the order of the lists in params.yaml."""
    return [ClaimView(claim.name, claim.title, claim.claim, _mark(claim), list(_parts(claim))) for claim in claims]


def _mark(claim: Claim) -> str:
    """What the seed and the machine's speed decide, in a word."""
    told = {shown.holds for shown in (claim.findings, claim.timed) if shown is not None and shown.holds is not None}
    if len(told) == 1:
        return "holds" if told == {True} else "does not hold"
    return "holds in part" if told else "open"


def _parts(claim: Claim) -> Iterator[ShownView]:
    for number, shown in enumerate((claim.findings, claim.timed)):
        if shown is not None:
            drawn = (findings_plot(plot, f"claim-{claim.name}-{number}-{i}") for i, plot in enumerate(shown.plots))
            rows = [[_cell(value) for value in row] for row in shown.rows]
            yield ShownView(shown.verdict, [Markup(svg) for svg in drawn if svg], shown.columns, rows)


def _cell(value: str | float | None) -> str:
    if value is None:
        return DASH
    return value if isinstance(value, str) else significant(value)
