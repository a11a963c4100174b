"""Encoders that learn from another encoder, their teacher."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import create_model

from langladder.families.encoder import EncoderFamily
from langladder.families.family import Values, base_of
from langladder.ground.schema import Config, locate

if TYPE_CHECKING:
    from collections.abc import Callable

    from langladder.families.encoder import EncoderRung


class EncoderTransferFamily(EncoderFamily):
    """See `Family`. Evaluated and shown like encoders."""

    name = "encoder_transfer"
    listed = "encoder_transfers"
    title = "Encoders that learned from others"
    position = 13
    default = "bert_distilled"
    bases = ("encoder",)
    in_python = False

    def settings(self, value: Values) -> type[Config]:
        """The same as for an encoder, and the base."""
        parts = self.parts(self.rung_class(value)) | {"base": (str, ...)}
        return create_model("encoder_transfer_rung", __base__=self.base_settings, **parts)

    def maker(self, value: Values) -> str | None:
        """The same for all."""
        return "langladder.tasks.distillation.make_encoder"

    def grows(self, value: Values, base: Values) -> str | None:
        """A rung has a teacher, which reads rows as long as its own."""
        training, context = value["training"], locate(base["_target_"]).Config.model_validate(base["model"]).context
        if not training.get("distil"):
            return "training.distil: missing; such a rung learns from its base"
        if training["sequence_length"] > context:
            return f"training.sequence_length={training['sequence_length']} exceeds its context, {context}"
        return None

    def also_given(self, value: Values, title: "Callable[[str], str]") -> str:
        """See `Family.also_given`."""
        return f"teacher: {title(value['base'])}"

    def maker_arguments(self, rung: "EncoderRung", root: Path) -> dict[str, Path]:
        """The folder of its teacher."""
        base = base_of(rung)
        return {} if base is None else {"base": root / base}


FAMILY = EncoderTransferFamily()
