"""Learning word vectors by gradient: the task that `fit` trains, and the way from a text to `WordVectors`."""

from pathlib import Path
from typing import Any

import torch

from langladder.data.skipgram_pairs import SkipGramBatches
from langladder.embeddings.base import WordVectors
from langladder.embeddings.skipgram import SkipGram, SkipGramBatch, SkipGramConfig
from langladder.errors import InputError
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.task import Task
from langladder.tasks.training import TrainingResult, fit
from langladder.text.corpus_ids import TokenStream
from langladder.text.vocabulary import Vocabulary


class WordVectorTask(Task):
    """A network whose loss on a batch is all there is to learn."""

    def __init__(self, network: SkipGram, training: TrainingConfig) -> None:
        super().__init__(training)
        self.network = network
        # These optimisers leave alone what a batch does not touch, so that a step need not cost more with more words.
        network.sparse = (
            training.optimizer in ("adagrad", "sgd") and not training.clip_norm and not training.weight_decay
        )

    def on_fit_start(self) -> None:
        """Settle a question that torch otherwise asks on the terminal: gradients by rows need no checking."""
        torch.sparse.check_sparse_tensor_invariants.disable()  # type: ignore[no-untyped-call]

    def loss(self, batch: SkipGramBatch) -> torch.Tensor:
        """Mean loss a pair."""
        loss: torch.Tensor = self.network(batch)
        return loss

    def evaluate(self, batch: SkipGramBatch) -> tuple[float, int]:
        """Summed loss and number of pairs."""
        pairs = int((batch["before"] + batch["after"]).sum())
        return self.loss(batch).item() * pairs, pairs


def train_word_vectors(
    config: SkipGramConfig,
    stream: TokenStream,
    vocabulary: Vocabulary,
    *,
    training: TrainingConfig,
    seed: int,
    work: Path,
    logger: Any = None,
) -> tuple[WordVectors, TrainingResult]:
    """Train word vectors on a stream whose rows are lines of word ids.

    Args:
        training: how to optimise. Its `max_steps` gives way to `config.epochs`, and a warm-up longer than a tenth of
            the steps is shortened to that.
        seed: of the first vectors, the order of the lines, subsampling, windows and noise.
        work: folder of the checkpoints; training goes on from there if it holds one of this very run.

    Raises:
        InputError: the stream is empty or has ids outside the vocabulary; see also `fit`.
    """
    if len(stream.ids) and not 0 <= int(stream.ids.min()) <= int(stream.ids.max()) < len(vocabulary):
        raise InputError(
            f"word ids {stream.ids.min()} … {stream.ids.max()}, but the vocabulary has {len(vocabulary)} words; "
            "make both again (stage `vocab`)"
        )
    batches = SkipGramBatches(stream, vocabulary, config, seed=seed)
    steps = config.epochs * batches.steps_per_epoch
    training = training.model_copy(
        update={"max_steps": steps, "warmup_steps": min(training.warmup_steps, -(-steps // 10))}
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = SkipGram(config, len(vocabulary))
    result = fit(WordVectorTask(network, training), batches, training, seed=seed, work=work, logger=logger)
    about = {"method": "skip-gram with negative sampling", "config": config.model_dump(mode="json"), "seed": seed}
    return WordVectors(vocabulary.words, network.word_vectors().cpu().numpy(), vocabulary.counts, about), result
