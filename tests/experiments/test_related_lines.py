"""Documents of lines that share a token: which, in what order, and that nothing is lost."""

from typing import Any

import numpy as np
import pytest

from langladder.experiments.experiment import Data
from langladder.experiments.pretraining import body_comparison
from langladder.experiments.pretraining.body_comparison import (
    BodyComparison,
    BodyComparisonConfig,
    rarest_shared,
    related,
)
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS

LINES = [[10, 11, 20], [10, 12, 21], [10, 11, 22, 22], [10, 12], [30], [10]]
"""Token 10 is in five lines, 11 and 12 in two each, the others in one."""


def stream(lines: list[list[int]], first: int = 3) -> TokenStream:
    """Two documents, the first of so many lines."""
    parts = [np.array([BOS, *line, EOS], dtype=np.int32) for line in lines]
    sizes = np.cumsum([0, *map(len, parts)])
    return TokenStream(np.concatenate(parts), sizes[[0, first, len(parts)]])


def lines_of(text: TokenStream, document: int) -> list[list[int]]:
    ids = text.document(document)
    return [line[1:-1].tolist() for line in np.split(ids, np.flatnonzero(ids == EOS)[:-1] + 1)]


def test_golden_documents_of_lines_that_share_their_rarest_token() -> None:
    found = related(stream(LINES))
    documents = [lines_of(found, document) for document in range(len(found))]
    assert documents == [[[30]], [[10]], [[10, 11, 20], [10, 11, 22, 22]], [[10, 12, 21], [10, 12]]]


def test_a_token_twice_in_one_line_is_not_shared() -> None:
    text = stream([[10, 22, 22], [10, 11], [11, 22]])
    assert rarest_shared(text.ids, np.flatnonzero(text.ids == BOS)).tolist() == [10, 10, 11]


def test_no_line_is_lost(data: Data) -> None:
    text = data.stream("train")
    found = related(text)
    assert found.offsets[0] == 0 and found.offsets[-1] == len(text.ids) and (np.diff(found.offsets) > 0).all()
    assert (np.bincount(found.ids) == np.bincount(text.ids)).all()
    assert all(document[0] == BOS and document[-1] == EOS for document in map(found.document, range(len(found))))
    assert (related(found).ids == found.ids).all()


@pytest.mark.parametrize(("documents", "count"), [("related", 2), ("text", 0)])
def test_a_comparison_arranges_what_is_learnt_and_what_is_told(
    documents: str, count: int, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[TokenStream] = []

    def watched(text: TokenStream) -> TokenStream:
        seen.append(text)
        return related(text)

    monkeypatch.setattr(body_comparison, "related", watched)
    settings: dict[str, Any] = {"bases": ["bert"], "variants": {"pairs": {"next_sentence": True}, "words": {}}}
    settings |= {
        "expect": [{"each": ["words"], "is": "as good", "than": "pairs", "margin": 0.01}],
        "documents": documents,
    }
    settings |= {"width": 16, "layers": 1, "sequence_length": 24, "effort": 0.01, "world": "tiny", "seeds": 1}
    comparison = BodyComparison(BodyComparisonConfig.model_validate(settings))
    found = comparison.run(data, seed=1, progress=lambda _: None)
    assert [len(text.ids) for text in seen] == [len(data.stream(split).ids) for split in ("train", "test")][:count]
    assert 0 <= found.figures["pairs_follows"] <= 1 and "words_follows" not in found.figures
