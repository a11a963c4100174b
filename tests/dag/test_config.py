"""Every choice in conf/ composes, checks and can be built; every bad value is refused with a message that helps."""

import errno
import json
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf
from project_copy import run
from real_data import real

from langladder.evaluation import bleu
from langladder.families import families
from langladder.families.sides import CHOSEN
from langladder.ground.errors import InputError
from langladder.ground.schema import locate
from langladder.tasks.optimisation import TrainingConfig, resolve_precision
from pipeline import ROOT
from pipeline.ladder import every_rung, ladder
from pipeline.settings import checks, compose, params, plan
from pipeline.settings.compose import Compositions, conf_folder, resolve
from pipeline.settings.errors import disk
from pipeline.settings.yaml_files import for_hydra

CONF = sorted(file.relative_to(ROOT / "conf") for file in (ROOT / "conf").rglob("*.yaml"))
BASE = params.load()
INSTRUCTED: dict[str, Any] = {"instructs": {"sft": {"base": "lm/gpt"}}, "corpora": ["instructions"]}
# conf group that neither params.yaml nor a ladder chooses → a job that reads it, and where in its settings
READ_BY = {
    "preferences": ("prefer/sft", "preferences"),
    "evaluation": ("evaluate_lm/gpt", "evaluation"),
    "scenes": ("corpus/scenes", "corpus"),
    "speech": ("corpus/speech", "corpus"),
    "split": ("clean/text", "clean", "split"),
    "training": ("train_lm/gpt", "lm", "training"),
}


@pytest.fixture(autouse=True)
def _hydra():
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        yield


def chosen(**changes: Any) -> params.Choices:
    """The choices of params.yaml with changes; of the ladders only the rungs that are changed, to be quick."""
    ladders: dict[str, Any] = {
        family.listed: {} if family.bases else list(changes.get(name, {})) for name, family in families().items()
    }
    return params.schema().model_validate(BASE.model_dump() | ladders | changes)


@pytest.mark.parametrize("value", ["428365249e139815", "1e5", "0x1f", "12:30:45", "null", "a # b", "12_3"])
def test_text_that_looks_like_a_number_stays_text(value: str, tmp_path: Path) -> None:
    """A fingerprint of sixteen hexadecimal digits may be `428365249e139815`, which OmegaConf reads as infinity."""
    (tmp_path / "job.yaml").write_text(for_hydra({"code": value, "list": [value], "number": 1e-5}))
    assert OmegaConf.load(tmp_path / "job.yaml") == {"code": value, "list": [value], "number": 1e-5}


def problems(**changes: object) -> str:
    with pytest.raises(InputError) as error:
        resolve(chosen(**changes))
    return str(error.value)


@cache
def compositions() -> Compositions:
    return Compositions.prepared(every_rung(BASE))


@pytest.fixture
def every() -> Compositions:
    """Every rung, composed once, when Hydra has been initialised."""
    return compositions()


CHOICES = [file for file in CONF if len(file.parts) == 2 and file.parts[0] != "preset"]
"""A preset is for single runs, see test_hydra.py; here are the choices of params.yaml."""


def of_every_choice(file: Path) -> Any:
    """Rungs are checked at size small, all at once, in the test after this; one choice of each other group is quick."""
    group = file.parts[0]
    first = next(other for other in CHOICES if other.parts[0] == group)
    quick = file == first and group not in families() and group != "ladder"
    return pytest.param(file, id=str(file), marks=[] if quick else [pytest.mark.long])


