"""BERT as the folders that Hugging Face's `transformers` reads, and BERT's folders read back.

    config.json               settings under BERT's names; of a fine-tuned model also the labels
    model.safetensors         weights under BERT's names; Q, K and V, which are one matrix here, as three
    tokenizer.json            the tokenizer, which here also puts `<cls>` before a text and `<sep>` after each
    tokenizer_config.json     names of the special tokens

A model trained on pairs is a `BertForPreTraining`, any other a `BertForMaskedLM`. A fine-tuned model is a
`BertForSequenceClassification`, `…TokenClassification` or `…QuestionAnswering`. Their heads read the last layer: for a
text its pooler, for a word its first piece (ignore the scores of the others), for a question every token (ignore those
of the question itself). So such a folder supports neither a mix of layers nor a CRF. A reader's threshold is
`null_score_diff_threshold` in config.json, as in the scripts of transformers, with its sign: they answer "no answer" if
s_none − ŝ is above it.

`BertForPreTraining`, `BertForMaskedLM` and `BertModel` can be read, also with the head of a classifier, tagger or
reader, which is ignored; a pickle is never read. A folder of this project is restored exactly. For any other,
`import_foreign_bert` also reads the tokenizer (`text.tokenize.pretrained`; tokenizer.json or vocab.txt,
tokenizer_config.json) and puts the rows of the table and of the output's bias in this project's order of ids. BOS and
EOS, which BERT lacks, get a row of zeros and a bias that gives probability 0: hidden states and P(w | rest) stay the
same.

Layer norms may be called gamma and beta, as in Google's first files; half precision is converted to single. Padding
rows of the vocabulary are not read. A `BertModel` lacks the heads of words and pairs, which become zeros: it serves as
a body only.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from langladder.formats.tokenizer_folder import write_encoder_tokenizer
from langladder.ground import artefacts
from langladder.ground.artefacts import ArrayFacts, JSONObject, read_json, write_arrays, write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.encoders.bert import BERT, SEGMENTS, BERTConfig
from langladder.models.network import misfits, outline
from langladder.models.reading.bert_span import BERTSpan
from langladder.models.saving import ARRAYS, Saved, checked_size
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.models.units import SubwordUnits
from langladder.nn.transformer_layers import BERT_NORM_EPS
from langladder.text.tokenize.pretrained import bert_tokens, check_rows
from langladder.text.tokenize.specials import PAD
from langladder.text.tokenize.tokenizers import Tokenizer

# ---- writing encoders


def export_bert(model: BERT, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: the tokenizer is another model's, or transformers' BERT computes something else.
    """
    if tokenizer.full_vocab_size != model.vocab_size:
        raise InputError(
            f"{folder}: the model has {model.vocab_size} tokens, but the tokenizer has {tokenizer.full_vocab_size}"
        )
    if why := _other_network(model.config):
        raise InputError(f"{folder}: {why}")
    arrays = {name: np.ascontiguousarray(array) for name, array in bert_arrays(model).items()}
    with atomic_folder(Path(folder)) as temporary:
        write_arrays(temporary / ARRAYS, arrays, {"format": "pt"})
        write_json(temporary / "config.json", bert_config(model))
        write_encoder_tokenizer(temporary, tokenizer, length=model.context, gaps=True)


def bert_arrays(model: BERT) -> dict[str, np.ndarray]:
    """The weights under BERT's names, in its layout; the output matrix, which is the input table, once."""
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in bert_names(model)}


