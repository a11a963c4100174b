"""generate, score and export on tiny models made here; every command of docs/language-models.md works."""

import json
import math
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from langladder.answers.surprisal import finite
from langladder.faces.cli.language_models import _bits
from langladder.faces.cli.main import app
from langladder.formats.arpa import read_arpa, spell
from langladder.formats.gpt2 import import_gpt2
from langladder.ground.artefacts import write_json
from langladder.models.language.gpt import GPT, LLAMA
from langladder.models.language.language_model import LanguageModel
from langladder.models.language.nnlm import NNLM
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, UNK
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "language-models.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^\$ langladder (.*)$", PAGE)
LINES = [
    "apple and pear salad",
    "pear and apple salad",
    "a pair of cats sat",
    "the king sat",
    "the cat sat",
    "the king",
] * 3
Run = Callable[..., Result]
PROVENANCE = {"fingerprint": "ab12", "inputs": {"tokens": "cd34"}, "settings": {"seed": 5, "code": "ef56", "lm": {}}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    words = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    letters = train_tokenizer(LINES, TokenizerConfig(kind="character", vocab_size=None))
    ids = np.concatenate([[BOS, *words.encode(line), EOS] for line in LINES]).astype(np.int32)
    torch.manual_seed(0)
    counted = KneserNey(KneserNey.Config(order=3), words.vocab_size)
    counted.fit(TokenStream(ids, np.array([0, len(ids)])))
    models: dict[str, tuple[LanguageModel, Tokenizer]] = {
        "kneser_ney": (counted, words),
        "gpt": (GPT(GPT.Config(context=6, width=8, layers=2, heads=2), words.vocab_size), words),
        "lstm": (RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8), letters.vocab_size), letters),
    }
    for name, (model, tokenizer) in models.items():
        model.save(root / "models/lm" / name)
        tokenizer.save(root / "models/lm" / name / "tokenizer.json")
    training = {"name": "gpt", "title": "Our GPT", "training": {"lr": 0.004, "label": None, "clip": True}}
    about = PROVENANCE | {"settings": PROVENANCE["settings"] | {"lm": training}}  # type: ignore[operator]
    write_json(root / "models/lm/gpt/provenance.json", about)
    write_json(
        root / "metrics/evaluate_lm/gpt.json", {"perplexity_per_word": 9.4751928, "bits_per_byte": 0.69, "words": 7}
    )
    (root / "candidates.txt").write_text("apple and pair salad\n\napple and pear salad\n")
    return root


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(project)

    def invoke(*arguments: str, **more: Any) -> Result:
        return CliRunner().invoke(app, arguments, **more)

    return invoke


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_works(run: Run, project: Path, command: str) -> None:
    for name in ("onnx", "onnxscript") if "--to onnx" in command else ():
        pytest.importorskip(name, reason=f"the library {name} is not installed")
    words = (
        [name for word in shlex.split(command) for name in sorted(map(str, Path().glob(word))) or [word]]
        if "*" in command
        else shlex.split(command)
    )
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) >= 1
    assert words[0] != "export" or (project / words[2] / "README.md").exists()


def test_generate_several_rungs_side_by_side(run: Run) -> None:
    arguments = ["generate", "models/lm/kneser_ney", "models/lm/lstm", "--prompt", "apple and", "--prompt", "the"]
    result = answer(run(*arguments, "--samples", "2", "--seed", "1", "--json"))
    assert [(text["model"], text["prompt"]) for text in result["texts"]] == [
        (model, prompt) for model in ("kneser_ney", "lstm") for prompt in ["apple and"] * 2 + ["the"] * 2
    ]
    assert all(text["text"].startswith(text["prompt"]) for text in result["texts"])
    assert result["settings"]["seed"] == 1
    assert result == answer(run(*arguments, "--samples", "2", "--seed", "1", "--json"))
    assert result != answer(run(*arguments, "--samples", "2", "--seed", "2", "--json"))
    table = run(*arguments).stdout
    assert re.search(r"“apple and” …(.|\n)*kneser_ney +apple and .*\n +lstm +apple and", table), table


