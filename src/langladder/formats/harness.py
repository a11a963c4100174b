"""Our language models in EleutherAI's lm-evaluation-harness: the three requests of its tasks.

    from lm_eval import simple_evaluate
    from langladder.formats.harness import harness_model

    simple_evaluate(model=harness_model(Path("models/lm/gpt")), tasks=["lambada_openai"])

The harness is no dependency of this project (`pip install lm-eval`), and only `harness_model` imports it.
A line break of a prompt is the end of a line, as the models were trained: `EOS BOS`. A generation ends with a line.
Of the harness's `generation_kwargs`, those of `Generation` have an effect; others are refused.
"""

from collections.abc import Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from langladder.decoding.limits import NewTokens, RepetitionPenalty, Seed, TopK, TopP
from langladder.decoding.options import OptionItem, option_item, score_options
from langladder.decoding.sampling import SamplingConfig, generate_batch
from langladder.ground import schema
from langladder.ground.artefacts import JSONObject
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.text.labelled.templates import ids_of
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer


class Generation(schema.Config):
    """The `generation_kwargs` of a request: greedy unless `do_sample` is true, or only a temperature is given."""

    until: str | list[str] | None = None
    max_gen_toks: NewTokens = 256
    do_sample: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None  # 0: greedy
    top_k: TopK = None
    top_p: TopP = None
    repetition_penalty: RepetitionPenalty = 1.0
    seed: Seed = 0

    def sampling(self) -> SamplingConfig:
        """How to draw."""
        draws = bool(self.temperature) if self.do_sample is None else self.do_sample and self.temperature != 0
        return SamplingConfig(
            strategy="sample" if draws else "greedy",
            temperature=max(self.temperature, 0.01) if draws and self.temperature else 1.0,
            top_k=self.top_k,
            top_p=self.top_p,
            repetition_penalty=self.repetition_penalty,
            max_tokens=self.max_gen_toks,
            seed=self.seed,
        )


class Answering:
    """The requests of the harness to a model: texts in, log-probabilities in nats and texts out."""

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer

    def log_probs(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """(context, continuation) → log P(continuation | context), and whether it is the result of greedy decoding."""
        items = self._items(pairs)
        sums = [float(values[0]) for values in score_options(self.model, items)]
        return list(zip(sums, self._are_greedy(items), strict=True))

    def _are_greedy(self, items: Sequence[OptionItem]) -> list[bool]:
        """Whether each continuation is what greedy decoding says, its line ends included, line by line."""
        parts = [part for item in items for part in _lines(item)]
        how = SamplingConfig(strategy="greedy", max_tokens=max((len(line) for _, line in parts), default=0))
        generated = generate_batch(self.model, [before for before, _ in parts], how)  # without the end of a line
        matches = iter(
            ids[: len(line)] == [token for token in line if token != EOS]
            for ids, (_, line) in zip(generated, parts, strict=True)
        )
        return [all(tuple(islice(matches, len(_lines(item))))) for item in items]

    def whole_log_probs(self, texts: Sequence[str]) -> list[float]:
        """log P of each text, with the ends of its lines except the last."""
        rows = ids_of(self.tokenizer, texts)
        items = [OptionItem(row[:1], [row[1:]]) for row in rows if len(row) > 1]
        scores = iter(score_options(self.model, items))
        return [float(next(scores)[0]) if len(row) > 1 else 0.0 for row in rows]

    def continuations(self, items: Sequence[tuple[str, JSONObject]]) -> list[str]:
        """(context, `generation_kwargs`) → the continuation, up to the first of the texts of `until`.

        Raises:
            InputError: a setting that is not one of `Generation`, or is out of its bounds.
        """
        texts = []
        for number, (context, options) in enumerate(items):
            settings = {key: value for key, value in options.items() if value is not None}
            how = schema.checked(Generation, settings, "generation_kwargs")
            ids = ids_of(self.tokenizer, [context.rstrip(" ")])[0].tolist()
            new = generate_batch(self.model, [ids], how.sampling(), numbers=[number])[0]
            known = self.tokenizer.decode(ids)
            text = self.tokenizer.decode([*ids, *new])[len(known) :]
            until = how.until or []
            for end in [until] if isinstance(until, str) else until:
                text = text.partition(end)[0] if end else text
            texts.append(text)
        return texts

    def _items(self, pairs: Sequence[tuple[str, str]]) -> list[OptionItem]:
        """As `option_item`; a context's last spaces belong to the continuation."""
        contexts = ids_of(self.tokenizer, [context.rstrip(" ") for context, _ in pairs])
        wholes = ids_of(self.tokenizer, [context + continuation for context, continuation in pairs])
        return [option_item([whole], context) for whole, context in zip(wholes, contexts, strict=True)]


def _lines(item: OptionItem) -> list[tuple[list[int], list[int]]]:
    """The lines of a continuation, each with all ids before it; the BOS after the end of a line is not predicted."""
    (option,) = item.options
    whole, start = [*item.context.tolist(), *option.tolist()], len(item.context)
    lines = []
    for index in range(start, len(whole)):
        if whole[index] == BOS:
            start = index + 1
        elif whole[index] == EOS or index == len(whole) - 1:
            lines.append((whole[:start], whole[start : index + 1]))
            start = index + 1
    return lines


def harness_model(folder: Path) -> Any:
    """A saved language model as an `lm_eval.api.model.LM`.

    Raises:
        InputError: no saved language model, or the harness is not installed.
    """
    try:
        contract: Any = import_module("lm_eval.api.model").LM
    except ImportError as error:
        raise InputError("lm-evaluation-harness is not installed: pip install lm-eval") from error
    answering = Answering(LanguageModel.load(folder), Tokenizer.load(Path(folder) / "tokenizer.json"))

    class HarnessModel(contract):  # type: ignore[misc]  # untyped, and not here
        """The interface of the harness; its requests have their arguments in `args`."""

        def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
            return answering.log_probs([request.args for request in requests])

        def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
            return answering.whole_log_probs([request.args[0] for request in requests])

        def generate_until(self, requests: list[Any]) -> list[str]:
            return answering.continuations([request.args for request in requests])

    return HarnessModel()
