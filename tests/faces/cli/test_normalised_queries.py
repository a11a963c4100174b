"""What is asked of a model is written as its training text was: in another form of Unicode it gets the same answer."""

import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from langladder.answers.classify import classify, example_of
from langladder.answers.loading import read_model
from langladder.answers.requests import ClassifyRequest, TagRequest
from langladder.answers.score import score_file
from langladder.answers.tag import tag
from langladder.answers.words import text_vector
from langladder.embeddings.base import WordVectors
from langladder.embeddings.saved import load_vectors
from langladder.embeddings.subword_vectors import NgramBuckets, SubwordVectors
from langladder.evaluation.similarity import evaluate_similarity
from langladder.faces.cli.main import app
from langladder.ground.artefacts import read_json, write_json
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.classification.mean_embedding import MeanEmbedding
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.hmm import HMM
from langladder.models.tagging.tagger import Tagger
from langladder.models.units import WordUnits
from langladder.text.labelled.labelled import Example, Tagged
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.normalisation import Normalisation

WRITTEN = Normalisation(("invisible", "NFC", "lowercase"))
LINES = ["büyük ev", "küçük ev", "büyük köy", "çok büyük bir köy"] * 4
NFC, NFD, LOUD = "büyük ev", unicodedata.normalize("NFD", "büyük ev"), "BÜYÜK\u200b EV"


