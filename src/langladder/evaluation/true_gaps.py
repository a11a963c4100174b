"""The distance of an encoder's predictions for a gap from the true distribution, if the process of the text is known.

What is compared: one word of a story of microworld is hidden, a word that the tokenizer writes as one token, by one
`<mask>`. One gap stands for one token, so the truth is

    P(w | the rest, w is one token) = P(story with w) / Σ_v P(story with v),   v over words of one token

and the model's is its probability of that token, over all tokens. A model that knew the process would reach it. The
truth knows the whole story; the model sees as many of its lines around the gap as a row of its training holds.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np
import torch

from langladder.data.batches import generator
from langladder.evaluation.page import LOGGED, Measured, Metric
from langladder.ground.progress import tracked
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import Masked, padded
from langladder.text.tokenize.specials import EOS
from langladder.text.tokenize.tokenizers import Tokenizer, word_pieces
from microworld.engine import world

SURE = 3
"""Number of lines that are checked: microworld must give their stored probabilities to count as the text's process."""

POSITION_SEED = 23  # so that positions are drawn independently of everything else


class TrueScores(Measured):
    """Whole words that are one token, hidden by themselves; truth: P(word | the rest, one token).

    Attributes:
        words: hidden. perplexity, true_perplexity: e to the mean surprise at the word that stood there.
        above_percent: of the first above the second. divergence: mean KL(truth ‖ model), nats per word.
        expected_above_percent: 100 (e^divergence − 1): the same in the mean over what could have stood there.
    """

    words: int
    perplexity: Annotated[
        float,
        Metric(
            "hidden words",
            "perplexity of words that are one token, each hidden by itself",
            unit="perplexity",
            better="lower",
            after="above the truth",
            card="perplexity of hidden words",
        ),
    ]
    true_perplexity: Annotated[
        float,
        Metric(
            "truth",
            "perplexity of the same hidden words under their true distribution",
            unit="perplexity",
            after="hidden words",
            card="perplexity of hidden words under their true distribution",
        ),
    ]
    above_percent: Annotated[float, LOGGED]
    divergence: Annotated[float, LOGGED]
    expected_above_percent: Annotated[
        float,
        Metric(
            "above the truth",
            "by how much the perplexity of hidden words exceeds the perplexity of their true distribution, in the mean "
            "over all words that could have stood there: e^KL − 1, where KL is the mean divergence between the two "
            "distributions; only of words that are one token; known only for a corpus with a known grammar",
            unit="percent",
            better="lower",
            brief=True,
            compared=True,
            card="per cent above the true distribution of hidden words",
        ),
    ]


class HiddenWord(NamedTuple):
    """A line of a story with a word to hide.

    Attributes:
        words: of the line. position: of the hidden one. ids: tokens of the line, and of those around it that the model
            sees, EOS between two; token: which of them is hidden.
        truth: word → its true probability; tokens: word → its token, of the same words.
    """

    words: list[str]
    position: int
    ids: np.ndarray
    token: int
    truth: Mapping[str, float]
    tokens: dict[str, int]


def is_microworld(documents: Sequence[Sequence[str]], log_probs: Sequence[float | None]) -> bool:
    """Whether microworld drew the documents: it gives the first lines these log-probabilities.

    Args:
        log_probs: of all lines, one after the other.
    """
    known = [p for p in log_probs[: len(documents[0])][:SURE] if p is not None] if documents else []
    reading = world().read(line.split() for line in documents[0][:SURE]) if known else None
    scores = [math.fsum(line) for line in reading.log_probs] if reading else []
    return len(scores) == len(known) > 0 and all(abs(a - b) < 1e-6 for a, b in zip(scores, known, strict=True))


def hidden_words(
    tokenizer: Tokenizer,
    documents: Sequence[Sequence[str]],
    count: int,
    *,
    room: int,
    most_lines: int | None = None,
) -> list[HiddenWord]:
    """So many hidden words, of lines evenly spread over the text, drawn from nothing but their number.

    Args:
        room: tokens of a row, without specials. most_lines: lines of a row; None: as many as fit.
    """
    where = [(document, line) for document in documents for line in range(len(document))]
    chosen = np.linspace(0, len(where) - 1, min(count, len(where))).astype(np.int64)
    random, gaps = generator(POSITION_SEED), []
    for number in tracked(chosen.tolist(), "what could stand in gaps", unit="words"):
        document, line = where[number]
        gap = _hide(tokenizer, document, line, random)
        if gap is not None and len(gap.ids) <= room:
            gaps.append(_among_lines(gap, [tokenizer.encode(other) for other in document], line, room, most_lines))
    return gaps


