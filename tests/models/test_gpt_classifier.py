"""GPT fine-tuned: the input forms by hand, the loss L3 by hand, transferred layers, padding, saving."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fine_tuned_rungs import LABELS, PAIRS, SINGLES, TOKENIZER, saved_bert, saved_gpt

from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.gpt_classifier import GPTClassifier, Marks, choice_log_probs, choices, swapped
from langladder.models.classification.neural_classifier import collate
from langladder.models.language.gpt import GPT
from langladder.models.units import SubwordUnits
from langladder.tasks.fine_tuning import begin
from langladder.text.labelled.labelled import Example

V = TOKENIZER.vocab_size
START, DELIMITER, EXTRACT = V + 2, V, V + 1


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_gpt(tmp_path_factory.mktemp("gpt") / "base")


def build(base: Path, **settings: Any) -> GPTClassifier:
    rung = SimpleNamespace(name="grown", model=GPTClassifier.Config.model_validate({"dropout": 0.0} | settings))
    network, tokenizer = begin(GPTClassifier, rung, base, len(LABELS), seed=1)
    result: GPTClassifier = network.equip(SubwordUnits(tokenizer), LABELS)
    return result.eval()


def ids(text: str) -> list[int]:
    return [int(token) for token in TOKENIZER.encode(text)]


def labels(rows: list[Example]) -> torch.Tensor:
    return torch.tensor([LABELS.index(str(row.label)) for row in rows])


def test_golden_input_forms_of_the_paper(base: Path) -> None:
    item, pair = Example("the cat"), Example("the cat", "a dog")
    cat, dog = ids("the cat"), ids("a dog")
    assert build(base).encode(item).ids.tolist() == [START, *cat, EXTRACT]
    assert build(base).encode(pair).ids.tolist() == [START, *cat, DELIMITER, *dog, EXTRACT]
    both = collate([build(base).encode(pair), build(base).encode(Example("a dog sees the cat", "a dog"))])
    assert swapped(both.tokens, DELIMITER).tolist() == [
        [START, *dog, DELIMITER, *cat, EXTRACT] + [0] * (both.tokens.shape[1] - len(cat) - len(dog) - 3),
        [START, *dog, DELIMITER, *ids("a dog sees the cat"), EXTRACT],
    ]


def test_golden_multiple_choice_form() -> None:
    marks = Marks.of(13)
    assert marks == (12, 10, 11)
    assert choices([1, 2], [3], [[4], [5, 6]], marks) == [[12, 1, 2, 3, 10, 4, 11], [12, 1, 2, 3, 10, 5, 6, 11]]
    # two questions of two answers: scores 0 and ln 3, ln 4 and 0 → 1/4 and 3/4, 4/5 and 1/5
    result = choice_log_probs(torch.tensor([0.0, np.log(3), np.log(4), 0.0]), [2, 2]).exp()
    torch.testing.assert_close(result, torch.tensor([[0.25, 0.75], [0.8, 0.2]]))


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_golden_pooling_of_the_states_without_padding(base: Path, pooling: str) -> None:
    """log softmax(W h + b), h the state at extract or the mean over the row; beside a longer row, too."""
    network = build(base, pooling=pooling, lm_weight=0.0)
    short, long = Example("the cat", label=LABELS[0]), Example("the cat sees a dog and the cat", label=LABELS[0])
    states = network.gpt(torch.from_numpy(network.encode(short).ids.astype(np.int64))[None])[0][0]  # (T, D)
    h = states[-1] if pooling == "last" else states.mean(dim=0)
    wanted = torch.log_softmax(network.head(h), dim=0)
    both = collate([network.encode(short), network.encode(long)])
    torch.testing.assert_close(torch.log_softmax(network.logits(both)[0], dim=0), wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("weight", [0.5, 0.2])
def test_golden_loss_is_the_task_loss_plus_the_weighted_language_modelling_loss(base: Path, weight: float) -> None:
    network, rows = build(base, lm_weight=weight), SINGLES
    batch, gold = collate([network.encode(row) for row in rows]), labels(rows)
    task = -np.mean([network.log_probs([row])[0, label] for row, label in zip(rows, gold.tolist(), strict=True)])
    language_loss, tokens = 0.0, 0
    for row in rows:  # each text alone, each token by a whole softmax
        own = torch.from_numpy(network.encode(row).ids.astype(np.int64))
        scores = network.gpt.head(network.gpt(own[None, :-1])[0])[0]
        language_loss -= float(torch.log_softmax(scores.detach().double(), dim=1).gather(1, own[1:, None]).sum())
        tokens += len(own) - 1
    assert float(network.loss(batch, gold)) == pytest.approx(task + weight * language_loss / tokens, rel=1e-5)


def test_golden_weights_come_from_the_base_and_new_tokens_start_fresh(base: Path) -> None:
    there, network = GPT.load(base).state_dict(), build(base)
    for name, tensor in network.gpt.state_dict().items():
        assert torch.equal(tensor[: len(there[name])], there[name]), name
    assert network.gpt.embedding.weight.shape == (V + 3, 16)
    assert (network.gpt.embedding.weight[V:].abs().sum(dim=1) > 0).all()
    plain = GPT.load(base)
    tokens = torch.tensor([ids("the cat sees")])
    torch.testing.assert_close(network.gpt(tokens)[0], plain(tokens)[0])


@pytest.mark.parametrize("number", [0, 1, 2])
def test_so_many_layers_are_transferred_and_the_rest_starts_fresh(base: Path, number: int) -> None:
    there, network = GPT.load(base).state_dict(), build(base, layers_transferred=number)
    same = {
        name
        for name, tensor in network.gpt.state_dict().items()
        if torch.equal(tensor[: len(there[name])], there[name])
    }
    matrices = {name for name in there if name.endswith(("attention.project.weight", "expand.weight"))}
    assert {name for name in matrices if name in same} == {n for n in matrices if int(n.split(".")[1]) < number}
    assert ("norm.weight" in same) == (number == 2)
    assert {"embedding.weight", "position"} <= same
    fresh = build(base, pretrained=False).gpt.state_dict()
    assert not any(torch.equal(fresh[name], there[name]) for name in matrices | {"position"})


@pytest.mark.parametrize("settings", [{}, {"pairs": "similarity"}, {"lm_weight": 0.0}])
def test_gradient_reaches_every_parameter_the_new_tokens_among_them(base: Path, settings: dict[str, Any]) -> None:
    network = build(base, **settings).train()
    network.loss(collate([network.encode(row) for row in PAIRS]), labels(PAIRS)).backward()  # type: ignore[no-untyped-call]
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    table = network.gpt.embedding.weight.grad
    assert table is not None and (table[V:].abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize("pairs", ["entailment", "similarity"])
def test_padding_changes_nothing(base: Path, pairs: str) -> None:
    network = build(base, pairs=pairs)
    batched = network.log_probs(PAIRS)
    for row, result in zip(PAIRS, batched, strict=True):
        np.testing.assert_allclose(network.log_probs([row])[0], result, atol=1e-5)


def test_similarity_knows_no_order_and_entailment_does(base: Path) -> None:
    there, back = [Example("the cat", "a dog sees")], [Example("a dog sees", "the cat")]
    for pairs, equal in (("similarity", True), ("entailment", False)):
        network = build(base, pairs=pairs)
        assert np.allclose(network.log_probs(there), network.log_probs(back), atol=1e-6) == equal
    with pytest.raises(InputError, match="similarity needs two texts"):
        build(base, pairs="similarity").log_probs(SINGLES)


@pytest.mark.parametrize("pairs", ["entailment", "similarity"])
def test_two_batches_are_learnt_by_heart(base: Path, pairs: str) -> None:
    network = build(base, pairs=pairs)
    batches = [(collate([network.encode(row) for row in part]), labels(part)) for part in (PAIRS[:3], PAIRS[3:])]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(60):
        optimizer.zero_grad()
        network.loss(*batches[step % 2]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert network.log_probs(PAIRS).argmax(axis=1).tolist() == labels(PAIRS).tolist()


@pytest.mark.parametrize("pairs", ["entailment", "similarity"])
def test_explain_weighs_every_piece(base: Path, pairs: str) -> None:
    network, row = build(base, pairs=pairs), PAIRS[2]
    result = network.explain(row, 1)
    assert result is not None and result.pieces == network.as_read(row).pieces
    assert [bool(weight) for weight in result.weights] == [piece != "<sep>" for piece in result.pieces]


def test_a_row_too_long_loses_the_ends_of_its_texts(base: Path) -> None:
    network = build(base)
    long = Example("the cat sees " * 20, "a dog")
    result = network.encode(long).ids.tolist()
    assert (
        len(result) == 24
        and result[0] == START
        and result[-len(ids("a dog")) - 2 :] == [DELIMITER, *ids("a dog"), EXTRACT]
    )
    assert len(network.explain(long, 0).weights) == 22  # type: ignore[union-attr]


def test_save_and_load_need_no_base(base: Path, tmp_path: Path) -> None:
    for weight in (0.5, 0.0):
        network = build(base, lm_weight=weight)
        network.save(tmp_path / "one")
        loaded = Classifier.load(tmp_path / "one")
        assert isinstance(loaded, GPTClassifier) and loaded.config == network.config and loaded.labels == LABELS
        np.testing.assert_array_equal(loaded.log_probs(PAIRS), network.log_probs(PAIRS))
        loaded.save(tmp_path / "two")
        for file in ("config.json", "reading.json", "model.safetensors", "tokenizer.json"):
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_invalid_settings_raise_a_named_error(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"layers_transferred=3, but its base has 2 layers"):
        build(base, layers_transferred=3)
    adaptive = saved_gpt(tmp_path / "adaptive", output="adaptive", tie_weights=False)
    with pytest.raises(InputError, match="its output layer is adaptive"):
        build(adaptive)
    assert build(adaptive, lm_weight=0.0).log_probs(SINGLES).shape == (len(SINGLES), 3)
    with pytest.raises(InputError, match=r"model\.body: null"):
        GPTClassifier(GPTClassifier.Config(), V + 3, 3)
    with pytest.raises(InputError, match="a BERT, but a GPTClassifier starts from a GPT"):
        build(saved_bert(tmp_path / "bert"))
