"""BERT's folder for Hugging Face: parity with `transformers`, and the round trip."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from langladder.formats.bert import bert_arrays, bert_config, export_bert, import_bert
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT, PRESETS, BERTConfig
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from tests.models.test_bert import PAPERS, gaps, make

LINES = ["the cat sleeps", "a big dog saw the cat", "the dog sleeps"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))


def small(tokenizer: Tokenizer, *, next_sentence: bool = True) -> BERT:
    torch.manual_seed(2)
    config = BERTConfig(context=16, width=24, layers=2, heads=4, next_sentence=next_sentence)
    return BERT(config, tokenizer.full_vocab_size).eval()


@pytest.mark.parametrize("pairs", [True, False])
def test_a_folder_read_back_is_the_model(tmp_path: Path, tokenizer: Tokenizer, pairs: bool) -> None:
    model = small(tokenizer, next_sentence=pairs)
    export_bert(model, tokenizer, tmp_path / "hf")
    assert sorted(path.name for path in (tmp_path / "hf").iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    back = import_bert(tmp_path / "hf")
    assert back.config.next_sentence == pairs
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(back.get_parameter(name), parameter, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_act": "relu"}, "hidden_act is 'relu'"),
        ({"model_type": "gpt2"}, "model_type is 'gpt2'"),
        ({"hidden_size": 16384}, "not a multiple of hidden_size"),
        ({"hidden_size": 16384, "intermediate_size": 65536, "num_attention_heads": 4}, "do not fit config.json"),
        ({"vocab_size": 10**12}, "vocab_size"),
    ],
)
def test_other_folders_are_refused_with_a_one_line_error(
    tmp_path: Path, tokenizer: Tokenizer, change: dict[str, Any], message: str
) -> None:
    export_bert(small(tokenizer), tokenizer, tmp_path / "hf")
    path = tmp_path / "hf" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        import_bert(tmp_path / "hf")


def test_norms_before_the_sublayers_are_refused(tmp_path: Path, tokenizer: Tokenizer) -> None:
    model = BERT(BERTConfig(context=16, width=24, layers=1, norm="pre"), tokenizer.full_vocab_size)
    with pytest.raises(InputError, match=r"model\.norm=pre: transformers' BERT has its norms after the sublayers"):
        export_bert(model, tokenizer, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def test_another_models_tokenizer_is_refused(tmp_path: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"the model has 40 tokens, but the tokenizer has \d+"):
        export_bert(make(), tokenizer, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def _peer(model: BERT) -> Any:
    """transformers' `BertForPreTraining` with our weights."""
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(**bert_config(model), attn_implementation="eager")
    peer = transformers.BertForPreTraining(config).eval()
    missing, unexpected = peer.load_state_dict(
        {name: torch.from_numpy(array.copy()) for name, array in bert_arrays(model).items()}, strict=False
    )
    assert {name.rpartition(".")[0] for name in missing} <= {"cls.predictions.decoder", "bert.embeddings"}
    assert not unexpected
    peer.tie_weights()
    return peer


def test_parity_with_transformers() -> None:
    """Hidden states of every layer, attention, the words' scores and the pairs', with padding."""
    model = make()
    batch, peer = gaps(model), _peer(model)
    mask = batch.tokens != 0
    with torch.no_grad():
        theirs = peer(
            input_ids=batch.tokens,
            token_type_ids=batch.segments,
            attention_mask=mask.long(),
            output_hidden_states=True,
            output_attentions=True,
        )
        ours = model.hidden(batch.tokens, batch.segments)
    for name, other in zip(ours, theirs.hidden_states, strict=True):
        torch.testing.assert_close(name[mask], other[mask], atol=1e-5, rtol=1e-5)
    for item, other in zip(model.attention(batch.tokens, batch.segments), theirs.attentions, strict=True):
        torch.testing.assert_close(item[0, :, :8], other[0, :, :8], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(item[1], other[1], atol=1e-5, rtol=1e-5)
    scores = model.head(model.transformed(ours[-1]))
    torch.testing.assert_close(scores[mask], theirs.prediction_logits[mask], atol=1e-5, rtol=1e-5)
    follow = torch.log_softmax(theirs.seq_relationship_logits, dim=-1)
    torch.testing.assert_close(model.follow_log_probs(batch), follow, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("size", [size for size in PRESETS if size not in ("base", "large")])
def test_parity_of_the_papers_sizes_with_transformers(size: str) -> None:
    transformers = pytest.importorskip("transformers")
    with torch.device("meta"):
        model = BERT(BERTConfig.model_validate({"preset": size}), 30522)
        peer = transformers.BertForPreTraining(transformers.BertConfig(**bert_config(model)))
    assert peer.num_parameters() == PAPERS[size][0]


@pytest.mark.parametrize("pairs", [True, False])
def test_parity_of_the_folder_in_transformers(tmp_path: Path, tokenizer: Tokenizer, pairs: bool) -> None:
    """AutoModel and AutoTokenizer read it; the text is framed as here, and the gap is filled alike."""
    transformers = pytest.importorskip("transformers")
    model = small(tokenizer, next_sentence=pairs)
    export_bert(model, tokenizer, tmp_path / "hf")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    item, two = "the cat sleeps", "a dog saw the cat"
    tokens, segments = model.framed(tokenizer.encode(item), tokenizer.encode(two))
    inputs = theirs(item, two)
    assert inputs["input_ids"] == tokens.tolist()
    assert inputs["token_type_ids"] == segments.tolist()
    assert theirs.mask_token_id == model.mask
    kind = transformers.BertForPreTraining if pairs else transformers.BertForMaskedLM
    peer = kind.from_pretrained(tmp_path / "hf").eval()
    with torch.no_grad():
        got = peer(input_ids=torch.from_numpy(tokens)[None], token_type_ids=torch.from_numpy(segments)[None])
        (last,) = model.hidden(torch.from_numpy(tokens)[None], torch.from_numpy(segments)[None], layers=(-1,))
        scores = model.head(model.transformed(last))
    torch.testing.assert_close(scores, got.prediction_logits if pairs else got.logits, atol=1e-5, rtol=1e-5)
    assert np.isfinite(scores.numpy()).all()
