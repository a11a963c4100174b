"""One matrix for reading and writing words (Press & Wolf 2017; Inan, Khosravi & Socher 2017).

tied      P(next) = softmax(E h + b)     E (V, D) is also the embedding:    V · D parameters
untied    P(next) = softmax(W h + b)     W apart from E:                  2 V · D parameters
"""

from typing import ClassVar

from pydantic import Field

from langladder import schema
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.small_models import TITLES, Network, Outcome, TextConfig, fit, small_model
from langladder.experiments.statistics import mean, spread

ALIKE = 1.01  # perplexities within this factor are called alike


class WeightTyingConfig(TextConfig):
    """Settings of `WeightTying`."""

    networks: list[Network] = Field(default=["lstm", "gpt"], min_length=1)
    seeds: int = Field(default=2, ge=1)


class WeightTying(Experiment[WeightTyingConfig]):
    """Parameters and perplexity with and without tied weights."""

    Config: ClassVar[type[schema.Config]] = WeightTyingConfig
    reads = ("tokens/text",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config, found = self.config, {}
        for name in config.networks:
            for tied in (True, False):
                kind, settings = small_model(name, config)
                settings["tie_weights"] = tied
                seeds = range(seed, seed + config.fewer(config.seeds))
                found[name, tied] = [fit(kind, settings, data, config, seed=number) for number in seeds]
                perplexity = mean([outcome.perplexity for outcome in found[name, tied]])
                progress(f"{TITLES[name]}, {'tied' if tied else 'untied'}: perplexity {perplexity:.2f}")
        return findings(found)


def findings(found: dict[tuple[Network, bool], list[Outcome]]) -> Findings:
    """The claim holds where every network spares parameters and its perplexity does not rise."""
    names = list(dict.fromkeys(name for name, _ in found))
    values = {key: [outcome.perplexity for outcome in outcomes] for key, outcomes in found.items()}
    sizes = {key: outcomes[0].parameters for key, outcomes in found.items()}
    change = {name: mean(values[name, True]) / mean(values[name, False]) for name in names}
    spared = {name: 1 - sizes[name, True] / sizes[name, False] for name in names}
    holds = all(ratio <= ALIKE for ratio in change.values()) and all(part > 0 for part in spared.values())
    said = ", ".join(
        f"{TITLES[name]} {100 * spared[name]:.0f} % of its parameters, and its perplexity goes from "
        f"{mean(values[name, False]):.2f} to {mean(values[name, True]):.2f}"
        for name in names
    )
    titles = [TITLES[name] for name in names]
    table = {
        name: [
            *(float(sizes[name, tied]) for tied in (True, False)),
            *(mean(values[name, tied]) for tied in (True, False)),
        ]
        for name in names
    }
    return Findings(
        holds=holds,
        verdict=opened(holds, f"tying spares {said}."),
        columns=["network", "parameters tied", "parameters untied", "perplexity tied", "perplexity untied"],
        rows=[[TITLES[name], *map(rounded, cells)] for name, cells in table.items()],
        plots=[
            Plot(
                title="Weight tying",
                x_label="network",
                y_label="perplexity a token (test)",
                series=[
                    series(
                        "tied" if tied else "untied",
                        titles,
                        [mean(values[name, tied]) for name in names],
                        [spread(values[name, tied]) for name in names],
                    )
                    for tied in (True, False)
                ],
            )
        ],
        figures={f"{name}_perplexity_ratio": rounded(ratio) or 0.0 for name, ratio in change.items()},
    )
