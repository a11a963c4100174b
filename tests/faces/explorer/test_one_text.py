"""The page One text: the scorer's own figures, the truth beside them, what was expected in a place."""

import json
import math
import unicodedata

import pytest
import torch

from langladder.answers.score import score_sentences
from langladder.answers.surprisal import guess, row_of, surprisal
from langladder.faces.explorer import microworld
from langladder.faces.report.selection import hue_of
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.normalisation import Normalisation
from microworld.engine import world

MODELS = ("kneser_ney", "lstm", "gpt")
SENTENCES = ["the dogs that the cat sees sleep .", "the cat sat ."]


def test_the_figures_are_those_of_the_command_score(ask, models) -> None:
    events = {event["model"]: event for event in ask("/api/surprisal/score", {"texts": SENTENCES, "models": MODELS})}
    assert [*events] == [*MODELS]
    approaches = ("n-grams", "recurrent", "Transformer")
    assert [events[name]["hue"] for name in MODELS] == [hue_of(approach) for approach in approaches]  # as in the report
    for name in MODELS:
        wanted = {score["sentence"]: score for score in score_sentences(models.language_model(name), SENTENCES)}
        for sentence, result in zip(SENTENCES, events[name]["texts"], strict=True):
            assert [(text, bits) for _, text, bits, *_ in result["tokens"]] == [
                (token["token"], token["bits"]) for token in wanted[sentence]["tokens"]
            ]
            assert result["bits"] == wanted[sentence]["bits"]
            assert [word[0] for word in result["words"]] == [*sentence.split(), "<eos>"]
            assert sum(word[1] for word in result["words"]) == pytest.approx(result["bits"], abs=1e-4)
            assert "".join(before + text for before, text, *_ in result["tokens"]) == f"{sentence}<eos>"


def test_lines_are_a_document_as_the_ladder_scores_it(models) -> None:
    rung = models.language_model("lstm")
    text = "the cat sat .\n\n  a pair of cats  sat .\n"
    result = surprisal(rung.model, rung.tokenizer, text)
    ids = [[BOS, *rung.tokenizer.encode(line).tolist(), EOS] for line in ("the cat sat .", "  a pair of cats  sat .")]
    bits = -rung.model.log_probs(torch.tensor([[*ids[0], *ids[1]]])).double().sum() / math.log(2)
    assert result.bits == pytest.approx(float(bits), abs=1e-4)
    assert " ".join(word.text for word in result.words) == "the cat sat . <eos> a pair of cats sat . <eos>"


def test_padding_changes_nothing_and_keeps_shapes_few(models) -> None:
    rung, shapes = models.language_model("gpt"), set()
    texts = ["the cat sat . " * count for count in range(1, 8)]

    class Watched:
        parameters = rung.model.parameters

        def log_probs(self, tokens: torch.Tensor) -> torch.Tensor:
            shapes.add(tuple(tokens.shape))
            return rung.model.log_probs(tokens)

    for text in texts:
        result = surprisal(Watched(), rung.tokenizer, text)  # type: ignore[arg-type]
        row = torch.tensor([row_of(rung.tokenizer, text).ids])
        alone = -rung.model.log_probs(row)[0, 1:].double() / math.log(2)
        assert [token.bits for token in result.tokens] == pytest.approx(alone.tolist(), abs=1e-4)
    assert shapes == {(1, 16), (1, 32)}


def test_every_character_is_shown_once_whatever_the_tokens(models) -> None:
    rung = models.language_model("kneser_ney")  # of bytes
    for text in ("naïve 猫 😀 cat", "  two  spaces ", "", "\u00a0x"):
        result = surprisal(rung.model, rung.tokenizer, text)
        joined = "".join(token.before + token.text * (not token.text.startswith("\\x")) for token in result.tokens)
        assert joined.removesuffix("<eos>").rstrip() == text.rstrip()
        assert [word.text for word in result.words] == [*text.split(), "<eos>"]
        assert all(0 <= token.word < len(result.words) for token in result.tokens)


def test_a_character_of_several_tokens_is_spelled_once(models) -> None:
    """By the command as well: the first token has the character, the others their bytes."""
    rung = models.language_model("kneser_ney")  # of bytes
    (scored,) = score_sentences(rung, ["the é"])
    spelled = [token["token"] for token in scored["tokens"]]
    assert [token for token in spelled[1:] if token] == ["é", "\\xa9", "<eos>"]


def test_decomposed_syllables_are_shown_whole() -> None:
    tokenizer = train_tokenizer(["한국어 학교"] * 9, TokenizerConfig(vocab_size=300), Normalisation(("NFC",)))
    row = row_of(tokenizer, unicodedata.normalize("NFD", "한국어 학교"))
    assert row == row_of(tokenizer, "한국어 학교") and row.words == ["한국어", "학교", "<eos>"]


