"""Checks of params.yaml and conf/ beyond the schema. They run before anything else and report all problems at once.

They find names without a file in conf/, rungs with a missing or unfit base, and broken links. A
base is another rung, family/name, or given/name: an imported network.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from hydra.errors import HydraException

from langladder.families import families
from langladder.families.folds import FoldedRung
from langladder.ground import plugins
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url
from langladder.ground.schema import checked_name
from pipeline import INSTALLED, ROOT
from pipeline.settings import params, plan
from pipeline.settings.params import Choices
from pipeline.settings.schema import RungValues
from pipeline.settings.yaml_files import Values, display_path, read_yaml
from pipeline.tracking.lineage import IMPORTED

PRESET = "preset"
"""The group that makes several choices at once, only on the command line: `+preset=quick`."""
PINNED = re.compile(r"(?m)^langladder(?:\[[\w,-]*\])?==([\w.+!-]+)")
FEW = 12  # up to this many names are all listed; of more, only the nearest


def name_problems(chosen: params.Choices) -> list[str]:
    """Names in params.yaml that do not exist or occur twice, one line each."""
    groups = (*params.GROUPS, *params.LIGHTNING)
    lines = [line for group in groups for name in chosen.files(group) for line in _unknown(group, group, name)]
    for group, family in families().items():
        key, listed = family.listed, chosen.rungs(group)
        lines += [line for name in dict.fromkeys(listed) for line in _unknown(key, group, name)]
        twice = sorted({name for name in listed if listed.count(name) > 1})
        lines += [
            f"{key}: {name!r} is listed {listed.count(name)} times; once is enough: params.yaml" for name in twice
        ]
        lines += [line for name in chosen.changes(group) for line in _unknown(f"{group} (changes)", group, name)]
    return lines


def unused(chosen: params.Choices) -> list[str]:
    """Settings of rungs that are not listed: allowed, because single runs read them, but `dvc repro` does not."""
    return [
        f"{group}: the settings of {name!r} have no effect: it is not listed in {family.listed} (params.yaml)"
        for group, family in families().items()
        for name in chosen.changes(group)
        if name not in chosen.rungs(group)
    ]


def seeds_in_folds(chosen: params.Choices) -> list[str]:
    """The rungs that `folds` trains once per fold, so that `seeds` does not train them again."""
    if chosen.folds == 1 or chosen.seeds == 1:
        return []
    folded = [family.listed for family in families().values() if issubclass(family.rung(), FoldedRung)]
    listed = [key for key in folded if getattr(chosen, key)]
    if not listed:
        return []
    return [
        f"seeds: {chosen.seeds} has no effect on {', '.join(listed)}, because folds: {chosen.folds} trains them once "
        "per fold; for several seeds, set folds: 1 (params.yaml)"
    ]


def known(chosen: params.Choices) -> params.Choices:
    """The choices without missing or duplicate rungs, so that the rest can be composed and checked."""
    there = {
        group: [name for name in dict.fromkeys(chosen.rungs(group)) if name in params.conf_names(group)]
        for group in families()
    }
    return chosen.with_rungs(there)


def bad_groups(chosen: params.Choices) -> list[str]:
    """Groups whose chosen name has no file; they are left out of a composition (`params.as_config`)."""
    groups = (*params.GROUPS, *params.LIGHTNING)
    return [group for group in groups if {*chosen.files(group)} - {*params.conf_names(group)}]


def on_command_line(arguments: Sequence[str]) -> list[str]:
    """Missing names in overrides such as `lm=lstm,gpt`; Hydra's own functions (`glob(*)`) are not checked."""
    problems = []
    for argument in arguments:
        if re.match(r"\+*plugins[=.]", argument):
            problems.append(
                f"{argument}: plugins define what can be chosen, so they belong into params.yaml "
                "(plugins: [my_package]), not on the command line"
            )
        if match := re.fullmatch(r"\+*(\w+)=\[?([\w./\\,-]+)\]?", argument):
            group, value = match.groups()
            if params.conf_names(group):
                problems += [
                    line for name in value.split(",") for line in _unknown(group, group, name, "on the command line")
                ]
    return problems


def top_keys() -> set[str]:
    """The top-level keys of a composition."""
    stated = read_yaml(params.conf_path("config.yaml"))
    groups = {PRESET} | {group for entry in stated["defaults"] if isinstance(entry, dict) for group in entry}
    return groups | {*stated} | {*families()} | {*params.LIGHTNING}


