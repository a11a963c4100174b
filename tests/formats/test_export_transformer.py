"""The Transformer in the formats of others, run by code that is not ours: MarianMTModel, ONNX."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from langladder.data.translation import pad
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.translate import translate
from langladder.formats.loading import LOADING
from langladder.formats.marian import export_marian
from langladder.formats.onnx import export_onnx_transformer
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.nn.transformer_layers import NORM_EPS
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from tests.formats.test_exports import run_as_declared

PAIRS = [("the cat sleeps .", "la kato dormas ."), ("a big dog saw the cat .", "granda hundo vidis la katon .")]
SENTENCE = PAIRS[0][0]
GREEDY = BeamConfig(width=1, max_length=30, max_ratio=100)


@pytest.fixture(scope="module")
def tokenizers() -> list[Tokenizer]:
    """One of both languages, one of the second alone."""
    texts = [[line for pair in PAIRS for line in pair], [target for _, target in PAIRS]]
    return [train_tokenizer(lines, TokenizerConfig(kind="word", vocab_size=None)) for lines in texts]


def make(tokenizers: list[Tokenizer], **changes: Any) -> tuple[Transformer, list[Tokenizer]]:
    """A model that has learnt both pairs, with its tokenizers (one for both sides where all is tied)."""
    torch.manual_seed(4)
    settings = {"width": 16, "layers": 2, "heads": 4, "dropout": 0.0, "max_length": 120} | changes
    config = TransformerConfig.model_validate(settings)
    used = [tokenizers[0]] * 2 if config.tie == "all" else tokenizers
    model = Transformer(config, used[0].vocab_size, used[1].vocab_size)
    sources, targets = ([used[side].encode(pair[side]) for pair in PAIRS] for side in (0, 1))
    source = pad([np.append(ids, EOS) for ids in sources])
    target = pad([np.concatenate([[BOS], ids, [EOS]]) for ids in targets])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        model.loss(source, target).backward()
        optimizer.step()
    return model.eval(), used


def ours(model: Transformer, tokenizers: list[Tokenizer]) -> list[int]:
    source = np.append(tokenizers[0].encode(SENTENCE), EOS)
    tokens = translate(model, [source], GREEDY)[0][0].tokens
    assert tokenizers[1].decode(tokens) == PAIRS[0][1]
    return [BOS, *tokens, EOS]


def batch(model: Transformer) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    source, target = (torch.randint(4, size, (3, 7)) for size in (model.source_vocab_size, model.target_vocab_size))
    source[:, -1], target[:, 0] = EOS, BOS
    source[1, 4:], source[2, 1:] = torch.tensor([EOS, PAD, PAD]), torch.tensor([EOS] + [PAD] * 5)
    return source, target


@pytest.mark.parametrize("settings", [{}, {"tie": "target"}, {"tie": "none", "scale_scores": False}], ids=str)
def test_parity_with_marian(tmp_path: Path, tokenizers, settings) -> None:
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    model, used = make(tokenizers, **settings)
    export_marian(model, *used, tmp_path / "hf")
    theirs, loading = transformers.MarianMTModel.from_pretrained(tmp_path / "hf", output_loading_info=True)
    theirs.eval()
    assert not loading["unexpected_keys"] and not loading["mismatched_keys"] and not loading["missing_keys"]
    source, target = batch(model)
    with torch.no_grad():
        inputs = {"input_ids": source, "attention_mask": source != PAD, "decoder_input_ids": target}
        torch.testing.assert_close(theirs(**inputs).logits, model(source, target), atol=1e-3, rtol=0)
        for module in theirs.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = NORM_EPS  # all that differs
        torch.testing.assert_close(theirs(**inputs).logits, model(source, target), atol=2e-5, rtol=0)
    source_tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    target_tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf", subfolder="target")
    ids = source_tokenizer(SENTENCE, return_tensors="pt")
    assert ids.input_ids[0].tolist() == [*used[0].encode(SENTENCE).tolist(), EOS]
    result = theirs.generate(**ids)
    assert result[0].tolist() == ours(model, used)
    assert target_tokenizer.decode(result[0], skip_special_tokens=True) == PAIRS[0][1]
    theirs.save_pretrained(tmp_path / "again")  # writes no positions: Marian makes its own
    again = transformers.MarianMTModel.from_pretrained(tmp_path / "again").eval()
    with torch.no_grad():
        torch.testing.assert_close(again(**inputs).logits, model(source, target), atol=1e-3, rtol=0)


def test_marian_names_and_shared_matrices(tmp_path: Path, tokenizers) -> None:
    from safetensors.numpy import load_file

    for tie, own in (("all", set()), ("target", set()), ("none", {"lm_head.weight"})):
        model, used = make(tokenizers, tie=tie)
        export_marian(model, *used, tmp_path / tie)
        arrays, about = load_file(tmp_path / tie / "model.safetensors"), read_json(tmp_path / tie / "config.json")
        sides = {f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")}
        outer = {name for name in arrays if ".layers." not in name}
        assert outer == {"final_logits_bias"} | own | ({"model.shared.weight"} if tie == "all" else sides)
        assert about["share_encoder_decoder_embeddings"] == (tie == "all")
        stored = sum(array.size for array in arrays.values())
        assert stored == model.number_of_parameters()


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"norm": "pre"}, "norm=pre"), ({"positions": "learned"}, "positions=learned"), ({"positions": "none"}, "none")],
)
def test_what_marian_cannot_compute_is_refused(tmp_path: Path, tokenizers, settings, named: str) -> None:
    model, used = make(tokenizers, **settings)
    with pytest.raises(InputError, match=f"{named}.*MarianMTModel cannot"):
        export_marian(model, *used, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


@pytest.mark.parametrize("settings", [{}, {"norm": "pre", "positions": "learned", "tie": "none"}], ids=str)
def test_parity_of_onnx(tmp_path: Path, tokenizers, settings, capsys) -> None:
    """Other sizes than were traced, padding among them, over several steps; then the example of the card."""
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name, reason=f"the library {name} is not installed")
    import onnxruntime

    model, used = make(tokenizers, **settings)
    export_onnx_transformer(model, tmp_path)
    encoder, step = (onnxruntime.InferenceSession(tmp_path / f"{n}.onnx") for n in ("encoder", "decoder_step"))
    source, target = batch(model)
    for rows in (slice(0, 3), slice(0, 1)):
        words, prefix = source[rows], target[rows]
        result = run_as_declared(encoder, {"source": words.numpy()})
        read = dict(zip([output.name for output in encoder.get_outputs()], result, strict=True))
        state = model.encode(words, words != PAD)
        real = (words != PAD).numpy()  # what stands at padding is never read
        for name, value in state.source.items():
            own, other = (
                (x if name == "mask" else x.swapaxes(1, 2))[real] for x in (read[name], value.detach().numpy())
            )
            np.testing.assert_allclose(own, other, atol=1e-5)
        past = {f"past_{name}": read[name][:, :, :0] for name in read if name != "mask"}
        for t in range(1, 7):
            inputs = {"prefix": prefix[:, :t].numpy()} | read | past
            log_probs, attention, *kept = run_as_declared(step, inputs)
            past = dict(zip(past, kept, strict=True))
            expected, state, weights = model.step(prefix[:, :t], state)
            np.testing.assert_allclose(log_probs, expected.detach().numpy(), atol=1e-4)
            np.testing.assert_allclose(attention, weights.detach().numpy(), atol=1e-5)
    # the example of the card, as it stands there but for the sentence
    ids = [*used[0].encode(SENTENCE).tolist(), EOS]
    exec(LOADING["onnx_transformer"].replace("{folder}", str(tmp_path)).replace("[[5, 6, 3]]", f"[{ids}]"), {})
    assert [int(number) for number in re.findall(r"\d+", capsys.readouterr().out)] == ours(model, used)
