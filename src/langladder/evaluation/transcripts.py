"""Transcripts of a recogniser compared with the reference: character and word error rates, and their causes.

    CER = (substituted + deleted + inserted characters) / characters of the reference;   WER the same for words

Both with torchmetrics. A wrong transcript is a search error if the network itself gives the reference a higher
probability (of a CTC network summed over all alignments, by the forward algorithm), and else a model error.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torchmetrics.functional.text import char_error_rate, word_error_rate

from langladder.corpora.speech import SHORTEST_LETTER, Utterance
from langladder.data.speech import SpeechBatch, collate, decode, encode
from langladder.decoding.beam_search import BeamConfig, Hypothesis, beam_search
from langladder.decoding.ctc import BLANK, greedy, labelling_log_prob, prefix_beam_search
from langladder.evaluation.page import LOGGED, Excluded, Measured, Metric, Metrics, Page, parameter_count
from langladder.ground.schema import Config
from langladder.models.ctc import CTCRecognizer
from langladder.models.recognizer import Recognizer
from langladder.models.translation.attention_recognizer import FIRST_LETTER, AttentionRecognizer

EXAMPLES = 6

BATCH = 64


class TranscriptionConfig(Config):
    """How recognisers are searched."""

    width: int = Field(default=8, ge=1)
    """Prefixes that live on at each frame; hypotheses, with attention."""
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
            brief=True,
        ),
    ]
    wer: Annotated[
        float,
        Metric(
            "WER",
            "words to insert, delete or replace, per word of the reference; lower is better",
            unit="share",
            better="lower",
        ),
    ]
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
    """An utterance: its text, the result of each search, and what the network makes of it (rounded to 3 decimals).

    Attributes:
        blank, labels: with CTC, the probabilities by frame of the blank and of the letters that are ever likely.
        attention: with attention, the weights of the source positions for each letter of `beam`, and for the end.
        sounding: for each frame the place in the text of the letter that really sounded, −1 in silence.
    """

    text: str
    greedy: str
    beam: str
    frames: int
    blank: list[float] = Field(default_factory=list)
    labels: dict[str, list[float]] = Field(default_factory=dict)
    attention: list[list[float]] = Field(default_factory=list)
    sounding: list[int]


class TranscriptPage(Page):
    """The page of one recogniser."""

    trained_on = "tokens"
    headlines = ("beam_cer",)
    detail: ClassVar[Excluded] = {"examples": True}

    parameters: Annotated[int, parameter_count("weights of the model", logged=False)]
    scores: Annotated[TranscriptSearches, Metrics()]
    examples: list[Transcript] = Field(default_factory=list)


class Found(NamedTuple):
    """A transcript, and its log-probability: of the paths that the search found (CTC), or its own (attention)."""

    text: str
    log_prob: float


class Reading(NamedTuple):
    """What a recogniser makes of utterances.

    Attributes:
        found: the transcript of each, by search (greedy, beam).
        log_prob: the network's log P of a text for utterance i.
        inside: what a page shows of utterance i: fields of `Transcript`.
    """

    found: dict[str, list[Found]]
    log_prob: Callable[[int, str], float]
    inside: Callable[[int], dict[str, Any]]


def transcribe(model: Recognizer, utterances: Sequence[Utterance], config: TranscriptionConfig) -> list[Found]:
    """The best transcript of each utterance by beam search."""
    return _read(model, utterances, config).found["beam"]


def evaluate_transcripts(
    name: str, model: Recognizer, test: Sequence[Utterance], config: TranscriptionConfig
) -> TranscriptPage:
    """Recognise test utterances greedily and by beam search; deterministic. name: of the rung."""
    reading, spoken = _read(model, test, config), [utterance.text for utterance in test]
    texts = {search: [result.text for result in results] for search, results in reading.found.items()}
    scores = {search: _scores(several, spoken, reading.log_prob) for search, several in texts.items()}
    return TranscriptPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        scores=TranscriptSearches(sentences=len(test), **scores),
        examples=[
            Transcript(
                text=test[i].text,
                greedy=texts["greedy"][i],
                beam=texts["beam"][i],
                frames=len(test[i].frames),
                sounding=test[i].sounding.tolist(),
                **reading.inside(i),
            )
            for i in _chosen(spoken, texts)
        ],
    )


def _read(model: Recognizer, utterances: Sequence[Utterance], config: TranscriptionConfig) -> Reading:
    if isinstance(model, CTCRecognizer):
        return _read_frames(model, utterances, config)
    assert isinstance(model, AttentionRecognizer), type(model)
    return _read_attentively(model, utterances, config)


def _read_frames(model: CTCRecognizer, utterances: Sequence[Utterance], config: TranscriptionConfig) -> Reading:
    """With CTC: by its probabilities of the labels at each frame."""
    frames = posteriors(model, utterances)
    best = {
        "greedy": [greedy(frame) for frame in frames],
        "beam": [prefix_beam_search(frame, config.width, config.cutoff)[0] for frame in frames],
    }
    results = {
        search: [Found(decode(beam.labels), beam.log_prob) for beam in several] for search, several in best.items()
    }
    return Reading(results, lambda i, text: labelling_log_prob(frames[i], encode(text)), lambda i: _by_frame(frames[i]))


@torch.no_grad()
def posteriors(model: CTCRecognizer, utterances: Sequence[Utterance]) -> list[np.ndarray]:
    """log y of each utterance: (T, A + 1) float64, in the order given."""
    results: dict[int, np.ndarray] = {}
    for rows, batch in _batches(utterances):
        log_probs = model(batch.frames, batch.lengths).double().numpy()  # (B, T, A + 1)
        results |= {i: row[: len(utterances[i].frames)] for i, row in zip(rows, log_probs, strict=True)}
    return [results[i] for i in range(len(utterances))]


def _batches(utterances: Sequence[Utterance]) -> Iterator[tuple[list[int], SpeechBatch]]:
    """Utterances of similar length together, with their positions."""
    order = sorted(range(len(utterances)), key=lambda i: len(utterances[i].frames))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        yield rows, collate([utterances[i] for i in rows])


def _by_frame(log_probs: np.ndarray) -> dict[str, Any]:
    """The labels' probabilities at each frame: of those that are ever likely, and of the blank."""
    y = np.exp(log_probs)
    seen = [k for k in range(1, y.shape[1]) if y[:, k].max() > 0.1]
    return {"blank": y[:, BLANK].round(3).tolist(), "labels": {decode([k]): y[:, k].round(3).tolist() for k in seen}}


