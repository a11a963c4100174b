"""Experiments on sentence pairs: the shared training and scores, and verdicts that follow the numbers."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.evaluation.translation import BUCKETS, SearchErrors, WidthResult
from langladder.experiments.experiment import Data
from langladder.experiments.findings import Findings
from langladder.experiments.training import unigram_loss
from langladder.experiments.translation import (
    attention_by_length,
    beam_width,
    length_normalisation,
    norm_by_depth,
    source_reversal,
)
from langladder.experiments.translation.length_normalisation import Normalised
from langladder.experiments.translation.norm_by_depth import Setting
from langladder.experiments.translation.small_translators import Network, TranslationConfig, trained
from langladder.experiments.translation.source_reversal import Measured
from langladder.experiments.translation.translation_judge import Judge, tokenizer
from langladder.ground.errors import InputError
from langladder.models.making import Run
from langladder.models.translation.translator import Translator

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
    together = judge.score(model)
    tokens = [len(sentence.target) - 1 for sentence in judge.sentences]
    losses = [one.score(model).loss for one in alone]
    assert together.loss == pytest.approx(np.average(losses, weights=tokens), rel=1e-5)
    assert judge.translations(model) == [text for one in alone for text in one.translations(model)]
    assert together.exact == np.mean([one.score(model).exact for one in alone])


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
        has, taken = (int(((one >= low) & (one <= (high or one.max()))).sum()) for one in (there, words))
        assert taken == (min(has, count) if has >= count / 3 else 0)


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


def five(value: float, wild: float = 0.01) -> list[float]:
    """Of five seeds, in another order for another value."""
    return list(value + wild * np.roll(np.linspace(-1, 1, 5), round(100 * value)))


def lengths(fixed: list[float], attention: list[float]) -> Findings:
    def rows(bleus: list[float]) -> dict[tuple[str, int], list[float]]:
        return {(f"{i}", 9): five(bleu) for i, bleu in enumerate(bleus)}

    return attention_by_length.findings({"seq2seq": rows(fixed), "attention": rows(attention)}, 0.05)


def reversal(backwards: float, by_position: list[float]) -> Findings:
    forwards = Measured(five(3.05), [5.0] * 5, np.full((5, 6), 3.0))
    return source_reversal.findings(
        forwards, Measured(five(backwards), [6.0] * 5, np.tile(by_position, (5, 1))), 4.0, 0.02
    )


def norms(post: dict[int, float], pre: dict[int, float], noise: float = 0.1, warm: float = 2.0) -> Findings:
    """Without warm-up seeds differ by the `noise`; with it a deep post-norm network loses `warm`."""
    sides: tuple[tuple[norm_by_depth.Norm, dict[int, float]], ...] = (("post", post), ("pre", pre))
    deepest = max(post)
    found = {
        Setting(norm, layers, warmed): [warm if (norm, layers) == ("post", deepest) else 2.0] * 5
        if warmed
        else five(loss, noise)
        for warmed in (True, False)
        for norm, losses in sides
        for layers, loss in losses.items()
    }
    return norm_by_depth.findings(found, unigram=6.0, margin=0.05)


def widths(bleus: list[float], search: list[int], seconds: tuple[float, ...] = (1.0, 2.0, 3.0)) -> Findings:
    rows = zip((1, 5, 20), bleus, search, seconds, strict=True)
    results = []
    for width, bleu, missed, taken in rows:
        errors = SearchErrors(sentences=50, wrong=20, search=missed, model=20 - missed)
        how = {"width": width, "mean_score": -1.0, "errors": errors, "seconds": taken}
        results.append([WidthResult.model_validate({**how, "bleu": one}) for one in five(bleu)])
    return beam_width.findings(results, 0.5)


def alphas(*rows: tuple[float, float], judged_by: float = 0.0) -> Findings:
    """Each α's BLEU and length ratio; `judged_by` is added to the BLEU of the sentences that do not choose."""
    return length_normalisation.findings(
        {
            i / 2: [Normalised(one, ratio, one, one + judged_by * (i > 0)) for one in five(bleu)]
            for i, (bleu, ratio) in enumerate(rows)
        },
        0.5,
    )


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        (lengths([40.0, 10.0], [80.0, 60.0]), True),
        (lengths([40.0, 30.0], [80.0, 40.0]), False),
        (lengths([40.0, 41.0], [80.0, 85.0]), False),
        (lengths([0.5, 0.1], [80.0, 60.0]), None),
        (reversal(2.0, [1.0] * 3 + [2.8] * 3), True),
        (reversal(2.0, [2.8] * 3 + [1.0] * 3), False),
        (reversal(3.06, [1.0] * 3 + [2.8] * 3), False),
        (norms({2: 3.0, 8: 6.5}, {2: 3.0, 8: 3.0}), True),
        (norms({2: 3.5, 8: 3.4}, {2: 3.0, 8: 3.0}, noise=0.01), False),
        (norms({2: 3.0, 8: 3.0}, {2: 3.0, 8: 3.0}), False),
        (norms({2: 6.5, 8: 6.5}, {2: 6.5, 8: 6.5}), None),
        (norms({2: 3.0, 8: 6.5}, {2: 3.0, 8: 3.0}, warm=5.6), False),  # with warm-up it is as far behind
        (norms({2: 3.0, 8: 4.0}, {2: 3.0, 8: 3.07}, noise=3), None),
        (widths([30.0, 33.0, 33.2], [9, 2, 1]), True),
        (widths([30.0, 33.0, 35.0], [9, 2, 1]), False),
        (widths([30.0, 33.0, 33.0], [2, 2, 3]), False),
        (widths([30.0, 33.0, 33.0], [0, 0, 0]), None),
        (alphas((30.0, 0.9), (33.0, 0.95), (32.0, 1.0)), True),
        (alphas((30.0, 0.9), (29.0, 0.95), (28.0, 1.0)), False),
        (alphas((30.0, 1.01), (33.0, 1.02), (32.0, 1.03)), False),
        (alphas((30.0, 0.9), (33.0, 0.95), (32.0, 1.0), judged_by=-3.0), False),  # by luck of the choice
    ],
)
def test_verdicts_follow_the_numbers(found: Findings, holds: bool | None) -> None:
    assert found.holds is holds


