"""Probes: claims that are measured on the trained language models of the ladder."""

from collections.abc import Mapping
from typing import Any

from langladder.families.experiment import ExperimentFamily


class ProbeFamily(ExperimentFamily):
    """See `Family`."""

    name = "probe"
    listed = "probes"
    place = 61
    default = "agreement"
    reads = ("data/tokens/text",)
    looks_into = ("lm",)

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """Nothing of its own: all of them read the models and the text."""
        del value
        return {}


FAMILY = ProbeFamily()
