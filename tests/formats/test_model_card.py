"""Every kind of model has a card, made of its folder alone; its loading example runs."""

import math
import os
import re
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from faults import full_at
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.evaluation.classifier import ClassifierPage
from langladder.evaluation.language_model import LanguageModelPage
from langladder.evaluation.page import titles
from langladder.evaluation.translation import TranslatorPage
from langladder.evaluation.word_vectors import WordVectorsPage
from langladder.families import families
from langladder.formats.loading import LOADING
from langladder.formats.model_card import model_card
from langladder.ground.artefacts import figures_to_json, write_json
from langladder.ground.errors import InputError
from langladder.models.classification.counted_classifier import CountedClassifier
from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.classification.majority import Majority
from langladder.models.classification.tree_lstm import TreeLSTM
from langladder.models.ctc import CTCRecognizer
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.hmm import HMM
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.units import WordUnits
from langladder.tasks.checkpoints import write_checkpoint
from langladder.text.labelled.labelled import Example, Tagged
from langladder.text.storage.tables import PAIRS, write_table
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from pipeline.tracking.job import TrackedJob

IDS = np.array([BOS, 4, 5, EOS, BOS, 5, 6, EOS], dtype=np.int32)


def n_gram(folder: Path) -> None:
    model = KneserNey(KneserNey.Config(order=2), 7)
    model.fit(TokenStream(IDS, np.array([0, len(IDS)])))
    model.save(folder)


def translator(folder: Path) -> None:
    AttentionSeq2Seq(AttentionSeq2Seq.Config(width=8, embedding_dim=8, attention_width=8), 9, 11).save(folder)
    for side, lines in (("source", ["a b c d e"]), ("target", ["f g h i j k l"])):
        train_tokenizer(lines, TokenizerConfig(kind="word", vocab_size=None)).save(folder / f"{side}.json")


def counted_classifier(kind: type[CountedClassifier], folder: Path) -> None:
    model = kind(kind.Config(), ["no", "yes"])
    model.fit([Example("good .", label="yes"), Example("bad .", label="no")], [])
    model.save(folder)


def trees(folder: Path) -> None:
    labels, units = [f"l{number}" for number in range(14)], WordUnits(["the", "film", "was", "not", "boring"])
    network = TreeLSTM(TreeLSTM.Config(width=4, embedding_dim=4), units.full_vocab_size, len(labels))
    network.equip(units, labels).save(folder)


def tagger(folder: Path) -> None:
    model = HMM(HMM.Config(), ["D", "N"])
    sentences = [Tagged(("the", "dog"), ("D", "N"))]
    model.fit(sentences, tag_ids(sentences, model.tags))
    model.save(folder)