def _hide(tokenizer: Tokenizer, document: Sequence[str], line: int, random: np.random.Generator) -> HiddenWord | None:
    words = document[line].split()
    pieces = _pieces(tokenizer, words)
    ids = tokenizer.encode(" ".join(words))
    single = [position for position, piece in enumerate(pieces) if len(piece) == 1]
    if not single or np.concatenate(pieces).tolist() != ids.tolist():
        return None
    position = single[int(random.integers(len(single)))]
    possible = world().hidden_word([line.split() for line in document], line, position)
    first = position == 0
    cut = tokenizer.encode_lines(list(possible)) if first else word_pieces(tokenizer, list(possible))
    tokens = {word: int(piece[0]) for word, piece in zip(possible, cut, strict=True) if len(piece) == 1}
    total = sum(possible[word] for word in tokens)
    if words[position] not in tokens or not total:
        return None
    shares = {word: possible[word] / total for word in tokens}
    return HiddenWord(words, position, ids, sum(len(piece) for piece in pieces[:position]), shares, tokens)


def _among_lines(gap: HiddenWord, lines: Sequence[np.ndarray], line: int, room: int, most: int | None) -> HiddenWord:
    """The hidden word in a row of as many lines of its document as fit, those before and after it in turn.

    Args:
        lines: tokens of each line of the document. line: whose word is hidden.
    """
    first = last = line
    length = len(gap.ids)
    for step in range(1, 2 * len(lines)):
        other = first - 1 if step % 2 else last + 1
        fits = 0 <= other < len(lines) and length + 1 + len(lines[other]) <= room
        if fits and (most is None or last - first + 1 < most):
            first, last, length = min(first, other), max(last, other), length + 1 + len(lines[other])
    row = [part for number in range(first, last + 1) for part in ([EOS], lines[number])][1:]
    before = sum(len(part) + 1 for part in lines[first:line])
    return gap._replace(ids=np.concatenate(row).astype(np.int32), token=before + gap.token)


def _pieces(tokenizer: Tokenizer, words: list[str]) -> list[np.ndarray]:
    """The tokens of each word of a line: the first stands without a space before it."""
    return [*tokenizer.encode_lines(words[:1]), *word_pieces(tokenizer, words[1:])]


def gap_log_probs(model: BERT, hidden: Sequence[HiddenWord], batch_size: int = 64) -> torch.Tensor:
    """What the model says of each gap: log P (N, V)."""
    rows = []
    for start in range(0, len(hidden), batch_size):
        part = hidden[start : start + batch_size]
        tokens = padded([model.framed(gap.ids)[0] for gap in part])
        positions = torch.tensor([row * tokens.shape[1] + gap.token + 1 for row, gap in enumerate(part)])
        targets = tokens.flatten()[positions]
        tokens.view(-1)[positions] = model.mask
        none = torch.zeros(0, dtype=torch.int64)
        rows.append(model.masked_log_probs(Masked(tokens, torch.zeros_like(tokens), positions, targets, none)))
    return torch.cat(rows)


def true_scores(hidden: Sequence[HiddenWord], log_probs: torch.Tensor) -> TrueScores | None:
    """Model and truth on the same hidden words: log_probs (N, V) as `gap_log_probs` gives them."""
    if not hidden:
        return None
    model = truth = divergence = 0.0
    for gap, row in zip(hidden, log_probs.double(), strict=True):
        word = gap.words[gap.position]
        model -= float(row[gap.tokens[word]])
        truth -= math.log(gap.truth[word])
        # KL(p ‖ q) = Σ_w p(w) (log p(w) − log q(w))
        divergence += sum(p * (math.log(p) - float(row[gap.tokens[w]])) for w, p in gap.truth.items())
    n = len(hidden)
    return TrueScores(
        words=n,
        perplexity=math.exp(model / n),
        true_perplexity=math.exp(truth / n),
        above_percent=100 * (math.exp((model - truth) / n) - 1),
        divergence=divergence / n,
        expected_above_percent=100 * (math.exp(divergence / n) - 1),
    )
