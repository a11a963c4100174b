"""What the stages that make language models share: those of the family `lm`, and those that grow from it."""

from pathlib import Path
from typing import Any

from langladder.evaluation.perplexity import score
from langladder.ground.artefacts import format_figure, read_json
from langladder.models.base import LanguageModel
from langladder.models.making import Made
from langladder.text.storage.corpus_ids import TokenStream
from langladder.text.storage.tables import CONVENTIONS
from pipeline.provenance import made
from pipeline.provenance.job import TrackedJob

TOKENS = Path("data/tokens/text")
TOKENIZER = TOKENS / "tokenizer.json"
BESIDE = (TOKENIZER, TOKENS / CONVENTIONS)
"""What a language model is kept with."""


def streams() -> list[TokenStream]:
    """The text to train on, and that to watch."""
    return [TokenStream.open(TOKENS / f"{split}.arrow") for split in ("train", "validation")]


def keep(work: TrackedJob, out: Path, model: LanguageModel, how: Made) -> None:
    """Write the model with its tokenizer, its curve and its validation figures."""
    sizes = read_json(TOKENS / "sizes.json")["validation"]
    found = score(model, TokenStream.open(TOKENS / "validation.arrow"), **sizes)
    scores, (name, value) = found.figures(), found.headline
    figures: dict[str, Any] = {"parameters": model.number_of_parameters()}
    figures |= {
        f"validation_{key}": scores[key] for key in ("perplexity_per_word", "bits_per_character", "bits_per_byte")
    }
    said = f"validation {name} {format_figure(value, '.2f')}"
    made.keep(work, out, model, how, figures, said=said, beside=made.copies_of(*BESIDE))
