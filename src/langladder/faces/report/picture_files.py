"""Pictures of the report as SVG files of their own, which `dvc plots` shows and sets side by side without a network."""

from collections.abc import Iterator

from langladder.evaluation.classifier import ClassifierPage
from langladder.evaluation.tagger import TaggerPage
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.labels import heat_file
from langladder.faces.report.language_models import ladder_plot, sentence_floor
from langladder.faces.report.plots import curves_plot


def picture_files(inputs: ReportInputs) -> Iterator[tuple[str, str]]:
    """Name and content of each: the ladder; learning curves, a family each; confusions, a classifier or tagger each."""
    alone = sentence_floor(inputs)
    if ladder := ladder_plot(inputs.of("lm"), inputs.meta.text, sentence_floor=alone, standalone=True):
        yield "ladder", ladder
    for family in inputs.families:
        if drawn := curves_plot(inputs.of(family.name), family.name, family.title, standalone=True):
            yield f"curves_{family.name}", drawn.svg
    for family in inputs.families:
        for rung in inputs.of(family.name):
            page = rung.page
            if isinstance(page, ClassifierPage | TaggerPage) and page.confusion:
                drawn_map = heat_file(page.confusion, page.labels, f"Confusions of {rung.title}")
                yield f"confusions_{family.name}_{rung.name}", drawn_map