def test_an_unknown_word_is_marked(ask) -> None:
    (event,) = ask("/api/surprisal/score", {"texts": ["the <b>quark</b> sat ."], "models": ["gpt"]})
    assert [(text, known) for _, text, _, _, known in event["texts"][0]["tokens"]][1] == ("<b>quark</b>", False)


def test_a_broken_model_is_named_and_the_others_go_on(ask) -> None:
    body = {"texts": ["the cat"], "models": ["broken", "nothing", "svd", "gpt"]}
    events = ask("/api/surprisal/score", body)
    errors = {event["model"]: event.get("error", {}).get("message", "") for event in events}
    assert "broken/config.json" in errors["broken"]
    assert "not served" in errors["nothing"]
    assert "svd" in errors["svd"]
    assert errors["gpt"] == ""


@pytest.mark.parametrize("name", MODELS)
def test_what_was_expected_in_the_place_of_a_token(ask, models, name) -> None:
    rung, text = models.language_model(name), SENTENCES[0]
    scored = surprisal(rung.model, rung.tokenizer, text)
    for position in (0, 4, len(scored.tokens) - 1):
        result = ask("/api/surprisal/next", {"model": name, "text": text, "place": position})
        assert result["bits"] == pytest.approx(scored.tokens[position].bits, abs=1e-3)
        shares = [probability for _, probability in result["likeliest"]]
        assert shares == sorted(shares, reverse=True)
        assert 0 <= result["entropy"] <= math.log2(rung.model.vocab_size)
        assert 1 <= result["rank"] <= rung.model.vocab_size
        whole = guess(rung.model, rung.tokenizer, text, position, most=rung.model.vocab_size)
        entropy = -sum(p * math.log2(p) for _, p in whole.likeliest if p)
        assert result["entropy"] == pytest.approx(entropy, abs=1e-4)
    answer = ask("/api/surprisal/next", {"model": name, "text": text, "place": 500}, 400)
    assert "tokens 0 to" in answer["error"]["message"]


def test_the_truth_of_a_story_is_the_worlds(ask) -> None:
    """A text is the beginning of a story: what a line says is known in the next."""
    lines = ["john is a farmer from paris who likes tea .", "he lives in paris ."]
    result = ask("/api/surprisal/truth", {"texts": ["\n\n".join(lines), f"john sleep .\n{lines[0]}"]})
    assert result["known"]
    inside, other = result["texts"]
    reading = world().read([line.split() for line in lines])
    assert reading is not None
    bits = -math.fsum(p for line in reading.log_probs for p in line) / math.log(2)
    assert sum(word["bits"] for word in inside) == pytest.approx(bits)
    assert [word["text"] for word in inside] == [*lines[0].split(), "<eos>", *lines[1].split(), "<eos>"]
    assert inside[14]["text"] == "paris" and inside[14]["likeliest"] == [["paris", 1.0]]
    assert len(inside[3]["likeliest"]) == 5
    assert [word["bits"] is None for word in other] == [False, *[True] * 14]
    assert [word["entropy"] is None for word in other] == [False, False, *[True] * 13]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"corpus": "microworld", "size": "medium"}, True),
        ({"corpus": "text", "size": "tiny"}, False),
        (None, True),
    ],
)
def test_whether_the_models_learnt_microworld(tmp_path, chosen, expected) -> None:
    """By the report; where there is none yet, by the truth that the corpus brought."""
    truth = tmp_path / "data" / "raw" / "text" / "truth"
    truth.mkdir(parents=True)
    for name in ("agreement.jsonl", "floors.json"):
        (truth / name).touch()
    if chosen:
        (tmp_path / "reports").mkdir()
        (tmp_path / "reports" / "ladder.json").write_text(json.dumps({"chosen": chosen}))
    assert microworld.learnt(tmp_path) is expected
    if not chosen:
        (truth / "floors.json").unlink()
        assert not microworld.learnt(tmp_path)


def test_another_corpus_has_no_truth(tmp_path, checkout) -> None:
    from starlette.testclient import TestClient

    from langladder.faces.explorer.app import create
    from langladder.faces.http.shelf import Shelf

    with TestClient(create(Shelf.below([checkout / "models"], project=tmp_path))) as client:
        assert client.post("/api/surprisal/truth", json={"texts": ["a"]}).json() == {"known": False, "texts": []}
        assert client.post("/api/surprisal/probes", json={}).json() == []


def test_probes_are_offered(ask) -> None:
    assert ask("/api/surprisal/probes", {}) == [{"good": "the cat sleeps .", "bad": "the cat sleep .", "clauses": 0}]
