"""Learning word vectors by gradient descent: the task for `train_task`, and the maker function of such rungs."""

import torch

from langladder.data.skipgram_pairs import SkipGramBatches
from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import TrainedVectors
from langladder.embeddings.word2vec.skipgram import SkipGram, SkipGramConfig
from langladder.ground.ranks import ranks
from langladder.models.making import Run
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.words.vocabulary import WordCorpus


class WordVectorTask(Task):
    """A network that defines its own loss on a batch."""

    def __init__(self, network: SkipGram, training: TrainingConfig) -> None:
        super().__init__(training)
        self.network = network
        # These optimisers skip rows that a batch does not use, so the cost of a step does not grow with the vocabulary.
        network.sparse = (
            training.optimizer in ("adagrad", "sgd")
            and not training.clip_norm
            and not training.weight_decay
            and ranks().size == 1
        )

    def loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Mean loss per pair."""
        loss: torch.Tensor = self.network(batch)
        return loss

    def evaluate(self, batch: dict[str, torch.Tensor]) -> tuple[float, int]:
        """Word vectors are evaluated on analogies and similarities, not by held-out loss: there is no validation."""
        raise NotImplementedError


def make(
    rung: type[SkipGram],
    settings: SkipGramConfig,
    corpus: WordCorpus,
    *,
    training: TrainingConfig,
    run: Run,
) -> TrainedVectors:
    """Train a network's word vectors.

    Args:
        rung: the network, built as `rung(settings, vocab_size)`.
        settings: a `rung.Config`.
        training: settings of the optimiser. `settings.epochs` replaces its `max_steps`, and a warm-up longer than a
            tenth of the steps is shortened to that.
        run: its seed determines the first vectors, the order of the lines, subsampling, windows and noise.
    """
    vocabulary = corpus.vocabulary
    batches = SkipGramBatches(corpus.stream, vocabulary, settings, seed=run.seed)
    steps = -(-settings.epochs * batches.steps_per_epoch // training.accumulate)
    training = training.model_copy(
        update={"max_steps": steps, "warmup_steps": min(training.warmup_steps, -(-steps // 10))}
    )
    with torch.random.fork_rng():
        torch.manual_seed(run.seed)
        network = rung(settings, len(vocabulary))
    result = train_task(
        WordVectorTask(network, training),
        batches,
        training,
        run,
    )
    about = {"method": rung.__name__, "config": settings.model_dump(mode="json"), "seed": run.seed}
    vectors = WordVectors(vocabulary.words, network.word_vectors().cpu().numpy(), vocabulary.counts, about)
    return TrainedVectors(vectors, result.curve, result.cost)
