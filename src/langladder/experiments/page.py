"""The page of a claim: its findings, and the fingerprint of the job."""

from typing import ClassVar

from langladder.evaluation.page import Page
from langladder.experiments.findings import Findings


class ClaimPage(Page):
    """The page of an experiment or a probe; results that depend on the machine's speed are in its run."""

    headlines: ClassVar[tuple[str, ...]] = ("outcome",)

    fingerprint: str
    findings: Findings

    def figures(self) -> dict[str, object]:
        """See `Page.figures`."""
        return {"holds": self.findings.holds, "outcome": self.findings.outcome, **self.findings.figures}
