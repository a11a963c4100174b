"""Two models answer one instruction, and the gold judge says how well: what the page Instruct shows.

A model that learnt to answer reads the chat template; any other language model reads the instruction as a text and
goes on, which is what it grew from. The judge knows microworld's requests alone: an instruction is looked up among
those that its grammar draws.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, get_args

from langladder.corpora.instructions.demonstrations import InstructionsConfig, demonstrations
from langladder.corpora.instructions.judge import judge
from langladder.corpora.lexicon import Size
from langladder.data.instructions import check_prompt
from langladder.decoding.chosen_answers import Chooser, chosen_answer
from langladder.decoding.sampling import SamplingConfig
from langladder.decoding.stream import stream
from langladder.ground.errors import InputError
from langladder.models.base import LanguageModel
from langladder.models.instructed import InstructedGPT
from langladder.text.labelled.instructions import USER, Dialogue, Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer

DRAWN = {"train": 8_000, "unseen": 800}
"""Requests of each split that the judge is ready for."""
EXAMPLES = 3
"""Of each kind."""
UNKNOWN = (
    "The gold judge reads the requests that microworld's grammar draws, and this is none of those it has drawn: "
    "choose an example to see an answer judged."
)


@lru_cache(maxsize=len(get_args(Size)))
def requests(size: Size) -> dict[str, Dialogue]:
    """Instruction → the dialogue that demonstrates it, as the grammar draws them; seconds at the first time."""
    config = InstructionsConfig(size=size)
    found = [one for split, count in DRAWN.items() for one in demonstrations(config, split, count)]
    return {_plain(one.prompt[-1].text): one for one in found}


def examples(size: Size) -> list[dict[str, str]]:
    """A few instructions of each kind, each with a right answer; a kind says whether training shows it."""
    config, found = InstructionsConfig(size=size), []
    for split, most in (("train", 12 * EXAMPLES), ("unseen", 6 * EXAMPLES)):
        drawn = sorted(demonstrations(config, split, most + most // 2), key=lambda one: one.kind)
        kinds = dict.fromkeys(one.kind for one in drawn)
        for kind in kinds:
            own = [one for one in drawn if one.kind == kind][:EXAMPLES]
            found += [
                {"kind": kind, "shown": split, "text": one.prompt[-1].text, "answer": one.response or ""} for one in own
            ]
    return found


def judged(size: Size, instruction: str, answer: str) -> dict[str, Any]:
    """What the gold judge says of an answer: its parts, its reward, a right answer; why not, where it cannot."""
    known = requests(size).get(_plain(instruction))
    if known is None:
        return {"known": False, "why": UNKNOWN}
    found = judge(known.asked, answer)
    return {"known": True, "parts": found._asdict(), "reward": found.reward, "right": known.response or ""}


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def check_instruction(model: LanguageModel, tokenizer: Tokenizer, instruction: str) -> None:
    """Raise InputError where there is nothing to answer, or no room for an answer."""
    if not instruction.strip():
        raise InputError("no instruction; type one, or choose an example")
    if isinstance(model, InstructedGPT):
        said = (Message(USER, instruction),)
        check_prompt(ChatTemplate(tokenizer).prompt(said), model.context, "the instruction", said)


def streamed(
    model: LanguageModel,
    tokenizer: Tokenizer,
    instruction: str,
    config: SamplingConfig,
    chooser: Chooser | None = None,
) -> Iterator[str]:
    """The answer as it grows: each text holds the one before it, as far as its characters are whole.

    Args:
        chooser: of a best-of-n, whose answer comes all at once.

    Raises:
        InputError: as `check_instruction`.
    """
    instruction = instruction.strip()
    check_instruction(model, tokenizer, instruction)
    said = (Message(USER, instruction),)
    if not isinstance(model, InstructedGPT):
        prompt = [BOS, *tokenizer.encode(instruction).tolist()]
        yield from _grown(model, tokenizer, prompt, config)
        return
    template = ChatTemplate(tokenizer)
    if chooser is not None:
        yield chosen_answer(model, template, said, config, chooser)
        return
    row = template.prompt(said).tolist()
    room = config.model_copy(update={"max_tokens": min(config.max_tokens, model.context - len(row))})
    yield from _grown(model, tokenizer, row, room)


def _grown(model: LanguageModel, tokenizer: Tokenizer, prompt: list[int], config: SamplingConfig) -> Iterator[str]:
    ids: list[int] = []
    text = ""
    for token, _ in stream(model, prompt, config):
        if token == EOS:
            break
        ids.append(token)
        if (longer := tokenizer.decode(ids).strip()) != text and not longer.endswith("\ufffd"):
            text = longer
            yield text
    if (whole := tokenizer.decode(ids).strip()) != text or not text:
        yield whole
