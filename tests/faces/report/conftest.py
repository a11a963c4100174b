"""A small run's leavings in a folder, and read."""

import math
from pathlib import Path

import pytest
from small_run_files import DAG, FAMILIES, HOSTILE, TIMINGS, TOLD, embedding, language_model, split, translator, write

from langladder.faces.report.inputs import ReportInputs, load_report


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The folder of a finished run."""
    rungs = tmp_path / "reports" / "rungs"
    write(rungs / "lm" / "kneser_ney.json", language_model("kneser_ney", "Kneser–Ney 3-gram", 44.21, 812_345))
    write(rungs / "lm" / "lstm.json", language_model("lstm", "LSTM", 35.2, 2_900_000))
    write(rungs / "lm" / "gpt.json", language_model("gpt", "GPT", 34.1, 3_400_000))
    write(rungs / "embedding" / "skipgram.json", embedding("skipgram"))
    write(rungs / "translator" / "attention.json", translator("attention"))
    dropped = {"too_long": {"count": 3, "examples": [HOSTILE]}, "empty": {"count": 1, "examples": [""]}}
    overlap = {"ngram_words": 13, "ngrams": 80, "ngrams_in_train": 0.01, "lines": 9, "lines_in_train": 0.0}
    data = {
        "splits": {"train": split(20_000), "validation": split(1000), "test": split(1000)},
        "cut_by_hash": ["validation", "test"],
        "cleaning": {"read": 22_004, "changed_by_step": {"lower": 17}, "dropped": dropped},
        "leakage": {"validation": overlap, "test": overlap},
    }
    tokens = {
        "vocabulary": 4000,
        "fertility": 1.06,
        "longest": ["international", "▁grand"],
        "samples": [["the", "cat"]],
    }
    for side in ("text", "parallel"):
        write(tmp_path / "metrics" / "clean" / f"{side}.json", data)
        write(tmp_path / "metrics" / "tokenize" / f"{side}.json", tokens)
    windows = [{"sentences": seen, "perplexity": 42.5 - seen, "error_percent": 3.5} for seen in (0, 1, 4)]
    write(
        tmp_path / "metrics" / "corpus" / "text.json", {"splits": {}, "floors": {"document": 31.4, "windows": windows}}
    )
    losses = {step: 3.5 + 4 * math.exp(-step / 300) for step in range(100, 2001, 100)}
    curve = "step,train_loss,validation_loss,lr\n" + "".join(
        f"{step},{loss:.4f},{f'{loss + 0.05:.4f}' if step % 500 == 0 else ''},0.001\n" for step, loss in losses.items()
    )
    for task, name in (("lm", "lstm"), ("lm", "gpt"), ("translator", "attention")):
        write(tmp_path / "curves" / task / f"{name}.csv", curve)
    write(tmp_path / "curves" / "embedding" / "skipgram.csv", "step,train_loss\n10,2.5\n20,2.1\n")
    return tmp_path


@pytest.fixture
def inputs(tree: Path) -> ReportInputs:
    """The same, read."""
    meta = {"size": "small", "seed": 1, "corpus": "microworld", "parallel": "microworld", "tokenizer": "bpe"}
    return load_report(tree, FAMILIES, TOLD, TIMINGS, DAG, meta)
