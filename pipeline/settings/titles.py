"""The titles of rungs and corpora in the report, and the years of rungs.

A rung's file in conf/ has its title and year for the reader only. DVC does not track them for the job that makes the
rung, so that a corrected title trains nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from langladder.families import families
from langladder.families.sides import SIDES
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url, located
from langladder.ground.schema import Config
from pipeline import LIBRARY, ROOT
from pipeline.settings import params
from pipeline.settings.errors import combined, explain
from pipeline.settings.yaml_files import Values, read_yaml


class Description(Config):
    """The part of a rung's file that is for the reader."""

    title: str
    year: int = Field(ge=1900, le=2100)
    claim: str | None = None
    paper: str | None = None


NETWORKS = "network", "cell", "rung", "kind", "method"
"""Settings of a claim's variant that name what it trains."""

CHANGED_IN_PARAMS = "title", "claim", "paper"
"""The part of it that params.yaml can override."""


def description(family: str, name: str) -> Description:
    """Title and year in conf/<family>/<name>.yaml itself; a variant does not inherit those of the file that it extends.

    Raises:
        InputError: a year or a title is missing or invalid.
    """
    values = read_yaml(params.conf_file(family, name))
    with explain(file_of=lambda _: params.display_file(family, name), prefix=(family,)):
        return Description.model_validate(
            {key: value for key, value in values.items() if key in Description.model_fields}
        )


def default_base(family: str, name: str) -> params.BaseChoice:
    """The base in conf/<family>/<name>.yaml, and what the rung reads in addition.

    Raises:
        InputError: the file has no base.
    """
    values = read_yaml(params.conf_file(family, name))
    with explain(file_of=lambda _: params.display_file(family, name), prefix=(family,)):
        kind = params.BaseAndReads if families()[family].beside else params.BaseChoice
        return kind.model_validate({key: value for key, value in values.items() if key in kind.model_fields})


def idea(file: Path) -> str:
    """The comment above the first key in the file of a rung."""
    lines = file.read_text(encoding="utf-8").splitlines()
    above = lines[: next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))]
    return " ".join(line.lstrip("# ") for line in above)


def module_of(family: str, values: Values) -> str | None:
    """The module of a rung's class; of a rung that has none, that of the function that makes it."""
    if target := values.get("_target_"):
        return str(target).rpartition(".")[0]
    method = f"langladder.tasks.policy.{values.get('method')}"
    if (LIBRARY / Path(*method.split("."))).with_suffix(".py").is_file():
        return method
    maker = families()[family].maker(values) if families()[family].bases else None
    return maker.rpartition(".")[0] if maker else None


def trained_by(values: Values) -> list[str]:
    """The networks that a claim trains, as its settings name them: those of its variants, else its bases."""
    settings = values.get("settings") or {}
    bases = [base for base in settings.get("bases") or [] if isinstance(base, str)]
    variants = [variant for variant in (settings.get("variants") or {}).values() if isinstance(variant, Mapping)]
    named = [str(variant[key]) for variant in variants for key in NETWORKS if isinstance(variant.get(key), str)]
    return list(dict.fromkeys(named or bases))


def optimizer(values: Values) -> str:
    """Name of the optimiser of a rung's training, or of its class; "" where there is none."""
    chosen = (values.get("training") or {}).get("optimizer") or ""
    return str(chosen["_target_"]).rpartition(".")[2] if isinstance(chosen, Mapping) else str(chosen)


def in_order(rungs: Mapping[str, Iterable[str]]) -> dict[str, dict[str, Description]]:
    """Family → rung → title and year, in historical order; rungs of the same year in the order of the list.

    Raises:
        InputError: every rung without a year, at once.
    """
    ordered: dict[str, dict[str, Description]] = {}
    problems = []
    for family, names in rungs.items():
        dated = {}
        for name in names:
            try:
                dated[name] = description(family, name)
            except InputError as error:
                problems.append(str(error))
        ordered[family] = dict(sorted(dated.items(), key=lambda item: item[1].year))
    if problems:
        raise combined(problems)
    return ordered


def title_of(rung: str) -> str:
    """The title of a rung, `family/name`; for an imported network, its name."""
    family, _, name = rung.partition("/")
    with suppress(InputError):
        return description(family, name).title
    return name


def titles_of(chosen: params.Choices, settings: Callable[[str, str], Values]) -> dict[str, dict[str, Values]]:
    """Family → rung, in historical order → what the report shows of it, see `RungMetadata`.

    Args:
        settings: of a family and a rung; if they raise an InputError, the rung's own job reports it.
    """
    dated = in_order({family: chosen.rungs(family) for family in families()})

    def also_given(family: str, values: Values) -> str:
        with suppress(InputError):
            return families()[family].also_given(values, title_of) if values else ""
        return ""

    def composed(family: str, name: str) -> Values:
        with suppress(InputError):
            return settings(family, name)
        return {}

    return {
        family: {
            name: described.model_dump()
            | {"also_given": also_given(family, values), "idea": idea(params.conf_file(family, name))}
            | {
                "module": module_of(family, values) if values else None,
                "trains": [] if families()[family].trained else trained_by(values),
                "optimizer": optimizer(values),
            }
            | {key: value for key, value in chosen.changes(family).get(name, {}).items() if key in CHANGED_IN_PARAMS}
            | {"base": chosen.bases(family).get(name)}
            | ({"reads": chosen.reads(family)[name]} if families()[family].beside else {})
            for name, described in rungs.items()
            for values in [composed(family, name)]
        }
        for family, rungs in dated.items()
    }


OWN = {"text", "hub", "pairs", "columns", "conllu"}  # files of conf/ without the name of a corpus


def corpus_names(chosen: params.Choices) -> dict[str, str]:
    """`text`, `pairs`, `labels` and `tags`, the fields of the report's `Meta`, without sides that are left out."""
    names = {side.report: _name(side.name, getattr(chosen, side.group)) for side in SIDES.values() if side.report}
    return {field: name for field, name in names.items() if name}


def _name(side: str, choice: str) -> str:
    """The choice if it is the name of a corpus, else the name of the files or of the Hub data set; "": left out."""
    resolved = ROOT / "resolved" / "corpus" / f"{side}.yaml"
    settings: Values = read_yaml(resolved) if resolved.is_file() else {"corpus": {}}
    if settings["corpus"] is None:
        return ""
    if choice not in OWN or not settings["corpus"]:
        return choice
    source: Values = settings["corpus"]["source"]
    if "path" in source:
        path = source["path"]
        return bare(located(path).name) if is_url(path) else file_name(ROOT / path, path)
    return str(source.get("name", choice))


def file_name(path: Path, fallback: str) -> str:
    """A file's name without its ending; a folder's name, or that of the only file or folder in it."""
    if path.is_dir():
        held = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
        if len(held) == 1:
            return file_name(held[0], held[0].name)
        return fallback if path.name in SIDES else path.name
    return bare(path.name) or fallback


def bare(name: str) -> str:
    """A file's name without its ending."""
    for ending in (".gz", ".txt", ".tsv", ".csv", ".conll", ".conllu", ".jsonl", ".parquet"):
        name = name.removesuffix(ending)
    return name
