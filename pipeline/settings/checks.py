"""What is wrong with params.yaml and conf/ beyond the schema, found before anything runs, all at once.

Names that are no files of conf/; rungs that grow from what is not there or does not fit; links that lead nowhere. A
base is another rung, family/name, or given/name: a network that was trained elsewhere.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import version
from pathlib import Path

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from langladder.families import families
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url
from langladder.ground.schema import checked_name
from pipeline import INSTALLED, ROOT
from pipeline.settings import params
from pipeline.settings.params import Choices
from pipeline.settings.schema import RungValues
from pipeline.settings.yaml_files import Values, display_path, read_yaml
from pipeline.tracking.lineage import IMPORTED

PRESET = "preset"
"""The group of several choices at once, which only a command line adds: `+preset=quick`."""
PINNED = re.compile(r"(?m)^langladder(?:\[[\w,-]*\])?==([\w.+!-]+)")
FEW = 12  # so many names are all said; of more the nearest


def name_problems(chosen: params.Choices) -> list[str]:
    """What params.yaml names that is not there, or twice; one line each."""
    groups = (*params.GROUPS, *params.LIGHTNING)
    found = [line for group in groups for name in chosen.files(group) for line in _unknown(group, group, name)]
    for group, family in families().items():
        key, listed = family.listed, chosen.rungs(group)
        found += [line for name in dict.fromkeys(listed) for line in _unknown(key, group, name)]
        twice = sorted({name for name in listed if listed.count(name) > 1})
        found += [
            f"{key}: {name!r} is listed {listed.count(name)} times; once is enough: params.yaml" for name in twice
        ]
        found += [line for name in chosen.changes(group) for line in _unknown(f"{group} (changes)", group, name)]
    return found


def unused(chosen: params.Choices) -> list[str]:
    """Changes to rungs that are not listed: allowed, since single runs read them, but nothing of `dvc repro` does."""
    return [
        f"{group}: the changes to {name!r} are read by no job: it is not listed in {family.listed} (params.yaml)"
        for group, family in families().items()
        for name in chosen.changes(group)
        if name not in chosen.rungs(group)
    ]


def known(chosen: params.Choices) -> params.Choices:
    """The choices without the rungs that are not there or stand twice: what is left can be composed and checked."""
    there = {
        group: [name for name in dict.fromkeys(chosen.rungs(group)) if name in params.conf_names(group)]
        for group in families()
    }
    return chosen.with_rungs(there)


def bad_groups(chosen: params.Choices) -> list[str]:
    """Groups of which a name is chosen that has no file: they stay out of a composition (`params.as_config`)."""
    groups = (*params.GROUPS, *params.LIGHTNING)
    return [group for group in groups if {*chosen.files(group)} - {*params.conf_names(group)}]


def on_command_line(arguments: Sequence[str]) -> list[str]:
    """What overrides such as `lm=lstm,gpt` name that is not there; Hydra's own functions (`glob(*)`) are left to it."""
    found = []
    for argument in arguments:
        if match := re.fullmatch(r"\+?(\w+)=([\w./\\,-]+)", argument):
            group, value = match.groups()
            if params.conf_names(group):
                found += [
                    line for name in value.split(",") for line in _unknown(group, group, name, "on the command line")
                ]
    return found


def top_keys() -> set[str]:
    """The keys that a whole composition may have at its top."""
    stated = read_yaml(params.conf_path("config.yaml"))
    groups = {PRESET} | {group for entry in stated["defaults"] if isinstance(entry, dict) for group in entry}
    return groups | {*stated} | {*families()} | {*params.LIGHTNING}


def conf_problems() -> list[str]:
    """Files of conf/ that are not YAML, say a key twice, or bear a name that no rung or choice may have."""
    found = []
    for file in [file for folder in params.conf_folders() for file in sorted(folder.rglob("*.yaml"))]:
        if file.name.startswith("."):
            continue
        try:
            checked_name(file.stem)
        except ValueError as error:
            found.append(f"{display_path(file)}: {file.stem!r} cannot be a name: {error}; rename the file")
        try:
            read_yaml(file)
        except InputError as error:
            found += str(error).splitlines()
    return found