def test_generate_greedy_is_the_likeliest(run: Run) -> None:
    result = answer(run("generate", "models/lm/kneser_ney", "--prompt", "apple and", "--greedy", "--json"))
    assert result["texts"][0]["text"] == "apple and pear salad"


def test_generate_with_a_draft_gives_the_same_greedy_text(run: Run) -> None:
    arguments = ["generate", "models/lm/gpt", "--prompt", "apple and", "--greedy", "--max-tokens", "6"]
    drafted = [*arguments, "--draft", "models/lm/kneser_ney", "--lookahead", "2"]
    results, alone = answer(run(*drafted, "--json")), answer(run(*arguments, "--json"))
    assert results["texts"] == alone["texts"] and "draft" not in alone
    assert results["draft"]["gpt"]["tokens"] >= results["draft"]["gpt"]["steps"] > 0
    assert re.search(r"gpt: \d\.\d\d tokens per step, \d+% of the draft accepted", run(*drafted).stdout)
    assert "lstm has another tokenizer than gpt" in run(*arguments, "--draft", "models/lm/lstm").stderr
    result = run(*arguments, "--draft", "models/lm/nothing")
    assert result.exit_code == 2 and "models/lm/nothing: no saved language model" in result.stderr


def test_models_of_one_name_go_by_their_paths(run: Run) -> None:
    result = answer(run("generate", "models/lm/gpt", "models/lm/../lm/gpt", "--max-tokens", "2", "--json"))
    assert [text["model"] for text in result["texts"]] == ["models/lm/gpt", "models/lm/../lm/gpt"]


def test_score_ranks_pear_above_pair(run: Run, project: Path) -> None:
    arguments = ["score", "models/lm/kneser_ney", "models/lm/gpt", "apple and pair salad", "apple and pear salad"]
    result = answer(run(*arguments, "--json"))
    assert result["unit"] == "bits" and [model["model"] for model in result["models"]] == arguments[1:3]
    best, worse = result["models"][0]["sentences"]
    assert best["sentence"] == "apple and pear salad" and (best["rank"], worse["rank"]) == (1, 2)
    assert [token["token"] for token in best["tokens"]] == ["apple", "and", "pear", "salad", "<eos>"]
    for folder, scored in zip(arguments[1:3], result["models"], strict=True):
        model, tokenizer = LanguageModel.load(project / folder), Tokenizer.load(project / folder / "tokenizer.json")
        for sentence in scored["sentences"]:
            row = torch.tensor([[BOS, *tokenizer.encode(sentence["sentence"]).tolist(), EOS]])
            bits = -model.log_probs(row)[0, 1:].double() / math.log(2)
            assert [token["bits"] for token in sentence["tokens"]] == pytest.approx(bits.tolist(), abs=1e-5)
            assert sentence["bits"] == pytest.approx(float(bits.sum()), abs=1e-5)
    table = run(*arguments).stdout
    assert re.search(r"1 +apple and pear salad +\d+\.\d\d +apple \d+\.\d\d · and \d", table), table


def test_attention_has_a_map_for_each_layer_and_head(run: Run) -> None:
    content = json.loads(run("attention", "models/lm/gpt", "the cat sat", "--json").stdout)
    assert content["tokens"] == ["<bos>", "the", "cat", "sat"]
    assert [(item["layer"], item["head"]) for item in content["maps"]] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert all(sum(row) == pytest.approx(1, abs=1e-5) for item in content["maps"] for row in item["weights"])
    entry = json.loads(run("attention", "models/lm/gpt", "the cat sat", "--layer=2", "--head=1", "--json").stdout)
    assert entry["maps"] == content["maps"][2:3]
    for arguments, why in ((("gpt", "the", "--head", "3"), "--head 3"), (("lstm", "a"), "no self-attention")):
        result = run("attention", f"models/lm/{arguments[0]}", *arguments[1:])
        assert result.exit_code == 2 and why in result.stderr
    assert "reads 6" in run("attention", "models/lm/gpt", "the king sat the king sat").stderr


