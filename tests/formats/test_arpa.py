"""ARPA: KenLM's files and the scores its own tests expect, our files under a scorer of their own, malformed files."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from real_data import real

from langladder.formats.arpa import read_arpa, spell, unspell, write_arpa
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.models.ngrams.absolute_discounting import AbsoluteDiscounting
from langladder.models.ngrams.add_k import AddK
from langladder.models.ngrams.backoff import ArpaConfig, ArpaModel
from langladder.models.ngrams.katz import Katz
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.ngrams.maximum_likelihood import MaximumLikelihood
from langladder.models.ngrams.ngram import NgramModel
from langladder.models.ngrams.stupid_backoff import StupidBackoff
from langladder.models.ngrams.witten_bell import WittenBell
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, SPELLINGS, UNK

TOKENS = [*SPELLINGS, "the", "a b", "back\\slash", "<unk>", "no\u00a0break", " ", "\\x20", "日本", "<s>", "\n"]
V = len(TOKENS)

SMALL = """
\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-0.5\t<unk>
-99\t<s>\t-0.25
-0.75\tthe\t-0.125
-1\t</s>

\\2-grams:
-0.25\t<s> the
-0.5\tthe </s>

\\end\\
"""


class SlowScorer:
    """ARPA as its definition reads: a dictionary of n-grams and a recursion. Shares no code with the package."""

    def __init__(self, text: str) -> None:
        self.probs: dict[tuple[str, ...], float] = {}
        self.backoffs: dict[tuple[str, ...], float] = {}
        n = 0
        for line in text.split("\n"):
            if line.startswith("\\"):
                n = int(line[1]) if line.endswith("-grams:") else 0
            elif n and line.strip(" \t\r"):
                columns = line.replace("\t", " ").split(" ")
                words = tuple(columns[1 : n + 1])
                self.probs[words] = float(columns[0])
                self.backoffs[words] = float(columns[n + 1]) if len(columns) > n + 1 else 0.0
        self.order = max(len(words) for words in self.probs)

    def log10(self, history: tuple[str, ...], word: str) -> float:
        history = history[max(0, len(history) - self.order + 1) :]
        if (*history, word) in self.probs:
            return self.probs[*history, word]
        return self.backoffs.get(history, 0.0) + self.log10(history[1:], word) if history else -math.inf

    def sentence(self, words: list[str]) -> list[float]:
        line = ["<s>", *words, "</s>"]
        return [self.log10(tuple(line[:t]), line[t]) for t in range(1, len(line))]


def reference(name: str) -> Path:
    return real("ref-ngram-arpa") / name


def log10_scores(model: LanguageModel, tokens: list[str], words: list[str]) -> list[float]:
    index = {token: number for number, token in enumerate(tokens)}
    row = [BOS, *(index.get(word, UNK) for word in words), EOS]
    scores: list[float] = (model.log_probs(torch.tensor([row]))[0, 1:].double() / math.log(10)).tolist()
    return scores


def fitted(cls: type[NgramModel], order: int = 3, seed: int = 0, **extra: object) -> NgramModel:
    rng = np.random.default_rng(seed)
    lines = [[BOS, *rng.integers(4, V, rng.integers(0, 9)), EOS] for _ in range(80)]
    ids = np.array([word for line in lines for word in line], dtype=np.int32)
    model = cls(cls.Config.model_validate({"order": order} | extra), V)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    return model


@pytest.mark.real
def test_kenlm_model_test_scores_parity() -> None:
    """The sentence and the figures of KenLM's own lm/model_test.cc (its <unk> has back-off -20 in this file)."""
    model, tokens = read_arpa(reference("test.arpa"))
    words = ["looking", "on", "a", "little", "the", "biarritz", "not_found", "more", "."]
    expected = [
        -0.484652, -0.348837, -0.0155266, -0.00306122, -4.04005, -1.9889, -2.29666, -1.20632 - 20, -0.51363, -0.0191651
    ]  # fmt: skip
    assert log10_scores(model, tokens, words) == pytest.approx(expected, abs=1e-4)
    assert log10_scores(model, tokens, ["looking", "on", "a", "little", "more", "loin"])[4:6] == pytest.approx(
        [-0.00181395, -0.0432557], abs=1e-6
    )


