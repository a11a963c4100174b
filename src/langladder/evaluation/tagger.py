"""Evaluation of a tagger: accuracy, unknown words, F₁ of tags and of phrases, calibration."""

import warnings
from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar, TypedDict

import numpy as np
from pydantic import Field

from langladder.evaluation.folds import FoldScores, OutOfFold
from langladder.evaluation.label_scores import (
    Bin,
    LabelScores,
    calibration_error,
    confusion,
    macro_f1,
    per_label,
    reliability,
)
from langladder.evaluation.page import (
    LOGGED,
    Excluded,
    Interval,
    Measured,
    Metric,
    Metrics,
    Page,
    Work,
    parameter_count,
)
from langladder.evaluation.predictions import Prediction, rounded
from langladder.evaluation.significance import ratio_interval
from langladder.ground.errors import InputError
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.tagger import Tagger
from langladder.text.labelled.labelled import Tagged, bad_steps, phrases_of, scheme_of

EXAMPLES = 12
"""Sentences that a page shows."""

FEWEST = 20
"""Minimum number of unknown words; with fewer, their accuracy is not reliable and is left out."""

LONGEST = 40  # words of a sentence that is shown


class TaggerScores(Measured):
    """Of all test words.

    Attributes:
        accuracy: share of the words that get their tag; its interval by Wilson, over sentences.
        sentences_right: share of the sentences whose words all get theirs.
        unknown_words: words that the training text lacks; unknown_accuracy: share of them that get their tag,
            None where there are too few of them (`FEWEST`).
        macro_f1: mean over tags. cross_entropy: nats per word. calibration_error: ECE.
        invalid_sequences: sentences whose tags break their scheme; entity_*: of whole phrases, by seqeval, and the
            interval of their F₁ by Wilson, over sentences. None where tags bracket nothing.
    """

    accuracy: Annotated[
        float,
        Metric(
            "accuracy",
            "share of the test words with the correct tag",
            unit="points",
            digits=2,
            better="higher",
            brief=True,
            compared=True,
        ),
    ]
    accuracy_interval: Annotated[
        Interval | None,
        Metric(
            "±",
            "half the width of the accuracy's 95 % interval; it covers the choice of the test sentences (Wilson)",
            unit="points",
            digits=2,
            brief=True,
            logged=False,
        ),
    ]
    sentences_right: Annotated[
        float,
        Metric(
            "sentences",
            "share of the sentences whose words all get the correct tag",
            unit="share",
            better="higher",
            after="macro-F₁",
            card="share of correct sentences",
        ),
    ]
    unknown_words: Annotated[int, LOGGED]
    unknown_accuracy: Annotated[
        float | None,
        Metric(
            "unknown words",
            f"accuracy on words that are not in the training text; omitted if the test has fewer than {FEWEST} of them",
            unit="share",
            better="higher",
            brief=True,
            compared=True,
            card="accuracy on unknown words",
        ),
    ]
    unknown_interval: Interval | None
    macro_f1: Annotated[float, Metric("macro-F₁", "mean F₁ over the tags", unit="share", better="higher")]
    cross_entropy: Annotated[
        float,
        Metric(
            "cross-entropy",
            "mean surprisal of the correct tag given the whole sentence, in nats per word",
            better="lower",
            after="invalid",
            card="cross-entropy, nats",
        ),
    ]
    calibration_error: Annotated[
        float,
        Metric(
            "ECE",
            "expected calibration error: mean difference between the predicted probability and the share of correct "
            "answers",
            better="lower",
            after="cross-entropy",
            card="expected calibration error",
        ),
    ]
    invalid_sequences: Annotated[
        int | None,
        Metric(
            "invalid",
            "number of sentences with tags that the scheme (IOB2, IOBES) does not allow one after the other",
            unit="whole",
            better="lower",
            after="F₁ ±",
            card="sentences whose tags break their scheme",
        ),
    ] = None
    entity_precision: Annotated[float | None, LOGGED] = None
    entity_recall: Annotated[float | None, LOGGED] = None
    entity_f1: Annotated[
        float | None,
        Metric(
            "entity F₁",
            "F₁ of whole phrases, by seqeval",
            unit="share",
            better="higher",
            brief=True,
            compared=True,
            after="sentences",
        ),
    ] = None
    entity_interval: Annotated[
        Interval | None,
        Metric(
            "F₁ ±",
            "half the width of the entity F₁'s 95 % interval; it covers the choice of the test sentences (Wilson), not"
            " seeds",
            unit="points",
            digits=1,
            brief=True,
            after="entity F₁",
            logged=False,
        ),
    ] = None