@pytest.mark.parametrize("file", [of_every_choice(file) for file in CHOICES])
def test_every_choice_composes_and_checks(file: Path, monkeypatch: pytest.MonkeyPatch, every: Compositions) -> None:
    group, name = file.parts[0], file.stem
    if group in families():  # or another that has the same folder
        group = next(
            family for family in families() if families()[family].group == group and name in params.conf_names(family)
        )
        compositions = every
        for stage in (stage for stage in plan.stages().values() if group in stage.keys):
            compositions.job(plan.Job(stage, name))
    elif group == "ladder":
        for path in (yaml.safe_load((ROOT / "conf" / file).read_text()).get("paths") or {}).values():
            real(Path(path).name)
        for size in ("tiny", "small"):
            jobs = resolve(ladder(BASE.model_copy(update={"size": size}), name))
            assert len(jobs) > 20 and "report/report" in jobs
    elif name == params.NONE and group in {side.group for side in CHOSEN}:
        nothing = {family.listed: {} if family.bases else [] for family in families().values()}
        assert "report/report" in resolve(chosen(**nothing | {group: name}))
    elif group in ("labels", "tags", "instructions"):
        compositions = Compositions.prepared(chosen(**{group: name}))
        for reads in ("demonstrate",) if group == "instructions" else ("corpus", "clean"):
            compositions.job(plan.Job(plan.stages()[reads], group))
    elif group in params.GROUPS:
        monkeypatch.setattr("langladder.text.words.segmentation.EXTRAS", {})  # which need not be installed
        monkeypatch.setattr("langladder.text.tokenize.tokenizers.check_morfessor", lambda: None)
        resolve(chosen(**{group: name}))
    elif group in params.LIGHTNING:
        resolve(chosen(**{group: [name] if group in ("callbacks", "logger") else name}))
    else:
        job, *keys = READ_BY[group]
        override = f"+{group}@{'.'.join(keys)}={name}" if group == "training" else f"{group}={name}"
        monkeypatch.setattr(compose, "compose", _with(override))
        readers = {"preferences": INSTRUCTED, "scenes": {"captioners": ["lstm"]}, "speech": {"transcribers": ["ctc"]}}
        values = resolve(chosen(lms=["gpt"], **readers.get(group, {})))[job]
        for key in keys:
            values = values[key]
        stated = yaml.safe_load((ROOT / "conf" / file).read_text())
        for key in ("checkpoint_every", "devices", "nodes", "strategy", "compile", "logger"):
            stated.pop(key, None)  # changes no result: it stands aside
        assert stated.keys() <= values.keys()
        if group not in ("training", "scenes", "speech"):  # values that a rung may change, or that refer to others
            assert {key: values[key] for key in stated} == stated


COMBINED = [
    *[pytest.param(size, "none", marks=pytest.mark.long) for size in params.conf_names("size") if size != "small"],
    pytest.param("tiny", "fast", marks=pytest.mark.long),
]


def test_every_rung_is_sound(every: Compositions) -> None:
    wrong = []
    for family in families():
        for name in every.chosen.rungs(family):
            try:
                every.rung(family, name)
            except InputError as error:
                wrong.append(f"{family}/{name}: {error}")
    assert not wrong


@pytest.mark.parametrize(("size", "debug"), COMBINED)
def test_every_rung_is_sound_at_every_size(size: str, debug: str) -> None:
    test_every_rung_is_sound(Compositions.prepared(every_rung(BASE.model_copy(update={"size": size, "debug": debug}))))


def test_the_warm_up_of_few_steps_is_half_of_them() -> None:
    """And that of the size where there are more: the figures of the default size stay."""
    result = {}
    for size in params.conf_names("size"):
        training = Compositions.prepared(chosen(size=size)).raw("align", "ppo").training
        result[size] = (training.max_steps, training.warmup_steps)
    assert result == {"tiny": (12, 6), "small": (600, 100), "medium": (1800, 200), "base": (6000, 1000)}


def test_debugging_shortens_every_rung_that_is_trained_by_gradient() -> None:
    """Those too whose steps follow `effort`."""
    for debug, most in (("fast", 20), ("overfit", 200), ("profile", 100)):
        result = resolve(
            chosen(debug=debug, lms=["lstm", "gpt"], classifiers=["tree_lstm_n_ary"], encoders=["roberta_mini"])
        )
        parts = {name: job for name, job in result.items() if name.startswith("train_")}
        steps = {
            name: value["training"]["max_steps"]
            for name, job in parts.items()
            for value in job.values()
            if isinstance(value, dict) and "training" in value
        }
        assert {"train_lm/lstm", "train_classifier/tree_lstm_n_ary", "train_encoder/roberta_mini"} <= steps.keys()
        assert max(steps.values()) <= most, debug


