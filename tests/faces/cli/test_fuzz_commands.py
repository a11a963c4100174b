"""Fuzz: numbers without bounds and text that is no Unicode on the command line: a sentence and exit code 2."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

from langladder.faces.cli.main import app
from langladder.models.classification.textcnn import TextCNN
from langladder.models.classification.tree_lstm import TreeLSTM
from langladder.models.units import WordUnits
from tests.hostile import fuzzed, little_memory
from tests.models.test_strangers_folder import make

NUMBERS = ["-1", "0", "nan", "inf", "-inf", "1e999", "1e-320", "1e30", "100000", "9" * 5000, "1_0", "", "ä", "0x10"]
LENGTHS = ["--beam", "--n-best", "--groups", "--min-length", "--max-length", "--top-k", "--seed"]
WEIGHTS = ["--alpha", "--coverage", "--diversity", "--temperature", "--top-p"]
GENERATE = "--temperature --top-k --top-p --repetition-penalty --max-tokens --samples --seed"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fuzz")
    for family in ("recurrent", "translator", "vectors"):
        make(family, root / family)
    units = WordUnits(["a", "b"], "unicode")
    for kind, width in ((TreeLSTM, {"width": 4}), (TextCNN, {"filters": 4})):
        network = kind(kind.Config(embedding_dim=4, **width), units.full_vocab_size, 2)
        network.equip(units, ["no", "yes"]).save(root / kind.__name__)
    return root


def run(*arguments: object, text: bytes | None = None) -> Result:
    with little_memory():
        result = CliRunner().invoke(app, [*map(str, arguments)], input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 2), result.output
    return result


@given(option=st.sampled_from(LENGTHS + WEIGHTS), number=st.sampled_from(NUMBERS), sample=st.booleans())
@example(option="--beam", number="100000", sample=False)
@example(option="--temperature", number="inf", sample=True)
@fuzzed
def test_fuzz_translate_numbers(folders: Path, option: str, number: str, sample: bool) -> None:
    run("translate", folders / "translator", "a b", option, number, *["--sample"] * sample)


@given(option=st.sampled_from(GENERATE.split()), number=st.sampled_from(NUMBERS))
@example(option="--temperature", number="inf")
@example(option="--temperature", number="nan")
@fuzzed
def test_fuzz_generate_numbers(folders: Path, option: str, number: str) -> None:
    more = [] if option == "--max-tokens" else ["--max-tokens", "3"]
    run("generate", folders / "recurrent", option, number, *more)


@given(option=st.sampled_from(["-k", "--measure"]), number=st.sampled_from(NUMBERS))
@fuzzed
def test_fuzz_neighbours_numbers(folders: Path, option: str, number: str) -> None:
    run("neighbours", folders / "vectors", "a", option, number)


@given(kind=st.sampled_from(["TextCNN", "TreeLSTM"]), text=st.text("ab()\t \n\0é", max_size=40))
@example(kind="TreeLSTM", text="(" * 3000)
@example(kind="TreeLSTM", text="(a " * 1500 + "b" + ")" * 1500)
@example(kind="TextCNN", text="\0")
@fuzzed
def test_fuzz_classify_texts(folders: Path, kind: str, text: str) -> None:
    result = run("classify", folders / kind, "--explain", "--json", text=text.encode())
    assert result.exit_code == 2 or result.stdout.startswith("{")


@given(number=st.sampled_from(NUMBERS))
@fuzzed
def test_fuzz_classify_numbers(folders: Path, number: str) -> None:
    run("classify", folders / "TextCNN", "a b", "--top", number)


@pytest.mark.parametrize(
    "arguments",
    [
        ["classify", "TextCNN", "a \udcff"],
        ["translate", "translator", "a \udcff"],
        ["translate", "\ud800", "a"],
        ["score", "recurrent", "a \udcff"],
        ["generate", "recurrent", "--prompt", "\udcff"],
        ["neighbours", "vectors", "\udcff"],
        ["\udcff"],
    ],
)
def test_text_that_is_no_unicode_is_refused(folders: Path, arguments: list[str]) -> None:
    known = {"translator", "recurrent", "vectors", "TextCNN"}
    result = run(*(str(folders / word) if word in known else word for word in arguments))
    assert result.exit_code == 2 and "is not valid UTF-8 text" in result.stderr


def test_a_pipe_that_is_no_unicode_is_refused_by_every_reader_of_one(folders: Path) -> None:
    readers = ["score", folders / "recurrent", "--file", "-"], ["translate", folders / "translator"]
    for command in (*readers, ["classify", folders / "TextCNN"]):
        result = run(*command, text=b"a b\nc\xff\n")
        assert result.exit_code == 2 and "standard input: not UTF-8 in line 2" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["translate", "translator", "a", "--beam", "100000"], "1<=x<=1000"),
        (["translate", "translator", "a", "--sample", "--temperature", "inf"], "0.01<=x<=100"),
        (["translate", "translator", "a", "--sample", "--temperature", "nan"], "not a finite number"),
        (["translate", "translator", "a", "--max-length", "1000000"], "1<=x<=10000"),
        (["generate", "recurrent", "--temperature", "inf"], "0.01<=x<=100"),
        (["generate", "recurrent", "--max-tokens", "1000000000"], "0<=x<=100000"),
        (["generate", "recurrent", "--samples", "1000000"], "1<=x<=1000"),
    ],
)
def test_numbers_have_bounds_that_the_message_tells(folders: Path, arguments: list[str], says: str) -> None:
    result = run(*(str(folders / word) if word in ("translator", "recurrent") else word for word in arguments))
    assert result.exit_code == 2 and says in result.stderr


def test_a_sentence_longer_than_any_path_is_a_sentence(folders: Path) -> None:
    result = run("score", folders / "recurrent", "a b " * 2000)
    assert result.exit_code == 0


def test_a_sentence_beyond_all_length_is_refused(folders: Path) -> None:
    result = run("translate", folders / "translator", "a " * 20_000)
    assert result.exit_code == 2 and "a sentence can have 10,000" in result.stderr
    result = run("classify", folders / "TextCNN", "a " * 20_000)
    assert result.exit_code == 2 and "has 20,000 words; a text may have 10,000: cut it" in result.stderr
