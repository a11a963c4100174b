"""`ll.train`: one's own data become a model in one call, as the stages would make it; errors are a line."""

import doctest
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import langladder as ll
from langladder.answers.unknown import lexicon_of
from langladder.faces.python import training
from langladder.ground.artefacts import read_arrays
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from pipeline.document import RUNGS, rungs_text

NOUNS = ("king", "queen", "dog", "cat", "man", "boy")
TEXT = [
    f"{first} {item} {does} {then} {other} ."
    for first, then in itertools.product(("the", "a"), repeat=2)
    for does in ("sees", "hears", "loves")
    for item, other in itertools.product(NOUNS, repeat=2)
]
SMALL = {"model.width": 8, "model.embedding_dim": 8}


def test_the_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(training, extraglobs={"ll": ll})
    assert not result.failed and result.attempted > 5


@pytest.mark.long
def test_the_rungs_of_the_wheel_are_those_of_conf() -> None:
    assert RUNGS.read_text(encoding="utf-8") == rungs_text(), "run `python -m pipeline.document rungs`"


def test_a_file_and_its_lines_make_the_same_model(tmp_path: Path) -> None:
    """And the stages' own functions were used: a model fitted by hand on the text that they chose is the same."""
    (tmp_path / "mine.txt").write_text("".join(f"{line}\n" for line in TEXT), encoding="utf-8")
    folder = tmp_path / "models" / "lm" / "kneser_ney"
    split = {"clean.split.validation": 0.1, "tokenizer.kind": "word", "tokenizer.vocab_size": None}
    of_file = ll.train("kneser_ney", text=tmp_path / "mine.txt", data=split, folder=folder)
    of_lines = ll.train("kneser_ney", text=TEXT, data=split)
    weights = [read_arrays(item.folder / "model.safetensors") for item in (of_file, of_lines)]
    assert weights[0].keys() == weights[1].keys() and all((weights[0][k] == weights[1][k]).all() for k in weights[0])
    assert of_file.folder == folder and ll.load(folder).score(TEXT[0]) == of_lines.score(TEXT[0])
    assert float(str(of_file.figures["validation_perplexity_per_word"])) > 1 and of_file.curve == []
    ids = np.concatenate([[BOS, *of_file.tokenizer.encode(line), EOS] for line in TEXT]).astype(np.int32)
    whole = KneserNey(of_file.network.config, of_file.network.vocab_size)
    whole.fit(TokenStream(ids, np.array([0, len(ids)])))
    held_out = [line for line in TEXT if of_file.score(line).bits > ll_bits(whole, of_file, line)]
    assert 0 < len(held_out) < len(TEXT)  # validation and test lines were not counted


def ll_bits(model: KneserNey, of: Any, line: str) -> float:
    import torch

    row = torch.tensor([[BOS, *of.tokenizer.encode(line).tolist(), EOS]])
    return -float(model.log_probs(row)[0, 1:].double().sum()) / np.log(2)


def test_steps_and_settings_are_followed_and_seeds_decide() -> None:
    def trained(**more: Any) -> Any:
        return ll.train("lstm", text=TEXT, steps=6, settings=SMALL | {"training.log_every": 2}, **more)

    first, again, other = trained(), trained(), trained(seed=2)
    assert first.curve[-1]["step"] == 6 and first.network.config.width == 8
    bits = [item.score(TEXT[0]).bits for item in (first, again, other)]
    assert bits[0] == bits[1] != bits[2]
    assert first.generate("the king", max_tokens=3).text.startswith("the king")


def test_steps_take_the_place_of_epochs() -> None:
    texts = [(line, "high" if "king" in line else "low") for line in TEXT]
    large = {"training.batch_size": 512, "training.log_every": 1}  # one step an epoch
    model = ll.train("textcnn", labels=texts, steps=15, settings=large)
    assert model.curve[-1]["step"] == 15
    fewer = ll.train("textcnn", labels=texts, steps=15, settings=large | {"training.epochs": 3})
    assert fewer.curve[-1]["step"] == 3


