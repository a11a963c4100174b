"""The columns of the ladder's tables: what is measured of a language model, of word vectors, of a translator.

A column states its unit in one sentence, how to read it from a rung, and which end is better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from langladder.evaluation.translator_page import TranslationScores
from langladder.evaluation.word_vectors_page import Analogies, AnalogyFigure
from langladder.reporting import numbers
from langladder.reporting.rungs import EmbeddingRung, LanguageModelRung, Timing, TranslatorRung

BRIEF_SETS = 2  # similarity sets, of however many there are

R = TypeVar("R", LanguageModelRung, EmbeddingRung, TranslatorRung)


@dataclass(frozen=True)
class Column(Generic[R]):
    """One measure: `read(rung, timing)` gives the number or `None`."""

    title: str
    explanation: str
    read: Callable[[R, Timing], float | None]
    show: numbers.Style
    better: Literal["lower", "higher"] | None
    brief: bool = False  # one of the few that the terminal and the README show


def cost_columns(unit: str) -> tuple[Column[Any], ...]:
    """What training cost, on the machine that trained; `unit` is what it reads: tokens or words."""
    return (
        Column(
            f"{unit}/s",
            f"training {unit} taken in a second",
            lambda _, cost: cost.tokens_per_second,
            numbers.compact,
            "higher",
            brief=True,
        ),
        Column(
            "time", "wall-clock time of training", lambda _, cost: cost.seconds, numbers.seconds, "lower", brief=True
        ),
        Column(
            "memory",
            "peak memory of the training process",
            lambda _, cost: cost.peak_memory_bytes,
            numbers.memory,
            "lower",
        ),
    )


LM_COLUMNS: tuple[Column[LanguageModelRung], ...] = (
    Column(
        "perplexity a word",
        "e to the mean surprise a word: as unsure as a free choice among so many words; every character of the test "
        "text counts once, so it compares models with different tokenizers",
        lambda rung, _: rung.scores.perplexity_per_word,
        numbers.perplexity,
        "lower",
        brief=True,
    ),
    Column(
        "perplexity a token",
        "the same for each token of the model's own tokenizer; compares only models that share one",
        lambda rung, _: rung.scores.perplexity_per_token,
        numbers.perplexity,
        "lower",
    ),
    Column(
        "bits a byte",
        "the size to which the model would compress each byte of the test text; knows neither words nor tokens",
        lambda rung, _: rung.scores.bits_per_byte,
        numbers.decimals(3),
        "lower",
        brief=True,
    ),
    Column(
        "above the floor",
        "how far perplexity a word stands above the entropy floor, the true uncertainty of the text, which no model "
        "can beat; only a corpus made by a known grammar can tell it",
        lambda rung, _: rung.scores.above_floor_percent,
        numbers.percent,
        "lower",
        brief=True,
    ),
    Column(
        "parameters",
        "numbers that the model stores: weights, or counts of an n-gram model",
        lambda rung, _: rung.parameters,
        numbers.compact,
        "lower",
        brief=True,
    ),
    *cost_columns("tokens"),
)


def _half_interval(scores: TranslationScores) -> float | None:
    if scores.bleu_low is None or scores.bleu_high is None:
        return None
    return (scores.bleu_high - scores.bleu_low) / 2


TRANSLATOR_COLUMNS: tuple[Column[TranslatorRung], ...] = (
    Column(
        "BLEU",
        "n-gram overlap with the reference, 0 to 100 (sacreBLEU, on detokenized text)",
        lambda rung, _: rung.scores.bleu,
        numbers.decimals(1),
        "higher",
        brief=True,
    ),
    Column(
        "BLEU ±",
        "half the width of its 95 % interval, by drawing test sentences anew (bootstrap); not over seeds",
        lambda rung, _: _half_interval(rung.scores),
        numbers.decimals(1),
        None,
        brief=True,
    ),
    Column(
        "chrF",
        "overlap of character n-grams, 0 to 100; kinder to languages with rich endings",
        lambda rung, _: rung.scores.chrf,
        numbers.decimals(1),
        "higher",
        brief=True,
    ),
    Column(
        "TER",
        "words to insert, delete, replace or move to reach the reference, a hundred of its words",
        lambda rung, _: rung.scores.ter,
        numbers.decimals(1),
        "lower",
    ),
    Column(
        "exact",
        "share of the test sentences whose translation equals the reference",
        lambda rung, _: rung.scores.exact_match,
        numbers.share,
        "higher",
        brief=True,
    ),
    Column(
        "search errors",
        "share of the wrong translations where the model gives the reference a better score than its own output, so "
        "that the search is to blame; in the others it is the model",
        lambda rung, _: rung.search_errors.share,
        numbers.share,
        None,
    ),
    Column("parameters", "weights of the model", lambda rung, _: rung.parameters, numbers.compact, "lower", brief=True),
    *cost_columns("tokens"),
)


def translator_columns(rungs: Sequence[TranslatorRung]) -> tuple[Column[TranslatorRung], ...]:
    """The translator columns; chrF first where it is the figure to go by, for BLEU then counts characters or so."""
    if not any(rung.scores.main == "chrf" for rung in rungs):
        return TRANSLATOR_COLUMNS
    return tuple(sorted(TRANSLATOR_COLUMNS, key=lambda column: column.title != "chrF"))


def columns_of(task: str, rungs: Sequence[Any]) -> tuple[Column[Any], ...]:
    """The columns of a task's table; `rungs` are its rungs."""
    if task == "lm":
        return LM_COLUMNS
    return embedding_columns(rungs) if task == "embedding" else translator_columns(rungs)


