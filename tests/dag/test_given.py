"""Networks that were trained elsewhere as bases: what is refused, what is written, what is told of them."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from project_copy import finished_project, forking, ran, run, smallest
from test_bases import refused, resolved

from langladder.formats.model_card import model_card
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.gpt_classifier import GPTClassifier
from langladder.models.encoders.bert import BERT
from langladder.models.language.gpt import GPT
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.models.units import SubwordUnits
from langladder.tasks.fine_tuning import begin
from langladder.text.tokenize.specials import UNK
from langladder.text.tokenize.tokenizers import Tokenizer
from pipeline.take import import_model
from pipeline.tracking import lineage
from tests.formats.test_given_bert import VOCABULARY, folder_of
from tests.formats.test_given_gpt2 import folder_of as gpt2_folder_of


def settings_of(kind: Any) -> Any:
    return SimpleNamespace(name="grown", model=kind.Config())


def test_what_is_given_is_resolved_as_a_job_and_a_base(tmp_path: Path) -> None:
    folder_of(tmp_path / "mine")
    result = resolved(
        given={"mine": str(tmp_path / "mine")},
        classifier_transfers={"bert_fine_tuned": {"base": "given/mine"}},
        tagger_transfers={"bert_tagger": {"base": "given/mine"}},
        reader_transfers={"bert_span": {"base": "given/mine"}},
    )
    assert "transfer_reader/bert_span" in result and "transfer_tagger/bert_tagger" in result
    assert result["take/mine"]["given"] == {"name": "mine", "path": str(tmp_path / "mine")}
    assert len(str(result["take/mine"]["code"])) == 16
    rung: Any = result["transfer_classifier/bert_fine_tuned"]["classifier_transfer"]
    assert rung["base"] == "given/mine"


def test_what_cannot_be_is_refused_before_anything_runs_all_at_once(tmp_path: Path) -> None:
    folder_of(tmp_path / "mine")
    gpt2_folder_of(tmp_path / "gpt")
    message = refused(
        given={"gpt": str(tmp_path / "gpt"), "mine": str(tmp_path / "mine"), "none": "input/none"},
        classifier_transfers={
            "bert_fine_tuned": {"base": "given/gpt"},
            "bert_features": {"base": "given/mine"},
            "bert_weighted_sum": {"base": "given/other"},
            "gpt_fine_tuned": {"base": "given/mine"},
            "textcnn_skipgram": {"base": "given/mine"},
        },
        classifier_transfer={"bert_features": {"model": {"layers_transferred": 9}}},
        tagger_transfers={"bilstm_crf_skipgram": {"base": "given/mine"}},
        tunes={"gpt_longer": {"base": "given/gpt"}},
    )
    for part in (
        "classifier_transfers.bert_fine_tuned.base: 'given/gpt'",
        "it is a GPT, but a BERTClassifier starts from",
        "layers_transferred=9, but its base has 2 layers",
        "'given/other' is not listed in given: gpt, mine, none",
        "given.none: 'input/none' is not a folder",
        "it is a BERT, but a GPTClassifier starts from",
        "a TextCNN starts with word vectors",
        "a RecurrentTagger starts with word vectors",
        "tunes.gpt_longer.base: 'given/gpt': the base of a rung of tune must be one of lm, tune, embedding",
    ):
        assert part in message, message


def test_a_folder_of_another_network_is_refused_with_its_file(tmp_path: Path) -> None:
    folder_of(tmp_path / "mine")
    (tmp_path / "mine" / "config.json").write_text('{"model_type": "t5"}')
    message = refused(
        given={"mine": str(tmp_path / "mine")}, classifier_transfers={"bert_fine_tuned": {"base": "given/mine"}}
    )
    assert "model_type: 't5'" in message and "config.json" in message


def test_a_chain_ends_with_what_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files' hashes, 'not trained here', and the same in the card of what grew from it; twice the same bytes."""
    folder_of(tmp_path / "theirs")
    imported = tmp_path / "models" / "given" / "mine"
    for out in (imported, tmp_path / "again"):
        import_model("mine", tmp_path / "theirs", out)
    for file in sorted(imported.iterdir()):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()
    assert BERT.load(imported).vocab_size == Tokenizer.load(imported / "tokenizer.json").full_vocab_size
    (only,) = lineage.chain(imported)
    assert only["rung"] == "given/mine" and only["title"] == "BERT, given, not trained here"
    assert {*only["inputs"]} == {"config.json", "model.safetensors", "vocab.txt"}
    assert [*lineage.data_behind("given", Path())] == []
    monkeypatch.setattr(lineage, "MODELS", tmp_path / "models")
    rung = {"name": "bert_fine_tuned", "title": "BERT, fine-tuned", "base": "given/mine"}
    about = {"fingerprint": "ab", "inputs": {"labels": "cd"}, "settings": {"classifier_transfer": rung}}
    network, tokenizer = begin(BERTClassifier, settings_of(BERTClassifier), imported, 2, seed=1)
    network.equip(SubwordUnits(tokenizer), ["no", "yes"]).save(tmp_path / "grown")
    (tmp_path / "grown" / "provenance.json").write_text(json.dumps(about | lineage.of_base(rung)))
    weights = only["inputs"]["model.safetensors"]
    card = model_card(tmp_path / "grown")
    assert f"It starts from given/mine (BERT, given, not trained here, `{only['fingerprint']}`, made of" in card
    assert f"model.safetensors `{weights}`" in card
    (tmp_path / "theirs" / "vocab.txt").write_text("\n".join([*VOCABULARY[:-1], "other"]))
    import_model("mine", tmp_path / "theirs", tmp_path / "changed")
    assert lineage.chain(tmp_path / "changed")[0]["fingerprint"] != only["fingerprint"]


