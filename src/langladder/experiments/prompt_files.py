"""Reads a task's file in conf/prompt/ alone, without the other settings, for the command line.

Values that depend on the ladder's size (`${…}`) have their defaults, or are set on the command line.
"""

from pathlib import Path
from typing import Any

import yaml

from langladder.experiments.prompting import PromptTask
from langladder.ground.errors import InputError
from langladder.ground.schema import checked

CONF = Path("conf/prompt")


def read_task(task: str, *, data: Path | None = None, **changes: object) -> PromptTask:
    """The settings of a task.

    Args:
        task: a file, or the name of one in conf/prompt/.
        data: a file of items, instead of the task's source.
        changes: to single settings; None does not change a setting. shots: one number of examples.

    Raises:
        InputError: there is no such file, it is not YAML, or it does not contain a task's settings.
    """
    path = _file(task)
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path}: not YAML ({' '.join(str(error).split())[:200]})") from error
    settings = value.get("settings") if isinstance(value, dict) else None
    if not isinstance(settings, dict):
        raise InputError(f"{path}: has no `settings`; docs/prompting.md shows a task's file")
    settings = _without_references(settings)
    if data is not None:
        settings["source"] = {"kind": "file", "folder": str(data.parent), "file": data.name}
    elif isinstance(settings.get("source"), dict):
        settings["source"] = _completed(settings["source"])
    changes = {key: value for key, value in changes.items() if value is not None}
    if (shots := changes.pop("shots", None)) is not None:
        changes |= {"shots": [shots], "expects": "above chance"}
    return checked(PromptTask, settings | changes, str(path))


def _file(task: str) -> Path:
    named = CONF / f"{task}.yaml"
    for path in (Path(task), named):
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # too long for a file name
            continue
    known = sorted(path.stem for path in CONF.glob("*.yaml"))
    raise InputError(f"{task[:200]}: neither a file nor a task in {CONF}/ ({', '.join(known) or 'none is there'})")


def _without_references(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if not str(value).startswith("${")}


def _completed(source: dict[str, object]) -> dict[str, object]:
    source = _without_references(source)
    if source.get("kind") == "file":
        source = {"folder": "input/prompts"} | source
    return source
