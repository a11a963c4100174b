"""Judging a classifier on test texts: accuracy, F₁, calibration, its most confident mistakes and their causes."""

from collections.abc import Sequence

import numpy as np

from langladder.evaluation.bootstrap import share_interval
from langladder.evaluation.calibration import calibration_error, reliability
from langladder.evaluation.classifier_page import ClassifierPage, ClassifierScores, Decision
from langladder.evaluation.confusion import confusion, macro_f1, per_label
from langladder.evaluation.decisions import decision, filters
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.text.labelled.labelled import Example

SHOWN = 12
"""Texts, and mistakes, that a page shows."""


def evaluate_classifier(model: Classifier, test: Sequence[Example], *, name: str) -> ClassifierPage:
    """Judge a classifier.

    Raises:
        InputError: there is no test text, or one has a label that the classifier does not know.
    """
    if not test:
        raise InputError("classification: no test text; see the report of the stage `clean`")
    ids = {label: place for place, label in enumerate(model.labels)}
    if strange := next((one.label for one in test if one.label not in ids), None):
        raise InputError(f"test: the label {strange!r} is none of the classifier's: {', '.join(model.labels)[:200]}")
    gold = np.array([ids[str(one.label)] for one in test])  # (N,)
    log_probs = model.log_probs(test)  # (N, C)
    said = log_probs.argmax(axis=1)
    right, sure = said == gold, np.exp(log_probs.max(axis=1))
    matrix = confusion(gold, said, len(model.labels))
    labels, bins = per_label(matrix, model.labels), reliability(sure, right)
    wrong = np.flatnonzero(~right)
    worst = wrong[np.argsort(-sure[wrong], kind="stable")][:SHOWN]
    ceilings = [one.ceiling for one in test if one.ceiling is not None]
    known = [one.log_prob for one in test if one.log_prob is not None]

    def decisions(rows: Sequence[int]) -> list[Decision]:
        return [decision(model, test[row], int(said[row]), float(sure[row])) for row in rows]

    return ClassifierPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        texts=len(test),
        labels=model.labels,
        scores=ClassifierScores(
            accuracy=round(float(right.mean()), 6),
            accuracy_interval=share_interval(int(right.sum()), len(test)),
            macro_f1=macro_f1(labels),
            cross_entropy=round(-float(np.maximum(log_probs[np.arange(len(test)), gold], -1e3).mean()), 6),
            calibration_error=calibration_error(bins),
        ),
        bayes_accuracy=round(float(np.mean(ceilings)), 6) if len(ceilings) == len(test) else None,
        bayes_cross_entropy=round(-float(np.mean(known)), 6) + 0.0 if len(known) == len(test) else None,
        per_label=labels,
        confusion=matrix.tolist(),
        reliability=bins,
        right="".join("1" if one else "0" for one in right),
        mistakes=decisions(worst.tolist()),
        shown=decisions(range(min(SHOWN, len(test)))),
        filters=filters(model, test),
    )
