"""BERT and fine-tuned models in ONNX: one graph for every number of rows and tokens, padding of any pattern."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from langladder.formats.onnx import export_onnx_encoder, export_onnx_reader
from langladder.ground.errors import InputError
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.gpt_classifier import GPTClassifier
from langladder.models.classification.neural_classifier import collate
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.bert_features import segments
from langladder.models.language.gpt import LLAMA
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.nn.packing import Layout
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import PAD
from tests.formats.test_bert_heads_folder import made
from tests.formats.test_exports import run_as_declared
from tests.models.fine_tuned_rungs import PAIRS, SINGLES, saved_bert


def session(path: Path) -> Any:
    runtime: Any = pytest.importorskip("onnxruntime", reason="the library onnxruntime is not installed")
    return runtime.InferenceSession(path)


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    for name in ("onnx", "onnxscript"):
        pytest.importorskip(name, reason=f"the library {name} is not installed")


def rows(vocab_size: int) -> list[torch.Tensor]:
    """Batches of other sizes than the traced one: padded, not padded, one short row, rows as long as they may be."""
    torch.manual_seed(1)
    numbers = [torch.randint(4, vocab_size - 3, shape) for shape in ((3, 7), (4, 5), (1, 2), (2, 24))]
    numbers[0][1, 4:], numbers[0][2, 2:] = PAD, PAD
    return numbers


def test_parity_of_an_encoder_in_onnx(tmp_path: Path) -> None:
    model = BERT.load(saved_bert(tmp_path / "model"))
    export_onnx_encoder(model, tmp_path / "model.onnx")
    runs = session(tmp_path / "model.onnx")
    for tokens in rows(model.vocab_size):
        halves = (torch.arange(tokens.shape[1]) > tokens.shape[1] // 2).long().expand(tokens.shape).contiguous()
        states, log_probs = run_as_declared(runs, {"tokens": tokens.numpy(), "segments": halves.numpy()})
        with torch.no_grad():
            ours = torch.stack(model.hidden(tokens, halves))  # (N + 1, B, T, D)
            scores = torch.log_softmax(model.head(model.transformed(ours[-1])), dim=-1)
        there = (tokens != PAD).numpy()
        assert states.shape == tuple(ours.shape) and log_probs.shape == (*tokens.shape, model.vocab_size)
        np.testing.assert_allclose(states[:, there], ours.numpy()[:, there], atol=1e-5)
        np.testing.assert_allclose(log_probs[there], scores.numpy()[there], atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (BERTClassifier, {}),
        (BERTClassifier, {"layers": "weighted_sum", "pooling": "mean"}),
        (GPTClassifier, {}),
        (GPTClassifier, {"pairs": "similarity"}),
        (GPTClassifier, {"base_settings": LLAMA | {"key_value_heads": 1}}),
    ],
)
def test_parity_of_a_classifier_in_onnx(kind: type[Any], settings: dict[str, Any], tmp_path: Path) -> None:
    """Pairs and, where it reads them, single texts, padded together."""
    model = made(kind, tmp_path, **settings)
    export_onnx_reader(model, tmp_path / "model.onnx")
    runs = session(tmp_path / "model.onnx")
    read: list[Example] = PAIRS if settings.get("pairs") == "similarity" else [*SINGLES, *PAIRS]
    for some in (read, read[:1]):
        (result,) = run_as_declared(runs, {"tokens": collate([model.encode(item) for item in some]).tokens.numpy()})
        np.testing.assert_allclose(result, model.log_probs(some), atol=1e-5)


@pytest.mark.parametrize("layers", ["last", "concat"])
def test_parity_of_a_tagger_in_onnx(layers: str, tmp_path: Path) -> None:
    model = made(BERTTagger, tmp_path, layers=layers)
    export_onnx_reader(model, tmp_path / "model.onnx")
    runs = session(tmp_path / "model.onnx")
    batch = model.collate([model.encode(["dogs", "sleep"])])
    assert run_as_declared(runs, {"tokens": batch.tokens.numpy()})[0].shape[:2] == batch.tokens.shape
    batch = model.collate([model.encode(words.split()) for words in ("the cat sees a dog", "dogs sleep")])
    (result,) = run_as_declared(runs, {"tokens": batch.tokens.numpy()})
    with torch.no_grad():
        ours = torch.log_softmax(model(batch), dim=-1)  # (B, W, K)
    at_words = result.reshape(-1, result.shape[-1])[batch.positions.numpy()]
    inside = model.inside(batch).numpy()
    np.testing.assert_allclose(at_words[inside], ours.numpy()[inside], atol=1e-5)


def test_a_crf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"output=crf.*train with output: softmax"):
        export_onnx_reader(made(BERTTagger, tmp_path, output="crf"), tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_padding_is_left_out_again_after_an_export(tmp_path: Path) -> None:
    """The graph computes padding; the network itself does not."""
    model = BERT.load(saved_bert(tmp_path / "model"))
    export_onnx_encoder(model, tmp_path / "model.onnx")
    assert not any(part.training for part in model.modules())
    mask = torch.tensor([[True, True], [True, False]])
    positions = Layout.of(mask).positions
    assert positions is not None and positions.tolist() == [0, 1, 2]
    assert segments(torch.tensor([[5, model.separator, 6]]), model.separator).tolist() == [[0, 0, 1]]
