"""Our language models in EleutherAI's lm-evaluation-harness: the three requests of its tasks.

    from lm_eval import simple_evaluate
    from langladder.formats.harness import harness_model

    simple_evaluate(model=harness_model(Path("models/lm/gpt")), tasks=["lambada_openai"])

The harness is no dependency of this project (`pip install lm-eval`), and only `harness_model` imports it.
A line break of a prompt is the end of a line, as the models were trained: `EOS BOS`. A generation ends with a line.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from langladder.decoding.options import OptionItem, option_item, score_options
from langladder.decoding.sampling import SamplingConfig, generate_batch
from langladder.ground.artefacts import JSONObject
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.text.labelled.templates import ids_of
from langladder.text.tokenize.tokenizers import Tokenizer

MAX_TOKENS = 256


class Answering:
    """The requests of the harness to a model: texts in, log-probabilities in nats and texts out."""

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer

    def log_probs(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """(context, continuation) → log P(continuation | context), and whether it is the result of greedy decoding."""
        items = self._items(pairs)
        sums = [float(values[0]) for values in score_options(self.model, items)]
        longest = max((len(one.options[0]) for one in items), default=0)
        how = SamplingConfig(strategy="greedy", max_tokens=longest)
        generated = generate_batch(self.model, [one.context.tolist() for one in items], how)
        greedy = [
            ids[: len(one.options[0])] == one.options[0].tolist() for ids, one in zip(generated, items, strict=True)
        ]
        return list(zip(sums, greedy, strict=True))

    def whole_log_probs(self, texts: Sequence[str]) -> list[float]:
        """log P of each text, with the ends of its lines except the last."""
        rows = ids_of(self.tokenizer, texts)
        items = [OptionItem(row[:1], [row[1:]]) for row in rows if len(row) > 1]
        found = iter(score_options(self.model, items))
        return [float(next(found)[0]) if len(row) > 1 else 0.0 for row in rows]

    def continuations(self, items: Sequence[tuple[str, JSONObject]]) -> list[str]:
        """(context, {"until", "max_gen_toks"}) → the continuation, up to the first of the texts of `until`."""
        found = []
        for context, settings in items:
            tokens = int(settings.get("max_gen_toks", MAX_TOKENS))
            ids = ids_of(self.tokenizer, [context.rstrip(" ")])[0].tolist()
            new = generate_batch(self.model, [ids], SamplingConfig(strategy="greedy", max_tokens=tokens))[0]
            known = self.tokenizer.decode(ids)
            text = self.tokenizer.decode([*ids, *new])[len(known) :]
            until = settings.get("until") or []
            for end in [until] if isinstance(until, str) else until:
                text = text.partition(end)[0] if end else text
            found.append(text)
        return found

    def _items(self, pairs: Sequence[tuple[str, str]]) -> list[OptionItem]:
        """As `option_item`; a context's last spaces belong to the continuation."""
        contexts = ids_of(self.tokenizer, [context.rstrip(" ") for context, _ in pairs])
        wholes = ids_of(self.tokenizer, [context + continuation for context, continuation in pairs])
        return [option_item([whole], context) for whole, context in zip(wholes, contexts, strict=True)]


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
