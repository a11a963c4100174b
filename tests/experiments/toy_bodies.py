"""Bodies and the rungs that start from them, small, as files of conf/ describe them."""

from typing import Any

BERT_BODY: dict[str, Any] = {
    "name": "bert_mini",
    "title": "BERT",
    "_target_": "langladder.models.encoders.bert.BERT",
    "model": {"context": 32, "width": 16, "layers": 2, "heads": 2, "dropout": 0.0, "next_sentence": False},
    "training": {"max_steps": 10, "batch_size": 4, "sequence_length": 16, "lr": 0.01, "validation_tokens": 100},
    "judged": {"words": 0},
}
GPT_BODY: dict[str, Any] = {
    "name": "gpt",
    "title": "GPT",
    "_target_": "langladder.models.language.gpt.GPT",
    "model": {"context": 32, "width": 16, "layers": 2, "heads": 2},
    "training": {"max_steps": 10, "batch_size": 4, "sequence_length": 16, "lr": 0.01},
}
BERT_RUNG: dict[str, Any] = {
    "name": "bert_fine_tuned",
    "title": "BERT",
    "_target_": "langladder.models.classification.bert_classifier.BERTClassifier",
    "base": "encoder/bert_mini",
    "model": {"pooling": "mean"},
    "training": {"lr": 0.01, "max_steps": 10},
}
GPT_RUNG: dict[str, Any] = BERT_RUNG | {
    "name": "gpt_fine_tuned",
    "title": "GPT",
    "_target_": "langladder.models.classification.gpt_classifier.GPTClassifier",
    "base": "lm/gpt",
    "model": {"lm_weight": 0.5},
}
TRANSFER: dict[str, Any] = {
    "bodies": {"bert": BERT_BODY, "gpt": GPT_BODY},
    "rungs": {"bert": BERT_RUNG, "gpt": GPT_RUNG},
    "max_steps": 4,
    "test_texts": 32,
}
