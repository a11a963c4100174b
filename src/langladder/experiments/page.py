"""The page of a claim: what was found, and which work found it."""

from typing import ClassVar

from langladder.evaluation.page import Page
from langladder.experiments.findings import Findings


class ClaimPage(Page):
    """Of an experiment or a probe; what the machine's speed decides is in the run of that fingerprint."""

    headlines: ClassVar[tuple[str, ...]] = ("outcome",)

    fingerprint: str
    findings: Findings

    def figures(self) -> dict[str, object]:
        """See `Page.figures`."""
        return {"holds": self.findings.holds, "outcome": self.findings.outcome, **self.findings.figures}