LANGUAGE_MODEL = titles(LanguageModelPage)
MAKERS = {
    "n-gram": n_gram,
    "recurrent": lambda folder: RecurrentLM(RecurrentLM.Config(width=4, embedding_dim=4), 9).save(folder),
    "translator": translator,
    "dense": lambda folder: WordVectors(["a", "b"], np.eye(2, 3, dtype=np.float32)).save(folder),
    "sparse": lambda folder: WordVectors(["a", "b"], csr_matrix(np.eye(2, 3, dtype=np.float32))).save(folder),
    "ctc": lambda folder: CTCRecognizer(CTCRecognizer.Config(width=4), 3, 5).save(folder),
    "counted classifier": lambda folder: counted_classifier(LinearClassifier, folder),
    "majority": lambda folder: counted_classifier(Majority, folder),
    "trees": trees,
    "tagger": tagger,
}
FAMILIES = {"dense": "embedding", "sparse": "embedding", "translator": "translator", "tagger": "tagger"}
FAMILIES |= dict.fromkeys(("counted classifier", "majority", "trees"), "classifier")
SAYS = {
    "n-gram": ["A language model, P(w_t | w_1 … w_{t-1}): ", "a vocabulary of 7 tokens", "| order | 2 |"],
    "recurrent": ["A language model", "a vocabulary of 9 tokens", "| cell | lstm |"],
    "translator": [
        "A translator, P(y_t | y_1 … y_{t-1}, x): ", "9 source and 11 target tokens",
        "Source tokenizer `word`, 9 tokens", "Target tokenizer `word`, 11 tokens", "| attention_width | 8 |",
    ],
    "dense": ["Word vectors.", "2 words × 3 dimensions, dense.", "read_vectors", "other words have no"],
    "sparse": ["2 words × 3 dimensions, stored sparse."],
    "counted classifier": [
        "A classifier, P(label | text): n-grams → scores. ", "parameters, 2 labels: no, yes. It reads words.",
        "from langladder.models.classification.classifier import Classifier", "| method | logistic |",
    ],
    "majority": ["2 parameters, 2 labels: no, yes. It does not look at the text."],
    "trees": ["14 labels: l0, l1, ", ", l11 and 2 more. It reads the words of bracketed trees, 5 of which it knows."],
    "tagger": ["A tagger, P(tags | words): ", "2 tags: D, N."],
    "ctc": ["Bidirectional recurrent network", "from langladder.models.ctc import CTCRecognizer"],
}  # fmt: skip


@pytest.mark.parametrize("kind", MAKERS)
def test_card_of_every_kind_of_model(tmp_path: Path, kind: str) -> None:
    torch.manual_seed(0)
    folder = tmp_path / kind
    MAKERS[kind](folder)
    family = families()[FAMILIES.get(kind, "lm")]
    own = {} if kind == "ctc" else {"loading": family.loading, "limits": family.limits}
    card = model_card(folder, name=str(folder), **own)
    for line in [*SAYS[kind], "## Training\n\nNot recorded", "## Scores\n\nNone were given."]:
        assert line in card, line
    assert "{" not in card.replace("w_{t-1}", "").replace("y_{t-1}", "")
    names: dict[str, Any] = {"tokens": torch.tensor([[BOS, 4, 5, EOS]]), "source": torch.tensor([[4, EOS]])}
    (example,) = re.findall(r"(?s)```python\n(.*?)\n```", card)
    exec(example, names | {"target": torch.tensor([[BOS, 5, EOS]])})


def a_job(provenance: dict[str, Any], folder: Path) -> TrackedJob:
    run: Any = SimpleNamespace(folder=None)
    return TrackedJob("lm", "train_lm", "rung", "ab12", provenance, folder / "checkpoints", run)


def test_card_of_a_trained_model_tells_its_way(tmp_path: Path) -> None:
    """Through the pipeline's own door; the same folder gives the same card, which names no place of this machine."""
    job = {"name": "kneser_ney", "title": "Kneser-Ney", "training": None}
    provenance = {"fingerprint": "ab12", "inputs": {"tokens": "cd34"}, "settings": {"seed": 5, "code": "ef", "lm": job}}
    open_work = TrackedJob(
        "lm", "train_lm", "rung", "ab12", provenance, tmp_path / "checkpoints", run=SimpleNamespace(folder=None)
    )  # type: ignore[arg-type]
    with open_work.artefact(tmp_path / "model") as folder:
        n_gram(folder)
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    for line in ("# Kneser-Ney\n", "| rung | kneser_ney |", "| seed | 5 |", "| input `tokens` | cd34 |"):
        assert line in card, line
    own = {"loading": families()["lm"].loading, "limits": families()["lm"].limits}
    assert card == model_card(tmp_path / "model", **own) and str(tmp_path) not in card


