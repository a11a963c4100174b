"""How a rung is made: what a class names as its `maker`, so that whoever makes one need not know which kind it is.

A maker is a function of a module, named by its dotted path. Only what is made in that way depends on the module: an
n-gram model on no training loop, a model that begins at random on no reader of word vectors. All makers are called as

    made = maker(model, tokenizer, train, validation, settings=…, run=…)

    model        just built; trained in place
    tokenizer    that of the text; of a translator, the source's and the target's
    train        token streams (language models) or pairs of sentences (translators)
    validation   the same, to watch
    settings     what the rung's file says: `training`, `input`, as far as the maker reads them
    run          the training's seed, folder of checkpoints and logger, see `Run`
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Run:
    """One training of a rung, apart from its data and settings.

    Attributes:
        seed: of the batches' order and of dropout; of the first weights, too, where the maker builds the model.
        checkpoints: folder; an interrupted training of the same run goes on from there.
        logger: opens the Lightning logger of the learning curve, once, if anything is trained step by step; or None.
            (`Any`, since models know nothing of Lightning.)
    """

    seed: int
    checkpoints: Path
    logger: Callable[[], Any] | None = None


class Made(NamedTuple):
    """How the making went; the model itself was changed in place.

    Attributes:
        curve: rows of the learning curve; none where nothing is learnt step by step.
        cost: what the machine took: seconds, tokens_per_second and, where it was measured, peak_memory_bytes.
        validation_loss: nats per token at the end, where training watched it.
        vectors_skipped: damaged entries of the word vectors that it begins with, which were left out.
    """

    curve: list[dict[str, Any]]
    cost: dict[str, float]
    validation_loss: float | None = None
    vectors_skipped: int = 0
