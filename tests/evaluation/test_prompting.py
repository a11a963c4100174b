"""Prompting: goldens by hand with a model whose probabilities are written down, truncation, intervals, bad settings."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from langladder.evaluation.prompting import (
    Item,
    Prompter,
    PromptFormat,
    ceiling,
    chance,
    majority,
    orders,
    share,
)
from langladder.evaluation.significance import crossed_interval
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

WORDS = ["the", "film", "book", "was", "dull", "fine", "it", "very", "good", "bad", "N/A"]
TOKENIZER: Tokenizer = train_tokenizer(WORDS, TokenizerConfig(kind="word", vocab_size=None))
REVIEW = Item({"text": "the film was dull"}, ("good", "bad"), 1)


class ByHand(LanguageModel):
    """P(word | words before it in the text), by a few rules; 0.1 where none says otherwise."""

    def __init__(self, context: int | None = None) -> None:
        super().__init__(Config(), TOKENIZER.vocab_size)
        self.context = context

    def probability(self, word: str, before: Sequence[str]) -> float:
        after_was = before[-2:] == ["it", "was"]
        if not after_was:
            return {("very", "bad"): 0.9}.get((before[-1] if before else "", word), 0.1)
        if "good" in before:  # an example has shown it
            return {"good": 0.8, "bad": 0.05 if "N/A" in before else 0.1}.get(word, 0.01)
        if "dull" in before:
            return {"good": 0.5, "bad": 0.3, "very": 0.4}.get(word, 0.01)
        return {"good": 0.6, "bad": 0.2}.get(word, 0.01)

    def log_probs(self, tokens: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(tokens.shape)
        for row, ids in enumerate(tokens.tolist()):
            words = [TOKENIZER.name(token) for token in ids]
            for index, word in enumerate(words):
                if not word.startswith("<"):
                    before = [word for word in words[:index] if not word.startswith("<")]
                    scores[row, index] = math.log(self.probability(word, before))
        return scores

    def next_log_probs(self, prefix: torch.Tensor) -> torch.Tensor:
        words = torch.tensor([[*row, token] for row in prefix.tolist() for token in range(self.vocab_size)])
        result = self.log_probs(words)[:, -1].view(len(prefix), self.vocab_size)
        result[:, :4] = -math.inf  # the specials
        return result

    def number_of_parameters(self) -> int:
        return 0

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def prompter(model: LanguageModel | None = None, **form: Any) -> Prompter:
    settings = {"template": "{text} it was {answer}"} | form
    return Prompter(model or ByHand(), TOKENIZER, PromptFormat.model_validate(settings))


def test_golden_sum_and_calibrated() -> None:
    """P(good | …) = 0.5 and P(bad | …) = 0.3; announced by "it was" alone 0.6 and 0.2: good leads, bad has gained."""
    scores = prompter(scorings=["sum", "calibrated"]).scores([REVIEW])
    assert scores["sum"][0] == pytest.approx([math.log(0.5), math.log(0.3)], abs=1e-6)
    assert scores["calibrated"][0] == pytest.approx([math.log(0.5 / 0.6), math.log(0.3 / 0.2)], abs=1e-6)
    assert scores["calibrated"][0] == pytest.approx([-0.1823216, 0.4054651], abs=1e-6)


def test_golden_the_option_that_scores_best_is_chosen_whichever_is_right() -> None:
    """By sum good leads, calibrated bad does: of an item whose right one is bad, and of one whose right one is good."""
    result = prompter(scorings=["sum", "calibrated"]).measure([REVIEW, REVIEW._replace(right=0)], [[]], 0)
    assert result.right["sum"].tolist() == [[0.0, 1.0]]
    assert result.right["calibrated"].tolist() == [[1.0, 0.0]]


def test_golden_contextual() -> None:
    """After an example that shows "good": 0.8 and 0.1; the same example with N/A in the item's place: 0.8 and 0.05."""
    example = Item({"text": "the book was fine"}, ("good", "bad"), 0)
    scores = prompter(scorings=["contextual", "sum"]).scores([REVIEW], [example])
    assert scores["sum"][0] == pytest.approx([math.log(0.8), math.log(0.1)], abs=1e-6)
    assert scores["contextual"][0] == pytest.approx([0.0, math.log(2)], abs=1e-6)


def test_golden_per_token() -> None:
    """ "very bad" has 0.4 · 0.9 = 0.36 against 0.5 for "good", but √0.36 = 0.6 a token."""
    item = REVIEW._replace(options=("good", "very bad"))
    scores = prompter(scorings=["sum", "per_token"]).scores([item])
    assert scores["sum"][0] == pytest.approx([math.log(0.5), math.log(0.36)], abs=1e-6)
    assert scores["per_token"][0] == pytest.approx([math.log(0.5), math.log(0.6)], abs=1e-6)


def test_golden_generated() -> None:
    """The likeliest word after "it was" is good, with and without the examples."""
    asking = prompter(scorings=["generated"], max_tokens=1)
    items = [REVIEW, REVIEW._replace(right=0)]
    assert asking.measure(items, [[]], 0).right["generated"].tolist() == [[0.0, 1.0]]


def test_an_answer_before_its_text_is_scored_with_the_text() -> None:
    """A noisy channel: all that stands behind the answer counts, and only that."""
    scores = prompter(template="it was {answer} {text}").scores([REVIEW])
    # P(good) = 0.6, P(bad) = 0.2; then four words of 0.1 each
    assert scores["sum"][0] == pytest.approx([math.log(0.6 * 1e-4), math.log(0.2 * 1e-4)], abs=1e-5)


