"""Translators: P(y_t | y_1 … y_{t-1}, x), trained on pairs of sentences; judged by BLEU, chrF and TER."""

from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family
from langladder.ground.schema import locate


class TranslatorFamily(Family):
    """See `Family`."""

    name = "translator"
    listed = "translators"
    title = "Translators"
    experiment = "translation"
    report_module = "langladder.faces.report.translators"
    place = 40
    default = "attention"
    judged_in = 20.0  # it searches with a beam
    reads = ("data/tokens/parallel",)
    side = "parallel"
    tokens = "data/tokens/parallel"
    loading = """from langladder.models.translator import Translator

model = Translator.load("{folder}")
model.log_probs(source, target)  # (B, S) ids … EOS, (B, T + 1) BOS ids … EOS → (B, T) log P of each next token"""
    limits = (
        "The model knows the words and the kinds of sentence of its training pairs only; what it writes for others may "
        "read well and be wrong. It repeats the prejudice of its training text."
    )

    def parts(self, rung: Any) -> dict[str, Any]:
        """All are trained."""
        return super().parts(rung) | {"training": (locate("langladder.tasks.settings.TranslationTraining"), ...)}

    def page(self) -> type[Page]:
        """`TranslatorPage`."""
        from langladder.evaluation.translation import TranslatorPage

        return TranslatorPage


FAMILY = TranslatorFamily()
