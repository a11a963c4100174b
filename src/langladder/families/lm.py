"""Language models: P(w_t | w_1 … w_{t-1}), counted or trained; judged by perplexity on the test text."""

from collections.abc import Mapping
from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family
from langladder.ground.schema import locate


class LanguageModelFamily(Family):
    """See `Family`."""

    name = "lm"
    listed = "lms"
    title = "Language models"
    experiment = "language models"
    report_module = "langladder.faces.report.language_models"
    place = 10
    objective = "validation_perplexity_per_word"
    default = "lstm"
    reads = ("data/tokens/text",)
    tokens = "data/tokens/text"
    loading = """from langladder.models.base import LanguageModel

model = LanguageModel.load("{folder}")
model.log_probs(tokens)  # (B, T) ids that begin with BOS → log P(token | those before it)"""
    limits = "The model knows the language of its training text only, and repeats what it says, prejudice included."

    def parts(self, rung: Any) -> dict[str, Any]:
        """Networks are trained, and may begin with word vectors."""
        from torch import nn

        parts = super().parts(rung)
        if issubclass(rung, nn.Module):
            beginning = locate("langladder.tasks.settings.InputVectors")
            parts["training"] = (locate("langladder.tasks.settings.LMTrainingConfig"), ...)
            parts["input"] = (beginning, beginning())
        return parts

    def maker(self, value: Mapping[str, Any]) -> str | None:
        """What begins with word vectors reads their files; no other may depend on those readers."""
        rung = self.rung_class(value)
        found: str = rung.maker_from_vectors if self.inputs(value) else rung.maker
        return found

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """The word vectors that it begins with, where it does."""
        vectors = (value.get("input") or {}).get("vectors")
        return {"vectors": vectors} if vectors else {}

    def page(self) -> type[Page]:
        """`LanguageModelPage`."""
        from langladder.evaluation.language_model import LanguageModelPage

        return LanguageModelPage

    def inside(self, page: Any) -> Mapping[str, tuple[Any, str]]:
        """The input embedding, among the word vectors."""
        return {} if page.vectors is None else {"embedding": (page.vectors, "input embedding")}


FAMILY = LanguageModelFamily()
