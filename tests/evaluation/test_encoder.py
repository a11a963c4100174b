"""What is measured of an encoder: gaps, pseudo-likelihood by hand, the distance from the truth, the page."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.decoding.fill import fill, gapped
from langladder.evaluation.encoder import evaluate_encoder, fill_rows, pseudo_scores
from langladder.evaluation.true_gaps import gap_log_probs, hidden_words, is_microworld, true_scores
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.tasks.settings import EncoderEvaluation
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.specials import EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from langladder.text.words.segmentation import Conventions
from microworld import corpora, engine

Stories = tuple[list[list[str]], list[float]]


@pytest.fixture(scope="module")
def drawn() -> Stories:
    """Stories of microworld, with the probabilities of their lines."""
    rows = corpora.draw_text(2, "test", 0, 8).to_pylist()
    lines = [[row["text"] for row in rows if row["document"] == number] for number in range(8)]
    return lines, [row["log_prob"] for row in rows]


@pytest.fixture(scope="module")
def tokenizer(drawn: Stories) -> Tokenizer:
    return train_tokenizer(
        [line for story in drawn[0] for line in story], TokenizerConfig(kind="bpe_bytes", vocab_size=420)
    )


def make(tokenizer: Tokenizer, *, pairs: bool = True) -> BERT:
    torch.manual_seed(0)
    config = BERTConfig(context=48, width=16, layers=1, heads=2, next_sentence=pairs)
    return BERT(config, tokenizer.full_vocab_size).eval()


def write(tokenizer: Tokenizer, documents: list[list[str]], path: Path) -> TokenStream:
    ids = [np.concatenate([framed(tokenizer.encode(line)) for line in document]) for document in documents]
    TokenStream.write(path, ids)
    return TokenStream.open(path)


def test_golden_pseudo_likelihood_one_token_at_a_time(tokenizer: Tokenizer) -> None:
    model = make(tokenizer)
    sentences = [
        np.array([5, 6, 7], dtype=np.int32),
        np.array([8, 9, 10], dtype=np.int32),
        np.array([11], dtype=np.int32),
    ]
    expected = 0.0
    for sentence in sentences:
        for position, token in enumerate(sentence.tolist()):
            tokens = torch.from_numpy(model.framed(sentence)[0])[None]
            tokens[0, position + 1] = model.mask
            with torch.no_grad():
                (last,) = model.hidden(tokens, layers=(-1,))
                scores = torch.log_softmax(model.head(model.transformed(last[0, position + 1])), dim=-1)
            expected += float(scores[token])
    result = pseudo_scores(model, sentences, words=4)
    assert result.log_likelihood == pytest.approx(expected, rel=1e-5)
    assert (result.tokens, result.sentences) == (7, 3)
    assert result.per_token == pytest.approx(math.exp(-expected / 7), rel=1e-5)
    assert result.per_word == pytest.approx(math.exp(-expected / 4), rel=1e-5)


def test_pseudo_likelihood_reads_long_sentences_in_parts(tokenizer: Tokenizer) -> None:
    model, long = make(tokenizer), np.arange(4, 104, dtype=np.int32)
    whole = pseudo_scores(model, [long], words=100)
    parts = pseudo_scores(model, [long[:46], long[46:92], long[92:]], words=100)
    assert whole.tokens == 100
    assert whole.log_likelihood == pytest.approx(parts.log_likelihood, rel=1e-6)


@pytest.mark.parametrize("pairs", [True, False])
def test_rows_with_gaps(tokenizer: Tokenizer, drawn: Stories, tmp_path: Path, pairs: bool) -> None:
    model = make(tokenizer, pairs=pairs)
    stream = write(tokenizer, drawn[0], tmp_path / "test.arrow")
    scores = fill_rows(model, tokenizer, stream, length=48, share=0.15, tokens=10**6)
    assert scores.masked > 50 and 0 <= scores.accuracy <= 1
    assert scores.cross_entropy == pytest.approx(math.log(tokenizer.full_vocab_size), rel=0.1)
    assert (scores.next_sentence is not None) == pairs


def test_the_process_is_known_by_its_probabilities(drawn: Stories) -> None:
    documents, known = drawn
    assert is_microworld(documents, known)
    assert not is_microworld(documents, [None] * len(known))
    assert not is_microworld(documents, [p - 1 for p in known])
    assert not is_microworld([["the cat sat ."], *documents], [-3.0, *known])
    assert not is_microworld([], [])


def test_true_probabilities_depend_on_the_whole_document(tokenizer: Tokenizer, drawn: Stories) -> None:
    """The truth is the document's; the model sees the lines that a row of its training would hold, and no more."""
    documents, _ = drawn
    alone, some, many = (
        hidden_words(tokenizer, documents, 12, room=room, most_lines=most)
        for room, most in ((90, 1), (90, None), (250, 3))
    )
    assert len(alone) == len(some) == len(many) > 6
    separators = [[int((item.ids == EOS).sum()) for item in result] for result in (alone, some, many)]
    assert set(separators[0]) == {0} and max(separators[1]) > 1 and set(separators[2]) == {2}
    assert max(len(item.ids) for item in some) <= 90
    lines = {line: document for document in documents for line in document}
    for short, long in zip(alone, some, strict=True):
        assert short.truth == long.truth
        assert short.ids[short.token] == long.ids[long.token] == short.tokens[short.words[short.position]]
        text = [tokenizer.decode(part) for part in np.split(long.ids, np.flatnonzero(long.ids == EOS)) if len(part)]
        document = lines[" ".join(short.words)]
        index = document.index(" ".join(short.words))
        assert " ".join(short.words) in [item.replace("<eos>", "").strip() for item in text]
        possible = engine.world().hidden_word([item.split() for item in document], index, short.position)
        for word, p in short.truth.items():
            assert p == pytest.approx(possible[word] / sum(possible[other] for other in short.truth))


