"""Translate: what a translator, or several side by side, make of sentences.

Of one sentence also how: the best translations beside the greedy one, the attention of every layer, and the beam search
as a tree.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import torch

from langladder.answers.loading import LoadedTranslator, read_translator
from langladder.decoding import translate as decoding
from langladder.decoding.attention_heads import Heads, heads, read_by_step
from langladder.decoding.beam_search import BeamConfig, Hypothesis
from langladder.decoding.beam_trace import Fate, trace
from langladder.decoding.sample_translations import SampleConfig
from langladder.evaluation.translation import pieces
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import EOS, UNK

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


class FoundTranslation(TypedDict):
    """A translation that a search found: its ids without EOS, how many tokens it has with it, its score."""

    text: str
    ids: list[int]
    tokens: int
    score: float
    log_prob: float


class BestTranslations(TypedDict):
    """What is found for a sentence; its tokens, and the places of those that the translator does not know."""

    source: list[str]
    unknown: list[int]
    beam: list[FoundTranslation]
    greedy: FoundTranslation


class LayerWeights(TypedDict):
    """The attention of a layer: who reads whom, and its weights (heads, tokens, tokens), see `Heads`."""

    kind: str
    layer: int
    weights: list[list[list[float]]]


class AttentionWeights(TypedDict):
    """The tokens of a sentence and of its translation, and what every layer reads of them."""

    source: list[str]
    target: list[str]
    layers: list[LayerWeights]


class SearchNode(TypedDict):
    """A token behind its parent in a beam search, see `decoding.beam_trace.Node`."""

    parent: int | None
    step: int
    token: str
    log_prob: float
    total: float
    fate: Fate
    score: float | None


class SearchTree(TypedDict):
    """All nodes of a beam search; which of them end the translations that it returns, and the texts of these."""

    nodes: list[SearchNode]
    ends: list[int]
    texts: list[str]


def search(loaded: LoadedTranslator, source: np.ndarray, config: BeamConfig) -> BestTranslations:
    """The best translations by beam search, and the greedy one.

    Args:
        source: ids … EOS.
    """
    (beam,) = decoding.translate(loaded.model, [source], config)
    (greedy,) = decoding.translate(loaded.model, [source], config.model_copy(update={"width": 1, "n_best": 1}))
    return {
        "source": pieces(loaded.source, source[:-1]),
        "unknown": [position for position, token in enumerate(source.tolist()) if token == UNK],
        "beam": [_found(loaded, one) for one in beam],
        "greedy": _found(loaded, greedy[0]),
    }


def _found(loaded: LoadedTranslator, found: Hypothesis) -> FoundTranslation:
    return {
        "text": loaded.target.decode(found.tokens),
        "ids": found.tokens,
        "tokens": len(found.tokens) + 1,
        "score": round(found.score, 6),
        "log_prob": round(found.log_prob, 6),
    }


def weights(loaded: LoadedTranslator, source: np.ndarray, ids: Sequence[int]) -> AttentionWeights:
    """Every layer's attention; of a network without layers of it what its search sees, of one without any nothing.

    Args:
        source: ids … EOS. ids: of the translation, without EOS.

    Raises:
        InputError: an id is not one of the target's.
    """
    if ids and max(ids) >= loaded.model.target_vocab_size:
        raise InputError(f"ids: {max(ids)} is not one of the target's {loaded.model.target_vocab_size:,} tokens")
    layers = heads(loaded.model, source.tolist(), ids)
    if not layers:
        seen = read_by_step(loaded.model, source.tolist(), ids)
        layers = [] if seen is None else [Heads("source", 1, seen[None])]
    return {
        "source": [*pieces(loaded.source, source[:-1]), "<eos>"],
        "target": [*pieces(loaded.target, ids), "<eos>"],
        "layers": [
            {"kind": one.kind, "layer": one.layer, "weights": one.weights.astype(float).round(3).tolist()}
            for one in layers
        ],
    }


def search_tree(loaded: LoadedTranslator, source: np.ndarray, config: BeamConfig) -> SearchTree:
    """The beam search for one sentence, step by step.

    Args:
        source: ids … EOS.
    """
    device = next(loaded.model.parameters()).device
    with torch.autocast(device.type, enabled=False):
        found = trace(loaded.model, torch.from_numpy(source)[None].to(device), config)
    tokens = pieces(loaded.target, [node.token for node in found.nodes])
    nodes: list[SearchNode] = [
        {
            "parent": node.parent,
            "step": node.step,
            "token": "<eos>" if node.token == EOS else piece,
            "log_prob": round(node.log_prob, 4) + 0.0,
            "total": round(node.total, 4) + 0.0,
            "fate": node.fate,
            "score": None if node.score is None else round(node.score, 4),
        }
        for node, piece in zip(found.nodes, tokens, strict=True)
    ]
    return {"nodes": nodes, "ends": found.ends, "texts": [loaded.target.decode(best.tokens) for best in found.best]}
