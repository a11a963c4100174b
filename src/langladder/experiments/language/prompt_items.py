"""From drawn examples to the items of a task: each with its options in words."""

from collections.abc import Mapping, Sequence
from random import Random

from langladder.evaluation.prompting import Item, PromptFormat
from langladder.experiments.experiment import Data
from langladder.experiments.language.prompt_sources import Drawn, Source
from langladder.ground.errors import InputError
from langladder.text.labelled.templates import Template


def items_of(
    form: PromptFormat, source: Source, data: Data, *, count: int, options: int, seed: int
) -> tuple[list[Item], list[Item]]:
    """The items of a task and the pool that its examples are drawn from; no item is in the pool.

    Args:
        count: most items. options: of an item whose wrong answers are those of others.

    Raises:
        InputError: a label has no words, a field of the template is missing, or there is no other answer.
    """
    drawn, pool = source.draw(data, count, seed)
    if not drawn:
        raise InputError(f"prompt: the source {source.kind!r} has no item; see the report of the stage `clean`")
    form_fields = Template(form.template)
    form_fields.context(drawn[0].fields), form_fields.whole(drawn[0].fields, "")
    random = Random(f"{seed} options")
    if form.verbalisers:
        return [_labelled(one, form.verbalisers) for one in drawn], [_labelled(one, form.verbalisers) for one in pool]
    others = _answers([*drawn, *pool])
    return (
        [_open(one, others[one.among], options, random) for one in drawn],
        [_open(one, others[one.among], options, random) for one in pool],
    )


def _labelled(one: Drawn, words: Mapping[str, str]) -> Item:
    if one.answer not in words:
        raise InputError(
            f"verbalisers: no words for {one.answer!r}, the label of {next(iter(one.fields.values()), '')[:60]!r}; "
            f"there are words for {', '.join(words)}"
        )
    return Item(one.fields, tuple(words.values()), list(words).index(one.answer), one.ceiling)


def _answers(drawn: Sequence[Drawn]) -> dict[str, list[str]]:
    """Sort → the different answers of that sort."""
    found: dict[str, dict[str, None]] = {}
    for one in drawn:
        found.setdefault(one.among, {})[one.answer] = None
    return {among: list(answers) for among, answers in found.items()}


def _open(one: Drawn, others: Sequence[str], count: int, random: Random) -> Item:
    if one.options:
        return Item(one.fields, one.options, one.options.index(one.answer), one.ceiling)
    wrong = [other for other in others if other != one.answer]
    if not wrong:
        raise InputError(f"prompt: {one.answer!r} is the only answer there is; name options, or verbalisers")
    options = sorted([one.answer, *random.sample(wrong, min(len(wrong), count - 1))])
    return Item(one.fields, tuple(options), options.index(one.answer), one.ceiling)
