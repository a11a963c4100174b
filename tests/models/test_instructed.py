"""GPT that follows instructions: the base's language model with three more ids, which it reads and never says."""

from pathlib import Path
from typing import Any

import pytest
import torch
from fine_tuned_rungs import TEXTS, TOKENIZER, saved_bert, saved_gpt

from langladder.decoding.sampling import SamplingConfig, generate_batch
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.instructed import InstructedGPT, begin, read_instructed
from langladder.models.language.language_model import LanguageModel
from langladder.models.network import own_tensors
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

V = TOKENIZER.vocab_size
ASSISTANT, USER, SYSTEM = V, V + 1, V + 2
TEMPLATE = ChatTemplate(TOKENIZER)
DIALOGUES = [
    (Message("user", TEXTS[0]), Message("assistant", "a dog")),
    (Message("system", "a dog"), Message("user", "the cats"), Message("assistant", TEXTS[2])),
    (Message("user", "not"), Message("assistant", "cats"), Message("user", "a"), Message("assistant", "house")),
]
EVERY: dict[str, dict[str, Any]] = {
    "tied": {},
    "untied": {"tie_weights": False},
    "post-norm": {"norm": "post", "positions": "none"},
    "sparse": {"sparse_window": 3},
    "sinusoidal": {"positions": "sinusoidal"},
}
every_body = pytest.mark.parametrize("settings", EVERY.values(), ids=EVERY.keys())


def build(folder: Path, **settings: Any) -> InstructedGPT:
    return begin(saved_gpt(folder / "base", context=48, **settings), seed=1)[0].eval()


def rows() -> torch.Tensor:
    """The dialogues, (3, T) int64, right-padded."""
    ids = [torch.from_numpy(TEMPLATE.row(item).ids).long() for item in DIALOGUES]
    return torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=PAD)


def learnt(tokens: torch.Tensor) -> torch.Tensor:
    """The dialogues' targets (3, T − 1): PAD where nothing is learnt."""
    targets = torch.zeros_like(tokens[:, 1:])
    for row, item in enumerate(DIALOGUES):
        ids, mask = TEMPLATE.row(item)
        targets[row, : len(ids) - 1] = torch.from_numpy(ids * mask)[1:]
    return targets


@every_body
def test_golden_before_training_it_equals_its_base(settings, tmp_path: Path) -> None:
    model, base = build(tmp_path, **settings), GPT.load(tmp_path / "base")
    tokens = torch.tensor([[BOS, *TOKENIZER.encode(TEXTS[0]).tolist(), EOS]])
    torch.testing.assert_close(model.log_probs(tokens), base.log_probs(tokens))
    following = model.next_log_probs(tokens[:, :4])
    assert following.shape == (1, V + 3) and bool(following[:, V:].isneginf().all())
    torch.testing.assert_close(following[:, :V], base.next_log_probs(tokens[:, :4]))
    assert model.vocab_size == V + 3 and model.number_of_words == V and model.reads_markers
    there = base.state_dict()
    for name, tensor in own_tensors(model).items():
        assert torch.equal(tensor[: len(there[name])], there[name][: len(tensor)]), name


def test_markers_have_no_log_prob(tmp_path: Path) -> None:
    model, tokens = build(tmp_path), rows()
    scores = model.log_probs(tokens)
    scored = (tokens != PAD) & (tokens != BOS) & (tokens < V)
    assert scores.isfinite().all() and (scores[~scored] == 0).all() and (scores[scored] < 0).all()
    hidden, _ = model(tokens[:, :-1])
    loss = model.loss(hidden, tokens[:, 1:])  # of a row whose users are learnt, too
    torch.testing.assert_close(loss, -scores.sum() / scored.sum())


def test_loss_is_of_the_responses_only(tmp_path: Path) -> None:
    model, tokens = build(tmp_path), rows()
    targets = learnt(tokens)
    scores = model.log_probs(tokens)[:, 1:]
    expected = -scores[targets != PAD].sum() / (targets != PAD).sum()
    torch.testing.assert_close(model.loss(model(tokens[:, :-1])[0], targets), expected)
    answers = [TOKENIZER.encode(f" {m.text}") for item in DIALOGUES for m in item if m.role == "assistant"]
    assert int((targets != PAD).sum()) == sum(len(ids) + 1 for ids in answers)


@every_body
def test_packed_equals_single(settings, tmp_path: Path) -> None:
    """The states of a dialogue do not depend on other rows, on padding or on the order of rows."""
    model, tokens = build(tmp_path, **settings), rows()
    for order in ([0, 1, 2], [2, 0, 1]):
        padded = torch.nn.functional.pad(tokens[order], (0, 5), value=PAD)
        hidden, layout = model.packed(padded)
        assert len(hidden) == int((padded != PAD).sum()) and torch.equal(layout.pack(padded), padded[padded != PAD])
        spread = layout.spread(hidden)
        for index, row in enumerate(order):
            alone = tokens[row : row + 1, : int((tokens[row] != PAD).sum())]
            torch.testing.assert_close(spread[index : index + 1, : alone.shape[1]], model(alone)[0], atol=1e-5, rtol=0)


@every_body
def test_packed_states_of_selected_positions_equal_those_of_all(settings, tmp_path: Path) -> None:
    """The last layer computes only the selected states; their values and gradients stay the same."""
    model, tokens = build(tmp_path, **settings), rows()
    chosen = (tokens != PAD) & (torch.arange(tokens.shape[1]) % 3 == 1)
    chosen[1] = False
    gradients = []
    for choice in (None, chosen):
        model.zero_grad()
        hidden, layout = model.packed(tokens, choice)
        assert len(hidden) == int(((tokens != PAD) if choice is None else chosen).sum())
        states = layout.spread(hidden)[chosen]
        states.sin().sum().backward()
        result = {name: item.grad.clone() for name, item in model.named_parameters() if item.grad is not None}
        gradients.append({"states": states.detach()} | result)
    assert gradients[0].keys() == gradients[1].keys()
    for name, expected in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], expected, atol=1e-5, rtol=1e-4)


