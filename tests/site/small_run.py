"""A small run with a rung of each kind that the browser runs: weights that have learnt nothing, byte-level BPE."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from langladder.embeddings.base import WordVectors
from langladder.models.classification.textcnn import TextCNN
from langladder.models.language.gpt import GPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.network import Network
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.units import WordUnits
from langladder.text.storage.tables import write_table
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.normalisation import Normalisation

LINES = ["the dogs that the cat sees sleep .", "the cat sees the old king .", "a pair of cats sat ."] * 3
WORDS = ["the", "cat", "dogs", "sleep", ".", "old", "king", "sees"]


def small_run(root: Path) -> Path:
    """models/, data/ and reports/ below a folder."""
    models, written = root / "models", Normalisation(("invisible", "NFC", "lowercase"))
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind="bpe_bytes", vocab_size=330), normalisation=written)
    V = tokenizer.vocab_size
    ids = np.concatenate([[BOS, *tokenizer.encode(line), EOS] for line in LINES]).astype(np.int32)
    counted = KneserNey(KneserNey.Config(order=3), V)
    counted.fit(TokenStream(ids, np.array([0, len(ids)])))
    counted.save(models / "lm" / "kneser_ney")
    torch.manual_seed(0)
    networks: dict[str, Network] = {
        "lm/lstm": RecurrentLM(RecurrentLM.Config(width=12, embedding_dim=8, layers=2), V),
        "lm/gpt": GPT(GPT.Config(context=8, width=8, layers=2, heads=2), V),
        "translator/attention": AttentionSeq2Seq(
            AttentionSeq2Seq.Config(width=8, embedding_dim=6, attention_width=4), V, V
        ),
    }
    for name, network in networks.items():
        spread(network)
        network.save(models / name)
    for name in ("lm/kneser_ney/tokenizer", "lm/lstm/tokenizer", "lm/gpt/tokenizer"):
        tokenizer.save(models / f"{name}.json")
    for side in ("source", "target"):
        tokenizer.save(models / "translator" / "attention" / f"{side}.json")
    units = WordUnits(WORDS, "apart")
    classifier = TextCNN(TextCNN.Config(embedding_dim=6, filters=5), units.full_vocab_size, 3)
    spread(classifier)
    classifier.equip(units, ["animals", "food", "<b>work</b>"]).save(models / "classifier" / "textcnn")
    matrix = np.random.default_rng(1).normal(size=(len(WORDS), 6)).astype(np.float32)
    WordVectors(WORDS, matrix, normalisation=written).save(models / "embedding" / "skipgram")
    columns = {"text/test": "text", "parallel/test.parquet": "source", "labels/test.parquet": "text"}
    for table, column in columns.items():
        rows = pa.table({"document": pa.array(range(len(LINES)), pa.int64()), column: LINES})
        if table.startswith("text"):
            rows = rows.append_column("log_prob", pa.nulls(len(LINES), pa.float64()))
        write_table(root / "data" / "clean" / table, rows)
    analogies = root / "data" / "raw" / "text" / "truth" / "analogies.txt"
    analogies.parent.mkdir(parents=True)
    analogies.write_text(": beasts\ncat sees king sleep\n")
    for folder in (root, root / "ladders" / "history"):
        (folder / "reports").mkdir(parents=True)
        (folder / "reports" / "index.html").write_text("<!doctype html><title>The report</title>")
    return root


def spread(network: Network) -> None:
    """First weights hardly tell one token from another, and biases nothing."""
    for parameter in network.parameters():
        parameter.data = parameter.data * 2 + 0.1 * torch.randn_like(parameter)
