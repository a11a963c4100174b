"""Pre-training and transfer beside `transformers`: how fast, in one run.

    .venv-peers/bin/python benchmarks/pretraining.py                              # all of it
    .venv-peers/bin/python benchmarks/pretraining.py mlm --vocabulary 30000       # training on masked words
    .venv-peers/bin/python benchmarks/pretraining.py fine-tuning                  # see fine_tuning.py
    .venv-peers/bin/python benchmarks/pretraining.py prompting                    # see prompting.py

`make test-peers` makes that environment. On masked words the peer is `BertForMaskedLM` in a plain loop. Both train a
BERT-mini (4 layers, 256 wide, 4 heads) on the same articles of the English Wikipedia, from the same first weights, by
AdamW, for about the same number of tokens a step:

    peer   each line is a row, cut at the longest length; shuffled, padded to the longest of its batch by
           `DataCollatorForLanguageModeling`, logits of every position
    ours   lines of an article together fill a row (`data.sentence_pairs`); no next sentences

Times are medians over steps; a step is all that lies between two batches. Held-out loss is that of both networks on
the same rows with the same gaps.
"""

from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from fine_tuning import fine_tuning
from measure import machine, markdown, speed_row, threads
from plain_pretraining import peer_batches, peer_network, train_steps
from prompting import main as prompting
from public_data import data, find, read

from langladder.data.masked_language_modelling import MaskedBatches, masked_text
from langladder.data.masking import Masking
from langladder.data.sentence_pairs import Pairs
from langladder.formats.bert import bert_arrays
from langladder.ground.memory import keep_freed_memory
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.models.encoders.encoder import Masked
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.specials import PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig, word_starts

TARGETS = {8000: 2.0, 30000: 3.0}
HELD_OUT = 40  # articles


@click.group(invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Measure training on masked words, fine-tuning and prompting; without a command, all."""
    if context.invoked_subcommand is None:
        for command, vocabulary in ((mlm, 8000), (mlm, 30000), (fine_tuning, 8000), (fine_tuning, 30000)):
            command.main(args=["--vocabulary", str(vocabulary)], standalone_mode=False)
        prompting.main(args=[], standalone_mode=False)


@main.command()
@data
@threads
@click.option("--vocabulary", default=8000, show_default=True)
@click.option("--steps", default=30, show_default=True)
@click.option("--rows", default=32, show_default=True, help="Rows of the peer's batch; ours have as many tokens.")
@click.option("--length", default=128, show_default=True)
@click.option("--lines", "most", default=20_000, show_default=True, help="Lines of the text that are read.")
def mlm(data: Path, threads: int, vocabulary: int, steps: int, rows: int, length: int, most: int) -> None:
    """Training tokens a second, and the loss after the same number of tokens."""
    torch.set_num_threads(threads)
    articles = _articles(read(find(data, "wiki-en/wiki_en.txt")).decode(), most)
    tokenizer = train_tokenizer(
        [line for article in articles for line in article],
        TokenizerConfig(kind="wordpiece", vocab_size=vocabulary, character_coverage=0.995),
    )
    encoded = [[ids for ids in tokenizer.encode_lines(article) if len(ids)] for article in articles]
    train, held = encoded[HELD_OUT:], encoded[:HELD_OUT]
    torch.manual_seed(1)
    model = BERT(
        BERTConfig.model_validate({"preset": "mini", "context": 512, "next_sentence": False}), tokenizer.full_vocab_size
    )
    peer = peer_network(model)
    watched = _rows(held, length, model, tokenizer)
    lines = [ids for article in train for ids in article]
    theirs = train_steps(peer, peer_batches(lines, model, rows, length, tokenizer), steps, _peer_loss)
    keep_freed_memory()
    batches = _batches(train, model, tokenizer, rows=max(1, round(theirs.tokens_a_step / length)), length=length)
    ours = train_steps(model, batches.train, max(5, round(theirs.tokens / batches.size(batches.train(0)))), _loss)
    losses = [_held_out(one, watched) for one in (_copied(peer, model, tokenizer), model)]
    markdown(
        f"BERT-mini, masked words, V = {tokenizer.full_vocab_size:,}",
        ["", "transformers", "ours", "ratio", "target"],
        [
            speed_row(theirs.tokens_per_second, ours.tokens_per_second, TARGETS.get(vocabulary, 2.0)),
            ["held-out loss", *(f"{loss:.3f}" for loss in losses), "", ""],
            ["tokens trained on", f"{theirs.tokens:,}", f"{ours.tokens:,}", "", ""],
        ],
        [machine(threads)],
    )


def _articles(text: str, most: int) -> list[list[str]]:
    """Articles, an empty line between two, as lines; the first `most` lines."""
    blocks = [[line for line in block.splitlines() if line.strip()] for block in text.split("\n\n")]
    found, count = [], 0
    for block in filter(None, blocks):
        found.append(block)
        count += len(block)
        if count >= most:
            break
    return found


def _stream(articles: list[list[np.ndarray]]) -> TokenStream:
    documents = [np.concatenate([framed(ids) for ids in article]) for article in articles if article]
    offsets = np.cumsum([0, *map(len, documents)])
    return TokenStream(np.concatenate(documents), offsets)


def _batches(
    train: list[list[np.ndarray]], model: BERT, tokenizer: Tokenizer, *, rows: int, length: int
) -> MaskedBatches:
    text = Pairs(_stream(train), length=length, pairs=False, short=0.0)
    few = Pairs(_stream(train[:2]), length=length, pairs=False, short=0.0)
    return MaskedBatches(text, few, model, word_starts(tokenizer), Masking(), batch_size=rows, seed=1)


def _rows(held: list[list[np.ndarray]], length: int, model: BERT, tokenizer: Tokenizer) -> list[Masked]:
    text = Pairs(_stream(held), length=length, pairs=False, short=0.0)
    return masked_text(text, model, word_starts(tokenizer), Masking(), limit=20_000)


def _loss(model: BERT, batch: Masked) -> tuple[torch.Tensor, int]:
    return model.losses(batch)[0], int((batch.tokens != PAD).sum())


def _peer_loss(peer: Any, batch: Any) -> tuple[torch.Tensor, int]:
    return peer(**batch).loss, int(batch["attention_mask"].sum())


def _copied(peer: Any, model: BERT, tokenizer: Tokenizer) -> BERT:
    """Our network with the peer's weights: both are judged by the same code."""
    from langladder.formats.bert import bert_names

    copy = BERT(model.config, tokenizer.full_vocab_size).eval()
    state = peer.state_dict()
    assert set(bert_arrays(copy)) <= set(state)
    with torch.no_grad():
        for name, tensor in bert_names(copy):
            tensor.copy_(state[name])
    return copy


def _held_out(model: BERT, batches: list[Masked]) -> float:
    scores = torch.cat([model.target_log_probs(batch) for batch in batches])
    return -float(scores.mean())


main.add_command(fine_tuning, "fine-tuning")
main.add_command(prompting, "prompting")

if __name__ == "__main__":
    main()
