"""Transcripts of a CTC recogniser compared with the reference: character and word error rates, and their causes.

    CER = (substituted + deleted + inserted characters) / characters of the reference;   WER the same for words

Both with torchmetrics. A wrong transcript is a search error if the network itself gives the reference a higher
probability (summed over all alignments, by the forward algorithm), and else a model error.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
import torch
from pydantic import Field
from torchmetrics.functional.text import char_error_rate, word_error_rate

from langladder.corpora.speech import Utterance
from langladder.data.speech import collate, decode, encode
from langladder.decoding.ctc import BLANK, greedy, labelling_log_prob, prefix_beam_search
from langladder.evaluation.page import LOGGED, Excluded, Measured, Metric, Metrics, Page
from langladder.ground.schema import Config
from langladder.models.ctc import CTCRecognizer

EXAMPLES = 6

BATCH = 64


class TranscriptionConfig(Config):
    """How recognisers are searched."""

    width: int = Field(default=8, ge=1)
    """Prefixes that live on at each frame."""
    cutoff: float = Field(default=1e-3, ge=0, lt=1)
    """Labels less probable than this at a frame do not extend a prefix there."""


class TranscriptScores(Measured):
    """cer, wer: character and word error rates; exact: share of the sentences without an error; search_errors: share of
    the wrong transcripts where the network itself finds what was said more probable (None where none is wrong)."""

    cer: Annotated[
        float,
        Metric(
            "CER",
            "characters to insert, delete or replace, per character of the reference; lower is better",
            unit="share",
            better="lower",
        ),
    ]
    wer: Annotated[float, Metric("WER", "the same of words", unit="share", better="lower")]
    exact: Annotated[float, Metric("exact", "share of the sentences without an error", unit="share", better="higher")]
    search_errors: Annotated[
        float | None,
        Metric(
            "search errors",
            "share of the wrong transcripts for which the network gives the reference a higher probability",
            unit="share",
        ),
    ]


class TranscriptSearches(Measured):
    """The scores of each search, and the number of sentences."""

    sentences: Annotated[int, LOGGED]
    greedy: Annotated[TranscriptScores, Metrics("greedy_")]
    beam: Annotated[TranscriptScores, Metrics("beam_")]


class Transcript(Measured):
    """An utterance: its text, the result of each search, and probabilities by frame (rounded to 3 decimals).

    Attributes:
        blank: of the blank; labels: of the letters that are ever likely.
        sounding: for each frame the place in the text of the letter that really sounded, −1 in silence.
    """

    text: str
    greedy: str
    beam: str
    frames: int
    blank: list[float]
    labels: dict[str, list[float]]
    sounding: list[int]


class TranscriptPage(Page):
    """The page of one recogniser."""

    detail: ClassVar[Excluded] = {"examples": True}

    parameters: int
    scores: Annotated[TranscriptSearches, Metrics()]
    examples: list[Transcript] = Field(default_factory=list)


def evaluate_transcripts(
    name: str, model: CTCRecognizer, test: Sequence[Utterance], config: TranscriptionConfig
) -> TranscriptPage:
    """Recognise test utterances greedily and by prefix beam search; deterministic. name: of the rung."""
    frames = posteriors(model, test)
    spoken = [one.text for one in test]
    found = {
        "greedy": [greedy(one).labels for one in frames],
        "beam": [prefix_beam_search(one, config.width, config.cutoff)[0].labels for one in frames],
    }
    scores = {search: _scores(labels, spoken, frames) for search, labels in found.items()}
    texts = {search: [decode(labels) for labels in several] for search, several in found.items()}
    return TranscriptPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        scores=TranscriptSearches(sentences=len(test), **scores),
        examples=[_example(test[i], frames[i], texts["greedy"][i], texts["beam"][i]) for i in _chosen(spoken, texts)],
    )


@torch.no_grad()
def posteriors(model: CTCRecognizer, utterances: Sequence[Utterance]) -> list[np.ndarray]:
    """log y of each utterance: (T, A + 1) float64, in the order given."""
    found: dict[int, np.ndarray] = {}
    order = sorted(range(len(utterances)), key=lambda i: len(utterances[i].frames))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        batch = collate([utterances[i] for i in rows])
        log_probs = model(batch.frames, batch.lengths).double().numpy()  # (B, T, A + 1)
        found |= {i: row[: len(utterances[i].frames)] for i, row in zip(rows, log_probs, strict=True)}
    return [found[i] for i in range(len(utterances))]


def _scores(found: list[tuple[int, ...]], spoken: list[str], frames: list[np.ndarray]) -> TranscriptScores:
    texts = [decode(labels) for labels in found]
    wrong = [i for i, text in enumerate(texts) if text != spoken[i]]
    missed = sum(
        labelling_log_prob(frames[i], encode(spoken[i])) > labelling_log_prob(frames[i], found[i]) for i in wrong
    )
    return TranscriptScores(
        cer=float(char_error_rate(texts, spoken)),
        wer=float(word_error_rate(texts, spoken)),
        exact=1 - len(wrong) / len(texts),
        search_errors=missed / len(wrong) if wrong else None,
    )


def _chosen(spoken: list[str], texts: dict[str, list[str]]) -> list[int]:
    """Where the beam fixes greedy search, where it fails, and where all is right: two each as far as there are."""
    fixed = [i for i, text in enumerate(spoken) if texts["beam"][i] == text != texts["greedy"][i]]
    failed = [i for i, text in enumerate(spoken) if texts["beam"][i] != text]
    right = [i for i, text in enumerate(spoken) if texts["beam"][i] == text == texts["greedy"][i]]
    few = [*fixed[: EXAMPLES // 3], *failed[: EXAMPLES // 3]]
    return few + right[: EXAMPLES - len(few)]


def _example(one: Utterance, log_probs: np.ndarray, greedy_text: str, beam_text: str) -> Transcript:
    """An utterance with the labels' probabilities at each frame: of those that are ever likely, and of the blank."""
    y = np.exp(log_probs)
    seen = [k for k in range(1, y.shape[1]) if y[:, k].max() > 0.1]
    return Transcript(
        text=one.text,
        greedy=greedy_text,
        beam=beam_text,
        frames=len(y),
        blank=y[:, BLANK].round(3).tolist(),
        labels={decode([k]): y[:, k].round(3).tolist() for k in seen},
        sounding=one.sounding.tolist(),
    )
