"""A dialogue with an instructed model, turn by turn: what was said stays in the prompt as long as there is room."""

from langladder.decoding.answers import answers
from langladder.decoding.chosen_answers import Chooser, chosen_answer
from langladder.decoding.sampling import SamplingConfig
from langladder.models.instructed import InstructedGPT
from langladder.text.labelled.instructions import ASSISTANT, SYSTEM, USER, Message
from langladder.text.labelled.templates import ChatTemplate


class Conversation:
    """One model's side of a dialogue.

    Args:
        system: what stands before all turns; empty: nothing.
        config: how its answers are drawn; each turn draws other numbers.
        forgets: whether each turn begins a new dialogue.
        chooser: who chooses among several answers; None: the one that is drawn is given.
    """

    def __init__(
        self,
        model: InstructedGPT,
        template: ChatTemplate,
        config: SamplingConfig,
        *,
        system: str = "",
        forgets: bool = False,
        chooser: Chooser | None = None,
    ) -> None:
        self.chooser = chooser
        self.model, self.template, self.config, self.forgets = model, template, config, forgets
        self.system = (Message(SYSTEM, system),) if system else ()
        self.turns: list[Message] = []
        self.number = 0
        self.left_out = 0
        """Turns, with their answers, that the last `say` took out of the prompt for want of room."""

    def say(self, text: str) -> str:
        """The answer to the user's next turn.

        Raises:
            InputError: the turn leaves no room for an answer.
        """
        if self.forgets:
            self.turns = []
        said = [*self.turns, Message(USER, text)]
        while len(said) > 1 and not self._fits(said):
            del said[:2]  # the oldest turn and its answer
        self.left_out = (len(self.turns) + 1 - len(said)) // 2
        config = self.config.model_copy(update={"seed": self.config.seed + self.number})
        prompt = (*self.system, *said)
        if self.chooser is None:
            (answer,) = answers(self.model, self.template, [prompt], config)
        else:
            answer = chosen_answer(self.model, self.template, prompt, config, self.chooser)
        self.turns = [*said, Message(ASSISTANT, answer)]
        self.number += 1
        return answer

    def _fits(self, said: list[Message]) -> bool:
        """Whether there is room for a whole answer."""
        return len(self.template.prompt((*self.system, *said))) + self.config.max_tokens <= self.model.context
