"""BERT from folders that Hugging Face's `transformers` reads: with this house's tokens, or with BERT's own.

    config.json          settings under BERT's names
    model.safetensors    weights, of BertForPreTraining, BertForMaskedLM, BertModel, or a body with a classifier's,
                         tagger's or reader's head, which is not read; a pickle is never read
    tokenizer.json or vocab.txt, tokenizer_config.json

A folder of this house (`export.bert`) comes back as it was. Of any other, `given_bert` also reads the tokenizer
(`text.tokenize.pretrained`) and puts the rows of the table and of the output's bias in this house's order of ids. BOS
and EOS, which BERT lacks, get a row of zeros and a bias that no softmax notices: hidden states and P(w | rest) stay the
same.

Layer norms may be called gamma and beta, as Google's first files have it, and half precision is read as single. The
rows of a padded vocabulary that no token has are not read. What a `BertModel` lacks, the words' and the pairs' scores,
becomes zeros: it tells no word from another, and serves as a body.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from langladder.formats.bert import bert_names
from langladder.ground import artefacts
from langladder.ground.artefacts import ArrayFacts, read_json
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.bert import BERT, SEGMENTS, BERTConfig
from langladder.models.network import misfits, outline
from langladder.models.saving import ARRAYS, Saved, checked_size
from langladder.nn.bert_layer import NORM_EPS
from langladder.text.tokenize.pretrained import bert_tokens, check_rows
from langladder.text.tokenize.specials import PAD
from langladder.text.tokenize.tokenizers import Tokenizer

_MUST_BE: dict[str, tuple[Any, tuple[Any, ...]]] = {  # BERT's default, what this BERT computes
    "model_type": (None, ("bert",)),
    "hidden_act": ("gelu", ("gelu",)),
    "layer_norm_eps": (NORM_EPS, (NORM_EPS,)),
    "type_vocab_size": (SEGMENTS, (SEGMENTS,)),
    "position_embedding_type": ("absolute", ("absolute",)),
    "is_decoder": (False, (False,)),
    "add_cross_attention": (False, (False,)),
    "tie_word_embeddings": (True, (True,)),
}
FLOATS = ("F32", "F16", "BF16")
"""What weights may be stored as; all are read as single precision."""
NEVER = -1e4
"""A score that gives a word no probability: exp of it is 0."""
_TABLE, _BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
_SAME = {"cls.predictions.decoder.weight": _TABLE, "cls.predictions.decoder.bias": _BIAS}
"""What some folders hold once more, or hold instead."""
_HEADS = ("classifier.", "qa_outputs.")
"""What stands on top of the body in folders of a classifier, a tagger, a reader: it is not read."""


def import_bert(folder: Path) -> BERT:
    """Read a folder whose tokens are this house's: PAD 0, and `<sep>`, `<cls>`, `<mask>` at the end.

    Raises:
        InputError: files are missing, the weights do not fit the settings, or the settings are not those of this BERT.
    """
    config, arrays, padding = _read(Path(folder))
    if padding != PAD:
        raise InputError(f"{folder}/config.json: pad_token_id is {padding!r}; read here is {PAD}")
    return _filled(config, arrays)


def given_bert(folder: Path) -> tuple[BERT, Tokenizer]:
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
    config, found = bert_settings(folder)
    weights = weights_file(folder)
    facts = artefacts.read_array_facts(weights)
    names = _renamed(facts)
    there = {name: _single(facts[own]) for name, own in names.items()}
    config = config.model_copy(update={"next_sentence": "bert.pooler.dense.weight" in there})
    size = checked_size(folder / "config.json", "vocab_size", found["vocab_size"])
    plan = dict(bert_names(outline(Saved(BERT, config, [size]), folder)))
    lacks = {name for name in plan if _may_lack(name, there)}
    asked = {name: tensor for name, tensor in plan.items() if name not in lacks}
    spare = {name for name in there if name not in asked and _may_be_spare(name)}
    if wrong := misfits(asked, {name: fact for name, fact in there.items() if name not in spare}):
        raise InputError(f"{weights}: the arrays do not fit config.json ({'; '.join(wrong)})")
    read = artefacts.read_weights(weights, {names[name] for name in asked})
    arrays = {name: read[names[name]] for name in asked}
    check_finite(arrays, weights)
    for name in lacks:
        begins = float(name.endswith("LayerNorm.weight"))
        arrays[name] = np.full(tuple(plan[name].shape), begins, dtype=np.float32)
    return config, arrays, found.get("pad_token_id", PAD)


def weights_file(folder: Path) -> Path:
    """The file of the weights. Raises InputError where there are others in its place."""
    others = [file.name for ending in ("*.bin", "*.safetensors", "*.h5") for file in sorted(folder.glob(ending))]
    if others and ARRAYS not in others:
        raise InputError(
            f"{folder}: lacks {ARRAYS}, and {others[0]} is not read (a pickle may run code, of parts the others lack); "
            "`save_pretrained` of transformers writes one file: max_shard_size='100GB'"
        )
    return folder / ARRAYS


def check_finite(arrays: dict[str, np.ndarray], path: Path) -> None:
    """Raise InputError where a number is not finite."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise InputError(f"{path}: {name} has a number that is not finite (a training that diverged?)")


