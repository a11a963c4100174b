"""Parity with lm-evaluation-harness. (It needs `pip install lm-eval` in the environment.)"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from langladder.evaluation.prompting import Item, Prompter, PromptFormat
from langladder.formats.harness import Answering, harness_model
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

LINES = ["what is the capital of france ? paris .", "what is the capital of italy ? rome ."]
ITEMS = [
    Item({"question": f"what is the capital of {land} ?"}, ("paris", "rome", "the old town"), index)
    for index, land in enumerate(["france", "italy", "peru"])
]
FORM = PromptFormat(template="{question} {answer}")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(LINES, TokenizerConfig(vocab_size=300))


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> GPT:
    torch.manual_seed(2)  # one that says what its tokenizer reads as the same tokens
    return GPT(GPTConfig(context=64, width=16, layers=2, heads=2), tokenizer.vocab_size).eval()


def test_parity_of_log_probs_with_prompts(model: GPT, tokenizer: Tokenizer) -> None:
    pairs = [(item.fields["question"], f" {option}") for item in ITEMS for option in item.options]
    result = iter(Answering(model, tokenizer).log_probs(pairs))
    for values in Prompter(model, tokenizer, FORM).scores(ITEMS)["sum"]:
        assert [next(result)[0] for _ in values] == pytest.approx(values.tolist(), abs=1e-5)


def test_greedy_is_what_the_model_says(model: GPT, tokenizer: Tokenizer) -> None:
    answering = Answering(model, tokenizer)
    (answer,) = answering.continuations([("what is", {"max_gen_toks": 3})])
    assert answering.log_probs([("what is", answer), ("what is", " the capital")])[0][1]
    assert answering.log_probs([("", "what")])[0][0] < 0  # without a context
    (cut,) = answering.continuations([("what is", {"max_gen_toks": 3, "until": [answer[1:2]]})])
    assert cut == answer.partition(answer[1:2])[0]


def test_whole_texts(model: GPT, tokenizer: Tokenizer) -> None:
    """The ends of lines but the last are part of a text; one longer than the context is read by windows."""
    ids = [2, *tokenizer.encode("rome .").tolist(), 3, 2, *tokenizer.encode("paris").tolist()]
    whole = float(model.log_probs(torch.tensor([ids])).double().sum())
    long = " ".join(LINES * 6)
    whole_log_probs = Answering(model, tokenizer).whole_log_probs(["rome .\nparis", "", long])
    assert whole_log_probs[0] == pytest.approx(whole, abs=1e-5) and whole_log_probs[1] == 0.0
    windows = torch.tensor([[2, *tokenizer.encode(long).tolist()]])
    assert windows.shape[1] > 64 and whole_log_probs[2] == pytest.approx(
        float(model.log_probs(windows).double().sum()), abs=1e-4
    )


def test_the_end_of_a_line_can_be_greedy(tokenizer: Tokenizer) -> None:
    """An n-gram of whole lines knows where they end."""
    ids = np.concatenate([[BOS, *tokenizer.encode(line), EOS] for line in LINES]).astype(np.int32)
    counted = KneserNey(KneserNey.Config(order=6), tokenizer.vocab_size)
    counted.fit(TokenStream(ids, np.array([0, len(ids)])))
    line, first = LINES[0], "what is the capital of"
    pairs = [
        (line, "\n"),
        (line, "\nwhat is"),
        (line, "\nparis"),
        (first, " france ? paris .\n"),
        (line, " paris"),
        ("", line),
    ]
    answering = Answering(counted, tokenizer)
    log_probs = answering.log_probs(pairs)
    ends = counted.next_log_probs(torch.tensor([[BOS, *tokenizer.encode(line).tolist()]]))[0]
    assert int(ends.argmax()) == EOS and log_probs[0][0] == pytest.approx(float(ends[EOS]), abs=1e-5)
    (answer,) = answering.continuations([(first, {})])
    assert [greedy for _, greedy in log_probs] == [
        True,
        True,
        False,
        answer == " france ? paris .",
        False,
        line == first + answer,
    ]


def test_the_settings_of_a_generation_have_an_effect(model: GPT, tokenizer: Tokenizer) -> None:
    def generate(**settings: object) -> list[str]:
        return Answering(model, tokenizer).continuations([("what is", {"max_gen_toks": 8, **settings})] * 3)

    greedy = generate()
    assert len(set(greedy)) == 1
    for same in ({"temperature": 0}, {"do_sample": False, "temperature": 2.0}, {"do_sample": True, "temperature": 0.0}):
        assert generate(**same) == greedy
    assert generate(until=None, do_sample=None, top_k=None) == greedy
    for drawn in ({"do_sample": True}, {"temperature": 1.0}):
        assert len(set(generate(**drawn))) > 1 and generate(**drawn) == generate(**drawn) != generate(**drawn, seed=5)
    assert generate(do_sample=True, top_k=1) == greedy
    assert generate(do_sample=True, temperature=1e-9) == greedy
    assert len(Answering(model, tokenizer).continuations([("what is", {"max_gen_toks": None})])) == 1
    for wrong in ({"num_beams": 4}, {"temperature": -1.0}, {"max_gen_toks": "8"}):
        with pytest.raises(InputError, match=f"generation_kwargs: {next(iter(wrong))}"):
            generate(**wrong)


def test_a_missing_harness_raises_a_named_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lm_eval.api.model", None)
    with pytest.raises(InputError, match="pip install lm-eval"):
        harness_model(tmp_path)


def test_parity_on_a_task_of_the_harness(
    model: GPT, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A multiple-choice task: log-likelihoods and accuracy are those of `Prompter`."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    lm_eval: Any = pytest.importorskip("lm_eval")
    datasets: Any = pytest.importorskip("datasets")
    model.save(tmp_path / "model")
    tokenizer.save(tmp_path / "model" / "tokenizer.json")
    rows = [{**item.fields, "choices": list(item.options), "gold": item.right} for item in ITEMS]
    task = {
        "task": "capitals",
        "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list(rows)},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "question",
        "doc_to_choice": "choices",
        "doc_to_target": "gold",
        "target_delimiter": " ",
        "metric_list": [{"metric": "acc"}],
    }
    result = lm_eval.simple_evaluate(
        model=harness_model(tmp_path / "model"), tasks=[task], bootstrap_iters=0, log_samples=True
    )
    ours = Prompter(model, tokenizer, FORM)
    samples = sorted(result["samples"]["capitals"], key=lambda sample: sample["doc_id"])
    for sample, values in zip(samples, ours.scores(ITEMS)["sum"], strict=True):
        theirs = [float(response[0][0]) for response in sample["resps"]]
        assert theirs == pytest.approx(values.tolist(), abs=1e-4)
    accuracy = ours.measure(ITEMS, [[]], 0).right["sum"].mean()
    assert result["results"]["capitals"]["acc,none"] == pytest.approx(accuracy)


def test_requests_are_parsed(model: GPT, tokenizer: Tokenizer, tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    model.save(tmp_path / "model")
    tokenizer.save(tmp_path / "model" / "tokenizer.json")
    adapter = harness_model(tmp_path / "model")
    request = SimpleNamespace(args=("what is", {"until": ["\n"], "max_gen_toks": 2}))
    assert isinstance(adapter.generate_until([request])[0], str)
    assert adapter.loglikelihood_rolling([SimpleNamespace(args=("rome",))])[0] < 0