@pytest.mark.real
@pytest.mark.parametrize("name", ["test.arpa", "test_nounk.arpa", "toy0.arpa", "toy1.arpa"])
def test_kenlm_files_score_as_an_independent_scorer_parity(name: str) -> None:
    path = reference(name)
    model, tokens = read_arpa(path)
    slow = SlowScorer(path.read_text())
    words = tokens[4:]
    rng = np.random.default_rng(0)
    sentences = [rng.choice(words, 12).tolist() for _ in range(40)]
    sentences.append(["also", "would", "consider", "higher", "looking"])
    sentences.append(["looking", "on", "a", "little", "more", ".", "to", "look", "a", "screening", "a", "little"])
    for sentence in sentences:
        sentence = [word if word in words else "<unk>" for word in sentence]
        expected = slow.sentence(sentence)
        assert log10_scores(model, tokens, sentence) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("cls", "order", "extra"),
    [
        (KneserNey, 3, {}),
        (KneserNey, 1, {}),
        (KneserNey, 4, {"prune": [0, 1]}),
        (KneserNey, 4, {"prune_entropy": 0.001}),
        (Katz, 3, {}),
        (WittenBell, 3, {}),
        (StupidBackoff, 3, {}),
        (AbsoluteDiscounting, 2, {}),
        (AddK, 3, {}),
        (MaximumLikelihood, 3, {}),
    ],
)
@pytest.mark.parametrize("suffix", [".arpa", ".arpa.gz"])
def test_roundtrip_and_parity_with_an_independent_scorer(
    cls: type[NgramModel], order: int, extra: dict[str, object], suffix: str, tmp_path: Path
) -> None:
    model, path = fitted(cls, order, **extra), tmp_path / f"model{suffix}"
    write_arpa(path, model, TOKENS)
    read, tokens = read_arpa(path, TOKENS)
    assert tokens == TOKENS and read.ngrams_per_order() == model.ngrams_per_order()
    rng = np.random.default_rng(1)
    rows = torch.from_numpy(rng.integers(3, V, (20, 12)))
    rows[:, 0] = BOS
    assert torch.allclose(read.log_probs(rows), model.log_probs(rows), rtol=1e-6, atol=1e-5)

    text = gzip.decompress(path.read_bytes()).decode() if suffix.endswith("gz") else path.read_bytes().decode()
    slow = SlowScorer(text)
    for row in rows.tolist():
        line = [EOS if token == EOS else token for token in row[1:]]
        words = [{UNK: "<unk>", EOS: "</s>"}.get(token, spell(TOKENS[token])) for token in line]
        expected = [score if score > -99 else -math.inf for score in slow.sentence(words)]
        scores = (model.log_probs(torch.tensor([[BOS, *line, EOS]]))[0, 1:].double() / math.log(10)).tolist()
        assert scores == pytest.approx(expected, abs=1e-4)

    write_arpa(tmp_path / f"again{suffix}", model, TOKENS)
    assert (tmp_path / f"again{suffix}").read_bytes() == path.read_bytes()


def test_form_of_the_file_golden(tmp_path: Path) -> None:
    """Blank line first (old KenLM asks for it), tabs around the words, the highest order without back-offs, no PAD."""
    write_arpa(tmp_path / "m.arpa", fitted(KneserNey, 2), TOKENS)
    lines = (tmp_path / "m.arpa").read_bytes().decode().split("\n")
    assert lines[:4] == ["", "\\data\\", f"ngram 1={V - 1}", lines[3]] and lines[3].startswith("ngram 2=")
    assert lines[-3:] == ["", "\\end\\", ""]
    single = lines[lines.index("\\1-grams:") + 1 : lines.index("\\2-grams:") - 1]
    assert [line.split("\t")[1] for line in single] == ["<unk>", "<s>", "</s>", *map(spell, TOKENS[4:])]
    assert single[1].startswith("-99\t<s>\t-")
    pairs = lines[lines.index("\\2-grams:") + 1 : -3]
    assert all(line.count("\t") == 1 and line.count(" ") == 1 for line in pairs)


def test_tokens_with_spaces_and_marks_are_spelt_safely_roundtrip() -> None:
    for token in TOKENS[4:]:
        assert unspell(spell(token)) == token
        assert not set(spell(token)) & set(" \t\n\\") - {"\\"} and spell(token) not in ("<s>", "</s>", "<unk>")
    assert len({spell(token) for token in TOKENS}) == V
    assert spell("a b") == "a\\x20b" and spell("<unk>") == "\\x3cunk>" and spell("日本") == "日本"


