"""A job is one stage with its settings. Which settings each stage reads is said here, and they are checked here."""

from collections.abc import Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from langladder.embeddings.method import counting_of
from langladder.errors import InputError
from langladder.schema import Config
from pipeline.support import choices, history, schemas
from pipeline.support.code_version import code_version
from pipeline.support.problems import explain

# stage: the keys of the composed configuration that it reads, and nothing else: an edit re-runs just what it touches
KEYS: dict[str, list[str]] = {
    "corpus": ["side", "corpus"],
    "clean": ["side", "seed", "clean"],
    "tokenize": ["side", "tokenizer", "shared_tokenizer"],
    "vocab": ["words"],
    "cooccur": ["countings"],
    "embed": ["seed", "threads", "embedding"],
    "train_lm": ["seed", "threads", "lm"],
    "train_translator": ["seed", "threads", "translator", "bleu_tokenize"],
    "train_sequence": ["seed", "threads", "sequence"],
    "evaluate_embedding": ["threads", "embedding", "evaluation", "paths"],
    "evaluate_lm": ["threads", "lm", "evaluation", "paths"],
    "evaluate_translator": ["threads", "translator", "evaluation"],
    "evaluate_sequence": ["seed", "threads", "sequence", "beam"],
    "experiment": ["seed", "threads", "experiment", "bleu_tokenize"],
    "probe": ["seed", "threads", "probe", "lms", "agreement"],
    "report": ["seed", "years"],
}


def from_resolved(stage: str, config: DictConfig) -> Config:
    """Settings of a job from its file in resolved/ (and overrides on the command line)."""
    values = _plain(config)
    file = values.pop("_job_")
    with explain(file_of=lambda _: file):
        return schemas.schema(stage, values).model_validate(values)


def from_composed(stage: str, config: DictConfig, task_overrides: list[str]) -> Config:
    """Settings of a job from the whole composed configuration, with params.yaml's changes to single rungs."""
    with explain(file_of=file_of(config)):
        chosen = choices.load_choices()
        values = job_values(stage, config, chosen, task_overrides)
        if stage == "cooccur":  # of the one rung that is composed here
            rung = job_values("embed", config, chosen, task_overrides)
            values["countings"] = [*countings(schemas.schema("embed", rung).model_validate(rung)).values()]
        return schemas.schema(stage, values).model_validate(values)


def job_values(
    stage: str, config: DictConfig, chosen: choices.Choices, task_overrides: Sequence[str] = ()
) -> dict[str, Any]:
    """The plain values that a stage reads, `code` (the hash of the code that it runs) included."""
    config = config.copy()
    for group in choices.LADDERS:
        with open_dict(config[group]):
            config[group].pop("year", None)  # said for the report alone
        if group in KEYS[stage] and (change := getattr(chosen, group).get(config[group].name)):
            OmegaConf.set_struct(config, False)
            config[group] = OmegaConf.merge(config[group], change)
            for override in OverridesParser.create().parse_overrides(list(task_overrides)):  # the command line wins
                if override.key_or_group.startswith(f"{group}."):
                    OmegaConf.update(config, override.key_or_group, override.value())
    everything = _plain(config)
    everything |= {"lms": chosen.lms, "agreement": everything["paths"]["agreement"], "countings": []}
    everything |= {key: everything["evaluation"][key] for key in ("beam", "bleu_tokenize")}
    if "years" in KEYS[stage]:
        everything["years"] = history.years({group: chosen.rungs(group) for group in choices.LADDERS})
    values = {key: everything[key] for key in KEYS[stage]}
    if stage == "train_translator" and values["translator"]["training"].get("early_stopping") != "bleu":
        values["bleu_tokenize"] = None  # not read: another choice must not train anew
    if "clean" in values:
        values["clean"] = everything["clean"][values["side"]]
    if "corpus" in values and values["side"] == "parallel":
        values["corpus"] = everything["parallel"]
    if "paths" in values:
        values["paths"] = {name: everything["paths"][name] for name in choices.EvaluationSets.model_fields}
    _files_are_watched(values, everything["paths"])
    return values | {"code": code_version(stage, values)}


def countings(embed_job: Any) -> dict[str, Any]:
    """What is counted in the text for a rung of word vectors: key → settings; none for many."""
    counting = counting_of(embed_job.embedding.model)
    return {} if counting is None else {counting.key: counting.model_dump(mode="json")}


def _files_are_watched(values: dict[str, Any], watched: dict[str, str | None]) -> None:
    """Refuse files in a rung's settings that DVC does not know as its input."""
    vectors = (values.get("lm", {}).get("input") or {}).get("vectors")
    lexicon = values.get("embedding", {}).get("model", {}).get("lexicon")
    own = None if lexicon in ("microworld", "wordnet") else lexicon  # those two come with the project, and with NLTK
    for key, path, value in (("lm.input.vectors", "vectors", vectors), ("embedding.model.lexicon", "lexicon", own)):
        if value not in (None, watched[path]):
            raise InputError(
                f"{key}: {value!r}, but params.yaml: paths.{path} is {watched[path]!r}; set both to the same, "
                "so that DVC runs the rung again when that changes"
            )


def file_of(config: DictConfig) -> Any:
    """Function from a key's path to the file where that key is set."""

    def file(location: tuple[str, ...]) -> str:
        group = location[0]
        if group in choices.LADDERS and group in config:
            return f"conf/{group}/{config[group].get('name', '?')}.yaml or params.yaml: {group}"
        return f"conf/{group}/*.yaml" if choices.conf_names(group) else "params.yaml or conf/config.yaml"

    return file


def _plain(config: DictConfig) -> dict[str, Any]:
    try:
        return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        raise InputError(f"{error.full_key or '?'}: {error.msg or error}") from error
