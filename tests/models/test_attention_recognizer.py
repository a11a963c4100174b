"""The recogniser with attention: frames and letters as the network reads them, padding, saving, its search."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from langladder.answers.kinds import kind_of
from langladder.corpora.speech import ALPHABET, Utterance
from langladder.data.speech import collate
from langladder.evaluation.transcripts import TranscriptionConfig, evaluate_transcripts, transcribe
from langladder.models.recognizer import Recognizer
from langladder.models.translation.attention_recognizer import FIRST_LETTER, AttentionRecognizer
from langladder.text.tokenize.specials import BOS, EOS, PAD, UNK

D = 3


def build(stack: int = 2) -> AttentionRecognizer:
    torch.manual_seed(1)
    config = AttentionRecognizer.Config(width=8, embedding_dim=8, attention_width=6, stack=stack)
    return AttentionRecognizer(config, D, len(ALPHABET)).eval()


def spoken(*texts: str) -> list[Utterance]:
    random = np.random.default_rng(3)
    return [
        Utterance(text, random.normal(size=(3 * len(text), D)).astype(np.float32), np.repeat(np.arange(len(text)), 3))
        for text in texts
    ]


def test_golden_source_and_target_tensors() -> None:
    model = build()
    frames = torch.arange(1.0, 13.0).view(1, 4, 3).repeat(2, 1, 1)  # the second row has one frame; the rest is padding
    source = model.source(frames, torch.tensor([3, 1]))
    assert source.tolist() == [
        [[1, 1, 2, 3, 1, 4, 5, 6], [1, 7, 8, 9, 0, 0, 0, 0]],
        [[1, 1, 2, 3, 0, 0, 0, 0], [0] * 8],
    ]
    assert model.present(source).tolist() == [[True, True], [True, False]]
    assert model.source(frames[:, :3], torch.tensor([3, 1])).shape == (2, 2, 8)  # an odd number of frames is filled up
    target = model.target(torch.tensor([[1, 27], [2, 0], [0, 0]]), torch.tensor([2, 1, 0]))
    first = FIRST_LETTER
    assert target.tolist() == [[BOS, first, first + 26, EOS], [BOS, first + 1, EOS, PAD], [BOS, EOS, PAD, PAD]]


@pytest.mark.parametrize("stack", [1, 2, 3])
def test_padding_changes_nothing(stack: int) -> None:
    model, utterances = build(stack), spoken("the cat", "a", "an owl")
    batch = collate(utterances)
    pair = model.source(batch.frames, batch.lengths), model.target(batch.labels, batch.label_lengths)
    whole = model.log_probs(*pair)
    for row, utterance in enumerate(utterances):
        alone = collate([utterance])
        own = model.source(alone.frames, alone.lengths), model.target(alone.labels, alone.label_lengths)
        assert_close(whole[row, : len(utterance.text) + 1], model.log_probs(*own)[0])
        assert (whole[row, len(utterance.text) + 1 :] == 0).all()


def test_saved_and_read(tmp_path: Path) -> None:
    model, utterances = build(), spoken("the cat", "an owl")
    model.save(tmp_path / "transcriber")
    loaded = Recognizer.load(tmp_path / "transcriber")
    assert isinstance(loaded, AttentionRecognizer) and kind_of(tmp_path / "transcriber") == "transcriber"
    assert (loaded.dimensions, loaded.labels) == (D, len(ALPHABET))
    config = TranscriptionConfig(width=2)
    assert transcribe(loaded, utterances, config) == transcribe(model, utterances, config)


def test_the_page_has_scores_and_attention() -> None:
    model, utterances = build(), spoken("the cat", "an owl", "a")
    page = evaluate_transcripts("mine", model, utterances, TranscriptionConfig(width=2))
    assert page == evaluate_transcripts("mine", model, utterances, TranscriptionConfig(width=2))
    assert page.scores.beam.exact == 0.0 and page.scores.sentences == 3  # an untrained network
    for example in page.examples:
        weights = np.array(example.attention)
        assert weights.shape[1] == -(-example.frames // 2) and len(weights) >= len(example.beam) + 1
        assert_close(weights.sum(axis=1), np.ones(len(weights)), atol=0.02, rtol=0)


def test_search_errors_are_counted_by_the_networks_own_probability() -> None:
    """The transcript's log P is that of `log_probs`; that of a wrong one is compared with that of the reference."""
    model, utterances = build(), spoken("the cat")
    with torch.no_grad():
        cast(torch.Tensor, model.head.bias)[UNK] = -50.0  # a trained network never says it
    (result,) = transcribe(model, utterances, TranscriptionConfig(width=3))
    batch = collate([utterances[0]._replace(text=result.text)])
    pair = model.source(batch.frames, batch.lengths), model.target(batch.labels, batch.label_lengths)
    assert result.log_prob == pytest.approx(float(model.log_probs(*pair).sum()), rel=1e-4)
