"""All that is measured and shown of one encoder."""

from collections.abc import Sequence

import numpy as np
import torch

from langladder.evaluation.encoder_page import EncoderPage, Gap, Guess
from langladder.evaluation.gaps import fill_rows, pseudo_scores, sentences_of
from langladder.evaluation.page import Work
from langladder.evaluation.true_gaps import HiddenWord, hidden_words, known_grammar, said, true_scores
from langladder.models.encoders.bert import BERT
from langladder.tasks.settings import EncoderEvaluation
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import Split

GUESSES = 5


def evaluate_encoder(
    model: BERT,
    tokenizer: Tokenizer,
    test: TokenStream,
    sentences: Sequence[str],
    log_probs: Sequence[float | None],
    *,
    name: str,
    length: int,
    split: Split = str.split,
    judged: EncoderEvaluation,
    most_lines: int | None = None,
    work: Work | None = None,
) -> EncoderPage:
    """Fill gaps in the test text.

    Args:
        sentences, log_probs: the same text in words, a line each; natural-log probabilities where they are known.
        name: of the rung. length: tokens of a row, most_lines: its lines at most, as in training.
        split: cuts a line into words.
    """
    lines = sentences_of(test)
    chosen = np.linspace(0, len(lines) - 1, min(judged.sentences, len(lines))).astype(np.int64).tolist()
    words = sum(len(split(sentences[line])) for line in chosen)
    grammar = known_grammar(sentences, log_probs) if judged.words else None
    hidden = hidden_words(grammar, tokenizer, sentences, judged.words) if grammar is not None else []
    told = said(model, hidden) if hidden else torch.zeros(0, model.vocab_size)
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
            share=judged.share,
            tokens=judged.tokens,
            most_lines=most_lines,
        ),
        pseudo=pseudo_scores(model, [lines[line] for line in chosen], words),
        truth=true_scores(hidden, told),
        gaps=[_shown(one, row, tokenizer) for one, row in zip(hidden[: judged.shown], told, strict=False)],
    )


def _shown(one: HiddenWord, log_probs: torch.Tensor, tokenizer: Tokenizer) -> Gap:
    best = log_probs.topk(GUESSES)
    words = {token: word for word, token in one.tokens.items()}
    guesses = [
        Guess(
            word=words.get(token, tokenizer.piece(token).strip()),
            probability=p,
            true=one.truth[words[token]] if token in words else 0.0,
        )
        for token, p in zip(best.indices.tolist(), best.values.exp().tolist(), strict=True)
    ]
    before, after = " ".join(one.words[: one.place]), " ".join(one.words[one.place + 1 :])
    return Gap(before=before, word=one.words[one.place], after=after, guesses=guesses)