def test_score_from_file_and_from_stdin(run: Run) -> None:
    by_file = answer(run("score", "models/lm/kneser_ney", "--file", "candidates.txt", "--json"))
    text = "apple and pair salad\napple and pear salad\n"
    assert by_file == answer(run("score", "models/lm/kneser_ney", "--file", "-", "--json", input=text))
    assert [scored["sentence"] for scored in by_file["models"][0]["sentences"]] == text.splitlines()[::-1]
    assert "·" not in run("score", "models/lm/kneser_ney", "--file", "candidates.txt", "--no-tokens").stdout


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("generate models/lm/gtp", "models/lm/gtp: no saved language model; expected a folder with config.json"),
        ("generate models/lm/gpt --top-k 0", "'--top-k': 0 is not in the range x>=1"),
        ("generate models/lm/gpt --temperature 0", "'--temperature': 0.0 is not in the range 0.01<=x<=100"),
        ("generate", "Missing argument 'MODEL...'"),
        ("score models/lm/gpt models/lm/lstn", "models/lm/lstn: no such folder"),
        ("score models/lm/gpt", "1 models and 0 sentences"),
        ("score 'the cat'", "0 models and 1 sentences"),
        ("score models 'the cat'", "models: no saved language model"),
        ("score models/lm/gpt --file nothing.txt", "nothing.txt"),
        ("export models/lm/gpt models", "models: contains models/"),
        ("export models/lm/gpt new --to arpa", "a GPT can be exported to gpt2 or llama, not to arpa"),
        ("export models/lm/gpt new --to torchscript", "'torchscript' is not one of 'gpt2', 'llama', 'bert', 'onnx'"),
        ("export models/lm/gpt new --to onnx", "a GPT can be exported to gpt2 or llama, not to onnx"),
        ("export models/lm/gpt new --scores nothing.json", "nothing.json: no such file"),
    ],
)
def test_bad_input_ends_with_code_2_and_says_so(run: Run, project: Path, command: str, message: str) -> None:
    result = run(*shlex.split(command))
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split()) and "Traceback" not in result.stderr
    assert not (project / "new").exists()


def test_a_model_and_a_tokenizer_that_do_not_fit(run: Run, project: Path) -> None:
    GPT(GPT.Config(context=4, width=4, layers=1, heads=1), 9).save(project / "odd")
    (project / "odd/tokenizer.json").write_bytes((project / "models/lm/gpt/tokenizer.json").read_bytes())
    result = run("generate", "odd")
    assert result.exit_code == 2 and "the model has 9 tokens, but its tokenizer.json" in result.stderr


def test_export_keeps_what_the_models_say(run: Run, project: Path) -> None:
    files = {"gpt": "generation_config.json", "kneser_ney": "model.arpa"}
    for name, file in files.items():
        result = answer(run("export", f"models/lm/{name}", f"out/{name}", "--json"))
        assert {file, "README.md"} <= set(result["files"])
        assert not any("partial" in entry.name for entry in (project / "out").iterdir())
    tokens = torch.tensor([[BOS, 5, 6, 7, 8, EOS]])
    gpt, counted = (LanguageModel.load(project / "models/lm" / name) for name in files)
    assert torch.equal(import_gpt2(project / "out/gpt").log_probs(tokens), gpt.log_probs(tokens))
    tokenizer = Tokenizer.load(project / "models/lm/kneser_ney/tokenizer.json")
    back, _ = read_arpa(project / "out/kneser_ney/model.arpa", [tokenizer.name(v) for v in range(tokenizer.vocab_size)])
    torch.testing.assert_close(back.log_probs(tokens), counted.log_probs(tokens), atol=1e-5, rtol=1e-5)


def test_what_was_exported_comes_back_as_a_model(run: Run, project: Path) -> None:
    for name in ("gpt", "kneser_ney"):
        assert run("export", f"models/lm/{name}", f"away/{name}").exit_code == 0
        result = answer(run("import", f"away/{name}", f"back/{name}", "--json"))
        scores = [answer(run("score", f"{root}/{name}", "the king sat", "--json")) for root in ("models/lm", "back")]
        bits = [score["models"][0]["sentences"][0]["bits"] for score in scores]
        assert bits[0] == pytest.approx(bits[1], rel=1e-5)
        assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= {
            file.name for file in (project / "back" / name).iterdir()
        }
        if name == "gpt":  # an ARPA file leaves PAD out
            assert result["parameters"] == LanguageModel.load(project / "models/lm/gpt").number_of_parameters()
    assert run("generate", "back/gpt", "--prompt", "the", "--max-tokens", "3").exit_code == 0