def embedding_columns(rungs: Sequence[EmbeddingRung]) -> tuple[Column[EmbeddingRung], ...]:
    """The word-vector columns: one a similarity set, in the order in which the rungs first name them."""
    sets = dict.fromkeys(scored.name for rung in rungs for scored in rung.scores.similarity)
    return (
        Column(
            "analogies",
            "share of answered questions a : b = c : ? whose nearest word is the right one (3CosAdd, question words "
            "left out)",
            lambda rung, _: rung.scores.analogy.overall.accuracy if rung.scores.analogy else None,
            numbers.share,
            "higher",
            brief=True,
        ),
        Column(
            "±",
            "half the width of the analogies' 95 % interval, by drawing questions anew (bootstrap); not over seeds",
            lambda rung, _: _half_width(rung.scores.analogy),
            numbers.share,
            None,
            brief=True,
        ),
        Column(
            "3CosMul",
            "the same questions, similarities multiplied and divided instead of added and taken away",
            lambda rung, _: _cosmul(rung.scores.analogy),
            numbers.share,
            "higher",
        ),
        Column(
            "answered",
            "share of the analogy questions whose four words all have a vector",
            lambda rung, _: rung.scores.analogy.overall.coverage if rung.scores.analogy else None,
            numbers.share,
            "higher",
        ),
        *(_half_column(half) for half in ("semantic", "syntactic") if any(_half(rung, half) for rung in rungs)),
        *(_similarity_column(name, brief=place < BRIEF_SETS) for place, name in enumerate(sets)),
        *_cluster_columns(rungs),
        Column("dimension", "numbers a word", lambda rung, _: rung.dimension, numbers.whole, None),
        Column(
            "bytes a word",
            "what a word's vector takes: 4 a number, where most are zero 8 for each that is not",
            lambda rung, _: rung.bytes_per_word,
            numbers.compact,
            "lower",
        ),
        Column("words", "words with a vector", lambda rung, _: rung.vocabulary, numbers.whole, None),
        *cost_columns("words"),
    )


def _half_width(analogy: Analogies | None) -> float | None:
    interval = analogy.overall.interval if analogy else None
    return (interval[1] - interval[0]) / 2 if interval else None


def _cosmul(analogy: Analogies | None) -> float | None:
    return analogy.cosmul.overall.accuracy if analogy and analogy.cosmul else None


def _cluster_columns(rungs: Sequence[EmbeddingRung]) -> list[Column[EmbeddingRung]]:
    if not any(rung.scores.clusters for rung in rungs):
        return []
    return [
        Column(
            "purity",
            "share of words in a cluster (k-means) where their own group is the commonest",
            lambda rung, _: rung.scores.clusters.purity if rung.scores.clusters else None,
            numbers.share,
            "higher",
        ),
        Column(
            "outliers",
            "share of word sets whose odd one out is found",
            lambda rung, _: rung.scores.clusters.outliers.accuracy if rung.scores.clusters else None,
            numbers.share,
            "higher",
        ),
    ]


def _half(rung: EmbeddingRung, name: str) -> AnalogyFigure | None:
    half: AnalogyFigure | None = getattr(rung.scores.analogy, name, None)
    return half


def _half_column(name: str) -> Column[EmbeddingRung]:
    def read(rung: EmbeddingRung, _: Timing) -> float | None:
        figure = _half(rung, name)
        return figure.accuracy if figure else None

    return Column(name, f"analogies, the {name} questions only", read, numbers.share, "higher", brief=True)


def _similarity_column(name: str, *, brief: bool) -> Column[EmbeddingRung]:
    def read(rung: EmbeddingRung, _: Timing) -> float | None:
        return next((scored.spearman for scored in rung.scores.similarity if scored.name == name), None)

    explanation = f"Spearman's rank correlation of cosines with the judgements of {name}, −1 to 1"
    return Column(f"ρ {name}", explanation, read, numbers.decimals(3), "higher", brief)
