"""What every language model that is fitted by counting shares: one pass over the training stream, no gradients."""

import time
from abc import abstractmethod
from contextlib import suppress
from typing import ClassVar

from langladder.errors import InputError
from langladder.models.base import LanguageModel
from langladder.models.making import Made
from langladder.progress import working
from langladder.text.corpus_ids import TokenStream

WARM_UP_TOKENS = 1000


class CountedLanguageModel(LanguageModel):
    """A language model fitted by counting."""

    maker: ClassVar[str] = f"{__name__}.make"

    def warm_up(self, stream: TokenStream) -> None:
        """Compile what `fit` runs, on the first documents of its text and another model: a clock leaves it out."""
        with suppress(InputError):  # too little text for some models, but seen by all that they compile
            type(self)(self.config, self.vocab_size).fit(stream.beginning(WARM_UP_TOKENS))

    @abstractmethod
    def fit(self, stream: TokenStream) -> None:
        """Count the training stream and estimate the probabilities."""


def make(
    model: CountedLanguageModel,
    tokenizer: object,  # noqa: ARG001 - as all makers are called
    train: TokenStream,
    *_: object,
    **__: object,
) -> Made:
    """Fit the model; kernels are compiled before the clock starts. Of `models.making`'s arguments it reads two."""
    with working("compiling"):
        model.warm_up(train)
    started = time.perf_counter()
    model.fit(train)
    seconds = time.perf_counter() - started
    return Made([], {"seconds": seconds, "tokens_per_second": len(train.ids) / seconds})
