"""BLEU, chrF, TER and exact matches of translations, through sacreBLEU, on detokenised text.

    BLEU = BP · exp(1/4 Σ_{n=1..4} log P_n),   BP = 1 if c > r else exp(1 − r/c)

P_n is the clipped n-gram precision: each n-gram of a translation counts at most as often as in one of its references
(Papineni et al. 2002, sections 2.1–2.3); c is the translations' length and r the references' (each time the nearest in
length), both summed over the corpus. `clipping`, `clipped_precision` and `brevity_penalty` are these definitions, for
reading and for looking at single sentences; the figures come from sacreBLEU (Post 2018), whose signature says all that
was chosen. TER is the least number of words to insert, delete, replace or move to reach the reference, in per cent of
its words (Snover et al. 2006); chrF is the F-score of character n-grams (Popović 2015). Where a script does not
part its words by spaces, BLEU and TER count what sacreBLEU's tokenizer cuts (`bleu_tokenizers`), mostly characters.

The interval is the 95 % bootstrap interval over sentences (Koehn 2004), with sacreBLEU's seed.
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from langladder.evaluation.bleu_tokenizers import BleuChoice, BleuTokenizer, check, choose
from langladder.evaluation.translator_page import TranslationScores
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.words.segmentation import conventions_of


class BleuConfig(Config):
    """How translations are scored."""

    tokenize: BleuTokenizer = "13a"
    """sacreBLEU's tokenizer: 13a for most languages, zh for Chinese, none for text that is tokenised already."""
    spaced: bool = True
    """Whether the language parts its words by spaces; if not, TER counts the tokens of `tokenize` in words' stead."""
    lowercase: bool = False
    bootstrap: int = Field(default=1000, ge=0)
    """Resamples for the interval; 0 = no interval."""


def bleu_config(tokens: Path, choice: BleuChoice = "auto", *, bootstrap: int = 0) -> BleuConfig:
    """How translations of the sentence pairs in `tokens`, a folder that `encode_pairs` wrote, are scored.

    Raises:
        InputError: the tokens do not say how their target is written, or the tokenizer's package is missing.
    """
    target = conventions_of(tokens, "target").writing
    tokenize = choose(choice, target)
    check(tokenize)
    return BleuConfig(tokenize=tokenize, spaced=target == "spaced", bootstrap=bootstrap)


def score_translations(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], config: BleuConfig | None = None
) -> TranslationScores:
    """Score translations against their references.

    Args:
        hypotheses: one detokenised translation a sentence.
        references: for each sentence its references, at least one, the same number for all.

    Raises:
        InputError: nothing to score, or the numbers of sentences or references differ.
    """
    config = config or BleuConfig()
    streams = _streams(hypotheses, references)
    metric = _bleu(config)
    bleu = metric.corpus_score(list(hypotheses), streams)
    low, high = _interval(list(hypotheses), streams, config)
    chrf_metric = CHRF(lowercase=config.lowercase)
    chrf = chrf_metric.corpus_score(list(hypotheses), streams)
    ter, ter_signature = _ter(list(hypotheses), streams, metric, config)
    matches = sum(hypothesis in group for hypothesis, group in zip(hypotheses, references, strict=True))
    return TranslationScores(
        sentences=len(hypotheses),
        bleu=bleu.score,
        bleu_low=low,
        bleu_high=high,
        precisions=[precision / 100 for precision in bleu.precisions],
        brevity_penalty=bleu.bp,
        hypothesis_length=bleu.sys_len,
        reference_length=bleu.ref_len,
        chrf=chrf.score,
        ter=ter,
        exact_match=matches / len(hypotheses),
        signature=str(metric.get_signature()),
        chrf_signature=str(chrf_metric.get_signature()),
        ter_signature=ter_signature,
        main="bleu" if config.spaced else "chrf",
    )


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], config: BleuConfig | None = None
) -> float:
    """BLEU alone, from 0 to 100; arguments and errors as `score_translations`."""
    score = _bleu(config or BleuConfig()).corpus_score(list(hypotheses), _streams(hypotheses, references))
    return float(score.score)


