"""What a folder holds, told by its files without importing or loading anything: a listing takes milliseconds.

The kinds are the families' names; what grew from another rung is of the kind that it is used as (`tune`: `lm`).
"""

import json
from pathlib import Path
from typing import Any

CLASSES = {
    "lm": ("ngrams.*", "convolutional.ConvolutionalLM", "gpt.GPT", "nnlm.NNLM", "recurrent.RecurrentLM"),
    "instruct": ("instructed.InstructedGPT",),
    "reward": ("reward.RewardModel",),
    "encoder": ("bert.BERT", "encoder.Encoder"),
    "translator": (
        "attention_seq2seq.AttentionSeq2Seq",
        "convolutional_seq2seq.ConvolutionalSeq2Seq",
        "luong_seq2seq.LuongSeq2Seq",
        "seq2seq.Seq2Seq",
        "transformer.Transformer",
    ),
    "captioner": ("captioner.Captioner",),
    "transcriber": ("ctc.CTCRecognizer",),
    "classifier": (
        "bert_classifier.BERTClassifier",
        "cnn_lstm.CNNLSTM",
        "fasttext.FastText",
        "fixed_window.FixedWindow",
        "gpt_classifier.GPTClassifier",
        "linear_classifier.LinearClassifier",
        "majority.Majority",
        "mean_embedding.MeanEmbedding",
        "recurrent_classifier.RecurrentClassifier",
        "textcnn.TextCNN",
        "transformer_classifier.TransformerClassifier",
        "tree_lstm.TreeLSTM",
    ),
    "tagger": ("bert_tagger.BERTTagger", "taggers.*"),
    "reader": ("bert_span.BERTSpan", "gpt_choice.GPTChoice", "sliding_window.SlidingWindow"),
}
"""Kind → the classes that `config.json` names, below `langladder.models`; `.*`: every one of the package."""
_KINDS = {name: kind for kind, names in CLASSES.items() for name in names}
_GROWN = {"tune": "lm", "align": "instruct"}
_MOST = 10 * 2**20  # bytes of a config.json that is read


def kind_of(folder: Path) -> str | None:
    """The kind of a folder of a saved model; None where it is none.

    Where config.json cannot be read, the folder above says it (`models/lm/gpt`), so that the model is still named and
    whoever asks it hears what is wrong (but not where its vectors are asked for: `has_vectors`).
    """
    if (folder / "words.json").is_file():
        return "embedding"
    if not (folder / "config.json").is_file():
        return None
    family = folder.parent.name.removesuffix("_transfer")
    above = _GROWN.get(family, family if family in CLASSES else None)
    name = _class_of(folder)
    if name is None:
        return above
    return _KINDS.get(name) or _KINDS.get(f"{name.partition('.')[0]}.*") or above


def has_vectors(folder: Path) -> bool:
    """Whether a folder holds word vectors, or a language model that has some: its input embedding."""
    kind = kind_of(folder)
    if kind != "lm":
        return kind == "embedding"
    name = _class_of(folder)
    return name is not None and not name.startswith("ngrams.")


def _class_of(folder: Path) -> str | None:
    """The class that config.json names, below `langladder.models`; None where it cannot be read."""
    try:
        target = described(folder / "config.json").get("_target_")
    except (OSError, ValueError):
        return None
    return str(target).removeprefix("langladder.models.")


def title_of(folder: Path) -> str:
    """The rung's title, as its provenance.json has it; else the folder's name."""
    try:
        settings: Any = described(folder / "provenance.json").get("settings", {})
        found = [job["title"] for job in settings.values() if isinstance(job, dict) and "title" in job]
    except (OSError, ValueError, AttributeError):
        found = []
    return str(found[0])[:80] if found else folder.name


def described(path: Path) -> dict[str, object]:
    """An object of JSON out of a small file. Raises OSError or ValueError where it is none."""
    if path.stat().st_size > _MOST:
        raise ValueError(f"{path}: too large")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError(f"{path}: too deep") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}: no object")
    return found


def models_below(folder: Path) -> list[Path]:
    """The folders below one, itself included, that hold a saved model; hidden ones and links are passed over."""
    found, waiting = [], [folder]
    while waiting:
        place = waiting.pop()
        if kind_of(place) is not None:
            found.append(place)
            continue
        try:
            inside = sorted(place.iterdir(), reverse=True)
        except OSError:
            continue
        waiting += [one for one in inside if one.is_dir() and not one.is_symlink() and not one.name.startswith(".")]
    return found
