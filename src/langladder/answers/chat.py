"""Chat: the next turn of a dialogue, by a model that follows instructions, or by best-of-n with a reward model.

The dialogue stays in the prompt as long as it fits into the model's context; then the oldest turns are dropped. A
best-of-n rung draws n answers, and the reward model in its provenance chooses one.
"""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from langladder.answers.kinds import kind_of
from langladder.answers.requests import MOST_CHOSEN_FROM, ChatRequest
from langladder.decoding.answers import answers
from langladder.decoding.sampling import SamplingConfig
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT, read_instructed
from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import ASSISTANT, SYSTEM, USER, Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.tokenizers import Tokenizer

METHOD = "best_of_n"


class Chooser(NamedTuple):
    """Number of answers from which the reward model chooses."""

    n: int
    model: RewardModel


class Assistant(NamedTuple):
    """A model that follows instructions; `chooser` chooses among several answers; None: a single answer is drawn."""

    model: InstructedGPT
    template: ChatTemplate
    chooser: Chooser | None = None


class Reply(NamedTuple):
    """An answer, and how many turns (with their answers) did not fit into the prompt."""

    text: str
    left_out: int


def read_assistant(folder: Path, best_of: int | None = None, judge: Path | None = None) -> Assistant:
    """A saved model that follows instructions.

    Args:
        best_of, judge: see `chooser_of`.

    Raises:
        InputError: the folder has no such model, or is damaged; as `chooser_of`.
    """
    if not (folder / "config.json").is_file():
        wanted = "a folder with config.json, model.safetensors and tokenizer.json, such as models/instruct/sft"
        raise InputError(f"{folder}: no saved model; expected {wanted}")
    if kind_of(folder) == "lm":
        raise InputError(
            f"{folder}: a language model that was not trained to follow instructions. To see how it continues a text: "
            f'langladder generate {folder} "a text". To train one that answers, write `corpora: [instructions]` and '
            "`instructs: {sft: {base: lm/gpt}}` into params.yaml, run `make repro`, and chat with models/instruct/sft"
        )
    model, tokenizer = read_instructed(folder)
    return Assistant(model, ChatTemplate(tokenizer), chooser_of(folder, tokenizer, best_of, judge))


class Conversation:
    """One model's side of a dialogue.

    Args:
        config: sampling settings from `ChatRequest.sampling`; each turn uses other random numbers.
        system: text before all turns; empty: none.
        forget: whether each turn starts a new dialogue.
    """

    def __init__(self, assistant: Assistant, config: SamplingConfig, *, system: str = "", forget: bool = False) -> None:
        self.assistant, self.config, self.forget = assistant, config, forget
        self.system = (Message(SYSTEM, system),) if system else ()
        self.turns: list[Message] = []
        self.number = 0

    def say(self, text: str) -> Reply:
        """The answer to the user's next turn.

        Raises:
            InputError: the turn leaves no room for an answer.
        """
        if self.forget:
            self.turns = []
        turns = [*self.turns, Message(USER, text)]
        while len(turns) > 1 and not self._fits(turns):
            del turns[:2]  # the oldest turn and its answer
        left_out = (len(self.turns) + 1 - len(turns)) // 2
        config = self.config.model_copy(update={"seed": self.config.seed + self.number})
        model, template, chooser = self.assistant
        prompt = (*self.system, *turns)
        if chooser is None:
            (answer,) = answers(model, template, [prompt], config)
        else:
            answer = chosen_answer(model, template, prompt, config, chooser)
        self.turns = [*turns, Message(ASSISTANT, answer)]
        self.number += 1
        return Reply(answer, left_out)

    def _fits(self, turns: list[Message]) -> bool:
        """Whether a whole answer fits."""
        prompt = self.assistant.template.prompt((*self.system, *turns))
        return len(prompt) + self.config.max_tokens <= self.assistant.model.context