def _single(fact: ArrayFacts) -> ArrayFacts:
    return ArrayFacts("F32" if fact.dtype in FLOATS else fact.dtype, fact.shape)


def _renamed(facts: dict[str, ArrayFacts]) -> dict[str, str]:
    """BERT's name of today → the file's own."""
    bare = not any(name.startswith("bert.") for name in facts)  # of BertModel
    found = {}
    for own in facts:
        name = f"bert.{own}" if bare and own.startswith(("embeddings.", "encoder.", "pooler.")) else own
        for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
            name = name.removesuffix(old) + new if name.endswith(old) else name
        found[name] = own
    for other, name in _SAME.items():
        if name not in found and other in found:
            found[name] = found[other]
    return found


def _may_lack(name: str, there: dict[str, ArrayFacts]) -> bool:
    """Whether a weight is not there and need not be: those of the words' scores, or of the pairs', all together."""
    part = next((part for part in ("cls.predictions.", "cls.seq_relationship.") if name.startswith(part)), None)
    return part is not None and not any(one.startswith(part) for one in there)


def _may_be_spare(name: str) -> bool:
    """What is not read: numbers 0, 1, 2, …; what stands there twice; heads; what judges pairs without a pooler."""
    return name in (*_SAME, "bert.embeddings.position_ids") or name.startswith(("cls.seq_relationship.", *_HEADS))


def bert_settings(folder: Path) -> tuple[BERTConfig, dict[str, Any]]:
    """The settings that config.json describes, with a pooler, and all that it says.

    Raises:
        InputError: the file is missing, or describes another network than this BERT.
    """
    path = folder / "config.json"
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"{path}: a {type(found).__name__}, not an object")
    for name, (default, allowed) in _MUST_BE.items():
        value = found.get(name, default)
        if value not in allowed:
            raise InputError(f"{path}: {name} is {value!r}; read here is {' or '.join(map(repr, allowed))}")
    if missing := {"vocab_size", "hidden_size", "intermediate_size"} - found.keys():
        raise InputError(f"{path}: lacks {', '.join(sorted(missing))}")
    width, inner = (checked_size(path, name, found[name]) for name in ("hidden_size", "intermediate_size"))
    if inner % width:
        raise InputError(f"{path}: intermediate_size={inner} is no multiple of hidden_size={width}")
    settings = {
        "context": found.get("max_position_embeddings", 512),
        "width": width,
        "layers": found.get("num_hidden_layers", 12),
        "heads": found.get("num_attention_heads", 12),
        "expansion": inner // width,
        "dropout": found.get("hidden_dropout_prob", 0.1),
        "attention_dropout": found.get("attention_probs_dropout_prob", 0.1),
    }
    return checked(BERTConfig, settings, str(path)), found