def test_a_gpt_with_llama_s_layers_is_exported_as_one(run: Run, project: Path) -> None:
    folder = project / "models/llama"
    settings = {"context": 12, "width": 16, "layers": 1, "heads": 4, "key_value_heads": 2} | LLAMA
    tokenizer = Tokenizer.load(project / "models/lm/gpt/tokenizer.json")
    GPT(GPT.Config.model_validate(settings), tokenizer.vocab_size).save(folder)
    tokenizer.save(folder / "tokenizer.json")
    assert answer(run("export", "models/llama", "away/llama", "--json"))["format"] == "llama"
    assert "LlamaForCausalLM.from_pretrained" in (project / "away/llama/README.md").read_text()
    assert run("import", "away/llama", "back/llama").exit_code == 0
    tokens = torch.tensor([[BOS, 5, 6, 7, 8, EOS]])
    item, other = (LanguageModel.load(path) for path in (folder, project / "back/llama"))
    assert torch.equal(item.log_probs(tokens), other.log_probs(tokens))
    refused = run("export", "models/llama", "new", "--to", "gpt2")
    assert refused.exit_code == 2 and "can be exported to llama, not to gpt2" in refused.stderr
    refused = run("export", "models/lm/gpt", "new", "--to", "llama")
    assert refused.exit_code == 2 and "norm_kind=layer" in refused.stderr


def test_an_arpa_file_alone_is_a_model_of_its_words(run: Run) -> None:
    assert run("export", "models/lm/kneser_ney", "away/words").exit_code == 0
    assert run("import", "away/words/model.arpa", "back/words").exit_code == 0
    whole, alone = (
        answer(run("score", path, "the king sat", "--json"))["models"][0]["sentences"][0]["bits"]
        for path in ("models/lm/kneser_ney", "back/words")
    )
    assert whole == pytest.approx(alone, rel=1e-5)


def test_what_cannot_be_imported_is_reported(run: Run, project: Path) -> None:
    (project / "empty").mkdir(exist_ok=True)
    assert run("export", "models/lm/gpt", "away/odd").exit_code == 0
    config = project / "away/odd/config.json"
    settings = json.loads(config.read_text())
    for change, message in (
        ({"n_head": "many"}, "heads: 'many' is not allowed"),
        ({"n_embd": 10**9}, "width: 1000000000 is not allowed"),
        ({"vocab_size": 2**30}, "wte.weight has shape"),
        ({"activation_function": "relu"}, "activation_function is 'relu'"),
    ):
        config.write_text(json.dumps(settings | change))
        result = run("import", "away/odd", "new")
        assert result.exit_code == 2 and message in result.stderr, result.stderr
    result = run("import", "empty", "new")
    assert result.exit_code == 2 and "no config.json (GPT-2, Llama, BERT) and no model.arpa" in result.stderr
    result = run("import", "models/lm/gpt/tokenizer.json", "new")
    assert result.exit_code == 2 and "not an ARPA file" in result.stderr
    assert not (project / "new").exists()


class KenLM:
    """KenLM as the model cards call it: words between spaces, the unknown is <unk>, log10, the end included."""

    def __init__(self, path: str) -> None:
        self.model, words = read_arpa(Path(path))
        self.ids = {spell(word): token for token, word in enumerate(words)}

    def score(self, line: str) -> float:
        row = [BOS, *(self.ids.get(word, UNK) for word in line.split()), EOS]
        return float(self.model.log_probs(torch.tensor([row])).sum()) / math.log(10)


