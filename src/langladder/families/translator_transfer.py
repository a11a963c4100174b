"""Translators that start from another translator: trained longer, or by the quality of whole translations."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import create_model

from langladder.families.family import Rung, Values, base_of
from langladder.families.translator import TranslatorFamily
from langladder.families.tune import Grown
from langladder.ground.schema import Config, locate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langladder.models.translation.translator import Translator
    from langladder.text.tokenize.tokenizers import Tokenizer


class TranslatorTransferFamily(TranslatorFamily):
    """See `Family`. Its rungs have the network of their base; evaluated and shown like translators."""

    name = "translator_transfer"
    listed = "translator_transfers"
    title = "Translators that started from others"
    position = 41
    default = "attention_risk"
    bases = ("translator", "translator_transfer")
    in_python = False

    def settings(self, value: Values) -> type[Config]:
        """The base, and the training."""
        training = (locate("langladder.tasks.settings.TranslationTuning"), ...)
        return create_model("translator_transfer_rung", __base__=Grown, training=training)

    def maker(self, value: Values) -> str | None:
        """By a reward, or like any translator."""
        return f"langladder.tasks.translation{'_reward' if value['training'].get('reward') else ''}.make"

    def grows(self, value: Values, base: Values) -> str | None:
        """Only some networks have an attention to guide."""
        kind = locate(base["_target_"]) if "_target_" in base else None
        if value["training"].get("guided_attention") and kind is not None and not hasattr(kind, "attended"):
            return f"training.guided_attention: a {kind.__name__} does not have one attention to its source"
        return None

    def begin(self, rung: "Rung", tokenizers: "Sequence[Tokenizer]", root: Path) -> "Translator":
        """The base."""
        from langladder.models.translation.translator import Translator

        base = base_of(rung)
        assert base is not None
        return Translator.load(root / base)

    def maker_arguments(self, rung: "Rung", tokens: Path) -> dict[str, Any]:
        """The score of a translation."""
        from langladder.evaluation.bleu import sentence_bleu
        from langladder.text.words.segmentation import conventions_of

        split = conventions_of(tokens, "target").split
        if not rung.training.reward:  # type: ignore[attr-defined]
            return {}
        return {"score": lambda text, reference: sentence_bleu(split(text), [split(reference)], smoothed=True)}


FAMILY = TranslatorTransferFamily()
