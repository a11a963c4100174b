"""Word vectors into and out of language models, for every kind of tokenizer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from langladder.embeddings.base import WordVectors
from langladder.formats.vector_files import input_embedding, read_vectors
from langladder.ground.errors import Damage, InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.tasks.from_vectors import start_from_vectors
from langladder.tasks.settings import InputVectors
from langladder.text.tokenize.specials import BOS, EOS, NAMES
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig, word_pieces, word_tokens
from langladder.text.words.vocabulary import Vocabulary

LINES = ["the cat looks at the looking glass", "the cat keeps looking", "a cat sees the café at night"] * 4
D = 6
KINDS = {
    "bpe_bytes": TokenizerConfig(kind="bpe_bytes", vocab_size=285),
    "bpe_words": TokenizerConfig(kind="bpe_words", vocab_size=40),
    "wordpiece": TokenizerConfig(kind="wordpiece", vocab_size=60),
    "unigram": TokenizerConfig(kind="unigram", vocab_size=35),
    "word": TokenizerConfig(kind="word", vocab_size=None),
    "character": TokenizerConfig(kind="character", vocab_size=None),
}
TOKENIZERS = {kind: train_tokenizer(LINES, config) for kind, config in KINDS.items()}
each_kind = pytest.mark.parametrize("kind", KINDS)


def gpt(tokenizer: Tokenizer, **changes: Any) -> GPT:
    torch.manual_seed(0)
    settings: dict[str, Any] = {"context": 8, "width": D, "layers": 1, "heads": 2, "tie_weights": False}
    return GPT(GPT.Config.model_validate(settings | changes), tokenizer.vocab_size)


def save(model: NeuralLanguageModel, tokenizer: Tokenizer, folder: Path) -> Path:
    model.save(folder)
    tokenizer.save(folder / "tokenizer.json")
    return folder


@each_kind
def test_word_tokens_are_the_words_of_one_piece(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    result = word_tokens(tokenizer)
    words = ["the", "cat", "looking", "glass", "café", "a"]
    alone = {word: ids.tolist() for word, ids in zip(words, word_pieces(tokenizer, words), strict=True)}
    assert {word for word in words if len(alone[word]) == 1} == set(words) & set(result.values())
    for token, word in result.items():
        assert token in tokenizer.ordinary and " " not in word
        # inside a line, the word is that token
        line = tokenizer.encode(f"cat {word} cat").tolist()
        assert token in line
    assert list(result) == sorted(result) and len(set(result.values())) == len(result)
    if kind == "character":
        assert set(result.values()) == set("".join(LINES)) - {" "}
    elif kind == "word":
        assert set(result.values()) == {word for line in LINES for word in line.split()}
    else:
        expected = {"a", "look"} if kind == "unigram" else {"the", "cat"}  # Unigram finds other parts worth a token
        assert expected <= set(result.values()) and "glass" not in result.values()


@each_kind
def test_a_word_has_the_mean_of_its_pieces(kind: str, tmp_path: Path) -> None:
    tokenizer = TOKENIZERS[kind]
    model = gpt(tokenizer)
    folder = save(model, tokenizer, tmp_path / "m")
    vocabulary = Vocabulary.build([*LINES, "glasslike glasslike"])
    vectors = input_embedding(folder, vocabulary)

    table = model.embedding.weight.detach().numpy()
    prefix = {"bpe_bytes": " "}.get(kind, "")
    lacking = 0
    for word, count in zip(vocabulary.words, vocabulary.counts, strict=True):
        ids = tokenizer.encode(prefix + word)
        if 1 in ids:  # UNK
            assert word not in vectors
            lacking += 1
            continue
        assert np.allclose(vectors[word], np.mean([table[i] for i in ids], axis=0), atol=1e-6), word
        assert vectors.counts is not None and vectors.counts[vectors.index[word]] == count
    assert vectors.words == [word for word in vocabulary.words if word in vectors]  # still by frequency
    assert vectors.about["words_left_out"] == lacking == (1 if kind == "word" else 0)

    alone = read_vectors(folder)  # without a vocabulary: the rows of the tokens that are words
    assert alone.words == list(word_tokens(tokenizer).values()) and alone.counts is None
    assert np.array_equal(alone.matrix, table[list(word_tokens(tokenizer))])


@each_kind
def test_vectors_in_and_out_roundtrip(kind: str, tmp_path: Path) -> None:
    tokenizer = TOKENIZERS[kind]
    words = [*word_tokens(tokenizer).values()][1:]  # all but one are covered
    vectors = WordVectors(words, np.random.default_rng(0).normal(size=(len(words), D)).astype(np.float32))
    vectors.save(tmp_path / "v")
    model = gpt(tokenizer)
    before = model.embedding.weight.detach().clone()
    covered = start_from_vectors(model, tokenizer, InputVectors(vectors=str(tmp_path / "v")))

    after = model.embedding.weight.detach()
    tokens = {token: word for token, word in word_tokens(tokenizer).items() if word in words}
    assert np.array_equal(np.flatnonzero(covered), sorted(tokens)) and covered.sum() == len(words)
    assert all(np.array_equal(after[token].numpy(), vectors[word]) for token, word in tokens.items())
    assert torch.equal(after[torch.from_numpy(~covered)], before[torch.from_numpy(~covered)])
    assert not covered[: len(NAMES)].any()

    out = input_embedding(save(model, tokenizer, tmp_path / "m"))
    assert np.array_equal(out.matrix[1:], vectors.matrix) and out.words[1:] == words
    several = "".join(words[:2])
    with pytest.raises(InputError, match=rf"one token of the model; the model reads '{several}' as ") as error:
        out.nearest(several)
    assert "did you mean" not in str(error.value)


def train(model: NeuralLanguageModel, tokenizer: Tokenizer) -> None:
    from langladder.tasks.optimisation import TrainingConfig, make_optimizer

    optimizer = make_optimizer(model, TrainingConfig(lr=0.05, weight_decay=0.1, max_steps=4))
    ids = [BOS, *tokenizer.encode(LINES[0]).tolist()[:6], EOS]
    tokens = torch.tensor([ids])
    for _ in range(4):
        loss = model.loss(model(tokens[:, :-1])[0], tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("frozen", [False, True])
def test_frozen_rows_stay_while_others_learn(frozen: bool, tmp_path: Path) -> None:
    tokenizer = TOKENIZERS["word"]
    words = list(word_tokens(tokenizer).values())
    WordVectors(words, np.ones((len(words), D), dtype=np.float32)).save(tmp_path / "v")
    model = gpt(tokenizer)
    start_from_vectors(model, tokenizer, InputVectors(vectors=str(tmp_path / "v"), frozen=frozen))
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    train(model, tokenizer)
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == set(before) - ({"embedding.weight"} if frozen else set())


def test_damaged_entries_are_left_out_and_counted_or_refused(tmp_path: Path) -> None:
    tokenizer, path = TOKENIZERS["word"], tmp_path / "v.txt"
    words = list(word_tokens(tokenizer).values())[:3]
    path.write_text("".join(f"{word} {' '.join(['1'] * D)}\n" for word in [*words, words[0]]))
    settings, damage = InputVectors(vectors=str(path)), Damage()
    assert start_from_vectors(gpt(tokenizer), tokenizer, settings, damage).sum() == 3
    assert damage.counts == {"a word that occurs twice": 1}
    with pytest.raises(InputError, match=r"v\.txt:4: a word that occurs twice"):
        start_from_vectors(gpt(tokenizer), tokenizer, settings.model_copy(update={"damaged": "strict"}))


def test_without_vectors_nothing_changes() -> None:
    tokenizer = TOKENIZERS["word"]
    model = gpt(tokenizer)
    before = model.embedding.weight.detach().clone()
    assert not start_from_vectors(model, tokenizer, InputVectors()).any()
    assert torch.equal(model.embedding.weight, before) and model.embedding.weight.requires_grad


def test_mismatches_are_refused_with_the_config_key(tmp_path: Path) -> None:
    tokenizer = TOKENIZERS["word"]
    words = list(word_tokens(tokenizer).values())
    for dim in (D, D + 1):
        WordVectors(words, np.ones((len(words), dim), dtype=np.float32)).save(tmp_path / f"v{dim}")
    WordVectors(["elsewhere"], np.ones((1, D), dtype=np.float32)).save(tmp_path / "other")

    def settings(name: str, frozen: bool = False) -> InputVectors:
        return InputVectors(vectors=str(tmp_path / name), frozen=frozen)

    lstm = RecurrentLM(RecurrentLM.Config(width=D, embedding_dim=D), tokenizer.vocab_size)
    with pytest.raises(
        InputError, match=rf"input\.vectors: .* dimension {D + 1}, .* has {D}: set model\.width to {D + 1}"
    ):
        start_from_vectors(gpt(tokenizer), tokenizer, settings(f"v{D + 1}"))
    with pytest.raises(InputError, match=rf"set model\.embedding_dim to {D + 1}, or name vectors of {D}"):
        start_from_vectors(lstm, tokenizer, settings(f"v{D + 1}"))
    with pytest.raises(InputError, match="vector for none of the words"):
        start_from_vectors(lstm, tokenizer, settings("other"))
    for tied in (lstm, gpt(tokenizer, tie_weights=True)):
        with pytest.raises(
            InputError, match=r"embedding\.weight = head\.weight\) also the output layer.*tie_weights to false"
        ):
            start_from_vectors(tied, tokenizer, settings(f"v{D}", frozen=True))
        assert start_from_vectors(tied, tokenizer, settings(f"v{D}")).any()
    with pytest.raises(ValueError, match="frozen=true, but vectors=null"):
        InputVectors(frozen=True)


def test_models_without_an_input_embedding_are_refused(tmp_path: Path) -> None:
    tokenizer = TOKENIZERS["word"]
    from langladder.text.storage.token_streams import TokenStream

    counted = KneserNey(KneserNey.Config(), tokenizer.vocab_size)
    ids = np.array([BOS, *tokenizer.encode(LINES[0]), EOS], dtype=np.int32)
    counted.fit(TokenStream(ids, np.array([0, len(ids)])))
    counted.save(tmp_path / "kn")
    with pytest.raises(InputError, match="has no input embedding, only neural"):
        read_vectors(tmp_path / "kn")
    with pytest.raises(InputError, match="train the tokenizer first"):
        model = gpt(tokenizer)
        model.save(tmp_path / "bare")
        read_vectors(tmp_path / "bare")
    with pytest.raises(InputError, match="knows none of the words"):
        input_embedding(save(gpt(tokenizer), tokenizer, tmp_path / "m"), Vocabulary(["xyz"], np.array([1])))
    save(gpt(tokenizer), TOKENIZERS["character"], tmp_path / "mixed")
    with pytest.raises(InputError, match=r"its tokenizer\.json"):
        read_vectors(tmp_path / "mixed")