class TaggedWord(Measured):
    """A test word: its tag, the predicted tag, and its probability."""

    word: str
    tag: str
    said: str
    probability: float
    unknown: bool


class TaggerPage(Page):
    """The page of one tagger.

    Attributes:
        work: of a network, as it is trained, at the mean length of the test sentences.
        labels: the tags, in the order of their ids.
        by_fold: None where the test split was tested. Else each sentence was, by the model of its fold.
        bayes_accuracy: what the best guess reaches under the grammar that drew the sentences.
        majority_accuracy: what one tag for every word reaches; it finds no phrase.
        entities: precision, recall and F₁ of each kind of phrase, where tags bracket them.
        confusion: row the right tag, column what was said.
        right: how many words of each test sentence get their tag: rungs are compared by it.
        shown: a few test sentences, those with mistakes first.
    """

    position = "word"
    trained_on = "words"
    sampled = "test sentences"
    headlines = ("entity_f1", "accuracy")
    item_figure = "accuracy"
    detail: ClassVar[Excluded] = {"right": True, "shown": True, "reliability": True, "confusion": True}

    parameters: Annotated[int, parameter_count("numbers of the model", logged=False)]
    work: Annotated[Work | None, Metrics()] = None
    sentences: int
    words: int
    labels: list[str]
    scores: Annotated[TaggerScores, Metrics()]
    by_fold: Annotated[FoldScores | None, Metrics("fold_")] = None
    bayes_accuracy: Annotated[
        float | None,
        Metric(
            "Bayes",
            "accuracy of the best possible tagger, which knows the grammar that wrote the sentences",
            unit="points",
            digits=2,
            brief=True,
            after="±",
            card="Bayes accuracy, the best possible accuracy",
        ),
    ] = None
    majority_accuracy: Annotated[
        float | None,
        Metric(
            "one tag",
            "accuracy of a tagger that gives every word the same tag: the most frequent one of the test words (often O"
            " where tags mark phrases)",
            unit="points",
            digits=2,
            after="Bayes",
            logged=False,
            card="accuracy of one tag for every word",
        ),
    ] = None
    per_label: list[LabelScores]
    entities: list[LabelScores] = Field(default_factory=list)
    confusion: list[list[int]] = Field(default_factory=list)
    reliability: list[Bin] = Field(default_factory=list)
    right: list[int] = Field(default_factory=list)
    shown: list[list[TaggedWord]] = Field(default_factory=list)

    @property
    def items(self) -> int | None:
        """Test sentences."""
        return self.sentences

    @property
    def item_scores(self) -> Sequence[float]:
        """The words of each test sentence that get their tag."""
        return self.right


