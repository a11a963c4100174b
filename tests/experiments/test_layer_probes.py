"""Probes of layers: labels of the tasks, states of a word, verdicts by hand."""

from collections import Counter, defaultdict
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from claims.pretraining.layer_probes import (
    WHOLE,
    BiLM,
    Cutter,
    LayerProbes,
    LayerProbesConfig,
    Read,
    accuracies,
    features,
    layer_states,
    mirrored,
    numbers,
    parts_of_speech,
    questions,
)
from claims.pretraining.layer_probes import Labelled as Text
from claims.pretraining.small_bodies import Bodies
from langladder.experiments.experiment import Data
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT
from langladder.models.language.recurrent import RecurrentLM
from langladder.text.tokenize.specials import BOS, EOS, PAD
from microworld.lexicon import table
from tests.experiments.declared import findings_from as declared
from tests.experiments.declared import five

SMALL: dict[str, Any] = {
    "bases": ["bilm", "bert", "gpt"],
    "variants": {"speech": {"task": "speech"}, "number": {"task": "number"}, "answer": {"task": "answer"}},
    "expect": [{"each": ["speech"], "is": "better", "than": "answer", "margin": 0.5}],
    "width": 16,
    "layers": 2,
    "effort": 0.01,
}
CONFIG = LayerProbesConfig.model_validate(SMALL)


@pytest.fixture(scope="module")
def cutter(data: Data) -> Cutter:
    return Cutter(data.tokenizer())


@pytest.fixture(scope="module")
def bilm(data: Data) -> BiLM:
    """Untrained, its two networks alike."""
    torch.manual_seed(3)
    model = RecurrentLM(CONFIG.recurrent(), data.tokenizer().vocab_size).eval()
    return BiLM(model, model)


# ---- tasks ----------------------------------------------------------------------------------------------------------


def test_the_number_is_the_subjects_whatever_the_last_noun_is() -> None:
    number_of = {row[form]: form[0] for row in table("nouns") for form in ("singular", "plural")}
    drawn = list(islice(numbers(Random(1)), 200))
    for text in drawn:
        words, ((index, label),) = text.words, text.labels.items()
        assert index == len(words) - 1
        assert number_of[words[words.index("that") - 1]] == label
        assert words[-1] not in number_of
    assert Counter(label for text in drawn for label in text.labels.values()) == {"s": 100, "p": 100}


def test_words_with_several_tags_have_theirs_and_every_question_its_answer() -> None:
    tags = defaultdict[str, set[str]](set)
    for spoken in islice(parts_of_speech(Random(2)), 300):
        for index, tag in spoken.labels.items():
            tags[spoken.words[index]].add(tag)
    assert {"her", "lost"} <= set(tags) and "the" not in tags
    assert sum(len(some) > 1 for some in tags.values()) > 4, "the word alone does not show it"
    for question in islice(questions(Random(2)), 50):
        assert question.words[-1] == "?" and list(question.labels) == [WHOLE]
        assert question.words[0] != "where" or set(question.labels.values()) == {"place"}


def test_a_line_is_read_from_the_mean_of_its_words(data: Data, cutter: Cutter, bilm: BiLM) -> None:
    words = ["the", "dog", "sleeps"]
    every, whole = (Text(words, labels) for labels in (dict.fromkeys(range(3), "any"), {WHOLE: "any"}))
    for model in (bilm, Bodies(data, CONFIG).fresh("gpt", seed=1)):
        x = features(model, [every], cutter)  # (N + 1, 3, D)
        spans = cutter.row(words).spans
        pieces = (spans[:, 1] - spans[:, 0]) / spans[-1, 1:].sum()
        mean = (x * (pieces / pieces.sum())[:, None]).sum(axis=1)
        np.testing.assert_allclose(features(model, [whole], cutter)[:, 0], mean, atol=1e-6)  # type: ignore[arg-type]


# ---- states ---------------------------------------------------------------------------------------------------------


def test_rows_are_the_texts_that_networks_are_trained_on(data: Data, cutter: Cutter) -> None:
    words = ["the", "dog", "sleeps", "."]
    row = cutter.row(words)
    (ids,) = cutter.tokenizer.encode_lines([" ".join(words)])
    assert row.tokens.tolist() == [BOS, *ids, EOS]
    assert [cutter.tokenizer.decode(row.tokens[a:b].tolist()).strip() for a, b in row.spans] == words
    bert = Bodies(data, CONFIG).fresh("bert", seed=1)
    assert isinstance(bert, BERT)
    assert cutter.row(words, bert).tokens.tolist() == [bert.cls, *ids, bert.separator]


def test_golden_mirrored_text() -> None:
    ids = np.array([BOS, 7, 8, EOS, BOS, 9, EOS], dtype=np.int32)
    assert mirrored(ids).tolist() == [BOS, 9, EOS, BOS, 8, 7, EOS] and mirrored(ids).dtype == np.int32


