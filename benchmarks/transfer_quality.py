"""What an hour of pre-training is worth on public sets: BERT-mini on wiki-en, fine-tuned, beside the same from scratch.

    python benchmarks/transfer_quality.py speed --rows 32 --rows 64 --rows 128       # tokens/s of this machine
    python benchmarks/transfer_quality.py pretrain /tmp/mini                         # one hour, two threads; goes on
    python benchmarks/transfer_quality.py judge trec --base /tmp/mini --labels 256 --scratch
    python benchmarks/transfer_quality.py judge trec --base /tmp/mini --test

`pretrain` reads wiki-en and the unlabelled training texts of SST, TREC and UD EWT (`transfer_text`), by the clock
(`transfer_pretraining`). `judge` fine-tunes `BERTClassifier` or `BERTTagger`; the weights are those of the last step,
so nothing is chosen by what is judged. Dev and test are those of `classifier_quality.py` and `tagger_quality.py`, whose
rungs are what to beat: test SST-2 85.0, TREC 91.28, MR 78.95, UD EWT 95.86. With all its labels SST-2 learns from every
labelled phrase of its trees, as those rungs do; with few from sentences alone.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev
from types import SimpleNamespace
from typing import Any, NamedTuple

import click
import numpy as np
import torch
from measure import machine, markdown
from public_data import data
from public_labels import Splits, label_accuracy, sentences, splits, tag_accuracy
from transfer_pretraining import (
    Plan,
    Pretraining,
    agree,
    attend_in_fp32,
    batches_of,
    network,
    parameters,
    pretrain,
    seconds,
)
from transfer_text import SETS, Corpus, as_read, normal, prepare

from langladder.ground.artefacts import read_json
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.making import Run
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.models.units import SubwordUnits
from langladder.tasks.classification import train_classifier
from langladder.tasks.fine_tuning import begin
from langladder.tasks.optimisation import resolve_precision
from langladder.tasks.settings import ReadingTraining, TaggerTraining
from langladder.tasks.tagging import train_tagger
from langladder.text.labelled.labelled import Example, Tagged, parse_tree

QUIET: dict[str, Any] = {"max_steps": 100_000, "checkpoint_every": 100_000, "progress": False, "accelerator": "cpu"}
QUIET |= {"validations": 1, "warmup_steps": 50, "weight_decay": 0.01, "betas": [0.9, 0.98]}
threads = click.option("--threads", default=2, show_default=True)


class Chosen(NamedTuple):
    """Fine-tuning of a set: passes over all its labels and over few, rates of pre-trained weights, of fresh ones."""

    epochs: float
    few: float
    lr: float
    few_lr: float
    fresh_lr: float
    batch: int = 32


CHOSEN = {  # trec by dev, the others first guesses; `judge` takes others
    "sst2": Chosen(3, 20, 3e-4, 3e-4, 5e-4),
    "trec": Chosen(12, 60, 3e-4, 1e-4, 5e-4),
    "mr": Chosen(4, 20, 3e-4, 3e-4, 5e-4),
    "ud_ewt": Chosen(8, 20, 5e-4, 5e-4, 1e-3, 16),
}


@click.group()
def main() -> None:
    """Pre-training and transfer on public sets."""


def text_options(command: Callable[..., None]) -> Callable[..., None]:
    """What the text is made of and how it is cut."""
    for option in (
        click.option("--sets", multiple=True, type=click.Choice(SETS), default=SETS, show_default=True),
        click.option("--repeat", default=3, show_default=True, help="Passes over the sets' text in one over wiki-en."),
        click.option("--vocabulary", default=8000, show_default=True),
        click.option("--lowercase/--case", default=False, show_default=True),
        click.option("--articles", "most", type=int, help="Of wiki-en; default: all."),
    ):
        command = option(command)
    return command


def plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """How the encoder is pre-trained."""
    plan = Plan()
    for option in (
        click.option("--length", default=plan.length, show_default=True, help="Tokens of a row."),
        click.option("--share", default=plan.share, show_default=True, help="Of the tokens that are to be told."),
        click.option("--lr", default=plan.lr, show_default=True),
        click.option("--grow", default=plan.grow, show_default=True, help="Batches of one of the last updates."),
        click.option("--precision", default=plan.precision, type=click.Choice(["fp32", "bf16", "auto"])),
        click.option("--seed", default=plan.seed, show_default=True),
    ):
        command = option(command)
    return command


@main.command("pretrain")
@click.argument("out", type=click.Path(path_type=Path))
@data
@threads
@text_options
@plan_options
@click.option("--rows", default=Plan().rows, show_default=True)
@click.option("--minutes", default=Plan().minutes, show_default=True, help="Of all, preparation included.")
@click.option("--every", default=Plan().every, show_default=True, help="Seconds between two validations.")
def pretrain_command(
    out: Path,
    data: Path,
    threads: int,
    sets: tuple[str, ...],
    repeat: int,
    vocabulary: int,
    lowercase: bool,
    most: int | None,
    **plan: Any,
) -> None:
    """Pre-train within a limit of processor time; the same command goes on where it was stopped."""
    torch.set_num_threads(threads)
    (out / "text").mkdir(parents=True, exist_ok=True)
    text = {"vocabulary": vocabulary, "repeat": repeat, "lowercase": lowercase, "most": most}
    agree(out / "reads.json", text | {"sets": [*sets]})
    corpus = prepare(data, out / "text", sets, **text)
    run = _run(corpus, Plan(**plan))
    spent = seconds()
    print(
        f"{len(corpus.train.ids):,} tokens, {parameters(run.model):,} parameters, {spent:.0f} s to prepare", flush=True
    )
    pretrain(run, out, corpus.tokenizer, spent=spent)
    print(machine(threads))


@main.command()
@data
@threads
@text_options
@plan_options
@click.option("--rows", multiple=True, type=int, default=(32, 64, 128), show_default=True)
@click.option("--seconds", default=12.0, show_default=True, help="For each number of rows.")
def speed(
    data: Path,
    threads: int,
    sets: tuple[str, ...],
    repeat: int,
    vocabulary: int,
    lowercase: bool,
    most: int | None,
    rows: tuple[int, ...],
    seconds: float,
    **plan: Any,
) -> None:
    """Training tokens per second; the text of 2,000 articles unless told otherwise."""
    torch.set_num_threads(threads)
    found = []
    with tempfile.TemporaryDirectory() as work:
        corpus = prepare(
            data, Path(work), sets, vocabulary=vocabulary, repeat=repeat, lowercase=lowercase, most=most or 2000
        )
        for count in rows:
            run = _run(corpus, Plan(rows=count, **plan))
            run.step(0.3), run.step(0.3)
            run.tokens, before, busy, steps = 0, time.perf_counter(), time.process_time(), run.steps
            while time.perf_counter() - before < seconds:
                run.step(0.3)
            spent, busy = time.perf_counter() - before, time.process_time() - busy
            half = "bf16" if run.half else "fp32"
            figures = [f"{run.tokens / spent:,.0f}", f"{run.tokens / busy:,.0f}", f"{(run.steps - steps) / spent:.2f}"]
            found.append([str(count), half, *figures])
    columns = ["rows", "precision", "tokens/s", "tokens/s of processor time", "steps/s"]
    markdown(f"BERT-mini, V = {vocabulary:,}, rows of {plan['length']}", columns, found, [machine(threads)])


def _run(corpus: Corpus, plan: Plan) -> Pretraining:
    model = network(corpus.tokenizer, plan)
    return Pretraining(model, batches_of(corpus.train, corpus.validation, model, corpus.tokenizer, plan), plan)


@main.command()
@click.argument("name", type=click.Choice(sorted(CHOSEN)))
@data
@threads
@click.option("--base", type=click.Path(exists=True, path_type=Path), required=True, help="What `pretrain` made.")
@click.option("--labels", type=int, help="Learn from so many labelled texts, drawn anew by every seed; default: all.")
@click.option("--scratch", is_flag=True, help="Also the same network from fresh weights.")
@click.option("--seeds", default=5, show_default=True)
@click.option("--test", is_flag=True, help="Judge on the test split.")
@click.option("--folds", default=10, show_default=True, help="Of mr: how many of ten.")
@click.option("--pooling", type=click.Choice(["mean", "first", "pooler"]), default="mean", show_default=True)
@click.option("--dropout", default=0.1, show_default=True, help="In the body, and before the output.")
@click.option("--epochs", type=float, help="Default: as chosen for the set.")
@click.option("--lr", type=float, help="Default: as chosen for the set, another from fresh weights.")
@click.option("--layers", type=click.Choice(["last", "weighted_sum", "concat"]), default="last", show_default=True)
@click.option("--precision", type=click.Choice(["fp32", "bf16", "auto"]), default="fp32", show_default=True)
def judge(
    name: str,
    data: Path,
    threads: int,
    base: Path,
    labels: int | None,
    scratch: bool,
    seeds: int,
    test: bool,
    folds: int,
    epochs: float | None,
    lr: float | None,
    precision: str,
    **model: Any,
) -> None:
    """Accuracy on dev or test: mean and deviation over seeds."""
    torch.set_num_threads(threads)
    chosen, rows = CHOSEN[name], []
    lowercase = bool(read_json(base / "reads.json")["lowercase"])
    parts = _parts(data, name, test=test, lowercase=lowercase)[:folds]
    for pretrained in (True, False) if scratch else (True,):
        found = []
        usual = (chosen.lr if labels is None else chosen.few_lr) if pretrained else chosen.fresh_lr
        training = {"lr": lr or usual, "batch_size": chosen.batch}
        training["epochs"] = epochs or (chosen.epochs if labels is None else chosen.few)
        quiet = QUIET | {"precision": precision}
        for seed in range(1, seeds + 1):
            settings = SimpleNamespace(name=name, training=quiet | training, model=model | {"pretrained": pretrained})
            found.append(mean(_accuracy(part, base / "model", settings, labels, seed, test=test) for part in parts))
            print(f"{name}, pretrained={pretrained}, seed {seed}: {found[-1]:.2f}", flush=True)
        spread = f"{stdev(found):.2f}" if seeds > 1 else ""
        how = ", ".join(f"{key} {value:g}" for key, value in training.items())
        rows.append(["pre-trained" if pretrained else "from scratch", f"{mean(found):.2f}", spread, str(seeds), how])
    title = f"{name}, {'test' if test else 'dev'}, {labels or 'all'} labels"
    markdown(title, ["BERT-mini", "accuracy", "±", "seeds", "settings"], rows, [machine(threads)])


def _parts(data: Path, name: str, *, test: bool, lowercase: bool) -> list[Any]:
    """A set, or its folds, as the encoder reads text: train, dev, test."""
    if name == "ud_ewt":
        sides = [sentences(data, split) for split in ("train", "dev", "test")]
        return [[[_tagged(one, lowercase) for one in side] for side in sides]]
    found = splits(data, name, test=test)
    return [Splits(*([_example(one, lowercase) for one in side] for side in part)) for part in found]


def _tagged(one: Tagged, lowercase: bool) -> Tagged:
    return Tagged(tuple(normal(word, lowercase=lowercase) for word in one.words), one.tags)


def _example(one: Example, lowercase: bool) -> Example:
    return Example(as_read(one.text, lowercase=lowercase), None, one.label, one.tree)


def phrases(rows: Sequence[Example], *, lowercase: bool = False) -> list[Example]:
    """Every phrase of the trees that has a label, once; the sentences with them."""
    found: dict[str, Example] = {}
    for row in rows:
        assert row.tree is not None
        tree = parse_tree(row.tree)
        texts: list[str] = []
        for children, word, label in zip(tree.children, tree.word, tree.label, strict=True):
            texts.append(tree.words[word] if word >= 0 else " ".join(texts[child] for child in children))
            text = as_read(texts[-1], lowercase=lowercase)
            if label and text:
                found[text] = Example(text, None, label)
    return list(found.values())


def _accuracy(part: Any, base: Path, settings: Any, labels: int | None, seed: int, *, test: bool) -> float:
    """Fine-tune once, judge once."""
    train, dev, judged = list(part[0]), list(part[1])[:64], part[2] if test else part[1]
    tagging = isinstance(train[0], Tagged)
    if labels is not None:
        train = [train[place] for place in np.random.default_rng(seed).permutation(len(train))[:labels]]
    elif not tagging and train[0].tree is not None:
        lowercase = bool(read_json(base.parent / "reads.json")["lowercase"])
        train = phrases(train, lowercase=lowercase)
    names = sorted({str(tag) for one in part[0] for tag in (one.tags if tagging else [one.label])})
    plain = [one if tagging else Example(one.text, None, one.label) for one in train]
    kind: Any = BERTTagger if tagging else BERTClassifier
    values = dict(settings.model)
    values["body_dropout"] = values["dropout"]
    if tagging:
        del values["pooling"]
    training = (TaggerTraining if tagging else ReadingTraining).model_validate(settings.training)
    asked = SimpleNamespace(name=settings.name, model=kind.Config.model_validate(values), training=training)
    with tempfile.TemporaryDirectory() as work:
        model = fine_tuned(kind, names, plain, dev, asked, base, Run(seed, Path(work)))
    if tagging:
        return tag_accuracy(model, judged)
    return label_accuracy(model, [Example(one.text, None, one.label) for one in judged])


def fine_tuned(
    kind: Any,
    names: list[str],
    train: list[Any],
    dev: list[Any],
    asked: Any,
    base: Path,
    run: Run,
) -> Any:
    """As `tasks.fine_tuning` makes it; in bf16 with attention in fp32, whose kernel torch has no fast bf16 form of."""
    network, tokenizer = begin(kind, asked, base, len(names), seed=run.seed)
    if resolve_precision(asked.training) == "bf16":
        attend_in_fp32(network.features.encoder)
    if kind is BERTTagger:
        tagger = network.equip(tokenizer, names)
        train_tagger(tagger, train, dev, asked.training, run)
        return tagger
    classifier = network.equip(SubwordUnits(tokenizer), names)
    train_classifier(classifier, train, dev, asked.training, run)
    return classifier


if __name__ == "__main__":
    main()
