"""Lexicons: the file, distances, vectors and their formula, coverage; parity with NLTK on WordNet."""

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random

import nltk
import numpy as np
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.corpus.util import LazyCorpusLoader

from langladder.embeddings.lexicon import LexiconConfig, LexiconVectors, open_lexicon
from langladder.embeddings.method import TrainedVectors
from langladder.embeddings.synsets import Synsets
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus
from microworld.engine import world
from microworld.lexicon import table
from microworld.truth import synonym_sets

CHAIN = [
    "NLP", "information_science", "science", "discipline", "knowledge_domain",
    "cognition", "psychological_feature", "abstraction", "entity",
]  # fmt: skip
GOOD = "good.1\tgood excellent\ngood.2\tgood fine beneficial skillful\n"
ANIMALS = """# id\twords\thypernyms
dog.n\tdog hound\tpet.n
cat.n\tcat\tpet.n

pet.n\tpet\tanimal.n
wolf.n\twolf\tanimal.n
animal.n\tanimal\tentity.n
rock.n\trock\tentity.n
entity.n\tentity
jump.v\tjump
"""


def chain() -> Synsets:
    return Synsets.parse([f"{a}\t{a}\t{b}" for a, b in zip(CHAIN, [*CHAIN[1:], ""], strict=True)], "chain")


def fit(tmp_path: Path, text: str, words: list[str], counts: list[int], **changes: str) -> TrainedVectors:
    path = tmp_path / "lexicon.tsv"
    path.write_text(text, encoding="utf-8")
    corpus = WordCorpus(
        TokenStream(np.repeat(np.arange(len(words), dtype=np.int32), counts), np.array([0, sum(counts)])),
        Vocabulary(words, np.array(counts, dtype=np.int64)),
    )
    method = LexiconVectors(LexiconConfig(**{"lexicon": str(path)} | changes))
    return method.make(corpus, seed=0, progress=lambda _: None)


def test_hypernym_chain_golden() -> None:
    """NLP → … → entity: 9 sets, 8 steps."""
    lexicon = chain()
    assert list(lexicon.distances("NLP")) == CHAIN
    assert lexicon.distances("NLP")["entity"] == 8
    assert lexicon.path_similarity("NLP", "entity") == pytest.approx(1 / 9)
    assert lexicon.path_similarity("science", "discipline") == 0.5


def test_synonyms_of_good_golden() -> None:
    lexicon = Synsets.parse(GOOD.split("\n"), "good")
    assert lexicon.synonyms("good") == {"excellent", "fine", "beneficial", "skillful"}
    assert lexicon.synonyms("excellent") == {"good"}
    assert lexicon.path_similarity("good", "excellent") == 1