def test_what_prompts_render_to() -> None:
    example = Item({"text": "the book was fine"}, ("good", "bad"), 0)
    plain = prompter()
    assert plain.prompt([], REVIEW.fields) == "the film was dull it was "
    assert plain.prompt([example], REVIEW.fields) == "the book was fine it was good\nthe film was dull it was "
    instructed = prompter(instruction="good or bad ?", separator=" / ")
    assert instructed.prompt([example], REVIEW.fields) == (
        "good or bad ? / the book was fine it was good / the film was dull it was "
    )


@pytest.mark.parametrize("separator", ["\n", " "])
def test_the_oldest_examples_go_where_the_context_is_short(separator: str) -> None:
    """An example has 7 words and 2 marks of a line; rows of 9 and 1 are read up to their last token."""
    examples = [Item({"text": f"the {noun} was fine"}, ("good", "bad"), 0) for noun in ("film", "book", "film")]
    lengths = {}
    for context in (6, 7, 16, 25, 26, 100):
        prompts, kept = prompter(ByHand(context), separator=separator)._fitting([REVIEW], examples)
        lengths[context] = kept[0]
        names = [TOKENIZER.name(token) for token in prompts[0].context.tolist()]
        assert names.count("fine") == kept[0]
        if kept[0] == 2:
            assert names[names.index("the") + 1] == "book"  # the first of three is gone
        if kept[0]:
            assert len(names) <= context  # with the option, whose last token is not read
    assert lengths == {6: 0, 7: 0, 16: 1, 25: 2, 26: 2, 100: 3}


def test_shots_and_orders() -> None:
    """A row an order; without examples one; `used` says how many fitted, `cut` what did not fit without any."""
    pool = [Item({"text": f"the {noun} was fine"}, ("good", "bad"), 0) for noun in ("film", "book", "it", "very")]
    drawn = orders(pool, 3, 2, seed=0)
    assert [len(order) for order in drawn] == [2, 2, 2] and drawn == orders(pool, 3, 2, seed=0)
    assert drawn != orders(pool, 3, 2, seed=1)
    asking = prompter(ByHand(16), scorings=["sum", "contextual"])
    none, two = (asking.measure([REVIEW, REVIEW], drawn, shots) for shots in (0, 2))
    assert none.right["sum"].shape == (1, 2) and two.right["contextual"].shape == (3, 2)
    assert (none.used, two.used, none.cut) == (0.0, 1.0, 0)
    assert prompter(ByHand(5)).measure([REVIEW], drawn, 1).cut == 1


def test_parity_of_texts_cut_line_by_line_with_texts_cut_as_wholes() -> None:
    """A real tokenizer and network: the same score as the whole text in one piece."""
    tokenizer = train_tokenizer(["the film was dull it was good"] * 3, TokenizerConfig(vocab_size=270))
    torch.manual_seed(0)
    model = GPT(GPTConfig(context=128, width=16, layers=1, heads=2), tokenizer.vocab_size).eval()
    form = PromptFormat(template="{text} it was {answer} .", score_end=True)
    examples = [Item({"text": "the book was fine"}, ("good", "bad"), 0)] * 2
    (result,) = Prompter(model, tokenizer, form).scores([REVIEW], examples)["sum"]
    for option, value in zip(REVIEW.options, result, strict=True):
        lines = ["the book was fine it was good ."] * 2 + [f"the film was dull it was {option} ."]
        ids = [token for line in lines for token in (2, *tokenizer.encode(line).tolist(), 3)]
        context = 2 * (len(tokenizer.encode(lines[0])) + 2) + 1 + len(tokenizer.encode("the film was dull it was"))
        whole = model.log_probs(torch.tensor([ids]))[0, context:].double().sum()
        assert value == pytest.approx(float(whole), abs=1e-5)


def test_equals_share_the_point() -> None:
    assert share(np.array([1.0, 1.0, 0.0]), 1) == 0.5 and share(np.array([1.0, 2.0]), 0) == 0.0
    assert share(np.array([-np.inf, -np.inf]), 0) == 0.5 and share(np.array([0.0, 1.0]), 1) == 1.0


def test_levels() -> None:
    items = [REVIEW, REVIEW._replace(right=0, ceiling=0.5), REVIEW._replace(ceiling=1.0)]
    assert chance(items) == 0.5 and majority(items) == pytest.approx(2 / 3) and ceiling(items) is None
    assert ceiling(items[1:]) == 0.75 and majority([REVIEW, REVIEW._replace(options=("a", "b", "c"))]) is None


def test_the_interval_is_over_orders_and_items() -> None:
    """Rows that differ widen it; with one row it is the items' own."""
    random = np.random.default_rng(0)
    item = (random.random((1, 200)) < 0.7).astype(float)
    low, high = crossed_interval(item)
    assert low < item.mean() < high and (high - low) / 2 == pytest.approx(1.96 * np.sqrt(0.21 / 200), rel=0.15)
    interval = crossed_interval(np.stack([np.zeros(200), np.ones(200)]))
    assert interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"template": "{text}"}, "0 places"),
        ({"verbalisers": {"a": "x", "b": "x"}}, "'x' is used for two labels"),
        ({"verbalisers": {"a": "x"}}, "two or more labels"),
        ({"verbalisers": {"a": "x", "b": " "}}, "each with words"),
        ({"template": "{answer} {text}", "scorings": ["calibrated"]}, "text.* come after"),
        ({"scorings": []}, "at least 1"),
    ],
)
def test_bad_formats_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PromptFormat.model_validate({"template": "{text} {answer}"} | wrong)


def test_an_empty_option_is_refused() -> None:
    with pytest.raises(InputError, match="one of them is empty"):
        prompter().scores([REVIEW._replace(options=("good", ""))])
