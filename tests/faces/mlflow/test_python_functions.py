"""Models as python functions: what MLflow loads answers as the library does, for every kind of model there is."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from mlflow.exceptions import MlflowException
from mlflow.models import Model

import langladder as ll
from langladder.answers.classify import RIGHT_BRANCHING
from langladder.answers.kinds import kind_of_class
from langladder.corpora.scenes import QUESTIONS
from langladder.corpora.speech import ALPHABET
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.fill import fill
from langladder.decoding.translate import translate
from langladder.embeddings.base import WordVectors
from langladder.faces.mlflow import _load_pyfunc
from langladder.faces.mlflow.functions import function_of
from langladder.families import families
from langladder.ground.artefacts import write_json
from langladder.ground.errors import InputError
from langladder.ground.schema import locate
from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.classification.tree_lstm import TreeLSTM
from langladder.models.ctc import CTCConfig, CTCRecognizer
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import read_instructed
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.reading.sliding_window import SlidingWindow
from langladder.models.reward import RewardConfig, RewardModel
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.hmm import HMM
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.translator import Translator
from langladder.models.units import WordUnits
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.labelled import Example, Tagged
from langladder.text.labelled.questions import Question
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from pipeline.settings.params import conf_file, conf_names
from pipeline.tracking.models import write_copy, write_description
from tests.models.spoken import saved_instructed

LINES = ["the old king sleeps .", "the cat sleeps .", "in which country is paris ? france"]
WORDS = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
FACTS = [f"{question}={answer}" for question in QUESTIONS for answer in ("one", "two")]


def gpt(folder: Path) -> list[dict[str, Any]]:
    model = GPT(GPT.Config(context=16, width=8, layers=1, heads=2), WORDS.vocab_size).eval()
    model.save(folder)
    WORDS.save(folder / "tokenizer.json")
    rows = [torch.tensor([[BOS, *WORDS.encode(line).tolist(), EOS]]) for line in LINES]
    with torch.no_grad():
        bits = [-float(model.log_probs(row)[0, 1:].double().sum()) / math.log(2) for row in rows]
    return [{"bits": pytest.approx(b, abs=1e-5), "tokens": row.shape[1] - 1} for b, row in zip(bits, rows, strict=True)]


def n_grams(folder: Path) -> list[dict[str, Any]]:
    ids = np.concatenate([[BOS, *WORDS.encode(line), EOS] for line in LINES]).astype(np.int32)
    model = KneserNey(KneserNey.Config(order=2), WORDS.vocab_size)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    model.save(folder)
    WORDS.save(folder / "tokenizer.json")
    row = torch.tensor([[BOS, *WORDS.encode(LINES[0]).tolist(), EOS]])
    return [{"bits": round(-float(model.log_probs(row)[0, 1:].double().sum()) / math.log(2), 6)}]


def vectors(folder: Path) -> list[dict[str, Any]]:
    WordVectors(["the", "king"], np.array([[1, 0], [1, 1]], dtype=np.float32)).save(folder)
    return [{"vector": [1.0, 0.5], "neighbours": []}, {"vector": [1.0, 0.0], "neighbours": ["king"]}]


def encoder(folder: Path) -> list[dict[str, Any]]:
    model = BERT(BERTConfig(context=12, width=8, layers=1, heads=2), WORDS.full_vocab_size).eval()
    model.save(folder)
    WORDS.save(folder / "tokenizer.json")
    [gap] = fill(model, WORDS, "the <mask> sleeps .", best=2)
    return [{"fillings": [[item.text for item in gap]], "probabilities": [[item.probability for item in gap]]}]


def classifier(folder: Path) -> list[dict[str, Any]]:
    model = LinearClassifier(LinearClassifier.Config(), ["no", "yes"])
    model.fit([Example("good .", label="yes"), Example("bad .", label="no")], [])
    model.save(folder)
    p = np.exp(model.log_probs([Example("good ."), Example("good", "bad .")])).round(6)
    return [{"label": model.labels[row.argmax()], "probabilities": sorted(row.tolist(), reverse=True)} for row in p]


def trees(folder: Path) -> list[dict[str, Any]]:
    units = WordUnits(["not", "boring"])
    model = TreeLSTM(TreeLSTM.Config(width=4, embedding_dim=4), units.full_vocab_size, 2).equip(units, ["no", "yes"])
    model.save(folder)
    [p] = np.exp(model.eval().log_probs([Example("not boring", tree="((not) (boring))")]))
    whole = {"label": model.labels[p.argmax()], "probability": round(float(p.max()), 6)}
    return [whole | {"note": ""}, whole | {"note": RIGHT_BRANCHING}]


def tagger(folder: Path) -> list[dict[str, Any]]:
    model = HMM(HMM.Config(), ["D", "N"])
    sentences = [Tagged(("the", "dog"), ("D", "N"))]
    model.fit(sentences, tag_ids(sentences, model.tags))
    model.save(folder)
    words = ["the", "dog", "the"]
    return [{"words": words, "tags": model.tag([words])[0]}]


def reader(folder: Path) -> list[dict[str, Any]]:
    model = SlidingWindow(SlidingWindow.Config(options=False))
    model.save(folder)
    [[best]] = model.answers([Question("anna ate the apple .", "who ate the apple ?")])
    return [{"answer": "anna", "start": 0, "score": best.score}]


def chooser(folder: Path) -> list[dict[str, Any]]:
    SlidingWindow(SlidingWindow.Config(options=True)).save(folder)
    return [{"answer": "apple", "start": None}]


def translator(folder: Path) -> list[dict[str, Any]]:
    model = AttentionSeq2Seq(
        AttentionSeq2Seq.Config(width=8, embedding_dim=8, attention_width=8), WORDS.vocab_size, WORDS.vocab_size
    )
    model.save(folder)
    for side in ("source", "target"):
        WORDS.save(folder / f"{side}.json")
    source = np.append(WORDS.encode(LINES[0]), EOS)
    [[best]] = translate(Translator.load(folder), [source], BeamConfig(width=3, max_length=6))
    return [
        {"translation": WORDS.decode(best.tokens), "score": round(best.score, 6)},
        {"translation": "", "score": None},
    ]


def instructed(folder: Path) -> list[dict[str, Any]]:
    saved_instructed(folder)
    return [{}]  # what it says is compared below, through the command


def reward(folder: Path) -> list[dict[str, Any]]:
    base, tokenizer = read_instructed(saved_instructed(folder.with_name("base")))
    model = RewardModel(RewardConfig(body=base.config), base.vocab_size).equip(tokenizer).eval()
    model.save(folder)
    return [{"reward": float(model.rewards([(Message("user", "say cat"), Message("assistant", "cat"))])[0])}]


CASES: dict[str, tuple[Callable[[Path], list[dict[str, Any]]], list[dict[str, Any]], dict[str, Any]]] = {
    "gpt": (gpt, [{"text": line} for line in LINES], {}),
    "n_grams": (n_grams, [{"text": LINES[0]}], {}),
    "vectors": (vectors, [{"text": "the king"}, {"text": "the"}], {"neighbours": 1}),
    "encoder": (encoder, [{"text": "the <mask> sleeps ."}], {"best": 2}),
    "classifier": (classifier, [{"text": "good .", "second": None}, {"text": "good", "second": "bad ."}], {}),
    "trees": (trees, [{"text": "((not) (boring))"}, {"text": "not boring"}], {}),
    "tagger": (tagger, [{"text": "the dog the"}], {}),
    "reader": (reader, [{"question": "who ate the apple ?", "context": "anna ate the apple ."}], {}),
    "chooser": (
        chooser,
        [{"question": "what did anna eat ?", "context": "anna ate the apple .", "options": ["apple", "pear"]}],
        {},
    ),
    "translator": (translator, [{"text": LINES[0]}, {"text": " "}], {"width": 3, "max_length": 6}),
    "instructed": (instructed, [{"text": "say cat"}], {"max_tokens": 4}),
    "reward": (reward, [{"text": "say cat", "answer": "cat"}], {}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Any]:
    """The name, the folder, and what the library says."""
    name: str = request.param
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("made") / "models" / "kind" / name
    expected = CASES[name][0](folder)
    write_json(folder / "provenance.json", {"fingerprint": name, "inputs": {}, "settings": {}})
    return name, folder, expected


def test_mlflow_answers_as_the_library_does(case: Any, tmp_path: Path) -> None:
    """Loaded from a copy that nothing of the checkout lies beside; rows come in a data frame, and in its order."""
    name, folder, expected = case
    out = tmp_path / "copy"
    out.mkdir()
    write_description(folder, out, run_id="r", model_id="m-1")
    write_copy(folder, out)
    loaded, (_, rows, params) = mlflow.pyfunc.load_model(str(out)), CASES[name]
    framed = loaded.predict(pd.DataFrame(rows), params=params)
    assert isinstance(framed, pd.DataFrame)
    answers = framed.to_dict("records")
    assert len(answers) == len(rows)
    for answer, wanted in zip(answers, expected, strict=False):
        assert {key: answer[key] for key in wanted} == wanted
    assert [set(answer) for answer in answers] == [set(loaded.metadata.get_output_schema().input_names())] * len(rows)
    assert answers == _load_pyfunc(folder).predict(rows, params)
    json.dumps(answers)  # a server can say it


def test_the_example_is_one_that_the_model_answers(case: Any, tmp_path: Path) -> None:
    name, folder, _ = case
    write_description(folder, tmp_path, run_id="r", model_id="m-1")
    described, kind = Model.load(tmp_path), function_of(folder)
    framed: Any = described.load_input_example(str(tmp_path))  # a data frame
    rows = framed.to_dict("list")
    assert set(rows) <= {column.name for column in kind.inputs}
    assert described.load_input_example_params(str(tmp_path)) == (dict(kind.parameters) or None)
    if name not in ("vectors", "instructed", "encoder"):  # whose few words are not those of the example
        assert len(_load_pyfunc(folder).predict(rows, kind.parameters)) == 1


def test_what_the_signature_does_not_have_is_refused(case: Any, tmp_path: Path) -> None:
    _, folder, _ = case
    write_description(folder, tmp_path, run_id="r", model_id="m-1")
    write_copy(folder, tmp_path)
    loaded = mlflow.pyfunc.load_model(str(tmp_path))
    with pytest.raises(MlflowException, match="schema"):
        loaded.predict(pd.DataFrame({"nonsense": ["a"]}))
    with pytest.raises(InputError, match=r"params: 'nonsense'"):
        _load_pyfunc(folder).predict(CASES[folder.name][1], {"nonsense": 1})


def test_what_the_model_says_to_an_instruction(tmp_path: Path) -> None:
    """As `langladder chat` does, each row a dialogue of its own."""
    from click.testing import CliRunner

    from langladder.faces.cli.main import app

    folder = saved_instructed(tmp_path / "sft")
    result = CliRunner().invoke(
        app, ["chat", str(folder), "--say", "say cat", "--say", "say dog", "--forget", "--max-tokens", "3", "--json"]
    )
    turns = [turn["answers"]["sft"] for turn in json.loads(result.stdout)["turns"]]
    results = _load_pyfunc(folder).predict({"text": ["say cat", "say dog"]}, {"max_tokens": 3})
    assert [row["answer"] for row in results] == turns


def test_columns_rows_single_values_and_data_frames(tmp_path: Path) -> None:
    """Each says the same, through MLflow, which makes one row of a dictionary, and without it."""
    folder, texts = tmp_path / "models" / "kind" / "gpt", ["the cat", "a dog"]
    gpt(folder)
    write_json(folder / "provenance.json", {"fingerprint": "gpt", "inputs": {}, "settings": {}})
    (out := tmp_path / "copy").mkdir()
    write_description(folder, out, run_id="r", model_id="m-1")
    write_copy(folder, out)
    loaded, ours = mlflow.pyfunc.load_model(str(out)), _load_pyfunc(folder)
    expected = ours.predict([{"text": text} for text in texts])
    assert len(expected) == 2 and isinstance(expected, list)
    assert loaded.predict({"text": texts}).to_dict("records") == ours.predict({"text": texts}) == expected
    assert loaded.predict({"text": texts[0]}).to_dict("records") == ours.predict({"text": texts[0]}) == expected[:1]
    frame = ours.predict(pd.DataFrame({"text": texts, "other": [1, 2]}, index=[7, 9]))
    assert frame.to_dict("records") == expected and list(frame.index) == [7, 9]
    assert ours.predict({"text": []}) == [] and list(ours.predict(pd.DataFrame({"text": []})).columns) == list(frame)
    assert frame["bits"].dtype == float


def test_lists_inside_a_row_are_not_read_as_rows(tmp_path: Path) -> None:
    chooser(tmp_path)
    row, model = CASES["chooser"][1][0], _load_pyfunc(tmp_path)
    [best] = model.predict(row)
    assert best["answer"] == "apple" and model.predict([row]) == [best]
    assert model.predict({name: [value] * 2 for name, value in row.items()}) == [best, best]
    framed = model.predict(pd.DataFrame([row]))
    assert framed.to_dict("records") == [best] and framed["start"][0] is None  # not NaN, which is no JSON
    with pytest.raises(InputError, match="row 0: options: 'apple' is not a list"):
        model.predict(row | {"options": "apple"})
    with pytest.raises(InputError, match="row 0: options: 1 is not a text"):
        model.predict(row | {"options": [1, 2]})
    with pytest.raises(InputError, match="columns of different lengths: question has 3, context has 1"):
        model.predict({"question": ["who"] * 3, "context": "anna ate the apple ."})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.Series(["the"]), "a Series is not a table"),
        ([{"words": "a"}], "row 0: text is missing"),
        ([{"text": "the"}, {"text": None}], "row 1: text is missing"),
        ([{"text": "a" * 100_001}], "100,001 characters"),
        ([{"text": "a\ud800"}], "row 0: text: 'a.*has half a character"),
        ("the cat", "a str is not a table"),
    ],
)
def test_what_is_no_row_is_reported(rows: Any, message: str, tmp_path: Path) -> None:
    gpt(tmp_path / "gpt")
    with pytest.raises(InputError, match=message):
        _load_pyfunc(tmp_path / "gpt").predict(rows)
    with pytest.raises(InputError, match="top_k"):
        _load_pyfunc(tmp_path / "gpt").predict([{"text": "the"}], {"top_k": -3})
    with pytest.raises(InputError, match="params: top_k: None is not of type int"):
        _load_pyfunc(tmp_path / "gpt").predict([{"text": "the"}], {"top_k": None})


def test_a_folder_from_outside_is_not_trusted(tmp_path: Path) -> None:
    """Neither to name what lies outside it, nor to be what it says."""
    for model in ("../../etc", "/etc"):
        write_json(tmp_path / "langladder.json", {"model": model, "place": "", "fingerprint": "x"})
        with pytest.raises(InputError, match="outside its folder"):
            _load_pyfunc(tmp_path)
    write_json(tmp_path / "langladder.json", {"model": "models/lm/gpt"})
    with pytest.raises(InputError, match=r"must have the keys model, place and fingerprint"):
        _load_pyfunc(tmp_path)
    (tmp_path / "langladder.json").unlink()
    with pytest.raises(InputError, match="no model; expected a folder such as"):
        _load_pyfunc(tmp_path)
    write_json(tmp_path / "config.json", {"_target_": "os.path.join"})
    with pytest.raises(InputError, match="is not a class of langladder"):
        _load_pyfunc(tmp_path)


def test_a_recogniser_is_used_by_its_class(tmp_path: Path) -> None:
    CTCRecognizer(CTCConfig(width=8), 3, len(ALPHABET)).save(tmp_path / "ctc")
    with pytest.raises(InputError, match="a model of family transcriber, which is used by its class: see its README"):
        _load_pyfunc(tmp_path / "ctc")


UNASKED = {"captioner", "transcriber"}
"""Families whose models are not used in rows."""


def test_every_rung_that_leaves_a_model_has_a_kind() -> None:
    without = []
    for name, family in families().items():
        for rung in conf_names(name) if family.trained else []:
            target = yaml.safe_load(conf_file(name, rung).read_text()).get("_target_")
            if target is None or target.startswith("langladder.embeddings."):
                continue
            kind = kind_of_class(locate(target))
            if kind is None or not families()[kind].function:
                without.append(kind)
    assert {*without} == UNASKED


def test_what_families_name_is_there() -> None:
    for family in families().values():
        assert bool(family.model) == family.trained, family.name
        assert bool(family.function) == (family.trained and family.name not in UNASKED), family.name
        assert all(callable(resolve_name(name)) for name in (family.model, family.function, family.judge) if name)
        assert all(callable(getattr(ll.Model, name)) for name in family.asks)
