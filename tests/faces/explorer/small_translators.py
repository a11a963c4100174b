"""Small translators that have learnt nothing, saved in a folder: attention, none, a Transformer of layers and heads."""

from pathlib import Path

import torch

from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.seq2seq import Seq2Seq
from langladder.models.translation.transformer import Transformer
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

PAIRS = {"the cat sleeps": "la kato dormas", "the dog runs": "la hundo kuras", "a <b> dog": "hundo"}


def translators(root: Path) -> None:
    """Three of them, below `root`."""
    words = TokenizerConfig(kind="word", vocab_size=None)
    source, target = train_tokenizer(PAIRS, words), train_tokenizer(PAIRS.values(), words)
    sizes = source.vocab_size, target.vocab_size
    torch.manual_seed(0)
    models = {
        "attention": AttentionSeq2Seq(AttentionSeq2Seq.Config(width=8, embedding_dim=6, attention_width=4), *sizes),
        "plain": Seq2Seq(Seq2Seq.Config(width=8, embedding_dim=8, layers=1), *sizes),
        "transformer": Transformer(Transformer.Config(width=12, layers=2, heads=3, tie="target"), *sizes),
    }
    for name, model in models.items():
        for parameter in model.parameters():
            parameter.data *= 2  # first weights hardly tell one word from another
        model.save(root / name)
        source.save(root / name / "source.json")
        target.save(root / name / "target.json")