def test_other_families_are_trained_too(tmp_path: Path) -> None:
    vectors = ll.train("skipgram", text=TEXT, settings={"model.dim": 4})
    assert vectors.embed("king").vector.shape == (4,) and len(vectors.neighbours("king", count=2).words) == 2
    counted = ll.train("svd", text=TEXT, settings={"model.dim": 3}, data={"words.min_count": 1})
    assert counted.embed("king").vector.shape == (3,)
    (tmp_path / "labels.csv").write_text(
        "review,stars\n" + "".join(f"{line},{'high' if 'king' in line else 'low'}\n" for line in TEXT)
    )
    columns = {"source.text": "review", "source.label": "stars"}
    labelled = ll.train("naive_bayes", labels=tmp_path / "labels.csv", data=columns)
    assert labelled.classify("a king sees a king .").label == "high" and labelled.figures["labels"] == 2
    sentences = [list(zip(line.split(), ("D", "N", "V", "D", "N", "P"), strict=True)) for line in TEXT]
    assert ll.train("hmm", tags=sentences).tag("a cat hears the boy .").tags == ["D", "N", "V", "D", "N", "P"]
    network = ll.train("lstm", tags=sentences, steps=2, settings=SMALL)
    assert network.kind == "tagger" and set(network.tag("the cat").tags) <= {"D", "N", "V", "P"}


@pytest.mark.long
def test_rungs_that_grow_from_models_of_ones_own(tmp_path: Path) -> None:
    """An encoder and what is made of it: a classifier, a tagger, a reader; and word vectors, given as a folder."""
    tiny: dict[str, Any] = {"size": "tiny", "steps": 2}
    bert = ll.train("roberta_mini", text=TEXT, **tiny)
    assert len(bert.fill("the <mask> sees a dog .", best=3).gaps[0]) == 3
    texts = [(line, "yes" if "king" in line else "no") for line in TEXT]
    fine_tuned = ll.train("bert_fine_tuned", labels=texts, base=bert, folder=tmp_path / "fine", **tiny)
    assert fine_tuned.network.config.body == bert.network.config and ll.load(tmp_path / "fine").kind == "classifier"
    started = ll.train("bert_fine_tuned", labels=texts, base=bert.folder, seed=1, **tiny)
    assert started.classify(TEXT[0]).labels == fine_tuned.classify(TEXT[0]).labels
    fresh = ll.train("bert_scratch", labels=texts, base=bert, **tiny)
    assert fresh.classify(TEXT[0]).labels != fine_tuned.classify(TEXT[0]).labels
    sentences = [list(zip(line.split(), ("D", "N", "V", "D", "N", "P"), strict=True)) for line in TEXT]
    assert len(ll.train("bert_tagger", tags=sentences, base=bert, **tiny).tag("the king sees").tags) == 3
    questions = [(line, "who ?", line.split()[1]) for line in TEXT]
    assert ll.train("bert_span", questions=questions, base=bert, **tiny).kind == "reader"
    vectors = ll.train("skipgram", text=TEXT, size="tiny", data={"words.min_count": 1}, folder=tmp_path / "vectors")
    assert vectors.embed("king").vector.shape == (32,)
    begun = ll.train("textcnn_skipgram", labels=texts, base=tmp_path / "vectors", **tiny)
    assert begun.network.config.embedding_dim == 32
    for rung, base, why in (
        (
            "bert_fine_tuned",
            ll.train("add_k", text=TEXT),
            "AddK, not a Network; give a model, or its folder, of: embedding, lm",
        ),
        ("gpt_fine_tuned", bert, "it is a BERT, but a GPTClassifier starts from a GPT"),
    ):
        with pytest.raises(ll.InputError, match=rf"classifier_transfer\.{rung}: base: .*{why}"):
            ll.train(rung, labels=texts, base=base)


