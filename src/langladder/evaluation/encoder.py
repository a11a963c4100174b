"""Evaluation of an encoder: rows with gaps as in training, every token of a sentence hidden in turn, gaps to look at.

    masked accuracy      share of the hidden tokens whose likeliest token is right
    PLL(s) = Σ_t log P(w_t | all the others)            pseudo-log-likelihood (Salazar et al. 2020, equation 1)
    pseudo-perplexity    exp(−Σ PLL / tokens), or / words

Pseudo-perplexity and a causal model's perplexity are both e to a mean surprise, but the encoder sees the words on both
sides of each gap and no chain of its answers is a probability of the text: the two are not comparable.

Shape legend: B rows, T tokens, M gaps.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field

from langladder.data.masked_language_modelling import masked_text
from langladder.data.masking import Masking
from langladder.data.sentence_pairs import Pairs
from langladder.evaluation.attention_maps import AttentionMaps, page_maps
from langladder.evaluation.page import Excluded, Measured, Metric, Metrics, Page, Work, parameter_count
from langladder.evaluation.true_gaps import (
    HiddenWord,
    TrueScores,
    gap_log_probs,
    hidden_words,
    is_microworld,
    true_scores,
)
from langladder.ground.errors import InputError
from langladder.ground.progress import working
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import Masked
from langladder.tasks.settings import EncoderEvaluation
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, UNK
from langladder.text.tokenize.tokenizers import Tokenizer, word_starts
from langladder.text.words.segmentation import Conventions, WordUnit, text_unit

GUESSES = 5

BATCH_TOKENS = 8192


class GapScores(Measured):
    """Rows with gaps in the test text.

    Attributes:
        masked: tokens hidden. accuracy: share of them whose likeliest token is right. cross_entropy: nats per token.
        pairs: rows of two texts; next_sentence: share of correct predictions. None for encoders without pairs.
    """

    masked: int
    accuracy: Annotated[
        float,
        Metric(
            "gaps filled",
            "share of the masked tokens of the test text (15 % of its tokens) that are predicted correctly",
            unit="share",
            better="higher",
            brief=True,
            compared=True,
            card="share of hidden tokens that are filled right",
        ),
    ]
    cross_entropy: Annotated[float, Metric("cross-entropy of hidden tokens, nats")]
    pairs: int | None = None
    next_sentence: Annotated[
        float | None,
        Metric(
            "next sentence",
            "accuracy on pairs of texts: does the second text follow the first? It does in half of the pairs",
            unit="share",
            better="higher",
            brief=True,
            after="truth",
            name="next_sentence_accuracy",
        ),
    ] = None


class PseudoScores(Measured):
    """Each token of a sentence hidden in turn, sentences alone (Salazar et al. 2020, equation 1).

    Attributes:
        log_likelihood: Σ log P(token | all the others), in nats. words: ends of lines are none. word_unit: what they
            are.
        unknown_rate: share of UNK among the tokens.
    """

    sentences: int
    tokens: int
    words: int
    word_unit: WordUnit = "auto"
    log_likelihood: float
    per_token: Annotated[
        float,
        Metric(
            "pseudo-perplexity per token",
            "exp of the mean surprisal per token, computed in the same way; comparable only between encoders that "
            "share a tokenizer",
            unit="perplexity",
            better="lower",
            after="pseudo-perplexity per word",
        ),
    ]
    per_word: Annotated[
        float,
        Metric(
            "pseudo-perplexity per word",
            "exp of the mean surprisal per word, where each token of a sentence is hidden in turn and all others are "
            "visible (Salazar et al. 2020). It is not comparable with the perplexity of language models, which see the "
            "words before only. Each sentence stands alone: an encoder that learns from whole documents rarely reads "
            "it so",
            unit="perplexity",
            better="lower",
            brief=True,
            compared=True,
        ),
    ]
    unknown_rate: float


class Guess(Measured):
    """A word for a gap, its probability, and the true probability if it is known."""

    word: str
    probability: float
    true: float | None = None


class Gap(Measured):
    """A sentence with a gap: the text before and after it, the true word, the encoder's predictions."""

    before: str
    word: str
    after: str
    guesses: list[Guess]