def _read_attentively(
    model: AttentionRecognizer, utterances: Sequence[Utterance], config: TranscriptionConfig
) -> Reading:
    """With attention: by the searches of translators, by log P alone, at most a letter for two frames."""
    best: dict[str, dict[int, Hypothesis]] = {"greedy": {}, "beam": {}}
    for rows, batch in _batches(utterances):
        source = model.source(batch.frames, batch.lengths)
        for search, width in (("greedy", 1), ("beam", config.width)):
            beam = BeamConfig(width=width, alpha=0.0, max_ratio=model.config.stack / SHORTEST_LETTER)
            results = beam_search(model, source, beam)
            best[search] |= {i: hypotheses[0] for i, hypotheses in zip(rows, results, strict=True)}

    def log_prob(i: int, text: str) -> float:
        batch = collate([utterances[i]._replace(text=text)])
        pair = model.source(batch.frames, batch.lengths), model.target(batch.labels, batch.label_lengths)
        return float(model.log_probs(*pair).double().sum())

    def inside(i: int) -> dict[str, Any]:
        attention = best["beam"][i].attention
        return {"attention": np.asarray(attention).round(3).tolist()}  # (U + 1, S)

    result = {
        search: [Found(_text(results[i].tokens), results[i].log_prob) for i in range(len(utterances))]
        for search, results in best.items()
    }
    return Reading(result, log_prob, inside)


def _text(ids: Sequence[int]) -> str:
    """The letters of ids; the unknown token is none."""
    return decode([id_ - FIRST_LETTER + 1 for id_ in ids if id_ >= FIRST_LETTER])


def _scores(texts: list[str], spoken: list[str], log_prob: Callable[[int, str], float]) -> TranscriptScores:
    wrong = [i for i, text in enumerate(texts) if text != spoken[i]]
    missed = sum(log_prob(i, spoken[i]) > log_prob(i, texts[i]) for i in wrong)
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
