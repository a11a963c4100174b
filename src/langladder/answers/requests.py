"""The settings of each kind of question: names, types, limits, defaults and help (a field's description).

The texts of a question are not part of its request, because they come in batches. This module loads neither torch nor
numpy: the command line reads its options from these classes before it knows which command will run.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from langladder.decoding.limits import (
    BeamWidth,
    Coverage,
    Diversity,
    FewestTokens,
    LengthExponent,
    LengthForm,
    Lookahead,
    MostTokens,
    NewTokens,
    RepetitionPenalty,
    Seed,
    Temperature,
    TopK,
    TopP,
)
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.words.segmentation import WordChoice

if TYPE_CHECKING:
    from langladder.decoding.beam_search import BeamConfig
    from langladder.decoding.sample_translations import SampleConfig
    from langladder.decoding.sampling import SamplingConfig

LARGEST_SEED = 2**32 - 1
MOST_ANSWERS = 1000
MOST_CHOSEN_FROM = 4096
"""Limit of the answers from which a reward model chooses one."""

Shown = Annotated[int, Field(ge=1, le=MOST_ANSWERS)]
SmallSeed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


def sampling_at(temperature: float, **settings: object) -> "SamplingConfig":
    """How tokens are drawn at a temperature; 0: always the likeliest token; values between 0 and 0.01 mean 0.01."""
    from langladder.decoding.sampling import SamplingConfig

    strategy = "sample" if temperature else "greedy"
    drawn_at = max(0.01, temperature or 1.0)  # best-of-n draws even if the strategy is greedy
    return SamplingConfig.model_validate({"strategy": strategy, "temperature": drawn_at, **settings})


class OptionsRequest(Config):
    """Which option is likeliest after a text."""

    options: Sequence[str] = Field(default=(), description="An answer to TEXT; two or more.")
    after: str = Field(default="", description="Text after every answer, such as ' .'")
    calibrate: str | None = Field(
        default=None,
        title="WORDS",
        description="Divide by P(option | WORDS); WORDS introduce an answer without a text.",
    )


class GenerateRequest(Config):
    """How a language model continues a text."""

    greedy: bool = Field(default=False, description="Always take the likeliest token, instead of drawing one.")
    temperature: Temperature = Field(default=1.0, description="Below 1: more likely tokens; above 1: more random ones.")
    top_k: TopK = Field(default=None, description="Draw from the k likeliest tokens.")
    top_p: TopP = Field(default=None, description="Draw from the likeliest tokens whose probabilities add up to this.")
    repetition_penalty: RepetitionPenalty = Field(default=1.0, description="Above 1: repeat less.")
    max_tokens: NewTokens = Field(default=50, description="Maximum number of tokens after the prompt.")
    samples: Shown = Field(default=1, description="Number of texts for each prompt.")
    seed: Seed = Field(default=0, description="Same seed, same texts.")
    draft: Path | None = Field(
        default=None, title="MODEL", description="A faster model of the same tokenizer that proposes tokens."
    )
    lookahead: Lookahead = Field(default=4, description="Tokens that --draft proposes at a time.")

    def sampling(self) -> "SamplingConfig":
        """How tokens are drawn."""
        from langladder.decoding.sampling import SamplingConfig

        strategy: Literal["greedy", "sample"] = "greedy" if self.greedy else "sample"
        return SamplingConfig(strategy=strategy, **self.model_dump(exclude={"greedy", "samples", "draft", "lookahead"}))


class FillRequest(Config):
    """How many words for each gap."""

    best: Shown = Field(default=5, description="Number of words for each gap.")


class TranslateRequest(Config):
    """How translations are searched for, or drawn; see `decoding.beam_search` and `decoding.sample_translations`."""

    beam: BeamWidth = Field(default=5, description="Beam width; 1 is greedy.")
    alpha: LengthExponent = Field(default=0.7, description="Length normalisation.")
    length_form: LengthForm = "power"
    coverage: Coverage = Field(default=0.0, description="Weight of the coverage penalty.")
    n_best: Shown = Field(default=1, description="Number of translations to show.")
    groups: BeamWidth = Field(default=1, description="Number of groups of diverse beam search.")
    diversity: Diversity = Field(default=0.5, description="Penalty between the groups.")
    min_length: FewestTokens = Field(default=1, description="Minimum number of tokens.")
    max_length: MostTokens = Field(default=200, description="Maximum number of tokens.")
    sample: bool = Field(default=False, description="Draw --n-best translations instead of searching.")
    temperature: Temperature = Field(default=1.0, description="Temperature of --sample.")
    top_k: TopK = Field(default=None, description="Draw from the k likeliest tokens (--sample).")
    top_p: TopP = Field(default=None, description="Draw from tokens with this total probability (--sample).")
    seed: SmallSeed = Field(default=0, description="Seed of --sample.")
    attention: bool = Field(default=False, description="Show which source tokens each output token attends to.")

    def search(self) -> "BeamConfig | SampleConfig":
        """How the decoder works.

        Raises:
            InputError: options contradict each other.
        """
        from langladder.decoding.beam_search import BeamConfig
        from langladder.decoding.sample_translations import SampleConfig

        both = {"sample", "attention", "beam"}
        drawing = {"temperature", "top_k", "top_p", "seed"}
        try:
            if self.sample:
                return SampleConfig(samples=self.n_best, **self.model_dump(include={*drawing, "max_length"}))
            return BeamConfig(width=self.beam, **self.model_dump(exclude=both | drawing))
        except ValidationError as error:
            raise InputError("; ".join(str(part["msg"]) for part in error.errors())) from error


class ClassifyRequest(Config):
    """How much to show about a text's label."""

    explain: bool = Field(default=False, description="Show how much each word counts for or against the label.")
    top: int | None = Field(
        default=1,
        ge=1,
        le=MOST_ANSWERS,
        description="Labels to show; for multi-label classifiers, 1 shows the predicted set.",
    )
    """None: all."""


