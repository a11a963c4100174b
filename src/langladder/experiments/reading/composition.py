"""Trees against sequences by length of composition (Tai et al. 2015, section 6.1; Bowman et al. 2015, "Tree-Structured
Composition in Neural Networks without Tree-Structured Architectures").

Reviews of microworld's grammar, labelled from very negative to very positive. What the whole says is put together from
its parts by `drawn_reviews.operators`: "doubts that the film was not boring, but moving" has three. The networks see
reviews with few of them and are measured on those with as many, and with more. The trees are given, and are right.
"""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator

from langladder.corpora.lexicon import Size
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.reading.drawn_reviews import drawn_reviews, operators
from langladder.experiments.reading.reading_training import ReadingConfig, Texts, fitted, majority, right_labels
from langladder.experiments.statistics import above, difference, every, gated, mean, spread
from langladder.ground import schema
from langladder.text.labelled.labelled import Example

LABELS = list("01234")
ENOUGH = 20
"""Test reviews of a number of operators below which effort takes none away."""
AT_ONCE = 500


class CompositionConfig(ReadingConfig, RepeatedConfig):
    """Settings of `Composition`."""

    tree: str  # of the rungs: what reads trees
    sequence: str  # what it is compared with
    longest: int = Field(default=7, ge=1, le=8)  # operators of the test reviews
    trained: int = Field(default=3, ge=0)  # operators of the training reviews at most
    train_texts: int = Field(default=3000, ge=8)
    each: int = Field(default=100, ge=8)  # test reviews of each number of operators, at effort 1 and above
    world: Size = "small"
    margin: float = Field(default=0.01, ge=0)  # of the accuracy

    @model_validator(mode="after")
    def _fit(self) -> Self:
        for key in ("tree", "sequence"):
            if getattr(self, key) not in self.rungs:
                raise ValueError(f"{key}={getattr(self, key)!r} is none of the rungs; allowed: {', '.join(self.rungs)}")
        if self.trained >= self.longest:
            raise ValueError(f"trained={self.trained}, longest={self.longest}: some test reviews must be longer")
        return self


Found = Mapping[str, Mapping[int, list[float]]]
"""Title → operators → accuracy, a value a seed."""


class Composition(Experiment[CompositionConfig]):
    """Accuracy by number of operators, a line a rung."""

    Config: ClassVar[type[schema.Config]] = CompositionConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`. It makes its own data."""
        del data
        config, before = self.config, set[str]()
        test = self._tests(before)
        train = self._short(max(ENOUGH, config.fewer(config.train_texts)), 1, before)
        validation = self._short(max(ENOUGH, config.fewer(config.train_texts) // 8), 2, before)
        found: dict[str, dict[int, list[float]]] = {}
        for rung in config.rungs.values():
            by = found.setdefault(rung.title, {number: [] for number in test})
            for one in config.numbers(seed):
                texts = Texts(LABELS, train, validation, [])
                training = config.training_of(rung) if rung.training else None
                model = fitted(rung, texts, training, seed=one)
                for number, reviews in test.items():
                    by[number].append(float(right_labels(model, reviews).mean()))
            said = ", ".join(f"{number}: {mean(values):.1%}" for number, values in by.items())
            progress(f"{rung.title}: right by operators {said}")
        titles = [config.rungs[name].title for name in (config.tree, config.sequence)]
        frequent = majority([review for number in range(config.trained + 1) for review in test[number]])
        how = {"tree": titles[0], "sequence": titles[1]}
        return findings(found, **how, trained=config.trained, frequent=frequent, margin=config.margin)

    def _tests(self, before: set[str]) -> dict[int, list[Example]]:
        """Operators → as many test reviews of each."""
        wanted = max(ENOUGH, self.config.fewer(self.config.each))
        found: dict[int, list[Example]] = {number: [] for number in range(self.config.longest + 1)}
        draw = 0
        while any(len(reviews) < wanted for reviews in found.values()):
            draw += 1
            for review in self._drawn(AT_ONCE, 1000 + draw, before):
                if len(found.get(number := operators(review), range(wanted))) < wanted:
                    found[number].append(review)
        return found

    def _short(self, count: int, seed: int, before: set[str]) -> list[Example]:
        """Reviews with no more operators than are trained on."""
        found: list[Example] = []
        draw = 0
        while len(found) < count:
            draw += 1
            drawn = self._drawn(AT_ONCE, 100_000 * seed + draw, before)
            found += [review for review in drawn if operators(review) <= self.config.trained]
        return found[:count]

    def _drawn(self, count: int, seed: int, before: set[str]) -> list[Example]:
        return drawn_reviews(count, size=self.config.world, seed=seed, degrees=True, before=before)


def findings(found: Found, *, tree: str, sequence: str, trained: int, frequent: float, margin: float) -> Findings:
    """The claim holds where the tree leads beyond what was trained, and by more than within it."""
    numbers = list(found[tree])
    within, beyond = ([n for n in numbers if (n > trained) == far] for far in (False, True))
    lead = {
        name: [_over(found[tree], part, one) - _over(found[sequence], part, one) for one in _seeds(found[tree])]
        for name, part in (("within", within), ("beyond", beyond))
    }
    near, far = mean(lead["within"]), mean(lead["beyond"])
    gates = [
        above([_over(found[title], within, one) for one in _seeds(found[title])], frequent, f"{title} has not learnt:")
        for title in (tree, sequence)
    ]
    further = difference(lead["beyond"], lead["within"])
    verdict = gated(gates, every([difference(lead["beyond"], 0.0).exceeds(margin), further.exceeds(margin)]))
    share = {title: [mean([_over(by, part, one) for one in _seeds(by)]) for part in (within, beyond)]
             for title, by in found.items()}  # fmt: skip
    said = ", ".join(f"{title} {near_:.1%} → {far_:.1%}" for title, (near_, far_) in share.items())
    return Findings(
        **opened(
            verdict,
            f"from reviews with up to {trained} operators, as trained on, to those with {trained + 1} to "
            f"{numbers[-1]}: {said}. {tree} leads {sequence} by {100 * near:+.1f} points, then by {100 * far:+.1f}, "
            f"{further} more.",
        ),
        columns=["reader", *(f"{number} operators" for number in numbers)],
        rows=[[title, *(rounded(mean(by[number])) for number in numbers)] for title, by in found.items()],
        plots=[
            Plot(
                title="Accuracy by number of operators",
                x_label=f"operators (trained on up to {trained})",
                y_label="accuracy",
                series=[
                    series(
                        title,
                        [float(number) for number in numbers],
                        [mean(by[number]) for number in numbers],
                        [spread(by[number]) for number in numbers],
                    )
                    for title, by in found.items()
                ],
            )
        ],
        figures={
            figure(title, name): value
            for title, values in share.items()
            for name, value in zip(("within", "beyond"), values, strict=True)
        },
    )


def _seeds(by: Mapping[int, list[float]]) -> range:
    return range(len(next(iter(by.values()))))


def _over(by: Mapping[int, list[float]], numbers: list[int], seed: int) -> float:
    return mean([by[number][seed] for number in numbers])
