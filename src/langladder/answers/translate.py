"""Translate: what a translator, or several side by side, make of sentences."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from langladder.answers.loading import LoadedTranslator, read_translator
from langladder.decoding import translate as decoding
from langladder.decoding.beam_search import BeamConfig, Hypothesis
from langladder.decoding.sample_translations import SampleConfig
from langladder.evaluation.translation import pieces
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import EOS

MOST_CHARACTERS = 100_000  # of a sentence: more is refused before it is tokenized, which takes much memory
MOST_TOKENS = 10_000  # of a sentence: what a model reads at once takes memory by their square


@dataclass(frozen=True)
class Candidate:
    """One translation; `attention` (output tokens, source tokens) only where it was requested, each row sums to 1."""

    text: str
    score: float
    log_prob: float
    source_tokens: list[str]
    output_tokens: list[str]
    attention: list[list[float]] | None = None


@dataclass(frozen=True)
class Translations:
    """What one model makes of a sentence, best first; nothing of an empty one."""

    model: str
    candidates: list[Candidate]


@dataclass(frozen=True)
class SentenceTranslations:
    """What several models make of a sentence."""

    source: str
    found: list[Translations]

    @property
    def best(self) -> str:
        """The first model's best translation; of an empty line an empty one."""
        return self.found[0].candidates[0].text if self.found[0].candidates else ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON; attention and tokens only where attention was requested."""
        answer = asdict(self)
        for candidate in (candidate for found in answer["found"] for candidate in found["candidates"]):
            if candidate["attention"] is None:
                for name in ("source_tokens", "output_tokens", "attention"):
                    del candidate[name]
        return {"source": answer["source"], "translations": answer["found"]}


def read_translators(folders: Sequence[Path]) -> list[LoadedTranslator]:
    """Several translators; where two have the same name, all go by their paths. Raises as `read_translator` does."""
    models = [read_translator(folder) for folder in folders]
    if len({loaded.name for loaded in models}) < len(models):
        models = [replace(loaded, name=str(folder)) for loaded, folder in zip(models, folders, strict=True)]
    return models


def translate(
    loaded: LoadedTranslator, lines: Sequence[str], config: BeamConfig | SampleConfig, *, attention: bool = False
) -> list[Translations]:
    """What a translator makes of each line.

    Of `n_best` translations that are searched for, no two have one text: where the search found several
    segmentations of it, it has the score and the probability of the best one. (What the beam holds of the others is
    a part of them, so that a sum would be no probability of the text either.) Drawn ones are as they were drawn.

    Args:
        config: `TranslateRequest.search` makes it.

    Raises:
        InputError: a line is too long, or attention is requested of a model that has none.
    """
    for line in lines:
        _check_length(line, len(line), MOST_CHARACTERS, "characters")
    filled = [index for index, line in enumerate(lines) if line.strip()]
    sources = [np.append(ids, EOS) for ids in loaded.source.encode_lines([lines[index] for index in filled])]
    for index, ids in zip(filled, sources, strict=True):
        _check_length(lines[index], len(ids), MOST_TOKENS, "tokens")
    found: list[list[Candidate]] = [[] for _ in lines]
    searched, most = config, None
    if isinstance(config, BeamConfig) and config.n_best > 1:
        searched, most = config.model_copy(update={"n_best": config.width}), config.n_best
    results = decoding.translate(loaded.model, sources, searched)
    for index, ids, hypotheses in zip(filled, sources, results, strict=True):
        if attention and any(hypothesis.attention is None for hypothesis in hypotheses):
            raise InputError(f"{loaded.name}: {type(loaded.model).__name__} has no attention to show")
        chosen = hypotheses if most is None else _of_different_texts(loaded, hypotheses)[:most]
        found[index] = [_candidate(loaded, ids, hypothesis, attention) for hypothesis in chosen]
    return [Translations(loaded.name, candidates) for candidates in found]


def translate_by_all(
    models: Sequence[LoadedTranslator],
    lines: Sequence[str],
    config: BeamConfig | SampleConfig,
    *,
    attention: bool = False,
) -> list[SentenceTranslations]:
    """What every model makes of each line."""
    columns = [translate(loaded, lines, config, attention=attention) for loaded in models]
    return [SentenceTranslations(line, list(found)) for line, *found in zip(lines, *columns, strict=True)]


def _of_different_texts(loaded: LoadedTranslator, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The first of each text."""
    first: dict[str, Hypothesis] = {}
    for hypothesis in hypotheses:
        first.setdefault(loaded.target.decode(hypothesis.tokens), hypothesis)
    return list(first.values())


def _candidate(loaded: LoadedTranslator, ids: np.ndarray, hypothesis: Hypothesis, attention: bool) -> Candidate:
    weights = hypothesis.attention if attention else None
    return Candidate(
        text=loaded.target.decode(hypothesis.tokens),
        score=round(hypothesis.score, 6),
        log_prob=round(hypothesis.log_prob, 6),
        source_tokens=[*pieces(loaded.source, ids[:-1]), "<eos>"],
        output_tokens=[*pieces(loaded.target, hypothesis.tokens), "<eos>"],
        attention=None if weights is None else weights.astype(np.float64).round(4).tolist(),
    )


def _check_length(line: str, length: int, most: int, unit: str) -> None:
    if length > most:
        raise InputError(f"{line[:40]!r} … has {length:,} {unit}; a sentence may have {most:,}: cut it")