def _streams(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str]]:
    """The first references of all sentences, the second ones, …"""
    if not hypotheses or len(hypotheses) != len(references):
        raise InputError(f"BLEU: {len(hypotheses)} translations, {len(references)} sentences with references")
    if len({len(group) for group in references}) != 1 or not references[0]:
        raise InputError("BLEU: every sentence needs the same number of references, one or more")
    return [list(stream) for stream in zip(*references, strict=True)]


def _bleu(config: BleuConfig) -> BLEU:
    """`force` only silences the guess that a text with spaces before its full stops was not detokenised."""
    check(config.tokenize)
    try:
        return BLEU(tokenize=config.tokenize, lowercase=config.lowercase, force=True)
    except (OSError, RuntimeError) as error:  # flores200 fetches its SentencePiece model the first time
        raise InputError(f"bleu_tokenize: {config.tokenize!r} cannot be loaded ({error}); set another") from error


def _ter(hypotheses: list[str], streams: list[list[str]], bleu: BLEU, config: BleuConfig) -> tuple[float, str]:
    """TER and its signature. sacreBLEU's TER takes what stands between spaces for a word, so they are put there."""
    metric, cut = TER(case_sensitive=not config.lowercase), ""
    if not config.spaced:
        hypotheses = [bleu.tokenizer(line) for line in hypotheses]
        streams = [[bleu.tokenizer(line) for line in stream] for stream in streams]
        cut = f"|pretok:{bleu.tokenizer.signature()}"
    score = metric.corpus_score(hypotheses, streams)
    return float(score.score), f"{metric.get_signature()}{cut}"


def _interval(hypotheses: list[str], streams: list[list[str]], config: BleuConfig) -> tuple[float | None, float | None]:
    if not config.bootstrap:
        return None, None
    result = _bleu(config).corpus_score(hypotheses, streams, n_bootstrap=config.bootstrap)
    mean, half_width = result._mean, result._ci  # sacreBLEU shows these in its text and JSON output only
    return float(mean - half_width), float(mean + half_width)


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """How often each n-gram occurs in a sentence."""
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))


class Clipped(NamedTuple):
    """An n-gram of a translation: how often it occurs there, at most in one reference, and what of that counts."""

    ngram: tuple[str, ...]
    occurs: int
    largest: int

    @property
    def clipped(self) -> int:
        """min(occurrences, most in a reference)."""
        return min(self.occurs, self.largest)


def clipping(hypothesis: Sequence[str], references: Sequence[Sequence[str]], n: int) -> list[Clipped]:
    """Each distinct n-gram of a sentence with its counts, in the order of first occurrence: P_n as one works it out."""
    largest: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        largest |= ngrams(reference, n)
    return [Clipped(ngram, count, largest[ngram]) for ngram, count in ngrams(hypothesis, n).items()]


def clipped_precision(hypothesis: Sequence[str], references: Sequence[Sequence[str]], n: int) -> tuple[int, int]:
    """P_n of one sentence as (Σ clipped counts, Σ counts): each n-gram clipped to its largest count in a reference."""
    rows = clipping(hypothesis, references, n)
    return sum(row.clipped for row in rows), sum(row.occurs for row in rows)


def brevity_penalty(length: int, reference_length: int) -> float:
    """BP of c = `length` tokens against r = `reference_length`; 0 for an empty translation."""
    if length > reference_length:
        return 1.0
    return math.exp(1 - reference_length / length) if length else 0.0


def sentence_bleu(hypothesis: Sequence[str], references: Sequence[Sequence[str]], order: int = 4) -> float:
    """BLEU of one tokenised sentence, from 0 to 1, without smoothing: 0 as soon as one P_n is 0."""
    precisions = [clipped_precision(hypothesis, references, n) for n in range(1, order + 1)]
    if any(matched == 0 for matched, _ in precisions):
        return 0.0
    c = len(hypothesis)
    r = min((abs(len(reference) - c), len(reference)) for reference in references)[1]  # nearest; the shorter of two
    return brevity_penalty(c, r) * float(np.exp(np.mean([math.log(matched / total) for matched, total in precisions])))