def test_how_an_encoder_is_judged_does_not_train_it_again() -> None:
    """It stands aside for the stage that trains, and is among the settings of the one that judges."""
    item, other = (resolve(chosen(encoder={"roberta_mini": {"judged": {"words": words}}})) for words in (7, 9))
    train, judge = "train_encoder/roberta_mini", "evaluate_encoder/roberta_mini"
    assert {key: value for key, value in item[train].items() if key != "aside"} == {
        key: value for key, value in other[train].items() if key != "aside"
    }
    assert item[train]["aside"]["encoder.judged"]["words"] == 7
    assert [result[judge]["encoder"]["judged"]["words"] for result in (item, other)] == [7, 9]


@pytest.mark.long
def test_rungs_composed_together_are_as_each_alone() -> None:
    """With debug=fast, which changes sizes that rungs refer to."""
    those = chosen(debug="fast", lms=["lstm", "gpt"], classifiers=["tree_lstm_n_ary"], claims=["gradient_flow"])
    batch, alone = Compositions.prepared(those), Compositions.prepared(those)
    assert {("lm", "lstm"), ("lm", "gpt"), ("claim", "gradient_flow")} <= batch._raw.keys()
    alone._raw = {}
    for job in plan.jobs(those):
        assert batch.job(job) == alone.job(job)


@pytest.mark.long
def test_a_file_of_debug_may_change_the_rungs_of_a_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As conf/config.yaml says: it may cut any of the above short."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    (tmp_path / "conf" / "debug" / "short.yaml").write_text(
        "# @package _global_\nlm: {training: {max_steps: 300}}\ndebug: {overfit_batches: 0, profiler: null}\n"
    )
    monkeypatch.setattr(params, "ROOT", tmp_path)
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(tmp_path / "conf"), version_base="1.3"):
        result = resolve(chosen(debug="short", lms=["lstm", "gpt"], classifiers=["textcnn"]))
    assert [result[f"train_lm/{name}"]["lm"]["training"]["max_steps"] for name in ("lstm", "gpt")] == [300, 300]
    assert result["train_classifier/textcnn"]["classifier"]["training"]["max_steps"] > 300


