"""Parts of speech of the English Web Treebank: BiLSTM-CRFs of several seeds beside what is counted or hand-made.

    python benchmarks/tagger_vectors.py /tmp/wiki-vectors
    python benchmarks/tagger_quality.py --vectors /tmp/wiki-vectors                # on dev, by which all was chosen
    python benchmarks/tagger_quality.py --vectors /tmp/wiki-vectors --split test

Vectors of wiki-en stand frozen beside a learned vector of each training word, its shape, and its letters read by an
LSTM (Lample et al. 2016). Trained on train, stopped by nothing; the best validation (dev) weights are kept.
"""

import tempfile
from pathlib import Path
from statistics import mean, stdev
from types import SimpleNamespace
from typing import Any

import click
import torch
from measure import markdown
from public_data import data
from public_labels import sentences, tag_accuracy

from langladder.models.making import Run
from langladder.models.tagging.counted_tagger import make as count
from langladder.models.tagging.feature_crf import FeatureCRF
from langladder.models.tagging.hmm import HMM
from langladder.models.tagging.most_frequent import MostFrequentTag
from langladder.models.tagging.recurrent import RecurrentTagger
from langladder.models.tagging.tagger import Tagger
from langladder.tasks.settings import TaggerInput, TaggerTraining
from langladder.tasks.tagging import make
from langladder.text.labelled.labelled import Tagged

MODEL: dict[str, Any] = {
    "width": 300,
    "characters": "lstm",
    "character_dim": 25,
    "character_width": 64,
    "learned_dim": 50,
    "shape_dim": 8,
    "dropout": 0.4,
    "output": "crf",
}
TRAINING: dict[str, Any] = {
    "lr": 0.0025,
    "betas": [0.9, 0.99],
    "batch_size": 20,
    "epochs": 9,
    "max_steps": 100_000,
    "warmup_steps": 100,
    "validations": 6,
    "checkpoint_every": 100_000,
    "accelerator": "cpu",
    "progress": False,
}


@click.command()
@data
@click.option("--vectors", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--split", type=click.Choice(["dev", "test"]), default="dev", show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--peers/--no-peers", default=True, help="Also those that are counted or have hand-made features.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the networks in this folder, or take them from it.")
@click.option("--threads", default=1, show_default=True)
def main(data: Path, vectors: Path, split: str, seeds: int, peers: bool, keep: Path | None, threads: int) -> None:
    """Accuracy on dev or test: mean and deviation over seeds."""
    torch.set_num_threads(threads)
    train, dev, judged = (sentences(data, name) for name in ("train", "dev", split))
    tags = sorted({tag for one in train for tag in one.tags or ()})
    rows = []
    for kind in (MostFrequentTag, HMM, FeatureCRF) if peers else ():
        counted, _ = count(kind, tags, train, dev, settings=SimpleNamespace(model=kind.Config()))
        rows.append([kind.__name__, f"{tag_accuracy(counted, judged):.2f}", "", ""])
    found = []
    for seed in range(1, seeds + 1):
        place = keep / f"seed{seed}" if keep else None
        model = Tagger.load(place) if place and place.exists() else _train(train, dev, tags, vectors, seed)
        if place:
            model.save(place)
        found.append(tag_accuracy(model, judged))
        print(f"seed {seed}: {found[-1]:.2f}", flush=True)
    spread = f"{stdev(found):.2f}" if seeds > 1 else ""
    rows.append(["BiLSTM-CRF, letters, wiki-en vectors", f"{mean(found):.2f}", spread, str(seeds)])
    markdown(f"UD EWT, parts of speech, {split}", ["tagger", "accuracy", "±", "seeds"], rows)


def _train(train: list[Tagged], dev: list[Tagged], tags: list[str], vectors: Path, seed: int) -> Tagger:
    settings = SimpleNamespace(
        model=RecurrentTagger.Config.model_validate(MODEL),
        input=TaggerInput(vectors=str(vectors), frozen=True),
        training=TaggerTraining.model_validate(TRAINING),
    )
    with tempfile.TemporaryDirectory() as work:
        model, _ = make(RecurrentTagger, tags, train, dev, settings=settings, run=Run(seed, Path(work)))
    return model


if __name__ == "__main__":
    main()