def test_the_true_distribution_reaches_the_floor(tokenizer: Tokenizer, drawn: Stories) -> None:
    """The scores of the true distribution are its own; a flat one is worse; every word is one token in its place."""
    hidden = hidden_words(tokenizer, drawn[0], 25, room=200, most_lines=1)
    assert len(hidden) > 15
    size = tokenizer.full_vocab_size
    exact = torch.full((len(hidden), size), -torch.inf)
    for row, item in zip(exact, hidden, strict=True):
        assert sum(item.truth.values()) == pytest.approx(1)
        assert item.ids[item.token] == item.tokens[item.words[item.position]]
        assert tokenizer.decode(item.ids) == " ".join(item.words)
        for word, token in item.tokens.items():
            replaced = " ".join([*item.words[: item.position], word, *item.words[item.position + 1 :]])
            assert tokenizer.encode(replaced).tolist() == [*item.ids[: item.token], token, *item.ids[item.token + 1 :]]
            row[token] = math.log(item.truth[word])
    best = true_scores(hidden, exact)
    assert best is not None
    assert best.perplexity == pytest.approx(best.true_perplexity, rel=1e-5)
    assert best.divergence == pytest.approx(0, abs=1e-5)
    flat = true_scores(hidden, torch.full((len(hidden), size), -math.log(size)))
    assert flat is not None and flat.perplexity == pytest.approx(size, rel=1e-5) and flat.expected_above_percent > 100
    assert true_scores([], exact) is None


def test_the_model_predicts_at_the_masked_word(tokenizer: Tokenizer, drawn: Stories) -> None:
    model = make(tokenizer)
    hidden = hidden_words(tokenizer, drawn[0], 5, room=46)
    batched = gap_log_probs(model, hidden)
    for row, item in zip(batched, hidden, strict=True):
        tokens = torch.from_numpy(model.framed(item.ids)[0])[None]
        tokens[0, item.token + 1] = model.mask
        with torch.no_grad():
            (last,) = model.hidden(tokens, layers=(-1,))
            scores = torch.log_softmax(model.head(model.transformed(last[0, item.token + 1])), dim=-1)
        torch.testing.assert_close(row, scores, atol=1e-4, rtol=1e-4)


def test_the_whole_page(tokenizer: Tokenizer, drawn: Stories, tmp_path: Path) -> None:
    documents, log_probs = drawn
    sentences = [line for story in documents for line in story]
    stream = write(tokenizer, documents, tmp_path / "test.arrow")
    settings = EncoderEvaluation(tokens=500, sentences=5, words=6, shown=3)
    page = evaluate_encoder(
        make(tokenizer),
        tokenizer,
        stream,
        sentences,
        log_probs,
        name="one",
        length=48,
        conventions=Conventions(),
        settings=settings,
    )
    assert page.truth is not None and 0 < len(page.gaps) <= 3
    assert page.gaps[0].guesses[0].probability >= page.gaps[0].guesses[1].probability
    figures = page.figures()
    assert {"masked_accuracy", "pseudo_perplexity_per_word", "hidden_word_divergence"} <= set(figures)
    assert type(page).model_validate(page.model_dump(mode="json")) == page
    foreign = evaluate_encoder(
        make(tokenizer),
        tokenizer,
        stream,
        sentences,
        [None] * len(sentences),
        name="one",
        length=48,
        conventions=Conventions(),
        settings=settings,
    )
    assert foreign.truth is None and not foreign.gaps


def test_gaps_of_a_sentence_are_filled(tokenizer: Tokenizer, drawn: Stories) -> None:
    model, line = make(tokenizer), drawn[0][0][0].split()
    sentence = " ".join([line[0], "<mask>", *line[2:-1], "<mask>"])
    ids = gapped(tokenizer, sentence)
    assert (ids == tokenizer.special_id("<mask>")).sum() == 2
    plain = tokenizer.encode(" ".join(line)).tolist()
    assert ids[0] == plain[0] and ids[-2] == plain[-2]
    result = fill(model, tokenizer, sentence, best=3)
    assert [len(item) for item in result] == [3, 3]
    assert result[0][0].probability >= result[0][1].probability > 0
    with pytest.raises(InputError, match="has no <mask>"):
        fill(model, tokenizer, "no gap here")
    with pytest.raises(InputError, match="exceed the encoder's context of 48"):
        fill(model, tokenizer, "<mask> " * 50)