def test_the_deep_networks_losses_are_named_in_the_verdict() -> None:
    found = norms({2: 3.0, 8: 6.5}, {2: 3.0, 8: 3.25}, noise=0.0)
    assert "6.50 with post-norm, no warm-up, 3.25 with pre-norm, no warm-up" in found.verdict
    assert (
        "behind by 0.00 at 2, 3.25 at 8 layers, with it by 0.00 at 2, 0.00 at 8; 5 of 40 networks failed"
        in found.verdict
    )


@pytest.mark.parametrize(("seconds", "holds"), [((1.0, 2.0, 3.0), True), ((1.0, 3.0, 2.0), False)])
def test_the_times_verdict_follows_the_clock(seconds: tuple[float, ...], holds: bool) -> None:
    found = widths([30.0, 33.0, 33.0], [9, 2, 1], seconds)
    assert found.holds is True
    assert found.timed is not None
    assert found.timed.holds is holds
    assert f"takes {seconds[-1]:.1f} times as long" in found.timed.verdict


def test_a_wider_beam_finds_what_the_model_prefers(data: Data) -> None:
    """Without normalisation, the mean log-probability of what is found rises."""
    config = beam_width.BeamWidthConfig(
        width=16, layers=1, max_steps=30, batch_tokens=256, widths=[1, 40], alpha=0.0, test_sentences=6
    )
    found = beam_width.BeamWidth(config).run(data, seed=1, progress=lambda _: None)
    greedy, wide = (row[2] for row in found.rows)
    assert isinstance(greedy, float) and isinstance(wide, float)
    assert wide > greedy
