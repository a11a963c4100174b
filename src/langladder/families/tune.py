"""Tuned language models: they start from another rung and are trained further."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, create_model

from langladder.families.family import Fields, Make, Rung, Seeded, Trained, Values, is_network
from langladder.families.lm import TOKENIZER, LanguageModelFamily, scored, streams
from langladder.ground.schema import Config, locate

if TYPE_CHECKING:
    from langladder.families.job import Job
    from langladder.families.lm import LanguageModelRung


class Grown(Seeded):
    """The settings of a rung with the network of its base."""

    target: None = Field(default=None, alias="_target_")  # type: ignore[assignment]  # from the base
    base: str


class TunedFamily(LanguageModelFamily):
    """See `Family`. Evaluated and shown like language models."""

    name = "tune"
    listed = "tunes"
    guide = "language-models.md"
    title = "Language models that start from others"
    position = 11
    default = "gpt_longer"
    bases = ("lm", "tune", "embedding")
    in_python = False

    def settings(self, value: Values) -> type[Config]:
        """Its own network or that of its base, the base, and the training."""
        training: Fields = {"training": (locate("langladder.tasks.settings.LMTrainingConfig"), ...)}
        if "_target_" not in value:
            return create_model("tune_rung", __base__=Grown, **training)
        own: Fields = {"model": (self.rung_class(value).Config, ...), "base": (str, ...)}
        return create_model("tune_rung", __base__=Rung, **own, **({} if self._maker_of(value) else training))

    def maker(self, value: Values) -> str | None:
        """The function depends on what it starts from: weights, or word vectors."""
        if own := self._maker_of(value):
            return own
        if _is_distilled(value):
            return "langladder.tasks.distillation.make_tuned"
        return f"langladder.tasks.{'from_vectors' if _from_vectors(value) else 'language_modelling'}.make_tuned"

    def inputs(self, value: Values) -> dict[str, str]:
        """None but its base."""
        return {}

    def grows(self, value: Values, base: Values) -> str | None:
        """A counted model has no weights; word vectors need a network that starts with them."""
        if "_target_" not in base:  # the base got its network from its own base
            return None
        if self._maker_of(value):
            wanted, kind = self.rung_class(value), locate(base["_target_"])
            fits = issubclass(kind, getattr(wanted, "BODY", ()))
            return None if fits else f"it is a {kind.__name__}, and no base of a {wanted.__name__}"
        if _is_distilled(value):
            kind = locate(base["_target_"])
            return None if is_network(kind) else f"a {kind.__name__} is counted, and a teacher is a network"
        if _from_vectors(value):
            return None if "_target_" in value else "word vectors are not a network; set _target_ and model"
        kind = locate(base["_target_"])
        if not is_network(kind):
            return f"a {kind.__name__} is counted, so it has no weights to start from"
        if "_target_" in value and value["_target_"] != base["_target_"]:
            return f"it is a {kind.__name__}, but the rung is a {locate(value['_target_']).__name__}"
        return None

    def _maker_of(self, value: Values) -> str | None:
        """The maker of a class that is not trained by gradient; None of most."""
        kind = self.rung_class(value) if "_target_" in value else None
        return getattr(kind, "tuned_maker", None)

    def also_given(self, value: Values, title: Callable[[str], str]) -> str:
        """See `Family.also_given`; a teacher is no beginning."""
        return f"teacher: {title(value['base'])}" if _is_distilled(value) else super().also_given(value, title)

    def train(self, rung: "LanguageModelRung", job: "Job", make: Make, root: Path = Path()) -> Trained:
        """Train the weights of its base, or its own network that starts with the word vectors of its base."""
        import torch

        from langladder.text.tokenize.tokenizers import Tokenizer

        torch.manual_seed(job.seed)
        tokenizer = Tokenizer.load(root / TOKENIZER)
        model, result = make(root / "models" / rung.base, tokenizer, *streams(root), settings=rung)
        return scored(model, result, root)


def _is_distilled(value: Values) -> bool:
    return bool((value.get("training") or {}).get("distil"))


def _from_vectors(value: Values) -> bool:
    return str(value["base"]).startswith("embedding/")


FAMILY = TunedFamily()