def conf_problems() -> list[str]:
    """Files of conf/ that are not YAML, have duplicate keys, or an invalid name."""
    problems = []
    for file in [file for folder in params.conf_folders() for file in sorted(folder.rglob("*.yaml"))]:
        if file.name.startswith("."):
            continue
        try:
            checked_name(file.stem)
        except ValueError as error:
            problems.append(f"{display_path(file)}: {file.stem!r} cannot be a name: {error}; rename the file")
        try:
            read_yaml(file)
        except InputError as error:
            problems += str(error).splitlines()
    return problems


def other_version() -> list[str]:
    """The problem if a project without code names another version of langladder than the installed one."""
    file = ROOT / "requirements.txt"
    if INSTALLED is None or not file.is_file():
        return []
    installed, named = version("langladder"), PINNED.search(file.read_text(encoding="utf-8"))
    if not named or named[1] == installed:
        return []
    return [
        f"requirements.txt: langladder=={named[1]}, but {installed} is installed: pip install {named[1]}, or run "
        f"`langladder new --update .` to rewrite requirements.txt and dvc.yaml for {installed}"
    ]


def warn(lines: Iterable[str]) -> None:
    """Print to the error stream, one line each."""
    for line in lines:
        print(f"warning: {line}", file=sys.stderr)


def _unknown(key: str, group: str, name: str, where: str = "in params.yaml") -> list[str]:
    names, folder = params.conf_names(group), params.group_folder(group)
    if name in names:
        return []
    near = get_close_matches(name.rpartition("/")[2], names, n=3, cutoff=0.5)
    beside = [family for family in families().values() if family.group == folder]
    other = [entry for entry in beside if name in params.conf_names(entry.name)]
    if other:
        say = f"it is a rung of {other[0].name}, listed in {other[0].listed}; all: conf/{folder}/"
    elif near:
        say = f"the nearest: {', '.join(near)}; all: conf/{folder}/"
    elif not names:
        say = nothing_in(folder)
    elif len(names) <= FEW:
        say = f"there are {', '.join(names)} (conf/{folder}/)"
    else:
        say = f"see conf/{folder}/ for what there is"
    return [f"{key}: {name!r} is not a choice: {say}; change it {where}"]


def nothing_in(folder: str) -> str:
    """That a folder of conf/ has no file, and where one could be."""
    packages = ", ".join(plugins.listed()) or "none"
    return f"there is none, neither in conf/{folder}/ nor in a package of params.yaml: plugins (listed: {packages})"


def bases(chosen: Choices) -> dict[str, str]:
    """`family/rung` → the `family/rung` that it starts from."""
    return {f"{family}/{name}": base for family in families() for name, base in chosen.bases(family).items()}


def base_problems(chosen: Choices) -> list[str]:
    """Bases that are not listed or of an unsuitable family, cycles, and missing inputs."""
    copied = "; copy it here first (langladder copy)"
    problems = [
        f"given.{name}: {path!r} is not a folder{copied * is_url(path)}: params.yaml" for name, path in _missing(chosen)
    ]
    problems += [line for rung, base in bases(chosen).items() for line in _unfit(chosen, rung, base)]
    for family in families():
        problems += [
            line for name, reads in chosen.reads(family).items() for line in _unread(chosen, family, name, reads)
        ]
    try:
        TopologicalSorter({rung: {base} for rung, base in bases(chosen).items()}).prepare()
    except CycleError as error:
        ring = " → ".join(reversed(error.args[1]))
        key = families()[error.args[1][0].partition("/")[0]].listed
        problems.append(
            f"{key}: rungs start from each other in a cycle, {ring}; give one of them another base: params.yaml"
        )
    return problems


def _missing(chosen: Choices) -> list[tuple[str, str]]:
    return [(name, path) for name, path in chosen.given.items() if not (ROOT / path).is_dir()]


def _unfit(chosen: Choices, rung: str, base: str) -> Iterator[str]:
    own, _, name = rung.partition("/")
    family, _, wanted = base.partition("/")
    key = f"{families()[own].listed}.{name}.base: {base!r}"
    allowed = families()[own].bases
    if family not in allowed:
        yield f"{key}: the base of a rung of {own} must be one of {', '.join(allowed)}; change it in params.yaml"
    elif wanted not in (those := list(chosen.given) if family == IMPORTED else chosen.rungs(family)):
        listed = IMPORTED if family == IMPORTED else families()[family].listed
        there = f": {', '.join(those)}" if those else ""
        yield f"{key} is not listed in {listed}{there}; list it there, or name another: params.yaml"


