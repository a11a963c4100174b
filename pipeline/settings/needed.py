"""Which jobs the listed rungs need. Every other job of dvc.yaml is left out: it only makes empty outputs.

A rung needs a side of the data if its jobs read, directly or indirectly, files made from that side's corpus. From
this graph of dvc.yaml it follows that

- a side that no listed rung reads is left out: with classifiers alone no text is drawn, cleaned, tokenised or counted
  (if no rung is listed at all, nothing is left out: the user wants the data themselves);
- `only: labels` in params.yaml leaves out the other sides, and the rungs that need one of them;
- a rung that needs a side that is `none` (`corpus: none`) is refused.

DVC reads all stages before it runs any, so such a choice cannot remove a job; but the job can do nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from dvc.parsing.context import Context

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
"""The key of a resolved file with the reason why its job does nothing; also a file name in its empty folders."""

UNREAD = "no listed rung needs it"

EMPTY = dict.fromkeys((".txt", ".tsv", ".jsonl", ".parquet"), "\n")  # DVC warns about empty files
EMPTY |= {".json": "{}\n", ".csv": "step,train_loss,validation_loss\n"}
"""The content of a left-out job's empty file, by its ending; a path without such an ending is a folder."""

Reads = Callable[[str, str], list[str]]
"""(family, rung) → the paths that this rung reads in addition to those of its family."""


# ---- what jobs read and make -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Files:
    """Inputs and outputs of a job."""

    deps: tuple[str, ...]
    outs: tuple[str, ...]


def files_of(job: Job, context: Context) -> Files:
    """Inputs and outputs of a job in dvc.yaml.

    Args:
        context: DVC's, with the values of params.yaml, to which `${…}` refers.
    """
    body = plan.declared()[job.stage.name]
    item: object = dict.fromkeys(body.get("matrix", ()), job.name)
    if through := context.resolve(body.get("foreach")):
        item = through[job.name] if isinstance(through, dict) else job.name
    with context.set_temporarily({"key": job.name, "item": item}):
        inner = context.resolve(
            {key: body.get("do", body).get(key, []) for key in ("deps", "outs", "metrics", "plots")}
        )
    deps, *outs = (
        [entry if isinstance(entry, str) else next(iter(entry)) for entry in some] for some in inner.values()
    )
    return Files(tuple(deps), tuple(chain.from_iterable(outs)))


# ---- what is needed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Needed:
    """What is left out, and why.

    Attributes:
        rungs: family → rungs that are kept.
        jobs: file of a job → reason why it is left out.
        problems: rungs that need a missing side, or the fact that no rung is left.
        note: what `only` leaves out, as a message; "": nothing.
    """

    rungs: dict[str, list[str]]
    jobs: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    note: str = ""


class Graph:
    """The jobs of params.yaml, and their dependencies.

    Args:
        reads: inputs of single rungs, instead of the inputs of their family's stage `watch`.
        filter_reads: the actual inputs of the stage `filter`, instead of all possible ones.
    """

    def __init__(self, chosen: Choices, reads: Reads, filter_reads: set[str]) -> None:
        context = Context(chosen.model_dump())
        self.jobs = {job.file: job for job in plan.jobs(chosen)}
        self.files = {file: files_of(job, context) for file, job in self.jobs.items()}
        self._reads, self._filter_reads = reads, filter_reads
        self._before: dict[str, set[str]] = {}

    @cached_property
    def _makers(self) -> dict[str, str]:
        return {out: file for file, files in self.files.items() for out in files.outs}

    def before(self, file: str) -> set[str]:
        """The files of all jobs that a job needs, including itself."""
        if file not in self._before:
            self._before[file] = {file}  # stops at a cycle; `checks` reports it
            makers = {maker for dep in self._deps(self.jobs[file]) for maker in self._made_by(dep)}
            self._before[file] |= set().union(*map(self.before, makers))
        return self._before[file]

    def _deps(self, job: Job) -> list[str]:
        deps = list(self.files[job.file].deps)
        if "inputs" in job.stage.keys:
            return []  # a rung's own inputs belong to that rung
        if "filter" in job.stage.keys:
            deps = [dep for dep in deps if not dep.startswith("data/clean/") or dep in self._filter_reads]
        if any(dep.startswith("data/watched/") for dep in deps):
            deps += self._reads(job.stage.family_name, job.name)
        return deps

    def _made_by(self, path: str) -> list[str]:
        """The jobs that make a path, something below it, or the folder that contains it."""
        return [
            maker
            for out, maker in self._makers.items()
            if out == path or path.startswith(f"{out}/") or out.startswith(f"{path}/")
        ]