def test_translators_of_files_and_pairs_are_the_same(tmp_path: Path) -> None:
    pairs = [(line, " ".join(reversed(line.split()))) for line in TEXT]
    (tmp_path / "pairs.tsv").write_text("".join(f"{item}\t{other}\n" for item, other in pairs))
    results = [ll.train("attention", pairs=source, size="tiny", steps=3) for source in (pairs, tmp_path / "pairs.tsv")]
    assert results[0].translate(TEXT[0], max_length=6) == results[1].translate(TEXT[0], max_length=6)
    assert results[0].tokenizer.vocab_size <= 600 and results[0].network.config.width == 64
    with pytest.raises(ll.InputError, match=r"translator\.attention: base: attention starts from no other model"):
        ll.train("attention", pairs=pairs, base=results[0])


def test_sizes_are_those_of_conf() -> None:
    """As Hydra composes them for the user's own text; of small they are what stands in the file."""
    from hydra import initialize_config_dir

    from pipeline.settings import params
    from pipeline.settings.compose import Compositions, conf_folder

    listed = {"lm": ["gpt"], "classifier": ["tree_lstm_n_ary"], "tagger": ["bilstm_crf"]}
    names: dict[str, Any] = {"lms": listed["lm"], "classifiers": listed["classifier"], "taggers": listed["tagger"]}
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        wanted = Compositions.prepared(params.usual(names | {"size": "tiny", "corpus": "text"}))
        for family, (name,) in listed.items():
            assert training.sized(family, name, "tiny") == wanted.rung(family, name), name
            assert (
                training.sized(family, name, "small") == training.defaults()[family][name] != wanted.rung(family, name)
            )


def test_texts_with_several_labels() -> None:
    texts = [(line, [noun for noun in ("king", "dog") if noun in line]) for line in TEXT]
    model = ll.train("logistic", labels=texts)
    result = model.classify(["the king sees a dog .", "a cat hears the boy ."])
    assert [item.given for item in result] == [["dog", "king"], []]
    assert result.to_frame()["label"].tolist() == ["dog, king", "(none)"] and set(result[0].labels) == {"dog", "king"}
    (row,) = model.predict([{"text": "the dog loves the dog ."}])
    assert (row["label"], row["labels"][0]) == ("dog", "dog") and row["probability"] < row["probabilities"][0]
    for rung, why in (("fasttext", "gives each text one label"), ("tree_lstm", "each node of a tree")):
        with pytest.raises(ll.InputError, match=rf"classifier\.{rung}: .*{why}.*remove {rung} from classifiers"):
            ll.train(rung, labels=texts)
    with pytest.raises(ll.InputError, match="needs a list in every row"):
        ll.train("logistic", labels=[*texts, ("a king", "king")])


