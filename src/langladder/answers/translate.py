"""Translate: the translations of sentences by one or several translators.

For one sentence also the steps: the best translations and the greedy one, the attention of every layer, and the beam
search as a tree.
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

MOST_CHARACTERS = 100_000  # limit of a sentence before it is tokenized, which needs much memory
MOST_TOKENS = 10_000  # limit of a sentence: memory grows with the square of its tokens


@dataclass(frozen=True)
class Candidate:
    """One translation; `attention` (output tokens, source tokens) only if requested; each row sums to 1."""

    text: str
    score: float
    log_prob: float
    source_tokens: list[str]
    output_tokens: list[str]
    attention: list[list[float]] | None = None


@dataclass(frozen=True)
class Translations:
    """The translations of a sentence by one model, best first; none for an empty sentence."""

    model: str
    candidates: list[Candidate]


@dataclass(frozen=True)
class SentenceTranslations:
    """The translations of a sentence by several models."""

    source: str
    found: list[Translations]

    @property
    def best(self) -> str:
        """The first model's best translation; empty for an empty line."""
        return self.found[0].candidates[0].text if self.found[0].candidates else ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON; attention and tokens only if attention was requested."""
        answer = asdict(self)
        for candidate in (candidate for translations in answer["found"] for candidate in translations["candidates"]):
            if candidate["attention"] is None:
                for name in ("source_tokens", "output_tokens", "attention"):
                    del candidate[name]
        return {"source": answer["source"], "translations": answer["found"]}


def read_translators(folders: Sequence[Path]) -> list[LoadedTranslator]:
    """Several translators; if two have the same name, all are named by their paths. Raises as `read_translator`."""
    models = [read_translator(folder) for folder in folders]
    if len({loaded.name for loaded in models}) < len(models):
        models = [replace(loaded, name=str(folder)) for loaded, folder in zip(models, folders, strict=True)]
    return models


def translate(
    loaded: LoadedTranslator, lines: Sequence[str], config: BeamConfig | SampleConfig, *, attention: bool = False
) -> list[Translations]:
    """The translations of each line by a translator.

    The `n_best` translations of a search have different texts: if the search found several segmentations of a text, it
    has the score and the probability of the best one. (The beam has only some of the segmentations, so their sum would
    not be the probability of the text either.) Sampled translations are not changed.

    Args:
        config: from `TranslateRequest.search`.

    Raises:
        InputError: a line is too long, or attention is requested from a model without it.
    """
    for line in lines:
        _check_length(line, len(line), MOST_CHARACTERS, "characters")
    filled = [index for index, line in enumerate(lines) if line.strip()]
    sources = [np.append(ids, EOS) for ids in loaded.source.encode_lines([lines[index] for index in filled])]
    for index, ids in zip(filled, sources, strict=True):
        _check_length(lines[index], len(ids), MOST_TOKENS, "tokens")
    result: list[list[Candidate]] = [[] for _ in lines]
    searched, most = config, None
    if isinstance(config, BeamConfig) and config.n_best > 1:
        searched, most = config.model_copy(update={"n_best": config.width}), config.n_best
    results = decoding.translate(loaded.model, sources, searched)
    for index, ids, hypotheses in zip(filled, sources, results, strict=True):
        if attention and any(hypothesis.attention is None for hypothesis in hypotheses):
            raise InputError(f"{loaded.name}: {type(loaded.model).__name__} has no attention to show")
        chosen = hypotheses if most is None else _of_different_texts(loaded, hypotheses)[:most]
        result[index] = [_candidate(loaded, ids, hypothesis, attention) for hypothesis in chosen]
    return [Translations(loaded.name, candidates) for candidates in result]


def translate_by_all(
    models: Sequence[LoadedTranslator],
    lines: Sequence[str],
    config: BeamConfig | SampleConfig,
    *,
    attention: bool = False,
) -> list[SentenceTranslations]:
    """The translations of each line by every model."""
    columns = [translate(loaded, lines, config, attention=attention) for loaded in models]
    return [SentenceTranslations(line, list(results)) for line, *results in zip(lines, *columns, strict=True)]


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
        raise InputError(f"{line[:40]!r} … has {length:,} {unit}; a sentence can have {most:,}: split it")


class FoundTranslation(TypedDict):
    """A translation of a search: its ids without EOS, its number of tokens with EOS, its score."""

    text: str
    ids: list[int]
    tokens: int
    score: float
    log_prob: float


class BestTranslations(TypedDict):
    """The translations of a sentence; its tokens, and the positions of unknown ones."""

    source: list[str]
    unknown: list[int]
    beam: list[FoundTranslation]
    greedy: FoundTranslation
    attends: bool


class LayerWeights(TypedDict):
    """The attention of a layer: its kind, and its weights (heads, tokens, tokens), see `Heads`."""

    kind: str
    layer: int
    weights: list[list[list[float]]]


class AttentionWeights(TypedDict):
    """The tokens of a sentence and of its translation, and the attention of every layer."""

    source: list[str]
    target: list[str]
    layers: list[LayerWeights]


class SearchNode(TypedDict):
    """A token after its parent in a beam search, see `decoding.beam_trace.Node`."""

    parent: int | None
    step: int
    token: str
    log_prob: float
    total: float
    fate: Fate
    score: float | None


class SearchTree(TypedDict):
    """All nodes of a beam search, the last nodes of the returned translations, and their texts."""

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
        "beam": [_found_translation(loaded, hypothesis) for hypothesis in beam],
        "greedy": _found_translation(loaded, greedy[0]),
        "attends": greedy[0].attention is not None,
    }


def _found_translation(loaded: LoadedTranslator, hypothesis: Hypothesis) -> FoundTranslation:
    return {
        "text": loaded.target.decode(hypothesis.tokens),
        "ids": hypothesis.tokens,
        "tokens": len(hypothesis.tokens) + 1,
        "score": round(hypothesis.score, 6),
        "log_prob": round(hypothesis.log_prob, 6),
    }


def weights(loaded: LoadedTranslator, source: np.ndarray, ids: Sequence[int]) -> AttentionWeights:
    """Every layer's attention; the attention of the search if it has no attention layers; nothing without attention.

    Args:
        source: ids … EOS. ids: of the translation, without EOS.

    Raises:
        InputError: an id is not in the target's vocabulary.
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
            {"kind": layer.kind, "layer": layer.layer, "weights": layer.weights.astype(float).round(3).tolist()}
            for layer in layers
        ],
    }


def search_tree(loaded: LoadedTranslator, source: np.ndarray, config: BeamConfig) -> SearchTree:
    """The beam search for one sentence, step by step.

    Args:
        source: ids … EOS.
    """
    device = next(loaded.model.parameters()).device
    with torch.autocast(device.type, enabled=False):
        tree = trace(loaded.model, torch.from_numpy(source)[None].to(device), config)
    tokens = pieces(loaded.target, [node.token for node in tree.nodes])
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
        for node, piece in zip(tree.nodes, tokens, strict=True)
    ]
    return {"nodes": nodes, "ends": tree.ends, "texts": [loaded.target.decode(best.tokens) for best in tree.best]}
