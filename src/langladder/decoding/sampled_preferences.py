"""What a labeller is shown: K answers of a model to each prompt (Ouyang et al. 2022, section 3.2), as drawn."""

from collections.abc import Sequence

from langladder.corpora.instructions.judge import PreferencesConfig
from langladder.decoding.rollouts import roll_out
from langladder.models.language.instructed import InstructedGPT
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.templates import ChatTemplate


def sampled(
    policy: InstructedGPT, template: ChatTemplate, dialogues: Sequence[Dialogue], config: PreferencesConfig, seed: int
) -> list[tuple[Dialogue, list[str]]]:
    """Each prompt with K answers, or fewer.

    Prompts that leave no room for an answer are left out; so are answers that the context has no room for when they
    are read as text: their tokens may be others, and more, than were drawn.
    """
    rows = template.prompts([dialogue.prompt for dialogue in dialogues])
    room = policy.context - config.max_new_tokens
    kept = [(dialogue, row.tolist()) for dialogue, row in zip(dialogues, rows, strict=True) if len(row) <= room][
        : config.prompts
    ]
    K = config.samples - config.demonstrations
    rollouts = roll_out(
        policy,
        [row for _, row in kept for _ in range(K)],
        max_new_tokens=config.max_new_tokens,
        seed=seed,
        temperature=config.temperature,
    )
    texts = [template.response(response.tokens) for response in rollouts.responses(range(len(kept) * K))]
    samples = []
    for number, (dialogue, _) in enumerate(kept):
        demonstrations = [dialogue.response] if config.demonstrations and dialogue.response else []
        samples.append((dialogue, demonstrations + texts[number * K : (number + 1) * K]))
    return [(dialogue, _readable(template, dialogue, candidates, policy.context)) for dialogue, candidates in samples]


def _readable(template: ChatTemplate, dialogue: Dialogue, texts: Sequence[str], context: int) -> list[str]:
    rows = template.rows([dialogue.answered(text).messages for text in texts])
    return [text for text, row in zip(texts, rows, strict=True) if len(row.ids) <= context]
