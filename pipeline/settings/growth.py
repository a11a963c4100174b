"""Which rung grows from which, as params.yaml says it: checked before anything runs, all problems at once."""

from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from hydra.errors import HydraException

from langladder.errors import InputError
from langladder.families import families
from pipeline.settings.jobs import RungValues
from pipeline.settings.params import Choices


def bases(chosen: Choices) -> dict[str, str]:
    """`family/rung` → the `family/rung` that it grows from."""
    return {f"{family}/{name}": base for family in families() for name, base in chosen.bases(family).items()}


def problems(chosen: Choices) -> list[str]:
    """Bases that are not listed or of a family that cannot be grown from, and rungs that grow in a circle."""
    found = [line for rung, base in bases(chosen).items() for line in _unfit(chosen, rung, base)]
    try:
        TopologicalSorter({rung: {base} for rung, base in bases(chosen).items()}).prepare()
    except CycleError as error:
        ring = " → ".join(reversed(error.args[1]))
        key = families()[error.args[1][0].partition("/")[0]].listed
        found.append(
            f"{key}: rungs grow from one another in a circle, {ring}; give one of them another base: params.yaml"
        )
    return found


def _unfit(chosen: Choices, rung: str, base: str) -> Iterator[str]:
    own, _, name = rung.partition("/")
    family, _, wanted = base.partition("/")
    key = f"{families()[own].listed}.{name}.base: {base!r}"
    allowed = families()[own].bases
    if family not in allowed:
        yield f"{key}: a rung of {own} grows from one of {', '.join(allowed)}: family/rung; change it in params.yaml"
    elif wanted not in chosen.rungs(family):
        listed = families()[family].listed
        there = f": {', '.join(chosen.rungs(family))}" if chosen.rungs(family) else ""
        yield f"{key} is not listed in {listed}{there}; list it there, or name another: params.yaml"


def misfits(chosen: Choices, rung: RungValues) -> list[str]:
    """Rungs that cannot grow from their bases: other tokens, another architecture. Other faults are said elsewhere."""
    found = []
    for grown, base in bases(chosen).items():
        (own, name), (family, wanted) = grown.split("/"), base.split("/")
        if name not in chosen.rungs(own) or family not in families() or wanted not in chosen.rungs(family):
            continue
        key = f"{families()[own].listed}.{name}.base: {base!r}"
        speaks, spoken = families()[own].tokens, families()[family].tokens
        if speaks and spoken and speaks != spoken:
            found.append(f"{key} has another tokenizer ({spoken}, not {speaks}); change it in params.yaml")
            continue
        with suppress(InputError, HydraException):
            if why := families()[own].grows(rung(own, name), rung(family, wanted)):
                found.append(f"{key}: {why}; change it in params.yaml, or conf/{own}/{name}.yaml")
    return found