@pytest.mark.parametrize(
    ("key", "path", "message"),
    [
        ("text", ".", "the project itself"),
        ("text", "", "the project itself"),
        ("labels", "/", "a folder above it"),
        ("filter", "input/..", "the project itself"),
        ("vectors", "../..", "a folder above it"),
        ("text", "data/raw/text/mine.txt", "move it to input/"),
        ("prompts", "models", "in models/, whose content stages replace"),
        ("tags", "input/loop", "the project itself"),
        ("labels", "input/made", "in data/, whose content stages replace"),
        ("text", "${oc.env:HOME}/text", "references are not supported"),
    ],
)
def test_files_from_outside_are_outside(
    key: str, path: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in an output folder vanishes when DVC makes it anew; the project itself holds its own outputs."""
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "loop").symlink_to("..")
    (tmp_path / "input" / "made").symlink_to("../data/clean")
    monkeypatch.setattr(params, "ROOT", tmp_path)
    paths = BASE.paths.model_dump()
    params.Paths.model_validate(paths | {"vectors": "models/embedding/svd", "text": str(tmp_path.parent / "other")})
    with pytest.raises(ValueError, match=message):
        params.Paths.model_validate(paths | {key: path})


@pytest.mark.parametrize("group", families())
def test_rung_files_are_named_as_their_rungs_and_their_classes_exist(group: str) -> None:
    for name in params.conf_names(group):
        value = yaml.safe_load(params.conf_file(group, name).read_text())
        assert value["name"] == name
        assert ("base" in value) == bool(families()[group].bases)
        assert "_target_" not in value or hasattr(locate(value["_target_"]), "Config")


def test_config_files_are_short() -> None:
    for file in CONF:
        assert (ROOT / "conf" / file).read_text().count("\n") <= 40, file
    assert (ROOT / "params.yaml").read_text().count("\n") <= 120  # in block style, as DVC writes it: a line an item


BAD_VALUES: list[tuple[dict[str, Any], list[str]]] = [
    ({"lm": {"gpt": {"model": {"heads": 5}}}}, ["heads=5", "not divisible", "conf/lm/gpt.yaml"]),
    ({"lm": {"gpt": {"model": {"haeds": 4}}}}, ["lm.model.haeds", "unknown key", "params.yaml"]),
    ({"lm": {"lstm": {"model": {"width": "wide"}}}}, ["lm.model.width", "'wide'", "integer", "conf/lm/lstm.yaml"]),
    ({"lm": {"lstm": {"model": {"width": 0}}}}, ["lm.model.width", "0", "greater than or equal to 1"]),
    ({"lm": {"lstm": {"training": {"lr": -1.0}}}}, ["lm.training.lr", "-1.0", "greater than 0"]),
    ({"lm": {"lstm": {"training": {"schedule": "linear"}}}}, ["lm.training.schedule", "'linear'", "warmup_cosine"]),
    (
        {"lm": {"lstm": {"training": {"warmup_steps": -1}}}},
        ["lm.training.warmup_steps", "greater than or equal to 0"],
    ),
    ({"lm": {"gpt": {"training": {"sequence_length": 4096}}}}, ["sequence_length=4096", "context"]),
    ({"lm": {"kneser_ney": {"model": {"order": 9}}}}, ["lm.model.order", "9", "6"]),
    ({"lm": {"kneser_ney": {"training": {"lr": 0.1}}}}, ["lm.training: unknown key", "conf/lm/kneser_ney.yaml"]),
    ({"lm": {"kneser_ney": {"base": "lm/gpt"}}}, ["lm.base: unknown key", "conf/lm/kneser_ney.yaml"]),
    ({"lm": {"lstm": {"training": None}}}, ["lm.training: missing; add it in conf/lm/lstm.yaml"]),
    (
        {
            "encoders": ["roberta_mini"],
            "classifier_transfers": {"bert_fine_tuned": {"base": "encoder/roberta_mini"}},
            "classifier_transfer": {"bert_fine_tuned": {"input": {"min_count": 2}}},
        },
        ["classifier_transfer.input: unknown key", "bert_fine_tuned.yaml"],
    ),
    (
        {
            "classifier_transfers": {"textcnn_skipgram": {"base": "embedding/skipgram"}},
            "classifier_transfer": {"textcnn_skipgram": {"input": {"vectors": "mine.vec"}}},
        },
        ["classifier_transfer.input", "vectors='mine.vec': the rung starts with its base's vectors"],
    ),
    ({"embedding": {"skipgram": {"model": {"window": 0}}}}, ["embedding.model.window", "0", "1"]),
    ({"lm": {"lstm": {"input": {"vectors": "mine.vec"}}}}, ["lm.input.vectors", "mine.vec", "paths.vectors"]),
    (
        {"embeddings": ["lexicon"], "embedding": {"lexicon": {"model": {"lexicon": "mine.tsv"}}}},
        ["embedding.model.lexicon", "mine.tsv", "paths.lexicon", "input/lexicon"],
    ),
    (
        {
            "embeddings": ["lexicon"],
            "embedding": {
                "lexicon": {
                    "model": {"lexicon": "input/lexicon"},
                    "after": {"steps": [{"step": "hard_debias", "lists": "mine"}]},
                }
            },
        },
        ["embedding.lexicon: model.lexicon='input/lexicon' and lists='mine'", "one path", "microworld"],
    ),
    ({"filter": "everything"}, ["filter: 'everything' is not a choice", "gpt3", "conf/filter/"]),
    ({"precision": "fp16", "lms": ["lstm"]}, ["precision", "fp16", "bf16"]),
    ({"lms": ["gpt_longer"]}, ["lms: 'gpt_longer' is not a choice: it is a rung of tune, listed in tunes", "conf/lm/"]),
    ({"size": "enormous"}, ["size: 'enormous' is not a choice", "base", "conf/size/", "in params.yaml"]),
    (
        {"lms": ["lstm", "lstn"]},
        ["1 problem", "lms: 'lstn' is not a choice: the nearest: lstm", "conf/lm/", "params.yaml"],
    ),
    ({"lms": ["../lm/lstm"]}, ["lms: '../lm/lstm' is not a choice: the nearest: lstm", "conf/lm/"]),
    ({"lms": ["lstm", "gpt", "lstm"]}, ["1 problem", "lms: 'lstm' is listed 2 times"]),
    (
        {"lm": {"lsmt": {"model": {"width": 8}}}, "lms": []},
        ["lm (changes): 'lsmt'", "nearest: lstm", "params.yaml"],
    ),
    ({"lm": {"gpt": {"training": {"batch_size": 10**11}}}}, ["lm.training.batch_size", "less than or equal"]),
    (
        {"lm": {"gpt": {"training": {"max_steps": 10**11}}}},
        ["max_steps=100000000000 is larger than 10,000,000,000"],
    ),
    ({"lm": {"lstm": {"year": 1066}}}, ["lm.year", "unknown key"]),
    (
        {"lm": {"gpt": {"name": "../../input/mine"}}},
        ["lm.name: '../../input/mine'", "'gpt'", "params.yaml: lm.gpt"],
    ),
    ({"lm": {"gpt": {"name": "gru"}}, "lms": ["gpt"]}, ["lm.name: 'gru', but it must be the name of the file"]),
    (
        {"claim": {"copy_task": {"settings": {"delay": [5]}}}},
        ["claim.settings.delay", "unknown key", "src/claims/conf/claim/copy_task.yaml"],
    ),
]


def batches() -> list[list[int]]:
    """`BAD_VALUES` in few compositions: those of different rungs are refused together, the others alone."""
    result: list[list[int]] = []
    rungs: list[set[tuple[str, str]]] = []
    for number, (changes, _) in enumerate(BAD_VALUES):
        own = {(family, rung) for family in changes if family in families() for rung in changes[family]}
        alone = len(own) != 1 or len(changes) != 1
        index = next((i for i, members in enumerate(rungs) if members and not alone and not own & members), len(result))
        if index == len(result):
            result.append([])
            rungs.append(set())
        result[index].append(number)
        rungs[index] |= set() if alone else own
    return result


@cache
def refused_together(numbers: tuple[int, ...]) -> str:
    changes: dict[str, Any] = {}
    for number in numbers:
        for key, value in BAD_VALUES[number][0].items():
            changes[key] = changes[key] | value if len(numbers) > 1 and key in changes else value
    return problems(**changes)


@pytest.mark.parametrize(
    ("numbers", "number"),
    [(tuple(batch), number) for batch in batches() for number in batch],
    ids=lambda value: "-".join(str(part)[:50] for part in BAD_VALUES[value]) if isinstance(value, int) else "",
)
def test_bad_values_are_refused_with_key_value_allowed_and_file(numbers: tuple[int, ...], number: int) -> None:
    message, parts = refused_together(numbers), BAD_VALUES[number][1]
    lines = message.splitlines() if len(numbers) > 1 else [message]
    assert any(all(part in line for part in parts) for line in lines), message


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (["filter.quality.good.path=/far/good"], ["filter.quality.good.path", "/far/good", "paths.filter"]),
        (["filter.quality.good.path=input/filter/../text"], ["input/filter/../text", "paths.filter"]),
        (["filter.quality.alpha=0"], ["filter.quality.alpha", "0", "greater than 0", "conf/filter/"]),
        (["+filter.quality.beta=1"], ["filter.quality.beta", "unknown key", "conf/filter/"]),
    ],
    ids=str,
)
def test_a_filter_reads_what_dvc_watches_and_bad_settings_are_refused(
    changes: list[str], parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "compose", _with(*changes))
    message = problems(filter="gpt3", lms=["kneser_ney"])
    for part in parts:
        assert part in message, message


def test_a_filter_of_several_parts_has_them_all() -> None:
    result = resolve(chosen(filter="gpt3", lms=["kneser_ney"]))["filter/filter"]["filter"]
    assert {"quality", "duplicates", "contamination"} == {part for part, value in result.items() if value}


def test_all_problems_are_reported_at_once() -> None:
    message = problems(
        lm={"gpt": {"model": {"heads": 5}}, "lstm": {"model": {"width": 0, "layers": 9}}},
        embedding={"skipgram": {"model": {"window": 0}}},
    )
    assert message.startswith("4 problems")


def test_the_arithmetic_of_every_job_is_a_setting() -> None:
    """Out of the box fp32 on one thread, on every processor; more threads reach every job that computes."""
    resolved = resolve(BASE)
    trainings = [
        job[key]["training"] for job in resolved.values() for key in families() if "training" in job.get(key, {})
    ]
    assert trainings and {training["precision"] for training in trainings} == {"default"}
    assert resolve_precision(TrainingConfig(precision="default", accelerator="cpu")) == "fp32"
    for name, job in resolved.items():
        kind = name.partition("/")[0]
        assert job.get("threads") == (
            None if kind in ("corpus", "filter", "clean", "tokenize", "vocab", "cooccur", "watch", "report") else 1
        )
    changed = resolve(chosen(threads=2, lms=["kneser_ney"]))
    assert changed["train_lm/kneser_ney"]["threads"] == changed["evaluate_lm/kneser_ney"]["threads"] == 2


def test_what_is_counted_follows_from_the_rungs() -> None:
    """Each counting once, whatever the number of rungs that are made of it; changes in params.yaml included."""

    def countings(**changes: object) -> list[dict[str, object]]:
        job = resolve(chosen(**changes))["cooccur/cooccur"]
        return [dict(counting) for counting in job["countings"] or ()]  # none: the stage is left out

    assert countings(embeddings=["one_hot", "skipgram"]) == []
    flat = {"window": 5, "sides": "symmetric", "weighting": "flat"}
    assert countings(embeddings=["svd", "term_term", "tfidf", "lsa"]) == [{"documents": "lines"}, flat]
    change = {"term_term": {"model": {"cooccurrence": {"window": 3}}}}
    assert countings(embeddings=["svd", "term_term"], embedding=change) == [flat | {"window": 3}, flat]


def test_all_misspelt_names_are_reported_at_once_with_what_else_is_wrong() -> None:
    message = problems(
        size="enormous",
        clean="standart",
        lms=["lstm", "lsmt", "gpt", "gpt"],
        probes=["agrement"],
        embedding={"skipgrm": {}, "skipgram": {"model": {"window": 0}}},
        embeddings=["skipgram"],
    )
    assert message.startswith("7 problems"), message
    for part in ("'enormous'", "nearest: standard", "'lsmt'", "'gpt' is listed 2", "'agrement'", "'skipgrm'", "window"):
        assert part in message


def test_changes_to_a_rung_that_is_not_listed_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Allowed: single runs (`python -m pipeline.train lm lm=gru`) read them."""
    resolve(chosen(lm={"gru": {"model": {"width": 8}}}, lms=[]))
    assert "warning: lm: the settings of 'gru' have no effect" in capsys.readouterr().err


def test_seeds_without_effect_in_folds_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    resolve(chosen(folds=5, seeds=2, lms=[], probes=[], taggers=["hmm"], classifiers=[]))
    assert "warning: seeds: 2 has no effect on taggers, because folds: 5" in capsys.readouterr().err
    for without in ({"folds": 5}, {"seeds": 2}, {"folds": 5, "seeds": 2, "taggers": []}):
        assert not checks.seeds_in_folds(
            chosen(**({"classifiers": [], "classifier_transfers": {}, "taggers": ["hmm"]} | without))
        )


def test_a_vocabulary_below_the_specials_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "compose", _with("tokenizer.vocab_size=3"))
    assert "vocab_size" in problems(lms=["kneser_ney"])