def test_path_similarity_golden() -> None:
    lexicon = Synsets.parse(ANIMALS.split("\n"), "animals")
    expected = {("dog", "hound"): 1, ("dog", "cat"): 1 / 3, ("dog", "wolf"): 1 / 4, ("cat", "rock"): 1 / 5}
    for (first, second), value in expected.items():
        assert lexicon.path_similarity(first, second) == pytest.approx(value)
        assert lexicon.path_similarity(second, first) == pytest.approx(value)
    assert lexicon.path_similarity("dog", "jump") == 0
    assert lexicon.senses("Dog") == ["dog.n"]
    with pytest.raises(InputError, match=r"'hond' is not among .* did you mean"):
        lexicon.path_similarity("dog", "hond")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", r"lex:1: 'a' is not `id <tab> words"),
        ("# only comments\n\n", "lex: has no synonym sets"),
        ("a\tx\nb\ty\tc\nbb\tz\tB", r"lex:2: hypernym 'c' is not an id"),
        ("a\tx\n\na\ty", "lex:3: synonym set 'a' was given in line 1"),
        ("root\tr\na\tx\tb root\nb\ty\tc\nc\tz\ta", "lex:2: a cycle of hypernyms: a → b → c → a"),
        ("a\tx\ta", "lex:1: a cycle of hypernyms: a → a"),
        ("a\tx\tb\tc", "lex:1: "),
        ("a b\tx", "lex:1: "),
    ],
)
def test_malformed_lexicons_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Synsets.parse(text.split("\n"), "lex")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.tsv: no such file"):
        Synsets.read(tmp_path / "nowhere.tsv")
    (tmp_path / "latin.tsv").write_bytes(b"a\t\xe9\n")
    with pytest.raises(InputError, match="not UTF-8"):
        Synsets.read(tmp_path / "latin.tsv")


def test_two_ways_up_are_no_ring_and_the_shorter_counts() -> None:
    lexicon = Synsets.parse(["a\ta\tb d", "b\tb\tc", "c\tc\td", "d\td"], "diamond")
    assert lexicon.distances("a") == {"a": 0, "b": 1, "d": 1, "c": 2}


def test_flat_cosine_is_shared_depth(tmp_path: Path) -> None:
    words = ["dog", "hound", "cat", "wolf", "rock", "jump"]
    vectors = fit(tmp_path, ANIMALS, words, [9, 8, 7, 6, 5, 4]).vectors
    assert vectors.is_sparse
    depth = {"dog": 4, "cat": 4, "wolf": 3, "rock": 2}  # entity has depth 1
    for first, second, shared in (("dog", "cat", 3), ("dog", "wolf", 2), ("cat", "rock", 1), ("wolf", "rock", 1)):
        expected = shared / math.sqrt(depth[first] * depth[second])
        assert vectors.similarity(first, second) == pytest.approx(expected, rel=1e-6)
    assert vectors.similarity("dog", "hound") == pytest.approx(1)
    assert vectors.similarity("dog", "jump") == 0


def test_information_cosine_is_shared_content(tmp_path: Path) -> None:
    words, counts = ["dog", "cat", "wolf", "rock"], [40, 30, 20, 10]
    vectors = fit(tmp_path, ANIMALS, words, counts, weighting="information").vectors
    content = {"dog": -math.log(0.4), "cat": -math.log(0.3), "wolf": -math.log(0.2), "rock": -math.log(0.1)}
    shared = {("dog", "cat"): -math.log(0.7), ("dog", "wolf"): -math.log(0.9), ("cat", "rock"): 0.0}
    for (first, second), common in shared.items():
        expected = common / math.sqrt(content[first] * content[second])
        assert vectors.similarity(first, second) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_a_word_is_the_mean_of_its_senses(tmp_path: Path) -> None:
    vectors = fit(tmp_path, ANIMALS + "rock.v\trock\tjump.v\n", ["rock", "jump"], [2, 1]).vectors
    assert sorted(vectors["rock"].tolist()) == [0.5] * 4  # rock.n, entity.n, rock.v, jump.v
    assert vectors.similarity("rock", "jump") == pytest.approx(0.5)


def test_coverage_golden(tmp_path: Path) -> None:
    fitted = fit(tmp_path, ANIMALS, ["the", "dog", "amazon", "cat"], [50, 30, 15, 5])
    expected = {"types": 0.5, "tokens": 0.35, "senses": 1.0, "missing": ["the", "amazon"]}
    assert fitted.vectors.about["coverage"] == expected
    assert fitted.vectors["amazon"].tolist() == [0.0] * fitted.vectors.matrix.shape[1]
    with pytest.raises(InputError, match="none of the text's 1 words"):
        fit(tmp_path, ANIMALS, ["amazon"], [1])


def test_microworld_lexicon_has_the_words_of_the_text() -> None:
    lines = list(lexicon_lines())
    lexicon = open_lexicon("microworld", [])
    assert lexicon.sets == Synsets.parse(lines, "microworld").sets  # distinct ids, and hypernyms that exist
    story_words = {word for line in stories() for word in line}
    without = {word for word in story_words if not lexicon.senses(word)}
    known = {row["word"] for name in ("names", "function_words") for row in table(name)}
    assert without <= known and len(story_words - without) > 600
    assert {"town.lands", "places"} <= set(lexicon.distances("paris.town"))
    assert lexicon.path_similarity("cow", "cows") == lexicon.path_similarity("eat", "ate") == 1
    # cows graze and sleep, goats graze and jump, dogs run and scratch
    assert lexicon.path_similarity("cow", "goat") == pytest.approx(1 / 3)
    assert lexicon.path_similarity("cow", "goat") > lexicon.path_similarity("cow", "dog") == pytest.approx(1 / 5)
    assert lexicon.path_similarity("cow", "dog") > lexicon.path_similarity("cow", "cake") > 0
    assert "male.roles" in lexicon.distances("king.roles") and "female.roles" in lexicon.distances("aunt.roles")
    assert lexicon.synonyms("beautiful") >= {"lovely", "wonderful"} and "ugly" not in lexicon.synonyms("beautiful")
    assert lexicon.senses("sails") == ["sail.nouns", "sail.acts"]


def lexicon_lines() -> Iterator[str]:
    for key, words, hypernyms in synonym_sets():
        yield f"{key}\t{' '.join(words)}\t{' '.join(hypernyms)}"


def stories() -> Iterator[list[str]]:
    for number in range(1_000):
        yield from (line.words for line in world().draw(Random(number)))


def write_wordnet(folder: Path, lexicon: Synsets) -> WordNetCorpusReader:
    """The lexicon's sets as nouns in WordNet's own database format (man wndb), read by NLTK."""
    width, names = 400, list(lexicon.sets)
    offset_of = {key: number * (width + 1) for number, key in enumerate(names)}
    data = ""
    for key in names:
        synset = lexicon.sets[key]
        words = " ".join(f"{word} 0" for word in synset.words)
        above = "".join(f" @ {offset_of[other]:08d} n 0000" for other in synset.hypernyms)
        line = f"{offset_of[key]:08d} 03 n {len(synset.words):02x} {words} {len(synset.hypernyms):03d}{above} | -"
        data += line.ljust(width) + "\n"
    index = "".join(
        f"{word} n {len(keys)} 0 {len(keys)} 0 " + " ".join(f"{offset_of[key]:08d}" for key in keys) + "  \n"
        for word, keys in sorted(lexicon.index.items())
    )
    folder.mkdir(parents=True)
    for pos in ("adj", "adv", "noun", "verb"):
        (folder / f"data.{pos}").write_text(data if pos == "noun" else "")
        (folder / f"index.{pos}").write_text(index if pos == "noun" else "")
        (folder / f"{pos}.exc").write_text("wolves wolf\n" if pos == "noun" else "")
    lexnames = ["adj.all", "adj.pert", "adv.all", "noun.Tops"]
    (folder / "lexnames").write_text("".join(f"{number:02d}\t{name}\t1\n" for number, name in enumerate(lexnames)))
    (folder / "cntlist.rev").write_text("")
    (folder / "index.sense").write_text("")
    return WordNetCorpusReader(str(folder), None)


@pytest.fixture
def nltk_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that NLTK takes for one of its own: it reads no others."""
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    return tmp_path


def test_path_similarity_parity_with_nltk(nltk_folder: Path) -> None:
    """A net of 60 sets with one to three hypernyms each, words in several of them."""
    rng = np.random.default_rng(0)
    lines = ["s0\tw0"]
    for number in range(1, 60):
        above = " ".join(f"s{other}" for other in set(rng.integers(0, number, rng.integers(1, 4)).tolist()))
        lines.append(f"s{number}\tw{number} v{rng.integers(25)}\t{above}")
    lexicon = Synsets.parse(lines, "net")
    reader = write_wordnet(nltk_folder / "corpora" / "wordnet", lexicon)
    words = list(lexicon.index)
    seen = Synsets.of_wordnet(words, reader)
    for first, second in rng.choice(words, (150, 2)).tolist():
        pairs = [(a, b) for a in reader.synsets(first) for b in reader.synsets(second)]
        theirs = max(a.path_similarity(b) for a, b in pairs)
        assert lexicon.path_similarity(first, second) == pytest.approx(theirs)
        assert seen.path_similarity(first, second) == pytest.approx(theirs)


def test_wordnet_strips_endings(nltk_folder: Path) -> None:
    reader = write_wordnet(nltk_folder / "corpora" / "wordnet", Synsets.parse(ANIMALS.split("\n"), "animals"))
    lexicon = Synsets.of_wordnet(["dogs", "wolves", "amazon"], reader)
    assert lexicon.path_similarity("dogs", "wolves") == pytest.approx(1 / 4)
    assert lexicon.senses("amazon") == []
    assert set(lexicon.sets) == {"dog.n.01", "pet.n.01", "animal.n.01", "wolf.n.01", "entity.n.01"}


def test_missing_wordnet_data_is_explained(monkeypatch: pytest.MonkeyPatch, nltk_folder: Path) -> None:  # noqa: ARG001
    monkeypatch.setattr("nltk.corpus.wordnet", LazyCorpusLoader("wordnet", WordNetCorpusReader, None))
    with pytest.raises(InputError, match=r"python -m nltk\.downloader wordnet"):
        Synsets.of_wordnet(["dog"])
