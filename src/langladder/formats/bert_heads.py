"""BERT fine-tuned, for Hugging Face: `BertForSequenceClassification`, `…TokenClassification`, `…QuestionAnswering`.

The files are those of `export.bert`; config.json names the labels too. transformers reads the last layer: of a text
its pooler, of a word the first piece (of the pieces of a word, the others' scores mean nothing), of a question every
token (those of the question itself mean nothing). So it holds neither a mix of layers nor a CRF. A reader's threshold
stands in config.json as `null_score_diff_threshold`, as the scripts of transformers call it, with its sign: they say
"no answer" where s_none − ŝ is above it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from langladder.formats.bert import bert_config, body_names, linear_names
from langladder.formats.tokenizer_folder import write_encoder_tokenizer
from langladder.ground.artefacts import write_arrays, write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.models.bert_classifier import BERTClassifier
from langladder.models.bert_span import BERTSpan
from langladder.models.bert_tagger import BERTTagger
from langladder.models.saving import ARRAYS
from langladder.models.units import SubwordUnits

Fine = BERTClassifier | BERTTagger | BERTSpan


def export_fine_tuned(model: Fine, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: transformers has no such head.
    """
    if why := misfit(model):
        raise InputError(f"{folder}: {why}")
    if isinstance(model, BERTTagger | BERTSpan):
        tokenizer = model.tokenizer
    else:
        assert isinstance(model.units, SubwordUnits)
        tokenizer = model.units.tokenizer
    arrays = {name: np.ascontiguousarray(array) for name, array in fine_tuned_arrays(model).items()}
    with atomic_folder(Path(folder)) as temporary:
        write_arrays(temporary / ARRAYS, arrays, {"format": "pt"})
        write_json(temporary / "config.json", fine_tuned_config(model))
        write_encoder_tokenizer(temporary, tokenizer, length=model.features.encoder.context)


def misfit(model: Fine) -> str | None:
    """Why transformers has no such head; None where it has."""
    config = model.config
    if config.layers != "last":
        return (
            f"model.layers={config.layers}: transformers' heads read the last layer; train with layers: last, or "
            "choose onnx"
        )
    if isinstance(model, BERTTagger):
        return None if model.crf is None else "model.output=crf: transformers has no CRF; train with output: softmax"
    if isinstance(model, BERTClassifier) and model.config.pooling != "pooler":
        return (
            f"model.pooling={model.config.pooling}: transformers reads the pooler; train with pooling: pooler, or "
            "choose onnx"
        )
    return None


def fine_tuned_arrays(model: Fine) -> dict[str, np.ndarray]:
    """The weights under transformers' names."""
    if isinstance(model, BERTSpan):
        head = [("qa_outputs.weight", model.head.weight), ("qa_outputs.bias", torch.zeros(2))]  # S and E have none
    else:
        head = [*linear_names({"bert.pooler.dense": getattr(model, "pooler", None), "classifier": model.head})]
    named = [*body_names(model.features.encoder), *head]
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in named}


def fine_tuned_config(model: Fine) -> dict[str, Any]:
    """The settings under transformers' names, labels with them."""
    if isinstance(model, BERTSpan):
        found = bert_config(model.features.encoder) | {"architectures": ["BertForQuestionAnswering"]}
        threshold = model.threshold
        return found | ({} if threshold is None else {"null_score_diff_threshold": -threshold})
    words = isinstance(model, BERTTagger)
    names = model.tags if isinstance(model, BERTTagger) else model.labels
    return bert_config(model.features.encoder) | {
        "architectures": ["BertForTokenClassification" if words else "BertForSequenceClassification"],
        "problem_type": None if words else "single_label_classification",
        "classifier_dropout": model.config.dropout,
        "id2label": {str(place): name for place, name in enumerate(names)},
        "label2id": {name: place for place, name in enumerate(names)},
    }
