"""Tag: a tag for each word of a sentence, with its probability given the whole sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langladder.answers.requests import TagRequest
from langladder.models.tagging.tagger import Tagger
from langladder.text.words.segmentation import splitter_of


@dataclass(frozen=True)
class TaggedLine:
    """The words of a line and their tags; none for a blank line.

    Attributes:
        probabilities: the marginal of each tag given the whole sentence, if requested; then also the `second` best
            tags with theirs, None if the tagger has only one tag.
    """

    words: list[str]
    tags: list[str]
    probabilities: list[float] | None = None
    second: list[str | None] | None = None
    second_probabilities: list[float | None] | None = None

    def as_dict(self) -> dict[str, object]:
        """For JSON, without what was not requested."""
        return {name: value for name, value in vars(self).items() if value is not None}


def tag(model: Tagger, lines: Sequence[str], request: TagRequest) -> list[TaggedLine]:
    """The words of each line with their tags.

    The model reads normalised words; the answer has the original words, except if invisible characters hide
    the end of a word.
    """
    split = splitter_of(request.words)
    sentences = [split(line) for line in lines]
    if request.words != "whitespace" and model.normalisation.names:
        written = [split(line) for line in model.normalisation.normalise_all(lines)]
        sentences = [
            words if len(words) == len(other) else other for words, other in zip(sentences, written, strict=True)
        ]
    filled = [[model.normalisation.word(word) for word in words] for words in sentences if words]
    tags = iter(model.tag(filled) if filled else [])
    tagged = [TaggedLine(words, next(tags) if words else []) for words in sentences]
    if not request.explain:
        return tagged
    log_probs = iter(model.log_probs(filled) if filled else [])
    empty = np.zeros((0, len(model.tags)))
    return [_explained(model, line, np.exp(next(log_probs)) if line.words else empty) for line in tagged]


def _explained(model: Tagger, line: TaggedLine, p: np.ndarray) -> TaggedLine:
    """A line with the tag probabilities p (T, K) of its words."""
    best = np.array([model.tags.index(name) for name in line.tags], dtype=np.int64)
    rows = np.arange(len(best))
    probabilities = [round(float(value), 4) for value in p[rows, best]]
    p[rows, best] = -1.0
    second = p.argmax(axis=1) if len(best) else best
    single = len(model.tags) == 1
    return TaggedLine(
        line.words,
        line.tags,
        probabilities,
        [None if single else model.tags[index] for index in second],
        [None if single else round(float(value), 4) for value in p[rows, second]],
    )
