"""What the report tells of captioners: how often their captions are right, which facts they say, examples."""

from collections.abc import Iterable

from langladder.evaluation.captions import CaptionPage
from langladder.faces.report import numbers
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.searches import Measures, searched
from langladder.faces.report.section import Section

MEASURES: Measures = {
    "right": ("right", "share of the captions that the grammar allows for their scene", numbers.share),
    "facts": ("facts", "share of the facts that the caption says, each in its place", numbers.share),
    "bleu": ("BLEU", "against all sentences that the grammar allows for the scene", numbers.decimals(1)),
}


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every captioner: its scores by each search, then what it says of some scenes."""
    views = [
        {
            "task": searched(rung, MEASURES),
            "examples": rung.page.examples,
            "questions": [
                (question.replace("_", " "), numbers.whole(found.asked), numbers.share(found.said))
                for question, found in rung.page.by_question.items()
            ],
        }
        for rung in inputs.judged_alike(family, CaptionPage)
    ]
    if views:
        yield Section("captions", "Captions", "captions.html.j2", {"captioners": views})