def test_saved_arpa_model_loads_roundtrip(tmp_path: Path) -> None:
    (tmp_path / "small.arpa").write_text(SMALL)
    model, tokens = read_arpa(tmp_path / "small.arpa")
    assert tokens == ["<pad>", "<unk>", "<bos>", "<eos>", "the"]
    assert log10_scores(model, tokens, ["the"]) == pytest.approx([-0.25, -0.5])
    assert log10_scores(model, tokens, ["?", "the"]) == pytest.approx([-0.25 - 0.5, -0.75, -0.5])
    model.save(tmp_path / "saved")
    loaded = LanguageModel.load(tmp_path / "saved")
    assert isinstance(loaded, ArpaModel) and loaded.config == ArpaConfig()
    assert log10_scores(loaded, tokens, ["the"]) == pytest.approx([-0.25, -0.5])
    with pytest.raises(InputError, match="read from"):
        model.fit(TokenStream(np.array([BOS, 4, EOS], dtype=np.int32), np.array([0, 3])))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("\\data\\", "data", 16, "no line"),
        ("ngram 2=2", "ngram 3=2", 4, "expected 'ngram 2=<number>'"),
        ("\\1-grams:", "\\2-grams:", 6, "expected '\\\\1-grams:'"),
        ("-0.75\tthe\t-0.125", "-0.75\tthe cat\t-0.1 5", 9, "n-grams of order 1"),
        ("-0.75\tthe", "-0.7.5\tthe", 9, "b'-0.7.5' is not a number"),
        ("-0.75\tthe", "-0_75\tthe", 9, "b'-0_75' is not a number"),  # Python reads -75
        ("-0.75\tthe", "-0.75\tt\x01e", 9, "control character"),
        ("-0.125", "inf", 9, "log10 b a number"),
        ("-0.125", "\t0.125", 9, "n-grams of order 1"),  # a sign that was lost
        ("\tthe\t-0.125", "\tthe 0", 9, "n-grams of order 1"),  # a word that was cut in two
        ("-0.5\tthe </s>", "-0.5\tthe </s> 0", 14, "n-grams of order 2"),
        ("\\end\\\n", "\\end\\\n\n-0.5\tthe the\n", 18, "after .*an ARPA file ends there"),
        ("-0.75\tthe", "0.75\tthe", 9, "at most 0"),
        ("-0.5\t<unk>", "-0.5\tthe", 9, "twice"),
        ("<s> the", "<s> cat", 13, "'cat' is not among"),
        ("-0.25\t<s> the\n", "-0.25\t<s> the\n-0.1\tthe the\n", 15, "expected \\\\end"),
        ("ngram 2=2", "ngram 2=3", 15, "2-grams|n-grams of order 2"),
        ("\\end\\", "", 16, "ends here"),
        ("-0.5\tthe </s>", "-0.5\tthe </s>\t-0.1", 14, "n-grams of order 2"),
        ("-0.5\tthe </s>", "-0.5\t<s> the", 14, "twice"),
    ],
)
def test_malformed_files_name_file_and_line(old: str, new: str, line: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    assert old in SMALL
    path.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(InputError, match=message) as error:
        read_arpa(path)
    assert str(error.value).startswith(f"{path}:{line}:")


def test_missing_history_and_foreign_vocabulary_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.arpa"
    extra = SMALL.replace("ngram 2=2", "ngram 2=2\nngram 3=1").replace(
        "\\end\\", "\\3-grams:\n-1\t</s> the the\n\n\\end\\"
    )
    path.write_text(extra)
    with pytest.raises(InputError, match=f"{path}:18: .*not its history"):
        read_arpa(path)
    path.write_text(SMALL)
    with pytest.raises(InputError, match=f"{path}:9: 'the' is not among the given vocabulary"):
        read_arpa(path, [*SPELLINGS, "cat"])
    with pytest.raises(InputError, match="different tokens"):
        write_arpa(path, fitted(KneserNey), TOKENS[:-1])
    with pytest.raises(InputError, match="no such file"):
        read_arpa(tmp_path / "none.arpa")


@pytest.mark.parametrize(
    ("cls", "order", "extra"),
    [
        (KneserNey, 3, {}),
        (KneserNey, 2, {"modified": False}),
        (KneserNey, 4, {"prune": [0, 1]}),
        (KneserNey, 4, {"prune_entropy": 0.001}),
        (WittenBell, 3, {}),
        (AbsoluteDiscounting, 3, {}),
        (Katz, 3, {}),
    ],
    ids=str,
)
def test_our_files_in_kenlm_parity(tmp_path: Path, cls, order, extra) -> None:
    """KenLM's own score of every sentence, unknown words and odd spellings among them, and of its tokens."""
    kenlm = pytest.importorskip("kenlm", reason="the library kenlm is not installed")
    model = fitted(cls, order, **extra)
    write_arpa(tmp_path / "model.arpa", model, TOKENS)
    theirs = kenlm.Model(str(tmp_path / "model.arpa"))
    assert theirs.order == order
    rng = np.random.default_rng(7)
    for length in (*range(8), 20):
        words = [TOKENS[token] for token in rng.integers(4, V, length)]
        if length > 3:
            words[2] = "never-seen"
        ours = log10_scores(model, TOKENS, words)
        sentence = " ".join(spell(word) for word in words)
        assert theirs.score(sentence) == pytest.approx(sum(ours), abs=1e-4)
        tokens = [score for score, _, _ in theirs.full_scores(sentence)]
        assert tokens == pytest.approx(ours, abs=1e-4)


@pytest.mark.real
@pytest.mark.parametrize("name", ["test.arpa", "toy0.arpa", "toy1.arpa"])
def test_kenlms_files_in_kenlm_and_here_parity(name: str) -> None:
    kenlm = pytest.importorskip("kenlm", reason="the library kenlm is not installed")
    (model, tokens), theirs = read_arpa(reference(name)), kenlm.Model(str(reference(name)))
    rng = np.random.default_rng(3)
    for length in (*range(8), 20):
        words = rng.choice(tokens[4:], length).tolist()
        ours = sum(log10_scores(model, tokens, words))
        assert theirs.score(" ".join(spell(word) for word in words)) == pytest.approx(ours, abs=1e-4)


@pytest.mark.parametrize("line", ["ngram 1=", "\\1-grams:", "-1\ta", "\\end\\"])
def test_a_long_line_is_quoted_in_part(tmp_path: Path, line: str) -> None:
    path = tmp_path / "m.arpa"
    text = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-1\t<s>\n-1\t</s>\n-1\ta\n\n\\end\\\n"
    assert text.count(line) == 1
    path.write_text(text)
    read_arpa(path)
    path.write_text(text.replace(line, "[" * 5000 + line))
    with pytest.raises(InputError) as refused:
        read_arpa(path)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n\\data", "\ufeff\\data"),
        ("ngram 2=2\n\n", "ngram 2=2\n"),
        ("<s> the\n", "<s> the\t0\n"),
        ("<s> the\n", "<s> the\t-0.0\r\n"),
        ("<unk>", "<UNK>"),
        ("\\end\\\n", "\\end\\\n \n\n"),
    ],
)
def test_files_that_kenlm_reads_are_read(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "m.arpa").write_text(SMALL)
    expected, tokens = read_arpa(tmp_path / "m.arpa")
    assert SMALL.count(old) == 1
    (tmp_path / "m.arpa").write_text(SMALL.replace(old, new))
    model, again = read_arpa(tmp_path / "m.arpa")
    assert again == tokens
    rows = torch.tensor([[BOS, 4, UNK, EOS], [BOS, UNK, UNK, 4]])
    assert torch.equal(model.log_probs(rows), expected.log_probs(rows)) and model.log_probs(rows).isfinite().all()