def test_a_gpt_and_a_tagger_begin_with_what_was_given(tmp_path: Path) -> None:
    folder_of(tmp_path / "bert")
    gpt2_folder_of(tmp_path / "gpt")
    bert, gpt = tmp_path / "models" / "bert", tmp_path / "models" / "gpt"
    import_model("bert", tmp_path / "bert", bert)
    import_model("gpt", tmp_path / "gpt", gpt)
    classifier, tokenizer = begin(GPTClassifier, settings_of(GPTClassifier), gpt, 2, seed=1)
    tokens = torch.tensor([[2, *tokenizer.encode("the cat").tolist()]])
    with torch.no_grad():
        assert torch.equal(classifier.eval().gpt(tokens)[0], GPT.load(gpt)(tokens)[0])
    tagger, tokenizer = begin(BERTTagger, settings_of(BERTTagger), bert, 3, seed=1)
    words = tagger.equip(tokenizer, ["A", "B", "C"]).encode(["Unbelievable", "cat", "!?", "\x00"])
    assert words.firsts.tolist() == [0, 3, 4, 6] and words.ids[-1] == UNK  # of a word that is cleaned away


@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_edit_of_what_was_given_trains_what_is_fine_tuned_from_it_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with forking(finished_project(tmp_path_factory)) as project:
        edited(project)


def edited(project: Path) -> None:
    folder_of(project / "input" / "encoders" / "mine", context=64)
    smallest(
        project,
        given={"mine": "input/encoders/mine"},
        classifier_transfers={"bert_fine_tuned": {"base": "given/mine"}},
        embeddings=[],
        lms=["kneser_ney"],
        translators=[],
        claims=[],
        probes=[],
    )
    goal = "evaluate_classifier_transfer@bert_fine_tuned"
    done = ran(run(project, "dvc", "repro", goal))
    assert {"take@mine", "transfer_classifier@bert_fine_tuned", goal} <= done
    assert ran(run(project, "dvc", "repro", goal)) == set()
    chain = run(project, "python", "-m", "pipeline.runs", "lineage", "models/classifier_transfer/bert_fine_tuned")
    assert "starts from given/mine  BERT, given, not trained here" in chain and "read model.safetensors" in chain
    folder_of(project / "input" / "encoders" / "mine", context=64, dropout=0.2)
    assert ran(run(project, "dvc", "repro", goal)) == done & {"take@mine", "transfer_classifier@bert_fine_tuned", goal}
    assert yaml.safe_load((project / "params.yaml").read_text())["given"] == {"mine": "input/encoders/mine"}
