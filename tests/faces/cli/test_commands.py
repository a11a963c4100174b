"""The commands on small vectors whose answers are known: tables, JSON, messages and exit codes."""

import json
import re
import tomllib
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from langladder.embeddings.base import WordVectors
from langladder.embeddings.subword_vectors import NgramBuckets, SubwordVectors
from langladder.faces.cli.main import app
from langladder.formats.vector_files import read_vectors, write_vectors

ROOT = Path(__file__).resolve().parents[3]
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
WORDS = ["man", "woman", "king", "queen", "apple", "[bold]", LONG]
Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    matrix = [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0.5], [-1, 0, 0.6], [-2, 0.1, 0.5]]
    WordVectors(WORDS, np.array(matrix, dtype=np.float32), np.arange(7, 0, -1)).save(tmp_path / "royal")
    return tmp_path / "royal"


@pytest.fixture
def run() -> Run:
    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_neighbours(run: Run, folder: Path) -> None:
    result = answer(run("neighbours", folder, "king", "apple", "-k", 2, "--json"))
    assert [near["word"] for near in result["neighbours"][0]["nearest"]] == ["queen", "man"]
    assert result["neighbours"][0]["nearest"][0]["score"] == pytest.approx(2 / np.sqrt(6), abs=1e-6)
    table = run("neighbours", folder, "apple", "-k", 9).stdout
    assert re.search(r"1 +\[bold\] +0\.\d{4}", table)  # a word is never markup
    assert LONG in table and "…" not in table and "\x1b" not in table  # whole and plain in a pipe


@pytest.mark.parametrize(
    ("measure", "first", "score"),
    [("cosine", "queen", 2 / np.sqrt(6)), ("dot", "queen", 2.0), ("euclidean", "man", 1.0)],
)
def test_neighbours_by_every_measure(run: Run, folder: Path, measure: str, first: str, score: float) -> None:
    nearest = answer(run("neighbours", folder, "king", "--measure", measure, "--json"))["neighbours"][0]["nearest"]
    assert nearest[0] == {"word": first, "score": pytest.approx(score, abs=1e-6)}
    assert len(nearest) == len(WORDS) - 1 and "king" not in [near["word"] for near in nearest]


@pytest.mark.parametrize("method", ["add", "mul"])
def test_analogy(run: Run, folder: Path, method: str) -> None:
    result = answer(run("analogy", folder, "man", "woman", "king", "--method", method, "--json"))
    unit = read_vectors(folder).unit.astype(np.float64)
    man, woman, king = (unit @ unit[index] for index in range(3))  # cosines with all words
    target = unit[1] - unit[0] + unit[2]
    added = unit @ target / np.linalg.norm(target)
    multiplied = (1 + woman) / 2 * (1 + king) / 2 / ((1 + man) / 2 + 0.001)
    scores = added if method == "add" else multiplied
    expected = sorted(range(3, len(WORDS)), key=lambda index: -scores[index])
    assert result["method"] == f"3cos{method}"
    assert [(a["word"], a["score"]) for a in result["answers"]] == [
        (WORDS[index], pytest.approx(scores[index], rel=1e-4, abs=1e-5)) for index in expected
    ]
    assert re.search(r"1 +queen +0\.", run("analogy", folder, "man", "woman", "king").stdout)
    assert "man (7), woman (6), king (5); their vectors" in run("analogy", folder, "man", "woman", "king").stderr
    restricted = answer(run("analogy", folder, "man", "woman", "king", "--restrict", 3, "--json"))
    assert restricted["answers"] == []  # the three words of the question are the only ones left