@pytest.mark.parametrize("kind", ["word", "bpe_bytes", "unigram", "character"])
def test_an_arpa_folder_can_be_fed_with_text(
    run: Run, kind: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By its README.md and what stands in the folder alone, KenLM says what the model says."""
    size = None if kind in ("word", "character") else 280 if kind == "bpe_bytes" else 40
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind=kind, vocab_size=size))
    ids = np.concatenate([[BOS, *tokenizer.encode(line), EOS] for line in LINES]).astype(np.int32)
    model = KneserNey(KneserNey.Config(order=3), tokenizer.vocab_size)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    model.save(tmp_path / "model")
    tokenizer.save(tmp_path / "model" / "tokenizer.json")
    words = run("export", str(tmp_path / "model"), str(tmp_path / "words"), "--words")
    if kind == "word":
        assert words.exit_code == 0, words.output
    else:
        assert words.exit_code == 2 and f"parts of words (tokenizer {kind})" in words.stderr
        assert not (tmp_path / "words").exists()
    result = answer(run("export", str(tmp_path / "model"), str(tmp_path / "out"), "--json"))
    assert result["files"] == ["README.md", "model.arpa", "tokenizer.json"]
    (example,) = re.findall(r"(?s)```python\n(.*?)\n```", (tmp_path / "out" / "README.md").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path / "out")
    monkeypatch.setitem(sys.modules, "kenlm", SimpleNamespace(Model=KenLM))  # type: ignore[arg-type]
    names: dict[str, Any] = {}
    exec(example, names)
    for line in ("the king sat", "apple and zebra salad"):
        row = torch.tensor([[BOS, *tokenizer.encode(line), EOS]])
        text = line if kind == "word" else names["cut"](line)
        expected = float(model.log_probs(row).sum()) / math.log(10)
        assert names["model"].score(text) == pytest.approx(expected, abs=1e-4)


def test_words_go_with_arpa_only(run: Run, project: Path) -> None:
    result = run("export", "models/lm/gpt", "new", "--words")
    assert result.exit_code == 2 and "--words works with --to arpa" in result.stderr and not (project / "new").exists()


@pytest.mark.parametrize(("bits", "printed"), [(-0.0, "0.00"), (-1e-4, "0.00"), (1.005, "1.00"), (None, "∞")])
def test_bits_have_no_sign_where_they_are_none(bits: float | None, printed: str) -> None:
    assert _bits(bits) == printed
    assert bits is None or not str(finite(-0.0)).startswith("-")


def test_the_card_tells_the_models_own_order(run: Run, project: Path) -> None:
    assert run("export", "models/lm/kneser_ney", "out/order").exit_code == 0
    card = (project / "out/order/README.md").read_text(encoding="utf-8")
    assert "Kneser-Ney n-gram model, of order 3. " in card and "1 to 6" not in card


def test_model_card(run: Run, project: Path) -> None:
    for name in ("gpt", "kneser_ney"):
        options = ["--scores", "metrics/evaluate_lm/gpt.json"] if name == "gpt" else []
        assert run("export", f"models/lm/{name}", f"cards/{name}", *options).exit_code == 0
    card = (project / "cards/gpt/README.md").read_text()
    parameters = LanguageModel.load(project / "models/lm/gpt").number_of_parameters()
    assert card.startswith("# Our GPT\n") and f"{parameters:,} parameters" in card
    for line in (
        "| context | 6 |", "| input `tokens` | cd34 |", "| seed | 5 |", "| lr | 0.004 |", "| label | – |",
        "| clip | true |", "| perplexity per word | 9.475 |", "| bits per byte | 0.69 |", "Tokenizer `word`,",
    ):  # fmt: skip
        assert line in card, line
    assert "GPT2LMHeadModel.from_pretrained" in card and str(project) not in card and "words | 7" not in card
    counted = (project / "cards/kneser_ney/README.md").read_text()
    assert "no provenance.json" in counted and "None were given." in counted and "kenlm" in counted


def test_models_without_another_format_are_reported(run: Run, project: Path) -> None:
    tokenizer = Tokenizer.load(project / "models/lm/gpt/tokenizer.json")
    NNLM(NNLM.Config(window=2, embedding_dim=4, width=4), tokenizer.vocab_size).save(project / "nnlm")
    tokenizer.save(project / "nnlm/tokenizer.json")
    result = run("export", "nnlm", "new")
    assert result.exit_code == 2 and "no other format supports a NNLM" in result.stderr
