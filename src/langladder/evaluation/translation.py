"""All that is measured and shown of one translator: BLEU and its kin, BLEU by length, examples with attention."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.translate import translate
from langladder.evaluation.bleu import BleuConfig, score_translations
from langladder.models.translator import Translator
from langladder.text.tokenizers import Tokenizer
from langladder.text.words import split_words

BUCKETS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, None))  # source words
EXAMPLES = 6


def evaluate_translator(
    model: Translator,
    pairs: Sequence[tuple[np.ndarray, str, str]],
    tokenizers: tuple[Tokenizer, Tokenizer],
    config: BeamConfig,
) -> dict[str, Any]:
    """Translate test sentences by beam search and score them.

    Args:
        pairs: (source ids with EOS, source text, reference text) of each sentence.
        tokenizers: of the source and of the target.

    Returns:
        {"scores": figures of `bleu.TranslationScore`, "by_length", "examples", "outputs"}; deterministic.
    """
    found = [hypotheses[0] for hypotheses in translate(model, [ids for ids, _, _ in pairs], config)]
    outputs = [tokenizers[1].decode(np.array(hypothesis.tokens, dtype=np.int64)) for hypothesis in found]
    references = [[reference] for _, _, reference in pairs]
    scores = asdict(score_translations(outputs, references))
    scores |= {"bleu_signature": scores.pop("signature")}
    words = np.array([len(split_words(source, "auto")) for _, source, _ in pairs])
    examples = []
    for i in _examples(words):
        ids, source, reference = pairs[i]
        hypothesis = found[i]
        attention = hypothesis.attention
        examples.append(
            {
                "source": source,
                "reference": reference,
                "output": outputs[i],
                "source_tokens": [*_pieces(tokenizers[0], ids[:-1]), "<eos>"],
                "output_tokens": [*_pieces(tokenizers[1], hypothesis.tokens), "<eos>"],
                "attention": None if attention is None else attention.astype(np.float64).round(3).tolist(),
            }
        )
    return {
        "scores": scores,
        "by_length": _by_length(words, outputs, references),
        "examples": examples,
        "outputs": outputs,
    }


def _pieces(tokenizer: Tokenizer, ids: Sequence[int] | np.ndarray) -> list[str]:
    return [tokenizer.decode(np.array([i], dtype=np.int64)) or "·" for i in ids]


def _examples(words: np.ndarray) -> list[int]:
    """Sentences of evenly spread lengths, short to long, the very longest left out."""
    order = np.argsort(words, kind="stable")
    return [int(order[int(place)]) for place in np.linspace(0.1, 0.95, min(EXAMPLES, len(order))) * (len(order) - 1)]


def _by_length(words: np.ndarray, outputs: list[str], references: list[list[str]]) -> list[dict[str, Any]]:
    rows = []
    for low, high in BUCKETS:
        inside = np.flatnonzero((words >= low) & (words <= (high or words.max())))
        if len(inside):
            score = score_translations(
                [outputs[i] for i in inside], [references[i] for i in inside], BleuConfig(bootstrap=0)
            )
            label = f"{low}–{high}" if high else f"{low}+"
            rows.append({"length": label, "sentences": len(inside), "bleu": round(score.bleu, 2)})
    return rows
