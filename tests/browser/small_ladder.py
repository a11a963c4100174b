"""Files of a finished ladder besides its language models: readers, translators, vectors, figures, curves, lineage."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from langladder.embeddings.base import WordVectors
from tests.faces.explorer import small_readers
from tests.faces.explorer.small_translators import translators

WORDS = ["the", "man", "woman", "king", "queen", "she", "he", "dog", "cat", "horse", "paris", "doctor", "nurse", "<b>"]


def finish(work: Path) -> Path:
    """Add to a folder of small models what the pages show of a whole run."""
    for add in (small_readers.classifiers, small_readers.tagger, small_readers.readers, small_readers.instructed):
        add(work / "models")
    translators(work / "models" / "translator")
    matrix = np.random.default_rng(1).normal(size=(len(WORDS), 6)).astype(np.float32)
    WordVectors(WORDS, matrix).save(work / "models" / "embedding" / "skipgram")
    ladder = {"chosen": {"corpus": "microworld", "size": "tiny", "seed": 1}}
    names = {"kneser_ney": ("Kneser–Ney 3-gram", 18.69), "lstm": ("LSTM", 9.36), "gpt": ("GPT & co", 9.38)}
    rungs = [_rung(name, *details) for name, details in names.items()]
    (work / "reports" / "ladder.json").write_text(
        json.dumps(ladder | {"lm": rungs, "tune": [_rung("long", "GPT, longer", 9.1) | {"base": "lm/gpt"}]})
    )
    about = {"lineage": [{"rung": "lm/gpt", "title": "GPT & co"}], "settings": {"tune": {"base": "lm/gpt"}}}
    folder = work / "models" / "tune" / "long"
    folder.mkdir(parents=True)
    (folder / "provenance.json").write_text(json.dumps(about))
    (work / "curves" / "lm").mkdir(parents=True)
    for name, (_, best) in names.items():
        lines = [f"{step},{best / 4 + 300 / step:.4f},{best / 4 + 320 / step:.4f}" for step in range(100, 1100, 100)]
        (work / "curves" / "lm" / f"{name}.csv").write_text("\n".join(["step,train_loss,validation_loss", *lines, ""]))
    return work


def _rung(name: str, title: str, per_word: float) -> dict[str, Any]:
    scores = {
        "tokens": 100,
        "words": 90,
        "characters": 500,
        "bytes": 500,
        "nll_nats": 201.0,
        "perplexity_per_token": per_word - 1,
    }
    scores |= {
        "perplexity_per_word": per_word,
        "bits_per_character": per_word / 20,
        "bits_per_byte": per_word / 20,
        "unknown_rate": 0.0,
    }
    scores |= {"impossible_tokens": 0}
    approach = "n-grams" if name == "kneser_ney" else "neural"
    return {"name": name, "title": title, "approach": approach, "parameters": 12, "scores": scores}