def bert_config(model: BERT) -> JSONObject:
    """The settings under BERT's names; of a body without heads those of `BertForMaskedLM`."""
    config = model.config
    attention = config.dropout if config.attention_dropout is None else config.attention_dropout
    return {
        "architectures": ["BertForPreTraining" if config.next_sentence else "BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": model.vocab_size,
        "max_position_embeddings": config.context,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.expansion * config.width,
        "hidden_act": "gelu",
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": attention,
        "layer_norm_eps": BERT_NORM_EPS,
        "type_vocab_size": SEGMENTS,
        "initializer_range": model.initial_std,
        "tie_word_embeddings": True,
        "pad_token_id": PAD,
        "torch_dtype": "float32",
    }


def body_names(model: BERT) -> Iterator[tuple[str, torch.Tensor]]:
    """(BERT's name, our tensor or a part of it) of every weight of the embeddings and the layers."""
    yield "bert.embeddings.word_embeddings.weight", model.embedding.weight
    yield "bert.embeddings.position_embeddings.weight", model.position
    yield "bert.embeddings.token_type_embeddings.weight", model.segment
    modules: dict[str, nn.Module] = {"bert.embeddings.LayerNorm": model.norm}
    for number, layer in enumerate(model.layers):
        prefix = f"bert.encoder.layer.{number}"
        project = layer.get_submodule("attention.project")
        for part in ("weight", "bias"):
            thirds = project.get_parameter(part).chunk(3)
            for name, third in zip(("query", "key", "value"), thirds, strict=True):
                yield f"{prefix}.attention.self.{name}.{part}", third
        modules[f"{prefix}.attention.output.dense"] = layer.get_submodule("attention.output")
        modules[f"{prefix}.attention.output.LayerNorm"] = layer.get_submodule("norm_attention")
        modules[f"{prefix}.intermediate.dense"] = layer.get_submodule("expand")
        modules[f"{prefix}.output.dense"] = layer.get_submodule("contract")
        modules[f"{prefix}.output.LayerNorm"] = layer.get_submodule("norm_feed")
    yield from linear_names(modules)


def linear_names(modules: Mapping[str, nn.Module | None]) -> Iterator[tuple[str, torch.Tensor]]:
    """(BERT's name, our tensor) of the weight and the bias of each existing module."""
    for name, module in modules.items():
        if module is not None:
            yield f"{name}.weight", module.get_parameter("weight")
            yield f"{name}.bias", module.get_parameter("bias")


def bert_names(model: BERT) -> Iterator[tuple[str, torch.Tensor]]:
    """(BERT's name, our tensor or a part of it) of every weight."""
    yield from body_names(model)
    yield "cls.predictions.bias", model.head.get_parameter("bias")
    yield from linear_names(
        {
            "bert.pooler.dense": model.pooler,
            "cls.predictions.transform.dense": model.transform,
            "cls.predictions.transform.LayerNorm": model.transform_norm,
            "cls.seq_relationship": model.next_head,
        }
    )


# ---- writing fine-tuned models


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


def _other_network(config: BERTConfig) -> str | None:
    if config.norm == "post":
        return None
    return f"model.norm={config.norm}: transformers' BERT has its norms after the sublayers; train with norm: post"


def misfit(model: Fine) -> str | None:
    """Why transformers does not support this network or its head; None if it does."""
    config = model.config
    if why := _other_network(model.features.encoder.config):
        return why
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


def fine_tuned_config(model: Fine) -> JSONObject:
    """The settings under transformers' names, with the labels."""
    if isinstance(model, BERTSpan):
        config = bert_config(model.features.encoder) | {"architectures": ["BertForQuestionAnswering"]}
        threshold = model.threshold
        return config | ({} if threshold is None else {"null_score_diff_threshold": -threshold})
    words = isinstance(model, BERTTagger)
    names = model.tags if isinstance(model, BERTTagger) else model.labels
    several = isinstance(model, BERTClassifier) and model.multi_label
    return bert_config(model.features.encoder) | {
        "architectures": ["BertForTokenClassification" if words else "BertForSequenceClassification"],
        "problem_type": None if words else f"{'multi' if several else 'single'}_label_classification",
        "classifier_dropout": model.config.dropout,
        "id2label": {str(position): name for position, name in enumerate(names)},
        "label2id": {name: position for position, name in enumerate(names)},
    }


# ---- reading


_MUST_BE: dict[str, tuple[object, tuple[object, ...]]] = {  # BERT's default, what this BERT computes
    "model_type": (None, ("bert",)),
    "hidden_act": ("gelu", ("gelu",)),
    "layer_norm_eps": (BERT_NORM_EPS, (BERT_NORM_EPS,)),
    "type_vocab_size": (SEGMENTS, (SEGMENTS,)),
    "position_embedding_type": ("absolute", ("absolute",)),
    "is_decoder": (False, (False,)),
    "add_cross_attention": (False, (False,)),
    "tie_word_embeddings": (True, (True,)),
}
FLOATS = ("F32", "F16", "BF16")
"""Supported types of stored weights; all are read as single precision."""
NEVER = -1e4
"""A score that gives a word probability 0, because its exp is 0."""
_TABLE, _BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
_SAME = {"cls.predictions.decoder.weight": _TABLE, "cls.predictions.decoder.bias": _BIAS}
"""Alternative or additional names in some folders."""
_HEADS = ("classifier.", "qa_outputs.")
"""Heads in the folders of classifiers, taggers and readers; they are not read."""


def import_bert(folder: Path) -> BERT:
    """Read a folder with langladder's tokens: PAD 0, and `<sep>`, `<cls>`, `<mask>` at the end.

    Raises:
        InputError: files are missing, the weights do not fit the settings, or the settings are not those of this BERT.
    """
    config, arrays, padding = _read(Path(folder))
    if padding != PAD:
        raise InputError(f"{folder}/config.json: pad_token_id is {padding!r}; supported is {PAD}")
    return _filled(config, arrays)


def import_foreign_bert(folder: Path) -> tuple[BERT, Tokenizer]:
    """Read a folder with BERT's own tokens, and its tokenizer.

    Raises:
        InputError: as of `import_bert`; or its tokenizer is another model's or not BERT's.
    """
    tokenizer, theirs = bert_tokens(Path(folder))
    config, arrays, _ = _read(Path(folder))
    check_rows(Path(folder), len(arrays[_TABLE]), int(theirs.max()) + 1)
    arrays[_TABLE] = np.where(theirs[:, None] < 0, np.float32(0), arrays[_TABLE][theirs])  # (V + 3, D)
    arrays[_BIAS] = np.where(theirs < 0, np.float32(NEVER), arrays[_BIAS][theirs])  # (V + 3,)
    return _filled(config, arrays), tokenizer


def _filled(config: BERTConfig, arrays: dict[str, np.ndarray]) -> BERT:
    model = BERT(config, len(arrays[_TABLE]))
    with torch.no_grad():
        for name, tensor in bert_names(model):
            tensor.copy_(torch.from_numpy(arrays[name]))
    return model.eval()


def _read(folder: Path) -> tuple[BERTConfig, dict[str, np.ndarray], Any]:
    """Settings, weights under BERT's names (all that there must be), and the id of padding."""
    config, results = bert_settings(folder)
    weights = weights_file(folder)
    facts = artefacts.read_array_facts(weights)
    names = _renamed(facts)
    there = {name: _single(facts[own]) for name, own in names.items()}
    config = config.model_copy(update={"next_sentence": "bert.pooler.dense.weight" in there})
    size = checked_size(folder / "config.json", "vocab_size", results["vocab_size"])
    plan = dict(bert_names(cast(BERT, outline(Saved(BERT, config, [size]), folder))))
    lacks = {name for name in plan if _may_lack(name, there)}
    wanted = {name: tensor for name, tensor in plan.items() if name not in lacks}
    spare = {name for name in there if name not in wanted and _may_be_spare(name)}
    if wrong := misfits(wanted, {name: fact for name, fact in there.items() if name not in spare}):
        raise InputError(f"{weights}: the arrays do not fit config.json ({'; '.join(wrong)})")
    read = artefacts.read_weights(weights, {names[name] for name in wanted})
    arrays = {name: read[names[name]] for name in wanted}
    check_finite(arrays, weights)
    for name in lacks:
        begins = float(name.endswith("LayerNorm.weight"))
        arrays[name] = np.full(tuple(plan[name].shape), begins, dtype=np.float32)
    return config, arrays, results.get("pad_token_id", PAD)


def weights_file(folder: Path) -> Path:
    """The file of the weights. Raises InputError if there are other files instead."""
    others = [file.name for ending in ("*.bin", "*.safetensors", "*.h5") for file in sorted(folder.glob(ending))]
    if others and ARRAYS not in others:
        raise InputError(
            f"{folder}: has {others[0]}, but {ARRAYS} is needed: one file with all weights, no pickle, which could run "
            "code; write it with `save_pretrained(…, max_shard_size='100GB')` of transformers"
        )
    return folder / ARRAYS


def check_finite(arrays: dict[str, np.ndarray], path: Path) -> None:
    """Raise InputError if a number is not finite."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise InputError(f"{path}: {name} has a number that is not finite (a training that diverged?)")


def _single(fact: ArrayFacts) -> ArrayFacts:
    return ArrayFacts("F32" if fact.dtype in FLOATS else fact.dtype, fact.shape)


def _renamed(facts: dict[str, ArrayFacts]) -> dict[str, str]:
    """BERT's name of today → the file's own."""
    bare = not any(name.startswith("bert.") for name in facts)  # of BertModel
    weights = {}
    for own in facts:
        name = f"bert.{own}" if bare and own.startswith(("embeddings.", "encoder.", "pooler.")) else own
        for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
            name = name.removesuffix(old) + new if name.endswith(old) else name
        weights[name] = own
    for other, name in _SAME.items():
        if name not in weights and other in weights:
            weights[name] = weights[other]
    return weights


def _may_lack(name: str, there: dict[str, ArrayFacts]) -> bool:
    """Whether a weight is missing and optional: all weights of the words' scores, or of the pairs' scores."""
    part = next((part for part in ("cls.predictions.", "cls.seq_relationship.") if name.startswith(part)), None)
    return part is not None and not any(prefix.startswith(part) for prefix in there)


def _may_be_spare(name: str) -> bool:
    """Weights that are not read: numbers 0, 1, 2, …; duplicates; heads; the pairs' scores without a pooler."""
    return name in (*_SAME, "bert.embeddings.position_ids") or name.startswith(("cls.seq_relationship.", *_HEADS))


def bert_settings(folder: Path) -> tuple[BERTConfig, JSONObject]:
    """The settings from config.json, with a pooler, and its whole content.

    Raises:
        InputError: the file is missing, or describes another network than this BERT.
    """
    path = folder / "config.json"
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: a {type(content).__name__}, not an object")
    for name, (default, allowed) in _MUST_BE.items():
        value = content.get(name, default)
        if value not in allowed:
            raise InputError(f"{path}: {name} is {value!r}; supported is {' or '.join(map(repr, allowed))}")
    if missing := {"vocab_size", "hidden_size", "intermediate_size"} - content.keys():
        raise InputError(f"{path}: lacks {', '.join(sorted(missing))}")
    width, inner = (checked_size(path, name, content[name]) for name in ("hidden_size", "intermediate_size"))
    if inner % width:
        raise InputError(f"{path}: intermediate_size={inner} is not a multiple of hidden_size={width}")
    settings = {
        "context": content.get("max_position_embeddings", 512),
        "width": width,
        "layers": content.get("num_hidden_layers", 12),
        "heads": content.get("num_attention_heads", 12),
        "expansion": inner // width,
        "dropout": content.get("hidden_dropout_prob", 0.1),
        "attention_dropout": content.get("attention_probs_dropout_prob", 0.1),
    }
    return checked(BERTConfig, settings, str(path)), content