def evaluate_tagger(
    model: Tagger,
    test: Sequence[Tagged],
    *,
    known: Collection[str],
    name: str,
    folds: OutOfFold[Tagger, Tagged] | None = None,
    table: list[Prediction] | None = None,
) -> TaggerPage:
    """Evaluate a tagger.

    Args:
        known: words of the training text.
        folds: the models of the folds that the sentences are in: these answer, and know words of their own.
        table: where it is given, what was predicted of each word is added to it.

    Raises:
        InputError: there is no test sentence, or one has a tag that the tagger does not know.
    """
    assert folds is None or all(sentence.words for sentence in test)
    test = [sentence for sentence in test if sentence.words]
    if not test:
        raise InputError("tagging: no test sentence; see the report of the stage `clean`")
    gold = tag_ids(test, model.tags)  # (W,)
    sentences, lengths = [sentence.words for sentence in test], np.array([len(sentence.words) for sentence in test])
    tagged, each, unseen = _answers(model, test, known, folds)
    predicted = tag_ids([Tagged(words, tuple(tags)) for words, tags in zip(sentences, tagged, strict=True)], model.tags)
    log_probs = np.concatenate(each)  # (W, K)
    words = np.arange(len(gold))
    right, sure = predicted == gold, np.exp(log_probs[words, predicted])
    unknown = np.array([new for word in unseen for new in word])
    rights, unknowns, both = (_by_sentence(part, lengths) for part in (right, unknown, right & unknown))
    if table is not None:
        table += _word_rows(model.tags, test, gold, predicted, log_probs, unknown)
    enough = int(unknown.sum()) >= FEWEST
    matrix = confusion(gold, predicted, len(model.tags))
    labels, bins = per_label(matrix, model.tags), reliability(sure, right)
    entities = _entities(model.tags, test, tagged)
    ceilings = [ceiling for sentence in test for ceiling in sentence.ceilings or ()]

    def of_fold(rows: np.ndarray) -> tuple[float, float]:
        own = np.isin(np.repeat(np.arange(len(test)), lengths), rows)  # (W,)
        f1 = _entities(model.tags, [test[row] for row in rows], [tagged[row] for row in rows])[0].get("entity_f1")
        if f1 is None:
            f1 = macro_f1(per_label(confusion(gold[own], predicted[own], len(model.tags)), model.tags))
        return float(right[own].mean()), f1

    return TaggerPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        sentences=len(test),
        words=len(gold),
        labels=model.tags,
        scores=TaggerScores(
            accuracy=round(float(right.mean()), 6),
            accuracy_interval=ratio_interval(rights, lengths),
            sentences_right=round(float((rights == lengths).mean()), 6),
            unknown_words=int(unknown.sum()),
            unknown_accuracy=round(float(right[unknown].mean()), 6) if enough else None,
            unknown_interval=ratio_interval(both, unknowns) if enough else None,
            macro_f1=macro_f1(labels),
            cross_entropy=round(-float(np.maximum(log_probs[words, gold], -1e3).mean()), 6),
            calibration_error=calibration_error(bins),
            **entities[0],
        ),
        by_fold=None if folds is None else folds.scores(of_fold),
        bayes_accuracy=round(float(np.mean(ceilings)), 6) if len(ceilings) == len(gold) else None,
        majority_accuracy=round(float(matrix.sum(axis=1).max() / matrix.sum()), 6),
        per_label=labels,
        entities=entities[1],
        confusion=matrix.tolist(),
        reliability=bins,
        right=rights.tolist(),
        shown=_examples(test, tagged, np.split(np.stack([sure, unknown]), np.cumsum(lengths)[:-1], axis=1)),
    )


def _answers(
    model: Tagger, test: Sequence[Tagged], known: Collection[str], folds: OutOfFold[Tagger, Tagged] | None
) -> tuple[list[list[str]], list[np.ndarray], list[list[bool]]]:
    """For each sentence: its tags, log P(tag), (T, K), and the unknown words; from the model, or from its fold's
    model."""
    sentences = [sentence.words for sentence in test]
    if folds is None:
        unseen = [[word not in known for word in sentence] for sentence in sentences]
        return model.tag(sentences), model.log_probs(sentences), unseen
    return (
        folds.answers(sentences, lambda model, some: model.tag(some)),
        folds.answers(sentences, lambda model, some: model.log_probs(some)),
        [[word not in folds.of(row)[1] for word in sentence] for row, sentence in enumerate(sentences)],
    )


