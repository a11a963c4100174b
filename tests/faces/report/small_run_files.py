"""A small run's leavings, in the shapes that the stages write; the `title` of a page is the report's, and beside it."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from langladder.faces.report.inputs import Entry, Meta, ReportInputs, RungMetadata, rungs_by_family
from langladder.families import families
from langladder.families import family as family_of

FAMILIES = list(families().values())
TITLES = {"kneser_ney": "Kneser–Ney 3-gram", "lstm": "LSTM", "gpt": "GPT", "skipgram": "Skip-gram"}
TOLD: dict[str, dict[str, dict[str, Any]]] = {
    family: {name: {"title": TITLES[name]} if name in TITLES else {} for name in names}
    for family, names in {
        "lm": ["kneser_ney", "lstm", "gpt"],
        "embedding": ["skipgram"],
        "translator": ["attention"],
    }.items()
}
HOSTILE = 'the <script>alert("x")</script> & $cat$ </svg> sleeps .'

TIMINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("lm", "lstm"): {"seconds": 61.4, "tokens_per_second": 24_310.0, "peak_memory_bytes": 812_000_000, "run": "3f2a"},
    ("lm", "gpt"): {"seconds": 75.0, "tokens_per_second": 19_100.0, "run": "http://127.0.0.1:5000/#/runs/77"},
    ("translator", "attention"): {"seconds": None},
}

DAG = [
    {"stage": "resolve", "desc": "check every setting", "depends": []},
    *(
        {"stage": f"corpus@{side}", "desc": "make or read text", "depends": ["resolve"]}
        for side in ("text", "parallel")
    ),
    *(
        {"stage": f"clean@{side}", "desc": "normalise and split", "depends": ["resolve", f"corpus@{side}"]}
        for side in ("text", "parallel")
    ),
    {"stage": "tokenize@text", "desc": "train the tokenizer", "depends": ["resolve", "clean@text"]},
    {"stage": "vocab", "desc": "count words", "depends": ["resolve", "clean@text"]},
    {"stage": "embed@skipgram", "desc": "make word vectors", "depends": ["resolve", "vocab"]},
    *({"stage": f"train_lm@{name}", "desc": "train", "depends": ["resolve", "tokenize@text"]} for name in TOLD["lm"]),
    *(
        {"stage": f"evaluate_lm@{name}", "desc": "score", "depends": ["resolve", f"train_lm@{name}", "tokenize@text"]}
        for name in TOLD["lm"]
    ),
    {"stage": "report", "desc": "gather", "depends": ["evaluate_lm@lstm", "embed@skipgram", "clean@text"]},
]


def entry(family: str, value: dict[str, Any], **beside: Any) -> Entry[Any]:
    """A rung of a family out of its page as written, and its title."""
    return Entry(
        TypeAdapter(family_of(family).page()).validate_python(value),
        RungMetadata(title=value.get("title", "")),
        **beside,
    )


def report_of(meta: Meta | None = None, **rungs: list[Entry[Any]]) -> ReportInputs:
    """What a report of these rungs alone is made of: family → rungs."""
    entries = {(family, rung.name): rung for family, result in rungs.items() for rung in result}
    return ReportInputs(meta or Meta(), FAMILIES, rungs_by_family(FAMILIES, entries))


def with_rungs(inputs: ReportInputs, family: str, rungs: list[Entry[Any]]) -> ReportInputs:
    """The same with other rungs of a family."""
    return replace(inputs, rungs={**inputs.rungs, family: rungs})


def only(inputs: ReportInputs, **rungs: list[Entry[Any]]) -> ReportInputs:
    """The same with these rungs and no others: each section with plots takes a second of CPU time."""
    return replace(inputs, rungs={family: rungs.get(family, []) for family in inputs.rungs} | rungs)


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")


def language_model(name: str, title: str, per_word: float, parameters: int) -> dict[str, Any]:
    words, tokens, size = 98_412, 103_977, 431_210
    nats = words * math.log(per_word)
    floor = 31.4159
    return {
        "name": name,
        "title": title,
        "parameters": parameters,
        "scores": {
            "tokens": tokens,
            "words": words,
            "characters": size,
            "bytes": size,
            "nll_nats": round(nats, 4),
            "perplexity_per_token": round(math.exp(nats / tokens), 4),
            "perplexity_per_word": per_word,
            "bits_per_character": round(nats / size / math.log(2), 6),
            "bits_per_byte": round(nats / size / math.log(2), 6),
            "floor_perplexity_per_word": floor,
            "above_floor_percent": round(100 * (per_word / floor - 1), 3),
            "unknown_rate": 0.0,
            "something_new": [1, 2],
            "positions": [
                {"first": 1, "last": 1, "words": 30_000, "perplexity": per_word + 1, "floor": floor + 1},
                {"first": 2, "last": 2, "words": 30_000, "perplexity": per_word, "floor": floor},
                {"first": 3, "last": 4, "words": 38_412, "perplexity": per_word - 1, "floor": floor - 1},
            ],
        },
        "samples": [
            {"prompt": "the queen", "text": "the queen of spain reads an old book ."},
            {"prompt": "", "text": HOSTILE},
            {"prompt": "", "text": "les mots\nd'après 国王 ."},
        ],
    }


def analogy_figure(correct: int, answered: int, questions: int) -> dict[str, Any]:
    accuracy = correct / answered if answered else None
    return {
        "accuracy": accuracy,
        "interval": None if accuracy is None else (accuracy - 0.03, accuracy + 0.03),
        "correct": correct,
        "answered": answered,
        "questions": questions,
        "coverage": answered / questions,
    }


def embedding(name: str) -> dict[str, Any]:
    figure = analogy_figure(55, 80, 100)
    points = [("king", 0.1, 0.2), ("queen", 0.12, 0.21), ("paris", -1.0, 0.5), ("rome", -1.1, 0.45)]
    return {
        "name": name,
        "title": "Skip-gram",
        "dimension": 100,
        "vocabulary": 3120,
        "bytes_per_word": 400,
        "scores": {
            "analogy": {
                "overall": figure,
                "semantic": analogy_figure(35, 50, 50),
                "syntactic": None,
                "sections": [{"name": "capital-country", **figure}, {"name": "gram1", **analogy_figure(0, 0, 100)}],
                "restrict_vocabulary": None,
                "method": "3cosadd",
                "skipped_files": [],
            },
            "similarity": [similarity("ws353", 0.512)],
        },
        "neighbours": [{"word": "king", "nearest": [["queen", 0.91], ["prince", 0.83]]}],
        "map": [{"word": w, "x": x, "y": y, "group": "royal" if x > 0 else "capital"} for w, x, y in points],
    }


def similarity(name: str, spearman: float) -> dict[str, Any]:
    return {"name": name, "spearman": spearman, "interval": None, "pairs": 353, "covered": 300, "coverage": 0.85}


def clusters(purity: float, accuracy: float) -> dict[str, Any]:
    outliers = {"accuracy": accuracy, "opp": 0.9, "cases": 64, "interval": (0.1, 0.9)}
    counts = {"groups": 2, "words": 20, "covered": 19, "coverage": 0.95}
    return {"purity": purity, **counts, "outliers": outliers, "sections": []}


def translator(name: str) -> dict[str, Any]:
    example = {
        "source": "the cat sleeps .",
        "reference": "la kato dormas .",
        "output": "la kato dormas .",
        "source_tokens": ["the", "cat", "sleeps", ".", "<eos>"],
        "output_tokens": ["la", "kato", "dormas", ".", "<eos>"],
        "attention": [[0.8 if i == j else 0.05 for j in range(5)] for i in range(5)],
        "n_best": [
            {"output": "la kato dormas .", "log_prob": -0.5, "score": -0.162},
            {"output": HOSTILE, "log_prob": -1.5, "score": -0.4},
        ],
    }
    return {
        "name": name,
        "parameters": 1_234_567,
        "scores": {
            "sentences": 100,
            "bleu": 91.23,
            "bleu_low": 90.1,
            "bleu_high": 92.4,
            "chrf": 95.0,
            "ter": 3.25,
            "exact_match": 0.81,
            "signature": "n:1",
            "chrf_signature": "n:1",
            "ter_signature": "n:1",
            "main": "bleu",
            "precisions": [0.975, 0.945, 0.918, 0.894],
            "brevity_penalty": 0.9952,
            "hypothesis_length": 15531,
            "reference_length": 15605,
        },
        "search_errors": {"sentences": 100, "wrong": 19, "search": 1, "model": 18},
        "by_width": [
            {"width": width, "bleu": bleu, "mean_score": -1.0, "errors": errors}
            for width, bleu, errors in (
                (1, 90.1, {"sentences": 20, "wrong": 5, "search": 2, "model": 3}),
                (5, 91.0, {"sentences": 20, "wrong": 4, "search": 0, "model": 4}),
            )
        ],
        "by_length": [
            {"length": "1-5", "sentences": 40, "bleu": 95.1},
            {"length": "6-10", "sentences": 50, "bleu": 90.0},
        ],
        "examples": [example, {"source": "hi .", "reference": "saluton .", "output": HOSTILE}],
    }


def split(lines: int) -> dict[str, Any]:
    lengths = {"mean": 8.4, "percentiles": {"0": 3, "50": 8, "100": 21}, "histogram": {"2-3": 5, "4-7": 90}}
    return {"documents": lines // 20, "lines": lines, "words_a_line": lengths, "character_classes": {"letter": 0.81}}
