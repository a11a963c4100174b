"""The value of a pre-trained body for two tasks that experiments draw from microworld, independent of the corpus's
labels.

    single   questions, labelled by what they ask for: a person, a place, a number, …
    pairs    two sentences: entailment, contradiction or neutral

No text is ambiguous, and no test text is in another split. The body is fine-tuned on each task with the same few labels
(`small_bodies.fine_tuned`). Questions have fewer labels, because nearly any network learns the task from a thousand.

Shape legend: N test texts of both tasks.
"""

from itertools import islice
from random import Random
from typing import Literal

import numpy as np
from pydantic import Field

from claims.pretraining.small_bodies import CLASSIFIERS, Bodies, Body, BodyConfig, fine_tuned
from claims.reading.reading_training import LEAST, Texts, majority, right_labels
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT
from langladder.text.labelled.labelled import Example
from microworld.questions import draw_entailment, draw_kinds

Drawing = Literal["questions", "entailment"]
TASKS: dict[str, Drawing] = {"single": "questions", "pairs": "entailment"}
TRIES = 40  # maximum draws per requested text


class TransferConfig(BodyConfig):
    """Settings of an experiment that evaluates bodies by fine-tuning them."""

    train_texts: int = Field(
        default=1000, ge=LEAST
    )  # pairs, at effort 1 and above; an eighth as many more select weights
    single_texts: int = Field(default=256, ge=LEAST)  # questions, likewise
    test_texts: int = Field(default=500, ge=LEAST)
    pooling: Literal["pooler", "first", "mean"] = "mean"  # input of the output layer; a GPT's: mean or last state

    def texts(self, drawn: Drawing) -> Texts:
        """The texts of a task; the same for all bodies and seeds."""
        wanted = self.single_texts if drawn == "questions" else self.train_texts
        test, train = (max(LEAST, self.fewer(count)) for count in (self.test_texts, wanted))
        held = max(LEAST, train // 8)
        examples = drawn_texts(drawn, test + held + train)
        labels = sorted({example.label or "" for example in examples})
        return Texts(
            labels, train=examples[test + held :], validation=examples[test : test + held], test=examples[:test]
        )


def drawn_texts(task: Drawing, count: int, *, seed: int = 1) -> list[Example]:
    """`count` distinct texts, or pairs of texts, with their labels.

    Raises:
        InputError: there are not enough.
    """
    random = Random(f"{seed} transfer {task}")
    examples: dict[tuple[str, str | None], Example] = {}
    draw = draw_kinds if task == "questions" else draw_entailment
    for row in islice(draw(random, 0.0), TRIES * count):
        examples.setdefault((row["text"], row.get("second")), Example(row["text"], row.get("second"), row["label"]))
        if len(examples) == count:
            return list(examples.values())
    raise InputError(
        f"claim.settings: there are not {count} different texts of {task!r}; set train_texts, single_texts or "
        "test_texts lower"
    )


class Transfer:
    """Fine-tunes bodies on the tasks of a run; the tasks are drawn once."""

    def __init__(self, bodies: Bodies, config: TransferConfig) -> None:
        self.bodies, self.config = bodies, config
        self.tasks = {name: config.texts(drawn) for name, drawn in TASKS.items()}

    def right(self, body: Body, *, seed: int) -> dict[str, np.ndarray]:
        """Task → whether each test text gets the right label, bool."""
        return {name: self._right(body, texts, seed) for name, texts in self.tasks.items()}

    def accuracy(self, body: Body, *, seed: int) -> dict[str, float]:
        """Task → share of the test texts with the right label."""
        return {name: float(right.mean()) for name, right in self.right(body, seed=seed).items()}

    def majorities(self) -> dict[str, float]:
        """Task → share of the most frequent label among its test texts."""
        return {name: majority(texts.test) for name, texts in self.tasks.items()}

    def _right(self, body: Body, texts: Texts, seed: int) -> np.ndarray:
        settings: dict[str, object] = {"dropout": 0.0}
        # GPT without its auxiliary loss, so that both have the same training objective
        pooling = self.config.pooling
        if isinstance(body, BERT):
            settings |= {"pooling": pooling}
        else:
            settings |= {"pooling": "mean" if pooling == "mean" else "last", "lm_weight": 0.0}
        tokenizer, training = self.bodies.tokenizer, self.config.tuning()
        config = CLASSIFIERS["bert" if isinstance(body, BERT) else "gpt"].Config.model_validate(settings)
        return right_labels(fine_tuned(body, tokenizer, texts, training, seed=seed, config=config), texts.test)
