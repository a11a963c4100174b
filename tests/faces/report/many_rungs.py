"""The full ladder as the report sees it: every rung of conf/, with figures drawn from a seed instead of trained."""

import math
import random
from dataclasses import replace
from functools import cache
from typing import Any

import yaml
from classifier_files import LABELS, classifier, with_filters, with_trees
from small_run_files import (
    DAG,
    analogy_figure,
    clusters,
    embedding,
    entry,
    language_model,
    report_of,
    similarity,
    split,
    translator,
)

from langladder.faces.report.inputs import CurvePoint, Entry, Meta, ReportInputs, RungMetadata, Stage, Timing
from pipeline.settings import params

APPROACHES = {
    "lm": ["n-grams", "feed-forward", "recurrent", "convolutional", "Transformer"],
    "embedding": ["without text", "counts", "prediction"],
    "translator": ["recurrent", "recurrent with attention", "Transformer"],
    "classifier": ["bags of n-grams", "convolutional", "recurrent", "trees"],
}
WORDS = ["king", "国王", "المدينة", "a_rather_long_word_that_nobody_breaks", "Donaudampfschifffahrt", "queen", "paris"]


def listed(group: str) -> list[tuple[str, str, str]]:
    """(name, title, approach) of every rung that conf/ has."""
    files = [params.conf_file(group, name) for name in params.conf_names(group)]
    rungs = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    names = APPROACHES[group]
    return [(rung["name"], rung["title"], names[i * len(names) // len(rungs)]) for i, rung in enumerate(rungs)]


def vectors(name: str, title: str, approach: str, chance: random.Random) -> dict[str, Any]:
    value = embedding(name)
    scores = value["scores"]
    right = chance.randrange(5, 80)
    scores["analogy"]["overall"] = analogy_figure(right, 80, 100)
    scores["analogy"]["semantic"]["accuracy"] = chance.randrange(50) / 50
    scores["analogy"]["syntactic"] = analogy_figure(chance.randrange(30), 30, 50)
    scores["similarity"] = [similarity(name, chance.random()) for name in ("wordsim353", "simlex999")]
    scores["clusters"] = clusters(chance.random(), chance.random())
    near = [[chance.choice(WORDS), chance.random()] for _ in range(8)]
    value["map"] = value["map"] if name in ("svd", "skipgram") else []  # drawing is slow
    value["neighbours"] = [{"word": word, "nearest": near} for word in WORDS]
    return value | {"title": title, "approach": approach}


def models(chance: random.Random) -> list[dict[str, Any]]:
    result = []
    for name, title, approach in listed("lm"):
        value = language_model(name, title, chance.uniform(33, 400), chance.randrange(10**5, 10**8))
        value["approach"] = approach
        value["samples"] = [
            {"prompt": prompt, "text": f"{prompt} {' '.join(chance.choices(WORDS, k=25))}"} for prompt in ("the", "王")
        ]
        if approach in ("recurrent", "Transformer"):
            value["vectors"] = vectors(f"{name}_input", f"{title}, input embedding", "inside language models", chance)
        result.append(value)
    scores = result[0]["scores"]  # as of a model that rules tokens out
    infinite = [
        "perplexity_per_word",
        "perplexity_per_token",
        "bits_per_character",
        "bits_per_byte",
        "above_floor_percent",
    ]
    scores |= dict.fromkeys(infinite) | {"infinite": infinite, "impossible_tokens": 3}
    return result


def curve(best: float, every: int) -> tuple[CurvePoint, ...]:
    points = []
    for step in range(100, 2001, 100):
        loss = math.log(best) + 4 * math.exp(-step / 400)
        points.append(CurvePoint(step, loss, loss + 0.05 if step % every == 0 else None))
    return tuple(points)


def translators(chance: random.Random) -> list[Entry[Any]]:
    result = []
    for name, title, approach in listed("translator"):
        value = translator(name) | {"title": title, "approach": approach}
        value["scores"]["bleu"] = chance.uniform(20, 95)
        if name not in ("attention", "transformer"):
            value["examples"][0]["attention"] = None
        result.append(entry("translator", value, curve=curve(chance.uniform(2, 9), 500)))
    return result


def classifiers(chance: random.Random, labels: int) -> list[Entry[Any]]:
    names = list(LABELS) if labels == 2 else [f"{chance.choice(WORDS)[:14]} {i}" for i in range(labels)]
    result = []
    for i, (name, title, approach) in enumerate(listed("classifier")):
        value = classifier(name, chance.uniform(0.5, 0.95), labels=names, texts=1000)
        value |= {"title": title, "approach": approach}
        if labels == 2 and i % 6 == 0:
            value = with_trees(classifier(name, 0.9)) | {"title": title, "approach": approach}
        result.append(entry("classifier", with_filters(value) if i % 5 == 0 else value))
    return result


@cache
def many_rungs(seed: int = 1, labels: int = 50) -> ReportInputs:
    """Every language model, every way to word vectors, every translator and every classifier of conf/."""
    chance = random.Random(seed)
    cost = {"seconds": 3599, "tokens_per_second": 123_456.0, "peak_memory_bytes": 812_000_000}
    timing = Timing.model_validate(cost | {"run": "3f2a" * 8})
    written = models(chance)
    embeddings = [entry("embedding", vectors(*rung, chance), timing=timing) for rung in listed("embedding")]
    lms = []
    for i, value in enumerate(written):
        drawn = () if value["approach"] == "n-grams" else curve(chance.uniform(10, 300), 200)
        rung = entry("lm", value, timing=timing, curve=drawn)
        lms.append(replace(rung, metadata=RungMetadata(title=rung.title, year=1948 + i)))
    meta = Meta(size="small", seed=1, corpus="text", text="novels", parallel="microworld", tokenizer="bpe")
    inputs = report_of(
        meta, lm=lms, embedding=embeddings, translator=translators(chance), classifier=classifiers(chance, labels)
    )
    data = {side: {"splits": {"train": split(20_000), "test": split(100)}} for side in ("text", "parallel")}
    return replace(inputs, dag=[Stage.model_validate(stage) for stage in DAG], data=data)
