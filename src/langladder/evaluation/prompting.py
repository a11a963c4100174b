"""Zero-, one- and few-shot prompting: a task in natural language for a language model that is not trained for it.

A prompt is what the task is, k solved examples and an item, whose answer the model is to find (Radford et al. 2019;
Brown et al. 2020, section 2.1). Nothing is learnt: the examples are only read. The answer is the option o with the most

    sum         log P(o | prompt)
    per_token   log P(o | prompt) / tokens of o                     no preference for short options
    calibrated  log P(o | prompt) − log P(o | answer context)       Brown et al. 2020, section 2.4: what announces an
                                                                    answer, by itself
    contextual  log P(o | prompt) − log P(o | prompt, no content)   Zhao et al. 2021, section 4: the same examples, and
                                                                    an item that says "N/A"

or is written by the model itself, the likeliest token at a time, and right where it begins with the right words
(generated). Options that are equally likely share the point.

An order of examples is drawn for each seed; the prompt of k examples holds its first k. Where a prompt is longer than
the model's context, the oldest examples go.

Shape legend: S orders, N items, O options.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.decoding.options import OptionItem, option_item, score_options
from langladder.decoding.sampling import SamplingConfig, generate_batch
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.models.language.language_model import LanguageModel
from langladder.text.labelled.templates import Template, ids_of
from langladder.text.tokenize.tokenizers import Tokenizer

Scoring = Literal["sum", "per_token", "calibrated", "contextual", "generated"]


class Item(NamedTuple):
    """One item of a task: fields of the template, the options in words, and the index of the right one.

    ceiling: the accuracy of the best possible guess, if it is known.
    """

    fields: Mapping[str, str]
    options: tuple[str, ...]
    right: int
    ceiling: float | None = None


class PromptFormat(Config):
    """How a task is put into words."""

    template: str  # of an example: places for its fields, and {answer}
    instruction: str = ""  # the text above all examples
    separator: str = "\n"  # between examples; a line break ends a line
    verbalisers: dict[str, str] = Field(default={})  # label: the words for it; {}: items bring their own options
    scorings: list[Scoring] = Field(default=["sum"], min_length=1)  # the first is the one that is judged and drawn
    score_end: bool = False  # whether the end of the line belongs to an option
    answer_context: str | None = None  # for `calibrated`; null: the template's text between the last field and {answer}
    content_free: str = "N/A"  # for `contextual`: the content of every field
    max_tokens: int = Field(default=20, ge=1, le=1000)  # of `generated`

    @model_validator(mode="after")
    def _can_be_rendered(self) -> Self:
        try:
            template = Template(self.template)
        except InputError as error:
            raise ValueError(str(error)) from error
        words = list(self.verbalisers.values())
        if twice := [word for word in words if words.count(word) > 1]:
            raise ValueError(f"verbalisers: {twice[0]!r} is used for two labels; every label needs different words")
        if len(words) == 1 or not all(word.strip() for word in words):
            raise ValueError(f"verbalisers: {words}; needs two or more labels, each with words")
        if "calibrated" in self.scorings and template.fields_after:
            raise ValueError(
                f"scorings: calibrated needs the probability of an option by itself, but {template.fields_after} come "
                "after {answer} in the template; allowed: sum, per_token, contextual"
            )
        return self


class Shots(NamedTuple):
    """What was measured with k examples.

    Attributes:
        shots: k.
        used: examples in the prompts in the mean: fewer where a context is too short.
        right: scoring → (S, N), 1 where the item is right, 1/m where m equally likely options share the point.
        cut: items whose prompt was too long without any example; their oldest words were out of sight.
    """

    shots: int
    used: float
    right: Mapping[str, np.ndarray]
    cut: int


class Prompter:
    """A model, a tokenizer and a task's words: what asks."""

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer, form: PromptFormat) -> None:
        self.model, self.tokenizer, self.form, self.template = model, tokenizer, form, Template(form.template)
        self.context: int | None = getattr(model, "context", None)

    def prompt(self, examples: Sequence[Item], item: Mapping[str, str]) -> str:
        """The text before an answer."""
        return self.beginning(examples) + self.template.context(item)

    def beginning(self, examples: Sequence[Item]) -> str:
        """What stands before an item: the instruction and the solved examples."""
        parts = [self.form.instruction] if self.form.instruction else []
        parts += [self.template.whole(example.fields, example.options[example.right]) for example in examples]
        return "".join(part + self.form.separator for part in parts)

    def measure(self, items: Sequence[Item], orders: Sequence[Sequence[Item]], shots: int) -> Shots:
        """All items with the first `shots` examples of every order; one order is enough without examples."""
        rows = [self._order(items, order[:shots]) for order in (orders if shots else orders[:1])]
        return Shots(
            shots=shots,
            used=float(np.mean([used for _, used, _ in rows])),
            right={scoring: np.stack([right[scoring] for right, _, _ in rows]) for scoring in self.form.scorings},
            cut=max(cut for _, _, cut in rows),
        )

    def scores(self, items: Sequence[Item], examples: Sequence[Item] = ()) -> dict[str, list[np.ndarray]]:
        """Scoring → for each item the figures (O,) that its options are chosen by, without `generated`."""
        return self._scores(items, examples, *self._fitting(items, examples))

    def _scores(
        self, items: Sequence[Item], examples: Sequence[Item], prompts: Sequence[OptionItem], kept: Sequence[int]
    ) -> dict[str, list[np.ndarray]]:
        log_probs: list[np.ndarray] = [np.zeros(0)] * len(prompts)
        for count in set(kept):  # with the same number of examples, their prompts have the same beginning
            indices = [index for index, number in enumerate(kept) if number == count]
            for index, values in zip(indices, score_options(self.model, [prompts[p] for p in indices]), strict=True):
                log_probs[index] = values
        scores: dict[str, list[np.ndarray]] = {}
        for scoring in self.form.scorings:
            if scoring == "sum":
                scores[scoring] = log_probs
            elif scoring == "per_token":
                lengths = [np.array([len(option) for option in prompt.options]) for prompt in prompts]
                scores[scoring] = [values / n for values, n in zip(log_probs, lengths, strict=True)]
            elif scoring != "generated":
                alone = self._alone(items, examples, kept, contextual=scoring == "contextual")
                scores[scoring] = [_less(values, other) for values, other in zip(log_probs, alone, strict=True)]
        return scores

    def _order(self, items: Sequence[Item], examples: Sequence[Item]) -> tuple[dict[str, np.ndarray], float, int]:
        prompts, kept = self._fitting(items, examples)
        right = {
            scoring: np.array([share(values, item.right) for values, item in zip(figures, items, strict=True)])
            for scoring, figures in self._scores(items, examples, prompts, kept).items()
        }
        if "generated" in self.form.scorings:
            right["generated"] = self._generated(items, prompts)
        cut = sum(not self._fits(prompt) for prompt in prompts)
        return right, float(np.mean(kept)), cut

    def _generated(self, items: Sequence[Item], prompts: Sequence[OptionItem]) -> np.ndarray:
        how = SamplingConfig(strategy="greedy", max_tokens=self.form.max_tokens)
        new = generate_batch(self.model, [prompt.context.tolist() for prompt in prompts], how)
        right = []
        for item, prompt, ids in zip(items, prompts, new, strict=True):
            answer = item.options[item.right].split()
            # the line's last tokens may be part of the answer's first word: told from the whole text
            known = self.tokenizer.decode(prompt.context.tolist())
            generated = self.tokenizer.decode([*prompt.context.tolist(), *ids])[len(known) :].split()
            right.append(generated[: len(answer)] == answer)
        return np.array(right, dtype=np.float64)

    # ---- texts to tokens ------------------------------------------------------------------------------------------

    def _fitting(self, items: Sequence[Item], examples: Sequence[Item]) -> tuple[list[OptionItem], list[int]]:
        """Every item after as many of the last examples as fit into the context, and the number of these."""
        kept = [len(examples)] * len(items)
        prompts: list[OptionItem | None] = [None] * len(items)
        for count in range(len(examples), -1, -1):
            open_ = [index for index, number in enumerate(kept) if number == count and prompts[index] is None]
            if not open_:
                continue
            beginning = self.beginning(examples[len(examples) - count :])
            texts = [(items[index].fields, items[index].options) for index in open_]
            for index, item in zip(open_, self._tokenized(beginning, texts), strict=True):
                if count and not self._fits(item):
                    kept[index] = count - 1
                else:
                    prompts[index] = item
        return [prompt for prompt in prompts if prompt is not None], kept

    def _fits(self, item: OptionItem) -> bool:
        return self.context is None or len(item.context) + max(map(len, item.options)) - 1 <= self.context

    def _tokenized(self, beginning: str, items: Sequence[tuple[Mapping[str, str], Sequence[str]]]) -> list[OptionItem]:
        """Items after one beginning, whose whole lines are cut into tokens once."""
        closed, line, open_ = beginning.rpartition("\n")
        first = ids_of(self.tokenizer, [closed], closed=True)[0] if line else np.zeros(0, dtype=np.int32)
        texts: list[str] = []
        for fields, options in items:
            texts += [open_ + self.template.whole(fields, option) for option in options]
        contexts = [(open_ + self.template.context(fields)).rstrip(" ") for fields, _ in items]
        wholes = iter(ids_of(self.tokenizer, texts, closed=self.form.score_end))
        before = ids_of(self.tokenizer, contexts)
        results = []
        for context, (_, options) in zip(before, items, strict=True):
            item = option_item([next(wholes) for _ in options], context)
            results.append(OptionItem(np.concatenate([first, item.context]), item.options))
        return results

    def _alone(
        self, items: Sequence[Item], examples: Sequence[Item], kept: Sequence[int], *, contextual: bool
    ) -> list[np.ndarray]:
        """log P of each item's options without the content of the item."""
        scores: dict[tuple[int, str], float] = {}
        for count in sorted(set(kept)) if contextual else [0]:
            chosen = [item for item, number in zip(items, kept, strict=True) if not contextual or number == count]
            options = list(dict.fromkeys(option for item in chosen for option in item.options))
            if contextual:
                beginning = self.beginning(examples[len(examples) - count :])
                content_free = dict.fromkeys(self.template.fields, self.form.content_free)
                prompts = self._tokenized(beginning, [(content_free, options)])
            else:
                prompts = self._announced(options)
            scored = score_options(self.model, prompts)[0]
            scores |= {(count, option): float(value) for option, value in zip(options, scored, strict=True)}
        return [
            np.array([scores[number if contextual else 0, option] for option in item.options])
            for item, number in zip(items, kept, strict=True)
        ]

    def _announced(self, options: Sequence[str]) -> list[OptionItem]:
        """The options after the answer context alone."""
        context_setting = self.form.answer_context
        announced = self.template.answer_context() if context_setting is None else context_setting
        ending = self.template.whole(dict.fromkeys(self.template.fields, ""), "\0").rpartition("\0")[2]
        texts = [f"{announced} {option}{ending}".strip(" ") for option in options]
        wholes = ids_of(self.tokenizer, texts, closed=self.form.score_end)
        context = ids_of(self.tokenizer, [announced.strip(" ")])[0]
        return [option_item(wholes, context)]


