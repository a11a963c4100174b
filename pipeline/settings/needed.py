"""Which jobs the listed rungs need. Every other job of dvc.yaml is left out: it makes empty outputs, in no time.

A rung needs a side of the data where its jobs read, directly or over others, what becomes of that side's corpus. By
this one graph, that of dvc.yaml,

- a side that no listed rung reads is left out: with classifiers alone no text is drawn, cleaned, tokenised or counted
  (where no rung is listed at all, the data themselves are what is needed, and nothing is left out);
- `only: labels` in params.yaml leaves out the other sides, and the rungs that need one of them;
- a rung that needs a side that is `none` (`corpus: none`) is refused.

DVC knows the stages before it runs any, so a job cannot go for such a choice; but it can do nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from langladder.families import families
from langladder.families.sides import SIDES
from langladder.ground.artefacts import read_json, write_json, write_text
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.settings import plan
from pipeline.settings.params import NONE, Choices
from pipeline.settings.plan import Job
from pipeline.settings.run_folder import OUTPUT
from pipeline.settings.yaml_files import Values

LEFT_OUT = "left_out"
"""The key of a resolved file that says why its job does nothing; also the name of the file in its empty folders."""

UNREAD = "no listed rung reads it"

EMPTY = dict.fromkeys((".txt", ".tsv", ".jsonl", ".parquet"), "\n")  # of an empty one DVC warns
EMPTY |= {".json": "{}\n", ".csv": "step,train_loss,validation_loss\n"}
"""What an empty file of a job that is left out holds, by its ending; a path with none of these is a folder."""

Reads = Callable[[str, str], list[str]]
"""(family, rung) → the paths that this very rung reads beyond what its family does."""


# ---- what jobs read and make -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Files:
    """What a job reads and makes."""

    deps: tuple[str, ...]
    outs: tuple[str, ...]


def files_of(job: Job, choices: Mapping[str, Any]) -> Files:
    """What dvc.yaml says that a job reads and makes.

    Args:
        choices: the values of params.yaml, to which `${…}` refers.
    """
    body = plan.declared()[job.stage.name]
    inner, context = body.get("do", body), dict(choices) | {"key": job.name}
    if "matrix" in body:
        context["item"] = dict.fromkeys(body["matrix"], job.name)
    elif through := body.get("foreach"):
        through = _looked_up(context, through[2:-1]) if isinstance(through, str) else through
        context["item"] = through[job.name] if isinstance(through, dict) else job.name

    def filled(entry: Any) -> str:
        text = entry if isinstance(entry, str) else str(next(iter(entry)))
        while reference := re.search(r"\$\{([^}]+)\}", text):
            text = text.replace(reference[0], str(_looked_up(context, reference[1])))
        return text

    outs = [out for key in ("outs", "metrics", "plots") for out in inner.get(key, [])]
    return Files(tuple(map(filled, inner.get("deps", []))), tuple(map(filled, outs)))


def _looked_up(context: Any, key: str) -> Any:
    """A value by DVC's grammar: `item.base`, `item[0]`."""
    for part in re.findall(r"\w+", key):
        context = context[int(part)] if isinstance(context, list) else context[part]
    return context


# ---- what is needed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Needed:
    """What is left out, and why.

    Attributes:
        rungs: family → those that are kept.
        jobs: file of a job → why it is left out.
        problems: rungs that need a side that is not there, or that nothing is left.
        note: what `only` leaves out, for people; "": nothing.
    """

    rungs: dict[str, list[str]]
    jobs: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    note: str = ""


class Graph:
    """The jobs that params.yaml asks for, and which reads what of another.

    Args:
        reads: what single rungs read, instead of what the stage `watch` of their family waits for.
        filter_reads: what the stage `filter` reads, instead of all that it could.
    """

    def __init__(self, chosen: Choices, reads: Reads, filter_reads: set[str]) -> None:
        choices = chosen.model_dump()
        self.jobs = {job.file: job for job in plan.jobs(chosen)}
        self.files = {file: files_of(job, choices) for file, job in self.jobs.items()}
        self._reads, self._filter_reads = reads, filter_reads
        self._before: dict[str, set[str]] = {}

    @cached_property
    def _makers(self) -> dict[str, str]:
        return {out: file for file, files in self.files.items() for out in files.outs}

    def before(self, file: str) -> set[str]:
        """The files of all jobs that a job needs, itself among them."""
        if file not in self._before:
            self._before[file] = {file}  # a circle ends here; `checks` reports it
            found = {maker for dep in self._deps(self.jobs[file]) for maker in self._made_by(dep)}
            self._before[file] |= set().union(*map(self.before, found))
        return self._before[file]

    def _deps(self, job: Job) -> list[str]:
        deps = list(self.files[job.file].deps)
        if "inputs" in job.stage.keys:
            return []  # each rung's own are that rung's
        if "filter" in job.stage.keys:
            deps = [dep for dep in deps if not dep.startswith("data/clean/") or dep in self._filter_reads]
        if any(dep.startswith("data/watched/") for dep in deps):
            deps += self._reads(job.stage.family_name, job.name)
        return deps

    def _made_by(self, path: str) -> list[str]:
        """Who makes a path, what stands below it, or the folder that it is in."""
        return [
            maker
            for out, maker in self._makers.items()
            if out == path or path.startswith(f"{out}/") or out.startswith(f"{path}/")
        ]