def test_layers_are_the_embeddings_to_the_last_states(data: Data, bilm: BiLM) -> None:
    tokens = torch.tensor([[BOS, 9, 8, 7, EOS], [BOS, 5, EOS, PAD, PAD]])
    bodies = Bodies(data, CONFIG)
    for model in (bilm.forwards, bodies.fresh("gpt", seed=1)):
        states = layer_states(model, tokens)
        assert [tuple(state.shape) for state in states] == [(2, 5, 16)] * 3
        torch.testing.assert_close(states[-1], model(tokens)[0])  # type: ignore[arg-type]
    torch.testing.assert_close(layer_states(bilm.forwards, tokens)[0], bilm.forwards.embedding(tokens))


def test_each_half_of_a_bilm_reads_one_side(bilm: BiLM, cutter: Cutter) -> None:
    """The forward half of a word depends on no later word, the backward half on no earlier one; both on the other."""

    def halves(*words: str) -> tuple[np.ndarray, np.ndarray]:
        x = features(bilm, [Text(list(words), dict.fromkeys(range(len(words)), "any"))], cutter)  # (N + 1, 3, 2 D)
        assert x.shape == (3, 3, 32)
        return x[:, 1, :16], x[:, 1, 16:]

    (here, there), (same, changed) = halves("the", "dog", "sleeps"), halves("the", "dog", "ran")
    np.testing.assert_allclose(here, same, atol=1e-6)
    assert np.allclose(there[0], changed[0]) and not np.allclose(there[1:], changed[1:], atol=1e-4)
    changed, same = halves("a", "dog", "sleeps")
    np.testing.assert_allclose(there, same, atol=1e-6)
    assert np.allclose(here[0], changed[0]) and not np.allclose(here[1:], changed[1:], atol=1e-4)


def test_a_word_is_the_mean_of_its_pieces(data: Data, cutter: Cutter) -> None:
    word = "elephantsleeps"
    gpt = Bodies(data, CONFIG).fresh("gpt", seed=1)
    row = cutter.row(["the", word])
    (start, stop) = row.spans[1]
    assert stop - start > 1
    states = torch.stack(layer_states(gpt, torch.from_numpy(row.tokens)[None]))  # (N + 1, 1, T, D)
    alone = features(gpt, [Text(["the", word], {1: "any"})], cutter)  # (N + 1, 1, D)
    batch = features(gpt, [Text(["the", word], {1: "any"}), Text(["a"] * 20, {19: "any"})], cutter)
    np.testing.assert_allclose(alone[:, 0], states[:, 0, start:stop].mean(dim=1).numpy(), atol=1e-5)
    np.testing.assert_allclose(batch[:, 0], alone[:, 0], atol=1e-5)


# ---- probes and the verdict -----------------------------------------------------------------------------------------


def test_a_probe_finds_what_a_layer_shows_linearly() -> None:
    """Layer 0 shows the exclusive or of two signs, which no linear probe reads; layer 1 shows it as it is."""
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(600, 2))
    either = signs[:, 0] * signs[:, 1]
    x = np.stack([signs, np.stack([either, np.full(600, 5.0)], axis=1)])  # one number of layer 1 is the same everywhere
    labels = np.where(either > 0, "same", "other")
    result = accuracies(Read(x[:, :400], labels[:400]), [Read(x[:, 400:], labels[400:])], 1.0)
    assert result.shape == (2, 1) and 0.3 < result[0, 0] < 0.7 and result[1, 0] == 1


@pytest.mark.parametrize(
    ("speech", "number", "gain", "holds"),
    [
        (1.0, 1.2, 0.3, True),
        (1.0, 3.0, 0.3, False),
        (1.0, 1.2, 0.0, None),  # nothing is learnt of a task
    ],
)
def test_verdict_of_peaks(speech: float, number: float, gain: float, holds: bool | None) -> None:
    peaks = {"part of speech": speech, "number of the verb": number, "answer asked for": 2.8}
    cells = {name: {"peak": five(peak, 0.2), "gain": five(gain)} for name, peak in peaks.items()}
    assert declared("layer_probes", cells).holds is holds


def test_accuracy_by_layer_is_a_plot_for_each_network(data: Data) -> None:
    findings = LayerProbes(CONFIG).run(data, seed=1, progress=lambda _: None)
    curves = [plot for plot in findings.plots if plot.x_label == "layer"]
    assert [plot.title.rsplit(", ", 1)[1] for plot in curves] == ["BiLSTM", "BERT", "GPT"]
    for plot in curves:
        assert [line.name for line in plot.series] == list(SMALL["variants"])
        assert all(line.x == [0, 1, 2] and all(0 <= y <= 1 for y in line.y if y is not None) for line in plot.series)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"layers": 5}, "less than or equal to 4"),
        ({"heads": 3}, "width=16"),
        ({"variants": SMALL["variants"] | {"number": {"task": "syntax"}}}, "task"),
        ({"bases": ["elmo"]}, "bilm"),
    ],
)
def test_wrong_settings_of_probes_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValidationError, InputError), match=message):
        LayerProbesConfig.model_validate(SMALL | wrong)
