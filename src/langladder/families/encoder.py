"""Encoders: they read a text from both sides and fill its gaps; judged by how well, apart from the causal models."""

from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family
from langladder.ground.schema import locate


class EncoderFamily(Family):
    """See `Family`."""

    name = "encoder"
    listed = "encoders"
    title = "Encoders"
    experiment = "encoders"
    report_module = "langladder.faces.report.encoders"
    place = 12
    default = "bert_mini"
    reads = ("data/tokens/text",)
    tokens = "data/tokens/text"
    judged_in = 10.0
    loading = """from pathlib import Path

from langladder.decoding.fill import fill
from langladder.models.encoder import Encoder
from langladder.text.tokenize.tokenizers import Tokenizer

model = Encoder.load(Path("{folder}"))
tokenizer = Tokenizer.load(Path("{folder}/tokenizer.json"))
fill(model, tokenizer, "the <mask> sleeps")  # the likeliest words of each gap
model.hidden(tokens, segments)  # (B, T) ids, (B, T) 0 or 1 → states of every layer, for heads on top"""
    limits = (
        "The model fills gaps; it gives no text a probability and writes none. What it puts into them is what its "
        "training text says, prejudice included."
    )

    def parts(self, rung: Any) -> dict[str, Any]:
        """How it is pre-trained, and on how much it is judged."""
        judged = locate("langladder.tasks.masked_settings.Judged")
        return super().parts(rung) | {
            "training": (locate("langladder.tasks.masked_settings.MaskedTraining"), ...),
            "judged": (judged, judged()),
        }

    def page(self) -> type[Page]:
        """`EncoderPage`."""
        from langladder.evaluation.encoder import EncoderPage

        return EncoderPage


FAMILY = EncoderFamily()
