"""Small trainings of every kind of batch, dropout off, by one process or by two.

Work is named by a kind, begun:kind (breaks off) or continued:kind. Process 0 of two writes FOLDER/two/<work>.json: the
learning curve.
"""

import json
import multiprocessing
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from langladder.ground.ranks import first, part
from langladder.models.classification.mean_embedding import MeanEmbedding
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.models.making import Run
from langladder.models.tagging.recurrent import RecurrentTagger
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.transformer import Transformer
from langladder.tasks.checkpoints import read_checkpoint
from langladder.tasks.classification import make as make_classifier
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.masked_language_modelling import MaskedLanguageModelling, train_encoder
from langladder.tasks.settings import LMTrainingConfig, MaskedTraining, TranslationTraining
from langladder.tasks.tagging import make as make_tagger
from langladder.tasks.task import Task
from langladder.tasks.translation import TranslationTask, train_translator
from langladder.text.storage.token_streams import PairStream, Rows, TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from tests.tasks import test_classification, test_tagging
from tests.tasks.small_run import V, make_stream, settings
from tests.tasks.small_run import make_model as dropping

CUT = 7  # updates that a training has made when it breaks off: two checkpoints and a half row after its beginning
Curve = list[dict[str, float | None]]


def _language_model(kind: str, folder: Path, **more: Any) -> Any:
    model = dropping(kind)
    for module in model.modules():
        vars(module).update(dict.fromkeys({"p", "dropout"} & set(vars(module)), 0.0))
    config = LMTrainingConfig(**settings(batch_size=4, **more))
    result = train_language_model(model, make_stream(0), make_stream(1), config, Run(1, folder))
    assert all(type(parameter) is torch.nn.Parameter for parameter in model.parameters())  # whole, to be saved as ever
    if first():
        best = read_checkpoint(folder / "best.safetensors")["state_dict"]
        assert all(torch.equal(best[f"model.{name}"], value) for name, value in model.state_dict().items())
    return result


def lstm(folder: Path) -> Any:
    """Streams with a carried state, two batches an update."""
    return _language_model("lstm", folder, accumulate=2)


def gpt(folder: Path) -> Any:
    """Shuffled windows."""
    return _language_model("gpt", folder)


def gpt_fsdp(folder: Path) -> Any:
    """The same, weights shared out; two batches an update."""
    return _language_model("gpt", folder, strategy="fsdp", accumulate=2)


def gpt_compiled(folder: Path) -> Any:
    """The same, the loss compiled; two batches an update."""
    with patch.object(torch, "compile", partial(torch.compile, backend="aot_eager")):
        return _language_model("gpt", folder, compile=True, accumulate=2)


def pairs() -> PairStream:
    """Sentences of 1 to 7 words and the same backwards."""
    random = np.random.default_rng(0)
    words = [random.integers(4, V, random.integers(1, 8)) for _ in range(60)]
    sides = [np.append(row, EOS) for row in words], [np.concatenate([[BOS], row[::-1], [EOS]]) for row in words]
    return PairStream(*(Rows(np.concatenate(s), np.cumsum([0, *map(len, s)])) for s in sides))


def _translator(model: Any, folder: Path) -> Any:
    values = settings(batch_tokens=24, label_smoothing=0.1)  # 3 to 12 pairs: uneven parts
    config = TranslationTraining(**{k: v for k, v in values.items() if k not in ("batch_size", "sequence_length")})
    return train_translator(model, pairs(), pairs(), config, Run(1, folder))


def transformer(folder: Path) -> Any:
    """Pairs of like length."""
    torch.manual_seed(0)
    return _translator(Transformer(Transformer.Config(width=8, heads=2, layers=1, dropout=0.0), V, V), folder)


def attention(folder: Path) -> Any:
    """The same for a recurrent translator."""
    torch.manual_seed(0)
    config = AttentionSeq2Seq.Config(width=8, embedding_dim=8, attention_width=8, dropout=0.0)
    return _translator(AttentionSeq2Seq(config, V, V), folder)


