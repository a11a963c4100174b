"""What a job reads is in its fingerprint by content: the same path with other content is another job."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir
from test_bad_input import run_stage

from langladder.families import families
from langladder.families.sides import SIDES
from langladder.ground import artefacts
from pipeline import ROOT
from pipeline.ladder import every_rung
from pipeline.settings import needed, params, plan
from pipeline.settings.compose import Compositions, conf_folder
from pipeline.tracking import job
from pipeline.tracking.code_version import family_code, files_of, modules_of
from pipeline.tracking.fingerprint import digest, fingerprint

RUNGS = {name: family.default for name, family in families().items()} | {"embedding": "lexicon"}
STAGES = {stage.name: stage.family for stage in plan.stages().values() if stage.family}
QUICK = ("embed", "train_lm", "transfer_classifier", "evaluate_classifier", "claim")
"""Stages of each kind; all others are tested by `make test-long`."""
SETTINGS = {f"langladder.tasks.{name}" for name in ("settings", "optimisation", "extensions")}
DAG = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]


@cache
def every() -> Compositions:
    """Every rung of conf/, composed once for all tests here."""
    return Compositions.prepared(every_rung(params.load()))


class Opened(BaseException):
    """Raised in place of the work, with the job's settings and the inputs that it was to be known by."""


def opened(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *overrides: str
) -> tuple[dict[str, Any], dict[str, Path]]:
    """The settings of a stage's job, and the inputs that it hashes."""

    def known_by(_: str, settings: dict[str, Any], inputs: dict[str, Path]) -> str:
        raise Opened(settings, inputs)

    monkeypatch.setattr(needed, "check_data", lambda _: None)  # whatever the last `make repro` here has left out
    monkeypatch.setattr(job, "digest", Path)
    monkeypatch.setattr(job, "fingerprint", known_by)
    monkeypatch.setattr(artefacts, "read_json", lambda _: {"settings": {"lm": {"title": "T"}}}, raising=False)
    with pytest.raises(Opened) as error:
        run_stage(stage, tmp_path, monkeypatch, f"{STAGES[stage]}={RUNGS[STAGES[stage]]}", *overrides)
    settings, inputs = error.value.args
    return settings, inputs


def dependencies(stage: str, settings: dict[str, Any], paths: dict[str, str]) -> list[Path]:
    """What dvc.yaml says that the stage reads, settings aside; for the file of `watch`, what is noted in it."""
    family = STAGES[stage]
    resolved, *paths_read = DAG[stage].get("do", DAG[stage])["deps"]
    assert resolved.startswith(f"resolved/{stage}/")
    names = {f"item.{key}": str(settings[family].get(key)) for key in ("base", "reads")}
    names |= {"item.rung": RUNGS[family], "item.claim": RUNGS[family]}
    names |= {"key": RUNGS[family], "prompted": params.load().prompted} | {
        f"paths.{key}": value for key, value in paths.items()
    }
    for name, value in names.items():
        paths_read = [dependency.replace(f"${{{name}}}", value) for dependency in paths_read]
    if noted := f"data/watched/{family}/{RUNGS[family]}.json" in paths_read:
        paths_read.remove(f"data/watched/{family}/{RUNGS[family]}.json")
        paths_read += families()[family].inputs(settings[family]).values()
    assert noted == (family in DAG["watch"]["foreach"] and not stage.startswith("evaluate"))
    return [Path(dependency) for dependency in paths_read]