def test_unknown_words_of_longer_ngrams_have_both_spellings(tmp_path: Path) -> None:
    (tmp_path / "m.arpa").write_text(SMALL.replace("<unk>", "<UNK>").replace("<s> the", "<s> <UNK>"))
    model, tokens = read_arpa(tmp_path / "m.arpa")
    assert log10_scores(model, tokens, ["never"]) == pytest.approx([-0.25, -1.0])
    (tmp_path / "m.arpa").write_text(SMALL.replace("the\t-0.125", "<UNK>\t-0.125").replace("the", "<unk>"))
    with pytest.raises(InputError, match="'<UNK>' occurs twice in the file"):
        read_arpa(tmp_path / "m.arpa")


@pytest.mark.parametrize("mark", ["<s>", "</s>"])
def test_a_file_without_marks_of_sentences_is_refused(mark: str, tmp_path: Path) -> None:
    (tmp_path / "m.arpa").write_text(SMALL.replace(mark, "other"))
    with pytest.raises(InputError, match=f"m.arpa: no word {mark} among the 1-grams"):
        read_arpa(tmp_path / "m.arpa")


def test_a_missing_unknown_word_is_nearly_impossible_as_in_kenlm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "m.arpa").write_text(SMALL.replace("-0.5\t<unk>\n", "").replace("1=4", "1=3"))
    model, tokens = read_arpa(tmp_path / "m.arpa")
    assert caplog.messages == [f"{tmp_path}/m.arpa: no word <unk>; it gets log10 p = -100"]
    assert log10_scores(model, tokens, ["never", "the"]) == pytest.approx([-100.25, -0.75, -0.5])
    write_arpa(tmp_path / "again.arpa", model, tokens)
    model, tokens = read_arpa(tmp_path / "again.arpa")
    assert log10_scores(model, tokens, ["never", "the"]) == pytest.approx([-100.25, -0.75, -0.5])