def test_what_was_trained_is_saved_where_nothing_lies(tmp_path: Path) -> None:
    model = ll.train("add_k", text=TEXT)
    model.save(tmp_path / "kept")
    assert json.loads((tmp_path / "kept" / "config.json").read_text())["_target_"].endswith("AddK")
    with pytest.raises(ll.InputError, match="kept"):
        model.save(tmp_path / "kept")
    with pytest.raises(ll.InputError, match="kept"):
        ll.train("add_k", text="nowhere.txt", folder=tmp_path / "kept")  # before anything is read or trained
    lay = model.folder
    del model
    assert not lay.exists()  # it lay in a temporary folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rung": "lstm"}, "no data given; give one of text, pairs, labels, tags"),
        ({"rung": "lstm", "text": TEXT, "tags": []}, "text and tags given; give one of"),
        ({"rung": "lstn", "text": TEXT}, "'lstn' is not a rung that is trained on text; rungs: .*kneser_ney.*skipgram"),
        ({"rung": "hmm", "text": TEXT}, "'hmm' is not a rung that is trained on text"),
        ({"rung": "kneser_ney", "text": TEXT, "steps": 3}, "steps: 3, but kneser_ney is not trained by steps"),
        ({"rung": "lstm", "text": TEXT, "steps": 0}, r"lm\.lstm: training\.max_steps: 0 is not allowed"),
        ({"rung": "lstm", "text": TEXT, "settings": {"model.widht": 3}}, r"lm\.lstm: model\.widht: 3 is not allowed"),
        ({"rung": "lstm", "text": TEXT, "settings": {"name.of": 3}}, "name.of: name is not a group of settings"),
        ({"rung": "lstm", "text": TEXT, "data": {"tokens.kind": "word"}}, "'tokens' is not one of source, clean"),
        ({"rung": "lstm", "text": "nowhere.txt"}, "'nowhere.txt' does not exist"),
        ({"rung": "logistic", "labels": ["good", "bad"]}, r"neither a path nor \(text, label\) pairs"),
        ({"rung": "textcnn", "labels": [("a", "b")], "settings": {"input.units": "subwords"}}, "needs the tokenizer"),
        ({"rung": "lstm", "text": TEXT, "size": "huge"}, "size: 'huge' is not allowed; sizes: base, medium, small"),
        ({"rung": "seq2seq", "pairs": ["a", "b"]}, r"neither a path nor \(source, target\) pairs"),
        ({"rung": "lstm", "pairs": [("a", "b")]}, "'lstm' is not a rung that is trained on pairs; rungs: attention,"),
        (
            {"rung": "bert_fine_tuned", "labels": [("a", "b")]},
            r"base: missing; give a model.*: embedding, lm, tune, enc",
        ),
        ({"rung": "bert_tagger", "tags": [[("a", "b")]], "base": "nowhere"}, "nowhere: no such folder; give a model"),
        (
            {"rung": "textcnn", "labels": [("a", "b")], "base": "."},
            "starts from no other model.* choose from .*skipgram",
        ),
        (
            {"rung": "sliding_window", "questions": [("a b", "what?", "c")]},
            "'what\\?': the paragraph does not contain .*'c'",
        ),
        (
            {"rung": "sliding_window", "questions": [("a", "b")]},
            r"neither a path nor \(paragraph, question, answer\) tr",
        ),
    ],
)
def test_what_is_wrong_is_reported_in_a_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ll.InputError, match=message):
        ll.train(**arguments)


TURKISH = [
    (f"{text} {number}", label)
    for number in range(10)
    for text, label in (("ILGAZ IŞIK", "place"), ("ılgaz ışık", "place"), ("İZMİR BİZ", "city"), ("izmir biz", "city"))
]


@pytest.mark.parametrize("rung", ["logistic", "fasttext", "textcnn", "window"])
def test_a_model_lower_cases_as_its_language_does(rung: str) -> None:
    """A classifier or a tagger with `lowercase: true` of its own; a text in English keeps the form of its files."""
    steps: dict[str, Any] = {"steps": 2} if rung in ("textcnn", "window") else {}
    data: dict[str, Any] = {"labels": TURKISH}
    if rung == "window":
        data = {"tags": [[(word, label) for word in text.split()] for text, label in TURKISH]}

    def saved(model: Any) -> dict[str, Any]:
        described: dict[str, Any] = json.loads((model.folder / "reading.json").read_text(encoding="utf-8"))
        return described if rung == "window" else described["units"]

    model = ll.train(rung, **data, **steps, data={"clean.language": "tr"})
    assert saved(model)["lowercase"] == "tr" and "ilgaz" not in saved(model)["words"]
    for capital, small in (("ILGAZ", "ılgaz"), ("İZMİR", "izmir")):
        assert lexicon_of(model.folder).folded(capital) == small
        if rung != "window":  # a tagger reads letters, too
            assert model.classify(capital).labels == model.classify(small).labels
    for language in (None, "de"):
        assert saved(ll.train(rung, **data, **steps, data={"clean.language": language}))["lowercase"] is True
