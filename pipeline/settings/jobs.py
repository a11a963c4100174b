"""The settings of one job: what its stage reads of the composed configuration, as plain values."""

from collections.abc import Callable, Mapping, Sequence
from os.path import normpath
from pathlib import PurePosixPath
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from langladder.families import families
from langladder.ground.errors import InputError
from pipeline.provenance.code_version import code_version
from pipeline.settings import params, rungs, schema
from pipeline.settings.aside import PLACE, Values, split_aside
from pipeline.settings.plan import Stage

FILTER_READS = ("data/clean/labels/test.parquet", "data/clean/tags/test.parquet")
"""What the stage `filter` has in dvc.yaml beside the corpus and `paths.filter`."""

ENGINED = ("corpus", "demonstrate", "filter", "clean", "tokenize", "vocab", "cooccur", "train_lm")
"""The stages that go through a whole corpus, which an engine may do for them: conf/engine."""

RungValues = Callable[[str, str], Values]  # (family, rung) → its plain settings


def job_values(
    stage: Stage, name: str, everything: Values, own: Values, chosen: params.Choices, rung: RungValues
) -> Values:
    """The plain values that a stage reads, `code` (the hash of the code that it runs) and `aside` with them.

    Args:
        name: of the job.
        everything: the composition but for rungs.
        own: the settings of the rung that the job is about; {} where it is about none.
        rung: the settings of any rung, for stages that read those of a whole family.
    """
    values: Values = {}
    for key in stage.keys:
        if key in families():
            values[key] = own | ({"_maker_": families()[key].maker(own)} if stage.makes else {})
        elif key != "code":
            values[key] = _computed(key, name, everything, chosen, rung)
    training = next((values[family].get("training") for family in families() if family in values), None)
    if "bleu_tokenize" in values and training and training.get("early_stopping") != "bleu":
        values["bleu_tokenize"] = None  # not read: another choice must not train anew
    values["code"] = code_version(stage.name, values)
    if stage.name in ENGINED:
        values |= {key: everything[key] for key in PLACE}
    watched, aside = split_aside(values, makes=stage.makes)
    return watched | ({"aside": aside} if aside else {})


def rung_values(family: str, config: DictConfig, chosen: params.Choices, task: Sequence[str] = ()) -> Values:
    """A rung's plain settings with params.yaml's changes to it.

    Args:
        config: the whole composition.
        task: overrides on the command line; they win over params.yaml's changes to single rungs.
    """
    name = config[family].name
    listed = {"base": chosen.bases(family).get(name), "reads": chosen.reads(family).get(name)}
    change = chosen.changes(family).get(name, {}) | {key: said for key, said in listed.items() if said}
    if "${oc." in str(change):
        raise InputError(f"{family}.{name}: ${{oc.…}} is not followed here; write the value itself in params.yaml")
    if change:
        config = config.copy()
        OmegaConf.set_struct(config, False)
        config[family] = OmegaConf.merge(config[family], change)
        for override in OverridesParser.create().parse_overrides(list(task)):  # the command line wins
            *above, last = override.key_or_group.split(".")
            if override.is_delete() and above[:1] == [family]:
                (OmegaConf.select(config, ".".join(above)) or {}).pop(last, None)
            elif override.key_or_group.startswith(f"{family}."):
                OmegaConf.update(config, override.key_or_group, override.value())
    values: Values = plain(config, without=[str(key) for key in config if key != family])[family]
    if "year" not in change:  # said for the report alone, and by the rung's file
        values.pop("year", None)
    return values


def _computed(key: str, name: str, everything: Values, chosen: params.Choices, rung: RungValues) -> Any:
    """A setting that is no rung's: of the composition, or found from it."""
    side = everything["side"]
    match key:
        case "corpus":
            corpus: Values = everything[params.group_of(side)]
            return corpus | {"_maker_": schema.source_of(side, corpus)[1]}
        case "clean":
            return everything["clean"][side]
        case "filter":
            return _watched(everything["filter"], everything["paths"]["filter"])
        case "paths":
            return {path: everything["paths"][path] for path in params.EvaluationSets.model_fields}
        case "agreement":
            return everything["paths"]["agreement"]
        case "beam" | "bleu_tokenize":
            return everything["evaluation"][key]
        case "lms":
            return chosen.rungs("lm")
        case "tunes":
            return chosen.rungs("tune") if chosen.prompted == "tune" else []
        case "wanted":  # whether anybody reads the preferences made of this rung's answers, or asks for them by hand
            asked = {folder for family in families() for folder in chosen.reads(family).values()}
            return name not in chosen.rungs("instruct") or f"data/preferences/{name}" in asked
        case "given":
            if name not in chosen.given:
                raise InputError(
                    f"given: nothing is called {name!r}; `dvc repro` takes in what params.yaml lists there"
                )
            return {"name": name, "path": chosen.given[name]}
        case "rungs":
            return rungs.shown(chosen)
        case "countings":
            counted = (
                family.counting(rung(key, one)) for key, family in families().items() for one in chosen.rungs(key)
            )
            found = {counting.key: counting.model_dump(mode="json") for counting in counted if counting}
            return [found[key] for key in sorted(found)]
        case "family":
            return name
        case "inputs":
            read = {one: _inputs(name, rung(name, one), everything["paths"]) for one in chosen.rungs(name)}
            return {one: sorted(paths.values()) for one, paths in read.items()}
        case _:
            return everything[key]


def _inputs(family: str, value: Values, paths: Mapping[str, str]) -> dict[str, str]:
    """What a rung reads beyond what its family does.

    Raises:
        InputError: a file from outside that DVC does not know as its input.
    """
    found = families()[family].inputs(value)
    for name, path in found.items():
        if name in paths and path != paths[name]:
            key = next((key for key, said in flat(value).items() if said == path), name)
            raise InputError(
                f"{family}.{key}: {path!r}, but params.yaml: paths.{name} is {paths[name]!r}; set both to the same, "
                "so that DVC runs the rung again when that changes"
            )
    return found


def _watched(value: Values, folder: str) -> Values:
    """A filter, all of whose files the stage has as inputs in dvc.yaml.

    Raises:
        InputError: a file that DVC does not know as its input.
    """
    for key, path in flat(value).items():
        place = PurePosixPath(normpath(path)) if key.endswith(".path") and isinstance(path, str) else None
        if place is not None and str(place) not in FILTER_READS and not place.is_relative_to(normpath(folder)):
            raise InputError(
                f"filter.{key}: {path!r} is not below params.yaml: paths.filter ({folder!r}), nor is it one of "
                f"{', '.join(FILTER_READS)}; put it there or set paths.filter, so that DVC sees it change"
            )
    return value


def flat(values: Mapping[str, Any], prefix: str = "") -> Values:
    """Dotted key → value."""
    found: Values = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def plain(config: DictConfig, without: Sequence[str] = ()) -> Values:
    """A composition as plain values, its references resolved.

    Raises:
        InputError: a value is missing, or refers to one that is not there.
    """
    try:
        return {str(key): _plain(config[key]) for key in config if key not in without}
    except OmegaConfBaseException as error:
        raise InputError(f"{error.full_key or '?'}: {error.msg or error}") from error


def _plain(value: Any) -> Any:
    return OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if OmegaConf.is_config(value) else value
