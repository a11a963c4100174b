"""Which rung a rung grew from, and so on to the corpus: in the provenance of each artefact, so that it goes with it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from langladder.artefacts import read_json
from langladder.families import families

MODELS = Path("models")


def own_inputs(family: str, rung: Mapping[str, Any]) -> dict[str, Path]:
    """What a rung's own settings say that it reads: name → file or folder."""
    found = {name: Path(path) for name, path in families()[family].inputs(rung).items()}
    if base := rung.get("base"):
        found["base"] = MODELS / base
    return found


def of_base(rung: Mapping[str, Any]) -> dict[str, Any]:
    """`lineage`, for the provenance of what grows from a base: the base first, then what that one grew from."""
    if not (base := rung.get("base")):
        return {}
    about = read_json(MODELS / base / "provenance.json")
    return {"lineage": [_told(base, about), *about.get("lineage", [])]}


def _told(rung: str, about: Mapping[str, Any]) -> dict[str, Any]:
    family = rung.partition("/")[0]
    data = {name: digest for name, digest in about["inputs"].items() if name != "base"}
    said = about["settings"].get(family, {})
    return {"rung": rung, "title": said.get("title", ""), "fingerprint": about["fingerprint"], "inputs": data}


def chain(artefact: Path) -> list[dict[str, Any]]:
    """The artefact and all it grew from, the youngest first: rung, title, fingerprint, hashes of the data it read.

    Raises:
        InputError: there is no artefact of the pipeline.
    """
    about = read_json(artefact / "provenance.json")
    family = next((name for name in families() if name in about["settings"]), "")
    name = about["settings"].get(family, {}).get("name", artefact.name)
    return [_told(f"{family}/{name}", about), *about.get("lineage", [])]


def data_behind(family: str, root: Path) -> Iterator[str]:
    """The chain of data that a family's rungs read, up to the corpus, as dvc.lock's stages have it: one line each."""
    from dvc.repo import Repo

    reads = families()[family].reads
    with Repo(str(root)) as repo:
        graph = repo.index.graph
        for path in reads:
            made = next((job for job in graph.nodes if any(str(out) == path for out in job.outs)), None)
            while made is not None:
                outs = ", ".join(str(out) for out in made.outs if not out.metric)
                yield f"{made.addressing} → {outs}"
                before = [up for up in graph.successors(made) if up.addressing != "resolve"]
                made = before[0] if before else None