class EncoderPage(Page):
    """The page of one encoder."""

    trained_on = "tokens"
    detail: ClassVar[Excluded] = {"gaps": True, "attention": True}

    parameters: Annotated[int, parameter_count("numbers that the model stores", compared=True)]
    work: Annotated[Work | None, Metrics()] = None
    scores: Annotated[GapScores, Metrics("masked_")]
    pseudo: Annotated[PseudoScores, Metrics("pseudo_perplexity_")]
    truth: Annotated[TrueScores | None, Metrics("hidden_word_")] = None
    gaps: list[Gap] = Field(default_factory=list)
    attention: AttentionMaps | None = Field(default=None, exclude_if=lambda value: value is None)

    @property
    def text_unit(self) -> Literal["word", "grapheme"]:
        """That of its pseudo-perplexity."""
        return text_unit(self.pseudo.word_unit)


def evaluate_encoder(
    model: BERT,
    tokenizer: Tokenizer,
    test: TokenStream,
    sentences: Sequence[str],
    log_probs: Sequence[float | None],
    *,
    name: str,
    length: int,
    conventions: Conventions,
    settings: EncoderEvaluation,
    most_lines: int | None = None,
    work: Work | None = None,
) -> EncoderPage:
    """Fill gaps in the test text.

    Args:
        sentences, log_probs: the same text in words, a line each; natural-log probabilities where they are known.
        name: of the rung. length: tokens of a row, most_lines: its lines at most, as in training.
        conventions: say what a word is.
    """
    lines = sentences_of(test)
    chosen = np.linspace(0, len(lines) - 1, min(settings.sentences, len(lines))).astype(np.int64).tolist()
    words = sum(len(conventions.split(sentences[line])) for line in chosen)
    documents = documents_of(test, sentences)
    hidden = []
    if settings.words and is_microworld(documents, log_probs):
        hidden = hidden_words(tokenizer, documents, settings.words, room=length - 2, most_lines=most_lines)
    log_probs_of_gaps = gap_log_probs(model, hidden) if hidden else torch.zeros(0, model.vocab_size)
    return EncoderPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        work=work,
        scores=fill_rows(
            model,
            tokenizer,
            test,
            length=length,
            share=settings.share,
            tokens=settings.tokens,
            most_lines=most_lines,
        ),
        pseudo=pseudo_scores(model, [lines[line] for line in chosen], words, conventions.unit),
        truth=true_scores(hidden, log_probs_of_gaps),
        attention=page_maps(model, tokenizer, test),
        gaps=[_gap(gap, row, tokenizer) for gap, row in zip(hidden[: settings.shown], log_probs_of_gaps, strict=False)],
    )


def _gap(gap: HiddenWord, log_probs: torch.Tensor, tokenizer: Tokenizer) -> Gap:
    best = log_probs.topk(GUESSES)
    words = {token: word for word, token in gap.tokens.items()}
    guesses = [
        Guess(
            word=words.get(token, tokenizer.piece(token).strip()),
            probability=p,
            true=gap.truth[words[token]] if token in words else 0.0,
        )
        for token, p in zip(best.indices.tolist(), best.values.exp().tolist(), strict=True)
    ]
    before, after = " ".join(gap.words[: gap.position]), " ".join(gap.words[gap.position + 1 :])
    return Gap(before=before, word=gap.words[gap.position], after=after, guesses=guesses)