def needed(chosen: Choices, graph: Graph) -> Needed:
    """Decide which rungs are kept, and which jobs are left out."""
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
    kept = {name: [rung for rung in chosen.rungs(name) if not lacks.get((name, rung))] for name in families()}
    wanted: set[str] = set().union(*(before for rung, before in of_rung.items() if not lacks[rung]))
    why = {}
    for file, job in graph.jobs.items():
        if job.stage.family:
            if sides := lacks[job.stage.family, job.name]:
                why[file] = absent[sides[0]]
        elif file not in wanted and not {"rungs", "given"} & {*job.stage.keys}:
            sides = [makes[stage] for stage in graph.before(file) & makes.keys()]
            why[file] = next((absent[side] for side in sides if side in absent), UNREAD)
    left = {name: [rung for rung in chosen.rungs(name) if rung not in kept[name]] for name in families()}
    if not of_rung:
        why = {file: reason for file, reason in why.items() if reason != UNREAD}
    if not chosen.only:
        missing = {
            name: {side for entry in names for side in lacks[name, entry]} for name, names in left.items() if names
        }
        return Needed(kept, why, [_refusal(name, left[name], sides) for name, sides in missing.items()])
    only, problems = f"only: {', '.join(chosen.only)}", []
    if not any(kept.values()):
        problems = [f"{only}: no listed rung works with this data only; list one, or change `only`: params.yaml"]
    omitted = "; ".join(f"{families()[name].listed}: {', '.join(names)}" for name, names in left.items() if names)
    return Needed(kept, why, problems, f"{only} leaves out {omitted}" if omitted else "")


def absent_sides(chosen: Choices) -> dict[str, str]:
    """The missing sides of the data → reason."""
    none = {side.name: f"{side.group}: none" for side in SIDES.values() if getattr(chosen, side.group, "") == NONE}
    only = {name: f"only: {', '.join(chosen.only)}" for name in SIDES if chosen.only and name not in chosen.only}
    return none | only


def _refusal(family: str, rungs: list[str], sides: set[str]) -> str:
    groups = [side.group for side in SIDES.values() if side.name in sides]
    none, folders = ", ".join(f"{group}: none" for group in groups), ", ".join(f"conf/{group}/" for group in groups)
    return (
        f"{families()[family].listed}: {', '.join(rungs)} cannot be made without data ({none}); remove them from the "
        f"list, choose data from {folders}, or list the data that you have in `only`, to leave them out: params.yaml"
    )


# ---- doing nothing ---------------------------------------------------------------------------------------------------


def idle_settings(job: Job, why: str, graph: Graph) -> Values:
    """The resolved file of a left-out job: the reason, its outputs, and the keys that DVC tracks."""
    read = {dep for files in graph.files.values() for dep in files.deps}
    outs = graph.files[job.file].outs
    inside = sorted(dep for dep in read if any(dep.startswith(f"{out}/") for out in outs))
    keys: Values = {key: {} if key in families() else None for key in job.stage.keys}
    return {LEFT_OUT: why, "makes": list(outs), "inside": inside} | keys


def do_nothing(root: Path, settings: Mapping[str, Any]) -> None:
    """Make the outputs of a left-out job: empty files and folders for the jobs that depend on them."""
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
    """Check before a single run of a stage that its data have been made.

    Raises:
        InputError: they were left out.
    """
    for dep in plan.declared()[stage].get("do", plan.declared()[stage])["deps"]:
        folder = Path(*PurePosixPath(dep).parts[:3])
        if dep.startswith("data/") and (file := ROOT / folder / f"{LEFT_OUT}.json").is_file():
            raise InputError(
                f"{folder} was left out of the last `dvc repro` ({read_json(file)[LEFT_OUT]}); list a rung that needs "
                "it, check `only` and the corpus (params.yaml), and run `dvc repro` again"
            )