def _unread(chosen: Choices, family: str, name: str, reads: str) -> Iterator[str]:
    """Additional inputs of a rung that do not exist and that no job makes."""
    beside = families()[family].beside
    key = f"{families()[family].listed}.{name}.reads: {reads!r}"
    folder = next((name for name in beside if reads == name or reads.startswith(f"{name}/")), None)
    wanted = reads.removeprefix(f"{folder}/") if folder else ""
    if folder is None or (reads == folder) == bool(beside[folder]):
        allowed = ", ".join(f"{name}/…" if of else name for name, of in beside.items())
        yield f"{key}: a rung of {family} must read one of {allowed}; change it in params.yaml"
    elif beside[folder] and wanted not in chosen.rungs(beside[folder]):
        listed = families()[beside[folder]].listed
        yield f"{key}: {wanted!r} is not listed in {listed}; list it there, or name another: params.yaml"


def misfits(chosen: Choices, rung: RungValues) -> list[str]:
    """Rungs that cannot start from their bases: another tokenizer or architecture. Others report other errors."""
    problems = []
    for rung_path, base in bases(chosen).items():
        (own, name), (family, wanted) = rung_path.split("/"), base.split("/")
        key = f"{families()[own].listed}.{name}.base: {base!r}"
        if family == IMPORTED and name in chosen.rungs(own) and wanted in chosen.given:
            problems += _imported_misfits(chosen.given[wanted], own, rung(own, name), f"{key} ({chosen.given[wanted]})")
        if name not in chosen.rungs(own) or family not in families() or wanted not in chosen.rungs(family):
            continue
        speaks, spoken = families()[own].tokens, families()[family].tokens
        if speaks and spoken and speaks != spoken:
            problems.append(f"{key} has another tokenizer ({spoken}, not {speaks}); change it in params.yaml")
            continue
        with suppress(InputError, HydraException):
            if why := families()[own].base_problem(rung(own, name), rung(family, wanted)):
                problems.append(f"{key}: {why}; change it in params.yaml, or {params.display_file(own, name)}")
    return problems


def _imported_misfits(path: str, own: str, settings: Values, key: str) -> list[str]:
    """Why a rung cannot start from the network of a folder; nothing if it can, or the folder does not exist."""
    from langladder.formats.imported import described

    if not (ROOT / path).is_dir():
        return []
    try:
        kind, config = described(Path(path))
    except InputError as error:
        return [f"{key}: {error}"]
    base = {"_target_": f"{kind.__module__}.{kind.__qualname__}", "model": config.model_dump(mode="json")}
    why = families()[own].base_problem(settings, base)
    return [f"{key}: {why}; change it in params.yaml"] if why else []


def phrases_in_folds(family: str, name: str, values: Values, everything: Values) -> str:
    """Why labels cannot be split into folds: phrases of test texts would be in the training data; "" if they can."""
    labelled = families()[family].side == "labels" and values.get("folds", 1) != 1
    if not labelled or not everything["labels"].get("source", {}).get("phrases"):
        return ""
    return (
        f"{family}.{name}: folds={values['folds']} with labels that use the phrases of training trees as texts "
        "(phrases: true): phrases of test texts would be in the training data; choose labels without phrases, or set "
        "folds to 1: params.yaml"
    )


def linked_outputs() -> list[str]:
    """Folders with outputs of dvc.yaml below them that are links.

    DVC removes the outputs of a stage before the stage runs, also behind a link; git has no files behind one.
    """
    paths = [PurePosixPath(out) for stage in plan.declared() for out in plan.outputs_of(stage)]
    folders = sorted({str(folder) for path in paths for folder in path.parents} - {"."})
    return [
        f"{folder}: a link to {(ROOT / folder).readlink()}, and no output may be behind a link, because DVC empties it "
        "there; remove the link. docs/stages.md says how outputs can be on another disk"
        for folder in folders
        if (ROOT / folder).is_symlink()
    ]


def broken_links(paths: Mapping[str, str]) -> list[str]:
    """Broken links at or below the paths of params.yaml.

    DVC reads every file below a path that it tracks, and fails at a broken link with a bare system error.
    """
    problems = []
    for key, path in paths.items():
        if not is_url(path) and (broken := [link for link in _links(Path(path)) if not link.exists()]):
            more = f" (and {len(broken) - 1:,} more)" if len(broken) > 1 else ""
            problem = f"{broken[0]} is a link to {broken[0].readlink()}, which does not exist"
            problems.append(f"paths.{key}: {problem}{more}; fix the link, or remove it")
    return problems


def _links(path: Path) -> list[Path]:
    """The links at or below a path."""
    below = (Path(folder, name) for folder, folders, files in os.walk(path) for name in sorted([*folders, *files]))
    return [entry for entry in (path, *below) if entry.is_symlink()]
