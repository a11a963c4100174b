"""Rungs stand in order of history: each file's own year, which trains nothing again."""

from pathlib import Path

import pytest
from hydra import initialize_config_dir

from langladder.families import families
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.settings import params, plan, titles
from pipeline.settings.compose import Compositions, conf_folder
from pipeline.settings.schema import with_unwatched
from pipeline.settings.yaml_files import read_yaml


@pytest.mark.parametrize("group", families())
def test_every_file_says_its_own_year(group: str) -> None:
    years = {name: about.year for name, about in titles.in_order({group: params.conf_names(group)})[group].items()}
    assert list(years.values()) == sorted(years.values())
    assert set(years) == set(params.conf_names(group))


def test_the_oldest_come_first_and_ties_stay_as_listed() -> None:
    listed = {"lm": ["gpt", "witten_bell", "lstm", "katz", "gru_reset_before", "gru"]}
    order = ["katz", "witten_bell", "lstm", "gru_reset_before", "gru", "gpt"]
    assert list(titles.in_order(listed)["lm"]) == order
    assert titles.in_order(listed)["lm"]["katz"].year == 1987


@pytest.mark.parametrize(
    ("line", "wrong"),
    [("", "lm.year: missing"), ("year: 19877", "19877"), ("year: '1987'", "'1987'"), ("year: 1066", "1066")],
)
def test_a_year_that_does_not_exist_is_refused(
    line: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf" / "lm").mkdir(parents=True)
    for name in ("mine", "yours"):
        (tmp_path / "conf" / "lm" / f"{name}.yaml").write_text(f"name: {name}\ntitle: {name}\n{line}\n")
    monkeypatch.setattr(params, "ROOT", tmp_path)
    with pytest.raises(InputError) as error:
        titles.in_order({"lm": ["mine", "yours"]})
    for part in (wrong, "conf/lm/mine.yaml", "conf/lm/yours.yaml", "2 problems"):
        assert part in str(error.value)


def test_year_and_title_are_among_the_reports_settings_alone() -> None:
    """So that mending one runs the report again, and nothing else."""
    chosen = params.load()
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        compositions = Compositions.prepared(chosen)
        for stage in ("train_lm", "evaluate_lm"):
            values = compositions.job(plan.Job(plan.stages()[stage], "lstm"))
            assert not {"year", "title"} & values["lm"].keys() and "progress" not in values["lm"]["training"]
            assert values["aside"]["lm.title"] == "LSTM" and "aside" not in plan.stages()[stage].keys
            assert with_unwatched(values)["lm"]["title"] == "LSTM"
        rung = compositions.job(plan.Job(plan.stages()["report"], "report"))["rungs"]["lm"]["lstm"]
    assert rung["year"] == 2012 and rung["title"] == "LSTM"
    assert rung["module"] == "langladder.models.language.recurrent" and rung["trains"] == []
    assert rung["idea"].startswith("LSTM language model (Hochreiter & Schmidhuber 1997; ")


def test_a_claim_is_about_the_networks_of_its_variants_or_its_bases() -> None:
    def trained(name: str) -> list[str]:
        return titles.trained_by(read_yaml(ROOT / "src" / "claims" / "conf" / "claim" / f"{name}.yaml"))

    assert trained("attention_by_length") == ["seq2seq", "attention"]
    assert trained("gradient_flow") == ["rnn", "rnn_orthogonal", "lstm_open", "lstm", "lstm_closed", "gru"]
    assert trained("weight_tying") == ["lstm", "gpt"] and trained("backprop") == []
    assert titles.module_of("align", {"method": "ppo"}) == "langladder.tasks.policy.ppo"


def test_what_a_rung_is_given_beside_the_data_follows_from_its_settings() -> None:
    """So that no table compares a rung that reads gold trees, say, with others and does not say so."""
    chosen = params.load().model_copy(
        update={
            "embeddings": ["lexicon", "skipgram"],
            "lms": ["kneser_ney", "gpt"],
            "encoders": ["bert_mini"],
            "classifiers": ["logistic", "tree_lstm", "tree_lstm_n_ary", "textcnn"],
            "classifier": {
                "tree_lstm": {"model": {"loss": "root"}},
                "textcnn": {"input": {"vectors": "input/vectors"}},
            },
            "classifier_transfers": {
                name: params.BaseChoice(base=base)
                for name, base in {
                    "bert_fine_tuned": "encoder/bert_mini",
                    "bert_scratch": "encoder/bert_mini",
                    "textcnn_skipgram": "embedding/skipgram",
                }.items()
            },
            "taggers": ["hmm", "feature_crf"],
            "corpora": ["instructions"],
            "instructs": {"sft": params.BaseChoice(base="lm/gpt")},
            "rewards": {"reward": params.BaseAndReads(base="instruct/sft", reads="data/preferences/sft")},
            "aligns": {
                "ppo": params.BaseAndReads(base="instruct/sft", reads="models/reward/reward"),
                "grpo": params.BaseAndReads(base="instruct/sft", reads="data/clean/instructions"),
            },
        }
    )
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        result = titles.titles_of(chosen, Compositions.prepared(chosen).rung)
    optimizers = {name: rung["optimizer"] for name, rung in result["lm"].items()}
    assert optimizers == {"kneser_ney": "", "gpt": "muon"}
    also_given = {
        f"{family}/{name}": rung["also_given"] for family, rungs in result.items() for name, rung in rungs.items()
    }
    assert {name: what for name, what in also_given.items() if what} == {
        "embedding/lexicon": "a lexicon",
        "classifier/tree_lstm": "trees",
        "classifier/tree_lstm_n_ary": "trees, labels of their nodes",
        "classifier/textcnn": "word vectors: input/vectors",
        "classifier_transfer/bert_fine_tuned": "pre-training: BERT",
        "classifier_transfer/textcnn_skipgram": "word vectors: Skip-gram, negative sampling",
        "tagger/feature_crf": "hand-made features",
        "instruct/sft": "pre-training: GPT",
        "reward/reward": "pre-training: GPT, supervised fine-tuning; preferences",
        "align/ppo": "pre-training: GPT, supervised fine-tuning; rewards: Reward model",
        "align/grpo": "pre-training: GPT, supervised fine-tuning; the gold judge",
    }