class EvaluateRequest(Config):
    """Where a file has the correct answers."""

    text: str | None = Field(
        default=None,
        title="COLUMN",
        description="Column of the texts, by name or number from 0 [default: text for labelled texts, else the first].",
    )
    label: str | None = Field(
        default=None,
        title="COLUMN",
        description="Column of the labels, tags or translations [default: label for labelled texts, else the second].",
    )
    second: str | None = Field(default=None, title="COLUMN", description="Column of the second text, for pairs.")
    id: str | None = Field(
        default=None,
        title="COLUMN",
        description="Column of the ids of labelled texts, for the table of --out [default: file and line].",
    )
    multi_label: str | None = Field(
        default=None,
        min_length=1,
        max_length=10,
        title="HOW",
        description="For multi-label classifiers, how a text has its labels: list (in jsonl and parquet), or the "
        "separator, for example ;",
    )
    delimiter: str | None = Field(
        default=None,
        min_length=1,
        max_length=1,
        title="CHARACTER",
        description="Character between columns, for example ;",
    )
    encoding: str = Field(default="utf-8", description="Encoding of the file: latin-1, gb18030, utf-16, …")


class TagRequest(Config):
    """What a word is, and how much to show about its tag."""

    explain: bool = Field(default=False, description="Show how likely each tag is, and the second best.")
    words: WordChoice = Field(
        default="whitespace",
        description="What a word is. whitespace: text between spaces; apart: the same, with punctuation at its ends "
        "split off; unicode: a run of letters; jieba, fugashi, pythainlp: as these segment Chinese, Japanese, Thai.",
    )


class AnswerRequest(Config):
    """The options to choose from, and how many answers to give."""

    options: Sequence[str] = Field(
        default=(), description='An option to choose from; give two or more; "" means no answer.'
    )
    best: Shown = Field(default=1, description="Answers to show.")


class NeighboursRequest(Config):
    """How many neighbours to show, and by which measure."""

    count: int = Field(default=10, ge=1, description="Number of neighbours of each word.")
    measure: Literal["cosine", "dot", "euclidean"] = Field(default="cosine", description="Measure of nearness.")


class AnalogyRequest(Config):
    """The number of answers to a : b = c : ?, and the method."""

    count: int = Field(default=5, ge=1, description="Answers to show.")
    method: Literal["add", "mul"] = Field(default="add", description="Method: 3CosAdd or 3CosMul.")
    restrict: int | None = Field(
        default=None, ge=1, description="Only answer with words among this many most frequent ones."
    )


class SimilarityRequest(Config):
    """The measure that ranks pairs."""

    measure: Literal["cosine", "dot", "euclidean"] = Field(
        default="cosine", description="Measure that ranks the pairs of a file."
    )


class ChatRequest(Config):
    """The settings of a dialogue."""

    system: str = Field(default="", description="System text before all turns.")
    forget: bool = Field(default=False, description="Each turn begins a new dialogue.")
    sample: bool = Field(default=False, description="Draw each token instead of taking the likeliest one.")
    temperature: Temperature = Field(default=1.0, description="Sampling temperature.")
    max_tokens: int = Field(default=40, ge=1, le=8192, description="Maximum tokens of an answer.")
    seed: SmallSeed = Field(default=0, description="Seed of the sampling.")
    best_of: int | None = Field(
        default=None,
        title="N",
        ge=1,
        le=MOST_CHOSEN_FROM,
        description="Draw N answers; the reward model of --judge chooses one.",
    )
    judge: Path | None = Field(default=None, title="FOLDER", description="Folder of the reward model that chooses.")

    def sampling(self) -> "SamplingConfig":
        """How tokens are drawn."""
        from langladder.decoding.sampling import SamplingConfig

        return SamplingConfig(
            strategy="sample" if self.sample else "greedy",
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
        )
