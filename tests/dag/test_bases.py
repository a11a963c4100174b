"""Which rung starts from which: what cannot be is refused before anything runs, all at once.

Wrong bases go to the two checks of bases themselves, with the settings of rungs that are composed once. In the other
tests every job is resolved, which calls these checks and those of each rung's settings.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir

from langladder.families import families
from langladder.ground.artefacts import write_json
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.settings import checks, params, titles
from pipeline.settings.compose import Compositions, conf_folder, resolve
from pipeline.tracking import lineage

GPT = {"base": "lm/gpt"}
FEW = {"embeddings": ["skipgram"], "lms": ["kneser_ney", "gpt"], "translators": ["attention"], "probes": []}


def resolved(**changes: object) -> dict[str, dict[str, object]]:
    chosen = params.schema().model_validate(params.load().model_dump() | FEW | {"claims": []} | changes)
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        return resolve(chosen)


def refused(**changes: object) -> str:
    with pytest.raises(InputError) as error:
        resolved(**changes)
    return str(error.value)


@cache
def composed() -> Compositions:
    """The rungs that the tests of wrong bases list, with bases that fit them."""
    listed = {"lms": ["kneser_ney", "gpt", "lstm"], "tunes": {"gpt_longer": GPT, "lstm_skipgram": {"base": "lm/lstm"}}}
    listed |= {"classifier_transfers": {"gpt_fine_tuned": GPT}} | SFT | {"rewards": REWARD, "aligns": {"ppo": PPO}}
    chosen = params.schema().model_validate(params.load().model_dump() | FEW | {"claims": []} | listed)
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        return Compositions.prepared(chosen)


def problems(**changes: object) -> str:
    """What is wrong with the bases of these choices."""
    nothing = FEW | {"claims": [], "classifier_transfers": {}}
    chosen = params.schema().model_validate(params.load().model_dump() | nothing | changes)
    lines = checks.base_problems(chosen) + checks.misfits(checks.known(chosen), composed().rung)
    return "\n".join(lines)


def test_a_chain_is_allowed() -> None:
    """The file says what it is meant to start from; params.yaml, which DVC reads, decides."""
    bases = {"gpt_longer": "lm/gpt", "lstm_skipgram": "embedding/skipgram", "knn_lm": "lm/gpt"}
    changes = {"gpt_longer": {"training": {"lora": {"rank": 4}}}}
    result = resolved(tunes={name: {"base": base} for name, base in bases.items()}, tune=changes)
    tuned, vectors = result["fine_tune/gpt_longer"]["tune"], result["fine_tune/lstm_skipgram"]["tune"]
    assert tuned["base"] == "lm/gpt" and tuned["_maker_"] == "langladder.tasks.language_modelling.make_tuned"  # type: ignore[index]
    assert tuned["training"]["lora"]["rank"] == 4  # type: ignore[index]
    assert vectors["_maker_"] == "langladder.tasks.from_vectors.make_tuned"  # type: ignore[index]
    store = result["fine_tune/knn_lm"]["tune"]  # nothing of it is trained
    assert store["_maker_"] == "langladder.tasks.nearest_neighbours.make_tuned" and "training" not in store  # type: ignore[index,operator]
    assert result["report/report"]["rungs"]["tune"]["gpt_longer"]["base"] == "lm/gpt"  # type: ignore[index]


@pytest.mark.parametrize(
    ("base", "parts"),
    [
        ("lm/gpd", ["tunes.gpt_longer.base: 'lm/gpd' is not listed in lms: kneser_ney, gpt", "params.yaml"]),
        ("lm/lstm", ["'lm/lstm' is not listed in lms"]),
        ("novel/x", ["'novel/x'", "must be one of lm, tune, embedding"]),
        ("translator/attention", ["'translator/attention'", "must be one of lm, tune, embedding"]),
        ("lm/kneser_ney", ["'lm/kneser_ney': a KneserNey is counted", "conf/lm/gpt_longer.yaml"]),
        ("tune/gpt_longer", ["in a cycle", "tune/gpt_longer → tune/gpt_longer"]),
        ("gpt", ["tunes.gpt_longer.base", "'gpt'"]),
    ],
)
def test_a_base_that_is_not_possible_is_refused(base: str, parts: list[str]) -> None:
    if "/" not in base:  # params.yaml itself is not as it should be
        with pytest.raises(ValueError) as error:
            resolved(tunes={"gpt_longer": {"base": base}})
        message = str(error.value)
    else:
        message = problems(tunes={"gpt_longer": {"base": base}})
    for part in parts:
        assert part in message


def test_a_student_runs_after_its_teacher() -> None:
    encoders: dict[str, object] = {"encoders": ["bert_mini"], "classifier_transfers": {}}
    encoders["encoder_transfers"] = {"bert_distilled": {"base": "encoder/bert_mini"}}
    result: dict[str, Any] = resolved(**encoders, tunes={"lstm_distilled": {"base": "lm/gpt"}})
    assert result["fine_tune/lstm_distilled"]["tune"]["_maker_"] == "langladder.tasks.distillation.make_tuned"
    small = result["transfer_encoder/bert_distilled"]["encoder_transfer"]
    assert small["_maker_"] == "langladder.tasks.distillation.make_encoder"
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    for stage in ("fine_tune", "transfer_encoder"):
        assert "models/${item.base}" in stages[stage]["do"]["deps"]
    without = {"bert_distilled": {"training": {"distil": None}}}
    message = refused(**encoders, encoder_transfer=without, tunes={"lstm_distilled": {"base": "lm/kneser_ney"}})
    assert "a KneserNey is counted, and a teacher is a network" in message
    assert "training.distil: missing; such a rung learns from its base" in message


def test_a_base_of_another_architecture_is_refused() -> None:
    message = refused(tunes={"lstm_skipgram": {"base": "lm/gpt"}, "knn_lm": {"base": "lm/kneser_ney"}})
    assert "it is a KneserNey, and no base of a KNNLM" in message
    assert "it is a GPT, but the rung is a RecurrentLM" in message and "conf/lm/lstm_skipgram.yaml" in message


def test_a_base_that_speaks_other_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families()["tune"], "bases", ("lm", "translator"))
    message = refused(tunes={"gpt_longer": {"base": "translator/attention"}})
    assert "has another tokenizer (data/tokens/parallel, not data/tokens/text)" in message


@pytest.mark.parametrize(
    ("base", "model", "parts"),
    [
        ("lm/kneser_ney", {}, ["it is a KneserNey", "a GPTClassifier starts from a GPT of the families lm and tune"]),
        ("embedding/skipgram", {}, ["it is a Word2Vec", "conf/classifier/gpt_fine_tuned.yaml"]),
        ("lm/gpt", {"layers_transferred": 99}, ["layers_transferred=99, but its base has 2 layers"]),
        ("lm/gpt", {"body": {"width": 8}}, ["model.body comes from the base; leave it out"]),
        ("tune/lstm_skipgram", {}, ["it is a RecurrentLM"]),
    ],
)
def test_a_network_that_cannot_be_fine_tuned_is_refused(base: str, model: dict[str, object], parts: list[str]) -> None:
    message = refused(
        classifier_transfers={"gpt_fine_tuned": {"base": base}},
        classifier_transfer={"gpt_fine_tuned": {"model": model}},
        tunes={"lstm_skipgram": {"base": "embedding/skipgram"}},
    )
    for part in parts:
        assert part in message


def test_all_at_once() -> None:
    message = refused(
        tunes={"gpt_longer": {"base": "tune/lstm_skipgram"}, "lstm_skipgram": {"base": "tune/gpt_longer"}},
        lms=["gpt", "gtp"],
        lm={"gpt": {"training": {"lora": {"rank": 4}}}},
        tune={"gpt_longer": {"training": {"lr": -1.0}}},
    )
    for part in ("in a cycle", "'gtp' is not a choice", "tune.training.lr: -1.0", "training.lora: only for rungs that"):
        assert part in message
    assert message.startswith("4 problems")


def test_every_fine_tuned_rung_names_its_base() -> None:
    """The full ladder takes what the files say, and so does a reader."""
    for name, family in families().items():
        for rung in params.conf_names(name) if family.bases else ():
            base, _, wanted = titles.default_base(name, rung).base.partition("/")
            assert base in family.bases and wanted in params.conf_names(base)
    bases = checks.bases(params.load())
    assert bases["classifier_transfer/bert_fine_tuned"] == "encoder/roberta_mini"
    assert bases["classifier_transfer/textcnn_skipgram"] == "embedding/skipgram"


# -- what is read beside the base ----------------------------------------------------------------------------------

SFT = {"instructs": {"sft": {"base": "lm/gpt"}}, "corpora": ["instructions"]}
REWARD = {"reward": {"base": "instruct/sft", "reads": "data/preferences/sft"}}
PPO = {"base": "instruct/sft", "reads": "models/reward/reward"}


def test_a_rung_may_read_something_beside_its_base() -> None:
    aligns = {"ppo": PPO, "dpo": PPO | {"reads": "data/preferences/sft"}}
    aligns["grpo"] = PPO | {"reads": "data/clean/instructions"}
    result: dict[str, Any] = resolved(**SFT, rewards=REWARD, aligns=aligns)
    assert result["train_align/ppo"]["align"]["reads"] == "models/reward/reward"
    assert result["train_align/grpo"]["align"]["reads"] == "data/clean/instructions"  # params.yaml decides
    assert result["train_align/dpo"]["align"]["_maker_"] == "langladder.tasks.policy.training.make"
    assert result["train_reward/reward"]["reward"]["_maker_"] == "langladder.tasks.reward.make"
    assert {"demonstrate/instructions", "prefer/sft", "evaluate_align/ppo"} <= result.keys()
    assert not any(job.startswith(("demonstrate", "prefer")) for job in resolved())


def test_preferences_are_wanted_where_a_rung_reads_them() -> None:
    with_dpo: dict[str, Any] = resolved(**SFT, aligns={"dpo": PPO | {"reads": "data/preferences/sft"}})
    assert with_dpo["prefer/sft"]["wanted"] is True
    assert resolved(**SFT)["prefer/sft"]["wanted"] is False


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"aligns": {"ppo": PPO}}, ["aligns.ppo.reads", "'reward' is not listed in rewards"]),
        (
            {"aligns": {"ppo": PPO | {"reads": "models/lm/gpt"}}},
            ["must read one of models/reward/…, data/preferences/…"],
        ),
        ({"aligns": {"ppo": PPO | {"reads": "models/reward"}}}, ["'models/reward': a rung of align must read one of"]),
        ({"rewards": {"reward": {"base": "lm/gpt", "reads": "data/preferences/sft"}}}, ["must be one of instruct"]),
        ({"instructs": {"sft": {"base": "lm/lstm"}}, "lms": ["lstm"]}, ["it is a RecurrentLM", "starts from a GPT"]),
    ],
)
def test_what_cannot_be_read_is_refused(changes: dict[str, object], parts: list[str]) -> None:
    message = problems(**(SFT | changes))
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"tunes": {"gpt_longer": {"base": "embedding/skipgram"}}, "corpora": []},
            ["word vectors are not a network", "_target_"],
        ),
        (
            SFT | {"aligns": {"dpo": PPO, "ppo": PPO | {"reads": "data/preferences/sft"}}, "rewards": REWARD},
            ["dpo needs input such as data/preferences/sft", "ppo needs input such as models/reward/reward"],
        ),
    ],
)
def test_settings_that_do_not_fit_what_a_rung_starts_from_are_refused(
    changes: dict[str, object], parts: list[str]
) -> None:
    """By the rung's own settings, which know what it starts from and reads."""
    message = refused(**changes)
    for part in parts:
        assert part in message


