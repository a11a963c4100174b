"""What networks share: windows that slide, state that is carried, files and settings that are refused.

What each of them must do for itself stands in `test_every_language_model`.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.ground.errors import InputError
from langladder.models.language.convolutional import ConvolutionalLM
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import LanguageModel, predicted
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.nnlm import NNLM
from langladder.models.language.recurrent import RecurrentLM
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, PAD

V = 23
LSTM = {"cell": "lstm", "width": 12, "embedding_dim": 8, "layers": 2, "dropout": 0.2}


def build() -> RecurrentLM:
    torch.manual_seed(1)
    return RecurrentLM(RecurrentLM.Config(**LSTM), V)


def documents(rows: int, lines: int, words: int) -> torch.Tensor:
    """(rows, lines · (words + 2)) int64 made of BOS … EOS lines."""
    inner = torch.randint(4, V, (rows, lines, words), generator=torch.Generator().manual_seed(0))
    first, last = torch.full((rows, lines, 1), BOS), torch.full((rows, lines, 1), EOS)
    return torch.cat([first, inner, last], dim=2).flatten(1)


@pytest.mark.parametrize("context", [2, 3, 7, 8])
def test_windows_score_each_token_once_with_half_a_window(context):
    """A model whose score tells how many tokens it saw before the scored one."""

    class Count(torch.nn.Module):
        calls = 0

        def target_log_probs(self, hidden, targets):
            self.calls += len(targets)
            return hidden[:, 0]

    class Seen(NeuralLanguageModel):
        def __init__(self) -> None:
            super().__init__(GPT.Config(), V)
            self.context, self.head = context, Count()

        def forward(self, tokens, state=None):  # noqa: ARG002
            assert tokens.shape[1] <= context
            return torch.arange(1.0, tokens.shape[1] + 1).expand(tokens.shape)[..., None], None

    model, tokens = Seen(), documents(2, 6, 3)
    tokens[1, 17:] = PAD
    seen = model.log_probs(tokens)
    keep = predicted(tokens)
    assert model.head.calls == keep.sum() and (seen[~keep] == 0).all()
    position = torch.arange(tokens.shape[1]).expand(tokens.shape)[keep]
    assert (seen[keep] >= torch.minimum(position, torch.tensor((context + 1) // 2))).all()
    assert (seen[keep] <= torch.minimum(position, torch.tensor(context))).all()


def test_state_is_carried_across_chunks(monkeypatch):
    model, tokens = build(), documents(2, 5, 5)
    whole = model.log_probs(tokens)
    monkeypatch.setattr("langladder.models.language.neural.CHUNK", 4)
    torch.testing.assert_close(model.log_probs(tokens), whole)


def test_noise_of_the_input_is_added_to_the_embeddings_in_training():
    model, tokens = RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=6, input_noise=0.3), V), documents(2, 2, 5)
    torch.manual_seed(1)
    ours, _ = model(tokens)
    torch.manual_seed(1)
    x = model.embedding(tokens)
    theirs, _ = model.cell(x + 0.3 * torch.randn_like(x))
    torch.testing.assert_close(ours, model.bridge(theirs))
    model.eval()
    torch.testing.assert_close(model(tokens)[0], model.bridge(model.cell(x)[0]))


@pytest.mark.parametrize("kind", [RecurrentLM, NNLM, ConvolutionalLM])
def test_gradient_of_tied_weights_is_the_sum_of_both_uses(kind):
    models = []
    for tie in (True, False):
        torch.manual_seed(0)
        models.append(kind(kind.Config(width=8, embedding_dim=8, tie_weights=tie), V).eval())
    tied, untied = models
    with torch.no_grad():
        for name, parameter in untied.named_parameters():
            parameter.copy_(tied.get_parameter(name))
    tokens = documents(3, 2, 5)
    for model in models:
        model.loss(model(tokens[:, :-1])[0], tokens[:, 1:]).backward()
    torch.testing.assert_close(tied.embedding.weight.grad, untied.embedding.weight.grad + untied.head.weight.grad)


def test_a_stream_beyond_the_vocabulary_is_refused():
    with pytest.raises(InputError, match="has id 23"):
        build().prepare(TokenStream(np.array([BOS, V], dtype=np.int32), np.array([0, 2])))


def test_load_refuses_what_does_not_fit(tmp_path: Path):
    model = build()
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    text = path.read_text()
    with pytest.raises(InputError, match="not a GPT"):
        GPT.load(tmp_path / "m")
    path.write_text(text.replace('"format": 1', '"format": 99'))
    with pytest.raises(InputError, match="format 99"):
        LanguageModel.load(tmp_path / "m")
    path.write_text(text.replace('"width": 12', '"width": 13'))
    with pytest.raises(InputError, match="do not fit"):
        LanguageModel.load(tmp_path / "m")
    path.write_text(text.replace("langladder.models.language.recurrent.RecurrentLM", "os.system"))
    with pytest.raises(InputError, match="not a class of langladder"):
        LanguageModel.load(tmp_path / "m")


def test_configs_refuse_impossible_combinations():
    with pytest.raises(ValueError, match=r"width=10 is not divisible by heads=3"):
        GPT.Config(width=10, heads=3)
    with pytest.raises(ValueError, match="predicts the next word"):
        RecurrentLM.Config(bidirectional=True)
    with pytest.raises(ValueError, match="only the GRU has a reset gate"):
        RecurrentLM.Config(cell="lstm", reset_after=False)
    with pytest.raises(ValueError, match="layers"):
        RecurrentLM.Config(layers=5)
