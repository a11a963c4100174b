"""Names of choices: what params.yaml and the command line name must be files of conf/. All that are not, at once."""

import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from langladder.families import families
from langladder.ground.errors import InputError
from langladder.ground.schema import checked_name
from pipeline import ROOT
from pipeline.settings import params
from pipeline.settings.yaml_files import read_yaml

FEW = 12  # so many names are all said; of more the nearest


def problems(chosen: params.Choices) -> list[str]:
    """What params.yaml names that is not there, or twice; one line each."""
    found = [line for group in params.GROUPS for line in _unknown(group, group, getattr(chosen, group))]
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
    """Overrides that keep names without a file out of a composition (`params.overrides`)."""
    return [f"{group}=" for group in params.GROUPS if getattr(chosen, group) not in params.conf_names(group)]


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
    stated = read_yaml(ROOT / "conf" / "config.yaml")
    groups = {group for entry in stated["defaults"] if isinstance(entry, dict) for group in entry}
    return groups | {*stated} | {*families()}


def conf_problems() -> list[str]:
    """Files of conf/ that are not YAML, say a key twice, or bear a name that no rung or choice may have."""
    found = []
    for file in sorted((ROOT / "conf").rglob("*.yaml")):
        if file.name.startswith("."):
            continue
        try:
            checked_name(file.stem)
        except ValueError as error:
            found.append(f"{file.relative_to(ROOT)}: {file.stem!r} cannot be a name: {error}; rename the file")
        try:
            read_yaml(file)
        except InputError as error:
            found += str(error).splitlines()
    return found


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