def test_instructions_that_nobody_makes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"need data/clean/instructions, which is not made; set corpora: \[instr"):
        resolved(**(SFT | {"corpora": []}))


def test_what_was_read_beside_the_base_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "MODELS", tmp_path)
    for family, name, more in (("instruct", "sft", []), ("reward", "reward", [{"rung": "instruct/sft"}])):
        about = {"fingerprint": name, "inputs": {}, "settings": {family: {"title": name}}, "lineage": more}
        write_json(tmp_path / family / name / "provenance.json", about)
    rung = {"base": "instruct/sft", "reads": str(tmp_path / "reward" / "reward")}
    result = lineage.of_base(rung)
    assert [item["rung"] for item in result["lineage"]] == ["instruct/sft"]
    assert [item["rung"] for item in result["beside"]] == ["reward/reward", "instruct/sft"]
    assert lineage.of_base(rung | {"reads": "data/preferences/sft"}).keys() == {"lineage"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "not the provenance that a stage writes (wrong or missing: the whole)"),
        ('{"settings": {"lm": {"name": "x"}}}', "wrong or missing: fingerprint, inputs"),
        ('{"fingerprint": "ab", "inputs": {}, "settings": {}}', "belongs to no family; families: lm, tune"),
    ],
)
def test_a_strangers_provenance_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "provenance.json").write_text(text)
    with pytest.raises(InputError) as error:
        lineage.chain(tmp_path)
    assert message in str(error.value) and str(tmp_path) in str(error.value)


def test_a_translator_goes_on_from_another() -> None:
    chosen: dict[str, object] = {"translators": ["attention", "transformer"]}
    names = ("attention_longer", "attention_risk")
    chosen["translator_transfers"] = {name: {"base": "translator/attention"} for name in names}
    result: dict[str, Any] = resolved(**chosen)
    longer, risk = (result[f"transfer_translator/{name}"]["translator_transfer"] for name in names)
    assert longer["_maker_"] == "langladder.tasks.translation.make" and longer["training"].get("reward") is None
    assert risk["_maker_"] == "langladder.tasks.translation_reward.make" and "model" not in risk
    same = {key: value for key, value in risk["training"].items() if key != "reward"}
    assert same == {key: value for key, value in longer["training"].items() if key != "reward"}  # compared fairly
    guided = {"attention_longer": {"training": {"guided_attention": {"weight": 1.0}}}}
    resolved(**chosen, translator_transfer=guided)
    chosen["translator_transfers"] = {"attention_longer": {"base": "translator/transformer"}}
    message = refused(**chosen, translator_transfer=guided)
    assert "a Transformer does not have one attention to its source" in message
