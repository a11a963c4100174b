"""How far an encoder's words for a gap are from the true ones, where the grammar that drew the text is known.

What is compared: one word of a sentence of microworld is hidden, a word that the tokenizer writes as one token, by one
`<mask>`; the sentence stands alone. One gap stands for one token, so the truth is the grammar's

    P(w | the rest, w is one token) = P(sentence with w) / Σ_v P(sentence with v),   v over words of one token

and the model's is its probability of that token, over all tokens. A model that knew the grammar would reach it.
"""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
import torch

from langladder.corpora.grammar import Grammar
from langladder.corpora.microworld import SENTENCE_COUNTS, grammar
from langladder.corpora.word_distributions import GapWords, hidden_word
from langladder.data.batches import generator
from langladder.evaluation.page import LOGGED, Measured, Metric
from langladder.ground.progress import tracked
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import Masked, padded
from langladder.text.tokenize.tokenizers import Tokenizer, word_pieces

SURE = 3
"""Sentences whose stored probability a grammar must give, to be taken for the one that drew them."""

POSITION_SEED = 23  # so that positions are drawn independently of everything else


class TrueScores(Measured):
    """Whole words that are one token, hidden by themselves; truth: P(word | the rest, one token), from the grammar.

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
            "perplexity of the same hidden words",
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
            "hidden words of one token: how far perplexity stands above that of their true distribution, in the mean "
            "over what could have stood there, e^KL − 1; only a corpus made by a known grammar can tell it",
            unit="percent",
            better="lower",
            brief=True,
            compared=True,
            card="per cent above the true distribution of hidden words",
        ),
    ]


class HiddenWord(NamedTuple):
    """A sentence of microworld with a word to hide.

    Attributes:
        words: of the sentence. position: of the hidden one. ids: tokens of the sentence; token: which of them it is.
        truth: word → its true probability; tokens: word → its token, of the same words.
    """

    words: list[str]
    position: int
    ids: np.ndarray
    token: int
    truth: GapWords
    tokens: dict[str, int]


def known_grammar(sentences: Sequence[str], log_probs: Sequence[float | None]) -> Grammar | None:
    """The grammar that drew the sentences: the one that gives them their probabilities; None where there is none."""
    known = [(one, p) for one, p in zip(sentences, log_probs, strict=True) if p is not None][:SURE]
    if not known:
        return None
    for size in SENTENCE_COUNTS:
        found = grammar(size)  # type: ignore[arg-type]
        if all(abs(found.inside(one.split()) - p) < 1e-6 for one, p in known):
            return found
    return None


def hidden_words(grammar_: Grammar, tokenizer: Tokenizer, sentences: Sequence[str], count: int) -> list[HiddenWord]:
    """So many hidden words, of sentences evenly spread over the text, drawn from nothing but their number."""
    chosen = np.linspace(0, len(sentences) - 1, min(count, len(sentences))).astype(np.int64)
    random, found = generator(POSITION_SEED), []
    for number in tracked(chosen.tolist(), "what could stand in gaps", unit="words"):
        one = _hide(grammar_, tokenizer, sentences[number].split(), random)
        if one is not None:
            found.append(one)
    return found


def _hide(grammar_: Grammar, tokenizer: Tokenizer, words: list[str], random: np.random.Generator) -> HiddenWord | None:
    pieces = _pieces(tokenizer, words)
    ids = tokenizer.encode(" ".join(words))
    single = [position for position, piece in enumerate(pieces) if len(piece) == 1]
    if not single or np.concatenate(pieces).tolist() != ids.tolist():
        return None
    position = single[int(random.integers(len(single)))]
    possible = hidden_word(grammar_, words, position)
    first = position == 0
    cut = tokenizer.encode_lines(list(possible)) if first else word_pieces(tokenizer, list(possible))
    tokens = {word: int(piece[0]) for word, piece in zip(possible, cut, strict=True) if len(piece) == 1}
    total = sum(possible[word] for word in tokens)
    if words[position] not in tokens or not total:
        return None
    truth = {word: possible[word] / total for word in tokens}
    return HiddenWord(words, position, ids, sum(len(piece) for piece in pieces[:position]), truth, tokens)


def _pieces(tokenizer: Tokenizer, words: list[str]) -> list[np.ndarray]:
    """The tokens of each word of a line: the first stands without a space before it."""
    return [*tokenizer.encode_lines(words[:1]), *word_pieces(tokenizer, words[1:])]


def gap_log_probs(model: BERT, hidden: Sequence[HiddenWord], batch_size: int = 64) -> torch.Tensor:
    """What the model says of each gap: log P (N, V)."""
    found = []
    for start in range(0, len(hidden), batch_size):
        part = hidden[start : start + batch_size]
        tokens = padded([model.framed(one.ids)[0] for one in part])
        positions = torch.tensor([row * tokens.shape[1] + one.token + 1 for row, one in enumerate(part)])
        targets = tokens.flatten()[positions]
        tokens.view(-1)[positions] = model.mask
        none = torch.zeros(0, dtype=torch.int64)
        found.append(model.masked_log_probs(Masked(tokens, torch.zeros_like(tokens), positions, targets, none)))
    return torch.cat(found)


def true_scores(hidden: Sequence[HiddenWord], log_probs: torch.Tensor) -> TrueScores | None:
    """Model and truth on the same hidden words: log_probs (N, V) as `gap_log_probs` gives them."""
    if not hidden:
        return None
    model = truth = divergence = 0.0
    for one, row in zip(hidden, log_probs.double(), strict=True):
        word = one.words[one.position]
        model -= float(row[one.tokens[word]])
        truth -= math.log(one.truth[word])
        # KL(p ‖ q) = Σ_w p(w) (log p(w) − log q(w))
        divergence += sum(p * (math.log(p) - float(row[one.tokens[w]])) for w, p in one.truth.items())
    n = len(hidden)
    return TrueScores(
        words=n,
        perplexity=math.exp(model / n),
        true_perplexity=math.exp(truth / n),
        above_percent=100 * (math.exp((model - truth) / n) - 1),
        divergence=divergence / n,
        expected_above_percent=100 * (math.exp(divergence / n) - 1),
    )
