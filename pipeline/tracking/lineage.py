"""The chain of rungs that a rung started from, down to the corpus; it is saved in the provenance of each artefact."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict, cast

from pydantic import BaseModel, ValidationError

from langladder.families import families
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from pipeline.settings.yaml_files import Values

MODELS = Path("models")
IMPORTED = "given"
"""The family of imported networks, which end a chain."""
NOT_TRAINED = "given, not trained here"


class Ancestor(TypedDict):
    """An artefact of a chain: family/rung, title, fingerprint, hashes of the data that it read."""

    rung: str
    title: str
    fingerprint: str
    inputs: dict[str, str]


class Provenance(BaseModel):
    """The part of an artefact's provenance.json that is read; the file may be foreign."""

    fingerprint: str
    inputs: dict[str, str]
    settings: Values
    lineage: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []


def provenance(artefact: Path) -> Provenance:
    """The provenance of an artefact.

    Raises:
        InputError: it has none, or one that no stage wrote.
    """
    file = artefact / "provenance.json"
    try:
        return Provenance.model_validate(read_json(file))
    except ValidationError as error:
        keys = ", ".join(".".join(map(str, problem["loc"])) or "the whole" for problem in error.errors())
        raise InputError(f"{file}: not the provenance that a stage writes (wrong or missing: {keys})") from error


def own_inputs(family: str, rung: Values) -> dict[str, Path]:
    """The inputs in a rung's own settings: name → file or folder."""
    inputs = {name: Path(path) for name, path in families()[family].inputs(rung).items()}
    if base := rung.get("base"):
        inputs["base"] = MODELS / base
    return inputs


def of_base(rung: Values) -> dict[str, list[Ancestor]]:
    """`lineage`, for the provenance of a rung with a base: the base first, then the base of that one.

    `beside`: the same for a model that it read in addition, such as a reward model.
    """
    beside = Path(rung.get("reads") or "")
    lineage = {"lineage": _behind(rung["base"])} if rung.get("base") else {}
    read = _behind(beside.relative_to(MODELS).as_posix()) if MODELS in beside.parents else []
    return lineage | ({"beside": read} if read else {})


def _behind(rung: str) -> list[Ancestor]:
    about = provenance(MODELS / rung)
    return [_entry(rung, about), *cast(list[Ancestor], about.lineage)]


def _entry(rung: str, about: Provenance) -> Ancestor:
    data = {name: digest for name, digest in about.inputs.items() if name != "base"}
    settings = about.settings.get(rung.partition("/")[0], {})
    return {"rung": rung, "title": settings.get("title", ""), "fingerprint": about.fingerprint, "inputs": data}


def chain(artefact: Path) -> list[Ancestor]:
    """The artefact and its chain of bases, the artefact first: rung, title, fingerprint, hashes of the data it read.

    Raises:
        InputError: there is no artefact of the pipeline.
    """
    about = provenance(artefact)
    family = next((name for name in (*families(), IMPORTED) if name in about.settings), None)
    if family is None:
        raise InputError(f"{artefact}/provenance.json: belongs to no family; families: {', '.join(families())}")
    return [
        _entry(f"{family}/{about.settings[family].get('name', artefact.name)}", about),
        *cast(list[Ancestor], about.lineage),
    ]


def data_behind(family: str, root: Path) -> Iterator[str]:
    """The chain of data that a family's rungs read, up to the corpus, from the stages of dvc.lock: one line each.

    The origin of a given network is unknown.
    """
    from dvc.repo import Repo

    reads = () if family == IMPORTED else families()[family].reads
    with Repo(str(root)) as repo:
        graph = repo.index.graph
        for path in reads:
            producer = next((job for job in graph.nodes if any(str(out) == path for out in job.outs)), None)
            while producer is not None:
                outs = ", ".join(str(out) for out in producer.outs if not str(out).startswith("metrics/"))
                yield f"{producer.addressing} → {outs}"
                before = [up for up in graph.successors(producer) if up.addressing != "resolve"]
                producer = before[0] if before else None
