"""How well an encoder fills gaps: rows masked as in training, and every token of a sentence hidden in turn.

    masked accuracy      share of the hidden tokens whose likeliest token is right
    PLL(s) = Σ_t log P(w_t | all the others)            pseudo-log-likelihood (Salazar et al. 2020, equation 1)
    pseudo-perplexity    exp(−Σ PLL / tokens), or / words

Shape legend: B rows, T tokens, M gaps.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from langladder.data.masked_language_modelling import masked_text
from langladder.data.masking import Masking
from langladder.data.sentence_pairs import Pairs
from langladder.evaluation.encoder_page import GapScores, PseudoScores
from langladder.ground.errors import InputError
from langladder.ground.progress import working
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import Masked
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, UNK
from langladder.text.tokenize.tokenizers import Tokenizer, word_starts

BATCH_TOKENS = 8192


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
    right = told = masked = pairs = 0
    surprise = 0.0
    for batch in masked_text(rows, model, word_starts(tokenizer), masking, limit=tokens):
        scores = model.masked_log_probs(batch)  # (M, V)
        right += int((scores.argmax(dim=1) == batch.targets).sum())
        surprise -= float(scores.gather(1, batch.targets[:, None]).double().sum())
        masked += len(scores)
        if len(batch.strange):
            told += int((model.follow_log_probs(batch).argmax(dim=1) == batch.strange).sum())
            pairs += len(batch.strange)
    if not masked:
        raise InputError("the test text has no token to hide")
    return GapScores(
        masked=masked,
        accuracy=right / masked,
        cross_entropy=surprise / masked,
        pairs=pairs or None,
        next_sentence=told / pairs if pairs else None,
    )


def pseudo_scores(model: BERT, sentences: Sequence[np.ndarray], words: int) -> PseudoScores:
    """Pseudo-perplexity of sentences, each alone; one longer than the context is read in parts.

    Args:
        sentences: ids (length,) each, without specials. words: of all of them.
    """
    room = model.context - 2
    parts = [part for one in sentences for part in np.split(one, range(room, len(one), room)) if len(part)]
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
    places = torch.arange(len(copies)) * copies.shape[1] + column
    targets = copies.flatten()[places]
    copies.view(-1)[places] = model.mask
    none = torch.zeros(0, dtype=torch.int64)
    return Masked(copies, torch.zeros_like(copies), places, targets, none)


def sentences_of(stream: TokenStream) -> list[np.ndarray]:
    """The ids of every line, without specials, empty ones too."""
    starts, ends = np.flatnonzero(stream.ids == BOS) + 1, np.flatnonzero(stream.ids == EOS)
    return [stream.ids[start:end] for start, end in zip(starts, ends, strict=True)]
