"""The smallest microworld (text, pairs, labels, tags), with three models trained on it for a moment: what experiments
read."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from claims.training import train_language_model
from langladder.corpora.stories import (
    LabelledStoriesConfig,
    PairedStoriesConfig,
    StoriesConfig,
    TaggedStoriesConfig,
    write_labels,
    write_pairs,
    write_stories,
    write_tags,
)
from langladder.experiments.experiment import Data
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey, KneserNeyConfig
from langladder.tasks.settings import LMTrainingConfig
from langladder.text.labelled.clean_labelled import CleanLabelledConfig, clean_labels, clean_tags
from langladder.text.tokenize.encoding import encode_corpus, encode_pairs, training_sides, training_text
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Text, sentence pairs, labelled texts, tagged sentences, agreement pairs and models, as the stages leave them."""
    folder = tmp_path_factory.mktemp("experiments")
    write_stories(StoriesConfig(size="tiny", seed=1), folder / "clean")
    tokenizer = train_tokenizer(training_text(folder / "clean"), TokenizerConfig(kind="bpe_bytes", vocab_size=400))
    encode_corpus(folder / "clean", tokenizer, folder / "tokens")
    _write_pairs(folder)
    models = {name: folder / "models" / name for name in ("kneser_ney", "lstm", "gpt")}
    agreement = folder / "clean" / "truth" / "agreement.jsonl"
    result = Data(text=folder / "tokens", parallel=folder / "pairs", agreement=agreement, models=models)
    result = replace(result, clean=folder / "clean", labels=folder / "labels", tags=folder / "tags")
    _write_labelled(result, folder)
    _train(result, tokenizer.vocab_size)
    for model in models.values():
        shutil.copy(folder / "tokens" / "tokenizer.json", model / "tokenizer.json")
    return result


def _write_pairs(folder: Path) -> None:
    clean = folder / "clean_pairs"
    write_pairs(PairedStoriesConfig(size="tiny", seed=1), clean)
    shared = TokenizerConfig(kind="bpe_bytes", vocab_size=400)
    tokenizer = train_tokenizer(training_sides(clean, ["source", "target"]), shared)
    encode_pairs(clean, tokenizer, tokenizer, folder / "pairs")


def _write_labelled(data: Data, folder: Path) -> None:
    as_it_is = CleanLabelledConfig(iid=True)
    reviews = LabelledStoriesConfig(size="tiny", seed=1, task="reviews", examples=480)
    write_labels(reviews, folder / "raw_labels")
    clean_labels(folder / "raw_labels", data.labels, as_it_is, seed=1)
    write_tags(TaggedStoriesConfig(size="tiny", seed=1, examples=480), folder / "raw_tags")
    clean_tags(folder / "raw_tags", data.tags, as_it_is, seed=1)


def _train(data: Data, vocab_size: int) -> None:
    text, training = data.stream("train"), LMTrainingConfig(max_steps=20, batch_size=8, sequence_length=16, lr=0.01)
    counted = KneserNey(KneserNeyConfig(order=3), vocab_size)
    counted.fit(text)
    counted.save(data.models["kneser_ney"])
    torch.manual_seed(0)
    for name, network in {
        "lstm": RecurrentLM(RecurrentConfig(width=24, embedding_dim=24), vocab_size),
        "gpt": GPT(GPTConfig(context=32, width=24, layers=1, heads=2), vocab_size),
    }.items():
        train_language_model(network, text, training, seed=0)
        network.save(Path(data.models[name]))
