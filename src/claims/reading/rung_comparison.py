"""`Comparison` of rungs of the ladder, with variants of the rung, its settings, its training and its inputs.

    bases: [textcnn]                                     rungs, named as in `rungs`; or one name for all variants, if
    variants: {max: {}, mean: {pooling: mean}}           each of these sets its own: {LSTM: {rung: lstm}}

A setting of a variant belongs to the network, to its training, or to `INPUTS`, which subclasses use.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import Field

from claims.comparison import Comparison
from claims.declaration import TRAINING, NetworkComparisonConfig
from claims.reading.rungs import ReadingRung

RUNG = "rung"


class RungComparisonConfig(NetworkComparisonConfig):
    """Settings of `RungComparison`; a mixin of it and an `ExperimentConfig` with `training`."""

    INPUTS: ClassVar[dict[str, type]] = {}
    """Settings of a variant that belong neither to the network nor to its training, and their type."""
    rungs: dict[str, Any]
    bases: list[str] = Field(min_length=1)

    def rung(self, base: str, change: Mapping[str, Any]) -> ReadingRung:
        """The rung of a variant."""
        rung_class: ReadingRung = self.rungs[change.get(RUNG, base)]
        return rung_class

    def variant(self, base: Any, change: Mapping[str, object]) -> tuple[Any, dict[str, object], dict[str, object]]:
        """The rung, changes to its network, and the rest: changes to its training, and its inputs."""
        rung = self.rung(base, change)
        own = {key: value for key, value in change.items() if key in rung.kind.Config.model_fields}
        rest = {key: value for key, value in change.items() if key not in own and key != RUNG}
        return rung, self.model | own, rest

    def extra(self, rest: Mapping[str, object]) -> dict[str, object]:
        """The part of `variant`'s rest that is not a training setting."""
        return {key: value for key, value in rest.items() if key in self.INPUTS}

    def trained(self, rest: Mapping[str, object]) -> dict[str, object]:
        """The part of `variant`'s rest that is a training setting."""
        return {key: value for key, value in rest.items() if key not in self.INPUTS}

    def _check(self, base: Any) -> None:
        for name, change in self.changes().items():
            if (wanted := change.get(RUNG, base)) not in self.rungs:
                raise ValueError(f"{name}: {wanted!r} is not one of the rungs; allowed: {', '.join(self.rungs)}")
            rung, own, rest = self.variant(base, change)
            known = {*rung.kind.Config.model_fields, *(TRAINING if rung.training else ()), *self.INPUTS}
            if unknown := [key for key in {**self.model, **rest} if key not in known]:
                raise ValueError(
                    f"{name}: {unknown[0]!r} is not a setting of {rung.name}; allowed: {', '.join(sorted(known))}"
                )
            for key, value in self.extra(rest).items():
                if not isinstance(value, self.INPUTS[key]):
                    raise ValueError(f"{name}: {key}={value!r} is not allowed (a {self.INPUTS[key].__name__})")
            rung.config(**own)
            if rung.training is not None:
                rung.trained(**self.trained(rest))


C = TypeVar("C", bound=RungComparisonConfig)


class RungComparison(Comparison[C]):
    """See the module docstring."""

    def __init__(self, config: C) -> None:
        super().__init__(config)
        self.titles = {base: config.rungs[base].title if base in config.rungs else base for base in config.bases}