def fill_rows(
    model: BERT,
    tokenizer: Tokenizer,
    test: TokenStream,
    *,
    length: int,
    share: float,
    tokens: int,
    most_lines: int | None = None,
) -> GapScores:
    """Rows of the test text as in training, with every gap a `<mask>`."""
    rows = Pairs(test, length=length, pairs=model.config.next_sentence, short=0.0, most=most_lines)
    masking = Masking(share=share, hidden=1.0, random=0.0)
    right = following = masked = pairs = 0
    surprise = 0.0
    for batch in masked_text(rows, model, word_starts(tokenizer), masking, limit=tokens):
        scores = model.masked_log_probs(batch)  # (M, V)
        right += int((scores.argmax(dim=1) == batch.targets).sum())
        surprise -= float(scores.gather(1, batch.targets[:, None]).double().sum())
        masked += len(scores)
        if len(batch.strange):
            following += int((model.follow_log_probs(batch).argmax(dim=1) == batch.strange).sum())
            pairs += len(batch.strange)
    if not masked:
        raise InputError("the test text has no token to hide")
    return GapScores(
        masked=masked,
        accuracy=right / masked,
        cross_entropy=surprise / masked,
        pairs=pairs or None,
        next_sentence=following / pairs if pairs else None,
    )


def pseudo_scores(
    model: BERT, sentences: Sequence[np.ndarray], words: int, word_unit: WordUnit = "auto"
) -> PseudoScores:
    """Pseudo-perplexity of sentences, each alone; one longer than the context is read in parts.

    Args:
        sentences: ids (length,) each, without specials. words: of all of them. word_unit: what they are.
    """
    room = model.context - 2
    parts = [
        part for sentence in sentences for part in np.split(sentence, range(room, len(sentence), room)) if len(part)
    ]
    tokens = sum(map(len, parts))
    if not tokens or not words:
        raise InputError(f"pseudo-perplexity: nothing to score, {tokens} tokens and {words} words")
    total = 0.0
    with working("hiding each token in turn", tokens, "tokens") as task:
        for batch in _each_hidden(model, parts):
            total += float(model.target_log_probs(batch).double().sum())
            task.advance(len(batch.targets))
    return PseudoScores(
        sentences=len(sentences),
        tokens=tokens,
        words=words,
        word_unit=word_unit,
        log_likelihood=total,
        per_token=math.exp(-total / tokens),
        per_word=math.exp(min(700.0, -total / words)),
        unknown_rate=sum(int((part == UNK).sum()) for part in parts) / tokens,
    )


def _each_hidden(model: BERT, sentences: Sequence[np.ndarray]) -> Iterator[Masked]:
    """Batches of rows of one length, in which each token of each sentence is hidden once."""
    by_length: dict[int, list[np.ndarray]] = {}
    for sentence in sentences:
        by_length.setdefault(len(sentence), []).append(model.framed(sentence)[0])
    for length, rows in sorted(by_length.items()):
        many = max(1, BATCH_TOKENS // (length * (length + 2)))
        for start in range(0, len(rows), many):
            yield _hidden_in_turn(model, np.stack(rows[start : start + many]), length)


def _hidden_in_turn(model: BERT, rows: np.ndarray, length: int) -> Masked:
    """(B, T) → (B · length, T): in copy t of a row its token t is hidden."""
    copies = torch.from_numpy(np.repeat(rows, length, axis=0))
    column = torch.arange(1, length + 1).repeat(len(rows))
    positions = torch.arange(len(copies)) * copies.shape[1] + column
    targets = copies.flatten()[positions]
    copies.view(-1)[positions] = model.mask
    none = torch.zeros(0, dtype=torch.int64)
    return Masked(copies, torch.zeros_like(copies), positions, targets, none)


def documents_of(stream: TokenStream, lines: Sequence[str]) -> list[list[str]]:
    """The lines of a text in the documents in which the stream holds them."""
    begins = np.searchsorted(np.flatnonzero(stream.ids == BOS), stream.offsets)  # (D + 1,) lines before each document
    return [list(lines[begin:end]) for begin, end in pairwise(begins.tolist())]


def sentences_of(stream: TokenStream) -> list[np.ndarray]:
    """The ids of every line, without specials, empty ones too."""
    starts, ends = np.flatnonzero(stream.ids == BOS) + 1, np.flatnonzero(stream.ids == EOS)
    return [stream.ids[start:end] for start, end in zip(starts, ends, strict=True)]