def other_version() -> list[str]:
    """What is wrong where a project without code of its own names another version of langladder than is installed."""
    file = ROOT / "requirements.txt"
    if INSTALLED is None or not file.is_file():
        return []
    installed, named = version("langladder"), PINNED.search(file.read_text(encoding="utf-8"))
    if not named or named[1] == installed:
        return []
    return [
        f"requirements.txt: langladder=={named[1]}, but {installed} is installed: pip install the former, or have "
        "`langladder new --update .` write requirements.txt and dvc.yaml for the latter"
    ]


def warn(lines: Iterable[str]) -> None:
    """To the error stream, one line each."""
    for line in lines:
        print(f"warning: {line}", file=sys.stderr)


def _unknown(key: str, group: str, name: str, where: str = "in params.yaml") -> list[str]:
    names = params.conf_names(group)
    if name in names:
        return []
    near = get_close_matches(name.rpartition("/")[2], names, n=3, cutoff=0.5)
    if near:
        say = f"the nearest: {', '.join(near)}; all: conf/{group}/"
    elif len(names) <= FEW:
        say = f"there are {', '.join(names)} (conf/{group}/)"
    else:
        say = f"see conf/{group}/ for what there is"
    return [f"{key}: {name!r} is not a choice: {say}; change it {where}"]


def bases(chosen: Choices) -> dict[str, str]:
    """`family/rung` → the `family/rung` that it grows from."""
    return {f"{family}/{name}": base for family in families() for name, base in chosen.bases(family).items()}


def growth_problems(chosen: Choices) -> list[str]:
    """Bases that are not listed or of a family that cannot be grown from, circles, and what is not there to be read."""
    copied = "; copy it here first (langladder copy)"
    found = [
        f"given.{name}: {path!r} is no folder{copied * is_url(path)}: params.yaml" for name, path in _missing(chosen)
    ]
    found += [line for rung, base in bases(chosen).items() for line in _unfit(chosen, rung, base)]
    for family in families():
        found += [line for name, reads in chosen.reads(family).items() for line in _unread(chosen, family, name, reads)]
    try:
        TopologicalSorter({rung: {base} for rung, base in bases(chosen).items()}).prepare()
    except CycleError as error:
        ring = " → ".join(reversed(error.args[1]))
        key = families()[error.args[1][0].partition("/")[0]].listed
        found.append(
            f"{key}: rungs grow from one another in a circle, {ring}; give one of them another base: params.yaml"
        )
    return found


def _missing(chosen: Choices) -> list[tuple[str, str]]:
    return [(name, path) for name, path in chosen.given.items() if not (ROOT / path).is_dir()]


def _unfit(chosen: Choices, rung: str, base: str) -> Iterator[str]:
    own, _, name = rung.partition("/")
    family, _, wanted = base.partition("/")
    key = f"{families()[own].listed}.{name}.base: {base!r}"
    allowed = families()[own].bases
    if family not in allowed:
        yield f"{key}: a rung of {own} grows from one of {', '.join(allowed)}: family/rung; change it in params.yaml"
    elif wanted not in (those := list(chosen.given) if family == IMPORTED else chosen.rungs(family)):
        listed = IMPORTED if family == IMPORTED else families()[family].listed
        there = f": {', '.join(those)}" if those else ""
        yield f"{key} is not listed in {listed}{there}; list it there, or name another: params.yaml"