def _word_rows(
    tags: Sequence[str],
    sentences: Sequence[Tagged],
    gold: np.ndarray,
    predicted: np.ndarray,
    log_probs: np.ndarray,
    unknown: np.ndarray,
) -> list[Prediction]:
    """One row per word: ids (W,) each, log P(tag) (W, K), whether it is unknown (W,)."""
    words = ((item, sentence.id, word) for item, sentence in enumerate(sentences) for word in sentence.words)
    return [
        Prediction(
            item=item,
            text=word,
            truth=tags[gold[row]],
            prediction=tags[predicted[row]],
            right=bool(gold[row] == predicted[row]),
            probability=rounded(np.exp(log_probs[row, predicted[row]])),
            loss=rounded(-log_probs[row, gold[row]]),
            unknown=word if unknown[row] else "",
            id=own,
        )
        for row, (item, own, word) in enumerate(words)
    ]


def _by_sentence(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Sums over each sentence: (W,) and (S,) → (S,) int64."""
    counts: np.ndarray = np.add.reduceat(values.astype(np.int64), np.cumsum(lengths) - lengths)
    return counts


class EntityFigures(TypedDict, total=False):
    """The scores of phrases, see `TaggerScores`; {} if the tags mark no phrases."""

    entity_precision: float
    entity_recall: float
    entity_f1: float
    entity_interval: Interval | None
    invalid_sequences: int


def _entities(
    tags: Sequence[str], test: Sequence[Tagged], predicted: Sequence[Sequence[str]]
) -> tuple[EntityFigures, list[LabelScores]]:
    """Figures of whole phrases, by seqeval as conlleval counts them; nothing where the tags bracket none."""
    scheme = scheme_of(tags)
    if scheme is None:
        return {}, []
    from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as scored

    gold = [list(sentence.tags or ()) for sentence in test]
    lists = [list(row) for row in predicted]
    rows = [(set(phrases_of(tags)), set(phrases_of(row))) for tags, row in zip(gold, lists, strict=True)]
    kinds = sorted({phrase.kind for right, predicted in rows for phrase in right | predicted})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a kind that is never predicted has no precision: 0
        precision, recall, f1, _ = scored(gold, lists, average="micro")
        each = [part.tolist() for part in scored(gold, lists, average=None)]
    # F₁ = 2 Σ |right ∩ predicted| / Σ (|right| + |predicted|), over sentences that are drawn anew
    twice = np.array([2 * len(right & predicted) for right, predicted in rows])  # (S,)
    interval = ratio_interval(twice, np.array([len(right) + len(predicted) for right, predicted in rows]))
    invalid = sum(bool(bad_steps(row, scheme)) for row in lists)
    counts = [sum(phrase.kind == kind for _, predicted in rows for phrase in predicted) for kind in kinds]
    table = [
        LabelScores(label=kind, support=int(n), said=count, precision=round(p, 6), recall=round(r, 6), f1=round(f, 6))
        for kind, count, p, r, f, n in zip(kinds, counts, *each, strict=True)
    ]
    figures: EntityFigures = {
        "entity_precision": round(float(precision), 6),
        "entity_recall": round(float(recall), 6),
        "entity_f1": round(float(f1), 6),
        "entity_interval": interval,
        "invalid_sequences": invalid,
    }
    return figures, table


def _examples(
    test: Sequence[Tagged], predicted: Sequence[Sequence[str]], facts: Sequence[np.ndarray]
) -> list[list[TaggedWord]]:
    """The first sentences with mistakes, up to two thirds, then the first without."""
    short = [row for row, sentence in enumerate(test) if len(sentence.words) <= LONGEST]
    wrong = [row for row in short if list(predicted[row]) != list(test[row].tags or ())]
    chosen = wrong[: 2 * EXAMPLES // 3]
    chosen += [row for row in short if row not in set(wrong)][: EXAMPLES - len(chosen)]
    return [
        [
            TaggedWord(word=word, tag=tag, said=guess, probability=round(float(p), 4), unknown=bool(u))
            for word, tag, guess, p, u in zip(
                test[row].words, test[row].tags or (), predicted[row], *facts[row], strict=True
            )
        ]
        for row in chosen
    ]
