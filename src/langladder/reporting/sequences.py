"""What the report tells of the other shapes of sequence: captions of scenes, then transcripts of speech."""

from collections.abc import Iterable

from langladder.reporting import captions, transcripts
from langladder.reporting.inputs import ReportInputs
from langladder.reporting.section import Section


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Both, as far as there are any."""
    yield from captions.sections(inputs, family)
    yield from transcripts.sections(inputs, family)
