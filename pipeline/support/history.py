"""When each rung and claim came into the world: the `year` of its file in conf/, and so its place in the report.

The year is said for the reader alone: it is in no job's settings but the report's, so that mending one trains nothing.
"""

from collections.abc import Iterable, Mapping

from langladder.errors import InputError
from pipeline.support import choices
from pipeline.support.problems import explain, gather
from pipeline.support.schemas import Dated
from pipeline.support.yaml_files import read_yaml


def year(group: str, name: str) -> int:
    """The year that conf/<group>/<name>.yaml itself says; a variant does not take that of the file that it builds on.

    Raises:
        InputError: it is missing or not a year.
    """
    said = read_yaml(choices.conf_file(group, name))
    with explain(file_of=lambda _: f"conf/{group}/{name}.yaml", prefix=(group,)):
        return Dated.model_validate({key: value for key, value in said.items() if key == "year"}).year


def years(rungs: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
    """Ladder → rung → year, in order of history; those of one year in the order in which they are listed.

    Raises:
        InputError: every rung without a year, at once.
    """
    found: dict[str, dict[str, int]] = {}
    problems = []
    for group, names in rungs.items():
        dated = {}
        for name in names:
            try:
                dated[name] = year(group, name)
            except InputError as error:
                problems.append(str(error))
        found[group] = dict(sorted(dated.items(), key=lambda item: item[1]))
    if problems:
        raise gather(problems)
    return found


def titles(chosen: choices.Choices, rungs: Mapping[str, Iterable[str]]) -> dict[str, dict[str, str]]:
    """Ladder → rung → what people call it, by params.yaml or its own file in conf/."""
    return {
        group: {
            name: getattr(chosen, group).get(name, {}).get("title")
            or read_yaml(choices.conf_file(group, name)).get("title", name)
            for name in names
        }
        for group, names in rungs.items()
    }