def run(*arguments: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "counted"
    tokenizer = train_tokenizer(LINES, TokenizerConfig(vocab_size=300), WRITTEN)
    ids = np.concatenate([[BOS, *tokenizer.encode(line), EOS] for line in LINES]).astype(np.int32)
    model = KneserNey(KneserNey.Config(order=3), tokenizer.vocab_size)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    model.save(folder)
    tokenizer.save(folder / "tokenizer.json")
    return folder


def test_a_sentence_costs_the_same_in_every_form(language_model: Path) -> None:
    result = run("score", language_model, NFC, NFD, LOUD, "--json")
    bits = {sentence["sentence"]: sentence["bits"] for sentence in json.loads(result.stdout)["models"][0]["sentences"]}
    assert set(bits) == {NFC, NFD, LOUD} and len(set(bits.values())) == 1
    note = "note: 2 of 3 texts were normalised as the training text was (invisible, NFC, lowercase)\n"
    assert result.stderr == note
    assert run("score", language_model, NFC).stderr == ""
    note = "note: 1 of 1 texts was normalised as the training text was (NFC)\n"
    assert run("generate", language_model, "--prompt", NFD).stderr == note  # every command that reads a text says it


def test_perplexity_counts_the_normalised_text(language_model: Path, tmp_path: Path) -> None:
    loaded, scores = read_model(language_model), []
    for name, line in (("nfc", NFC), ("nfd", NFD), ("loud", LOUD)):
        (tmp_path / name).write_text(line + "\n", encoding="utf-8")
        scores.append(score_file(loaded, tmp_path / name).figures)
    assert scores[0] == scores[1] == scores[2]
    assert run("perplexity", language_model, tmp_path / "nfd").stderr.startswith("note: 1 of 1 lines of ")


TAGGED = [Tagged(tuple(words.split()), tuple(tags.split())) for words, tags in (
    ("büyük ev", "ADJ NOUN"), ("küçük köy", "ADJ NOUN"), ("ev büyük", "NOUN ADJ"), ("köy", "NOUN"),
)]  # fmt: skip


def test_a_word_has_the_same_tag_in_every_form(tmp_path: Path) -> None:
    tags = ["ADJ", "NOUN"]
    model = HMM(HMM.Config(), tags)
    model.fit(TAGGED * 5, tag_ids(TAGGED * 5, tags))
    model.normalisation = WRITTEN
    model.save(tmp_path / "hmm")
    loaded = Tagger.load(tmp_path / "hmm")
    assert loaded.normalisation == HMM.load(tmp_path / "hmm").normalisation == WRITTEN
    (first,) = tag(loaded, [NFC], TagRequest(explain=True))
    for line in (NFD, LOUD):
        (other,) = tag(loaded, [line], TagRequest(explain=True))
        assert other == replace(first, words=line.split(" "))  # the words as they were given
    hidden = tag(loaded, [f"{NFC}.\u200f", f"{NFD}."], TagRequest(words="apart"))
    assert [item.words for item in hidden] == [["büyük", "ev", "."], [*NFD.split(" "), "."]]
    result = run("tag", tmp_path / "hmm", NFD, NFC, "--json")
    assert result.stderr == "note: 1 of 2 texts was normalised as the training text was (NFC)\n"
    results = [sentence["tags"] for sentence in json.loads(result.stdout)["sentences"]]
    assert results == [["ADJ", "NOUN"]] * 2


EXAMPLES = [Example("büyük güzel", label="good"), Example("küçük kötü", label="bad")] * 6


def linear() -> LinearClassifier:
    model = LinearClassifier(LinearClassifier.Config(), ["good", "bad"])
    model.fit(EXAMPLES, [])
    return model


def network() -> NeuralClassifier:
    units = WordUnits.of([example.text for example in EXAMPLES])
    return MeanEmbedding(MeanEmbedding.Config(), units.full_vocab_size, 2).equip(units, ["good", "bad"])


@pytest.mark.parametrize("make", [linear, network])
def test_a_text_has_the_same_label_in_every_form(make: Any, tmp_path: Path) -> None:
    model = make()
    model.normalisation = WRITTEN
    model.save(tmp_path / "model")
    loaded = Classifier.load(tmp_path / "model")
    texts = ["büyük güzel", unicodedata.normalize("NFD", "büyük güzel"), "BÜYÜK\u00ad GÜZEL"]
    answers = classify(loaded, [example_of(loaded, text) for text in texts], ClassifyRequest(top=2, explain=True))
    assert answers[0].top == answers[1].top == answers[2].top
    assert [answer.example.text for answer in answers] == texts
    result = run("classify", tmp_path / "model", *texts, "--json")
    assert result.stderr.startswith("note: 2 of 3 texts were normalised as the training text was (invisible, NFC, ")


@pytest.fixture(params=["words", "subwords"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    words = ["büyük", "küçük", "ev", "köy", "Ankara"]
    matrix = np.array([[1, 0], [1, 0.2], [0, 1], [0.2, 1], [1, 1]], dtype=np.float32)
    if request.param == "words":
        word_vectors = WordVectors(words, matrix, normalisation=WRITTEN)
    else:
        cut, empty = NgramBuckets(2, 3, 10), np.zeros((1, 2), np.float32)
        word_vectors = SubwordVectors(words, matrix, None, {}, cut, np.zeros(1, np.int64), empty, normalisation=WRITTEN)
    word_vectors.save(tmp_path / "vectors")
    assert load_vectors(tmp_path / "vectors").normalisation == WRITTEN
    return tmp_path / "vectors"


def test_a_word_has_the_same_neighbours_in_every_form(vectors: Path) -> None:
    big = unicodedata.normalize("NFD", "büyük")
    result = run("neighbours", vectors, "büyük", big, "Ankara", "-k", 2, "--json")
    first, second, third = json.loads(result.stdout)["neighbours"]
    assert second["nearest"] == first["nearest"] and (second["word"], third["word"]) == (big, "Ankara")
    assert result.stderr == "note: 1 of 3 words was normalised as the training text was (NFC)\n"
    command = ("analogy", vectors, "ev", "köy")
    assert run(*command, "BÜYÜK", "--json").stdout.replace("BÜYÜK", "büyük") == run(*command, "büyük", "--json").stdout
    assert json.loads(run("similarity", vectors, big, "büyük", "--json").stdout)["cosine"] == pytest.approx(1)


def test_other_questions_of_words_in_every_form(vectors: Path, tmp_path: Path) -> None:
    known = load_vectors(vectors)
    big = unicodedata.normalize("NFD", "büyük")
    assert text_vector(known, big).tolist() == text_vector(known, "büyük").tolist()
    assert text_vector(known, f"{big}\u200f ev").tolist() == text_vector(known, "büyük ev").tolist()
    (tmp_path / "pairs.tsv").write_text(f"{big} küçük 9\nEv köy 8\n{big} ev 1\n", encoding="utf-8")
    (scored,) = evaluate_similarity(known, tmp_path / "pairs.tsv").sets
    assert (scored.covered, scored.pairs) == (3, 3)


def test_folders_without_steps_are_read_and_strange_steps_are_refused(vectors: Path) -> None:
    path = vectors / "words.json"
    bare = {key: value for key, value in read_json(path).items() if key != "normalisation"}
    write_json(path, bare)
    assert load_vectors(vectors).normalisation == Normalisation()
    write_json(path, bare | {"normalisation": ["upper"]})
    with pytest.raises(InputError, match=r"words\.json: normalisation"):
        load_vectors(vectors)