def test_packed_gradients_are_those_of_the_dialogues_one_by_one(tmp_path: Path) -> None:
    model, tokens = build(tmp_path), rows()
    targets = learnt(tokens)
    hidden, layout = model.packed(tokens[:, :-1])
    model.loss(hidden, layout.pack(targets)).backward()
    result = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    for row in range(3):
        end = int((tokens[row] != PAD).sum())
        alone = targets[row : row + 1, : end - 1]
        share = (alone != PAD).sum() / (targets != PAD).sum()
        (share * model.loss(model(tokens[row : row + 1, : end - 1])[0], alone)).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(result[name], parameter.grad, atol=1e-6, rtol=1e-4)


def test_causal_what_follows_changes_nothing(tmp_path: Path) -> None:
    model, tokens = build(tmp_path), rows()[:, :12]
    other = tokens.clone()
    other[:, 8:] = (other[:, 8:] + 3) % V
    torch.testing.assert_close(model(tokens)[0][:, :8], model(other)[0][:, :8])
    assert not torch.allclose(model(tokens)[0][:, 8:], model(other)[0][:, 8:])


@every_body
def test_gradient_reaches_every_parameter_the_markers_rows_among_them(settings, tmp_path: Path) -> None:
    model, tokens = build(tmp_path, **settings).train(), rows()
    hidden, layout = model.packed(tokens[:, :-1])
    model.loss(hidden, layout.pack(learnt(tokens))).backward()
    for name, parameter in model.named_parameters():
        if name != "position":  # of the context, rows are read that the texts are long
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert (model.embedding.weight.grad[V:].abs().sum(dim=1) > 0).all()
    if model.position is not None and isinstance(model.position, torch.nn.Parameter):
        assert (model.position.grad[: tokens.shape[1] - 1].abs().sum(dim=1) > 0).all()


def test_cached_decoding_and_sampling_from_a_prompt(tmp_path: Path) -> None:
    model, tokens = build(tmp_path), rows()[:1, :10]
    whole = model(tokens)[0]
    first, state = model.read_on(tokens[:, :6], None)
    second, _ = model.read_on(tokens[:, 6:], state)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole)
    prompts = [TEMPLATE.prompt(item[:-1]).tolist() for item in DIALOGUES]
    config = SamplingConfig(temperature=50.0, max_tokens=30)
    generated = generate_batch(model, prompts, config)
    assert all(token < V for row in generated for token in row) and any(generated)


def test_save_and_load_are_equal(tmp_path: Path) -> None:
    for name, settings in EVERY.items():
        model = build(tmp_path / name, **settings)
        model.save(tmp_path / name / "one")
        loaded = LanguageModel.load(tmp_path / name / "one")
        assert isinstance(loaded, InstructedGPT) and loaded.config == model.config
        torch.testing.assert_close(loaded.log_probs(rows()), model.log_probs(rows()), rtol=0, atol=0)
        loaded.save(tmp_path / name / "two")
        for file in ("config.json", "model.safetensors"):
            assert (tmp_path / name / "one" / file).read_bytes() == (tmp_path / name / "two" / file).read_bytes()


def test_it_can_start_from_itself_and_keeps_the_marker_rows(tmp_path: Path) -> None:
    model = build(tmp_path)
    model.save(tmp_path / "sft")
    TOKENIZER.save(tmp_path / "sft" / "tokenizer.json")
    again, tokenizer = begin(tmp_path / "sft", seed=9, dropout=0.25)
    assert again.config.dropout == 0.25 and tokenizer.vocab_size == V
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name
    loaded, _ = read_instructed(tmp_path / "sft")
    assert torch.equal(loaded.embedding.weight, model.embedding.weight) and not loaded.training


def test_the_same_seed_begins_with_the_same_bits(tmp_path: Path) -> None:
    first, second = build(tmp_path), build(tmp_path)
    assert torch.equal(first.embedding.weight, second.embedding.weight)
    other = begin(tmp_path / "base", seed=2)[0]
    assert not torch.equal(first.embedding.weight[V:], other.embedding.weight[V:])


def test_unsuitable_bases_raise_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="output=adaptive"):
        begin(saved_gpt(tmp_path / "adaptive", output="adaptive", tie_weights=False), seed=1)
    with pytest.raises(InputError, match=r"bert/config\.json: holds a .*BERT, not a LanguageModel"):
        begin(saved_bert(tmp_path / "bert"), seed=1)
    with pytest.raises(InputError, match=r"nowhere/config\.json"):
        begin(tmp_path / "nowhere", seed=1)
    folder = saved_gpt(tmp_path / "other")
    train_tokenizer(TEXTS, TokenizerConfig(kind="word", vocab_size=None)).save(folder / "tokenizer.json")
    with pytest.raises(InputError, match=rf"the network has {V} tokens, its tokenizer\.json"):
        begin(folder, seed=1)
    with pytest.raises(InputError, match=r"holds a langladder\.models\.language\.gpt\.GPT, not a InstructedGPT"):
        read_instructed(saved_gpt(tmp_path / "plain"))
    with pytest.raises(InputError, match="leaves no word"):
        InstructedGPT(GPTConfig(context=4, width=4, layers=1, heads=1), 7)


def test_a_trial_loss_is_learnt_from(tmp_path: Path) -> None:
    model = build(tmp_path)
    assert model.trial_loss(2, 9).item() > 0 and model.trial_loss(2, 500).item() > 0
    assert model.products(8) < GPT(model.config, V + 3).products(8)