def test_a_bleu_tokenizer_without_its_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "compose", _with("evaluation.bleu_tokenize=ja-mecab"))
    monkeypatch.setattr(bleu, "find_spec", lambda _: None)
    message = problems(translators=["attention"])
    for part in ("evaluation.bleu_tokenize", "ja-mecab", "pip install 'sacrebleu[ja]'", "conf/evaluation"):
        assert part in message
    monkeypatch.setattr(bleu, "find_spec", lambda _: True)
    jobs_of = resolve(chosen(translators=["attention"]))
    assert jobs_of["evaluate_translator/attention"]["evaluation"]["bleu_tokenize"] == "ja-mecab"
    assert jobs_of["train_translator/attention"]["bleu_tokenize"] is None  # nothing to score: nothing to train anew
    by_bleu = {"attention": {"training": {"early_stopping": "bleu"}}}
    jobs_of = resolve(chosen(translators=["attention"], translator=by_bleu))
    assert jobs_of["train_translator/attention"]["bleu_tokenize"] == "ja-mecab"


def _with(*extra):
    return lambda name, overrides: hydra.compose(name, [*overrides, *extra])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("seed: abc", ["seed", "'abc'", "integer", "params.yaml"]),
        ("seed: -1", ["seed", "-1", "params.yaml"]),
        ("sede: 1", ["sede", "unknown key", "params.yaml"]),
        ("lms: lstm", ["lms", "list"]),
        ("seed: [1", ["params.yaml:", "not YAML"]),
        ("seed: 1\nseed: 2", ["1 problem", "seed: occurs twice in", "lines", "remove one"]),
        (
            "lm: {lstm: {model: {width: 1, width: 2}}}\nsede: 3",
            ["2 problems", "lm.lstm.model.width: occurs twice", "sede"],
        ),
        ("lms: []", ["probes", "lms", "empty"]),
        ("seedz: 1", ["seedz: unknown key (value 1); the nearest: seed"]),
        ("memory: 999999999999999999999TB", ["memory", "1MB to 1000TB"]),
        (f"memory: {'9' * 400}TB", ["memory", "1MB to 1000TB"]),
        (f"seed: {'1' * 5000}", ["params.yaml: cannot be read"]),
        ("memory: 0.1MB\nsede: 1", ["2 problems", "memory", "sede"]),
        ("seed: 010", ["1 problem", "params.yaml:", 'YAML reads 010 as 8; write 8, or "010" for a text']),
        ("seed: 1:30", ["1 problem", "YAML reads 1:30 as 90; write 90"]),
        ("lm: {lstm: {model: {width: 0200}}}", ["1 problem", "YAML reads 0200 as 128"]),
        ("lm: {lstm: {model: {dropout: 1:30.5}}}", ["1 problem", "1:30.5 as 90.5"]),
        ("lms: [kneser_ney, on]", ["1 problem", "lms.1: True is not allowed", "without quotes", "put it in quotes"]),
        ("lms: [on]", ["1 problem", "lms.0: True is not allowed", "put it in quotes"]),
        ("size: off", ["1 problem", "size: False is not allowed", "put it in quotes"]),
        ("lm: &a {gpt: *a}", ["params.yaml:", "an alias refers to a value that contains it"]),
        (
            "\n".join(["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{x: *a{n - 1}}}" for n in range(1, 200))]),
            ["params.yaml:", "settings are nested more than 50 levels deep"],
        ),
        (f"lm: {'{a: ' * 3000}1{'}' * 3000}", ["params.yaml:", "more than 50 levels deep"]),
        (f"lm: {'[' * 100_000}", ["params.yaml:", "more than 50 levels deep"]),
        (
            "".join(f"z{i + 1}: &z{i + 1} [{', '.join([f'*z{i}' if i else 'x'] * 9)}]\n" for i in range(9)),
            ["params.yaml: more than 100,000 values"],
        ),
        ("lm: {gpt: {title: '${oc.env:HOME}'}}", ["lm.gpt", "not supported here", "params.yaml"]),
        ("lm: {gpt: {model: {width: '${'}}}", ["lm.gpt", "params.yaml"]),
        ("lm: {gpt: {model: {width: 2020-01-01}}}", ["lm.gpt", "params.yaml"]),
        ("data: {text: {stories: 2020-01-01}}", ["data.text", "params.yaml"]),
        ("trainer: {max_time: 2020-01-01}", ["trainer", "params.yaml"]),
        ("given: {mine: data/raw/text}", ["given.mine", "data/, whose content stages replace"]),
        ("given: {mine: ..}", ["given.mine", "a folder above it"]),
        (f"given: {{mine: {'x' * 5000}}}", ["given.mine", "not a valid path on this system"]),
    ],
)
def test_params_are_checked(text: str, parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = yaml.safe_load((ROOT / "params.yaml").read_text())
    key = text.partition(":")[0]
    rest = yaml.safe_dump({k: v for k, v in values.items() if k != key})
    (tmp_path / "params.yaml").write_text(f"{rest}\n{text}\n")
    monkeypatch.setattr(params, "ROOT", tmp_path)
    with pytest.raises(InputError) as error:
        params.load()
    for part in parts:
        assert part in str(error.value)


def test_mistakes_of_params_and_of_what_it_names_are_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong value of params.yaml does not hide those of names and of rungs."""
    values = chosen(lms=["lsmt", "gpt"], lm={"gpt": {"model": {"heads": 5}}}).model_dump()
    values |= {"memory": "7", "seed": "one", "paths": values["paths"] | {"text": ".."}, "given": {"../x": "."}}
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(values))
    monkeypatch.setattr(params, "ROOT", tmp_path)
    result, wrong = params.load_leniently()
    assert result is not None and len(wrong) == 5, wrong  # of what is given the name and the path
    with pytest.raises(InputError) as error:
        resolve(result, wrong)
    message = str(error.value)
    assert message.startswith("7 problems"), message
    for part in ("memory: '7'", "seed: 'one'", "paths.text", "given.../x", "'lsmt' is not a choice", "heads=5"):
        assert part in message, message


def test_the_plan_is_that_of_dvc() -> None:
    """Stages, jobs and resolved files as dvc.yaml has them, read by DVC itself."""
    planned = {job.file for job in plan.jobs(params.load())}
    script = (
        "import json; from dvc.repo import Repo; graph = Repo('.').index.graph.nodes; print(json.dumps("
        "[[job.addressing for job in graph], [str(dep) for job in graph for dep in job.deps]]))"
    )
    stages, read = json.loads(run(ROOT, sys.executable, "-c", script).splitlines()[-1])
    assert {dep for dep in read if dep.startswith("resolved/")} == {f"resolved/{file}.yaml" for file in planned}
    names = (file.split("/") for file in planned)
    assert {*stages} == {stage if stage == job else f"{stage}@{job}" for stage, job in names} | {"resolve"}
    modules = {stage.module for stage in plan.stages().values()}
    assert modules <= {file.stem for file in (ROOT / "pipeline").glob("*.py")}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"lm": {"gpt": {"model": [1]}}}, ["lm.gpt", "conf/lm/gpt.yaml"]),
        ({"lms": ["x" * 5000]}, ["lms", "is not a choice"]),
    ],
)
def test_what_hydra_cannot_take_is_one_short_line(changes: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(InputError) as error:
        resolve(chosen(**{"lms": ["gpt"]} | changes))
    assert all(part in str(error.value) for part in parts), str(error.value)
    assert max(map(len, str(error.value).splitlines())) < 1000


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_a_disk_that_cannot_be_written_to_is_one_sentence(number: int) -> None:
    with pytest.raises(InputError, match=r"resolved: .*(cannot be written|the disk is full)"), disk():
        raise OSError(number, "", "resolved")
    with pytest.raises(FileNotFoundError), disk():
        raise FileNotFoundError(errno.ENOENT, "", "x")
