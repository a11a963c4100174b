"""What `langladder translate` asks of its models, and what they answer. Loads torch: import inside a command."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.sample_translations import SampleConfig
from langladder.faces.http.translators import Found, LoadedTranslator
from langladder.ground.errors import InputError


@dataclass(frozen=True)
class Answer:
    """What all models make of a sentence."""

    source: str
    found: list[Found]

    @property
    def best(self) -> str:
        """The first model's best translation; of an empty line an empty one."""
        return self.found[0].candidates[0].text if self.found[0].candidates else ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON; attention and tokens only where attention was asked for."""
        answer = asdict(self)
        for candidate in (candidate for found in answer["found"] for candidate in found["candidates"]):
            if candidate["attention"] is None:
                for name in ("source_tokens", "output_tokens", "attention"):
                    del candidate[name]
        return {"source": answer["source"], "translations": answer["found"]}


@dataclass(frozen=True)
class Request:
    """The models and how they decode."""

    models: list[LoadedTranslator]
    config: BeamConfig | SampleConfig
    attention: bool
    shown: int  # translations of each sentence

    @classmethod
    def build(cls, folders: Sequence[Path], attention: bool, search: dict[str, Any]) -> Self:
        """Load the models; `search` is the command's options.

        Raises:
            InputError: a folder holds no translator, or options contradict each other.
        """
        shown = search["n_best"]
        names = ("temperature", "top_k", "top_p", "max_length", "seed")
        try:
            if search["sample"]:
                config: BeamConfig | SampleConfig = SampleConfig(
                    samples=shown, **{name: search[name] for name in names}
                )
            else:
                others = (
                    "alpha",
                    "length_form",
                    "coverage",
                    "n_best",
                    "groups",
                    "diversity",
                    "min_length",
                    "max_length",
                )
                config = BeamConfig(width=search["beam"], **{name: search[name] for name in others})
        except ValidationError as error:
            raise InputError("; ".join(str(part["msg"]) for part in error.errors())) from error
        models = [LoadedTranslator.load(folder) for folder in folders]
        if len({loaded.name for loaded in models}) < len(models):  # the same name in two places
            models = [replace(loaded, name=str(folder)) for loaded, folder in zip(models, folders, strict=True)]
        return cls(models, config, attention, shown)

    @property
    def plain(self) -> bool:
        """Whether a line a sentence says all."""
        return len(self.models) == 1 and self.shown == 1 and not self.attention

    def answer(self, lines: Sequence[str]) -> list[Answer]:
        """What every model makes of each line."""
        columns = [loaded.answer(lines, self.config, self.attention) for loaded in self.models]
        return [Answer(line, list(found)) for line, *found in zip(lines, *columns, strict=True)]

    def draw(self, line: str, path: Path) -> None:
        """Draw what the first model read for each token of its best translation, as SVG.

        Raises:
            InputError: it has no attention, or the line is empty.
        """
        from langladder.evaluation.translation import Translation
        from langladder.faces.report.translators import attention_plot
        from langladder.ground.artefacts import write_text

        (found,) = self.models[0].answer([line], self.config, attention=True)
        if not found.candidates:
            raise InputError("--attention-svg: the sentence is empty")
        best = found.candidates[0]
        example = Translation(
            source=line,
            reference="",
            output=best.text,
            source_tokens=best.source_tokens,
            output_tokens=best.output_tokens,
            attention=best.attention,
        )
        svg = attention_plot(example, "attention", found.model, standalone=True)
        assert svg is not None  # `found` has weights
        write_text(path, svg)
