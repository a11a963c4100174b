"""Captioners: a vector of facts about a scene → a sentence; judged by what the grammar allows."""

from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family
from langladder.ground.schema import locate


class CaptionerFamily(Family):
    """See `Family`."""

    name = "captioner"
    listed = "captioners"
    title = "Captions"
    experiment = "captions"
    place = 50
    default = "lstm"
    report_module = "langladder.faces.report.sequences"
    judged_in = 20.0  # it searches with a beam
    reads = ("data/raw/scenes",)
    side = "scenes"
    loading = """from pathlib import Path

from langladder.data.captioning import CODES, SceneCodes
from langladder.models.captioner import Captioner

model, codes = Captioner.load(Path("{folder}")), SceneCodes.load(Path("{folder}") / CODES)
model.log_probs(source, target)  # ids of facts … EOS, BOS ids of words EOS → log P of each next word"""
    limits = "The model knows the facts and words of the small world's scenes only."

    def parts(self, rung: Any) -> dict[str, Any]:
        """All are trained, as translators are."""
        return super().parts(rung) | {"training": (locate("langladder.tasks.settings.TranslationTraining"), ...)}

    def page(self) -> type[Page]:
        """`CaptionPage`."""
        from langladder.evaluation.captions import CaptionPage

        return CaptionPage


FAMILY = CaptionerFamily()