def test_damaged_entries_are_left_out_and_counted_or_refused(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, out = tmp_path / "v.txt", tmp_path / "out.vec"
    path.write_bytes(b"king 1 2\nqueen 2 1\nking 3 4\nna\xc3 1 2\nman 1 3\nwoman 3 1\n")
    pairs, tests = tmp_path / "pairs.tsv", tmp_path / "tests.txt"
    pairs.write_text("king\tqueen\t9\nman\tking\t8\nman\twoman\t1\n")
    tests.write_text(": t\na: king\nb: queen\nc: man\nd: woman\n")
    commands = [
        ["neighbours", path, "king"], ["analogy", path, "man", "woman", "king"], ["similarity", path, "king", "queen"],
        ["similarity", path, pairs], ["map", path, tmp_path / "m.svg"], ["convert", path, out],
        ["bias", "weat", path, tests],
    ]  # fmt: skip
    for command in commands:
        caplog.clear()
        result = answer(run(*command, "--json"))
        assert result["skipped"] == {
            "a word that occurs twice": {"count": 1, "first": f"{path}:3"},
            "a word that is not UTF-8": {"count": 1, "first": f"{path}:4"},
        }
        assert len(caplog.messages) == 1 and caplog.messages[0].startswith(f"{path}: 2 entries skipped: ")
        refused = run(*command, "--damaged", "strict", *(["--overwrite"] if command[0] in ("map", "convert") else []))
        assert refused.exit_code == 2 and refused.stderr.count("\n") == 1
        assert f"{path}:3: a word that occurs twice; 'king' is at line 1 already" in refused.stderr
    assert read_vectors(out).words == ["king", "queen", "man", "woman"]
    assert "skipped" not in answer(run("neighbours", out, "king", "--json"))


def test_words_made_up_of_their_ngrams(run: Run, tmp_path: Path) -> None:
    cut = NgramBuckets(3, 3, 1000)
    words = ["walking", "talking", "rose"]
    pieces = {word: cut.of([word])[0].tolist() for word in words}
    buckets = np.array(sorted({bucket for ids in pieces.values() for bucket in ids}))
    side = {bucket: [0.0, 1.0] if bucket in pieces["rose"] else [1.0, 0.0] for bucket in buckets.tolist()}
    ngrams = np.array([side[bucket] for bucket in buckets.tolist()], dtype=np.float32)
    matrix = np.array([[1, 0.1], [1, 0], [0, 1]], dtype=np.float32)
    SubwordVectors(words, matrix, None, {}, cut, buckets, ngrams).save(tmp_path / "sub")
    (result,) = answer(run("neighbours", tmp_path / "sub", "stalking", "--json"))["neighbours"]
    assert result["nearest"][0] == {"word": "talking", "score": 1.0}
    assert answer(run("similarity", tmp_path / "sub", "roses", "rose", "--json"))["cosine"] > 0.5
    result = answer(run("analogy", tmp_path / "sub", "stalking", "roses", "walking", "--json"))
    assert result["answers"][0]["word"] == "rose"
    refused = run("neighbours", tmp_path / "sub", "xyz")
    assert refused.exit_code == 2 and "'xyz' is not among the 3 words" in refused.stderr
    assert "stalking" in run("neighbours", tmp_path / "sub", "stalking", "--measure", "dot").stderr


def test_analogy_of_a_file(run: Run, folder: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text(": family\nMan Woman King Queen\nman woman king prince\n: gram1-x\nman king woman apple\n")
    result = answer(run("analogy", folder, questions, "--json"))
    assert result["overall"]["correct"] == 1 and result["overall"]["answered"] == 2
    table = run("analogy", folder, questions).stdout
    assert re.search(r"family +1\.0000 .* 1 +2", table) and re.search(r"all +0\.5000 .* 2 +3", table)


def test_similarity(run: Run, folder: Path, tmp_path: Path) -> None:
    result = answer(run("similarity", folder, "king", "queen", "--json"))
    assert result == {
        "first": "king", "second": "queen", "cosine": pytest.approx(0.816497, abs=1e-6), "dot": 2.0, "euclidean": 1.0
    }  # fmt: skip
    assert re.search(r"cosine +0\.8165", run("similarity", folder, "king", "queen").stdout)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("king\tqueen\t9\nman\tking\t8\nman\tapple\t1\nman\tghost\t1\n")
    (result,) = answer(run("similarity", folder, pairs, "--json"))["sets"]
    assert result["spearman"] == 1.0 and (result["covered"], result["pairs"]) == (3, 4)
    assert re.search(r"pairs +1\.0000 .* 3 +4", run("similarity", folder, pairs).stdout)


@pytest.mark.parametrize(("ending", "method"), [("svg", "pca"), ("html", "tsne"), ("html", "pca")])
def test_map(run: Run, folder: Path, tmp_path: Path, ending: str, method: str) -> None:
    groups = tmp_path / "groups.tsv"
    groups.write_text("king\troyal\nqueen\troyal\napple\n[bold]\tsigns & such\n")
    out = tmp_path / f"map.{ending}"
    arguments = ["map", folder, out, "man", "--words", groups, "--method", method]
    result = answer(run(*arguments, "--json"))
    assert {p["word"]: p["group"] for p in result["words"]} == {
        "man": "", "king": "royal", "queen": "royal", "apple": "", "[bold]": "signs & such"
    }  # fmt: skip
    assert (result["explained"] is not None) == (method == "pca")
    text = out.read_text(encoding="utf-8")
    named = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"[^>]*><title>([^<]*)</title></use>', text)
    assert sorted(word for *_, word in named) == sorted(["man", "apple", "king", "queen", "[bold]"])
    across = {word: float(x) for x, _, word in named}
    x_of_word = {p["word"]: p["x"] for p in result["words"]}
    assert sorted(across, key=across.__getitem__) == sorted(x_of_word, key=x_of_word.__getitem__)
    assert "signs &amp; such" in text and not re.search(r'(src|href)="http', text)  # self-contained
    if method == "pca":  # the plane's coordinates are the principal components
        rows = np.array([read_vectors(folder).unit[WORDS.index(p["word"])] for p in result["words"]], dtype=np.float64)
        points = np.array([[p["x"], p["y"]] for p in result["words"]])
        gram = (rows - rows.mean(0)) @ (rows - rows.mean(0)).T
        values = np.sort(np.linalg.eigvalsh(gram))[::-1]
        assert np.sort((points**2).sum(0))[::-1] == pytest.approx(values[:2], abs=1e-5)
    again = out.read_bytes()
    assert run(*arguments, "--overwrite").exit_code == 0 and out.read_bytes() == again


@pytest.mark.parametrize("name", ["v.bin", "v.txt.gz", "v.glove", "folder"])
def test_convert_and_back_roundtrip(run: Run, folder: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert "7 words × 3" in run("convert", folder, out).stdout
    known = read_vectors(folder)
    vectors = read_vectors(out)
    assert vectors.words == known.words and np.array_equal(vectors.matrix, known.matrix)
    refused = run("convert", folder, out)
    assert refused.exit_code == 2 and "exists already; give --overwrite" in refused.stderr
    report = answer(run("convert", folder, out, "--overwrite", "--top", 2, "--json"))
    assert report["words"] == 2 and read_vectors(out).words == ["man", "woman"]


def test_convert_replaces_no_folder_that_is_not_vectors(run: Run, folder: Path, tmp_path: Path) -> None:
    result = run("convert", folder, tmp_path, "--to", "projector", "--overwrite")
    assert result.exit_code == 2 and f"contains {folder}, which this command reads" in result.stderr and folder.is_dir()
    assert run("convert", folder, tmp_path / "p", "--to", "projector").exit_code == 0
    assert run("convert", folder, tmp_path / "p", "--to", "projector", "--overwrite").exit_code == 0
    assert run("convert", folder, tmp_path / "x.csv").exit_code == 2


def test_convert_a_language_model(run: Run, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from langladder.models.language.recurrent import RecurrentLM
    from langladder.text.tokenize.tokenizer_training import train_tokenizer
    from langladder.text.tokenize.tokenizers import TokenizerConfig
    from langladder.text.words.vocabulary import Vocabulary

    lines = ["the cat sees the dog", "the dog sees a cat"]
    tokenizer = train_tokenizer(lines, TokenizerConfig(kind="bpe_bytes", vocab_size=270))
    torch.manual_seed(0)
    RecurrentLM(RecurrentLM.Config(width=4, embedding_dim=4), tokenizer.vocab_size).save(tmp_path / "lm")
    tokenizer.save(tmp_path / "lm" / "tokenizer.json")
    Vocabulary.build(lines).save(tmp_path / "vocabulary.json")
    arguments = ["convert", tmp_path / "lm", tmp_path / "lm.vec", "--vocabulary", tmp_path / "vocabulary.json"]
    assert run(*arguments).exit_code == 0
    assert read_vectors(tmp_path / "lm.vec").words == Vocabulary.build(lines).words
    word = read_vectors(tmp_path / "lm").words[0]
    assert answer(run("neighbours", tmp_path / "lm", word, "--json"))["neighbours"][0]["word"] == word
    refused = run("convert", tmp_path / "lm.vec", tmp_path / "x.vec", "--vocabulary", tmp_path / "vocabulary.json")
    assert refused.exit_code == 2 and "needs one" in refused.stderr


def bias_lists(folder: Path) -> Path:
    folder.mkdir()
    for name, text in {
        "definitional_pairs": "she he\nwoman man\n", "equalize_pairs": "woman man\n",
        "specific": "she\nhe\nwoman\nman\n", "professions": "nurse\npilot\ncook\nclerk\n",
    }.items():  # fmt: skip
        (folder / f"{name}.txt").write_text(text)
    return folder


@pytest.fixture
def biased(tmp_path: Path) -> Path:
    words = [
        "she",
        "he",
        "woman",
        "man",
        "nurse",
        "pilot",
        "cook",
        "clerk",
        "rose",
        "tulip",
        "ant",
        "fly",
        "good",
        "bad",
    ]
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(len(words), 8)).astype(np.float32) * 0.3
    matrix[:, 0] = [3, -3, 2, -2, 1, -1, 0.5, -0.5, 0, 0, 0, 0, 0, 0]
    matrix[:, 1] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1.2, -1, -1.1, 2, -2]
    write_vectors(WordVectors(words, matrix), tmp_path / "biased.vec", "word2vec")
    return tmp_path / "biased.vec"


def test_bias(run: Run, biased: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests.txt"
    tests.write_text(": liking\nflowers: rose tulip\ninsects: ant fly\npleasant: good\nunpleasant: bad\n")
    (test,) = answer(run("bias", "weat", biased, tests, "--json"))["tests"]
    assert test["effect_size"] > 1.3 and test["p_value"] == pytest.approx(1 / 6, abs=1e-5)
    assert re.search(r"liking +1\.\d+ +0\.1667 +100%", run("bias", "weat", biased, tests).stdout)

    lists = bias_lists(tmp_path / "lists")
    audit = answer(run("bias", "audit", biased, lists, "--weat", tests, "--json"))
    assert audit["before"]["direct_bias"] > 0.2 and audit["after"]["direct_bias"] == pytest.approx(0, abs=1e-5)
    table = run("bias", "audit", biased, lists, "--weat", tests).stdout
    assert re.search(r"mean bias of the professions +0\.\d+ +0\.0000", table) and "WEAT liking" in table
    assert re.search(r"pilot +he +-0\.\d+ +0\.0000", table) and re.search(r"nurse +she +0\.\d+", table)

    out = tmp_path / "neutral.vec"
    assert run("bias", "debias", biased, lists, out).exit_code == 0
    neutral = read_vectors(out)
    assert neutral.similarity("nurse", "woman") == pytest.approx(neutral.similarity("nurse", "man"), abs=1e-5)
    assert run("bias", "debias", biased, lists, out).exit_code == 2
    report = answer(run("bias", "debias", biased, lists, out, "--overwrite", "--json"))
    assert report["format"] == "word2vec" and report["after"]["direct_bias"] == audit["after"]["direct_bias"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbours", "V", "quen"], "'quen' is not among the 7 words that have a vector; did you mean queen?"),
        (["neighbours", "V", "KING"], "did you mean king?"),
        (["analogy", "V", "man", "woman", "kin"], "did you mean king"),
        (["similarity", "V", "king", "zzz"], "'zzz' is not among the 7 words"),
        (["map", "V", "out.svg", "king", "queen", "mann"], "did you mean man"),
        (["map", "V", "out.png"], "must end in .svg or .html"),
        (["map", "V", "out.svg", "king", "queen"], "at least three"),
        (["map", "V", "out.svg", "--method", "tsne", "--perplexity", "7"], "perplexity 7 for 7 words"),
        (["analogy", "V", "man", "woman"], "an analogy needs three"),
        (["similarity", "V", "a", "b", "c"], "give two"),
        (["neighbours", "V"], "Missing argument"),
        (["neighbours", "V", "king", "-k", "0"], "0 is not in the range x>=1"),
        (["neighbours", "nowhere", "king"], "nowhere: no such file"),
        (["similarity", "V", "nowhere.tsv"], "nowhere.tsv: neither a file nor"),
        (["similarity", "V", "king"], "'king' is one word; give two words to compare, or one file"),
        (["similarity", "V", "kingg"], "kingg: neither a file nor a word with a vector; give two words"),
        (["analogy", "V", "king"], "'king' is one word; an analogy needs three words, A B C, or one file"),
        (
            ["similarity", "king", "queen"],
            "king: no such file or folder; the first argument is the path of the word vectors",
        ),
        (["analogy", "man", "woman", "king"], "man: no such file or folder; the first argument is the path"),
        (["convert", "x.vec", "V"], "x.vec: no such file or folder; the first argument is the path"),
        (["map", "V", "king", "queen", "man"], "give it between VECTORS and the words"),
        (["bias", "weat", "V", "nowhere.txt"], "nowhere.txt: no such file"),
        (["bias", "audit", "V", "."], "has no professions.json or professions.txt"),
    ],
)
def test_bad_input_is_reported_without_traceback(run: Run, folder: Path, arguments: list[str], message: str) -> None:
    result = run(*(folder if argument == "V" else argument for argument in arguments))
    assert result.exit_code == 2 and message in result.stderr and result.stdout == ""
    assert isinstance(result.exception, SystemExit) and "Traceback" not in result.output


def test_help_has_an_example_for_each_command(run: Run) -> None:
    def commands(group: Any, name: list[str]) -> list[list[str]]:
        inner = getattr(group, "commands", None)
        if inner is None:
            return [name]
        return [path for key, command in inner.items() for path in commands(command, [*name, key])]

    paths = commands(app, [])
    vectors = {"neighbours", "analogy", "similarity", "map", "bias", "convert"}
    assert {path[0] for path in paths} == vectors | {
        "generate",
        "new",
        "score",
        "perplexity",
        "fill",
        "prompt",
        "chat",
        "serve",
        "explore",
        "copy",
        "export",
        "import",
        "translate",
        "classify",
        "tag",
        "answer",
        "attention",
        "advise",
        "evaluate",
        "errors",
    }
    for path in paths:
        text = run(*path, "--help").stdout
        assert re.search(rf"Examples?:\n +langladder {' '.join(path)} \S", text), path
        assert "--json" in text or path in (["serve"], ["explore"], ["copy"], ["new"])  # which answer nothing
    assert "neighbours" in run("-h").stdout


def test_version_and_entry_point(run: Run) -> None:
    assert run("--version").stdout.split() == ["langladder", metadata.version("langladder")]
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, name = scripts["langladder"].partition(":")
    assert getattr(import_module(module), name) is app
