"""What `langladder translate` asks of its models, and what they answer. Loads torch: import inside a command."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import ValidationError

from langladder.decoding.beam_search import BeamConfig, Hypothesis
from langladder.decoding.sample_translations import SampleConfig
from langladder.decoding.translate import translate
from langladder.errors import InputError
from langladder.evaluation.translation import pieces
from langladder.models.translator import Translator
from langladder.text.specials import EOS
from langladder.text.tokenizers import Tokenizer

MOST_TOKENS = 10_000  # of a sentence: what a model reads at once takes memory by their square


@dataclass(frozen=True)
class Candidate:
    """One translation; `attention` (output tokens, source tokens) only where it was asked for, each row sums to 1."""

    text: str
    score: float
    log_prob: float
    source_tokens: list[str]
    output_tokens: list[str]
    attention: list[list[float]] | None = None


@dataclass(frozen=True)
class Found:
    """What one model makes of a sentence, best first; nothing of an empty one."""

    model: str
    candidates: list[Candidate]


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
class LoadedTranslator:
    """A translator with its tokenizers."""

    name: str
    model: Translator
    source: Tokenizer
    target: Tokenizer

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a folder of the pipeline. Raises InputError for anything else."""
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder}: not a translator (a folder with config.json); see models/translator/")
        model = Translator.load(folder)
        sides = {}
        for side, size in (("source", model.source_vocab_size), ("target", model.target_vocab_size)):
            sides[side] = Tokenizer.load(folder / f"{side}.json")
            if sides[side].vocab_size != size:
                raise InputError(f"{folder}: the model has {size} tokens, its {side}.json {sides[side].vocab_size}")
        return cls(folder.resolve().name, model, **sides)

    def answer(self, lines: Sequence[str], config: BeamConfig | SampleConfig, attention: bool) -> list[Found]:
        """What this model makes of each line."""
        filled = [place for place, line in enumerate(lines) if line.strip()]
        sources = [np.append(ids, EOS) for ids in self.source.encode_lines([lines[place] for place in filled])]
        for place, ids in zip(filled, sources, strict=True):
            if len(ids) > MOST_TOKENS:
                shown = f"{lines[place][:40]!r} …"
                raise InputError(f"{shown} has {len(ids):,} tokens; a sentence may have {MOST_TOKENS:,}: cut it")
        found: list[list[Candidate]] = [[] for _ in lines]
        for place, ids, hypotheses in zip(filled, sources, translate(self.model, sources, config), strict=True):
            if attention and any(hypothesis.attention is None for hypothesis in hypotheses):
                raise InputError(f"{self.name}: {type(self.model).__name__} has no attention to show")
            found[place] = [self._candidate(ids, hypothesis, attention) for hypothesis in hypotheses]
        return [Found(self.name, candidates) for candidates in found]

    def _candidate(self, ids: np.ndarray, hypothesis: Hypothesis, attention: bool) -> Candidate:
        weights = hypothesis.attention if attention else None
        return Candidate(
            text=self.target.decode(hypothesis.tokens),
            score=round(hypothesis.score, 6),
            log_prob=round(hypothesis.log_prob, 6),
            source_tokens=[*pieces(self.source, ids[:-1]), "<eos>"],
            output_tokens=[*pieces(self.target, hypothesis.tokens), "<eos>"],
            attention=None if weights is None else weights.astype(np.float64).round(4).tolist(),
        )


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
        from langladder.artefacts import write_text
        from langladder.evaluation.translator_page import Translation
        from langladder.reporting.plots import attention_plot

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
