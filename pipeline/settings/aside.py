"""What a rung's file says that changes nothing of a stage's result stands aside, unwatched.

`families.family.ASIDE` for all stages, `JUDGING` for those that make models; and where a stage runs: `PLACE`.
"""

from collections.abc import Mapping
from copy import deepcopy
from functools import reduce
from typing import Any

from langladder.families import families
from langladder.families.family import ASIDE, JUDGING

Values = dict[str, Any]

PLACE = ("engine", "memory")
"""Where a stage works on the corpus, and with how much memory: the same bytes come out."""


def split_aside(values: Mapping[str, Any], *, makes: bool) -> tuple[Values, Values]:
    """A job's values without what changes nothing of its result, and that alone, family by family.

    Args:
        makes: whether its stage makes models, as `plan.Stage.makes`.
    """
    watched, aside = dict(values), {}
    for key in PLACE:
        if key in watched:
            aside[key] = watched.pop(key)
    for family in families():
        if family in values:
            watched[family] = dict(values[family])
            for key in ASIDE + JUDGING if makes else ASIDE:
                *parts, last = key.split(".")
                source: Any = values[family]
                target = watched[family]
                for part in parts:
                    source = source.get(part) or {}
                    if source:
                        target[part] = dict(target[part])
                        target = target[part]
                if last in source:
                    aside[f"{family}.{key}"] = target.pop(last)
    return watched, aside


def with_aside(values: Mapping[str, Any]) -> Values:
    """The values whole again."""
    whole = deepcopy({key: value for key, value in values.items() if key != "aside"})
    for key, value in values.get("aside", {}).items():
        *parts, last = key.split(".")
        reduce(lambda found, part: found.setdefault(part, {}), parts, whole)[last] = value
    return whole