@pytest.mark.parametrize(
    "stage", [pytest.param(stage, marks=[] if stage in QUICK else pytest.mark.long) for stage in STAGES]
)
def test_what_dvc_watches_is_what_is_hashed(stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dependency, or a part of it, is hashed; nothing is hashed that DVC does not watch."""
    own = {"vectors": str(tmp_path / "mine.vec"), "lexicon": str(tmp_path / "mine.tsv")}
    overrides = [f"paths.{key}='{path}'" for key, path in own.items()]
    overrides += [f"+lm.input.vectors='{own['vectors']}'"] if stage == "train_lm" else []
    overrides += [f"embedding.model.lexicon='{own['lexicon']}'"] if stage == "embed" else []
    settings, inputs = opened(stage, tmp_path, monkeypatch, *overrides)
    hashed = list(inputs.values())
    watched = dependencies(stage, settings, params.load().paths.model_dump() | own)
    for path in watched:
        assert any(other == path or path in other.parents for other in hashed), f"{path} is not hashed: {hashed}"
    for path in hashed:
        assert any(other == path or other in path.parents for other in watched), f"{path} is not watched: {watched}"
    if stage in ("embed", "train_lm"):
        assert set(map(Path, own.values())) & set(hashed)


@pytest.mark.long
@pytest.mark.parametrize("family", [family for family in families() if family in DAG["watch"]["foreach"]])
def test_what_a_rung_reads_of_its_own_is_what_watch_depends_on(family: str) -> None:
    paths = {f"${{paths.{name}}}": path for name, path in params.load().paths.model_dump().items()}
    watched = [Path(paths.get(path, path)) for path in DAG["watch"]["foreach"][family]]
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        for name in params.conf_names(family):
            for path in families()[family].inputs(every().rung(family, name)).values():
                assert any(other == Path(path) or other in Path(path).parents for other in watched), (name, path)


@pytest.mark.parametrize("stage", ["embed", "train_lm"])
def test_files_that_a_rung_does_not_use_are_not_hashed(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not {"vectors", "lexicon"} & set(opened(stage, tmp_path, monkeypatch)[1])


def test_other_content_at_the_same_path_is_another_job(tmp_path: Path) -> None:
    names = []
    for content in ("king 1 2\n", "king 2 1\n", "king 1 2\n"):
        (tmp_path / "mine.vec").write_text(content)
        names.append(fingerprint("train_lm", {}, {"vectors": digest(tmp_path / "mine.vec")}))
    assert names[0] == names[2] != names[1]


def test_the_report_depends_on_all_that_shows_a_family() -> None:
    """Whose modules are named, not imported; what makes rungs does not."""
    report_modules = {family.report_module for family in families().values() if family.report_module}
    assert report_modules <= modules_of("report", {}) and "langladder.families.lm" in modules_of("report", {})
    assert not {module for module in modules_of("train_lm", {}) if module.startswith("langladder.families")}


@pytest.mark.long
def test_a_language_model_depends_on_no_format_of_vectors_and_a_count_on_no_training() -> None:
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        for family, stage in (("lm", "train_lm"), ("embedding", "embed")):
            for name in params.conf_names(family):
                value = every().rung(family, name)
                value["_maker_"] = families()[family].maker(value)
                modules = modules_of(stage, {family: value})
                if family == "lm":
                    assert not {module for module in modules if module.endswith(("vector_formats", "vector_files"))}
                if "training" not in value:
                    assert not {module for module in modules if module.startswith("langladder.tasks.")} - SETTINGS, name


def test_a_corpus_depends_on_what_makes_it_alone() -> None:
    """Mending the reader of files draws no text anew, nor the sound of a letter the text."""
    sources = {(side.name, kind): source for side in SIDES.values() for kind, source in side.sources.items()}
    modules_of_sources = {
        key: modules_of("corpus", {"corpus": {"_maker_": source.function}}) for key, source in sources.items()
    }
    for (side, kind), modules in modules_of_sources.items():
        reads = side in ("questions", "instructions")  # their rows stand in one module with those who read files
        drawn = kind in ("microworld", "stories")
        assert not drawn or reads or "langladder.text.read.files" not in modules, side
        assert ("microworld.engine" in modules) == drawn
        assert ("langladder.corpora.speech" in modules) == (side == "speech")
        assert ("langladder.text.read.hub" in modules) == (kind == "hub")


def test_a_template_of_the_report_is_part_of_the_report_alone() -> None:
    files = {stage: {file.name for file in files_of(stage, {})} for stage in ("report", "train_lm", "corpus")}
    assert "page.html.j2" in files["report"]
    assert not {name for stage in ("train_lm", "corpus") for name in files[stage] if name.endswith((".j2", ".css"))}


def test_a_job_depends_on_the_method_of_its_family_that_it_calls() -> None:
    """An edit of how language models are evaluated or shown trains none."""
    train, evaluate = family_code("train_lm"), family_code("evaluate_lm")
    assert train.hash != evaluate.hash == family_code("evaluate_tune").hash  # which is inherited
    assert train.hash == family_code("fine_tune").hash  # one class serves rungs with and without a base
    assert "langladder.evaluation.perplexity" in train.imports  # of a function that `train` calls
    assert "langladder.evaluation.language_model" in evaluate.imports
    assert "langladder.evaluation.language_model" not in train.imports
    assert all(name.split(".")[0] in ("typing", "pydantic") for name in family_code("clean").imports)  # no family
