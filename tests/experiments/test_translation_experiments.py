"""Experiments on sentence pairs: the shared training and scores, and verdicts that follow the numbers."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from claims.training import unigram_loss
from claims.translation import (
    attention_by_length,
    beam_width,
    length_normalisation,
    norm_by_depth,
    source_reversal,
)
from claims.translation.small_translators import Network, TranslationConfig, trained
from claims.translation.translation_judge import Judge, tokenizer
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.bleu import corpus_bleu
from langladder.evaluation.translation import BUCKETS
from langladder.experiments.experiment import Data
from langladder.experiments.findings import Findings
from langladder.ground.errors import InputError
from langladder.models.making import Run
from langladder.models.translation.translator import Translator
from tests.experiments.declared import findings_from, five

NETWORKS: list[Network] = ["seq2seq", "attention", "transformer"]
SMALL = TranslationConfig(width=16, max_steps=8, batch_tokens=128, layers=1)


def learned(name: Network, data: Data) -> tuple[Translator, list[float]]:
    return trained(*SMALL.small(name), data, SMALL, seed=5)


@pytest.mark.parametrize("name", NETWORKS)
def test_training_parity_with_the_ladders(name: Network, data: Data, tmp_path: Path) -> None:
    """The bare loop makes the steps that `tasks.translation` makes under Lightning."""
    from langladder.tasks.translation import train_translator

    bare, losses = learned(name, data)
    kind, settings = SMALL.small(name)
    torch.manual_seed(5)
    ladder = kind(kind.Config.model_validate(settings), bare.source_vocab_size, bare.target_vocab_size)
    how = SMALL.training(precision="fp32", accelerator="cpu", log_every=1, validate_every=8, progress=False)
    result = train_translator(ladder, data.pairs("train"), data.pairs("validation"), how, Run(5, tmp_path))
    assert losses == pytest.approx([row["train_loss"] for row in result.curve], rel=1e-5)
    for key, tensor in bare.state_dict().items():
        torch.testing.assert_close(tensor, ladder.state_dict()[key], rtol=1e-4, atol=1e-6)


def test_a_score_is_what_its_parts_are_alone(data: Data) -> None:
    """Sentence by sentence, without padding, what `Judge` measures of all together."""
    model, _ = learned("attention", data)
    judge = Judge.open(data, 6)
    alone = [Judge([sentence], judge.tokenizer) for sentence in judge.sentences]
    whole = judge.score(model)
    tokens = [len(sentence.target) - 1 for sentence in judge.sentences]
    losses = [item.score(model).loss for item in alone]
    assert whole.loss == pytest.approx(np.average(losses, weights=tokens), rel=1e-5)
    assert judge.translations(model) == [text for item in alone for text in item.translations(model)]
    assert whole.exact == np.mean([item.score(model).exact for item in alone])


def test_a_judge_reads_the_text_of_its_pairs(data: Data) -> None:
    for sentence in Judge.open(data, 5).sentences:
        source, target = (tokenizer(data, side) for side in ("source", "target"))
        assert source.encode(sentence.text).tolist() == sentence.source[:-1].tolist()
        assert target.encode(sentence.reference).tolist() == sentence.target[1:-1].tolist()


@pytest.mark.parametrize("count", [3, 30])
def test_sentences_are_taken_from_every_range_of_lengths_that_has_enough(count: int, data: Data) -> None:
    every = Judge.open(data)
    there = np.array([len(sentence.text.split()) for sentence in every.sentences])
    judge, words = attention_by_length.by_length(every, count, str.split)
    assert words.tolist() == [len(sentence.text.split()) for sentence in judge.sentences]
    for low, high in BUCKETS:
        has, chosen = (int(((item >= low) & (item <= (high or item.max()))).sum()) for item in (there, words))
        assert chosen == (min(has, count) if has >= count / 3 else 0)


def test_too_few_sentences_of_every_length_are_refused(data: Data) -> None:
    with pytest.raises(InputError, match=r"a_length=9999.*set it lower"):
        attention_by_length.by_length(Judge.open(data), 9999, str.split)


def test_position_losses_add_up_to_the_loss_of_the_references(data: Data) -> None:
    model, _ = learned("seq2seq", data)
    judge = Judge.open(data, 8)
    lengths = np.array([len(sentence.target) - 1 for sentence in judge.sentences])
    losses = source_reversal.position_losses(model, judge, int(lengths.max()))
    counts = np.array([(lengths > t).sum() for t in range(lengths.max())])
    assert losses @ counts / lengths.sum() == pytest.approx(judge.score(model).loss, rel=1e-5)


def test_unigram_loss_golden_of_the_training_targets(data: Data) -> None:
    """The entropy of the tokens that are predicted, counted one by one."""
    pairs = data.pairs("train")
    tokens = [token for target in pairs.target for token in target[1:].tolist()]
    counts = [tokens.count(token) for token in set(tokens)]
    expected = -sum(count / len(tokens) * math.log(count / len(tokens)) for count in counts)
    assert unigram_loss(pairs.target.ids) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [([9.0, 4.0], 4.0), ([9.0] * 10 + [1.0, 3.0] * 5, 2.0), ([9.0, math.nan], 7.0), ([9.0, 8.0], 7.0)],
)
def test_what_is_no_number_counts_as_guessing(losses: list[float], expected: float) -> None:
    assert norm_by_depth.end_loss(losses, 7.0) == expected


def lengths(fixed: list[float], attention: list[float]) -> Findings:
    """BLEU of short and of long sentences."""
    cells = {
        name: {"short": five(short, 0.01), "kept": five(long / short, 0.001)}
        for name, (short, long) in (("Seq2seq", fixed), ("Attention", attention))
    }
    return findings_from("attention_by_length", cells, {"short": 5.0})


def reversal(backwards: float, first: float, others: float) -> Findings:
    cells = {
        "forwards": {"loss": five(3.05, 0.01), "behind": [0.0] * 5},
        "backwards": {"loss": five(backwards, 0.01), "behind": [first - others] * 5},
    }
    return findings_from("source_reversal", cells, {"loss": 4.0})


def norms(
    shallow: float, deep: float, pre: float = 3.0, noise: float = 0.1, after_warmup: float = 0.0, more: float = 0.0
) -> Findings:
    """How far post-norm is behind, without warm-up with such noise; with it by `after_warmup` at the largest depth."""
    rows = {"2": shallow, "4": more, "8": deep}
    cold = {layers: {"behind": five(value, noise), "pre": five(pre, 0.01)} for layers, value in rows.items()}
    warmed = {layers: {"behind": [after_warmup * (layers == "8")] * 5, "pre": [2.0] * 5} for layers in rows}
    return findings_from("norm_by_depth", {"no warm-up": cold, "warm-up": warmed}, {"pre": 6.0})


def widths(bleus: list[float], search: list[float], seconds: tuple[float, ...] = (1, 2, 3, 4, 5, 6)) -> Findings:
    """Of widths 1, 5 and 20; the others are as the one before, but for the time."""
    names = ["1", "2", "3", "5", "10", "20"]
    rows = zip(names, [0, 0, 0, 1, 1, 2], seconds, strict=True)
    cells = {
        name: {"bleu": five(bleus[i], 0.01), "search": [search[i]] * 5, "milliseconds": [float(duration)] * 5}
        for name, i, duration in rows
    }
    return findings_from("beam_width", cells, {"bleu": 5.0})


def alphas(least: tuple[float, float], most: tuple[float, float], chosen: float) -> Findings:
    """BLEU and length ratio at either end; what BLEU gains at the α that is chosen."""
    names = ["0.0", "0.2", "0.4", "0.6", "0.7", "0.8", "1.0"]
    cells = {
        name: {"bleu": five(bleu, 0.01), "ratio": [ratio] * 5, "chosen": five(30 + chosen * (name != "0.0"), 0.01)}
        for name, (bleu, ratio) in zip(names, [least, *[most] * 6], strict=True)
    }
    return findings_from("length_normalisation", cells, {"bleu": 5.0})


@pytest.mark.parametrize(
    ("findings", "holds"),
    [
        (lengths([40.0, 10.0], [80.0, 60.0]), True),
        (lengths([40.0, 30.0], [80.0, 40.0]), False),
        (lengths([40.0, 41.0], [80.0, 85.0]), False),
        (lengths([0.5, 0.1], [80.0, 60.0]), None),
        (reversal(2.0, 1.0, 2.8), True),
        (reversal(2.0, 2.8, 1.0), False),
        (reversal(3.06, 1.0, 2.8), False),
        (reversal(4.5, 1.0, 2.8), False),  # the best has learnt: it reads forwards
        (norms(0.0, 3.5), True),
        (norms(0.5, 0.4, noise=0.01), False),
        (norms(0.0, 0.0), False),
        (norms(0.0, 3.5, pre=6.5), None),
        (norms(0.0, 3.5, after_warmup=3.6), False),  # with warm-up it is as far behind
        (norms(0.0, 0.93, noise=3), None),
        (widths([30.0, 33.0, 33.2], [9, 2, 1]), True),
        (widths([30.0, 33.0, 35.0], [9, 2, 1]), False),
        (widths([30.0, 33.0, 33.0], [2, 2, 3]), False),
        (widths([30.0, 33.0, 33.0], [0, 0, 0]), None),
        (widths([3.0, 3.3, 3.3], [9, 2, 1]), None),
        (alphas((30.0, 0.9), (32.0, 1.0), 2.0), True),
        (alphas((30.0, 0.9), (28.0, 1.0), -1.0), False),
        (alphas((30.0, 1.01), (32.0, 1.03), 2.0), False),
        (alphas((3.0, 0.9), (4.0, 1.0), 2.0), None),
    ],
)
def test_verdicts_follow_the_numbers(findings: Findings, holds: bool | None) -> None:
    assert findings.holds is holds


def test_the_deep_networks_are_named_in_the_verdict() -> None:
    result = norms(0.0, 3.25, noise=0.0)
    assert "3.250 (no warm-up layers 8) against 0.000 (warm-up), 3.250 apart" in result.verdict


@pytest.mark.parametrize(("seconds", "holds"), [((1, 2, 3, 4, 5, 6), True), ((1, 2, 3, 5, 4, 6), False)])
def test_the_times_verdict_follows_the_clock(seconds: tuple[float, ...], holds: bool) -> None:
    result = widths([30.0, 33.0, 33.0], [9, 2, 1], seconds)
    assert result.holds is True
    assert result.timed is not None
    assert result.timed.holds is holds
    assert result.timed.rows[-1][2] == 6.0 and "apart in every seed" in result.timed.verdict


def test_half_of_the_sentences_choose_alpha_and_the_others_judge(data: Data) -> None:
    """The column is the same for every α but the least, whose own value it is."""
    expect = [{"each": ["1.0"], "is": "better", "than": "0.0", "metric": "chosen", "margin": 0.5}]
    values = {"bases": ["transformer"], "vary": {"alpha": [0.0, 0.5, 1.0]}, "expect": expect, "seeds": 1}
    small = {"width": 16, "layers": 1, "max_steps": 8, "batch_tokens": 128, "test_sentences": 8, "beam": 2}
    config = length_normalisation.LengthNormalisationConfig.model_validate(values | small)
    experiment = length_normalisation.LengthNormalisation(config)
    judge = Judge.open(data, 8)
    half = replace(judge, sentences=judge.sentences[1::2])
    model, _ = trained(*config.small("transformer"), data, config, seed=1)
    result = experiment.run(data, seed=1, progress=lambda _: None)
    plain, *others = (row[-1] for row in result.rows)
    beam = BeamConfig(width=2, alpha=0.0)
    assert plain == pytest.approx(corpus_bleu(half.translations(model, beam), half.references, half.bleu), abs=1e-4)
    assert len(set(others)) == 1


def test_a_wider_beam_finds_what_the_model_prefers(data: Data) -> None:
    """Without normalisation, the mean log-probability of the translations rises."""
    expect = [{"each": ["40"], "is": "better", "than": "1", "metric": "search", "margin": 0}]
    values = {"bases": ["transformer"], "vary": {"beam": [1, 40]}, "expect": expect, "seeds": 1, "alpha": 0.0}
    small = {"width": 16, "layers": 1, "max_steps": 30, "batch_tokens": 256, "test_sentences": 6}
    config = beam_width.BeamWidthConfig.model_validate(values | small)
    result = beam_width.BeamWidth(config).run(data, seed=1, progress=lambda _: None)
    assert result.columns[5] == "mean score"
    greedy, wider = (row[5] for row in result.rows)
    assert isinstance(greedy, float) and isinstance(wider, float)
    assert wider > greedy
