"""A translator with its tokenizers: sentences in, candidates out. Loads torch: import inside what needs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from langladder.decoding.beam_search import BeamConfig, Hypothesis
from langladder.decoding.sample_translations import SampleConfig
from langladder.decoding.translate import translate
from langladder.evaluation.translation import pieces
from langladder.ground.errors import InputError
from langladder.models.translator import Translator
from langladder.text.tokenize.specials import EOS
from langladder.text.tokenize.tokenizers import Tokenizer

MOST_CHARACTERS = 100_000  # of a sentence: more is refused before it is tokenized, which takes much memory
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
        """What this model makes of each line.

        Of `n_best` translations that are searched for, no two have one text: where the search found several
        segmentations of it, it has the score and the probability of the best one. (What the beam holds of the others is
        a part of them, so that a sum would be no probability of the text either.) Drawn ones are as they were drawn.
        """
        for line in lines:
            _check_length(line, len(line), MOST_CHARACTERS, "characters")
        filled = [place for place, line in enumerate(lines) if line.strip()]
        sources = [np.append(ids, EOS) for ids in self.source.encode_lines([lines[place] for place in filled])]
        for place, ids in zip(filled, sources, strict=True):
            _check_length(lines[place], len(ids), MOST_TOKENS, "tokens")
        found: list[list[Candidate]] = [[] for _ in lines]
        searched, most = config, None
        if isinstance(config, BeamConfig) and config.n_best > 1:
            searched, most = config.model_copy(update={"n_best": config.width}), config.n_best
        for place, ids, hypotheses in zip(filled, sources, translate(self.model, sources, searched), strict=True):
            if attention and any(hypothesis.attention is None for hypothesis in hypotheses):
                raise InputError(f"{self.name}: {type(self.model).__name__} has no attention to show")
            chosen = hypotheses if most is None else self._of_different_texts(hypotheses)[:most]
            found[place] = [self._candidate(ids, hypothesis, attention) for hypothesis in chosen]
        return [Found(self.name, candidates) for candidates in found]

    def _of_different_texts(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The first of each text."""
        first: dict[str, Hypothesis] = {}
        for hypothesis in hypotheses:
            first.setdefault(self.target.decode(hypothesis.tokens), hypothesis)
        return list(first.values())

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


def _check_length(line: str, length: int, most: int, unit: str) -> None:
    if length > most:
        raise InputError(f"{line[:40]!r} … has {length:,} {unit}; a sentence may have {most:,}: cut it")