def test_a_models_folder_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokenizer, provenance and card included: where the disk is full at the last of them, the old folder stays."""
    monkeypatch.setattr("pipeline.settings.run_folder.ROOT", tmp_path)
    open_work = TrackedJob(
        "lm", "train_lm", "rung", "ab12", {"settings": {}}, tmp_path / "checkpoints", run=SimpleNamespace(folder=None)
    )  # type: ignore[arg-type]
    model_folder = tmp_path / "models" / "lm" / "rung"
    for old in (False, True):
        before = {path.name: path.read_bytes() for path in model_folder.glob("*")}
        for missing in ("model.safetensors", "provenance.json", "README.md"):
            with pytest.raises(InputError) as error, full_at(missing), open_work.artefact(model_folder) as folder:
                n_gram(folder)
            assert str(error.value).startswith(f"{model_folder}/{missing}: the disk is full"), error.value
            assert {path.name: path.read_bytes() for path in model_folder.glob("*")} == before
            assert [path.name for path in model_folder.parent.iterdir()] == ["rung"] * old
        with open_work.artefact(model_folder) as folder:
            n_gram(folder)


@pytest.mark.parametrize("umask", [0o022, 0o077])
@pytest.mark.parametrize("kind", MAKERS)
def test_permissions_follow_the_umask(tmp_path: Path, kind: str, umask: int) -> None:
    torch.manual_seed(0)
    before = os.umask(umask)
    try:
        MAKERS[kind](tmp_path / "made")
        write_checkpoint(tmp_path / "made" / "last.safetensors", {"state_dict": {"x": torch.zeros(3)}})
        TokenStream.write(tmp_path / "made" / "train.arrow", [np.arange(3)])
        write_table(tmp_path / "made" / "train.parquet", PAIRS.empty_table())
    finally:
        os.umask(before)
    for path in [tmp_path / "made", *(tmp_path / "made").rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o777 if path.is_dir() else 0o666) & ~umask, (path, oct(mode))


def test_scores_of_each_ladder(tmp_path: Path) -> None:
    translator(tmp_path / "translator")
    figures = {"bleu": 43.21987, "chrf": 60.5, "signature": "nrefs:1|case:mixed", "sentences": 7}
    card = model_card(tmp_path / "translator", figures, titles(TranslatorPage))
    assert "| BLEU | 43.22 |" in card and "nrefs:1\\|case:mixed" in card and "sentences" not in card
    MAKERS["majority"](tmp_path / "majority")
    card = model_card(
        tmp_path / "majority", {"accuracy": 0.508333, "bayes_accuracy": 0.9512, "texts": 3}, titles(ClassifierPage)
    )
    assert "| accuracy | 0.5083 |\n| Bayes accuracy, the best possible accuracy | 0.9512 |" in card
    MAKERS["dense"](tmp_path / "vectors")
    card = model_card(tmp_path / "vectors", {"analogy": 0.25, "similarity_nouns": 0.5}, titles(WordVectorsPage))
    assert "| analogies answered | 0.25 |" in card and "| similarity_nouns | 0.5 |" in card


def test_no_card_of_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        model_card(tmp_path)
    write_json(tmp_path / "config.json", {})
    with pytest.raises(InputError, match="not a saved model"):
        model_card(tmp_path)


def test_every_example_is_python() -> None:
    for kind, example in (LOADING | {name: family.loading for name, family in families().items()}).items():
        compile(example.replace("{module}", "m").replace("{class}", "C"), kind, "exec")


def test_an_infinite_score_is_shown_as_one(tmp_path: Path) -> None:
    n_gram(tmp_path)
    assert "| perplexity per word | ∞ |" in model_card(
        tmp_path, figures_to_json({"perplexity_per_word": math.inf}), LANGUAGE_MODEL
    )


@pytest.mark.parametrize(("value", "text"), [(16873.2, "16,873"), (3.73089778558149, "3.731"), (1e-5, "1e-05")])
def test_figures_have_digits_that_tell(tmp_path: Path, value: float, text: str) -> None:
    MAKERS["recurrent"](tmp_path / "m")
    assert f"| perplexity per word | {text} |" in model_card(
        tmp_path / "m", {"perplexity_per_word": value}, LANGUAGE_MODEL
    )
