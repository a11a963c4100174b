"""Pages of classifiers as their stage writes them, with figures drawn from a seed."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from langladder.evaluation.label_scores import calibration_error, confusion, macro_f1, per_label, reliability
from langladder.evaluation.significance import share_interval
from tests.faces.report.small_run_files import HOSTILE

LABELS = ("negative", "positive")
TEXT = "the film was not very good , but nobody was bored by any of it ."
WORDS = TEXT.split(" ")
TREE = [  # (not (very good))
    {"children": [], "word": 0, "label": None, "said": "negative", "probability": 0.7},
    {"children": [], "word": 1, "label": None, "said": "positive", "probability": 0.6},
    {"children": [], "word": 2, "label": "positive", "said": "positive", "probability": 0.97},
    {"children": [1, 2], "word": None, "label": "positive", "said": "positive", "probability": 0.99},
    {"children": [0, 3], "word": None, "label": "negative", "said": "positive", "probability": 0.8},
]


def decision(text: str, label: str, predicted: str, **more: Any) -> dict[str, Any]:
    """A test text and what was said of it."""
    return {"text": text, "second": None, "label": label, "said": predicted, "probability": 0.8712} | more


def weighed(chance: random.Random, labels: Sequence[str]) -> dict[str, Any]:
    """A decision whose words have weights."""
    words = chance.sample(WORDS, k=len(WORDS))
    weights = [round(chance.gauss(0, 1) ** 3, 4) for _ in words]
    label, predicted = chance.choices(labels, k=2)
    return decision(" ".join(words), label, predicted, pieces=words, weights=weights)


def classifier(
    name: str,
    accuracy: float = 0.8,
    *,
    labels: Sequence[str] = LABELS,
    texts: int = 600,
    best: float | None = 0.95,
    seed: int = 1,
) -> dict[str, Any]:
    """The page of a classifier that is right so often; the same seed judges the same texts."""
    shared, own = np.random.default_rng(seed), np.random.default_rng([seed, *name.encode()])
    gold, hard = shared.integers(0, len(labels), texts), shared.random(texts)
    right = hard + 0.1 * own.random(texts) < accuracy * 1.05
    predicted = np.where(right, gold, (gold + 1 + own.integers(0, len(labels) - 1, texts)) % len(labels))
    matrix = confusion(gold, predicted, len(labels))
    scores, bins = per_label(matrix, labels), reliability(np.clip(1.1 - 0.6 * hard, 0.5, 1.0), right)
    chance, drawn = random.Random(seed), random.Random(f"{name} {seed}")
    examples = [weighed(chance, labels) for _ in range(12)]
    for item in examples:
        item["weights"] = [round(drawn.gauss(0, 1) ** 3, 4) for _ in item["weights"]]
    return {
        "name": name,
        "approach": "recurrent",
        "parameters": 123_456,
        "texts": texts,
        "labels": list(labels),
        "scores": {
            "accuracy": float(right.mean()),
            "accuracy_interval": share_interval(int(right.sum()), texts),
            "macro_f1": macro_f1(scores),
            "cross_entropy": 0.4567,
            "calibration_error": calibration_error(bins),
        },
        "bayes_accuracy": best,
        "bayes_cross_entropy": None if best is None else 0.123,
        "per_label": [score.model_dump() for score in scores],
        "confusion": matrix.tolist(),
        "reliability": [entry.model_dump() for entry in bins],
        "right": "".join("1" if entry else "0" for entry in right),
        "mistakes": [decision(HOSTILE, labels[0], labels[1]), *(weighed(drawn, labels) for _ in range(5))],
        "shown": examples,
    }


def with_trees(page: dict[str, Any]) -> dict[str, Any]:
    """The page of a classifier that reads trees."""
    return page | {"shown": [decision("not very good", "negative", "positive", tree=TREE), *page["shown"]]}


def with_filters(page: dict[str, Any]) -> dict[str, Any]:
    """The page of a network with filters and attention."""
    filters = [
        {"width": 2, "label": label, "ngrams": ["not good", HOSTILE], "values": [3.21, 1.1]} for label in page["labels"]
    ]
    attended = [item | {"attention": [1 / len(WORDS)] * len(item.get("pieces", []))} for item in page["shown"]]
    return page | {"filters": filters, "shown": attended}
