"""Which rung grows from which, as params.yaml says it: checked before anything runs, all problems at once.

A base is another rung, family/name, or given/name: a network that was trained elsewhere.
"""

from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from hydra.errors import HydraException

from langladder.families import families
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url
from pipeline import ROOT
from pipeline.provenance.lineage import GIVEN
from pipeline.settings.jobs import RungValues
from pipeline.settings.params import Choices


def bases(chosen: Choices) -> dict[str, str]:
    """`family/rung` → the `family/rung` that it grows from."""
    return {f"{family}/{name}": base for family in families() for name, base in chosen.bases(family).items()}


def problems(chosen: Choices) -> list[str]:
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
    elif wanted not in (those := list(chosen.given) if family == GIVEN else chosen.rungs(family)):
        listed = GIVEN if family == GIVEN else families()[family].listed
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
        if family == GIVEN and name in chosen.rungs(own) and wanted in chosen.given:
            found += _given_misfits(chosen.given[wanted], own, rung(own, name), f"{key} ({chosen.given[wanted]})")
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


def _given_misfits(path: str, own: str, settings: dict[str, Any], key: str) -> list[str]:
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
