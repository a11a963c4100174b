"""What a tagger is asked, and what it answers: for `langladder tag` and the explorer. Loads numpy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from langladder.models.tagger import Tagger
from langladder.text.words.segmenters import WordChoice, splitter_of


def tag_lines(model: Tagger, lines: Sequence[str], mode: WordChoice, explain: bool) -> list[dict[str, Any]]:
    """[{"words", "tags"}] of each line; to explain, also "probabilities" and the "second" best tags with theirs.

    A blank line has no words and no tags; the model is not asked. The model reads each word as its training text is
    written; the answer has the words as they were given, but where invisible characters hide where one ends.
    """
    split = splitter_of(mode)
    sentences = [split(line) for line in lines]
    if mode != "whitespace" and model.normalisation.names:
        written = [split(line) for line in model.normalisation.normalise_all(lines)]
        sentences = [
            words if len(words) == len(other) else other for words, other in zip(sentences, written, strict=True)
        ]
    asked = [[model.normalisation.word(word) for word in words] for words in sentences if words]
    tagged = iter(model.tag(asked) if asked else [])
    answers: list[dict[str, Any]] = [{"words": words, "tags": next(tagged) if words else []} for words in sentences]
    if not explain:
        return answers
    ids = {name: place for place, name in enumerate(model.tags)}
    explained = iter(model.log_probs(asked) if asked else [])
    for answer in answers:
        p = np.exp(next(explained)) if answer["words"] else np.zeros((0, len(ids)))  # (T, K)
        said = np.array([ids[name] for name in answer["tags"]], dtype=np.int64)
        rows = np.arange(len(said))
        answer["probabilities"] = [round(float(value), 4) for value in p[rows, said]]
        p[rows, said] = -1.0
        second = p.argmax(axis=1) if len(said) else said
        single = len(model.tags) == 1
        answer["second"] = [None if single else model.tags[place] for place in second]
        answer["second_probabilities"] = [None if single else round(float(value), 4) for value in p[rows, second]]
    return answers