def read_conversations(folders: Sequence[Path], request: ChatRequest) -> dict[str, Conversation]:
    """A conversation with each model, by its name; models with the same name are identified by their paths.

    Raises:
        InputError: as `read_assistant`; a folder is given twice; a reward model has nothing to choose from.
    """
    names = [folder.name for folder in folders]
    conversations: dict[str, Conversation] = {}
    for folder in folders:
        assistant = read_assistant(folder, request.best_of, request.judge)
        name = str(folder) if names.count(folder.name) > 1 else folder.name
        if name in conversations:
            raise InputError(f"{folder}: given twice; give different models to compare")
        conversations[name] = Conversation(assistant, request.sampling(), system=request.system, forget=request.forget)
    if request.judge is not None and not any(conversation.assistant.chooser for conversation in conversations.values()):
        raise InputError("--judge: nothing to choose from; also give --best-of N")
    return conversations


def chosen_answer(
    model: InstructedGPT, template: ChatTemplate, prompt: Sequence[Message], config: SamplingConfig, chooser: Chooser
) -> str:
    """The drawn answer with the highest reward, the first of equal ones; empty if all drawn answers are empty.

    Like `decoding.best_of_n` for one prompt of text: it compares texts, so any kind of sampling works.

    Args:
        config: sampling settings; `greedy` means `sample`, because n equal answers leave nothing to choose.

    Raises:
        InputError: the prompt leaves no room for a response.
    """
    drawing = "sample" if config.strategy == "greedy" else config.strategy
    room = min(model.context, chooser.model.context) - len(template.prompt(prompt)) - 1  # the reward is read at the EOS
    most = max(1, min(config.max_tokens, room))
    config = config.model_copy(update={"strategy": drawing, "max_tokens": most})
    drawn = [text for text in dict.fromkeys(answers(model, template, [prompt] * chooser.n, config)) if text.strip()]
    if not drawn:
        return ""
    rewards = chooser.model.rewards([(*prompt, Message(ASSISTANT, text)) for text in drawn])  # (N,)
    return drawn[int(rewards.argmax())]


def chooser_of(folder: Path, tokenizer: Tokenizer, best_of: int | None, judge: Path | None) -> Chooser | None:
    """The chooser among the answers of the model in `folder`; None: a single answer is drawn.

    Args:
        best_of: number of answers. judge: the folder of the reward model. None: from the rung's provenance.json, if it
            is a best-of-n.

    Raises:
        InputError: the reward model is missing, damaged or has another tokenizer; or best_of has no reward model.
    """
    own, reads = _best_of_n(folder) if best_of is None or judge is None else (None, None)
    n, path = best_of or own, judge or reads
    if n is None:
        return None
    if path is None:
        raise InputError("--best-of: no reward model; give --judge FOLDER, such as models/reward/reward")
    if not (path / "config.json").is_file():
        raise InputError(f"{path}: no saved reward model to choose the answers of {folder}; give --judge FOLDER")
    model = RewardModel.load(path)
    model.check_policy(tokenizer, str(folder))
    return Chooser(n, model)


def _best_of_n(folder: Path) -> tuple[int | None, Path | None]:
    """n and the reward model of a best-of-n rung, (None, None) for others."""
    file = folder / "provenance.json"
    settings: object = read_json(file) if file.is_file() else None
    for key in ("settings", "align"):
        settings = settings.get(key) if isinstance(settings, dict) else None
    if not isinstance(settings, dict) or settings.get("method") != METHOD:
        return None, None
    n, reads = settings.get("n"), PurePosixPath(str(settings.get("reads")))
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MOST_CHOSEN_FROM:
        raise InputError(f"{file}: settings.align.n is {n!r}; expected a whole number from 1 to {MOST_CHOSEN_FROM}")
    if reads.parts[:2] != ("models", "reward") or len(reads.parts) != 3 or ".." in reads.parts:
        raise InputError(
            f"{folder}: its answers are chosen by {str(reads)!r}, which is not a reward model; give --best-of N and "
            "--judge FOLDER, a reward model such as models/reward/reward"
        )
    return n, folder.absolute().parent.parent.parent / reads
