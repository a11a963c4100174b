"""A model card: what a saved model is, what it was trained on, how it scores, how to load it (Mitchell et al. 2019).

Everything stands in the model's own folder (config.json, tokenizer.json, provenance.json); the scores are given.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langladder.artefacts import read_json
from langladder.models.base import LanguageModel
from langladder.text.tokenizers import Tokenizer

LOADING = {
    "langladder": """from langladder.models.base import LanguageModel

model = LanguageModel.load("{folder}")
model.log_probs(tokens)  # (B, T) ids that begin with BOS → log P(token | those before it)""",
    "gpt2": """from transformers import AutoTokenizer, GPT2LMHeadModel

model = GPT2LMHeadModel.from_pretrained("{folder}")
tokenizer = AutoTokenizer.from_pretrained("{folder}")  # puts `< bos >` before a text, as the model expects""",
    "torchscript": """import torch

model = torch.jit.load("{folder}/model.pt")
log_probs, state = model(tokens, model.first_state(len(tokens)))  # (B, T) ids → (B, T, V), to read on from""",
    "arpa": """import kenlm  # or SRILM, or langladder.models.arpa.read_arpa

model = kenlm.Model("{folder}")""",
}
"""How each kind of file or folder is loaded."""

SCORES = {
    "perplexity_per_token": "perplexity a token",
    "perplexity_per_word": "perplexity a word",
    "bits_per_byte": "bits a byte",
    "floor_perplexity_per_word": "entropy floor, perplexity a word",
    "unknown_rate": "share of unknown tokens",
}


def model_card(
    folder: Path, scores: Mapping[str, Any] | None = None, *, kind: str = "langladder", name: str = "folder"
) -> str:
    """The card of a saved language model, as Markdown; the same folder gives the same text.

    Args:
        folder: holds config.json and model.safetensors; tokenizer.json and provenance.json are told of where present.
        scores: figures on the test text, as `evaluation.perplexity.score` gives them.
        kind: how the model is loaded, a key of `LOADING`.
        name: the folder or file that is loaded, as the card's reader will call it.

    Raises:
        InputError: no saved language model there.
    """
    folder = Path(folder)
    model = LanguageModel.load(folder)
    about = _read(folder / "provenance.json")
    job = about.get("settings", {}).get("lm", {})
    title = job.get("title", type(model).__name__)
    parts = [
        f"# {title}",
        _summary(model),
        "## Model",
        _table("setting", model.config.model_dump(mode="json")),
        *_tokens(folder),
        "## Training",
        *_training(about, job),
        "## Scores",
        "On the held-out test text." if scores else "None were given.",
        *([_table("figure", {label: scores[key] for key, label in SCORES.items() if key in scores})] if scores else []),
        "## Use",
        f"```python\n{LOADING[kind].format(folder=name)}\n```",
        "The model knows the language of its training text only, and repeats what it says, prejudice included.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(model: LanguageModel) -> str:
    described = (type(model).__doc__ or "").strip().splitlines()[0].rstrip(".")
    size = f"{model.number_of_parameters():,} parameters, a vocabulary of {model.vocab_size:,} tokens"
    return f"A language model, P(w_t | w_1 … w_{{t-1}}): {described}. {size[0].upper()}{size[1:]}."


def _tokens(folder: Path) -> list[str]:
    path = folder / "tokenizer.json"
    if not path.exists():
        return []
    tokenizer = Tokenizer.load(path)
    return ["## Tokens", f"Tokenizer `{tokenizer.kind}`, {tokenizer.vocab_size:,} tokens (`tokenizer.json`)."]


def _training(about: dict[str, Any], job: dict[str, Any]) -> list[str]:
    if not about:
        return ["Not recorded: the folder holds no provenance.json."]
    settings = about.get("settings", {})
    inputs = {f"input `{name}`": fingerprint for name, fingerprint in about.get("inputs", {}).items()}
    traces = {"rung": job.get("name"), "seed": settings.get("seed"), "code": settings.get("code")} | inputs
    traces |= {"fingerprint": about.get("fingerprint")}
    how = job.get("training") or {}
    return [
        _table("provenance", {name: value for name, value in traces.items() if value is not None}),
        _table("training setting", how) if how else "Fitted by counting, in one pass.",
    ]


def _table(column: str, rows: Mapping[str, Any]) -> str:
    if not rows:
        return ""
    return "\n".join(
        [f"| {column} | value |", "| --- | --- |", *(f"| {key} | {_cell(v)} |" for key, v in rows.items())]
    )


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def _read(path: Path) -> dict[str, Any]:
    return dict(read_json(path)) if path.exists() else {}
