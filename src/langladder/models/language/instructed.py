"""GPT that follows instructions: the network of SFT, and the policy of later methods (Ouyang et al. 2022).

It is a GPT over V + 3 tokens, initialised from one over V: the markers of the chat template are three new rows of the
embedding, N(0, 0.02), learned from the dialogues. They are only inputs: their scores are −∞, and like BOS they are
given, not predicted, when a text is scored. Before training, it is the same language model as its base on plain text.

Shape legend: B rows, T tokens, V words of the text, D width.
"""

from pathlib import Path
from typing import Self

import torch
from torch import nn

from langladder.ground.errors import InputError
from langladder.models.fine_tuned import TOKENIZER
from langladder.models.language.gpt import GPT, INITIAL_STD, GPTConfig
from langladder.models.language.language_model import LanguageModel, predicted
from langladder.models.network import own_tensors
from langladder.models.trial import words
from langladder.nn.output import TextOutput
from langladder.text.labelled.templates import Markers
from langladder.text.tokenize.specials import BOS, EOS, NAMES, RESERVED
from langladder.text.tokenize.tokenizers import Tokenizer


class InstructedGPT(GPT):
    """A GPT that reads dialogues. `vocab_size` includes the markers, `number_of_words` does not."""

    reads_markers = True
    shards = ()  # rows are packed, so its blocks use `forward_packed`

    def __init__(self, config: GPTConfig, vocab_size: int) -> None:
        if config.output != "softmax":
            raise InputError(
                f"output={config.output}: an InstructedGPT needs full probabilities in training; choose a base with "
                "output: softmax"
            )
        if vocab_size <= len(NAMES) + len(RESERVED):
            raise InputError(
                f"vocab_size: {vocab_size} leaves no words besides {len(NAMES)} special tokens and the markers"
            )
        super().__init__(config, vocab_size)
        self.number_of_words = vocab_size - len(RESERVED)
        self.markers = Markers.behind(self.number_of_words)
        tied = self.embedding.weight if config.tie_weights else None
        self.head = TextOutput(width=config.width, vocab_size=self.number_of_words, unsaid=len(RESERVED), tied=tied)
        if tied is None:
            nn.init.normal_(self.head.weight, std=INITIAL_STD)

    def predicts(self, targets: torch.Tensor) -> torch.Tensor:
        """See `NeuralLanguageModel.predicts`: markers are also given, not predicted."""
        return predicted(targets) & (targets < self.number_of_words)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`: a question and its answer per row, with the loss on the answer."""
        length = min(max(length, 6), self.context)
        tokens = words(rows, length, self.number_of_words)  # (B, T)
        half = length // 2
        tokens[:, 0], tokens[:, 1], tokens[:, half], tokens[:, -1] = BOS, self.markers.user, self.markers.assistant, EOS
        hidden, _ = self(tokens[:, :-1])
        return self.loss(hidden[:, half:], tokens[:, half + 1 :])

    @classmethod
    def from_gpt(cls, base: GPT, *, dropout: float | None = None) -> Self:
        """A network with the base's weights; the base may be a GPT or an InstructedGPT.

        Args:
            dropout: of the new network in training; None: that of the base.
        """
        changes = {} if dropout is None else {"dropout": dropout}
        more = 0 if isinstance(base, InstructedGPT) else len(RESERVED)
        network = cls(base.config.model_copy(update=changes), base.vocab_size + more)
        there, network.from_base = base.state_dict(), {}
        with torch.no_grad():
            for name, tensor in own_tensors(network).items():
                rows = min(len(tensor), len(there[name]))  # an untied output layer has no rows for the markers
                tensor[:rows] = there[name][:rows]
                network.from_base[name] = rows
        return network


def begin(base: Path, *, seed: int, dropout: float | None = None) -> tuple[InstructedGPT, Tokenizer]:
    """The network before its first step, from a GPT of the families lm and tune or from an InstructedGPT.

    Args:
        base: folder of that rung, with its tokenizer. seed: for the markers' rows. dropout: see `from_gpt`.

    Raises:
        InputError: the base is of another kind, or its tokenizer does not match.
    """
    model = LanguageModel.load(base)
    if not isinstance(model, GPT):
        raise InputError(
            f"{base}: a {type(model).__name__}, but an InstructedGPT starts from a GPT of the families lm and tune; "
            "choose another base"
        )
    tokenizer = _tokenizer_of(model, base)
    torch.manual_seed(seed)
    try:
        return InstructedGPT.from_gpt(model, dropout=dropout), tokenizer
    except InputError as error:
        raise InputError(f"{base}: {error}") from error


def read_instructed(folder: Path) -> tuple[InstructedGPT, Tokenizer]:
    """A saved InstructedGPT, in evaluation mode, and its tokenizer.

    Raises:
        InputError: see `InstructedGPT.load`; or the tokenizer is missing, damaged or of another size.
    """
    model = InstructedGPT.load(folder)
    return model, _tokenizer_of(model, folder)


def check_tokenizer(tokenizer: Tokenizer, number_of_words: int) -> None:
    """Raise InputError unless this tokenizer fits a network with this number of tokens, without the markers."""
    Markers.of(tokenizer)
    if tokenizer.vocab_size != number_of_words:
        raise InputError(f"the network has {number_of_words:,} tokens, its {TOKENIZER} {tokenizer.vocab_size:,}")


def _tokenizer_of(model: GPT, folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.load(Path(folder) / TOKENIZER)
    try:
        check_tokenizer(tokenizer, model.number_of_words if isinstance(model, InstructedGPT) else model.vocab_size)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from error
    return tokenizer