def bert(folder: Path, **more: Any) -> Any:
    """Gaps and pairs of texts: two means of different numbers of terms."""
    lines = ["the cat sleeps", "the dog barks", "a bird sings now", "a fish swims"]
    tokenizer = train_tokenizer(lines, TokenizerConfig(kind="word", vocab_size=None))
    rows = [np.concatenate([framed(tokenizer.encode(line)) for line in lines])] * 10
    text = TokenStream(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))
    torch.manual_seed(0)
    config = BERTConfig(context=12, width=16, layers=1, heads=2, dropout=0.0, next_sentence=True)
    model = BERT(config, tokenizer.full_vocab_size)
    training = MaskedTraining(**settings(batch_size=6, sequence_length=12, **more))
    return train_encoder(model, tokenizer, text, text, training, Run(3, folder))


def bert_fsdp(folder: Path) -> Any:
    """The same, weights shared out, and the mean of the last two validations' weights."""
    return bert(folder, strategy="fsdp", average_checkpoints=2)


def classifier(folder: Path) -> Any:
    """Texts; an epoch's last batch has one, and one process none."""
    chosen = test_classification.settings(batch_size=4, max_steps=16, epochs=None, validations=3, accelerator="cpu")
    chosen.model = chosen.model.model_copy(update={"dropout": 0.0})
    train = test_classification.DATA[:13]
    _, result = make_classifier(
        MeanEmbedding,
        test_classification.LABELS,
        train,
        test_classification.DATA[13:],
        settings=chosen,
        run=Run(1, folder),
    )
    return result


def tagger(folder: Path) -> Any:
    """Sentences, whose words weigh."""
    values = test_tagging.SHORT | {"max_steps": 10, "word_dropout": 0.0, "batch_size": 4}
    chosen = test_tagging.chosen(model={"dropout": 0.0}, **values)
    corpus = test_tagging.corpus()
    _, result = make_tagger(RecurrentTagger, test_tagging.TAGS, corpus, corpus[:3], settings=chosen, run=Run(1, folder))
    return result


KINDS: dict[str, tuple[Callable[[Path], Any], type[Task]]] = {
    "lstm": (lstm, LanguageModelling),
    "gpt": (gpt, LanguageModelling),
    "gpt_fsdp": (gpt_fsdp, LanguageModelling),
    "gpt_compiled": (gpt_compiled, LanguageModelling),
    "bert_fsdp": (bert_fsdp, MaskedLanguageModelling),
    "transformer": (transformer, TranslationTask),
    "attention": (attention, TranslationTask),
    "bert": (bert, MaskedLanguageModelling),
    "classifier": (classifier, Task),
    "tagger": (tagger, Task),
}


def run(work: str, folder: Path) -> Curve | None:
    """Train; the curve, or None where it broke off."""
    how, _, kind = work.rpartition(":")
    train, task = KINDS[kind]
    where = folder / "work" / (f"cut_{kind}" if how else f"{kind}_{os.environ.get('WORLD_SIZE', '1')}")
    if how == "begun":
        plain = task.training_step

        def breaks(self: Task, update: Any) -> torch.Tensor:
            if self.steps_done == CUT:
                raise KeyError("interrupted")
            return plain(self, update)

        task.training_step = breaks  # type: ignore[method-assign]
        try:
            train(where)
        except KeyError:
            return None
        finally:
            task.training_step = plain  # type: ignore[method-assign]
        raise AssertionError("it has not been interrupted")
    curve: Curve = train(where).curve
    return curve


def start(folder: Path, work: list[str]) -> None:
    """Two processes, to their end. Not forks of this one, whose threads may hold locks; of a server that has none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["pytorch_lightning"])
    both = [server.Process(target=_process, args=(folder, work, rank, port), daemon=True) for rank in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(200)
        process.kill()
    assert [process.exitcode for process in both] == [0, 0]


def _process(folder: Path, work: list[str], rank: int, port: int) -> None:
    variables = {"WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank), "MASTER_PORT": str(port)}
    os.environ |= variables | {"MASTER_ADDR": "127.0.0.1"}
    for each in work:
        completed = run(each, folder)
        if completed and first():
            (folder / "two").mkdir(exist_ok=True)
            (folder / "two" / f"{each}.json").write_text(json.dumps(completed), encoding="utf-8")
    part()