def share(figures: np.ndarray, right: int) -> float:
    """The point for an item: 1 where the right option has the most, shared between those that have as much."""
    best = np.flatnonzero(figures == figures.max())
    return 1 / len(best) if right in best else 0.0


def _less(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """log P − log P₀; −∞ if both are −∞."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(values), -np.inf, values - other)


def chance(items: Sequence[Item]) -> float:
    """The share of items that a blind guess gets right."""
    return float(np.mean([1 / len(item.options) for item in items]))


def majority(items: Sequence[Item]) -> float | None:
    """The share of the most frequent right answer, where all items have the same options."""
    if len({item.options for item in items}) > 1:
        return None
    return float(np.bincount([item.right for item in items]).max()) / len(items)


def ceiling(items: Sequence[Item]) -> float | None:
    """The accuracy of the best possible guess; None if it is unknown."""
    known = [item.ceiling for item in items if item.ceiling is not None]
    return float(np.mean(known)) if len(known) == len(items) else None


def orders(pool: Sequence[Item], count: int, shots: int, seed: int) -> list[list[Item]]:
    """`count` orders of examples, each with its own `shots` examples from the pool."""
    drawn: list[list[Item]] = []
    for number in range(count):
        random = np.random.default_rng([seed, number])
        drawn.append([pool[index] for index in random.permutation(len(pool))[:shots].tolist()])
    return drawn