def needed(chosen: Choices, graph: Graph) -> Needed:
    """Which rungs are kept, and which jobs are left out."""
    makes = {job.file: job.name for job in graph.jobs.values() if "corpus" in job.stage.keys}  # the corpus of a side
    absent = absent_sides(chosen)
    of_rung: dict[tuple[str, str], set[str]] = {}
    for file, job in graph.jobs.items():
        if job.stage.family:
            of_rung.setdefault((job.stage.family, job.name), set()).update(graph.before(file))
    lacks = {
        rung: sorted({makes[file] for file in before & makes.keys()} & absent.keys())
        for rung, before in of_rung.items()
    }
    kept = {name: [one for one in chosen.rungs(name) if not lacks.get((name, one))] for name in families()}
    wanted: set[str] = set().union(*(before for rung, before in of_rung.items() if not lacks[rung]))
    why = {}
    for file, job in graph.jobs.items():
        if job.stage.family:
            if sides := lacks[job.stage.family, job.name]:
                why[file] = absent[sides[0]]
        elif file not in wanted and not {"rungs", "given"} & {*job.stage.keys}:
            sides = [makes[one] for one in graph.before(file) & makes.keys()]
            why[file] = next((absent[side] for side in sides if side in absent), UNREAD)
    left = {name: [one for one in chosen.rungs(name) if one not in kept[name]] for name in families()}
    if not of_rung:
        why = {file: reason for file, reason in why.items() if reason != UNREAD}
    if not chosen.only:
        missing = {name: {side for one in names for side in lacks[name, one]} for name, names in left.items() if names}
        return Needed(kept, why, [_refusal(name, left[name], sides) for name, sides in missing.items()])
    only, problems = f"only: {', '.join(chosen.only)}", []
    if not any(kept.values()):
        problems = [f"{only}: no listed rung reads that alone; list one, or change only: params.yaml"]
    said = "; ".join(f"{families()[name].listed}: {', '.join(names)}" for name, names in left.items() if names)
    return Needed(kept, why, problems, f"{only} leaves out {said}" if said else "")


def absent_sides(chosen: Choices) -> dict[str, str]:
    """The sides of the data that are not there → why."""
    none = {side.name: f"{side.group}: none" for side in SIDES.values() if getattr(chosen, side.group, "") == NONE}
    only = {name: f"only: {', '.join(chosen.only)}" for name in SIDES if chosen.only and name not in chosen.only}
    return none | only


def _refusal(family: str, rungs: list[str], sides: set[str]) -> str:
    groups = [side.group for side in SIDES.values() if side.name in sides]
    none, folders = ", ".join(f"{one}: none" for one in groups), ", ".join(f"conf/{one}/" for one in groups)
    return (
        f"{families()[family].listed}: {', '.join(rungs)} cannot be made without data ({none}); take them from the "
        f"list, choose from {folders}, or name the sides that you have in only, which leaves them out: params.yaml"
    )


# ---- doing nothing ---------------------------------------------------------------------------------------------------


def idle_settings(job: Job, why: str, graph: Graph) -> Values:
    """The resolved file of a job that is left out: why, what it is to make, and the keys that DVC watches."""
    read = {dep for files in graph.files.values() for dep in files.deps}
    outs = graph.files[job.file].outs
    inside = sorted(dep for dep in read if any(dep.startswith(f"{out}/") for out in outs))
    keys: Values = {key: {} if key in families() else None for key in job.stage.keys}
    return {LEFT_OUT: why, "makes": list(outs), "inside": inside} | keys


def do_nothing(root: Path, settings: Mapping[str, Any]) -> None:
    """Make the outputs of a job that is left out: empty, but there for the jobs that wait for them."""
    for path in settings["makes"]:
        if path.startswith(("data/", "models/")):
            with atomic_folder(root / path, OUTPUT) as folder:
                write_json(folder / f"{LEFT_OUT}.json", {LEFT_OUT: settings[LEFT_OUT]})
        else:
            write_text(root / path, EMPTY[PurePosixPath(path).suffix])
    for path in settings["inside"]:
        if (content := EMPTY.get(PurePosixPath(path).suffix)) is None:
            (root / path).mkdir(parents=True)
        else:
            write_text(root / path, content)


def check_data(stage: str) -> None:
    """See, before a single run of a stage, that the data which it reads have been made.

    Raises:
        InputError: they were left out.
    """
    for dep in plan.declared()[stage].get("do", plan.declared()[stage])["deps"]:
        folder = Path(*PurePosixPath(dep).parts[:3])
        if dep.startswith("data/") and (file := ROOT / folder / f"{LEFT_OUT}.json").is_file():
            raise InputError(
                f"{folder} was left out of the last `dvc repro` ({read_json(file)[LEFT_OUT]}); list a rung that reads "
                "it, see to it that only and its corpus allow it (params.yaml), and run `dvc repro` again"
            )