def _unread(chosen: Choices, family: str, name: str, reads: str) -> Iterator[str]:
    """What a rung cannot read beside its base: no such folder, or nobody makes it."""
    beside = families()[family].beside
    key = f"{families()[family].listed}.{name}.reads: {reads!r}"
    folder = next((one for one in beside if reads == one or reads.startswith(f"{one}/")), None)
    wanted = reads.removeprefix(f"{folder}/") if folder else ""
    if folder is None or (reads == folder) == bool(beside[folder]):
        allowed = ", ".join(f"{one}/…" if of else one for one, of in beside.items())
        yield f"{key}: a rung of {family} reads one of {allowed}; change it in params.yaml"
    elif beside[folder] and wanted not in chosen.rungs(beside[folder]):
        listed = families()[beside[folder]].listed
        yield f"{key}: {wanted!r} is not listed in {listed}; list it there, or name another: params.yaml"


def misfits(chosen: Choices, rung: RungValues) -> list[str]:
    """Rungs that cannot grow from their bases: other tokens, another architecture. Other faults are said elsewhere."""
    found = []
    for grown, base in bases(chosen).items():
        (own, name), (family, wanted) = grown.split("/"), base.split("/")
        key = f"{families()[own].listed}.{name}.base: {base!r}"
        if family == IMPORTED and name in chosen.rungs(own) and wanted in chosen.given:
            found += _imported_misfits(chosen.given[wanted], own, rung(own, name), f"{key} ({chosen.given[wanted]})")
        if name not in chosen.rungs(own) or family not in families() or wanted not in chosen.rungs(family):
            continue
        speaks, spoken = families()[own].tokens, families()[family].tokens
        if speaks and spoken and speaks != spoken:
            found.append(f"{key} has another tokenizer ({spoken}, not {speaks}); change it in params.yaml")
            continue
        with suppress(InputError, HydraException):
            if why := families()[own].grows(rung(own, name), rung(family, wanted)):
                found.append(f"{key}: {why}; change it in params.yaml, or conf/{own}/{name}.yaml")
    return found


def _imported_misfits(path: str, own: str, settings: Values, key: str) -> list[str]:
    """Why a rung cannot grow from the network of a folder; nothing where it can, or the folder is not there."""
    from langladder.formats.imported import described

    if not (ROOT / path).is_dir():
        return []
    try:
        kind, config = described(Path(path))
    except InputError as error:
        return [f"{key}: {error}"]
    base = {"_target_": f"{kind.__module__}.{kind.__qualname__}", "model": config.model_dump(mode="json")}
    why = families()[own].grows(settings, base)
    return [f"{key}: {why}; change it in params.yaml"] if why else []


def phrases_in_folds(family: str, name: str, values: Values, config: DictConfig) -> str:
    """Why labels cannot be dealt to folds: phrases of what is tested would be trained on; "" where they can."""
    labelled = families()[family].side == "labels" and values.get("folds", 1) != 1
    if not labelled or not OmegaConf.select(config, "labels.source.phrases"):
        return ""
    return (
        f"{family}.{name}: folds={values['folds']} with labels whose training trees give their phrases as texts "
        "(phrases: true): those of a test text would be trained on; choose labels without phrases, or set folds to 1: "
        "params.yaml"
    )


def broken_links(paths: Mapping[str, str]) -> list[str]:
    """What is wrong with links at or below the paths of params.yaml: their target does not exist.

    DVC reads every file below a path that it watches, and ends at such a link with the bare error of the system.
    """
    problems = []
    for key, path in paths.items():
        if not is_url(path) and (broken := [link for link in _links(Path(path)) if not link.exists()]):
            more = f" (and {len(broken) - 1:,} more)" if len(broken) > 1 else ""
            problem = f"{broken[0]} is a link to {broken[0].readlink()}, which does not exist"
            problems.append(f"paths.{key}: {problem}{more}; mend the link, or remove it")
    return problems


def _links(path: Path) -> list[Path]:
    """The links at or below a path."""
    below = (Path(folder, name) for folder, folders, files in os.walk(path) for name in sorted([*folders, *files]))
    return [one for one in (path, *below) if one.is_symlink()]
