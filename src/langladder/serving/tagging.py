"""What a tagger is asked, and what it answers: for `langladder tag` and the explorer. Loads numpy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from langladder.models.tagger import Tagger
from langladder.text.words import split_words


def tag_lines(model: Tagger, lines: Sequence[str], mode: Any, explain: bool) -> list[dict[str, Any]]:
    """[{"words", "tags"}] of each line; to explain, also "probabilities" and the "second" best tags with theirs."""
    sentences = [split_words(line, mode) for line in lines]
    answers: list[dict[str, Any]] = [
        {"words": words, "tags": tags} for words, tags in zip(sentences, model.tag(sentences), strict=True)
    ]
    if not explain:
        return answers
    ids = {name: place for place, name in enumerate(model.tags)}
    for answer, log_probs in zip(answers, model.log_probs(sentences), strict=True):
        p = np.exp(log_probs)  # (T, K)
        said = np.array([ids[name] for name in answer["tags"]], dtype=np.int64)
        rows = np.arange(len(said))
        answer["probabilities"] = [round(float(value), 4) for value in p[rows, said]]
        p[rows, said] = -1.0
        second = p.argmax(axis=1) if len(said) else said
        single = len(model.tags) == 1
        answer["second"] = [None if single else model.tags[place] for place in second]
        answer["second_probabilities"] = [None if single else round(float(value), 4) for value in p[rows, second]]
    return answers
